"""The collector from outside: pushes survive kills of either side, totals are the offline sketch to the byte, strangers are kept out."""

import http.client
import json
import os
import pathlib
import random
import signal
import ssl
import subprocess
import threading
import time

import numpy as np
import pytest
from testing import PROGRAM, Server

# Kills of the server; a full run has 200: COLLECTOR_KILLS=200 pytest tests/test_collector.py
KILLS = int(os.environ.get("COLLECTOR_KILLS", "10"))


def prepare(program, folder, n_files=1, rows=5000, feature="one-bit"):
    """Files of rows, and a spec for them all."""
    rng = np.random.default_rng(3)
    for i in range(n_files):
        np.save(folder / f"rows{i}.npy", rng.normal(i, 2, (rows + i, 4)).astype(np.float32))
    program("design", "rows0.npy", "-k", 3, "--feature", feature, "-o", "spec.json", "-q")
    return [f"rows{i}.npy" for i in range(n_files)]


def offline(program, folder, files):
    program("sketch", *files, "--spec", "spec.json", "-o", "offline.sketch", "-q")
    return (folder / "offline.sketch").read_bytes()


@pytest.mark.parametrize("feature", ["one-bit", "fourier"])
def test_a_push_is_the_offline_sketch_to_the_byte_and_is_not_repeated_by_accident(program, tmp_path, server, feature):
    (name,) = prepare(program, tmp_path, feature=feature)
    assert server.ask("PUT", "/v1/streams/fleet?every=day", (tmp_path / "spec.json").read_bytes())[0] == 201
    pushed = program.json("push", name, "--to", server.url, "--stream", "fleet", "--batch", 300)
    assert (pushed["rows"], pushed["batches"], pushed["repeated"]) == (5000, 17, 0)
    assert server.ask("GET", "/v1/sketch?streams=fleet") == (200, offline(program, tmp_path, [name]))
    message = program.fails("push", name, "--to", server.url, "--stream", "fleet", "--batch", 300)
    assert "--again" in message
    program("push", name, "--to", server.url, "--stream", "fleet", "--batch", 300, "--again")
    assert json.loads(server.ask("GET", "/v1/streams/fleet")[1])["buckets"][0]["rows"] == 10_000
    assert server.stop() == 0


def test_whatever_is_killed_every_row_is_counted_once(program, tmp_path):
    files = prepare(program, tmp_path, n_files=4, rows=10_000 + 2000 * KILLS)
    server = Server(tmp_path / "data")
    assert server.ask("PUT", "/v1/streams/fleet?every=day", (tmp_path / "spec.json").read_bytes())[0] == 201
    dice = random.Random(5)
    finished, client_kills = threading.Event(), [0]

    def push(name, seed):
        dice = random.Random(seed)
        command = [
            PROGRAM,
            "push",
            name,
            "--to",
            server.url,
            "--stream",
            "fleet",
            "--spec",
            "spec.json",
            "--batch",
            "20",
        ]
        command += ["--bucket", "2026-11-16", "--connections", "2", "-q"]
        while True:
            client = subprocess.Popen(
                [str(word) for word in command], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
            )
            if not finished.is_set() and dice.random() < 0.5:
                time.sleep(dice.uniform(0.05, 0.5))
                client.send_signal(signal.SIGKILL)
                client_kills[0] += 1
            _, message = client.communicate(timeout=300)
            if client.returncode == 0 or b"--again" in message:
                return
            assert client.returncode < 0, message

    clients = [threading.Thread(target=push, args=(name, i)) for i, name in enumerate(files)]
    for client in clients:
        client.start()
    busy = 0
    for _ in range(KILLS):
        time.sleep(dice.uniform(0.05, 0.4))
        busy += any(client.is_alive() for client in clients)
        server.kill()
        server.start()
    finished.set()
    for client in clients:
        client.join(timeout=300)
        assert not client.is_alive()
    status, sketch = server.ask("GET", "/v1/sketch?streams=fleet")
    server.kill()
    assert status == 200 and sketch == offline(program, tmp_path, files)
    assert client_kills[0] >= 1 and busy >= 0.8 * KILLS, (client_kills, busy)


def certificates(folder):
    """An authority of our own (ca.pem), and a certificate of it for this machine (cert.pem, key.pem)."""

    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl("req", "-x509", *key, "-days", "2", "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=test authority")
    openssl("req", *key, "-keyout", "key.pem", "-out", "request.pem", "-subj", "/CN=localhost")
    (folder / "extensions").write_text("subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n")
    signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "extensions"]
    openssl("x509", "-req", "-in", "request.pem", *signed, "-out", "cert.pem")


def test_tokens_and_tls_keep_strangers_out(program, tmp_path):
    (name,) = prepare(program, tmp_path)
    certificates(tmp_path)
    admin = program("token", "create", "data", "--role", "admin").strip()
    ingest = program("token", "create", "data", "--role", "ingest", "--stream", "fleet").strip()
    listed = program.json("token", "list", "data")
    assert [token["role"] for token in listed] == ["admin", "ingest"] and admin not in json.dumps(listed)
    server = Server(tmp_path / "data", "--tls-cert", tmp_path / "cert.pem", "--tls-key", tmp_path / "key.pem")
    url = f"https://127.0.0.1:{server.port}"
    context = ssl.create_default_context(cafile=tmp_path / "ca.pem")
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=context)
    spec = (tmp_path / "spec.json").read_bytes()
    connection.request("PUT", "/v1/streams/fleet", body=spec, headers={"authorization": f"Bearer {admin}"})
    assert connection.getresponse().status == 201
    push = ["push", name, "--to", url, "--stream", "fleet", "--certificate", "ca.pem"]
    assert "a valid token is needed" in program.fails(*push)
    (tmp_path / "token").write_text(ingest)
    pushed = program.json(*push, "--token", "token")
    assert pushed["rows"] == 5000
    program("token", "revoke", "data", listed[1]["id"])
    time.sleep(0.7)
    assert "a valid token is needed" in program.fails(*push, "--token", "token", "--again")
    # Without the certificate there is no connection at all.
    assert "cannot be reached" in program.fails("push", name, "--to", url, "--stream", "fleet", "--token", "token")
    server.kill()
    message = program.fails("serve", "data", "--listen", "0.0.0.0:0")
    assert "--tls-cert" in message


def test_a_backup_is_a_collector_of_its_own(program, tmp_path, server):
    (name,) = prepare(program, tmp_path)
    server.ask("PUT", "/v1/streams/fleet", (tmp_path / "spec.json").read_bytes())
    program("push", name, "--to", server.url, "--stream", "fleet")
    status, answer = server.ask("POST", "/v1/backup")
    assert status == 200
    backup = tmp_path / "data" / json.loads(answer)["backup"]
    other = Server(tmp_path / "restored", "--restore", backup)
    assert other.ask("GET", "/v1/sketch?streams=fleet") == server.ask("GET", "/v1/sketch?streams=fleet")
    other.kill()
    assert "exists already" in program.fails("serve", "restored", "--restore", backup)


def test_a_damaged_store_is_refused(program, tmp_path, server):
    server.stop()
    path = pathlib.Path(tmp_path / "data" / "collector.redb")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    message = program.fails("serve", "data")
    assert "damaged" in message and "collector.redb" in message and "--restore" in message
