"""The collector against hostile senders: paths, heads, bodies and connections that nobody needs. Each has its status, and others go on."""

import gzip
import json
import os
import pathlib
import resource
import socket
import threading
import time
import zlib

import numpy as np
import pyarrow as pa
import pytest
from testing import ARROW, BITS, BUCKET, CSV, JSON, REPORTS, SKETCH, Server, arrow, eventually

BODY_MAX = 1 << 20
# Resident megabytes of a server whose bodies have 1 MB: its cache (64), and what it has anyway (about 15).
MEMORY_MAX = 120
# The same where bodies may have 16 MB, as they may by default.
LARGE_MAX = 400
IDLE, SLOW = 1000, 200


@pytest.fixture
def large(tmp_path, fleet):
    """A server that takes bodies of 16 MB, as it does by default."""
    with Server(tmp_path / "large", "--log", "none") as server:
        fleet.make(server)
        yield server


@pytest.fixture
def limited(tmp_path, fleet):
    """A server for twenty connections."""
    with Server(tmp_path / "limited", "--max-connections", 20) as server:
        fleet.make(server)
        yield server


@pytest.fixture
def server(tmp_path, fleet):
    """A server with an empty stream."""
    with Server(tmp_path / "data", "--max-body", BODY_MAX, "--log", "all") as server:
        fleet.make(server)
        yield server
        server.check_alive()
        assert server.megabytes() < MEMORY_MAX


def request(line, *headers, body=b""):
    """A request as bytes, without a length unless it is among the headers."""
    lines = [line.encode(), b"Host: 127.0.0.1", *(h if isinstance(h, bytes) else h.encode() for h in headers)]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def batch(fleet, *headers, key="k", kind=BITS, body=b""):
    line = f"POST /v1/streams/fleet/batches?bucket={BUCKET} HTTP/1.1"
    return request(line, f"Idempotency-Key: {key}", f"Compressive-Fingerprint: {fleet.fingerprint}", f"Content-Type: {kind}", *headers, body=body)


def test_no_path_leads_out_of_the_data_directory(server, fleet, tmp_path):
    before = sorted(path.name for path in tmp_path.iterdir())
    names = ["..", ".", "%2e%2e", "..%2f..%2fetc%2fpasswd", "..%5c..%5cx", "%252e%252e", "a..b", ".hidden", "a%00b", "%00", "%ff%fe", "a%2fb"]
    names += ["%C3%A4", "a%20b", "a%0d%0aX:%20y", "-a", "a" * 101, "%2e%2e%2fcollector.redb", "~", "%2Fetc%2Fpasswd", "C:x"]
    for name in names:
        statuses = [
            server.raw(request(f"{method} /v1/streams/{name} HTTP/1.1", "Connection: close", f"Content-Length: {len(body)}", body=body))[0]
            for method, body in [("PUT", fleet.spec), ("GET", b""), ("DELETE", b"")]
        ]
        unreadable = name == "%ff%fe"
        assert statuses == [[400], [400 if unreadable else 404], [400 if unreadable else 404]], (name, statuses)
        assert server.ask("GET", f"/v1/sketch?streams={name}")[0] in (400, 404)
    for path in ["/v1/streams/../../../../etc/passwd", "/../etc/passwd", "/..%2f..%2fetc/passwd", "//etc/passwd", "/v1/streams//", "/%2e%2e/%2e%2e/"]:
        assert server.raw(request(f"GET {path} HTTP/1.1", "Connection: close"))[0] == [404], path
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == ["collector.redb"]
    assert [s["name"] for s in json.loads(server.ask("GET", "/v1/streams")[1])["streams"]] == ["fleet"]


