use proptest::prelude::*;
use serde::Deserialize;

use super::*;
use crate::num::solve::problems::{Noise, Solution};

#[derive(Deserialize)]
struct Problem {
    name: String,
    unique: bool,
    a: Vec<Vec<f64>>,
    b: Vec<f64>,
    scipy: Solution,
}

/// Gram matrix and right-hand side of a matrix given by rows.
fn normal(a: &[Vec<f64>], b: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let k = a[0].len();
    let (mut gram, mut rhs) = (vec![0.0; k * k], vec![0.0; k]);
    for (row, &b) in a.iter().zip(b) {
        add_scaled(&mut rhs, b, row);
        for (target, &value) in gram.chunks_exact_mut(k).zip(row) {
            add_scaled(target, value, row);
        }
    }
    (gram, rhs)
}

fn half_square(a: &[Vec<f64>], b: &[f64], x: &[f64]) -> f64 {
    a.iter().zip(b).map(|(row, b)| 0.5 * (dot(row, x) - b).powi(2)).sum()
}

#[test]
fn the_fit_is_no_worse_than_that_of_scipy() {
    let problems: Vec<Problem> =
        serde_json::from_str(include_str!("../../../../../../testdata/solvers/nnls.json")).unwrap();
    assert!(problems.len() > 15);
    for problem in problems {
        let (gram, rhs) = normal(&problem.a, &problem.b);
        let (x, info) = nnls(&gram, &rhs, &NnlsParams::default());
        let name = &problem.name;
        assert_eq!(info.stop, StopReason::Optimal, "{name}");
        assert!(x.iter().all(|&v| v >= 0.0), "{name}");
        let value = half_square(&problem.a, &problem.b, &x);
        // The Gram matrix cannot tell residuals below 1e-7 of b from zero.
        let slack = 1e-8 * problem.scipy.value + 1e-14 * dot(&problem.b, &problem.b);
        assert!(value <= problem.scipy.value + slack, "{name}: {value} against {}", problem.scipy.value);
        let constant = 0.5 * dot(&problem.b, &problem.b);
        assert!((info.value + constant - value).abs() <= 1e-9 * constant, "{name}");
        assert!(info.iterations <= 3 * x.len() + 3, "{name}: {} iterations", info.iterations);
        if problem.unique {
            for (mine, theirs) in x.iter().zip(&problem.scipy.x) {
                assert!((mine - theirs).abs() <= 1e-5 * theirs.abs().max(1.0), "{name}: {mine} for {theirs}");
            }
        }
    }
}

#[test]
fn collinear_columns_give_bounded_weights() {
    for separation in [0.0, 1e-14, 1e-10, 1e-8, 1e-7, 1e-6] {
        let mut noise = Noise::new(3);
        let base: Vec<Vec<f64>> = (0..30).map(|_| (0..5).map(|_| noise.next() + 1.0).collect()).collect();
        let a: Vec<Vec<f64>> = base
            .iter()
            .map(|row| (0..20).map(|j| row[j % 5] + separation * noise.next()).collect())
            .collect();
        let b: Vec<f64> = base.iter().map(|row| row.iter().sum::<f64>() + 0.1 * noise.next()).collect();
        let (gram, rhs) = normal(&a, &b);
        let (x, info) = nnls(&gram, &rhs, &NnlsParams::default());
        assert_eq!(info.stop, StopReason::Optimal, "separation {separation}");
        assert!(x.iter().all(|&v| (0.0..10.0).contains(&v)), "separation {separation}: {x:?}");
        assert!(half_square(&a, &b, &x) <= half_square(&a, &b, &[0.25; 20]), "separation {separation}");
    }
}

#[test]
fn bad_input_gives_zeros_and_says_so() {
    let params = NnlsParams::default();
    for (gram, rhs) in
        [(&[1.0, 0.0][..], &[1.0, 1.0][..]), (&[f64::NAN], &[1.0]), (&[1.0], &[f64::INFINITY]), (&[1.0], &[])]
    {
        let (x, info) = nnls(gram, rhs, &params);
        assert_eq!((x.len(), info.stop), (rhs.len(), StopReason::BadInput));
        assert!(x.iter().all(|&v| v == 0.0));
    }
    let (x, info) = nnls(&[], &[], &params);
    assert!(x.is_empty() && info.stop == StopReason::Optimal);
    // Not the Gram matrix of anything: it ends, with finite weights.
    let (x, _) = nnls(&[1.0, -9.0, -9.0, -1.0], &[1.0, 1.0], &params);
    assert!(x.iter().all(|v| v.is_finite()));
}

#[test]
fn the_iteration_limit_is_kept_and_the_point_stays_feasible() {
    let mut noise = Noise::new(4);
    let a: Vec<Vec<f64>> = (0..40).map(|_| (0..20).map(|_| noise.next()).collect()).collect();
    let b: Vec<f64> = (0..40).map(|_| noise.next()).collect();
    let (gram, rhs) = normal(&a, &b);
    let mut last = f64::INFINITY;
    for iterations_max in 0..30 {
        let (x, info) = nnls(&gram, &rhs, &NnlsParams { iterations_max, ..NnlsParams::default() });
        assert!(info.iterations <= iterations_max + 20 && x.iter().all(|&v| v >= 0.0));
        assert!(info.value <= last + 1e-12, "{iterations_max}: {} after {last}", info.value);
        last = info.value;
    }
}

fn table(rows: usize, k: usize) -> impl Strategy<Value = (Vec<Vec<f64>>, Vec<f64>)> {
    // Small whole numbers make exact ties and dependent columns likely.
    let entry = prop_oneof![(-2i32..=2).prop_map(f64::from), -1.0..1.0];
    let matrix = prop::collection::vec(prop::collection::vec(entry, k), rows);
    (matrix, prop::collection::vec(-3.0..3.0, rows))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// x >= 0, gradient >= 0, and their product 0: necessary and sufficient for this convex problem.
    #[test]
    fn solutions_satisfy_the_conditions_of_karush_kuhn_and_tucker(
        (a, b) in (1usize..15, 1usize..15).prop_flat_map(|(rows, k)| table(rows, k)),
    ) {
        let (gram, rhs) = normal(&a, &b);
        let (x, info) = nnls(&gram, &rhs, &NnlsParams::default());
        prop_assert_eq!(info.stop, StopReason::Optimal);
        let size = dot(&b, &b).sqrt();
        for j in 0..x.len() {
            let length = a.iter().map(|row| row[j] * row[j]).sum::<f64>().sqrt();
            let gradient = a.iter().zip(&b).map(|(row, b)| row[j] * (dot(row, &x) - b)).sum::<f64>();
            // A column refused as dependent (squared distance below 1e-14) can keep a gradient of 1e-7 of its
            // length.
            let slack = 1e-6 * length * size + 1e-12;
            prop_assert!(x[j] >= 0.0);
            prop_assert!(gradient >= -slack, "gradient {} of variable {}", gradient, j);
            prop_assert!(x[j] == 0.0 || gradient <= slack, "gradient {} of positive variable {}", gradient, j);
        }
        prop_assert!(info.gradient_max <= 1e-6 * size + 1e-12);
        prop_assert!(info.value <= 0.0);
    }
}
