//! `cl-omp` and `cl-ompr`: compressive learning by orthogonal matching pursuit, without and with replacement.
//!
//! The loop is that of [`greedy`](super::greedy), k steps for `cl-omp` and 2k for `cl-ompr`; step 1 maximises
//! $\mathrm{Re}\langle a(\theta)/\lVert a(\theta)\rVert, r\rangle$ by bounded quasi-Newton ascent over **all** parameters $\theta$ of an atom. With point atoms it is
//! compressive k-means (\[KTTG17\] algorithm 1), with diagonal Gaussians the mixture decoder (\[KBGP18\] algorithm 1).
//!
//! Cost: $O(m d k T)$ for T steps, that is quadratic in k; nearly all of it in the joint descents of step 5.
//!
//! It is a local search: a single start for each atom (the published setting) often ends in a bad optimum, therefore `inits` and `restarts`.
//! References: \[KBGP18\] section 2.4, \[KTTG17\] section 3.

use crate::density::atom::Gaussian;
use crate::density::fit::Fit;
use crate::density::target::Target;
use crate::learn::propose::greedy::{GreedyParams, Search, Start, pursue};
use crate::model::DecodeInfo;

/// Parameters of [`cl_ompr`].
#[derive(Clone, Debug)]
pub struct ClomprParams {
    /// Atoms wanted.
    pub k: usize,
    /// 2k steps with replacement (`cl-ompr`) instead of k (`cl-omp`). Default true.
    pub replacement: bool,
    /// Where the searches of step 1 start. Default [`Start::Range`].
    pub start: Start,
    /// Starts for each atom, of which the best is kept. At least 1; default 10, the papers use 1.
    pub inits: usize,
    /// Iterations of each search at most. Default 100.
    pub search: usize,
    /// Iterations of each joint descent at most (step 5). Default 60.
    pub descent: usize,
    /// Iterations of the last joint descent at most. Default 1000.
    pub last_descent: usize,
    /// Runs, of which the one with the lowest cost is kept. At least 1; default 1.
    pub restarts: usize,
    /// Seed of the starts.
    pub seed: u64,
}

impl ClomprParams {
    /// `cl-ompr` for k atoms with the defaults.
    pub fn new(k: usize, seed: u64) -> ClomprParams {
        ClomprParams {
            k,
            replacement: true,
            start: Start::Range,
            inits: 10,
            search: 100,
            descent: 60,
            last_descent: 1000,
            restarts: 1,
            seed,
        }
    }
}

/// `cl-ompr`, or `cl-omp` without replacement; steps, cost and references: see the module.
///
/// Atoms with a variance of their own start at U\[0.5, 1.5\] times the mean cluster variance read off the sketch (\[KBGP18\] section 5.3).
pub fn cl_ompr(target: &Target, family: &Gaussian, params: &ClomprParams) -> (Fit, DecodeInfo) {
    let greedy = GreedyParams {
        k: params.k,
        replacement: params.replacement,
        search: Search::Ascent(params.start.clone()),
        starts: params.inits,
        sweeps: params.search,
        descent: params.descent,
        last_descent: params.last_descent,
        restarts: params.restarts,
        seed: params.seed,
    };
    pursue(target, family, &greedy)
}

/// `cl-omp`: k steps without replacement, whatever the parameters say.
pub fn cl_omp(target: &Target, family: &Gaussian, params: &ClomprParams) -> (Fit, DecodeInfo) {
    cl_ompr(target, family, &ClomprParams { replacement: false, ..params.clone() })
}
