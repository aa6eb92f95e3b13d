//! The width $\sigma$ of the frequency law, estimated on a pilot sample in working coordinates.
//!
//! | name | rule | reference |
//! |---|---|---|
//! | `mean-sigma` | fit $e^{-R^2\sigma^2/2}$ to the peaks of $\lvert z\rvert$ against the radius: the mean width of the clusters | \[KBGP18\], `EstimMeanSigma` |
//! | `data-variance` | $\sigma^2$ = mean variance of the columns: the width of the whole cloud | k-means heuristic of \[BCGS19\], as in \[Sch21\] section 6.3.3 |
//! | `entropy` | the $\sigma$ of a grid at which the histogram of $\lvert z\rvert$ has the largest entropy | Giffon and Gribonval, sketch entropy |

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::num::random::{Purpose, Stream};
use crate::num::solve::golden_section;
use crate::sketch::Sketch;
use crate::sketch::frequency::FrequencyLaw;
use crate::sketch::operator::{RowsRef, Scratch};
use crate::sketch::spec::SketchSpec;

/// How the scale is chosen. Parses from a rule's name or from a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScaleRule {
    /// `EstimMeanSigma` on the pilot, the default.
    MeanSigma,
    /// Mean variance of the pilot's columns.
    DataVariance,
    /// Largest entropy of the sketch modulus of the pilot.
    Entropy,
    /// A given value, in working units (robust spreads of the columns).
    Fixed(f64),
}

/// The rules that estimate.
const RULES: [(ScaleRule, &str); 3] = [
    (ScaleRule::MeanSigma, "mean-sigma"),
    (ScaleRule::DataVariance, "data-variance"),
    (ScaleRule::Entropy, "entropy"),
];

impl FromStr for ScaleRule {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<ScaleRule, String> {
        let rule = RULES.iter().find(|(_, name)| *name == text).map(|(rule, _)| *rule);
        let value = text.parse().ok().filter(|value: &f64| *value > 0.0 && value.is_finite());
        rule.or(value.map(ScaleRule::Fixed)).ok_or_else(|| {
            let names = RULES.map(|(_, name)| name).join(", ");
            format!("`{text}` is not a rule of the scale: choose from {names}, or give a positive number")
        })
    }
}

impl fmt::Display for ScaleRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, RULES.iter().find(|(rule, _)| rule == self)) {
            (ScaleRule::Fixed(value), _) => write!(f, "{value}"),
            (_, rule) => f.write_str(rule.map_or("", |(_, name)| name)),
        }
    }
}

// The parameters of [KBGP18] section 5.3.
/// $m_0$: frequencies of the small sketch.
const SIZE: usize = 500;
/// $n_0$: rows used at most.
const ROWS: usize = 5000;
/// $c$: blocks of radii, one peak each.
const BLOCKS: usize = 30;
/// $T$: rounds, each with frequencies adapted to the last estimate.
const ROUNDS: u64 = 5;

/// The scale by a rule. `rows` is the pilot in working coordinates, row-major. Cost: a few sketches of 500
/// frequencies over at most 5000 rows.
pub fn estimate(rule: ScaleRule, rows: &[f64], dim: usize, seed: u64) -> Result<f64> {
    let sigma = match rule {
        ScaleRule::MeanSigma => mean_sigma(rows, dim, seed)?,
        ScaleRule::DataVariance => data_deviation(rows, dim),
        ScaleRule::Entropy => entropy_scale(rows, dim, seed)?,
        ScaleRule::Fixed(value) => return Ok(value),
    };
    Ok(sigma.clamp(1e-6, 1e6))
}

/// At most `n_max` rows, one drawn from each of as many equal runs of neighbours.
///
/// Spread out, because a pilot often comes in the order of its file; drawn, because a fixed step could fall
/// in with a period of the rows.
pub(crate) fn spread_rows(rows: &[f64], dim: usize, n_max: usize, seed: u64) -> Vec<f64> {
    let n_rows = rows.len() / dim;
    let kept = n_rows.min(n_max);
    let mut stream = Stream::new(seed, Purpose::PilotRows, 0);
    let mut drawn = Vec::with_capacity(kept * dim);
    for i in 0..kept {
        let (start, end) = (i * n_rows / kept, (i + 1) * n_rows / kept);
        let row = start + stream.below(end - start);
        drawn.extend_from_slice(&rows[row * dim..(row + 1) * dim]);
    }
    drawn
}

/// Radii and moduli $|z|$ of a small adapted-radius sketch of the rows, sorted by radius.
fn small_sketch(rows: &[f64], dim: usize, sigma: f64, size: usize, seed: u64) -> Result<Vec<(f64, f64)>> {
    let columns = (0..dim).map(|c| c.to_string());
    let mut spec = SketchSpec::new(columns, FrequencyLaw::AdaptedRadius, sigma.clamp(1e-6, 1e6), size);
    spec.seed = seed % (1 << 53);
    let operator = spec.build()?;
    let mut sketch = Sketch::empty(&operator);
    operator.accumulate(RowsRef::F64(rows), None, &mut sketch, &mut Scratch::default())?;
    let mut curve: Vec<(f64, f64)> = operator.radii().into_iter().zip(sketch.modulus()?).collect();
    curve.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(curve)
}

