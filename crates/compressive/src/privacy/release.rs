//! What a private release promises, and the noise that keeps the promise.
//!
//! A release of a sketch is $(\text{sums} + \nu, n + \zeta)$ (\[Sch21\] section 5.2.1), all integers. With
//! $\epsilon = \epsilon_1 + \epsilon_2$ and the sensitivities of [`Sensitivity`]:
//!
//! - pure $\epsilon$: $\nu$ discrete Laplace of scale $\Delta_1 / \epsilon_1$, rounded up to an integer;
//! - $(\epsilon, \delta)$: $\nu$ discrete Gaussian with the smallest integer $\sigma$ that
//!   [`calibrate`](super::calibrate) proves sufficient;
//! - add-remove neighbours: $\zeta$ discrete Laplace of scale $1 / \epsilon_2$; replace neighbours:
//!   $\zeta = 0$ and $\epsilon_1 = \epsilon$, since the number of rows is public.
//!
//! A promise that comes from a file is worked out anew and refused if its noise does not keep it: `verify`.
//!
//! What the spec itself tells about the rows is part of the promise: see [`SpecOrigin`].

use serde::{Deserialize, Serialize};

use crate::error::remedy::{Command, Parameter, Remedy};
use crate::error::{Error, Result};
use crate::privacy::calibrate::{discrete_gaussian_sigma, gaussian_sigma, laplace_variance};
use crate::privacy::sampler::{MAX_SCALE, Ratio};
use crate::privacy::sensitivity::{Neighbours, Sensitivity};
use crate::setters::setters;
use crate::sketch::Sketch;
use crate::sketch::spec::{SketchSpec, Source};

mod verify;

pub(crate) use verify::{ID_DIGITS, verify};

/// What is asked of a private release.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PrivacyParams {
    /// The whole budget, what the spec's design has cost included.
    pub epsilon: f64,
    /// Probability that the bound may fail; 0 for pure differential privacy.
    pub delta: f64,
    /// Which tables count as neighbours.
    pub neighbours: Neighbours,
    /// Share of $\epsilon$ spent on the sums; the rest is spent on the number of rows. None for the share of
    /// the least noise.
    pub split: Option<f64>,
    /// Rows that one person may have in the table.
    pub rows_per_person: u32,
    /// Declares that the spec was made without looking at these rows.
    pub public_spec: bool,
}

impl Default for PrivacyParams {
    fn default() -> PrivacyParams {
        PrivacyParams {
            epsilon: 1.0,
            delta: 0.0,
            neighbours: Neighbours::AddRemove,
            split: None,
            rows_per_person: 1,
            public_spec: false,
        }
    }
}

impl PrivacyParams {
    /// Pure differential privacy with this budget, for one row more or less.
    pub fn new(epsilon: f64) -> PrivacyParams {
        PrivacyParams { epsilon, ..PrivacyParams::default() }
    }
}

setters! { PrivacyParams {
    /// With this budget.
    epsilon: f64,
    /// With this delta.
    delta: f64,
    /// For these neighbours.
    neighbours: Neighbours,
    /// With this share of the budget spent on the sums.
    split: impl Into<Option<f64>>,
    /// For people with up to this many rows.
    rows_per_person: u32,
    /// With a spec that is declared public, or not.
    public_spec: bool,
} }

/// Why the spec may be published with the sketch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SpecOrigin {
    /// It was made from declared bounds, without any row.
    Bounds,
    /// The owner of the rows declared that it does not come from them.
    DeclaredPublic,
    /// Its scale was estimated privately, which cost this much.
    Paid {
        /// Part of the budget.
        epsilon: f64,
    },
}

impl SpecOrigin {
    /// What choosing the spec has cost a person of so many rows.
    pub fn cost(self, neighbours: Neighbours, rows_per_person: u32) -> f64 {
        let SpecOrigin::Paid { epsilon } = self else { return 0.0 };
        // Replacing a row is removing one and adding one.
        let steps = if neighbours == Neighbours::Replace { 2.0 } else { 1.0 };
        steps * epsilon * f64::from(rows_per_person)
    }
}

/// The noise on the sums, in units of $2^{-24}$.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Mechanism {
    /// $P(x) \propto e^{-|x|/\text{scale}}$.
    DiscreteLaplace {
        /// The scale.
        scale: u64,
    },
    /// $P(x) \propto e^{-x^2/(2\sigma^2)}$.
    DiscreteGaussian {
        /// The parameter $\sigma$.
        sigma: u64,
    },
    /// Readings that answered for themselves: see [`local`](super::local).
    LocalResponse {
        /// Entries that each of them reported.
        entries: u32,
        /// Entries there are.
        of: u32,
        /// What a reported sign adds.
        weight: u64,
        /// Number of readings.
        reports: u64,
    },
}

