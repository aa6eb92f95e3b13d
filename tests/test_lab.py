"""The lab from the command line: experiments run quickly, and leave a page that sums itself up."""

import json

import pytest

# Clusters, principal components, answers to questions: the quickest of their kinds.
HANDFUL = ["kmeans", "pca", "queries"]


def check(folder, names):
    for name in names:
        page = (folder / f"{name}.md").read_text()
        report = json.loads((folder / f"{name}.json").read_text())["report"]
        assert "\n**Verdict**: " in page and report["tables"], name
        for figure in report["figures"]:
            assert figure["alt"] and (folder / figure["file"]).read_bytes().startswith(b"\x89PNG"), name


def test_experiments_run_quickly_and_judge_themselves(lab, tmp_path):
    for name in HANDFUL:
        lab("run", name, "--quick", "-q", "-o", "results")
    check(tmp_path / "results", HANDFUL)
    lab("render", "results")
    assert (tmp_path / "results" / "kmeans.md").read_text().startswith("# ")


@pytest.mark.slow
def test_all_experiments_run_quickly_and_judge_themselves(lab, tmp_path):
    lab.timeout = 1800
    names = [experiment["name"] for experiment in lab.json("list")]
    lab("run", "all", "--quick", "-q", "-o", "results")
    assert len(names) >= 36
    check(tmp_path / "results", names)


def test_the_lab_lists_its_experiments(lab):
    text = lab("list")
    assert "kmeans" in text and "[KTTG17]" in text
    names = [e["name"] for e in lab.json("list")]
    assert len(names) >= 5 and all(name in text for name in names)
    assert names[0] in lab.fails("run", "unheard-of", code=1)
