//! The polish at landmarks: covariance and Jacobian of mean kernel values, in closed form.
//!
//! For $\kappa(x, y) = e^{-|x-y|^2/2\sigma^2}$ the product of two kernel values is one of half the squared
//! width at the middle,
//!
//! $$ \kappa(x, y_a)\,\kappa(x, y_b) = e^{-|y_a - y_b|^2/4\sigma^2}\; e^{-|x - \frac12(y_a + y_b)|^2/\sigma^2}, $$
//!
//! so its mean under a Gaussian is known. With $T = (\tfrac12\sigma^2 I + \Sigma)^{-1}$ and
//! $A_a = (y_a - c)^\top T (y_a - c)$ the exponent for a component is
//! $-\tfrac14 (A_a + A_b) + \tfrac18 (y_a - y_b)^\top T (y_a - y_b) - |y_a - y_b|^2/4\sigma^2$.
//!
//! | variable | derivative of $\alpha_l a$, $v = T (y - c)$ for $T = (\sigma^2 I + \Sigma)^{-1}$ |
//! |---|---|
//! | $\alpha_l$ | $a$ |
//! | location | $\alpha_l a\,v$ |
//! | $\ln \sigma_c^2$ | $\tfrac12 \sigma_c^2 (v_c^2 - T_{cc})\,\alpha_l a$ |
//! | $\ln \tau$ | $\tfrac12 \tau\,(|v|^2 - \operatorname{tr} T)\,\alpha_l a$ |
//! | $L_{ij}$ | $(v_i (L^\top v)_j - (T L)_{ij})\,\alpha_l a$ |
//!
//! Cost: $k m^2$ exponentials and $k m^2 d/2$ multiply-adds for the covariance, k m d for the Jacobian (k m
//! d^2 for full covariances). The formulas are this project's own.

use std::ops::Range;

use compressive_kernels::{Layout, exponentials, product};

use crate::density::atom::{AtomFamily, Batch, Gaussian, Kernel, Shape, Spread};
use crate::density::fit::Fit;
use crate::num::linear::dot;
use crate::num::packed::Packed;
use crate::num::parallel::for_each;

/// Landmarks of a block column.
const BLOCK: usize = 64;

/// One component, as the covariance needs it.
struct Component {
    /// $\alpha_l$.
    weight: f64,
    /// $Y T$, m rows of d.
    projected: Vec<f64>,
    /// $\tfrac18 y_a^\top T y_a - \tfrac14 A_a$ plus half the logarithm of the scale.
    own: Vec<f64>,
}

/// The covariance of one row's kernel values at the landmarks of `family` under the mixture `fit`, its
/// weights scaled to sum 1.
pub(super) fn covariance(family: &Gaussian, kernel: &Kernel, fit: &Fit, threads: usize) -> Packed {
    let (d, points) = (family.dim(), kernel.points());
    let weights = fit.normalised_weights();
    let half = 0.5 * kernel.width_squared();
    let spreads = family.spreads_at(&fit.atoms, &fit.shared, half);
    let components: Vec<Component> = spreads
        .iter()
        .zip(&weights)
        .map(|(spread, &weight)| Component::new(points, spread, weight))
        .collect();
    let mean = mean_values(family, fit, &weights);
    let norms: Vec<f64> = points.chunks_exact(d).map(|y| dot(y, y)).collect();
    let unit = 0.5 / kernel.width_squared();
    let mut packed = Packed::zeros(mean.len(), BLOCK);
    let columns: Vec<_> = packed.columns.iter_mut().enumerate().rev().collect();
    for_each(columns, threads, |(i, column)| {
        let start = i * BLOCK;
        let end = mean.len().min(start + BLOCK);
        let width = end - start;
        let own = &points[start * d..end * d];
        let mut shared = vec![0.0; column.len()];
        product(
            (end, d, width),
            unit,
            &points[..end * d],
            Layout::Plain,
            own,
            Layout::Transposed,
            0.0,
            &mut shared,
        );
        let mut cells = vec![0.0; column.len()];
        for component in &components {
            // The cross term of the eighth: -2/8 y_a^T T y_b.
            let left = &component.projected[..end * d];
            product((end, d, width), -0.25, left, Layout::Plain, own, Layout::Transposed, 0.0, &mut cells);
            for (b, row) in cells.chunks_exact_mut(width).enumerate() {
                let rest = shared[b * width..(b + 1) * width].iter().zip(&component.own[start..end]);
                for ((cell, (cross, a)), n) in row.iter_mut().zip(rest).zip(&norms[start..end]) {
                    // |y_a - y_b|^2 / 4 sigma^2 in three parts.
                    *cell += component.own[b] + a + cross - 0.5 * unit * (norms[b] + n);
                }
            }
            exponentials(&mut cells);
            column.iter_mut().zip(&cells).for_each(|(c, v)| *c += component.weight * v);
        }
        for (b, row) in column.chunks_exact_mut(width).enumerate() {
            row.iter_mut().zip(&mean[start..end]).for_each(|(c, z)| *c -= mean[b] * z);
        }
    });
    packed
}

