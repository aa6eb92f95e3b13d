//! Gaussian atoms, from points to full covariances:
//! $a_j(\theta) = e^{i(\omega_j^\top c + \xi_j)}\, e^{-\frac12 \omega_j^\top \Sigma\, \omega_j}$.
//!
//! | covariance | parameters of an atom | shared |
//! |---|---|---|
//! | `Dirac` | c | |
//! | `SharedWidth` | c | $\tau$, $\Sigma = \tau I$ |
//! | `SharedDiagonal` | c | $\sigma_1^2 \dots \sigma_d^2$ |
//! | `Width` | c, $\tau$ | |
//! | `Diagonal` | c, $\sigma_1^2 \dots \sigma_d^2$ | |
//! | `Full` | c, the lower triangle of L by rows, $\Sigma = L L^\top$ | |
//! | `Known` | c | ($\Sigma$ given) |
//!
//! Gradients: with $s = u\,\mathrm{Re}\,a + v\,\mathrm{Im}\,a$ and
//! $t = v\,\mathrm{Re}\,a - u\,\mathrm{Im}\,a$ for a cotangent $u + iv$, the location gets
//! $\sum_j t_j \omega_j$, a variance along a direction e gets $-\tfrac12 \sum_j s_j (\omega_j^\top e)^2$, and
//! L gets $-\sum_j s_j\, \omega_j \omega_j^\top L$.
//!
//! Cost: 2 k m d multiply-adds forward and as many back (k m d^2 for `Full`), and one sine, cosine and
//! exponential for each of k m entries. At landmarks instead of frequencies ([`Gaussian::at_landmarks`]) the
//! sketch of an atom is its mean kernel value, see the file `at_landmarks.rs`.
//!
//! Reference: \[KBGP18\] eq. 15; the shared width is this project's own.

mod at_landmarks;

pub(crate) use at_landmarks::{Kernel, Spread};

use super::{AtomFamily, Batch, ParamBounds};
use crate::num::linear::{dot, multiply, multiply_transposed};

/// What the covariance of an atom may be.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A point mass.
    Dirac,
    /// Isotropic, one width for all atoms.
    SharedWidth,
    /// A variance for each coordinate, the same for all atoms.
    SharedDiagonal,
    /// Isotropic, a width for each atom.
    Width,
    /// A variance for each coordinate.
    Diagonal,
    /// Any covariance, as a Cholesky factor.
    Full,
    /// The same given covariance for all atoms, d rows of d.
    Known(Vec<f64>),
}

/// The Gaussian family at the frequencies of one operator.
#[derive(Clone, Debug)]
pub struct Gaussian {
    dim: usize,
    covariance: Shape,
    /// m rows of d, radians per working unit.
    frequencies: Vec<f64>,
    /// Phase added to each frequency, radians.
    dither: Vec<f64>,
    /// Squares of the frequencies' entries, m rows of d (`Diagonal`).
    squares: Vec<f64>,
    /// $|\omega_j|^2$, or $\omega_j^\top \Sigma\,\omega_j$ for `Known`.
    norms: Vec<f64>,
    /// Landmarks in place of frequencies.
    kernel: Option<Kernel>,
    /// Largest variance allowed, in working units squared.
    variance_max: f64,
}

/// Smallest variance, relative to the largest.
const VARIANCE_MIN: f64 = 1e-8;

impl Gaussian {
    /// The family at the given frequencies (m rows of d, radians) and dither (m, radians); variances up to
    /// `variance_max`.
    pub fn new(
        covariance: Shape,
        dim: usize,
        frequencies: &[f64],
        dither: &[f64],
        variance_max: f64,
    ) -> Gaussian {
        let by_coordinate = matches!(covariance, Shape::Diagonal | Shape::SharedDiagonal);
        let squares = if by_coordinate { frequencies.iter().map(|w| w * w).collect() } else { Vec::new() };
        let norms = frequencies
            .chunks_exact(dim)
            .map(|w| match &covariance {
                Shape::Known(sigma) => sigma.chunks_exact(dim).zip(w).map(|(row, wi)| wi * dot(row, w)).sum(),
                _ => dot(w, w),
            })
            .collect();
        Gaussian {
            dim,
            covariance,
            frequencies: frequencies.to_vec(),
            dither: dither.to_vec(),
            squares,
            norms,
            kernel: None,
            variance_max,
        }
    }

