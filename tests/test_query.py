"""Questions to a sketch from the shell: answers against numpy on the rows, and refusals with their place and remedy."""

import numpy as np
import pytest
from testing import write_csv

N = 20_000
NAMES = ["x", "y", "odd name"]


@pytest.fixture
def table(program, tmp_path):
    """Two clusters, an exponential and a uniform column; d.csv and its sketch d.sketch."""
    rng = np.random.default_rng(7)
    x = rng.normal(0, 1, N) + 5 * (rng.random(N) < 0.3)
    rows = np.stack([x, rng.exponential(1, N), rng.random(N)], axis=1)
    write_csv(tmp_path / "d.csv", rows, NAMES)
    program("sketch", "d.csv", "-o", "d.sketch", "-k", 10, "-q")
    return rows


def test_answers_agree_with_the_rows(program, table):
    x, y, z = table.T
    questions = {
        "mean(x)": x.mean(),
        "mean(x^2)": (x**2).mean(),
        "mean(x * y)": (x * y).mean(),
        "sum(y)": y.sum(),
        "var(x)": x.var(),
        "std(y)": y.std(),
        "cov(x, y)": np.cov(x, y, bias=True)[0, 1],
        "corr(x, y)": np.corrcoef(x, y)[0, 1],
        "mean(`odd name`)": z.mean(),
        "share(x < 3 and y >= 1)": ((x < 3) & (y >= 1)).mean(),
        "count(x > 2.5)": (x > 2.5).sum(),
        "mean(abs(x - 2))": np.abs(x - 2).mean(),
        "mean(x * y) / mean(y)": (x * y).mean() / y.mean(),
        "quantile(x, 0.25)": np.quantile(x, 0.25),
    }
    answers = program.json("query", "d.sketch", *questions)["answers"]
    assert [a["query"] for a in answers] == list(questions)
    for answer, truth in zip(answers, questions.values()):
        # Four standard errors: one in 16,000 answers is outside by chance.
        assert abs(answer["value"] - truth) <= 4 * answer["standard_error"] + 1e-9, answer
        assert answer["low"] <= answer["value"] <= answer["high"], answer
        assert answer["standard_error"] < 0.1 * max(1, abs(truth)), answer
    text = program("query", "d.sketch", "mean(x)", "share(x > 1)")
    assert "20,000 rows, with 95% intervals" in text and "mean(x)" in text and "exact" in text and "[" in text


def test_a_histogram_has_the_shares_of_the_rows(program, table):
    answer = program.json("query", "d.sketch", "histogram(x, -4, 8, 6)")["answers"][0]
    bins = answer["bins"]
    assert answer["kind"] == "histogram" and len(bins) == 8
    assert bins[0]["from"] is None and bins[-1]["to"] is None
    counts, _ = np.histogram(table[:, 0], bins=np.linspace(-4, 8, 7))
    for found, truth in zip(bins[1:-1], counts / N):
        assert abs(found["value"] - truth) <= 4 * found["standard_error"] + 1e-9, found
    assert abs(sum(b["value"] for b in bins) - 1) < 0.02
    assert "#" in program("query", "d.sketch", "histogram(x, 10)")


def test_private_and_one_bit_sketches_answer_with_their_noise(program, tmp_path, table):
    bounds = [v for name, box in zip(NAMES, ["-6:12", "0:14", "0:1"]) for v in ("--bounds", f"{name}={box}")]
    program("sketch", "d.csv", "-o", "p.sketch", "-k", 5, "--private", 0.2, *bounds, "-q")
    program("privatize", "p.sketch", "-o", "private.sketch", "--epsilon", 1, "--delta", 1e-6)
    plain = program.json("query", "p.sketch", "mean(x)")["answers"][0]
    private = program.json("query", "private.sketch", "mean(x)", "count()")["answers"]
    assert private[0]["noise"] > 10 * plain["noise"]
    assert abs(private[0]["value"] - table[:, 0].mean()) <= 4 * private[0]["standard_error"]
    program("sketch", "d.csv", "-o", "bit.sketch", "-k", 10, "--feature", "one-bit", "-q")
    for answer, truth in zip(
        program.json("query", "bit.sketch", "mean(x)", "share(x > 2)")["answers"],
        [table[:, 0].mean(), (table[:, 0] > 2).mean()],
    ):
        assert abs(answer["value"] - truth) <= 4 * answer["standard_error"], answer


def test_the_same_question_has_the_same_answer_whatever_the_threads(program, table):
    one, two = (program.json("query", "d.sketch", "share(x < 1)", "--threads", t) for t in (1, 3))
    assert one == two


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("mean(z)", "there is no column `z`; the sketch has x, y, odd name"),
        ("mean(x", "expected `)`"),
        ("x + 1", "put it into an aggregate"),
        ("share(x == 1)", "equality"),
        ("median(x)", "there is no function `median`"),
        ("share(x)", "needs a condition"),
        ("quantile(x, 50)", "between 0 and 1"),
        ("mean(log(x))", "no finite value"),
        ("", "the end"),
    ],
)
def test_a_wrong_query_is_shown_with_its_place(program, table, query, words):
    message = program.fails("query", "d.sketch", query)
    assert words in message and "^" in message, message


def test_an_empty_sketch_and_no_sketch_are_refused(program, tmp_path, table):
    program("subtract", "d.sketch", "d.sketch", "-o", "empty.sketch")
    assert "rows" in program.fails("query", "empty.sketch", "mean(x)")
    assert "is not a sketch; if it is a table, sketch it first" in program.fails("query", "d.csv", "mean(x)")
    (tmp_path / "model.json").write_text("{}")
    assert "is a JSON file, not a sketch" in program.fails("query", "model.json", "mean(x)")
    program.fails("query", "d.sketch", code=2)
