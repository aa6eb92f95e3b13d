use super::problem::{Part, Weighted, Weighting};
use super::*;
use crate::density::atom::Batch;
use crate::density::atom::Shape;
use crate::num::linear::dot;
use crate::num::random::{Purpose, Stream};

pub(super) const DIM: usize = 2;
const K: usize = 3;

fn shapes() -> Vec<Shape> {
    let known = Shape::Known(vec![0.5, 0.1, 0.1, 0.8]);
    let shared = [Shape::Dirac, Shape::SharedWidth, Shape::SharedDiagonal, known];
    shared.into_iter().chain([Shape::Width, Shape::Diagonal, Shape::Full]).collect()
}

/// A mixture of three apart, with uneven weights and shapes.
fn mixture(family: &Gaussian, stream: &mut Stream) -> Fit {
    let centres = [[-2.0, 0.5], [1.5, 2.0], [0.5, -2.5]];
    let mut fit = Fit { weights: vec![0.5, 0.2, 0.3], shared: vec![0.6, 0.3], ..Fit::default() };
    fit.shared.truncate(family.n_shared());
    for centre in centres {
        let mut atom = family.init(&centre, 0.3 + 0.4 * stream.uniform());
        atom[DIM..].iter_mut().for_each(|v| *v += 0.2 * stream.uniform());
        fit.atoms.extend(atom);
    }
    fit
}

/// A target that holds the exact sketch of a mixture, dithered, at m normal frequencies; and the family and
/// the mixture.
pub(super) fn exact(shape: Shape, m: usize, complex: bool) -> (Target, Gaussian, Fit) {
    let mut stream = Stream::new(11, Purpose::PilotMixture, 7);
    let frequencies: Vec<f64> = (0..m * DIM).map(|_| 1.2 * stream.normal()).collect();
    let dither: Vec<f64> = (0..m).map(|_| 6.0 * stream.uniform()).collect();
    let points = Gaussian::new(Shape::Dirac, DIM, &frequencies, &dither, 10.0);
    let family = points.with_covariance(shape);
    let fit = mixture(&family, &mut stream);
    let (low, high) = (vec![-6.0; DIM], vec![6.0; DIM]);
    let (re, im, weights) = (vec![0.0; m], vec![0.0; m], vec![1.0; m]);
    let mut target = Target {
        re,
        im,
        complex,
        weights,
        start_low: low.clone(),
        start_high: high.clone(),
        low,
        high,
        rows: 1e5,
        noise: 0.0,
        added: 0.0,
        points,
        harmonics: vec![],
        metric: None,
        outline: None,
        exact: None,
    };
    let (re, im) = Problem::new(&target, &family).residual(&fit);
    target.re = re.iter().map(|r| -r).collect();
    target.im = im.iter().map(|r| -r).collect();
    let energy = target.re.iter().chain(&target.im).map(|v| v * v).sum::<f64>();
    target.noise = (0.5 - energy / (m as f64 * if complex { 2.0 } else { 1.0 })) / target.rows;
    (target, family, fit)
}

/// The mixture with every number moved by up to `by`.
fn moved(fit: &Fit, by: f64) -> Fit {
    let mut stream = Stream::new(13, Purpose::PilotMixture, 9);
    let mut fit = fit.clone();
    let mut shift = |v: &mut f64| *v += by * (2.0 * stream.uniform() - 1.0);
    fit.atoms.iter_mut().for_each(&mut shift);
    fit.shared.iter_mut().for_each(&mut shift);
    fit.weights.iter_mut().for_each(&mut shift);
    fit
}

fn distance(a: &Fit, b: &Fit) -> f64 {
    let pairs = a
        .atoms
        .iter()
        .zip(&b.atoms)
        .chain(a.shared.iter().zip(&b.shared))
        .chain(a.weights.iter().zip(&b.weights));
    pairs.map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
}

fn weighted_problem(target: &Target, family: &Gaussian, fit: &Fit) -> Weighted {
    let whole = groups(target, usize::MAX);
    let mut info = polish(target, family, fit, &PolishParams::default()).expect("fits").1;
    weighted(target, family, &whole, fit, &PolishParams::default(), &mut info).expect("has a factor")
}

