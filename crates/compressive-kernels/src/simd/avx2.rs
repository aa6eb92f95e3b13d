//! AVX2 and FMA: 8 lanes.

use super::Simd;
use std::arch::x86_64::*;

/// Proof that the processor has AVX2 and FMA.
#[derive(Clone, Copy)]
pub(crate) struct Avx2(());

impl Avx2 {
    /// # Safety
    /// The processor must have AVX2 and FMA.
    #[inline(always)]
    pub(crate) unsafe fn assume() -> Avx2 {
        Avx2(())
    }
}

impl Simd for Avx2 {
    type F = __m256;
    type I = __m256i;
    const LANES: usize = 8;

    #[inline(always)]
    fn splat(self, value: f32) -> Self::F {
        // SAFETY: the token proves AVX2 and FMA.
        unsafe { _mm256_set1_ps(value) }
    }
    #[inline(always)]
    fn zero_int(self) -> Self::I {
        // SAFETY: the token proves AVX2 and FMA.
        unsafe { _mm256_setzero_si256() }
    }
    #[inline(always)]
    unsafe fn load(self, source: *const f32) -> Self::F {
        // SAFETY: the token proves AVX2 and FMA; the caller promises the memory.
        unsafe { _mm256_loadu_ps(source) }
    }
    #[inline(always)]
    unsafe fn store(self, target: *mut f32, value: Self::F) {
        // SAFETY: the token proves AVX2 and FMA; the caller promises the memory.
        unsafe { _mm256_storeu_ps(target, value) }
    }
    #[inline(always)]
    unsafe fn store_int(self, target: *mut i32, value: Self::I) {
        // SAFETY: the token proves AVX2 and FMA; the caller promises the memory.
        unsafe { _mm256_storeu_si256(target.cast(), value) }
    }
    #[inline(always)]
    fn prefetch(self, address: *const f32) {
        // SAFETY: a prefetch of any address is only a hint.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
    }
    #[inline(always)]
    fn add(self, a: Self::F, b: Self::F) -> Self::F {
        // SAFETY: the token proves AVX2 and FMA.
        unsafe { _mm256_add_ps(a, b) }
    }
    #[inline(always)]
    fn sub(self, a: Self::F, b: Self::F) -> Self::F {
        // SAFETY: the token proves AVX2 and FMA.
        unsafe { _mm256_sub_ps(a, b) }
    }
    #[inline(always)]
    fn mul(self, a: Self::F, b: Self::F) -> Self::F {
        // SAFETY: the token proves AVX2 and FMA.
        unsafe { _mm256_mul_ps(a, b) }
    }
    #[inline(always)]
    fn fma(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F {
        // SAFETY: the token proves AVX2 and FMA.
        unsafe { _mm256_fmadd_ps(a, b, c) }
    }
    #[inline(always)]
    fn round(self, a: Self::F) -> Self::F {
        // SAFETY: the token proves AVX2 and FMA.
        unsafe { _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(a) }
    }
    #[inline(always)]
    fn min(self, a: Self::F, b: Self::F) -> Self::F {
        // SAFETY: the token proves AVX2 and FMA.
        unsafe { _mm256_min_ps(a, b) }
    }
    #[inline(always)]
    fn max(self, a: Self::F, b: Self::F) -> Self::F {
        // SAFETY: the token proves AVX2 and FMA.
        unsafe { _mm256_max_ps(a, b) }
    }
    #[inline(always)]
    fn scale(self, a: Self::F, k: Self::I) -> Self::F {
        // SAFETY: the token proves AVX2 and FMA.
        unsafe { _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(a), _mm256_slli_epi32::<23>(k))) }
    }
    #[inline(always)]
    fn to_int(self, a: Self::F) -> Self::I {
        // SAFETY: the token proves AVX2 and FMA.
        unsafe { _mm256_cvtps_epi32(a) }
    }
    #[inline(always)]
    fn clamp_unit(self, a: Self::F) -> Self::F {
        // SAFETY: the token proves AVX2 and FMA.
        unsafe { _mm256_min_ps(_mm256_max_ps(a, _mm256_set1_ps(-1.0)), _mm256_set1_ps(1.0)) }
    }
    #[inline(always)]
    fn add_int(self, a: Self::I, b: Self::I) -> Self::I {
        // SAFETY: the token proves AVX2 and FMA.
        unsafe { _mm256_add_epi32(a, b) }
    }
    #[inline(always)]
    fn parity(self, a: Self::F) -> Self::I {
        // Out of range the conversion gives 0x8000_0000, which is even as well.
        // SAFETY: the token proves AVX2 and FMA.
        unsafe { _mm256_slli_epi32::<31>(_mm256_cvtps_epi32(a)) }
    }
    #[inline(always)]
    fn flip(self, a: Self::F, sign: Self::I) -> Self::F {
        // SAFETY: the token proves AVX2 and FMA.
        unsafe { _mm256_xor_ps(a, _mm256_castsi256_ps(sign)) }
    }
    #[inline(always)]
    fn negatives(self, a: Self::F) -> Self::I {
        // SAFETY: the token proves AVX2 and FMA.
        unsafe {
            let table =
                _mm256_castsi256_ps(_mm256_setr_epi32(0, 1, 0x1_0001, 0x1_0000, 0, 1, 0x1_0001, 0x1_0000));
            _mm256_castps_si256(_mm256_permutevar_ps(table, _mm256_castps_si256(a)))
        }
    }
    #[inline(always)]
    fn advance_quarter(self, a: Self::I) -> Self::I {
        // SAFETY: the token proves AVX2 and FMA.
        unsafe {
            let ahead = _mm256_add_epi32(a, _mm256_set1_epi32(1 << 23));
            _mm256_srai_epi32::<7>(_mm256_slli_epi32::<7>(ahead))
        }
    }
    #[inline(always)]
    fn hadamard(self, a: Self::F) -> Self::F {
        // Lane i of a stage is own * (+1 or -1) + partner: one shuffle and one exact multiply-add.
        // SAFETY: the token proves AVX2 and FMA.
        unsafe {
            let one = _mm256_setr_ps(1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0);
            let two = _mm256_setr_ps(1.0, 1.0, -1.0, -1.0, 1.0, 1.0, -1.0, -1.0);
            let four = _mm256_setr_ps(1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0);
            let a = _mm256_fmadd_ps(a, one, _mm256_permute_ps::<0b10_11_00_01>(a));
            let a = _mm256_fmadd_ps(a, two, _mm256_permute_ps::<0b01_00_11_10>(a));
            _mm256_fmadd_ps(a, four, _mm256_permute2f128_ps::<1>(a, a))
        }
    }
    #[inline(always)]
    fn interpolate(self, pairs: &[[f64; 2]], y: [f64; 4]) -> [i32; 4] {
        assert!(!pairs.is_empty(), "a table has values");
        // SAFETY: the token proves AVX2 and FMA. Every place is held within the pairs, and vectors and arrays
        // of the same size have the same bits.
        unsafe {
            let x = _mm256_mul_pd(_mm256_loadu_pd(y.as_ptr()), _mm256_set1_pd(pairs.len() as f64));
            let last = _mm_set1_epi32(pairs.len() as i32 - 1);
            // Byte offsets of the pairs, taken out two at a time.
            let offsets = _mm_slli_epi32::<4>(_mm_min_epu32(_mm256_cvttpd_epi32(x), last));
            let halves = [_mm_cvtsi128_si64(offsets) as u64, _mm_extract_epi64::<1>(offsets) as u64];
            let load = |i: usize| {
                let offset =
                    if i.is_multiple_of(2) { halves[i / 2] & 0xffff_ffff } else { halves[i / 2] >> 32 };
                _mm_loadu_pd(pairs.as_ptr().byte_add(offset as usize).cast())
            };
            let even = _mm256_insertf128_pd::<1>(_mm256_castpd128_pd256(load(0)), load(2));
            let odd = _mm256_insertf128_pd::<1>(_mm256_castpd128_pd256(load(1)), load(3));
            let (value, step) = (_mm256_unpacklo_pd(even, odd), _mm256_unpackhi_pd(even, odd));
            let fraction = _mm256_sub_pd(x, _mm256_floor_pd(x));
            let sum = _mm256_add_pd(value, _mm256_mul_pd(fraction, step));
            std::mem::transmute(_mm256_cvtpd_epi32(sum))
        }
    }

    #[inline(always)]
    fn interpolate_both(self, pairs: &[[f64; 4]], y: [f64; 8]) -> [[i32; 8]; 2] {
        let (halves, _) = y.as_chunks();
        let (low, high) = (self.four_of_both(pairs, &halves[0]), self.four_of_both(pairs, &halves[1]));
        std::array::from_fn(|entry| {
            std::array::from_fn(|i| if i < 4 { low[entry][i] } else { high[entry][i - 4] })
        })
    }
}

