//! Damped waves in double precision, for decoders: e^q (cos t + i sin t) over slices.
//!
//! Decoders need no equal bits across machines, so this is plain code over short arrays that the compiler
//! turns into the vectors it may use: for any processor, with AVX2 and FMA, and with AVX-512.
//!
//! t = j pi/2 + r with |r| <= pi/4, then the Taylor series of sine and cosine to degree 15 and 16; q = i ln 2 + s with |s| <= ln(2)/2, then
//! the series of the exponential to degree 12. Relative error about 2e-16 for |t| up to 1e5. Cost: about 45 operations an entry.

const LANES: usize = 8;
type Lanes = [f64; LANES];

/// pi / 2 in two parts; the first has enough zeros at its end for exact multiples.
const HALF_PI_HI: f64 = f64::from_bits(0x3FF9_21FB_5440_0000);
const HALF_PI_LO: f64 = 6.077_100_506_506_192e-11;
const LN_2_HI: f64 = f64::from_bits(0x3FE6_2E42_FEE0_0000);
const LN_2_LO: f64 = 1.908_214_929_270_587_7e-10;

/// Exponents below this give zero for every purpose, and e^q is still a normal number.
const EXPONENT_MIN: f64 = -700.0;

/// Taylor coefficients of sin r / r in r^2, from the constant.
const SIN: [f64; 8] = [
    1.0,
    -1.0 / 6.0,
    1.0 / 120.0,
    -1.0 / 5_040.0,
    1.0 / 362_880.0,
    -1.0 / 39_916_800.0,
    1.0 / 6_227_020_800.0,
    -1.0 / 1_307_674_368_000.0,
];
/// Taylor coefficients of cos r in r^2.
const COS: [f64; 9] = [
    1.0,
    -0.5,
    1.0 / 24.0,
    -1.0 / 720.0,
    1.0 / 40_320.0,
    -1.0 / 3_628_800.0,
    1.0 / 479_001_600.0,
    -1.0 / 87_178_291_200.0,
    1.0 / 20_922_789_888_000.0,
];
/// Taylor coefficients of e^s.
const EXP: [f64; 13] = [
    1.0,
    1.0,
    0.5,
    1.0 / 6.0,
    1.0 / 24.0,
    1.0 / 120.0,
    1.0 / 720.0,
    1.0 / 5_040.0,
    1.0 / 40_320.0,
    1.0 / 362_880.0,
    1.0 / 3_628_800.0,
    1.0 / 39_916_800.0,
    1.0 / 479_001_600.0,
];

/// Replaces the exponents q <= 0 in `re` by e^q cos t, and fills `im` with e^q sin t, for the phases t in
/// radians.
///
/// # Panics
/// If the slices differ in length.
pub fn damped_waves(phases: &[f64], re: &mut [f64], im: &mut [f64]) {
    assert!(phases.len() == re.len() && re.len() == im.len(), "slices of one length");
    #[cfg(target_arch = "x86_64")]
    if crate::backend::Backend::Avx512.is_available() {
        // SAFETY: the processor has AVX-512F, and so FMA.
        return unsafe { damped_avx512(phases, re, im) };
    }
    #[cfg(target_arch = "x86_64")]
    if crate::backend::Backend::Avx2.is_available() {
        // SAFETY: the processor has AVX2 and FMA.
        return unsafe { damped_avx2(phases, re, im) };
    }
    damped::<false>(phases, re, im);
}

