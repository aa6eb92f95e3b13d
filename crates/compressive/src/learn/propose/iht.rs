//! `iht`: iterative hard thresholding, the baseline that \[KBGP18\] compares with.
//!
//! Each iteration:
//!
//! 1. climb from k random starts to k atoms that correlate with the residual;
//! 2. add all of them (the first iteration thereby fills the support);
//! 3. keep the k with the largest weights in a non-negative fit of normalised atoms;
//! 4. fit the weights, not negative;
//! 5. descend jointly; update the residual.
//!
//! With variances to be estimated it often ends with several atoms on one wide Gaussian that covers all the data (\[KBGP18\] section 5.6); it is here
//! for comparison. Cost: `iterations` times (k searches of m d an evaluation, and a descent of k m d an evaluation).
//!
//! Reference: A. Bourrier, R. Gribonval, P. Perez, Compressive Gaussian mixture estimation, *ICASSP* 2013, for isotropic Gaussians of known variance,
//! as adapted in \[KBGP18\] section 5.3; the steps 3 to 5 are those of algorithm 1 there.

use crate::density::atom::{AtomFamily, Gaussian};
use crate::density::fit::Fit;
use crate::density::target::Target;
use crate::learn::propose::greedy::Start;
use crate::learn::propose::pursuit::{Pursuit, cluster_variance};
use crate::model::DecodeInfo;
use crate::num::random::{Purpose, Stream};

/// Parameters of [`iht`].
#[derive(Clone, Debug)]
pub struct IhtParams {
    /// Atoms wanted.
    pub k: usize,
    /// Iterations. Default 10, as published.
    pub iterations: usize,
    /// Where the searches start. Default [`Start::Range`].
    pub start: Start,
    /// Iterations of each search at most. Default 100.
    pub search: usize,
    /// Iterations of each joint descent at most. Default 60.
    pub descent: usize,
    /// Iterations of the last joint descent at most. Default 1000.
    pub last_descent: usize,
    /// Runs, of which the one with the lowest cost is kept. At least 1; default 1.
    pub restarts: usize,
    /// Seed of the starts.
    pub seed: u64,
}

impl IhtParams {
    /// The published setting for k atoms.
    pub fn new(k: usize, seed: u64) -> IhtParams {
        IhtParams {
            k,
            iterations: 10,
            start: Start::Range,
            search: 100,
            descent: 60,
            last_descent: 1000,
            restarts: 1,
            seed,
        }
    }
}

/// Decodes a sketch by iterative hard thresholding; steps, cost and reference: see the module.
pub fn iht(target: &Target, family: &Gaussian, params: &IhtParams) -> (Fit, DecodeInfo) {
    let mut pursuit = Pursuit::new(target, family);
    if params.k == 0 {
        return pursuit.finish();
    }
    let variance = cluster_variance(target);
    for restart in 0..params.restarts.max(1) {
        let mut stream = Stream::new(params.seed, Purpose::Decode, restart as u64);
        let mut fit = pursuit.empty();
        for _ in 0..params.iterations.max(1) {
            pursuit.iterations += 1;
            let (re, im) = pursuit.residual(&fit);
            // Steps 1 and 2. All searches see the same residual.
            let mut atoms = Vec::new();
            for _ in 0..params.k {
                let location = params.start.draw(target, &fit.atoms, family.n_params(), &mut stream);
                let mut atom = family.init(&location, (0.5 + stream.uniform()) * variance);
                pursuit.climb((&re, &im), &fit.shared, &mut atom, params.search);
                atoms.extend(atom);
            }
            fit.atoms.extend(atoms);
            fit.weights.resize(fit.k() + params.k, 0.0);
            // Steps 3, 4, 5.
            pursuit.threshold(&mut fit, params.k);
            pursuit.project(&mut fit);
            pursuit.descend(&mut fit, params.descent);
        }
        pursuit.offer(fit, params.last_descent);
    }
    pursuit.finish()
}
