//! What a recipe is unless the user says otherwise: one row for each task and map.
//!
//! The program, Python and the collector's clients all ask [`Defaults::of`]; nobody else holds a default of a
//! recipe.

use crate::design::{LawChoice, Scaling, Task};
use crate::error::remedy::{Parameter, Remedy};
use crate::error::{Error, Result};
use crate::names::Named;
use crate::sketch::map::images::ImageShape;
use crate::sketch::map::waves::Wave;
use crate::sketch::map::{Feature, FeatureName};
use crate::sketch::spec::MAX_SIZE;

/// Rows of the pilot sample. The estimate of the scale uses 5000 of them, landmarks and whitening all.
pub const PILOT_ROWS: usize = 10_000;

/// Rows of the pilot sample for each component, where that is more and an outline is made of them: centres of
/// a hundred rows each cost 1% of the sum of squares.
pub(super) const ROWS_EACH: usize = 100;
/// Values of such a sample at most: 64 MB.
pub(super) const PILOT_VALUES: usize = 8_000_000;

/// Share of a privacy budget that goes to the look at the rows, where one budget is given for both: a tenth
/// shows the clusters' width well enough, and what remains for the release is hardly less.
pub const LOOK_SHARE: f64 = 0.1;

/// Columns up to which all pairs of them are summed beside the features, and beyond which each by itself: at
/// 128 columns the pairs take 134 KB, about as much as the features of ten clusters, and they grow with d^2.
pub const FULL_MOMENTS: usize = 128;

impl FeatureName {
    /// The feature of this name, with what some need besides: `table`, one period, for `periodic`; `image`, the
    /// shape of the images, for `conv`; `complex` directions for `quadratic`.
    ///
    /// # Errors
    /// A part that is missing, or that does not belong to this map.
    pub fn with(self, table: Option<Vec<f64>>, image: Option<ImageShape>, complex: bool) -> Result<Feature> {
        let fail =
            |field, problem: &str, remedy| Err(Error::Spec { field, problem: problem.into() }.advise(remedy));
        if table.is_some() && self != FeatureName::Periodic {
            return fail("table", "a table goes with the feature `periodic`", Remedy::Drop(Parameter::Table));
        }
        if image.is_some() && self != FeatureName::Conv {
            return fail("image", "a shape goes with the feature `conv`", Remedy::Drop(Parameter::Image));
        }
        if complex && self != FeatureName::Quadratic {
            return fail(
                "complex",
                "complex directions go with the feature `quadratic`",
                Remedy::Drop(Parameter::Complex),
            );
        }
        Ok(match (self, table, image) {
            (FeatureName::Quadratic, ..) => Feature::Quadratic { complex },
            (FeatureName::Periodic, Some(table), _) => Wave::Periodic { table }.into(),
            (FeatureName::Periodic, None, _) => {
                return fail(
                    "table",
                    "`periodic` needs the values of one period",
                    Remedy::set(Parameter::Table, "VALUES"),
                );
            }
            (FeatureName::Conv, _, Some(shape)) => Feature::Conv(shape),
            (FeatureName::Conv, _, None) => {
                return fail(
                    "image",
                    "`conv` needs the shape of the images",
                    Remedy::set(Parameter::Image, "HEIGHTxWIDTH"),
                );
            }
            (FeatureName::Nystrom, ..) => Feature::Nystrom,
            (FeatureName::Fourier, ..) => Wave::Fourier.into(),
            (FeatureName::OneBit, ..) => Wave::OneBit.into(),
            (FeatureName::Sawtooth, ..) => Wave::Sawtooth.into(),
            (FeatureName::Cosine, ..) => Wave::Cosine.into(),
        })
    }
}

/// How many frequencies, directions or landmarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SizeRule {
    /// Ten for each of the p parameters up to 1000 in all, then five.
    PerParameter,
    /// This many for each parameter.
    Times(usize),
    /// This many, whatever the parameters.
    Fixed(usize),
}

