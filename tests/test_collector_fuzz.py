"""The collector against what nobody should send: generated requests and damaged batches.

pytest tests/test_collector_fuzz.py                                                        # under a minute
COLLECTOR_BODIES=100000 COLLECTOR_EXAMPLES=300 pytest tests/test_collector_fuzz.py         # a long run
"""

import hashlib
import json
import os
import random
import struct
import threading

import hypothesis
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st
from schemathesis import GenerationMode
from testing import ARROW, BITS, BUCKET, CSV, JSON, REPORTS, SKETCH, Server, header_of

# Damaged batches that are sent.
BODIES = int(os.environ.get("COLLECTOR_BODIES", "2000"))
# Generated requests for each operation and mode; there are three times as many chains.
EXAMPLES = int(os.environ.get("COLLECTOR_EXAMPLES", "10"))
SENDERS = 4
# Resident megabytes that hostile requests may drive a server to: its cache (64), a few bodies, and what it has anyway (about 15).
MEMORY_MAX = 150


@pytest.fixture
def server(tmp_path):
    with Server(tmp_path / "data", "--log", "none") as server:
        yield server


# (a) Requests from the OpenAPI document.


class Ledger:
    """What must be in the streams after the requests that were acknowledged, and no others."""

    def __init__(self):
        self.streams, self.statuses = {}, {}

    def note(self, case, response):
        seen = (case.operation.definition.raw["operationId"], response.status_code)
        self.statuses[seen] = self.statuses.get(seen, 0) + 1
        assert response.status_code < 500, (seen, response.text)
        if response.status_code in (200, 201):
            getattr(self, seen[0], lambda *_: None)(case, response)

    def makeStream(self, case, response):
        if response.status_code == 201:
            self.streams[response.json()["name"]] = {}

    def deleteStream(self, case, response):
        del self.streams[response.json()["deleted"]]

    def deleteBuckets(self, case, response):
        buckets = self.streams[case.path_parameters["name"]]
        first, last = (case.query or {}).get("from", ""), (case.query or {}).get("to", "~")
        gone = [bucket for bucket in buckets if first <= bucket <= last]
        assert response.json()["buckets"] == len(gone)
        for bucket in gone:
            del buckets[bucket]

    def pushBatch(self, case, response):
        if response.headers["idempotent-replayed"] == ["false"]:
            self.count(response.json(), case.media_type == REPORTS)

    def count(self, answer, is_reports):
        bucket = self.streams[answer["stream"]].setdefault(
            answer["bucket"], {"rows": 0, "private": set(), "private_rows": 0}
        )
        bucket["private_rows" if answer["private"] else "rows"] += answer["rows"]
        if answer["private"]:
            bucket["private"].add("reports" if is_reports else answer["key"])

    def check(self, server, headers=None):
        listed = json.loads(server.ask("GET", "/v1/streams", headers=headers)[1])["streams"]
        assert sorted(s["name"] for s in listed) == sorted(self.streams)
        for name, buckets in self.streams.items():
            expected = [{"bucket": b, **c, "private": len(c["private"])} for b, c in sorted(buckets.items())]
            assert server.buckets(name, headers) == expected


@pytest.fixture
def guarded(program, tmp_path, fleet):
    """A server with tokens and two streams with rows, an admin's token, and what it holds."""
    token = program("token", "create", "data", "--role", "admin").strip()
    ledger = Ledger()
    with Server(tmp_path / "data", "--log", "none") as server:
        begin(server, token, ledger, fleet)
        yield server, token, ledger


def begin(server, token, ledger, fleet):
    """Two streams with a batch of each kind, and no others."""
    for stream in ledger.streams:
        assert server.ask("DELETE", f"/v1/streams/{stream}", headers={"Authorization": f"Bearer {token}"})[0] == 200
    ledger.streams = {"fleet": {}, "other": {}}
    for stream in ledger.streams:
        fleet.make(server, stream, token)
        for i, (kind, body) in enumerate(fleet.bodies):
            status, answer = fleet.push(server, kind, f"first-{i}", body, stream, token)
            assert status == 200, answer
            ledger.count(json.loads(answer), kind == REPORTS)


