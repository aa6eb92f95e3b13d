//! Sub-Gaussian alpha-stable atoms: $a_j(\theta) = e^{i(\omega_j^\top c + \xi_j)}\, e^{-h_j^{\alpha/2}}$ with
//! $h_j = \tfrac12 \omega_j^\top \Sigma\, \omega_j$.
//!
//! $\alpha = 2$ is the Gaussian of covariance $\Sigma$, $\alpha = 1$ the elliptical Cauchy law; below 2 the
//! tails fall like $|x|^{-1-\alpha}$ and there is no variance, so $\Sigma$ is a scale. Only the
//! characteristic function has a closed form, which is all that a sketch needs.
//!
//! | scale | parameters of an atom |
//! |---|---|
//! | isotropic | c, $\tau$, $\alpha$ with $\Sigma = \tau I$ |
//! | diagonal | c, $\sigma_1^2 \dots \sigma_d^2$, $\alpha$ |
//!
//! Gradients: with $s_j$ and $t_j$ as for [`Gaussian`](super::Gaussian) atoms, the location gets
//! $\sum_j t_j \omega_j$, a variance $\sigma_c^2$ gets
//! $-\sum_j s_j\, \tfrac\alpha4 h_j^{\alpha/2 - 1} \omega_{jc}^2$, and $\alpha$ gets
//! $-\sum_j s_j\, \tfrac12 h_j^{\alpha/2} \ln h_j$.
//!
//! Cost: as for Gaussian atoms, and one logarithm and exponential more for each of k m entries.
//! Reference: \[KDL18\], whose atoms have two channels and a zero mean.

use compressive_kernels::damped_waves;

use super::{AtomFamily, Batch, Gaussian, ParamBounds};
use crate::num::linear::{multiply, multiply_transposed};

/// Smallest exponent: tails below it put most rows out of any box.
pub const ALPHA_MIN: f64 = 0.5;
/// The exponent of a Gaussian.
pub const ALPHA_MAX: f64 = 2.0;
/// Exponent of a fresh atom.
const ALPHA_START: f64 = 1.95;

/// The stable family at the frequencies of one operator.
#[derive(Clone, Debug)]
pub struct Stable {
    /// The same frequencies, as points.
    points: Gaussian,
    /// Whether each coordinate has a scale of its own.
    diagonal: bool,
    /// $\omega_{jc}^2$, or $|\omega_j|^2$: m rows with one number a scale.
    squares: Vec<f64>,
}

impl Stable {
    /// The family at the frequencies of a Gaussian one; one scale an atom, or one for each coordinate if
    /// `diagonal`.
    pub fn new(points: &Gaussian, diagonal: bool) -> Stable {
        let rows = points.frequencies().chunks_exact(points.dim());
        let squares = match diagonal {
            true => points.frequencies().iter().map(|w| w * w).collect(),
            false => rows.map(|w| w.iter().map(|x| x * x).sum()).collect(),
        };
        Stable { points: points.clone(), diagonal, squares }
    }

    /// Number of scales of an atom.
    pub fn scales(&self) -> usize {
        if self.diagonal { self.points.dim() } else { 1 }
    }

    /// $h_j$ of all atoms, k rows of m.
    fn halves(&self, atoms: &[f64]) -> Vec<f64> {
        let (d, p, s) = (self.dim(), self.n_params(), self.scales());
        let variances: Vec<f64> =
            atoms.chunks_exact(p).flat_map(|atom| atom[d..d + s].iter().map(|v| 0.5 * v)).collect();
        let mut halves = vec![0.0; atoms.len() / p * self.n_frequencies()];
        multiply_transposed(&variances, &self.squares, s, &mut halves);
        // At a frequency of zero the atom is 1 whatever its shape; the logarithm must stay finite.
        halves.iter_mut().for_each(|h| *h = h.max(1e-300));
        halves
    }
}

impl AtomFamily for Stable {
    fn dim(&self) -> usize {
        self.points.dim()
    }

    fn n_frequencies(&self) -> usize {
        self.points.n_frequencies()
    }

