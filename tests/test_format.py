"""docs/format.md says enough: an independent implementation of that page rebuilds the program's files byte for byte."""

import json
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from format_reference import f32, file_bytes, fma, sketch_bytes
from safetensors import safe_open
from testing import ROOT, write_csv

GOLDEN = ROOT / "testdata" / "golden"
FEATURES = ["fourier", "one-bit", "sawtooth", "cosine", "periodic"]
WEIGHTS = [1.0, 0.0, 3.0, 0.37, 2.5, 1e-3, 2.0**28, 1 / 3, 1.0, 7.0, 2.0**-25, 12345.678]


def small_rows(dim=3, n=12):
    """Rows of full f64 precision, with one outlier that is clamped and one that overflows in a whitening matrix."""
    rows = np.random.default_rng(11).normal(0, 2, (n, dim))
    rows[3, 1], rows[5] = -1e9, 1e308
    return rows


def small_spec(dim=3, **fields):
    """A spec of 20 frequencies; the fields come in no particular order, as in a spec written by hand."""
    spread, centre = [1 + c / 3 for c in range(dim)], [0.1 * c for c in range(dim)]
    spec = {
        "seed": 2**52 + 12345, "dither": True, "scale": 0.7, "size": 20, "structured": False, "bounds": None,
        "transform": {"spread": spread, "centre": centre, "whiten": None}, "law": {"name": "gaussian"},
        "columns": [f"x{c}" for c in range(dim)], "format": 1, "feature": {"name": "fourier"},
    }
    return spec | fields


def feature(name):
    return {"name": name, "table": [1, 0.5, -0.25, -1.0, 1 / 3]} if name == "periodic" else {"name": name}


def assert_same(made, expected):
    """Equal bytes, told apart as integers and header where they are not."""
    integers = [np.frombuffer(b[8 + int.from_bytes(b[:8], "little") :], "<i8") for b in (made, expected)]
    np.testing.assert_array_equal(*integers, err_msg="row count, weight, sums")
    assert made == expected


def check(program, tmp_path, spec, rows, weights=None):
    """The program's file of these rows must have the bytes of the reference's."""
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    if weights is None:
        write_csv(tmp_path / "rows.csv", rows, spec["columns"])
        program("sketch", "rows.csv", "--spec", "spec.json", "-o", "rows.sketch")
    else:
        write_csv(tmp_path / "rows.csv", np.column_stack([rows, weights]), [*spec["columns"], "w"])
        program("sketch", "rows.csv", "--weights", "w", "--spec", "spec.json", "-o", "rows.sketch")
    assert_same((tmp_path / "rows.sketch").read_bytes(), sketch_bytes(spec, rows, weights))


@pytest.mark.parametrize("name", sorted(p.stem for p in GOLDEN.glob("*.sketch")))
def test_golden_files_are_rebuilt(name):
    spec = json.loads((GOLDEN / f"{name}.json").read_text())
    rows = np.loadtxt(GOLDEN / ("wide.csv" if name == "wide" else "rows.csv"), delimiter=",", skiprows=1)
    assert_same((GOLDEN / f"{name}.sketch").read_bytes(), sketch_bytes(spec, rows))


@pytest.mark.parametrize("structured", [False, True], ids=["dense", "structured"])
@pytest.mark.parametrize("law", ["gaussian", "folded-gaussian", "adapted-radius", "weighted"])
def test_every_radius_law_is_rebuilt(program, tmp_path, law, structured):
    # Structured: 3 columns are padded to 16, and 20 frequencies are one block and a part of the next.
    check(program, tmp_path, small_spec(law={"name": law}, structured=structured), small_rows())


FULL = {"full": [[2.0, 9.0, 9.0], [0.3, 1.0, 9.0], [-0.2, 0.1, 0.5]]}  # only the lower triangle is read


@pytest.mark.parametrize("radius", ["gaussian", "folded-gaussian", "adapted-radius"])
def test_mixture_laws_are_rebuilt(program, tmp_path, radius):
    components = [
        {"weight": 0.4, "covariance": FULL},
        {"covariance": {"diagonal": [1, 0.2, 3e-5]}, "weight": 0.35},
        {"weight": 0.25, "covariance": {"full": np.diag([1.0, 2.0, 3.0]).tolist()}},
    ]
    law = {"components": components, "radius": radius, "name": "pilot-mixture"}
    check(program, tmp_path, small_spec(law=law), small_rows())


