//! What several releases of the same rows promise together.
//!
//! Budgets add up (basic composition): $(\epsilon_i, \delta_i)$ together are
//! $(\sum \epsilon_i, \sum \delta_i)$. For Gaussian noise that is far from the truth. Zero-concentrated
//! differential privacy \[BS16\] adds up, too, and loses little:
//!
//! - Gaussian noise of parameter $\sigma$ on integer sums of L2 sensitivity $\Delta$, discrete as well as
//!   continuous, is $\rho$-zCDP with $\rho = \Delta^2 / (2\sigma^2)$ (\[CKS20\], theorem 4);
//! - what is $\epsilon$-private is $\tfrac12\epsilon^2$-zCDP (\[BS16\], proposition 1.4);
//! - $\rho_1$ and $\rho_2$ together are $\rho_1 + \rho_2$;
//! - $\rho$-zCDP is $(\epsilon, \delta)$-private for every $\delta > 0$ with
//!   $$\epsilon = \inf_{\alpha > 1}\; \alpha\rho + \ln(1 - 1/\alpha) - \frac{\ln(\alpha\delta)}{\alpha - 1}$$
//!   (\[CKS20\], proposition 12).
//!
//! Each bound holds for releases that were fixed in advance; if what is released next depends on what the
//! last one showed, and a cap is kept by either of the two, the promise of the cap holds with twice its
//! $\delta$.
//!
//! Reference: \[BS16\] Bun, Steinke, "Concentrated differential privacy", TCC 2016; \[CKS20\] Canonne,
//! Kamath, Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020.

use crate::error::Result;
use crate::num::solve::golden_section;
use crate::privacy::release::{Mechanism, Release};
use crate::privacy::sensitivity::Sensitivity;
use crate::sketch::spec::SketchSpec;

/// $\rho$ of something that is $\epsilon$-private.
pub fn pure_rho(epsilon: f64) -> f64 {
    0.5 * epsilon * epsilon
}

/// $\rho$ of the sums and the number of rows of a release, what the spec has cost not included.
///
/// # Errors
/// As [`Sensitivity::of_spec`].
pub fn rho(release: &Release, spec: &SketchSpec) -> Result<f64> {
    let sums = match release.mechanism {
        Mechanism::DiscreteGaussian { sigma } => {
            let sensitivity = Sensitivity::of_spec(spec, release.neighbours)?;
            let squared = sensitivity.of_persons(release.rows_per_person).l2_squared as f64;
            squared / (2.0 * (sigma as f64).powi(2))
        }
        Mechanism::DiscreteLaplace { .. } | Mechanism::LocalResponse { .. } => pure_rho(release.epsilon_sums),
    };
    Ok(sums + pure_rho(release.epsilon_rows))
}

