"""What is measured: sums of squares, log densities, errors of components, coverage; all with numpy alone."""

import numpy as np

CHUNK = 50_000


def sse(x, centers):
    """Sum over the rows of the squared Euclidean distance to the nearest centre."""
    centers = np.asarray(centers, dtype=float)
    total = 0.0
    for start in range(0, len(x), CHUNK):
        part = x[start : start + CHUNK]
        squares = (part**2).sum(axis=1)[:, None] - 2 * part @ centers.T + (centers**2).sum(axis=1)
        total += float(np.maximum(squares.min(axis=1), 0).sum())
    return total


def log_gaussian(x, mean, covariance):
    """Log density of each row under one Gaussian; the covariance is a matrix, or its diagonal."""
    covariance, centred = np.asarray(covariance, dtype=float), x - np.asarray(mean)
    if covariance.ndim == 1:
        squares, log_det = (centred**2 / covariance).sum(axis=1), np.log(covariance).sum()
    else:
        factor = np.linalg.cholesky(covariance)
        squares, log_det = (np.linalg.solve(factor, centred.T) ** 2).sum(axis=0), 2 * np.log(np.diag(factor)).sum()
    return -0.5 * (squares + log_det + x.shape[1] * np.log(2 * np.pi))


def mean_log_density(x, weights, means, covariances):
    """Nats a row of a Gaussian mixture: the mean over the rows of log sum_k w_k N(x; mean_k, covariance_k)."""
    with np.errstate(divide="ignore"):
        logs = np.log(np.asarray(weights, dtype=float))
    kept = np.isfinite(logs)
    parts = [
        log + log_gaussian(x, mean, covariance)
        for log, mean, covariance, keep in zip(logs, means, covariances, kept, strict=True)
        if keep
    ]
    return float(np.logaddexp.reduce(parts, axis=0).mean())


def nats(model, x, spread):
    """Nats a row of a mixture model, as the program writes it in the units of x, if the columns were divided by `spread`."""
    return mean_log_density(x, model["weights"], model["means"], model["covariances"]) + float(np.log(spread).sum())


def one_gaussian(train, test, full):
    """Nats a row of a single Gaussian with the mean and the (diagonal) covariance of the training rows."""
    covariance = np.cov(train.T, bias=True) if full else train.var(axis=0)
    return mean_log_density(test, [1.0], [train.mean(axis=0)], [covariance])


def excess_error(x, components):
    """Squared error of the rows' projections beyond that of the best components, relative to the total variance."""
    covariance = np.cov(x.T, bias=True)
    basis = np.linalg.qr(np.asarray(components, dtype=float).T)[0]
    best = np.linalg.eigvalsh(covariance)[-basis.shape[1] :].sum()
    return float((best - np.trace(basis.T @ covariance @ basis)) / np.trace(covariance))


def middle_and_worst(values):
    """Median and largest; a run that gave nothing (NaN) is the worst there is."""
    values = np.asarray(values, dtype=float)
    if not len(values):
        return float("nan"), float("nan")
    filled = np.where(np.isnan(values), np.inf, values)
    return tuple(float("nan") if np.isinf(v) else float(v) for v in (np.median(filled), filled.max()))


def inside(low, truth, high, slack=1e-12):
    return low - slack <= truth <= high + slack
