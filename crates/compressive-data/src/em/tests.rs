use super::*;
use crate::generate;
use crate::metric::{match_centers, symmetric_kl};
use crate::mixture::Truth;

fn planted() -> Truth {
    generate::unequal(4, 3, 2.0, &mut Rng::new(11)).expect("valid")
}

#[test]
fn a_planted_diagonal_mixture_is_recovered_at_the_statistical_limit() {
    let truth = planted();
    let sample = truth.sample(40_000, &mut Rng::new(1)).expect("valid");
    let rows = sample.rows().expect("rows");
    let fit = em(rows, 4, &EmParams { n_init: 4, ..Default::default() }).expect("fit");
    let matched = match_centers(&truth.means, &fit.mixture.means, 3).expect("valid");
    assert!(matched.rms < 0.05, "{matched:?}");
    for (component, &partner) in matched.partner.iter().enumerate() {
        assert!((fit.mixture.weights[partner] - truth.weights[component]).abs() < 0.02);
        for (fitted, planted) in fit.mixture.covariance(partner).iter().zip(truth.covariance(component)) {
            assert!((fitted / planted - 1.0).abs() < 0.1, "{fitted} {planted}");
        }
    }
    // The divergence of the maximum-likelihood estimate is about p / n = 27 / 40,000 with relative deviation
    // sqrt(2 / p); four are allowed.
    let kl = symmetric_kl(&truth, &fit.mixture, 100_000, 2).expect("valid").value;
    assert!(kl < 27.0 / 40_000.0 * 2.1, "{kl}");
    assert!(fit.log_likelihood >= log_likelihood(rows, &truth).expect("valid"));
}

#[test]
fn a_planted_full_mixture_is_recovered() {
    let truth = Mixture {
        dim: 2,
        weights: vec![0.3, 0.7],
        means: vec![0.0, 0.0, 1.0, 4.0],
        covariances: vec![2.0, 1.5, 1.5, 2.0, 1.0, -0.8, -0.8, 1.0],
        shape: Shape::Full,
    };
    let sample = truth.sample(30_000, &mut Rng::new(2)).expect("valid");
    let rows = sample.rows().expect("rows");
    let fit = |shape| em(rows, 2, &EmParams { shape, n_init: 3, ..Default::default() }).expect("fit");
    let (full, diagonal) = (fit(Shape::Full), fit(Shape::Diagonal));
    let kl = symmetric_kl(&truth, &full.mixture, 100_000, 2).expect("valid").value;
    assert!(kl < 11.0 / 30_000.0 * 2.8, "{kl}");
    assert!(full.log_likelihood > diagonal.log_likelihood + 0.1);
}

#[test]
fn the_likelihood_never_falls_even_at_the_floor() {
    let mut rng = Rng::new(3);
    // A column of few values and a column that copies another drive variances and eigenvalues to the floor.
    let values: Vec<f64> = (0..1500)
        .flat_map(|_| {
            let x = rng.normal();
            [x, x, rng.below(3) as f64]
        })
        .collect();
    let rows = Rows::new(&values, 3).expect("rows");
    for shape in [Shape::Diagonal, Shape::Full] {
        for seed in 0..4 {
            let params = EmParams {
                shape,
                seed,
                n_init: 2,
                tolerance: 0.0,
                variance_floor: 1e-3,
                ..Default::default()
            };
            let fit = em(rows, 5, &params).expect("fit");
            let history = &fit.info.history;
            assert!(history.len() > 10);
            assert!(
                history.windows(2).all(|pair| pair[1] >= pair[0] - 1e-9),
                "{shape:?} {seed}: {history:?}"
            );
            assert_eq!(fit.log_likelihood, log_likelihood(rows, &fit.mixture).expect("valid"));
            fit.mixture.validate().expect("a mixture");
        }
    }
}

