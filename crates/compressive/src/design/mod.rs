//! From a pilot sample to a spec: what `compressive design` does.
//!
//! 1. Robust centre (median) and spread (interquartile range / 1.349) of each column, or one spread for all
//!    ([`Scaling`]); optional whitening of the result, by default for classification.
//! 2. The sketch size from the task's number of parameters p ([`default_size`]; p = k d for k-means, k (2d + 1)
//!    for a diagonal mixture).
//! 3. The scale in working coordinates ([`crate::design::scale`]), with a floor for clusters that are far
//!    narrower than their distances, or for the mixture law a coarse clustering of the pilot.
//! 4. The data box: the pilot's range.
//! 5. For the feature `nystrom`, the landmarks (the module `landmark_rules`).
//! 6. Exact moments beside the features ([`Defaults::keeps_moments`]).
//!
//! What is not asked for is taken from one table, [`Defaults`]. For the feature `quadratic` there is no scale,
//! and the box, to which rows are clipped, is twice as wide as the pilot's range, so that rows beyond the
//! pilot's are not cut.
//!
//! Cost: O(n d log n) for the medians plus a few small sketches of the pilot.

mod defaults;
mod landmark_rules;
mod pilot_cells;
mod pixels;
mod private;
mod reason;
mod request;
pub mod scale;
mod scales;
mod transform;

use crate::design::request::Settled;
use crate::design::scale::{ScaleRule, estimate, spread_rows};
use crate::design::transform::{filled, to_working, transform};
use crate::error::{Error, Result};
use crate::num::lloyd::{Points, nearest, plus_plus};
use crate::num::math::{exp, ln};
use crate::num::random::{Purpose, Stream};
use crate::privacy::PrivateSketch;
use crate::sketch::frequency::{Component, Covariance, FrequencyLaw, RadiusLaw};
use crate::sketch::map::landmarks::Landmarks;
use crate::sketch::map::{Feature, FeatureName, LawOrLandmarks, Map};
use crate::sketch::spec::{Bounds, Missing, SketchSpec, Transform, reading};

pub use defaults::{Defaults, FULL_MOMENTS, LOOK_SHARE, PILOT_ROWS, default_size};
pub use private::look_spec;
pub use reason::Reason;
pub(crate) use request::FULL_COLUMNS;
pub use request::{LawChoice, Request, Scaling, Task};

/// What a recipe is chosen by.
#[derive(Clone, Copy, Debug)]
pub enum Look<'a> {
    /// A pilot sample, in the user's units.
    Sample {
        /// Row-major, finite, or NaN for a missing entry.
        rows: &'a [f64],
        /// Names of the columns.
        columns: &'a [String],
    },
    /// The columns' names and the declared box alone: no row is looked at.
    Bounds(&'a [String]),
    /// The declared box, and a private sketch of all rows made by [`look_spec`].
    Private(&'a PrivateSketch),
}

/// A recipe, and why it is what it is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Designed {
    /// The recipe.
    pub spec: SketchSpec,
    /// What to tell the user.
    pub reasons: Vec<Reason>,
}

/// Chooses a recipe: for [`Look::Sample`] the steps at the head of this module, else those of [`look_spec`].
///
/// # Errors
/// Requests that contradict each other or the task, constant columns, too few rows, a box that is missing or
/// empty.
pub fn design(look: Look<'_>, request: &Request) -> Result<Designed> {
    let mut designed = match look {
        Look::Sample { rows, columns } => on_sample(rows, columns, &request.settled(true, columns.len())?),
        Look::Bounds(columns) => private::design(columns, &request.settled(false, columns.len())?, None),
        Look::Private(sketch) => {
            let columns = &sketch.spec().columns;
            private::design(columns, &request.settled(false, columns.len())?, Some(sketch))
        }
    }?;
    designed.spec.readings = reading::written(&request.readings);
    designed.spec.validate()?;
    Ok(designed)
}

