//! The last fit of a Gaussian mixture: least squares to high accuracy, then the statistically efficient
//! refinement.
//!
//! [`least_squares`] minimises $\sum_j w_j^2 \lvert z_j - \sum_l \alpha_l a_j(\theta_l)\rvert^2$, as
//! [`Problem::descend`](crate::density::Problem::descend) does, but by Levenberg-Marquardt: tens of steps
//! instead of hundreds, and a minimum to many digits, also where a narrow valley stops the descent.
//!
//! [`polish`] takes into account that the entries of a sketch are neither equally noisy nor independent. With
//! C the covariance of the n entries of z under the fitted mixture, known in closed form, it minimises
//!
//! $$ \chi^2(\theta, \alpha) = (z - A(\theta,\alpha))^\top C^{-1} (z - A(\theta,\alpha)), $$
//!
//! the optimally weighted method of moments, whose error approaches that of maximum likelihood on all rows as
//! m grows:
//!
//! 1. C of one row's features at the given fit (gain-corrected; the power of a quantised feature's other
//!    harmonics and added noise go to the diagonal), divided by the rows; what the given fit leaves
//!    unexplained beyond sampling noise is added to the diagonal as well, so that for data far from any such
//!    mixture the fit stays least squares;
//! 2. a ridge of 1e-8 of the largest eigenvalue (power iteration) on the diagonal, then a blocked Cholesky
//!    factor;
//! 3. Levenberg-Marquardt on the whitened residual from the given fit; again from 1 with the new fit if more
//!    `rounds` are wanted.
//!
//! The total weight is one: the sketch at frequency zero, known without noise, joins as an entry of variance
//! the ridge. When there are more than `entries_max` entries, the frequencies are split into groups and the
//! covariances between groups are left out of C: still consistent, with an error between the two fits. If the
//! model is right, $\chi^2$ is near [`PolishInfo::degrees`]; far above it the start was in the wrong basin,
//! or k is too small.
//!
//! Cost: $k m^2$ complex exponentials, $n^3/6$ multiply-adds for the factor, and $n^2 p/2 + n p^2/2$ for each
//! of one or two matrices, for n = 2m entries and p variables; memory $4 n^2$ bytes. At landmarks the same is
//! done with the covariance of kernel values (file `nystrom.rs`), and [`least_squares`] in the metric of
//! the kernel. It does not search: it needs a start in the right basin, from a greedy decoder. References:
//! \[KBGP18\] section 5 (the problem); A. R. Hall, *Generalized Method of Moments*, Oxford University Press,
//! 2005 (the estimator). The closed-form covariance of sketches is this project's own.

mod covariance;
mod nystrom;
mod predictive;
mod problem;
mod variables;

use std::sync::Arc;

use crate::density::atom::{AtomFamily, Gaussian};
use crate::density::fit::{Fit, Problem};
use crate::density::metric::Metric;
use crate::density::noise::excess;
use crate::density::target::Target;
use crate::error::{Error, Result};
use crate::num::solve::{LeastSquares, LmInfo, LmParams, StopReason, levenberg_marquardt};

use covariance::covariance;
pub(super) use predictive::predictive;
use problem::{Part, Weighted, Weighting};
use variables::Variables;

/// Frequencies whose Jacobian is held at a time by [`least_squares`].
const CHUNK: usize = 512;
/// Numbers that all factors together may hold: 1 GB.
const NUMBERS_MAX: usize = 1 << 27;
/// Ridges tried, each ten times the one before, until the covariance has a factor.
const RIDGE_TRIES: usize = 6;

/// Parameters of [`least_squares`].
#[derive(Clone, Debug)]
pub struct LeastSquaresParams {
    /// Limits of the solver.
    pub solver: LmParams,
    /// Weight of the known total $\sum_l \alpha_l = 1$, relative to that of one sketch entry; 0 leaves the
    /// total free. Default 0.
    pub total_weight: f64,
    /// Threads; 0, the default, for all cores. Does not change the result.
    pub threads: usize,
}

