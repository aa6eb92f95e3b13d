"""Files of earlier versions are opened by this one, and mean what they meant."""

import gzip
import json

import pytest
from testing import ROOT, Server

OLDER, GOLDEN = ROOT / "testdata/older", ROOT / "testdata/golden"


@pytest.mark.parametrize(
    "path", [*sorted(GOLDEN.glob("*.sketch")), *sorted(OLDER.glob("*.sketch"))], ids=lambda p: p.stem
)
def test_a_sketch_is_opened_and_written_as_it_was(program, tmp_path, path):
    found = program.json("inspect", path)
    assert found["fingerprint"] and "rows" in found
    # Of one sketch the merge is the sketch.
    program("merge", path, "-o", tmp_path / "again.sketch")
    assert (tmp_path / "again.sketch").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    "path", [*sorted(GOLDEN.glob("*.json")), OLDER / "spec.json", OLDER / "one-bit.json"], ids=lambda p: p.stem
)
def test_a_spec_has_the_fingerprint_it_had(program, path):
    own = json.loads(path.read_bytes())
    assert program.json("inspect", path)["fingerprint"]
    sketch = path.with_suffix(".sketch")
    if sketch.exists():
        assert program.json("inspect", sketch)["fingerprint"] == program.json("inspect", path)["fingerprint"]
    assert own["columns"]


@pytest.mark.parametrize("name", ["kmeans", "gmm", "pca"])
def test_a_model_does_what_it_did(program, tmp_path, name):
    if name == "pca":
        program("transform", OLDER / "pca.json", OLDER / "rows.csv", "-o", tmp_path / "out.csv", "-q")
    else:
        program("predict", OLDER / f"{name}.json", OLDER / "rows.csv", "-o", tmp_path / "out.csv", "-q")
        assert program.json("score", OLDER / f"{name}.json", OLDER / "rows.csv")["rows"] == 400
    assert len((tmp_path / "out.csv").read_text().splitlines()) >= 400


def test_a_sketch_with_an_outline_is_learned_from(program, tmp_path):
    program("fit", OLDER / "outline.sketch", "-k", 3, "-o", tmp_path / "model.json", "-q")
    assert json.loads((tmp_path / "model.json").read_bytes())["k"] == 3


@pytest.mark.parametrize(("number", "epsilon"), [(1, 1.5), (2, 1.0)])
def test_a_ledger_knows_what_was_spent_and_goes_on(program, tmp_path, number, epsilon):
    ledger = tmp_path / "ledger.json"
    ledger.write_bytes((OLDER / f"ledger-{number}.json").read_bytes())

    def spent():
        return 3 - program.json("ledger", ledger)["left"]["epsilon"]

    assert spent() == pytest.approx(epsilon)
    program("sketch", OLDER / "rows.csv", "--spec", OLDER / "spec.json", "-o", tmp_path / "plain.sketch", "-q")
    release = ("privatize", tmp_path / "plain.sketch", "--public-spec", "--ledger", ledger, "-q")
    program(*release, "--epsilon", 0.5, "-o", tmp_path / "a.sketch")
    assert spent() == pytest.approx(epsilon + 0.5)
    assert "cap" in program.fails(*release, "--epsilon", 2.5, "-o", tmp_path / "b.sketch")


def test_a_store_is_opened_and_a_run_goes_on_where_it_was(program, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/collector.redb").write_bytes(gzip.decompress((OLDER / "store.redb.gz").read_bytes()))
    with Server(tmp_path / "data", "--log", "none") as server:
        assert server.ask("GET", "/v1/sketch?streams=fleet")[1] == (OLDER / "store.sketch").read_bytes()
        assert (
            server.ask("GET", "/v1/sketch?streams=local&private=true")[1] == (OLDER / "store-local.sketch").read_bytes()
        )
        counts = [(b["bucket"], b["rows"], b["private"]) for b in server.buckets("fleet")]
        assert counts == [("2026-11-16", 400, 0), ("2026-11-17", 100, 1)]
        senders = json.loads(server.ask("GET", "/v1/streams/fleet/senders")[1])["senders"]
        assert [(s["sender"], s["buckets"], s["rows"]) for s in senders] == [("-", 2, 500)]
        # The file grew since; the run of the earlier version sends what is new.
        rows = (OLDER / "rows.csv").read_text()
        (tmp_path / "rows.csv").write_text(rows + "".join(f"{i},{-i}\n" for i in range(30)))
        run = json.loads((OLDER / "run.json").read_bytes())
        run.update(to=server.url, rows_of={"files": [str(tmp_path / "rows.csv")]})
        (tmp_path / "compressive-spool/earlier").mkdir(parents=True)
        (tmp_path / "compressive-spool/earlier/run.json").write_text(json.dumps(run))
        push = (
            "push",
            "rows.csv",
            "--to",
            server.url,
            "--stream",
            "fleet",
            "--spec",
            OLDER / "one-bit.json",
            "--bucket",
            "2026-11-16",
        )
        assert program.json(*push, "--batch", 10)["rows"] == 30
        program("sketch", "rows.csv", "--spec", OLDER / "one-bit.json", "-o", "offline.sketch", "-q")
        day = server.ask("GET", "/v1/sketch?streams=fleet&from=2026-11-16&to=2026-11-16")[1]
        assert day == (tmp_path / "offline.sketch").read_bytes()
        # And the second format is one that is opened again.
        assert server.stop() == 0
        server.start()
        assert server.ask("GET", "/v1/sketch?streams=fleet&from=2026-11-16&to=2026-11-16")[1] == day