impl Avx2 {
    /// Four of [`Simd::interpolate_both`].
    #[inline(always)]
    fn four_of_both(self, pairs: &[[f64; 4]], y: &[f64; 4]) -> [[i32; 4]; 2] {
        assert!(!pairs.is_empty(), "a table has values");
        // SAFETY: as for `interpolate`.
        unsafe {
            let (y, len) = (_mm256_loadu_pd(y.as_ptr()), _mm256_set1_pd(pairs.len() as f64));
            let x = _mm256_mul_pd(y, len);
            let behind = _mm256_mul_pd(_mm256_add_pd(y, _mm256_set1_pd(0.75)), len);
            let last = _mm_set1_epi32(pairs.len() as i32 - 1);
            let offsets = _mm_slli_epi32::<5>(_mm_min_epu32(_mm256_cvttpd_epi32(x), last));
            let halves = [_mm_cvtsi128_si64(offsets) as u64, _mm_extract_epi64::<1>(offsets) as u64];
            let load = |i: usize| {
                let offset =
                    if i.is_multiple_of(2) { halves[i / 2] & 0xffff_ffff } else { halves[i / 2] >> 32 };
                _mm256_loadu_pd(pairs.as_ptr().byte_add(offset as usize).cast())
            };
            let (a, b, c, d) = (load(0), load(1), load(2), load(3));
            let (values_ab, values_cd) = (_mm256_unpacklo_pd(a, b), _mm256_unpacklo_pd(c, d));
            let (steps_ab, steps_cd) = (_mm256_unpackhi_pd(a, b), _mm256_unpackhi_pd(c, d));
            let at = |x: __m256d, value: __m256d, step: __m256d| -> [i32; 4] {
                let fraction = _mm256_sub_pd(x, _mm256_floor_pd(x));
                let sum = _mm256_add_pd(value, _mm256_mul_pd(fraction, step));
                std::mem::transmute(_mm256_cvtpd_epi32(sum))
            };
            [
                at(
                    x,
                    _mm256_permute2f128_pd::<0x20>(values_ab, values_cd),
                    _mm256_permute2f128_pd::<0x20>(steps_ab, steps_cd),
                ),
                at(
                    behind,
                    _mm256_permute2f128_pd::<0x31>(values_ab, values_cd),
                    _mm256_permute2f128_pd::<0x31>(steps_ab, steps_cd),
                ),
            ]
        }
    }
}