/// True where structured frequencies are measured to be faster (`benches/kernels.rs` of the kernels crate).
///
/// A dense phase costs about d + 25 units of work, a structured one 66, and structured ones come in blocks of
/// the padded width. With m well above that width they win from about 45 columns on.
pub fn structured_wins(dim: usize, size: usize) -> bool {
    let width = compressive_kernels::Projection::padded_dim(dim);
    size.div_ceil(width).saturating_mul(width).saturating_mul(66) < size.saturating_mul(dim + 25)
}

fn on_sample(rows: &[f64], columns: &[String], params: &Settled) -> Result<Designed> {
    let dim = columns.len();
    if dim == 0 {
        return Err(Error::NoColumns);
    }
    let n_rows = rows.len() / dim;
    if n_rows < 2 {
        return Err(Error::TooFewRows { what: "designing a sketch", rows: n_rows as u64, needed: 2 });
    }
    check_components(params, dim)?;
    let mut reasons = vec![Reason::Sample { rows: n_rows }];
    if params.size.is_none() && params.defaults.map != FeatureName::Conv {
        let parameters = params.task.parameters(params.k, dim);
        reasons.push(Reason::Size { task: params.task, k: params.k, parameters });
    }
    if let Feature::Conv(shape) = params.feature {
        if let Some(at) = rows.iter().position(|x| x.is_nan()) {
            return Err(Error::NotFinite { row: at / dim, column: at % dim, value: rows[at] });
        }
        return Ok(Designed { spec: pixels::design(rows, columns, shape, params)?, reasons });
    }
    let (transform, range) = transform(rows, columns, params, &mut reasons)?;
    let gaps = rows.iter().any(|x| x.is_nan());
    let rows = &filled(rows, &transform.centre)[..];
    let params = &Settled { missing: params.missing.or(gaps.then_some(Missing::Fill)), ..params.clone() };
    let working = to_working(rows, &transform);
    let quadratic = params.defaults.map == FeatureName::Quadratic;
    let bounds = params.bounds.clone().unwrap_or_else(|| if quadratic { widened(&range) } else { range });
    if quadratic {
        return Ok(Designed { spec: finish(columns, transform, bounds, None, 1.0, params)?, reasons });
    }
    let law = match params.law {
        LawChoice::PilotMixture => Some(pilot_mixture(&working, dim, params.k, params.seed).into()),
        LawChoice::MultiScale => Some(scales::multi_scale(&working, dim, params.scale, params.seed)?.into()),
        _ => None,
    };
    let scale = match (&law, params.scale) {
        (None, _) => law_scale(params, &transform, &working, &mut reasons)?,
        (Some(_), ScaleRule::Fixed(value)) if params.law != LawChoice::MultiScale => value,
        (Some(_), _) => 1.0,
    };
    let law = match params.law.landmarks() {
        Some(rule) => {
            let size = params.size.unwrap_or(params.size_for(dim).min(n_rows.div_ceil(2)));
            let points = landmark_rules::choose(rule, &working, dim, scale, size, params.seed)?;
            Some(LawOrLandmarks::Landmarks(Landmarks { rule, points }))
        }
        None => law,
    };
    let spec = finish(columns, transform, bounds, law, scale, params)?;
    let spec = if params.outline { pilot_cells::with_outline(spec, rows, &working, params)? } else { spec };
    Ok(Designed { spec, reasons })
}

/// Refuses more principal components than columns.
fn check_components(params: &Settled, dim: usize) -> Result<()> {
    if params.task == Task::Pca && params.k > dim {
        let problem = format!(
            "{dim} columns have fewer than {} principal components; ask for {dim} or fewer",
            params.k
        );
        return Err(Error::Spec { field: "k", problem });
    }
    Ok(())
}

/// The scale of a law of one width, for the rows in working coordinates.
fn law_scale(
    params: &Settled,
    transform: &Transform,
    working: &[f64],
    reasons: &mut Vec<Reason>,
) -> Result<f64> {
    let dim = transform.centre.len();
    let mean_sigma = params.scale == ScaleRule::MeanSigma;
    if let ScaleRule::Fixed(value) = params.scale {
        return Ok(value);
    }
    if mean_sigma
        && transform.whiten.is_some()
        && params.task == Task::Classify
        && params.feature != Feature::Nystrom
    {
        return Ok(class_width(dim));
    }
    let estimated = estimate(params.scale, working, dim, params.seed)?;
    let width = held(params, dim, estimated, reasons);
    let factor = if mean_sigma { params.defaults.width } else { 1.0 };
    Ok(if params.feature == Feature::Nystrom { kernel_width(dim) * width } else { factor * width })
}

