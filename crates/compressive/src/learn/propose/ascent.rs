//! The normalised correlation of an atom with a residual, and its ascent: step 1 of \[KBGP18\] algorithm 1.
//!
//! $$ f(\theta) = \mathrm{Re}\Big\langle \frac{a(\theta)}{\lVert a(\theta) \rVert}, r \Big\rangle, \qquad
//!    \nabla f = J^\top \Big(\frac{r}{\lVert a \rVert} - f\,\frac{a}{\lVert a \rVert^2}\Big), $$
//!
//! both products with the squared weights of the entries. Cost: one atom's sketch and vector-Jacobian product
//! (2 m d multiply-adds each) an evaluation.

use crate::density::atom::{AtomFamily, Batch, Gaussian};
use crate::density::target::Target;
use crate::learn::propose::pursuit::kernel_variance;
use crate::num::linear::dot;
use crate::num::solve::{LbfgsParams, minimize};

/// The correlation with one residual.
pub(super) struct Ascent<'a> {
    target: &'a Target,
    family: &'a Gaussian,
    residual: (&'a [f64], &'a [f64]),
    /// The residual times the squared weights, or in the target's metric.
    weighted: (Vec<f64>, Vec<f64>),
    shared: &'a [f64],
    values: Batch,
    cotangent: Batch,
    grad_shared: Vec<f64>,
}

impl<'a> Ascent<'a> {
    pub fn new(
        target: &'a Target,
        family: &'a Gaussian,
        residual: (&'a [f64], &'a [f64]),
        shared: &'a [f64],
    ) -> Ascent<'a> {
        let grad_shared = vec![0.0; family.n_shared()];
        Ascent {
            target,
            family,
            weighted: (
                target.weigh(residual.0),
                if target.complex { target.weigh(residual.1) } else { vec![] },
            ),
            residual,
            shared,
            values: Batch::default(),
            cotangent: Batch::default(),
            grad_shared,
        }
    }

    /// $f$ and its gradient.
    pub fn evaluate(&mut self, atom: &[f64], gradient: &mut [f64]) -> f64 {
        self.family.sketch_batch(atom, self.shared, &mut self.values);
        self.cotangent.resize(1, self.target.size());
        let complex = self.target.complex;
        self.cotangent.re.copy_from_slice(&self.target.weigh(&self.values.re));
        if complex {
            self.cotangent.im.copy_from_slice(&self.target.weigh(&self.values.im));
        }
        let product = |re: &[f64], im: &[f64]| {
            dot(&self.cotangent.re, re) + if complex { dot(&self.cotangent.im, im) } else { 0.0 }
        };
        let norm = product(&self.values.re, &self.values.im).sqrt().max(1e-300);
        let f = product(self.residual.0, self.residual.1) / norm;
        // The weighted atom is in the cotangent, so that only the residual is left to weigh, which does not
        // change.
        let cotangent = |weighted: &[f64], out: &mut [f64]| {
            let entries = out.iter_mut().zip(weighted);
            entries.for_each(|(o, r)| *o = (r - f * *o / norm) / norm);
        };
        cotangent(&self.weighted.0, &mut self.cotangent.re);
        if complex {
            cotangent(&self.weighted.1, &mut self.cotangent.im);
        } else {
            self.cotangent.im.fill(0.0);
        }
        self.family.vjp_batch(
            atom,
            self.shared,
            &self.values,
            &mut self.cotangent,
            gradient,
            &mut self.grad_shared,
        );
        f
    }

    /// Climbs from `atom` inside the bounds; returns the correlation reached and the evaluations spent.
    pub fn climb(&mut self, atom: &mut [f64], iterations: usize) -> (f64, usize) {
        let bounds = self.family.bounds(&self.target.low, &self.target.high);
        let mut gradient = vec![0.0; atom.len()];
        self.evaluate(atom, &mut gradient);
        // In these units the first step has the length of the kernel, whatever the size of the residual: a
        // longer one would leave the bump.
        let length = kernel_variance(self.target).sqrt();
        let unit = length.min(1.0) / dot(&gradient, &gradient).sqrt().max(1e-30);
        let mut objective = |x: &[f64], gradient: &mut [f64]| {
            let f = self.evaluate(x, gradient);
            gradient.iter_mut().for_each(|g| *g *= -unit);
            -unit * f
        };
        let params = LbfgsParams {
            iterations_max: iterations,
            gtol: 1e-4 * length,
            ftol: 1e-7,
            ..LbfgsParams::default()
        };
        let info = minimize(&mut objective, atom, &bounds.low, &bounds.high, &params);
        (-info.value / unit, info.evaluations + 1)
    }
}
