use proptest::prelude::*;

use super::*;
use crate::num::solve::add_scaled;
use crate::num::solve::problems::{Noise, bounded};

#[test]
fn minima_are_those_of_scipy() {
    for problem in bounded() {
        let Some(scipy) = &problem.least_squares else { continue };
        let (lower, upper) = problem.bounds();
        let mut x = problem.start.clone();
        let info = levenberg_marquardt(&mut &problem, &mut x, &lower, &upper, &LmParams::default());
        let name = &problem.name;
        println!(
            "{name}: {} iterations, {} accepted, {} factorizations, cost {:.12e}; scipy {} evaluations, {:.12e}; {:?}",
            info.iterations,
            info.accepted,
            info.factorizations,
            info.cost,
            scipy.evaluations,
            scipy.value,
            info.stop
        );
        assert!(info.stop.converged(), "{name}: {:?}", info.stop);
        // 1e-15: the minima with an exact fit have cost 0.
        assert!(info.cost <= scipy.value * (1.0 + 1e-8) + 1e-15, "{name}: {} > {}", info.cost, scipy.value);
        for (i, (a, b)) in x.iter().zip(&scipy.x).enumerate() {
            assert!((a - b).abs() <= 1e-5 * b.abs().max(1.0), "{name}: {a} for {b}");
            assert!(*a >= lower[i] && *a <= upper[i], "{name}: {a} is outside");
        }
        assert!(info.iterations <= 60, "{name}: {} iterations", info.iterations);
    }
}

/// Random rows, a smooth nonlinearity: $r_i = \tanh(a_i^\top x) + c\, a_i^\top x - b_i$; counts its calls. c > 0, since tanh alone has its
/// minimum at infinity.
struct Random {
    a: Vec<Vec<f64>>,
    b: Vec<f64>,
    linear: f64,
    outside: usize,
    calls: [usize; 2],
    lower: Vec<f64>,
    upper: Vec<f64>,
}

impl Random {
    fn new(n: usize, rows: usize, linear: f64, seed: u64) -> Random {
        let mut noise = Noise::new(seed);
        let a = (0..rows).map(|_| (0..n).map(|_| noise.next()).collect()).collect();
        let b = (0..rows).map(|_| 2.0 * noise.next()).collect();
        let side = |noise: &mut Noise, open: f64| {
            if noise.next() > 0.0 { open } else { open.signum() * noise.next().abs() }
        };
        let (lower, upper) =
            (0..n).map(|_| (side(&mut noise, f64::NEG_INFINITY), side(&mut noise, f64::INFINITY))).unzip();
        Random { a, b, linear, outside: 0, calls: [0; 2], lower, upper }
    }

    fn rows(&mut self, x: &[f64], mut each: impl FnMut(f64, f64, &[f64])) {
        let inside = (0..x.len()).all(|i| x[i] >= self.lower[i] && x[i] <= self.upper[i]);
        self.outside += usize::from(!inside);
        for (row, b) in self.a.iter().zip(&self.b) {
            let (t, tanh) = (dot(row, x), dot(row, x).tanh());
            each(tanh + self.linear * t - b, 1.0 - tanh * tanh + self.linear, row);
        }
    }
}

impl LeastSquares for Random {
    fn n_params(&self) -> usize {
        self.lower.len()
    }

    fn cost(&mut self, x: &[f64]) -> f64 {
        self.calls[0] += 1;
        let mut cost = 0.0;
        self.rows(x, |r, _, _| cost += 0.5 * r * r);
        cost
    }

    fn normal(&mut self, x: &[f64], hessian: &mut [f64], gradient: &mut [f64]) -> f64 {
        self.calls[1] += 1;
        let mut cost = 0.0;
        self.rows(x, |r, slope, row| {
            cost += 0.5 * r * r;
            add_scaled(gradient, r * slope, row);
            for (target, value) in hessian.chunks_exact_mut(row.len()).zip(row) {
                add_scaled(target, slope * slope * value, row);
            }
        });
        cost
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// With fewer rows than parameters the Hessian is singular.
    #[test]
    fn the_end_is_feasible_stationary_and_no_worse_than_the_start(
        n in 1usize..10, rows in 1usize..20, linear in 0.1..1.0, seed: u64,
    ) {
        let mut problem = Random::new(n, rows, linear, seed);
        let (lower, upper) = (problem.lower.clone(), problem.upper.clone());
        let mut x = vec![0.0; n];
        let start = problem.cost(&x);
        problem.calls = [0; 2];
        let params = LmParams { iterations_max: 3000, ftol: 1e-14, ..LmParams::default() };
        let info = levenberg_marquardt(&mut problem, &mut x, &lower, &upper, &params);
        prop_assert_eq!(problem.outside, 0);
        prop_assert!(problem.calls[0] <= info.iterations && problem.calls[1] == info.accepted + 1, "{:?}", info);
        prop_assert!(info.cost <= start && (problem.cost(&x) - info.cost).abs() <= 1e-12 * start);
        prop_assert!(info.stop.converged(), "{:?}", info);
        let mut gradient = vec![0.0; n];
        problem.normal(&x, &mut vec![0.0; n * n], &mut gradient);
        for i in 0..n {
            let moved = (x[i] - gradient[i]).clamp(lower[i], upper[i]) - x[i];
            prop_assert!(moved.abs() <= 1e-4 * start.sqrt().max(1.0), "variable {} would move by {}: {:?}", i, moved, info);
        }
    }
}

/// One parameter, residuals and slopes by a closure.
struct Scalar<F: FnMut(f64) -> (f64, f64)>(F);

impl<F: FnMut(f64) -> (f64, f64)> LeastSquares for Scalar<F> {
    fn n_params(&self) -> usize {
        1
    }