impl SizeRule {
    /// The size for p parameters.
    pub fn size(self, parameters: usize) -> usize {
        let size = match self {
            SizeRule::PerParameter => {
                let generous = parameters.saturating_mul(10).max(20);
                generous.min(parameters.saturating_mul(5).max(1000))
            }
            SizeRule::Times(factor) => parameters.saturating_mul(factor),
            SizeRule::Fixed(size) => size,
        };
        size.min(MAX_SIZE)
    }
}

/// The usual number of frequencies for p parameters.
pub fn default_size(parameters: usize) -> usize {
    SizeRule::PerParameter.size(parameters)
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Defaults {
    /// What is learned.
    pub task: Task,
    /// What is summed.
    pub map: FeatureName,
    /// Clusters, or components of the whole or of a class.
    pub k: usize,
    /// Law of the frequencies, or rule of the landmarks.
    pub law: LawChoice,
    /// The same where no sample is looked at.
    pub unseen_law: LawChoice,
    /// How many of them.
    pub(crate) size: SizeRule,
    /// The scale in estimated widths of the clusters.
    pub width: f64,
    /// The same where the width comes from declared bounds or from a private look.
    pub unseen_width: f64,
    /// Whether frequencies get a random phase.
    pub dither: bool,
    /// Whether frequencies are structured where that is faster.
    pub structured: bool,
    /// How columns are scaled; `Auto` looks at their spreads.
    pub scaling: Scaling,
    /// Whether correlations between the columns are removed, where the sample suffices.
    pub whiten: bool,
    /// Whether the recipe remembers an outline of the sample.
    pub outline: bool,
    /// Rows of the pilot sample.
    pub pilot_rows: usize,
}

/// Directions of a quadratic sketch for each of the k d parameters: twice what suffices. On the decaying
/// spectrum of the lab's `pca` the excess risk is then 0.005%.
const PCA_FACTOR: usize = 4;
/// Frequencies of random convolutional activations.
const IMAGE_SIZE: usize = 1000;
/// Frequencies that tell differences: the p-value hardly gains from more, whatever the columns.
const DRIFT_SIZE: usize = 1000;
/// The scale of k-means in estimated widths of the clusters. Centres need no detail below that width, and
/// lower frequencies see irregular clusters as one: digits and Fashion-MNIST (principal components, m = 5kd)
/// improve with 1.4, and Gaussian clusters are found as surely. Quantised waves keep the estimate: their
/// other harmonics grow at lower frequencies.
const WIDER: f64 = 1.4;
/// The same under the noise of a private release, where lower frequencies, with more signal, do better than
/// without: at n = 1e6, k = d = 10 and m = 2kd every draw succeeds with 2, and one in four fails with 1.4.
const WIDER_UNDER_NOISE: f64 = 2.0;

impl Defaults {
    /// The row of a task and a map; none if the task cannot be learned from the map.
    pub fn of(task: Task, map: FeatureName) -> Option<Defaults> {
        let learned = match map {
            FeatureName::Quadratic => task == Task::Pca,
            FeatureName::Conv => task == Task::Classify,
            FeatureName::Nystrom => task != Task::Generate,
            // Signs are sent in place of rows, so that nobody has the moments of components.
            FeatureName::OneBit => task != Task::Pca,
            FeatureName::Fourier | FeatureName::Sawtooth | FeatureName::Cosine | FeatureName::Periodic => {
                true
            }
        };
        if !learned {
            return None;
        }
        let (law, unseen_law) = match (map, task) {
            (FeatureName::Quadratic | FeatureName::Conv, _) => (LawChoice::Gaussian, LawChoice::Gaussian),
            (FeatureName::Nystrom, _) => (LawChoice::Rpcholesky, LawChoice::Box),
            // Several scales are taken from a sample; without one there is one scale.
            (_, Task::Generate) => (LawChoice::MultiScale, LawChoice::AdaptedRadius),
            // Radii from 0 on: waves of all widths, in any number of columns, structured where that is fast.
            (_, Task::Drift) => (LawChoice::FoldedGaussian, LawChoice::FoldedGaussian),
            _ => (LawChoice::AdaptedRadius, LawChoice::AdaptedRadius),
        };
        let centres = task.is_clustering() && map != FeatureName::Nystrom;
        Some(Defaults {
            task,
            map,
            // A class is one component unless more are asked for.
            k: if task == Task::Classify { 1 } else { 10 },
            law,
            unseen_law,
            size: match map {
                FeatureName::Conv => SizeRule::Fixed(IMAGE_SIZE),
                _ if task == Task::Drift => SizeRule::Fixed(DRIFT_SIZE),
                _ if task == Task::Pca => SizeRule::Times(PCA_FACTOR),
                _ => SizeRule::PerParameter,
            },
            width: if centres && map == FeatureName::Fourier { WIDER } else { 1.0 },
            unseen_width: if centres { WIDER_UNDER_NOISE } else { 1.0 },
            dither: map.dithered(),
            structured: map != FeatureName::Conv,
            scaling: match task {
                Task::Kmeans | Task::Kmedians => Scaling::Auto,
                Task::Gmm | Task::Stable | Task::Generate | Task::Classify | Task::Drift => Scaling::Columns,
                Task::Pca => Scaling::Common,
            },
            whiten: task == Task::Classify && map != FeatureName::Conv,
            outline: matches!(task, Task::Kmeans | Task::Kmedians | Task::Gmm | Task::Drift),
            pilot_rows: PILOT_ROWS,
        })
    }

    /// Whether exact moments are summed beside the features, where a sample is looked at. One-bit features
    /// are sent in place of rows, which then nobody has to sum.
    pub fn keeps_moments(&self) -> bool {
        !matches!(self.map, FeatureName::Quadratic | FeatureName::Conv | FeatureName::OneBit)
    }

    /// Every row.
    pub fn all() -> impl Iterator<Item = Defaults> {
        let maps = |task: Task| FeatureName::ALL.iter().filter_map(move |map| Defaults::of(task, *map));
        Task::ALL.iter().copied().flat_map(maps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_is_learned_from_its_own_map_and_every_map_from_its_own_name() {
        for task in Task::ALL.iter().copied() {
            assert!(Defaults::of(task, task.map()).is_some(), "{task}");
        }
        assert_eq!(Defaults::all().count(), 48);
        let with_parts_of = |map: FeatureName, part: FeatureName| {
            let table = (part == FeatureName::Periodic).then(|| vec![1.0, -1.0]);
            let image =
                (part == FeatureName::Conv).then_some(ImageShape { height: 2, width: 3, channels: 1 });
            map.with(table, image, false)
        };
        for map in FeatureName::ALL.iter().copied() {
            let feature = with_parts_of(map, map).unwrap();
            assert_eq!(feature.name(), map);
        }
        for (map, part) in
            [(FeatureName::Fourier, FeatureName::Periodic), (FeatureName::OneBit, FeatureName::Conv)]
        {
            assert!(with_parts_of(map, part).is_err() && with_parts_of(part, map).is_err());
        }
    }

    #[test]
    fn sizes_follow_the_tasks_parameters() {
        let size =
            |task: Task, k, dim| Defaults::of(task, task.map()).unwrap().size.size(task.parameters(k, dim));
        assert_eq!((size(Task::Kmeans, 3, 2), size(Task::Kmeans, 10, 10)), (60, 1000));
        assert_eq!((size(Task::Gmm, 20, 10), size(Task::Kmeans, 1, 1)), (2100, 20));
        assert_eq!((size(Task::Kmeans, usize::MAX, 1), size(Task::Pca, 2, 10)), (MAX_SIZE, 80));
    }
}
