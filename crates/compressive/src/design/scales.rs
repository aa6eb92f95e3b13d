//! Frequencies at several scales, for models that must match a density from its outline to its detail.
//!
//! A mixture of folded Gaussian radii (\[Sch21\] section 6.2 takes one) of equal weights, at the scales
//! $\sigma_i = \sigma_0 2^{-i}$: from $\sigma_0$, the pilot's root mean square distance from its centre along
//! one column, down to the scale of its detail, estimated by the rule of the design or given.

use crate::design::scale::{ScaleRule, estimate};
use crate::error::Result;
use crate::sketch::frequency::{Component, Covariance, FrequencyLaw, RadiusLaw};

/// Fewest and most scales. Five reach a sixteenth of the spread.
const SCALES: (usize, usize) = (4, 7);

/// The law for a pilot in working coordinates; `rule` gives the finest scale. Cost: that of the rule.
pub(super) fn multi_scale(rows: &[f64], dim: usize, rule: ScaleRule, seed: u64) -> Result<FrequencyLaw> {
    let coarse = spread(rows, dim);
    let fine = estimate(rule, rows, dim, seed)?;
    let steps = (coarse / (0.5 * fine)).log2().ceil();
    // A NaN becomes the fewest.
    let scales = (steps.max(0.0) as usize + 1).clamp(SCALES.0, SCALES.1);
    let component = |i: usize| {
        let sigma = coarse * 0.5_f64.powi(i as i32);
        Component { weight: 1.0 / scales as f64, covariance: Covariance::Diagonal(vec![sigma * sigma; dim]) }
    };
    Ok(FrequencyLaw::PilotMixture {
        radius: RadiusLaw::FoldedGaussian,
        components: (0..scales).map(component).collect(),
    })
}

/// Root mean square deviation from the mean, over all columns.
fn spread(rows: &[f64], dim: usize) -> f64 {
    let n = (rows.len() / dim) as f64;
    let mut total = 0.0;
    for c in 0..dim {
        let column = || rows.iter().skip(c).step_by(dim);
        let mean = column().sum::<f64>() / n;
        total += column().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
    }
    (total / dim as f64).sqrt().max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_halve_from_the_spread_of_the_rows_to_their_detail() {
        let rows: Vec<f64> = (0..4000).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
        let law = multi_scale(&rows, 1, ScaleRule::Fixed(0.1), 0).expect("a law");
        let FrequencyLaw::PilotMixture { components, .. } = &law else { panic!("{law:?}") };
        let variances = components.iter().map(|c| match &c.covariance {
            Covariance::Diagonal(v) => v[0],
            Covariance::Full(_) => f64::NAN,
        });
        assert_eq!(
            variances.collect::<Vec<_>>(),
            (0..6).map(|i| 0.25_f64.powi(i)).collect::<Vec<_>>(),
            "1, 1/2, .. 1/32, the first at most half of 0.1"
        );
        law.validate(1, 10, 1.0).expect("a valid law");
    }
}
