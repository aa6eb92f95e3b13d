//! Principal components from a sketch of random second moments (\[GBKT17\] section 3).
//!
//! The first block of a quadratic sketch holds $y_j = v_j^\top M v_j$, M the second moments about the working
//! centre, the second $l_j = v_j^\top \mu$, $\mu$ the mean. With $\mu$ by least squares from the second
//! block, $s_j = y_j - (v_j^\top \mu)^2 = v_j^\top \Sigma v_j$: m linear equations for the covariance
//! $\Sigma$, exact but for the rounding to the grid and noise added on purpose. Fewer than $d(d+1)/2$ of them
//! leave $\Sigma$ open, and the decoders differ in what they assume of it:
//!
//! | decoder | assumption | cost |
//! |---|---|---|
//! | [`factorised`](factorised()) | a few components and an isotropic rest | m d k a step |
//! | [`psd`](psd()) | positive semidefinite, nothing else | m d^2 + d^3 a step |
//! | [`nuclear`](nuclear()) | the same with the smallest trace | m d^2 + d^3 a step, several rounds |
//!
//! Complex directions $v_j = a_j + i b_j$ have $y_j = a_j^\top M a_j + b_j^\top M b_j$ and the mean of
//! $a_j^\top u$.

mod factorised;
mod nuclear;
mod proximal;
mod psd;
mod spectral;
#[cfg(test)]
mod tests;

use crate::error::remedy::{Parameter, Remedy};
use crate::error::{Error, Result};
use crate::model::DecodeInfo;
use crate::num::linear::{dot, multiply, transposed_multiply};
use crate::sketch::Moments;
use crate::sketch::map::Map;
use crate::sketch::operator::SketchOperator;

pub use factorised::{FactorisedParams, factorised};
pub use nuclear::{NuclearParams, nuclear};
pub use psd::{PsdParams, psd};

/// The equations for a covariance, and the mean, in working coordinates.
#[derive(Clone, Debug)]
pub struct Measurements {
    dim: usize,
    /// Directions of unit length (of complex ones the two parts together), m or 2m rows of d.
    directions: Vec<f64>,
    /// $s_j / (\lVert v_j \rVert^2 \cdot \text{unit})$: mean one.
    values: Vec<f64>,
    /// Standard deviation of the noise on each value, in the same units.
    noise: Vec<f64>,
    /// The mean variance of a direction.
    unit: f64,
    mean: Vec<f64>,
}

/// A covariance known by its largest eigenvalues, in working coordinates.
#[derive(Clone, Debug, PartialEq)]
pub struct Spectrum {
    /// The k largest eigenvalues, the largest first.
    pub values: Vec<f64>,
    /// Their eigenvectors, k rows of d, orthonormal.
    pub vectors: Vec<Vec<f64>>,
    /// The trace of the covariance.
    pub total: f64,
    /// Root mean square residual of the equations, relative to the mean of their values.
    pub residual: f64,
    /// What the decoder did.
    pub info: DecodeInfo,
}

