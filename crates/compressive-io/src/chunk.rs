//! Rows on their way from a reader to the kernel.
//!
//! A [`RowChunk`] is filled by a [`RowReader`] and emptied by the driver, again and again, without
//! allocating: row-major values in f32 (where the file has f32) or f64, optional weights, optional group
//! keys, and enough to name the file and the row of every value in an error.

use std::sync::Arc;

use compressive::{Missing, RowsRef};

use crate::error::Result;

/// A source of rows that hands out parts in order; parts are read by different threads at the same time.
///
/// Implementations keep `next_part` cheap: it runs under a lock. Whatever can be decoded without knowing the
/// parts before it belongs into the [`RowReader`].
pub trait DataSource: Send {
    /// Names of the feature columns, in the order of the values in a row.
    fn columns(&self) -> &[String];

    /// Name of the column that gives the groups, if rows carry group keys.
    fn by(&self) -> Option<&str> {
        None
    }

    /// Name of the column that gives the weights, if rows carry weights.
    fn weights(&self) -> Option<&str> {
        None
    }

    /// The next part, or `None` at the end.
    ///
    /// # Errors
    /// Whatever makes the rest of the input unreadable.
    fn next_part(&mut self) -> Result<Option<Box<dyn RowReader + Send>>>;

    /// Bytes of input handed out so far, for a progress bar.
    fn bytes_done(&self) -> u64 {
        0
    }
}

/// Reader of one part of the input.
pub trait RowReader {
    /// Replaces the content of `out` by the next rows; `false` at the end of the part.
    ///
    /// A chunk may hold no row when all its rows were left out as bad.
    ///
    /// # Errors
    /// The first bad row of the part, unless bad rows are left out.
    fn next_rows(&mut self, out: &mut RowChunk) -> Result<bool>;
}

/// A reusable buffer of rows.
#[derive(Debug)]
pub struct RowChunk {
    file: Arc<str>,
    dim: usize,
    n_rows: usize,
    first_row: u64,
    single: bool,
    pub(crate) singles: Vec<f32>,
    pub(crate) doubles: Vec<f64>,
    pub(crate) weights: Vec<f64>,
    pub(crate) keys: GroupKeys,
    has_weights: bool,
    has_keys: bool,
    /// For every row left out: how many kept rows of this chunk precede it. Ascending.
    gaps: Vec<usize>,
    /// Whether a value may be NaN, for a missing entry.
    pub(crate) has_missing: bool,
}

impl Default for RowChunk {
    fn default() -> Self {
        RowChunk {
            file: Arc::from(""),
            dim: 0,
            n_rows: 0,
            first_row: 1,
            single: false,
            singles: Vec::new(),
            doubles: Vec::new(),
            weights: Vec::new(),
            keys: GroupKeys::default(),
            has_weights: false,
            has_keys: false,
            gaps: Vec::new(),
            has_missing: false,
        }
    }
}

/// What a value in a row is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot {
    /// The coordinate with this index.
    Feature(usize),
    /// The column with this index among those that give coordinates.
    Entry(usize),
    /// The row's weight.
    Weight,
    /// The row's group.
    Group,
}

impl RowChunk {
    /// Empties the chunk for rows of `dim` columns, the first being data row `first_row` (from 1) of `file`.
    pub fn reset(&mut self, file: &Arc<str>, first_row: u64, dim: usize) {
        if !Arc::ptr_eq(&self.file, file) {
            self.file = Arc::clone(file);
        }
        self.dim = dim;
        self.n_rows = 0;
        self.first_row = first_row;
        self.single = false;
        self.singles.clear();
        self.doubles.clear();
        self.weights.clear();
        self.keys.clear();
        self.gaps.clear();
        self.has_missing = false;
        self.has_weights = false;
        self.has_keys = false;
    }

    /// Adds one row. All rows of a chunk have a weight or none has; likewise for group keys.
    pub fn push_row(&mut self, values: &[f64], weight: Option<f64>, key: Option<&str>) {
        assert_eq!(values.len(), self.dim, "a row has one value per column");
        self.doubles.extend_from_slice(values);
        self.has_weights |= weight.is_some();
        self.weights.extend(weight);
        if let Some(key) = key {
            self.has_keys = true;
            self.keys.push(key);
        }
        self.n_rows += 1;
    }

    /// Notes that the next data row is left out as bad.
    pub fn skip_row(&mut self) {
        self.gaps.push(self.n_rows);
    }

