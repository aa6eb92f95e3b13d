//! From a pilot sample to a spec: what `compressive design` does.
//!
//! 1. Robust centre (median) and spread (interquartile range / 1.349) of each column, or one spread for all ([`Scaling`]); optional whitening of the result, by default for classification.
//! 2. The sketch size from the task's number of parameters p: 10 p, but no more than the larger of 1000 and 5 p
//!    (p = k d for k-means, k (2d + 1) for a diagonal mixture).
//! 3. The scale in working coordinates ([`crate::design::scale`]), or for the mixture law a coarse clustering of the pilot.
//! 4. The data box: the pilot's range.
//! 5. For the feature `nystrom`, the landmarks (the module `landmark_rules`).
//!
//! For principal components the feature is quadratic, the columns share one spread unless asked otherwise, the size is 4 k d, there is no scale, and the box, to which rows are
//! clipped, is twice as wide as the pilot's range, so that rows beyond the pilot's are not cut.
//!
//! Cost: O(n d log n) for the medians plus a few small sketches of the pilot.

mod images;
mod landmark_rules;
pub mod private;
pub mod scale;
mod scales;

use std::str::FromStr;

use crate::design::scale::{ScaleRule, estimate, spread_rows};
use crate::error::remedy::{Parameter, Remedy};
use crate::error::{Error, Result};
use crate::names::named;
use crate::num::linear::cholesky;
use crate::num::lloyd::{Points, nearest, plus_plus};
use crate::num::random::{Purpose, Stream};
use crate::sketch::feature::Feature;
use crate::sketch::frequency::{Component, Covariance, FrequencyLaw, RadiusLaw};
use crate::sketch::landmarks::LandmarkRule;
use crate::sketch::spec::{Bounds, MAX_SIZE, SketchSpec, Transform};

/// Columns up to which a class has a full covariance: learning one costs about d^6, and at 30 columns minutes.
pub(crate) const FULL_COLUMNS: usize = 16;

/// What the sketch is meant for; it sets the size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// k centroids: p = k d.
    Kmeans,
    /// A mixture of k diagonal Gaussians: p = k (2d + 1).
    Gmm,
    /// k principal components: p = k d.
    Pca,
    /// k centres of least sum of distances: p = k d.
    Kmedians,
    /// A mixture of k alpha-stable laws: p = k (2d + 2).
    Stable,
    /// A generative network, whatever its number of weights: p = 100 d, and k is not asked.
    Generate,
    /// One sketch per class: Gaussians of k components a class, with full covariances up to 16 columns: p = k d (d + 3) / 2, beyond as for `Gmm`.
    Classify,
}

impl Task {
    /// Number of parameters p.
    pub fn parameters(self, k: usize, dim: usize) -> usize {
        match self {
            Task::Kmeans | Task::Kmedians | Task::Pca => k.saturating_mul(dim),
            Task::Stable => k.saturating_mul(2 * dim + 2),
            Task::Classify if dim <= FULL_COLUMNS => k.saturating_mul(dim * (dim + 3) / 2),
            Task::Gmm | Task::Classify => k.saturating_mul(2 * dim + 1),
            Task::Generate => dim.saturating_mul(100),
        }
    }

    /// Whether centres are wanted, and not the shapes around them.
    pub fn is_clustering(self) -> bool {
        matches!(self, Task::Kmeans | Task::Kmedians)
    }

    /// The feature that the task learns from.
    pub fn feature(self) -> Feature {
        match self {
            Task::Kmeans | Task::Gmm | Task::Kmedians | Task::Stable | Task::Generate | Task::Classify => {
                Feature::Fourier
            }
            Task::Pca => Feature::Quadratic { complex: false },
        }
    }
}

named!(Task, "a task", {
    Kmeans => "kmeans": "k centroids",
    Gmm => "gmm": "A mixture of k Gaussians",
    Kmedians => "kmedians": "k centres of least sum of distances, which outliers hardly move",
    Stable => "stable": "A mixture of k alpha-stable laws, for heavy tails",
    Pca => "pca": "k principal components",
    Generate => "generate": "A generative network, which makes rows like those of the data; k is not asked",
    Classify => "classify": "A classifier, from one sketch for each class",
});

