//! What a user can ask of a recipe.

use crate::design::defaults::{Defaults, FULL_MOMENTS, PILOT_VALUES, ROWS_EACH};
use crate::design::scale::ScaleRule;
use crate::error::remedy::{Parameter, Remedy};
use crate::error::{Error, Result};
use crate::names::{Named, named};
use crate::setters::setters;
use crate::sketch::MomentSet;
use crate::sketch::map::landmarks::LandmarkRule;
use crate::sketch::map::{Feature, FeatureName};
use crate::sketch::spec::reading::Column;
use crate::sketch::spec::{Bounds, Missing};

/// Columns up to which a class has a full covariance: learning one costs about d^6, and at 30 columns
/// minutes.
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
    /// One sketch per class: Gaussians of k components a class, with full covariances up to 16 columns:
    /// p = k d (d + 3) / 2, beyond as for `Gmm`.
    Classify,
    /// Differences between sketches, in any direction and of any width: p = 100 d, and k is not asked.
    Drift,
}

impl Task {
    /// Number of parameters p.
    pub fn parameters(self, k: usize, dim: usize) -> usize {
        match self {
            Task::Kmeans | Task::Kmedians | Task::Pca => k.saturating_mul(dim),
            Task::Stable => k.saturating_mul(2 * dim + 2),
            Task::Classify if dim <= FULL_COLUMNS => k.saturating_mul(dim * (dim + 3) / 2),
            Task::Gmm | Task::Classify => k.saturating_mul(2 * dim + 1),
            Task::Generate | Task::Drift => dim.saturating_mul(100),
        }
    }

    /// Whether centres are wanted, and not the shapes around them.
    pub fn is_clustering(self) -> bool {
        matches!(self, Task::Kmeans | Task::Kmedians)
    }

    /// The map that the task is learned from where no exact moments are kept.
    pub fn map(self) -> FeatureName {
        match self {
            Task::Pca => FeatureName::Quadratic,
            Task::Kmeans
            | Task::Gmm
            | Task::Kmedians
            | Task::Stable
            | Task::Generate
            | Task::Classify
            | Task::Drift => FeatureName::Fourier,
        }
    }
}

named!(Task, "a task", {
    Kmeans => "kmeans": "k centroids",
    Gmm => "gmm": "A mixture of k Gaussians",
    Kmedians => "kmedians": "k centres of least sum of distances, which outliers hardly move",
    Stable => "stable": "A mixture of k alpha-stable laws, for heavy tails",
    Pca => "pca": "k principal components",
    Generate => "generate": "A generative network, which makes rows like those of the data; k is not needed",
    Classify => "classify": "A classifier, from one sketch for each class",
    Drift => "drift": "Differences between sketches; k is not needed",
});

/// Laws that a design can choose: of frequencies, and for the map `nystrom` of landmarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LawChoice {
    /// See [`FrequencyLaw::Gaussian`](crate::FrequencyLaw::Gaussian).
    Gaussian,
    /// See [`FrequencyLaw::FoldedGaussian`](crate::FrequencyLaw::FoldedGaussian).
    FoldedGaussian,
    /// See [`FrequencyLaw::AdaptedRadius`](crate::FrequencyLaw::AdaptedRadius).
    AdaptedRadius,
    /// See [`FrequencyLaw::Weighted`](crate::FrequencyLaw::Weighted).
    Weighted,
    /// See [`FrequencyLaw::PilotMixture`](crate::FrequencyLaw::PilotMixture): its components come from the
    /// pilot.
    PilotMixture,
    /// Folded Gaussian radii at several scales, from the pilot's spread down to its detail: what generative
    /// networks are learned from.
    MultiScale,
    /// Landmarks: see [`LandmarkRule::Rpcholesky`].
    Rpcholesky,
    /// Landmarks: see [`LandmarkRule::Greedy`].
    Greedy,
    /// Landmarks: see [`LandmarkRule::Leverage`].
    Leverage,
    /// Landmarks: see [`LandmarkRule::Uniform`].
    Uniform,
    /// Landmarks: see [`LandmarkRule::Box`].
    Box,
}