def test_bodies_that_are_too_large_are_refused_before_they_are_there(server, fleet):
    for length in (BODY_MAX + 1, 10**12, 2**63 - 1):
        # The body never comes, and the answer does.
        assert server.raw(batch(fleet, "Connection: close", f"Content-Length: {length}"))[0] == [413], length
    for length in (2**64, 10**30, -1, "+5", "0x10", "1e3", "5 5", "", "5,5", "5,6"):
        assert server.raw(batch(fleet, "Connection: close", f"Content-Length: {length}"))[0] == [400], length
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    for path in (batch(fleet, "Transfer-Encoding: chunked"), request("PUT /v1/streams/new HTTP/1.1", "Transfer-Encoding: chunked")):
        # 64 MB without end; what comes after the answer is not read.
        assert server.raw(path + chunk * 1024)[0] == [413]
    assert server.raw(batch(fleet, "Transfer-Encoding: chunked", body=b"ffffffffffffffff\r\n" + b"x" * 2 * BODY_MAX))[0] == [413]
    for chunks in (b"fffffffffffffffff\r\nx", b"-1\r\nx", b"zz\r\n", b"5;" + b"e" * 100_000 + b"\r\nhello\r\n0\r\n\r\n"):
        assert server.raw(batch(fleet, "Transfer-Encoding: chunked", body=chunks))[0] == [400], chunks[:40]
    assert server.buckets("fleet") == []


def test_a_key_that_comes_back_with_another_bucket_is_refused(server, fleet):
    path = "/v1/streams/fleet/batches"
    assert server.ask("POST", f"{path}?bucket={BUCKET}", fleet.bits, fleet.headers(BITS, "k"))[0] == 200
    for bucket, status in ((f"?bucket={BUCKET}", 200), ("", 200), ("?bucket=2026-11-15", 422)):
        found, answer = server.ask("POST", path + bucket, fleet.bits, fleet.headers(BITS, "k"))
        assert found == status, answer
    assert [b["bucket"] for b in server.buckets("fleet")] == [BUCKET]


def test_a_stream_takes_the_promises_that_it_was_made_for(server, fleet):
    reports, sent = dict(fleet.bodies)[REPORTS], 2.0
    for wrong in ("", "0", "-1", "nan", "1,x", "33", ",".join(["1"] * 17)):
        assert server.ask("PUT", f"/v1/streams/fixed?every=day&epsilons={wrong}", fleet.spec)[0] == 400, wrong
    for name, epsilons, status in (("other", sent / 2, 400), ("fixed", f"{sent / 2},{sent}", 200)):
        assert server.ask("PUT", f"/v1/streams/{name}?every=day&epsilons={epsilons}", fleet.spec)[0] == 201
        path = f"/v1/streams/{name}/batches?bucket={BUCKET}"
        found, answer = server.ask("POST", path, reports, fleet.headers(REPORTS, "k"))
        assert found == status, answer
    assert json.loads(server.ask("GET", "/v1/streams/other")[1])["epsilons"] == [sent / 2]


def test_counts_of_rows_need_a_token_and_bearer_is_a_word_in_any_case(program, tmp_path):
    tokens = {role: program("token", "create", "data", "--role", role).strip() for role in ("admin", "read", "ingest")}
    with Server(tmp_path / "data") as server:
        for headers, status in [({}, 401), ({"Authorization": "Bearer x"}, 401)] + [
            ({"Authorization": f"{scheme} {tokens[role]}"}, 200)
            for scheme in ("Bearer", "bearer", "BEARER")
            for role in tokens
        ]:
            assert server.ask("GET", "/metrics", headers=headers)[0] == status, headers
        assert server.ask("GET", "/healthz")[0] == 200


def test_nothing_that_unfolds_is_taken(server, fleet):
    zeros = b"0,0,0,0\n" * 10_000_000
    packed = gzip.compress(",".join(fleet.columns).encode() + b"\n" + zeros, 1)
    assert len(packed) < BODY_MAX < len(zeros)
    fit = json.dumps({"streams": ["fleet"], "k": 1}).encode()
    for encoding in ("gzip", "deflate", "br", "zstd", "x-gzip", "compress", "gzip, gzip", "identity", ""):
        named = {"Content-Encoding": encoding}
        kind, body = (CSV, packed) if encoding == "gzip" else (BITS, fleet.bits)
        path = f"/v1/streams/fleet/batches?bucket={BUCKET}"
        assert server.ask("POST", path, body, {**fleet.headers(kind, "k"), **named})[0] == 415, encoding
        assert server.ask("PUT", "/v1/streams/new", fleet.spec, named)[0] == 415, encoding
        assert server.ask("POST", "/v1/fit", fit, named)[0] == 415, encoding
    for kind in (CSV, JSON, BITS, REPORTS, ARROW, SKETCH):
        assert fleet.push(server, kind, "k", packed)[0] == 400, kind
        assert fleet.push(server, kind, "k", zlib.compress(zeros[:1000]))[0] == 400, kind
    large = pa.table({name: np.zeros(1_000_000, np.float32) for name in fleet.columns})
    for compression in ("lz4", "zstd"):
        body = arrow(large, compression)
        assert len(body) < BODY_MAX
        status, answer = fleet.push(server, ARROW, "k", body)
        assert status == 400 and b"compressed" in answer
    assert server.buckets("fleet") == []


