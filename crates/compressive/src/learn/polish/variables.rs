//! The variables of a least-squares fit of a Gaussian mixture, and the Jacobian of its sketch in them.
//!
//! For each atom: its weight, its location, its shape; then the shared shape. Variances are represented by
//! their logarithms, a full covariance by the entries of its Cholesky factor. With $a = a_j(\theta_l)$ the
//! columns are, at frequency j,
//!
//! | variable | derivative of $\alpha_l a$ |
//! |---|---|
//! | $\alpha_l$ | $a$ |
//! | location, coordinate c | $i\,\omega_c\,\alpha_l a$ |
//! | $\ln \sigma_c^2$ | $-\tfrac12 \omega_c^2 \sigma_c^2\,\alpha_l a$ |
//! | $\ln \tau$ | $-\tfrac12 \lvert\omega\rvert^2 \tau\,\alpha_l a$ |
//! | $L_{ij}$ | $-\omega_i\,(L^\top\omega)_j\,\alpha_l a$ |
//!
//! and a shared variable gets the sum over the atoms.

use std::ops::Range;

use crate::density::atom::{AtomFamily, Batch, Gaussian, Shape};
use crate::density::fit::Fit;
use crate::density::target::Target;

/// Columns of a Jacobian panel, about: wide enough for fast products, narrow enough to share among threads.
const PANEL: usize = 128;
/// Largest weight of an atom; the sum is held near one by the fit.
const WEIGHT_MAX: f64 = 2.0;

/// The map between a mixture and the vector of variables.
#[derive(Clone, Debug)]
pub(super) struct Variables {
    shape: Shape,
    k: usize,
    dim: usize,
    /// Parameters of an atom, without its weight.
    n_params: usize,
    n_shared: usize,
}

/// Columns of the Jacobian that belong together: a range of atoms, or the shared variables.
#[derive(Clone, Debug)]
pub(super) struct Panel {
    /// The atoms; empty for the shared variables.
    atoms: Range<usize>,
    /// The columns.
    pub(super) columns: Range<usize>,
}

impl Variables {
    pub(super) fn new(family: &Gaussian, k: usize) -> Variables {
        let (shape, dim) = (family.covariance().clone(), family.dim());
        Variables { shape, k, dim, n_params: family.n_params(), n_shared: family.n_shared() }
    }

    /// Number of variables.
    pub(super) fn len(&self) -> usize {
        self.k * (1 + self.n_params) + self.n_shared
    }

    /// Position of the weight of atom l.
    pub(super) fn weight_at(&self, l: usize) -> usize {
        l * (1 + self.n_params)
    }

    /// Whether an atom's shape is held as logarithms.
    fn logarithmic(&self) -> bool {
        matches!(self.shape, Shape::Width | Shape::Diagonal)
    }

    /// The vector of a mixture.
    pub(super) fn pack(&self, fit: &Fit) -> Vec<f64> {
        let mut x = Vec::with_capacity(self.len());
        for (atom, &weight) in fit.atoms.chunks_exact(self.n_params).zip(&fit.weights) {
            let (location, shape) = atom.split_at(self.dim);
            x.push(weight);
            x.extend_from_slice(location);
            x.extend(shape.iter().map(|&v| if self.logarithmic() { v.ln() } else { v }));
        }
        x.extend(fit.shared.iter().map(|v| v.ln()));
        x
    }

    /// The mixture of a vector.
    pub(super) fn unpack(&self, x: &[f64]) -> Fit {
        let mut fit = Fit::default();
        let (own, shared) = x.split_at(self.len() - self.n_shared);
        for variables in own.chunks_exact(1 + self.n_params) {
            let (location, shape) = variables[1..].split_at(self.dim);
            fit.weights.push(variables[0]);
            fit.atoms.extend_from_slice(location);
            fit.atoms.extend(shape.iter().map(|&v| if self.logarithmic() { v.exp() } else { v }));
        }
        fit.shared = shared.iter().map(|v| v.exp()).collect();
        fit
    }

    /// Lower and upper ends: the data box, the family's range of variances, weights from 0 to 2.
    pub(super) fn bounds(&self, target: &Target, family: &Gaussian) -> (Vec<f64>, Vec<f64>) {
        let bounds = family.bounds(&target.low, &target.high);
        let smallest = family.variance_range().0;
        let end = |weight: f64, atom: Vec<f64>, shared: Vec<f64>| {
            let shared = shared.iter().map(|v| v.max(smallest)).collect();
            self.pack(&Fit { atoms: atom.repeat(self.k), shared, weights: vec![weight; self.k] })
        };
        (end(0.0, bounds.low, bounds.shared_low), end(WEIGHT_MAX, bounds.high, bounds.shared_high))
    }