    fn n_params(&self) -> usize {
        self.dim() + self.scales() + 1
    }

    fn n_shared(&self) -> usize {
        0
    }

    fn bounds(&self, low: &[f64], high: &[f64]) -> ParamBounds {
        let (smallest, largest) = self.points.variance_range();
        let s = self.scales();
        ParamBounds {
            low: [low, &vec![smallest; s], &[ALPHA_MIN]].concat(),
            high: [high, &vec![largest; s], &[ALPHA_MAX]].concat(),
            shared_low: Vec::new(),
            shared_high: Vec::new(),
        }
    }

    fn units(&self) -> (Vec<f64>, Vec<f64>) {
        let (mut own, _) = self.points.units();
        let (s, m) = (self.scales(), self.n_frequencies().max(1) as f64);
        let mean = |c: usize| self.squares.iter().skip(c).step_by(s).sum::<f64>() / m;
        own.extend((0..s).map(|c| 2.0 / mean(c).max(1e-300)));
        own.push(1.0);
        (own, Vec::new())
    }

    fn restrict(&self, which: &[usize]) -> Box<dyn AtomFamily> {
        Box::new(Stable::new(&self.points.at(which), self.diagonal))
    }

    fn init(&self, location: &[f64], variance: f64) -> Vec<f64> {
        let (smallest, largest) = self.points.variance_range();
        let mut atom = location.to_vec();
        atom.resize(location.len() + self.scales(), variance.clamp(smallest, largest));
        atom.push(ALPHA_START);
        atom
    }

    fn sketch_batch(&self, atoms: &[f64], _shared: &[f64], out: &mut Batch) {
        let (d, p, m) = (self.dim(), self.n_params(), self.n_frequencies());
        let k = atoms.len() / p;
        out.resize(k, m);
        let centres: Vec<f64> = atoms.chunks_exact(p).flat_map(|atom| atom[..d].iter().copied()).collect();
        out.work.resize(k * m, 0.0);
        multiply_transposed(&centres, self.points.frequencies(), d, &mut out.work);
        for row in out.work.chunks_exact_mut(m) {
            row.iter_mut().zip(self.points.dither()).for_each(|(t, xi)| *t += xi);
        }
        let halves = self.halves(atoms);
        let rows = out.re.chunks_exact_mut(m).zip(halves.chunks_exact(m)).zip(atoms.chunks_exact(p));
        for ((exponents, halves), atom) in rows {
            let power = 0.5 * atom[p - 1];
            exponents.iter_mut().zip(halves).for_each(|(e, h)| *e = -h.powf(power));
        }
        damped_waves(&out.work, &mut out.re, &mut out.im);
    }

