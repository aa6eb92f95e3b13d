use proptest::prelude::*;

use super::*;
use crate::num::solve::problems::{Noise, bounded};

const TIGHT: LbfgsParams =
    LbfgsParams { memory: 10, gtol: 1e-9, ftol: 1e-16, iterations_max: 10_000, search_max: 25 };

#[test]
fn minima_are_those_of_scipy() {
    let (mut mine, mut theirs) = (0, 0);
    for problem in bounded() {
        let (lower, upper) = problem.bounds();
        let mut x = problem.start.clone();
        let info = minimize(&mut |x, g| problem.objective(x, g), &mut x, &lower, &upper, &TIGHT);
        let (name, scipy) = (&problem.name, &problem.lbfgs);
        println!(
            "{name}: {} iterations, {} evaluations, value {:.12e}; scipy {}, {}, {:.12e}; {:?}",
            info.iterations,
            info.evaluations,
            info.value,
            scipy.iterations,
            scipy.evaluations,
            scipy.value,
            info.stop
        );
        assert!(!matches!(info.stop, StopReason::IterationLimit | StopReason::NotFinite), "{name}");
        // 1e-12: the minima with an exact fit have value 0.
        assert!(info.value <= scipy.value * (1.0 + 1e-8) + 1e-12, "{name}: {} > {}", info.value, scipy.value);
        for (i, (a, b)) in x.iter().zip(&scipy.x).enumerate() {
            assert!((a - b).abs() <= 1e-5 * b.abs().max(1.0), "{name}: {a} for {b}");
            assert!(*a >= lower[i] && *a <= upper[i], "{name}: {a} is outside");
        }
        mine += info.evaluations;
        theirs += scipy.evaluations;
    }
    println!("all: {mine} evaluations, scipy {theirs}");
    assert!(mine <= theirs * 5 / 4, "{mine} evaluations, scipy needs {theirs}");
}

/// $\tfrac12 \lVert A x - b \rVert^2 + w \sum_i \cos 3 x_i$: convex for w = 0, many local minima otherwise.
struct Waves {
    a: Vec<Vec<f64>>,
    b: Vec<f64>,
    weight: f64,
}

impl Waves {
    fn new(n: usize, rows: usize, weight: f64, seed: u64) -> Waves {
        let mut noise = Noise::new(seed);
        let a = (0..rows).map(|_| (0..n).map(|_| noise.next()).collect()).collect();
        Waves { a, b: (0..rows).map(|_| 3.0 * noise.next()).collect(), weight }
    }

    fn value(&self, x: &[f64], gradient: &mut [f64]) -> f64 {
        let mut value = 0.0;
        for (g, x) in gradient.iter_mut().zip(x) {
            value += self.weight * (3.0 * x).cos();
            *g = -3.0 * self.weight * (3.0 * x).sin();
        }
        for (row, b) in self.a.iter().zip(&self.b) {
            let r = dot(row, x) - b;
            value += 0.5 * r * r;
            add_scaled(gradient, r, row);
        }
        value
    }
}

/// A box of `n` intervals: some open, some closed, some a single point.
fn random_box(n: usize, noise: &mut Noise) -> (Vec<f64>, Vec<f64>) {
    let intervals = (0..n).map(|_| match (noise.next() * 5.0) as i32 {
        0 => (f64::NEG_INFINITY, f64::INFINITY),
        1 | 2 => (noise.next(), f64::INFINITY),
        -1 | -2 => (f64::NEG_INFINITY, noise.next()),
        3 => (0.25, 0.25),
        _ => (-noise.next().abs(), noise.next().abs()),
    });
    intervals.unzip()
}

