//! Least squares over the variables of a mixture, entry by entry weighted or whitened: what both fits of this
//! module minimise.
//!
//! $f(x) = \tfrac12 \sum_g \lVert W_g (A_g(x) - z_g) \rVert^2 + \tfrac12 s\,(\sum_l \alpha_l - 1)^2$ over
//! parts g of the sketch. The last term is the sketch at frequency zero, which is one for every distribution.
//!
//! The gradient is $J^\top W^\top W r$ with the plain Jacobian, and costs little; $J^\top W^\top W J$ costs
//! $n^2 p / 2 + n p^2 / 2$ when $W$ is a factor. It is therefore formed anew only when the cost has fallen
//! below `renew` times what it was, or after six steps: near the solution a slightly old matrix leads to the
//! same point.

use std::sync::Arc;

use compressive_kernels::{Layout, product};

use super::variables::Variables;
use crate::density::atom::{AtomFamily, Batch, Gaussian};
use crate::density::fit::Fit;
use crate::num::linear::dot;
use crate::num::packed::Factor;
use crate::num::parallel::for_each;
use crate::num::solve::LeastSquares;

/// Points that a matrix may serve. Near the solution three to five are usual; a long way needs new matrices.
const AGE_MAX: usize = 6;

/// How the residuals of a part are weighted.
pub(super) enum Weighting {
    /// One factor for each frequency.
    Each(Vec<f64>),
    /// $W = R^{-\top}$ for the covariance $R^\top R$ of the part.
    Whitened(Arc<Factor>),
}

/// Some of the frequencies, with the sketch there.
pub(super) struct Part {
    pub(super) family: Gaussian,
    /// The sketch: interleaved real and imaginary parts, or real parts only.
    pub(super) z: Vec<f64>,
    pub(super) weighting: Weighting,
}

/// The objective.
pub(super) struct Weighted {
    pub(super) variables: Variables,
    pub(super) complex: bool,
    pub(super) parts: Vec<Part>,
    /// s, the weight of the squared deviation of the total weight from one.
    pub(super) unit_sum: f64,
    /// The matrix is formed anew below this part of the cost at which it was formed; 1 or more: always.
    pub(super) renew: f64,
    /// Points at which the last matrix has served.
    pub(super) age: usize,
    pub(super) threads: usize,
    /// The last matrix, and the cost where it was formed.
    pub(super) formed: Option<(f64, Vec<f64>)>,
    /// Matrices formed.
    pub(super) n_formed: usize,
}

impl Part {
    /// The atoms' sketches, and $W r$.
    fn residual(&self, fit: &Fit, complex: bool) -> (Batch, Vec<f64>) {
        let m = self.family.n_frequencies();
        let mut values = Batch::default();
        self.family.sketch_batch(&fit.atoms, &fit.shared, &mut values);
        let mut residual: Vec<f64> = self.z.iter().map(|z| -z).collect();
        let entries = if complex { 2 } else { 1 };
        for (l, &weight) in fit.weights.iter().enumerate() {
            let rows = l * m..(l + 1) * m;
            let atom = values.re[rows.clone()].iter().zip(&values.im[rows]);
            for (r, (re, im)) in residual.chunks_exact_mut(entries).zip(atom) {
                r[0] += weight * re;
                if complex {
                    r[1] += weight * im;
                }
            }
        }
        self.weigh(&mut residual, 1);
        (values, residual)
    }

    /// Replaces the rows a (c columns) by $W a$.
    fn weigh(&self, a: &mut [f64], c: usize) {
        match &self.weighting {
            Weighting::Each(weights) => scale_rows(a, weights),
            Weighting::Whitened(factor) if c == 1 => factor.solve_lower(a),
            Weighting::Whitened(factor) => factor.whiten(a, c),
        }
    }

    /// Replaces a vector b by $W^\top b$.
    fn weigh_back(&self, b: &mut [f64]) {
        match &self.weighting {
            Weighting::Each(weights) => scale_rows(b, weights),
            Weighting::Whitened(factor) => factor.solve_upper(b),
        }
    }
}

/// Multiplies equal runs of `a` by the weights.
fn scale_rows(a: &mut [f64], weights: &[f64]) {
    let run = a.len() / weights.len().max(1);
    a.chunks_exact_mut(run.max(1)).zip(weights).for_each(|(row, w)| row.iter_mut().for_each(|v| *v *= w));
}

impl Weighted {
    fn excess_weight(&self, fit: &Fit) -> f64 {
        fit.weights.iter().sum::<f64>() - 1.0
    }

