//! The SSE-optimal correction of k-means centres.
//!
//! The means of k Gaussians fitted to a sketch are the k-means centres only if the clusters are such
//! Gaussians. For other data a richer mixture describes the density better than k atoms can, and k-means of
//! that density is what is wanted:
//!
//! 1. decode about 2k atoms;
//! 2. draw a synthetic sample from them, in the user's units;
//! 3. run Lloyd's algorithm with k centres on the sample, from the decoded centres and from k-means++ starts,
//!    and keep the lowest SSE.
//!
//! It is left out where the fit explains the sketch, where the sketch cannot carry at least 1.5k atoms, and
//! where more atoms do not describe it much better. The raw rows are never seen. Measured, m = 5kd, median
//! relative SSE: digits (10 principal components) 1.067 to 1.032, Fashion-MNIST (20) 1.098 to 1.043. Cost:
//! one more decoding, and some Lloyd runs on [`SAMPLE`] rows.

use crate::density::Target;
use crate::density::atom::{AtomFamily, Gaussian, Shape};
use crate::density::fit::{Fit, Problem};
use crate::error::Result;
use crate::learn::atoms::Found;
use crate::learn::propose::auto::{AutoParams, auto};
use crate::learn::weighted_landmarks;
use crate::model::{Explained, Working};
use crate::num::lloyd::{Points, Run, lloyd, plus_plus};
use crate::num::random::{Purpose, Stream};

/// Atoms of the richer mixture for each centre, at most.
const RICHER: usize = 2;
/// Searches of the richer mixture.
const RESTARTS: usize = 2;
/// Iterations of the descent from split atoms.
const DESCENT: usize = 1000;
/// The richer mixture must bring the cost below this part of the fit's.
const MUCH_BETTER: f64 = 0.7;
/// Rows of the synthetic sample.
const SAMPLE: usize = 20_000;
/// Runs from k-means++ starts.
const STARTS: usize = 3;
/// Rounds of a run at most.
const ROUNDS: usize = 100;

/// Centres with the share of the rows nearest to each.
pub(super) type Shares = (Vec<Vec<f64>>, Vec<f64>);

/// Steps 1 to 3: k centres in the user's units; none if the fit already explains the sketch or the sketch
/// cannot carry more atoms.
///
/// Distances are taken with each column divided by its spread in the spec.
pub(super) fn refine(found: &Found<'_>) -> Result<Option<Shares>> {
    let Found { operator, target, decoded, params, .. } = found;
    if target.points.kernel().is_some() && !target.is_noisy() {
        return weighted_landmarks::correct(operator, target, decoded, params.seed);
    }
    if decoded.misfit.explained() != Explained::No {
        return Ok(None);
    }
    let Some(rich) = richer(found, affordable(target, decoded.fit.k()))? else { return Ok(None) };
    centres_of_sample(found, &rich, |rows, start| lloyd(Points::equal(rows, target.dim()), start, ROUNDS))
}

/// Steps 2 and 3: k centres of a sample of a mixture by `run`, the best of runs from the given centres and
/// from k-means++ starts; none if a centre got no rows.
pub(super) fn centres_of_sample(
    found: &Found<'_>,
    (family, fit): &(Gaussian, Fit),
    run: impl Fn(&[f64], Vec<f64>) -> Run,
) -> Result<Option<Shares>> {
    let centers = &found.locations;
    let (k, d) = (centers.len(), family.dim());
    let transform = &found.operator.spec().transform;
    let scaled =
        |row: &Vec<f64>| -> Vec<f64> { row.iter().zip(&transform.spread).map(|(x, s)| x / s).collect() };
    let mut stream = Stream::new(found.params.seed, Purpose::Decode, u64::MAX);
    let sampled = sample(family, fit, &Working::new(transform)?, &mut stream);
    if sampled.len() < k {
        return Ok(None);
    }
    let rows: Vec<f64> = sampled.iter().flat_map(scaled).collect();
    let mut best = run(&rows, centers.iter().flat_map(scaled).collect());
    for _ in 0..STARTS {
        let next = run(&rows, plus_plus(Points::equal(&rows, d), k, &mut stream));
        if next.cost < best.cost {
            best = next;
        }
    }
    if best.counts.contains(&0.0) {
        return Ok(None);
    }
    let total: f64 = best.counts.iter().sum();
    let shares = best.counts.iter().map(|c| c / total).collect();
    let unscaled = |c: &[f64]| c.iter().zip(&transform.spread).map(|(x, s)| x * s).collect();
    Ok(Some((best.centers.chunks_exact(d).map(unscaled).collect(), shares)))
}