impl Default for LeastSquaresParams {
    fn default() -> LeastSquaresParams {
        let solver = LmParams { ftol: 1e-8, iterations_max: 300, ..LmParams::default() };
        LeastSquaresParams { solver, total_weight: 0.0, threads: 0 }
    }
}

/// Parameters of [`polish`].
#[derive(Clone, Debug)]
pub struct PolishParams {
    /// Limits of the solver in each round.
    pub solver: LmParams,
    /// Rounds, each with the covariance at the fit of the one before. At least 1; default 1.
    pub rounds: usize,
    /// Ridge relative to the largest eigenvalue. Above 0; default 1e-8, which gains 0.02 to 0.05 in log
    /// symmetric KL over 1e-6; if there is no factor, ten times more is tried.
    pub ridge: f64,
    /// Largest group of entries whose covariances are all taken into account. At least 2; default 9000, ten
    /// seconds and 330 MB on two cores (4200 take one second).
    pub entries_max: usize,
    /// Whether the known total $\sum_l \alpha_l = 1$ is used. Default true.
    pub unit_sum: bool,
    /// Threads; 0, the default, for all cores. Does not change the result.
    pub threads: usize,
}

impl Default for PolishParams {
    fn default() -> PolishParams {
        let solver = LmParams { ftol: 1e-6, damping: 1e-6, iterations_max: 30, ..LmParams::default() };
        PolishParams { solver, rounds: 1, ridge: 1e-8, entries_max: 9000, unit_sum: true, threads: 0 }
    }
}

/// What [`polish`] did.
#[derive(Clone, Debug)]
pub struct PolishInfo {
    /// Rounds done.
    pub rounds: usize,
    /// Steps tried in all rounds.
    pub iterations: usize,
    /// Normal matrices formed in all rounds, the expensive part of a step.
    pub matrices: usize,
    /// $\chi^2$ of the given fit and of the returned one, with the covariance of the last round.
    pub chi_square: (f64, f64),
    /// What the last $\chi^2$ is expected to be near if the model is right:
    /// $\operatorname{tr}(C\,(C + \varrho I)^{-1})$ for the ridge $\varrho$, less the free variables.
    pub degrees: f64,
    /// Mean square residual of the last round's start relative to its sampling noise; the part above 1 was
    /// added to the diagonal of C.
    pub misfit: f64,
    /// The largest ridge used, relative to the largest eigenvalue of its group.
    pub ridge: f64,
    /// Why the last round stopped.
    pub stop: StopReason,
}

impl PolishInfo {
    /// Of a polish that has not begun.
    fn new(params: &PolishParams) -> PolishInfo {
        PolishInfo {
            rounds: 0,
            iterations: 0,
            matrices: 0,
            chi_square: (f64::NAN, f64::NAN),
            degrees: f64::NAN,
            misfit: f64::NAN,
            ridge: params.ridge,
            stop: StopReason::BadInput,
        }
    }
}

/// Least squares over weights, locations and shapes from `fit`, inside the bounds. Never worse than `fit`.
///
/// Cost per step: $m p^2$ multiply-adds for p = k(1 + parameters of an atom) variables, and $p^3/6$ for the
/// step.
pub fn least_squares(
    target: &Target,
    family: &Gaussian,
    fit: &Fit,
    params: &LeastSquaresParams,
) -> Result<(Fit, LmInfo)> {
    check(target, family, fit)?;
    let order: Vec<usize> = (0..target.size()).collect();
    let part = |which: &[usize]| {
        let weights = which.iter().map(|&j| target.weights[j]).collect();
        part(target, family, which, Weighting::Each(weights))
    };
    let parts = match &target.metric {
        // The metric of a kernel joins all entries.
        Some(metric) => vec![whole(target, family, metric)],
        None => order.chunks(CHUNK).map(part).collect(),
    };
    let mut problem = Weighted {
        variables: Variables::new(family, fit.k()),
        complex: target.complex,
        parts,
        unit_sum: params.total_weight,
        renew: 1.0,
        age: 0,
        threads: crate::num::parallel::resolve(params.threads),
        formed: None,
        n_formed: 0,
    };
    Ok(solve(&mut problem, target, family, fit, &params.solver))
}

