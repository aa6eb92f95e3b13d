"""Compressive beside numpy, scikit-learn, faiss and diffprivlib: one file for each job, see `__main__.py`."""
