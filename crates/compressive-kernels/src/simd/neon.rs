//! NEON: 4 lanes.

use super::Simd;
use std::arch::aarch64::*;

/// Proof that the processor has NEON.
#[derive(Clone, Copy)]
pub(crate) struct Neon(());

impl Neon {
    /// # Safety
    /// The processor must have NEON.
    #[inline(always)]
    pub(crate) unsafe fn assume() -> Neon {
        Neon(())
    }
}

impl Simd for Neon {
    type F = float32x4_t;
    type I = int32x4_t;
    const LANES: usize = 4;

    #[inline(always)]
    fn splat(self, value: f32) -> Self::F {
        // SAFETY: the token proves NEON.
        unsafe { vdupq_n_f32(value) }
    }
    #[inline(always)]
    fn zero_int(self) -> Self::I {
        // SAFETY: the token proves NEON.
        unsafe { vdupq_n_s32(0) }
    }
    #[inline(always)]
    unsafe fn load(self, source: *const f32) -> Self::F {
        // SAFETY: the token proves NEON; the caller promises the memory.
        unsafe { vld1q_f32(source) }
    }
    #[inline(always)]
    unsafe fn store(self, target: *mut f32, value: Self::F) {
        // SAFETY: the token proves NEON; the caller promises the memory.
        unsafe { vst1q_f32(target, value) }
    }
    #[inline(always)]
    unsafe fn store_int(self, target: *mut i32, value: Self::I) {
        // SAFETY: the token proves NEON; the caller promises the memory.
        unsafe { vst1q_s32(target, value) }
    }
    #[inline(always)]
    fn add(self, a: Self::F, b: Self::F) -> Self::F {
        // SAFETY: the token proves NEON.
        unsafe { vaddq_f32(a, b) }
    }
    #[inline(always)]
    fn sub(self, a: Self::F, b: Self::F) -> Self::F {
        // SAFETY: the token proves NEON.
        unsafe { vsubq_f32(a, b) }
    }
    #[inline(always)]
    fn mul(self, a: Self::F, b: Self::F) -> Self::F {
        // SAFETY: the token proves NEON.
        unsafe { vmulq_f32(a, b) }
    }
    #[inline(always)]
    fn fma(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F {
        // SAFETY: the token proves NEON.
        unsafe { vfmaq_f32(c, a, b) }
    }
    #[inline(always)]
    fn round(self, a: Self::F) -> Self::F {
        // SAFETY: the token proves NEON.
        unsafe { vrndnq_f32(a) }
    }
    #[inline(always)]
    fn min(self, a: Self::F, b: Self::F) -> Self::F {
        // SAFETY: the token proves NEON.
        unsafe { vminq_f32(a, b) }
    }
    #[inline(always)]
    fn max(self, a: Self::F, b: Self::F) -> Self::F {
        // SAFETY: the token proves NEON.
        unsafe { vmaxq_f32(a, b) }
    }
    #[inline(always)]
    fn scale(self, a: Self::F, k: Self::I) -> Self::F {
        // SAFETY: the token proves NEON.
        unsafe { vreinterpretq_f32_s32(vaddq_s32(vreinterpretq_s32_f32(a), vshlq_n_s32::<23>(k))) }
    }
    #[inline(always)]
    fn to_int(self, a: Self::F) -> Self::I {
        // SAFETY: the token proves NEON.
        unsafe { vcvtnq_s32_f32(a) }
    }
    #[inline(always)]
    fn clamp_unit(self, a: Self::F) -> Self::F {
        // SAFETY: the token proves NEON.
        unsafe { vminq_f32(vmaxq_f32(a, vdupq_n_f32(-1.0)), vdupq_n_f32(1.0)) }
    }
    #[inline(always)]
    fn add_int(self, a: Self::I, b: Self::I) -> Self::I {
        // SAFETY: the token proves NEON.
        unsafe { vaddq_s32(a, b) }
    }
    #[inline(always)]
    fn parity(self, a: Self::F) -> Self::I {
        // The conversion saturates to odd numbers, so lanes from 2^24 on are masked out.
        // SAFETY: the token proves NEON.
        unsafe {
            let small = vreinterpretq_s32_u32(vcaltq_f32(a, vdupq_n_f32(16_777_216.0)));
            vshlq_n_s32::<31>(vandq_s32(vcvtnq_s32_f32(a), small))
        }
    }
    #[inline(always)]
    fn flip(self, a: Self::F, sign: Self::I) -> Self::F {
        // SAFETY: the token proves NEON.
        unsafe { vreinterpretq_f32_s32(veorq_s32(vreinterpretq_s32_f32(a), sign)) }
    }
    #[inline(always)]
    fn negatives(self, a: Self::F) -> Self::I {
        // With quadrant bits b1 b0 the sine is negative for b1, the cosine for b1 xor b0.
        // SAFETY: the token proves NEON.
        unsafe {
            let bits = vreinterpretq_s32_f32(a);
            let cos = vandq_s32(veorq_s32(bits, vshrq_n_s32::<1>(bits)), vdupq_n_s32(1));
            let sin = vshlq_n_s32::<15>(vandq_s32(bits, vdupq_n_s32(2)));
            vorrq_s32(cos, sin)
        }
    }
    #[inline(always)]
    fn advance_quarter(self, a: Self::I) -> Self::I {
        // SAFETY: the token proves NEON.
        unsafe { vshrq_n_s32::<7>(vshlq_n_s32::<7>(vaddq_s32(a, vdupq_n_s32(1 << 23)))) }
    }
    #[inline(always)]
    fn hadamard(self, a: Self::F) -> Self::F {
        // Lane i of a stage is own * (+1 or -1) + partner: one shuffle and one exact multiply-add.
        // SAFETY: the token proves NEON; both arrays hold four values.
        unsafe {
            let one = vld1q_f32([1.0, -1.0, 1.0, -1.0].as_ptr());
            let two = vld1q_f32([1.0, 1.0, -1.0, -1.0].as_ptr());
            let a = vfmaq_f32(vrev64q_f32(a), a, one);
            vfmaq_f32(vextq_f32::<2>(a, a), a, two)
        }
    }
}
