//! The few vector operations the kernels are written in, and one implementation of them per instruction set.
//!
//! A value of a type that implements [`Simd`] is a proof that the processor has the instructions: it can only
//! be made by the `unsafe` constructor `assume`. Holding it, arithmetic is safe; only loads and stores, which
//! take raw pointers, stay `unsafe`.
//!
//! Every floating-point operation here is exactly one IEEE 754 operation per lane (a fused multiply-add
//! counts as one), so all implementations give the same bits.

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
#[cfg(target_arch = "aarch64")]
pub(crate) mod neon;
pub(crate) mod scalar;

/// Vectors of `LANES` numbers; `LANES` divides 16.
pub(crate) trait Simd: Copy {
    /// Lanes of `f32`.
    type F: Copy;
    /// Lanes of `i32`.
    type I: Copy;
    /// Number of lanes.
    const LANES: usize;

    /// The same value in every lane.
    fn splat(self, value: f32) -> Self::F;
    /// Zero in every lane.
    fn zero_int(self) -> Self::I;
    /// Reads `LANES` numbers.
    ///
    /// # Safety
    /// `source` must be valid for reading `LANES` values; no alignment is needed.
    unsafe fn load(self, source: *const f32) -> Self::F;
    /// Writes `LANES` numbers.
    ///
    /// # Safety
    /// `target` must be valid for writing `LANES` values; no alignment is needed.
    unsafe fn store(self, target: *mut f32, value: Self::F);
    /// Writes `LANES` integers.
    ///
    /// # Safety
    /// `target` must be valid for writing `LANES` values; no alignment is needed.
    unsafe fn store_int(self, target: *mut i32, value: Self::I);

    /// Asks for a cache line that will be read soon; any address is allowed.
    #[inline(always)]
    fn prefetch(self, _address: *const f32) {}

    /// `a + b`.
    fn add(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a - b`.
    fn sub(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a * b`.
    fn mul(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a * b + c`, rounded once.
    fn fma(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    /// Nearest integer, ties to even.
    fn round(self, a: Self::F) -> Self::F;
    /// The smaller of two numbers; of zeros of either sign, one of them.
    fn min(self, a: Self::F, b: Self::F) -> Self::F;
    /// The larger of two numbers; of zeros of either sign, one of them.
    fn max(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a * 2^k`, exactly, where `a` and the result are normal numbers.
    fn scale(self, a: Self::F, k: Self::I) -> Self::F;
    /// Nearest integer, ties to even, for |a| < 2^31.
    fn to_int(self, a: Self::F) -> Self::I;
    /// `a` moved to the nearer end if it is outside of [-1, 1]; `a` is not NaN.
    fn clamp_unit(self, a: Self::F) -> Self::F;
    /// Integer `a + b`.
    fn add_int(self, a: Self::I, b: Self::I) -> Self::I;

    /// The sign bit (bit 31) set where the integer nearest to `a` is odd, all other bits clear. From 2^24 on
    /// every `f32` is even.
    fn parity(self, a: Self::F) -> Self::I;
    /// `a` negated where bit 31 of `sign` is set; the other bits of `sign` must be clear.
    fn flip(self, a: Self::F, sign: Self::I) -> Self::F;
    /// For `a` whose two low mantissa bits are a quadrant 0..=3: the packed count `[0, 1, 0x1_0001,
    /// 0x1_0000]` (low half: the cosine is negative; high half: the sine is).
    fn negatives(self, a: Self::F) -> Self::I;
    /// Integers modulo one turn of 2^25, advanced by a quarter: `wrap(a + 2^23)` in -2^24..2^24.
    fn advance_quarter(self, a: Self::I) -> Self::I;
    /// The Walsh-Hadamard transform of the lanes: butterflies (a + b, a - b) with strides 1, 2, 4 ... `LANES
    /// / 2`, in this order.
    fn hadamard(self, a: Self::F) -> Self::F;

    /// For values and steps to the next of a periodic function, L pairs (value, step), and y in [0, 1): with
    /// x = L y and i = floor(x), the integer nearest to value_i + (x - i) step_i, ties to even, below 2^31.
    /// Four at a time.
    #[inline(always)]
    fn interpolate(self, pairs: &[[f64; 2]], y: [f64; 4]) -> [i32; 4] {
        let mut out = [0; 4];
        for (y, out) in y.iter().zip(&mut out) {
            let x = y * pairs.len() as f64;
            let i = (x as usize).min(pairs.len() - 1);
            let [value, step] = pairs[i];
            *out = (value + (x - i as f64) * step).round_ties_even() as i32;
        }
        out
    }

    /// Two such integers at once, of y and of y + 3/4 less a whole turn, where the two pairs of place i are
    /// (value, step, value, step) and L is a power of two from 4 on. Eight at a time.
    #[inline(always)]
    fn interpolate_both(self, pairs: &[[f64; 4]], y: [f64; 8]) -> [[i32; 8]; 2] {
        let mut out = [[0; 8]; 2];
        let len = pairs.len() as f64;
        for (lane, y) in y.iter().enumerate() {
            let (x, behind) = (y * len, (y + 0.75) * len);
            let i = (x as usize).min(pairs.len() - 1);
            let fractions = [x - x.floor(), behind - behind.floor()];
            for (half, fraction) in fractions.iter().enumerate() {
                let [value, step] = [pairs[i][2 * half], pairs[i][2 * half + 1]];
                out[half][lane] = (value + fraction * step).round_ties_even() as i32;
            }
        }
        out
    }
}