/// Atoms of a richer mixture that the sketch can carry.
pub(super) fn affordable(target: &Target, k: usize) -> usize {
    let most = target.entries() / (2 * (1 + 2 * target.dim()));
    most.min(RICHER * k).min(target.rows as usize)
}

/// Step 1: the best of searches for more atoms and of the given atoms, the heaviest split in two; none if
/// none describes the sketch much better than the fit, or if k is below 1.5 times its atoms.
pub(super) fn richer(found: &Found<'_>, k: usize) -> Result<Option<(Gaussian, Fit)>> {
    let Found { target, decoded, params, .. } = found;
    if 2 * k < 3 * decoded.fit.k() {
        return Ok(None);
    }
    let settings = AutoParams {
        k,
        restarts: RESTARTS,
        threads: params.threads,
        seed: params.seed,
        ..AutoParams::default()
    };
    let mut best = (decoded.family.clone(), decoded.fit.clone(), decoded.info.cost);
    for target in target.boxes() {
        let found = auto(&target, &settings)?;
        if found.info.cost < best.2 {
            best = (found.family, found.fit, found.info.cost);
        }
    }
    if *decoded.family.covariance() == Shape::Diagonal {
        let mut fit = halved(&decoded.family, &decoded.fit, k);
        let cost = Problem::new(target, &decoded.family).descend(&mut fit, DESCENT).value;
        if cost < best.2 {
            best = (decoded.family.clone(), fit, cost);
        }
    }
    let (family, fit, cost) = best;
    let better = *family.covariance() == Shape::Diagonal && cost < MUCH_BETTER * decoded.info.cost;
    Ok(better.then_some((family, fit)))
}

/// The atoms with the heaviest ones split along their widest coordinate, k in all.
fn halved(family: &Gaussian, fit: &Fit, k: usize) -> Fit {
    let (d, p) = (family.dim(), family.n_params());
    let mut order: Vec<usize> = (0..fit.k()).collect();
    order.sort_by(|&a, &b| fit.weights[b].total_cmp(&fit.weights[a]));
    let mut out = fit.clone();
    for l in order.into_iter().take(k.saturating_sub(fit.k())) {
        let atom = &fit.atoms[l * p..(l + 1) * p];
        let widest = (0..d).max_by(|&a, &b| atom[d + a].total_cmp(&atom[d + b])).unwrap_or(0);
        let step = 0.7 * atom[d + widest].sqrt();
        out.atoms.extend_from_slice(atom);
        let last = out.atoms.len() - p;
        out.atoms[last + widest] += step;
        out.atoms[l * p + widest] -= step;
        out.weights[l] *= 0.5;
        out.weights.push(out.weights[l]);
    }
    out
}

/// Step 2.
fn sample(family: &Gaussian, fit: &Fit, working: &Working, stream: &mut Stream) -> Vec<Vec<f64>> {
    let (d, p) = (family.dim(), family.n_params());
    let mut rows = Vec::with_capacity(SAMPLE);
    for (atom, weight) in fit.atoms.chunks_exact(p).zip(fit.normalised_weights()) {
        let sigma = family.covariance_of(atom, &fit.shared);
        for _ in 0..(weight * SAMPLE as f64).round() as usize {
            let u: Vec<f64> = (0..d).map(|c| atom[c] + sigma[c * d + c].sqrt() * stream.normal()).collect();
            rows.push(working.location(&u));
        }
    }
    rows
}