def test_explicit_frequencies_are_rebuilt_from_tiny_to_huge(program, tmp_path):
    frequencies = np.random.default_rng(3).normal(0, 1, (20, 3)) * np.geomspace(1e-9, 1e8, 20)[:, None]
    frequencies[0], frequencies[19] = 0.0, [9.9e8, -9.9e8, 9.9e8]
    law = {"name": "explicit", "frequencies": frequencies.tolist()}
    for name in FEATURES:
        check(program, tmp_path, small_spec(law=law, scale=1, feature=feature(name)), small_rows())


@pytest.mark.parametrize("name", FEATURES)
def test_listed_phases_are_rebuilt(program, tmp_path, name):
    phases = np.random.default_rng(8).uniform(-1, 1, 20)
    phases[:3] = [1.0, -1.0, 0.0]
    check(program, tmp_path, small_spec(dither=phases.tolist(), feature=feature(name)), small_rows())


@pytest.mark.parametrize("scale", [0.03, 0.7, 11, 1e4])
def test_kernel_values_at_landmarks_are_rebuilt(program, tmp_path, scale):
    points = np.random.default_rng(6).normal(0, 2, (20, 3)).astype(f32)
    points[7] = [2.0**20, 0, -(2.0**20)]  # where the outlier is clamped to
    law = {"points": points.tolist(), "sampler": "greedy", "name": "landmarks"}
    spec = small_spec(law=law, feature={"name": "nystrom"}, dither=False, scale=scale)
    check(program, tmp_path, spec, small_rows())
    check(program, tmp_path, spec, small_rows(), WEIGHTS)


def test_the_largest_whole_weight_is_written_down(program, tmp_path):
    whole = [1.0, 0.0, 3.0, 1.0, 2.0, 1.0, 41.0, 1.0, 1.0, 7.0, 2.0, 1.0]
    check(program, tmp_path, small_spec(), small_rows(), whole)
    check(program, tmp_path, small_spec(), small_rows(), [min(w, 1.0) for w in whole])


@pytest.mark.parametrize("height, width, channels", [(1, 3, 1), (2, 3, 2), (8, 9, 1), (3, 15, 3)])
def test_activations_of_images_are_rebuilt(program, tmp_path, height, width, channels):
    image = {"channels": channels, "name": "conv", "width": width, "height": height}
    dim = height * width * channels
    for dither in [False, True]:
        spec = small_spec(dim, feature=image, dither=dither, size=3, scale=2.5)
        check(program, tmp_path, spec, small_rows(dim))
    check(program, tmp_path, spec, small_rows(dim), WEIGHTS)


def test_whitened_rows_are_rebuilt(program, tmp_path):
    spec = small_spec()
    # The second row makes the difference of two infinities of the row of 1e308.
    spec["transform"]["whiten"] = [[1.0, 0.25, -0.5], [5.0, -9.0, 0.1], [0, 1e-3, 1 / 3]]
    check(program, tmp_path, spec, small_rows())


@pytest.mark.parametrize("structured", [False, True], ids=["dense", "structured"])
@pytest.mark.parametrize("name", FEATURES)
def test_weighted_rows_are_rebuilt_for_every_feature(program, tmp_path, name, structured):
    check(program, tmp_path, small_spec(feature=feature(name), structured=structured), small_rows(), WEIGHTS)


@pytest.mark.parametrize("dim", [16, 17, 64, 65, 200, 257, 513, 1025])
def test_wide_structured_blocks_are_rebuilt(program, tmp_path, dim):
    """From a width of 128 on, the order of the butterflies decides the last bits."""
    check(program, tmp_path, small_spec(dim, structured=True, law={"name": "folded-gaussian"}), small_rows(dim, 8))


def quadratic_spec(dim=3, whiten=None, **fields):
    """A box that is neither a cube nor about the centre; one column of it is a point."""
    bounds = {"low": [-1.0 - c for c in range(dim)], "high": [2.5 + 0.1 * c for c in range(dim)]}
    bounds["low"][-1] = bounds["high"][-1]
    spec = small_spec(dim, bounds=bounds, dither=False, feature={"name": "quadratic"})
    spec["transform"]["whiten"] = whiten
    return spec | fields


