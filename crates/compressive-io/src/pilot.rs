//! A sample of rows to design a spec from, before the full pass.
//!
//! - Small inputs are read whole, through a reservoir (Vitter's algorithm R): a uniform sample.
//! - Large files that can be read out of order give blocks of rows at places spread over their length: one
//!   place drawn in each of [`POINTS`] equal strata of the total size, so that sorted and drifting data are
//!   covered.
//! - Streams and compressed files give a reservoir over their first [`HEAD_BYTES`]; the bytes of a stream are
//!   kept, so that the full pass still sees every row.
//!
//! The sample is a function of the data and the seed. Rows with bad values are dropped: the full pass reports
//! them. Cost: at most about [`HEAD_BYTES`] of text, or some pages of [`FILES_MAX`] files; memory: the
//! sample.

use std::collections::HashMap;
use std::sync::Arc;

use compressive::{RowsRef, SketchSpec};

use crate::chunk::RowChunk;
use crate::dataset::{Dataset, OpenedFile};
use crate::error::{Error, Result};
use crate::plan::{Plan, Scope};
use crate::settle::Sampled;
use crate::strays;
use crate::table::{Sink, Spread, drain_parts};

/// Inputs up to this size are read whole.
const WHOLE_BYTES: u64 = 8 << 20;
/// Bytes of an input that cannot be read out of order.
const HEAD_BYTES: usize = 8 << 20;
/// Places sampled in total.
const POINTS: usize = 256;
/// Files sampled of a data set of more.
const FILES_MAX: usize = 16;

/// Rows to learn scales and spreads from.
#[derive(Debug, Clone, PartialEq)]
pub struct Pilot {
    /// Row-major values, `n_rows` x `columns.len()`, in the units of the data.
    pub rows: Vec<f64>,
    /// Number of rows.
    pub n_rows: usize,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// The group of each row, if the data are read by groups.
    pub groups: Option<Vec<String>>,
}

impl Pilot {
    /// Puts the recipe's centres in the place of missing entries.
    pub fn fill(&mut self, spec: &SketchSpec) {
        for (value, centre) in self.rows.iter_mut().zip(spec.transform.centre.iter().cycle()) {
            if value.is_nan() {
                *value = *centre;
            }
        }
    }
}

/// The rows counted, and the groups met, by number: a sampled row holds its group's number after its values.
#[derive(Default)]
struct Groups {
    names: Vec<String>,
    numbers: HashMap<String, usize>,
    /// Rows that were read, also those that are not in the sample.
    rows: u64,
}

impl Groups {
    fn number(&mut self, name: &str) -> f64 {
        if let Some(number) = self.numbers.get(name) {
            return *number as f64;
        }
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), self.names.len() - 1);
        (self.names.len() - 1) as f64
    }
}

/// The splitmix64 generator: enough for choosing rows, the same on every platform.
#[derive(Debug, Clone)]
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1).
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in 0..n, by the high word of a product: the bias of 2^-64 n does not matter here.
    fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }
}

/// A uniform sample of at most `capacity` rows of all rows offered.
struct Reservoir {
    rows: Vec<f64>,
    width: usize,
    capacity: usize,
    offered: u64,
    rng: SplitMix64,
}

impl Reservoir {
    fn new(width: usize, capacity: usize, rng: SplitMix64) -> Self {
        Reservoir { rows: Vec::new(), width, capacity, offered: 0, rng }
    }

    fn offer(&mut self, chunk: &RowChunk, groups: &mut Groups) {
        groups.rows += chunk.n_rows() as u64;
        for i in 0..chunk.n_rows() {
            self.offered += 1;
            let held = self.rows.len() / self.width;
            if held < self.capacity {
                push_row(chunk, i, &mut self.rows, groups);
                continue;
            }
            let place = self.rng.below(self.offered) as usize;
            if place < self.capacity {
                let target = &mut self.rows[place * self.width..(place + 1) * self.width];
                copy_row(chunk, i, target, groups);
            }
        }
    }
}

