"""What several tests share: the program, tables, a collector with batches of every kind for it."""

import hashlib
import http.client
import io
import json
import os
import pathlib
import random
import signal
import socket
import struct
import subprocess
import time

import numpy as np
import pyarrow as pa

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = pathlib.Path(os.environ.get("COMPRESSIVE", ROOT / "target" / "debug" / "compressive"))
COLUMNS = ["a", "b", "c", "d"]
BITS, REPORTS = "application/vnd.compressive.bits", "application/vnd.compressive.reports"
ARROW, SKETCH = "application/vnd.apache.arrow.stream", "application/vnd.compressive.sketch"
JSON, CSV = "application/json", "text/csv"
BUCKET = "2026-11-16"


class Program:
    """`program(args...)` must succeed and returns standard output; `program.fails(args...)` must exit with 1."""

    def __init__(self, cwd, timeout=300, path=PROGRAM):
        self.cwd, self.timeout, self.path = cwd, timeout, path

    def run(self, *args, stdin=None):
        command = [str(self.path), *map(str, args)]
        return subprocess.run(
            command, cwd=self.cwd, input=stdin, capture_output=True, timeout=self.timeout, check=False
        )

    def __call__(self, *args, stdin=None):
        done = self.run(*args, stdin=stdin)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def json(self, *args, stdin=None):
        return json.loads(self(*args, "--json", stdin=stdin))

    def fails(self, *args, stdin=None, code=1):
        """Standard error of a run that must fail cleanly: the right code, no panic, nothing on standard output."""
        done = self.run(*args, stdin=stdin)
        message = done.stderr.decode()
        assert done.returncode == code, (done.returncode, message)
        assert "panicked" not in message and done.stdout == b"", message
        return message


def write_csv(path, rows, columns=COLUMNS):
    lines = [",".join(columns)] + [",".join(repr(float(x)) for x in row) for row in rows]
    path.write_text("\n".join(lines) + "\n")
    return path


def sha(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def as_bytes(made):
    """A sketch, or each of several by name, as its file has it."""
    if isinstance(made, dict):
        return {name: sketch.to_bytes() for name, sketch in made.items()}
    return made.to_bytes()


def eventually(condition, seconds=20):
    """Waits until something holds, and returns what the condition then gave."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)
    return found


def free_port():
    """A port that nothing else gets.

    It is below the range from which outgoing connections take theirs, since a client that tries a server which is down
    may be given the server's own port and then talk to itself. Processes that share the tests take turns of the range.
    """
    process, processes = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]), int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1))
    for port in random.SystemRandom().sample(range(15_000 + process, 32_000, processes), 100):
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("no free port")


class Server:
    """`compressive serve` on a fixed port, which can be killed and started again; its log is beside its folder."""

    def __init__(self, folder, *extra, port=None, **popen):
        self.folder, self.extra, self.port, self.popen = folder, extra, port or free_port(), popen
        self.log_path = pathlib.Path(f"{folder}.log")
        self.process = None
        self.start()

    def start(self):
        command = [PROGRAM, "serve", self.folder, "--listen", f"127.0.0.1:{self.port}", *self.extra]
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=log, **self.popen)
        line = self.process.stdout.readline().decode()
        assert line.startswith("collecting in"), line + self.log()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=30)
        self.process.stdout.close()
        return code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def ask(self, method, path, body=None, headers=None):
        connection = self.connect()
        try:
            connection.request(method, path, body=body, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def raw(self, request, patience=20):
        """Sends bytes as they are and returns the statuses of all answers until the connection is closed, with what came."""
        came = b""
        with socket.create_connection(("127.0.0.1", self.port), timeout=patience) as s:
            s.sendall(request)
            while part := s.recv(1 << 16):
                came += part
        statuses = [int(part[:3]) for part in came.split(b"HTTP/1.1 ")[1:]]
        return statuses, came

    def log(self):
        return self.log_path.read_text(errors="replace")

    def megabytes(self):
        """The peak of its resident memory."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM"))

    def buckets(self, stream, headers=None):
        status, answer = self.ask("GET", f"/v1/streams/{stream}", headers=headers)
        assert status == 200, answer
        return json.loads(answer)["buckets"]

    def check_alive(self):
        assert self.process.poll() is None and self.ask("GET", "/healthz")[0] == 200
        assert "panic" not in self.log()


class Fleet:
    """A one-bit spec, its fingerprint, and a valid body of each kind as pairs of media type and bytes."""

    def __init__(self, program, folder):
        rows = np.random.default_rng(3).normal(0, 2, (40, 4)).astype(np.float32)
        np.save(folder / "rows.npy", rows)
        program("design", "rows.npy", "-k", 3, "--feature", "one-bit", "-o", "spec.json", "-q")
        program("sketch", "rows.npy", "--spec", "spec.json", "-o", "plain.sketch", "-q")
        program("privatize", "plain.sketch", "--epsilon", 1, "--public-spec", "-o", "private.sketch", "-q")
        program("transform", "spec.json", "rows.npy", "--bits", "--blocks", 2, "-o", "bits.npy", "-q")
        self.spec = (folder / "spec.json").read_bytes()
        self.rows, self.columns = rows, json.loads(self.spec)["columns"]
        self.table = pa.table({name: rows[:, i] for i, name in enumerate(self.columns)})
        write_csv(folder / "rows.csv", rows, self.columns)
        self.plain = (folder / "plain.sketch").read_bytes()
        self.bits = np.load(folder / "bits.npy").astype(np.uint8).tobytes()
        self.fingerprint = header_of(self.plain)[1]["__metadata__"]["fingerprint"]
        self.bodies = [
            (BITS, self.bits),
            (REPORTS, reports(2 * json.loads(self.spec)["size"])),
            (ARROW, arrow(self.table)),
            (SKETCH, self.plain),
            (SKETCH, (folder / "private.sketch").read_bytes()),
            (JSON, json.dumps({"columns": self.columns, "rows": rows.tolist()}).encode()),
            (CSV, (folder / "rows.csv").read_bytes()),
        ]

    def headers(self, kind, key, token=None):
        named = {"Idempotency-Key": key, "Compressive-Fingerprint": self.fingerprint, "Content-Type": kind}
        return {**named, "Authorization": f"Bearer {token}"} if token else named

    def make(self, server, stream="fleet", token=None):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        status, answer = server.ask("PUT", f"/v1/streams/{stream}?every=day", self.spec, headers)
        assert status == 201, answer

    def push(self, server, kind, key, body, stream="fleet", token=None):
        return server.ask("POST", f"/v1/streams/{stream}/batches?bucket={BUCKET}", body, self.headers(kind, key, token))


def reports(entries, r=3, epsilon=2.0, readings=40):
    """Reports of local privacy with coins of ours."""
    dice = random.Random(11)
    words = [2 * e + dice.randrange(2) for _ in range(readings) for e in sorted(dice.sample(range(entries), r))]
    return b"CLR1" + struct.pack("<Id", r, epsilon) + struct.pack(f"<{len(words)}I", *words)


def arrow(table, compression=None):
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table)
    return sink.getvalue()


def header_of(sketch):
    """Where the sums of a sketch begin, and its header."""
    start = 8 + struct.unpack("<Q", sketch[:8])[0]
    return start, json.loads(sketch[8:start])