/// Replaces every exponent by its exponential; exponents below -700 count as -700.
pub fn exponentials(values: &mut [f64]) {
    #[cfg(target_arch = "x86_64")]
    if crate::backend::Backend::Avx2.is_available() {
        // SAFETY: the processor has AVX2 and FMA.
        return unsafe { exponentials_avx2(values) };
    }
    exponentials_of::<false>(values);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn exponentials_avx2(values: &mut [f64]) {
    exponentials_of::<true>(values);
}

#[inline(always)]
fn exponentials_of<const FUSED: bool>(values: &mut [f64]) {
    let mut chunks = values.chunks_exact_mut(LANES);
    for chunk in &mut chunks {
        let powers = exponential::<FUSED>(&std::array::from_fn(|i| chunk[i]));
        chunk.copy_from_slice(&powers);
    }
    let rest = chunks.into_remainder();
    let powers = exponential::<FUSED>(&std::array::from_fn(|i| rest.get(i).copied().unwrap_or(0.0)));
    rest.iter_mut().zip(powers).for_each(|(value, power)| *value = power);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn damped_avx2(phases: &[f64], re: &mut [f64], im: &mut [f64]) {
    damped::<true>(phases, re, im);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,fma")]
unsafe fn damped_avx512(phases: &[f64], re: &mut [f64], im: &mut [f64]) {
    damped::<true>(phases, re, im);
}

#[inline(always)]
fn damped<const FUSED: bool>(phases: &[f64], re: &mut [f64], im: &mut [f64]) {
    let whole = phases.len() / LANES * LANES;
    let chunks = phases.chunks_exact(LANES).zip(re.chunks_exact_mut(LANES)).zip(im.chunks_exact_mut(LANES));
    for ((t, re), im) in chunks {
        let (mut q, mut s) = ([0.0; LANES], [0.0; LANES]);
        q.copy_from_slice(re);
        wave::<FUSED>(std::array::from_fn(|i| t[i]), &mut q, &mut s);
        re.copy_from_slice(&q);
        im.copy_from_slice(&s);
    }
    let rest = phases.len() - whole;
    let (mut t, mut q, mut s) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
    t[..rest].copy_from_slice(&phases[whole..]);
    q[..rest].copy_from_slice(&re[whole..]);
    wave::<FUSED>(t, &mut q, &mut s);
    re[whole..].copy_from_slice(&q[..rest]);
    im[whole..].copy_from_slice(&s[..rest]);
}

#[inline(always)]
fn fma<const FUSED: bool>(a: f64, b: f64, c: f64) -> f64 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

#[inline(always)]
fn horner<const FUSED: bool, const N: usize>(z: &Lanes, coefficients: &[f64; N]) -> Lanes {
    let mut value = [coefficients[N - 1]; LANES];
    for &c in coefficients[..N - 1].iter().rev() {
        for i in 0..LANES {
            value[i] = fma::<FUSED>(value[i], z[i], c);
        }
    }
    value
}

/// 1.5 * 2^52: adding and subtracting it rounds to an integer, whose low bits stay readable in the sum.
const ROUND: f64 = 6_755_399_441_055_744.0;

#[inline(always)]
fn wave<const FUSED: bool>(t: Lanes, re: &mut Lanes, im: &mut Lanes) {
    let shifted: Lanes = std::array::from_fn(|i| fma::<FUSED>(t[i], std::f64::consts::FRAC_2_PI, ROUND));
    let j: Lanes = std::array::from_fn(|i| shifted[i] - ROUND);
    let r: Lanes =
        std::array::from_fn(|i| fma::<FUSED>(-j[i], HALF_PI_LO, fma::<FUSED>(-j[i], HALF_PI_HI, t[i])));
    let z: Lanes = std::array::from_fn(|i| r[i] * r[i]);
    let (sin, cos) = (horner::<FUSED, 8>(&z, &SIN), horner::<FUSED, 9>(&z, &COS));
    let scale = exponential::<FUSED>(re);
    for i in 0..LANES {
        let quadrant = shifted[i].to_bits();
        let s = r[i] * sin[i];
        let (a, b) = if quadrant & 1 == 0 { (cos[i], s) } else { (s, cos[i]) };
        // The cosine is negative in quadrants 1 and 2, the sine in 2 and 3.
        let cos_sign = ((quadrant ^ (quadrant >> 1)) & 1) << 63;
        let sin_sign = ((quadrant >> 1) & 1) << 63;
        re[i] = f64::from_bits((a * scale[i]).to_bits() ^ cos_sign);
        im[i] = f64::from_bits((b * scale[i]).to_bits() ^ sin_sign);
    }
}

#[inline(always)]
fn exponential<const FUSED: bool>(q: &Lanes) -> Lanes {
    let q: Lanes = std::array::from_fn(|i| if q[i] > EXPONENT_MIN { q[i] } else { EXPONENT_MIN });
    let shifted: Lanes = std::array::from_fn(|i| fma::<FUSED>(q[i], std::f64::consts::LOG2_E, ROUND));
    let s: Lanes = std::array::from_fn(|i| {
        let j = shifted[i] - ROUND;
        fma::<FUSED>(-j, LN_2_LO, fma::<FUSED>(-j, LN_2_HI, q[i]))
    });
    let series = horner::<FUSED, 13>(&s, &EXP);
    // The integer sits in the low bits of the shifted sum: moved to the exponent field it is a factor 2^j.
    std::array::from_fn(|i| f64::from_bits((series[i].to_bits()).wrapping_add(shifted[i].to_bits() << 52)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damped_waves_agree_with_the_standard_library() {
        let n = 4099;
        let phases: Vec<f64> = (0..n).map(|i| (f64::from(i) - 2000.0) * 3.217).collect();
        let exponents: Vec<f64> = (0..n).map(|i| -0.011 * f64::from(i)).collect();
        type Run = dyn Fn(&[f64], &mut [f64], &mut [f64]);
        let check = |run: &Run| {
            let (mut re, mut im) = (exponents.clone(), vec![0.0; n as usize]);
            run(&phases, &mut re, &mut im);
            for i in 0..n as usize {
                let (scale, (s, c)) = (exponents[i].exp(), phases[i].sin_cos());
                assert!((re[i] - scale * c).abs() <= 2e-15 * scale, "{i}: {} {}", re[i], scale * c);
                assert!((im[i] - scale * s).abs() <= 2e-15 * scale, "{i}: {} {}", im[i], scale * s);
            }
        };
        check(&damped_waves);
        check(&damped::<false>);
    }

    #[test]
    fn exponentials_agree_with_the_standard_library() {
        let exponents: Vec<f64> = (0..4099).map(|i| 3.0 - 0.0837 * f64::from(i)).collect();
        for run in [exponentials, exponentials_of::<false>] {
            let mut found = exponents.clone();
            run(&mut found);
            for (q, value) in exponents.iter().zip(&found) {
                assert!((value / q.exp() - 1.0).abs() < 2e-15, "{q}: {value}");
            }
        }
    }

    #[test]
    fn far_exponents_vanish() {
        let (mut re, mut im) = (vec![-1e9, f64::NEG_INFINITY, 0.0], vec![0.0; 3]);
        damped_waves(&[0.0, 1.0, 0.0], &mut re, &mut im);
        assert!(re[0] < 1e-300 && re[1].abs() < 1e-300 && re[2] == 1.0 && im[2] == 0.0);
    }
}