fn is_inside(x: &[f64], lower: &[f64], upper: &[f64]) -> bool {
    x.iter().zip(lower).all(|(x, l)| x >= l) && x.iter().zip(upper).all(|(x, u)| x <= u)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_point_asked_for_is_in_the_box_and_the_last_is_stationary(
        n in 1usize..12, extra in 0usize..8, weight in prop_oneof![Just(0.0), 0.0..2.0f64], seed: u64,
    ) {
        let problem = Waves::new(n, n + extra, weight, seed);
        let mut noise = Noise::new(seed ^ 1);
        let (lower, upper) = random_box(n, &mut noise);
        let mut x: Vec<f64> = (0..n).map(|_| 3.0 * noise.next()).collect();
        let mut projected = x.clone();
        Bounds::new(&x, &lower, &upper).unwrap().project(&mut projected);
        let mut gradient = vec![0.0; n];
        let start = problem.value(&projected, &mut gradient);
        let mut outside = 0;
        let mut calls = 0;
        let mut objective = |x: &[f64], g: &mut [f64]| {
            outside += usize::from(!is_inside(x, &lower, &upper));
            calls += 1;
            problem.value(x, g)
        };
        let params = LbfgsParams { ftol: 0.0, gtol: 1e-7, iterations_max: 20_000, ..LbfgsParams::default() };
        let info = minimize(&mut objective, &mut x, &lower, &upper, &params);
        prop_assert_eq!((outside, calls), (0, info.evaluations));
        prop_assert!(info.stop.converged(), "{:?}", info);
        prop_assert_eq!(problem.value(&x, &mut gradient), info.value);
        prop_assert!(info.value <= start);
        // Where rounding of the value ends the search, the gradient is of the order of its square root.
        let scale = info.value.abs().max(1.0);
        for i in 0..n {
            let moved = (x[i] - gradient[i]).clamp(lower[i], upper[i]) - x[i];
            prop_assert!(moved.abs() <= 1e-5 * scale, "variable {} would move by {}: {:?}", i, moved, info);
        }
        prop_assert!(info.gradient_max <= 1e-5 * scale);
    }

    #[test]
    fn more_iterations_never_give_a_higher_value(n in 1usize..8, weight in 0.0..2.0f64, seed: u64) {
        let problem = Waves::new(n, n, weight, seed);
        let mut noise = Noise::new(seed ^ 2);
        let (lower, upper) = random_box(n, &mut noise);
        let start: Vec<f64> = (0..n).map(|_| 3.0 * noise.next()).collect();
        let mut last = f64::INFINITY;
        for iterations_max in 0..12 {
            let params = LbfgsParams { iterations_max, ..LbfgsParams::default() };
            let mut x = start.clone();
            let info = minimize(&mut |x, g| problem.value(x, g), &mut x, &lower, &upper, &params);
            prop_assert!(info.value <= last && info.iterations <= iterations_max);
            last = info.value;
        }
    }
}

const OPEN: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];

#[test]
fn steps_into_places_without_a_value_are_cut() {
    // x - ln x has its minimum at 1 and no value below 0; the gradient at the start asks for a step to -99.
    for missing in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut objective = |x: &[f64], g: &mut [f64]| {
            g[0] = 100.0 * (1.0 - 1.0 / x[0]);
            if x[0] > 0.0 { 100.0 * (x[0] - x[0].ln()) } else { missing }
        };
        let mut x = [40.0];
        let info = minimize(&mut objective, &mut x, &OPEN[..1], &OPEN[1..], &TIGHT);
        assert!(info.stop.converged() && (x[0] - 1.0).abs() < 1e-6, "{info:?} at {x:?}");
    }
}

#[test]
fn a_wrong_gradient_ends_without_harm() {
    let mut objective = |x: &[f64], g: &mut [f64]| {
        g[0] = -2.0 * x[0];
        x[0] * x[0]
    };
    let mut x = [3.0];
    let info = minimize(&mut objective, &mut x, &OPEN[..1], &OPEN[1..], &TIGHT);
    assert_eq!((info.stop, x, info.value), (StopReason::NoProgress, [3.0], 9.0));
    assert!(info.evaluations <= 60);
}

#[test]
fn bad_input_is_reported_and_leaves_the_point_alone() {
    let params = LbfgsParams::default();
    let mut square = |x: &[f64], g: &mut [f64]| {
        g.copy_from_slice(x);
        0.5 * dot(x, x)
    };
    for (start, lower, upper) in [
        (vec![1.0], vec![], vec![2.0]),
        (vec![1.0], vec![2.0], vec![1.0]),
        (vec![1.0], vec![f64::NAN], vec![1.0]),
        (vec![f64::INFINITY], vec![0.0], vec![1.0]),
        (vec![1.0], vec![f64::INFINITY], vec![f64::INFINITY]),
    ] {
        let mut x = start.clone();
        let info = minimize(&mut square, &mut x, &lower, &upper, &params);
        assert_eq!((info.stop, info.evaluations), (StopReason::BadInput, 0));
        assert_eq!(x, start);
    }
    let mut x = [1.0];
    let info = minimize(&mut |_, _| f64::NAN, &mut x, &[0.0], &[2.0], &params);
    assert_eq!((info.stop, x), (StopReason::NotFinite, [1.0]));
    let info = minimize(&mut square, &mut [], &[], &[], &params);
    assert_eq!(info.stop, StopReason::Optimal);
}
