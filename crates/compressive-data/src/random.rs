//! A small generator of its own, so that an experiment's data depend on its seed only.
//!
//! xoshiro256++ (Blackman and Vigna 2021), its state filled by SplitMix64; normals by the polar method of
//! Marsaglia and Bray (1964); gammas by Marsaglia and Tsang (2000). Not for noise that must protect someone
//! (the private baselines use it to measure utility only), and unrelated to the frequencies of a spec, whose
//! generator belongs to the file format.

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Rng {
    state: [u64; 4],
    /// The second normal of the last pair.
    spare: Option<f64>,
}

/// SplitMix64: one step of the counter, and its hash.
fn split_mix(counter: &mut u64) -> u64 {
    *counter = counter.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *counter;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Rng {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Rng {
        let mut counter = seed;
        Rng { state: std::array::from_fn(|_| split_mix(&mut counter)), spare: None }
    }

    /// The stream of an index under a seed, for restarts and chunks: `derived(seed, i)` differs from
    /// `new(seed)` for every i.
    pub fn derived(seed: u64, index: u64) -> Rng {
        let mut counter = seed ^ 0x6C61_6221_6C61_6221;
        let mixed = split_mix(&mut counter).wrapping_add(index);
        counter = mixed;
        Rng::new(split_mix(&mut counter))
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform in the open interval (0, 1): an odd multiple of 2^-53.
    pub fn uniform(&mut self) -> f64 {
        ((self.next_u64() >> 12) as f64 + 0.5) * f64::EPSILON
    }

    /// Uniform between two ends.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// Uniform in 0..n, and 0 for n = 0. The bias is below n / 2^64.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next_u64()) * n as u128) >> 64) as usize
    }

    /// Standard normal.
    pub fn normal(&mut self) -> f64 {
        if let Some(value) = self.spare.take() {
            return value;
        }
        loop {
            let (x, y) = (self.between(-1.0, 1.0), self.between(-1.0, 1.0));
            let r = x * x + y * y;
            if r < 1.0 && r > 0.0 {
                let factor = (-2.0 * r.ln() / r).sqrt();
                self.spare = Some(y * factor);
                return x * factor;
            }
        }
    }

    /// Laplace of scale 1: density $\tfrac12 e^{-|x|}$, variance 2.
    pub fn laplace(&mut self) -> f64 {
        let magnitude = -self.uniform().ln();
        if self.next_u64() >> 63 == 0 { magnitude } else { -magnitude }
    }

    /// Gamma of a positive shape and scale 1.
    pub fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            // Gamma(a) = Gamma(a + 1) U^(1/a).
            return self.gamma(shape + 1.0) * self.uniform().powf(1.0 / shape);
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            if v > 0.0 && self.uniform().ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return d * v;
            }
        }
    }

    /// The positive stable law of exponent a in (0, 1], with $E\,e^{-tA} = e^{-t^a}$; 1 for a = 1. With
    /// $x = \sqrt A\,g$ and g Gaussian, x is symmetric stable of exponent 2a.
    ///
    /// Reference: Chambers, Mallows, Stuck, J. Am. Stat. Assoc. 71, 1976 (the form of Kanter, 1975).
    pub fn positive_stable(&mut self, a: f64) -> f64 {
        if a >= 1.0 {
            return 1.0;
        }
        let (u, e) = (std::f64::consts::PI * self.uniform(), -self.uniform().ln());
        let rest = 1.0 - a;
        (a * u).sin() / u.sin().powf(1.0 / a) * ((rest * u).sin() / e).powf(rest / a)
    }

    /// Weights of the symmetric Dirichlet distribution: k positive numbers of sum 1, for a positive
    /// concentration.
    pub fn dirichlet(&mut self, concentration: f64, k: usize) -> Vec<f64> {
        let mut weights: Vec<f64> = (0..k).map(|_| self.gamma(concentration)).collect();
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|weight| *weight /= total);
        weights
    }

    /// Puts the values in a random order (Fisher-Yates).
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.below(last + 1));
        }
    }

    /// An index with probability proportional to its weight; weights are nonnegative, and the last index is
    /// given where their sum is not positive.
    pub fn choice(&mut self, weights: &[f64]) -> usize {
        let mut left = self.uniform() * weights.iter().sum::<f64>();
        for (index, &weight) in weights.iter().enumerate() {
            left -= weight;
            if left < 0.0 {
                return index;
            }
        }
        // Rounding can leave a crumb: it belongs to the last index that has a weight.
        weights.iter().rposition(|&weight| weight > 0.0).unwrap_or(weights.len().saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_mix_gives_the_published_numbers() {
        // The reference implementation's first outputs for seed 1234567.
        let mut counter = 1_234_567;
        let first: Vec<u64> = (0..3).map(|_| split_mix(&mut counter)).collect();
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn xoshiro_gives_the_published_numbers() {
        // The reference implementation's first outputs for the state 1, 2, 3, 4.
        let mut rng = Rng { state: [1, 2, 3, 4], spare: None };
        let first: Vec<u64> = (0..4).map(|_| rng.next_u64()).collect();
        assert_eq!(first, [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386]);
    }

    #[test]
    fn moments_of_normal_and_gamma_are_right() {
        // 2e5 draws: five standard errors are 0.011 for the normal mean, 0.016 for its square, and 5 sqrt(a /
        // n) for a gamma's mean.
        let mut rng = Rng::new(3);
        let n = 200_000;
        let mean = |draws: &[f64]| draws.iter().sum::<f64>() / n as f64;
        let normal: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
        let square: Vec<f64> = normal.iter().map(|x| x * x).collect();
        assert!(mean(&normal).abs() < 0.011 && (mean(&square) - 1.0).abs() < 0.016);
        for shape in [0.5, 1.0, 5.0] {
            let gamma: Vec<f64> = (0..n).map(|_| rng.gamma(shape)).collect();
            assert!((mean(&gamma) - shape).abs() < 5.0 * (shape / n as f64).sqrt(), "shape {shape}");
        }
    }

    #[test]
    fn laplace_draws_have_the_right_quantiles() {
        // P(|x| > t) = e^-t, and the sign is fair: five standard errors of a share p over 1e5 draws are 5
        // sqrt(p (1 - p) / 1e5).
        let mut rng = Rng::new(6);
        let draws: Vec<f64> = (0..100_000).map(|_| rng.laplace()).collect();
        let share = |hit: &dyn Fn(f64) -> bool| draws.iter().filter(|x| hit(**x)).count() as f64 / 1e5;
        assert!((share(&|x| x > 0.0) - 0.5).abs() < 0.008);
        for (t, bound) in [(0.5_f64, 0.0078), (1.0, 0.0077), (3.0, 0.0035)] {
            assert!((share(&|x| x.abs() > t) - (-t).exp()).abs() < bound, "{t}");
        }
    }

    #[test]
    fn positive_stable_draws_have_the_right_laplace_transform() {
        // Five standard errors of a mean of 1e5 numbers in [0, 1] are at most 0.008.
        let mut rng = Rng::new(8);
        for a in [0.3, 0.5, 0.75, 0.95] {
            let draws: Vec<f64> = (0..100_000).map(|_| rng.positive_stable(a)).collect();
            for t in [0.2_f64, 1.0, 3.0] {
                let mean = draws.iter().map(|x| (-t * x).exp()).sum::<f64>() / 1e5;
                assert!((mean - (-t.powf(a)).exp()).abs() < 0.008, "a = {a}, t = {t}: {mean}");
            }
        }
        assert_eq!(rng.positive_stable(1.0), 1.0);
    }

    #[test]
    fn choice_follows_the_weights_and_never_takes_a_zero() {
        let mut rng = Rng::new(5);
        let mut counts = [0_u32; 4];
        (0..40_000).for_each(|_| counts[rng.choice(&[1.0, 0.0, 3.0, 0.0])] += 1);
        // Five standard deviations of a binomial(40000, 1/4) are 433.
        assert!(counts[1] == 0 && counts[3] == 0 && counts[0].abs_diff(10_000) < 433, "{counts:?}");
    }

    #[test]
    fn shuffle_keeps_the_values_and_changes_the_order() {
        let mut values: Vec<u32> = (0..100).collect();
        Rng::new(1).shuffle(&mut values);
        let mut sorted = values.clone();
        sorted.sort_unstable();
        assert!(values != sorted && sorted == (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn derived_streams_differ_from_each_other_and_repeat() {
        let first = |seed, index| Rng::derived(seed, index).next_u64();
        assert_eq!(first(1, 0), first(1, 0));
        assert_ne!(first(1, 0), first(1, 1));
        assert_ne!(first(1, 0), first(2, 0));
        assert_ne!(first(1, 0), Rng::new(1).next_u64());
    }
}