    fn cost(&mut self, x: &[f64]) -> f64 {
        let (r, _) = self.0(x[0]);
        0.5 * r * r
    }

    fn normal(&mut self, x: &[f64], hessian: &mut [f64], gradient: &mut [f64]) -> f64 {
        let (r, slope) = self.0(x[0]);
        (hessian[0], gradient[0]) = (slope * slope, slope * r);
        0.5 * r * r
    }
}

const OPEN: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];

fn solve_scalar(start: f64, residual: impl FnMut(f64) -> (f64, f64)) -> (f64, LmInfo) {
    let mut x = [start];
    let info =
        levenberg_marquardt(&mut Scalar(residual), &mut x, &OPEN[..1], &OPEN[1..], &LmParams::default());
    (x[0], info)
}

#[test]
fn steps_into_places_without_a_value_are_shortened() {
    // The first Gauss-Newton step from 5 is 5 - 5 ln 5 = -3.05.
    let (x, info) = solve_scalar(5.0, |x| (x.ln(), 1.0 / x));
    assert!(info.stop.converged() && (x - 1.0).abs() < 1e-9, "{info:?} at {x}");
    assert!(info.accepted < info.iterations);
}

#[test]
fn places_with_a_value_but_no_derivative_are_left() {
    let (x, info) = solve_scalar(3.0, |x| (x - 1.0, if x < 2.0 { f64::NAN } else { 1.0 }));
    assert!(x >= 2.0 && info.cost < 2.0 && info.cost.is_finite(), "{info:?} at {x}");
}

#[test]
fn a_parameter_without_influence_stays_where_it_is() {
    struct First;
    impl LeastSquares for First {
        fn n_params(&self) -> usize {
            2
        }
        fn cost(&mut self, x: &[f64]) -> f64 {
            0.5 * (x[0] * x[0] - 4.0).powi(2)
        }
        fn normal(&mut self, x: &[f64], hessian: &mut [f64], gradient: &mut [f64]) -> f64 {
            (hessian[0], gradient[0]) = (4.0 * x[0] * x[0], 2.0 * x[0] * (x[0] * x[0] - 4.0));
            self.cost(x)
        }
    }
    let mut x = [1.0, 7.0];
    let info = levenberg_marquardt(&mut First, &mut x, &[OPEN[0]; 2], &[OPEN[1]; 2], &LmParams::default());
    assert!(info.stop.converged() && (x[0] - 2.0).abs() < 1e-9 && x[1] == 7.0, "{info:?} at {x:?}");
}

#[test]
fn a_wrong_gradient_ends_without_harm() {
    let (x, info) = solve_scalar(3.0, |x| (x, -1.0));
    assert!(!matches!(info.stop, StopReason::Optimal | StopReason::IterationLimit), "{info:?}");
    assert_eq!((x, info.cost, info.accepted), (3.0, 4.5, 0));
}

#[test]
fn bad_input_is_reported_and_leaves_the_point_alone() {
    let mut problem = Scalar(|x: f64| (x, 1.0));
    for (start, lower, upper) in [
        (vec![1.0, 1.0], vec![0.0, 0.0], vec![2.0, 2.0]),
        (vec![1.0], vec![2.0], vec![0.0]),
        (vec![f64::NAN], vec![0.0], vec![1.0]),
    ] {
        let mut x = start.clone();
        let info = levenberg_marquardt(&mut problem, &mut x, &lower, &upper, &LmParams::default());
        assert_eq!(info.stop, StopReason::BadInput);
        assert_eq!(
            x.iter().map(|v| v.to_bits()).collect::<Vec<_>>(),
            start.iter().map(|v| v.to_bits()).collect::<Vec<_>>()
        );
    }
    let (x, info) = solve_scalar(3.0, |_| (f64::NAN, 1.0));
    assert_eq!((x, info.stop), (3.0, StopReason::NotFinite));
}
