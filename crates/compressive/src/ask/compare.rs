//! Are two sketches from the same distribution? Drift detection without data.
//!
//! With D the difference of the means, $T = \tfrac1m \lVert D\rVert^2$ divided by the squared gain of the
//! feature estimates the squared maximum mean discrepancy (MMD) for the kernel whose Fourier transform is the
//! frequency law. If both sketches hold independent rows of one distribution,
//! $\mathbb E\,T = \mu\,(\tfrac1{n_A} + \tfrac1{n_B})$ with $\mu$ the mean variance of a feature, known from
//! the sketch ($1 - |z_j|^2$ for Fourier features), so subtracting it makes the estimate unbiased.
//!
//! The p-value matches T to a scaled chi-square with that mean and the variance
//! $v\,(\tfrac1{n_A} + \tfrac1{n_B})^2$, $v = \tfrac1{m^2}\sum_{j,l} (|C_{jl}|^2 + |P_{jl}|^2)$, where C and
//! P are covariance and pseudo-covariance of two features. With $\psi$ the characteristic function and
//! $c = \overline{|\psi|^2}$, averaging over the frequency law gives
//! $\overline{|C|^2} \le \overline{|\psi(\omega_j - \omega_l)|^2} - c^2$ (Jensen's inequality on the mean
//! embedding), and the same with a plus sign for P. $|\psi|^2$ at sums and differences is read off a
//! decreasing curve fitted to $|z_j|^2$ against the radius. The bound makes the test err on the side of no
//! alarm: see the test `false_alarms_stay_at_or_below_the_nominal_rate`.
//!
//! For kernel values at landmarks (feature `nystrom`) T is the square of D in the norm of the landmarks'
//! span, the squared MMD for the Gaussian kernel as far as the landmarks see it. There
//! $\mathbb E\,T \le (1 - \lVert z \rVert^2)(\tfrac1{n_A} + \tfrac1{n_B})$ for equal distributions, and T is
//! a weighted sum of squared normals: of all such sums with that mean a single one has the heaviest tail
//! beyond 1.54 times the mean (Szekely and Bakirov 2003), so its p-value, where it is below 0.2, is an upper
//! bound. Cost: $m^3/6$.
//!
//! Cost: O(m d + min(m, 500)^2 d). Assumes rows are independent and unweighted (whole weights are repeated
//! rows).

use crate::density::Metric;
use crate::error::remedy::Remedy;
use crate::error::{Error, Result};
use crate::num::special::chi_square_tail;
use crate::sketch::Sketch;
use crate::sketch::map::Map;
use crate::sketch::map::images::ONLY_CLASSIFIES;
use crate::sketch::map::landmarks::KernelMap;
use crate::sketch::map::waves::Wave;
use crate::sketch::operator::SketchOperator;

/// What two sketches say about each other.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Comparison {
    /// $\lVert z_A - z_B\rVert / \sqrt m$, with no correction.
    pub distance: f64,
    /// The distance expected from sampling alone, if the distributions are equal.
    pub distance_expected: f64,
    /// Unbiased estimate of the squared MMD; may be negative when it is near zero.
    pub mmd_squared: f64,
    /// Standard error of `mmd_squared`.
    pub standard_error: f64,
    /// Probability of a distance at least this large, if the distributions are equal.
    pub p_value: f64,
    /// Rows in each.
    pub rows: [u64; 2],
}

/// Frequencies used for the pairwise covariances.
const PAIR_FREQUENCIES: usize = 500;

/// Compares two sketches made with the operator.
pub fn compare(operator: &SketchOperator, a: &Sketch, b: &Sketch) -> Result<Comparison> {
    a.check_spec(b.spec(), b.fingerprint())?;
    a.check_spec(operator.spec(), operator.fingerprint())?;
    for sketch in [a, b] {
        if sketch.rows() < 2 {
            return Err(Error::TooFewRows { what: "comparing sketches", rows: sketch.rows(), needed: 2 });
        }
    }
    match (wave_of(operator)?, operator.kernel()) {
        (Some(wave), _) => compare_waves(operator, wave, a, b),
        (None, Some(kernel)) => compare_kernel(operator, kernel, a, b),
        (None, None) => unreachable!("operators of landmarks have their kernel"),
    }
}

