"""The lab from the command line: every experiment runs quickly, and leaves a page that sums itself up."""

import json


def test_all_experiments_run_quickly_and_judge_themselves(lab, tmp_path):
    names = [experiment["name"] for experiment in lab.json("list")]
    lab("run", "all", "--quick", "-q", "-o", "results")
    assert len(names) >= 36
    for name in names:
        page = (tmp_path / "results" / f"{name}.md").read_text()
        report = json.loads((tmp_path / "results" / f"{name}.json").read_text())["report"]
        assert "\n**Verdict**: " in page and report["tables"], name
        for figure in report["figures"]:
            assert figure["alt"] and (tmp_path / "results" / figure["file"]).read_bytes().startswith(b"\x89PNG"), name
    lab("render", "results")
    assert (tmp_path / "results" / "kmeans.md").read_text().startswith("# ")


def test_the_lab_lists_its_experiments(lab):
    text = lab("list")
    assert "kmeans" in text and "[KTTG17]" in text
    names = [e["name"] for e in lab.json("list")]
    assert len(names) >= 5 and all(name in text for name in names)
    assert names[0] in lab.fails("run", "unheard-of", code=1)
