//! Elementary functions that give the same bits on every machine.
//!
//! `f64::ln` and `f64::exp` come from the platform's library and differ in the last bit between platforms.
//! What a spec rebuilds (frequencies) must not, so the few functions it needs are written here with the IEEE
//! operations only (+, -, *, /, square root), which every platform rounds alike. The accuracy is a few units
//! in the last place; they are not meant to be fast.

const LN_2_HI: f64 = 6.931_471_803_691_238e-1;
const LN_2_LO: f64 = 1.908_214_929_270_587_7e-10;

/// Natural logarithm of a positive, finite, normal number.
///
/// $x = 2^e f$ with $f \in [\sqrt{1/2}, \sqrt 2)$ and
/// $\ln f = 2 \operatorname{artanh} s = 2(s + s^3/3 + s^5/5 + \dots)$, $s = (f-1)/(f+1)$, $|s| \le 0.172$.
pub(crate) fn ln(x: f64) -> f64 {
    debug_assert!(x.is_normal() && x > 0.0);
    let bits = x.to_bits();
    let mut exponent = ((bits >> 52) & 0x7ff) as i64 - 1023;
    let mut f = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) | 0x3ff0_0000_0000_0000);
    if f > std::f64::consts::SQRT_2 {
        f *= 0.5;
        exponent += 1;
    }
    let s = (f - 1.0) / (f + 1.0);
    let s2 = s * s;
    let mut series = 0.0;
    // 0.172^2 = 0.0296, and 0.0296^11 / 23 is below 1e-18.
    for power in (1..=10).rev() {
        series = (series + 1.0 / f64::from(2 * power + 1)) * s2;
    }
    let e = exponent as f64;
    e * LN_2_HI + (2.0 * (s + s * series) + e * LN_2_LO)
}

/// $e^x$ for $|x| \le 700$.
///
/// $x = j \ln 2 + r$, $|r| \le \tfrac12 \ln 2$, then the Taylor series of $e^r$ to degree 14.
pub(crate) fn exp(x: f64) -> f64 {
    debug_assert!(x.abs() <= 700.0);
    let j = (x / (LN_2_HI + LN_2_LO)).round_ties_even();
    let r = (x - j * LN_2_HI) - j * LN_2_LO;
    let mut series = 1.0;
    for power in (1..=14).rev() {
        series = 1.0 + series * r / f64::from(power);
    }
    series * f64::from_bits(((j as i64 + 1023) as u64) << 52)
}

/// The standard normal quantile: $\Phi^{-1}(p)$ for $0 < p < 1$.
///
/// Central rational approximation and two tail approximations, algorithm AS 241 (Wichura 1988, routine
/// PPND16; relative error about 1e-16). One uniform number gives one normal number, so a stream of draws can
/// be read at any place.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * ratio(&CENTRE_NUM, &CENTRE_DEN, r);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    let r = (-ln(tail)).sqrt();
    let value =
        if r <= 5.0 { ratio(&MIDDLE_NUM, &MIDDLE_DEN, r - 1.6) } else { ratio(&FAR_NUM, &FAR_DEN, r - 5.0) };
    if q < 0.0 { -value } else { value }
}

fn ratio(numerator: &[f64; 8], denominator: &[f64; 8], r: f64) -> f64 {
    let horner = |c: &[f64; 8]| c.iter().rev().fold(0.0, |sum, &coefficient| sum * r + coefficient);
    horner(numerator) / horner(denominator)
}

