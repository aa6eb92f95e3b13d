"""The directions of the feature `quadratic`, section 4 of docs/format.md, in Python: scaled so that no row of the box leaves [-1, 1].

As in format_frequencies.py every number is a plain Python float, one operation at a time, and sums are added in order.
"""

import functools
import math

import numpy as np
from format_frequencies import dense_frequency, norm, structured_gain, structured_signs


def total(values):
    """The sum, added in order."""
    return functools.reduce(lambda a, b: a + b, values, 0.0)


def projections(spec):
    """Real projections of a row: m, or 2 m for complex directions."""
    return spec["size"] * (2 if spec["feature"].get("complex") else 1)


class Box:
    """The data box, centred and divided by the spreads."""

    def __init__(self, spec):
        transform = spec["transform"]
        self.whiten = transform.get("whiten")

        def ends(side):
            columns = zip(spec["bounds"][side], transform["centre"], transform["spread"])
            return [(x - c) * (1 / s) for x, c, s in columns]

        self.low, self.high = ends("low"), ends("high")

    def range(self, v):
        pairs = [(a * low, a * high) for a, low, high in zip(v, self.low, self.high)]
        return total(min(pair) for pair in pairs), total(max(pair) for pair in pairs)

    def reach(self, w):
        """The largest |w.u| over the box."""
        if self.whiten is not None:
            w = [total(a * row[c] for a, row in zip(w, self.whiten)) for c in range(len(w))]
        least, most = self.range(w)
        return max(most, -least)

    def largest(self):
        """The largest |u[c]| over the box."""
        if self.whiten is None:
            return [max(high, -low) for low, high in zip(self.low, self.high)]
        return [max(most, -least) for least, most in map(self.range, self.whiten)]


SLACK = 2.0**-22


def dense(spec, box):
    """Each direction and its reach with slack."""
    dim = len(spec["columns"])
    for j in range(projections(spec)):
        w = dense_frequency(spec, j)
        slack = SLACK * (dim + 8) * total(abs(a) * u for a, u in zip(w, box.largest()))
        yield w, box.reach(w) + slack


def hadamard_row(signs, j, width):
    """Row j of H D3 H D2 H D1: whole numbers."""
    row = np.zeros(width)
    row[j] = 1
    for diagonal in signs[::-1]:
        stride = 1
        while stride < width:
            pairs = row.reshape(-1, 2, stride)
            row = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(width)
            stride *= 2
        row = row * diagonal
    return row.tolist()


def structured(spec, box):
    """Each gain and its reach with slack."""
    dim = len(spec["columns"])
    width = max(16, 1 << (dim - 1).bit_length())
    most = norm(box.largest())
    for j in range(projections(spec)):
        # The same factor as for phases, but not in turns.
        gain = structured_gain(spec, j, width, turn=1.0)
        signs = np.array(structured_signs(spec, j // width, width)).reshape(3, width)
        row = hadamard_row(signs, j % width, width)[:dim]
        slack = SLACK * (3.0 * (width.bit_length() - 1) + 8.0) * (gain * (math.sqrt(width) * width) * most)
        yield [gain], gain * box.reach(row) + slack


def half_scaled(spec):
    """Half of each direction (or gain) over its radius: what takes the place of frequencies in turns."""
    drawn = list((structured if spec["structured"] else dense)(spec, Box(spec)))
    m, own = spec["size"], [reach for _, reach in drawn]
    if len(own) > m:
        own = [math.sqrt(own[j] * own[j] + own[m + j] * own[m + j]) for j in range(m)] * 2
    own = [r if r > 0 else 1.0 for r in own]
    return [[0.5 * (x / r) for x in w] for (w, _), r in zip(drawn, own)]
