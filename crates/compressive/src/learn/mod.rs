//! Learning tasks: from a sketch to a [`Model`] in the user's units.
//!
//! ```
//! use compressive::learn::{Components, LearnParams, learn};
//! use compressive::{FrequencyLaw, RowsRef, Scratch, Sketch, SketchSpec};
//!
//! let operator = SketchSpec::new(["x"], FrequencyLaw::AdaptedRadius, 1.0, 50).build()?;
//! let rows: Vec<f64> = (0..1000).map(|i| if i % 2 == 0 { -4.0 } else { 4.0 } + (i as f64 * 0.7).sin()).collect();
//! let mut sketch = Sketch::empty(&operator);
//! operator.accumulate(RowsRef::F64(&rows), None, &mut sketch, &mut Scratch::default())?;
//!
//! let params = LearnParams { k: Components::Exactly(2), ..LearnParams::default() };
//! let learned = learn(&operator, &sketch.moments()?, &params)?;
//! let mut centers: Vec<f64> = learned.model.locations().iter().map(|c| c[0]).collect();
//! centers.sort_by(f64::total_cmp);
//! assert!((centers[0] + 4.0).abs() < 0.1 && (centers[1] - 4.0).abs() < 0.1);
//! # Ok::<(), compressive::Error>(())
//! ```

mod choose_k;
pub mod classify;
mod decoder;
pub mod generator;
pub(crate) mod laid;
mod medians;
pub mod pca;
pub mod polish;
pub mod propose;
mod refine;
mod stable;
pub(crate) mod weighted_landmarks;

use crate::density::Target;
use crate::density::atom::{Gaussian, Shape};
use crate::density::fit::Fit;
use crate::design::Task;
use crate::error::{Error, Result};
use crate::learn::generator::{TrainParams, train};
use crate::model::DecodeInfo;
use crate::model::{Content, MODEL_FORMAT, Model, Origin, Working, to_working};
use crate::num::random::{Purpose, Stream};
use crate::sketch::Moments;
use crate::sketch::operator::SketchOperator;
use crate::sketch::spec::SketchSpec;

pub use choose_k::Candidate;
pub use decoder::Decoder;

/// How many components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Components {
    /// This many.
    Exactly(usize),
    /// The fewest in this range, both ends included, that explain the sketch.
    Between(usize, usize),
}

/// Most components that [`Components::auto`] looks for.
pub const AUTO_MOST: usize = 20;

impl Components {
    /// From 1 to [`AUTO_MOST`], or to where a sketch of this spec could not carry more: three frequencies a parameter.
    pub fn auto(task: Task, spec: &SketchSpec) -> Components {
        let carried = spec.size / (3 * task.parameters(1, spec.dim()));
        Components::Between(1, carried.clamp(1, AUTO_MOST))
    }
}

/// Kind of covariance of a mixture's components.
#[derive(Clone, Debug, PartialEq)]
pub enum CovarianceKind {
    /// One width for each component, after each column was scaled by its spread.
    Iso,
    /// A variance for each column.
    Diag,
    /// Any covariance.
    Full,
    /// This covariance for all components, in the user's units.
    Known(Vec<Vec<f64>>),
}

impl CovarianceKind {
    /// The stable name used on the command line and in models.
    pub fn name(&self) -> &'static str {
        match self {
            CovarianceKind::Iso => "iso",
            CovarianceKind::Diag => "diag",
            CovarianceKind::Full => "full",
            CovarianceKind::Known(_) => "known",
        }
    }
}

