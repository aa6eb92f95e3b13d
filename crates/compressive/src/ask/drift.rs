//! What moved between two sketches, and how much: an effect size beside the p-value of
//! [`compare`](crate::ask::compare), and the reasons for it.
//!
//! - **Share**: the part of the rows that would have to change. Where the recipe has an outline, the total
//!   variation between the densities of both sketches, the least that they allow (file `difference.rs`). Else
//!   a bound: entries of a sketch have modulus 1, so $\mathrm{MMD} \le 2\,\mathrm{TV}$, whatever the rows are.
//! - **Changes** of means, deviations and correlations of the columns, from the exact moments, with standard
//!   errors; those that chance explains are left out (file `columns.rs`).
//! - **Reasons**: which single changes, of a column or of a place, carried out on A give most of the
//!   difference (file `reasons.rs`).
//! - **Places** that gained or lost rows, from the cells of the outline (file `places.rs`).
//!
//! On many rows every difference is significant. The [`Verdict`] is therefore of two numbers: the p-value
//! tells whether there is a difference, the share whether it matters.
//!
//! ```
//! use compressive::ask::drift::{Statistic, Verdict};
//! use compressive::design::{Look, Request, Task, design};
//!
//! let rows = |shift: f64| -> Vec<f64> {
//!     let row = |i: u32| [(f64::from(i) * 0.618).fract() + shift, (f64::from(i) * 0.414).fract()];
//!     (0..4000).flat_map(row).collect()
//! };
//! let columns = vec!["age".to_string(), "dose".to_string()];
//! let spec = design(Look::Sample { rows: &rows(0.0), columns: &columns }, &Request::new(Task::Kmeans, 4))?.spec;
//! let drift = spec.sketch(&rows(0.0)[..])?.drift(&spec.sketch(&rows(0.2)[..])?)?;
//! assert_eq!(drift.verdict(0.02), Verdict::Different);
//! assert_eq!(drift.changes[0].statistic, Statistic::Mean { column: 0 });
//! # Ok::<(), compressive::Error>(())
//! ```

mod columns;
mod difference;
mod places;
mod reasons;

use serde::Serialize;

use crate::ask::compare::{Comparison, compare};
use crate::ask::drift::difference::{Difference, difference};
use crate::density::Target;
use crate::error::Result;
use crate::model::Working;
use crate::names::named;
use crate::sketch::Sketch;
use crate::sketch::operator::SketchOperator;

pub use columns::{Change, Statistic};
pub use places::Place;
pub use reasons::{Cause, Reason};

/// Probability of such a distance between equal distributions below which they are called different: a
/// comparison a day is then wrong once in three years.
pub const DIFFERENT: f64 = 1e-3;
/// The same below which they are called perhaps different.
pub const PERHAPS: f64 = 0.05;

/// What two sketches say of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No difference was seen.
    Same,
    /// Chance gives such a difference now and then.
    Perhaps,
    /// There is a difference, and it is small enough.
    Tolerated,
    /// There is a difference that matters.
    Different,
}

named!(Verdict, "a verdict", {
    Same => "same",
    Perhaps => "perhaps",
    Tolerated => "tolerated",
    Different => "different",
});

impl Verdict {
    /// What a p-value alone says.
    pub fn of(p_value: f64) -> Verdict {
        match p_value {
            p if p >= PERHAPS => Verdict::Same,
            p if p >= DIFFERENT => Verdict::Perhaps,
            _ => Verdict::Different,
        }
    }
}

/// The part of the rows that would have to change for one distribution to become the other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Share {
    /// The best estimate, or the bound.
    pub value: f64,
    /// Lower end of the interval that the noise of the sketches leaves.
    pub low: f64,
    /// Its upper end; 1 for a bound.
    pub high: f64,
    /// Whether it is a lower bound only, for want of an outline.
    pub bound: bool,
}

/// How far two sketches are apart and what moved between them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Drift {
    /// Distance and p-value.
    pub comparison: Comparison,
    /// The part of the rows that would have to change.
    pub share: Share,
    /// What changed, each as far as it explains the difference, the most telling first; empty without an
    /// outline or exact moments, and where nothing did.
    pub reasons: Vec<Reason>,
    /// Changes of the columns beyond chance, the surest first; empty without exact moments.
    pub changes: Vec<Change>,
    /// Places with more rows in the second sketch, most first; empty without an outline.
    pub gained: Vec<Place>,
    /// Places with fewer rows.
    pub lost: Vec<Place>,
}

impl Drift {
    /// Whether there is a difference of more than this share of the rows.
    pub fn verdict(&self, tolerate: f64) -> Verdict {
        match Verdict::of(self.comparison.p_value) {
            Verdict::Different if self.share.value <= tolerate => Verdict::Tolerated,
            verdict => verdict,
        }
    }
}

impl Sketch {
    /// What moved from the rows of this sketch to those of another; see [`drift`].
    ///
    /// # Errors
    /// Those of [`drift`].
    pub fn drift(&self, other: &Sketch) -> Result<Drift> {
        drift(&self.spec().clone().build()?, self, other)
    }
}

/// What moved from the rows of `a` to those of `b`.
///
/// # Errors
/// Those of [`compare`].
pub fn drift(operator: &SketchOperator, a: &Sketch, b: &Sketch) -> Result<Drift> {
    let comparison = compare(operator, a, b)?;
    let working = Working::new(&operator.spec().transform)?;
    let found = match operator.spec().outline {
        Some(_) => moved(operator, a, b)?,
        None => None,
    };
    let least = lower_bound(&comparison);
    let share = match &found {
        // Rows that moved within cells are seen by the bound alone.
        Some(Difference { share: [low, value, high], .. }) => {
            Share { value: value.max(least), low: low.max(least), high: high.max(least), bound: false }
        }
        None => Share { value: least, low: least, high: 1.0, bound: true },
    };
    let statistics = columns::statistics(operator, &working, [a, b], found.as_ref());
    let changes = columns::beyond_chance(statistics.clone());
    // Something has to differ before there are reasons for it.
    let differs = comparison.p_value < PERHAPS || !changes.is_empty();
    let reasons = match found.as_ref().filter(|_| differs) {
        Some(found) => {
            let target = |sketch: &Sketch| Target::new(operator, &sketch.moments()?);
            let sides = [&target(a)?, &target(b)?];
            reasons::reasons(found, sides, &statistics, &operator.spec().transform, &working)
        }
        None => Vec::new(),
    };
    let (gained, lost) =
        found.map(|found| places::places(&found, &operator.spec().transform, &working)).unwrap_or_default();
    Ok(Drift { comparison, share, reasons, changes, gained, lost })
}

/// The difference of the densities; none if no weights match the sketches.
fn moved(operator: &SketchOperator, a: &Sketch, b: &Sketch) -> Result<Option<Difference>> {
    let mut both = a.clone();
    both.merge(b)?;
    let target = |sketch: &Sketch| Target::new(operator, &sketch.moments()?);
    Ok(difference(&target(&both)?, &target(a)?, &target(b)?))
}

/// Half of the MMD, two standard errors below its estimate.
fn lower_bound(c: &Comparison) -> f64 {
    0.5 * (c.mmd_squared - 2.0 * c.standard_error).max(0.0).sqrt().min(2.0)
}

#[cfg(test)]
mod tests;
