//! Landmarks of Nystrom sketches, as a spec holds them: how they were chosen, and the kernel at them.

mod kernel_map;

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

pub use kernel_map::KernelMap;

/// How landmarks are chosen: the rules are in the module `design::landmark_rules`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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

/// The rules that choose among rows, with their names.
pub(crate) const NAMES: [(&str, LandmarkRule); 4] = [
    ("uniform", LandmarkRule::Uniform),
    ("leverage", LandmarkRule::Leverage),
    ("greedy", LandmarkRule::Greedy),
    ("rpcholesky", LandmarkRule::Rpcholesky),
];

impl LandmarkRule {
    /// The stable name used in files and on the command line.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, rule)| *rule == self).map_or("box", |(name, _)| name)
    }
}

impl FromStr for LandmarkRule {
    type Err = String;

    /// A rule that chooses among rows, by its name.
    fn from_str(name: &str) -> std::result::Result<LandmarkRule, String> {
        NAMES
            .iter()
            .find(|(n, _)| *n == name)
            .map(|(_, rule)| *rule)
            .ok_or_else(|| format!("the rules for landmarks are {}", NAMES.map(|(name, _)| name).join(", ")))
    }
}

/// A number rounded to single precision, within the range of working coordinates.
pub(crate) fn single(x: f64) -> f64 {
    f64::from(x.clamp(-super::operator::WORKING_LIMIT, super::operator::WORKING_LIMIT) as f32)
}

/// Checks the landmarks of a spec: `size` rows of `dim` numbers in single precision, in range.
pub(crate) fn validate(points: &[Vec<f64>], dim: usize, size: usize) -> Result<()> {
    let fail = |problem: String| Err(Error::Spec { field: "law", problem });
    if points.len() != size || points.iter().any(|y| y.len() != dim) {
        return fail(format!("the landmarks must be {size} rows of {dim} numbers"));
    }
    match points.iter().flatten().find(|y| !(single(**y) == **y)) {
        Some(y) => fail(format!(
            "landmarks must be numbers of single precision of at most {}; {y} is not",
            super::operator::WORKING_LIMIT
        )),
        None => Ok(()),
    }
}