/// What to learn, and how.
#[derive(Clone, Debug)]
pub struct LearnParams {
    /// The kind of model.
    pub task: Task,
    /// Number of components; a generative network does not ask.
    pub k: Components,
    /// The search; [`Decoder::Auto`] unless a published one is wanted by name.
    pub decoder: Decoder,
    /// Covariances of a mixture (for stable laws, `Iso` and `Diag` are their scales); k-means and k-medians do not ask.
    pub covariance: CovarianceKind,
    /// Runs from other starting points, of which the best is kept; each decoder's default if none is given.
    pub restarts: Option<usize>,
    /// Rows of the data (n rows of d, in the user's units) to start searches from, for the decoders that can (`cl-omp`, `cl-ompr`, `iht`).
    pub start: StartFrom,
    /// Seed of the starting points.
    pub seed: u64,
    /// Threads, at least 1; they change the time, never the result.
    pub threads: usize,
}

/// Where the searches of `cl-omp`, `cl-ompr` and `iht` start (\[KTTG17\] section 3).
#[derive(Clone, Debug, Default, PartialEq)]
pub enum StartFrom {
    /// Anywhere in the data box.
    #[default]
    Range,
    /// At one of these rows, drawn uniformly.
    Sample(Vec<f64>),
    /// At one of these rows, drawn with probability proportional to the squared distance to the atoms found so far.
    PlusPlus(Vec<f64>),
}

impl Default for LearnParams {
    fn default() -> LearnParams {
        LearnParams {
            task: Task::Kmeans,
            k: Components::Exactly(10),
            decoder: Decoder::Auto,
            covariance: CovarianceKind::Diag,
            restarts: None,
            start: StartFrom::Range,
            seed: 0,
            threads: 1,
        }
    }
}

/// What [`learn`] found.
#[derive(Clone, Debug)]
pub struct Learned {
    /// The model.
    pub model: Model,
    /// The objective for each number of components tried; one entry if the number was given.
    pub candidates: Vec<Candidate>,
}

/// A fit with the family of its atoms, before it is told in the user's units.
#[derive(Clone, Debug)]
pub(crate) struct Decoded {
    pub family: Gaussian,
    pub fit: Fit,
    pub info: DecodeInfo,
    /// The cost relative to what a right model leaves.
    pub misfit: f64,
    /// $\chi^2$ of the polish and its expectation, if there was one.
    pub chi_square: Option<(f64, f64)>,
}

/// Learns a model from a sketch. A generative network is trained with the defaults of [`TrainParams`].
pub fn learn(operator: &SketchOperator, moments: &Moments, params: &LearnParams) -> Result<Learned> {
    if params.task == Task::Pca {
        return pca::learn(operator, moments, params);
    }
    if params.task == Task::Generate {
        let defaults = TrainParams { seed: params.seed, threads: params.threads, ..TrainParams::default() };
        let model = train(operator, moments, &defaults, &mut |_, _| ())?;
        return Ok(Learned { model, candidates: Vec::new() });
    }
    if params.task == Task::Classify {
        return Err(Error::Task {
            field: "task",
            problem: "a classifier is learned from one sketch for each class, not from one sketch; see `task::classify`".into(),
        });
    }
    let target = Target::new(operator, moments)?;
    check_data(&target, params.k)?;
    if params.task == Task::Stable {
        return stable::learn(operator, &target, params);
    }
    let (mut decoded, candidates) = match params.k {
        Components::Exactly(k) => {
            let decoded = decode(operator, &target, k, params)?;
            let candidate = Candidate::of(k, &decoded);
            (decoded, vec![candidate])
        }
        Components::Between(low, high) => {
            choose_k::choose(&target, low, high, &mut |k| decode(operator, &target, k, params))?
        }
    };
    fill_empty(&target, &mut decoded, params.seed);
    let mut model = tell(operator, &target, &decoded, params)?;
    if params.decoder == Decoder::Auto {
        correct(operator, &target, &decoded, &mut model.content, params)?;
    }
    model.validate()?;
    Ok(Learned { model, candidates })
}