named!(LawChoice, "a law", {
    Gaussian => "gaussian",
    FoldedGaussian => "folded-gaussian",
    AdaptedRadius => "adapted-radius",
    Weighted => "weighted",
    PilotMixture => "pilot-mixture",
    MultiScale => "multi-scale",
    Rpcholesky => "rpcholesky",
    Greedy => "greedy",
    Leverage => "leverage",
    Uniform => "uniform",
    Box => "box",
});

impl LawChoice {
    /// The rule by which it chooses landmarks; none for laws of frequencies.
    pub fn landmarks(self) -> Option<LandmarkRule> {
        match self {
            LawChoice::Rpcholesky => Some(LandmarkRule::Rpcholesky),
            LawChoice::Greedy => Some(LandmarkRule::Greedy),
            LawChoice::Leverage => Some(LandmarkRule::Leverage),
            LawChoice::Uniform => Some(LandmarkRule::Uniform),
            LawChoice::Box => Some(LandmarkRule::Box),
            LawChoice::Gaussian
            | LawChoice::FoldedGaussian
            | LawChoice::AdaptedRadius
            | LawChoice::Weighted
            | LawChoice::PilotMixture
            | LawChoice::MultiScale => None,
        }
    }

    /// Whether it is taken from rows, so that there is none without a sample.
    pub fn looks_at_rows(self) -> bool {
        let from_rows = self.landmarks().is_some_and(|rule| rule != LandmarkRule::Box);
        from_rows || matches!(self, LawChoice::PilotMixture | LawChoice::MultiScale)
    }
}

/// How columns are brought to working units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scaling {
    /// `Common` for principal components; for k-means if the spreads are within a factor of 30 of each other,
    /// else `Columns`. The SSE that k-means minimises is a sum over columns, so columns of one unit (pixels,
    /// coordinates) must keep their proportions, and columns of different units must not drown each other.
    #[default]
    Auto,
    /// Each column is divided by its own spread.
    Columns,
    /// All columns are divided by the root mean square of their spreads.
    Common,
}

named!(Scaling, "a scaling of columns", { Auto => "auto", Columns => "columns", Common => "common" });

/// What the user asks of a recipe; what is left open is taken from [`Defaults`].
///
/// ```
/// use compressive::design::{Request, Task};
///
/// let request = Request::new(Task::Gmm, 5).size(500).seed(7);
/// assert_eq!(request.size, Some(500));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Request {
    /// The task that sets the size.
    pub task: Task,
    /// Number of clusters or components.
    pub k: Option<usize>,
    /// Number of frequencies, or of landmarks.
    pub size: Option<usize>,
    /// Law of the frequencies, or rule of the landmarks.
    pub law: Option<LawChoice>,
    /// Rule of the scale, or its value.
    pub scale: Option<ScaleRule>,
    /// The feature.
    pub feature: Option<Feature>,
    /// Dither.
    pub dither: Option<bool>,
    /// Full whitening of the pilot's covariance.
    pub whiten: bool,
    /// How the columns are scaled.
    pub scaling: Scaling,
    /// Structured frequencies; by default where [`structured_wins`](crate::design::structured_wins).
    pub structured: Option<bool>,
    /// The data box, instead of the pilot's range.
    pub bounds: Option<Bounds>,
    /// Whether the recipe remembers an outline of the sample; by default where learners use it.
    pub outline: Option<bool>,
    /// Exact moments beside the features; by default where a sample is looked at and the features allow it
    /// ([`Defaults::keeps_moments`]).
    pub moments: Option<bool>,
    /// What becomes of missing entries; by default they are filled where the sample has some, else refused.
    pub missing: Option<Missing>,
    /// What the columns of the table are, if they are not plain numbers all: the coordinates of a row are
    /// theirs, in order.
    pub readings: Vec<Column>,
    /// How far apart two rows are that differ in one category, in standard deviations of a column.
    pub category_weight: f64,
    /// Seed of the frequencies.
    pub seed: u64,
}

impl Default for Request {
    fn default() -> Self {
        Request {
            task: Task::Kmeans,
            k: None,
            size: None,
            law: None,
            scale: None,
            feature: None,
            dither: None,
            whiten: false,
            scaling: Scaling::Auto,
            structured: None,
            bounds: None,
            outline: None,
            moments: None,
            missing: None,
            readings: Vec::new(),
            category_weight: 1.0,
            seed: 0,
        }
    }
}

