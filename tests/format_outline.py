"""The field `outline` of a spec, section 1 of docs/format.md, read and written with numpy; shares nothing with the program."""

import base64
import dataclasses

import numpy as np


@dataclasses.dataclass
class Cells:
    """A cells in working coordinates."""

    centres: np.ndarray  # A x d
    deviations: np.ndarray  # A x d
    rows: np.ndarray  # A
    groups: np.ndarray  # A
    correlations: np.ndarray  # G x d x d

    def covariance(self, a):
        s = self.deviations[a]
        shared = self.correlations[self.groups[a]] if len(self.correlations) else np.eye(len(s))
        return np.outer(s, s) * shared


def layout(d, cells, groups):
    """Types and shapes, in the order of the bytes."""
    return [("<f4", (3, d)), ("<u4", (cells,)), ("u1", (cells,)), ("<u2", (cells, d)), ("u1", (cells, d)),
            ("<i2", (groups, d * (d - 1) // 2))]


def read(outline, d):
    """The cells of the JSON field for d columns."""
    data = base64.b64decode(outline["data"], validate=True)
    parts, at = [], 0
    for kind, shape in layout(d, outline["cells"], outline["groups"]):
        count = int(np.prod(shape))
        parts.append(np.frombuffer(data, kind, count, at).reshape(shape))
        at += parts[-1].nbytes
    assert at == len(data), "nothing is left over"
    ranges, rows, group, steps, codes, triangles = parts
    low, high, largest = ranges.astype(float)
    correlations = np.zeros((outline["groups"], d, d)) + np.eye(d)
    i, j = np.tril_indices(d, -1)
    correlations[:, i, j] = correlations[:, j, i] = triangles / 32767
    return Cells(
        centres=low + steps / 65535 * (high - low),
        deviations=np.where(codes == 0, 0, largest * 2.0 ** ((codes.astype(float) - 255) / 12)),
        rows=rows.astype(int),
        groups=group.astype(int),
        correlations=correlations,
    )


def write(cells, rows, blur=0.0):
    """The JSON field of some cells; what a reader finds is within half a step of them."""
    d = cells.centres.shape[1]
    low, high, largest = ranges = np.array([cells.centres.min(0), cells.centres.max(0), cells.deviations.max(0)], "<f4")
    width = np.where(high > low, high.astype(float) - low, 1)
    with np.errstate(divide="ignore"):
        codes = 255 + 12 * np.log2(cells.deviations / np.where(largest > 0, largest, 1).astype(float))
    i, j = np.tril_indices(d, -1)
    parts = [
        ranges, cells.rows, cells.groups, np.clip(np.round((cells.centres - low) / width * 65535), 0, 65535),
        np.where(cells.deviations > 0, np.clip(np.round(codes), 1, 255), 0), np.round(cells.correlations[:, i, j] * 32767),
    ]
    kinds = [kind for kind, _ in layout(d, 0, 0)]
    data = b"".join(np.ascontiguousarray(part).astype(kind).tobytes() for part, kind in zip(parts, kinds))
    return {"cells": len(cells.rows), "groups": len(cells.correlations), "rows": rows, "blur": blur,
            "data": base64.b64encode(data).decode()}