    /// The family at landmarks (m rows of d) of a Gaussian kernel of the given squared width.
    pub fn at_landmarks(
        covariance: Shape,
        dim: usize,
        landmarks: &[f64],
        width_squared: f64,
        variance_max: f64,
    ) -> Gaussian {
        let kernel = Kernel::new(dim, landmarks.to_vec(), width_squared);
        // The frequencies of this kernel have a mean square of d over its squared width.
        let norms = vec![dim as f64 / width_squared; landmarks.len() / dim];
        let plain = Gaussian::new(covariance, dim, &[], &[], variance_max);
        Gaussian { kernel: Some(kernel), norms, ..plain }
    }

    /// The kernel, if this family is at landmarks.
    pub(crate) fn kernel(&self) -> Option<&Kernel> {
        self.kernel.as_ref()
    }

    /// The same frequencies with another covariance.
    pub fn with_covariance(&self, covariance: Shape) -> Gaussian {
        if let Some(kernel) = &self.kernel {
            let (points, width) = (kernel.points(), kernel.width_squared());
            return Gaussian::at_landmarks(covariance, self.dim, points, width, self.variance_max);
        }
        Gaussian::new(covariance, self.dim, &self.frequencies, &self.dither, self.variance_max)
    }

    /// The same family at some of its frequencies or landmarks, in the order given.
    pub fn at(&self, which: &[usize]) -> Gaussian {
        let d = self.dim;
        let select = |rows: &[f64]| -> Vec<f64> {
            which.iter().flat_map(|&j| rows[j * d..(j + 1) * d].iter().copied()).collect()
        };
        if let Some(kernel) = &self.kernel {
            let (points, width) = (select(kernel.points()), kernel.width_squared());
            return Gaussian::at_landmarks(self.covariance.clone(), d, &points, width, self.variance_max);
        }
        let rows = select(&self.frequencies);
        let dither: Vec<f64> = which.iter().map(|&j| self.dither[j]).collect();
        Gaussian::new(self.covariance.clone(), d, &rows, &dither, self.variance_max)
    }

    /// The family at h times its frequencies and dither.
    pub fn harmonic(&self, h: i32) -> Gaussian {
        let times = |v: &[f64]| v.iter().map(|x| x * f64::from(h)).collect::<Vec<f64>>();
        let (rows, dither) = (times(&self.frequencies), times(&self.dither));
        Gaussian::new(self.covariance.clone(), self.dim, &rows, &dither, self.variance_max)
    }

    /// The dither of each frequency, radians.
    pub fn dither(&self) -> &[f64] {
        &self.dither
    }

    /// The kind of covariance.
    pub fn covariance(&self) -> &Shape {
        &self.covariance
    }

    /// The frequencies, m rows of d.
    pub fn frequencies(&self) -> &[f64] {
        &self.frequencies
    }

    /// $|\omega_j|^2$ (or $\omega_j^\top\Sigma\,\omega_j$ for a known covariance).
    pub fn norms(&self) -> &[f64] {
        &self.norms
    }

    /// The same family with variances up to another limit.
    pub(crate) fn with_variance_max(&self, variance_max: f64) -> Gaussian {
        Gaussian { variance_max, ..self.clone() }
    }

    /// Smallest and largest variance an atom may have.
    pub fn variance_range(&self) -> (f64, f64) {
        (VARIANCE_MIN * self.variance_max, self.variance_max)
    }

