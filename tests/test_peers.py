"""benches/peers in its quick mode: every contender that is installed runs, ours is as good as scikit-learn's, and the page and the one on speed say the same.

Nothing here looks at how long anything took.
"""

import json
import os
import re
import subprocess
import sys

import pytest
from testing import PROGRAM, ROOT

# kmeans-large is kmeans with more rows and fewer contenders.
JOBS = ["sketch", "kmeans", "mixture", "pca", "private", "merge"]
README = "# A title\n\n<!-- peers -->\nold\n<!-- /peers -->\n\nThe end.\n"
HEAD = [
    "job",
    "contender",
    "seconds",
    "start, s",
    "peak MB",
    "quality",
    "ratio to ours, seconds",
    "ratio to ours, memory",
]


def run(folder):
    """A quick run whose page, README and records are in the folder; its standard error."""
    names = ["--records", folder / "records", "--page", folder / "peers.md", "--readme", folder / "README.md"]
    command = [
        sys.executable,
        ROOT / "benches" / "peers",
        "--quick",
        "--jobs",
        ",".join(JOBS),
        "--program",
        PROGRAM,
        *names,
    ]
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=600, check=False, cwd=folder, env=os.environ
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("peers")
    (folder / "README.md").write_text(README)
    run(folder)
    return folder


def table(text, first):
    """Rows of the Markdown table whose first column has this name, as lists of cells without bold."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"| {first} |"))
    rows = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip().strip("*") for cell in line.strip("|").split("|")])
    return [rows[0], *rows[2:]]


def record(folder, job):
    saved = json.loads((folder / "records" / f"{job}.json").read_text())
    return {contender["key"]: contender for contender in saved["contenders"]}


def quality(folder, job, contender):
    (value,) = record(folder, job)[contender]["quality"]
    return value


@pytest.mark.slow
@pytest.mark.alone
def test_ours_is_as_good_as_scikit_learn(folder):
    for job in ("kmeans", "merge"):
        assert quality(folder, job, "ours") <= 1.01 * quality(folder, job, "sklearn")
    assert quality(folder, "kmeans", "package") <= 1.01 * quality(folder, "kmeans", "sklearn")
    # Nats per row.
    assert quality(folder, "mixture", "ours") <= quality(folder, "mixture", "sklearn") + 0.02
    # Percent of the error of exact principal components.
    assert quality(folder, "pca", "ours") <= quality(folder, "pca", "incremental") + 0.1
    # Means of cosines that are summed exactly, and rounded to 2^-24 each.
    assert quality(folder, "sketch", "ours") <= min(1e-6, quality(folder, "sketch", "numpy"))


@pytest.mark.slow
@pytest.mark.alone
def test_every_contender_has_a_row_with_ratios_or_a_reason(folder):
    head, *rows = table((folder / "peers.md").read_text(), "job")
    assert head == HEAD
    records = [contender for job in JOBS for contender in record(folder, job).values()]
    assert [row[1] for row in rows] == [contender["label"] for contender in records]
    for row, contender in zip(rows, records):
        if contender["runs"]:
            assert all(float(row[i]) >= 0 for i in (2, 4, 6, 7)), row
        else:
            assert row[2] == contender["reason"] == "not installed", row
            assert row[1].startswith(("faiss", "diffprivlib")), row


@pytest.mark.slow
@pytest.mark.alone
def test_ratios_are_to_the_first_contender_of_the_job(folder):
    _, *rows = table((folder / "peers.md").read_text(), "job")
    shown = {(row[0], row[1]): row for row in rows}
    for title in {row[0] for row in rows}:
        first = next(row for row in rows if row[0] == title)
        assert first[6] == first[7] == "1.0"
    for contender in record(folder, "kmeans").values():
        ours = record(folder, "kmeans")["ours"]["runs"][0]
        for run_of in contender["runs"]:
            row = shown[("k-means, 2e4 x 10, k = 10", contender["label"])]
            assert float(row[6]) == pytest.approx(run_of["seconds"] / ours["seconds"], rel=0.05, abs=0.05)
            assert float(row[7]) == pytest.approx(run_of["peak"] / ours["peak"], rel=0.05, abs=0.05)


def agree(page, readme):
    """Every row of the README has the numbers of the two rows of the page that it is made of; how many rows there are."""
    _, *rows = table(page, "job")
    _, *short = table(re.search(r"<!-- peers -->(.*)<!-- /peers -->", readme, re.DOTALL).group(1), "job")
    for title, ours, peer, seconds, memory, qualities in short:
        first = next(row for row in rows if row[0] == title)
        other = next(row for row in rows if row[0] == title and peer.startswith(f"{row[1]}: "))
        assert ours == f"{first[2]} s, {first[4]} MB"
        assert peer == f"{other[1]}: {other[2]} s, {other[4]} MB"
        assert [seconds, memory] == other[6:]
        assert qualities.endswith(f": {first[5]}, {other[5]}")
    return len(short)


@pytest.mark.slow
@pytest.mark.alone
def test_the_block_of_the_readme_has_the_numbers_of_the_page(folder):
    page, readme = (folder / "peers.md").read_text(), (folder / "README.md").read_text()
    peers = sum(
        bool(record(folder, job)[key]["runs"])
        for job, key in zip(JOBS, ("numpy-threads", "sklearn", "sklearn", "incremental", "diffprivlib", "sklearn"))
    )
    assert agree(page, readme) == peers >= 5
    assert (
        readme.startswith("# A title\n\n<!-- peers -->\n")
        and readme.endswith("<!-- /peers -->\n\nThe end.\n")
        and "old" not in readme
    )
    assert page.splitlines()[2].startswith("**Verdict**: ") and "Rows per second: `compressive sketch` " in page


def test_the_page_on_speed_has_the_numbers_of_the_one_it_is_made_of():
    assert agree((ROOT / "docs" / "results" / "peers.md").read_text(), (ROOT / "docs" / "guide" / "speed.md").read_text()) > 0


@pytest.mark.slow
@pytest.mark.alone
def test_a_second_run_keeps_what_was_measured(folder):
    before = (folder / "peers.md").read_text()
    output = run(folder)
    assert output.count("measured before, kept") == len(JOBS) == len(output.splitlines())
    assert (folder / "peers.md").read_text() == before