    /// Adds a part's gradient to `gradient` and, if given, its matrix to `hessian`.
    fn add_part(
        &self,
        part: &Part,
        fit: &Fit,
        (values, mut residual): (Batch, Vec<f64>),
        hessian: Option<&mut [f64]>,
        gradient: &mut [f64],
    ) {
        part.weigh_back(&mut residual);
        let (n, p) = (residual.len(), gradient.len());
        let mut panels: Vec<_> =
            self.variables.panels().into_iter().map(|panel| (panel, Vec::new(), Vec::new())).collect();
        let form = hessian.is_some();
        for_each(panels.iter_mut().collect(), self.threads, |(panel, columns, slope)| {
            let c = panel.columns.len();
            *columns = self.variables.jacobian(&part.family, fit, &values, panel, self.complex);
            *slope = vec![0.0; c];
            product((1, n, c), 1.0, &residual, Layout::Plain, columns, Layout::Plain, 0.0, slope);
            if form {
                part.weigh(columns, c);
            }
        });
        for (panel, _, slope) in &panels {
            gradient[panel.columns.clone()].iter_mut().zip(slope).for_each(|(g, s)| *g += s);
        }
        let Some(hessian) = hessian else { return };
        let pairs: Vec<(usize, usize)> =
            (0..panels.len()).flat_map(|i| (0..=i).map(move |j| (i, j))).collect();
        let mut blocks: Vec<_> = pairs.into_iter().map(|pair| (pair, Vec::new())).collect();
        for_each(blocks.iter_mut().collect(), self.threads, |((i, j), block)| {
            let ((left, a, _), (right, b, _)) = (&panels[*i], &panels[*j]);
            let shape = (left.columns.len(), n, right.columns.len());
            *block = vec![0.0; shape.0 * shape.2];
            product(shape, 1.0, a, Layout::Transposed, b, Layout::Plain, 0.0, block);
        });
        for ((i, j), block) in &blocks {
            let (rows, columns) = (&panels[*i].0.columns, &panels[*j].0.columns);
            for (values, row) in block.chunks_exact(columns.len()).zip(rows.clone()) {
                for (value, column) in values.iter().zip(columns.clone()) {
                    hessian[row * p + column] += value;
                    if i != j {
                        hessian[column * p + row] += value;
                    }
                }
            }
        }
    }

    /// Adds the term of the total weight.
    fn add_unit_sum(&self, fit: &Fit, hessian: Option<&mut [f64]>, gradient: &mut [f64]) {
        let places: Vec<usize> = (0..fit.k()).map(|l| self.variables.weight_at(l)).collect();
        let (excess, p) = (self.excess_weight(fit), gradient.len());
        places.iter().for_each(|&i| gradient[i] += self.unit_sum * excess);
        if let Some(hessian) = hessian {
            places.iter().for_each(|&i| places.iter().for_each(|&j| hessian[i * p + j] += self.unit_sum));
        }
    }
}

impl LeastSquares for Weighted {
    fn n_params(&self) -> usize {
        self.variables.len()
    }

    fn cost(&mut self, x: &[f64]) -> f64 {
        let fit = self.variables.unpack(x);
        let parts = self.parts.iter().map(|part| {
            let (_, residual) = part.residual(&fit, self.complex);
            0.5 * dot(&residual, &residual)
        });
        parts.sum::<f64>() + 0.5 * self.unit_sum * self.excess_weight(&fit).powi(2)
    }

    fn normal(&mut self, x: &[f64], hessian: &mut [f64], gradient: &mut [f64]) -> f64 {
        let fit = self.variables.unpack(x);
        let residuals: Vec<_> = self.parts.iter().map(|part| part.residual(&fit, self.complex)).collect();
        let squares = residuals.iter().map(|(_, r)| 0.5 * dot(r, r)).sum::<f64>();
        let cost = squares + 0.5 * self.unit_sum * self.excess_weight(&fit).powi(2);
        let renew = self
            .formed
            .as_ref()
            .is_none_or(|(before, _)| !(cost > self.renew * before) || self.age >= AGE_MAX);
        self.age = if renew { 1 } else { self.age + 1 };
        for (part, residual) in self.parts.iter().zip(residuals) {
            self.add_part(part, &fit, residual, renew.then_some(&mut *hessian), gradient);
        }
        self.add_unit_sum(&fit, renew.then_some(&mut *hessian), gradient);
        if renew {
            self.formed = Some((cost, hessian.to_vec()));
            self.n_formed += 1;
        } else if let Some((_, formed)) = &self.formed {
            hessian.copy_from_slice(formed);
        }
        cost
    }
}
