"""The same rows give the same bytes, whatever the threads, chunks, order, shards, format or instruction set."""

import gzip
import io
import itertools
import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from safetensors.numpy import load_file
from testing import COLUMNS, ROOT, sha, write_csv

FEATURES = ["fourier", "one-bit", "sawtooth", "cosine", "periodic", "quadratic", "quadratic-complex"]
CASES = [(f, s) for f in FEATURES for s in (False, True)] + [("nystrom", False), ("conv", False)]


@pytest.fixture(params=CASES, ids=lambda p: f"{p[0]}{'-structured' * p[1]}")
def spec(request, program, tmp_path, rows):
    feature, structured = request.param
    write_csv(tmp_path / "rows.csv", rows)
    (tmp_path / "table.json").write_text(json.dumps([1.0, 0.5, -0.25, -1.0, 0.0]))
    table = ["--table", "table.json"] if feature == "periodic" else []
    named = ["--feature", feature]
    if feature.startswith("quadratic"):
        named = ["--task", "pca", "-k", 2, "--feature", "quadratic", *(["--complex"] if feature.endswith("complex") else [])]
    if feature == "conv":
        named += ["--task", "classify", "--image", "2x2"]
    program("design", "rows.csv", "-o", "spec.json", *named, "--size", 50, "--structured",
            str(structured).lower(), *table)
    return tmp_path / "spec.json"


def test_threads_chunks_order_shards_formats_and_kernels_do_not_matter(program, tmp_path, rows, spec):
    numbers = itertools.count()

    def sketch(*args, stdin=None):
        out = tmp_path / f"out{next(numbers)}.sketch"
        program("sketch", *args, "--spec", spec, "-o", out, stdin=stdin)
        return out

    expected = sha(sketch("rows.csv"))
    for threads, chunk in itertools.product([1, 2, 3], [1, 7, 4096]):
        assert sha(sketch("rows.csv", "--threads", threads, "--chunk", chunk)) == expected

    shuffled = np.random.default_rng(0).permutation(rows)
    assert sha(sketch(write_csv(tmp_path / "shuffled.csv", shuffled))) == expected

    table = pa.table(dict(zip(COLUMNS, rows.T)))
    parts = []
    for i, part in enumerate(np.array_split(rows, 5)):
        write_csv(tmp_path / f"part-{i}.csv", part)
        parts.append(sketch(f"part-{i}.csv"))
    assert sha(sketch("part-*.csv")) == expected
    for order in [(0, 1, 2, 3, 4), (4, 2, 0, 3, 1)]:
        program("merge", *(parts[i] for i in order), "-o", "merged.sketch")
        assert sha(tmp_path / "merged.sketch") == expected

    # Columns in another order, with more beside them: the spec's names decide.
    mixed = table.select(["c", "a", "d", "b"]).append_column("note", pa.array(["x"] * len(rows)))
    pyarrow.parquet.write_table(mixed, tmp_path / "rows.parquet", row_group_size=400)
    pyarrow.feather.write_feather(mixed, tmp_path / "rows.arrow", chunksize=300)
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress((tmp_path / "rows.csv").read_bytes()))
    for name in ["rows.parquet", "rows.arrow", "rows.csv.gz"]:
        assert sha(sketch(name)) == expected, name
    assert sha(sketch("-", stdin=(tmp_path / "rows.csv").read_bytes())) == expected

    backends = program.run("sketch", "rows.csv", "--spec", spec, "-o", "no.sketch", "--backend", "?").stderr.decode()
    names = backends.split("it has ")[1].strip().split(", ")
    assert "scalar" in names
    for name in names:
        assert sha(sketch("rows.csv", "--backend", name)) == expected, name


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_of_any_layout_gives_the_bytes_of_csv(program, tmp_path, rows, dtype, order):
    names = [f"x{c}" for c in range(4)]
    write_csv(tmp_path / "rows.csv", rows, names)
    np.save(tmp_path / "rows.npy", np.asarray(rows, dtype=dtype, order=order))
    program("design", "rows.csv", "-o", "spec.json")
    program("sketch", "rows.csv", "--spec", "spec.json", "-o", "csv.sketch")
    program("sketch", "rows.npy", "--spec", "spec.json", "-o", "npy.sketch", "--chunk", 37)
    assert sha(tmp_path / "csv.sketch") == sha(tmp_path / "npy.sketch")


