//! `auto`, what users get: a greedy search with a shared width, shapes of the atoms' own, and for mixtures
//! the efficient polish.
//!
//! 1. Search (file `search.rs`): isotropic atoms find the clusters, with one variance for each coordinate
//!    that all share. The width is what makes it work: point atoms leave a ring of residual around every
//!    cluster they find, which attracts the next atom.
//! 2. Shapes of the atoms' own, if the sketch has at least twice as many entries as there are parameters:
//!    joint descent for k-means, Levenberg-Marquardt for mixtures.
//! 3. Again from other starting points, two at a time, until the residual is down to what a right model
//!    leaves, or the lowest cost was reached twice, or all `restarts` are spent; the lowest cost is kept.
//! 4. For mixtures, the statistically efficient polish.
//! 5. For mixtures of a sketch that is mostly noise, components as wide as their uncertainty (file
//!    `polish/predictive.rs`).
//!
//! The two runs of a pair go side by side; the result does not depend on the number of threads.
//! Cost: a run has some ten rounds of a mean-shift search and a joint descent, O(k m d) an evaluation.

use crate::density::atom::{AtomFamily, Gaussian, Shape};
use crate::density::fit::{Fit, Problem};
use crate::density::target::Target;
use crate::error::Result;
use crate::learn::Decoded;
use crate::learn::misfit::misfit;
use crate::learn::polish::{LeastSquaresParams, PolishParams, least_squares, polish, predictive};
use crate::learn::propose::clompr::cl_ompr;
use crate::learn::propose::greedy::{GreedyParams, Start};
use crate::learn::propose::search::search;
use crate::learn::propose::shift;
use crate::learn::propose::split::{self, split};
use crate::model::{DecodeInfo, Explained, Stop};
use crate::num::budget;

/// Parameters of [`auto`].
#[derive(Clone, Debug)]
pub(crate) struct AutoParams {
    /// Atoms wanted, at least 1.
    pub k: usize,
    /// Shape of the atoms in the end.
    pub shape: Shape,
    /// Whether the shapes matter (a mixture: accurate least squares, then the polish) or only the locations
    /// (k-means).
    pub mixture: bool,
    /// Runs from other starting points at most, at least 1.
    pub restarts: usize,
    /// Threads, at least 1; changes the time only.
    pub threads: usize,
    /// Seed of the starting points.
    pub seed: u64,
}

impl Default for AutoParams {
    fn default() -> Self {
        AutoParams { k: 10, shape: Shape::Diagonal, mixture: false, restarts: 6, threads: 1, seed: 0 }
    }
}

/// Iterations of the descent of step 2.
const DESCENT: usize = 1000;
/// Runs that go side by side.
const PAIR: usize = 2;
/// Turns of removing harmonics and fitting, at most.
const TURNS: usize = 15;
/// The turn after which a fit that still does not explain the sketch is searched anew.
const SEARCH_AGAIN: usize = 2;
/// Turns end when the harmonics change by less than this part of the noise.
const SETTLED: f64 = 1e-3;
/// Costs this close are the same minimum.
const SAME: f64 = 1e-3;

/// Decodes a sketch into k Gaussian atoms; for k-means the answer is their locations.
pub(crate) fn auto(target: &Target, params: &AutoParams) -> Result<Decoded> {
    target.check_components(params.k)?;
    let family = family(target, params);
    // Other harmonics of a quantised feature spoil every residual, so the first search need not be thorough:
    // what they hid is searched without them.
    let first = match target.harmonics.is_empty() {
        true => params.clone(),
        false => AutoParams { restarts: params.restarts.min(PAIR), ..params.clone() },
    };
    let (mut fit, mut info) = best_of(target, &family, &first)?;
    let clean = remove_harmonics(target, &family, params, &mut fit, &mut info)?;
    let target = clean.as_ref().unwrap_or(target);
    finish(target, family, params, fit, info)
}

/// Steps 2, 4 and 5 from a given fit of the family of `params`.
pub(crate) fn auto_near(target: &Target, start: Fit, params: &AutoParams) -> Result<Decoded> {
    let family = family(target, params);
    let (fit, info) = settle(target, &family, params, start, params.threads)?;
    finish(target, family, params, fit, info)
}

