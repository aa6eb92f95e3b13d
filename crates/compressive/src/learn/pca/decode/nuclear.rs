//! Least squares with the nuclear norm, the convex stand-in for the rank (\[GBKT17\] section 3; \[FR13\]
//! section 4.6):
//!
//! $$ \hat\Sigma = \arg\min_{\Sigma \succeq 0}\; \tfrac1{2m} \sum_j \bigl(s_j - \langle x_j x_j^\top, \Sigma \rangle\bigr)^2 + \lambda\,\mathrm{tr}\,\Sigma; $$
//!
//! of a positive semidefinite matrix the nuclear norm is the trace.
//!
//! Steps: from $\lambda_0 = \tfrac14 \lVert \tfrac1m \sum_j s_j x_j x_j^\top \rVert$, divided by four a
//! round, each round starting where the last ended, down to $10^{-4} \lambda_0$ or to what noise of standard
//! deviation $\nu$ makes of the gradient, $2\nu / \sqrt{m d}$.
//!
//! Cost: 4 m d^2 + 9 d^3 a step, some hundred steps a round: for up to a few hundred columns.

use crate::learn::pca::decode::proximal::{Descent, Limits};
use crate::learn::pca::decode::{Measurements, Spectrum};
use crate::num::solve::symmetric_eigen;

/// Parameters of [`nuclear`](nuclear()).
#[derive(Clone, Debug)]
pub struct NuclearParams {
    /// Number k of components.
    pub k: usize,
    /// The last $\lambda$ relative to the first. Default 1e-4.
    pub reduction: f64,
    /// Limit of steps a round. Default 300.
    pub iterations_max: usize,
    /// Stop a round when a step changes the matrix by less than this part of its norm. Default 1e-6.
    pub tolerance: f64,
}

impl NuclearParams {
    /// The defaults for k components.
    pub fn new(k: usize) -> NuclearParams {
        NuclearParams { k, reduction: 1e-4, iterations_max: 300, tolerance: 1e-6 }
    }
}

/// Decodes by least squares with the nuclear norm.
pub fn nuclear(data: &Measurements, params: &NuclearParams) -> Spectrum {
    let (m, d) = (data.size() as f64, data.dim);
    let values: Vec<f64> = data.values.iter().map(|s| s / m).collect();
    let (eigenvalues, _) = symmetric_eigen(&data.adjoint(&values), d);
    let first = 0.25 * eigenvalues[0].max(1e-300);
    let noise = 2.0 * data.noise_level() / (m * d as f64).sqrt();
    let last = (params.reduction * first).max(noise).min(first);
    let limits = Limits { iterations_max: params.iterations_max, tolerance: params.tolerance };
    let mut descent = Descent::new(data);
    let mut lambda = first;
    loop {
        descent.run(lambda, limits);
        if lambda <= last {
            return descent.spectrum(params.k.clamp(1, d), lambda);
        }
        lambda = (0.25 * lambda).max(last);
    }
}
