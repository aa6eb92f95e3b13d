//! Rows of families other than Gaussian mixtures, and the direct methods that they are judged by.

use crate::error::{Error, Result, at_least_one};
use crate::random::Rng;
use crate::rows::{Rows, Sample};

/// A mixture of sub-Gaussian alpha-stable laws of equal weight.
#[derive(Clone, Debug, PartialEq)]
pub struct StableMixture {
    /// Number d of columns.
    pub dim: usize,
    /// k rows of d.
    pub locations: Vec<f64>,
    /// k rows of d scales.
    pub scales: Vec<f64>,
    /// Exponent of each component, above 0 and at most 2.
    pub alpha: Vec<f64>,
}

impl StableMixture {
    /// Draws rows: $x = c + \sqrt A\,\mathrm{diag}(s)\,g$ with g normal and A positive stable of exponent
    /// $\alpha/2$.
    pub fn sample(&self, n_rows: usize, rng: &mut Rng) -> Result<Sample> {
        at_least_one("rows", n_rows)?;
        let (k, d) = (self.alpha.len(), self.dim);
        if self.locations.len() != k * d || self.scales.len() != k * d || k == 0 {
            return Err(Error::Shape { what: "locations", found: self.locations.len(), expected: k * d });
        }
        let mut sample = Sample { dim: d, values: Vec::with_capacity(n_rows * d), labels: Vec::new() };
        for _ in 0..n_rows {
            let l = rng.below(k);
            let root = rng.positive_stable(0.5 * self.alpha[l]).sqrt();
            for at in l * d..(l + 1) * d {
                // The heaviest tails leave the range of f64.
                let x = self.locations[at] + root * self.scales[at] * rng.normal();
                sample.values.push(x.clamp(-1e300, 1e300));
            }
            sample.labels.push(l as u32);
        }
        Ok(sample)
    }
}

/// Sum of the distances of the rows to their nearest centres (k rows of d).
pub fn sum_of_distances(rows: Rows<'_>, centers: &[f64]) -> f64 {
    (0..rows.n_rows()).map(|i| nearest(rows.row(i), centers).1).sum()
}

fn nearest(row: &[f64], centers: &[f64]) -> (usize, f64) {
    let distance = |c: &[f64]| row.iter().zip(c).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
    let all = centers.chunks_exact(row.len()).map(distance).enumerate();
    all.fold((0, f64::INFINITY), |best, (l, s)| if s < best.1 { (l, s) } else { best })
}

/// Direct k-medians: rounds of assignment and one Weiszfeld step from the given centres, and the sum of
/// distances reached.
pub fn kmedians(rows: Rows<'_>, mut centers: Vec<f64>, rounds: usize) -> (Vec<f64>, f64) {
    let d = rows.dim();
    let mut last = f64::INFINITY;
    for _ in 0..rounds {
        let (mut sums, mut pulls) = (vec![0.0; centers.len()], vec![0.0; centers.len() / d]);
        let mut total = 0.0;
        for i in 0..rows.n_rows() {
            let (l, distance) = nearest(rows.row(i), &centers);
            total += distance;
            let pull = 1.0 / distance.max(1e-9);
            pulls[l] += pull;
            sums[l * d..(l + 1) * d].iter_mut().zip(rows.row(i)).for_each(|(s, x)| *s += pull * x);
        }
        for ((center, sum), pull) in centers.chunks_exact_mut(d).zip(sums.chunks_exact(d)).zip(&pulls) {
            if *pull > 0.0 {
                center.iter_mut().zip(sum).for_each(|(c, s)| *c = s / pull);
            }
        }
        if !(total < last * (1.0 - 1e-7)) {
            break;
        }
        last = total;
    }
    let total = sum_of_distances(rows, &centers);
    (centers, total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_rows_have_the_characteristic_function_of_their_law() {
        let law =
            StableMixture { dim: 2, locations: vec![1.0, -2.0], scales: vec![0.5, 2.0], alpha: vec![1.3] };
        let sample = law.sample(100_000, &mut Rng::new(4)).expect("rows");
        // Five standard errors of a mean of cosines over 1e5 rows are at most 0.0158.
        for w in [[0.3_f64, 0.1], [1.0, -0.4], [0.0, 0.8]] {
            let half = 0.5 * ((0.5 * w[0]).powi(2) + (2.0 * w[1]).powi(2));
            let modulus = (-f64::powf(half, 0.65)).exp();
            let phase = w[0] - 2.0 * w[1];
            let mean = |f: &dyn Fn(f64) -> f64| {
                sample.values.chunks_exact(2).map(|x| f(w[0] * x[0] + w[1] * x[1])).sum::<f64>() / 1e5
            };
            assert!((mean(&f64::cos) - modulus * phase.cos()).abs() < 0.016);
            assert!((mean(&f64::sin) - modulus * phase.sin()).abs() < 0.016);
        }
    }

    #[test]
    fn direct_medians_do_not_follow_an_outlier() {
        let values = [0.0, 1.0, 2.0, 3.0, 1000.0];
        let rows = Rows::new(&values, 1).expect("rows");
        let (centers, total) = kmedians(rows, vec![5.0], 2000);
        assert!((centers[0] - 2.0).abs() < 0.01 && (total - 1002.0).abs() < 0.05, "{centers:?} {total}");
    }
}
