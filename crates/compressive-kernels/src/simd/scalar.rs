//! The portable twin: eight lanes in an array, one standard-library operation each.

use super::Simd;

/// Portable lanes; needs no special instructions.
#[derive(Clone, Copy)]
pub(crate) struct Scalar;

const LANES: usize = 8;

impl Scalar {
    /// The counterpart of the other implementations' constructors.
    ///
    /// # Safety
    /// None needed.
    pub(crate) unsafe fn assume() -> Scalar {
        Scalar
    }
}

impl Simd for Scalar {
    type F = [f32; LANES];
    type I = [i32; LANES];
    const LANES: usize = LANES;

    #[inline(always)]
    fn splat(self, value: f32) -> Self::F {
        [value; LANES]
    }
    #[inline(always)]
    fn zero_int(self) -> Self::I {
        [0; LANES]
    }
    #[inline(always)]
    unsafe fn load(self, source: *const f32) -> Self::F {
        // SAFETY: the caller promises LANES readable values; the read is unaligned.
        unsafe { source.cast::<Self::F>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn store(self, target: *mut f32, value: Self::F) {
        // SAFETY: the caller promises LANES writable values; the write is unaligned.
        unsafe { target.cast::<Self::F>().write_unaligned(value) }
    }
    #[inline(always)]
    unsafe fn store_int(self, target: *mut i32, value: Self::I) {
        // SAFETY: the caller promises LANES writable values; the write is unaligned.
        unsafe { target.cast::<Self::I>().write_unaligned(value) }
    }
    #[inline(always)]
    fn add(self, a: Self::F, b: Self::F) -> Self::F {
        std::array::from_fn(|i| a[i] + b[i])
    }
    #[inline(always)]
    fn sub(self, a: Self::F, b: Self::F) -> Self::F {
        std::array::from_fn(|i| a[i] - b[i])
    }
    #[inline(always)]
    fn mul(self, a: Self::F, b: Self::F) -> Self::F {
        std::array::from_fn(|i| a[i] * b[i])
    }
    #[inline(always)]
    fn fma(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F {
        std::array::from_fn(|i| a[i].mul_add(b[i], c[i]))
    }
    #[inline(always)]
    fn round(self, a: Self::F) -> Self::F {
        a.map(f32::round_ties_even)
    }
    #[inline(always)]
    fn min(self, a: Self::F, b: Self::F) -> Self::F {
        std::array::from_fn(|i| if a[i] < b[i] { a[i] } else { b[i] })
    }
    #[inline(always)]
    fn max(self, a: Self::F, b: Self::F) -> Self::F {
        std::array::from_fn(|i| if a[i] > b[i] { a[i] } else { b[i] })
    }
    #[inline(always)]
    fn scale(self, a: Self::F, k: Self::I) -> Self::F {
        std::array::from_fn(|i| f32::from_bits(a[i].to_bits().wrapping_add((k[i] as u32) << 23)))
    }
    #[inline(always)]
    fn to_int(self, a: Self::F) -> Self::I {
        a.map(|x| x.round_ties_even() as i32)
    }
    #[inline(always)]
    fn clamp_unit(self, a: Self::F) -> Self::F {
        a.map(|x| x.clamp(-1.0, 1.0))
    }
    #[inline(always)]
    fn add_int(self, a: Self::I, b: Self::I) -> Self::I {
        std::array::from_fn(|i| a[i].wrapping_add(b[i]))
    }
    #[inline(always)]
    fn parity(self, a: Self::F) -> Self::I {
        a.map(|x| if x.abs() < 16_777_216.0 { (x.round_ties_even() as i32) << 31 } else { 0 })
    }
    #[inline(always)]
    fn flip(self, a: Self::F, sign: Self::I) -> Self::F {
        std::array::from_fn(|i| f32::from_bits(a[i].to_bits() ^ sign[i] as u32))
    }
    #[inline(always)]
    fn negatives(self, a: Self::F) -> Self::I {
        a.map(|x| [0, 1, 0x1_0001, 0x1_0000][(x.to_bits() & 3) as usize])
    }
    #[inline(always)]
    fn advance_quarter(self, a: Self::I) -> Self::I {
        a.map(|x| (x.wrapping_add(1 << 23) << 7) >> 7)
    }
    #[inline(always)]
    fn hadamard(self, mut a: Self::F) -> Self::F {
        let mut stride = 1;
        while stride < LANES {
            for i in 0..LANES {
                if i & stride == 0 {
                    (a[i], a[i + stride]) = (a[i] + a[i + stride], a[i] - a[i + stride]);
                }
            }
            stride *= 2;
        }
        a
    }
}
