use super::*;
use crate::generate;
use crate::kmeans::{KMeansParams, lloyd};
use crate::rows::Sample;

fn clusters(n_rows: usize) -> Sample {
    let truth = generate::separated(5, 3, 2.5, &mut Rng::new(3)).expect("valid");
    truth.sample(n_rows, &mut Rng::new(4)).expect("valid")
}

/// The smallest box around the rows.
fn range(sample: &Sample) -> Bounds {
    let column = |j: usize| sample.values.iter().skip(j).step_by(sample.dim).copied();
    Bounds {
        low: (0..sample.dim).map(|j| column(j).fold(f64::INFINITY, f64::min)).collect(),
        high: (0..sample.dim).map(|j| column(j).fold(f64::NEG_INFINITY, f64::max)).collect(),
    }
}

#[test]
fn without_noise_it_is_lloyd_from_the_same_start() {
    let sample = clusters(10_000);
    let rows = sample.rows().expect("rows");
    for start in [PrivateStart::Uniform, PrivateStart::Spread] {
        let mut compared = 0;
        for seed in 0..10 {
            let params =
                PrivateKMeansParams { epsilon: 1e9, iterations: Some(4), start, seed, ..Default::default() };
            let fit = private_kmeans(rows, 5, &range(&sample), &params).expect("fit");
            // Lloyd moves centres without rows, so that the two can be compared only where there were none.
            if fit.info.kept > 0 {
                continue;
            }
            let plain = KMeansParams { max_iterations: 4, tolerance: 0.0, ..Default::default() };
            let exact = lloyd(rows, &fit.info.start, &plain).expect("fit");
            for (private, plain) in fit.centers.iter().zip(&exact.centers) {
                assert!((private - plain).abs() < 1e-6, "{start:?}: {private} {plain}");
            }
            compared += 1;
        }
        assert!(compared >= 2, "{start:?}: {compared} of 10 starts had rows for all centres");
    }
}

#[test]
fn noise_has_the_stated_scales() {
    // One centre, one iteration: (S + a) / (n + b) = S/n + a/n - (S/n) b/n to first order in 1/n. With rows
    // at half the half-width the two noises count alike.
    let (n, epsilon) = (100_000, 2.0);
    let values = vec![3.0; 2 * n];
    let rows = Rows::new(&values, 2).expect("rows");
    let bounds = Bounds { low: vec![0.0, -9.0], high: vec![4.0, 5.0] };
    // In half-widths: x = (3 - 2) / 2 and (3 + 2) / 7.
    let places = [0.5, 5.0 / 7.0];
    let draws = 1000;
    let (mut squares, mut expected) = ([0.0; 2], [0.0; 2]);
    for seed in 0..draws {
        let params =
            PrivateKMeansParams { epsilon, iterations: Some(1), seed, threads: 1, ..Default::default() };
        let fit = private_kmeans(rows, 1, &bounds, &params).expect("fit");
        let ratio = (2.0_f64 * 0.45 * 0.45).cbrt();
        let (sum, count) = (epsilon / (2.0 + ratio), epsilon * ratio / (2.0 + ratio));
        assert!((fit.info.count_scale * count - 1.0).abs() < 1e-12);
        for j in 0..2 {
            let half_width = [2.0, 7.0][j];
            assert!((fit.info.sum_scales[j] * sum / half_width - 1.0).abs() < 1e-12);
            squares[j] += ((fit.centers[j] - 3.0) / half_width * n as f64).powi(2) / draws as f64;
            expected[j] = 2.0 / (sum * sum) + 2.0 * places[j] * places[j] / (count * count);
        }
    }
    // The square of a Laplace variable has relative deviation sqrt 5: five standard errors over 1000 draws
    // are 0.35.
    for j in 0..2 {
        assert!((squares[j] / expected[j] - 1.0).abs() < 0.35, "{squares:?} {expected:?}");
    }
}

#[test]
fn iterations_and_split_follow_the_published_rule() {
    let values = vec![0.0; 10_000];
    let budget = |epsilon: f64| {
        let params = PrivateKMeansParams { epsilon, ..Default::default() };
        Budget::new(Rows::new(&values, 10).expect("rows"), 4, &params)
    };
    // q = (40 * 0.225^2)^(1/3) = 1.2652, so that the least budget of an iteration is sqrt(500 * 64 *
    // 11.2652^3) / 1000 = 6.7637.
    for (epsilon, iterations) in [(0.1, 2), (6.7637 * 3.01, 3), (6.7637 * 4.99, 4), (1e6, 7)] {
        let budget = budget(epsilon);
        assert_eq!(budget.iterations, iterations, "{epsilon}");
        let spent = iterations as f64 * (10.0 * budget.sum + budget.count);
        assert!((spent / epsilon - 1.0).abs() < 1e-12);
        assert!((budget.count / budget.sum - 1.2652).abs() < 1e-4);
    }
}