    /// The rows' values, row-major.
    pub fn rows(&self) -> RowsRef<'_> {
        if self.single { RowsRef::F32(&self.singles) } else { RowsRef::F64(&self.doubles) }
    }

    /// One weight per row, if the source has weights.
    pub fn row_weights(&self) -> Option<&[f64]> {
        self.has_weights.then_some(&self.weights[..])
    }

    /// One group key per row, if the source has groups.
    pub fn group_keys(&self) -> Option<&GroupKeys> {
        self.has_keys.then_some(&self.keys)
    }

    /// Number of rows held.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Number of columns.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Number of rows left out as bad while this chunk was filled.
    pub fn n_skipped(&self) -> usize {
        self.gaps.len()
    }

    /// The file these rows come from.
    pub fn file(&self) -> &Arc<str> {
        &self.file
    }

    /// Place, from 0, of the row with index `i` among all rows of which this chunk was filled, those left out
    /// included.
    pub fn place(&self, i: usize) -> usize {
        i + self.gaps.partition_point(|&before| before <= i)
    }

    /// Data row number (from 1, in the file) of the row with index `i` in this chunk.
    pub fn row_number(&self, i: usize) -> u64 {
        self.first_row + self.place(i) as u64
    }

    /// Declares whether the values are in `singles`, and which columns accompany them.
    pub(crate) fn declare(&mut self, single: bool, weights: bool, keys: bool) {
        self.single = single;
        self.has_weights = weights;
        self.has_keys = keys;
    }

    /// Counts one row whose values were written in place.
    pub(crate) fn commit_row(&mut self) {
        self.n_rows += 1;
    }

    /// Takes the `n_rows` rows written in place, after removing those with a value that is not finite or a
    /// missing key; with `skip` false the first of them is the error that `report(row, slot)` makes. NaN is a
    /// missing entry, with which `missing` deals.
    pub(crate) fn settle(
        &mut self,
        n_rows: usize,
        (skip, missing): (bool, Missing),
        report: impl Fn(usize, Slot) -> crate::Error,
    ) -> Result<()> {
        let values_finite =
            if self.single { all_finite32(&self.singles) } else { all_finite64(&self.doubles) };
        if values_finite && self.weights.iter().all(|w| usable_weight(*w)) && self.keys.missing.is_empty() {
            self.n_rows = n_rows;
            return Ok(());
        }
        let mut kept = 0;
        for row in 0..n_rows {
            match self.first_bad(row, missing) {
                Some(_) if missing == Missing::Skip && self.has_gap(row) => self.gaps.push(kept),
                Some(slot) if !skip => return Err(report(row, slot)),
                Some(_) => self.gaps.push(kept),
                None => {
                    self.move_row(row, kept);
                    kept += 1;
                }
            }
        }
        self.truncate(kept);
        self.has_missing = missing == Missing::Fill;
        Ok(())
    }

    /// Whether a feature of a row is NaN, and none is infinite.
    fn has_gap(&self, row: usize) -> bool {
        let span = row * self.dim..(row + 1) * self.dim;
        let any = |nan: bool, infinite: bool| nan && !infinite;
        if self.single {
            let row = &self.singles[span];
            any(row.iter().any(|v| v.is_nan()), row.iter().any(|v| v.is_infinite()))
        } else {
            let row = &self.doubles[span];
            any(row.iter().any(|v| v.is_nan()), row.iter().any(|v| v.is_infinite()))
        }
    }

    fn first_bad(&self, row: usize, missing: Missing) -> Option<Slot> {
        let fill = missing == Missing::Fill;
        let span = row * self.dim..(row + 1) * self.dim;
        let feature = if self.single {
            self.singles[span].iter().position(|v| !(v.is_finite() || fill && v.is_nan()))
        } else {
            self.doubles[span].iter().position(|v| !(v.is_finite() || fill && v.is_nan()))
        };
        if let Some(column) = feature {
            return Some(Slot::Feature(column));
        }
        if self.has_weights && !usable_weight(self.weights[row]) {
            return Some(Slot::Weight);
        }
        (self.has_keys && self.keys.missing.binary_search(&row).is_ok()).then_some(Slot::Group)
    }

    fn move_row(&mut self, from: usize, to: usize) {
        if from == to {
            return;
        }
        let span = from * self.dim..(from + 1) * self.dim;
        if self.single {
            self.singles.copy_within(span, to * self.dim);
        } else {
            self.doubles.copy_within(span, to * self.dim);
        }
        if self.has_weights {
            self.weights[to] = self.weights[from];
        }
        if self.has_keys {
            self.keys.spans[to] = self.keys.spans[from];
        }
    }

    fn truncate(&mut self, n_rows: usize) {
        self.n_rows = n_rows;
        self.singles.truncate(n_rows * self.dim);
        self.doubles.truncate(n_rows * self.dim);
        self.weights.truncate(n_rows);
        self.keys.spans.truncate(n_rows);
        self.keys.missing.clear();
    }
}

/// The group keys of a chunk: one text per row, in one buffer.
#[derive(Debug, Default)]
pub struct GroupKeys {
    text: String,
    spans: Vec<(usize, usize)>,
    /// Rows whose key is missing, ascending.
    missing: Vec<usize>,
}

