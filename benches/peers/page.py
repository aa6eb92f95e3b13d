"""The page docs/results/peers.md and the marked block of docs/guide/speed.md, both from the records of the jobs."""

import re
import statistics

HEAD = [
    "| job | contender | seconds | start, s | peak MB | quality | ratio to ours, seconds | ratio to ours, memory |",
    "|---|---|---|---|---|---|---|---|",
]
BLOCK = re.compile(r"(<!-- peers -->\n).*?(<!-- /peers -->)", re.DOTALL)


def median(record, what):
    return statistics.median(run[what] for run in record["runs"])


def ratio(value):
    """Two or three digits that count."""
    digits = 0 if value >= 100 else 1 if value >= 1 else 2 if value >= 0.1 else 3
    return f"{value:.{digits}f}"


def seconds(value):
    return f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def quality(job, record):
    """The median quality as the table shows it."""
    values = [value for value in record.get("quality", []) if value is not None]
    return job.form.format(statistics.median(values)) if values else ""


class Compared:
    """One job's contenders beside ours: everything that both tables show, already as text."""

    def __init__(self, job, saved):
        self.job, self.saved, self.title = job, saved, job.title(saved["case"])
        self.records = {record["key"]: record for record in saved["contenders"]}
        self.ours = saved["contenders"][0]
        self.peer = self.records[job.peer] if self.records[job.peer]["runs"] else None

    def times(self, record, what="seconds"):
        return median(record, what) / median(self.ours, what)

    def cells(self, record):
        """Contender, seconds, start, peak, quality and both ratios."""
        if not record["runs"]:
            return [record["label"], record["reason"], "", "", "", "", ""]
        mark = "**" if record is self.peer else ""
        return [
            record["label"],
            seconds(median(record, "seconds")),
            seconds(median(record, "start")) if median(record, "start") else "",
            f"{median(record, 'peak'):.0f}",
            quality(self.job, record),
            f"{mark}{ratio(self.times(record))}{mark}",
            ratio(self.times(record, "peak")),
        ]

    def as_good(self):
        """Whether our quality is the peer's or better, within the job's tolerance."""
        ours, theirs = (statistics.median(record["quality"]) for record in (self.ours, self.peer))
        return ours <= theirs + self.job.tolerance

    def explained(self):
        """What the job compares, as an item of a list."""
        text = f"- **{self.title}**; quality: {self.job.quality}, equal within {self.job.tolerance:g}. {self.job.note}"
        if self.job.rates:
            ran = [r for r in self.saved["contenders"] if r["runs"]]
            rates = [f"{r['label']} {self.saved['case']['rows'] / median(r, 'seconds'):,.0f}" for r in ran]
            text += f" Rows per second: {'; '.join(rates)}."
        return text

    def faster(self):
        """Peers that took fewer seconds than ours, as text."""
        others = [
            r for r in self.saved["contenders"] if r["runs"] and "compressive" not in r["label"] and self.times(r) < 1
        ]
        named = [
            f"{r['label']} ({ratio(self.times(r))} of our seconds, {self.job.quality} {quality(self.job, r)} against {quality(self.job, self.ours)})"
            for r in others
        ]
        return [f"{self.title}: {text}" for text in named]


def verdict(compared):
    """One sentence: how often faster and how often as good as the peer of each job, and where not."""
    judged = [c for c in compared if c.peer]
    if not judged:
        return "**Verdict**: no peer is installed here."
    times = [c.times(c.peer) for c in judged]
    faster = [t for t in times if t > 1]
    worse = [
        f"{c.title} ({c.job.quality}: {quality(c.job, c.ours)} against {quality(c.job, c.peer)})"
        for c in judged
        if not c.as_good()
    ]
    span = f", by {ratio(min(faster))} to {ratio(max(faster))} times" if faster else ""
    less = sum(c.times(c.peer, "peak") > 1 for c in judged)
    text = f"**Verdict**: faster than the peer in bold in {len(faster)} of {len(judged)} jobs{span}, with less memory in {less} and as good a result in {len(judged) - len(worse)}"
    return text + (f"; worse in: {'; '.join(worse)}." if worse else ".")


def faster_line(compared):
    named = [text for c in compared for text in c.faster()]
    return f"Faster than ours: {'; '.join(named)}." if named else "No contender was faster than ours."


def provenance(compared):
    """Machine, commits and versions: those that the records name."""

    def distinct(values):
        return ", ".join(dict.fromkeys(value for value in values if value))

    saved = [c.saved for c in compared]
    versions = distinct(sorted({record["version"] for s in saved for record in s["contenders"]}))
    rounds = distinct(str(s["rounds"]) for s in saved)
    return (
        f"Made by `python benches/peers` on {distinct(s['machine'] for s in saved)}, {distinct(str(s['threads']) for s in saved)} threads (OMP_WAIT_POLICY={distinct(s['waiting'] for s in saved)}), rounds: {rounds}, "
        f"commit {distinct(s['commit'] for s in saved)}; Python {distinct(s['python'] for s in saved)}, {versions}."
    )


METHOD = (
    "Every contender is a process of its own on the same files, which are in the page cache, on the same processors and number of threads; contenders run in turns, and medians over the rounds are shown (a contender that needs more than {slow} seconds runs once). "
    "Seconds are from reading the file to the result: whole commands for the program, imports apart for Python, whose start (interpreter, imports, writing the result) has a column of its own. "
    "Peak memory is the process's resident peak, imports and pages of mapped files included; of several commands the largest. Ratios are to the first contender of a job, ours: above 1, ours needs less. Quality is taken on all rows by one function; less is better. "
    "Bold is the peer that the page on speed names, chosen before measuring."
)


def write_page(compared, slow, quick):
    """The text of the page."""
    lines = [
        "# Beside numpy, scikit-learn, faiss and diffprivlib",
        "",
        verdict(compared),
        "",
        faster_line(compared),
        "",
    ]
    if quick:
        lines += ["A quick run on few rows, which shows that everything works and not how fast it is.", ""]
    lines += [METHOD.format(slow=slow), "", *HEAD]
    for c in compared:
        lines += [f"| {' | '.join([c.title, *c.cells(record)])} |" for record in c.saved["contenders"]]
    lines += ["", "## What is compared", ""]
    lines += [c.explained() for c in compared]
    return "\n".join([*lines, "", provenance(compared), ""])


def write_block(compared):
    """The text between the marks of the page on speed: one row for each job."""
    lines = [
        "| job | compressive | peer | seconds, peer / ours | memory, peer / ours | quality, ours and the peer's |",
        "|---|---|---|---|---|---|",
    ]
    for c in compared:
        if not c.peer:
            continue
        ours, peer = c.cells(c.ours), c.cells(c.peer)
        lines.append(
            f"| {c.title} | {ours[1]} s, {ours[3]} MB | {peer[0]}: {peer[1]} s, {peer[3]} MB | {peer[5]} | {peer[6]} | {c.job.quality}: {ours[4]}, {peer[4]} |"
        )
    return "\n".join([*lines, "", faster_line(compared), "", ""])


def put_block(readme, block):
    """The page on speed with the block between its marks."""
    if not BLOCK.search(readme):
        raise ValueError("the page has no <!-- peers --> ... <!-- /peers -->")
    return BLOCK.sub(lambda found: found.group(1) + "\n" + block + found.group(2), readme)