    /// Shape matrix of an atom, d rows of d.
    pub fn covariance_of(&self, atom: &[f64], shared: &[f64]) -> Vec<f64> {
        let d = self.dim;
        let mut sigma = vec![0.0; d * d];
        let mut diagonal = |f: &dyn Fn(usize) -> f64| (0..d).for_each(|c| sigma[c * d + c] = f(c));
        match &self.covariance {
            Shape::Dirac => {}
            Shape::SharedWidth => diagonal(&|_| shared[0]),
            Shape::SharedDiagonal => diagonal(&|c| shared[c]),
            Shape::Width => diagonal(&|_| atom[d]),
            Shape::Diagonal => diagonal(&|c| atom[d + c]),
            Shape::Known(known) => sigma.copy_from_slice(known),
            Shape::Full => {
                let lower = |i: usize, j: usize| atom[d + i * (i + 1) / 2 + j];
                for i in 0..d {
                    for j in 0..d {
                        sigma[i * d + j] = (0..=i.min(j)).map(|l| lower(i, l) * lower(j, l)).sum();
                    }
                }
            }
        }
        sigma
    }

    /// Exponents $-\tfrac12\omega_j^\top\Sigma_k\,\omega_j$ of all atoms into `out`, k rows of m.
    fn exponents(&self, atoms: &[f64], shared: &[f64], out: &mut [f64]) {
        let (d, p, m) = (self.dim, self.n_params(), self.norms.len());
        let rows = || atoms.chunks_exact(p);
        let isotropic = |out: &mut [f64], width: f64| {
            out.iter_mut().zip(&self.norms).for_each(|(o, n)| *o = -0.5 * width * n)
        };
        match &self.covariance {
            Shape::Dirac => out.fill(0.0),
            Shape::SharedWidth => out.chunks_exact_mut(m).for_each(|o| isotropic(o, shared[0])),
            Shape::SharedDiagonal => {
                let exponents: Vec<f64> =
                    self.squares.chunks_exact(d).map(|w2| -0.5 * dot(w2, shared)).collect();
                out.chunks_exact_mut(m).for_each(|o| o.copy_from_slice(&exponents));
            }
            Shape::Known(_) => out.chunks_exact_mut(m).for_each(|o| isotropic(o, 1.0)),
            Shape::Width => rows().zip(out.chunks_exact_mut(m)).for_each(|(atom, o)| isotropic(o, atom[d])),
            Shape::Diagonal => {
                let variances: Vec<f64> =
                    rows().flat_map(|atom| atom[d..].iter().map(|v| -0.5 * v)).collect();
                multiply_transposed(&variances, &self.squares, d, out);
            }
            Shape::Full => {
                for (atom, o) in rows().zip(out.chunks_exact_mut(m)) {
                    let projected = self.project(&atom[d..]);
                    o.iter_mut().zip(projected.chunks_exact(d)).for_each(|(o, g)| *o = -0.5 * dot(g, g));
                }
            }
        }
    }

    /// $\Omega L$: m rows of d, for a lower triangle by rows.
    fn project(&self, triangle: &[f64]) -> Vec<f64> {
        let d = self.dim;
        let mut lower = vec![0.0; d * d];
        for i in 0..d {
            lower[i * d..i * d + i + 1].copy_from_slice(&triangle[i * (i + 1) / 2..(i + 1) * (i + 2) / 2]);
        }
        let mut out = vec![0.0; self.frequencies.len()];
        multiply(&self.frequencies, &lower, d, &mut out);
        out
    }

