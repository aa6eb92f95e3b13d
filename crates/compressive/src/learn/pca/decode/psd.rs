//! Positive semidefinite least squares, \[GBKT17\] eq. (36):
//!
//! $$ \hat\Sigma = \arg\min_{\Sigma \succeq 0} \sum_j \bigl(s_j - \langle x_j x_j^\top, \Sigma \rangle\bigr)^2, $$
//!
//! whose k largest eigenvalues are returned (eq. 34). The constraint alone makes the solution nearly of low
//! rank when the rows are (\[KKRT16\]). It assumes nothing else, so that with $m \ge d(d+1)/2$ directions the
//! covariance is found exactly.
//!
//! Cost: 4 m d^2 + 9 d^3 a step, some hundred steps: for up to a few hundred columns.

use crate::learn::pca::decode::proximal::{Descent, Limits};
use crate::learn::pca::decode::{Measurements, Spectrum};

/// Parameters of [`psd`](psd()).
#[derive(Clone, Debug)]
pub struct PsdParams {
    /// Number k of components.
    pub k: usize,
    /// Limit of steps. Default 1000.
    pub iterations_max: usize,
    /// Stop when a step changes the matrix by less than this part of its norm. Default 1e-6.
    pub tolerance: f64,
}

impl PsdParams {
    /// The defaults for k components.
    pub fn new(k: usize) -> PsdParams {
        PsdParams { k, iterations_max: 1000, tolerance: 1e-6 }
    }
}

/// Decodes by positive semidefinite least squares.
pub fn psd(data: &Measurements, params: &PsdParams) -> Spectrum {
    let mut descent = Descent::new(data);
    descent.run(0.0, Limits { iterations_max: params.iterations_max, tolerance: params.tolerance });
    descent.spectrum(params.k.clamp(1, data.dim), 0.0)
}
