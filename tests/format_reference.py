"""docs/format.md in Python: from a spec and rows to the bytes of a `.sketch` file. Shares nothing with the program.

Written for reading, section by section of that page; sections 2 and 3 are in format_frequencies.py. Phases and features
are numpy arrays of f32 with one entry for each row and frequency, whose `+`, `-` and `*` round each entry once.
"""

import functools
import hashlib
import json
import struct
from decimal import Decimal
from fractions import Fraction

import numpy as np
from format_conv import activations
from format_frequencies import dense_turns, dither, structured_gain, structured_signs
from format_quadratic import half_scaled, projections

f32 = np.float32
UNIT = 2**24

# 1. The spec ---------------------------------------------------------------------------------------------------------


def shortest_decimal(x):
    """The shortest decimal that reads back to x; of several the closest, of two as close the one farther from zero.

    Python's `repr` keeps all of this but the last rule: it takes the even digit.
    """
    near = Decimal(repr(x))
    sign, _, exponent = near.as_tuple()
    far = near + Decimal((sign, (1,), exponent))
    tie = abs(Fraction(near) - Fraction(x)) == abs(Fraction(far) - Fraction(x))
    return far if tie and float(far) == x else near


def canonical_number(x):
    """Plain notation from 1e-4 up to 1e16, else with an exponent."""
    decimal = shortest_decimal(x)
    exponent = decimal.adjusted()
    if -4 <= exponent <= 15 or x == 0:
        plain = f"{decimal:f}"
        return plain if "." in plain else plain + ".0"
    sign, (first, *rest), _ = decimal.as_tuple()
    return "-" * sign + str(first) + "." * bool(rest) + "".join(map(str, rest)) + f"e{exponent}"


