//! Gaussian atoms at landmarks: mean kernel values in closed form (\[CCDR22\] appendix A).
//!
//! For $\kappa(x, y) = e^{-|x - y|^2/2\sigma^2}$ and $x \sim N(c, \Sigma)$, with
//! $T = (\sigma^2 I + \Sigma)^{-1}$,
//!
//! $$ a_j = \mathbb E\,\kappa(x, y_j) = \sigma^d \det(T)^{1/2}\, e^{-\frac12 (y_j - c)^\top T (y_j - c)}. $$
//!
//! Gradients (eq. 26 to 37 there): with $v_j = T (y_j - c)$, the location has $\partial \ln a_j = v_j$ and
//! the covariance $\partial \ln a_j = \tfrac12 (v_j v_j^\top - T)$. Sums over j of products with a cotangent
//! need only $\sum_j s_j$, $\sum_j s_j y_j$ and $\sum_j s_j y_j y_j^\top$ (its diagonal, if T is diagonal),
//! $s_j = u_j a_j$: matrix products.
//!
//! The entries are real: imaginary parts are zero. Cost: 2 k m d multiply-adds forward and as many back (k m
//! d^2 for full covariances), and k m exponentials.

use compressive_kernels::exponentials;

use super::{AtomFamily, Batch, Gaussian, Shape};
use crate::num::linear::{dot, multiply, multiply_transposed, transposed_multiply};

/// Landmarks of a Gaussian kernel.
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    dim: usize,
    /// m rows of d.
    points: Vec<f64>,
    /// Squares of their entries.
    squares: Vec<f64>,
    /// $\sigma^2$.
    width_squared: f64,
}

/// An atom as the kernel sees it.
pub(crate) struct Spread {
    /// The location.
    pub(crate) centre: Vec<f64>,
    /// T: its diagonal, or all of it by rows.
    pub(crate) precision: Vec<f64>,
    /// $\ln(\sigma^d \det(T)^{1/2})$.
    pub(crate) log_scale: f64,
}

impl Spread {
    /// An atom of diagonal covariance, as a kernel of squared width `width_squared` sees it.
    fn diagonal(centre: &[f64], variances: impl Iterator<Item = f64>, width_squared: f64) -> Spread {
        let precision: Vec<f64> = variances.map(|s| 1.0 / (width_squared + s)).collect();
        let log_scale = precision.iter().map(|t| 0.5 * (width_squared * t).ln()).sum();
        Spread { centre: centre.to_vec(), precision, log_scale }
    }

    /// An atom of any covariance, d rows of d.
    fn full(centre: &[f64], sigma: &[f64], width_squared: f64) -> Spread {
        let d = centre.len();
        let sum = |i: usize, j: usize| sigma[i * d + j] + if i == j { width_squared } else { 0.0 };
        let rows: Vec<Vec<f64>> = (0..d).map(|i| (0..d).map(|j| sum(i, j)).collect()).collect();
        // A covariance plus a positive diagonal has a factor, unless it is not finite: then nothing is left
        // of the atom.
        let Some(lower) = crate::num::linear::cholesky(&rows) else {
            return Spread {
                centre: centre.to_vec(),
                precision: vec![0.0; d * d],
                log_scale: f64::NEG_INFINITY,
            };
        };
        // Columns of the inverse factor give T = L^{-T} L^{-1}.
        let mut inverse = vec![0.0; d * d];
        for column in 0..d {
            for i in column..d {
                let inner: f64 = (column..i).map(|j| lower[i][j] * inverse[j * d + column]).sum();
                inverse[i * d + column] = (if i == column { 1.0 } else { 0.0 } - inner) / lower[i][i];
            }
        }
        let mut precision = vec![0.0; d * d];
        transposed_multiply(&inverse, &inverse, d, &mut precision);
        let log_scale = (0..d).map(|i| 0.5 * width_squared.ln() - lower[i][i].ln()).sum();
        Spread { centre: centre.to_vec(), precision, log_scale }
    }

    /// Whether T is diagonal.
    fn is_diagonal(&self) -> bool {
        self.precision.len() == self.centre.len()
    }

