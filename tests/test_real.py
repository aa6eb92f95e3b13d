"""The parts of benches/real.py that need no table and no release build: what is measured, how bars are judged, how the program is run."""

import importlib.util
import json
import sys

import numpy as np
import pytest
from testing import ROOT

sys.path.append(str(ROOT / "benches"))

from real import bars, metrics, page, queries, synthetic, variants
from real.bars import BARS, Point, judge
from real.program import Failed, Memory, Program, Stopped, measured, promised_excess


def script():
    """benches/real.py itself, beside the package of that name."""
    spec = importlib.util.spec_from_file_location("real_script", ROOT / "benches" / "real.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_sum_of_squares_is_that_of_the_nearest_centres():
    rng = np.random.default_rng(1)
    x, centers = rng.normal(size=(500, 3)), rng.normal(size=(4, 3))
    slow = ((x[:, None] - centers) ** 2).sum(axis=2).min(axis=1).sum()
    assert metrics.sse(x, centers) == pytest.approx(slow, rel=1e-12)


@pytest.mark.parametrize("kind", ["diag", "full"])
def test_the_log_density_is_that_of_scikit_learn(kind):
    from sklearn.mixture import GaussianMixture

    x = np.random.default_rng(2).normal(size=(300, 3)) @ np.array([[1, 0.4, 0], [0, 1, 0], [0, 0, 0.1]])
    peer = GaussianMixture(2, covariance_type=kind, random_state=0).fit(x)
    ours = metrics.mean_log_density(x, peer.weights_, peer.means_, peer.covariances_)
    assert ours == pytest.approx(peer.score(x), abs=1e-9)
    one = GaussianMixture(1, covariance_type=kind, reg_covar=0).fit(x).score(x)
    assert metrics.one_gaussian(x, x, kind == "full") == pytest.approx(one, abs=1e-9)


def test_a_model_in_the_units_of_the_table_is_scored_in_standard_deviations():
    x = np.random.default_rng(3).normal(size=(1000, 2)) * [5.0, 0.01]
    model = {"weights": [1.0, 0.0], "means": [[0, 0], [9, 9]], "covariances": [[25.0, 1e-4], [1.0, 1.0]]}
    assert metrics.nats(model, x, np.array([5.0, 0.01])) == pytest.approx(
        metrics.mean_log_density(x / [5.0, 0.01], [1.0], [[0, 0]], [[1.0, 1.0]]), abs=1e-9
    )


def test_exact_components_have_no_excess_and_others_have_what_they_lack():
    x = np.random.default_rng(4).normal(size=(2000, 3)) * [3, 2, 1]
    best = np.linalg.eigh(np.cov(x.T))[1][:, ::-1].T
    total = x.var(axis=0).sum()
    assert metrics.excess_error(x, best[:2]) == pytest.approx(0, abs=1e-12)
    values = np.linalg.eigvalsh(np.cov(x.T, bias=True))
    assert metrics.excess_error(x, best[[0, 2]]) == pytest.approx((values[1] - values[0]) / total, rel=1e-9)


def test_a_run_that_gave_nothing_is_the_worst():
    assert metrics.middle_and_worst([1.0, 1.2, 1.1]) == (1.1, 1.2)
    middle, worst = metrics.middle_and_worst([1.0, 1.2, float("nan")])
    assert middle == 1.2 and np.isnan(worst)
    assert np.isnan(metrics.middle_and_worst([1.0, float("nan"), float("nan")])[0])


def test_ten_of_twelve_tables_meet_a_bar_and_nine_do_not():
    good = [Point("kmeans-most-5", f"good {i}", 1.01) for i in range(10)]
    bad = [Point("kmeans-most-5", f"bad {i}", value) for i, value in enumerate((1.03, float("nan"), 1.5))]
    assert judge("kmeans-most-5", good + bad[:2]).met
    assert not judge("kmeans-most-5", good[1:] + bad).met
    # Of three tables none is spare.
    assert not judge("kmeans-most-5", good[:2] + bad[:1]).met
    reached = judge("kmeans-most-5", good + bad[:2]).reached
    assert reached == "10 of 12; not bad 0 1.030, bad 1 nothing"


def test_points_may_have_limits_of_their_own_and_bars_may_be_lower_ones():
    assert judge("time", [Point("time", "digits", 2.5, limit=3.0), Point("time", "iris", 0.1)]).met
    assert not judge("time", [Point("time", "digits", 2.5)]).met
    assert judge("query-inside", [Point("query-inside", "all", 0.94)]).met
    assert not judge("query-inside", [Point("query-inside", "all", 0.92)]).met
    assert not judge("promise", [Point("promise", "fits", float("nan"))]).met


def test_bars_of_sections_that_were_not_run_are_not_missed():
    judged = bars.judge_all([Point("pca-excess", "iris", 1e-3)], ["pca", "time"])
    assert [one.met for one in judged] == [False, None]
    assert bars.missed(judged) == ["excess error at most 1e-6 of the variance (0 of 1; not iris 0.001)"]


def test_every_section_has_a_bar_and_a_module():
    sections = script().SECTIONS
    assert {bar.section for bar in BARS.values()} == set(sections)
    for module in sections.values():
        assert (ROOT / "benches" / "real" / f"{module}.py").exists()


def test_the_page_has_the_verdict_the_bars_and_the_tables():
    judged = bars.judge_all([Point("pca-excess", "iris", 1e-9)], ["pca"])
    section = page.Section("Principal components", "Words.", [page.Grid("", ["a", "b"], [[1, "x"]])], [])
    text = page.page(judged, [section], "Intro.", "Made.")
    assert "**Verdict**: all 1 bars are met." in text and "| 1 | x |" in text
    assert "| pca | excess error at most 1e-6 of the variance | 1e-09 | **met** |" in text
    assert page.number(float("nan")) == "none" and page.number(-330323.09, 2) == "-330,323.09"


def test_a_record_is_made_once(tmp_path):
    made = []
    for _ in range(2):
        assert Memory(tmp_path).get(["a", 1], lambda: made.append(1) or {"x": 2}) == {"x": 2}
    assert made == [1]
    assert Memory(tmp_path).get(["a", 1], lambda: {"x": 3}, good=lambda record: record["x"] > 2) == {"x": 3}


def test_a_child_is_measured_stopped_and_its_first_words_are_told():
    busy = measured([sys.executable, "-c", "sum(range(10**7)); print('done')"], 60)
    assert busy.text == "done\n" and 0.01 < busy.cpu < busy.wall * 8
    with pytest.raises(Stopped, match="stopped after 1 CPU s"):
        measured([sys.executable, "-c", "while True: pass"], 1)
    with pytest.raises(Stopped):
        measured(["sleep", "10"], 0.02)
    with pytest.raises(Failed, match="^a reason$"):
        measured([sys.executable, "-c", "import sys; print('a reason\\nmore', file=sys.stderr); sys.exit(1)"], 60)


def test_the_program_learns_from_a_sketch_and_says_why_not(program, tmp_path):
    ours = Program(program.path, tmp_path, 60)
    rows = synthetic.separated(3, 2, 2000, 0)
    record = ours.from_sketch("rows", rows, 3, 0)
    assert len(record["model"]["centers"]) == 3 and record["cpu"] > 0 and record["bytes"] > 1000
    assert record["size"] > 0 and ours.one_liner("rows", rows, 3, 0)["cpu"] > 0
    assert "reason" in ours.from_sketch("rows", rows, 3, 0, fit=("--no-such-option",))


def test_a_stated_excess_is_found_where_there_is_one(program, tmp_path):
    ours = Program(program.path, tmp_path, 60)
    rows = synthetic.separated(3, 2, 2000, 0)
    assert 0 < promised_excess(ours.from_sketch("rows", rows, 3, 0)) < 0.2
    assert promised_excess(ours.from_sketch("rows", rows, 3, 0, task="gmm")) is None
    assert promised_excess({"reason": "stopped"}) is None


def test_questions_have_truths_that_the_rows_give(program, tmp_path):
    x = synthetic.separated(3, 2, 3000, 1)
    asked = queries.questions(x, np.random.default_rng(0))
    np.save(tmp_path / "x.npy", x)
    program("sketch", "x.npy", "-k", 3, "-o", "x.sketch")
    answers = json.loads(program("query", "x.sketch", *(text for _, text, *_ in asked), "--json"))["answers"]
    error, held = queries.judged(answers, asked, x)
    assert error < 0.1 and np.mean([ok for _, ok, _ in held]) > 0.8
    # All bins of a histogram hold all rows.
    bins = [answer for answer in answers if answer["kind"] == "histogram"][0]
    column = next(truth for kind, _, truth, _ in asked if kind == "histogram")
    assert sum(truth for _, truth, _ in queries.bins_of(bins, x[:, column])) == pytest.approx(1)


def test_drawn_tables_are_what_they_are_called():
    student, outliers = (synthetic.heavy(kind, 20_000, 0) for kind in ("student", "outliers"))
    assert np.abs(student).max() > 60
    assert 0.04 < (np.abs(outliers) > 30).any(axis=1).mean() < 0.06
    rows, truth = synthetic.flat(5000, 0)
    assert np.isclose(np.sort(truth["covariances"], axis=1)[:, 0], 4e-4).all() and rows.shape == (5000, 5)
    assert list(variants.declared(np.array([[-1.23, 0.0], [4.5, 12.0]]))) == ["x0=-1.5:4.5", "x1=0:15"]
