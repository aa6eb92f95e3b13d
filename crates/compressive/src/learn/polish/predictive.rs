//! From the best fit to the best prediction: components as wide as their uncertainty.
//!
//! A fit to a noisy sketch knows its parameters only up to errors whose covariance is
//! $V = (J^\top C^{-1} J + P)^{-1}$, with J the Jacobian of the sketch in weights, locations and variances, C
//! the covariance of its entries and P a weak prior: weights within 1, locations within the data box,
//! variances within the largest allowed. A new row of a component with location $\hat c \pm s_c$ and variance
//! $\hat v \pm s_v$ is to be expected within
//!
//! $$ v = \max(\hat v, s_v) + s_c^2, $$
//!
//! the first-order predictive variance (the maximum because a variance below its own error is not known to be
//! smaller). Without it a component whose variance came out near zero by chance gives rows of its own an
//! arbitrarily small likelihood. For a sketch of many rows without added noise the errors are small and
//! nothing changes.
//!
//! Cost: one normal matrix, as a step of the polish, and $p^3/3$ for p variables.

use super::{PolishInfo, PolishParams, groups, weighted};
use crate::density::atom::{AtomFamily, Gaussian, Shape};
use crate::density::fit::Fit;
use crate::density::target::Target;
use crate::num::solve::{LeastSquares, cholesky};

/// Part of its standard error that a weight is raised to.
const WEIGHT_FLOOR: f64 = 0.5;

/// The fit with predictive variances; the fit itself for families whose atoms have no variances of their own,
/// or where the errors are unknown.
pub(crate) fn predictive(target: &Target, family: &Gaussian, fit: &Fit, params: &PolishParams) -> Fit {
    if !matches!(family.covariance(), Shape::Width | Shape::Diagonal) {
        return fit.clone();
    }
    let Some(errors) = standard_errors(target, family, fit, params) else { return fit.clone() };
    let (d, p) = (family.dim(), family.n_params());
    let mut wide = fit.clone();
    let largest = family.variance_range().1;
    for (l, errors) in errors.chunks_exact(1 + p).enumerate() {
        wide.weights[l] = fit.weights[l].max(WEIGHT_FLOOR * errors[0]);
        let (location, shape) = errors[1..].split_at(d);
        for (at, error) in shape.iter().enumerate() {
            let moved = match shape.len() {
                1 => location.iter().map(|s| s * s).sum::<f64>() / d as f64,
                _ => location[at] * location[at],
            };
            let variance = &mut wide.atoms[l * p + d + at];
            *variance = (variance.max(*error) + moved).min(largest);
        }
    }
    wide.weights = wide.normalised_weights();
    wide
}

/// Standard errors of weight, location and variances of each atom.
fn standard_errors(target: &Target, family: &Gaussian, fit: &Fit, params: &PolishParams) -> Option<Vec<f64>> {
    let groups = groups(target, params.entries_max);
    let mut problem = weighted(target, family, &groups, fit, params, &mut PolishInfo::new(params))?;
    let x = problem.variables.pack(fit);
    let n = x.len();
    let (mut precision, mut gradient) = (vec![0.0; n * n], vec![0.0; n]);
    if !problem.normal(&x, &mut precision, &mut gradient).is_finite() {
        return None;
    }
    let (d, p) = (family.dim(), family.n_params());
    let largest = family.variance_range().1;
    // The problem's variables are logarithms of variances: a column in the variance itself is that column
    // over the variance.
    let (mut unit, mut prior) = (vec![1.0; n], vec![1.0; n]);
    for (l, atom) in fit.atoms.chunks_exact(p).enumerate() {
        let first = l * (1 + p) + 1;
        for c in 0..d {
            prior[first + c] = 4.0 / (target.high[c] - target.low[c]).powi(2).max(f64::MIN_POSITIVE);
        }
        for (at, variance) in atom[d..].iter().enumerate() {
            unit[first + d + at] = 1.0 / variance;
            prior[first + d + at] = 1.0 / (largest * largest);
        }
    }
    for i in 0..n {
        for j in 0..n {
            precision[i * n + j] *= unit[i] * unit[j];
        }
        precision[i * n + i] += prior[i];
    }
    if !cholesky::factor(&mut precision, n, 0.0) {
        return None;
    }
    let error = |i: usize| {
        let mut column = vec![0.0; n];
        column[i] = 1.0;
        cholesky::solve(&precision, n, &mut column);
        column[i].sqrt()
    };
    let errors: Vec<f64> = (0..n).map(error).collect();
    errors.iter().all(|e| e.is_finite()).then_some(errors)
}

