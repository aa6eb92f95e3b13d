"""Exact moments, sections 4 and 5 of docs/format.md, in Python's integers of any length: files of format 2."""

import functools
import hashlib
import json
import struct

import numpy as np
from format_reference import UNIT, canonical_json, canonical_spec, counts_and_sums, weights_text

LIMIT = 2.0**20


def coordinates(transform, rows):
    """Working coordinates in f64, and which rows lie beyond the limit."""
    with np.errstate(over="ignore", invalid="ignore"):
        u = (rows - np.array(transform["centre"], float)) * (1 / np.array(transform["spread"], float))
        if transform.get("whiten") is not None:
            products = (np.outer(y, column) for y, column in zip(u.T, np.array(transform["whiten"], float).T))
            u = functools.reduce(np.add, products)
    u[np.isnan(u)] = np.inf
    return np.clip(u, -LIMIT, LIMIT), (np.abs(u) > LIMIT).any(axis=1)


def moment_sums(spec, rows, weights=None):
    """The count of rows beyond the limit, the first sums, the sums of products."""
    u, beyond = coordinates(spec["transform"], rows)
    units = [UNIT] * len(u) if weights is None else [round(float(w) * UNIT) for w in weights]
    pairs = [(i, j) for i in range(u.shape[1]) for j in range(i + 1)]
    if spec["moments"] == "diagonal":
        pairs = [(i, i) for i in range(u.shape[1])]
    count, first, second = 0, [0] * u.shape[1], [0] * len(pairs)
    for row, far, weight in zip(u.tolist(), beyond, units):
        q = [round(x * UNIT) for x in row]
        a = [(weight * x + 2**23) // UNIT for x in q]
        first = [s + x for s, x in zip(first, a)]
        second = [s + a[i] * q[j] for s, (i, j) in zip(second, pairs)]
        if far:
            count += weight // UNIT if weight % UNIT == 0 else 1
    return count, first, second


def moment_file(spec, rows, weights=None):
    """The whole `.sketch` file of a spec with moments."""
    canonical = canonical_spec(spec)[:-1] + f',"moments":{json.dumps(spec["moments"])}}}'
    numbers = counts_and_sums(spec, rows, weights)
    count, first, second = moment_sums(spec, rows, weights)
    halves = [half for s in first + second for half in (s % 2**64, s >> 64 & 2**64 - 1)]
    payload = struct.pack(f"<{len(numbers)}q", *numbers) + struct.pack(f"<{1 + len(halves)}Q", count, *halves)
    said = weights_text(weights)
    metadata = {
        "compressive": "2",
        "fingerprint": hashlib.sha256(canonical.encode()).hexdigest()[:32],
        "sha256": hashlib.sha256(payload + said.get("weights", "").replace("fractional", "").encode()).hexdigest(),
        "spec": canonical,
    }
    metadata |= said
    end = 8 * len(numbers)
    header = canonical_json({
        "__metadata__": metadata,
        "counts": {"dtype": "I64", "shape": [2], "data_offsets": [0, 16]},
        "sums": {"dtype": "I64", "shape": [len(numbers) - 2], "data_offsets": [16, end]},
        "moments": {"dtype": "I64", "shape": [1 + len(halves)], "data_offsets": [end, len(payload)]},
    }).encode()
    header += b" " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header + payload
