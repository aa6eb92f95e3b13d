//! A sketch: exact integer sums of features, the row count and the total weight.
//!
//! `merge` is associative and commutative with the empty sketch as identity, and `subtract` undoes it, all
//! exactly, because the sums are integers (units of $2^{-24}$). What is learned from is the mean,
//! $z = \text{sums} / \text{weight}$.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::sketch::operator::{RowsRef, Scratch, SketchOperator};
use crate::sketch::second::{ExactMoments, SecondSums};
use crate::sketch::spec::SketchSpec;

/// Exact sums of the features of some rows, under one spec.
#[derive(Clone, Debug, PartialEq)]
pub struct Sketch {
    spec: Arc<SketchSpec>,
    fingerprint: Arc<str>,
    sums: Vec<i64>,
    second: Option<SecondSums>,
    rows: u64,
    weight: i64,
    weights: RowWeights,
    /// Missing entries in whose place a centre was summed.
    filled: u64,
}

/// What is remembered of the weights of single rows, subtracted ones included: one row of whole weight w is w
/// rows of one person, whom noise for fewer rows would not hide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowWeights {
    /// Whole numbers, of which this is the largest, or 1; 1 also for files that do not tell.
    Whole {
        /// The largest.
        largest: u32,
    },
    /// At least one was not a whole number.
    Fractional,
}

impl RowWeights {
    /// Rows without weights.
    pub(crate) const ONE: RowWeights = RowWeights::Whole { largest: 1 };

    /// Those of rows.
    pub(crate) fn of(weights: &[f64]) -> RowWeights {
        if weights.iter().any(|w| w.fract() != 0.0) {
            return RowWeights::Fractional;
        }
        RowWeights::Whole { largest: weights.iter().fold(1.0, |most: f64, w| most.max(*w)) as u32 }
    }

    fn join(self, other: RowWeights) -> RowWeights {
        match (self, other) {
            (RowWeights::Whole { largest: a }, RowWeights::Whole { largest: b }) => {
                RowWeights::Whole { largest: a.max(b) }
            }
            _ => RowWeights::Fractional,
        }
    }
}

/// What decoders read from a sketch: the mean features and how noisy they are.
#[derive(Clone, Debug, PartialEq)]
pub struct Moments {
    /// Mean of each feature: the empirical sketch z.
    pub mean: Vec<f64>,
    /// Rows the mean was taken over.
    pub rows: f64,
    /// Standard deviation of noise added on purpose to each entry of the mean; 0 for a plain sketch.
    pub noise_std: f64,
    /// Mean and covariance of the rows, where the sketch keeps them.
    pub(crate) exact: Option<ExactMoments>,
}

impl Moments {
    /// Mean features of so many rows, with the deviation of the noise on each.
    pub fn new(mean: Vec<f64>, rows: f64, noise_std: f64) -> Moments {
        Moments { mean, rows, noise_std, exact: None }
    }
}

impl Sketch {
    /// Features are summed in units of 2^-24.
    pub const GRID_BITS: u32 = compressive_kernels::GRID_BITS;
    /// Rows (or total weight) that fit the sums for certain.
    pub const MAX_ROWS: u64 = (1 << 39) - 1;

    /// The sketch of no rows.
    pub fn empty(operator: &SketchOperator) -> Sketch {
        let (spec, fingerprint) = operator.shared_spec();
        let second = spec.moments.map(|set| SecondSums::empty(set, spec.dim()));
        let sums = vec![0; spec.sketch_len()];
        let weights = RowWeights::ONE;
        Sketch { sums, second, spec, fingerprint, rows: 0, weight: 0, weights, filled: 0 }
    }

    pub(crate) fn from_parts(
        spec: SketchSpec,
        sums: Vec<i64>,
        second: Option<SecondSums>,
        rows: u64,
        weight: i64,
        weights: RowWeights,
    ) -> Sketch {
        debug_assert_eq!(sums.len(), spec.sketch_len());
        Sketch {
            fingerprint: spec.fingerprint().into(),
            spec: Arc::new(spec),
            sums,
            second,
            rows,
            weight,
            weights,
            filled: 0,
        }
    }

    /// Other sums under the same recipe, which is shared.
    pub(crate) fn with_sums(
        &self,
        sums: Vec<i64>,
        second: Option<SecondSums>,
        (rows, weight): (u64, i64),
        weights: RowWeights,
        filled: u64,
    ) -> Sketch {
        debug_assert_eq!(sums.len(), self.sums.len());
        let (spec, fingerprint) = (Arc::clone(&self.spec), Arc::clone(&self.fingerprint));
        Sketch { spec, fingerprint, sums, second, rows, weight, weights, filled }
    }

    /// The recipe the rows were summed with.
    pub fn spec(&self) -> &SketchSpec {
        &self.spec
    }

    /// The recipe's fingerprint.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// The sums, in units of 2^-24.
    pub fn sums(&self) -> &[i64] {
        &self.sums
    }

    /// The sums of the coordinates and their products, if the recipe keeps them.
    pub(crate) fn second_sums(&self) -> Option<&SecondSums> {
        self.second.as_ref()
    }

    /// Mean and covariance in working coordinates; none if the recipe keeps no moments, the sketch is empty,
    /// or rows lie [beyond the limit](SecondSums::beyond). Cost: O(d^2).
    pub(crate) fn exact_moments(&self) -> Option<ExactMoments> {
        self.second.as_ref()?.exact(self.weight)
    }