    fn vjp_batch(
        &self,
        atoms: &[f64],
        _shared: &[f64],
        values: &Batch,
        cotangent: &mut Batch,
        grad_atoms: &mut [f64],
        _grad_shared: &mut [f64],
    ) {
        let (d, p, m, s) = (self.dim(), self.n_params(), self.n_frequencies(), self.scales());
        // t = Im(conj(a) (u + iv)) and s = Re(conj(a) (u + iv)), in place.
        let waves = values.re.iter().zip(&values.im);
        for ((u, v), (a, b)) in cotangent.re.iter_mut().zip(&mut cotangent.im).zip(waves) {
            (*u, *v) = (*u * a + *v * b, *v * a - *u * b);
        }
        let mut centres = vec![0.0; atoms.len() / p * d];
        multiply(&cotangent.im, self.points.frequencies(), d, &mut centres);
        let halves = self.halves(atoms);
        for (l, grad) in grad_atoms.chunks_exact_mut(p).enumerate() {
            grad[..d].copy_from_slice(&centres[l * d..(l + 1) * d]);
            let alpha = atoms[(l + 1) * p - 1];
            let mut by_alpha = 0.0;
            let own = &mut cotangent.re[l * m..(l + 1) * m];
            for (s, h) in own.iter_mut().zip(&halves[l * m..(l + 1) * m]) {
                let power = h.powf(0.5 * alpha);
                by_alpha -= *s * 0.5 * power * h.ln();
                *s *= -0.25 * alpha * power / h;
            }
            multiply(own, &self.squares, s, &mut grad[d..d + s]);
            grad[p - 1] = by_alpha;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::density::atom::Shape;
    use crate::density::atom::gaussian::tests::random_atoms;
    use crate::num::linear::dot;
    use crate::num::random::{Purpose, Stream};

    const DIM: usize = 3;
    const M: usize = 40;
    const K: usize = 4;

    fn setup(diagonal: bool) -> (Stable, Vec<f64>, Stream) {
        let mut stream = Stream::new(5, Purpose::PilotMixture, 33);
        let frequencies: Vec<f64> = (0..M * DIM).map(|_| stream.normal()).collect();
        let dither: Vec<f64> = (0..M).map(|_| 6.0 * stream.uniform()).collect();
        let points = Gaussian::new(Shape::Dirac, DIM, &frequencies, &dither, 10.0);
        let family = Stable::new(&points, diagonal);
        let mut atoms = random_atoms(&family, K, &mut stream);
        let p = family.n_params();
        atoms.chunks_exact_mut(p).for_each(|atom| atom[p - 1] = 0.7 + stream.uniform());
        (family, atoms, stream)
    }

    #[test]
    fn with_exponent_two_an_atom_is_the_gaussian() {
        for (diagonal, shape) in [(false, Shape::Width), (true, Shape::Diagonal)] {
            let (family, mut atoms, _) = setup(diagonal);
            let p = family.n_params();
            atoms.chunks_exact_mut(p).for_each(|atom| atom[p - 1] = ALPHA_MAX);
            let gaussian = family.points.with_covariance(shape);
            let same: Vec<f64> = atoms.chunks_exact(p).flat_map(|atom| atom[..p - 1].to_vec()).collect();
            let (mut ours, mut theirs) = (Batch::default(), Batch::default());
            family.sketch_batch(&atoms, &[], &mut ours);
            gaussian.sketch_batch(&same, &[], &mut theirs);
            let pairs = ours.re.iter().chain(&ours.im).zip(theirs.re.iter().chain(&theirs.im));
            assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-13));
        }
    }

    #[test]
    fn vector_jacobian_products_agree_with_central_differences() {
        for diagonal in [false, true] {
            let (family, atoms, mut stream) = setup(diagonal);
            let mut cotangent = Batch::zeros(K, M);
            cotangent.re.iter_mut().chain(&mut cotangent.im).for_each(|u| *u = stream.normal());
            let value = |atoms: &[f64]| {
                let mut batch = Batch::default();
                family.sketch_batch(atoms, &[], &mut batch);
                dot(&batch.re, &cotangent.re) + dot(&batch.im, &cotangent.im)
            };
            let (mut values, mut grad) = (Batch::default(), vec![0.0; atoms.len()]);
            family.sketch_batch(&atoms, &[], &mut values);
            family.vjp_batch(&atoms, &[], &values, &mut cotangent.clone(), &mut grad, &mut []);
            let h = 1e-6;
            for i in 0..atoms.len() {
                let (mut low, mut high) = (atoms.clone(), atoms.clone());
                low[i] -= h;
                high[i] += h;
                let difference = (value(&high) - value(&low)) / (2.0 * h);
                let error = (difference - grad[i]).abs();
                assert!(error < 1e-7 * (1.0 + grad[i].abs()), "diagonal {diagonal}, parameter {i}: {error}");
            }
        }
    }

    #[test]
    fn a_fresh_atom_is_inside_its_bounds() {
        let (family, ..) = setup(true);
        let bounds = family.bounds(&[-1.0; DIM], &[1.0; DIM]);
        let atom = family.init(&[0.1, 0.2, 0.3], 0.4);
        assert_eq!(atom.len(), family.n_params());
        assert!(atom.iter().zip(&bounds.low).zip(&bounds.high).all(|((x, l), h)| l <= x && x <= h));
        assert_eq!(family.units().0.len(), family.n_params());
    }
}