impl Component {
    fn new(points: &[f64], spread: &Spread, weight: f64) -> Component {
        let d = spread.centre.len();
        let mut projected = vec![0.0; points.len()];
        let (mut v, origin) = (vec![0.0; d], vec![0.0; d]);
        // T y = T (y - c) - T (0 - c).
        let mut at_origin = vec![0.0; d];
        spread.pull(&origin, &mut at_origin);
        let mut own = Vec::with_capacity(points.len() / d);
        for (y, out) in points.chunks_exact(d).zip(projected.chunks_exact_mut(d)) {
            spread.pull(y, &mut v);
            out.iter_mut().zip(&v).zip(&at_origin).for_each(|((o, v), z)| *o = v - z);
            let distance: f64 = y.iter().zip(&spread.centre).zip(&v).map(|((y, c), v)| (y - c) * v).sum();
            own.push(0.125 * dot(y, out) - 0.25 * distance + 0.5 * spread.log_scale);
        }
        Component { weight, projected, own }
    }
}

/// Mean kernel values under the mixture.
fn mean_values(family: &Gaussian, fit: &Fit, weights: &[f64]) -> Vec<f64> {
    let mut values = Batch::default();
    family.sketch_batch(&fit.atoms, &fit.shared, &mut values);
    mixed(&values.re, weights)
}

/// The weighted sum of rows.
fn mixed(rows: &[f64], weights: &[f64]) -> Vec<f64> {
    let m = rows.len() / weights.len().max(1);
    (0..m).map(|j| weights.iter().enumerate().map(|(l, w)| w * rows[l * m + j]).sum()).collect()
}

/// Variance of one row's kernel value under the mixture, averaged over the landmarks.
pub(super) fn entry_variance(family: &Gaussian, fit: &Fit) -> f64 {
    let Some(kernel) = family.kernel() else { return f64::NAN };
    let weights = fit.normalised_weights();
    let mean = mean_values(family, fit, &weights);
    // The square of a kernel value is one of half the squared width.
    let half = Gaussian::at_landmarks(
        family.covariance().clone(),
        family.dim(),
        kernel.points(),
        0.5 * kernel.width_squared(),
        family.variance_range().1,
    );
    let squares = mean_values(&half, fit, &weights);
    let total: f64 = squares.iter().zip(&mean).map(|(s, z)| (s - z * z).max(0.0)).sum();
    total / mean.len().max(1) as f64
}

/// The columns of the Jacobian of some atoms (of the shared variables if there are none), m rows of
/// `columns`; an atom has `width` columns.
pub(super) fn jacobian(
    family: &Gaussian,
    kernel: &Kernel,
    fit: &Fit,
    values: &Batch,
    (atoms, columns): (Range<usize>, usize),
    width: usize,
) -> Vec<f64> {
    let (d, m) = (family.dim(), family.n_frequencies());
    let spreads = family.spreads(&fit.atoms, &fit.shared, kernel);
    let mut out = vec![0.0; m * columns];
    let mut v = vec![0.0; d];
    let (shared, own) = (atoms.is_empty(), atoms.clone());
    let which = if shared { 0..spreads.len() } else { own };
    let mut slopes = vec![0.0; if shared { columns } else { width - 1 - d }];
    for (at, l) in which.enumerate() {
        let atom = &fit.atoms[l * (width - 1)..(l + 1) * (width - 1)];
        for (j, row) in out.chunks_exact_mut(columns).enumerate() {
            let (value, weight) = (values.re[l * m + j], fit.weights[l]);
            spreads[l].pull(&kernel.points()[j * d..(j + 1) * d], &mut v);
            shape_slopes(family.covariance(), &spreads[l], &v, (&atom[d..], &fit.shared), &mut slopes);
            if shared {
                row.iter_mut().zip(&slopes).for_each(|(r, s)| *r += weight * value * s);
                continue;
            }
            let row = &mut row[at * width..(at + 1) * width];
            row[0] = value;
            row[1..].iter_mut().zip(v.iter().chain(&slopes)).for_each(|(r, s)| *r = weight * value * s);
        }
    }
    out
}

/// Derivatives of $\ln a$ in the shape variables, own or shared.
fn shape_slopes(shape: &Shape, spread: &Spread, v: &[f64], (own, shared): (&[f64], &[f64]), out: &mut [f64]) {
    let d = v.len();
    let square = |c: usize| 0.5 * (v[c] * v[c] - spread.entry(c, c));
    match shape {
        Shape::Dirac | Shape::Known(_) => {}
        Shape::Width | Shape::SharedWidth => {
            let width = if *shape == Shape::Width { own } else { shared };
            let total: f64 = (0..d).map(square).sum();
            out.iter_mut().zip(width).for_each(|(o, w)| *o = w * total);
        }
        Shape::Diagonal | Shape::SharedDiagonal => {
            let variances = if *shape == Shape::Diagonal { own } else { shared };
            out.iter_mut().zip(variances).enumerate().for_each(|(c, (o, s))| *o = s * square(c));
        }
        Shape::Full => {
            let entry = |i: usize, j: usize| i * (i + 1) / 2 + j;
            for j in 0..d {
                let along: f64 = (j..d).map(|l| v[l] * own[entry(l, j)]).sum();
                for i in j..d {
                    let product: f64 = (j..d).map(|l| spread.entry(i, l) * own[entry(l, j)]).sum();
                    out[entry(i, j)] = v[i] * along - product;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
