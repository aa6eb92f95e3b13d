"""The verbs and the compiled classes against numpy, and against what they promise."""

import copy
import gc
import json
import os
import pathlib
import pickle
import signal
import threading
import time

import compressive
import numpy as np
import pytest
from safetensors import numpy as safetensors


@pytest.fixture(scope="module")
def table():
    """Three clusters in four columns, in f32."""
    rng = np.random.default_rng(5)
    centres = rng.normal(0, 6, (3, 4))
    return (centres[rng.integers(0, 3, 30_000)] + rng.normal(0, 1, (30_000, 4))).astype(np.float32), centres


@pytest.fixture(scope="module")
def spec():
    return compressive.SketchSpec(["a", "b", "c", "d"], 50, 2.0, seed=3)


def test_the_mean_is_that_of_the_features(table, spec):
    rows, _ = table
    sketch = compressive.Sketch(spec).update(rows[:2000])
    features = spec.features(compressive._data.source(rows[:2000], spec.columns))
    assert features.shape == (2000, 100)
    assert features.dtype == np.float32
    np.testing.assert_allclose(features.astype(float).mean(axis=0), sketch.mean, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(sketch.sums, np.round(features.astype(float).sum(axis=0) * 2**24))
    np.testing.assert_allclose(sketch.modulus, np.hypot(*sketch.mean.reshape(2, -1)))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_sums_do_not_depend_on_layout_precision_threads_or_cuts(table, spec, threads):
    rows, _ = table
    whole = compressive.Sketch(spec).update(rows, threads=threads).to_bytes()
    read_only = rows.copy()
    read_only.flags.writeable = False
    strided = np.zeros((len(rows), 9), np.float32)
    strided[:, ::2][:, :4] = rows
    for same in (
        np.asfortranarray(rows),
        rows.astype(float),
        read_only,
        strided[:, ::2][:, :4],
        rows[::-1],
        rows.tolist(),
    ):
        assert compressive.Sketch(spec).update(same, threads=threads).to_bytes() == whole
    parts = compressive.Sketch(spec)
    for cut in np.array_split(rows, 7):
        parts.update(cut, threads=threads)
    assert parts.to_bytes() == whole


def test_whole_weights_are_copies_and_zero_weights_are_no_rows(table, spec):
    rows = table[0][:500]
    weights = np.arange(500) % 4
    weighted = compressive.Sketch(spec).update(rows, weights=weights)
    copies = compressive.Sketch(spec).update(np.repeat(rows, weights, axis=0))
    assert np.array_equal(weighted.sums, copies.sums)
    assert weighted.rows == copies.rows == weighted.weight == weights.sum()


def test_groups_are_the_sketches_of_their_rows_and_add_up(table, spec):
    rows, _ = table
    by = np.array(["north", "south", "west"])[np.arange(len(rows)) % 3]
    groups = compressive.sketch(rows, spec, by=by)
    assert list(groups) == ["north", "south", "west"]
    for name, sketch in groups.items():
        assert sketch == compressive.Sketch(spec).update(rows[by == name])
    assert sum(groups.values()) == compressive.Sketch(spec).update(rows)
    assert set(compressive.sketch(rows, spec, by=np.arange(len(rows)) % 2 + 0.0)) == {"0", "1"}


def test_sketches_add_subtract_and_travel(table, spec, tmp_path):
    rows, _ = table
    first, second = compressive.Sketch(spec).update(rows[:10_000]), compressive.Sketch(spec).update(rows[10_000:])
    both = first + second
    assert both == compressive.Sketch(spec).update(rows)
    assert both - second == first
    assert (first.rows, second.rows, both.rows) == (10_000, 20_000, 30_000)
    for twin in (
        pickle.loads(pickle.dumps(both)),
        copy.copy(both),
        copy.deepcopy(both),
        compressive.Sketch.from_bytes(both.to_bytes()),
    ):
        assert twin == both
        twin.merge(first)
        assert twin != both
    both.save(tmp_path / "both.sketch")
    assert compressive.load(tmp_path / "both.sketch") == compressive.Sketch.load(tmp_path / "both.sketch") == both
    tensors = safetensors.load(both.to_safetensors())
    assert any(np.array_equal(tensor.ravel(), both.sums) for tensor in tensors.values())


def test_recipes_are_values(spec):
    twin = compressive.SketchSpec.from_json(spec.to_json())
    assert twin == spec
    assert hash(twin) == hash(spec)
    assert pickle.loads(pickle.dumps(spec)) == spec
    other = spec.with_columns(["w", "x", "y", "z"])
    assert other != spec
    assert other.radii().shape == (50,)
    with pytest.raises(compressive.CompressiveError, match="they differ in columns"):
        compressive.Sketch(spec).merge(compressive.Sketch(other))


def test_a_bad_value_is_named_and_nothing_is_added(table, spec):
    rows = table[0].copy()
    rows[20_123, 2] = np.nan
    sketch = compressive.Sketch(spec).update(table[0])
    before = sketch.to_bytes()
    with pytest.raises(compressive.CompressiveError, match=r"row 20123, column 2 \(c\)"):
        sketch.update(rows)
    assert sketch.to_bytes() == before
    left = compressive.sketch(rows, spec, skip_bad_rows=True)
    assert left == compressive.Sketch(spec).update(np.delete(table[0], 20_123, axis=0))


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (np.zeros(4), ValueError, "two dimensions"),
        (np.zeros((3, 5)), ValueError, "5 columns, and 4 are expected"),
        (np.zeros((3, 4), complex), ValueError, "real numbers"),
        ([["a", "b", "c", "d"]], ValueError, "real numbers"),
        ("nowhere.csv", FileNotFoundError, "nowhere.csv"),
    ],
)
def test_what_is_no_table_is_refused(spec, data, error, message):
    with pytest.raises(error, match=message):
        compressive.Sketch(spec).update(data)