#[test]
fn jacobians_agree_with_central_differences_for_every_shape() {
    for (shape, complex) in shapes().into_iter().flat_map(|shape| [(shape.clone(), true), (shape, false)]) {
        let (target, family, fit) = exact(shape.clone(), 9, complex);
        let variables = Variables::new(&family, K);
        let x = variables.pack(&moved(&fit, 0.05));
        let order: Vec<usize> = (0..target.size()).collect();
        let sketch = |x: &[f64]| {
            let fit = variables.unpack(x);
            let (re, im) = Problem::new(&target, &family).residual(&fit);
            let entries =
                re.iter().zip(&im).flat_map(|(a, b)| [-a, -b].into_iter().take(if complex { 2 } else { 1 }));
            entries.collect::<Vec<f64>>()
        };
        let mut values = Batch::default();
        let here = variables.unpack(&x);
        let whole = family.at(&order);
        whole.sketch_batch(&here.atoms, &here.shared, &mut values);
        for panel in variables.panels() {
            let columns = variables.jacobian(&whole, &here, &values, &panel, complex);
            for (i, column) in panel.columns.clone().enumerate() {
                let (mut low, mut high) = (x.clone(), x.clone());
                low[column] -= 1e-6;
                high[column] += 1e-6;
                for (row, (a, b)) in sketch(&low).iter().zip(sketch(&high)).enumerate() {
                    let found = columns[row * panel.columns.len() + i];
                    let difference = (b - a) / 2e-6;
                    assert!(
                        (found - difference).abs() < 1e-8,
                        "{shape:?} column {column}: {found} {difference}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_gradient_of_the_whitened_cost_agrees_with_central_differences() {
    let (target, family, fit) = exact(Shape::Diagonal, 40, true);
    let mut problem = weighted_problem(&target, &family, &fit);
    let x = problem.variables.pack(&moved(&fit, 0.02));
    let p = x.len();
    let (mut hessian, mut gradient) = (vec![0.0; p * p], vec![0.0; p]);
    let cost = problem.normal(&x, &mut hessian, &mut gradient);
    assert!((cost - problem.cost(&x)).abs() <= 1e-12 * cost);
    for i in 0..p {
        let (mut low, mut high) = (x.clone(), x.clone());
        low[i] -= 1e-6;
        high[i] += 1e-6;
        let difference = (problem.cost(&high) - problem.cost(&low)) / 2e-6;
        let scale = (hessian[i * p + i] * 2.0 * cost).sqrt();
        assert!((gradient[i] - difference).abs() < 1e-6 * scale, "{i}: {} {difference}", gradient[i]);
    }
}

#[test]
fn the_normal_matrix_is_the_same_whatever_the_threads_and_symmetric() {
    let (target, family, fit) = exact(Shape::Full, 150, true);
    let mut problem = weighted_problem(&target, &family, &fit);
    let x = problem.variables.pack(&fit);
    let p = x.len();
    let matrices = [1, 2, 5].map(|threads| {
        problem.threads = threads;
        problem.formed = None;
        let (mut hessian, mut gradient) = (vec![0.0; p * p], vec![0.0; p]);
        problem.normal(&x, &mut hessian, &mut gradient);
        hessian
    });
    assert!(matrices[0] == matrices[1] && matrices[0] == matrices[2]);
    let largest = matrices[0].iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    let asymmetry =
        (0..p * p).map(|i| (matrices[0][i] - matrices[0][i % p * p + i / p]).abs()).fold(0.0, f64::max);
    assert!(asymmetry <= 1e-12 * largest, "{asymmetry} {largest}");
}

#[test]
fn the_covariance_agrees_with_samples() {
    // 2e5 draws of values in [-1, 1]: the standard error of a covariance is at most 1/sqrt(2e5) = 0.0022,
    // usually half of that; of the 24^2 entries one beyond 4.5 of the largest has a probability below 1e-3.
    let n = 200_000;
    let (target, family, fit) = exact(Shape::Full, 12, true);
    let xi = target.points.dither().to_vec();
    let matrix = covariance(&family, &fit, true, 2);
    let mut stream = Stream::new(17, Purpose::PilotMixture, 3);
    let (mut first, mut second) = (vec![0.0; 24], vec![0.0; 24 * 24]);
    for _ in 0..n {
        let u = stream.uniform();
        let l = if u < 0.5 {
            0
        } else if u < 0.7 {
            1
        } else {
            2
        };
        let atom = &fit.atoms[l * 5..(l + 1) * 5];
        let (a, b) = (stream.normal(), stream.normal());
        let row = [atom[0] + atom[2] * a, atom[1] + atom[3] * a + atom[4] * b];
        let phases = family.frequencies().chunks_exact(DIM).zip(&xi).map(|(w, xi)| dot(w, &row) + xi);
        let features: Vec<f64> = phases.flat_map(|t| [t.cos(), t.sin()]).collect();
        for (i, f) in features.iter().enumerate() {
            first[i] += f / n as f64;
            second[i * 24..(i + 1) * 24].iter_mut().zip(&features).for_each(|(s, g)| *s += f * g / n as f64);
        }
    }
    let column = &matrix.columns[0];
    for (i, j) in (0..24).flat_map(|i| (0..24).map(move |j| (i, j))) {
        let sampled = second[i * 24 + j] - first[i] * first[j];
        assert!((column[i * 24 + j] - sampled).abs() < 0.01, "{i} {j}: {} {sampled}", column[i * 24 + j]);
    }
}

#[test]
fn the_covariance_of_cosines_is_that_part_of_the_whole() {
    let (_, family, fit) = exact(Shape::Diagonal, 150, true);
    let (whole, cosines) = (covariance(&family, &fit, true, 1), covariance(&family, &fit, false, 2));
    for i in 0..whole.columns.len() {
        let (start, width) = cosines.span(i);
        assert_eq!(whole.span(i), (2 * start, 2 * width));
        for (b, row) in cosines.columns[i].chunks_exact(width).enumerate() {
            for (a, value) in row.iter().enumerate() {
                assert_eq!(whole.columns[i][2 * b * 2 * width + 2 * a], *value, "block {i}, {b} {a}");
            }
        }
    }
}

#[test]
fn both_fits_return_the_truth_from_exact_sketches_for_every_shape() {
    for (shape, complex) in shapes().into_iter().flat_map(|shape| [(shape.clone(), true), (shape, false)]) {
        let (target, family, truth) = exact(shape.clone(), 80, complex);
        let start = moved(&truth, 0.05);
        let (fit, info) =
            least_squares(&target, &family, &start, &LeastSquaresParams::default()).expect("fits");
        assert!(distance(&fit, &truth) < 1e-6, "{shape:?} {complex}: {} {info:?}", distance(&fit, &truth));
        let (fit, info) = polish(&target, &family, &start, &PolishParams::default()).expect("fits");
        assert!(distance(&fit, &truth) < 1e-5, "{shape:?} {complex}: {} {info:?}", distance(&fit, &truth));
        assert!((fit.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let whole = groups(&target, PolishParams::default().entries_max);
        assert!(whole.len() == 1 && info.chi_square.1 < 1e-3 && info.chi_square.1 < info.chi_square.0);
    }
}

#[test]
fn groups_hold_every_frequency_once_and_still_find_the_truth() {
    let (target, family, truth) = exact(Shape::Diagonal, 90, true);
    let split = groups(&target, 50);
    let mut all: Vec<usize> = split.iter().flatten().copied().collect();
    all.sort_unstable();
    assert_eq!(all, (0..90).collect::<Vec<_>>());
    assert!(split.len() == 4 && split.iter().all(|group| 2 * group.len() <= 50));
    let params = PolishParams { entries_max: 50, ..PolishParams::default() };
    let (fit, info) = polish(&target, &family, &moved(&truth, 0.05), &params).expect("fits");
    assert!(distance(&fit, &truth) < 1e-5, "{info:?}");
}

#[test]
fn least_squares_minimises_what_the_descent_minimises() {
    let (mut target, family, truth) = exact(Shape::Diagonal, 60, true);
    let mut stream = Stream::new(19, Purpose::PilotMixture, 2);
    target.re.iter_mut().chain(&mut target.im).for_each(|v| *v += 0.01 * stream.normal());
    target.weights.iter_mut().for_each(|w| *w = 0.5 + stream.uniform());
    let (fit, info) = least_squares(&target, &family, &truth, &LeastSquaresParams::default()).expect("fits");
    let mut problem = Problem::new(&target, &family);
    assert!((problem.cost(&fit) - 2.0 * info.cost).abs() < 1e-12);
    let mut descended = truth.clone();
    problem.descend(&mut descended, 2000);
    assert!(problem.cost(&fit) <= problem.cost(&descended) * (1.0 + 1e-6));
}

#[test]
fn the_excess_is_that_of_the_feature_and_the_added_noise() {
    let (mut target, ..) = exact(Shape::Diagonal, 60, true);
    assert!(excess(&target) < 1e-12);
    target.noise += 3e-6;
    assert!((excess(&target) - 3e-6 * target.rows).abs() < 1e-9);
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let (target, family, fit) = exact(Shape::Diagonal, 20, true);
    let other = family.with_covariance(Shape::Width);
    let error = polish(&target, &other, &fit, &PolishParams::default()).unwrap_err();
    assert!(matches!(error, Error::Shape { found: 12, expected: 9, .. }), "{error}");
    let (smaller, ..) = exact(Shape::Diagonal, 19, true);
    let error = least_squares(&smaller, &family, &fit, &LeastSquaresParams::default()).unwrap_err();
    assert!(matches!(error, Error::Shape { found: 20, expected: 19, .. }), "{error}");
}

#[test]
fn a_start_that_is_not_finite_comes_back_with_the_reason() {
    let (target, family, mut fit) = exact(Shape::Diagonal, 20, true);
    fit.atoms[1] = f64::NAN;
    let (same, info) = polish(&target, &family, &fit, &PolishParams::default()).expect("answers");
    assert!(
        same.atoms[1].is_nan() && same.weights == fit.weights && !info.stop.converged() && info.rounds == 0
    );
    let (same, info) =
        least_squares(&target, &family, &fit, &LeastSquaresParams::default()).expect("answers");
    assert!(same.atoms[1].is_nan() && info.stop == StopReason::BadInput);
}

#[test]
fn a_part_scales_its_rows_by_the_weights_of_its_frequencies() {
    let (target, family, fit) = exact(Shape::Diagonal, 3, true);
    let weights = Weighting::Each(vec![2.0, 3.0, 5.0]);
    let part: Part = part(&target, &family, &[0, 1, 2], weights);
    let half = Fit { weights: fit.weights.iter().map(|w| 0.5 * w).collect(), ..fit };
    let mut problem = Weighted {
        variables: Variables::new(&family, K),
        complex: true,
        parts: vec![part],
        unit_sum: 4.0,
        renew: 1.0,
        age: 0,
        threads: 1,
        formed: None,
        n_formed: 0,
    };
    let squares = [2.0f64, 3.0, 5.0]
        .iter()
        .zip(target.re.iter().zip(&target.im))
        .map(|(w, (a, b))| w * w * (a * a + b * b));
    let expected = 0.5 * 0.25 * squares.sum::<f64>() + 0.5 * 4.0 * 0.25;
    let x = problem.variables.pack(&half);
    assert!((problem.cost(&x) - expected).abs() < 1e-12);
}

/// The sketch of n rows drawn from a mixture of full covariances.
fn sample(target: &mut Target, truth: &Fit, n: usize, seed: u64) {
    let mut stream = Stream::new(seed, Purpose::PilotMixture, 3);
    let (xi, m) = (target.points.dither().to_vec(), target.size());
    let (mut re, mut im) = (vec![0.0; m], vec![0.0; m]);
    for _ in 0..n {
        let u = stream.uniform();
        let l = if u < 0.5 {
            0
        } else if u < 0.7 {
            1
        } else {
            2
        };
        let atom = &truth.atoms[l * 5..(l + 1) * 5];
        let (a, b) = (stream.normal(), stream.normal());
        let row = [atom[0] + atom[2] * a, atom[1] + atom[3] * a + atom[4] * b];
        for (j, w) in target.points.frequencies().chunks_exact(DIM).enumerate() {
            let (sin, cos) = (dot(w, &row) + xi[j]).sin_cos();
            re[j] += cos / n as f64;
            im[j] += sin / n as f64;
        }
    }
    let energy = re.iter().chain(&im).map(|v| v * v).sum::<f64>() / (2 * m) as f64;
    (target.re, target.im, target.rows, target.noise) = (re, im, n as f64, (0.5 - energy) / n as f64);
}

#[test]
fn on_samples_the_polish_has_the_smaller_error_and_the_expected_chi_square() {
    // Twelve sketches of 2e4 rows. The ratio of the summed squared errors is 0.76 here; chi square has a
    // standard deviation of sqrt(2 degrees), so its mean over twelve stays within 5 sqrt(2 degrees / 12) of
    // the degrees, to which the trace adds a few percent.
    let (mut target, family, truth) = exact(Shape::Full, 60, true);
    let (mut plain, mut polished, mut chi, mut degrees) = (0.0, 0.0, 0.0, 0.0);
    for seed in 0..12 {
        sample(&mut target, &truth, 20_000, seed);
        let (fit, _) = least_squares(&target, &family, &truth, &LeastSquaresParams::default()).expect("fits");
        let (better, info) = polish(&target, &family, &fit, &PolishParams::default()).expect("fits");
        plain += distance(&fit, &truth).powi(2);
        polished += distance(&better, &truth).powi(2);
        chi += info.chi_square.1 / 12.0;
        degrees += info.degrees / 12.0;
    }
    assert!(polished < 0.9 * plain, "{polished} {plain}");
    assert!((chi - degrees).abs() < 5.0 * (2.0 * degrees / 12.0).sqrt() + 0.05 * degrees, "{chi} {degrees}");
}

#[test]
fn what_no_mixture_explains_keeps_the_least_squares_fit() {
    // An error of 0.03 an entry, more than a hundred times the variance of sampling 1e5 rows.
    let (mut target, family, truth) = exact(Shape::Full, 60, true);
    let mut stream = Stream::new(23, Purpose::PilotMixture, 2);
    target.re.iter_mut().chain(&mut target.im).for_each(|v| *v += 0.03 * stream.normal());
    let (plain, _) = least_squares(&target, &family, &truth, &LeastSquaresParams::default()).expect("fits");
    let (fit, info) = polish(&target, &family, &plain, &PolishParams::default()).expect("fits");
    assert!(info.misfit > 50.0, "{info:?}");
    assert!(
        distance(&fit, &plain) < 0.3 * distance(&plain, &truth),
        "{} {}",
        distance(&fit, &plain),
        distance(&plain, &truth)
    );
}