setters! { Request {
    /// For this task.
    task: Task,
    /// With this many clusters or components.
    k: impl Into<Option<usize>>,
    /// With this many frequencies or landmarks.
    size: impl Into<Option<usize>>,
    /// With this law.
    law: impl Into<Option<LawChoice>>,
    /// With this rule of the scale, or this value.
    scale: impl Into<Option<ScaleRule>>,
    /// With this feature.
    feature: impl Into<Option<Feature>>,
    /// With or without dither.
    dither: impl Into<Option<bool>>,
    /// With or without whitening.
    whiten: bool,
    /// With this scaling of the columns.
    scaling: Scaling,
    /// With or without structured frequencies.
    structured: impl Into<Option<bool>>,
    /// With this data box.
    bounds: impl Into<Option<Bounds>>,
    /// With or without an outline of the sample.
    outline: impl Into<Option<bool>>,
    /// With or without exact moments.
    moments: impl Into<Option<bool>>,
    /// With this treatment of missing entries.
    missing: impl Into<Option<Missing>>,
    /// With these columns of the table.
    readings: Vec<Column>,
    /// With this distance of rows that differ in one category.
    category_weight: f64,
    /// With this seed.
    seed: u64,
} }

impl Request {
    /// A recipe for k clusters, or components, of a task.
    pub fn new(task: Task, k: usize) -> Request {
        Request { task, k: Some(k), ..Request::default() }
    }

    /// The row that gaps are filled from.
    ///
    /// # Errors
    /// A feature that the task cannot be learned from.
    pub fn defaults(&self) -> Result<Defaults> {
        self.defaults_by(self.task.map())
    }

    /// The same, with this map if none is asked for.
    fn defaults_by(&self, map: FeatureName) -> Result<Defaults> {
        let map = self.feature.as_ref().map_or(map, Feature::name);
        Defaults::of(self.task, map).ok_or_else(|| not_learned(self.task, map))
    }

    /// Rows of the pilot sample for d columns: more than the row of the table says where there are so many
    /// components that each would have few of them.
    ///
    /// # Errors
    /// A feature that the task cannot be learned from.
    pub fn pilot_rows(&self, dim: usize) -> Result<usize> {
        let defaults = self.defaults()?;
        let outline = defaults.outline && self.outline.unwrap_or(true);
        let wanted = ROWS_EACH.saturating_mul(self.k.unwrap_or(defaults.k)).min(PILOT_VALUES / dim.max(1));
        Ok(if outline { defaults.pilot_rows.max(wanted) } else { defaults.pilot_rows })
    }

    /// The request for d columns with its gaps filled; `seen` if a sample is looked at.
    ///
    /// Principal components come from exact moments where all pairs of columns are kept, beside waves; else
    /// from the feature `quadratic`.
    pub(super) fn settled(&self, seen: bool, dim: usize) -> Result<Settled> {
        let pairs = seen && self.moments != Some(false) && dim <= FULL_MOMENTS;
        let waves = self.task == Task::Pca && pairs;
        let defaults = self.defaults_by(if waves { FeatureName::Fourier } else { self.task.map() })?;
        let moments = self.moment_set(seen, dim, &defaults)?;
        let feature = match &self.feature {
            Some(feature) => feature.clone(),
            None => defaults.map.with(None, None, false)?,
        };
        let fail =
            |field, problem: &str, remedy| Err(Error::Spec { field, problem: problem.into() }.advise(remedy));
        if self.k == Some(0) {
            return fail("k", "0 clusters cannot be learned", Remedy::set(Parameter::K, "1 or more"));
        }
        if defaults.map == FeatureName::Quadratic {
            if self.law.is_some_and(|law| law != defaults.law) {
                let problem = "the directions of principal components are Gaussian";
                return fail("law", problem, Remedy::Drop(Parameter::Law));
            }
            if self.scale.is_some() {
                let problem = "the directions of principal components have no scale";
                return fail("scale", problem, Remedy::Drop(Parameter::Scale));
            }
        }
        if !(self.category_weight > 0.0 && self.category_weight.is_finite()) {
            let problem = format!("{} is not a positive number", self.category_weight);
            return Err(
                Error::Spec { field: "readings", problem }.advise(Remedy::set(Parameter::CategoryWeight, 1))
            );
        }
        if self.task == Task::Pca && self.whiten {
            let problem = "whitened columns have no principal components";
            return fail("transform", problem, Remedy::Drop(Parameter::Whiten));
        }
        Ok(Settled {
            task: self.task,
            k: self.k.unwrap_or(defaults.k),
            size: self.size,
            law: self.law.unwrap_or(if seen { defaults.law } else { defaults.unseen_law }),
            scale: self.scale.unwrap_or(ScaleRule::MeanSigma),
            feature,
            dither: self.dither.unwrap_or(defaults.dither),
            whiten: self.whiten,
            scaling: self.scaling,
            structured: self.structured,
            bounds: self.bounds.clone(),
            outline: seen && defaults.outline && self.outline.unwrap_or(true),
            moments,
            missing: self.missing,
            readings: self.readings.clone(),
            category_weight: self.category_weight,
            seed: self.seed,
            defaults,
        })
    }