/// The wave of a recipe whose sketches can be compared, or none for kernel values.
pub(super) fn wave_of(operator: &SketchOperator) -> Result<Option<&Wave>> {
    let fail = |problem: &str| {
        Err(Error::Task { field: "feature", problem: problem.into() }.advise(Remedy::of_waves()))
    };
    match &operator.spec().map {
        Map::Waves(waves) => Ok(Some(&waves.wave)),
        Map::Landmarks(_) => Ok(None),
        Map::Images(_) => fail(ONLY_CLASSIFIES),
        Map::Moments(_) => fail(
            "sketches of the feature `quadratic` hold first and second moments only, \
             and the test for a difference is made for periodic features",
        ),
    }
}

/// The comparison of waves of phases; see the module.
fn compare_waves(operator: &SketchOperator, wave: &Wave, a: &Sketch, b: &Sketch) -> Result<Comparison> {
    let m = operator.spec().size as f64;
    let map = &operator.spec().map;
    let (za, zb) = (map.centred(&a.moments()?.mean), map.centred(&b.moments()?.mean));
    let (na, nb) = (a.rows() as f64, b.rows() as f64);
    let square = wave.variance() * wave.blocks().len() as f64;
    let energy = |z: &[f64]| z.iter().map(|x| x * x).sum::<f64>() / m;
    let (noise_a, noise_b) = ((square - energy(&za)) / (na - 1.0), (square - energy(&zb)) / (nb - 1.0));
    let statistic = za.iter().zip(&zb).map(|(x, y)| (x - y).powi(2)).sum::<f64>() / m;

    let pooled: Vec<f64> = za.iter().zip(&zb).map(|(x, y)| (na * x + nb * y) / (na + nb)).collect();
    let inverse_rows = 1.0 / na + 1.0 / nb;
    let null = Null::new(operator, wave, &pair_radii(operator), &pooled, na + nb);
    let (p_value, variance) = (null.p_value(statistic, inverse_rows), null.variance);

    // A cosine alone carries half of the energy of a complex exponential.
    let unit = wave.surrogate().gain.powi(2) * 0.5 * wave.blocks().len() as f64;
    let excess = statistic - noise_a - noise_b;
    let linear = 4.0 * excess.max(0.0) * (0.5 * variance).sqrt() * inverse_rows;
    Ok(Comparison {
        distance: statistic.sqrt(),
        distance_expected: (noise_a + noise_b).max(0.0).sqrt(),
        mmd_squared: excess / unit,
        standard_error: (variance * inverse_rows * inverse_rows + linear).sqrt() / unit,
        p_value,
        rows: [a.rows(), b.rows()],
    })
}

/// The comparison of kernel values at landmarks, in the norm of their span; see the module.
fn compare_kernel(
    operator: &SketchOperator,
    kernel: &KernelMap,
    a: &Sketch,
    b: &Sketch,
) -> Result<Comparison> {
    let m = operator.spec().size as f64;
    let metric = Metric::new(kernel.points(), operator.dim(), kernel.variance(), 0.0)?;
    let (za, zb) = (a.moments()?.mean, b.moments()?.mean);
    let (na, nb) = (a.rows() as f64, b.rows() as f64);
    let energy = |z: &[f64]| metric.square(z) / m;
    let noise = |z: &[f64], n: f64| (1.0 - energy(z)).max(0.0) / (n - 1.0);
    let expected = noise(&za, na) + noise(&zb, nb);
    let difference: Vec<f64> = za.iter().zip(&zb).map(|(x, y)| x - y).collect();
    let statistic = energy(&difference);
    let pooled: Vec<f64> = za.iter().zip(&zb).map(|(x, y)| (na * x + nb * y) / (na + nb)).collect();
    let null = (1.0 - energy(&pooled)).max(1e-12) * (1.0 / na + 1.0 / nb);
    let excess = statistic - expected;
    Ok(Comparison {
        distance: statistic.sqrt(),
        distance_expected: expected.sqrt(),
        mmd_squared: excess,
        // A single squared normal of mean `null` has the largest variance of all with that mean.
        standard_error: (2.0 * null * null + 4.0 * excess.max(0.0) * null).sqrt(),
        p_value: chi_square_tail(statistic / null, 1.0),
        rows: [a.rows(), b.rows()],
    })
}

/// The statistic between two samples of one distribution: a scaled chi-square.
pub(super) struct Null {
    /// $\mu$.
    mean: f64,
    /// v.
    variance: f64,
}