/// Moves the centres of k-means and k-medians to where their own objective is lowest, as far as the sketch tells.
fn correct(
    operator: &SketchOperator,
    target: &Target,
    decoded: &Decoded,
    content: &mut Content,
    params: &LearnParams,
) -> Result<()> {
    let (better, centers, weights) = match content {
        Content::Kmeans { centers, weights } => {
            (refine::refine(operator, target, decoded, centers, params)?, centers, weights)
        }
        Content::Kmedians { centers, weights } => {
            (medians::medians_of(operator, target, decoded, centers, params)?, centers, weights)
        }
        Content::Gmm { .. }
        | Content::Stable { .. }
        | Content::Pca { .. }
        | Content::Generator(_)
        | Content::Classify(_) => {
            return Ok(());
        }
    };
    if let Some((better, shares)) = better {
        let mut order: Vec<usize> = (0..shares.len()).collect();
        order.sort_by(|&a, &b| shares[b].total_cmp(&shares[a]));
        *centers = order.iter().map(|&l| better[l].clone()).collect();
        *weights = order.iter().map(|&l| shares[l]).collect();
    }
    Ok(())
}

/// Weight of a component, relative to 1/k, below which it is empty.
const EMPTY: f64 = 1e-6;

/// Replaces each empty atom by a half of the heaviest, moved apart at random within its width: users get the number of components they asked for.
fn fill_empty(target: &Target, decoded: &mut Decoded, seed: u64) {
    use crate::density::atom::AtomFamily;
    let (family, fit) = (&decoded.family, &mut decoded.fit);
    let (d, p, k) = (family.dim(), family.n_params(), fit.k());
    let total: f64 = fit.weights.iter().sum();
    let mut stream = Stream::new(seed, Purpose::Decode, u64::MAX - 1);
    for empty in 0..k {
        if fit.weights[empty] > EMPTY * total / k as f64 {
            continue;
        }
        let heaviest = (0..k).max_by(|&a, &b| fit.weights[a].total_cmp(&fit.weights[b])).unwrap_or(0);
        let atom = fit.atoms[heaviest * p..(heaviest + 1) * p].to_vec();
        let sigma = family.covariance_of(&atom, &fit.shared);
        fit.atoms[empty * p..(empty + 1) * p].copy_from_slice(&atom);
        for c in 0..d {
            let width = sigma[c * d + c].sqrt().max(1e-3 * (target.high[c] - target.low[c]));
            let step = 0.5 * width * stream.normal();
            fit.atoms[empty * p + c] += step;
            fit.atoms[heaviest * p + c] -= step;
        }
        fit.weights[heaviest] *= 0.5;
        fit.weights[empty] = fit.weights[heaviest];
    }
}

/// Decodes for a given number of components, in boxes of several sizes if the range is wide: the lowest cost is kept.
fn decode(operator: &SketchOperator, target: &Target, k: usize, params: &LearnParams) -> Result<Decoded> {
    target.check_components(k)?;
    // `learn` has taken the others aside: here and in `tell` they do not occur.
    let shape = match (&params.task, &params.covariance) {
        (Task::Kmeans | Task::Kmedians | Task::Stable | Task::Pca | Task::Generate | Task::Classify, _) => {
            None
        }
        (Task::Gmm, CovarianceKind::Iso) => Some(Shape::Width),
        (Task::Gmm, CovarianceKind::Diag) => Some(Shape::Diagonal),
        (Task::Gmm, CovarianceKind::Full) => Some(Shape::Full),
        (Task::Gmm, CovarianceKind::Known(sigma)) => {
            check_known(sigma, target.dim())?;
            Some(Shape::Known(to_working(&operator.spec().transform, sigma)))
        }
    };
    let mut best: Option<Decoded> = None;
    for target in target.boxes() {
        let found = decoder::run(operator, &target, k, shape.clone(), params)?;
        if best.as_ref().is_none_or(|b| found.info.cost < b.info.cost) {
            best = Some(found);
        }
    }
    let Some(best) = best else { unreachable!("the whole box is one of them") };
    Ok(best)
}