    /// The exact moments to keep.
    fn moment_set(&self, seen: bool, dim: usize, defaults: &Defaults) -> Result<Option<MomentSet>> {
        let fail = |problem: &str, remedy| {
            Err(Error::Spec { field: "moments", problem: problem.into() }.advise(remedy))
        };
        if self.moments == Some(true) && !seen {
            let problem = "a recipe made without a free look at the rows keeps no exact moments";
            return fail(problem, Remedy::TurnOff(Parameter::Moments));
        }
        let needed = self.task == Task::Pca && defaults.map != FeatureName::Quadratic;
        let kept = self.moments.unwrap_or(seen && defaults.keeps_moments());
        let all = if dim <= FULL_MOMENTS { MomentSet::Full } else { MomentSet::Diagonal };
        let set = kept.then_some(all);
        if needed && set != Some(MomentSet::Full) {
            let problem = format!(
                "principal components beside the feature `{}` need the exact moments of all pairs of columns, which are \
                 kept where a sample is looked at, up to {FULL_MOMENTS} columns",
                defaults.map
            );
            return fail(&problem, Remedy::set(Parameter::Feature, "quadratic"));
        }
        Ok(set)
    }
}

/// A [`Request`] without gaps.
#[derive(Clone, Debug)]
pub(super) struct Settled {
    pub task: Task,
    pub k: usize,
    pub size: Option<usize>,
    pub law: LawChoice,
    pub scale: ScaleRule,
    pub feature: Feature,
    pub dither: bool,
    pub whiten: bool,
    pub scaling: Scaling,
    pub structured: Option<bool>,
    pub bounds: Option<Bounds>,
    pub outline: bool,
    pub moments: Option<MomentSet>,
    pub missing: Option<Missing>,
    pub readings: Vec<Column>,
    pub category_weight: f64,
    pub seed: u64,
    /// The row that the gaps were filled from.
    pub defaults: Defaults,
}

impl Settled {
    /// Number of frequencies or landmarks.
    pub fn size_for(&self, dim: usize) -> usize {
        self.size.unwrap_or_else(|| self.defaults.size.size(self.task.parameters(self.k, dim)))
    }
}

fn not_learned(task: Task, map: FeatureName) -> Error {
    let maps = FeatureName::ALL.iter().filter(|map| Defaults::of(task, **map).is_some());
    let maps: Vec<&str> = maps.map(|map| map.name()).collect();
    let (of_map, remedy) = match map {
        FeatureName::Quadratic => {
            ("`quadratic` is for principal components", Remedy::set(Parameter::Task, "pca"))
        }
        FeatureName::Conv => {
            ("`conv` tells classes of images apart", Remedy::set(Parameter::Task, "classify"))
        }
        _ => ("another feature was asked for", Remedy::Drop(Parameter::Feature)),
    };
    let problem = format!("{task} is learned from {}, not from `{map}`: {of_map}", maps.join(", "));
    Error::Spec { field: "feature", problem }.advise(remedy)
}