def canonical_json(value):
    """JSON without white space, fields as ordered in the dictionaries."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{canonical_json(k)}:{canonical_json(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical_json, value)) + "]"
    if isinstance(value, float):
        return canonical_number(value)
    return json.dumps(value, ensure_ascii=False)  # strings, integers, true, false, null


def floats(value):
    """The same value with every number a float (a spec may write `1` for `1.0`); names and None stay."""
    if isinstance(value, list):
        return [floats(v) for v in value]
    return float(value) if isinstance(value, int) else value


def ordered(fields, *names):
    """Those of the fields that there are, in the order of the names."""
    return {name: floats(fields[name]) for name in names if name in fields}


def canonical_feature(feature):
    """`complex` is written only where it is true; the sides of an image stay integers."""
    sides = {name: feature[name] for name in ("height", "width", "channels") if name in feature}
    return ordered(feature, "name", "table") | sides | ({"complex": True} if feature.get("complex") else {})


def canonical_spec(spec):
    """The canonical form, whatever order of fields and spelling of numbers the spec came in."""
    law, bounds = spec["law"], spec.get("bounds")
    components = [
        {"weight": floats(c["weight"]), "covariance": ordered(c["covariance"], "diagonal", "full")}
        for c in law.get("components", [])
    ]
    source = {"source": ordered(spec["source"], "name", "epsilon")} if spec.get("source") else {}
    return canonical_json({
        "format": spec["format"],
        "columns": spec["columns"],
        "transform": ordered({"whiten": None} | spec["transform"], "centre", "spread", "whiten"),
        "bounds": ordered(bounds, "low", "high") if bounds else None,
        "law": ordered(law, "name", "radius", "frequencies", "sampler", "points") | ({"components": components} if components else {}),
        "scale": floats(spec["scale"]),
        "size": spec["size"],
        "structured": spec["structured"],
        "feature": canonical_feature(spec["feature"]),
        "dither": spec["dither"],
        "seed": spec["seed"],
    } | source)


# 4. From a row to integers -------------------------------------------------------------------------------------------


def working(transform, rows):
    """Working coordinates: f64, then clamped and rounded to f32."""
    u = (rows - np.array(transform["centre"], float)) * (1 / np.array(transform["spread"], float))
    if transform.get("whiten") is not None:
        with np.errstate(over="ignore", invalid="ignore"):
            products = (np.outer(y, column) for y, column in zip(u.T, np.array(transform["whiten"], float).T))
            u = functools.reduce(np.add, products)
        u[np.isnan(u)] = 2.0**20
    return np.clip(u, -(2.0**20), 2.0**20).astype(f32)


def fma(a, b, c):
    """a * b + c of f32 arrays, rounded once.

    The product is exact in f64. The sum is rounded to odd there (its last bit is set if anything was lost), after which
    rounding to f32 gives what rounding the exact sum would.
    """
    a, b, c = np.broadcast_arrays(*(np.asarray(x, float) for x in (a, b, c)))
    product = a * b
    total = product + c
    part = total - product
    lost = (product - (total - part)) + (c - part)
    even = total.view(np.int64) % 2 == 0
    return np.where((lost != 0) & even, np.nextafter(total, np.copysign(np.inf, lost)), total).astype(f32)


def stride_groups(width):
    """Strides of one Hadamard transform, in the groups that the second transform takes backwards."""
    strides = [2**i for i in range(width.bit_length() - 1)]
    groups, high = [strides[:6]], strides[6:]
    while high:
        take = 2 if len(high) in (2, 4) else 3  # or the one that is left
        groups.append(high[:take])
        high = high[take:]
    return groups


def hadamard_product(signs, x):
    """H D3 H D2 H D1 x for every row of x (n, p); signs are (3, p)."""
    groups = stride_groups(x.shape[1])
    for diagonal, order in zip(signs, (groups, groups[::-1], groups)):
        x = x * diagonal
        for stride in (s for group in order for s in group):
            pairs = x.reshape(len(x), -1, 2, stride)
            a, b = pairs[:, :, 0], pairs[:, :, 1]
            x = np.stack([a + b, a - b], axis=2).reshape(x.shape)
    return x


def dense_phases(spec, u, start):
    """Phases of independent frequencies: one fma for each column, in order."""
    quadratic = spec["feature"]["name"] == "quadratic"
    turns = half_scaled(spec) if quadratic else [dense_turns(spec, j) for j in range(spec["size"])]
    turns = np.array(turns).astype(f32)
    h = np.tile(start, (len(u), 1))
    for c in range(u.shape[1]):
        h = fma(u[:, c : c + 1], f32(2) * turns[:, c], h)
    return h


def structured_phases(spec, u, start):
    """Phases of blocks of frequencies, each the Hadamard product of the padded row."""
    m, dim = projections(spec), u.shape[1]
    width = max(16, 1 << (dim - 1).bit_length())
    padded = np.pad(u, ((0, 0), (0, width - dim)))
    blocks = range(-(-m // width))
    signs = [np.array(structured_signs(spec, b, width), f32).reshape(3, width) for b in blocks]
    y = np.hstack([hadamard_product(s, padded) for s in signs])[:, :m]
    quadratic = spec["feature"]["name"] == "quadratic"
    gains = np.ravel(half_scaled(spec)) if quadratic else [structured_gain(spec, j, width) for j in range(m)]
    gains = np.array(gains).astype(f32)
    return fma(f32(2) * gains, y, start)


def landmark_exponents(spec, u):
    """Binary logarithms of the kernel values at landmarks, (n, m)."""
    points = np.array(spec["law"]["points"], float)
    q = 1.4426950408889634 / (spec["scale"] * spec["scale"])
    weights, b = (points * q).astype(f32), f32(-0.5 * q)
    h = np.tile((-0.5 * q * in_order(points * points)).astype(f32), (len(u), 1))
    for c in range(u.shape[1]):
        h = fma(u[:, c : c + 1], weights[:, c], h)
    norms = in_order(u.astype(float) * u.astype(float)).astype(f32)
    return fma(norms[:, None], b, h)


def in_order(products):
    """Sums over the columns, one after the other."""
    return functools.reduce(np.add, products.T)


def phases(spec, u):
    """Phases in half turns, (n, m), of working coordinates (n, d)."""
    if spec["feature"]["name"] == "nystrom":
        return landmark_exponents(spec, u)
    if spec["feature"]["name"] == "conv":
        u = activations(spec, u)
        spec = spec | {"columns": [f"activation {i}" for i in range(u.shape[1])]}
    start = f32(2) * np.array([dither(spec, j) for j in range(projections(spec))]).astype(f32)
    if spec["feature"]["name"] == "one-bit":
        start = start - f32(0.25)
    return structured_phases(spec, u, start) if spec["structured"] else dense_phases(spec, u, start)


COSINE = [16777216, -82792240, 68093830, -22401238, 3942174.8, -409828.28]
SINE = [52707180, -86699760, 42782376, -10033090, 1295633.4]


def polynomial(coefficients, z):
    """Horner's rule with fma, coefficients from the constant term up."""
    value = f32(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        value = fma(value, z, f32(c))
    return value


def fourier(h):
    """Cosine and sine by polynomials around the nearest half turn."""
    k = np.rint(h)
    v, sign = h - k, np.where(k % 2 == 0, f32(1), f32(-1))
    return sign * polynomial(COSINE, v * v), (sign * v) * polynomial(SINE, v * v)


def one_bit(h):
    """Signs of cosine and sine, from the quadrant in the low bits."""
    quadrant = (h + f32(6291456)).view(np.uint32) & 3
    return np.array([UNIT, -UNIT, -UNIT, UNIT])[quadrant], np.array([UNIT, UNIT, -UNIT, -UNIT])[quadrant]


def sawtooth(h):
    """The wrapped phase, and the same a quarter turn ahead."""
    t = h * f32(0.5)
    s = np.rint((t - np.rint(t)) * f32(33554432)).astype(np.int64)
    return (s + 2**23 + UNIT) % (2 * UNIT) - UNIT, s


def periodic(h, table):
    """A table, linear in between, at the phase and a quarter turn behind."""
    t, table = h * f32(0.5), np.array(table, float)
    r = (t - np.floor(t)).astype(float)

    def entry(y):
        x = (y - np.floor(y)) * len(table)
        i = np.minimum(x.astype(int), len(table) - 1)
        return (table[i] + (x - i) * (table[(i + 1) % len(table)] - table[i])) * float(UNIT)

    return entry(r), entry(r + 0.75)


POWER = [16777216, 11629080, 4030331.5, 931191.25, 161370.6, 22479.58, 2575.8667]


def nystrom(h):
    """Two to the power of the exponents."""
    t = np.maximum(np.minimum(h, f32(0)), f32(-100))
    k = np.rint(t)
    return [polynomial(POWER, t - k).astype(float) * 2.0**k]


def cosine(h):
    """The first block of `fourier` alone."""
    return fourier(h)[:1]


def quadratic(h, parts):
    """The squares, of complex directions in pairs, and the values themselves (of the real parts)."""
    t = np.clip(h, f32(-1), f32(1))
    value = t * f32(UNIT)
    squares = np.rint(value * t).astype(np.int64).reshape(len(h), parts, -1).sum(axis=1)
    return squares, value[:, : squares.shape[1]]


def features(feature, h):
    """The integers of every row, (n, m) for `cosine` and `nystrom` and (n, 2 m) otherwise."""
    if feature["name"] == "periodic":
        blocks = periodic(h, feature["table"])
    elif feature["name"] == "quadratic":
        blocks = quadratic(h, 2 if feature.get("complex") else 1)
    else:
        waves = {"fourier": fourier, "cosine": cosine, "one-bit": one_bit, "sawtooth": sawtooth, "nystrom": nystrom, "conv": fourier}
        blocks = waves[feature["name"]](h)
    return np.rint(np.hstack(blocks)).astype(np.int64)


def counts_and_sums(spec, rows, weights=None):
    """Row count, total weight and sums. Python's integers: a product of weight and feature has up to 76 bits."""
    if spec["feature"]["name"] == "quadratic":
        rows = np.minimum(np.maximum(rows, spec["bounds"]["low"]), spec["bounds"]["high"])
    q = features(spec["feature"], phases(spec, working(spec["transform"], rows))).tolist()
    weights = [1.0] * len(q) if weights is None else [float(w) for w in weights]
    units = [round(w * UNIT) for w in weights]
    count = sum(int(w) if w.is_integer() else 1 for w in weights)
    return [count, sum(units), *(sum((w * x + 2**23) // UNIT for w, x in zip(units, column)) for column in zip(*q))]


# 5. The sketch file --------------------------------------------------------------------------------------------------


def sketch_bytes(spec, rows, weights=None):
    """The whole `.sketch` file of rows (n, d) of f64, each counted `weights[i]` times if given."""
    return file_bytes(spec, counts_and_sums(spec, rows, weights), weights_text(weights))


def weights_text(weights):
    """What the metadata say of weights: that one is not whole, or the largest if it is above 1."""
    if weights is None:
        return {}
    if not all(float(w).is_integer() for w in weights):
        return {"weights": "fractional"}
    return {"weights": str(int(max(weights)))} if max(weights) > 1 else {}


def file_bytes(spec, numbers, extra):
    """The file of counts and sums; `extra` are the metadata that only some sketches have."""
    payload = struct.pack(f"<{len(numbers)}q", *numbers)
    canonical = canonical_spec(spec)
    largest = extra.get("weights", "fractional").replace("fractional", "")
    newer = largest or '"id":' in extra.get("privacy", "")
    metadata = {
        "compressive": "2" if newer else "1",
        "fingerprint": hashlib.sha256(canonical.encode()).hexdigest()[:32],
        "sha256": hashlib.sha256(payload + extra.get("privacy", "").encode() + largest.encode()).hexdigest(),
        "spec": canonical,
    }
    header = canonical_json({
        "__metadata__": dict(sorted((metadata | extra).items())),
        "counts": {"dtype": "I64", "shape": [2], "data_offsets": [0, 16]},
        "sums": {"dtype": "I64", "shape": [len(numbers) - 2], "data_offsets": [16, len(payload)]},
    }).encode()
    header += b" " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header + payload
