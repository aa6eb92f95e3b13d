//! What a right fit leaves unexplained.
//!
//! The sampling noise of a sketch is not spread evenly: most of it looks like slightly other weights, means
//! and variances, and a fit absorbs that part. What is left of one row of component l at frequency $\omega$
//! with $s^2 = \omega^\top\Sigma_l\,\omega$ follows from the Hermite series of $e^{i\omega^\top x}$, whose
//! term of order n has power $e^{-s^2} s^{2n}/n!$: order 0 is absorbed by the weight, order 1 by the mean,
//! and of order 2 the squares of single coordinates by variances of their own. So for a right model the
//! objective is near
//!
//! $$ \Bigl(1 - \frac pN\Bigr)\,\frac1n \sum_j w_j^2 \Bigl( h + \sum_l \alpha_l\,\bigl(1 - e^{-s^2}(1 + s^2 + \tfrac12 q)\bigr) \Bigr) $$
//!
//! with N entries, p parameters, h the power of a quantised feature's other harmonics and of added noise, and
//! q the part of $s^4$ that the shapes absorb: $\sum_c \omega_c^4\sigma_c^4$ for variances of their own,
//! $s^4$ for full covariances, 0 for shared ones. Cost: O(k m d). The estimate takes components as well
//! apart; overlapping ones leave less.

use crate::density::atom::{AtomFamily, Gaussian, Shape};
use crate::density::fit::Fit;
use crate::density::target::Target;

/// The objective that a right fit is expected to have.
pub(crate) fn expected_cost(target: &Target, family: &Gaussian, fit: &Fit) -> f64 {
    if let Some(metric) = &target.metric {
        return super::kernel_noise::expected_cost(target, metric, family, fit);
    }
    let squares = target.weights.iter().map(|w| w * w);
    squares.zip(expected_squares(target, family, fit)).map(|(w, square)| w * square).sum()
}

/// The squared residual $|z_j - \hat z_j|^2$ that a right fit is expected to leave at each frequency.
pub(crate) fn expected_squares(target: &Target, family: &Gaussian, fit: &Fit) -> Vec<f64> {
    let (d, p) = (target.dim(), family.n_params());
    let weights = fit.normalised_weights();
    let sigmas: Vec<Vec<f64>> =
        fit.atoms.chunks_exact(p).map(|atom| family.covariance_of(atom, &fit.shared)).collect();
    let diagonal = !matches!(family.covariance(), Shape::Full | Shape::Known(_));
    let parts = if target.complex { 1.0 } else { 0.5 };
    let parameters = (fit.k() * (1 + p) + fit.shared.len()) as f64;
    let free = (1.0 - parameters / target.entries() as f64).max(0.1);
    let added = 2.0 * parts * excess(target);
    let one = |omega: &[f64]| {
        let mut left = 0.0;
        for (alpha, sigma) in weights.iter().zip(&sigmas) {
            let variance = |c: usize| sigma[c * d + c] * omega[c] * omega[c];
            let s2 = if diagonal {
                (0..d).map(variance).sum::<f64>()
            } else {
                (0..d).map(|i| omega[i] * crate::num::linear::dot(&sigma[i * d..(i + 1) * d], omega)).sum()
            };
            let absorbed = match family.covariance() {
                Shape::Full => s2 * s2,
                Shape::Diagonal => (0..d).map(|c| variance(c).powi(2)).sum(),
                Shape::Width => s2 * s2 / d as f64,
                _ => 0.0,
            };
            left += alpha * (1.0 - (-s2).exp() * (1.0 + s2 + 0.5 * absorbed)).max(0.0);
        }
        // The rounding of the features alone leaves 2^-50 / 12 an entry.
        (free * (parts * left + added) / target.rows).max(2e-16 * parts)
    };
    family.frequencies().chunks_exact(d).map(one).collect()
}

/// Power of one row's entry beyond the 1/2 of a sine or cosine: other harmonics of the feature, and added
/// noise times the rows.
///
/// At landmarks the added noise alone, in units of a kernel value.
pub(crate) fn excess(target: &Target) -> f64 {
    if let Some(metric) = &target.metric {
        return metric.entry_noise() * target.rows;
    }
    let energy = target.re.iter().chain(&target.im).map(|v| v * v).sum::<f64>() / target.entries() as f64;
    (target.noise * target.rows + energy - 0.5).max(0.0)
}
