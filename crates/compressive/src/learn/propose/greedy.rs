//! Greedy matching pursuit with replacement, the frame of [`cl_ompr`](super::clompr::cl_ompr) and `shift`.
//!
//! Steps, numbered as in \[KBGP18\] algorithm 1 (and \[KTTG17\] algorithm 1), repeated k times, or 2k times
//! with replacement:
//!
//! 1. find an atom whose normalised sketch correlates most with the residual (several starts, the best is
//!    kept);
//! 2. add it;
//! 3. if there are more than k atoms, keep the k with the largest weights in a non-negative fit of normalised
//!    atoms;
//! 4. fit the weights, not negative;
//! 5. descend jointly over atoms and weights, inside the box; update the residual.
//!
//! Cost: for each step, `starts` times `sweeps` evaluations of one atom (m d each), and a descent of k m d an
//! evaluation.

use crate::density::atom::{AtomFamily, Gaussian};
use crate::density::fit::Fit;
use crate::density::target::Target;
use crate::learn::propose::Wanted;
use crate::learn::propose::pursuit::{Pursuit, cluster_variance, uniform_point};
use crate::learn::propose::shift::Correlation;
use crate::model::DecodeInfo;
use crate::num::linear::dot;
use crate::num::random::{Purpose, Stream, roulette};
use crate::sketch::spec::Transform;

/// Where a search starts. Points are rows of d coordinates, working ones for the decoders themselves; without
/// any, `Sample` and `PlusPlus` start as `Range` does.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Start {
    /// Uniform in the data box, the only choice that needs nothing but the sketch (\[KTTG17\]).
    #[default]
    Range,
    /// In the middle of the box (\[KBGP18\] section 5.3, for centred data).
    Centre,
    /// A row of the data, drawn uniformly (\[KTTG17\]).
    Sample(Vec<f64>),
    /// A row of the data, drawn with probability proportional to its squared distance to the nearest atom.
    // Differs from [KTTG17]: its text says "inversely proportional", the reverse of the k-means++ it is named
    // after.
    PlusPlus(Vec<f64>),
}

impl Start {
    /// The same with rows in working coordinates, from rows in the user's units.
    pub(crate) fn in_working(&self, transform: &Transform) -> Start {
        let dim = transform.centre.len();
        let working = |rows: &[f64]| rows.chunks_exact(dim).flat_map(|row| transform.apply(row)).collect();
        match self {
            Start::Sample(rows) => Start::Sample(working(rows)),
            Start::PlusPlus(rows) => Start::PlusPlus(working(rows)),
            start => start.clone(),
        }
    }

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
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Climb {
    /// Gradient ascent with a bounded quasi-Newton method over all parameters of an atom.
    Ascent,
    /// Mean shift of the location, see [`shift`](super::shift).
    Shift,
}

/// Parameters of the decoders that add atoms where the residual is largest: `cl-omp`, `cl-ompr`, `iht`,
/// `shift`, `split` and the search of `auto`. Their modules have a function `defaults` where theirs differ
/// from [`new`](GreedyParams::new).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GreedyParams {
    /// Atoms wanted.
    pub k: usize,
    /// Where searches by ascent start.
    pub start: Start,
    /// Starts of the search for each atom, of which the best is kept. At least 1.
    pub starts: usize,
    /// Iterations of an ascent, or mean-shift sweeps, at most.
    pub sweeps: usize,
    /// Iterations of each joint descent at most (step 5).
    pub descent: usize,
    /// Iterations of the last joint descent at most.
    pub last_descent: usize,
    /// Runs, of which the one with the lowest cost is kept. At least 1.
    pub restarts: usize,
    /// Seed of the starts.
    pub seed: u64,
}

impl GreedyParams {
    /// Those of `cl-omp` and `cl-ompr` for k atoms: 10 starts (the papers use 1) of 100 iterations, descents
    /// of 60 and 1000, one run.
    pub fn new(k: usize, seed: u64) -> GreedyParams {
        GreedyParams {
            k,
            start: Start::Range,
            starts: 10,
            sweeps: 100,
            descent: 60,
            last_descent: 1000,
            restarts: 1,
            seed,
        }
    }

    /// Those of a decoder for what is wanted of it.
    pub(super) fn wanted(self, wanted: &Wanted<'_>) -> GreedyParams {
        let restarts = wanted.restarts.unwrap_or(self.restarts);
        let starts = wanted.starts.unwrap_or(self.starts);
        GreedyParams { start: wanted.start.clone(), restarts, starts, ..self }
    }
}

/// The greedy frame with `steps` steps of k atoms; `family` decides what the atoms are.
pub(super) fn pursue(
    target: &Target,
    family: &Gaussian,
    params: &GreedyParams,
    (steps, climb): (usize, Climb),
) -> (Fit, DecodeInfo) {
    let mut pursuit = Pursuit::new(target, family);
    // Only atoms with a shape of their own start from the estimated variance.
    let variance = if family.n_params() > family.dim() { cluster_variance(target) } else { 0.0 };
    for restart in 0..params.restarts.max(1) {
        let mut stream = Stream::new(params.seed, Purpose::Decode, restart as u64);
        if let Some(fit) = run(&mut pursuit, params, (steps, climb), variance, &mut stream) {
            pursuit.offer(fit, params.last_descent);
        }
    }
    pursuit.finish()
}

/// One run, without the last descent.
fn run(
    pursuit: &mut Pursuit<'_>,
    params: &GreedyParams,
    (steps, climb): (usize, Climb),
    variance: f64,
    stream: &mut Stream,
) -> Option<Fit> {
    let mut fit = pursuit.empty();
    let (mut re, mut im) = (pursuit.target.re.clone(), pursuit.target.im.clone());
    let mut best: Option<(f64, Fit)> = None;
    for step in 0..steps {
        pursuit.iterations += 1;
        // Steps 1 and 2.
        let atom = search(pursuit, (&re, &im), &fit, (climb, variance), params, stream);
        fit.atoms.extend(atom);
        fit.weights.push(0.0);
        // Step 3.
        pursuit.threshold(&mut fit, params.k);
        // Step 4.
        pursuit.project(&mut fit);
        // Step 5.
        let (cost, _) = pursuit.descend(&mut fit, params.descent);
        (re, im) = pursuit.residual(&fit);
        // Differs from [KBGP18]: a replacement may make the fit worse, so the best full fit is kept, not the
        // last.
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
    (climb, variance): (Climb, f64),
    params: &GreedyParams,
    stream: &mut Stream,
) -> Vec<f64> {
    let (target, family) = (pursuit.target, pursuit.family);
    match climb {
        Climb::Shift => {
            let shared = fit.shared.len();
            let width = if shared > 0 { fit.shared.iter().sum::<f64>() / shared as f64 } else { variance };
            let correlation = Correlation::new(target, residual, width);
            let (location, evaluations) = correlation.search(params.starts, params.sweeps, stream);
            pursuit.evaluations += evaluations;
            family.init(&location, width)
        }
        Climb::Ascent => {
            let mut best: Option<(f64, Vec<f64>)> = None;
            for _ in 0..params.starts.max(1) {
                let location = params.start.draw(target, &fit.atoms, family.n_params(), stream);
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
