//! Which single changes of A make it B, by one measure for all kinds of change.
//!
//! A new cluster moves means and correlations too, and a moved column takes rows from some places to others.
//! Each candidate is therefore carried out: applied to A it gives a distribution whose sketch and moments are
//! compared with B's (file `measure.rs`), and what counts is how much of the distance is gone.
//!
//! | candidate | A becomes | parameters |
//! |---|---|---|
//! | mean of a column | shifted along it | 1, from the exact moments |
//! | deviation of a column | stretched about its mean | 1, from the exact moments |
//! | correlations of a column | a part of the rows with this column drawn anew | 1, fitted |
//! | the same | this column's regression on the others is that of B | d - 1, from the exact moments |
//! | rows came or went | $(1 - \pi) A + \pi N(c, \operatorname{diag} v)$ | 2 d + 1, fitted |
//!
//! 1. The candidate of the least distance plus [`PER_PARAMETER`] for each parameter is the first reason; one
//!    that explains nearly as much with fewer parameters is preferred.
//! 2. What it leaves is explained in the same way, up to [`MOST`] reasons, while they are more than chance.
//!
//! Cost: A m d for each of some candidates of a kind, and some hundred distances for places.

mod candidates;
mod measure;
mod place;

use serde::Serialize;

use crate::ask::drift::columns::{Change, Statistic};
use crate::ask::drift::difference::Difference;
use crate::ask::drift::places::Place;
use crate::density::Density;
use crate::density::cells::Blocks;
use crate::density::target::Target;
use crate::model::Working;
use crate::sketch::spec::Transform;
use candidates::Coordinates;
use measure::{Measure, View};

/// Reasons at most.
const MOST: usize = 4;
/// Frequencies that are compared at most.
const FREQUENCIES: usize = 400;
/// A parameter has to lower the squared distance by this.
const PER_PARAMETER: f64 = 2.0;
/// A candidate with fewer parameters is preferred if it explains this part of what the best one explains.
const NEARLY: f64 = 0.95;
/// A further reason lowers the squared distance by at least this part of what it was.
const WORTH: f64 = 0.02;
/// A reason lowers it by this beyond its parameters.
const BEYOND_CHANCE: f64 = 12.0;

/// What changed, in one step.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Cause {
    /// A column, or how it hangs together with others.
    Column(Change),
    /// Rows came to a place.
    Came(Place),
    /// Rows went from a place.
    Went(Place),
}

/// A reason of a difference.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Reason {
    /// What changed.
    #[serde(flatten)]
    pub cause: Cause,
    /// The part of the squared distance beyond chance that it explains, after the reasons before it.
    pub explains: f64,
}

/// A before some of its changes: cells that nearly have its sketch, and the view itself.
#[derive(Clone)]
pub(super) struct State {
    blocks: Blocks,
    weights: Vec<f64>,
    view: View,
}

/// What a candidate would do.
pub(super) enum Kind {
    Statistic(Statistic),
    /// Share (negative if rows went), centre and variances in working coordinates.
    Place {
        share: f64,
        centre: Vec<f64>,
        variances: Vec<f64>,
    },
}

/// A after a candidate change.
pub(super) struct Candidate {
    kind: Kind,
    parameters: usize,
    after: State,
}

impl Candidate {
    /// What its parameters have to gain.
    fn price(&self) -> f64 {
        PER_PARAMETER * self.parameters as f64
    }
}

/// The reasons for a difference, the most telling first. `statistics` are all changes of the columns, those
/// by chance as well.
pub(super) fn reasons(
    found: &Difference,
    sides: [&Target; 2],
    statistics: &[Change],
    transform: &Transform,
    working: &Working,
) -> Vec<Reason> {
    let coordinates = Coordinates::new(transform, working);
    let Some((chosen, left)) = chosen(found, sides, &coordinates) else { return Vec::new() };
    let total = chosen.iter().map(|c| c.1).sum::<f64>() + left;
    let reason = |(kind, gone): (Kind, f64)| {
        let cause = match kind {
            Kind::Statistic(statistic) => {
                Cause::Column(*statistics.iter().find(|change| change.statistic == statistic)?)
            }
            Kind::Place { share, centre, variances } => {
                let place = coordinates.place(share.abs(), &centre, &variances, found);
                if share > 0.0 { Cause::Came(place) } else { Cause::Went(place) }
            }
        };
        Some(Reason { cause, explains: gone / total })
    };
    chosen.into_iter().filter_map(reason).collect()
}

/// Steps 1 and 2: what was chosen, by how much each lowers the squared distance, and what they leave of it
/// beyond chance.
fn chosen(
    found: &Difference,
    [a, b]: [&Target; 2],
    coordinates: &Coordinates<'_>,
) -> Option<(Vec<(Kind, f64)>, f64)> {
    let own = Density::weighed(a)?;
    let parts = [a, b].map(|target| target.first(FREQUENCIES));
    let (a, b) = (parts[0].as_ref().unwrap_or(a), parts[1].as_ref().unwrap_or(b));
    let view = |target: &Target| {
        let (re, im, exact) = (target.re.clone(), target.im.clone(), target.exact.clone()?);
        Some(View { re, im, exact })
    };
    let (start, goal) = (view(a)?, view(b)?);
    let pooled = (&found.pooled_blocks, &found.pooled_weights[..]);
    let measure = Measure::new(a, pooled, found.inverse_rows, [&start, &goal])?;
    let entries = measure.entries(&goal);
    let to_goal = |state: &State| -> Vec<f64> {
        measure.entries(&state.view).iter().zip(&entries).map(|(x, y)| y - x).collect()
    };
    let kept: Vec<usize> = (0..own.weights().len()).filter(|&i| own.weights()[i] > 0.0).collect();
    let weights = kept.iter().map(|&i| own.weights()[i]).collect();
    let mut state = State { blocks: own.blocks.select(&kept), weights, view: start };
    let first = measure.square(&to_goal(&state));
    let (mut left, mut chosen) = (first, Vec::new());
    while chosen.len() < MOST {
        let difference = to_goal(&state);
        let mut all = candidates::of_columns(&measure, &state, &goal, &difference, coordinates);
        all.extend(place::of_places(&measure, &state, &difference, found));
        let gain = |c: &Candidate| left - measure.square(&to_goal(&c.after)) - c.price();
        let Some((gain, candidate)) = best(all.into_iter().map(|c| (gain(&c), c)).collect()) else { break };
        let gone = gain + candidate.price();
        if gain < BEYOND_CHANCE || (!chosen.is_empty() && gone < WORTH * first) {
            break;
        }
        left -= gone;
        state = candidate.after;
        chosen.push((candidate.kind, gone));
    }
    Some((chosen, (left - measure.chance()).max(0.0)))
}

/// The candidate of the fewest parameters among those that gain nearly the most.
fn best(all: Vec<(f64, Candidate)>) -> Option<(f64, Candidate)> {
    let most = all.iter().map(|(gain, _)| *gain).fold(0.0, f64::max);
    all.into_iter()
        .filter(|(gain, _)| *gain >= NEARLY * most)
        .min_by(|(g, x), (h, y)| x.parameters.cmp(&y.parameters).then(h.total_cmp(g)))
}
