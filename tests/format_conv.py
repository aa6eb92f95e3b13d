"""The activations of the feature `conv`, section 4 of docs/format.md, in Python: f32 arrays, one rounding an operation, in the order of that page."""

import functools
import math

import numpy as np
from format_frequencies import Stream

f32 = np.float32
FILTERS = 16  # the purpose of the streams
COUNT, TAPS = 32, 25


def filters(seed, channels):
    """The weights, (25 channels, 32): taps in the order row, column, channel."""
    columns = []
    for index in range(COUNT):
        stream = Stream(seed, FILTERS, index)
        w = [stream.normal() for _ in range(TAPS * channels)]
        for c in range(channels):
            mean = functools.reduce(lambda total, x: total + x, w[c::channels], 0.0) / TAPS
            w[c::channels] = [x - mean for x in w[c::channels]]
        norm = math.sqrt(functools.reduce(lambda total, x: total + x * x, w, 0.0))
        columns.append([x / norm for x in w])
    return np.array(columns).T.astype(f32)


def cells(side):
    """Ranges of pixels along a side."""
    pixels = max(1, -(-side // 7))
    return [slice(start, min(start + pixels, side)) for start in range(0, side, pixels)]


def activations(spec, u):
    """The D activations of each row of working coordinates, (n, D): cell by cell, the 32 filters of each."""
    height, width, channels = (spec["feature"][name] for name in ("height", "width", "channels"))
    image = np.pad(u.reshape(len(u), height, width, channels), ((0, 0), (2, 2), (2, 2), (0, 0)))
    responses = np.zeros((len(u), height, width, COUNT), f32)
    for tap, weights in enumerate(filters(spec["seed"], channels)):
        dy, dx, c = tap // (5 * channels), tap // channels % 5, tap % channels
        responses = responses + image[:, dy : dy + height, dx : dx + width, c, None] * weights
    grid = [responses[:, y, x].max(axis=(1, 2)) for y in cells(height) for x in cells(width)]
    grid = [np.maximum(cell, f32(0)) for cell in grid]
    means = functools.reduce(np.add, grid) / f32(len(grid))
    return np.hstack([cell - means for cell in grid])
