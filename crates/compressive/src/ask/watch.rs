//! A stream of sketches, one after the other: has the distribution changed, and when?
//!
//! 1. The sketch of the latest rows is a block. Of more than `PER_SIZE` blocks of one length the oldest two
//!    become one, so that after n sketches some $2 \log_2 n$ blocks are held, the shorter the younger.
//! 2. Every border between two blocks is a possible change: the rows before it, back to the start or the last
//!    alarm, are compared with those after it as in [`compare`](crate::ask::compare). Sums of blocks are all
//!    that takes, and the law of the statistic is the same for all borders.
//! 3. An alarm is raised where the smallest p-value is below $1 / (L\,T)$ with L borders and a run length of
//!    T sketches, which without a change pass from one alarm to the next on average, or more: at each of them
//!    an alarm has a probability of at most $1/T$.
//! 4. The change is at the border of the smallest p-value. After an alarm the rows after it are the new
//!    start.
//!
//! No window is chosen and no reference is given. Cost: $O(m)$ a border and $O(m + \min(m, 500)^2)$ a sketch,
//! memory $O(m \log n)$. Differs from \[KG25\], whose dyadic blocks these are: several blocks of a length, so
//! that young borders are finer, and p-values of the scaled chi-square in place of one threshold.
//!
//! ```
//! use compressive::ask::watch::Watch;
//! use compressive::{FrequencyLaw, SketchSpec};
//!
//! let spec = SketchSpec::new(["x"], FrequencyLaw::FoldedGaussian, 1.0, 100);
//! let mut watch = Watch::new(spec.clone().build()?, 1000.0)?;
//! let hour = |h: u32| -> Vec<f64> {
//!     (0..200).map(|i| (f64::from(200 * h + i) * 0.618).fract() + if h < 12 { 0.0 } else { 0.5 }).collect()
//! };
//! let alarms: Vec<_> = (0..24)
//!     .filter_map(|h| spec.sketch(&hour(h)[..]).and_then(|s| watch.push(s)).transpose())
//!     .collect::<Result<_, _>>()?;
//! assert_eq!(alarms.len(), 1);
//! assert_eq!(alarms[0].change, 12);
//! # Ok::<(), compressive::Error>(())
//! ```

use crate::ask::compare::{Null, pair_radii, wave_of};
use crate::error::remedy::Remedy;
use crate::error::{Error, Result};
use crate::sketch::Sketch;
use crate::sketch::operator::SketchOperator;

/// Blocks of one length that are kept apart.
const PER_SIZE: usize = 4;
/// Rows on either side of a border that is looked at: fewer have no mean that is nearly normal.
const LEAST_ROWS: u64 = 20;
/// A border is as likely the change as the best one if its p-value is within this factor.
const AS_LIKELY: f64 = 100.0;

/// Sketches of neighbouring times.
#[derive(Clone, Debug)]
struct Block {
    sketch: Sketch,
    /// Sketches in it.
    length: u64,
}

/// A change that was seen.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Alarm {
    /// Sketches seen when it was raised, from the start of the watch.
    pub seen: u64,
    /// Sketches before the change: the first after it has this number, counted from 0.
    pub change: u64,
    /// Least and greatest number of sketches before the change that are about as likely.
    pub between: (u64, u64),
    /// Smallest p-value of the borders.
    pub p_value: f64,
    /// All rows from the last alarm to the change.
    pub before: Sketch,
    /// All rows since.
    pub after: Sketch,
}

/// The state of a watch.
pub struct Watch {
    operator: SketchOperator,
    radii: Vec<(f64, f64)>,
    run_length: f64,
    /// Oldest first.
    blocks: Vec<Block>,
    /// Sketches before the oldest block.
    start: u64,
}

impl Watch {
    /// A watch for sketches of a recipe, with so many of them between two false alarms.
    ///
    /// # Errors
    /// [`Error::Task`] for a run length that is not above 1, and for features that are not periodic.
    pub fn new(operator: SketchOperator, run_length: f64) -> Result<Watch> {
        if !(run_length > 1.0 && run_length.is_finite()) {
            let problem = format!("{run_length} is no run length: give a number of sketches above 1");
            return Err(Error::Task { field: "run_length", problem });
        }
        if wave_of(&operator)?.is_none() {
            let problem = "a stream is watched by periodic features, not by kernel values".into();
            return Err(Error::Task { field: "feature", problem }.advise(Remedy::of_waves()));
        }
        Ok(Watch { radii: pair_radii(&operator), operator, run_length, blocks: Vec::new(), start: 0 })
    }

    /// Sketches seen so far.
    pub fn seen(&self) -> u64 {
        self.start + self.blocks.iter().map(|b| b.length).sum::<u64>()
    }

