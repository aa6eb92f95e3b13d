"""A collector whose disk is full, or cannot be written: what it acknowledged is there afterwards, and nothing else."""

import json
import os
import resource
import signal
import subprocess

import pytest
from testing import BITS, REPORTS, SKETCH, Server

MEGABYTES = 3
# What the server leaves free of a disk.
RESERVE = 4
# Requests that are sent after the first refusal.
AFTER = 40


DELETION = ("DELETE", "/v1/streams/fleet/buckets?from=2000-01-01&to=2000-01-02")


def mount(*words):
    return subprocess.run(["mount", *map(str, words)], capture_output=True, check=False).returncode == 0


@pytest.fixture
def small(tmp_path):
    """A filesystem of a few megabytes, or nothing where none may be mounted."""
    path = tmp_path / "small"
    path.mkdir()
    mounted = mount("-t", "tmpfs", "-o", f"size={MEGABYTES + RESERVE}m", "tmpfs", path)
    yield path if mounted else None
    if mounted:
        subprocess.run(["umount", "-l", path], check=True)


def limited():
    """Files of a process grow to a few megabytes, and then writing fails."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (MEGABYTES << 20, MEGABYTES << 20))


def batches(fleet):
    """Batches of three kinds, each in a bucket of its own, so that the store grows."""
    kinds = [(BITS, fleet.bits), (SKETCH, fleet.bodies[4][1]), (REPORTS, fleet.bodies[1][1])]
    for i in range(20_000):
        day = f"{2000 + i // 336:04}-{1 + i // 28 % 12:02}-{1 + i % 28:02}"
        yield f"key-{i}", day, *kinds[i % 3]


def send(server, fleet, key, day, kind, body):
    status, answer = server.ask("POST", f"/v1/streams/fleet/batches?bucket={day}", body, fleet.headers(kind, key))
    return status, json.loads(answer)


def fill(server, fleet):
    """Pushes until batches are refused, and some more; returns those that were acknowledged and those that were not."""
    counted, refused = [], []
    for batch in batches(fleet):
        status, answer = send(server, fleet, *batch)
        if status == 200:
            counted.append((batch, answer))
            continue
        assert status in (503, 507) and "error" in answer, (status, answer)
        assert answer["error"].count("nothing of this batch was counted") == 1, answer
        refused.append(batch)
        if len(refused) == AFTER:
            return counted, refused
    raise AssertionError("it never was full")


def held(server):
    """All that the stream holds, as it is on the wire."""
    private = json.loads(server.ask("GET", "/v1/private?streams=fleet")[1])["private"]
    keys = {(p["bucket"], p["key"]) for p in private}
    sketches = {(b, k): server.ask("GET", f"/v1/private?streams=fleet&from={b}&to={b}&key={k.replace(' ', '%20')}") for b, k in sorted(keys)[:50]}
    return server.buckets("fleet"), server.ask("GET", "/v1/sketch?streams=fleet"), private, sketches


@pytest.mark.parametrize(("way", "end"), [("filesystem", "stay"), ("filesystem", "stop"), ("filesystem", "kill"), ("limit", "kill")])
def test_a_full_disk_refuses_batches_and_keeps_what_it_acknowledged(fleet, tmp_path, small, way, end):
    if way == "filesystem" and small is None:
        pytest.skip("nothing may be mounted here; the limit on files stands in")
    folder = small / "data" if way == "filesystem" else tmp_path / "data"
    more = {} if way == "filesystem" else {"preexec_fn": limited}
    with Server(folder, "--log", "none", **more) as server, Server(tmp_path / "clean", "--log", "none") as clean:
        fleet.make(server)
        counted, refused = fill(server, fleet)
        assert server.process.poll() is None and len(counted) > 100
        # What is there can still be asked for, and whoever watches the server is informed.
        assert server.ask("GET", "/v1/sketch?streams=fleet")[0] == 200
        status, answer = server.ask("GET", "/healthz")
        assert status == 503 and b"make room" in answer, answer
        if way == "filesystem":
            # There is room to make room.
            assert server.ask(*DELETION)[0] == 200
        if end == "stop":
            assert server.stop() == 0
        elif end == "kill":
            server.kill()
        if way == "filesystem":
            assert mount("-o", f"remount,size={20 * MEGABYTES}m", small)
        if end != "stay":
            server.popen = {}
            server.start()
            assert server.ask("GET", "/healthz")[0] == 200
        check_same(server, clean, fleet, counted, refused, way == "filesystem")
        print(f"\n{way}, {end}: {len(counted)} batches in {MEGABYTES} MB, then {len(refused)} refusals")


def check_same(server, clean, fleet, counted, refused, deleted=False):
    """A server that was full holds what one with room has, which gets the acknowledged batches alone; then both get those that were refused."""
    fleet.make(clean)
    for batch, answer in counted:
        assert send(clean, fleet, *batch) == (200, answer)
    if deleted:
        assert clean.ask(*DELETION)[0] == 200
    assert held(server) == held(clean)
    for batch, answer in counted[-50:]:
        assert send(server, fleet, *batch) == (200, answer)
    for batch in refused:
        assert send(server, fleet, *batch) == send(clean, fleet, *batch)
    assert held(server) == held(clean) and server.ask("GET", "/healthz")[0] == 200
    assert "panic" not in server.log()


def test_a_directory_that_cannot_be_written_is_refused_at_the_start(program, fleet, tmp_path, small):
    if small is None:
        # Whoever may not mount is not a superuser either, for whom permissions would mean nothing.
        small = tmp_path / "locked"
        small.mkdir()
    folder = small / "data"
    with Server(folder, "--log", "none") as server:
        fleet.make(server)
        assert fleet.push(server, BITS, "k", fleet.bits)[0] == 200
        before = server.ask("GET", "/v1/streams/fleet")
        assert server.stop() == 0

    def lock(locked):
        if small.name == "locked":
            for path in (folder / "collector.redb", folder, small):
                os.chmod(path, (0o555 if locked else 0o755) if path.is_dir() else (0o444 if locked else 0o644))
        else:
            assert mount("-o", "remount,ro" if locked else "remount,rw", small)

    lock(True)
    for directory in (folder, small / "new"):
        message = program.fails("serve", directory, "--listen", "127.0.0.1:0")
        assert str(directory) in message and ("ead-only" in message or "ermission" in message), message
    assert "ead-only" in (message := program.fails("token", "create", folder, "--role", "admin")) or "ermission" in message
    lock(False)
    with Server(folder, "--log", "none") as server:
        assert server.ask("GET", "/v1/streams/fleet") == before