    /// Adds the gradient of the shape parameters, from $s_{kj}$.
    fn shape_vjp(&self, atoms: &[f64], s: &[f64], grad_atoms: &mut [f64], grad_shared: &mut [f64]) {
        let (d, p, m) = (self.dim, self.n_params(), self.norms.len());
        match &self.covariance {
            Shape::Dirac | Shape::Known(_) => {}
            Shape::SharedWidth => {
                grad_shared[0] = s.chunks_exact(m).map(|s| -0.5 * dot(s, &self.norms)).sum();
            }
            Shape::SharedDiagonal => {
                let mut total = vec![0.0; m];
                for s in s.chunks_exact(m) {
                    total.iter_mut().zip(s).for_each(|(t, s)| *t += s);
                }
                multiply(&total, &self.squares, d, grad_shared);
                grad_shared.iter_mut().for_each(|g| *g *= -0.5);
            }
            Shape::Width => {
                for (grad, s) in grad_atoms.chunks_exact_mut(p).zip(s.chunks_exact(m)) {
                    grad[d] = -0.5 * dot(s, &self.norms);
                }
            }
            Shape::Diagonal => {
                let mut grad = vec![0.0; s.len() / m * d];
                multiply(s, &self.squares, d, &mut grad);
                for (target, g) in grad_atoms.chunks_exact_mut(p).zip(grad.chunks_exact(d)) {
                    target[d..].iter_mut().zip(g).for_each(|(t, g)| *t = -0.5 * g);
                }
            }
            Shape::Full => {
                for ((atom, grad), s) in
                    atoms.chunks_exact(p).zip(grad_atoms.chunks_exact_mut(p)).zip(s.chunks_exact(m))
                {
                    let mut projected = self.project(&atom[d..]);
                    projected
                        .chunks_exact_mut(d)
                        .zip(s)
                        .for_each(|(g, s)| g.iter_mut().for_each(|g| *g *= s));
                    let mut full = vec![0.0; d * d];
                    crate::num::linear::transposed_multiply(&self.frequencies, &projected, d, &mut full);
                    for i in 0..d {
                        for j in 0..=i {
                            grad[d + i * (i + 1) / 2 + j] = -full[i * d + j];
                        }
                    }
                }
            }
        }
    }
}

impl AtomFamily for Gaussian {
    fn dim(&self) -> usize {
        self.dim
    }

    fn n_frequencies(&self) -> usize {
        self.norms.len()
    }

    fn n_params(&self) -> usize {
        let d = self.dim;
        d + match self.covariance {
            Shape::Dirac | Shape::SharedWidth | Shape::SharedDiagonal | Shape::Known(_) => 0,
            Shape::Width => 1,
            Shape::Diagonal => d,
            Shape::Full => d * (d + 1) / 2,
        }
    }

    fn n_shared(&self) -> usize {
        match self.covariance {
            Shape::SharedWidth => 1,
            Shape::SharedDiagonal => self.dim,
            _ => 0,
        }
    }

    fn bounds(&self, low: &[f64], high: &[f64]) -> ParamBounds {
        let (smallest, largest) = self.variance_range();
        let shape = self.n_params() - self.dim;
        let mut bounds = ParamBounds {
            low: [low, &vec![smallest; shape]].concat(),
            high: [high, &vec![largest; shape]].concat(),
            shared_low: vec![0.0; self.n_shared()],
            shared_high: vec![largest; self.n_shared()],
        };
        if self.covariance == Shape::Full {
            for i in 0..self.dim {
                for j in 0..=i {
                    let at = self.dim + i * (i + 1) / 2 + j;
                    bounds.low[at] = if i == j { smallest.sqrt() } else { -largest.sqrt() };
                    bounds.high[at] = largest.sqrt();
                }
            }
        }
        bounds
    }