def document(server, token, fleet, known):
    """The server's own document; with `known`, its values are narrowed to ones that exist, so that requests get behind the first check."""
    raw = json.loads(server.ask("GET", "/openapi.json")[1])
    batches = raw["paths"]["/v1/streams/{name}/batches"]["post"]
    if known:
        schemas = raw["components"]["schemas"]
        schemas["Name"]["enum"] = ["fleet", "other", "third"]
        schemas["Bucket"]["enum"] = [BUCKET, "2026-11-17"]
        # Keys are drawn at random, and have no numbers that could be settled.
        batches["parameters"] = [p for p in batches["parameters"] if p["name"] != "Compressive-Settled"]
        next(p for p in batches["parameters"] if p["name"] == "Compressive-Fingerprint")["schema"]["enum"] = [
            fleet.fingerprint
        ]
        for path in ("/v1/sketch", "/v1/private", "/v1/drift"):
            next(p for p in raw["paths"][path]["get"]["parameters"] if p["name"] == "streams")["schema"]["enum"] = [
                "fleet",
                "other",
                "fleet,other",
            ]
        # Models of as many components as forty rows can have.
        schemas["Fit"]["properties"]["k"] = {
            "oneOf": [{"type": "integer", "minimum": 1, "maximum": 5}, {"const": "auto"}]
        }
        raw["paths"]["/v1/streams/{name}"]["put"]["requestBody"]["content"][JSON]["schema"] = {
            "const": json.loads(fleet.spec)
        }
        for kind, body in fleet.bodies:
            if kind in (JSON, CSV):
                batches["requestBody"]["content"][kind]["schema"] = {
                    "const": json.loads(body) if kind == JSON else body.decode()
                }
    for kind in (BITS, REPORTS, ARROW, SKETCH):
        valid = st.sampled_from([body for other, body in fleet.bodies if other == kind])
        schemathesis.openapi.media_type(kind, valid | st.binary(max_size=200))
    schema = schemathesis.openapi.from_dict(raw)
    schema.config.update(base_url=server.url, request_timeout=30)

    @schema.auth()
    class Admin:
        def get(self, case, context):
            return token

        def set(self, case, data, context):
            case.headers["Authorization"] = f"Bearer {data}"

    # Of what the document allows, specs that make no sense, keys used twice and the like are refused all the same.
    schema.config.checks.update(excluded_check_names=["positive_data_acceptance"])
    return schema


def variants(server, token, fleet):
    """Each operation with values that exist, with any that the document allows, and with wrong ones; those that delete come last."""
    for known, mode in [
        (True, GenerationMode.POSITIVE),
        (False, GenerationMode.POSITIVE),
        (False, GenerationMode.NEGATIVE),
    ]:
        operations = [result.ok() for result in document(server, token, fleet, known).get_all_operations()]
        for operation in sorted(operations, key=lambda o: (o.method == "delete", "name}" in o.path[-5:])):
            definition = operation.definition.raw
            takes = "{name}" in operation.path or "parameters" in definition or "requestBody" in definition
            # Where nothing is asked for, nothing can be wrong.
            if takes or mode == GenerationMode.POSITIVE:
                yield operation, mode


def effort(examples, **more):
    phases = [Phase.explicit, Phase.generate]
    return hypothesis.settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        phases=phases,
        suppress_health_check=list(HealthCheck),
        **more,
    )


def test_generated_requests_get_the_answers_of_the_document_and_change_nothing_unasked(guarded, fleet):
    server, token, ledger = guarded
    for operation, mode in variants(server, token, fleet):

        @effort(EXAMPLES)
        @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
        def send(case):
            response = case.call()
            ledger.note(case, response)
            case.validate_response(response)

        send()
        server.check_alive()
    ledger.check(server, {"Authorization": f"Bearer {token}"})
    assert server.megabytes() < MEMORY_MAX
    tried = {operation for operation, _ in ledger.statuses}
    assert tried == {operation for operation, status in ledger.statuses if status < 300}, ledger.statuses
    print(f"\n{sum(ledger.statuses.values())} generated requests, {server.megabytes():.0f} MB at most")


