"""Private sketches from the shell: the whole flow, the noise that was promised, merging, the plan."""

import json
import math

import numpy as np
import pytest
from safetensors import safe_open
from scipy.optimize import brentq
from scipy.stats import chi2, norm
from testing import Program

N, D, K, M = 200_000, 4, 4, 80
UNIT = 2**24
BOUNDS = "-20:20"
# The kernel's rounded features may reach beyond the unit circle by this share.
ROUNDED = 1 + 1e-6


@pytest.fixture(scope="module")
def flow(tmp_path_factory):
    """A table with a known truth, a spec that cost 0.2, the plain sketch, and a fit of that."""
    folder = tmp_path_factory.mktemp("privacy")
    run = Program(folder)
    run("generate", "separated", "-n", N, "-d", D, "-k", K, "--seed", 3, "-o", "rows.npy", "--truth", "truth.json")
    assert np.abs(np.load(folder / "rows.npy")).max() < 20
    designed = run.json("design", "rows.npy", "--bounds", BOUNDS, "--private", 0.2, "-k", K, "--size", M, "-o", "spec.json")
    assert designed["source"] == {"name": "private", "epsilon": 0.2} and designed["pilot_rows"] is None
    run("sketch", "rows.npy", "--spec", "spec.json", "-o", "plain.sketch")
    run("fit", "plain.sketch", "-k", K, "-o", "plain.json")
    return folder, run


def read(path):
    """Noisy sums in rows, counts, promises and spec of a private file, by the safetensors library of Python."""
    with safe_open(path, framework="np") as file:
        sums, counts, metadata = file.get_tensor("sums"), file.get_tensor("counts"), file.metadata()
    return sums / UNIT, counts.tolist(), json.loads(metadata["privacy"]), json.loads(metadata["spec"])


def gaussian_sigma(epsilon, delta):
    """The analytic Gaussian mechanism for sensitivity 1 [BW18], by root finding on its condition."""

    def excess(sigma):
        a, b = 0.5 / sigma, epsilon * sigma
        return norm.cdf(a - b) - math.exp(epsilon + norm.logcdf(-a - b)) - delta

    return brentq(excess, 1e-3, 1e4, xtol=1e-12)


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_private_sketch_clusters_like_the_plain_one(flow, delta):
    folder, run = flow
    name = f"private-{delta}"
    asked = ["--epsilon", 1, "--delta", delta] if delta else ["--epsilon", 1]
    text = run("privatize", "plain.sketch", "-o", f"{name}.sketch", *asked)
    assert "spec 0.2" in text and "add-remove" in text and "noisy" in text, text
    report = run.json("inspect", f"{name}.sketch")
    promised = report["privacy"][0]
    assert (promised["epsilon"], promised["delta"], promised["neighbours"]) == (1, delta, "add-remove")
    assert promised["epsilon_sums"] + promised["epsilon_rows"] == pytest.approx(0.8)
    assert "weight" not in report and "weight" not in run("inspect", f"{name}.sketch")
    assert abs(report["rows"] - N) < 40 * report["rows_std"]
    run("fit", f"{name}.sketch", "-k", K, "-o", f"{name}.json")
    private, plain = (run.json("score", f"{m}.json", "rows.npy")["sse"] for m in (name, "plain"))
    assert private < 1.05 * plain, (private, plain)
    assert run.json("diagnose", f"{name}.sketch", f"{name}.json")["verdict"] == "good"


