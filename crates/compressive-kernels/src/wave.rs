//! The periodic features, on phases in half turns, the quadratic one, on projections, and the Gaussian
//! kernel, on exponents.
//!
//! With the phase h = omega^T x / pi + dither in half turns, k the integer nearest to h and v = h - k in
//! [-1/2, 1/2] (an exact subtraction):
//!
//! | wave | cosine-like entry | sine-like entry |
//! |---|---|---|
//! | Fourier | cos(pi h) = (-1)^k C(v^2) | sin(pi h) = (-1)^k v S(v^2) |
//! | Cosine | as above | none |
//! | OneBit | sign cos(pi h) | sign sin(pi h) |
//! | Sawtooth | 2 wrap(r + 1/4) | 2 r, with r = wrap(h / 2), wrap(u) = u - round(u) |
//! | Quadratic | t^2 | t, with t = h clamped to [-1, 1] |
//!
//! times 2^24 and rounded to an integer. C and S are polynomials of degree 5 and 4 with coefficients in
//! `f32`, chosen so that no value leaves [-2^24, 2^24]; over all v their error against the exact functions,
//! roundings and all, is below 1.5e-7 and its mean below 4e-9 (test `every_phase_stays_in_range_and_close`).
//!
//! The Gaussian wave takes the binary logarithm of a kernel value in place of a phase. It and tables of any
//! other periodic function have their own files.
//!
//! Cost per vector, projection apart: 21 operations for Fourier, 3 for OneBit, 10 for Sawtooth, 8 for
//! Quadratic, 14 for Gaussian.

mod gaussian;
pub(crate) mod table;

pub(crate) use gaussian::Gaussian;
pub use table::Table;

use crate::simd::Simd;

/// Frequencies per panel: the unit of work of every kernel.
pub(crate) const PANEL: usize = 16;

/// Rows whose features may be added in 32 bits: 127 * 2^24 < 2^31; 126 is a multiple of every tile height.
pub(crate) const ROWS_MAX: usize = 126;

/// A feature map of the phase omega^T x + dither, in half turns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wave<'a> {
    /// cos and sin: the complex exponential of \[KTTG17\] and \[KBGP18\].
    Fourier,
    /// cos alone, for dithered random Fourier features.
    Cosine,
    /// sign of cos and of sin: the one-bit universal quantisation of \[SJ22\]. First harmonic: gain 4/pi.
    OneBit,
    /// The normalised modulo map of \[Sch21\] and the same a quarter of a turn ahead. First harmonic: gain
    /// 2/pi.
    Sawtooth,
    /// The square of the phase and the phase itself, clamped to [-1, 1] half turns: the random second moments
    /// of \[GBKT17\] section 3, and first moments beside them. Not periodic.
    Quadratic,
    /// 2^t for exponents t <= 0 ([`Projection::exponents`](crate::Projection::exponents)): the Gaussian
    /// kernel values of \[CCDR22\]. Exponents above 0, which only rounding can make, count as 0.
    Gaussian,
    /// Any periodic function, by a table, and the same a quarter of a turn behind.
    Periodic(&'a Table),
}

impl Wave<'static> {
    /// All waves but tables.
    pub(crate) const ALL: [Wave<'static>; 6] =
        [Wave::Fourier, Wave::Cosine, Wave::OneBit, Wave::Sawtooth, Wave::Quadratic, Wave::Gaussian];
}

impl Wave<'_> {
    /// Number of blocks of m entries: 2 (a cosine-like block, then a sine-like block), or 1 for `Cosine` and
    /// `Gaussian`.
    pub fn blocks(self) -> usize {
        match self {
            Wave::Cosine | Wave::Gaussian => 1,
            Wave::Fourier | Wave::OneBit | Wave::Sawtooth | Wave::Quadratic | Wave::Periodic(_) => 2,
        }
    }

    /// The largest $|a| + |b|$ and the largest $a^2 + b^2$ of the rounded entries a, b of one row and one
    /// frequency, in units of the grid: exact, found over every phase (test `no_phase_reaches_further`). For
    /// a table, a bound.
    pub fn reach(self) -> (u64, u64) {
        match self {
            Wave::Fourier => (23_726_568, 281_475_055_621_345),
            Wave::Cosine | Wave::Gaussian => (1 << 24, 1 << 48),
            Wave::OneBit | Wave::Quadratic | Wave::Periodic(_) => (1 << 25, 1 << 49),
            Wave::Sawtooth => (3 << 23, 5 << 46),
        }
    }
}