/// An estimated width of the clusters, or [`least_width`] where that is far more.
fn held(params: &Settled, dim: usize, estimated: f64, reasons: &mut Vec<Reason>) -> f64 {
    let searched = matches!(params.task, Task::Kmeans | Task::Kmedians | Task::Gmm | Task::Stable);
    let least = least_width(params.k, dim);
    if !searched || estimated >= TOO_FINE * least {
        return estimated;
    }
    reasons.push(Reason::WidthHeld { estimated, held: least });
    least
}

/// Part of [`least_width`] below which an estimate is not used: above it searches still succeed, and waves as
/// fine as the clusters see more of their shapes.
const TOO_FINE: f64 = 0.5;

/// The least width of clusters, in spreads of the columns, that a scale is made for:
/// $\min(1,\, 2 k^{-1/d}) / 10$.
///
/// k centres in d columns are some $k^{-1/d}$ spreads apart, and frequencies that resolve far less than that
/// turn whole circles between two of them: the objective has more local minima than a search can visit.
/// Nothing is lost by waves longer than the clusters are wide, whose widths are found as well. Measured on 3
/// clusters in 5 columns with centres of N(0, 25): widths of 0.1 to 0.001 of the user's units, 0.02 to 0.0002
/// spreads, have a relative SSE of 400 to 10^7 at their own scale and of 40 to 10^7 at 0.05; at 0.1 and above
/// of 1.000, for means and mixtures alike.
fn least_width(k: usize, dim: usize) -> f64 {
    let apart = exp(-ln(k.max(1) as f64) / dim as f64);
    f64::min(1.0, 2.0 * apart) / 10.0
}

/// The box of twice the width about the same middle.
fn widened(range: &Bounds) -> Bounds {
    let half = |(low, high): (&f64, &f64)| 0.5 * (high - low);
    let halves: Vec<f64> = range.low.iter().zip(&range.high).map(half).collect();
    Bounds {
        low: range.low.iter().zip(&halves).map(|(x, h)| x - h).collect(),
        high: range.high.iter().zip(&halves).map(|(x, h)| x + h).collect(),
    }
}

/// The spec for a transform, a box and a scale; `at` only if it is not one of the isotropic laws.
fn finish(
    columns: &[String],
    transform: Transform,
    bounds: Bounds,
    at: Option<LawOrLandmarks>,
    scale: f64,
    params: &Settled,
) -> Result<SketchSpec> {
    let dim = columns.len();
    let size = match &at {
        Some(LawOrLandmarks::Landmarks(Landmarks { points, .. })) => points.len(),
        _ => params.size_for(dim),
    };
    let isotropic = at.is_none();
    let isotropic_law = || match params.law {
        LawChoice::Gaussian => FrequencyLaw::Gaussian,
        LawChoice::FoldedGaussian => FrequencyLaw::FoldedGaussian,
        LawChoice::Weighted => FrequencyLaw::Weighted,
        LawChoice::AdaptedRadius
        | LawChoice::PilotMixture
        | LawChoice::MultiScale
        | LawChoice::Rpcholesky
        | LawChoice::Greedy
        | LawChoice::Leverage
        | LawChoice::Uniform
        | LawChoice::Box => FrequencyLaw::AdaptedRadius,
    };
    let structured =
        params.structured.unwrap_or(params.defaults.structured && isotropic && structured_wins(dim, size));
    let at = at.unwrap_or_else(|| isotropic_law().into());
    let map = Map::at(params.feature.clone(), at, params.dither, structured)?;
    let spec = SketchSpec {
        transform,
        bounds: Some(bounds),
        seed: params.seed,
        moments: params.moments,
        missing: params.missing.unwrap_or_default(),
        ..SketchSpec::new(columns.iter().cloned(), map, scale, size)
    };
    spec.validate()?;
    Ok(spec)
}