    /// $v = T (y - c)$.
    pub(crate) fn pull(&self, y: &[f64], v: &mut [f64]) {
        let d = y.len();
        if self.is_diagonal() {
            let columns = v.iter_mut().zip(y).zip(&self.centre).zip(&self.precision);
            return columns.for_each(|(((v, y), c), t)| *v = t * (y - c));
        }
        let difference: Vec<f64> = y.iter().zip(&self.centre).map(|(y, c)| y - c).collect();
        v.iter_mut().zip(self.precision.chunks_exact(d)).for_each(|(v, row)| *v = dot(row, &difference));
    }

    /// Entry (i, j) of T.
    pub(crate) fn entry(&self, i: usize, j: usize) -> f64 {
        match (self.is_diagonal(), i == j) {
            (true, true) => self.precision[i],
            (true, false) => 0.0,
            (false, _) => self.precision[i * self.centre.len() + j],
        }
    }
}

impl Kernel {
    pub(super) fn new(dim: usize, points: Vec<f64>, width_squared: f64) -> Kernel {
        let squares = points.iter().map(|y| y * y).collect();
        Kernel { dim, points, squares, width_squared }
    }

    /// The landmarks, m rows of d.
    pub(crate) fn points(&self) -> &[f64] {
        &self.points
    }

    /// $\sigma^2$.
    pub(crate) fn width_squared(&self) -> f64 {
        self.width_squared
    }

    /// $a_j$ of every atom, k rows of m; imaginary parts zero.
    pub(crate) fn sketch_batch(&self, atoms: &[Spread], out: &mut Batch) {
        let (d, m) = (self.dim, self.points.len() / self.dim);
        out.im.fill(0.0);
        if atoms.iter().all(Spread::is_diagonal) {
            // -(y - c)^T T (y - c) / 2 from the products of T c with y and of T with the squares of y.
            let linear: Vec<f64> =
                atoms.iter().flat_map(|a| a.precision.iter().zip(&a.centre).map(|(t, c)| t * c)).collect();
            let halves: Vec<f64> = atoms.iter().flat_map(|a| a.precision.iter().map(|t| -0.5 * t)).collect();
            out.work.resize(atoms.len() * m, 0.0);
            multiply_transposed(&linear, &self.points, d, &mut out.work);
            multiply_transposed(&halves, &self.squares, d, &mut out.re);
            for (l, atom) in atoms.iter().enumerate() {
                let own: f64 = atom.precision.iter().zip(&atom.centre).map(|(t, c)| t * c * c).sum();
                let constant = atom.log_scale - 0.5 * own;
                let cells = out.re[l * m..(l + 1) * m].iter_mut().zip(&out.work[l * m..(l + 1) * m]);
                cells.for_each(|(q, w)| *q += w + constant);
            }
        } else {
            for (atom, row) in atoms.iter().zip(out.re.chunks_exact_mut(m)) {
                let (differences, pulls) = self.pulls(atom);
                let pairs = differences.chunks_exact(d).zip(pulls.chunks_exact(d));
                row.iter_mut().zip(pairs).for_each(|(q, (x, v))| *q = atom.log_scale - 0.5 * dot(x, v));
            }
        }
        exponentials(&mut out.re);
    }

    /// $y_j - c$ and $T (y_j - c)$, m rows of d each.
    fn pulls(&self, atom: &Spread) -> (Vec<f64>, Vec<f64>) {
        let d = self.dim;
        let differences: Vec<f64> = self
            .points
            .chunks_exact(d)
            .flat_map(|y| y.iter().zip(&atom.centre).map(|(y, c)| y - c))
            .collect();
        let mut pulls = vec![0.0; differences.len()];
        multiply(&differences, &atom.precision, d, &mut pulls);
        (differences, pulls)
    }

