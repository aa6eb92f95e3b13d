use super::*;

#[test]
fn delta_matches_eighty_digit_arithmetic() {
    // The formula of the module evaluated with 80 decimal digits; all branches and a far tail are met.
    for (epsilon, sigma, delta) in [
        (0.000_1, 20_000.0, 4.245_563_580_243_830_7e-7),
        (0.000_1, 1.0, 0.382_894_069_011_829_15),
        (0.5, 8.0, 1.144_800_228_386_924e-6),
        (1.0, 3.9, 4.649_179_358_875_647e-6),
        (1.0, 4.1, 1.823_637_791_418_563_6e-6),
        (1.0, 5.5, 9.719_401_433_783_052e-10),
        (1.0, 30.0, 8.967_563_100_011_065e-201),
        (3.0, 1.4, 8.729_201_340_491_497e-6),
        (10.0, 0.5, 9.940_202_816_118_153e-6),
        (50.0, 0.12, 0.026_135_969_506_768_383),
        (50.0, 0.17, 6.831_254_055_026_292e-9),
        (1e-6, 1e6, 8.331_551_224_542_541e-8),
        (20.0, 0.05, 1.0),
    ] {
        let found = gaussian_delta(epsilon, sigma);
        assert!((found / delta - 1.0).abs() < 1e-12, "({epsilon}, {sigma}): {found:e} for {delta:e}");
    }
}

#[test]
fn delta_falls_with_sigma_and_with_epsilon_across_its_branches() {
    let sigmas: Vec<f64> = (-40..80).map(|i| 1.1f64.powi(i)).collect();
    for epsilon in [0.0, 1e-4, 0.1, 1.0, 10.0, 50.0] {
        for pair in sigmas.windows(2) {
            let (wide, narrow) = (gaussian_delta(epsilon, pair[1]), gaussian_delta(epsilon, pair[0]));
            assert!(wide < narrow || narrow == 0.0 || wide == 1.0, "{epsilon} {pair:?}: {wide:e} {narrow:e}");
            assert!(gaussian_delta(epsilon + 0.01, pair[0]) <= narrow, "{epsilon} {pair:?}");
        }
    }
}

#[test]
fn sigma_has_the_seven_known_values_of_the_analytic_mechanism() {
    for (epsilon, delta, sigma) in [
        (0.1, 1e-5, 30.749566),
        (0.5, 1e-6, 8.057618),
        (1.0, 1e-5, 3.730632),
        (1.0, 1e-8, 5.100309),
        (3.0, 1e-5, 1.390593),
        (10.0, 1e-6, 0.541087),
        (0.01, 0.1, 3.809444),
    ] {
        let found = gaussian_sigma(epsilon, delta);
        assert!((found - sigma).abs() < 1e-6, "({epsilon}, {delta}): {found} for {sigma}");
    }
}

#[test]
fn sigma_keeps_its_promise_and_is_not_larger_than_needed() {
    for epsilon in [1e-4, 0.01, 0.3, 1.0, 4.0, 50.0] {
        let mut before = f64::INFINITY;
        for delta in [1e-100, 1e-12, 1e-8, 1e-3, 0.1, 0.5, 0.99] {
            let sigma = gaussian_sigma(epsilon, delta);
            assert!(gaussian_delta(epsilon, sigma) <= delta, "({epsilon}, {delta}): {sigma}");
            assert!(gaussian_delta(epsilon, sigma * (1.0 - 1e-6)) > delta, "({epsilon}, {delta}): {sigma}");
            assert!(sigma < before, "({epsilon}, {delta}): {sigma} is not below {before}");
            assert!(gaussian_sigma(1.01 * epsilon, delta) <= sigma, "({epsilon}, {delta})");
            before = sigma;
        }
    }
}

#[test]
fn the_classical_formula_is_not_private_at_a_large_epsilon() {
    let classical = (2.0 * (1.25f64 / 1e-6).ln()).sqrt() / 10.0;
    assert!((classical - 0.529_880).abs() < 1e-6);
    assert!(gaussian_delta(10.0, classical) > 1.5e-6);
    assert!(gaussian_sigma(10.0, 1e-6) > classical);
}

