"""The collector under load: writes docs/results/collector.md.

    cargo build --release
    python benches/collector.py                    # about two minutes on two cores
    python benches/collector.py --seconds 2        # a smaller run that prints only

One-bit contributions of m = 1000 frequencies in batches of 1000 readings (250 kB), sent over loopback by clients on the same cores; a reading counts when its batch is acknowledged, which is after the
disk has it. First alone; then beside 1000 idle connections and 200 that send a byte a second; then rows as CSV and Arrow, which the server sketches itself; then `compressive push` from a file, whose spool and
features are paid by the same cores. After each run the stream's sketch must hold just the acknowledged rows, to the byte. Peak memory is VmHWM. Needs numpy and pyarrow.
"""

import argparse
import http.client
import io
import json
import os
import pathlib
import platform
import re
import socket
import subprocess
import tempfile
import threading
import time

import numpy as np
import pyarrow as pa
from end_to_end import generate

ROOT = pathlib.Path(__file__).resolve().parent.parent
DIM, SIZE, BATCH, DISTINCT = 10, 1000, 1000, 16
CLIENTS, IDLE, SLOW = 4, 1000, 200
BAR = 200_000
BITS, ARROW, CSV = "application/vnd.compressive.bits", "application/vnd.apache.arrow.stream", "text/csv"


class Server:
    """`compressive serve` on a free port, with a stream `fleet`."""

    def __init__(self, program, folder, spec):
        command = [program, "serve", folder, "--listen", "127.0.0.1:0", "--log", "none"]
        self.process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True)
        self.port = int(re.search(r"127\.0\.0\.1:(\d+)", self.process.stdout.readline()).group(1))
        self.url = f"http://127.0.0.1:{self.port}"
        status, answer = self.ask("PUT", "/v1/streams/fleet?every=day", spec)
        assert status == 201, answer

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, body)
        answer = connection.getresponse()
        return answer.status, answer.read()

    def megabytes(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) / 1024

    def processor_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.process.terminate()
        assert self.process.wait(timeout=60) == 0


