"""The parts of benches/real.py: tables, what is measured on them, the peers beside, the bars and the page."""
