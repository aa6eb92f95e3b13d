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
//! With variances to be estimated it often ends with several atoms on one wide Gaussian that covers all the
//! data (\[KBGP18\] section 5.6); it is here for comparison. Cost: [`ITERATIONS`] times (k searches of m d an
//! evaluation, and a descent of k m d an evaluation).
//!
//! Reference: A. Bourrier, R. Gribonval, P. Perez, Compressive Gaussian mixture estimation, *ICASSP* 2013,
//! for isotropic Gaussians of known variance, as adapted in \[KBGP18\] section 5.3; the steps 3 to 5 are
//! those of algorithm 1 there.

use crate::density::atom::{AtomFamily, Gaussian, Shape};
use crate::density::fit::Fit;
use crate::density::target::Target;
use crate::learn::propose::Published;
use crate::learn::propose::greedy::GreedyParams;
use crate::learn::propose::pursuit::{Pursuit, cluster_variance};
use crate::model::DecodeInfo;
use crate::num::random::{Purpose, Stream};

pub(super) const IHT: Published = Published {
    centres: Shape::Dirac,
    starts_at_rows: true,
    needs_phases: false,
    run: |target, family, wanted| {
        iht(target, family, &GreedyParams::new(wanted.k, wanted.seed).wanted(wanted))
    },
};

/// Iterations, as published.
const ITERATIONS: usize = 10;

/// Decodes a sketch by iterative hard thresholding; steps, cost and reference: see the module. Each atom has
/// one start.
pub fn iht(target: &Target, family: &Gaussian, params: &GreedyParams) -> (Fit, DecodeInfo) {
    let mut pursuit = Pursuit::new(target, family);
    if params.k == 0 {
        return pursuit.finish();
    }
    let variance = cluster_variance(target);
    for restart in 0..params.restarts.max(1) {
        let mut stream = Stream::new(params.seed, Purpose::Decode, restart as u64);
        let mut fit = pursuit.empty();
        for _ in 0..ITERATIONS {
            pursuit.iterations += 1;
            let (re, im) = pursuit.residual(&fit);
            // Steps 1 and 2. All searches see the same residual.
            let mut atoms = Vec::new();
            for _ in 0..params.k {
                let location = params.start.draw(target, &fit.atoms, family.n_params(), &mut stream);
                let mut atom = family.init(&location, (0.5 + stream.uniform()) * variance);
                pursuit.climb((&re, &im), &fit.shared, &mut atom, params.sweeps);
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
