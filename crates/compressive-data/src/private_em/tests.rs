use super::*;
use crate::em::{EmParams, em_from};
use crate::generate;
use crate::metric::log_likelihood;
use crate::rows::Sample;

/// Rows of an overlapping mixture, scaled into the unit ball.
fn in_the_ball(n_rows: usize) -> Sample {
    let truth = generate::unequal(3, 4, 1.5, &mut Rng::new(2)).expect("valid");
    let mut sample = truth.sample(n_rows, &mut Rng::new(3)).expect("valid");
    let largest = sample.values.chunks(4).map(norm).fold(0.0, f64::max);
    sample.values.iter_mut().for_each(|value| *value /= largest);
    sample
}

#[test]
fn without_noise_it_is_expectation_maximisation_from_the_same_start() {
    let sample = in_the_ball(5000);
    let rows = sample.rows().expect("rows");
    for composition in [Composition::PerComponent, Composition::Joint] {
        let params = PrivateEmParams {
            epsilon: 1e20,
            iterations: 4,
            composition,
            weight_floor: 1e-6,
            variance_floor: 1e-9,
            ..Default::default()
        };
        let fit = private_em(rows, 3, &params).expect("fit");
        let plain =
            EmParams { max_iterations: 4, tolerance: 0.0, variance_floor: 1e-9, ..Default::default() };
        let exact = em_from(rows, &fit.info.start, &plain).expect("fit").mixture;
        let all = |mixture: &Mixture| [&mixture.weights[..], &mixture.means, &mixture.covariances].concat();
        for (private, plain) in all(&fit.mixture).iter().zip(all(&exact)) {
            assert!((private - plain).abs() < 1e-8, "{private} {plain}");
        }
        assert!(fit.mixture != fit.info.start);
    }
}

#[test]
fn noise_on_means_and_variances_has_the_stated_scale() {
    // One component: its weight is 1 whatever the noise, so that the sums can be read off the mixture.
    let sample = in_the_ball(300);
    let rows = sample.rows().expect("rows");
    let sum =
        |power: i32, j: usize| rows.values().iter().skip(j).step_by(4).map(|x| x.powi(power)).sum::<f64>();
    let exact: Vec<[f64; 2]> = (0..4).map(|j| [sum(1, j), sum(2, j)]).collect();
    let draws = 1000;
    let (mut first, mut second, mut stds) = (0.0, 0.0, [0.0; 3]);
    for seed in 0..draws {
        let params = PrivateEmParams {
            epsilon: 200.0,
            iterations: 1,
            variance_floor: 1e-12,
            seed,
            threads: 1,
            ..Default::default()
        };
        let fit = private_em(rows, 1, &params).expect("fit");
        for (j, exact) in exact.iter().enumerate() {
            let (mean, variance) = (fit.mixture.means[j], fit.mixture.covariances[j]);
            first += (300.0 * mean - exact[0]).powi(2) / (4 * draws) as f64;
            second += (300.0 * (variance + mean * mean) - exact[1]).powi(2) / (4 * draws) as f64;
        }
        stds = fit.info.noise_stds;
    }
    // rho: sqrt(ln 1e7 + 200) - sqrt(ln 1e7) = 10.68622 squared, over three releases; sigma = Delta sqrt(3 /
    // (2 rho)).
    let unit = (3.0_f64 / 2.0).sqrt() / 10.686_22;
    for (std, sensitivity) in stds.iter().zip([SQRT_2, 2.0, SQRT_2]) {
        assert!((std / (unit * sensitivity) - 1.0).abs() < 1e-4, "{stds:?}");
    }
    // Five standard errors of a variance over 4000 draws: 5 sqrt(2 / 4000) = 0.112.
    assert!((first / stds[1].powi(2) - 1.0).abs() < 0.112, "{first} {stds:?}");
    assert!((second / stds[2].powi(2) - 1.0).abs() < 0.112, "{second} {stds:?}");
}

#[test]
fn noise_on_weights_has_the_stated_scale_and_falls_with_joint_composition() {
    // Two far components of 500 rows each: w = (500 + a) / (1000 + a + b) moves by (a - b) / 2000.
    let values: Vec<f64> =
        (0..1000).map(|i| if i % 2 == 0 { 0.8 } else { -0.8 } + 1e-3 * f64::from(i % 7)).collect();
    let rows = Rows::new(&values, 1).expect("rows");
    let start = Mixture {
        dim: 1,
        weights: vec![0.5; 2],
        means: vec![0.8, -0.8],
        covariances: vec![1e-3; 2],
        shape: Shape::Diagonal,
    };
    let mut stds = Vec::new();
    for composition in [Composition::PerComponent, Composition::Joint] {
        let draws = 2000;
        let (mut square, mut std) = (0.0, 0.0);
        for seed in 0..draws {
            let params = PrivateEmParams {
                epsilon: 5.0,
                iterations: 1,
                composition,
                seed,
                threads: 1,
                ..Default::default()
            };
            let fit = private_em_from(rows, &start, &params).expect("fit");
            square += (2000.0 * (fit.mixture.weights[0] - 0.5)).powi(2) / f64::from(draws as u32);
            std = fit.info.noise_stds[0];
        }
        // Five standard errors of a variance over 2000 draws are 0.158; the second order adds less than 0.01.
        assert!((square / (2.0 * std * std) - 1.0).abs() < 0.168, "{square} {std}");
        stds.push(std);
    }
    assert!((stds[0] / stds[1] - (5.0_f64 / 3.0).sqrt()).abs() < 1e-12);
}

