//! Greedy matching pursuit with replacement, the frame of [`cl_ompr`](super::clompr::cl_ompr) and [`shift`](super::shift::shift).
//!
//! Steps, numbered as in \[KBGP18\] algorithm 1 (and \[KTTG17\] algorithm 1), repeated k times, or 2k times with replacement:
//!
//! 1. find an atom whose normalised sketch correlates most with the residual (several starts, the best is kept);
//! 2. add it;
//! 3. if there are more than k atoms, keep the k with the largest weights in a non-negative fit of normalised atoms;
//! 4. fit the weights, not negative;
//! 5. descend jointly over atoms and weights, inside the box; update the residual.
//!
//! Cost: for each step, `starts` times `sweeps` evaluations of one atom (m d each), and a descent of k m d an evaluation.

use crate::density::atom::{AtomFamily, Gaussian};
use crate::density::fit::Fit;
use crate::density::target::Target;
use crate::learn::propose::pursuit::{Pursuit, cluster_variance, uniform_point};
use crate::learn::propose::shift::Correlation;
use crate::model::DecodeInfo;
use crate::num::linear::dot;
use crate::num::random::{Purpose, Stream, roulette};

/// Where a search starts. Points are rows of d working coordinates; without any, `Sample` and `PlusPlus` start as `Range` does.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Start {
    /// Uniform in the data box, the only choice that needs nothing but the sketch (\[KTTG17\]).
    #[default]
    Range,
    /// In the middle of the box (\[KBGP18\] section 5.3, for centred data).
    Centre,
    /// A row of the data, drawn uniformly (\[KTTG17\]).
    Sample(Vec<f64>),
    /// A row of the data, drawn with probability proportional to its squared distance to the nearest atom.
    // Differs from [KTTG17]: its text says "inversely proportional", the reverse of the k-means++ it is named after.
    PlusPlus(Vec<f64>),
}

impl Start {
    /// A starting location, given the atoms found so far (rows of `p` parameters).
    pub(super) fn draw(&self, target: &Target, atoms: &[f64], p: usize, stream: &mut Stream) -> Vec<f64> {
        let dim = target.dim();
        let row = |points: &[f64], i: usize| points[i * dim..(i + 1) * dim].to_vec();
        match self {
            Start::Sample(points) if points.len() >= dim => row(points, stream.below(points.len() / dim)),
            Start::PlusPlus(points) if points.len() >= dim => {
                let distance = |x: &[f64]| {
                    let squares = atoms.chunks_exact(p).map(|a| {
                        let difference: Vec<f64> = x.iter().zip(a).map(|(x, a)| x - a).collect();
                        dot(&difference, &difference)
                    });
                    squares.fold(f64::INFINITY, f64::min).min(1e300)
                };
                let distances: Vec<f64> = points.chunks_exact(dim).map(distance).collect();
                row(points, roulette(&distances, stream))
            }
            Start::Centre => target.low.iter().zip(&target.high).map(|(l, h)| 0.5 * (l + h)).collect(),
            _ => uniform_point(target, stream),
        }
    }
}

/// How step 1 climbs.
#[derive(Clone, Debug, PartialEq)]
pub enum Search {
    /// Gradient ascent with a bounded quasi-Newton method over all parameters of an atom.
    Ascent(Start),
    /// Mean shift of the location, see [`shift`](super::shift).
    Shift,
}

/// Parameters of [`greedy`].
#[derive(Clone, Debug)]
pub struct GreedyParams {
    /// Atoms wanted.
    pub k: usize,
    /// 2k steps with replacement instead of k.
    pub replacement: bool,
    /// How an atom is searched.
    pub search: Search,
    /// Starting points of each search.
    pub starts: usize,
    /// Mean-shift sweeps, or ascent iterations, of each search.
    pub sweeps: usize,
    /// Iterations of each joint descent.
    pub descent: usize,
    /// Iterations of the last joint descent.
    pub last_descent: usize,
    /// Runs with other starting points, of which the one with the lowest cost is kept.
    pub restarts: usize,
    /// Seed of the starting points.
    pub seed: u64,
}

