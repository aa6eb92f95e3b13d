//! Expectation-maximisation for Gaussian mixtures on all rows: the baseline of compressive mixture models.
//!
//! Maximises the mean log-likelihood $\tfrac1n \sum_i \ln \sum_l \alpha_l N(x_i; \mu_l, \Sigma_l)$:
//!
//! 1. responsibilities $r_{il} \propto \alpha_l N(x_i; \mu_l, \Sigma_l)$, by log-sum-exp;
//! 2. $\alpha_l = \tfrac1n \sum_i r_{il}$, then means and covariances weighted by $r_{il}$, with a floor
//!    under the variances (eigenvalues for full matrices);
//! 3. stop when the mean log-likelihood gains at most a tolerance, or at a number of iterations.
//!
//! Restarts with even numbers begin with the partition of Lloyd's k-means, those with odd numbers with the
//! partition of a bare k-means++ draw: the first is the better start where clusters are compact, the second
//! more varied where they overlap. Restarts stop at `restart_tolerance`; the best of them goes on to
//! `tolerance`. Full covariances have more bad optima, so they get one more restart, at the best diagonal
//! fit: a full fit is never below the diagonal one of the same parameters. The floor is the exact constrained
//! maximum, so the likelihood never falls.
//!
//! Cost per iteration: n k (d + 1 exponential) for diagonal, n k d^2 for full covariances, over all threads;
//! memory beside the rows: 64 sets of moments. What it does not do: merge or split components, priors, row
//! weights.
//!
//! Differs from \[KBGP18\] section 5.3, which stops its ten restarts at 100 iterations each: where components
//! overlap, that is far from the maximum. On its problem with n = 3e5, d = 2, k = 3 (eight draws), the better
//! of two such restarts, with up to 100 iterations more, had a log symmetric KL up to 1.4 above that of the
//! maximum reached from the truth, whose mean was -9.94 (theory: ln(p/n) = -9.97).

pub(crate) mod step;

use crate::error::{Error, Result, at_least_one, positive};
use crate::kmeans::{KMeansParams, Stop, kmeans, mean_variance, plus_plus};
use crate::metric::log_likelihood;
use crate::mixture::{Mixture, Shape};
use crate::random::Rng;
use crate::rows::Rows;

use step::{expect, maximize, partition_moments};

/// How to run expectation-maximisation.
#[derive(Clone, Debug, PartialEq)]
pub struct EmParams {
    /// Diagonal (the default) or full covariances.
    pub shape: Shape,
    /// Restarts, at least 1; the best is kept and finished. Full covariances get one more. Default 10.
    pub n_init: usize,
    /// Iterations of a restart, at least 1. Default 100.
    pub restart_iterations: usize,
    /// Gain of the mean log-likelihood at which a restart is compared with the others, 0 or more. Default
    /// 1e-5.
    pub restart_tolerance: f64,
    /// Further iterations of the best restart, at least 1. Default 2000.
    pub max_iterations: usize,
    /// Gain of the mean log-likelihood that counts as converged, 0 or more. Default 1e-10.
    pub tolerance: f64,
    /// Least variance (eigenvalue, if full) relative to the mean variance of a column of the data; positive.
    /// Default 1e-6.
    pub variance_floor: f64,
    /// Seed of the restarts. Default 0.
    pub seed: u64,
    /// Threads; 0, the default, for all cores. Does not change the result.
    pub threads: usize,
}

impl Default for EmParams {
    fn default() -> EmParams {
        EmParams {
            shape: Shape::Diagonal,
            n_init: 10,
            restart_iterations: 100,
            restart_tolerance: 1e-5,
            max_iterations: 2000,
            tolerance: 1e-10,
            variance_floor: 1e-6,
            seed: 0,
            threads: 0,
        }
    }
}

/// How the best run went.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EmInfo {
    /// Iterations of the best restart and its finish.
    pub iterations: usize,
    /// Why the finish stopped.
    pub stop: Stop,
    /// Mean log-likelihood before each iteration, and at the end; never falls.
    pub history: Vec<f64>,
    /// The mean log-likelihood at which every restart was compared, in order; for full covariances the last
    /// began at the diagonal fit.
    pub restarts: Vec<f64>,
}

/// A mixture fitted to all rows.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Em {
    /// The fitted mixture.
    pub mixture: Mixture,
    /// Its mean log-likelihood per row.
    pub log_likelihood: f64,
    /// How the fit went.
    pub info: EmInfo,
}

/// The best of `n_init` runs; 1 <= k <= n. Cost: see the [module](mod@crate::em).
///
/// Rows that are all equal have no variance to fit and are refused.
pub fn em(rows: Rows<'_>, k: usize, params: &EmParams) -> Result<Em> {
    check(rows, k, params)?;
    let floor = params.variance_floor * mean_variance(rows, params.threads);
    if !(floor > 0.0) {
        return Err(Error::Parameter {
            name: "variance of the rows",
            value: floor,
            allowed: "positive (all rows are equal)",
        });
    }
    let mut best: Option<Run> = None;
    let mut restarts = Vec::with_capacity(params.n_init + 1);
    let restart = Limit { iterations: params.restart_iterations, gain: params.restart_tolerance };
    let mut consider = |start: Mixture| -> Result<()> {
        let run = iterate(rows, start, restart, floor, params.threads)?;
        restarts.push(run.log_likelihood());
        if best.as_ref().is_none_or(|best| run.log_likelihood() > best.log_likelihood()) {
            best = Some(run);
        }
        Ok(())
    };
    for restart in 0..params.n_init {
        consider(start(rows, k, restart as u64, floor, params)?)?;
    }
    if params.shape == Shape::Full {
        let diagonal = em(rows, k, &EmParams { shape: Shape::Diagonal, ..params.clone() })?;
        consider(diagonal.mixture.to_full())?;
    }
    let best = best.expect("n_init is at least 1");
    finish(rows, best, restarts, floor, params)
}