def test_arrow_columns_that_stand_for_more_than_they_say_are_refused(server, fleet):
    def columns(values):
        return pa.table([values] * len(fleet.columns), names=fleet.columns)

    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2**31 - 1], pa.int32()), pa.array([1.0]))
    doubled = arrow(fleet.table).replace((40).to_bytes(8, "little"), (2**62).to_bytes(8, "little"))
    for body in (arrow(columns(runs)), arrow(columns(pa.nulls(2**31 - 1))), doubled):
        status, answer = fleet.push(server, ARROW, "k", body)
        assert status == 400, answer
    assert server.buckets("fleet") == []


def test_bodies_that_would_take_many_times_their_room_stay_within_bounds(large, fleet):
    size = 16_000_000
    names, start = json.dumps(fleet.columns).encode(), ",".join(fleet.columns).encode() + b"\n"
    bodies = [
        (JSON, b'{"columns": %s, "rows": [' % names + b"[]," * (size // 3) + b"[]]}"),
        (JSON, b'{"columns": %s, "rows": [' % names + b"[1]," * (size // 4) + b"[1]]}"),
        (JSON, b'{"columns": %s, "rows": [[' % names + b"1," * (size // 2) + b"1]]}"),
        (JSON, b'{"columns": [' + b'"",' * (size // 3) + b'""], "rows": []}'),
        (JSON, b"[" * size),
        (JSON, b'{"x":' * (size // 5)),
        (CSV, b"," * size),
        (CSV, start + b"," * size),
        (CSV, b'"\n"' + b"," * size),
        (CSV, (b"," * 16_000 + b"\n") * (size // 16_001)),
        (CSV, start + b"\n" * size),
        (CSV, start + b'"' + b"1" * size),
        (CSV, start + b"1,1,1,\n" * (size // 7)),
        (SKETCH, (size - 8).to_bytes(8, "little") + b"[" * (size - 8)),
        (ARROW, arrow(pa.schema([(f"{i}", pa.float32()) for i in range(120_000)]).empty_table())),
        (ARROW, (b"\xff" * 4 + (8).to_bytes(4, "little") + bytes(8)) * (size // 16)),
    ]
    for i, (kind, body) in enumerate(bodies):
        status, answer = fleet.push(large, kind, f"{i}", body)
        assert status == 400, (i, status, answer)
        assert large.megabytes() < LARGE_MAX, (i, kind, large.megabytes())
    rows = size // 8
    whole = b'{"columns": %s, "rows": [' % names + b"[1,1,1,1]," * (size // 10) + b"[1,1,1,1]]}"
    for kind, body in [(JSON, whole), (CSV, start + b"1,1,1,1\n" * rows)]:
        # All of it makes sense, and it is more than a batch may have.
        status, answer = fleet.push(large, kind, "many", body)
        assert status == 413, (status, answer)
    assert large.buckets("fleet") == []
    large.check_alive()
    print(f"\nbodies of 16 MB: {large.megabytes():.0f} MB at most")


def test_heads_that_make_no_sense_have_their_status(server, fleet):
    close, length = "Connection: close", f"Content-Length: {len(fleet.bits)}"
    get = "GET /healthz HTTP/1.1"

    def status(*headers, line=get, body=b""):
        return server.raw(request(line, close, *headers, body=body))[0]

    assert status(*(f"h{i}: 1" for i in range(60))) == [200]
    assert status(*(f"h{i}: 1" for i in range(70))) == [431]
    assert status(*(f"h{i}: 1" for i in range(5000))) == [431]
    assert status("long: " + "x" * 20_000) == [200]
    assert status("long: " + "x" * 200_000) == [431]
    assert status("x" * 200_000 + ": 1") == [431]
    assert status(line=f"GET /{'x' * 100_000} HTTP/1.1") == [431]
    assert status(line=f"GET /v1/streams?x={'y' * 20_000} HTTP/1.1") == [200]
    for header in (b"x: a\x00b", b"x\x00: a", b"x : a", b"x: a\r\n folded", b"x", b": a", b"x\xc3\xa4: a", b"x: a\x01b", b"x: a\rb"):
        assert status(header) == [400], header
    wrong = ["GET /healthz", "GET", "GET /healthz HTTP/1.1 x", "GET /healthz HTTP/9.9", "G\x00T / HTTP/1.1", "GET /\x00 HTTP/1.1", "PRI * HTTP/2.0"]
    for line in wrong:
        assert status(line=line) == [400], line
    # Without tokens the server is for this machine, and not for pages of others that a browser on it shows.
    for header, expected in [(b"Origin: http://127.0.0.1", 200), (b"Origin: http://elsewhere.example", 401), (b"Origin: null", 401)]:
        assert status(header, line="GET /v1/streams HTTP/1.1") == [expected], header
    for host, expected in [(b"localhost", 200), (b"elsewhere.example", 401), (b"127.0.0.1.elsewhere.example:80", 401)]:
        whole = request("GET /v1/streams HTTP/1.1", close).replace(b"Host: 127.0.0.1", b"Host: " + host)
        assert server.raw(whole)[0] == [expected], host
    for key in ("", " ", "a b", "x" * 129, b"\xff\xfe", "a\tb", b"k\xc3\xa4"):
        named = b"Idempotency-Key: " + (key if isinstance(key, bytes) else key.encode())
        whole = batch(fleet, close, length, body=fleet.bits).replace(b"Idempotency-Key: k", named)
        assert server.raw(whole)[0] == [400], key
    for twice, expected in [("Idempotency-Key: other", 400), (f"Compressive-Fingerprint: {fleet.fingerprint}", 400), (f"Content-Type: {CSV}", 415)]:
        assert server.raw(batch(fleet, close, length, twice, body=fleet.bits))[0] == [expected], twice
    for kind in ("", "text/plain", "application/octet-stream", "multipart/form-data; boundary=x", "*/*", "application/x-www-form-urlencoded"):
        assert server.raw(batch(fleet, close, length, kind=kind, body=fleet.bits))[0] == [415], kind
    assert server.buckets("fleet") == []
    assert server.raw(batch(fleet, close, length, kind=BITS.upper() + "; x=y", body=fleet.bits))[0] == [200]


def test_nobody_smuggles_a_request_in_another(server, fleet):
    hidden = request("PUT /v1/streams/smuggled HTTP/1.1", f"Content-Length: {len(fleet.spec)}", body=fleet.spec)
    n, bits = len(fleet.bits), fleet.bits
    chunked = f"{n:x}\r\n".encode() + bits + b"\r\n0\r\n\r\n"
    te, cl = "Transfer-Encoding: chunked", "Content-Length: {}"
    # What both would agree on is done once, and the connection ends there: whatever else came on it is not looked at.
    for i, headers in enumerate([(te, cl.format(n)), (cl.format(n), te), (te, cl.format(len(chunked) + len(hidden)))]):
        assert server.raw(batch(fleet, *headers, key=f"both-{i}", body=chunked + hidden))[0] == [200]
    refused = [
        (cl.format(n), cl.format(n + len(hidden))),
        ("Transfer-Encoding: xchunked", cl.format(n)),
        ("Transfer-Encoding: chunked, identity",),
        ("Transfer-Encoding: identity", cl.format(n)),
        ("Transfer-Encoding : chunked", cl.format(n)),
        ("Transfer-Encoding: chunked", "Transfer-Encoding: x"),
        ("Transfer-Encoding:\x0bchunked", cl.format(n)),
        ("X: y\r\n Transfer-Encoding: chunked", cl.format(n)),
        ("Transfer-Encoding: gzip",),
    ]
    for headers in refused:
        assert server.raw(batch(fleet, *headers, key="refused", body=bits + hidden))[0] == [400], headers
    # A refusal before the body is read: the body is not taken for a request, and what comes after it is one.
    early = batch(fleet, cl.format(len(hidden)), key="early", body=hidden).replace(fleet.fingerprint.encode(), b"0" * 32)
    assert server.raw(early + request("GET /nothing HTTP/1.1", "Connection: close"))[0] == [409, 404]
    statuses, _ = server.raw(request("GET /healthz HTTP/1.0", te, body=hidden))
    assert statuses == [400]
    assert [s["name"] for s in json.loads(server.ask("GET", "/v1/streams")[1])["streams"]] == ["fleet"]
    assert server.buckets("fleet")[0]["rows"] == 3 * 40


def test_requests_in_a_row_are_answered_in_a_row(server, fleet):
    one = [batch(fleet, f"Content-Length: {len(fleet.bits)}", key=f"{i}", body=fleet.bits) for i in range(20)]
    get, wrong = request("GET /healthz HTTP/1.1"), request("GET /nothing HTTP/1.1")
    last = request("GET /v1/streams/fleet HTTP/1.1", "Connection: close")
    statuses, came = server.raw(b"".join([*one, get, one[0], wrong, last, get]))
    assert statuses == [200] * 20 + [200, 200, 404, 200]
    assert came.count(b'"key":"0"') == 2 and came.count(b"idempotent-replayed: true") == 1
    assert server.buckets("fleet")[0]["rows"] == 20 * 40
    # One who asks and hangs up leaves nothing behind.
    for _ in range(50):
        with socket.create_connection(("127.0.0.1", server.port)) as s:
            s.sendall(get * 100)
    eventually(lambda: b"\ncompressive_connections 1\n" in server.ask("GET", "/metrics")[1])


def test_no_token_is_in_the_log(program, tmp_path, fleet):
    tokens = {role: program("token", "create", "data", "--role", role).strip() for role in ("admin", "read", "ingest")}
    tokens["gone"] = program("token", "create", "data", "--role", "admin").strip()
    program("token", "revoke", "data", tokens["gone"].split("_")[1])
    with Server(tmp_path / "data", "--log", "all") as server:
        fleet.make(server, token=tokens["admin"])
        asked = 0
        for token in [*tokens.values(), tokens["admin"][:-1] + "x"]:
            for header in (f"Bearer {token}", f"Basic {token}", token, f"Bearer {token} {token}"):
                for path in ("/v1/streams", "/v1/sketch?streams=fleet", f"/v1/sketch?token={token}", "/v1/fit", "/x"):
                    server.ask("POST" if path == "/v1/fit" else "GET", path, headers={"Authorization": header})
                    asked += 1
            status, _ = fleet.push(server, BITS, "k", fleet.bits, token=token)
            assert status in (200, 401, 403)
        assert server.stop() == 0
    log = server.log()
    assert sum(json.loads(line)["event"] == "request" for line in log.splitlines()) >= asked
    for token in tokens.values():
        assert token not in log and token.split("_")[2] not in log
        for path in (tmp_path / "data").iterdir():
            assert token.split("_")[2].encode() not in path.read_bytes()


def pushed(program, server, key):
    """Rows a second of a push, and its rows."""
    start = time.perf_counter()
    place = ["--to", server.url, "--stream", "fleet", "--spec", "spec.json", "--bucket", BUCKET]
    answer = program.json("push", "many.npy", *place, "--spool", f"spool-{key}")
    return answer["rows"] / (time.perf_counter() - start), answer["rows"]


@pytest.mark.alone
def test_a_thousand_idle_connections_and_two_hundred_slow_ones_stop_nobody(program, tmp_path, server, fleet):
    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(files[0], min(files[1], 4096)), files[1]))
    np.save(tmp_path / "many.npy", np.random.default_rng(1).normal(0, 2, (300_000, 4)).astype(np.float32))
    before, rows = pushed(program, server, "before")
    head = batch(fleet, f"Content-Length: {len(fleet.bits)}", key="slow")
    idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(IDLE)]
    slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(SLOW)]
    # Half of them are slow with the head, half with the body.
    for s in slow[: SLOW // 2]:
        s.sendall(head)
    done, sent = threading.Event(), [0]

    def drip():
        while not done.wait(1.0):
            for i, s in enumerate(slow):
                s.sendall(fleet.bits[sent[0] : sent[0] + 1] if i < SLOW // 2 else head[sent[0] : sent[0] + 1])
            sent[0] += 1

    dripping = threading.Thread(target=drip)
    dripping.start()
    eventually(lambda: f"\ncompressive_connections {IDLE + SLOW + 1}\n".encode() in server.ask("GET", "/metrics")[1])
    eventually(lambda: sent[0] >= 2)
    during, _ = pushed(program, server, "during")
    count = server.ask("GET", "/metrics")[1]
    done.set()
    dripping.join()
    assert f"\ncompressive_connections {IDLE + SLOW + 1}\n".encode() in count, "they were not there all the time"
    for s in [*idle, *slow]:
        s.close()
    eventually(lambda: b"\ncompressive_connections 1\n" in server.ask("GET", "/metrics")[1])
    after, _ = pushed(program, server, "after")
    resource.setrlimit(resource.RLIMIT_NOFILE, files)
    print(f"\nrows a second: {before:.0f} before, {during:.0f} during, {after:.0f} after; {server.megabytes():.0f} MB, {sent[0]} bytes dripped")
    # The machine is shared with whatever else runs on it.
    assert during > 0.5 * min(before, after)
    assert server.buckets("fleet")[0]["rows"] == 3 * rows


def test_connections_beyond_the_limit_are_closed_and_the_others_go_on(limited, fleet):
    worker = limited.connect()
    worker.request("GET", "/healthz")
    worker.getresponse().read()
    others = [socket.create_connection(("127.0.0.1", limited.port), timeout=10) for _ in range(300)]
    path = f"/v1/streams/fleet/batches?bucket={BUCKET}"
    for i in range(50):
        worker.request("POST", path, fleet.bits, fleet.headers(BITS, f"{i}"))
        answer = worker.getresponse()
        assert answer.status == 200, answer.read()
        answer.read()

    def is_closed(s):
        s.setblocking(False)
        try:
            return s.recv(1) == b""
        except BlockingIOError:
            return False
        except ConnectionResetError:
            return True

    eventually(lambda: sum(is_closed(s) for s in others) == 300 - 19)
    for s in others:
        s.close()
    worker.close()
    eventually(lambda: reachable(limited))
    assert limited.buckets("fleet")[0]["rows"] == 50 * 40
    limited.check_alive()


def reachable(server):
    try:
        return server.ask("GET", "/healthz")[0] == 200
    except OSError:
        return False


@pytest.mark.alone
def test_models_that_nobody_waits_for_hold_up_nobody(large, fleet):
    assert fleet.push(large, BITS, "first", fleet.bits)[0] == 200
    # Each would take a minute or more.
    fit = json.dumps({"streams": ["fleet"], "task": "gmm", "k": 40, "covariance": "full"}).encode()
    asking = request("POST /v1/fit HTTP/1.1", f"Content-Length: {len(fit)}", body=fit)
    for _ in range(40):
        with socket.create_connection(("127.0.0.1", large.port)) as s:
            s.sendall(asking)
            time.sleep(0.01)
    times = []
    for i in range(50):
        start = time.perf_counter()
        assert fleet.push(large, BITS, f"next-{i}", fleet.bits)[0] == 200
        assert large.buckets("fleet")[0]["rows"] == (i + 2) * 40
        times.append(time.perf_counter() - start)
    assert max(times) < 2, max(times)
    # Computations that nobody waits for hold their places, so that there are never more of them than processors.
    status = pathlib.Path(f"/proc/{large.process.pid}/status").read_text()
    assert int(status.split("Threads:")[1].split()[0]) < 12 + 4 * os.cpu_count()
    start = time.perf_counter()
    assert large.stop() == 0 and time.perf_counter() - start < 10