fn push_row(chunk: &RowChunk, i: usize, rows: &mut Vec<f64>, groups: &mut Groups) {
    let start = rows.len();
    rows.resize(start + chunk.dim() + usize::from(chunk.group_keys().is_some()), 0.0);
    copy_row(chunk, i, &mut rows[start..], groups);
}

fn copy_row(chunk: &RowChunk, i: usize, target: &mut [f64], groups: &mut Groups) {
    let (target, number) = target.split_at_mut(chunk.dim());
    if let (Some(keys), Some(number)) = (chunk.group_keys(), number.first_mut()) {
        *number = groups.number(keys.get(i));
    }
    let span = i * chunk.dim()..(i + 1) * chunk.dim();
    match chunk.rows() {
        RowsRef::F32(values) => target.iter_mut().zip(&values[span]).for_each(|(t, v)| *t = f64::from(*v)),
        RowsRef::F64(values) => target.copy_from_slice(&values[span]),
    }
}

impl Dataset {
    /// Samples at most `n_max` rows.
    ///
    /// # Errors
    /// Unreadable inputs, and [`Error::EmptyPilot`] if not one usable row was met.
    pub fn pilot(&mut self, n_max: usize, seed: u64) -> Result<Pilot> {
        let n_max = n_max.max(1);
        let plans: Vec<Arc<Plan>> =
            (0..self.files.len()).map(|i| self.plan_for(i, Scope::Survey)).collect::<Result<_>>()?;
        let mut rng = SplitMix64(seed ^ 0x7069_6c6f_7421);
        let grouped = self.files.iter().any(|file| file.plan.is_grouped());
        let width = plans.first().map_or(0, |plan| plan.dim()) + usize::from(grouped);
        let mut groups = Groups::default();
        let rows = if self.n_bytes().is_some_and(|bytes| bytes <= WHOLE_BYTES) {
            self.pilot_whole(&plans, n_max, rng, width, &mut groups)?
        } else {
            let chosen = choose_files(&self.files, &mut rng);
            let mut rows = Vec::new();
            for (i, share) in chosen {
                let mut rng = SplitMix64(rng.next());
                let mut sample = Sample { width, rows: &mut rows, groups: &mut groups };
                pilot_file((&mut self.files[i], &plans[i]), share, n_max, &mut rng, &mut sample)?;
            }
            rows.truncate(n_max * width);
            rows
        };
        // Numbers that are words more than now and then are texts after all.
        let strays = strays::together(plans.iter().map(|plan| plan.strays.list()));
        let many = strays.into_iter().filter(|stray| !strays::few(stray.count, groups.rows));
        let many: Vec<String> = many.map(|stray| stray.column).collect();
        if !many.is_empty() && self.read_as_text(&many)? {
            return self.pilot(n_max, seed);
        }
        if rows.is_empty() {
            let path = self.paths().next().unwrap_or_default().to_owned();
            return Err(Error::EmptyPilot { path }.advised());
        }
        let name = |row: &[f64]| groups.names[row[width - 1] as usize].clone();
        let names = grouped.then(|| rows.chunks_exact(width).map(name).collect());
        let rows = match grouped {
            true => rows.chunks_exact(width).flat_map(|row| row[..width - 1].iter().copied()).collect(),
            false => rows,
        };
        let sampled = Sampled { rows, groups: names };
        let Sampled { rows, groups } = self.settle_texts(sampled)?;
        let columns = self.columns().to_vec();
        Ok(Pilot { n_rows: rows.len() / columns.len(), rows, columns, groups })
    }

    fn pilot_whole(
        &mut self,
        plans: &[Arc<Plan>],
        n_max: usize,
        rng: SplitMix64,
        width: usize,
        groups: &mut Groups,
    ) -> Result<Vec<f64>> {
        let mut reservoir = Reservoir::new(width, n_max, rng);
        for (file, plan) in self.files.iter_mut().zip(plans) {
            let mut parts = file.opened.table.parts(plan)?;
            drain_parts(&mut *parts, &mut |chunk| reservoir.offer(chunk, groups))?;
        }
        Ok(reservoir.rows)
    }
}

