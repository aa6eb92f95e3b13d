//! Kernel values at landmarks: what the f32 kernel computes, and its twin in double precision.
//!
//! The kernel crate evaluates $2^t$ with $t = s_j + w_j^\top u + b\,|u|^2$, where w, b and s are rounded to
//! single precision. That is a Gaussian kernel as well, of a slightly other width, at slightly other
//! landmarks, times a gain near 1:
//!
//! $$ \sigma'^2 = -\frac{\log_2 e}{2b}, \qquad y'_j = -\frac{w_j}{2b}, \qquad g_j = 2^{\,s_j - b |y'_j|^2}, $$
//!
//! so decoders, which use these, are not misled by that rounding.

use std::f64::consts::LOG2_E;

use compressive_kernels::Projection;

/// The kernel of a spec with landmarks.
#[derive(Clone, Debug)]
pub struct KernelMap {
    dim: usize,
    /// m rows of d.
    points: Vec<f64>,
    /// $\sigma'^2$.
    variance: f64,
    /// One for each landmark.
    gains: Vec<f64>,
}

impl KernelMap {
    /// The map for landmarks in working coordinates and a kernel of width `scale`, and the projection that
    /// computes it. Cost: O(m d).
    pub(crate) fn new(landmarks: &[Vec<f64>], scale: f64) -> (KernelMap, Projection) {
        let dim = landmarks.first().map_or(0, Vec::len);
        let unit = LOG2_E / (scale * scale);
        let b = (-0.5 * unit) as f32;
        let (mut weights, mut start) = (Vec::with_capacity(landmarks.len() * (dim + 1)), Vec::new());
        for y in landmarks {
            weights.extend(y.iter().map(|y| (y * unit) as f32));
            weights.push(b);
            start.push((-0.5 * unit * y.iter().map(|y| y * y).sum::<f64>()) as f32);
        }
        let projection = Projection::exponents(dim + 1, &weights, &start);
        let b = f64::from(b);
        let points: Vec<f64> = weights
            .chunks_exact(dim + 1)
            .flat_map(|w| w[..dim].iter().map(|&w| -0.5 * f64::from(w) / b))
            .collect();
        let gain = |(y, &s): (&[f64], &f32)| {
            (f64::from(s) - b * y.iter().map(|y| y * y).sum::<f64>()).clamp(-1.0, 1.0).exp2()
        };
        let gains = points.chunks_exact(dim).zip(&start).map(gain).collect();
        (KernelMap { dim, points, variance: -0.5 * LOG2_E / b, gains }, projection)
    }

    /// Rows with their squared norm as one more column, in the kernel's precision.
    pub(crate) fn extend(rows: &[f32], dim: usize, out: &mut Vec<f32>) {
        out.clear();
        for u in rows.chunks_exact(dim) {
            out.extend_from_slice(u);
            out.push(u.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>() as f32);
        }
    }

    /// The landmarks, m rows of d, in working coordinates.
    pub fn points(&self) -> &[f64] {
        &self.points
    }

    /// Squared width of the kernel, in working units.
    pub fn variance(&self) -> f64 {
        self.variance
    }

    /// What the kernel's values are multiplied by, near 1.
    pub fn gains(&self) -> &[f64] {
        &self.gains
    }

    /// Kernel values at `u`, unrounded. Cost: m d.
    pub(crate) fn features(&self, u: &[f64], out: &mut [f64]) {
        for ((y, gain), out) in self.points.chunks_exact(self.dim).zip(&self.gains).zip(out) {
            let square: f64 = u.iter().zip(y).map(|(u, y)| (u - y) * (u - y)).sum();
            *out = gain * (-0.5 * square / self.variance).exp();
        }
    }

    /// Adds the gradient in `u` of $\langle v, \text{features}(u) \rangle$ to `gradient`. Cost: 2 m d.
    pub(crate) fn features_vjp(&self, u: &[f64], v: &[f64], gradient: &mut [f64]) {
        for ((y, gain), v) in self.points.chunks_exact(self.dim).zip(&self.gains).zip(v) {
            let square: f64 = u.iter().zip(y).map(|(u, y)| (u - y) * (u - y)).sum();
            let value = v * gain * (-0.5 * square / self.variance).exp() / self.variance;
            gradient.iter_mut().zip(u).zip(y).for_each(|((g, u), y)| *g -= value * (u - y));
        }
    }
}
