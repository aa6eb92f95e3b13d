//! Learning tasks: from a sketch to a [`Model`] in the user's units.
//!
//! [`learn`] takes the task by name; [`classify`](classify::classify) and [`generator`](generator::train) have
//! parameters of their own. A [`Sketch`] has the usual tasks as methods.
//!
//! ```
//! use compressive::{FrequencyLaw, SketchSpec};
//!
//! let rows: Vec<f64> = (0..1000).map(|i| if i % 2 == 0 { -4.0 } else { 4.0 } + (i as f64 * 0.7).sin()).collect();
//! let sketch = SketchSpec::new(["x"], FrequencyLaw::AdaptedRadius, 1.0, 50).sketch(&rows)?;
//! let mut centers: Vec<f64> = sketch.kmeans(2)?.locations().iter().map(|c| c[0]).collect();
//! centers.sort_by(f64::total_cmp);
//! assert!((centers[0] + 4.0).abs() < 0.1 && (centers[1] - 4.0).abs() < 0.1);
//! # Ok::<(), compressive::Error>(())
//! ```

mod atoms;
mod choose_k;
pub mod classify;
pub mod generator;
mod judge;
mod kmeans;
mod kmedians;
pub(crate) mod laid;
pub(crate) mod misfit;
mod mixture;
mod on_density;
mod on_rows;
mod one_breath;
mod pca;
pub(crate) mod polish;
pub(crate) mod propose;
mod refine;
mod stable;
pub(crate) mod weighted_landmarks;

use crate::design::Task;
use crate::error::{Error, Result};
use crate::learn::generator::{TrainParams, train};
use crate::model::{Model, Stop};
use crate::setters::setters;
use crate::sketch::Moments;
#[cfg(doc)]
use crate::sketch::Sketch;
use crate::sketch::operator::SketchOperator;
use crate::sketch::spec::SketchSpec;
use stable::stable;

pub use crate::num::budget::Budget;
pub(crate) use atoms::Decoded;
pub use choose_k::Candidate;
pub(crate) use kmeans::kmeans;
pub(crate) use kmedians::kmedians;
pub use mixture::CovarianceKind;
pub(crate) use mixture::mixture;
pub use on_rows::improve;
pub(crate) use pca::pca;
pub use propose::Decoder;
pub use propose::greedy::Start;

/// How many components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Components {
    /// This many.
    Exactly(usize),
    /// The fewest in this range, both ends included, that explain the sketch.
    Between(usize, usize),
}

impl Default for Components {
    fn default() -> Components {
        Components::Exactly(10)
    }
}

impl From<usize> for Components {
    fn from(k: usize) -> Components {
        Components::Exactly(k)
    }
}

/// Most components that [`Components::auto`] looks for.
pub const AUTO_MOST: usize = 20;

impl Components {
    /// From 1 to [`AUTO_MOST`], or to where a sketch of this spec could not carry more: three frequencies a
    /// parameter.
    pub fn auto(task: Task, spec: &SketchSpec) -> Components {
        let carried = spec.size / (3 * task.parameters(1, spec.dim()));
        Components::Between(1, carried.clamp(1, AUTO_MOST))
    }
}

/// What to learn, and how.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LearnParams {
    /// The kind of model.
    pub task: Task,
    /// Number of components; a generative network does not ask.
    pub k: Components,
    /// The search; [`Decoder::Auto`] unless a published one is wanted by name.
    pub decoder: Decoder,
    /// Covariances of a mixture (for stable laws, `Iso` and `Diag` are their scales); k-means and k-medians
    /// do not ask.
    pub covariance: CovarianceKind,
    /// Runs from other starting points, of which the best is kept; each decoder's default if none is given.
    pub restarts: Option<usize>,
    /// Searches for each atom, of which the best is kept, at least 1, for the decoders that add atom by atom;
    /// the decoder's own number if none is given.
    pub starts: Option<usize>,
    /// Where searches start, for the decoders that [can be told](Decoder::starts_at_rows); points in the
    /// user's units.
    pub start: Start,
    /// Seed of the starting points.
    pub seed: u64,
    /// Threads, at least 1; they change the time, never the result.
    pub threads: usize,
    /// How long the search may take; principal components and generative networks do not ask. A model that
    /// was cut says so: [`Stop::Cut`].
    pub budget: Budget,
}

impl Default for LearnParams {
    fn default() -> LearnParams {
        LearnParams {
            task: Task::Kmeans,
            k: Components::default(),
            decoder: Decoder::Auto,
            covariance: CovarianceKind::Diag,
            restarts: None,
            starts: None,
            start: Start::Range,
            seed: 0,
            threads: 1,
            budget: Budget::default(),
        }
    }
}

setters! { LearnParams {
    /// With this decoder.
    decoder: Decoder,
    /// With these covariances.
    covariance: CovarianceKind,
    /// With this many runs.
    restarts: impl Into<Option<usize>>,
    /// With this many searches for each atom.
    starts: impl Into<Option<usize>>,
    /// From these starting points.
    start: Start,
    /// With this seed.
    seed: u64,
    /// On this many threads.
    threads: usize,
    /// Within this budget.
    budget: Budget,
} }

/// What [`learn`] found.
#[derive(Clone, Debug)]
pub struct Learned {
    /// The model.
    pub model: Model,
    /// The objective for each number of components tried; one entry if the number was given.
    pub candidates: Vec<Candidate>,
}

/// Learns a model of the task that `params` name. A generative network is trained with the defaults of
/// [`TrainParams`].
pub fn learn(operator: &SketchOperator, moments: &Moments, params: &LearnParams) -> Result<Learned> {
    match params.task {
        Task::Kmeans => kmeans(operator, moments, params),
        Task::Kmedians => kmedians(operator, moments, params),
        Task::Gmm => mixture(operator, moments, params),
        Task::Stable => within(&params.budget, || stable(operator, moments, params)),
        Task::Pca => pca(operator, moments, params),
        Task::Generate => {
            let defaults = TrainParams { seed: params.seed, threads: params.threads, ..TrainParams::default() };
            let model = train(operator, moments, &defaults, &mut |_, _| ())?;
            Ok(Learned { model, candidates: Vec::new() })
        }
        Task::Drift => Err(Error::Task {
            field: "task",
            problem: "differences are told between two sketches, and no model is learned for them; see `ask::drift`".into(),
        }),
        Task::Classify => Err(Error::Task {
            field: "task",
            problem: "a classifier is learned from one sketch for each class, not from one sketch; see `learn::classify`".into(),
        }),
    }
}

/// Learns within a budget; a model that was cut says so.
fn within(budget: &Budget, work: impl FnOnce() -> Result<Learned>) -> Result<Learned> {
    let mut learned = budget.within(work)?;
    if budget.was_cut() {
        learned.model.origin.iter_mut().for_each(|origin| origin.info.stop = Stop::Cut);
    }
    Ok(learned)
}

impl LearnParams {
    /// A model of this task with k components, the rest by default.
    pub fn new(task: Task, k: impl Into<Components>) -> LearnParams {
        LearnParams { task, k: k.into(), ..LearnParams::default() }
    }
}

#[cfg(test)]
mod tests;