def test_the_noise_is_that_of_the_formulas(flow):
    """Scales of the discrete noise against the sensitivities, written out here independently of the program."""
    folder, run = flow
    for neighbours, factor in [("add-remove", 1), ("replace", 2)]:
        for delta in [0, 1e-6]:
            flags = ["--epsilon", 0.7, "--delta", delta, "--neighbours", neighbours, "--public-spec"]
            made = run.json("privatize", "plain.sketch", "-o", "n.sketch", *flags)
            promised = read(folder / "n.sketch")[2][0]
            sums = promised["epsilon_sums"]
            if delta:
                expected = factor * math.sqrt(M) * gaussian_sigma(sums, delta)
                assert expected * (1 - 1e-7) <= promised["mechanism"]["sigma"] / UNIT <= expected * ROUNDED**2
            else:
                expected = math.sqrt(2) * factor * math.sqrt(2) * M / sums
                scale = promised["mechanism"]["scale"] / UNIT
                assert expected <= math.sqrt(2) * scale <= expected * ROUNDED
            assert made["noise_std_sum"] == pytest.approx(expected, rel=2e-6)
            assert made["noise_std"] == pytest.approx(expected / made["rows"], rel=2e-6)
            assert promised["spec"] == {"name": "declared-public"}


def test_the_split_gives_the_sums_their_share(flow):
    folder, run = flow
    auto = run.json("privatize", "plain.sketch", "-o", "n.sketch", "--epsilon", 1, "--public-spec")["privacy"][0]
    # The share of the least noise-to-signal ratio: (4 m^2 / c)^(1/3) to 1.
    ratio = (4 * M**2 / 0.35) ** (1 / 3)
    assert auto["epsilon_sums"] == pytest.approx(ratio / (1 + ratio), rel=1e-4)
    half = run.json("privatize", "plain.sketch", "-o", "n.sketch", "--epsilon", 1, "--public-spec", "--split", 0.5)
    assert half["privacy"][0]["epsilon_sums"] == 0.5 and half["rows_std"] == pytest.approx(math.sqrt(2) / 0.5, rel=0.05)


def test_replace_keeps_the_exact_number_of_rows(flow):
    folder, run = flow
    text = run("privatize", "plain.sketch", "-o", "r.sketch", "--epsilon", 1, "--neighbours", "replace")
    assert "200,000 rows (public)" in text, text
    _, counts, (promised,), _ = read(folder / "r.sketch")
    assert counts == [N, 0] and promised["rows_scale"] is None
    # The look at the rows was paid for one row more or less; replacing one is both.
    assert promised["epsilon_sums"] == pytest.approx(1 - 2 * 0.2)


def test_several_rows_a_person_multiply_the_noise(flow):
    folder, run = flow
    flags = ["--epsilon", 1, "--public-spec", "--split", 0.9]
    one = run.json("privatize", "plain.sketch", "-o", "p.sketch", *flags)
    five = run.json("privatize", "plain.sketch", "-o", "p.sketch", *flags, "--rows-per-person", 5)
    assert five["noise_std_sum"] == pytest.approx(5 * one["noise_std_sum"], rel=1e-6)
    assert five["rows_std"] == pytest.approx(5 * one["rows_std"], rel=0.02)
    assert "up to 5" in run("inspect", "p.sketch")


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_two_releases_differ_by_noise_of_the_promised_size(flow, delta):
    """False alarms: 2 x 1e-6 by the chi-square test for Gaussian noise; for Laplace noise 6 standard deviations of the mean square, below 1e-4."""
    folder, run = flow
    for name in "ab":
        run("privatize", "plain.sketch", "-o", f"{name}.sketch", "--epsilon", 1, "--delta", delta)
    (a, rows_a, promised, _), (b, rows_b, _, _) = read(folder / "a.sketch"), read(folder / "b.sketch")
    assert len(a) == 2 * M and not np.any(a == b)
    if delta:
        variance = (promised[0]["mechanism"]["sigma"] / UNIT) ** 2
        low, high = chi2.ppf([1e-6, 1 - 1e-6], 2 * M)
    else:
        variance = 2 * (promised[0]["mechanism"]["scale"] / UNIT) ** 2
        # A difference of two Laplace variables of variance v has variance 2 v and fourth moment 18 v^2, so its square has variance 14 v^2.
        spread = 6 * math.sqrt(2 * M * 14) / 2
        low, high = 2 * M - spread, 2 * M + spread
    assert max(low, 2 * M / 3) < np.sum((a - b) ** 2) / (2 * variance) < high
    # The plain sums lie within the noise of either.
    with safe_open(folder / "plain.sketch", framework="np") as file:
        exact = file.get_tensor("sums") / UNIT
    assert 0.5 < np.std(a - exact) / math.sqrt(variance) < 1.6