#[test]
fn the_split_is_the_best_one() {
    // The error d/e1^2 + d c^2/e0^2 at the split, against splits 5% away with the same sum.
    let values = vec![0.0; 10];
    let params = PrivateKMeansParams { iterations: Some(1), ..Default::default() };
    let best = Budget::new(Rows::new(&values, 10).expect("rows"), 1, &params);
    let error = |sum: f64, count: f64| 10.0 / (sum * sum) + 10.0 * 0.45 * 0.45 / (count * count);
    for factor in [0.95, 1.05] {
        let count = best.count * factor;
        assert!(error((1.0 - count) / 10.0, count) > error(best.sum, best.count));
    }
}

#[test]
fn centres_stay_in_the_box_whatever_the_noise_and_the_rows() {
    let sample = clusters(2000);
    let rows = sample.rows().expect("rows");
    // A box that cuts many rows off.
    let bounds = Bounds { low: vec![-1.0, -2.0, 0.5], high: vec![1.0, 3.0, 0.75] };
    for (seed, epsilon) in [(1, 1e-6), (2, 0.01), (3, 1.0), (4, 1e9)] {
        for start in [PrivateStart::Uniform, PrivateStart::Spread] {
            let params = PrivateKMeansParams { epsilon, start, seed, ..Default::default() };
            let fit = private_kmeans(rows, 5, &bounds, &params).expect("fit");
            assert_eq!(fit.centers.len(), 15);
            for center in fit.centers.chunks(3).chain(fit.info.start.chunks(3)) {
                for (j, value) in center.iter().enumerate() {
                    assert!((bounds.low[j]..=bounds.high[j]).contains(value), "{epsilon}: {center:?}");
                }
            }
        }
    }
}

#[test]
fn the_result_depends_on_the_seed_and_not_on_the_threads() {
    let sample = clusters(5000);
    let rows = sample.rows().expect("rows");
    let bounds = Bounds::cube(3, 20.0);
    let fit = |threads, seed| {
        let params = PrivateKMeansParams { threads, seed, ..Default::default() };
        private_kmeans(rows, 5, &bounds, &params).expect("fit")
    };
    let alone = fit(1, 7);
    assert!(fit(2, 7) == alone && fit(5, 7) == alone);
    assert_ne!(fit(1, 8).centers, alone.centers);
}

#[test]
fn centres_without_rows_keep_their_place() {
    let values = vec![0.9; 100];
    let rows = Rows::new(&values, 1).expect("rows");
    let params = PrivateKMeansParams { epsilon: 1e9, iterations: Some(3), ..Default::default() };
    let fit = private_kmeans(rows, 4, &Bounds::cube(1, 1.0), &params).expect("fit");
    // Noise of scale 1e-8 on a count cannot reach one row: three centres stay, in each of three iterations.
    assert_eq!(fit.info.kept, 9);
    assert_eq!(fit.centers.iter().zip(&fit.info.start).filter(|(now, before)| now == before).count(), 3);
}

#[test]
fn bad_parameters_are_refused() {
    let values = [0.0, 1.0, 2.0, 3.0];
    let rows = Rows::new(&values, 2).expect("rows");
    let unit = Bounds::cube(2, 1.0);
    let refused = |k, bounds: &Bounds, params: &PrivateKMeansParams| {
        private_kmeans(rows, k, bounds, params).expect_err("refused")
    };
    let given = PrivateKMeansParams::default();
    assert!(matches!(refused(0, &unit, &given), Error::Parameter { name: "k", .. }));
    for epsilon in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let params = PrivateKMeansParams { epsilon, ..given.clone() };
        assert!(matches!(refused(1, &unit, &params), Error::Parameter { name: "epsilon", .. }));
    }
    let params = PrivateKMeansParams { iterations: Some(0), ..given.clone() };
    assert!(matches!(refused(1, &unit, &params), Error::Parameter { name: "iterations", .. }));
    assert!(matches!(refused(1, &Bounds::cube(3, 1.0), &given), Error::Shape { found: 3, expected: 2, .. }));
    for high in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let bounds = Bounds { low: vec![0.0; 2], high: vec![1.0, high] };
        assert!(matches!(refused(1, &bounds, &given), Error::Parameter { .. }));
    }
}
