"""Small optimisation problems with scipy's solutions, for the tests of the solvers.

Writes nnls.json and bounded.json beside this file:  .venv/bin/python testdata/solvers/make.py
Numbers of a problem are rounded before it is solved, so that the file holds exactly the problem that was solved.
"""

import json
import pathlib

import numpy as np
import scipy.optimize

HERE = pathlib.Path(__file__).resolve().parent
INF = float("inf")


# Non-negative least squares.


def nnls_problems():
    """Yields name, matrix, right-hand side, and whether the solution is unique."""
    rng = np.random.default_rng(1)
    for rows, k in [(3, 1), (12, 5), (30, 10), (40, 20)]:
        yield f"random {rows} x {k}", rng.normal(size=(rows, k)), rng.normal(size=rows), True
    a = rng.uniform(size=(30, 15))
    yield "all positive", a, a @ rng.uniform(0.5, 2, 15), True
    yield "all zero", a, -rng.uniform(0.5, 1, 30), True
    truth = np.where(rng.uniform(size=15) < 0.5, 0, rng.uniform(0, 3, 15))
    yield "sparse, exact fit", a, a @ truth, True
    # At the solution the gradient of the variables at zero is exactly zero: strict complementarity fails.
    yield "degenerate", np.vstack([np.eye(6), np.eye(6)]), np.array([1, 0, 2, 0, 0, 3] * 2), True
    b = rng.normal(size=(20, 4))
    yield "duplicate columns", np.hstack([b, b, b[:, :2]]), b @ [1, 2, 0, 3] + 0.1 * rng.normal(size=20), False
    noise = rng.normal(size=(20, 4))
    for exponent in [4, 6, 9, 12]:
        both = np.hstack([b, b + noise * 10.0**-exponent])
        yield f"columns equal to 1e-{exponent}", both, b @ [1, 2, 0, 3] + 0.1 * rng.normal(size=20), False
    yield "more columns than rows", rng.uniform(size=(8, 20)), rng.uniform(size=8), False
    zero = rng.normal(size=(15, 6))
    zero[:, 2] = 0
    yield "a column of zeros", zero, rng.normal(size=15), False
    scales = 10.0 ** np.array([-6, -3, 0, 3, 6, 0, -6, 6])
    yield "columns of very different length", rng.uniform(size=(25, 8)) * scales, rng.normal(1, 1, size=25), True
    t = np.linspace(0, 5, 40)
    rates = np.geomspace(0.1, 10, 25)
    decay = np.exp(-np.outer(t, rates))
    yield "decay rates on a fine grid", decay, np.exp(-0.7 * t) + 2 * np.exp(-3 * t) + 0.01 * rng.normal(size=40), False


def solve_nnls(problem):
    a, b = np.array(problem["a"]), np.array(problem["b"])
    x, norm = scipy.optimize.nnls(a, b, maxiter=100 * a.shape[1])
    return {"x": x.tolist(), "value": 0.5 * norm**2}


# Bounded minimisation of half a sum of squares (and of one function that is none).


