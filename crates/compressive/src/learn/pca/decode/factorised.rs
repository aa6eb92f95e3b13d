//! Low-rank factorisation with an isotropic rest: the default decoder of principal components.
//!
//! $$ \min_{U \in \mathbb R^{d \times r},\, \sigma \ge 0}\; \tfrac1{4m} \sum_j \omega_j \bigl(s_j - \lVert U^\top x_j \rVert^2 - \sigma\bigr)^2, \qquad \lVert x_j \rVert = 1, $$
//!
//! the problem (33) of \[GBKT17\] with the rank constraint written out. Differs from \[GBKT17\]: the term
//! $\sigma$ stands for the variance beyond the components, which otherwise spoils them (without it the excess
//! risk at m = 2 k d is 1.6% where it is 0.4%), and r is larger than k where the sketch carries it: spare
//! components take up the leading part of the rest (0.1%), and the k largest eigenvalues of
//! $U U^\top + \sigma I$ are returned.
//!
//! Steps:
//!
//! 1. Start from the eigenvectors of the weighted sum of the directions.
//! 2. Descend by limited-memory BFGS, with the gradient $-\tfrac1m X^\top \mathrm{diag}(\omega r) X U$.
//! 3. If noise was added to the sketch: weights $\omega_j = 1 / (\tau^2 + \nu_j^2)$, $\nu_j$ the noise of an
//!    equation and $\tau$ what the fit leaves beside it, and descend again.
//!
//! Relative weights $1 / s_j^2$, which the sampling error of $s_j$ would ask for, have 2.4 times the excess
//! risk: what the model leaves out is larger, and does not grow with $s_j$.
//!
//! Cost: 4 m d r a step, some hundred steps.

use crate::learn::pca::decode::{Measurements, Spectrum, parameters, spectral};
use crate::model::{DecodeInfo, Stop};
use crate::num::linear::{dot, multiply, transposed_multiply};
use crate::num::solve::{LbfgsInfo, LbfgsParams, minimize, symmetric_eigen};

/// Parameters of [`factorised`](factorised()).
#[derive(Clone, Debug)]
pub struct FactorisedParams {
    /// Number k of components.
    pub k: usize,
    /// Components fitted besides those; none for as many as the sketch carries, up to k + 2.
    pub spare: Option<usize>,
    /// Limit of iterations of each descent. Default 2000.
    pub iterations_max: usize,
}

impl FactorisedParams {
    /// The defaults for k components.
    pub fn new(k: usize) -> FactorisedParams {
        FactorisedParams { k, spare: None, iterations_max: 2000 }
    }
}

/// Share of the equations that the parameters may take up with spare components; beyond it they fit the
/// scatter of the draw.
const CARRIED: f64 = 0.7;

/// A fit without spare components whose residual is this many times the added noise leaves something out that
/// they can take up; below it they would fit the noise.
const LEFT_OUT: f64 = 1.5;

/// Decodes by factorisation.
pub fn factorised(data: &Measurements, params: &FactorisedParams) -> Spectrum {
    let (d, k) = (data.dim, params.k.clamp(1, data.dim));
    let rank = (k + params.spare.unwrap_or_else(|| spares(data, params, k))).min(d);
    // Step 1.
    let mut x = spectral::start(data, rank);
    let total: f64 = x.iter().map(|u| u * u).sum();
    x.push((1.0 - total / d as f64).max(0.0));
    // Step 2.
    let mut weights = vec![1.0; data.size()];
    let mut done = descend(data, rank, &weights, &mut x, params);
    // Step 3.
    if data.noise_level() > 0.0 {
        let residuals = Problem { data, rank, weights: &weights }.residuals(&x);
        let left = dot(&residuals, &residuals) / data.size() as f64;
        let tau = (left - data.noise_level().powi(2)).max(0.01 * left);
        weights = data.noise.iter().map(|noise| 1.0 / (tau + noise * noise)).collect();
        let mean = weights.iter().sum::<f64>() / data.size() as f64;
        weights.iter_mut().for_each(|w| *w /= mean);
        let again = descend(data, rank, &weights, &mut x, params);
        done = LbfgsInfo {
            iterations: done.iterations + again.iterations,
            evaluations: done.evaluations + again.evaluations,
            ..again
        };
    }
    let residuals = Problem { data, rank, weights: &weights }.residuals(&x);
    let info = DecodeInfo {
        iterations: done.iterations,
        evaluations: done.evaluations,
        cost: done.value,
        stop: Stop::from(done.stop),
    };
    let residual = (dot(&residuals, &residuals) / data.size() as f64).sqrt();
    data.finish(spectrum(&x, d, rank, k, residual, info))
}

/// The most spare components that the sketch carries; none if the noise explains what is left without them.
fn spares(data: &Measurements, params: &FactorisedParams, k: usize) -> usize {
    let most = CARRIED * data.size() as f64;
    let carried = (0..=k + 2).rev().find(|spare| parameters(k + spare, data.dim) as f64 <= most).unwrap_or(0);
    if carried == 0 || data.noise_level() == 0.0 {
        return carried;
    }
    let alone = factorised(data, &FactorisedParams { spare: Some(0), ..params.clone() });
    if alone.residual > LEFT_OUT * data.noise_level() { carried } else { 0 }
}