/// Refuses a sketch whose rows cannot be told apart.
fn check_data(target: &Target, k: Components) -> Result<()> {
    let wanted = match k {
        Components::Exactly(k) => k,
        Components::Between(low, _) => low,
    };
    // The variance of a single row's features.
    if wanted > 1 && target.noise * target.rows < 1e-6 {
        return Err(Error::Task {
            field: "k",
            problem: format!(
                "all {} rows of the sketch are equal, so there is one component, not {wanted}",
                target.rows
            ),
        });
    }
    Ok(())
}

fn check_known(sigma: &[Vec<f64>], d: usize) -> Result<()> {
    let fail = |problem: String| Err(Error::Task { field: "covariance", problem });
    if sigma.len() != d || sigma.iter().any(|row| row.len() != d) {
        return fail(format!(
            "the known covariance must have {d} rows of {d} numbers, as the sketch has {d} columns"
        ));
    }
    let symmetric = (0..d)
        .all(|i| (0..i).all(|j| (sigma[i][j] - sigma[j][i]).abs() <= 1e-9 * sigma[i][i].max(sigma[j][j])));
    if !symmetric || crate::num::linear::cholesky(sigma).is_none() {
        return fail("the known covariance is not symmetric and positive definite".into());
    }
    Ok(())
}

/// A decoded mixture as a model in the user's units, the heaviest component first.
fn tell(
    operator: &SketchOperator,
    target: &Target,
    decoded: &Decoded,
    params: &LearnParams,
) -> Result<Model> {
    use crate::density::atom::AtomFamily;
    let spec = operator.spec();
    let working = Working::new(&spec.transform)?;
    let (family, fit, d) = (&decoded.family, &decoded.fit, target.dim());
    let all = fit.normalised_weights();
    let mut order: Vec<usize> = (0..fit.k()).collect();
    order.sort_by(|&a, &b| all[b].total_cmp(&all[a]));
    let atom = |l: usize| &fit.atoms[l * family.n_params()..(l + 1) * family.n_params()];
    let weights: Vec<f64> = order.iter().map(|&l| all[l]).collect();
    let locations = order.iter().map(|&l| working.location(&atom(l)[..d])).collect();
    let content = match params.task {
        Task::Kmeans | Task::Pca | Task::Generate | Task::Classify => {
            Content::Kmeans { centers: locations, weights }
        }
        Task::Kmedians | Task::Stable => Content::Kmedians { centers: locations, weights },
        Task::Gmm => {
            let sigmas: Vec<Vec<f64>> =
                order.iter().map(|&l| family.covariance_of(atom(l), &fit.shared)).collect();
            let diagonal = !matches!(family.covariance(), Shape::Full | Shape::Known(_));
            let covariances = working.covariances(&sigmas, diagonal);
            Content::Gmm { weights, means: locations, covariances }
        }
    };
    let covariance = match params.task {
        Task::Kmeans | Task::Kmedians | Task::Stable | Task::Pca | Task::Generate | Task::Classify => "none",
        Task::Gmm => params.covariance.name(),
    };
    let origin = origin(operator, target.rows, params, covariance, (decoded.misfit, &decoded.info));
    Ok(model(operator, content, fit.k(), origin))
}

/// How a model came about.
fn origin(
    operator: &SketchOperator,
    rows: f64,
    params: &LearnParams,
    covariance: &str,
    (misfit, info): (f64, &DecodeInfo),
) -> Origin {
    Origin {
        fingerprint: operator.fingerprint().into(),
        rows: rows as u64,
        decoder: params.decoder.name().into(),
        covariance: covariance.into(),
        seed: params.seed,
        misfit,
        info: info.clone(),
    }
}

/// What was learned, with the sketch's columns.
fn model(operator: &SketchOperator, content: Content, k: usize, origin: Origin) -> Model {
    let columns = operator.spec().columns.clone();
    Model { format: MODEL_FORMAT, content, k, columns, origin: Some(origin) }
}

#[cfg(test)]
mod tests;
