use super::*;
use crate::density::atom::gaussian::tests::{random_atoms, shapes};
use crate::num::random::{Purpose, Stream};

const DIM: usize = 3;
const M: usize = 30;
const K: usize = 4;
const WIDTH_SQUARED: f64 = 1.7;

/// A family at random landmarks, K of its atoms, and the shared parameters.
fn setup(shape: Shape, stream: &mut Stream) -> (Gaussian, Vec<f64>, Vec<f64>) {
    let points: Vec<f64> = (0..M * DIM).map(|_| 1.5 * stream.normal()).collect();
    let family = Gaussian::at_landmarks(shape, DIM, &points, WIDTH_SQUARED, 10.0);
    let atoms = random_atoms(&family, K, stream);
    let shared = vec![0.7; family.n_shared()];
    (family, atoms, shared)
}

#[test]
fn sketches_are_mean_kernel_values() {
    // 40,000 draws of each atom: the standard error of a mean of numbers in [0, 1] is at most 0.0025, and
    // five of them are allowed in 840 comparisons.
    let mut stream = Stream::new(5, Purpose::PilotMixture, 41);
    for shape in shapes() {
        let (family, atoms, shared) = setup(shape.clone(), &mut stream);
        let mut batch = Batch::default();
        family.sketch_batch(&atoms, &shared, &mut batch);
        assert_eq!(batch.im, vec![0.0; K * M]);
        for (l, atom) in atoms.chunks_exact(family.n_params()).enumerate() {
            let sigma = family.covariance_of(atom, &shared);
            let rows: Vec<Vec<f64>> = sigma.chunks_exact(DIM).map(<[f64]>::to_vec).collect();
            // A point has no factor, and needs none.
            let lower = crate::num::linear::cholesky(&rows).unwrap_or_else(|| vec![vec![0.0; DIM]; DIM]);
            let draws = if shape == Shape::Dirac { 1 } else { 40_000 };
            let mut sums = vec![0.0; M];
            for _ in 0..draws {
                let normal: Vec<f64> = (0..DIM).map(|_| stream.normal()).collect();
                let x: Vec<f64> = lower.iter().zip(atom).map(|(row, c)| c + dot(row, &normal)).collect();
                for (sum, y) in sums.iter_mut().zip(family.kernel.as_ref().unwrap().points.chunks_exact(DIM))
                {
                    let square: f64 = x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum();
                    *sum += (-0.5 * square / WIDTH_SQUARED).exp() / f64::from(draws);
                }
            }
            let allowed = if shape == Shape::Dirac { 1e-13 } else { 0.0125 };
            for (j, sum) in sums.iter().enumerate() {
                let found = batch.re[l * M + j];
                assert!((found - sum).abs() < allowed, "{shape:?} atom {l} landmark {j}: {found} {sum}");
            }
        }
    }
}

#[test]
fn diagonal_and_full_covariances_agree_where_they_are_equal() {
    let mut stream = Stream::new(6, Purpose::PilotMixture, 42);
    let (family, atoms, _) = setup(Shape::Diagonal, &mut stream);
    let full = family.with_covariance(Shape::Full);
    let triangle = |atom: &[f64]| {
        let [a, b, c] = [atom[DIM], atom[DIM + 1], atom[DIM + 2]].map(f64::sqrt);
        [&atom[..DIM], &[a, 0.0, b, 0.0, 0.0, c]].concat()
    };
    let same: Vec<f64> = atoms.chunks_exact(2 * DIM).flat_map(triangle).collect();
    let (mut one, mut other) = (Batch::default(), Batch::default());
    family.sketch_batch(&atoms, &[], &mut one);
    full.sketch_batch(&same, &[], &mut other);
    for (a, b) in one.re.iter().zip(&other.re) {
        assert!((a - b).abs() < 1e-13, "{a} {b}");
    }
}

#[test]
fn vector_jacobian_products_agree_with_central_differences() {
    let mut stream = Stream::new(7, Purpose::PilotMixture, 43);
    for shape in shapes() {
        let (family, atoms, shared) = setup(shape.clone(), &mut stream);
        let mut cotangent = Batch::zeros(K, M);
        cotangent.re.iter_mut().for_each(|u| *u = stream.normal());
        let value = |atoms: &[f64], shared: &[f64]| {
            let mut batch = Batch::default();
            family.sketch_batch(atoms, shared, &mut batch);
            dot(&batch.re, &cotangent.re)
        };
        let mut values = Batch::default();
        family.sketch_batch(&atoms, &shared, &mut values);
        let (mut grad, mut grad_shared) = (vec![9.0; atoms.len()], vec![9.0; shared.len()]);
        family.vjp_batch(&atoms, &shared, &values, &mut cotangent.clone(), &mut grad, &mut grad_shared);
        let h = 1e-6;
        let moved = |v: &[f64], i: usize, by: f64| {
            let mut v = v.to_vec();
            v[i] += by;
            v
        };
        for (i, expected) in grad.iter().enumerate() {
            let slope =
                (value(&moved(&atoms, i, h), &shared) - value(&moved(&atoms, i, -h), &shared)) / (2.0 * h);
            assert!(
                (slope - expected).abs() < 1e-7 * (1.0 + slope.abs()),
                "{shape:?} parameter {i}: {slope}"
            );
        }
        for (i, expected) in grad_shared.iter().enumerate() {
            let slope =
                (value(&atoms, &moved(&shared, i, h)) - value(&atoms, &moved(&shared, i, -h))) / (2.0 * h);
            assert!((slope - expected).abs() < 1e-7 * (1.0 + slope.abs()), "{shape:?} shared {i}: {slope}");
        }
    }
}

#[test]
fn a_restricted_family_has_the_entries_of_its_landmarks() {
    let mut stream = Stream::new(8, Purpose::PilotMixture, 44);
    let (family, atoms, _) = setup(Shape::Diagonal, &mut stream);
    let which = [7, 2, 29];
    let (mut all, mut some) = (Batch::default(), Batch::default());
    family.sketch_batch(&atoms, &[], &mut all);
    family.restrict(&which).sketch_batch(&atoms, &[], &mut some);
    for l in 0..K {
        for (at, j) in which.into_iter().enumerate() {
            assert!((some.re[l * 3 + at] - all.re[l * M + j]).abs() < 1e-15);
        }
    }
    // One step of a location's unit changes the sketch by about its own size.
    assert_eq!(family.units().0[..DIM], [WIDTH_SQUARED.sqrt(); DIM]);
}