/// Laws that a design can choose; `pilot-mixture` takes its components from the pilot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LawChoice {
    /// See [`FrequencyLaw::Gaussian`].
    Gaussian,
    /// See [`FrequencyLaw::FoldedGaussian`].
    FoldedGaussian,
    /// See [`FrequencyLaw::AdaptedRadius`].
    AdaptedRadius,
    /// See [`FrequencyLaw::Weighted`].
    Weighted,
    /// See [`FrequencyLaw::PilotMixture`].
    PilotMixture,
    /// See [`FrequencyLaw::Landmarks`]: landmarks of the feature `nystrom`, chosen by this rule.
    Landmarks(LandmarkRule),
    /// Folded Gaussian radii at several scales, from the pilot's spread down to its detail: what generative networks are learned from.
    MultiScale,
}

impl FromStr for LawChoice {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<LawChoice, String> {
        Ok(match name {
            "gaussian" => LawChoice::Gaussian,
            "folded-gaussian" => LawChoice::FoldedGaussian,
            "adapted-radius" => LawChoice::AdaptedRadius,
            "weighted" => LawChoice::Weighted,
            "pilot-mixture" => LawChoice::PilotMixture,
            "multi-scale" => LawChoice::MultiScale,
            _ => match name.parse() {
                Ok(rule) => LawChoice::Landmarks(rule),
                Err(_) => {
                    return Err(
                        "the laws are gaussian, folded-gaussian, adapted-radius, weighted, pilot-mixture, multi-scale, and for nystrom rpcholesky, greedy, leverage, uniform".into(),
                    );
                }
            },
        })
    }
}

/// How columns are brought to working units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scaling {
    /// `Common` for principal components; for k-means if the spreads are within a factor of 30 of each other, else `Columns`. The SSE that k-means minimises is a sum over columns, so columns of one unit (pixels,
    /// coordinates) must keep their proportions, and columns of different units must not drown each other.
    #[default]
    Auto,
    /// Each column is divided by its own spread.
    Columns,
    /// All columns are divided by the root mean square of their spreads.
    Common,
}

named!(Scaling, "a scaling of columns", { Auto => "auto", Columns => "columns", Common => "common" });

/// What the user asks of a design; the defaults suit a first look at any table.
#[derive(Clone, Debug)]
pub struct DesignParams {
    /// The task that sets the size.
    pub task: Task,
    /// Number of clusters or components.
    pub k: usize,
    /// Number of frequencies, instead of the task's default.
    pub size: Option<usize>,
    /// Law of the frequencies.
    pub law: LawChoice,
    /// Rule of the scale.
    pub scale: ScaleRule,
    /// The feature; see [`Task::feature`].
    pub feature: Feature,
    /// Dither; by default on for every feature but `fourier`, whose two blocks do not need it.
    pub dither: Option<bool>,
    /// Full whitening of the pilot's covariance.
    pub whiten: bool,
    /// How the columns are scaled.
    pub scaling: Scaling,
    /// Structured frequencies; by default where [`structured_wins`].
    pub structured: Option<bool>,
    /// The data box, instead of the pilot's range.
    pub bounds: Option<Bounds>,
    /// Seed of the frequencies.
    pub seed: u64,
}

impl Default for DesignParams {
    fn default() -> Self {
        DesignParams {
            task: Task::Kmeans,
            k: 10,
            size: None,
            law: LawChoice::AdaptedRadius,
            scale: ScaleRule::MeanSigma,
            feature: Feature::Fourier,
            dither: None,
            whiten: false,
            scaling: Scaling::Auto,
            structured: None,
            bounds: None,
            seed: 0,
        }
    }
}

/// True where structured frequencies are measured to be faster (`benches/kernels.rs` of the kernels crate).
///
/// A dense phase costs about d + 25 units of work, a structured one 66, and structured ones come in blocks of the padded width.
/// With m well above that width they win from about 45 columns on.
pub fn structured_wins(dim: usize, size: usize) -> bool {
    let width = compressive_kernels::Projection::padded_dim(dim);
    size.div_ceil(width).saturating_mul(width).saturating_mul(66) < size.saturating_mul(dim + 25)
}

/// Number of frequencies for p parameters: 10 p up to 1000, then 5 p.
pub fn default_size(parameters: usize) -> usize {
    let generous = parameters.saturating_mul(10).max(20);
    generous.min(parameters.saturating_mul(5).max(1000)).min(MAX_SIZE)
}