fn descend(
    data: &Measurements,
    rank: usize,
    weights: &[f64],
    x: &mut [f64],
    params: &FactorisedParams,
) -> LbfgsInfo {
    let mut problem = Problem { data, rank, weights };
    let mut lower = vec![f64::NEG_INFINITY; x.len()];
    // With every column a component there is nothing left beside them.
    let last = x.len() - 1;
    lower[last] = 0.0;
    let mut upper = vec![f64::INFINITY; x.len()];
    if rank == data.dim {
        (x[last], upper[last]) = (0.0, 0.0);
    }
    let lbfgs = LbfgsParams {
        iterations_max: params.iterations_max,
        memory: 20,
        ftol: 1e-9,
        gtol: 1e-8,
        ..LbfgsParams::default()
    };
    minimize(&mut |x, gradient| problem.value(x, gradient), x, &lower, &upper, &lbfgs)
}

/// The objective for a matrix U (d x rank, row-major) followed by $\sigma$.
pub(super) struct Problem<'a> {
    pub(super) data: &'a Measurements,
    pub(super) rank: usize,
    pub(super) weights: &'a [f64],
}

impl Problem<'_> {
    /// X U, one row a direction.
    fn images(&self, x: &[f64]) -> Vec<f64> {
        let mut images = vec![0.0; self.data.directions.len() / self.data.dim * self.rank];
        multiply(&self.data.directions, &x[..self.data.dim * self.rank], self.rank, &mut images);
        images
    }

    fn residuals(&self, x: &[f64]) -> Vec<f64> {
        self.residuals_of(&self.images(x), x)
    }

    fn residuals_of(&self, images: &[f64], x: &[f64]) -> Vec<f64> {
        let model = self.data.fold(images.chunks_exact(self.rank).map(|row| dot(row, row)));
        let rest = x[x.len() - 1];
        self.data.values.iter().zip(&model).map(|(s, f)| s - f - rest).collect()
    }

    /// Value and gradient.
    pub(super) fn value(&mut self, x: &[f64], gradient: &mut [f64]) -> f64 {
        let m = self.data.size() as f64;
        let images = self.images(x);
        let residuals = self.residuals_of(&images, x);
        let weighted: Vec<f64> = residuals.iter().zip(self.weights).map(|(r, w)| -r * w / m).collect();
        let scaled = self.data.scaled_rows(&images, &weighted, self.rank);
        let (factors, rest) = gradient.split_at_mut(self.data.dim * self.rank);
        transposed_multiply(&self.data.directions, &scaled, self.data.dim, factors);
        rest[0] = 0.5 * weighted.iter().sum::<f64>();
        -0.25 * dot(&weighted, &residuals)
    }
}

/// The k largest eigenvalues of $U U^\top + \sigma I$: those of the small matrix $U^\top U$.
fn spectrum(x: &[f64], d: usize, rank: usize, k: usize, residual: f64, info: DecodeInfo) -> Spectrum {
    let (factors, rest) = (&x[..d * rank], x[d * rank]);
    let mut small = vec![0.0; rank * rank];
    transposed_multiply(factors, factors, rank, &mut small);
    let (values, vectors) = symmetric_eigen(&small, rank);
    let total = values.iter().map(|v| v.max(0.0)).sum::<f64>() + d as f64 * rest;
    let mut found: Vec<Vec<f64>> = Vec::with_capacity(k);
    for mixing in vectors.chunks_exact(rank).take(k) {
        let vector = factors.chunks_exact(rank).map(|row| dot(row, mixing)).collect();
        push_orthonormal(&mut found, vector);
    }
    Spectrum {
        values: values.iter().take(k).map(|v| v.max(0.0) + rest).collect(),
        vectors: found,
        total,
        residual,
        info,
    }
}

/// Adds a vector, made orthogonal to those before it and of unit length; a vanishing one becomes the first
/// unit vector that is not spanned yet.
fn push_orthonormal(found: &mut Vec<Vec<f64>>, vector: Vec<f64>) {
    let d = vector.len();
    let units = (0..d).map(|c| (0..d).map(|i| if i == c { 1.0 } else { 0.0 }).collect());
    for mut candidate in std::iter::once(vector).chain(units) {
        let before = dot(&candidate, &candidate).sqrt();
        for _ in 0..2 {
            for other in found.iter() {
                let part = dot(&candidate, other);
                candidate.iter_mut().zip(other).for_each(|(x, o)| *x -= part * o);
            }
        }
        let norm = dot(&candidate, &candidate).sqrt();
        if norm > 1e-8 * before && norm > 1e-150 {
            candidate.iter_mut().for_each(|x| *x /= norm);
            return found.push(candidate);
        }
    }
}
