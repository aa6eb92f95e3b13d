//! What a model explains of a sketch, entry by entry.
//!
//! A model predicts the sketch $\hat z_j = \sum_l \alpha_l\, a_j(\theta_l)$. What is left, $z_j - \hat z_j$,
//! is compared with what a right model would leave there: the sampling noise (and noise added on purpose),
//! less the part that looks like slightly other parameters. At low frequencies that is next to nothing, and
//! centres that were moved to where the SSE is lowest leave more: there the unit is a share of the sampling
//! noise itself, $(1 - |z_j|^2)/n$.

use serde::Serialize;

use crate::density::Target;
use crate::density::fit::{Fit, Problem};
use crate::density::noise::{excess, expected_squares};
use crate::error::{Error, Result};
use crate::learn::laid::Laid;
use crate::model::{Content, Covariances, Misfit, Model, Working};
use crate::sketch::Moments;
use crate::sketch::operator::SketchOperator;

/// Least unit of a residual, in standard deviations of the sampling noise.
const LEAST: f64 = 0.3;

/// A model under a sketch.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Explanation {
    /// How well the model explains the sketch.
    #[serde(flatten)]
    pub misfit: Misfit,
    /// One for each frequency; none for a sketch of kernel values, whose entries are not independent.
    pub entries: Vec<Entry>,
    /// Weights of the components that suit this sketch best, which sum to one: for another day's sketch, that
    /// day's.
    pub shares: Vec<f64>,
    /// Covariances of the components, in the user's units: a mixture's own; around centres, those that suit
    /// the sketch best.
    pub covariances: Covariances,
}

/// One frequency of a sketch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Entry {
    /// $|z_j|$.
    pub observed: f64,
    /// $|\hat z_j|$.
    pub predicted: f64,
    /// $|z_j - \hat z_j|$ in units of the root mean square that a right model leaves there, at least 0.3 of
    /// the sampling noise: near 1 for a right model, and less at low frequencies.
    pub residual: f64,
}

/// Lays clusters or a Gaussian mixture over a sketch. A mixture is taken as it is; around the centres of
/// k-means and k-medians, weights and diagonal covariances are fitted first. Cost: O(k m d), times the steps
/// of that fit.
///
/// # Errors
/// Models of other kinds, models of other columns, and sketches that hold no mixture.
pub fn explain(operator: &SketchOperator, moments: &Moments, model: &Model) -> Result<Explanation> {
    if !matches!(model.content, Content::Kmeans { .. } | Content::Kmedians { .. } | Content::Gmm { .. }) {
        return Err(Error::Task {
            field: "model",
            problem: format!("a model of the task `{}` cannot be laid over a sketch", model.task()),
        });
    }
    let target = Target::new(operator, moments)?;
    let laid = Laid::new(operator, &target, model)?;
    let mut problem = Problem::new(&laid.clean, &laid.family);
    let shares = problem.solve_weights(&laid.fit, false);
    let shares = Fit { weights: shares, ..laid.fit.clone() }.normalised_weights();
    let covariances = match &model.content {
        Content::Gmm { covariances, .. } => covariances.clone(),
        _ => Working::new(&operator.spec().transform)?.covariances(&laid.covariances(), true),
    };
    Ok(Explanation { misfit: laid.misfit(), entries: entries(&laid), shares, covariances })
}

/// The residual of each frequency, in units of what a right model leaves there.
fn entries(laid: &Laid) -> Vec<Entry> {
    let target = &laid.clean;
    if target.metric.is_some() {
        return Vec::new();
    }
    let (re, im) = Problem::new(target, &laid.family).residual(&laid.fit);
    let expected = expected_squares(target, &laid.family, &laid.fit);
    // A complex entry has the power of both its parts.
    let power = if target.complex { 2.0 } else { 1.0 } * (0.5 + excess(target));
    let entry = |j: usize| {
        let observed = target.re[j].hypot(target.im[j]);
        let sampling = (power - observed * observed).max(0.0) / target.rows;
        Entry {
            observed,
            predicted: (target.re[j] - re[j]).hypot(target.im[j] - im[j]),
            residual: re[j].hypot(im[j]) / expected[j].max(LEAST * LEAST * sampling).sqrt(),
        }
    };
    (0..target.size()).map(entry).collect()
}