def test_chains_of_generated_requests_leave_what_was_acknowledged(guarded, fleet):
    server, token, ledger = guarded

    class Machine(document(server, token, fleet, known=True).as_state_machine()):
        def setup(self):
            super().setup()
            # Chains do not depend on those before them.
            begin(server, token, ledger, fleet)

        def teardown(self):
            super().teardown()
            ledger.check(server, {"Authorization": f"Bearer {token}"})

        def after_call(self, response, case):
            super().after_call(response, case)
            ledger.note(case, response)

    Machine.run(settings=effort(3 * EXAMPLES, stateful_step_count=10))
    server.check_alive()
    assert server.megabytes() < MEMORY_MAX
    print(f"\n{sum(ledger.statuses.values())} requests in chains, {server.megabytes():.0f} MB at most")


# (b) Damaged batches.

# Numbers that lengths, counts and offsets might be compared with, as their lowest bytes.
NUMBERS = [
    0,
    1,
    0x7F,
    0xFF,
    0x7FFF,
    0xFFFF,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
    0x7FFFFFFFFFFFFFFF,
    0x8000000000000000,
    0xFFFFFFFFFFFFFFFF,
]


def flip(dice, body, _):
    for _ in range(dice.choice([1, 1, 2, 8])):
        body[dice.randrange(len(body))] ^= 1 << dice.randrange(8)
    return body


def cut(dice, body, _):
    return body[: dice.randrange(len(body))]


def take_out(dice, body, _):
    start = dice.randrange(len(body))
    return body[:start] + body[start + dice.choice([1, 4, 8, 64]) :]


def splice(dice, body, other):
    start, length = dice.randrange(len(other)), dice.randrange(1, 200)
    place = dice.randrange(len(body))
    return body[:place] + other[start : start + length] + body[place + dice.choice([0, length]) :]


def cross(dice, body, other):
    return body[: dice.randrange(len(body))] + other[dice.randrange(len(other)) :]


def set_number(dice, body, _):
    width = dice.choice([1, 2, 4, 8])
    # Lengths stand near the beginning, and at whole multiples of their width.
    place = dice.randrange(0, min(len(body), dice.choice([16, 256, 1 << 20]))) // width * width
    number = (dice.choice(NUMBERS) & (1 << 8 * width) - 1).to_bytes(width, dice.choice(["little", "big"]))
    return body[:place] + number + body[place + width :]