#[test]
fn no_pair_of_rows_changes_the_sums_by_more_than_the_sensitivities() {
    // Random rows of the ball and responsibilities, pushed to the extremes where the bounds are attained.
    let (k, dim) = (3, 4);
    let mut rng = Rng::new(5);
    let mut largest = [0.0_f64; 3];
    let draw = |rng: &mut Rng| {
        let mut row = ball_point(dim, rng);
        match rng.below(3) {
            0 => {
                row = vec![0.0; dim];
                row[rng.below(dim)] = if rng.below(2) == 0 { 1.0 } else { -1.0 };
            }
            1 => {
                let length = norm(&row);
                row.iter_mut().for_each(|value| *value /= length);
            }
            _ => {}
        }
        let mut share = vec![0.0; k];
        share[rng.below(k)] = 1.0;
        let share = if rng.below(2) == 0 { share } else { rng.dirichlet(1.0, k) };
        let terms = |power: i32| -> Vec<f64> {
            share.iter().flat_map(|r| row.iter().map(move |x| r * x.powi(power))).collect()
        };
        [share.clone(), terms(1), terms(2)]
    };
    for _ in 0..20_000 {
        let (one, other) = (draw(&mut rng), draw(&mut rng));
        for (most, (a, b)) in largest.iter_mut().zip(one.iter().zip(&other)) {
            *most = most.max(norm(&a.iter().zip(b).map(|(x, y)| x - y).collect::<Vec<_>>()));
        }
    }
    for (most, bound) in largest.iter().zip(SENSITIVITIES) {
        assert!(*most <= bound * (1.0 + 1e-12) && *most > 0.999 * bound, "{largest:?}");
    }
}

#[test]
fn a_valid_mixture_comes_out_whatever_the_noise_and_the_threads() {
    let sample = in_the_ball(2000);
    let rows = sample.rows().expect("rows");
    for (seed, epsilon) in [(1, 1e-4), (2, 0.1), (3, 10.0)] {
        let fit = |threads| {
            let params = PrivateEmParams { epsilon, seed, threads, iterations: 10, ..Default::default() };
            private_em(rows, 6, &params).expect("fit")
        };
        let alone = fit(1);
        alone.mixture.validate().expect("a mixture");
        assert!(alone.mixture.means.chunks(4).all(|mean| norm(mean) <= 1.0 + 1e-12));
        assert!(log_likelihood(rows, &alone.mixture).expect("valid").is_finite());
        assert_eq!(fit(3), alone);
    }
}

#[test]
fn the_cost_of_zero_concentrated_privacy_solves_its_equation() {
    for (epsilon, delta) in [(0.01, 1e-7), (1.0, 1e-5), (50.0, 1e-9)] {
        let rho = zero_concentrated_cost(epsilon, delta);
        let back = rho + 2.0 * (rho * (1.0_f64 / delta).ln()).sqrt();
        assert!((back / epsilon - 1.0).abs() < 1e-12, "{epsilon} {back}");
    }
}

#[test]
fn bad_parameters_and_rows_outside_the_ball_are_refused() {
    let values = [0.6, 0.8, 0.0, 0.1];
    let rows = Rows::new(&values, 2).expect("rows");
    let name = |rows, params: &PrivateEmParams| match private_em(rows, 1, params).expect_err("refused") {
        Error::Parameter { name, .. } => name,
        other => panic!("{other}"),
    };
    let given = PrivateEmParams::default();
    assert!(private_em(rows, 1, &given).is_ok());
    assert_eq!(name(rows, &PrivateEmParams { epsilon: 0.0, ..given.clone() }), "epsilon");
    assert_eq!(name(rows, &PrivateEmParams { delta: 0.0, ..given.clone() }), "delta");
    assert_eq!(name(rows, &PrivateEmParams { delta: f64::NAN, ..given.clone() }), "delta");
    assert_eq!(name(rows, &PrivateEmParams { iterations: 0, ..given.clone() }), "iterations");
    let outside = [0.6, 0.81];
    assert_eq!(name(Rows::new(&outside, 2).expect("rows"), &given), "largest norm of a row");
}
