//! One worker's sketches, and how the rows of a chunk find theirs.

use std::collections::HashMap;

use compressive::{RowsRef, Scratch, Sketch};

use crate::chunk::{GroupKeys, RowChunk};
use crate::driver::Shared;
use crate::error::{Error, Result};

/// The sketches of one worker.
pub(crate) struct Worker<'a> {
    shared: &'a Shared<'a>,
    groups: HashMap<String, usize>,
    sketches: Vec<Sketch>,
    scratch: Scratch,
    sorted: Sorted,
    pub rows_read: u64,
    pub rows_skipped: u64,
    /// Missing entries of each column that were filled.
    pub filled: Vec<u64>,
}

/// The rows of a chunk sorted by group.
#[derive(Default)]
struct Sorted {
    /// Group of every row.
    group: Vec<usize>,
    /// End of every group's run in `order`.
    ends: Vec<usize>,
    /// Row indices, group by group.
    order: Vec<usize>,
    singles: Vec<f32>,
    doubles: Vec<f64>,
    weights: Vec<f64>,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(shared: &'a Shared<'a>) -> Self {
        Worker {
            shared,
            groups: HashMap::new(),
            sketches: Vec::new(),
            scratch: Scratch::default(),
            sorted: Sorted::default(),
            rows_read: 0,
            rows_skipped: 0,
            filled: vec![0; shared.columns.len()],
        }
    }

    /// Sums the rows of a chunk, each into the sketch of its group.
    pub(crate) fn sum(&mut self, chunk: &RowChunk) -> Result<()> {
        if chunk.n_rows() > 0 {
            match chunk.group_keys() {
                None => {
                    let group = self.group("")?;
                    self.accumulate(chunk, chunk.rows(), chunk.row_weights(), group, |row| row)?;
                }
                Some(keys) => self.sum_groups(chunk, keys)?,
            }
        }
        if chunk.has_missing {
            self.count_missing(chunk.rows());
        }
        self.rows_read += chunk.n_rows() as u64;
        self.rows_skipped += chunk.n_skipped() as u64;
        Ok(())
    }

    fn count_missing(&mut self, rows: RowsRef<'_>) {
        let (n, filled) = (self.filled.len(), &mut self.filled);
        let mut count = |i: usize, missing: bool| filled[i % n] += u64::from(missing);
        match rows {
            RowsRef::F32(values) => values.iter().enumerate().for_each(|(i, v)| count(i, v.is_nan())),
            RowsRef::F64(values) => values.iter().enumerate().for_each(|(i, v)| count(i, v.is_nan())),
        }
    }

    /// Index of the sketch of a group, made when it is first met.
    fn group(&mut self, key: &str) -> Result<usize> {
        if let Some(&group) = self.groups.get(key) {
            return Ok(group);
        }
        if self.shared.by.is_some() {
            self.shared.admit(key)?;
        }
        self.sketches.push(Sketch::empty(self.shared.operator));
        self.groups.insert(key.to_owned(), self.sketches.len() - 1);
        Ok(self.sketches.len() - 1)
    }

    fn sum_groups(&mut self, chunk: &RowChunk, keys: &GroupKeys) -> Result<()> {
        let mut sorted = std::mem::take(&mut self.sorted);
        let result = self.sum_sorted(chunk, keys, &mut sorted);
        self.sorted = sorted;
        result
    }

    fn sum_sorted(&mut self, chunk: &RowChunk, keys: &GroupKeys, sorted: &mut Sorted) -> Result<()> {
        sorted.group.clear();
        for i in 0..chunk.n_rows() {
            // Neighbours are often in the same group.
            let group = match sorted.group.last() {
                Some(&last) if keys.get(i) == keys.get(i - 1) => last,
                _ => self.group(keys.get(i))?,
            };
            sorted.group.push(group);
        }
        if sorted.group.iter().all(|group| *group == sorted.group[0]) {
            let group = sorted.group[0];
            return self.accumulate(chunk, chunk.rows(), chunk.row_weights(), group, |row| row);
        }
        sorted.sort(self.sketches.len());
        sorted.gather(chunk);
        let dim = chunk.dim();
        let mut start = 0;
        for (group, &end) in sorted.ends.iter().enumerate() {
            if end > start {
                let rows = match chunk.rows() {
                    RowsRef::F32(_) => RowsRef::F32(&sorted.singles[start * dim..end * dim]),
                    RowsRef::F64(_) => RowsRef::F64(&sorted.doubles[start * dim..end * dim]),
                };
                let weights = chunk.row_weights().map(|_| &sorted.weights[start..end]);
                self.accumulate(chunk, rows, weights, group, |row| sorted.order[start + row])?;
            }
            start = end;
        }
        Ok(())
    }

    /// Sums rows into one sketch; `chunk_row` gives the place in the chunk of a row, for errors.
    fn accumulate(
        &mut self,
        chunk: &RowChunk,
        rows: RowsRef<'_>,
        weights: Option<&[f64]>,
        group: usize,
        chunk_row: impl Fn(usize) -> usize,
    ) -> Result<()> {
        let sketch = &mut self.sketches[group];
        let result = self.shared.operator.accumulate(rows, weights, sketch, &mut self.scratch);
        result.map_err(|error| {
            let path = chunk.file().to_string();
            match error {
                compressive::Error::NotFinite { row, column, value } => Error::BadValue {
                    path,
                    row: chunk.row_number(chunk_row(row)),
                    line: None,
                    column: self.shared.columns.get(column).cloned().unwrap_or_default(),
                    text: value.to_string(),
                },
                compressive::Error::BadWeight { row, weight } => Error::BadWeight {
                    path,
                    row: chunk.row_number(chunk_row(row)),
                    line: None,
                    column: self.shared.weights.clone(),
                    text: weight.to_string(),
                },
                other => Error::Core(other),
            }
            .advised()
        })
    }

    /// The sketches by group.
    pub(crate) fn into_sketches(self) -> impl Iterator<Item = (String, Sketch)> {
        let mut sketches: Vec<Option<Sketch>> = self.sketches.into_iter().map(Some).collect();
        let pairs: Vec<(String, Sketch)> = self
            .groups
            .into_iter()
            .filter_map(|(key, group)| sketches[group].take().map(|sketch| (key, sketch)))
            .collect();
        pairs.into_iter()
    }
}

impl Sorted {
    /// Counting sort of the rows by group; stable, so rows keep their order within a group.
    fn sort(&mut self, n_groups: usize) {
        self.ends.clear();
        self.ends.resize(n_groups, 0);
        for &group in &self.group {
            self.ends[group] += 1;
        }
        let mut before = 0;
        for end in &mut self.ends {
            let count = *end;
            *end = before;
            before += count;
        }
        self.order.clear();
        self.order.resize(self.group.len(), 0);
        for (row, &group) in self.group.iter().enumerate() {
            self.order[self.ends[group]] = row;
            self.ends[group] += 1;
        }
    }

    /// Copies the rows in sorted order.
    fn gather(&mut self, chunk: &RowChunk) {
        let dim = chunk.dim();
        self.singles.clear();
        self.doubles.clear();
        self.weights.clear();
        for &row in &self.order {
            let span = row * dim..(row + 1) * dim;
            match chunk.rows() {
                RowsRef::F32(values) => self.singles.extend_from_slice(&values[span]),
                RowsRef::F64(values) => self.doubles.extend_from_slice(&values[span]),
            }
        }
        if let Some(weights) = chunk.row_weights() {
            self.weights.extend(self.order.iter().map(|&row| weights[row]));
        }
    }
}