def repeat(dice, body, _):
    start = dice.randrange(len(body))
    part = body[start : start + dice.choice([1, 8, 64, 1 << 20])]
    return body[:start] + part * min(dice.choice([2, 3, 20, 500]), 1 + 200_000 // len(part)) + body[start:]


def leave(_dice, body, _):
    return body


DAMAGES = [flip, cut, take_out, splice, cross, set_number, repeat]


def damaged(seed, bodies):
    """A batch by its number: kind, bytes, and whether they are those of a valid batch."""
    dice = random.Random(seed)
    kind, body = bodies[seed % len(bodies)]
    _, other = dice.choice(bodies)
    changed = bytearray(body)
    for damage in dice.choices(DAMAGES, k=dice.choice([1, 1, 1, 2, 4])) if dice.random() > 0.02 else [leave]:
        changed = damage(dice, changed or bytearray(body), other)
    changed = bytes(changed)
    return kind, changed, any(changed == b for k, b in bodies if k == kind)


def send_all(server, fleet, numbers):
    """Sends batches from several threads; returns status, media type, bytes and answer by number."""
    outcomes, problems = {}, []

    def send(own):
        connection = server.connect()
        try:
            for i in own:
                kind, body, _ = damaged(i, fleet.bodies)
                path = f"/v1/streams/fleet/batches?bucket={BUCKET}"
                connection.request("POST", path, body=body, headers=fleet.headers(kind, f"{i}"))
                answer = connection.getresponse()
                outcomes[i] = (answer.status, json.loads(answer.read()))
        except Exception as problem:
            problems.append(problem)
        finally:
            connection.close()

    threads = [threading.Thread(target=send, args=(numbers[t::SENDERS],)) for t in range(SENDERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems, problems
    return outcomes


def held(server):
    """All that a stream holds: counts, exact sums, private sketches by their keys."""
    private = json.loads(server.ask("GET", "/v1/private?streams=fleet")[1])["private"]
    sketches = {}
    for one in private:
        status, sketch = server.ask("GET", f"/v1/private?streams=fleet&key={one['key'].replace(' ', '%20')}")
        assert status == 200
        start, header = header_of(sketch)
        # Promises are listed as they came, which differs between runs of several senders.
        promises = sorted(json.dumps(promise, sort_keys=True) for promise in one["privacy"])
        assert len(json.loads(header["__metadata__"]["privacy"])) == len(promises)
        sketches[one["key"]] = (one["rows"], promises, sketch[start:])
    return server.buckets("fleet"), server.ask("GET", "/v1/sketch?streams=fleet"), sketches


def test_damaged_batches_are_refused_or_counted_and_nothing_in_between(fleet, server, tmp_path):
    fleet.make(server)
    outcomes = send_all(server, fleet, list(range(BODIES)))
    assert len(outcomes) == BODIES
    ledger, kept, refused = Ledger(), [], {}
    ledger.streams["fleet"] = {}
    for i, (status, answer) in sorted(outcomes.items()):
        kind, body, valid = damaged(i, fleet.bodies)
        assert status == 200 or not valid, (i, answer)
        # A sketch has a checksum: whatever was changed in it is noticed.
        assert valid or status != 200 or kind != SKETCH, i
        if status == 200:
            ledger.count(answer, kind == REPORTS)
            kept.append(i)
        else:
            assert status in (400, 409, 413) and answer["error"], (i, status, answer)
            refused[kind] = refused.get(kind, 0) + 1
    ledger.check(server)
    server.check_alive()
    assert server.megabytes() < MEMORY_MAX
    assert all(refused[kind] > BODIES / 200 for kind, _ in fleet.bodies), refused
    # Another server that got the acknowledged batches alone holds the same to the byte.
    with Server(tmp_path / "clean", "--log", "none") as clean:
        fleet.make(clean)
        again = send_all(clean, fleet, kept)
        assert all(again[i] == outcomes[i] for i in kept) and held(clean) == held(server)
    print(f"\n{BODIES} damaged batches, {len(kept)} of them counted, {server.megabytes():.0f} MB at most")


def sealed(sketch, counts, sums):
    """A plain sketch with other numbers and a checksum that agrees with them."""
    start, header = header_of(sketch)
    payload = struct.pack(f"<{2 + len(sums)}q", *counts, *sums)
    old, new = header["__metadata__"]["sha256"].encode(), hashlib.sha256(payload).hexdigest().encode()
    return sketch[:start].replace(old, new) + payload


def test_sketches_with_impossible_numbers_are_refused_though_their_checksum_agrees(fleet, server, tmp_path):
    fleet.make(server)
    start, _ = header_of(fleet.plain)
    numbers = struct.unpack(f"<{(len(fleet.plain) - start) // 8}q", fleet.plain[start:])
    (rows, weight), sums = numbers[:2], list(numbers[2:])
    assert sealed(fleet.plain, (rows, weight), sums) == fleet.plain
    least, most, full = -(2**63), 2**63 - 1, 2**39
    forged = [
        ((-1, weight), sums),
        ((least, weight), sums),
        ((most, weight), sums),
        ((rows, -weight), sums),
        ((rows, least), sums),
        ((rows, 0), sums),
        ((rows, weight), [weight + 1, *sums[1:]]),
        ((rows, weight), [least, *sums[1:]]),
        ((0, 0), sums),
        # One row that weighs as much as 2^36 of them, which would be most of the stream's mean for ever.
        ((1, 2**60), [0] * len(sums)),
    ]
    for i, (counts, others) in enumerate(forged):
        status, answer = fleet.push(server, SKETCH, f"forged-{i}", sealed(fleet.plain, counts, others))
        assert status == 400, (counts, status, answer)
    # More rows than a batch may have, whatever they are sent as.
    largest = sealed(fleet.plain, (full - 1, (full - 1) * 2**24), [0] * len(sums))
    assert fleet.push(server, SKETCH, "largest", largest)[0] == 413
    assert server.buckets("fleet") == []
    server.check_alive()
    # As many rows as a sketch can have, and then no more: what is there stays as it is.
    with Server(tmp_path / "large", "--max-rows", full) as server:
        fleet.make(server)
        assert fleet.push(server, SKETCH, "largest", largest)[0] == 200
        for i, (kind, body) in enumerate(fleet.bodies):
            status, answer = fleet.push(server, kind, f"more-{i}", body)
            assert status == (200 if i in (1, 4) else 400), (kind, status, answer)
        assert server.ask("GET", "/v1/sketch?streams=fleet") == (200, largest)
        server.check_alive()