    /// The panels of the Jacobian, in the order of the columns.
    pub(super) fn panels(&self) -> Vec<Panel> {
        let width = 1 + self.n_params;
        let step = (PANEL / width).max(1);
        let own = (0..self.k).step_by(step).map(|first| {
            let atoms = first..self.k.min(first + step);
            Panel { columns: atoms.start * width..atoms.end * width, atoms }
        });
        let shared = self.k * width..self.len();
        own.chain((self.n_shared > 0).then_some(Panel { atoms: 0..0, columns: shared })).collect()
    }

    /// The columns of a panel: one row for each entry (interleaved real and imaginary parts, or real parts
    /// only), given the atoms' sketches `values`.
    pub(super) fn jacobian(
        &self,
        family: &Gaussian,
        fit: &Fit,
        values: &Batch,
        panel: &Panel,
        complex: bool,
    ) -> Vec<f64> {
        let (m, c) = (family.n_frequencies(), panel.columns.len());
        if let Some(kernel) = family.kernel() {
            let (atoms, width) = (panel.atoms.clone(), 1 + self.n_params);
            return super::nystrom::jacobian(family, kernel, fit, values, (atoms, c), width);
        }
        let entries = if complex { 2 } else { 1 };
        let mut out = vec![0.0; m * entries * c];
        let mut slopes = vec![0.0; self.n_params - self.dim + self.n_shared];
        for (j, rows) in out.chunks_exact_mut(entries * c).enumerate() {
            let omega = &family.frequencies()[j * self.dim..(j + 1) * self.dim];
            let (re_row, im_row) = rows.split_at_mut(c);
            if panel.atoms.is_empty() {
                self.slopes(omega, &[], &fit.shared, &mut slopes);
                let total =
                    |v: &[f64]| fit.weights.iter().enumerate().map(|(l, w)| w * v[l * m + j]).sum::<f64>();
                scale_into(re_row, total(&values.re), &slopes);
                scale_into(im_row, total(&values.im), &slopes);
                continue;
            }
            for (at, l) in panel.atoms.clone().enumerate() {
                let (re, im, weight) = (values.re[l * m + j], values.im[l * m + j], fit.weights[l]);
                let columns = at * (1 + self.n_params)..(at + 1) * (1 + self.n_params);
                let atom = &fit.atoms[l * self.n_params..(l + 1) * self.n_params];
                self.slopes(omega, &atom[self.dim..], &[], &mut slopes);
                self.atom_row(&mut re_row[columns.clone()], (re, -weight * im, weight * re), omega, &slopes);
                if complex {
                    self.atom_row(&mut im_row[columns], (im, weight * re, weight * im), omega, &slopes);
                }
            }
        }
        out
    }

    /// One row of one atom: its value, the factor of the frequency for locations, the factor of the slopes
    /// for shapes.
    fn atom_row(
        &self,
        row: &mut [f64],
        (value, turn, shape): (f64, f64, f64),
        omega: &[f64],
        slopes: &[f64],
    ) {
        row[0] = value;
        scale_into(&mut row[1..=self.dim], turn, omega);
        scale_into(&mut row[1 + self.dim..], shape, slopes);
    }

    /// Derivatives of the exponent $-\tfrac12 \omega^\top\Sigma\,\omega$ in the shape variables, own or
    /// shared.
    fn slopes(&self, omega: &[f64], shape: &[f64], shared: &[f64], out: &mut [f64]) {
        let isotropic = || -0.5 * omega.iter().map(|w| w * w).sum::<f64>();
        match self.shape {
            Shape::Dirac | Shape::Known(_) => {}
            Shape::Width => out[0] = isotropic() * shape[0],
            Shape::SharedWidth => {
                if let [width] = shared {
                    out[0] = isotropic() * width;
                }
            }
            Shape::Diagonal | Shape::SharedDiagonal => {
                let variances = if shared.is_empty() { shape } else { shared };
                out.iter_mut().zip(omega).zip(variances).for_each(|((o, w), v)| *o = -0.5 * w * w * v);
            }
            Shape::Full => {
                let entry = |i: usize, j: usize| i * (i + 1) / 2 + j;
                for j in 0..self.dim {
                    let along: f64 = (j..self.dim).map(|i| omega[i] * shape[entry(i, j)]).sum();
                    (j..self.dim).for_each(|i| out[entry(i, j)] = -omega[i] * along);
                }
            }
        }
    }
}

fn scale_into(target: &mut [f64], factor: f64, x: &[f64]) {
    target.iter_mut().zip(x).for_each(|(t, x)| *t = factor * x);
}
