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

use compressive_kernels::exponentials;

use crate::density::atom::{AtomFamily, Gaussian, Shape};
use crate::density::fit::Fit;
use crate::density::target::Target;
use crate::num::linear::{dot, multiply_transposed};

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
    let parts = if target.complex { 1.0 } else { 0.5 };
    let parameters = (fit.k() * (1 + p) + fit.shared.len()) as f64;
    let free = (1.0 - parameters / target.entries() as f64).max(0.1);
    let added = 2.0 * parts * excess(target);
    // The rounding of the features alone leaves 2^-50 / 12 an entry.
    let expected = |left: f64| (free * (parts * left + added) / target.rows).max(2e-16 * parts);
    let mut all = Vec::with_capacity(target.size());
    for omegas in family.frequencies().chunks(CHUNK * d) {
        let (squares, absorbed) = squares(family, &sigmas, omegas);
        let mut decays: Vec<f64> = squares.iter().map(|s2| -s2).collect();
        exponentials(&mut decays);
        let mut left = vec![0.0; omegas.len() / d];
        let entries = decays.chunks_exact(left.len()).zip(squares.chunks_exact(left.len()));
        for ((alpha, (decays, squares)), absorbed) in
            weights.iter().zip(entries).zip(absorbed.chunks_exact(left.len()))
        {
            for (((left, decay), s2), q) in left.iter_mut().zip(decays).zip(squares).zip(absorbed) {
                *left += alpha * (1.0 - decay * (1.0 + s2 + 0.5 * q)).max(0.0);
            }
        }
        all.extend(left.into_iter().map(expected));
    }
    all
}

/// Frequencies for which the squares of all atoms are held.
const CHUNK: usize = 256;

/// $s^2$ and q of every atom at some frequencies, k rows.
fn squares(family: &Gaussian, sigmas: &[Vec<f64>], omegas: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let d = family.dim();
    let n = omegas.len() / d;
    let square = |v: &[f64]| v.iter().map(|x| x * x).collect::<Vec<f64>>();
    let variances: Vec<f64> = sigmas.iter().flat_map(|sigma| (0..d).map(|c| sigma[c * d + c])).collect();
    let mut squares = vec![0.0; sigmas.len() * n];
    if matches!(family.covariance(), Shape::Full | Shape::Known(_)) {
        for (sigma, squares) in sigmas.iter().zip(squares.chunks_exact_mut(n)) {
            for (s2, omega) in squares.iter_mut().zip(omegas.chunks_exact(d)) {
                *s2 = (0..d).map(|i| omega[i] * dot(&sigma[i * d..(i + 1) * d], omega)).sum();
            }
        }
    } else {
        multiply_transposed(&variances, &square(omegas), d, &mut squares);
    }
    let absorbed = match family.covariance() {
        Shape::Full => square(&squares),
        Shape::Diagonal => {
            let mut fourth = vec![0.0; squares.len()];
            multiply_transposed(&square(&variances), &square(&square(omegas)), d, &mut fourth);
            fourth
        }
        Shape::Width => squares.iter().map(|s2| s2 * s2 / d as f64).collect(),
        _ => vec![0.0; squares.len()],
    };
    (squares, absorbed)
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