/// Makes a spec from a pilot sample: `rows` in the user's units, row-major, finite.
pub fn design(rows: &[f64], columns: &[String], params: &DesignParams) -> Result<SketchSpec> {
    let dim = columns.len();
    if dim == 0 {
        return Err(Error::NoColumns);
    }
    let n_rows = rows.len() / dim;
    if n_rows < 2 {
        return Err(Error::TooFewRows { what: "designing a sketch", rows: n_rows as u64, needed: 2 });
    }
    check_task(params, dim)?;
    if params.k == 0 {
        return Err(Error::Spec { field: "k", problem: "0 clusters cannot be learned".into() }
            .advise(Remedy::set(Parameter::K, "1 or more")));
    }
    if let Some(shape) = params.feature.image() {
        return images::design(rows, columns, shape, params);
    }
    let (transform, range) = transform(rows, columns, params)?;
    let working = to_working(rows, &transform);
    let bounds = params.bounds.clone().unwrap_or_else(|| match params.task {
        Task::Kmeans | Task::Gmm | Task::Kmedians | Task::Stable | Task::Generate | Task::Classify => range,
        Task::Pca => widened(&range),
    });
    if params.task == Task::Pca {
        return finish(columns, transform, bounds, None, 1.0, params);
    }
    let law = match params.law {
        LawChoice::PilotMixture => Some(pilot_mixture(&working, dim, params.k, params.seed)),
        LawChoice::MultiScale => Some(scales::multi_scale(&working, dim, params.scale, params.seed)?),
        _ => None,
    };
    let scale = match (&law, params.scale) {
        (None, ScaleRule::MeanSigma)
            if transform.whiten.is_some() && params.task == Task::Classify && !params.feature.is_kernel() =>
        {
            class_width(dim)
        }
        (None, rule) => scale_factor(params, dim, estimate(rule, &working, dim, params.seed)?),
        (Some(_), ScaleRule::Fixed(value)) if params.law != LawChoice::MultiScale => value,
        (Some(_), _) => 1.0,
    };
    let law = match params.law {
        LawChoice::Landmarks(sampler) => {
            let size = size_of(params, dim).min(params.size.unwrap_or(n_rows.div_ceil(2)));
            let points = landmark_rules::choose(sampler, &working, dim, scale, size, params.seed)?;
            Some(FrequencyLaw::Landmarks { sampler, points })
        }
        _ => law,
    };
    finish(columns, transform, bounds, law, scale, params)
}