/// Steps 4 and 5.
fn finish(
    target: &Target,
    family: Gaussian,
    params: &AutoParams,
    mut fit: Fit,
    mut info: DecodeInfo,
) -> Result<Decoded> {
    let mut chi_square = None;
    if params.mixture && info.stop != Stop::BadInput {
        // Step 4.
        let settings = PolishParams { threads: params.threads, ..PolishParams::default() };
        let (polished, report) = polish(target, &family, &fit, &settings)?;
        fit = polished;
        info.cost = Problem::new(target, &family).cost(&fit);
        chi_square = Some((report.chi_square.1, report.degrees)).filter(|_| report.rounds > 0);
    }
    let misfit = misfit(target, &family, &fit, info.cost);
    if params.mixture && target.is_noisy() {
        // Step 5.
        let settings = PolishParams { threads: params.threads, ..PolishParams::default() };
        fit = predictive(target, &family, &fit, &settings);
    }
    Ok(Decoded { family, fit, info, misfit, chi_square, score: None, centres: None })
}

/// Steps 1 to 3.
fn best_of(target: &Target, family: &Gaussian, params: &AutoParams) -> Result<(Fit, DecodeInfo)> {
    let mut best: Option<(Fit, DecodeInfo)> = None;
    let (mut iterations, mut evaluations, mut reached) = (0, 0, 0);
    let restarts = params.restarts.max(1);
    for first in (0..restarts).step_by(PAIR) {
        for run in runs(target, family, params, first..restarts.min(first + PAIR)) {
            let (fit, info) = run?;
            iterations += info.iterations;
            evaluations += info.evaluations;
            let lowest = best.as_ref().map_or(f64::INFINITY, |(_, b)| b.cost);
            reached = match info.cost / lowest - 1.0 {
                change if change < -SAME => 1,
                change if change > SAME => reached,
                _ => reached + 1,
            };
            if info.cost < lowest {
                best = Some((fit, info));
            }
        }
        let explained =
            best.as_ref().is_some_and(|(fit, info)| explained(target, family, fit, info) == Explained::Yes);
        // Two runs of one kind may share a wrong minimum; a mixture first sees runs of the other kind.
        if explained || (reached >= 2 && (!params.mixture || first >= PAIR)) || budget::spent() {
            break;
        }
    }
    let (fit, info) = best.unwrap_or_else(|| (Fit::default(), DecodeInfo::nothing()));
    Ok((fit, DecodeInfo { iterations, evaluations, ..info }))
}

/// Whether a fit explains a sketch.
fn explained(target: &Target, family: &Gaussian, fit: &Fit, info: &DecodeInfo) -> Explained {
    misfit(target, family, fit, info.cost).explained()
}

/// Takes the other harmonics of a quantised feature out of the target as the fit predicts them, and fits
/// anew, in turns. None if the feature has no others.
fn remove_harmonics(
    target: &Target,
    family: &Gaussian,
    params: &AutoParams,
    fit: &mut Fit,
    info: &mut DecodeInfo,
) -> Result<Option<Target>> {
    if target.harmonics.is_empty() || info.stop == Stop::BadInput {
        return Ok(None);
    }
    let mut clean = target.without_harmonics(family, fit);
    for turn in 0..TURNS {
        let (next, report) = settle(&clean, family, params, fit.clone(), params.threads)?;
        (*fit, info.cost) = (next, report.cost);
        info.evaluations += report.evaluations;
        if turn == SEARCH_AGAIN && !budget::spent() && explained(&clean, family, fit, info) == Explained::No {
            // Most of the harmonics are gone: a new search sees what they hid.
            let (again, report) = best_of(&clean, family, params)?;
            info.iterations += report.iterations;
            info.evaluations += report.evaluations;
            if report.cost < info.cost {
                *fit = again;
            }
        }
        let next = target.without_harmonics(family, fit);
        let settled = clean.distance(&next) < SETTLED * target.noise * target.entries() as f64;
        clean = next;
        if (settled && turn >= SEARCH_AGAIN) || budget::spent() {
            break;
        }
    }
    let (next, report) = settle(&clean, family, params, fit.clone(), params.threads)?;
    (*fit, info.cost) = (next, report.cost);
    Ok(Some(clean))
}

/// The family of step 2; shared variances if k-means has too few entries for more, or if its entries are
/// mostly noise.
fn family(target: &Target, params: &AutoParams) -> Gaussian {
    let own = target.points.with_covariance(params.shape.clone());
    let affordable = target.entries() >= 2 * params.k * (1 + own.n_params());
    if params.mixture || affordable && !target.is_noisy() {
        return own;
    }
    target.points.with_covariance(Shape::SharedDiagonal)
}