impl Measurements {
    /// Reads the equations off a quadratic sketch; k is the number of components wanted. Cost: m d for each
    /// of at most d + 50 steps to the mean.
    ///
    /// # Errors
    /// [`Error::Task`] if the feature is another one, k is not from 1 to d, or there are fewer directions
    /// than columns or parameters.
    pub fn new(operator: &SketchOperator, moments: &Moments, k: usize) -> Result<Measurements> {
        check(operator, moments, k)?;
        let (m, dim) = (operator.spec().size, operator.dim());
        let mut directions = operator.frequencies().to_vec();
        let mut squares = vec![0.0; m];
        for (j, v) in directions.chunks_exact(dim).enumerate() {
            squares[j % m] += dot(v, v);
        }
        let (second, first) = moments.mean.split_at(m);
        let mean = least_squares(&directions[..m * dim], first, dim);
        let mut values = second.to_vec();
        for (j, v) in directions.chunks_exact(dim).enumerate() {
            values[j % m] -= dot(v, &mean).powi(2);
        }
        // Directions whose box is a point carry nothing.
        let inverse = |square: f64| if square > 0.0 { 1.0 / square } else { 0.0 };
        for (value, square) in values.iter_mut().zip(&squares) {
            *value *= inverse(*square);
        }
        for (j, v) in directions.chunks_exact_mut(dim).enumerate() {
            let length = inverse(squares[j % m]).sqrt();
            v.iter_mut().for_each(|x| *x *= length);
        }
        let unit = values.iter().sum::<f64>() / m as f64;
        if !(unit > 0.0 && unit.is_finite()) {
            return Err(no_variance(moments.rows));
        }
        values.iter_mut().for_each(|value| *value /= unit);
        let noise = squares.iter().map(|square| moments.noise_std * inverse(*square) / unit).collect();
        Ok(Measurements { dim, directions, values, noise, unit, mean })
    }

    /// The mean of the rows.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// Number of equations.
    pub fn size(&self) -> usize {
        self.values.len()
    }

    /// Root mean square of the noise on a value.
    fn noise_level(&self) -> f64 {
        (self.noise.iter().map(|e| e * e).sum::<f64>() / self.size() as f64).sqrt()
    }

    /// The sum over the two parts of complex directions of what `rows` holds for each.
    fn fold(&self, rows: impl Iterator<Item = f64>) -> Vec<f64> {
        let mut out = vec![0.0; self.size()];
        for (j, value) in rows.enumerate() {
            out[j % self.size()] += value;
        }
        out
    }

    /// $\langle x_j x_j^\top, \Sigma \rangle$ of a symmetric d x d matrix. Cost: m d^2.
    fn apply(&self, sigma: &[f64]) -> Vec<f64> {
        let mut images = vec![0.0; self.directions.len()];
        multiply(&self.directions, sigma, self.dim, &mut images);
        let rows = images.chunks_exact(self.dim).zip(self.directions.chunks_exact(self.dim));
        self.fold(rows.map(|(a, b)| dot(a, b)))
    }

    /// $\sum_j r_j\, x_j x_j^\top$. Cost: m d^2.
    fn adjoint(&self, residuals: &[f64]) -> Vec<f64> {
        let scaled = self.scaled_rows(&self.directions, residuals, self.dim);
        let mut out = vec![0.0; self.dim * self.dim];
        transposed_multiply(&self.directions, &scaled, self.dim, &mut out);
        out
    }

    /// The rows of a table with one row a direction, times the residuals of their equations.
    fn scaled_rows(&self, rows: &[f64], residuals: &[f64], columns: usize) -> Vec<f64> {
        let mut scaled = rows.to_vec();
        for (j, row) in scaled.chunks_exact_mut(columns).enumerate() {
            let factor = residuals[j % self.size()];
            row.iter_mut().for_each(|x| *x *= factor);
        }
        scaled
    }

    /// Eigenvalues, trace and residuals in the units of the sketch.
    fn finish(&self, mut spectrum: Spectrum) -> Spectrum {
        spectrum.values.iter_mut().for_each(|value| *value *= self.unit);
        spectrum.total *= self.unit;
        spectrum
    }
}

/// Degrees of freedom of a matrix of rank k in d columns, and of an isotropic rest.
pub(crate) fn parameters(k: usize, dim: usize) -> usize {
    let k = k.min(dim);
    k * dim - k * k.saturating_sub(1) / 2 + usize::from(k < dim)
}

/// Rows without components.
pub(super) fn no_variance(rows: f64) -> Error {
    let problem = format!(
        "the {rows} rows of the sketch have no variance (all equal, or drowned in noise), so there are no components"
    );
    Error::Task { field: "task", problem }
}