def test_wrong_arguments_name_the_keyword(table, spec):
    rows, _ = table
    with pytest.raises(ValueError, match="weights has shape"):
        compressive.Sketch(spec).update(rows, weights=[1.0, 2.0])
    with pytest.raises(compressive.CompressiveError, match="weight -1 is not a number"):
        compressive.Sketch(spec).update(rows, weights=np.full(len(rows), -1.0))
    with pytest.raises(ValueError, match="law="):
        compressive.design(rows, law="levy")
    with pytest.raises(ValueError, match="bounds"):
        compressive.design(rows, private=0.1)
    with pytest.raises(TypeError, match="unexpected keyword"):
        compressive.design(rows, sise=10)


def test_clusters_mixtures_and_components_are_found(table):
    rows, centres = table
    model = compressive.fit_kmeans(compressive.sketch(rows, k=3), 3)
    found = model.parameters["centers"]
    nearest = np.linalg.norm(found[:, None] - centres[None], axis=2)
    assert nearest.min(axis=0).max() < 0.1
    labels = model.predict(rows)
    np.testing.assert_array_equal(labels, np.linalg.norm(rows[:, None] - found[None], axis=2).argmin(axis=1))
    mixture = compressive.fit_gmm(compressive.sketch(rows, k=3, task="gmm"), 3)
    np.testing.assert_allclose(mixture.parameters["covariances"], 1.0, atol=0.15)
    np.testing.assert_allclose(mixture.predict_proba(rows).sum(axis=1), 1.0)
    pca = compressive.fit_pca(compressive.sketch(rows, k=2, task="pca"), 2)
    exact = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)[2][:2]
    assert abs(np.linalg.det(pca.parameters["components"] @ exact.T)) > 0.999
    assert pca.transform(rows).shape == (len(rows), 2)
    assert pickle.loads(pickle.dumps(model)) == model


def test_a_fit_without_time_gives_a_usable_model_that_says_it_was_cut(table):
    rows, _ = table
    sketch = compressive.sketch(rows, k=3)
    model = compressive.fit_kmeans(sketch, 3, max_seconds=0)
    assert json.loads(model.to_json())["origin"]["info"]["stop"] == "cut"
    assert model.parameters["centers"].shape == (3, 4)
    assert json.loads(compressive.fit_gmm(sketch, 3, max_seconds=100).to_json())["origin"]["info"]["stop"] != "cut"
    with pytest.raises(ValueError, match="max_seconds"):
        compressive.fit_kmeans(sketch, 3, max_seconds=-1)