const CENTRE_NUM: [f64; 8] = [
    3.387_132_872_796_366_5,
    1.331_416_678_917_843_8e2,
    1.971_590_950_306_551_3e3,
    1.373_169_376_550_946e4,
    4.592_195_393_154_987e4,
    6.726_577_092_700_87e4,
    3.343_057_558_358_813e4,
    2.509_080_928_730_122_7e3,
];
const CENTRE_DEN: [f64; 8] = [
    1.0,
    4.231_333_070_160_091e1,
    6.871_870_074_920_579e2,
    5.394_196_021_424_751e3,
    2.121_379_430_158_659_7e4,
    3.930_789_580_009_271e4,
    2.872_908_573_572_194_3e4,
    5.226_495_278_852_854e3,
];
const MIDDLE_NUM: [f64; 8] = [
    1.423_437_110_749_683_5,
    4.630_337_846_156_546,
    5.769_497_221_460_691,
    3.647_848_324_763_204_5,
    1.270_458_252_452_368_4,
    2.417_807_251_774_506e-1,
    2.272_384_498_926_918_4e-2,
    7.745_450_142_783_414e-4,
];
const MIDDLE_DEN: [f64; 8] = [
    1.0,
    2.053_191_626_637_759,
    1.676_384_830_183_803_8,
    6.897_673_349_851e-1,
    1.481_039_764_274_800_8e-1,
    1.519_866_656_361_645_7e-2,
    5.475_938_084_995_345e-4,
    1.050_750_071_644_416_9e-9,
];
const FAR_NUM: [f64; 8] = [
    6.657_904_643_501_103,
    5.463_784_911_164_114,
    1.784_826_539_917_291_3,
    2.965_605_718_285_048_7e-1,
    2.653_218_952_657_612_4e-2,
    1.242_660_947_388_078_4e-3,
    2.711_555_568_743_487_6e-5,
    2.010_334_399_292_288_1e-7,
];
const FAR_DEN: [f64; 8] = [
    1.0,
    5.998_322_065_558_88e-1,
    1.369_298_809_227_358e-1,
    1.487_536_129_085_061_5e-2,
    7.868_691_311_456_133e-4,
    1.846_318_317_510_054_7e-5,
    1.421_511_758_316_446e-7,
    2.044_263_103_389_939_8e-15,
];

/// Cosine and sine of t turns, for t from 0 to 1; exact at quarter turns.
///
/// $t = q/4 + r$ with $|r| \le 1/8$, and the Taylor series of the angle $2\pi r$, to degree 19.
pub(crate) fn cos_sin_of_turns(t: f64) -> (f64, f64) {
    let quarters = (4.0 * t).round_ties_even();
    let angle = std::f64::consts::TAU * (t - 0.25 * quarters);
    let square = angle * angle;
    let (mut cos, mut sin) = (1.0, 1.0);
    // Horner's scheme; (pi / 4)^20 / 20! is below 1e-20.
    for n in (1..=9).rev() {
        let n = f64::from(n);
        cos = 1.0 - square * cos / ((2.0 * n) * (2.0 * n - 1.0));
        sin = 1.0 - square * sin / ((2.0 * n) * (2.0 * n + 1.0));
    }
    sin *= angle;
    match quarters as i32 & 3 {
        0 => (cos, sin),
        1 => (-sin, cos),
        2 => (-cos, -sin),
        _ => (sin, -cos),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ln_and_exp_agree_with_the_standard_library_to_a_few_ulps() {
        for i in 0..20_000 {
            let x = f64::from_bits(0x3c00_0000_0000_0000 + i * 0x0000_1000_0123_4567);
            let error = (ln(x) - x.ln()).abs();
            assert!(error <= 4e-16 * x.ln().abs().max(0.5), "ln({x}) is off by {error}");
            let y = -50.0 + 0.004 * i as f64;
            assert!((exp(y) / y.exp() - 1.0).abs() < 1e-15, "exp({y})");
        }
    }

    #[test]
    fn normal_quantile_matches_published_values() {
        // Values to 15 digits from the standard normal distribution; the three branches are all met.
        for (p, z) in [
            (0.5, 0.0),
            (0.975, 1.959_963_984_540_054),
            (0.75, 0.674_489_750_196_081_7),
            (1e-3, -3.090_232_306_167_813_5),
            (1e-10, -6.361_340_902_404_056),
            (1e-15, -7.941_345_326_170_998),
        ] {
            let error = (normal_quantile(p) - z).abs();
            assert!(error < 2e-14, "p = {p}: off by {error:e}");
        }
        assert_eq!(normal_quantile(0.3), -normal_quantile(0.7));
    }
}