impl Mechanism {
    /// The stable name used in files.
    pub fn name(self) -> &'static str {
        match self {
            Mechanism::DiscreteLaplace { .. } => "discrete-laplace",
            Mechanism::DiscreteGaussian { .. } => "discrete-gaussian",
            Mechanism::LocalResponse { .. } => "local-response",
        }
    }

    /// Variance of the noise on one sum, in units of one row's feature.
    pub fn variance(self) -> f64 {
        const UNIT: f64 = (1u64 << Sketch::GRID_BITS) as f64;
        let variance = match self {
            Mechanism::DiscreteLaplace { scale } => {
                laplace_variance(Ratio { numerator: scale, denominator: 1 })
            }
            Mechanism::DiscreteGaussian { sigma } => (sigma as f64).powi(2),
            Mechanism::LocalResponse { entries, of, weight, reports } => {
                let reported = (weight as f64).powi(2) * f64::from(entries) / f64::from(of);
                reports as f64 * (reported - UNIT * UNIT).max(0.0)
            }
        };
        variance / (UNIT * UNIT)
    }
}

/// What one holder's release promises. Holders of disjoint tables each have their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Release {
    /// The whole budget, what the spec's design has cost included.
    pub epsilon: f64,
    /// Probability that the bound may fail.
    pub delta: f64,
    /// Which tables count as neighbours.
    pub neighbours: Neighbours,
    /// Rows that one person may have.
    pub rows_per_person: u32,
    /// Part of epsilon spent on the sums.
    pub epsilon_sums: f64,
    /// Part of epsilon spent on the number of rows; 0 if that is public.
    pub epsilon_rows: f64,
    /// Noise of the sums.
    pub mechanism: Mechanism,
    /// Scale of the discrete Laplace noise of the number of rows; none if that is public.
    pub rows_scale: Option<Ratio>,
    /// Why the spec may be published.
    pub spec: SpecOrigin,
    /// 32 random hexadecimal digits, by which a release that is given twice is recognised; none before it is
    /// drawn, in files of format 1, and for readings that answer for themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// Mean of $|z_j|^2$ that noise is compared to: 0.35 for adapted-radius frequencies on Gaussian mixtures
/// (\[CSH21\]).
pub(crate) const SIGNAL: f64 = 0.35;

/// Slack that covers the rounding of the few floating-point operations between a budget and an integer scale.
const SLACK: f64 = 1.0 + 1e-12;

impl Release {
    /// Works out the noise for a sketch of this spec, or says why there can be none.
    pub fn plan(spec: &SketchSpec, params: &PrivacyParams) -> Result<Release> {
        check(params)?;
        let origin = origin(spec, params)?;
        let paid = origin.cost(params.neighbours, params.rows_per_person);
        let left = params.epsilon - paid;
        if !(left > 0.0) {
            let problem =
                format!("choosing the spec has already cost {paid} of the {} given", params.epsilon);
            return Err(Error::Privacy { field: "epsilon", problem }
                .advise(Remedy::Say("ask for more", None))
                .advise(Remedy::say(
                    "design the spec at a smaller cost",
                    Remedy::Lower(Parameter::Private),
                )));
        }
        let sensitivity = Sensitivity::of_spec(spec, params.neighbours)?.of_persons(params.rows_per_person);
        let share = match (params.neighbours, params.split) {
            (Neighbours::Replace, _) => 1.0,
            (Neighbours::AddRemove, Some(share)) => share,
            (Neighbours::AddRemove, None) => best_share(spec, &sensitivity, left, params),
        };
        let (epsilon_sums, epsilon_rows) = (share * left, left - share * left);
        let mechanism = if params.delta > 0.0 {
            let entries = spec.sketch_len();
            let sigma = discrete_gaussian_sigma(epsilon_sums, params.delta, sensitivity.l2_squared, entries)?;
            Mechanism::DiscreteGaussian { sigma }
        } else {
            Mechanism::DiscreteLaplace { scale: whole(sensitivity.l1 as f64 / epsilon_sums)? }
        };
        let rows_scale = match params.neighbours {
            Neighbours::Replace => None,
            Neighbours::AddRemove => {
                let denominator = 1u64 << 24;
                let scale = f64::from(params.rows_per_person) * denominator as f64 / epsilon_rows;
                Some(Ratio { numerator: whole(scale)?, denominator })
            }
        };
        Ok(Release {
            epsilon: params.epsilon,
            delta: params.delta,
            neighbours: params.neighbours,
            rows_per_person: params.rows_per_person,
            epsilon_sums,
            epsilon_rows,
            mechanism,
            rows_scale,
            spec: origin,
            id: None,
        })
    }