/// Refuses features that the task cannot be learned from, and numbers of components that there cannot be.
pub(crate) fn check_task(params: &DesignParams, dim: usize) -> Result<()> {
    let fail = |field, problem: String| Err(Error::Spec { field, problem });
    let advise = |field, problem: String, remedy| Err(Error::Spec { field, problem }.advise(remedy));
    let quadratic = params.feature.is_quadratic();
    if params.feature.image().is_some() && params.task != Task::Classify {
        let problem = "`conv` tells classes of images apart".into();
        return advise("feature", problem, Remedy::set(Parameter::Task, "classify"));
    }
    match params.task {
        Task::Kmeans | Task::Gmm | Task::Kmedians | Task::Stable | Task::Generate | Task::Classify
            if quadratic =>
        {
            advise(
                "feature",
                format!(
                    "`quadratic` is for principal components; {} is learned from periodic features such as fourier",
                    params.task.name()
                ),
                Remedy::set(Parameter::Task, "pca"),
            )
        }
        Task::Pca if !quadratic => advise(
            "feature",
            format!(
                "principal components are learned from `quadratic`, not from `{}`",
                params.feature.name()
            ),
            Remedy::Drop(Parameter::Feature),
        ),
        Task::Generate if params.feature.is_kernel() => advise(
            "feature",
            "a generative network is learned from periodic features such as fourier, not from `nystrom`"
                .into(),
            Remedy::Drop(Parameter::Feature),
        ),
        Task::Pca if params.whiten => advise(
            "transform",
            "whitened columns have no principal components".into(),
            Remedy::Drop(Parameter::Whiten),
        ),
        Task::Pca if params.k > dim => fail(
            "k",
            format!("{dim} columns have no {} principal components; ask for {dim} or fewer", params.k),
        ),
        _ => Ok(()),
    }
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

/// Number of frequencies or landmarks asked for, or the task's default.
pub(crate) fn size_of(params: &DesignParams, dim: usize) -> usize {
    let parameters = params.task.parameters(params.k, dim);
    params.size.unwrap_or_else(|| match params.task {
        Task::Pca => parameters.saturating_mul(PCA_FACTOR).min(MAX_SIZE),
        _ if params.feature.image().is_some() => images::SIZE,
        _ => default_size(parameters),
    })
}

/// The law's scale for an estimated width of the clusters; a given scale stays as it is.
fn scale_factor(params: &DesignParams, dim: usize, width: f64) -> f64 {
    match params.scale {
        ScaleRule::Fixed(value) => value,
        _ if params.feature.is_kernel() => kernel_width(dim) * width,
        _ if widen(params) => WIDER * width,
        _ => width,
    }
}

/// The spec for a transform, a box and a scale; `law` only if it is not one of the isotropic ones.
pub(crate) fn finish(
    columns: &[String],
    transform: Transform,
    bounds: Bounds,
    law: Option<FrequencyLaw>,
    scale: f64,
    params: &DesignParams,
) -> Result<SketchSpec> {
    let dim = columns.len();
    check_task(params, dim)?;
    let size = match &law {
        Some(FrequencyLaw::Landmarks { points, .. }) => points.len(),
        _ => size_of(params, dim),
    };
    let isotropic = law.is_none();
    let law = law.unwrap_or(match params.law {
        _ if params.task == Task::Pca => FrequencyLaw::Gaussian,
        LawChoice::Gaussian => FrequencyLaw::Gaussian,
        LawChoice::FoldedGaussian => FrequencyLaw::FoldedGaussian,
        LawChoice::Weighted => FrequencyLaw::Weighted,
        LawChoice::AdaptedRadius
        | LawChoice::PilotMixture
        | LawChoice::MultiScale
        | LawChoice::Landmarks(_) => FrequencyLaw::AdaptedRadius,
    });
    let spec = SketchSpec {
        transform,
        bounds: Some(bounds),
        law,
        structured: params.structured.unwrap_or(isotropic && structured_wins(dim, size)),
        dither: params.dither.unwrap_or(
            params.feature != Feature::Fourier
                && !params.feature.is_quadratic()
                && !params.feature.is_kernel(),
        ),
        feature: params.feature.clone(),
        seed: params.seed,
        ..SketchSpec::new(columns.iter().cloned(), FrequencyLaw::Gaussian, scale, size)
    };
    spec.validate()?;
    Ok(spec)
}

/// Directions of a quadratic sketch for each of the k d parameters: twice what suffices. On the decaying spectrum of the lab's `pca` the excess risk is then 0.005%.
const PCA_FACTOR: usize = 4;

/// The scale of k-means relative to the estimated width of the clusters. Centres need no detail below that width, and lower frequencies see irregular clusters as one:
/// digits and Fashion-MNIST (principal components, m = 5kd) improve with 1.4, and Gaussian clusters are found as surely.
const WIDER: f64 = 1.4;

/// Width of the kernel of a Nystrom sketch, in estimated widths of the clusters: $1.2 \sqrt d$, so that two rows of one cluster have a kernel value near $e^{-1/1.44}$ in any dimension.
///
/// Measured on few draws: at k = d = 10, m = 2kd, both of two draws find the clusters at every width from 1.4 to 6, and mixtures lose least near 4; on one mixture in three columns widths of 0.6 to 1.8 give
/// the right means and 4 does not.
pub(crate) fn kernel_width(dim: usize) -> f64 {
    1.2 * (dim as f64).sqrt()
}

/// The scale for whitened classes. The whole table has variance one in every direction, and most of it lies within classes, so the width of a class is known without looking for clusters, which
/// outliers and parts of classes would make too narrow: on breast cancer (30 columns) the estimate, 0.7, loses a class in two splits of five, and 1 to 2.5 in none. Beyond the columns of full
/// covariances only the means are wanted, which lower frequencies tell best.
fn class_width(dim: usize) -> f64 {
    if dim <= FULL_COLUMNS { 1.0 } else { 2.0 }
}

/// Quantised features keep the estimate: their other harmonics grow at lower frequencies.
fn widen(params: &DesignParams) -> bool {
    params.task.is_clustering() && params.feature == Feature::Fourier && params.scale == ScaleRule::MeanSigma
}

/// Robust centre and spread of every column, and the columns' ranges.
fn transform(rows: &[f64], columns: &[String], params: &DesignParams) -> Result<(Transform, Bounds)> {
    let dim = columns.len();
    let mut transform = Transform::identity(dim);
    let mut range = Bounds { low: vec![0.0; dim], high: vec![0.0; dim] };
    for (c, name) in columns.iter().enumerate() {
        let mut column: Vec<f64> = rows.iter().skip(c).step_by(dim).copied().collect();
        column.sort_by(f64::total_cmp);
        let (low, high) = (column[0], column[column.len() - 1]);
        if low == high {
            let exclude = Remedy::say("leave it out", Remedy::set(Parameter::Exclude, name));
            let rows = column.len();
            return Err(Error::ConstantColumn { column: name.clone(), value: low, rows }.advise(exclude));
        }
        let interquartile = quantile(&column, 0.75) - quantile(&column, 0.25);
        let spread = if interquartile > 0.0 { interquartile / 1.349 } else { deviation(&column) };
        transform.centre[c] = quantile(&column, 0.5);
        transform.spread[c] = spread;
        (range.low[c], range.high[c]) = (low, high);
    }
    if common_scaling(params, &transform.spread) {
        let mean_square = transform.spread.iter().map(|s| s * s).sum::<f64>() / dim as f64;
        transform.spread.fill(mean_square.sqrt());
    }
    if params.whiten || whitened_by_default(params, dim, rows.len() / dim) {
        transform.whiten = Some(whitening(&to_working(rows, &transform), dim)?);
    }
    Ok((transform, range))
}

/// Rows of the pilot for each column that suffice to whiten by.
const WHITENING_ROWS: usize = 5;

/// Classes of correlated columns are told apart by directions in which the whole table hardly varies, so classification whitens unless a scaling is asked for.
fn whitened_by_default(params: &DesignParams, dim: usize, n_rows: usize) -> bool {
    params.task == Task::Classify && params.scaling == Scaling::Auto && n_rows >= WHITENING_ROWS * dim
}

/// Largest ratio of two columns' spreads at which they are taken to share a unit.
const ONE_UNIT: f64 = 30.0;

/// Whether all columns are divided by one number.
pub(crate) fn common_scaling(params: &DesignParams, spread: &[f64]) -> bool {
    match params.scaling {
        Scaling::Common => true,
        Scaling::Columns => false,
        Scaling::Auto => {
            let largest = spread.iter().copied().fold(0.0, f64::max);
            let smallest = spread.iter().copied().fold(f64::INFINITY, f64::min);
            match params.task {
                Task::Kmeans | Task::Kmedians => !params.whiten && largest <= ONE_UNIT * smallest,
                Task::Gmm | Task::Stable | Task::Generate | Task::Classify => false,
                Task::Pca => true,
            }
        }
    }
}

fn quantile(sorted: &[f64], p: f64) -> f64 {
    let position = p * (sorted.len() - 1) as f64;
    let i = position as usize;
    let next = sorted[(i + 1).min(sorted.len() - 1)];
    sorted[i] + (position - i as f64) * (next - sorted[i])
}

fn deviation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt()
}

