//! What a budget will be good for, before it is spent and without data.
//!
//! The noise-to-signal ratio of a private sketch (\[Sch21\] section 5.2.3; \[CSH21\]), with c the mean of
//! $|z_j|^2$, is
//!
//! $$ \mathrm{NSR} = \frac{1 - c}{c\,n} + \frac{L\,\mathrm{var}(\nu)}{n^2 m c\,g^2} + \frac{\mathrm{var}(\zeta)}{n^2} $$
//!
//! for n rows, m frequencies, L entries and a feature of gain g: sampling, noise on the sums, noise on the
//! number of rows. Learning succeeds when $m \ge 2p$ and $\mathrm{NSR} \le m / (1000\,p)$ for p parameters;
//! ten times more noise still gives rough results. Under pure $\epsilon$ the ratio grows as $m^2$, with
//! $\delta$ as m: smaller sketches are better for small budgets, which is why the size is chosen here and not
//! by the defaults of a recipe.

use crate::error::remedy::{Command, Remedy};
use crate::error::{Error, Result};
use crate::names::named;
use crate::privacy::release::{PrivacyParams, Release, SIGNAL};
use crate::sketch::frequency::FrequencyLaw;
use crate::sketch::map::Feature;
use crate::sketch::map::images::ONLY_CLASSIFIES;
use crate::sketch::map::waves::Waves;
use crate::sketch::spec::SketchSpec;

/// What to expect of a sketch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// As good as without noise, or nearly.
    Good,
    /// The noise shows: main clusters right, details not.
    Rough,
    /// The noise drowns the signal.
    Hopeless,
}

named!(Verdict, "a verdict", { Good => "good", Rough => "rough", Hopeless => "too noisy" });

/// The forecast for one sketch size.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Forecast {
    /// Number m of frequencies.
    pub size: usize,
    /// Expected noise-to-signal ratio.
    pub nsr: f64,
    /// The ratio up to which learning succeeds.
    pub limit: f64,
    /// Standard deviation of the noise on an entry of the mean.
    pub noise_std: f64,
    /// What to expect.
    pub verdict: Verdict,
    /// The noise.
    pub release: Release,
}

/// Largest factor by which a budget or a table is enlarged in the search for what would be enough.
const ENLARGED_MAX: f64 = 1e9;

/// Sketch sizes looked at, per parameter.
pub const SIZES: [usize; 5] = [2, 3, 5, 7, 10];

/// Forecasts for all [`SIZES`], and the index of the size to take: the largest with a ratio below a tenth of
/// its limit, else the one closest to success.
pub fn plan(
    rows: f64,
    parameters: usize,
    feature: &Feature,
    params: &PrivacyParams,
) -> Result<(Vec<Forecast>, usize)> {
    let forecasts: Vec<Forecast> = SIZES
        .iter()
        .map(|factor| forecast(rows, parameters, factor * parameters, feature, params))
        .collect::<Result<_>>()?;
    let comfortable = forecasts.iter().rposition(|f| f.nsr < f.limit / 10.0);
    let margin = |f: &Forecast| f.nsr / f.limit;
    let closest =
        (0..forecasts.len()).rev().min_by(|&a, &b| margin(&forecasts[a]).total_cmp(&margin(&forecasts[b])));
    Ok((forecasts, comfortable.or(closest).unwrap_or(0)))
}

/// The forecast for m frequencies, of a spec taken as public.
pub fn forecast(
    rows: f64,
    parameters: usize,
    size: usize,
    feature: &Feature,
    params: &PrivacyParams,
) -> Result<Forecast> {
    let fail = |problem: &str| Error::Privacy { field: "feature", problem: problem.into() };
    let wave = match feature {
        Feature::Wave(wave) => wave,
        Feature::Conv(_) => return Err(fail(ONLY_CLASSIFIES).advise(Remedy::of_waves())),
        Feature::Quadratic { .. } => {
            let problem = "what the noise of a quadratic sketch does depends on its directions and its box, \
                           so it cannot be forecast without a spec";
            return Err(fail(problem).advise(Remedy::Run(
                "make a spec from bounds alone; releasing its sketch shows the noise",
                Command::DesignComponents,
            )));
        }
        Feature::Nystrom => {
            return Err(fail(
                "there is no forecast for nystrom sketches, whose signal depends on where the landmarks are; plan with another feature",
            ));
        }
    };
    let spec = SketchSpec::new(["x"], Waves::new(wave.clone(), FrequencyLaw::AdaptedRadius), 1.0, size);
    spec.validate()?;
    let release = Release::plan(&spec, &PrivacyParams { public_spec: true, ..params.clone() })?;
    let gain = wave.surrogate().gain;
    let variance = release.mechanism.variance() / (rows * rows);
    let sums = spec.sketch_len() as f64 * variance / (size as f64 * SIGNAL * gain * gain);
    let nsr = (1.0 - SIGNAL) / (SIGNAL * rows) + sums + release.rows_variance() / (rows * rows);
    let limit = size as f64 / (1000.0 * parameters.max(1) as f64);
    let verdict = if nsr <= limit {
        Verdict::Good
    } else if nsr <= 10.0 * limit {
        Verdict::Rough
    } else {
        Verdict::Hopeless
    };
    Ok(Forecast { size, nsr, limit, noise_std: variance.sqrt(), verdict, release })
}

/// What is asked of a budget.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Rows of the table.
    pub rows: f64,
    /// Parameters of the model.
    pub parameters: usize,
    /// What is summed.
    pub feature: Feature,
    /// The budget.
    pub params: PrivacyParams,
    /// The only size that counts, if it was given.
    pub size: Option<usize>,
}