@pytest.mark.parametrize("structured", [False, True], ids=["dense", "structured"])
@pytest.mark.parametrize("complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_quadratic_features_are_rebuilt(program, tmp_path, structured, complex, weights):
    feature = {"name": "quadratic", "complex": True} if complex else {"name": "quadratic"}
    matrix = [[1.0, 0.25, -0.5], [5.0, -9.0, 0.1], [0, 1e-3, 1 / 3]]
    for whiten in (None, matrix):
        spec = quadratic_spec(whiten=whiten, structured=structured, feature=feature)
        check(program, tmp_path, spec, small_rows(), weights)


def test_wide_quadratic_features_are_rebuilt(program, tmp_path):
    check(program, tmp_path, quadratic_spec(70, structured=True), small_rows(70, 8))


def test_complex_false_is_not_written(program, tmp_path):
    check(program, tmp_path, quadratic_spec(feature={"complex": False, "name": "quadratic"}), small_rows())


@pytest.mark.parametrize("source", [{"name": "bounds"}, {"epsilon": 1e-5, "name": "private"}], ids=["bounds", "private"])
def test_private_files_are_rebuilt_from_their_parts(program, tmp_path, source):
    spec = small_spec(source=source)
    check(program, tmp_path, spec, small_rows())
    program("privatize", "rows.sketch", "--epsilon", 1, "-o", "private.sketch")
    with safe_open(tmp_path / "private.sketch", framework="np") as file:
        numbers = [*file.get_tensor("counts").tolist(), *file.get_tensor("sums").tolist()]
        promises = file.metadata()["privacy"]
    assert numbers[1] == 0 and [p["epsilon"] for p in json.loads(promises)] == [1.0]
    assert_same((tmp_path / "private.sketch").read_bytes(), file_bytes(spec, numbers, {"privacy": promises}))


def test_unusual_numbers_and_names_have_one_canonical_form(program, tmp_path):
    names = ['quote " and \\', "tab\t, line\n, \b\f\r", "\x00 \x1f \x7f", "/ é 😀 \u2028", "", "plain"]
    low = [-1e300, -123456789.125, -9999999999999998, -0.0, 5e-324, 1e-5]
    high = [-1e16, -1.5e-7, 1e15, 0.0001, 1e22, 1.7976931348623157e308]
    spec = small_spec(6, columns=names, bounds={"high": high, "low": low}, scale=1)
    spec["transform"] = {"centre": [0, -0.0, 1e-7, 0.1, 3, 2**53], "spread": [1, 1e-4, 1e16, 0.1 + 0.2, 1e-5, 1e15]}
    rows = np.random.default_rng(1).normal(0, 1, (12, 6))
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    pyarrow.parquet.write_table(pa.table(dict(zip(names, rows.T))), tmp_path / "rows.parquet")
    program("sketch", "rows.parquet", "--spec", "spec.json", "-o", "rows.sketch")
    assert_same((tmp_path / "rows.sketch").read_bytes(), sketch_bytes(spec, rows))


def test_random_numbers_have_one_canonical_form(program, tmp_path):
    rng = np.random.default_rng(2)
    any_bits = rng.integers(0, 2**64, 2000, dtype=np.uint64).view(np.float64)
    any_size = 10.0 ** rng.uniform(-8, 20, 1000)
    # Quarters between 2^49 and 2^51 lie in the middle of two shortest decimals.
    ties = rng.integers(2**51, 2**53, 500) / 4
    numbers = np.concatenate([any_bits[np.isfinite(any_bits)], any_size, ties, -ties])
    ends = np.sort(rng.permutation(numbers)[: len(numbers) // 2 * 2].reshape(2, -1), axis=0)
    dim = ends.shape[1]
    spec = small_spec(dim, bounds={"low": ends[0].tolist(), "high": ends[1].tolist()}, size=1)
    check(program, tmp_path, spec, np.ones((1, dim)))


def test_the_reference_rounds_once_in_fma():
    """Against exact rationals."""
    rng = np.random.default_rng(4)
    a, b, c = (rng.integers(-(2**24), 2**24, 1000) * 2.0 ** rng.integers(-40, 0, 1000) for _ in range(3))
    # Sums that miss the middle of two f32 by so little that rounding to f64 first would put them there.
    i, k = rng.integers(1, 200, 1000) * 2.0**-23, rng.integers(0, 2**23, 1000) * 2.0**-23
    a, b, c = np.append(a, 2.0**-12 * (1 + i)), np.append(b, 2.0**-12 * (1 - i)), np.append(c, 1 + k)
    a, b, c = (x.astype(f32) for x in (a, b, c))
    for x, y, z, value in zip(a.tolist(), b.tolist(), c.tolist(), fma(a, b, c)):
        exact = Fraction(x) * Fraction(y) + Fraction(z)
        miss = abs(Fraction(float(value)) - exact)
        for neighbour in (np.nextafter(value, f32(-np.inf)), np.nextafter(value, f32(np.inf))):
            other = abs(Fraction(float(neighbour)) - exact)
            assert miss < other or (miss == other and value.view(np.uint32) % 2 == 0)