#[test]
fn unusable_promises_get_infinite_noise_or_no_promise() {
    for (epsilon, delta) in [
        (-1.0, 0.1),
        (f64::NAN, 0.1),
        (f64::INFINITY, 0.1),
        (1.0, 0.0),
        (1.0, 1.0),
        (1.0, f64::NAN),
        (1.0, -1e-9),
    ] {
        assert_eq!(gaussian_sigma(epsilon, delta), f64::INFINITY, "({epsilon}, {delta})");
    }
    assert_eq!(gaussian_delta(1.0, 0.0), 1.0);
    assert_eq!(gaussian_delta(1.0, f64::NAN), 1.0);
    assert_eq!(gaussian_delta(f64::NAN, 1.0), 1.0);
    assert_eq!(gaussian_delta(0.0, f64::INFINITY), 0.0);
    assert_eq!(gaussian_delta(1e308, 1e308), 0.0);
    assert_eq!(gaussian_delta(1.0, 1e-310), 1.0);
    // Epsilon 0 is the total variation of two Gaussians, 2 Phi(1 / (2 sigma)) - 1; at sigma = 1/2 it is P(|N|
    // < 1).
    assert!((gaussian_delta(0.0, 0.5) - 0.682_689_492_137_085_9).abs() < 1e-14);
}

/// The discrete Gaussian's probabilities on -reach..=reach.
fn discrete(sigma: f64, reach: i64) -> Vec<f64> {
    let weights: Vec<f64> = (-reach..=reach).map(|x| (-0.5 * (x as f64 / sigma).powi(2)).exp()).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|w| w / total).collect()
}

#[test]
fn the_total_variation_of_discrete_and_rounded_gaussian_obeys_its_bound() {
    for sigma in [1.0, 2.0, 7.5, 1024.0, 5000.0] {
        let reach = (12.0 * sigma) as i64;
        let mut distance = 0.0;
        for (p, x) in discrete(sigma, reach).into_iter().zip(-reach..) {
            // a(x) by Simpson's rule.
            let integrand = |u: f64| (-(2.0 * x as f64 * u + u * u) / (2.0 * sigma * sigma)).exp();
            let simpson: f64 = (0..=40)
                .map(|i| {
                    let weight = if i == 0 || i == 40 { 1.0 } else { f64::from(2 + 2 * (i % 2)) };
                    weight * integrand(f64::from(i) / 40.0 - 0.5)
                })
                .sum();
            let a = simpson / 120.0;
            let density = (-0.5 * (x as f64 / sigma).powi(2)).exp() / (std::f64::consts::TAU.sqrt() * sigma);
            assert!(a >= 1.0 - 1.0 / (24.0 * sigma * sigma) - 1e-13, "sigma {sigma}, x = {x}: a = {a}");
            distance += 0.5 * (p - density * a).abs();
        }
        let scaled = distance * sigma * sigma;
        assert!(scaled <= 1.0 / 23.0, "sigma {sigma}: total variation {scaled} / sigma^2");
        // And it is what the leading term says, 0.0202, so the bound is about twice the truth.
        let tolerance = if sigma > 1000.0 { 1e-4 } else { 4e-3 };
        assert!((scaled - 0.0202).abs() < tolerance, "sigma {sigma}: {scaled}");
    }
}

#[test]
fn the_discrete_mechanism_keeps_its_promise_when_its_delta_is_summed_exactly() {
    // One entry, neighbours `shift` apart: the exact delta is the sum of the positive parts of p(x) -
    // e^epsilon p(x - shift).
    for (epsilon, delta, shift) in
        [(0.5f64, 1e-5, 1000i64), (1.0, 1e-6, 4096), (4.0, 1e-4, 3000), (0.1, 0.01, 500)]
    {
        let sigma = discrete_gaussian_sigma(epsilon, delta, (shift * shift) as u128, 1).unwrap();
        let reach = 12 * sigma as i64 + shift;
        let p = discrete(sigma as f64, reach);
        let exact: f64 = (shift as usize..p.len())
            .map(|i| (p[i - shift as usize] - epsilon.exp() * p[i]).max(0.0))
            .sum::<f64>()
            + p[p.len() - shift as usize..].iter().sum::<f64>();
        assert!(exact <= delta, "({epsilon}, {delta}, {shift}): sigma {sigma} spends {exact:e}");
        // Not wasteful either: the proof gives away (1 + e^epsilon) / (23 sigma^2), and rounding up one step
        // of sigma.
        let given = (1.0 + epsilon.exp()) / (23.0 * (sigma * sigma) as f64);
        assert!(
            exact + given > 0.97 * delta,
            "({epsilon}, {delta}, {shift}): sigma {sigma} spends {exact:e} only"
        );
    }
}

