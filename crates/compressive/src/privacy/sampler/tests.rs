//! Chi-square tests against the exact probabilities.
//!
//! Fourteen tests of 2e5 draws, each with a false-alarm rate of [`ALARM`], so below 1.4e-3 over all of them;
//! the seeds are fixed, so the outcome does not change from run to run.

use super::super::entropy::{Entropy, SeededEntropy};
use super::*;
use crate::num::special::chi_square_tail;

const ALARM: f64 = 1e-4;
const DRAWS: usize = 200_000;

fn ratio(numerator: u64, denominator: u64) -> Ratio {
    Ratio { numerator, denominator }
}

/// `DRAWS` draws of a sampler from a seed.
fn draws(seed: u64, draw: impl Fn(&mut Bits<'_>) -> Result<i64>) -> Vec<i64> {
    let mut source = SeededEntropy::new(seed);
    let mut bits = Bits::new(&mut source);
    (0..DRAWS).map(|_| draw(&mut bits).unwrap()).collect()
}

/// The p-value of draws against weights (not normalised) of the integers -reach..=reach.
///
/// Neighbouring integers share a bin until its probability is at least 5e-4 (100 expected draws); what
/// `reach` leaves out must be negligible.
fn p_value(draws: &[i64], reach: i64, weight: impl Fn(i64) -> f64) -> f64 {
    let total: f64 = (-reach..=reach).map(&weight).sum();
    let (mut ends, mut masses, mut mass) = (Vec::new(), Vec::new(), 0.0);
    for x in -reach..=reach {
        mass += weight(x) / total;
        if mass >= 5e-4 {
            ends.push(x);
            masses.push(mass);
            mass = 0.0;
        }
    }
    // The last bin takes the rest, to infinity.
    *masses.last_mut().unwrap() += mass;
    *ends.last_mut().unwrap() = i64::MAX;
    let mut counts = vec![0.0; ends.len()];
    for &x in draws {
        counts[ends.partition_point(|&end| end < x)] += 1.0;
    }
    let n = draws.len() as f64;
    let statistic: f64 = masses.iter().zip(&counts).map(|(p, c)| (c - n * p) * (c - n * p) / (n * p)).sum();
    chi_square_tail(statistic, (masses.len() - 1) as f64)
}

fn laplace_weight(t: f64) -> impl Fn(i64) -> f64 {
    move |x| (-(x.abs() as f64) / t).exp()
}

fn gaussian_weight(sigma: f64) -> impl Fn(i64) -> f64 {
    move |x| (-0.5 * (x as f64 / sigma).powi(2)).exp()
}

#[test]
fn bernoulli_exp_is_true_with_probability_e_to_the_minus_gamma() {
    for (seed, (numerator, denominator)) in
        [(1u128, 3u128), (1, 1), (5, 2), (1 << 100, 3 << 100)].into_iter().enumerate()
    {
        let found = draws(seed as u64, |bits| Ok(i64::from(bernoulli_exp(bits, numerator, denominator)?)));
        let p = (-(numerator as f64) / denominator as f64).exp();
        let alarm = p_value(&found, 1, |x| [0.0, 1.0 - p, p][(x + 1) as usize]);
        assert!(alarm > ALARM, "gamma = {numerator}/{denominator}: p-value {alarm}");
    }
    assert!(draws(9, |bits| Ok(i64::from(bernoulli_exp(bits, 0, 7)?))).iter().all(|&x| x == 1));
    assert!(draws(9, |bits| Ok(i64::from(bernoulli_exp(bits, u128::MAX, 1)?))).iter().all(|&x| x == 0));
}

#[test]
fn discrete_laplace_has_its_exact_probabilities() {
    for (seed, scale) in
        [ratio(3, 2), ratio(1, 1), ratio(7, 1), ratio(1000, 1), ratio(1, 3), ratio(u64::MAX, u64::MAX / 10)]
            .into_iter()
            .enumerate()
    {
        let t = scale.numerator as f64 / scale.denominator as f64;
        let found = draws(20 + seed as u64, |bits| discrete_laplace(bits, scale));
        let p = p_value(&found, 20 + (40.0 * t) as i64, laplace_weight(t));
        assert!(p > ALARM, "{scale:?}: p-value {p}");
    }
}

#[test]
fn discrete_gaussian_has_its_exact_probabilities() {
    for (seed, sigma) in [1u64, 2, 20, 3000].into_iter().enumerate() {
        let found = draws(30 + seed as u64, |bits| discrete_gaussian(bits, sigma));
        let p = p_value(&found, 10 * sigma as i64, gaussian_weight(sigma as f64));
        assert!(p > ALARM, "sigma = {sigma}: p-value {p}");
    }
}

#[test]
fn the_tests_see_a_scale_that_is_three_per_cent_off_and_a_zero_counted_twice() {
    let found = draws(40, |bits| discrete_laplace(bits, ratio(7, 1)));
    assert!(p_value(&found, 300, laplace_weight(7.21)) < 1e-6);
    let twice = p_value(&found, 300, |x| laplace_weight(7.0)(x) * if x == 0 { 2.0 } else { 1.0 });
    assert!(twice < 1e-6, "{twice}");
    let found = draws(41, |bits| discrete_gaussian(bits, 20));
    assert!(p_value(&found, 200, gaussian_weight(20.6)) < 1e-6);
    assert!(p_value(&found, 200, laplace_weight(20.0)) < 1e-6);
}

/// Shares of draws below the three quartiles of |x| and below zero, which are 1/4, 1/2, 3/4 and 1/2 for huge
/// scales.
fn quartile_errors(draws: &[i64], quartiles: [f64; 3]) -> [f64; 4] {
    let share =
        |below: &dyn Fn(i64) -> bool| draws.iter().filter(|&&x| below(x)).count() as f64 / draws.len() as f64;
    [
        share(&|x| (x.unsigned_abs() as f64) < quartiles[0]) - 0.25,
        share(&|x| (x.unsigned_abs() as f64) < quartiles[1]) - 0.5,
        share(&|x| (x.unsigned_abs() as f64) < quartiles[2]) - 0.75,
        share(&|x| x < 0) - 0.5,
    ]
}

#[test]
fn the_largest_scales_have_the_right_quartiles() {
    // The standard error of a share is at most 0.0011; five of them are allowed.
    let t = MAX_SCALE as f64;
    let found = draws(50, |bits| discrete_laplace(bits, ratio(MAX_SCALE, 1)));
    let errors = quartile_errors(&found, [t * (4.0f64 / 3.0).ln(), t * 2.0f64.ln(), t * 4.0f64.ln()]);
    assert!(errors.iter().all(|e| e.abs() < 0.0056), "{errors:?}");
    let sigma = MAX_SIGMA as f64;
    let found = draws(51, |bits| discrete_gaussian(bits, MAX_SIGMA));
    let normal = [0.318_639_363_964_375_16, 0.674_489_750_196_081_7, 1.150_349_380_376_008];
    let errors = quartile_errors(&found, normal.map(|z| z * sigma));
    assert!(errors.iter().all(|e| e.abs() < 0.0056), "{errors:?}");
    // The lowest bits are noise too: a sampler that scales up a coarse draw would fail here.
    let odd = found.iter().filter(|x| *x & 1 == 1).count() as f64 / DRAWS as f64;
    assert!((odd - 0.5).abs() < 0.0056, "{odd}");
}

#[test]
fn scales_out_of_range_are_refused_with_their_numbers() {
    let mut source = SeededEntropy::new(1);
    let mut bits = Bits::new(&mut source);
    for scale in [ratio(0, 1), ratio(1, 0), ratio(MAX_SCALE + 1, 1), ratio(u64::MAX, 2047)] {
        let message = discrete_laplace(&mut bits, scale).unwrap_err().to_string();
        assert!(message.contains(&format!("{}/{}", scale.numerator, scale.denominator)), "{message}");
    }
    // The scale is what is limited, not the numerator, and 1/u64::MAX is almost no noise.
    assert!(discrete_laplace(&mut bits, ratio(u64::MAX, 2048)).is_ok());
    assert_eq!(discrete_laplace(&mut bits, ratio(1, u64::MAX)), Ok(0));
    for sigma in [0, MAX_SIGMA + 1] {
        let message = discrete_gaussian(&mut bits, sigma).unwrap_err().to_string();
        assert!(message.contains(&format!("not {sigma}")), "{message}");
    }
    assert!(bernoulli_exp(&mut bits, 1, 0).is_err());
}

#[test]
fn a_stuck_source_ends_in_an_error() {
    struct Zeros;
    impl Entropy for Zeros {
        fn fill(&mut self, bytes: &mut [u8]) -> Result<()> {
            bytes.fill(0);
            Ok(())
        }
    }
    let mut source = Zeros;
    let mut bits = Bits::new(&mut source);
    let message = discrete_laplace(&mut bits, ratio(1000, 1)).unwrap_err().to_string();
    assert!(message.contains("source of randomness is broken"), "{message}");
    assert!(discrete_gaussian(&mut bits, 1000).is_err());
}

#[test]
fn no_floating_point_number_is_in_the_samplers() {
    for source in [include_str!("../sampler.rs"), include_str!("../entropy.rs")] {
        assert!(!source.contains("f64") && !source.contains("f32"));
        for line in source.lines() {
            let code: Vec<char> = line.split("//").next().unwrap().chars().collect();
            let literal = code
                .windows(3)
                .any(|w| w[0].is_ascii_digit() && w[1] == '.' && (w[2].is_ascii_digit() || w[2] == ' '));
            assert!(!literal, "a float in: {line}");
        }
    }
}