    /// Number of rows; a row of whole weight w counts w times, of any other weight once.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Total weight, in units of 2^-24; 2^24 a row without weights.
    pub fn weight_units(&self) -> i64 {
        self.weight
    }

    /// Total weight.
    pub fn weight(&self) -> f64 {
        self.weight as f64 / (1u64 << Self::GRID_BITS) as f64
    }

    /// Rows too far from the centre for its moments to be exact; none if the sketch keeps no moments.
    pub fn rows_beyond(&self) -> Option<u64> {
        self.second_sums().map(SecondSums::beyond)
    }

    /// Whether a row had a whole weight above 1: it is as many rows of one person, whom noise for one row
    /// would not hide.
    pub fn holds_heavy_rows(&self) -> bool {
        matches!(self.row_weights(), RowWeights::Whole { largest } if largest > 1)
    }

    /// What weights rows had, now or before they were subtracted.
    pub(crate) fn row_weights(&self) -> RowWeights {
        self.weights
    }

    pub(crate) fn note_weights(&mut self, weights: RowWeights) {
        self.weights = self.weights.join(weights);
    }

    /// Missing entries in whose place the column's centre was summed; an entry of a weighted row counts once.
    pub fn filled(&self) -> u64 {
        self.filled
    }

    pub(crate) fn count_filled(&mut self, entries: u64) {
        self.filled = self.filled.saturating_add(entries);
    }

    pub(crate) fn sums_mut(&mut self) -> &mut [i64] {
        &mut self.sums
    }

    pub(crate) fn second_mut(&mut self) -> Option<&mut SecondSums> {
        self.second.as_mut()
    }

    /// Counts rows about to be summed, or fails if there is no room.
    pub(crate) fn add_rows(&mut self, rows: u64, weight: i64) -> Result<()> {
        let rows = self.rows.checked_add(rows).filter(|&r| r <= Self::MAX_ROWS).ok_or(Error::Full)?;
        let weight = self.weight.checked_add(weight).ok_or(Error::Full)?;
        if self.second.is_some() {
            SecondSums::check_room(weight)?;
        }
        (self.rows, self.weight) = (rows, weight);
        Ok(())
    }

    pub(crate) fn check_spec(&self, spec: &SketchSpec, fingerprint: &str) -> Result<()> {
        if &*self.fingerprint == fingerprint {
            return Ok(());
        }
        Err(Error::incompatible(&self.spec, spec))
    }

    /// Adds the rows of another sketch of the same spec. Cost: one addition an entry.
    pub fn merge(&mut self, other: &Sketch) -> Result<()> {
        self.check_spec(&other.spec, &other.fingerprint)?;
        self.add_rows(other.rows, other.weight)?;
        self.note_weights(other.weights);
        self.count_filled(other.filled);
        // |sum| <= weight for each entry, and the weight has just been seen to fit.
        for (sum, more) in self.sums.iter_mut().zip(&other.sums) {
            *sum += more;
        }
        if let (Some(sums), Some(more)) = (&mut self.second, &other.second) {
            sums.merge(more);
        }
        Ok(())
    }

    /// Takes away the rows of a sketch that is a part of this one; exactly undoes [`merge`](Sketch::merge).
    pub fn subtract(&mut self, other: &Sketch) -> Result<()> {
        self.check_spec(&other.spec, &other.fingerprint)?;
        let weight = self.weight - other.weight;
        let differences = || self.sums.iter().zip(&other.sums).map(|(sum, less)| sum - less);
        // Every feature lies in [-1, 1], so the sums of any set of rows are at most its weight.
        let is_part = other.rows <= self.rows
            && other.filled <= self.filled
            && weight >= 0
            && differences().all(|d| d.unsigned_abs() <= weight.unsigned_abs());
        let not_a_part = Error::NotAPart { ours: self.rows, theirs: other.rows };
        if !is_part {
            return Err(not_a_part);
        }
        if let (Some(sums), Some(less)) = (&self.second, &other.second) {
            self.second = Some(sums.without(less, weight).ok_or(not_a_part)?);
        }
        self.sums = self.sums.iter().zip(&other.sums).map(|(sum, less)| sum - less).collect();
        self.rows -= other.rows;
        self.weight = weight;
        self.filled -= other.filled;
        self.note_weights(other.weights);
        Ok(())
    }

    /// The mean features.
    pub fn moments(&self) -> Result<Moments> {
        if self.weight == 0 {
            return Err(Error::TooFewRows { what: "the mean of a sketch", rows: self.rows, needed: 1 });
        }
        let mean = self.sums.iter().map(|&s| s as f64 / self.weight as f64).collect();
        Ok(Moments { mean, rows: self.rows as f64, noise_std: 0.0, exact: self.exact_moments() })
    }

    /// Modulus $|z_j|$ of each complex entry of the mean, see [`Map::modulus`](crate::Map::modulus).
    pub fn modulus(&self) -> Result<Vec<f64>> {
        Ok(self.spec.map.modulus(&self.moments()?.mean))
    }
}

impl SketchSpec {
    /// The sketch of some rows, row-major. To sketch more than once, build the operator once and
    /// [`accumulate`](SketchOperator::accumulate).
    pub fn sketch<'a>(&self, rows: impl Into<RowsRef<'a>>) -> Result<Sketch> {
        let operator = self.clone().build()?;
        let mut sketch = Sketch::empty(&operator);
        operator.accumulate(rows.into(), None, &mut sketch, &mut Scratch::default())?;
        Ok(sketch)
    }
}

#[cfg(test)]
mod tests;
