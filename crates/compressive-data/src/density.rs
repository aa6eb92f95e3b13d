//! The density of a mixture, prepared for blocks of rows.

use std::f64::consts::PI;

use crate::block::{Block, LANES, Lanes};
use crate::error::Result;
use crate::linear::invert_lower;
use crate::mixture::{Mixture, Shape};

/// A mixture with its covariances factored:
/// $\ln \alpha_l N(x; \mu_l, \Sigma_l) = c_l - \tfrac12 \lVert W_l (x - \mu_l)\rVert^2$,
/// $W_l^\top W_l = \Sigma_l^{-1}$.
#[derive(Clone, Debug)]
pub(crate) struct Density<'a> {
    mixture: &'a Mixture,
    /// $c_l = \ln \alpha_l - \tfrac d2 \ln 2\pi - \tfrac12 \ln \lvert\Sigma_l\rvert$.
    constants: Vec<f64>,
    /// $W_l$: inverse standard deviations, or the inverse Cholesky factor.
    whiteners: Vec<f64>,
}

impl<'a> Density<'a> {
    /// Validates and factors. Cost: k d, or k d^3.
    pub(crate) fn new(mixture: &'a Mixture) -> Result<Density<'a>> {
        mixture.validate()?;
        let dim = mixture.dim;
        let (mut constants, mut whiteners) = (Vec::new(), Vec::new());
        for (component, weight) in mixture.weights.iter().enumerate() {
            let whitener = match mixture.shape {
                Shape::Diagonal => mixture.covariance(component).iter().map(|v| 1.0 / v.sqrt()).collect(),
                Shape::Full => invert_lower(&mixture.factor(component)?, dim),
            };
            let step = if mixture.shape == Shape::Full { dim + 1 } else { 1 };
            let log_root: f64 = whitener.iter().step_by(step).map(|w| w.ln()).sum();
            constants.push(weight.ln() - 0.5 * dim as f64 * (2.0 * PI).ln() + log_root);
            whiteners.extend(whitener);
        }
        Ok(Density { mixture, constants, whiteners })
    }

    /// $\ln \alpha_l N(x_i; \mu_l, \Sigma_l)$ for every component l (into `out`, k entries) and row i of the
    /// block. Cost: k d, or k d^2/2 per row.
    pub(crate) fn joint(&self, block: &Block, out: &mut [Lanes]) {
        let dim = self.mixture.dim;
        let len = self.mixture.shape.len(dim);
        let mut differences = vec![[0.0; LANES]; dim];
        for (component, target) in out.iter_mut().enumerate() {
            let whitener = &self.whiteners[component * len..(component + 1) * len];
            let mean = self.mixture.mean(component);
            let squared = match self.mixture.shape {
                Shape::Diagonal => diagonal_form(block, mean, whitener),
                Shape::Full => full_form(block, mean, whitener, &mut differences),
            };
            *target = squared.map(|value| self.constants[component] - 0.5 * value);
        }
    }

    /// $\ln p(x_i)$ for the rows of the block; `scratch` has k entries.
    pub(crate) fn log_density(&self, block: &Block, scratch: &mut [Lanes]) -> Lanes {
        self.joint(block, scratch);
        log_sum_exp(scratch)
    }
}

fn diagonal_form(block: &Block, mean: &[f64], whitener: &[f64]) -> Lanes {
    let mut sum = [0.0; LANES];
    for ((column, &center), &scale) in block.columns.iter().zip(mean).zip(whitener) {
        for (total, &value) in sum.iter_mut().zip(column) {
            let white = (value - center) * scale;
            *total += white * white;
        }
    }
    sum
}

fn full_form(block: &Block, mean: &[f64], whitener: &[f64], differences: &mut [Lanes]) -> Lanes {
    center(block, mean, differences);
    let mut sum = [0.0; LANES];
    for (i, row) in whitener.chunks_exact(mean.len()).enumerate() {
        let mut white = [0.0; LANES];
        for (difference, &entry) in differences.iter().zip(&row[..=i]) {
            for (total, &value) in white.iter_mut().zip(difference) {
                *total += entry * value;
            }
        }
        for (total, &value) in sum.iter_mut().zip(&white) {
            *total += value * value;
        }
    }
    sum
}

/// The block's rows minus a point.
pub(crate) fn center(block: &Block, point: &[f64], out: &mut [Lanes]) {
    for ((target, column), &coordinate) in out.iter_mut().zip(&block.columns).zip(point) {
        *target = column.map(|value| value - coordinate);
    }
}

/// $\ln \sum_l e^{t_l}$ in every lane, with the largest term taken out so that nothing overflows or vanishes;
/// the terms are overwritten by their shares $e^{t_l} / \sum_{l'} e^{t_{l'}}$.
pub(crate) fn log_sum_exp(terms: &mut [Lanes]) -> Lanes {
    let mut largest = [f64::NEG_INFINITY; LANES];
    for term in terms.iter() {
        for (most, &value) in largest.iter_mut().zip(term) {
            *most = if value > *most { value } else { *most };
        }
    }
    let mut sum = [0.0; LANES];
    for term in terms.iter_mut() {
        for lane in 0..LANES {
            term[lane] = (term[lane] - largest[lane]).exp();
            sum[lane] += term[lane];
        }
    }
    for term in terms {
        for lane in 0..LANES {
            term[lane] /= sum[lane];
        }
    }
    std::array::from_fn(|lane| largest[lane] + sum[lane].ln())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::for_blocks;
    use crate::rows::Rows;

    fn log_density(mixture: &Mixture, row: &[f64]) -> f64 {
        let density = Density::new(mixture).expect("valid");
        let mut value = f64::NAN;
        for_blocks(Rows::new(row, mixture.dim).expect("one row"), 0..1, |block| {
            value = density.log_density(block, &mut vec![[0.0; LANES]; mixture.k()])[0];
        });
        value
    }

    #[test]
    fn the_density_of_a_correlated_gaussian_is_the_textbook_one() {
        let mixture = Mixture {
            dim: 2,
            weights: vec![1.0],
            means: vec![1.0, -1.0],
            covariances: vec![2.0, 1.0, 1.0, 2.0],
            shape: Shape::Full,
        };
        // Determinant 3, inverse ((2, -1), (-1, 2)) / 3; at x - mu = (1, 2) the form is (2 - 4 + 8) / 3 = 2.
        let expected = -(2.0 * PI).ln() - 0.5 * 3.0_f64.ln() - 1.0;
        assert!((log_density(&mixture, &[2.0, 1.0]) - expected).abs() < 1e-14);
    }

    #[test]
    fn diagonal_and_full_storage_give_the_same_density_even_far_away() {
        let mixture = Mixture {
            dim: 3,
            weights: vec![0.2, 0.8, 0.0],
            means: vec![0.0, 1.0, 2.0, -1.0, 0.5, 0.0, 4.0, 4.0, 4.0],
            covariances: vec![1.0, 2.0, 0.5, 0.1, 3.0, 1.0, 1.0, 1.0, 1.0],
            shape: Shape::Diagonal,
        };
        for row in [[0.0, 0.0, 0.0], [300.0, -200.0, 100.0]] {
            let (diagonal, full) = (log_density(&mixture, &row), log_density(&mixture.to_full(), &row));
            assert!(diagonal.is_finite() && (diagonal - full).abs() < 1e-10 * diagonal.abs());
        }
    }
}
