"""The sketch in plain double precision: what the fast kernels must agree with. Nothing here is shared with the program."""

import json

import numpy as np
from safetensors import safe_open


def working(spec, x):
    """Rows in working coordinates: centred, scaled, optionally whitened."""
    transform = spec["transform"]
    u = (x - np.array(transform["centre"])) / np.array(transform["spread"])
    return u if transform["whiten"] is None else u @ np.array(transform["whiten"]).T


def wave(feature, turns):
    """The periodic function of the first block, at phases in turns."""
    name = feature["name"]
    if name in ("fourier", "cosine"):
        return np.cos(2 * np.pi * turns)
    if name == "one-bit":
        return np.where(np.cos(2 * np.pi * turns) >= 0, 1.0, -1.0)
    if name == "sawtooth":
        return 2 * ((turns - 0.25) % 1.0) - 1
    table = np.array(feature["table"] + feature["table"][:1])
    return np.interp((turns % 1.0) * (len(table) - 1), np.arange(len(table)), table)


def mean_features(spec, frequencies, dither, x):
    """Mean of every feature over the rows x; frequencies (m, d) and dither (m,) in turns."""
    total = 0.0
    for part in np.array_split(x, max(1, len(x) // 5000)):
        turns = working(spec, part) @ frequencies.T + dither
        blocks = [wave(spec["feature"], turns)]
        if spec["feature"]["name"] != "cosine":
            blocks.append(wave(spec["feature"], turns - 0.25))
        total = total + np.hstack(blocks).sum(axis=0)
    return total / len(x)


def read_sketch(path):
    """Mean features, rows and spec of a sketch file, by the safetensors library of Python."""
    with safe_open(path, framework="np") as file:
        sums, (rows, weight) = file.get_tensor("sums"), file.get_tensor("counts")
        spec = json.loads(file.metadata()["spec"])
    return sums / weight, int(rows), spec