/// Expectation-maximisation from a given mixture; `n_init`, `seed` and `shape` are not used.
pub fn em_from(rows: Rows<'_>, start: &Mixture, params: &EmParams) -> Result<Em> {
    check(rows, start.k(), params)?;
    crate::error::expect_len("columns of the start", start.dim, rows.dim())?;
    let floor = params.variance_floor * mean_variance(rows, params.threads);
    let run = iterate(rows, start.clone(), last_limit(params), floor, params.threads)?;
    let log_likelihood = run.log_likelihood();
    let info = EmInfo {
        iterations: run.history.len() - 1,
        stop: run.stop,
        history: run.history,
        restarts: vec![log_likelihood],
    };
    Ok(Em { mixture: run.mixture, log_likelihood, info })
}

fn check(rows: Rows<'_>, k: usize, params: &EmParams) -> Result<()> {
    at_least_one("k", k)?;
    at_least_one("n_init", params.n_init)?;
    at_least_one("restart_iterations", params.restart_iterations)?;
    at_least_one("max_iterations", params.max_iterations)?;
    positive("variance_floor", params.variance_floor)?;
    for (name, value) in [("tolerance", params.tolerance), ("restart_tolerance", params.restart_tolerance)] {
        if !(value >= 0.0) {
            return Err(Error::Parameter { name, value, allowed: "0 or more" });
        }
    }
    if rows.n_rows() < k {
        return Err(Error::TooFewRows {
            what: "a mixture with one row per component",
            rows: rows.n_rows(),
            needed: k,
        });
    }
    Ok(())
}

/// The first mixture of a restart: moments of the partition that k centres make.
fn start(rows: Rows<'_>, k: usize, restart: u64, floor: f64, params: &EmParams) -> Result<Mixture> {
    let mut rng = Rng::derived(params.seed, restart);
    let centers = if restart.is_multiple_of(2) {
        let seed = rng.next_u64();
        kmeans(rows, k, &KMeansParams { n_init: 1, seed, threads: params.threads, ..Default::default() })?
            .centers
    } else {
        plus_plus(rows, k, &mut rng, params.threads)
    };
    let moments = partition_moments(rows, &centers, params.shape, params.threads);
    // The old mixture matters for empty clusters alone: they keep its wide covariance.
    let wide = floor / params.variance_floor;
    let mut old = Mixture {
        dim: rows.dim(),
        weights: vec![1.0 / k as f64; k],
        means: centers,
        covariances: vec![wide; k * rows.dim()],
        shape: Shape::Diagonal,
    };
    if params.shape == Shape::Full {
        old = old.to_full();
    }
    Ok(maximize(&moments, &old, rows.n_rows(), floor))
}

struct Run {
    mixture: Mixture,
    /// Mean log-likelihoods; the last is that of `mixture`.
    history: Vec<f64>,
    stop: Stop,
}

impl Run {
    fn log_likelihood(&self) -> f64 {
        self.history.last().copied().unwrap_or(f64::NEG_INFINITY)
    }
}

/// When to stop: at so many iterations, or at a gain this small.
#[derive(Clone, Copy)]
struct Limit {
    iterations: usize,
    gain: f64,
}

fn last_limit(params: &EmParams) -> Limit {
    Limit { iterations: params.max_iterations, gain: params.tolerance }
}

fn iterate(rows: Rows<'_>, mut mixture: Mixture, limit: Limit, floor: f64, threads: usize) -> Result<Run> {
    let mut history: Vec<f64> = Vec::new();
    for _ in 0..limit.iterations {
        let (moments, log_likelihood) = expect(rows, &mixture, threads)?;
        let converged = history.last().is_some_and(|before| log_likelihood - before <= limit.gain);
        history.push(log_likelihood);
        if converged {
            return Ok(Run { mixture, history, stop: Stop::Converged });
        }
        mixture = maximize(&moments, &mixture, rows.n_rows(), floor);
    }
    history.push(log_likelihood(rows, &mixture)?);
    Ok(Run { mixture, history, stop: Stop::MaxIterations })
}

/// Goes on from the best restart down to the tolerance.
fn finish(rows: Rows<'_>, best: Run, restarts: Vec<f64>, floor: f64, params: &EmParams) -> Result<Em> {
    let Run { mixture, mut history, .. } = best;
    let last = iterate(rows, mixture, last_limit(params), floor, params.threads)?;
    // The finish begins by measuring the mixture it was given again.
    history.extend(&last.history[1..]);
    Ok(Em {
        log_likelihood: last.log_likelihood(),
        mixture: last.mixture,
        info: EmInfo { iterations: history.len() - 1, stop: last.stop, history, restarts },
    })
}

#[cfg(test)]
mod tests;
