"""Sections 2 and 3 of docs/format.md in Python: from a seed to frequencies. Shares nothing with the program.

Every number is a plain Python float (f64), one operation at a time. Python's `sum` is avoided: for floats it is more
exact than adding in order.
"""

import bisect
import functools
import math

TAU = 6.283185307179586

# 2. Random numbers ---------------------------------------------------------------------------------------------------

FREQUENCY, DITHER, SIGNS = 1, 2, 3


def philox(counter, key):
    """Philox4x32-10: four words from a counter of four and a key of two."""
    for _ in range(10):
        p0, p1 = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [(p1 >> 32) ^ counter[1] ^ key[0], p1 % 2**32, (p0 >> 32) ^ counter[3] ^ key[1], p0 % 2**32]
        key = [(key[0] + 0x9E3779B9) % 2**32, (key[1] + 0xBB67AE85) % 2**32]
    return counter


class Stream:
    """The random numbers of one seed, purpose and index, in order."""

    def __init__(self, seed, purpose, index):
        self.words = self._words([seed % 2**32, seed >> 32], [purpose, index % 2**32, index >> 32])

    @staticmethod
    def _words(key, place):
        block = 0
        while True:
            yield from philox([block, *place], key)
            block += 1

    def uniform(self):
        high, low = next(self.words), next(self.words)
        return ((high << 32 | low) // 2**12 + 0.5) * 2.0**-52

    def normal(self):
        return quantile(self.uniform())

    def sign(self):
        return -1.0 if next(self.words) >> 31 else 1.0


LN2_HI, LN2_LO = 6.931471803691238e-1, 1.9082149292705877e-10


def ln(x):
    """Natural logarithm by the series of artanh."""
    f, e = math.frexp(x)
    f, e = 2 * f, e - 1
    if f > 1.4142135623730951:
        f, e = f / 2, e + 1
    s = (f - 1) / (f + 1)
    s2, g = s * s, 0.0
    for k in range(10, 0, -1):
        g = (g + 1 / (2 * k + 1)) * s2
    return e * LN2_HI + (2 * (s + s * g) + e * LN2_LO)


def exp(x):
    """Exponential by its Taylor series, after taking out the powers of two."""
    j = round(x / (LN2_HI + LN2_LO))
    r, g = (x - j * LN2_HI) - j * LN2_LO, 1.0
    for k in range(14, 0, -1):
        g = 1 + g * r / k
    return math.ldexp(g, j)


A = [3.3871328727963665, 1.3314166789178438e2, 1.9715909503065513e3, 1.373169376550946e4,
     4.592195393154987e4, 6.72657709270087e4, 3.343057558358813e4, 2.5090809287301227e3]
B = [1.0, 4.231333070160091e1, 6.871870074920579e2, 5.394196021424751e3,
     2.1213794301586597e4, 3.930789580009271e4, 2.8729085735721943e4, 5.226495278852854e3]
C = [1.4234371107496835, 4.630337846156546, 5.769497221460691, 3.6478483247632045,
     1.2704582524523684, 2.417807251774506e-1, 2.2723844989269184e-2, 7.745450142783414e-4]
D = [1.0, 2.053191626637759, 1.6763848301838038, 6.897673349851e-1,
     1.4810397642748008e-1, 1.5198666563616457e-2, 5.475938084995345e-4, 1.0507500716444169e-9]
E = [6.657904643501103, 5.463784911164114, 1.7848265399172913, 2.9656057182850487e-1,
     2.6532189526576124e-2, 1.2426609473880784e-3, 2.7115555687434876e-5, 2.0103343992922881e-7]
F = [1.0, 5.99832206555888e-1, 1.369298809227358e-1, 1.4875361290850615e-2,
     7.868691311456133e-4, 1.8463183175100547e-5, 1.421511758316446e-7, 2.0442631033899398e-15]


def ratio(numerator, denominator, r):
    """Quotient of two polynomials by Horner's rule, coefficients from the constant term up."""

    def horner(coefficients):
        return functools.reduce(lambda v, c: v * r + c, reversed(coefficients), 0.0)

    return horner(numerator) / horner(denominator)


def quantile(p):
    """The standard normal quantile, AS 241."""
    q = p - 0.5
    if abs(q) <= 0.425:
        return q * ratio(A, B, 0.180625 - q * q)
    r = math.sqrt(-ln(p if q < 0 else 1 - p))
    value = ratio(C, D, r - 1.6) if r <= 5 else ratio(E, F, r - 5)
    return -value if q < 0 else value


# 3. Frequencies and dither -------------------------------------------------------------------------------------------

CELL = 9 / 4096


def norm(values):
    """Square root of the sum of squares, added in order."""
    return math.sqrt(functools.reduce(lambda total, x: total + x * x, values, 0.0))


@functools.cache
def adapted_radius_table():
    """The distribution function of the adapted radius at the 4097 ends of its cells."""

    def density(r):
        return math.sqrt(r * r + 0.25 * r * r * r * r) * exp(-0.5 * r * r)

    table = [0.0]
    for a in (c * CELL for c in range(4096)):
        table.append(table[-1] + (density(a) + 4 * density(a + 0.5 * CELL) + density(a + CELL)) * CELL / 6)
    return [t / table[-1] for t in table]


def adapted_radius(u):
    """Inverse of that distribution function, linear within a cell."""
    table = adapted_radius_table()
    c = min(bisect.bisect_right(table, u) - 1, 4095)
    low, high = table[c], table[c + 1]
    return (c + ((u - low) / (high - low) if high > low else 0.5)) * CELL


def draw_radius(stream, law, dim):
    """The radius in units of 1 / scale; None for `gaussian`, whose vector keeps its own length."""
    if law == "gaussian":
        return None
    if law == "folded-gaussian":
        return abs(stream.normal())
    if law == "adapted-radius":
        return adapted_radius(stream.uniform())
    v = stream.uniform() * (4 + 2 / dim)
    return norm([stream.normal() for _ in range(dim + (0 if v < 1 else 2 if v < 3 else 4))])


def cholesky(a):
    """Lower Cholesky factor, row by row; sums in order."""
    lower = [[0.0] * len(a) for _ in a]
    for i, row in enumerate(lower):
        for j in range(i + 1):
            s = functools.reduce(lambda total, k: total + row[k] * lower[j][k], range(j), 0.0)
            row[j] = math.sqrt(a[i][i] - s) if i == j else (a[i][j] - s) / lower[j][j]
    return lower


def shaped(vector, covariance):
    """The vector under the inverse root of a component's covariance."""
    if "diagonal" in covariance:
        return [x * (1 / math.sqrt(variance)) for x, variance in zip(vector, covariance["diagonal"])]
    lower, x = cholesky(covariance["full"]), list(vector)
    for i in reversed(range(len(x))):
        for k in range(i + 1, len(x)):
            x[i] -= lower[k][i] * x[k]
        x[i] /= lower[i][i]
    return x


def pick_component(stream, components):
    """The component of a mixture law that one uniform number falls in."""
    u = stream.uniform()
    for component in components:
        u -= component["weight"]
        if u < 0:
            return component
    return components[-1]


def dense_frequency(spec, j):
    """Frequency j in radians per working unit."""
    law, dim = spec["law"], len(spec["columns"])
    if law["name"] == "explicit":
        return law["frequencies"][j]
    stream = Stream(spec["seed"], FREQUENCY, j)
    component = pick_component(stream, law["components"]) if law["name"] == "pilot-mixture" else None
    radius = draw_radius(stream, law["radius"] if component else law["name"], dim)
    vector = [stream.normal() for _ in range(dim)]
    factor = (1.0 if radius is None else radius / norm(vector)) / spec["scale"]
    vector = [x * factor for x in vector]
    return shaped(vector, component["covariance"]) if component else vector


def dither(spec, j):
    """The phase of frequency j, in turns: listed, drawn or none."""
    if isinstance(spec["dither"], list):
        return spec["dither"][j]
    return Stream(spec["seed"], DITHER, j).uniform() if spec["dither"] else 0.0


def dense_turns(spec, j):
    """Frequency j in turns per working unit, to be rounded to f32."""
    return [x / TAU for x in dense_frequency(spec, j)]


def structured_signs(spec, block, width):
    """The diagonals of D1, D2 and D3, one after the other."""
    stream = Stream(spec["seed"], SIGNS, block)
    return [stream.sign() for _ in range(3 * width)]


def structured_gain(spec, j, width, turn=TAU):
    """Factor of entry j of the Hadamard product, in turns, to be rounded to f32."""
    dim, stream = len(spec["columns"]), Stream(spec["seed"], FREQUENCY, j)
    radius = draw_radius(stream, spec["law"]["name"], dim)
    radius = norm([stream.normal() for _ in range(dim)]) if radius is None else radius
    return (radius / spec["scale"]) / (turn * (width * math.sqrt(dim)))