/// Width of the kernel of a Nystrom sketch, in estimated widths of the clusters: $1.2 \sqrt d$, so that two
/// rows of one cluster have a kernel value near $e^{-1/1.44}$ in any dimension.
///
/// Measured on few draws: at k = d = 10, m = 2kd, both of two draws find the clusters at every width from 1.4
/// to 6, and mixtures lose least near 4; on one mixture in three columns widths of 0.6 to 1.8 give the right
/// means and 4 does not.
pub(crate) fn kernel_width(dim: usize) -> f64 {
    1.2 * (dim as f64).sqrt()
}

/// The scale for whitened classes. The whole table has variance one in every direction, and most of it lies
/// within classes, so the width of a class is known without looking for clusters, which outliers and parts of
/// classes would make too narrow: on breast cancer (30 columns) the estimate, 0.7, loses a class in two
/// splits of five, and 1 to 2.5 in none. Beyond the columns of full covariances only the means are wanted,
/// which lower frequencies tell best.
fn class_width(dim: usize) -> f64 {
    if dim <= FULL_COLUMNS { 1.0 } else { 2.0 }
}

/// A coarse clustering of the pilot (k-means++ start, ten Lloyd rounds) whose within-cluster variances shape
/// a mixture law.
///
/// Variances are drawn towards the pooled one as if it had been seen ten more times, so that small clusters
/// stay regular.
fn pilot_mixture(rows: &[f64], dim: usize, k: usize, seed: u64) -> FrequencyLaw {
    let rows = &spread_rows(rows, dim, 5000, seed)[..];
    let n_rows = rows.len() / dim;
    let k = k.clamp(1, (n_rows / 20).max(1));
    let mut centres =
        plus_plus(Points::equal(rows, dim), k, &mut Stream::new(seed, Purpose::PilotMixture, 0));
    let mut labels = vec![0; n_rows];
    for _ in 0..10 {
        for (label, row) in labels.iter_mut().zip(rows.chunks_exact(dim)) {
            *label = nearest(row, &centres, dim).0;
        }
        let (counts, sums, _) = cluster_sums(rows, dim, &labels, &centres);
        for (l, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0.0) {
            for c in 0..dim {
                centres[l * dim + c] = sums[l * dim + c] / count;
            }
        }
    }
    let (counts, _, squares) = cluster_sums(rows, dim, &labels, &centres);
    const PRIOR: f64 = 10.0;
    let pooled: Vec<f64> = (0..dim)
        .map(|c| ((0..k).map(|l| squares[l * dim + c]).sum::<f64>() / n_rows as f64).max(1e-6))
        .collect();
    let components = (0..k).filter(|&l| counts[l] > 0.0).map(|l| {
        let variance = |c: usize| (squares[l * dim + c] + PRIOR * pooled[c]) / (counts[l] + PRIOR);
        let covariance = Covariance::Diagonal((0..dim).map(variance).collect());
        Component { weight: counts[l] / n_rows as f64, covariance }
    });
    FrequencyLaw::PilotMixture { radius: RadiusLaw::AdaptedRadius, components: components.collect() }
}

/// Rows of each cluster, their sums, and the sums of their squared distances to its centre, by column.
fn cluster_sums(
    rows: &[f64],
    dim: usize,
    labels: &[usize],
    centres: &[f64],
) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let mut counts = vec![0.0; centres.len() / dim];
    let (mut sums, mut squares) = (vec![0.0; centres.len()], vec![0.0; centres.len()]);
    for (&l, row) in labels.iter().zip(rows.chunks_exact(dim)) {
        counts[l] += 1.0;
        for (c, x) in row.iter().enumerate() {
            sums[l * dim + c] += x;
            squares[l * dim + c] += (x - centres[l * dim + c]).powi(2);
        }
    }
    (counts, sums, squares)
}

#[cfg(test)]
mod tests;