/// The optimally weighted fit from `fit`, a good least-squares solution. Weights of the result sum to one.
///
/// Where it cannot work (a start that is not finite, a covariance without factor) `fit` comes back as it was
/// and the info says why.
pub fn polish(
    target: &Target,
    family: &Gaussian,
    fit: &Fit,
    params: &PolishParams,
) -> Result<(Fit, PolishInfo)> {
    check(target, family, fit)?;
    let groups = groups(target, params.entries_max);
    let mut info = PolishInfo::new(params);
    let mut current = Fit { weights: fit.normalised_weights(), ..fit.clone() };
    for _ in 0..params.rounds.max(1) {
        let Some(mut problem) = weighted(target, family, &groups, &current, params, &mut info) else {
            info.stop = StopReason::NoProgress;
            break;
        };
        let start = problem.cost(&problem.variables.pack(&current));
        let (next, solved) = solve(&mut problem, target, family, &current, &params.solver);
        info.iterations += solved.iterations;
        info.matrices += problem.n_formed;
        info.stop = solved.stop;
        if matches!(solved.stop, StopReason::BadInput | StopReason::NotFinite) {
            break;
        }
        info.rounds += 1;
        info.chi_square = (2.0 * start, 2.0 * solved.cost);
        current = Fit { weights: next.normalised_weights(), ..next };
    }
    let result = if info.rounds > 0 { current } else { fit.clone() };
    Ok((result, info))
}

/// Refuses a mixture that does not belong to the family, or a family that does not belong to the sketch.
fn check(target: &Target, family: &Gaussian, fit: &Fit) -> Result<()> {
    let expect = |what, found, expected| {
        if found == expected { Ok(()) } else { Err(Error::Shape { what, found, expected }) }
    };
    expect("frequencies of the atoms", family.n_frequencies(), target.size())?;
    expect("columns of the atoms", family.dim(), target.dim())?;
    expect("parameters of the atoms", fit.atoms.len(), fit.k() * family.n_params())?;
    expect("shared parameters", fit.shared.len(), family.n_shared())
}

/// Mean square of the residual's entries relative to the sampling noise of an entry.
fn misfit(target: &Target, family: &Gaussian, fit: &Fit) -> f64 {
    let (re, im) = Problem::new(target, family).residual(fit);
    let entries = target.size() as f64 * if target.complex { 2.0 } else { 1.0 };
    let noise = entry_noise(target, family, fit);
    re.iter().chain(&im).map(|r| r * r).sum::<f64>() / (entries * noise).max(f64::MIN_POSITIVE)
}

/// Variance of an entry of the sketch from sampling and added noise, averaged over the entries.
fn entry_noise(target: &Target, family: &Gaussian, fit: &Fit) -> f64 {
    match &target.metric {
        Some(metric) => nystrom::entry_variance(family, fit) / target.rows + metric.entry_noise(),
        None => target.noise,
    }
}

/// Frequencies in groups of at most `entries_max` entries, and small enough for the memory; each group has
/// frequencies of all lengths.
// Measured for d = 20, k = 5, m = 2050 in two groups, log symmetric KL over three draws: least squares -6.16,
// groups -6.70, groups by length -6.67, half of the frequencies alone -6.4, no groups -6.89.
fn groups(target: &Target, entries_max: usize) -> Vec<Vec<usize>> {
    let per_frequency = if target.complex { 2 } else { 1 };
    let entries = target.size() * per_frequency;
    let affordable = entries_max.min(2 * NUMBERS_MAX / entries.max(1)).max(2);
    let count = entries.div_ceil(affordable / per_frequency * per_frequency);
    let mut order: Vec<usize> = (0..target.size()).collect();
    if count > 1 {
        let norms = target.points.norms();
        order.sort_by(|&a, &b| norms[a].total_cmp(&norms[b]));
    }
    (0..count).map(|first| order.iter().skip(first).step_by(count).copied().collect()).collect()
}

