//! AVX-512F: 16 lanes.

use super::Simd;
use std::arch::x86_64::*;

/// Proof that the processor has AVX-512F.
#[derive(Clone, Copy)]
pub(crate) struct Avx512(());

impl Avx512 {
    /// # Safety
    /// The processor must have AVX-512F.
    #[inline(always)]
    pub(crate) unsafe fn assume() -> Avx512 {
        Avx512(())
    }
}

/// -1 in the lanes of the mask, 1 elsewhere.
///
/// # Safety
/// The processor must have AVX-512F.
#[inline(always)]
unsafe fn signs(negative: u16) -> __m512 {
    // SAFETY: the caller proves AVX-512F.
    unsafe { _mm512_mask_blend_ps(negative, _mm512_set1_ps(1.0), _mm512_set1_ps(-1.0)) }
}

impl Simd for Avx512 {
    type F = __m512;
    type I = __m512i;
    const LANES: usize = 16;

    #[inline(always)]
    fn splat(self, value: f32) -> Self::F {
        // SAFETY: the token proves AVX-512F.
        unsafe { _mm512_set1_ps(value) }
    }
    #[inline(always)]
    fn zero_int(self) -> Self::I {
        // SAFETY: the token proves AVX-512F.
        unsafe { _mm512_setzero_si512() }
    }
    #[inline(always)]
    unsafe fn load(self, source: *const f32) -> Self::F {
        // SAFETY: the token proves AVX-512F; the caller promises the memory.
        unsafe { _mm512_loadu_ps(source) }
    }
    #[inline(always)]
    unsafe fn store(self, target: *mut f32, value: Self::F) {
        // SAFETY: the token proves AVX-512F; the caller promises the memory.
        unsafe { _mm512_storeu_ps(target, value) }
    }
    #[inline(always)]
    unsafe fn store_int(self, target: *mut i32, value: Self::I) {
        // SAFETY: the token proves AVX-512F; the caller promises the memory.
        unsafe { _mm512_storeu_si512(target.cast(), value) }
    }
    #[inline(always)]
    fn prefetch(self, address: *const f32) {
        // SAFETY: a prefetch of any address is only a hint.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
    }
    #[inline(always)]
    fn add(self, a: Self::F, b: Self::F) -> Self::F {
        // SAFETY: the token proves AVX-512F.
        unsafe { _mm512_add_ps(a, b) }
    }
    #[inline(always)]
    fn sub(self, a: Self::F, b: Self::F) -> Self::F {
        // SAFETY: the token proves AVX-512F.
        unsafe { _mm512_sub_ps(a, b) }
    }
    #[inline(always)]
    fn mul(self, a: Self::F, b: Self::F) -> Self::F {
        // SAFETY: the token proves AVX-512F.
        unsafe { _mm512_mul_ps(a, b) }
    }
    #[inline(always)]
    fn fma(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F {
        // SAFETY: the token proves AVX-512F.
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }
    #[inline(always)]
    fn round(self, a: Self::F) -> Self::F {
        // SAFETY: the token proves AVX-512F.
        unsafe { _mm512_roundscale_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(a) }
    }
    #[inline(always)]
    fn min(self, a: Self::F, b: Self::F) -> Self::F {
        // SAFETY: the token proves AVX-512F.
        unsafe { _mm512_min_ps(a, b) }
    }
    #[inline(always)]
    fn max(self, a: Self::F, b: Self::F) -> Self::F {
        // SAFETY: the token proves AVX-512F.
        unsafe { _mm512_max_ps(a, b) }
    }
    #[inline(always)]
    fn scale(self, a: Self::F, k: Self::I) -> Self::F {
        // SAFETY: the token proves AVX-512F.
        unsafe { _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(a), _mm512_slli_epi32::<23>(k))) }
    }
    #[inline(always)]
    fn to_int(self, a: Self::F) -> Self::I {
        // SAFETY: the token proves AVX-512F.
        unsafe { _mm512_cvtps_epi32(a) }
    }
    #[inline(always)]
    fn clamp_unit(self, a: Self::F) -> Self::F {
        // SAFETY: the token proves AVX-512F.
        unsafe { _mm512_min_ps(_mm512_max_ps(a, _mm512_set1_ps(-1.0)), _mm512_set1_ps(1.0)) }
    }
    #[inline(always)]
    fn add_int(self, a: Self::I, b: Self::I) -> Self::I {
        // SAFETY: the token proves AVX-512F.
        unsafe { _mm512_add_epi32(a, b) }
    }
    #[inline(always)]
    fn parity(self, a: Self::F) -> Self::I {
        // Out of range the conversion gives 0x8000_0000, which is even as well.
        // SAFETY: the token proves AVX-512F.
        unsafe { _mm512_slli_epi32::<31>(_mm512_cvtps_epi32(a)) }
    }
    #[inline(always)]
    fn flip(self, a: Self::F, sign: Self::I) -> Self::F {
        // SAFETY: the token proves AVX-512F.
        unsafe { _mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(a), sign)) }
    }
    #[inline(always)]
    fn negatives(self, a: Self::F) -> Self::I {
        // SAFETY: the token proves AVX-512F.
        unsafe {
            let table = _mm512_castsi512_ps(_mm512_set4_epi32(0x1_0000, 0x1_0001, 1, 0));
            _mm512_castps_si512(_mm512_permutevar_ps(table, _mm512_castps_si512(a)))
        }
    }
    #[inline(always)]
    fn advance_quarter(self, a: Self::I) -> Self::I {
        // SAFETY: the token proves AVX-512F.
        unsafe {
            let ahead = _mm512_add_epi32(a, _mm512_set1_epi32(1 << 23));
            _mm512_srai_epi32::<7>(_mm512_slli_epi32::<7>(ahead))
        }
    }
    #[inline(always)]
    fn hadamard(self, a: Self::F) -> Self::F {
        // Lane i of a stage is own * (+1 or -1) + partner: one shuffle and one exact multiply-add.
        // SAFETY: the token proves AVX-512F.
        unsafe {
            let a = _mm512_fmadd_ps(a, signs(0xaaaa), _mm512_permute_ps::<0b10_11_00_01>(a));
            let a = _mm512_fmadd_ps(a, signs(0xcccc), _mm512_permute_ps::<0b01_00_11_10>(a));
            let a = _mm512_fmadd_ps(a, signs(0xf0f0), _mm512_shuffle_f32x4::<0b10_11_00_01>(a, a));
            _mm512_fmadd_ps(a, signs(0xff00), _mm512_shuffle_f32x4::<0b01_00_11_10>(a, a))
        }
    }
    #[inline(always)]
    fn interpolate(self, pairs: &[[f64; 2]], y: [f64; 4]) -> [i32; 4] {
        // SAFETY: a processor with AVX-512F has AVX2 and FMA.
        unsafe { super::avx2::Avx2::assume() }.interpolate(pairs, y)
    }

    #[inline(always)]
    fn interpolate_both(self, pairs: &[[f64; 4]], y: [f64; 8]) -> [[i32; 8]; 2] {
        assert!(!pairs.is_empty(), "a table has values");
        // SAFETY: the token proves AVX-512F. Every place is held within the pairs, and vectors and arrays of
        // the same size have the same bits.
        unsafe {
            let (y, len) = (_mm512_loadu_pd(y.as_ptr()), _mm512_set1_pd(pairs.len() as f64));
            let x = _mm512_mul_pd(y, len);
            let behind = _mm512_mul_pd(_mm512_add_pd(y, _mm512_set1_pd(0.75)), len);
            let last = _mm256_set1_epi32(pairs.len() as i32 - 1);
            let places = _mm256_min_epu32(_mm512_cvttpd_epi32(x), last);
            let places: [u32; 8] = std::mem::transmute(places);
            let load = |i: usize| _mm256_loadu_pd(pairs.as_ptr().add(places[i] as usize).cast());
            let two = |i: usize| _mm512_insertf64x4::<1>(_mm512_castpd256_pd512(load(i)), load(i + 4));
            let (a, b, c, d) = (two(0), two(1), two(2), two(3));
            let (values_ab, values_cd) = (_mm512_unpacklo_pd(a, b), _mm512_unpacklo_pd(c, d));
            let (steps_ab, steps_cd) = (_mm512_unpackhi_pd(a, b), _mm512_unpackhi_pd(c, d));
            let now = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
            let then = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
            let at = |x: __m512d, order: __m512i| -> [i32; 8] {
                let value = _mm512_permutex2var_pd(values_ab, order, values_cd);
                let step = _mm512_permutex2var_pd(steps_ab, order, steps_cd);
                let fraction = _mm512_sub_pd(
                    x,
                    _mm512_roundscale_pd::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(x),
                );
                let sum = _mm512_add_pd(value, _mm512_mul_pd(fraction, step));
                std::mem::transmute(_mm512_cvtpd_epi32(sum))
            };
            [at(x, now), at(behind, then)]
        }
    }
}
