//! Landmarks of Nystrom sketches, as a spec holds them: how they were chosen, and the kernel at them.

mod kernel_map;

use super::fail;
use crate::error::Result;
use crate::names::named;
use crate::sketch::operator::WORKING_LIMIT;
use crate::sketch::spec::SketchSpec;

pub use kernel_map::KernelMap;

/// Points at which kernel values are taken (\[CCDR22\]); the spec's `scale` is the width of the Gaussian
/// kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Landmarks {
    /// How they were chosen.
    pub rule: LandmarkRule,
    /// m rows of d working coordinates in single precision.
    pub points: Vec<Vec<f64>>,
}

/// How landmarks are chosen: the rules are in the module `design::landmark_rules`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LandmarkRule {
    /// Uniformly among the pilot's rows.
    Uniform,
    /// By approximate leverage scores.
    Leverage,
    /// The row that the others represent worst.
    Greedy,
    /// At random, rows that the others represent badly more often.
    Rpcholesky,
    /// Uniformly in the data box, without looking at any row.
    Box,
}

named!(LandmarkRule, "a rule for landmarks", {
    Uniform => "uniform",
    Leverage => "leverage",
    Greedy => "greedy",
    Rpcholesky => "rpcholesky",
    Box => "box",
});

/// A number rounded to single precision, within the range of working coordinates.
pub(crate) fn single(x: f64) -> f64 {
    f64::from(x.clamp(-WORKING_LIMIT, WORKING_LIMIT) as f32)
}

impl Landmarks {
    /// Checks that there are m rows of d numbers in single precision, in range, and none of the data in a
    /// public recipe.
    pub(super) fn validate(&self, spec: &SketchSpec) -> Result<()> {
        let (dim, size, points) = (spec.dim(), spec.size, &self.points);
        if spec.source.is_some() && self.rule != LandmarkRule::Box {
            return fail(
                "source",
                "its landmarks are rows of the data, so it was not made without an unpaid look at them"
                    .into(),
            );
        }
        if points.len() != size || points.iter().any(|y| y.len() != dim) {
            return fail("law", format!("the landmarks must be {size} rows of {dim} numbers"));
        }
        match points.iter().flatten().find(|y| !(single(**y) == **y)) {
            Some(y) => fail(
                "law",
                format!(
                    "landmarks must be numbers of single precision of at most {WORKING_LIMIT}; {y} is not"
                ),
            ),
            None => Ok(()),
        }
    }
}
