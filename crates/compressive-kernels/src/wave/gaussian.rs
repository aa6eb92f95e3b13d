//! The Gaussian kernel as a wave: 2^t for binary exponents t <= 0, times 2^24 and rounded.
//!
//! With rows extended by their squared norm, the exponent of $\kappa(u, y) = e^{-|u - y|^2 / 2\sigma^2}$ is a
//! linear map of the row, so that the projection is that of the other waves
//! ([`Projection::exponents`](crate::Projection::exponents)):
//!
//! 1. t is held within [-100, 0]: rounding may lift it above 0, and 2^-100 rounds to 0 like anything below
//!    2^-25;
//! 2. t = k + f with k the nearest integer and f in [-1/2, 1/2] (an exact subtraction);
//! 3. 2^f by a polynomial of degree 6 with its constant exactly 2^24, so that t = 0 gives 2^24 and no value
//!    exceeds it;
//! 4. times 2^k by an addition to the exponent bits, which is exact: the product stays above 2^-77.
//!
//! Error against the exact function, roundings and all, below 1.2e-7 (test
//! `every_exponent_stays_in_range_and_close`). Cost: 14 operations a vector. Reference: \[CCDR22\] section 3.

use super::{Shape, horner};
use crate::simd::Simd;

/// 2^f on [-1/2, 1/2], times 2^24.
const EXP2: [f32; 7] =
    [16_777_216.0, 11_629_080.0, 4_030_331.5, 931_191.25, 161_370.6, 22_479.58, 2_575.866_7];

/// Exponents below this count as this: their values round to zero.
const EXPONENT_MIN: f32 = -100.0;

/// The Gaussian kernel.
pub(crate) struct Gaussian;

impl Shape for Gaussian {
    #[inline(always)]
    fn step<S: Simd, const K: usize>(simd: S, h: [S::F; K], sums: &mut [S::I; 2]) {
        let t = h.map(|h| simd.max(simd.min(h, simd.splat(0.0)), simd.splat(EXPONENT_MIN)));
        let f = t.map(|t| simd.sub(t, simd.round(t)));
        let power = horner(simd, f, &EXP2);
        for i in 0..K {
            let value = simd.scale(power[i], simd.to_int(t[i]));
            sums[0] = simd.add_int(sums[0], simd.to_int(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Backend;
    use crate::dispatch::{Pair, kernels};
    use crate::wave::{PANEL, Phases, Wave};

    const ONE: i32 = 1 << crate::GRID_BITS;

    fn values(backend: Backend, exponents: &[[f32; PANEL]], out: &mut Vec<Pair>) {
        out.resize(exponents.len(), [[0; PANEL]; 2]);
        let view = Phases { first: exponents.as_ptr().cast(), stride: PANEL, rows: exponents.len() };
        // SAFETY: every row holds PANEL values, and the backend is available.
        unsafe { kernels(backend).quantize(Wave::Gaussian, view, out) };
    }

    #[test]
    fn every_exponent_stays_in_range_and_close() {
        // All f32 in [-32, -2^-12], of which e^-20 = 2^-28.9 is one; nearer to zero the value is 2^24 less a
        // little.
        let (first, last) = ((1f32 / 4096.0).to_bits(), 32f32.to_bits());
        let (mut worst, mut mean, mut weight) = (0f64, 0f64, 0f64);
        let (mut rows, mut features) = (vec![[0f32; PANEL]; 1024], Vec::new());
        let mut before = ONE;
        for start in (first..last).step_by(16 * 1024) {
            for (r, row) in rows.iter_mut().enumerate() {
                *row = std::array::from_fn(|i| -f32::from_bits(start + (16 * r + i) as u32));
            }
            values(Backend::best(), &rows, &mut features);
            for (t, [q, second]) in rows.iter().zip(&features) {
                assert_eq!(second, &[0; PANEL], "one block only");
                let top = q.iter().fold((0, ONE), |(high, low), &v| (high.max(v), low.min(v)));
                // Monotone up to one step of the grid.
                assert!(top.1 >= 0 && top.0 <= before + 1, "{top:?} after {before} at {}", t[0]);
                before = q[PANEL - 1];
            }
            for (t, [q, _]) in rows.iter().zip(&features).step_by(16) {
                let width = f64::from(t[0] - t[15]);
                for (t, q) in t.iter().zip(q) {
                    let error = f64::from(*q) / f64::from(ONE) - f64::from(*t).exp2();
                    worst = worst.max(error.abs());
                    mean += width * error;
                    weight += width;
                }
            }
        }
        assert!(worst < 1.2e-7, "largest error {worst:e}");
        assert!((mean / weight).abs() < 4e-9, "mean error {:e}", mean / weight);
    }

    #[test]
    fn whole_exponents_are_exact_and_far_ones_vanish_on_every_backend() {
        let row: [f32; PANEL] = [
            0.0, -0.0, 1e-6, 3.0, 1e30, -1.0, -2.0, -24.0, -26.0, -99.6, -100.5, -1e4, -3e38, -1e-40, -0.5,
            -23.0,
        ];
        let exact = [ONE, ONE, ONE, ONE, ONE, ONE / 2, ONE / 4, 1, 0, 0, 0, 0, 0, ONE];
        for backend in Backend::available() {
            let mut out = Vec::new();
            values(backend, &[row], &mut out);
            assert_eq!(out[0][0][..14], exact, "{backend:?}");
            // 2^23.5 = 11863283.2, and one step of the grid is allowed.
            assert!((out[0][0][14] - 11_863_283).abs() <= 1 && out[0][0][15] == 2, "{backend:?}");
        }
    }
}