def test_two_holders_merge_and_each_keeps_its_promise(flow):
    folder, run = flow
    rows = np.load(folder / "rows.npy")
    for name, part, flags in [("north", rows[:90_000], []), ("south", rows[90_000:], ["--delta", 1e-7])]:
        np.save(folder / f"{name}.npy", part)
        run("sketch", f"{name}.npy", "--spec", "spec.json", "-o", f"{name}-plain.sketch")
        run("privatize", f"{name}-plain.sketch", "-o", f"{name}.sketch", "--epsilon", 1.5, *flags)
    merged = run.json("merge", "north.sketch", "south.sketch", "-o", "both.sketch")
    (a, rows_a, first, _), (b, rows_b, second, _) = read(folder / "north.sketch"), read(folder / "south.sketch")
    sums, counts, promised, _ = read(folder / "both.sketch")
    np.testing.assert_array_equal(sums, a + b)
    assert counts == [rows_a[0] + rows_b[0], 0] and promised == first + second == merged["privacy"]
    text = run("inspect", "both.sketch")
    assert "holder 1 of 2" in text and "discrete Laplace" in text and "discrete Gaussian" in text, text
    parts = [run.json("inspect", f"{name}.sketch") for name in ("north", "south", "both")]
    north, south, both = ((p["noise_std"] * max(p["rows"], 1)) ** 2 for p in parts)
    assert both == pytest.approx(north + south, rel=1e-9)
    run("fit", "both.sketch", "-k", K, "-o", "both.json")
    sse = [run.json("score", f"{m}.json", "rows.npy")["sse"] for m in ("both", "plain")]
    assert sse[0] < 1.05 * sse[1]


def test_an_empty_sketch_is_released_like_any_other(flow):
    """An empty table is a neighbour of a table of one row: refusing it would tell them apart."""
    folder, run = flow
    run("subtract", "plain.sketch", "plain.sketch", "-o", "empty.sketch")
    made = run.json("privatize", "empty.sketch", "-o", "e.sketch", "--epsilon", 1)
    assert abs(made["rows"]) < 40 * made["rows_std"] + 1
    assert "noisy" in run("inspect", "e.sketch")


def test_a_spec_without_any_look_costs_nothing(flow):
    folder, run = flow
    for flags in [[], ["--scale", 0.3], ["--feature", "one-bit"], ["--task", "gmm"]]:
        run("design", "rows.npy", "--bounds", BOUNDS, "--private", 0, "-k", K, *flags, "-o", "blind.json")
        spec = json.loads((folder / "blind.json").read_text())
        assert spec["source"] == {"name": "bounds"} and spec["transform"]["centre"] == [0] * D
        assert spec["transform"]["spread"] == [10] * D
        again = {**spec, "columns": None}
        # Other rows give the same spec.
        np.save(folder / "other.npy", np.random.default_rng(1).normal(0, 1, (50, D)))
        run("design", "other.npy", "--bounds", BOUNDS, "--private", 0, "-k", K, *flags, "-o", "blind2.json")
        assert {**json.loads((folder / "blind2.json").read_text()), "columns": None} == again
    assert "without looking at any row" in run("inspect", "blind.json")
    run("sketch", "rows.npy", "--bounds", BOUNDS, "--private", 0, "--scale", 0.3, "-k", K, "-o", "blind.sketch")
    promised = run.json("privatize", "blind.sketch", "-o", "b.sketch", "--epsilon", 1)["privacy"][0]
    assert promised["spec"] == {"name": "bounds"}
    assert promised["epsilon_sums"] + promised["epsilon_rows"] == pytest.approx(1)