    /// Sketches held.
    pub fn n_blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Takes the next sketch; steps 1 to 4.
    ///
    /// # Errors
    /// [`Error::Incompatible`] for a sketch of another recipe, [`Error::TooFewRows`] for an empty one.
    pub fn push(&mut self, sketch: Sketch) -> Result<Option<Alarm>> {
        sketch.check_spec(self.operator.spec(), self.operator.fingerprint())?;
        if sketch.rows() == 0 {
            return Err(Error::TooFewRows { what: "a step of a watch", rows: 0, needed: 1 });
        }
        self.blocks.push(Block { sketch, length: 1 });
        self.join()?;
        let p_values = self.p_values()?;
        let best = p_values.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1));
        match best {
            Some((at, &p)) if p < 1.0 / (self.run_length * p_values.len() as f64) => {
                self.alarm(at, &p_values).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Step 1.
    fn join(&mut self) -> Result<()> {
        let mut length = 1;
        loop {
            let same: Vec<usize> =
                (0..self.blocks.len()).filter(|&i| self.blocks[i].length == length).collect();
            if same.len() <= PER_SIZE {
                return Ok(());
            }
            // Lengths fall from the oldest to the youngest, so that the oldest two are neighbours.
            let younger = self.blocks.remove(same[1]);
            let older = &mut self.blocks[same[0]];
            older.sketch.merge(&younger.sketch)?;
            older.length += younger.length;
            length *= 2;
        }
    }

    /// Step 2: the p-value of each border.
    fn p_values(&self) -> Result<Vec<f64>> {
        let n = self.blocks.len();
        let Some(wave) = wave_of(&self.operator)? else { return Ok(Vec::new()) };
        if n < 2 {
            return Ok(Vec::new());
        }
        let (map, m) = (&self.operator.spec().map, self.operator.spec().size as f64);
        let units = (1u64 << Sketch::GRID_BITS) as f64;
        let totals = |blocks: &[Block]| {
            let mut sums = vec![0i64; self.operator.spec().sketch_len()];
            for block in blocks {
                sums.iter_mut().zip(block.sketch.sums()).for_each(|(s, x)| *s += x);
            }
            (sums, blocks.iter().map(|b| b.sketch.weight()).sum::<f64>())
        };
        let mean = |sums: &[i64], weight: f64| {
            map.centred(&sums.iter().map(|s| *s as f64 / units / weight).collect::<Vec<f64>>())
        };
        let (all, weight) = totals(&self.blocks);
        let null = Null::new(&self.operator, wave, &self.radii, &mean(&all, weight), weight);
        let (mut sums, mut before) = (vec![0i64; all.len()], 0.0);
        let mut rows = 0;
        let all_rows: u64 = self.blocks.iter().map(|b| b.sketch.rows()).sum();
        let mut found = Vec::with_capacity(n - 1);
        for block in &self.blocks[..n - 1] {
            sums.iter_mut().zip(block.sketch.sums()).for_each(|(s, x)| *s += x);
            (before, rows) = (before + block.sketch.weight(), rows + block.sketch.rows());
            let after = weight - before;
            if rows.min(all_rows - rows) < LEAST_ROWS || !(before.min(after) > 0.0) {
                found.push(1.0);
                continue;
            }
            let rest: Vec<i64> = all.iter().zip(&sums).map(|(a, s)| a - s).collect();
            let (x, y) = (mean(&sums, before), mean(&rest, after));
            let square = x.iter().zip(&y).map(|(x, y)| (x - y).powi(2)).sum::<f64>() / m;
            found.push(null.p_value(square, 1.0 / before + 1.0 / after));
        }
        Ok(found)
    }

    /// Steps 3 and 4, for a change after the block at `at`.
    fn alarm(&mut self, at: usize, p_values: &[f64]) -> Result<Alarm> {
        let seen = self.seen();
        let end = |block: usize| self.start + self.blocks[..=block].iter().map(|b| b.length).sum::<u64>();
        let likely = |i: &usize| p_values[*i] <= p_values[at] * AS_LIKELY;
        // The change may be anywhere within the blocks beside the borders that are as likely.
        let first = (0..p_values.len()).find(likely).unwrap_or(at);
        let last = (0..p_values.len()).rev().find(likely).unwrap_or(at);
        let between = (end(first) - self.blocks[first].length + 1, end(last + 1) - 1);
        let change = end(at);
        let sum = |blocks: &[Block]| -> Result<Sketch> {
            let mut sum = Sketch::empty(&self.operator);
            blocks.iter().try_for_each(|b| sum.merge(&b.sketch))?;
            Ok(sum)
        };
        let (before, after) = (sum(&self.blocks[..=at])?, sum(&self.blocks[at + 1..])?);
        let between = (between.0.min(change), between.1.max(change));
        self.start = change;
        self.blocks.drain(..=at);
        Ok(Alarm { seen, change, between, p_value: p_values[at], before, after })
    }
}

#[cfg(test)]
mod tests;