impl Null {
    /// From the centred mean of so many rows; `radii` are those of [`pair_radii`].
    pub fn new(
        operator: &SketchOperator,
        wave: &Wave,
        radii: &[(f64, f64)],
        mean: &[f64],
        rows: f64,
    ) -> Null {
        let m = operator.spec().size;
        let (gain, blocks) = (wave.surrogate().gain, wave.blocks().len() as f64);
        let square = wave.variance() * blocks;
        let scale = gain * gain * 0.5 * blocks;
        let energy = |j: usize| mean[j].powi(2) + mean.get(m + j).map_or(0.0, |s| s.powi(2));
        let curve: Vec<(f64, f64)> = operator
            .radii()
            .into_iter()
            .enumerate()
            .map(|(j, radius)| (radius, (energy(j) - (square - energy(j)) / rows) / scale))
            .collect();
        // Of the frequencies whose pairs are taken: both terms of a small difference must be of the same.
        let used = m.min(PAIR_FREQUENCIES);
        let c = (curve[..used].iter().map(|p| p.1).sum::<f64>() / used as f64).max(0.0);
        let curve = DecreasingCurve::fit(curve);
        let pairs: f64 = radii.iter().map(|(minus, plus)| curve.at(*minus) + curve.at(*plus)).sum();
        let n_pairs = radii.len().max(1) as f64;
        let covariance = (pairs / n_pairs - 2.0 * c * c).max(0.0) * (m - 1) as f64 / m as f64;
        let energy = mean.iter().map(|x| x * x).sum::<f64>() / m as f64;
        Null {
            mean: (square - energy).max(1e-12),
            variance: scale * scale * covariance + square * square / m as f64,
        }
    }

    /// Probability of a statistic at least this large, for $1/n_A + 1/n_B$.
    pub fn p_value(&self, statistic: f64, inverse_rows: f64) -> f64 {
        let degrees = 2.0 * self.mean * self.mean / self.variance;
        chi_square_tail(statistic / inverse_rows * degrees / self.mean, degrees)
    }
}

/// Lengths of the difference and the sum of each pair of frequencies, of the first [`PAIR_FREQUENCIES`].
pub(super) fn pair_radii(operator: &SketchOperator) -> Vec<(f64, f64)> {
    let dim = operator.dim();
    let used = operator.spec().size.min(PAIR_FREQUENCIES);
    let frequencies = operator.frequencies();
    let mut radii = Vec::with_capacity(used * used.saturating_sub(1) / 2);
    for j in 0..used {
        let a = &frequencies[j * dim..(j + 1) * dim];
        for b in frequencies.chunks_exact(dim).take(j) {
            let (mut minus, mut plus) = (0.0, 0.0);
            for (x, y) in a.iter().zip(b) {
                minus += (x - y) * (x - y);
                plus += (x + y) * (x + y);
            }
            radii.push((minus.sqrt(), plus.sqrt()));
        }
    }
    radii
}

/// A decreasing function of the radius from 1 at 0, fitted by pooling adjacent violators; steps joined by
/// lines.
struct DecreasingCurve {
    knots: Vec<(f64, f64)>,
}

impl DecreasingCurve {
    fn fit(mut points: Vec<(f64, f64)>) -> DecreasingCurve {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        // Blocks of (sum of radii, sum of values, count).
        let mut blocks: Vec<(f64, f64, f64)> = Vec::new();
        for (radius, value) in points {
            blocks.push((radius, value, 1.0));
            while let [.., before, last] = blocks[..] {
                if before.1 / before.2 > last.1 / last.2 {
                    break;
                }
                blocks.truncate(blocks.len() - 2);
                blocks.push((before.0 + last.0, before.1 + last.1, before.2 + last.2));
            }
        }
        let mut knots = vec![(0.0, 1.0)];
        knots.extend(blocks.iter().map(|(r, v, n)| (r / n, (v / n).clamp(0.0, 1.0))));
        DecreasingCurve { knots }
    }

    fn at(&self, radius: f64) -> f64 {
        let after = self.knots.partition_point(|k| k.0 <= radius);
        let Some(&(r1, v1)) = self.knots.get(after) else {
            return self.knots[self.knots.len() - 1].1;
        };
        let (r0, v0) = self.knots[after.max(1) - 1];
        if r1 > r0 { v0 + (radius - r0) / (r1 - r0) * (v1 - v0) } else { v1 }
    }
}

#[cfg(test)]
mod tests;
