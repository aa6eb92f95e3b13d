//! The search of `auto`: greedy pursuit that adds several atoms at a time, prunes by what each is worth, and
//! stops when it is done.
//!
//! A round, until the residual is down to what a right model leaves or [`PATIENCE`] rounds in a row gained
//! nothing:
//!
//! 1. mean-shift search ([`shift`](super::shift)) of the residual's correlation; the highest distinct maxima
//!    become atoms: half of those missing to k and a fifth more. For many atoms the first maxima are mostly
//!    ripple, and it is the joint descent that brings them to clusters, whether they come one by one or
//!    together;
//! 2. weights, not negative, and joint descent;
//! 3. if there are more than k atoms, they are pruned one at a time, each time the one that the others
//!    replace best, and the rest descends again. Unlike the rule "keep the largest weights" of \[KBGP18\]
//!    this finds the second of two atoms in one cluster.
//!
//! The best set of k atoms goes on, not the last. Cost: about $\log_2 k$ rounds to reach k atoms and usually
//! a few more, each `starts` times `sweeps` evaluations of one atom and one or two descents of O(k m d) an
//! evaluation.

use crate::density::atom::Gaussian;
use crate::density::fit::Fit;
use crate::density::target::Target;
use crate::learn::misfit::misfit;
use crate::learn::propose::greedy::GreedyParams;
use crate::learn::propose::pursuit::Pursuit;
use crate::learn::propose::shift::Correlation;
use crate::model::{DecodeInfo, Explained};
use crate::num::budget;
use crate::num::random::{Purpose, Stream};

/// Rounds without gain after which it ends.
const PATIENCE: usize = 3;
/// A round has gained if it lowered the cost by this part.
const GAIN: f64 = 1e-2;

/// Searches k atoms of a family without shapes of their own, once; each round has at least `starts` starting
/// points.
pub(super) fn search(target: &Target, family: &Gaussian, params: &GreedyParams) -> (Fit, DecodeInfo) {
    let mut pursuit = Pursuit::new(target, family);
    let mut stream = Stream::new(params.seed, Purpose::Decode, 0);
    let mut fit = pursuit.empty();
    let mut best: Option<(f64, Fit)> = None;
    let mut misses = 0;
    for _ in 0..2 * params.k + 10 {
        pursuit.iterations += 1;
        let spare = params.k.div_ceil(5);
        let missing = params.k - fit.k();
        add(&mut pursuit, &mut fit, missing.div_ceil(2) + spare, params, &mut stream);
        pursuit.project(&mut fit);
        let (mut cost, _) = pursuit.descend(&mut fit, params.descent);
        if fit.k() > params.k {
            pursuit.problem.prune(&mut fit, params.k);
            cost = pursuit.descend(&mut fit, params.descent).0;
        }
        if fit.k() < params.k {
            continue;
        }
        let lowest = best.as_ref().map_or(f64::INFINITY, |(c, _)| *c);
        misses = if cost < (1.0 - GAIN) * lowest { 0 } else { misses + 1 };
        if cost < lowest {
            best = Some((cost, fit.clone()));
        } else if let Some((_, kept)) = &best {
            fit = kept.clone();
        }
        let explained = misfit(target, family, &fit, cost).explained() != Explained::No;
        if explained || misses >= PATIENCE || budget::spent() {
            break;
        }
    }
    if let Some((_, fit)) = best {
        pursuit.offer(fit, params.last_descent);
    }
    pursuit.finish()
}

/// Adds up to `wanted` atoms where the residual correlates most.
fn add(pursuit: &mut Pursuit<'_>, fit: &mut Fit, wanted: usize, params: &GreedyParams, stream: &mut Stream) {
    let (re, im) = pursuit.residual(fit);
    let width = fit.shared.iter().sum::<f64>() / fit.shared.len().max(1) as f64;
    let correlation = Correlation::new(pursuit.target, (&re, &im), width);
    let starts = params.starts.max(2 * wanted);
    let (locations, evaluations) = correlation.maxima(starts, params.sweeps, wanted, stream);
    pursuit.evaluations += evaluations;
    for location in locations {
        fit.atoms.extend(location);
        fit.weights.push(0.0);
    }
}