/// `EstimMeanSigma` of \[KBGP18\] section 3.3.3: the mean standard deviation of the clusters in the rows.
fn mean_sigma(rows: &[f64], dim: usize, seed: u64) -> Result<f64> {
    let n_rows = rows.len() / dim;
    if n_rows < 2 {
        return Err(Error::TooFewRows { what: "estimating the scale", rows: n_rows as u64, needed: 2 });
    }
    let rows = &spread_rows(rows, dim, ROWS, seed);
    // Differs from [KBGP18]: starts at the data's own deviation instead of 1, so that the first frequencies
    // are in range for any unit.
    let mut sigma = data_deviation(rows, dim).max(1e-6);
    for round in 0..ROUNDS {
        let curve = small_sketch(rows, dim, sigma, SIZE, seed.wrapping_add(1 + round))?;
        let block = SIZE / BLOCKS;
        let peaks: Vec<(f64, f64)> = curve
            .chunks_exact(block)
            .filter_map(|c| c.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1)))
            .collect();
        sigma = fit_decay(&peaks, sigma);
    }
    Ok(sigma)
}

/// $\arg\min_\sigma \sum_q (e_q - e^{-R_q^2\sigma^2/2})^2$ within a factor 30 of `start`: a grid in the
/// logarithm, then golden section.
pub(crate) fn fit_decay(peaks: &[(f64, f64)], start: f64) -> f64 {
    let misfit = |log_sigma: f64| -> f64 {
        let half_variance = 0.5 * (2.0 * log_sigma).exp();
        peaks.iter().map(|(r, e)| (e - (-r * r * half_variance).exp()).powi(2)).sum()
    };
    let step = 30f64.ln() / 60.0;
    let grid = (-60..=60).map(|i| start.ln() + f64::from(i) * step);
    let best = grid.min_by(|a, b| misfit(*a).total_cmp(&misfit(*b))).unwrap_or(start.ln());
    golden_section(misfit, best - step, best + step, 40).exp()
}

/// Root of the mean variance of the columns.
fn data_deviation(rows: &[f64], dim: usize) -> f64 {
    let n = (rows.len() / dim).max(1) as f64;
    let variance = |c: usize| {
        let column = || rows.iter().skip(c).step_by(dim);
        let mean = column().sum::<f64>() / n;
        column().map(|x| (x - mean).powi(2)).sum::<f64>() / n
    };
    ((0..dim).map(variance).sum::<f64>() / dim as f64).sqrt()
}

/// The scale, among 25 from a thirtieth of the data's deviation to it, whose histogram of $|z|$ (nine bins on
/// [0, 1]) has the largest entropy.
fn entropy_scale(rows: &[f64], dim: usize, seed: u64) -> Result<f64> {
    let rows = &spread_rows(rows, dim, ROWS, seed);
    let top = data_deviation(rows, dim).max(1e-6);
    let mut best = (f64::NEG_INFINITY, top);
    for i in 0..25 {
        let sigma = top * 30f64.powf(-f64::from(i) / 24.0);
        let curve = small_sketch(rows, dim, sigma, SIZE, seed.wrapping_add(1))?;
        let mut bins = [0.0f64; 9];
        for (_, modulus) in &curve {
            bins[((modulus * 9.0) as usize).min(8)] += 1.0 / curve.len() as f64;
        }
        let entropy: f64 = bins.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum();
        if entropy > best.0 {
            best = (entropy, sigma);
        }
    }
    Ok(best.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// k clusters of deviation `width` whose centres have deviation `separation`.
    fn clusters(k: usize, dim: usize, width: f64, separation: f64, n: usize) -> Vec<f64> {
        let mut stream = Stream::new(11, Purpose::PilotMixture, 9);
        let centres: Vec<f64> = (0..k * dim).map(|_| separation * stream.normal()).collect();
        (0..n * dim).map(|i| centres[i / dim % k * dim + i % dim] + width * stream.normal()).collect()
    }

    #[test]
    fn mean_sigma_finds_the_clusters_width_and_not_the_clouds() {
        // The set-up of [KBGP18] figure 2: d = 10, k = 5. The peak of 16 moduli stays below the envelope
        // where clusters interfere, so the method errs towards larger widths.
        for width in [0.1, 1.0, 25.0] {
            let rows = clusters(5, 10, width, 3.0 * width, 5000);
            let sigma = estimate(ScaleRule::MeanSigma, &rows, 10, 1).unwrap();
            assert!((1.0..1.35).contains(&(sigma / width)), "width {width}: {sigma}");
            let cloud = estimate(ScaleRule::DataVariance, &rows, 10, 1).unwrap();
            assert!(cloud > 2.0 * width, "{cloud}");
        }
    }

    #[test]
    fn a_sorted_pilot_gives_the_scale_of_a_shuffled_one() {
        let rows = clusters(4, 3, 0.5, 4.0, 20_000);
        let mut sorted: Vec<&[f64]> = rows.chunks_exact(3).collect();
        sorted.sort_by(|a, b| a[0].total_cmp(&b[0]));
        let sorted: Vec<f64> = sorted.concat();
        let sigma = |rows: &[f64]| estimate(ScaleRule::MeanSigma, rows, 3, 2).unwrap();
        assert!((sigma(&sorted) / sigma(&rows) - 1.0).abs() < 0.05, "{} {}", sigma(&sorted), sigma(&rows));
    }

    #[test]
    fn entropy_scale_lies_between_the_clusters_and_the_cloud() {
        let rows = clusters(5, 4, 1.0, 8.0, 5000);
        let sigma = estimate(ScaleRule::Entropy, &rows, 4, 1).unwrap();
        assert!(sigma > 0.5 && sigma < 8.0, "{sigma}");
    }

    #[test]
    fn rules_parse_from_their_names_and_from_numbers() {
        for name in ["mean-sigma", "data-variance", "entropy", "0.25"] {
            assert_eq!(name.parse::<ScaleRule>().unwrap().to_string(), name);
        }
        assert!("wide".parse::<ScaleRule>().unwrap_err().contains("mean-sigma"));
        assert!("-1".parse::<ScaleRule>().is_err());
    }
}
