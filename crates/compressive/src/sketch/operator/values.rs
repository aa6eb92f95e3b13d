//! The features of single rows, on the grid of the sums: what [`SketchOperator::accumulate`] adds, row by
//! row.

use compressive_kernels::quantize;

use super::{BLOCK_VALUES, RowsRef, Scratch, SketchOperator, without_gaps};
use crate::error::{Error, Result};
use crate::sketch::spec::Missing;

impl SketchOperator {
    /// Number of rows in a slice of values, which must be whole rows.
    pub(super) fn count_rows(&self, rows: RowsRef<'_>) -> Result<usize> {
        let (found, expected) = (rows.len() % self.dim(), self.dim());
        if found != 0 {
            return Err(Error::Shape { what: "values in the last row", found, expected });
        }
        Ok(rows.len() / expected)
    }

    /// Fails with the first value that is infinite, or NaN where missing entries are refused; whether there
    /// is a missing entry.
    pub(super) fn check_finite(&self, rows: RowsRef<'_>) -> Result<bool> {
        let dim = self.dim();
        let Some(first) = rows.first_not_finite() else { return Ok(false) };
        let allowed = self.spec.missing != Missing::Error;
        let refused = |i: &usize| rows.get(*i).is_infinite() || (rows.get(*i).is_nan() && !allowed);
        match (first..rows.len()).find(refused) {
            Some(i) => Err(Error::NotFinite { row: i / dim, column: i % dim, value: rows.get(i) }),
            None => Ok(true),
        }
    }

    /// Features of each row in units of 2^-24, row-major `[n][sketch_len]`, into `out`, which is emptied
    /// first.
    ///
    /// Their column sums are exactly the sums of a sketch of these rows, for every feature. Cost: that of
    /// [`accumulate`](SketchOperator::accumulate), and n `sketch_len` integers of memory.
    ///
    /// # Errors
    /// [`Error::Shape`] if the values are not whole rows, [`Error::NotFinite`] for the first value that is
    /// not finite; `out` is then left as it was.
    pub fn quantize(&self, rows: RowsRef<'_>, out: &mut Vec<i32>, scratch: &mut Scratch) -> Result<()> {
        let n_rows = self.count_rows(rows)?;
        if self.check_finite(rows)? && self.spec.missing == Missing::Skip {
            let (kept, _) = without_gaps(rows, None, self.dim());
            return self.quantize(RowsRef::F64(&kept), out, scratch);
        }
        let (len, block) = (self.sketch_len(), (BLOCK_VALUES / self.dim()).max(64));
        out.clear();
        out.resize(n_rows * len, 0);
        for (i, out) in out.chunks_mut(block * len).enumerate() {
            self.to_working(rows, i * block..i * block + out.len() / len, scratch);
            self.quantize_working(out, scratch);
        }
        Ok(())
    }

    /// Features of the rows in `scratch.working`.
    fn quantize_working(&self, out: &mut [i32], scratch: &mut Scratch) {
        let Scratch { working, extended, folded, kernel, .. } = scratch;
        let working = self.kernel_input(working, extended);
        let (backend, p) = (self.backend, &self.projection);
        if self.spec.map.parts() == 2 {
            return folded.quantize(backend, p, working, out, kernel);
        }
        quantize(backend, p, self.wave(), working, out, kernel);
    }
}