def test_the_number_of_clusters_can_be_left_open(table):
    rows, _ = table
    model = compressive.fit_kmeans(compressive.sketch(rows, k=6), (1, 6))
    assert model.k == 3
    assert [c["k"] for c in model.candidates][:3] == [1, 2, 3]
    assert model.misfit < 2 < 100 < compressive.fit_kmeans(compressive.sketch(rows, k=6), 2).misfit


def test_two_days_are_told_apart_and_equal_ones_are_not(table, spec):
    rows, _ = table
    even, odd = compressive.Sketch(spec).update(rows[::2]), compressive.Sketch(spec).update(rows[1::2])
    moved = compressive.Sketch(spec).update(rows[1::2] + np.float32(0.2))
    assert compressive.compare(even, odd)["p_value"] > 0.001
    assert compressive.compare(even, moved)["p_value"] < 1e-6


def test_a_private_release_is_noisy_adds_up_and_is_near(table):
    rows, _ = table
    spec = compressive.design(rows, k=3, bounds=(-30, 30), private=0, size=60)
    exact = compressive.Sketch(spec).update(rows)
    first, second = (compressive.privatize(exact, 1.0) for _ in range(2))
    assert first != second
    # 120 sums of sensitivity about 85 a row: the noise is far above the grid and far below the mean.
    assert 1e-4 < first.noise_std < 0.05
    assert abs(first.mean - exact.mean).max() < 12 * first.noise_std
    merged = first + second
    assert merged.rows == first.rows + second.rows
    assert pickle.loads(pickle.dumps(first)) == first
    with pytest.raises(compressive.CompressiveError, match="same release is given twice"):
        first + pickle.loads(pickle.dumps(first))
    with pytest.raises(compressive.CompressiveError, match=r"public_spec|private"):
        compressive.privatize(compressive.sketch(rows, k=3), 1.0)


def test_other_python_threads_run_during_a_pass(spec):
    rows = np.random.default_rng(0).normal(size=(400_000, 4)).astype(np.float32)
    beats, stop = [], threading.Event()

    def beat():
        while not stop.is_set():
            beats.append(time.perf_counter())
            time.sleep(0.001)

    clock = threading.Thread(target=beat)
    clock.start()
    start = time.perf_counter()
    compressive.Sketch(compressive.SketchSpec(["a", "b", "c", "d"], 2000, 2.0)).update(rows, threads=1)
    end = time.perf_counter()
    stop.set()
    clock.join()
    inside = [b for b in beats if start <= b <= end]
    # Without the lock the clock beats about every millisecond; with it, twice in all.
    assert len(inside) > 10


def test_an_interrupt_stops_a_pass_and_nothing_is_added():
    rows = np.random.default_rng(0).normal(size=(2_000_000, 4)).astype(np.float32)
    sketch = compressive.Sketch(compressive.SketchSpec(["a", "b", "c", "d"], 20_000, 2.0))
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        sketch.update(rows)
    # The whole pass takes minutes.
    assert time.perf_counter() - start < 20
    assert sketch.rows == 0


def test_progress_is_told_and_ends_at_all_rows(table, spec):
    counts = []
    compressive.Sketch(spec).update(table[0], progress=counts.append)
    assert counts == sorted(counts)
    assert counts[-1] == len(table[0])


def test_a_c_ordered_array_is_not_copied():
    rows = np.ones((2_000_000, 10), np.float32)
    spec = compressive.SketchSpec([f"x{i}" for i in range(10)], 20, 2.0)
    compressive.Sketch(spec).update(rows[:1000])
    gc.collect()
    # The array has 80 MB; blocks, threads and sums have a few.
    assert added_memory(lambda: compressive.Sketch(spec).update(rows)) < 8 << 20
    assert added_memory(lambda: compressive.Sketch(spec).update(rows + 1)) > 70 << 20


def added_memory(work):
    """Bytes by which the peak of resident memory rises."""
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    before = peak_memory()
    work()
    return peak_memory() - before


def peak_memory():
    status = pathlib.Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def test_auto_finds_the_number_of_clusters_as_a_range_does(table):
    sketch = compressive.sketch(table[0], k=6)
    assert compressive.fit_kmeans(sketch, "auto").parameters["centers"].shape == (3, 4)