def client(server, number, fingerprint, kind, bodies, until, counts):
    """Sends batches on one connection until the time is up; notes how often each body was acknowledged."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    batch = 0
    while time.perf_counter() < until:
        which = (number + batch) % len(bodies)
        headers = {"Idempotency-Key": f"{number}-{batch}", "Compressive-Fingerprint": fingerprint, "Content-Type": kind}
        connection.request("POST", "/v1/streams/fleet/batches?bucket=2026-01-01", bodies[which], headers)
        answer = connection.getresponse()
        text = answer.read()
        if answer.status == 200:
            counts[number][which] += 1
            batch += 1
        else:
            assert answer.status in (429, 503), text
            time.sleep(0.01)


def load(server, fingerprint, kind, bodies, seconds):
    """How often each body was acknowledged, and the seconds that took."""
    counts = [[0] * len(bodies) for _ in range(CLIENTS)]
    start = time.perf_counter()
    arguments = [(server, i, fingerprint, kind, bodies, start + seconds, counts) for i in range(CLIENTS)]
    threads = [threading.Thread(target=client, args=one) for one in arguments]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return np.sum(counts, axis=0), time.perf_counter() - start


class Crowd:
    """Connections that say nothing, and ones that send a byte a second of a body that never ends."""

    def __init__(self, server):
        self.idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(IDLE)]
        self.slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(SLOW)]
        head = b"POST /v1/streams/fleet/batches HTTP/1.1\r\nHost: x\r\nIdempotency-Key: slow\r\nContent-Length: 250000\r\n"
        for one in self.slow:
            one.sendall(head)
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.drip)
        self.thread.start()

    def drip(self):
        while not self.over.wait(1.0):
            for one in self.slow:
                try:
                    one.send(b"X")
                except OSError:
                    pass

    def leave(self):
        self.over.set()
        self.thread.join()
        for one in self.idle + self.slow:
            one.close()


def arrow(values, names):
    sink = io.BytesIO()
    table = pa.table({name: values[:, i] for i, name in enumerate(names)})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def bodies_of(values, names, folder, program):
    """Bodies of each kind, of the same rows."""
    parts = [values[i * BATCH : (i + 1) * BATCH] for i in range(DISTINCT)]
    subprocess.run([program, "transform", "spec.json", "few.npy", "--bits", "--blocks", "2", "-o", "bits.npy", "-q"], cwd=folder, check=True)
    bits = np.load(folder / "bits.npy").astype(np.uint8)
    head = ",".join(names) + "\n"
    text = [head + "\n".join(",".join(map(repr, row)) for row in part.tolist()) + "\n" for part in parts]
    return {
        "bits": (BITS, [bits[i * BATCH : (i + 1) * BATCH].tobytes() for i in range(DISTINCT)]),
        "rows as Arrow": (ARROW, [arrow(part, names) for part in parts]),
        "rows as CSV": (CSV, [part.encode() for part in text]),
    }


def check(server, folder, program, values, counts):
    """The stream's sketch is that of just the acknowledged batches."""
    np.save(folder / "sent.npy", np.concatenate([values[i * BATCH : (i + 1) * BATCH].repeat(n, axis=0) for i, n in enumerate(counts) if n]))
    subprocess.run([program, "sketch", "sent.npy", "--spec", "spec.json", "-o", "sent.sketch", "-q"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    assert server.ask("GET", "/v1/sketch?streams=fleet")[1] == (folder / "sent.sketch").read_bytes()


def one_run(program, folder, name, kind, bodies, values, fingerprint, seconds, crowd=False):
    server = Server(program, folder / name.replace(" ", "-"), (folder / "spec.json").read_bytes())
    others = Crowd(server) if crowd else None
    used = server.processor_seconds()
    counts, elapsed = load(server, fingerprint, kind, bodies, seconds)
    used = server.processor_seconds() - used
    if others:
        others.leave()
    memory = server.megabytes()
    check(server, folder, program, values, counts)
    server.stop()
    rows = int(counts.sum()) * BATCH
    result = {"name": name, "rows": rows / elapsed, "megabytes": memory, "server": used / elapsed, "bytes": len(bodies[0])}
    print(json.dumps(result), flush=True)
    return result


def push(program, folder, rows):
    """The program's own client, from a file."""
    server = Server(program, folder / "push", (folder / "spec.json").read_bytes())
    generate(folder / "many.npy", rows)
    command = [program, "push", "many.npy", "--to", server.url, "--stream", "fleet", "--json", "-q", "--bucket", "2026-01-01"]
    done = subprocess.run([str(word) for word in command], cwd=folder, check=True, capture_output=True, text=True)
    subprocess.run([program, "sketch", "many.npy", "--spec", "spec.json", "-o", "many.sketch", "-q"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    assert server.ask("GET", "/v1/sketch?streams=fleet")[1] == (folder / "many.sketch").read_bytes()
    memory = server.megabytes()
    server.stop()
    result = {"name": "`compressive push` of a file", "rows": rows / json.loads(done.stdout)["seconds"], "megabytes": memory}
    print(json.dumps(result), flush=True)
    return result


def syncs(folder):
    """Waits for the disk per second, one after the other: what bounds acknowledgements of single batches."""
    with (folder / "sync").open("wb") as file:
        start, n = time.perf_counter(), 0
        while time.perf_counter() < start + 1:
            file.write(b"x" * 4096)
            file.flush()
            os.fdatasync(file.fileno())
            n += 1
    return n


def page(results, waits, seconds):
    alone, crowded = results[0]["rows"], results[1]["rows"]
    verdict = "met" if min(alone, crowded) >= BAR else "MISSED"
    lines = [
        "# The collector under load",
        "",
        f"**Verdict**: {alone:,.0f} readings a second acknowledged on the disk, {crowded:,.0f} beside {IDLE} idle and {SLOW} slow connections ({crowded / alone:.2f} of it); bar {BAR:,}: {verdict}.",
        "",
        f"m = {SIZE} frequencies, d = {DIM}, batches of {BATCH} readings, {CLIENTS} connections, {seconds:.0f} seconds a run, clients, server and disk on one machine. A reading counts when its batch is acknowledged, which is after the disk has it "
        f"({waits:,} waits for this disk a second, one after the other). After each run the stream's sketch was that of the acknowledged readings, to the byte. Memory is the peak of the server's; cores are those that the server used.",
        "",
        "| what is sent | bytes a batch | readings a second | server's cores | server's peak MB |",
        "|---|---|---|---|---|",
    ]
    for r in results:
        size = f"{r['bytes']:,}" if "bytes" in r else ""
        cores = f"{r['server']:.2f}" if "server" in r else ""
        lines.append(f"| {r['name']} | {size} | {r['rows']:,.0f} | {cores} | {r['megabytes']:.0f} |")
    lines += ["", f"Made by `python benches/collector.py` on {platform.machine()}, {os.cpu_count()} cores.", ""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "target/release/compressive")
    parser.add_argument("--seconds", type=float, default=15.0)
    args = parser.parse_args()
    program = args.program.resolve()
    with tempfile.TemporaryDirectory(dir=ROOT / "target") as name:
        folder = pathlib.Path(name)
        generate(folder / "few.npy", BATCH * DISTINCT)
        values = np.load(folder / "few.npy")
        design = ["design", "few.npy", "--feature", "one-bit", "--size", str(SIZE), "-o", "spec.json", "--json"]
        design_output = subprocess.run([program, *design], cwd=folder, check=True, capture_output=True, text=True)
        fingerprint = json.loads(design_output.stdout)["fingerprint"]
        names = json.loads((folder / "spec.json").read_text())["columns"]
        bodies = bodies_of(values, names, folder, program)
        run = lambda label, kind, crowd=False: one_run(program, folder, label, *bodies[kind], values, fingerprint, args.seconds, crowd)
        results = [
            run("bits", "bits"),
            run(f"bits, beside {IDLE} idle and {SLOW} slow connections", "bits", True),
            run("rows as Arrow", "rows as Arrow"),
            run("rows as CSV", "rows as CSV"),
            push(program, folder, int(100_000 * args.seconds)),
        ]
        text = page(results, syncs(folder), args.seconds)
    print(text)
    if args.seconds >= 15:
        (ROOT / "docs/results/collector.md").write_text(text)


if __name__ == "__main__":
    main()