/// What a budget will be good for.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// The forecast for each size looked at.
    pub forecasts: Vec<Forecast>,
    /// Index of the forecast for the size asked for or, without one, recommended.
    pub chosen: usize,
    /// The epsilon that would be enough for these rows; none where nothing is missing, or nothing helps.
    pub epsilon_needed: Option<f64>,
    /// The rows that would be enough for this epsilon; likewise.
    pub rows_needed: Option<f64>,
}

impl Question {
    /// The forecasts, and what would be enough where this budget is not.
    ///
    /// # Errors
    /// A budget that no mechanism meets, or a feature for which there is no forecast.
    pub fn plan(&self) -> Result<Plan> {
        let (mut forecasts, mut chosen) = plan(self.rows, self.parameters, &self.feature, &self.params)?;
        if let Some(size) = self.size {
            let place = forecasts.partition_point(|f| f.size < size);
            if forecasts.get(place).is_none_or(|f| f.size != size) {
                forecasts.insert(place, self.forecast(self.rows, self.params.epsilon, size)?);
            }
            chosen = place;
        }
        let mut answer = Plan { forecasts, chosen, epsilon_needed: None, rows_needed: None };
        if answer.forecasts[chosen].verdict != Verdict::Good {
            answer.epsilon_needed = least(self.params.epsilon, |epsilon| self.is_enough(self.rows, epsilon));
            answer.rows_needed = least(self.rows, |rows| self.is_enough(rows, self.params.epsilon));
        }
        Ok(answer)
    }

    fn forecast(&self, rows: f64, epsilon: f64, size: usize) -> Result<Forecast> {
        let params = self.params.clone().epsilon(epsilon);
        forecast(rows, self.parameters, size, &self.feature, &params)
    }

    /// Whether learning would succeed at the size asked for, or at any without one. A budget for which there
    /// is no noise to be had is not enough.
    fn is_enough(&self, rows: f64, epsilon: f64) -> bool {
        let good = |size| self.forecast(rows, epsilon, size).is_ok_and(|f| f.verdict == Verdict::Good);
        match self.size {
            Some(size) => good(size),
            None => SIZES.iter().any(|factor| good(factor * self.parameters)),
        }
    }
}

/// The least value above `from` that is enough, to 1%: doubling, then bisection of the logarithm.
fn least(from: f64, enough: impl Fn(f64) -> bool) -> Option<f64> {
    let (mut low, mut high) = (from, 2.0 * from);
    while !enough(high) {
        (low, high) = (high, 2.0 * high);
        if high > ENLARGED_MAX * from {
            return None;
        }
    }
    while high > 1.01 * low {
        let middle = (low * high).sqrt();
        if enough(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Wave;

    #[test]
    fn forecasts_are_those_of_the_formula() {
        // k = d = 10, n = 1e6, epsilon = 0.1, m = 300: 8 m^2 / (epsilon_1 n)^2 / c, and the two small terms.
        let params = PrivacyParams { epsilon: 0.1, split: Some(0.99), ..PrivacyParams::default() };
        let found = forecast(1e6, 100, 300, &Wave::Fourier.into(), &params).unwrap();
        let sums = 8.0 * 300f64.powi(2) / (0.099f64 * 1e6).powi(2) / 0.35;
        let expected = 0.65 / (0.35 * 1e6) + sums + 2.0 / (0.001f64 * 1e6).powi(2);
        assert!((found.nsr / expected - 1.0).abs() < 1e-3, "{} {expected}", found.nsr);
        assert_eq!((found.limit, found.verdict), (0.003, Verdict::Good));
    }

    #[test]
    fn small_budgets_get_small_sketches_and_hopeless_ones_are_called_so() {
        let params = |epsilon, delta| PrivacyParams { epsilon, delta, ..PrivacyParams::default() };
        let chosen = |rows, epsilon, delta| {
            let (all, at) = plan(rows, 100, &Wave::Fourier.into(), &params(epsilon, delta)).unwrap();
            (all[at].size, all[at].verdict)
        };
        assert_eq!(chosen(1e7, 10.0, 0.0), (1000, Verdict::Good));
        assert_eq!(chosen(1e6, 0.1, 0.0), (300, Verdict::Good));
        assert_eq!(chosen(1e6, 0.01, 0.0), (200, Verdict::Rough));
        assert_eq!(chosen(1e4, 0.01, 0.0), (200, Verdict::Hopeless));
        // With delta the noise grows with the square root of the size only, so large sketches do not hurt.
        assert_eq!(chosen(1e6, 0.1, 1e-7), (1000, Verdict::Good));
    }

    #[test]
    fn the_least_that_is_enough_is_found_to_a_percent() {
        let found = least(1.0, |x| x >= 37.0).unwrap();
        assert!((37.0..37.4).contains(&found), "{found}");
        assert_eq!(least(1.0, |_| false), None);
    }

    #[test]
    fn what_is_said_to_be_enough_is_enough() {
        let question = Question {
            rows: 1e4,
            parameters: 100,
            feature: crate::Wave::Fourier.into(),
            params: PrivacyParams::new(0.1),
            size: None,
        };
        let answer = question.plan().unwrap();
        assert_eq!(answer.forecasts[answer.chosen].verdict, Verdict::Hopeless);
        let (epsilon, rows) = (answer.epsilon_needed.unwrap(), answer.rows_needed.unwrap());
        assert!(question.is_enough(1e4, epsilon) && !question.is_enough(1e4, 0.98 * epsilon));
        assert!(question.is_enough(rows, 0.1) && !question.is_enough(0.98 * rows, 0.1));
    }
}