fn to_working(rows: &[f64], transform: &Transform) -> Vec<f64> {
    rows.chunks_exact(transform.centre.len()).flat_map(|row| transform.apply(row)).collect()
}

/// $L^{-1}$ with $L L^\top$ the covariance of the rows (plus a millionth of its mean variance on the diagonal).
fn whitening(rows: &[f64], dim: usize) -> Result<Vec<Vec<f64>>> {
    let n = (rows.len() / dim) as f64;
    let mut mean = vec![0.0; dim];
    for row in rows.chunks_exact(dim) {
        mean.iter_mut().zip(row).for_each(|(m, x)| *m += x / n);
    }
    let mut covariance = vec![vec![0.0; dim]; dim];
    for row in rows.chunks_exact(dim) {
        for i in 0..dim {
            for j in 0..=i {
                covariance[i][j] += (row[i] - mean[i]) * (row[j] - mean[j]) / n;
            }
        }
    }
    let ridge = 1e-6 * (0..dim).map(|i| covariance[i][i]).sum::<f64>() / dim as f64;
    (0..dim).for_each(|i| covariance[i][i] += ridge);
    let lower = cholesky(&covariance).ok_or_else(|| {
        let problem = "the pilot's covariance is singular, so it cannot be whitened".into();
        Error::Spec { field: "transform", problem }
            .advise(Remedy::Drop(Parameter::Whiten))
            .advise(Remedy::say("leave dependent columns out", Remedy::set(Parameter::Exclude, "COLUMN")))
    })?;
    let mut inverse: Vec<Vec<f64>> = Vec::with_capacity(dim);
    for (i, row) in lower.iter().enumerate() {
        let entry = |column: usize| {
            let unit = if i == column { 1.0 } else { 0.0 };
            let dot: f64 = inverse.iter().zip(row).map(|(above, l)| l * above[column]).sum();
            (unit - dot) / row[i]
        };
        let entries = (0..dim).map(entry).collect();
        inverse.push(entries);
    }
    Ok(inverse)
}

/// A coarse clustering of the pilot (k-means++ start, ten Lloyd rounds) whose within-cluster variances shape a mixture law.
///
/// Variances are drawn towards the pooled one as if it had been seen ten more times, so that small clusters stay regular.
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