/// The files to sample with their share of the sample, proportional to their size; a stream, whose size is
/// unknown, counts as much as the average file.
fn choose_files(files: &[OpenedFile], rng: &mut SplitMix64) -> Vec<(usize, f64)> {
    let known: Vec<u64> = files.iter().filter_map(|file| file.opened.n_bytes).collect();
    let average = if known.is_empty() { 1.0 } else { known.iter().sum::<u64>() as f64 / known.len() as f64 };
    let size = |i: usize| {
        if !files[i].opened.has_rows {
            return 0.0;
        }
        files[i].opened.n_bytes.map_or(average, |bytes| bytes as f64)
    };
    let mut chosen: Vec<usize> = (0..files.len()).filter(|&i| size(i) > 0.0).collect();
    if chosen.len() > FILES_MAX {
        // One file from each of FILES_MAX runs of neighbours.
        let n = chosen.len();
        let pick = |run: usize, rng: &mut SplitMix64| {
            let (start, end) = (run * n / FILES_MAX, (run + 1) * n / FILES_MAX);
            chosen[start + rng.below((end - start) as u64) as usize]
        };
        chosen = (0..FILES_MAX).map(|run| pick(run, rng)).collect();
    }
    let total: f64 = chosen.iter().map(|&i| size(i)).sum();
    chosen.into_iter().map(|i| (i, size(i) / total.max(1.0))).collect()
}

/// Where sampled rows go.
struct Sample<'a> {
    /// Values and group number of a row.
    width: usize,
    rows: &'a mut Vec<f64>,
    groups: &'a mut Groups,
}

/// Appends this file's share of the sample.
fn pilot_file(
    (file, plan): (&mut OpenedFile, &Arc<Plan>),
    share: f64,
    n_max: usize,
    rng: &mut SplitMix64,
    sample: &mut Sample<'_>,
) -> Result<()> {
    let Sample { width, rows, groups } = sample;
    let wanted = ((share * n_max as f64).ceil() as usize).max(1);
    let points = ((share * POINTS as f64).ceil() as usize).clamp(1, wanted);
    let fractions = (0..points).map(|i| (i as f64 + rng.unit()) / points as f64).collect();
    let spread = Spread { fractions, rows_per_point: wanted.div_ceil(points) };
    let start = rows.len();
    let sink: Sink<'_> = &mut |chunk: &RowChunk| {
        groups.rows += chunk.n_rows() as u64;
        for i in 0..chunk.n_rows() {
            push_row(chunk, i, rows, groups);
        }
    };
    if file.opened.table.sample(plan, &spread, sink)? {
        thin(rows, start, *width, wanted, rng);
        return Ok(());
    }
    let mut reservoir = Reservoir::new(*width, wanted, rng.clone());
    let mut parts = file.opened.table.head(plan, HEAD_BYTES)?;
    drain_parts(&mut *parts, &mut |chunk| reservoir.offer(chunk, groups))?;
    rows.append(&mut reservoir.rows);
    Ok(())
}

/// Keeps `wanted` of the rows from `start` on: blocks are rounded up, and the excess must not come from one
/// end.
fn thin(rows: &mut Vec<f64>, start: usize, dim: usize, wanted: usize, rng: &mut SplitMix64) {
    let held = (rows.len() - start) / dim;
    let mut kept = 0;
    for i in 0..held {
        // Selection sampling: row i is kept with the odds that make exactly `wanted` of `held`.
        let needed = wanted.saturating_sub(kept);
        if rng.below((held - i) as u64) < needed as u64 {
            rows.copy_within(start + i * dim..start + (i + 1) * dim, start + kept * dim);
            kept += 1;
        }
    }
    rows.truncate(start + kept * dim);
}