/// S: sin(pi v) = v S(v^2) on [-1/2, 1/2], times 2^24.
const SIN: [f32; 5] = [52_707_180.0, -86_699_760.0, 42_782_376.0, -10_033_090.0, 1_295_633.4];

/// C: cos(pi v) = C(v^2) on [-1/2, 1/2], times 2^24; the first entry is exactly 2^24 and the rest never adds
/// to it.
const COS: [f32; 6] = [16_777_216.0, -82_792_240.0, 68_093_830.0, -22_401_238.0, 3_942_174.8, -409_828.28];

/// 1.5 * 2^22: here one unit in the last place of `f32` is half a half turn, so that adding it leaves the
/// quadrant of a phase in the two low mantissa bits.
const QUADRANT: f32 = 6_291_456.0;

/// Subtracted from a phase (in half turns) before [`QUADRANT`] is added: turns rounding to nearest into
/// rounding down.
pub(crate) const ONE_BIT_SHIFT: f32 = 0.25;

/// 2^25: grid steps of a turn of the sawtooth.
const TURN: f32 = 33_554_432.0;

/// 2^24: grid steps of the unit.
const UNIT: f32 = 16_777_216.0;

/// One wave's arithmetic.
pub(crate) trait Shape {
    /// Adds the features of `K` vectors of phases to running sums (or to whatever `finish` turns into sums).
    fn step<S: Simd, const K: usize>(simd: S, h: [S::F; K], sums: &mut [S::I; 2]);
    /// Turns the lanes left by `rows` phases into sums of features.
    fn finish(_rows: usize, _sums: &mut [[i32; PANEL]; 2]) {}
}

/// `coefficients[0] + z (coefficients[1] + z (...))`.
#[inline(always)]
fn horner<S: Simd, const K: usize, const N: usize>(
    simd: S,
    z: [S::F; K],
    coefficients: &[f32; N],
) -> [S::F; K] {
    let mut value = [simd.splat(coefficients[N - 1]); K];
    for &c in coefficients[..N - 1].iter().rev() {
        for (a, &z) in value.iter_mut().zip(&z) {
            *a = simd.fma(*a, z, simd.splat(c));
        }
    }
    value
}

/// The complex exponential.
pub(crate) struct Fourier;

impl Shape for Fourier {
    #[inline(always)]
    fn step<S: Simd, const K: usize>(simd: S, h: [S::F; K], sums: &mut [S::I; 2]) {
        let v = h.map(|h| simd.sub(h, simd.round(h)));
        let z = v.map(|v| simd.mul(v, v));
        let (cos, sin) = (horner(simd, z, &COS), horner(simd, z, &SIN));
        for i in 0..K {
            let sign = simd.parity(h[i]);
            let (cos, sin) = (simd.flip(cos[i], sign), simd.mul(simd.flip(v[i], sign), sin[i]));
            sums[0] = simd.add_int(sums[0], simd.to_int(cos));
            sums[1] = simd.add_int(sums[1], simd.to_int(sin));
        }
    }
}

/// The cosine block of [`Fourier`].
pub(crate) struct Cosine;

impl Shape for Cosine {
    #[inline(always)]
    fn step<S: Simd, const K: usize>(simd: S, h: [S::F; K], sums: &mut [S::I; 2]) {
        let z = h.map(|h| {
            let v = simd.sub(h, simd.round(h));
            simd.mul(v, v)
        });
        let cos = horner(simd, z, &COS);
        for i in 0..K {
            sums[0] = simd.add_int(sums[0], simd.to_int(simd.flip(cos[i], simd.parity(h[i]))));
        }
    }
}

/// Signs of cosine and sine; phases come shifted by [`ONE_BIT_SHIFT`].
pub(crate) struct OneBit;

impl Shape for OneBit {
    #[inline(always)]
    fn step<S: Simd, const K: usize>(simd: S, h: [S::F; K], sums: &mut [S::I; 2]) {
        for h in h {
            let quadrant = simd.add(h, simd.splat(QUADRANT));
            sums[0] = simd.add_int(sums[0], simd.negatives(quadrant));
        }
    }