def residuals(problem):
    """Functions x -> residuals and x -> Jacobian of a stored problem."""
    kind, data = problem["kind"], {name: np.array(v) for name, v in problem["data"].items()}
    t, y = data.get("t"), data.get("y")
    if kind == "linear":
        return (lambda x: data["a"] @ x - data["b"]), (lambda x: data["a"])
    if kind == "rosenbrock":

        def jacobian(x):
            n = len(x)
            j = np.zeros((2 * n - 2, n))
            i = np.arange(n - 1)
            j[i, i], j[i, i + 1], j[n - 1 + i, i] = -20 * x[:-1], 10, -1
            return j

        return (lambda x: np.concatenate([10 * (x[1:] - x[:-1] ** 2), 1 - x[:-1]])), jacobian
    if kind == "decay":

        def jacobian(x):
            e = np.exp(-x[1] * t)
            return np.stack([e, -x[0] * t * e, np.ones_like(t)], axis=1)

        return (lambda x: x[0] * np.exp(-x[1] * t) + x[2] - y), jacobian
    if kind == "exponentials":

        def jacobian(x):
            a, b = np.split(x, 2)
            e = np.exp(-np.outer(t, b))
            return np.hstack([e, -a * t[:, None] * e])

        return (lambda x: np.exp(-np.outer(t, x[len(x) // 2 :])) @ x[: len(x) // 2] - y), jacobian
    assert kind == "bumps", kind

    def parts(x):
        a, c, w = np.split(x, 3)
        u = (t[:, None] - c) / w
        return a, w, u, np.exp(-0.5 * u * u)

    def jacobian(x):
        a, w, u, e = parts(x)
        return np.hstack([e, a * e * u / w, a * e * u * u / w])

    def residual(x):
        a, _, _, e = parts(x)
        return e @ a - y

    return residual, jacobian


def objective(problem):
    """Function x -> value, gradient."""
    if problem["kind"] == "logistic":
        a, ridge = np.array(problem["data"]["a"]), problem["data"]["ridge"]

        def logistic(x):
            margin = a @ x
            gradient = -a.T @ (1 / (1 + np.exp(margin))) + ridge * x
            return np.logaddexp(0, -margin).sum() + 0.5 * ridge * x @ x, gradient

        return logistic
    r, j = residuals(problem)
    return lambda x: (0.5 * r(x) @ r(x), j(x).T @ r(x))


def bounded_problems():
    """Yields name, kind, data, start, lower and upper bounds."""
    rng = np.random.default_rng(2)
    a = rng.normal(size=(20, 8))
    yield "linear, free", "linear", {"a": a, "b": rng.normal(size=20)}, np.zeros(8), -INF, INF
    yield "linear, boxed", "linear", {"a": a, "b": 3 * rng.normal(size=20)}, np.zeros(8), -0.1, 0.3
    scaled = rng.normal(size=(40, 15)) * np.geomspace(1, 100, 15)
    yield "linear, condition 1e4, half boxed", "linear", {"a": scaled, "b": 10 * rng.normal(size=40)}, np.ones(15), 0, INF
    yield "rosenbrock 2", "rosenbrock", {}, np.array([-1.2, 1]), -INF, INF
    yield "rosenbrock 2, minimum on the bound", "rosenbrock", {}, np.array([-0.5, 0.3]), -2, np.array([0.8, 2])
    yield "rosenbrock 2, start outside", "rosenbrock", {}, np.array([-5, 9]), np.array([1.5, -1]), 4
    yield "rosenbrock 20", "rosenbrock", {}, np.tile([0.5, 0.8], 10), -2, 2
    upper = np.where(np.arange(20) % 4 == 1, 0.5, 2)
    yield "rosenbrock 20, some on the bound", "rosenbrock", {}, np.tile([0.2, 0.4], 10), 0, upper
    t = np.linspace(0, 4, 30)
    y = 2.5 * np.exp(-1.3 * t) + 0.5 + 0.05 * rng.normal(size=30)
    yield "decay", "decay", {"t": t, "y": y}, np.array([1, 1, 0]), 0, INF
    yield "decay, offset on the bound", "decay", {"t": t, "y": y}, np.array([1, 1, 0.2]), 0, np.array([5, 5, 0.4])
    t = np.linspace(0, 6, 60)
    y = np.exp(-0.3 * t) + 2 * np.exp(-2 * t) + 0.01 * rng.normal(size=60)
    start = np.array([1.5, 1.5, 0.5, 1.5])
    yield "two exponentials", "exponentials", {"t": t, "y": y}, start, 0, 10
    yield "two exponentials, rate on the bound", "exponentials", {"t": t, "y": y}, start, 0, np.array([10, 10, 10, 1.8])
    t = np.linspace(-1, 21, 200)
    truth = np.concatenate([rng.uniform(0.5, 2, 20), np.arange(20) + rng.uniform(0.3, 0.7, 20), rng.uniform(0.2, 0.36, 20)])
    start = np.concatenate([np.ones(20), np.arange(20) + 0.5, np.full(20, 0.28)])
    lower = np.repeat([0.0, 0, 0.22], 20) + np.concatenate([np.zeros(20), np.arange(20), np.zeros(20)])
    upper = np.repeat([1.8, 1, 0.34], 20) + np.concatenate([np.zeros(20), np.arange(20), np.zeros(20)])
    bumps = {"kind": "bumps", "data": {"t": t, "y": np.zeros(200)}}
    clean = residuals(bumps)[0](truth)
    y = clean + 0.02 * rng.normal(size=200)
    yield "20 bumps, 60 parameters", "bumps", {"t": t, "y": y}, start, np.repeat([-INF, -INF, 0.05], 20), INF
    yield "20 bumps, 60 parameters, boxed", "bumps", {"t": t, "y": y}, start, lower, upper
    a = rng.normal(size=(60, 12)) + 0.3
    yield "logistic", "logistic", {"a": a, "ridge": 0.1}, np.zeros(12), -INF, INF
    yield "logistic, boxed", "logistic", {"a": a, "ridge": 0.1}, np.zeros(12), 0, 0.5


def box(problem):
    return [np.array([sign * INF if v is None else v for v in problem[side]]) for side, sign in [("lower", -1), ("upper", 1)]]


def solve_lbfgs(problem, ftol=1e-16, gtol=1e-9):
    bounds, start = scipy.optimize.Bounds(*box(problem)), np.array(problem["start"], dtype=float)
    options = {"maxiter": 10_000, "maxfun": 100_000, "ftol": ftol, "gtol": gtol, "maxcor": 10}
    done = scipy.optimize.minimize(objective(problem), start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return {"x": done.x.tolist(), "value": float(done.fun), "iterations": int(done.nit), "evaluations": int(done.nfev)}


def solve_least_squares(problem):
    lower, upper = box(problem)
    # least_squares wants a start strictly inside.
    start = np.clip(np.array(problem["start"], dtype=float), lower + 1e-6, upper - 1e-6)
    r, j = residuals(problem)
    tight = {"ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-14, "max_nfev": 5000, "x_scale": "jac"}
    done = scipy.optimize.least_squares(r, start, j, (lower, upper), method="trf", **tight)
    return {"x": done.x.tolist(), "value": float(done.cost), "evaluations": int(done.nfev)}


def rounded(values, digits):
    """Lists of numbers that print with few digits; infinity becomes null, which JSON has."""
    array = np.asarray(values, dtype=float)
    if array.ndim:
        return [rounded(v, digits) for v in array]
    return round(float(array), digits) if np.isfinite(array) else None


def make_nnls():
    for name, a, b, unique in nnls_problems():
        digits = 15 if "1e-" in name or "length" in name else 6
        problem = {"name": name, "unique": unique, "a": rounded(a, digits), "b": rounded(b, 6)}
        yield problem | {"scipy": solve_nnls(problem)}


def make_bounded():
    for name, kind, data, start, lower, upper in bounded_problems():
        problem = {"name": name, "kind": kind, "data": {key: rounded(v, 6) for key, v in data.items()}}
        problem["start"] = rounded(start, 6)
        for side, values in [("lower", lower), ("upper", upper)]:
            problem[side] = rounded(np.broadcast_to(np.asarray(values, dtype=float), start.shape), 6)
        problem["lbfgs"] = solve_lbfgs(problem)
        problem["least_squares"] = None if kind == "logistic" else solve_least_squares(problem)
        yield problem


if __name__ == "__main__":
    for file, problems in [("nnls.json", make_nnls()), ("bounded.json", make_bounded())]:
        lines = ",\n".join(json.dumps(problem, separators=(",", ":")) for problem in problems)
        (HERE / file).write_text("[\n" + lines + "\n]\n")