#[cfg(test)]
mod tests {
    use super::super::polish;
    use super::super::tests::{DIM, exact};
    use super::*;
    use crate::num::random::{Purpose, Stream};

    /// The exact sketch with independent noise of the given standard deviation added to each entry.
    fn noisy(target: &Target, deviation: f64, stream: &mut Stream) -> Target {
        let mut noisy = target.clone();
        noisy.re.iter_mut().chain(&mut noisy.im).for_each(|v| *v += deviation * stream.normal());
        noisy.added = deviation * deviation;
        noisy.noise = target.noise + noisy.added;
        noisy
    }

    // Scatter over 60 refits has a relative standard error of 9%; the bound is 40%, so each of 15 comparisons
    // fails about once in 1e5 seeds.
    #[test]
    fn errors_are_the_scatter_of_refits() {
        let (target, family, fit) = exact(Shape::Diagonal, 150, true);
        let (params, deviation) = (PolishParams::default(), 0.01);
        let mut stream = Stream::new(3, Purpose::PilotMixture, 1);
        // The rows of a refit are always the same, so that only the added noise scatters.
        let many = Target { rows: 1e9, noise: target.noise * target.rows / 1e9, ..target };
        let n = fit.k() * (1 + family.n_params());
        let mut squares = vec![0.0; n];
        const REFITS: usize = 60;
        for _ in 0..REFITS {
            let (found, _) = polish(&noisy(&many, deviation, &mut stream), &family, &fit, &params).unwrap();
            for l in 0..fit.k() {
                let values =
                    |fit: &Fit| [&[fit.weights[l]], &fit.atoms[l * 2 * DIM..(l + 1) * 2 * DIM]].concat();
                let pairs = values(&found).into_iter().zip(values(&fit));
                for (at, (a, b)) in pairs.enumerate() {
                    squares[l * (1 + 2 * DIM) + at] += (a - b).powi(2) / REFITS as f64;
                }
            }
        }
        let noisy =
            Target { added: deviation * deviation, noise: many.noise + deviation * deviation, ..many };
        let errors = standard_errors(&noisy, &family, &fit, &params).unwrap();
        for (at, (error, square)) in errors.iter().zip(&squares).enumerate() {
            let ratio = error / square.sqrt();
            assert!(
                (0.6..1.4).contains(&ratio),
                "variable {at}: error {error} against a scatter of {}",
                square.sqrt()
            );
        }
    }

    #[test]
    fn a_variance_below_its_error_is_raised_to_it() {
        let (target, family, mut fit) = exact(Shape::Diagonal, 150, true);
        let target = Target { added: 1e-4, noise: target.noise + 1e-4, ..target };
        fit.atoms[DIM] = 1e-6;
        let params = PolishParams::default();
        let errors = standard_errors(&target, &family, &fit, &params).unwrap();
        let wide = predictive(&target, &family, &fit, &params);
        let (location, variance) = (errors[1], errors[1 + DIM]);
        assert!(variance > 1e-3, "the error of a variance is {variance}");
        assert!((wide.atoms[DIM] - (variance + location * location)).abs() < 1e-12, "{}", wide.atoms[DIM]);
        assert!((wide.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_sketch_of_many_rows_without_noise_changes_nothing_that_matters() {
        let (target, family, fit) = exact(Shape::Diagonal, 150, true);
        let target = Target { rows: 1e8, noise: target.noise * target.rows / 1e8, ..target };
        let wide = predictive(&target, &family, &fit, &PolishParams::default());
        for (a, b) in wide.atoms.iter().zip(&fit.atoms) {
            assert!((a - b).abs() <= 1e-5 * (1.0 + b.abs()), "{a} for {b}");
        }
    }
}