    /// Takes in a release of the same kind of answers by other readings; false if it is of another kind, and
    /// then stays apart.
    pub(crate) fn join(&mut self, other: &Release) -> bool {
        let Mechanism::LocalResponse { reports: more, .. } = other.mechanism else { return false };
        let mut joined = self.clone();
        let Mechanism::LocalResponse { reports, .. } = &mut joined.mechanism else { return false };
        let sum = reports.saturating_add(more);
        *reports = more;
        let alike = joined == *other;
        if let (true, Mechanism::LocalResponse { reports, .. }) = (alike, &mut self.mechanism) {
            *reports = sum;
        }
        alike
    }

    /// Variance of the noise on the number of rows.
    pub fn rows_variance(&self) -> f64 {
        self.rows_scale.map_or(0.0, laplace_variance)
    }
}

fn refuse<T>(field: &'static str, problem: String) -> Result<T> {
    Err(Error::Privacy { field, problem })
}

/// A scale rounded up to an integer.
fn whole(scale: f64) -> Result<u64> {
    let scale = (scale * SLACK).ceil();
    if !(1.0..=MAX_SCALE as f64).contains(&scale) {
        return refuse(
            "epsilon",
            format!("it asks for noise of scale {scale:.1e} on the 2^-24 grid; from 1 to 2^56 is possible"),
        );
    }
    Ok(scale as u64)
}

fn check(params: &PrivacyParams) -> Result<()> {
    let PrivacyParams { epsilon, delta, split, rows_per_person, .. } = params;
    if !(*epsilon > 0.0 && epsilon.is_finite()) {
        return refuse("epsilon", format!("{epsilon} is not a positive number; 0.1 to 3 is usual"));
    }
    if !(0.0..1.0).contains(delta) {
        return refuse("delta", format!("{delta} is not from 0 to below 1; far below 1/rows is usual"));
    }
    if split.is_some_and(|share| !(share > 0.0 && share < 1.0)) {
        let share = split.unwrap_or_default();
        return refuse("split", format!("the share {share} of the sums is not between 0 and 1"));
    }
    if *rows_per_person == 0 {
        return refuse("rows_per_person", "a person has at least 1 row".into());
    }
    Ok(())
}

fn origin(spec: &SketchSpec, params: &PrivacyParams) -> Result<SpecOrigin> {
    match spec.source {
        _ if params.public_spec => Ok(SpecOrigin::DeclaredPublic),
        Some(Source::Bounds) => Ok(SpecOrigin::Bounds),
        Some(Source::Private { epsilon }) => Ok(SpecOrigin::Paid { epsilon }),
        None => {
            let problem = match &spec.outline {
                None => {
                    "the sketch's spec may have been chosen by looking at these rows (centres, spreads, scale and \
                     box of a sample), and it would be published with the sketch"
                        .into()
                }
                Some(outline) => format!(
                    "the sketch's spec was chosen by looking at {} rows: beside centres, spreads, scale and box of \
                     that sample it holds an outline of {} cells, and it would be published with the sketch",
                    outline.pilot_rows(),
                    outline.n_cells(),
                ),
            };
            let bounds = "design it from bounds you know, paying for the scale from the budget";
            Err(Error::Privacy { field: "spec", problem }
                .advise(Remedy::Run(bounds, Command::DesignPrivately))
                .advise(Remedy::say(
                    "if the spec comes from other, public data, say so",
                    Remedy::TurnOn(Parameter::PublicSpec),
                )))
        }
    }
}

/// The share of $\epsilon$ for the sums that minimises the noise-to-signal ratio
/// $A/\epsilon_1^2 + B/\epsilon_2^2$: $\epsilon_1/\epsilon_2 = (A/B)^{1/3}$.
fn best_share(spec: &SketchSpec, sensitivity: &Sensitivity, epsilon: f64, params: &PrivacyParams) -> f64 {
    const UNIT: f64 = (1u64 << Sketch::GRID_BITS) as f64;
    let gain = spec.map.wave().map_or(1.0, |wave| wave.surrogate().gain);
    let entry = if params.delta > 0.0 {
        (gaussian_sigma(epsilon, params.delta) * epsilon).powi(2) * sensitivity.l2_squared as f64
    } else {
        2.0 * (sensitivity.l1 as f64).powi(2)
    };
    let entries = spec.sketch_len() as f64;
    let a = entries * entry / (UNIT * UNIT) / (spec.size as f64 * SIGNAL * gain * gain);
    let b = 2.0 * f64::from(params.rows_per_person).powi(2);
    let ratio = (a / b).cbrt();
    ratio / (1.0 + ratio)
}