/// The $\epsilon$ that $\rho$-zCDP promises at a $\delta$: the infimum of the module's formula over all
/// $\alpha$, to 1e-9 of it. Infinite where there is none: $\delta$ not between 0 and 1, $\rho$ negative or not
/// finite.
pub fn zcdp_epsilon(rho: f64, delta: f64) -> f64 {
    if !(rho >= 0.0 && rho.is_finite() && delta > 0.0 && delta < 1.0) {
        return f64::INFINITY;
    }
    if rho == 0.0 {
        return 0.0;
    }
    // Whatever alpha is found, its epsilon is promised: the search can only be too careful.
    let at = |log: f64| {
        let above = log.exp();
        let alpha = 1.0 + above;
        alpha * rho + (above / alpha).ln() - (alpha * delta).ln() / above
    };
    // Near this alpha the terms without logarithms of alpha are least.
    let start = 0.5 * ((1.0 / delta).ln() / rho).ln();
    at(golden_section(at, start - 8.0, start + 8.0, 60)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrequencyLaw;
    use crate::privacy::calibrate::gaussian_delta;
    use crate::privacy::{Neighbours, PrivacyParams};

    /// Rho, delta and epsilon: computed with `RdpAccountant` of the Python package dp-accounting 0.6 for a Gaussian
    /// mechanism, over orders dense around the best one.
    const ORACLE: [(f64, f64, f64); 18] = [
        (0.0001, 1e-9, 0.0743627931920057),
        (0.0001, 1e-6, 0.053727120670355684),
        (0.0001, 1e-3, 0.020975355737737213),
        (0.01, 1e-9, 0.810174467903215),
        (0.01, 1e-6, 0.6216926547718865),
        (0.01, 1e-3, 0.3543184870981617),
        (0.1, 1e-9, 2.715481889133503),
        (0.1, 1e-6, 2.1419389294963205),
        (0.1, 1e-3, 1.3561931074577633),
        (0.5, 1e-9, 6.474070022636896),
        (0.5, 1e-6, 5.221534444590233),
        (0.5, 1e-3, 3.5365618467702356),
        (2.0, 1e-9, 14.150147553973692),
        (2.0, 1e-6, 11.688596249394003),
        (2.0, 1e-3, 8.416064294327457),
        (20.0, 1e-9, 59.336960292427875),
        (20.0, 1e-6, 51.71940446511503),
        (20.0, 1e-3, 41.71420118860324),
    ];

    #[test]
    fn epsilons_are_those_of_another_accountant() {
        for (rho, delta, epsilon) in ORACLE {
            let found = zcdp_epsilon(rho, delta);
            assert!((found - epsilon).abs() < 1e-6, "{rho} {delta}: {found} {epsilon}");
        }
    }

    #[test]
    fn the_best_order_is_found_and_no_promise_is_better_than_the_exact_one() {
        for rho in [1e-6, 1e-3, 0.1, 1.0, 50.0] {
            for delta in [1e-12, 1e-6, 1e-2] {
                let found = zcdp_epsilon(rho, delta);
                let at =
                    |alpha: f64| alpha * rho + (-1.0 / alpha).ln_1p() - (alpha * delta).ln() / (alpha - 1.0);
                let best = (1..400_000)
                    .map(|i| at(1.0 + (f64::from(i) * 1e-4 - 12.0).exp()))
                    .fold(f64::MAX, f64::min);
                assert!((found - best.max(0.0)).abs() < 1e-6 * (1.0 + best), "{rho} {delta}: {found} {best}");
                // One Gaussian release of this rho is known exactly.
                let sigma = (0.5 / rho).sqrt();
                assert!(gaussian_delta(found, sigma) <= delta, "{rho} {delta}");
            }
        }
        assert_eq!(zcdp_epsilon(0.0, 1e-6), 0.0);
        assert!(zcdp_epsilon(1.0, 0.0).is_infinite() && zcdp_epsilon(f64::NAN, 0.1).is_infinite());
    }

    #[test]
    fn many_gaussian_releases_promise_far_more_than_their_sum() {
        let spec = SketchSpec::new(["a"], FrequencyLaw::AdaptedRadius, 1.0, 100);
        let params = PrivacyParams::new(0.5).delta(1e-7).public_spec(true);
        let release = Release::plan(&spec, &params).unwrap();
        let one = rho(&release, &spec).unwrap();
        let Mechanism::DiscreteGaussian { sigma } = release.mechanism else { panic!("delta is given") };
        let sums = Sensitivity::of_spec(&spec, Neighbours::AddRemove).unwrap().l2_squared as f64;
        let expected = sums / 2.0 / (sigma as f64).powi(2) + release.epsilon_rows.powi(2) / 2.0;
        assert!((one / expected - 1.0).abs() < 1e-12);
        let together = zcdp_epsilon(100.0 * one, 1e-5);
        assert!(together < 5.5, "{together} where the sum is 50");
        let twice = Release::plan(&spec, &params.rows_per_person(2)).unwrap();
        assert!((rho(&twice, &spec).unwrap() / one - 1.0).abs() < 0.01, "more noise for larger persons");
    }
}
