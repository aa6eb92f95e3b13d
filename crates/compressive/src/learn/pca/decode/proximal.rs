//! Accelerated proximal gradient over positive semidefinite matrices: what `psd` and `nuclear` share.
//!
//! $$ \min_{\Sigma \succeq 0}\; \tfrac1{2m} \sum_j \bigl(s_j - \langle x_j x_j^\top, \Sigma \rangle\bigr)^2 + \lambda\,\mathrm{tr}\,\Sigma $$
//!
//! Each step goes down the gradient from an extrapolated point, then lowers all eigenvalues by $\lambda / L$
//! and drops the negative ones (\[BT09\]); the extrapolation starts anew when it points uphill (\[OC15\]). L
//! is the largest eigenvalue of the quadratic form, by power iteration.

use crate::learn::pca::decode::{Measurements, Spectrum};
use crate::model::{DecodeInfo, Stop};
use crate::num::linear::{dot, transposed_multiply};
use crate::num::solve::symmetric_eigen;

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Steps at most.
    pub iterations_max: usize,
    /// Relative change of $\Sigma$ in one step.
    pub tolerance: f64,
}

/// The descent's state, kept between rounds.
pub(super) struct Descent<'a> {
    data: &'a Measurements,
    lipschitz: f64,
    sigma: Vec<f64>,
    /// Steps so far.
    pub iterations: usize,
    stop: Stop,
}

impl<'a> Descent<'a> {
    /// From the isotropic matrix of the right trace.
    pub(super) fn new(data: &'a Measurements) -> Descent<'a> {
        let d = data.dim;
        let mut sigma = vec![0.0; d * d];
        (0..d).for_each(|i| sigma[i * d + i] = 1.0);
        Descent { data, lipschitz: lipschitz(data), sigma, iterations: 0, stop: Stop::IterationLimit }
    }

    /// Residuals of the equations at a matrix.
    fn residuals(&self, sigma: &[f64]) -> Vec<f64> {
        self.data.values.iter().zip(self.data.apply(sigma)).map(|(s, f)| s - f).collect()
    }

    /// Descends for one $\lambda$.
    pub(super) fn run(&mut self, lambda: f64, limits: Limits) {
        let (m, d) = (self.data.size() as f64, self.data.dim);
        let (mut point, mut momentum) = (self.sigma.clone(), 1.0f64);
        self.stop = Stop::IterationLimit;
        for _ in 0..limits.iterations_max {
            self.iterations += 1;
            let pull = self.data.adjoint(&self.residuals(&point));
            let step: Vec<f64> = point.iter().zip(&pull).map(|(p, g)| p + g / (m * self.lipschitz)).collect();
            let next = shrink(&step, d, lambda / self.lipschitz);
            let change: Vec<f64> = next.iter().zip(&self.sigma).map(|(a, b)| a - b).collect();
            let uphill: f64 = point.iter().zip(&next).zip(&change).map(|((p, n), c)| (p - n) * c).sum();
            let following = 0.5 * (1.0 + (1.0 + 4.0 * momentum * momentum).sqrt());
            let carry = if uphill > 0.0 { 0.0 } else { (momentum - 1.0) / following };
            momentum = if uphill > 0.0 { 1.0 } else { following };
            point = next.iter().zip(&change).map(|(n, c)| n + carry * c).collect();
            self.sigma = next;
            if dot(&change, &change) <= limits.tolerance.powi(2) * dot(&self.sigma, &self.sigma) {
                self.stop = Stop::Converged;
                return;
            }
        }
    }

    /// The k largest eigenvalues of what was found.
    pub(super) fn spectrum(&self, k: usize, lambda: f64) -> Spectrum {
        let d = self.data.dim;
        let (values, vectors) = symmetric_eigen(&self.sigma, d);
        let residuals = self.residuals(&self.sigma);
        let square = dot(&residuals, &residuals) / self.data.size() as f64;
        let total: f64 = values.iter().map(|v| v.max(0.0)).sum();
        let info = DecodeInfo {
            iterations: self.iterations,
            evaluations: self.iterations,
            cost: 0.5 * square + lambda * total,
            stop: self.stop,
        };
        self.data.finish(Spectrum {
            values: values.iter().take(k).map(|v| v.max(0.0)).collect(),
            vectors: vectors.chunks_exact(d).take(k).map(<[f64]>::to_vec).collect(),
            total,
            residual: square.sqrt(),
            info,
        })
    }
}

/// Lowers the eigenvalues by `shift` and drops the negative ones.
fn shrink(matrix: &[f64], d: usize, shift: f64) -> Vec<f64> {
    let (values, vectors) = symmetric_eigen(matrix, d);
    let kept = values.iter().take_while(|v| **v > shift).count();
    let mut scaled = vectors[..kept * d].to_vec();
    for (row, value) in scaled.chunks_exact_mut(d).zip(&values) {
        let root = (value - shift).sqrt();
        row.iter_mut().for_each(|x| *x *= root);
    }
    let mut out = vec![0.0; d * d];
    if kept > 0 {
        transposed_multiply(&scaled, &scaled, d, &mut out);
    }
    out
}

/// The largest eigenvalue of
/// $\Sigma \mapsto \tfrac1m \sum_j \langle x_j x_j^\top, \Sigma\rangle x_j x_j^\top$, a little enlarged.
fn lipschitz(data: &Measurements) -> f64 {
    let (m, d) = (data.size() as f64, data.dim);
    let mut matrix = vec![0.0; d * d];
    // The eigenvector is near the identity, as every direction has unit length.
    (0..d).for_each(|i| matrix[i * d + i] = 1.0);
    let mut value = 0.0;
    for _ in 0..30 {
        let norm = dot(&matrix, &matrix).sqrt().max(1e-300);
        matrix.iter_mut().for_each(|x| *x /= norm);
        matrix = data.adjoint(&data.apply(&matrix));
        value = dot(&matrix, &matrix).sqrt() / m;
    }
    1.05 * value.max(1e-300)
}
