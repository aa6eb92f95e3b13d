//! `cl-omp` and `cl-ompr`: compressive learning by orthogonal matching pursuit, without and with replacement.
//!
//! The loop is that of [`greedy`](super::greedy), k steps for `cl-omp` and 2k for `cl-ompr`; step 1 maximises
//! $\mathrm{Re}\langle a(\theta)/\lVert a(\theta)\rVert, r\rangle$ by bounded quasi-Newton ascent over
//! **all** parameters $\theta$ of an atom. With point atoms it is compressive k-means (\[KTTG17\] algorithm
//! 1), with diagonal Gaussians the mixture decoder (\[KBGP18\] algorithm 1).
//!
//! Cost: $O(m d k T)$ for T steps, that is quadratic in k; nearly all of it in the joint descents of step 5.
//!
//! It is a local search: a single start for each atom (the published setting) often ends in a bad optimum,
//! therefore `starts` and `restarts`. References: \[KBGP18\] section 2.4, \[KTTG17\] section 3.

use crate::density::atom::{Gaussian, Shape};
use crate::density::fit::Fit;
use crate::density::target::Target;
use crate::learn::propose::Published;
use crate::learn::propose::greedy::{Climb, GreedyParams, pursue};
use crate::model::DecodeInfo;

pub(super) const CL_OMP: Published = Published {
    centres: Shape::Dirac,
    starts_at_rows: true,
    needs_phases: false,
    run: |target, family, wanted| {
        cl_omp(target, family, &GreedyParams::new(wanted.k, wanted.seed).wanted(wanted))
    },
};

pub(super) const CL_OMPR: Published = Published {
    run: |target, family, wanted| {
        cl_ompr(target, family, &GreedyParams::new(wanted.k, wanted.seed).wanted(wanted))
    },
    ..CL_OMP
};

/// `cl-ompr`, 2k steps with replacement; steps, cost and references: see the module.
///
/// Atoms with a variance of their own start at U\[0.5, 1.5\] times the mean cluster variance read off the
/// sketch (\[KBGP18\] section 5.3).
pub fn cl_ompr(target: &Target, family: &Gaussian, params: &GreedyParams) -> (Fit, DecodeInfo) {
    pursue(target, family, params, (2 * params.k, Climb::Ascent))
}

/// `cl-omp`, k steps without replacement.
pub fn cl_omp(target: &Target, family: &Gaussian, params: &GreedyParams) -> (Fit, DecodeInfo) {
    pursue(target, family, params, (params.k, Climb::Ascent))
}