#[test]
fn the_integer_sigma_is_the_continuous_one_on_the_real_grid() {
    // 2,000 entries in [-1, 1] on the grid of 2^-24, as a sketch of 1,000 frequencies has.
    let l2_squared = 1000u128 << 48;
    for (epsilon, delta) in [(0.01, 1e-8), (1.0, 1e-6), (10.0, 1e-6)] {
        let sigma = discrete_gaussian_sigma(epsilon, delta, l2_squared, 2000).unwrap() as f64;
        let continuous = gaussian_sigma(epsilon, delta) * (l2_squared as f64).sqrt();
        let excess = sigma / continuous - 1.0;
        assert!((0.0..1e-6).contains(&excess), "({epsilon}, {delta}): {excess:e} above the continuous need");
    }
    // Doubling the entries doubles what the proof gives away, so sigma cannot fall.
    let few = discrete_gaussian_sigma(12.0, 1e-9, l2_squared, 2000).unwrap();
    let many = discrete_gaussian_sigma(12.0, 1e-9, l2_squared, 200_000_000).unwrap();
    assert!(many > few, "{many} {few}");
}

#[test]
fn promises_that_cannot_be_met_on_the_grid_are_refused() {
    let ask = |epsilon, delta, l2_squared, entries| {
        discrete_gaussian_sigma(epsilon, delta, l2_squared, entries).unwrap_err().to_string()
    };
    let grid = 1000u128 << 48;
    assert!(ask(0.0, 1e-6, grid, 10).contains("(epsilon): 0 is not a positive number"));
    assert!(ask(f64::NAN, 1e-6, grid, 10).contains("NaN is not a positive"));
    assert!(ask(1.0, 0.0, grid, 10).contains("(delta): 0 is not between 0 and 1"));
    assert!(ask(1.0, 1.0, grid, 10).contains("(delta): 1 is not between"));
    assert!(ask(1.0, 1e-6, 0, 10).contains("nothing to protect"));
    assert!(ask(1.0, 1e-6, grid, 0).contains("nothing to protect"));
    assert!(ask(1.0, 1e-3, 1, 1).contains("below 1024 steps"));
    assert!(ask(1e-9, 1e-9, grid, 10).contains("above 2^50 steps"));
    // e^epsilon is infinite: nothing can be proven, which must not look like a promise.
    assert!(ask(1000.0, 1e-6, grid, 10).contains("above 2^50 steps"));
    assert!(ask(1.0, 1e-6, u128::MAX, 10).contains("above 2^50 steps"));
}

#[test]
fn the_variance_of_laplace_noise_is_right_at_every_scale() {
    let ratio = |numerator, denominator| Ratio { numerator, denominator };
    // Against the sum of x^2 p(x).
    for scale in [ratio(1, 3), ratio(1, 1), ratio(3, 2), ratio(50, 1)] {
        let q = (-(scale.denominator as f64) / scale.numerator as f64).exp();
        let sum: f64 =
            (1..4000).map(|x| 2.0 * f64::from(x * x) * q.powi(x)).sum::<f64>() * (1.0 - q) / (1.0 + q);
        assert!((laplace_variance(scale) / sum - 1.0).abs() < 1e-12, "{scale:?}");
    }
    let t = (1u64 << 53) as f64;
    assert!((laplace_variance(ratio(1 << 53, 1)) / (2.0 * t * t) - 1.0).abs() < 1e-14);
    assert_eq!(laplace_variance(ratio(1, u64::MAX)), 0.0);
}
