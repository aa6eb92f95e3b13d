//! Tails of the chi-square and the normal distribution, for p-values and for the calibration of noise.

/// $P(\chi^2_h > x)$ for any positive number of degrees of freedom: the regularised incomplete gamma function
/// $Q(h/2, x/2)$.
///
/// Series for $x < h + 2$, Lentz's continued fraction above (Press et al., Numerical Recipes, section 6.2).
/// Relative error about 1e-12.
pub(crate) fn chi_square_tail(x: f64, degrees: f64) -> f64 {
    let (a, x) = (0.5 * degrees, 0.5 * x);
    if !(x > 0.0) {
        return 1.0;
    }
    let front = (a * x.ln() - x - ln_gamma(a)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum, mut n) = (1.0 / a, 1.0 / a, a);
        for _ in 0..100_000 {
            n += 1.0;
            term *= x / n;
            sum += term;
            if term < sum * 1e-16 {
                break;
            }
        }
        return (1.0 - front * sum).max(0.0);
    }
    let mut b = x + 1.0 - a;
    let (mut c, mut d) = (1e300, 1.0 / b);
    let mut fraction = d;
    for i in 1..100_000 {
        let an = -f64::from(i) * (f64::from(i) - a);
        b += 2.0;
        d = 1.0 / (an * d + b);
        c = b + an / c;
        fraction *= c * d;
        if (c * d - 1.0).abs() < 1e-16 {
            break;
        }
    }
    front * fraction
}

/// $\ln \Gamma(a)$ for a > 0: Stirling's series after shifting the argument to at least 10.
fn ln_gamma(a: f64) -> f64 {
    let (mut a, mut shift) = (a, 0.0);
    while a < 10.0 {
        shift -= a.ln();
        a += 1.0;
    }
    let r = 1.0 / (a * a);
    let series = (1.0 / 12.0 - r * (1.0 / 360.0 - r * (1.0 / 1260.0 - r * (1.0 / 1680.0 - r / 1188.0)))) / a;
    shift + (a - 0.5) * a.ln() - a + 0.5 * std::f64::consts::TAU.ln() + series
}

/// Mills' ratio of the normal law, $R(t) = (1 - \Phi(t)) / \varphi(t) = \int_0^\infty e^{-tu - u^2/2} du$,
/// for t >= -2.
///
/// It neither underflows nor overflows, so tails far beyond the range of f64 keep their digits:
/// $\operatorname{erfcx}(x) = \sqrt{2/\pi}\, R(\sqrt 2 x)$. Below 1.5 the series
/// $R(t) = \sqrt{\pi/2}\, e^{t^2/2} - \sum_k t^{2k+1} / (2k+1)!!$, above it Laplace's continued fraction
/// $R(t) = 1/(t + 1/(t + 2/(t + 3/(t + \dots))))$ from the 200th term backwards. Relative error below 1e-14.
pub(crate) fn mills_ratio(t: f64) -> f64 {
    debug_assert!(t >= -2.0);
    if t < 1.5 {
        let (mut term, mut sum) = (t, t);
        // 4^k / (2k+1)!! is below 1e-17 at k = 27.
        for k in 1..30 {
            term *= t * t / f64::from(2 * k + 1);
            sum += term;
        }
        return std::f64::consts::FRAC_PI_2.sqrt() * (0.5 * t * t).exp() - sum;
    }
    let mut fraction = t;
    for k in (1..=200).rev() {
        fraction = t + f64::from(k) / fraction;
    }
    1.0 / fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mills_ratio_matches_eighty_digit_arithmetic() {
        for (t, ratio) in [
            (-2.0, 18.100_247_711_126_15),
            (-0.125, 1.388_797_082_645_757_9),
            (0.0, 1.253_314_137_315_500_3),
            (0.5, 0.876_364_456_453_692_3),
            (1.0, 0.655_679_542_418_798_4),
            (1.499, 0.516_042_002_992_384_1),
            (1.5, 0.515_815_638_217_963_4),
            (2.0, 0.421_369_229_288_054_5),
            (3.0, 0.304_590_298_710_103_3),
            (6.0, 0.162_377_660_896_867_45),
            (10.0, 0.099_028_596_471_731_93),
            (40.0, 0.024_984_404_205_720_57),
            (1_000.0, 0.000_999_999_000_002_999_9),
        ] {
            let found = mills_ratio(t);
            assert!((found / ratio - 1.0).abs() < 1e-14, "{t}: {found} for {ratio}");
        }
        // Against erfc(3 / sqrt 2) / 2 = P(N > 3), tabulated.
        let tail = mills_ratio(3.0) * (-4.5f64).exp() / std::f64::consts::TAU.sqrt();
        assert!((tail / 1.349_898_031_630_094_6e-3 - 1.0).abs() < 1e-14);
    }

    #[test]
    fn tails_match_tabulated_values() {
        // scipy.stats.chi2.sf; the first are exp(-x/2) for two degrees of freedom.
        for (x, degrees, tail) in [
            (3.0f64, 2.0, (-1.5f64).exp()),
            (40.0, 2.0, (-20.0f64).exp()),
            (3.841_458_820_694_124, 1.0, 0.05),
            (124.342_113_404_004_08, 100.0, 0.05),
            (61.917_903_979_4, 100.0, 0.999_000_011_613_788_4),
            (200.0, 37.5, 4.613_582_777_284_169e-24),
            (900.0, 1000.0, 0.989_282_761_908_710_2),
            (0.0, 5.0, 1.0),
        ] {
            let found = chi_square_tail(x, degrees);
            assert!((found / tail - 1.0).abs() < 1e-9, "{x} {degrees}: {found} for {tail}");
        }
    }
}