    fn units(&self) -> (Vec<f64>, Vec<f64>) {
        let d = self.dim;
        let m = self.dither.len().max(1) as f64;
        let square = |c: usize| self.frequencies.iter().skip(c).step_by(d).map(|w| w * w).sum::<f64>() / m;
        let squares: Vec<f64> = match &self.kernel {
            Some(kernel) => vec![1.0 / kernel.width_squared(); d],
            None => (0..d).map(|c| square(c).max(1e-300)).collect(),
        };
        let all: f64 = squares.iter().sum();
        let mut own: Vec<f64> = squares.iter().map(|s| 1.0 / s.sqrt()).collect();
        let by_coordinate = squares.iter().map(|s| 2.0 / s);
        match self.covariance {
            Shape::Dirac | Shape::Known(_) => (own, Vec::new()),
            Shape::SharedWidth => (own, vec![2.0 / all]),
            Shape::SharedDiagonal => (own, by_coordinate.collect()),
            Shape::Width => {
                own.push(2.0 / all);
                (own, Vec::new())
            }
            Shape::Diagonal => {
                own.extend(by_coordinate);
                (own, Vec::new())
            }
            Shape::Full => {
                own.extend(
                    (0..d)
                        .flat_map(|i| (0..=i).map(move |j| (i, j)))
                        .map(|(i, j)| 1.0 / (squares[i] * squares[j]).powf(0.25)),
                );
                (own, Vec::new())
            }
        }
    }

    fn restrict(&self, which: &[usize]) -> Box<dyn AtomFamily> {
        Box::new(self.at(which))
    }

    fn init(&self, location: &[f64], variance: f64) -> Vec<f64> {
        let (smallest, largest) = self.variance_range();
        let variance = variance.clamp(smallest, largest);
        let mut atom = location.to_vec();
        match self.covariance {
            Shape::Dirac | Shape::SharedWidth | Shape::SharedDiagonal | Shape::Known(_) => {}
            Shape::Width => atom.push(variance),
            Shape::Diagonal => atom.resize(2 * self.dim, variance),
            Shape::Full => {
                let entries = (0..self.dim).flat_map(|i| (0..=i).map(move |j| (i, j)));
                atom.extend(entries.map(|(i, j)| if i == j { variance.sqrt() } else { 0.0 }));
            }
        }
        atom
    }

    fn sketch_batch(&self, atoms: &[f64], shared: &[f64], out: &mut Batch) {
        let (d, p, m) = (self.dim, self.n_params(), self.norms.len());
        let k = atoms.len() / p;
        out.resize(k, m);
        if let Some(kernel) = &self.kernel {
            return kernel.sketch_batch(&self.spreads(atoms, shared, kernel), out);
        }
        let centres: Vec<f64> = atoms.chunks_exact(p).flat_map(|atom| atom[..d].iter().copied()).collect();
        out.work.resize(k * m, 0.0);
        multiply_transposed(&centres, &self.frequencies, d, &mut out.work);
        for row in out.work.chunks_exact_mut(m) {
            row.iter_mut().zip(&self.dither).for_each(|(t, xi)| *t += xi);
        }
        self.exponents(atoms, shared, &mut out.re);
        compressive_kernels::damped_waves(&out.work, &mut out.re, &mut out.im);
    }

    fn vjp_batch(
        &self,
        atoms: &[f64],
        shared: &[f64],
        values: &Batch,
        cotangent: &mut Batch,
        grad_atoms: &mut [f64],
        grad_shared: &mut [f64],
    ) {
        if let Some(kernel) = &self.kernel {
            let spreads = self.spreads(atoms, shared, kernel);
            return self.kernel_vjp(kernel, (atoms, &spreads), values, cotangent, (grad_atoms, grad_shared));
        }
        let (d, p) = (self.dim, self.n_params());
        // t = Im(conj(a) (u + iv)) and s = Re(conj(a) (u + iv)), in place.
        let waves = values.re.iter().zip(&values.im);
        for ((u, v), (a, b)) in cotangent.re.iter_mut().zip(&mut cotangent.im).zip(waves) {
            (*u, *v) = (*u * a + *v * b, *v * a - *u * b);
        }
        let mut centres = vec![0.0; atoms.len() / p * d];
        multiply(&cotangent.im, &self.frequencies, d, &mut centres);
        for (grad, centre) in grad_atoms.chunks_exact_mut(p).zip(centres.chunks_exact(d)) {
            grad[..d].copy_from_slice(centre);
        }
        self.shape_vjp(atoms, &cotangent.re, grad_atoms, grad_shared);
    }
}

#[cfg(test)]
pub(super) mod tests;