impl GreedyParams {
    /// Mean-shift search with replacement, for k atoms.
    pub fn shift(k: usize, seed: u64) -> GreedyParams {
        GreedyParams {
            k,
            replacement: true,
            search: Search::Shift,
            starts: 30,
            sweeps: 40,
            descent: 60,
            last_descent: 1000,
            restarts: 1,
            seed,
        }
    }
}

/// Runs the greedy frame; `family` decides what the atoms are.
pub fn greedy(target: &Target, family: &Gaussian, params: &GreedyParams) -> Fit {
    pursue(target, family, params).0
}

/// The greedy frame with its report.
pub(super) fn pursue(target: &Target, family: &Gaussian, params: &GreedyParams) -> (Fit, DecodeInfo) {
    let mut pursuit = Pursuit::new(target, family);
    // Only atoms with a shape of their own start from the estimated variance.
    let variance = if family.n_params() > family.dim() { cluster_variance(target) } else { 0.0 };
    for restart in 0..params.restarts.max(1) {
        let mut stream = Stream::new(params.seed, Purpose::Decode, restart as u64);
        if let Some(fit) = run(&mut pursuit, params, variance, &mut stream) {
            pursuit.offer(fit, params.last_descent);
        }
    }
    pursuit.finish()
}

/// One run, without the last descent.
fn run(pursuit: &mut Pursuit<'_>, params: &GreedyParams, variance: f64, stream: &mut Stream) -> Option<Fit> {
    let mut fit = pursuit.empty();
    let (mut re, mut im) = (pursuit.target.re.clone(), pursuit.target.im.clone());
    let mut best: Option<(f64, Fit)> = None;
    let steps = if params.replacement { 2 * params.k } else { params.k };
    for step in 0..steps {
        pursuit.iterations += 1;
        // Steps 1 and 2.
        let atom = search(pursuit, (&re, &im), &fit, variance, params, stream);
        fit.atoms.extend(atom);
        fit.weights.push(0.0);
        // Step 3.
        pursuit.threshold(&mut fit, params.k);
        // Step 4.
        pursuit.project(&mut fit);
        // Step 5.
        let (cost, _) = pursuit.descend(&mut fit, params.descent);
        (re, im) = pursuit.residual(&fit);
        // Differs from [KBGP18]: a replacement may make the fit worse, so the best full fit is kept, not the last.
        if step + 1 >= params.k && best.as_ref().is_none_or(|(c, _)| cost < *c) {
            best = Some((cost, fit.clone()));
        }
    }
    best.map(|(_, fit)| fit)
}

/// Step 1: a new atom for a residual.
fn search(
    pursuit: &mut Pursuit<'_>,
    residual: (&[f64], &[f64]),
    fit: &Fit,
    variance: f64,
    params: &GreedyParams,
    stream: &mut Stream,
) -> Vec<f64> {
    let (target, family) = (pursuit.target, pursuit.family);
    match &params.search {
        Search::Shift => {
            let shared = fit.shared.len();
            let width = if shared > 0 { fit.shared.iter().sum::<f64>() / shared as f64 } else { variance };
            let correlation = Correlation::new(target, residual, width);
            let (location, evaluations) = correlation.search(params.starts, params.sweeps, stream);
            pursuit.evaluations += evaluations;
            family.init(&location, width)
        }
        Search::Ascent(start) => {
            let mut best: Option<(f64, Vec<f64>)> = None;
            for _ in 0..params.starts.max(1) {
                let location = start.draw(target, &fit.atoms, family.n_params(), stream);
                let mut atom = family.init(&location, (0.5 + stream.uniform()) * variance);
                let value = pursuit.climb(residual, &fit.shared, &mut atom, params.sweeps);
                if best.as_ref().is_none_or(|(v, _)| value > *v) {
                    best = Some((value, atom));
                }
            }
            best.map(|(_, atom)| atom).unwrap_or_default()
        }
    }
}