/// The part of the sketch at some frequencies.
fn part(target: &Target, family: &Gaussian, which: &[usize], weighting: Weighting) -> Part {
    let z = which
        .iter()
        .flat_map(|&j| [target.re[j], target.im[j]].into_iter().take(if target.complex { 2 } else { 1 }));
    Part { family: family.at(which), z: z.collect(), weighting }
}

/// The whole sketch of kernel values, in the metric of the kernel.
fn whole(target: &Target, family: &Gaussian, metric: &Metric) -> Part {
    Part { family: family.clone(), z: target.re.clone(), weighting: Weighting::Whitened(metric.factor()) }
}

/// Steps 1 and 2: the whitened problem at a fit; none if the covariance has no factor.
fn weighted(
    target: &Target,
    family: &Gaussian,
    groups: &[Vec<usize>],
    fit: &Fit,
    params: &PolishParams,
    info: &mut PolishInfo,
) -> Option<Weighted> {
    let threads = crate::num::parallel::resolve(params.threads);
    info.misfit = misfit(target, family, fit);
    // Sampling noise shrinks with the rows while a wrong model does not: without this term many rows would
    // turn its error into confident nonsense.
    let unexplained = (info.misfit - 1.0).max(0.0) * entry_noise(target, family, fit) * target.rows;
    let excess = excess(target) + unexplained;
    let variables = Variables::new(family, fit.k());
    let mut parts = Vec::with_capacity(groups.len());
    let mut unit_sum = 0.0f64;
    info.degrees = f64::from(u8::from(params.unit_sum)) - variables.len() as f64;
    for which in groups {
        let restricted = family.at(which);
        let mut ridge = params.ridge;
        let mut found = None;
        for _ in 0..RIDGE_TRIES {
            let mut matrix = covariance(&restricted, fit, target.complex, threads);
            let floor = ridge * matrix.largest_eigenvalue();
            matrix.add_diagonal(excess + floor);
            matrix.scale(1.0 / target.rows);
            found = matrix.factor(threads).map(|factor| (factor, floor / target.rows));
            if found.is_some() {
                break;
            }
            ridge *= 10.0;
        }
        let (factor, variance) = found?;
        info.ridge = info.ridge.max(ridge);
        info.degrees += factor.len() as f64 - variance * factor.inverse_trace();
        unit_sum = unit_sum.max(1.0 / variance);
        parts.push(part(target, family, which, Weighting::Whitened(Arc::new(factor))));
    }
    Some(Weighted {
        variables,
        complex: target.complex,
        parts,
        unit_sum: if params.unit_sum { unit_sum } else { 0.0 },
        renew: RENEW,
        age: 0,
        threads,
        formed: None,
        n_formed: 0,
    })
}

/// A matrix is kept until the cost has fallen below this part of what it was.
const RENEW: f64 = 0.8;

/// Step 3.
fn solve(
    problem: &mut Weighted,
    target: &Target,
    family: &Gaussian,
    fit: &Fit,
    params: &LmParams,
) -> (Fit, LmInfo) {
    let (lower, upper) = problem.variables.bounds(target, family);
    let mut x = problem.variables.pack(fit);
    for ((x, l), u) in x.iter_mut().zip(&lower).zip(&upper) {
        // Also brings the logarithm of a variance of zero to its bound; NaN stays, and is refused by the
        // solver.
        *x = if *x < *l {
            *l
        } else if *x > *u {
            *u
        } else {
            *x
        };
    }
    let info = levenberg_marquardt(problem, &mut x, &lower, &upper, params);
    let refused = matches!(info.stop, StopReason::BadInput | StopReason::NotFinite);
    (if refused { fit.clone() } else { problem.variables.unpack(&x) }, info)
}

#[cfg(test)]
mod tests;