def test_sketching_with_a_paid_look_equals_design_then_sketch(flow):
    folder, run = flow
    done = run.run("sketch", "rows.npy", "--bounds", BOUNDS, "--private", 0.3, "-k", K, "-o", "paid.sketch")
    assert done.returncode == 0 and b"paid epsilon 0.3" in done.stderr and b"exact sums" in done.stderr
    spec = run.json("inspect", "paid.sketch")["spec"]
    assert spec["source"] == {"name": "private", "epsilon": 0.3}
    # A private file may lend its spec to the next holder, who gets the same frequencies.
    run("privatize", "paid.sketch", "-o", "paid-private.sketch", "--epsilon", 1)
    run("sketch", "rows.npy", "--spec", "paid-private.sketch", "-o", "again.sketch")
    assert (folder / "again.sketch").read_bytes() == (folder / "paid.sketch").read_bytes()


def nsr(n, m, epsilon, delta, neighbours, c=0.35):
    """The noise-to-signal ratio: sampling, noise of the sums, noise of the count, over m c, with the split of the least ratio."""
    ratio = (4 * m**2 / c) ** (1 / 3) if delta == 0 else None
    if neighbours == "replace":
        first, count = epsilon, 0
    else:
        if delta:
            sigma = gaussian_sigma(epsilon, delta) * epsilon
            ratio = (2 * m * sigma**2 * m / (m * c) / 2) ** (1 / 3)
        first = epsilon * ratio / (1 + ratio)
        count = 2 / (epsilon - first) ** 2
    if delta:
        noise = 2 * m * (gaussian_sigma(first, delta) * (2 if neighbours == "replace" else 1) * math.sqrt(m)) ** 2
    else:
        noise = (32 if neighbours == "replace" else 8) * m**3 / first**2
    return (m * (1 - c) / n + noise / n**2 + m * c * count / n**2) / (m * c)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("delta", [0, 1e-7])
def test_the_plan_is_that_of_the_formula(program, delta, neighbours):
    flags = ["--delta", delta, "--neighbours", neighbours]
    plan = program.json("plan", "--rows", 1e5, "--dim", 8, "-k", 5, "--epsilon", 0.5, *flags)
    assert [f["size"] for f in plan["forecasts"]] == [80, 120, 200, 280, 400] and plan["parameters"] == 40
    for forecast in plan["forecasts"]:
        expected = nsr(1e5, forecast["size"], 0.5, delta, neighbours)
        assert forecast["nsr"] == pytest.approx(expected, rel=0.01)
        assert forecast["limit"] == pytest.approx(forecast["size"] / 40_000)


def test_a_plan_says_what_will_work_and_what_would_be_enough(program):
    good = program("plan", "--rows", 10_000_000, "--dim", 10, "-k", 10, "--epsilon", 1)
    assert "will work as without noise" in good and "recommended" in good and "--size 1000" in good, good
    asked = ["--dim", 10, "-k", 10, "--epsilon", 0.01]
    bad = program.json("plan", "--rows", 100_000, *asked)
    assert bad["verdict"] == "too noisy" and "needs about epsilon" in bad["words"]
    enough = program.json("plan", "--rows", bad["rows_needed"], *asked)
    assert enough["verdict"] == "good"
    enough = program.json("plan", "--rows", 100_000, *asked[:-1], bad["epsilon_needed"])
    assert enough["verdict"] == "good"
    few = program("plan", "--rows", 100, "--dim", 10, "-k", 10, "--epsilon", 1)
    assert "rows" in few and "no epsilon makes up" in few, few
    rough = program.json("plan", "--rows", 1_000_000, "--dim", 10, "-k", 10, "--epsilon", 0.02, "--size", 1000)
    assert rough["size"] == 1000 and rough["verdict"] == "rough", rough
