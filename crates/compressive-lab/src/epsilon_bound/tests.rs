use super::*;
use compressive_data::Rng;

/// Scores of releases of a number: `shift` plus noise.
fn releases(n: usize, shift: f64, mut noise: impl FnMut() -> f64) -> Vec<f64> {
    (0..n).map(|_| shift + noise()).collect()
}

/// The bound for Gaussian noise of a standard deviation on answers at distance 1.
fn gaussian_bound(n: usize, std: f64, delta: f64, seed: u64) -> f64 {
    let mut rng = Rng::new(seed);
    let a = releases(n, 0.0, || std * rng.normal());
    let b = releases(n, 1.0, || std * rng.normal());
    epsilon_lower_bound(&a, &b, delta, 0.001).expect("valid")
}

fn laplace_bound(n: usize, scale: f64, seed: u64) -> f64 {
    let mut rng = Rng::new(seed);
    let a = releases(n, 0.0, || scale * rng.laplace());
    let b = releases(n, 1.0, || scale * rng.laplace());
    epsilon_lower_bound(&a, &b, 0.0, 0.001).expect("valid")
}

#[test]
fn clopper_pearson_gives_the_quantiles_of_scipy() {
    // scipy.stats.beta.ppf(error / 2, s, n - s + 1) and beta.ppf(1 - error / 2, s + 1, n - s).
    let table = [
        (0, 10, 0.05, 0.0, 0.3084971078187607),
        (1, 10, 0.05, 0.0025285785444617848, 0.4450161170281954),
        (5, 10, 0.01, 0.12831055393508325, 0.8716894460649167),
        (10, 10, 0.05, 0.6915028921812392, 1.0),
        (3, 7, 1e-6, 0.0024323409050613647, 0.9889946245885517),
        (250, 50_000, 0.001, 0.004026402317222505, 0.006125093457431495),
        (25_000, 50_000, 0.0005, 0.4922073041298301, 0.50779269587017),
        (1, 1_000_000, 0.001, 5.001250415572354e-10, 9.998632510311352e-06),
        (999_990, 1_000_000, 0.001, 0.9999747446332641, 0.9999973009583907),
    ];
    for (successes, trials, error, low, high) in table {
        let found = clopper_pearson(successes, trials, error);
        let close = |found: f64, expected: f64| (found - expected).abs() <= 1e-9 * expected;
        assert!(close(found.0, low) && close(found.1, high), "{successes} of {trials}: {found:?}");
    }
}

#[test]
fn clopper_pearson_answers_odd_questions_with_what_is_known() {
    assert_eq!(clopper_pearson(0, 0, 0.05), (0.0, 1.0));
    assert_eq!(clopper_pearson(3, 9, 0.0), (0.0, 1.0));
    assert_eq!(clopper_pearson(3, 9, f64::NAN), (0.0, 1.0));
    assert_eq!(clopper_pearson(12, 9, 0.1), clopper_pearson(9, 9, 0.1));
}

#[test]
fn the_bound_on_laplace_noise_is_close_to_its_epsilon_and_below() {
    // False alarm: at most 0.001 per seed by construction.
    for seed in 0..5 {
        for epsilon in [0.5, 1.0, 2.0] {
            let bound = laplace_bound(100_000, 1.0 / epsilon, seed);
            assert!(bound <= epsilon && bound > 0.9 * epsilon - 0.02, "{epsilon}: {bound}");
        }
        let bound = laplace_bound(100_000, 1.0, 100 + seed);
        assert!(bound < 1.0 && bound > 0.9, "{bound}");
    }
}

#[test]
fn laplace_noise_of_too_small_a_scale_is_caught() {
    for seed in 0..5 {
        assert!(laplace_bound(100_000, 1.0 / 1.2, seed) > 1.0);
    }
}

#[test]
fn the_bound_on_analytic_gaussian_noise_is_below_its_epsilon() {
    // (epsilon, delta, sigma) of the analytic Gaussian mechanism at sensitivity 1, and what 1e5 releases can
    // show of it at best.
    for (epsilon, delta, std, shown) in
        [(1.0, 1e-5, 3.730632, 0.35), (1.0, 1e-2, 1.877876, 0.75), (3.0, 1e-5, 1.390593, 1.4)]
    {
        for seed in 0..5 {
            let bound = gaussian_bound(100_000, std, delta, seed);
            assert!(bound < epsilon && bound > shown, "({epsilon}, {delta}): {bound}");
        }
    }
}

#[test]
fn gaussian_noise_too_small_by_the_square_root_of_two_is_caught_at_a_large_delta() {
    // At delta = 0.01 the event that the mechanism is tight for is common enough to be seen; the exact
    // epsilon of this noise is 1.5, of which 1.3 can be shown.
    for seed in 0..5 {
        let bound = gaussian_bound(100_000, 1.877876 / 2.0_f64.sqrt(), 1e-2, seed);
        assert!(bound > 1.2, "{bound}");
    }
}

#[test]
fn gaussian_noise_of_half_the_scale_is_caught_even_at_a_small_delta() {
    for seed in 0..5 {
        let bound = gaussian_bound(200_000, 3.730632 / 2.0, 1e-5, seed);
        assert!(bound > 1.0, "{bound}");
    }
}

#[test]
fn equal_distributions_show_nothing_more_often_than_the_error_allows() {
    // At error = 0.2 over 200 seeds the count of false alarms is at most binomial(200, 0.2): 40, and 5
    // deviations are 28 more. In both orders and on discrete scores.
    let mut alarms = 0;
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        let mut draw = || (0..500).map(|_| rng.below(6) as f64).collect::<Vec<f64>>();
        let (a, b) = (draw(), draw());
        alarms += usize::from(epsilon_lower_bound(&a, &b, 0.0, 0.2).expect("valid") > 0.0);
    }
    assert!(alarms < 68, "{alarms}");
}

#[test]
fn both_orders_of_the_tables_are_tried() {
    // b is uniform on 0..4, a never shows 3: only the event that a cannot have tells the two apart well, and
    // it needs b on top.
    let a: Vec<f64> = (0..30_000).map(|i| f64::from(i % 3)).collect();
    let b: Vec<f64> = (0..40_000).map(|i| f64::from(i % 4)).collect();
    for bound in [epsilon_lower_bound(&a, &b, 0.0, 0.001), epsilon_lower_bound(&b, &a, 0.0, 0.001)] {
        // 5000 of 20,000 against 0 of 15,000: ln(0.24 / 5.5e-4) = 6.1.
        assert!(bound.clone().expect("valid") > 5.5, "{bound:?}");
    }
}

#[test]
fn audits_that_prove_nothing_are_refused() {
    let scores = [0.0, 1.0, 2.0];
    let refused =
        |a: &[f64], b: &[f64], delta, error| epsilon_lower_bound(a, b, delta, error).expect_err("refused");
    assert!(matches!(refused(&scores, &[1.0], 0.0, 0.1), Error::TooFewRows { rows: 1, needed: 2, .. }));
    assert!(matches!(refused(&[0.0, f64::NAN], &scores, 0.0, 0.1), Error::Parameter { name: "score", .. }));
    for delta in [-0.1, 1.0, f64::NAN] {
        assert!(matches!(refused(&scores, &scores, delta, 0.1), Error::Parameter { name: "delta", .. }));
    }
    for error in [0.0, 1.0, f64::NAN] {
        assert!(matches!(refused(&scores, &scores, 0.0, error), Error::Parameter { name: "error", .. }));
    }
    assert_eq!(epsilon_lower_bound(&scores, &scores, 0.0, 0.1), Ok(0.0));
}