impl GroupKeys {
    /// Key of the row with index `i`.
    pub fn get(&self, i: usize) -> &str {
        let (start, end) = self.spans[i];
        &self.text[start..end]
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    pub(crate) fn push(&mut self, key: &str) {
        let start = self.text.len();
        self.text.push_str(key);
        self.spans.push((start, self.text.len()));
    }

    pub(crate) fn push_missing(&mut self) {
        self.missing.push(self.spans.len());
        self.spans.push((0, 0));
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        self.spans.truncate(len);
    }

    fn clear(&mut self) {
        self.text.clear();
        self.spans.clear();
        self.missing.clear();
    }
}

/// Largest weight of a row that a sketch accepts.
const WEIGHT_MAX: f64 = (1u64 << 28) as f64;

/// Whether a weight can be summed; false for NaN.
pub(crate) fn usable_weight(weight: f64) -> bool {
    (0.0..=WEIGHT_MAX).contains(&weight)
}

// The loops below do not stop early: so they vectorise, and bad values are rare.
fn all_finite32(values: &[f32]) -> bool {
    !values.iter().fold(false, |bad, v| bad | !v.is_finite())
}

fn all_finite64(values: &[f64]) -> bool {
    !values.iter().fold(false, |bad, v| bad | !v.is_finite())
}

/// Key of a number: integers in decimal, other values in the shortest form that reads back the same.
/// So `3.0` in a Parquet file and `3` in a CSV file name the same group. `None` for NaN and infinities.
pub(crate) fn number_key(value: f64, shortest: impl FnOnce() -> String) -> Option<String> {
    if !value.is_finite() {
        None
    } else if value.fract() == 0.0 && value.abs() < 1e15 {
        Some(format!("{}", value as i64))
    } else {
        Some(shortest())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk_of(values: &[f64]) -> RowChunk {
        let mut chunk = RowChunk::default();
        chunk.reset(&Arc::from("t"), 11, 1);
        chunk.doubles.extend_from_slice(values);
        chunk
    }

    fn no_error(_: usize, _: Slot) -> crate::Error {
        crate::Error::NoInput
    }

    #[test]
    fn rows_left_out_do_not_shift_the_numbers_of_the_others() {
        let mut chunk = chunk_of(&[f64::NAN, 1.0, f64::INFINITY, f64::NAN, 2.0, 3.0, f64::NAN]);
        chunk.settle(7, (true, Missing::Error), no_error).unwrap();
        assert_eq!(chunk.doubles, [1.0, 2.0, 3.0]);
        assert_eq!(chunk.n_skipped(), 4);
        assert_eq!([0, 1, 2].map(|i| chunk.row_number(i)), [12, 15, 16]);
    }

    #[test]
    fn the_first_bad_row_is_the_one_reported() {
        let mut chunk = chunk_of(&[0.0, f64::NAN, f64::NAN]);
        let seen = std::cell::Cell::new(None);
        let result = chunk.settle(3, (false, Missing::Error), |row, slot| {
            seen.set(Some((row, slot)));
            crate::Error::NoInput
        });
        assert!(result.is_err());
        assert_eq!(seen.get(), Some((1, Slot::Feature(0))));
    }

    #[test]
    fn missing_entries_are_kept_for_the_recipe_or_their_rows_left_out_and_infinity_is_bad() {
        let rows = [f64::NAN, 1.0, f64::NAN];
        let mut chunk = chunk_of(&rows);
        chunk.settle(3, (false, Missing::Fill), no_error).unwrap();
        assert!(chunk.doubles[0].is_nan() && chunk.n_rows() == 3 && chunk.has_missing);
        let mut chunk = chunk_of(&rows);
        chunk.settle(3, (false, Missing::Skip), no_error).unwrap();
        assert_eq!((chunk.doubles.as_slice(), chunk.n_skipped(), chunk.row_number(0)), (&[1.0][..], 2, 12));
        for missing in [Missing::Fill, Missing::Skip] {
            assert!(chunk_of(&[f64::INFINITY]).settle(1, (false, missing), no_error).is_err());
        }
    }

    #[test]
    fn weights_and_keys_move_with_their_rows() {
        let mut chunk = chunk_of(&[1.0, 2.0, 3.0, 4.0]);
        chunk.declare(false, true, true);
        chunk.weights.extend([1.0, f64::NAN, 3.0, 4.0]);
        chunk.keys.push("a");
        chunk.keys.push("b");
        chunk.keys.push_missing();
        chunk.keys.push("d");
        chunk.settle(4, (true, Missing::Error), no_error).unwrap();
        assert_eq!(chunk.doubles, [1.0, 4.0]);
        assert_eq!(chunk.row_weights(), Some(&[1.0, 4.0][..]));
        let keys = chunk.group_keys().unwrap();
        assert_eq!((keys.get(0), keys.get(1), keys.len()), ("a", "d", 2));
    }

    #[test]
    fn equal_numbers_have_equal_keys_whatever_their_type() {
        let key = |v: f64| number_key(v, || format!("{v:?}"));
        assert_eq!(key(3.0).as_deref(), Some("3"));
        assert_eq!(key(-0.0).as_deref(), Some("0"));
        assert_eq!(key(0.1).as_deref(), Some("0.1"));
        assert_eq!(key(1e300).as_deref(), Some("1e300"));
        assert_eq!(key(f64::NAN), None);
    }
}