    fn finish(rows: usize, sums: &mut [[i32; PANEL]; 2]) {
        let signed = |count: i32| (rows as i32 - 2 * count) << crate::GRID_BITS;
        let [cos, sin] = sums;
        for (c, s) in cos.iter_mut().zip(sin) {
            (*c, *s) = (signed(*c & 0xffff), signed(*c >> 16));
        }
    }
}

/// The modulo map.
pub(crate) struct Sawtooth;

impl Shape for Sawtooth {
    #[inline(always)]
    fn step<S: Simd, const K: usize>(simd: S, h: [S::F; K], sums: &mut [S::I; 2]) {
        for h in h {
            let turns = simd.mul(h, simd.splat(0.5));
            let r = simd.sub(turns, simd.round(turns));
            let sin = simd.to_int(simd.mul(r, simd.splat(TURN)));
            sums[0] = simd.add_int(sums[0], simd.advance_quarter(sin));
            sums[1] = simd.add_int(sums[1], sin);
        }
    }
}

/// The square and the value itself.
pub(crate) struct Quadratic;

impl Shape for Quadratic {
    #[inline(always)]
    fn step<S: Simd, const K: usize>(simd: S, h: [S::F; K], sums: &mut [S::I; 2]) {
        for h in h {
            let t = simd.clamp_unit(h);
            // A power of two: the value on the grid is exact, and the square is rounded once before it
            // becomes an integer.
            let on_grid = simd.mul(t, simd.splat(UNIT));
            sums[0] = simd.add_int(sums[0], simd.to_int(simd.mul(on_grid, t)));
            sums[1] = simd.add_int(sums[1], simd.to_int(on_grid));
        }
    }
}

/// Phases of `rows` rows at the 16 frequencies of a panel; row i starts at `first + i * stride`.
#[derive(Clone, Copy)]
pub(crate) struct Phases {
    pub(crate) first: *const f32,
    pub(crate) stride: usize,
    pub(crate) rows: usize,
}

/// Sums of the features of up to [`ROWS_MAX`] rows, `K` at a time.
///
/// # Safety
/// Every row of `phases` must be valid for reading [`PANEL`] values.
#[inline(always)]
pub(crate) unsafe fn sum<S: Simd, W: Shape, const K: usize>(
    simd: S,
    phases: Phases,
    out: &mut [[i32; PANEL]; 2],
) {
    debug_assert!(phases.rows <= ROWS_MAX);
    for lane in (0..PANEL).step_by(S::LANES) {
        let mut sums = [simd.zero_int(); 2];
        let together = phases.rows / K * K;
        for row in (0..together).step_by(K) {
            // SAFETY: the caller promises PANEL values per row, and lane + LANES <= PANEL.
            let h = std::array::from_fn(|i| unsafe {
                simd.load(phases.first.add((row + i) * phases.stride + lane))
            });
            W::step::<S, K>(simd, h, &mut sums);
        }
        for row in together..phases.rows {
            // SAFETY: as above.
            let h = unsafe { simd.load(phases.first.add(row * phases.stride + lane)) };
            W::step(simd, [h], &mut sums);
        }
        for (block, value) in out.iter_mut().zip(sums) {
            // SAFETY: a block holds PANEL values, and lane + LANES <= PANEL.
            unsafe { simd.store_int(block.as_mut_ptr().add(lane), value) };
        }
    }
    W::finish(phases.rows, out);
}

/// The features of each row by themselves: `out[row]` as [`sum`] of that row alone.
///
/// # Safety
/// As for [`sum`].
#[inline(always)]
pub(crate) unsafe fn quantize<S: Simd, W: Shape>(simd: S, phases: Phases, out: &mut [[[i32; PANEL]; 2]]) {
    assert!(out.len() >= phases.rows, "one pair of blocks per row");
    for (row, pair) in out.iter_mut().take(phases.rows).enumerate() {
        // SAFETY: `row` is one of the caller's rows.
        let first = unsafe { phases.first.add(row * phases.stride) };
        // SAFETY: this one row is as readable as the caller promises.
        unsafe { sum::<S, W, 1>(simd, Phases { first, stride: 0, rows: 1 }, pair) };
    }
}

#[cfg(test)]
mod tests;
