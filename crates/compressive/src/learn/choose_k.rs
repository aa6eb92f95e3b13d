//! How many components: the fewest that explain the sketch.
//!
//! The [misfit](Misfit) is near 1 once the model explains the sketch, and far above while a component is
//! missing. From `low` upwards:
//!
//! 1. the first k that the sketch does not speak against is taken (two more are tried, for the table);
//! 2. if none is, the data are not such a mixture, and k is where the curve of $\ln$ misfit bends most.
//!
//! Where there is a density, every k has a score under it, and the best is taken unless fewer components
//! explain the sketch: `judge.rs`.
//!
//! Cost: one decoding for each k tried.

use serde::{Deserialize, Serialize};

use crate::density::atom::AtomFamily;
use crate::error::{Error, Result};
use crate::learn::Decoded;
use crate::learn::atoms::ROWS_PER_PARAMETER;
use crate::model::{Explained, Misfit};
use crate::num::budget;

/// The objective for one number of components.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Candidate {
    /// Number of components.
    pub k: usize,
    /// The objective $\lVert z - \sum_l \alpha_l a(\theta_l)\rVert^2$.
    pub cost: f64,
    /// How well that many explain the sketch.
    #[serde(flatten)]
    pub misfit: Misfit,
    /// $\chi^2$ of the polished mixture, if it was polished.
    pub chi_square: Option<f64>,
    /// What $\chi^2$ is near if the model is right.
    pub degrees: Option<f64>,
    /// What the number was chosen by, where there is a density: of centres the mean silhouette, the higher
    /// the better; of mixtures the Bayesian information criterion a row, the lower the better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
}

impl Candidate {
    pub(super) fn of(k: usize, decoded: &Decoded) -> Candidate {
        Candidate {
            k,
            cost: decoded.info.cost,
            misfit: decoded.misfit,
            chi_square: decoded.chi_square.map(|(value, _)| value),
            degrees: decoded.chi_square.map(|(_, degrees)| degrees),
            score: decoded.score,
        }
    }
}

/// Decodes for the numbers of components from `low` to `high` and chooses one.
pub(super) fn choose(
    low: usize,
    high: usize,
    decode: &mut dyn FnMut(usize) -> Result<Decoded>,
) -> Result<(Decoded, Vec<Candidate>)> {
    if low == 0 || high < low {
        return Err(empty(low, high));
    }
    let mut all: Vec<(Candidate, Decoded)> = Vec::new();
    let mut first = None;
    for k in low..=high {
        let decoded = match decode(k) {
            Err(error) if k > low && matches!(error.cause(), Error::Task { .. }) => break,
            other => other?,
        };
        let candidate = Candidate::of(k, &decoded);
        if first.is_none() && candidate.misfit.explained() != Explained::No {
            first = Some(all.len());
        }
        all.push((candidate, decoded));
        if first.is_some_and(|f| all.len() >= f + 3) || budget::spent() {
            break;
        }
    }
    let misfits: Vec<f64> = all.iter().map(|(c, _)| c.misfit.value()).collect();
    let chosen = first.unwrap_or_else(|| bend(&misfits));
    let candidates = all.iter().map(|(c, _)| c.clone()).collect();
    Ok((all.swap_remove(chosen).1, candidates))
}

/// The same where there is a density. The first number that explains the sketch of enough rows is taken, else
/// the one of the best score.
pub(super) fn choose_by_score(
    (low, high): (usize, usize),
    rows: f64,
    higher_is_better: bool,
    decode: &mut dyn FnMut(usize) -> Result<Decoded>,
) -> Result<(Decoded, Vec<Candidate>)> {
    let mut all: Vec<(Candidate, Decoded)> = Vec::new();
    let loss = |decoded: &Decoded| match (decoded.score, higher_is_better) {
        (Some(score), true) => -score,
        (Some(score), false) => score,
        (None, _) => f64::INFINITY,
    };
    let mut best: Option<(f64, usize)> = None;
    for k in low..=high {
        let decoded = match decode(k) {
            Err(error) if k > low && matches!(error.cause(), Error::Task { .. }) => break,
            other => other?,
        };
        // With a parameter for every few rows anything can be explained.
        let parameters = (k * (1 + decoded.family.n_params())) as f64;
        let enough = rows >= ROWS_PER_PARAMETER * parameters;
        let (explains, loss) = (enough && decoded.misfit.explained() == Explained::Yes, loss(&decoded));
        all.push((Candidate::of(k, &decoded), decoded));
        if best.is_none_or(|(lowest, _)| loss < lowest) {
            best = Some((loss, all.len() - 1));
        }
        if explains {
            best = Some((f64::NEG_INFINITY, all.len() - 1));
            break;
        }
        if best.is_some_and(|(_, at)| all.len() > at + PATIENCE) || budget::spent() {
            break;
        }
    }
    let Some((_, chosen)) = best else { return Err(empty(low, high)) };
    let candidates = all.iter().map(|(c, _)| c.clone()).collect();
    Ok((all.swap_remove(chosen).1, candidates))
}

/// Numbers tried beyond the best so far.
const PATIENCE: usize = 6;

fn empty(low: usize, high: usize) -> Error {
    Error::Task {
        field: "k",
        problem: format!("the range {low} to {high} is empty; give LOW:HIGH with 1 <= LOW <= HIGH"),
    }
}

/// Where the logarithm falls fast before and slowly after; the last entry if there are fewer than three.
fn bend(misfits: &[f64]) -> usize {
    let logs: Vec<f64> = misfits.iter().map(|m| m.max(1e-300).ln()).collect();
    let bends = (1..logs.len().saturating_sub(1)).map(|i| (i, logs[i - 1] - 2.0 * logs[i] + logs[i + 1]));
    bends.max_by(|a, b| a.1.total_cmp(&b.1)).map_or(logs.len() - 1, |(i, _)| i)
}

#[cfg(test)]
mod tests {
    use super::bend;

    #[test]
    fn the_bend_is_where_the_fall_slows_most() {
        assert_eq!(bend(&[1000.0, 300.0, 100.0, 5.0, 4.0, 3.5]), 3);
        assert_eq!(bend(&[10.0, 1.0]), 1);
        assert_eq!(bend(&[10.0]), 0);
    }
}