/// Refuses more components than columns, or fewer than two rows.
pub(super) fn check_rank(k: usize, dim: usize, rows: f64) -> Result<()> {
    if k == 0 || k > dim {
        let problem = format!("{k} principal components of {dim} columns; ask for 1 to {dim}");
        return Err(Error::Task { field: "k", problem });
    }
    if rows < 2.0 {
        return Err(Error::TooFewRows {
            what: "principal components",
            rows: rows.max(0.0) as u64,
            needed: 2,
        });
    }
    Ok(())
}

fn check(operator: &SketchOperator, moments: &Moments, k: usize) -> Result<()> {
    let advise = |field, problem: String, remedy| Err(Error::Task { field, problem }.advise(remedy));
    let (spec, dim) = (operator.spec(), operator.dim());
    if !matches!(spec.map, Map::Moments(_)) {
        let name = spec.map.name();
        if moments.exact.is_some() {
            let problem = format!(
                "this decoder reads sums of directions, and the sketch has exact moments beside `{name}`"
            );
            let error = advise("decoder", problem, Remedy::FitAgain(vec![Remedy::Drop(Parameter::Decoder)]));
            return error.map_err(|e| e.advise(Remedy::sketch_with(Parameter::Feature, "quadratic")));
        }
        return advise(
            "task",
            format!(
                "principal components need exact moments of all pairs of columns, or the feature `quadratic`, and \
                 this sketch has `{name}` alone"
            ),
            Remedy::sketch_with(Parameter::Task, "pca"),
        );
    }
    if spec.transform.whiten.is_some() {
        let problem = "whitened columns have no principal components".into();
        return advise("task", problem, Remedy::SketchAgain(vec![Remedy::Drop(Parameter::Whiten)]));
    }
    let rows = if moments.mean.len() == spec.sketch_len() { moments.rows } else { 0.0 };
    check_rank(k, dim, rows)?;
    let needed = parameters(k, dim).max(dim);
    if spec.size < needed {
        return advise(
            "k",
            format!(
                "{k} components of {dim} columns need a sketch of at least {needed} directions, \
                 and this one has {}",
                spec.size,
            ),
            Remedy::SketchAgain(vec![
                Remedy::set(Parameter::Size, 4 * k * dim),
                Remedy::set(Parameter::K, k),
            ]),
        );
    }
    Ok(())
}

/// The x of least $\lVert V x - b \rVert$ with rows of V brought to unit length, by conjugate gradients on
/// the normal equations.
fn least_squares(rows: &[f64], b: &[f64], dim: usize) -> Vec<f64> {
    let lengths: Vec<f64> = rows.chunks_exact(dim).map(|v| dot(v, v).sqrt().max(1e-300)).collect();
    let scale = |values: &mut [f64]| values.iter_mut().zip(&lengths).for_each(|(x, l)| *x /= l);
    let (mut x, mut image) = (vec![0.0; dim], vec![0.0; lengths.len()]);
    let mut residual = b.to_vec();
    scale(&mut residual);
    let back = |residual: &[f64], out: &mut [f64]| {
        let mut scaled = residual.to_vec();
        scale(&mut scaled);
        transposed_multiply(rows, &scaled, dim, out);
    };
    let mut gradient = vec![0.0; dim];
    back(&residual, &mut gradient);
    let mut direction = gradient.clone();
    let start = dot(&gradient, &gradient);
    let mut norm = start;
    for _ in 0..dim + 50 {
        if !(norm > 1e-28 * start) {
            break;
        }
        multiply(rows, &direction, 1, &mut image);
        scale(&mut image);
        let step = norm / dot(&image, &image).max(1e-300);
        x.iter_mut().zip(&direction).for_each(|(x, d)| *x += step * d);
        residual.iter_mut().zip(&image).for_each(|(r, i)| *r -= step * i);
        back(&residual, &mut gradient);
        let next = dot(&gradient, &gradient);
        direction.iter_mut().zip(&gradient).for_each(|(d, g)| *d = g + next / norm * *d);
        norm = next;
    }
    x
}
