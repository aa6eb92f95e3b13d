use super::*;
use crate::num::random::{Purpose, Stream};

const DIM: usize = 3;
const M: usize = 40;
const K: usize = 4;

pub(crate) fn shapes() -> Vec<Shape> {
    let known = vec![0.5, 0.2, 0.0, 0.2, 1.5, -0.1, 0.0, -0.1, 0.8];
    let shared = [Shape::Dirac, Shape::SharedWidth, Shape::SharedDiagonal];
    let own = [Shape::Width, Shape::Diagonal, Shape::Full, Shape::Known(known)];
    shared.into_iter().chain(own).collect()
}

struct Setup {
    family: Gaussian,
    atoms: Vec<f64>,
    shared: Vec<f64>,
    stream: Stream,
}

fn setup(shape: Shape) -> Setup {
    let mut stream = Stream::new(3, Purpose::PilotMixture, 31);
    let frequencies: Vec<f64> = (0..M * DIM).map(|_| stream.normal()).collect();
    let dither: Vec<f64> = (0..M).map(|_| 6.0 * stream.uniform()).collect();
    let family = Gaussian::new(shape, DIM, &frequencies, &dither, 10.0);
    let atoms = random_atoms(&family, K, &mut stream);
    let shared = vec![0.7; family.n_shared()];
    Setup { family, atoms, shared, stream }
}

/// k atoms about the origin, of uneven shapes.
pub(crate) fn random_atoms(family: &dyn AtomFamily, k: usize, stream: &mut Stream) -> Vec<f64> {
    let mut atoms = Vec::new();
    for _ in 0..k {
        let centre: Vec<f64> = (0..family.dim()).map(|_| stream.normal()).collect();
        let mut atom = family.init(&centre, 0.3 + stream.uniform());
        atom[family.dim()..].iter_mut().for_each(|v| *v += 0.2 * stream.uniform());
        atoms.extend(atom);
    }
    atoms
}

#[test]
fn sketches_are_the_characteristic_functions() {
    for shape in shapes() {
        let Setup { family, atoms, shared, .. } = setup(shape.clone());
        let mut batch = Batch::default();
        family.sketch_batch(&atoms, &shared, &mut batch);
        for (k, atom) in atoms.chunks_exact(family.n_params()).enumerate() {
            let sigma = family.covariance_of(atom, &shared);
            for (j, w) in family.frequencies.chunks_exact(DIM).enumerate() {
                let phase = dot(w, &atom[..DIM]) + family.dither[j];
                let quadratic: f64 = sigma.chunks_exact(DIM).zip(w).map(|(row, wi)| wi * dot(row, w)).sum();
                let scale = (-0.5 * quadratic).exp();
                let (re, im) = (batch.re[k * M + j], batch.im[k * M + j]);
                assert!((re - scale * phase.cos()).abs() < 1e-13, "{shape:?}: {re}");
                assert!((im - scale * phase.sin()).abs() < 1e-13, "{shape:?}: {im}");
            }
        }
    }
}

#[test]
fn vector_jacobian_products_agree_with_central_differences() {
    for shape in shapes() {
        let Setup { family, atoms, shared, mut stream } = setup(shape.clone());
        let mut cotangent = Batch::zeros(K, M);
        cotangent.re.iter_mut().chain(&mut cotangent.im).for_each(|u| *u = stream.normal());
        let value = |atoms: &[f64], shared: &[f64]| {
            let mut batch = Batch::default();
            family.sketch_batch(atoms, shared, &mut batch);
            dot(&batch.re, &cotangent.re) + dot(&batch.im, &cotangent.im)
        };
        let mut values = Batch::default();
        family.sketch_batch(&atoms, &shared, &mut values);
        let (mut grad, mut grad_shared) = (vec![0.0; atoms.len()], vec![0.0; shared.len()]);
        family.vjp_batch(&atoms, &shared, &values, &mut cotangent.clone(), &mut grad, &mut grad_shared);
        let h = 1e-6;
        for i in 0..atoms.len() {
            let (mut low, mut high) = (atoms.clone(), atoms.clone());
            low[i] -= h;
            high[i] += h;
            let difference = (value(&high, &shared) - value(&low, &shared)) / (2.0 * h);
            assert!((difference - grad[i]).abs() < 1e-7 * (1.0 + grad[i].abs()), "{shape:?} parameter {i}");
        }
        for i in 0..shared.len() {
            let (mut low, mut high) = (shared.clone(), shared.clone());
            low[i] -= h;
            high[i] += h;
            let difference = (value(&atoms, &high) - value(&atoms, &low)) / (2.0 * h);
            assert!(
                (difference - grad_shared[i]).abs() < 1e-7 * (1.0 + difference.abs()),
                "{shape:?} shared"
            );
        }
    }
}

#[test]
fn a_fresh_atom_is_inside_its_bounds_and_has_the_variance_asked_for() {
    for shape in shapes() {
        let Setup { family, .. } = setup(shape.clone());
        let bounds = family.bounds(&[-1.0; DIM], &[1.0; DIM]);
        let atom = family.init(&[0.1, 0.2, 0.3], 0.4);
        assert_eq!(atom.len(), family.n_params());
        assert!(
            atom.iter().zip(&bounds.low).zip(&bounds.high).all(|((x, l), h)| l <= x && x <= h),
            "{shape:?}"
        );
        if family.n_params() > DIM {
            let sigma = family.covariance_of(&atom, &[]);
            assert!((sigma[0] - 0.4).abs() < 1e-12 && sigma[1] == 0.0, "{shape:?}");
        }
    }
}