#[test]
fn the_best_restart_is_kept_and_finished() {
    let truth = generate::random_variances(6, 2, &mut Rng::new(4)).expect("valid");
    let sample = truth.sample(5000, &mut Rng::new(5)).expect("valid");
    let fit = em(sample.rows().expect("rows"), 6, &EmParams::default()).expect("fit");
    assert_eq!(fit.info.restarts.len(), 10);
    let best = fit.info.restarts.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    assert!(fit.log_likelihood >= best);
    assert!(fit.info.restarts.iter().any(|&value| value < best - 1e-4), "the restarts should differ");
}

#[test]
fn a_full_fit_is_never_below_the_diagonal_one() {
    let mut caught = 0;
    for seed in 0..6 {
        let truth = generate::random_variances(8, 4, &mut Rng::new(seed)).expect("valid");
        let sample = truth.sample(1500, &mut Rng::new(seed + 100)).expect("valid");
        let rows = sample.rows().expect("rows");
        let fit = |shape| em(rows, 8, &EmParams { shape, n_init: 1, ..Default::default() }).expect("fit");
        let (full, diagonal) = (fit(Shape::Full), fit(Shape::Diagonal));
        assert!(full.log_likelihood >= diagonal.log_likelihood, "seed {seed}");
        assert_eq!(full.info.restarts.len(), 2);
        caught += u32::from(full.info.restarts[1] > full.info.restarts[0]);
    }
    assert!(caught > 0, "the extra restart should win at least once");
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    let sample = planted().sample(20_000, &mut Rng::new(6)).expect("valid");
    let rows = sample.rows().expect("rows");
    for shape in [Shape::Diagonal, Shape::Full] {
        let fit = |threads| {
            let params = EmParams {
                shape,
                threads,
                n_init: 2,
                restart_iterations: 5,
                max_iterations: 5,
                ..Default::default()
            };
            em(rows, 4, &params).expect("fit")
        };
        assert_eq!(fit(1), fit(3));
    }
}

#[test]
fn one_component_is_the_mean_and_covariance_of_the_rows() {
    let values = [1.0e9, 0.0, 1.0e9 + 2.0, 2.0, 1.0e9 + 4.0, 1.0];
    let rows = Rows::new(&values, 2).expect("rows");
    let fit = em(rows, 1, &EmParams { shape: Shape::Full, n_init: 1, ..Default::default() }).expect("fit");
    assert_eq!(fit.mixture.means, [1.0e9 + 2.0, 1.0]);
    let expected = [8.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0];
    for (value, exact) in fit.mixture.covariances.iter().zip(expected) {
        assert!((value - exact).abs() < 1e-12, "{:?}", fit.mixture.covariances);
    }
    assert_eq!(fit.info.stop, Stop::Converged);
}

#[test]
fn starting_at_the_truth_ends_near_it() {
    let truth = planted();
    let sample = truth.sample(20_000, &mut Rng::new(7)).expect("valid");
    let rows = sample.rows().expect("rows");
    let fit = em_from(rows, &truth, &EmParams::default()).expect("fit");
    assert!(fit.info.history[0] == log_likelihood(rows, &truth).expect("valid"));
    assert!(symmetric_kl(&truth, &fit.mixture, 50_000, 1).expect("valid").value < 27.0 / 20_000.0 * 2.1);
}

#[test]
fn bad_input_is_refused() {
    let rows = Rows::new(&[1.0, 2.0, 3.0, 4.0], 2).expect("rows");
    let params = EmParams::default();
    assert!(matches!(em(rows, 3, &params), Err(Error::TooFewRows { rows: 2, needed: 3, .. })));
    assert!(matches!(em(rows, 0, &params), Err(Error::Parameter { name: "k", .. })));
    let zero = EmParams { variance_floor: 0.0, ..params.clone() };
    assert!(matches!(em(rows, 1, &zero), Err(Error::Parameter { name: "variance_floor", .. })));
    let same = Rows::new(&[3.0; 8], 2).expect("rows");
    assert!(matches!(em(same, 2, &params), Err(Error::Parameter { name: "variance of the rows", .. })));
    let narrow = generate::separated(2, 3, 1.0, &mut Rng::new(1)).expect("valid");
    assert!(matches!(em_from(rows, &narrow, &params), Err(Error::Shape { .. })));
}