    /// For each atom, with its $s_j$: $\sum_j s_j v_j$, and $\tfrac12 \sum_j s_j (v_j v_j^\top - T)$, its
    /// diagonal or all of it by rows.
    fn moments(&self, atoms: &[Spread], s: &[f64]) -> Vec<(Vec<f64>, Vec<f64>)> {
        let (d, m) = (self.dim, self.points.len() / self.dim);
        if !atoms.iter().all(Spread::is_diagonal) {
            let full = |(atom, s): (&Spread, &[f64])| {
                let pulls = self.pulls(atom).1;
                let (mut first, mut second) = (vec![0.0; d], vec![0.0; d * d]);
                multiply(s, &pulls, d, &mut first);
                let weighted: Vec<f64> = pulls
                    .chunks_exact(d)
                    .zip(s)
                    .flat_map(|(v, s)| v.iter().map(move |v| 0.5 * s * v))
                    .collect();
                transposed_multiply(&weighted, &pulls, d, &mut second);
                let total: f64 = s.iter().sum();
                second.iter_mut().zip(&atom.precision).for_each(|(q, t)| *q -= 0.5 * total * t);
                (first, second)
            };
            return atoms.iter().zip(s.chunks_exact(m)).map(full).collect();
        }
        let k = atoms.len();
        let (mut sums, mut squares) = (vec![0.0; k * d], vec![0.0; k * d]);
        multiply(s, &self.points, d, &mut sums);
        multiply(s, &self.squares, d, &mut squares);
        let diagonal = |(l, atom): (usize, &Spread)| {
            let total: f64 = s[l * m..(l + 1) * m].iter().sum();
            let entry = |c: usize| {
                let (t, x) = (atom.precision[c], atom.centre[c]);
                let (one, two) = (sums[l * d + c], squares[l * d + c]);
                (t * (one - x * total), 0.5 * t * (t * (two - 2.0 * x * one + x * x * total) - total))
            };
            (0..d).map(entry).unzip()
        };
        atoms.iter().enumerate().map(diagonal).collect()
    }
}

impl Gaussian {
    /// The atoms as a kernel of the width of `kernel` sees them.
    pub(crate) fn spreads(&self, atoms: &[f64], shared: &[f64], kernel: &Kernel) -> Vec<Spread> {
        self.spreads_at(atoms, shared, kernel.width_squared)
    }

    /// The atoms as a kernel of another squared width sees them.
    pub(crate) fn spreads_at(&self, atoms: &[f64], shared: &[f64], width_squared: f64) -> Vec<Spread> {
        let d = self.dim;
        let one = |atom: &[f64]| {
            let (centre, own) = atom.split_at(d);
            let same = |s: f64| std::iter::repeat_n(s, d);
            match &self.covariance {
                Shape::Dirac => Spread::diagonal(centre, same(0.0), width_squared),
                Shape::SharedWidth => Spread::diagonal(centre, same(shared[0]), width_squared),
                Shape::Width => Spread::diagonal(centre, same(own[0]), width_squared),
                Shape::SharedDiagonal => Spread::diagonal(centre, shared.iter().copied(), width_squared),
                Shape::Diagonal => Spread::diagonal(centre, own.iter().copied(), width_squared),
                Shape::Full | Shape::Known(_) => {
                    Spread::full(centre, &self.covariance_of(atom, shared), width_squared)
                }
            }
        };
        atoms.chunks_exact(self.n_params()).map(one).collect()
    }

    /// The vector-Jacobian product at landmarks.
    pub(super) fn kernel_vjp(
        &self,
        kernel: &Kernel,
        (atoms, spreads): (&[f64], &[Spread]),
        values: &Batch,
        cotangent: &mut Batch,
        (grad_atoms, grad_shared): (&mut [f64], &mut [f64]),
    ) {
        let (d, p) = (self.dim, self.n_params());
        cotangent.re.iter_mut().zip(&values.re).for_each(|(u, a)| *u *= a);
        grad_shared.fill(0.0);
        let moments = kernel.moments(spreads, &cotangent.re);
        let rows = atoms.chunks_exact(p).zip(grad_atoms.chunks_exact_mut(p));
        for ((atom, grad), (first, second)) in rows.zip(&moments) {
            grad[..d].copy_from_slice(first);
            match &self.covariance {
                Shape::Dirac | Shape::Known(_) => {}
                Shape::SharedWidth => grad_shared[0] += second.iter().sum::<f64>(),
                Shape::SharedDiagonal => grad_shared.iter_mut().zip(second).for_each(|(g, s)| *g += s),
                Shape::Width => grad[d] = second.iter().sum(),
                Shape::Diagonal => grad[d..].copy_from_slice(second),
                Shape::Full => {
                    // d ln a / d L = 2 Q L for the symmetric Q of the covariance.
                    let lower = |i: usize, j: usize| atom[d + i * (i + 1) / 2 + j];
                    for i in 0..d {
                        for j in 0..=i {
                            let product: f64 = (j..d).map(|l| second[i * d + l] * lower(l, j)).sum();
                            grad[d + i * (i + 1) / 2 + j] = 2.0 * product;
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