def test_arrow_streams_on_standard_input(program, tmp_path, rows):
    table = pa.table(dict(zip(COLUMNS, rows.T)))
    buffer = io.BytesIO()
    with pa.ipc.new_stream(buffer, table.schema) as writer:
        writer.write_table(table, max_chunksize=100)
    write_csv(tmp_path / "rows.csv", rows)
    program("design", "rows.csv", "-o", "spec.json")
    program("sketch", "rows.csv", "--spec", "spec.json", "-o", "csv.sketch")
    program("sketch", "-", "--spec", "spec.json", "-o", "stream.sketch", stdin=buffer.getvalue())
    assert sha(tmp_path / "csv.sketch") == sha(tmp_path / "stream.sketch")


def test_one_command_on_a_pipe_counts_the_pilots_rows_too(program, tmp_path, rows):
    text = write_csv(tmp_path / "rows.csv", rows).read_bytes()
    done = program.json("sketch", "-", "-o", "piped.sketch", stdin=text)
    assert done["rows_read"] == len(rows)
    program("sketch", "rows.csv", "--spec", "piped.sketch", "-o", "again.sketch")
    assert sha(tmp_path / "piped.sketch") == sha(tmp_path / "again.sketch")


def test_merge_then_subtract_gives_back_the_identical_file(program, tmp_path, rows, spec):
    for name, part in [("one", rows[:600]), ("two", rows[600:])]:
        write_csv(tmp_path / f"{name}.csv", part)
        program("sketch", f"{name}.csv", "--spec", spec, "-o", f"{name}.sketch")
    program("merge", "one.sketch", "two.sketch", "-o", "both.sketch")
    program("subtract", "both.sketch", "two.sketch", "-o", "back.sketch")
    assert sha(tmp_path / "back.sketch") == sha(tmp_path / "one.sketch")


def test_groups_are_the_sketches_of_their_rows(program, tmp_path, rows):
    groups = np.array(["north", "south", "a/b"])[np.arange(len(rows)) % 3]
    table = pa.table(dict(zip(COLUMNS, rows.T)) | {"region": groups})
    pyarrow.csv.write_csv(table, tmp_path / "all.csv")
    write_csv(tmp_path / "plain.csv", rows)
    program("design", "plain.csv", "-o", "spec.json")
    program("sketch", "all.csv", "--by", "region", "--spec", "spec.json", "-o", "by", "--threads", 3)
    assert sorted(p.name for p in (tmp_path / "by").iterdir()) == ["a%2Fb.sketch", "north.sketch", "south.sketch"]
    write_csv(tmp_path / "south.csv", rows[groups == "south"])
    program("sketch", "south.csv", "--spec", "spec.json", "-o", "south.sketch")
    assert sha(tmp_path / "south.sketch") == sha(tmp_path / "by" / "south.sketch")


def test_a_whole_weight_is_that_many_copies(program, tmp_path, rows):
    weights = np.arange(len(rows)) % 4
    write_csv(tmp_path / "weighted.csv", np.column_stack([rows, weights]), [*COLUMNS, "w"])
    write_csv(tmp_path / "copies.csv", np.repeat(rows, weights, axis=0))
    program("design", "copies.csv", "-o", "spec.json")
    program("sketch", "weighted.csv", "--weights", "w", "--spec", "spec.json", "-o", "weighted.sketch")
    program("sketch", "copies.csv", "--spec", "spec.json", "-o", "copies.sketch")
    # The file with weights remembers the largest, for private releases; all that is summed is the same.
    weighted, copies = (load_file(tmp_path / f"{name}.sketch") for name in ("weighted", "copies"))
    assert weighted.keys() == copies.keys() == {"counts", "sums", "moments"}
    assert all((weighted[name] == copies[name]).all() for name in weighted)


def test_golden_files_are_reproduced(program, tmp_path):
    """Pinned bytes of format 1: if this fails, stored sketches no longer mean what they meant."""
    golden = ROOT / "testdata" / "golden"
    pinned = dict(line.split()[::-1] for line in (golden / "SHA256SUMS").read_text().splitlines())
    specs = sorted(golden.glob("*.json"))
    assert len(specs) == 11 and len(pinned) == 11
    for spec in specs:
        rows = golden / ("wide.csv" if spec.stem == "wide" else "rows.csv")
        program("sketch", rows, "--spec", spec, "-o", "out.sketch")
        name = spec.with_suffix(".sketch").name
        assert sha(tmp_path / "out.sketch") == pinned[name] == sha(golden / name), name
