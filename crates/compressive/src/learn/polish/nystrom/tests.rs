use super::*;
use crate::learn::polish::variables::Variables;
use crate::num::random::{Purpose, Stream};

const DIM: usize = 2;
const M: usize = 12;

/// A family at random landmarks and a mixture of two of its atoms.
fn setup(shape: Shape, stream: &mut Stream) -> (Gaussian, Fit) {
    let points: Vec<f64> = (0..M * DIM).map(|_| 1.5 * stream.normal()).collect();
    let family = Gaussian::at_landmarks(shape, DIM, &points, 1.3, 10.0);
    let mut fit = Fit { weights: vec![0.6, 0.4], shared: vec![0.5; family.n_shared()], ..Fit::default() };
    for _ in 0..2 {
        let centre: Vec<f64> = (0..DIM).map(|_| stream.normal()).collect();
        let mut atom = family.init(&centre, 0.2 + stream.uniform());
        atom[DIM..].iter_mut().for_each(|v| *v += 0.2 * stream.uniform());
        fit.atoms.extend(atom);
    }
    (family, fit)
}

fn shapes() -> [Shape; 7] {
    let known = Shape::Known(vec![0.5, 0.2, 0.2, 0.7]);
    let shared = [Shape::Dirac, Shape::SharedWidth, Shape::SharedDiagonal];
    let [a, b, c] = shared;
    [a, b, c, Shape::Width, Shape::Diagonal, Shape::Full, known]
}

/// Rows of a mixture.
fn sample(family: &Gaussian, fit: &Fit, n: usize, stream: &mut Stream) -> Vec<Vec<f64>> {
    let row = |_| {
        let l = usize::from(stream.uniform() > fit.weights[0]);
        let atom = &fit.atoms[l * family.n_params()..(l + 1) * family.n_params()];
        let sigma = family.covariance_of(atom, &fit.shared);
        let rows: Vec<Vec<f64>> = sigma.chunks_exact(DIM).map(<[f64]>::to_vec).collect();
        let lower = crate::num::linear::cholesky(&rows).unwrap();
        let normal: Vec<f64> = (0..DIM).map(|_| stream.normal()).collect();
        lower.iter().zip(atom).map(|(row, c)| c + dot(row, &normal)).collect()
    };
    (0..n).map(row).collect()
}

#[test]
fn the_covariance_is_that_of_sampled_kernel_values() {
    // 50,000 rows: the standard error of a covariance of numbers in [0, 1] is at most 0.0012; five of them
    // are allowed in 360 comparisons.
    let mut stream = Stream::new(21, Purpose::PilotMixture, 51);
    for shape in shapes().into_iter().skip(1) {
        let (family, fit) = setup(shape.clone(), &mut stream);
        let kernel = family.kernel().unwrap();
        let n = 50_000;
        let (mut mean, mut second) = (vec![0.0; M], vec![0.0; M * M]);
        for x in sample(&family, &fit, n, &mut stream) {
            let values: Vec<f64> = kernel
                .points()
                .chunks_exact(DIM)
                .map(|y| (-0.5 * x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum::<f64>() / 1.3).exp())
                .collect();
            mean.iter_mut().zip(&values).for_each(|(m, v)| *m += v / n as f64);
            for (row, a) in second.chunks_exact_mut(M).zip(&values) {
                row.iter_mut().zip(&values).for_each(|(s, b)| *s += a * b / n as f64);
            }
        }
        let packed = covariance(&family, kernel, &fit, 1);
        let column = &packed.columns[0];
        let mut trace = 0.0;
        for a in 0..M {
            trace += column[a * M + a] / M as f64;
            for b in 0..M {
                let sampled = second[a * M + b] - mean[a] * mean[b];
                assert!((column[a * M + b] - sampled).abs() < 0.006, "{shape:?} {a} {b}");
            }
        }
        assert!((entry_variance(&family, &fit) - trace).abs() < 1e-12, "{shape:?}");
    }
}

#[test]
fn jacobians_agree_with_central_differences() {
    let mut stream = Stream::new(22, Purpose::PilotMixture, 52);
    for shape in shapes() {
        let (family, fit) = setup(shape.clone(), &mut stream);
        let variables = Variables::new(&family, 2);
        let x = variables.pack(&fit);
        let value = |x: &[f64]| {
            let fit = variables.unpack(x);
            let mut values = Batch::default();
            family.sketch_batch(&fit.atoms, &fit.shared, &mut values);
            mixed(&values.re, &fit.weights)
        };
        let mut values = Batch::default();
        family.sketch_batch(&fit.atoms, &fit.shared, &mut values);
        for panel in variables.panels() {
            let found = variables.jacobian(&family, &fit, &values, &panel, false);
            let c = panel.columns.len();
            for (at, i) in panel.columns.clone().enumerate() {
                let (mut low, mut high) = (x.clone(), x.clone());
                low[i] -= 1e-6;
                high[i] += 1e-6;
                for (j, (h, l)) in value(&high).iter().zip(value(&low)).enumerate() {
                    let slope = (h - l) / 2e-6;
                    assert!((slope - found[j * c + at]).abs() < 1e-8, "{shape:?} variable {i} entry {j}");
                }
            }
        }
    }
}