/// The runs of a range, side by side, in order.
fn runs(
    target: &Target,
    family: &Gaussian,
    params: &AutoParams,
    range: std::ops::Range<usize>,
) -> Vec<Result<(Fit, DecodeInfo)>> {
    let one = |restart: usize, threads: usize| run(target, family, params, restart, threads);
    if params.threads < 2 || range.len() < 2 {
        return range.map(|restart| one(restart, params.threads)).collect();
    }
    let threads = params.threads / range.len();
    let budget = &budget::current();
    std::thread::scope(|scope| {
        let workers: Vec<_> = range
            .map(|restart| scope.spawn(move || budget.within(|| one(restart, threads.max(1)))))
            .collect();
        let joined = workers.into_iter().map(|w| w.join());
        joined.map(|r| r.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}

/// Steps 1 and 2 of one run. The second pair of a mixture's runs are published decoders whose atoms have
/// shapes of their own from the start: they find what shared widths hide, such as a wide component over
/// narrow ones.
fn run(
    target: &Target,
    family: &Gaussian,
    params: &AutoParams,
    restart: usize,
    threads: usize,
) -> Result<(Fit, DecodeInfo)> {
    let seed = params.seed.wrapping_mul(1_000_003).wrapping_add(restart as u64);
    let own_shapes = family.n_params() > family.dim();
    if params.mixture && own_shapes && restart / PAIR == 1 {
        let (fit, info) = if restart == PAIR {
            let published =
                GreedyParams { start: Start::Centre, starts: 1, ..GreedyParams::new(params.k, seed) };
            cl_ompr(target, family, &published)
        } else {
            split(target, family, &split::defaults(params.k, seed))
        };
        let (fit, report) = settle(target, family, params, fit, threads)?;
        return Ok((
            fit,
            DecodeInfo { evaluations: info.evaluations + report.evaluations, cost: report.cost, ..info },
        ));
    }
    let coarse = target.points.with_covariance(Shape::SharedDiagonal);
    let (fit, mut info) = search(target, &coarse, &shift::defaults(params.k, seed));
    if info.stop == Stop::BadInput || *family.covariance() == Shape::SharedDiagonal {
        return Ok((fit, info));
    }
    let (fit, report) = settle(target, family, params, with_shapes(family, &fit), threads)?;
    info.evaluations += report.evaluations;
    Ok((fit, DecodeInfo { iterations: info.iterations, evaluations: info.evaluations, ..report }))
}

/// Step 2: to the minimum near a fit.
fn settle(
    target: &Target,
    family: &Gaussian,
    params: &AutoParams,
    mut fit: Fit,
    threads: usize,
) -> Result<(Fit, DecodeInfo)> {
    if params.mixture {
        let settings = LeastSquaresParams { threads, ..LeastSquaresParams::default() };
        let (better, solved) = least_squares(target, family, &fit, &settings)?;
        let cost = Problem::new(target, family).cost(&better);
        let info =
            DecodeInfo { iterations: 0, evaluations: solved.iterations, cost, stop: solved.stop.into() };
        return Ok((better, info));
    }
    let descent = Problem::new(target, family).descend(&mut fit, DESCENT);
    let info = DecodeInfo {
        iterations: 0,
        evaluations: descent.evaluations,
        cost: descent.value,
        stop: descent.stop.into(),
    };
    Ok((fit, info))
}

/// Atoms of a family at the locations of a fit with shared variances, with these variances as their own.
fn with_shapes(family: &Gaussian, fit: &Fit) -> Fit {
    let (low, high) = family.variance_range();
    let d = family.dim();
    let variances: Vec<f64> = fit.shared.iter().map(|v| v.clamp(low, high)).collect();
    let shape: Vec<f64> = match family.covariance() {
        Shape::Diagonal => variances,
        Shape::Width => vec![variances.iter().sum::<f64>() / d as f64],
        Shape::Full => {
            let entries = (0..d).flat_map(|i| (0..=i).map(move |j| (i, j)));
            entries.map(|(i, j)| if i == j { variances[i].sqrt() } else { 0.0 }).collect()
        }
        _ => Vec::new(),
    };
    let atoms = fit.atoms.chunks_exact(d).flat_map(|c| [c, &shape[..]].concat()).collect();
    let shared = vec![fit.shared.iter().sum::<f64>() / d as f64; family.n_shared()];
    Fit { atoms, shared, weights: fit.weights.clone() }
}

#[cfg(test)]
mod tests;
