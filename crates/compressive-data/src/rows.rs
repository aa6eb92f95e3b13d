//! Rows of a table in memory.

use crate::error::{Error, Result, at_least_one};

/// n rows of d finite numbers, row-major; checked once, when made.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    values: &'a [f64],
    dim: usize,
}

impl<'a> Rows<'a> {
    /// Checks that `values` are whole rows of `dim` columns, at least one of them, all finite. Cost: one
    /// pass.
    pub fn new(values: &'a [f64], dim: usize) -> Result<Rows<'a>> {
        at_least_one("dim", dim)?;
        if values.is_empty() {
            return Err(Error::TooFewRows { what: "a table", rows: 0, needed: 1 });
        }
        if !values.len().is_multiple_of(dim) {
            let expected = values.len() / dim * dim + dim;
            return Err(Error::Shape { what: "values of whole rows", found: values.len(), expected });
        }
        if let Some(index) = values.iter().position(|value| !value.is_finite()) {
            return Err(Error::NotFinite { row: index / dim, column: index % dim, value: values[index] });
        }
        Ok(Rows { values, dim })
    }

    /// Number d of columns.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Number n of rows, at least 1.
    pub fn n_rows(&self) -> usize {
        self.values.len() / self.dim
    }

    /// All values, row-major.
    pub fn values(&self) -> &'a [f64] {
        self.values
    }

    /// The row of an index below [`n_rows`](Rows::n_rows).
    pub fn row(&self, index: usize) -> &'a [f64] {
        &self.values[index * self.dim..(index + 1) * self.dim]
    }
}

/// Rows drawn from a known source, with the component each came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Number d of columns.
    pub dim: usize,
    /// n x d values, row-major.
    pub values: Vec<f64>,
    /// The component of each row, from 0.
    pub labels: Vec<u32>,
}

impl Sample {
    /// The rows, checked.
    pub fn rows(&self) -> Result<Rows<'_>> {
        Rows::new(&self.values, self.dim)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_refuse_what_is_no_table() {
        assert_eq!(Rows::new(&[1.0; 6], 3).map(|rows| rows.n_rows()), Ok(2));
        assert!(matches!(Rows::new(&[1.0; 7], 3), Err(Error::Shape { found: 7, expected: 9, .. })));
        assert!(matches!(Rows::new(&[], 3), Err(Error::TooFewRows { .. })));
        assert!(matches!(Rows::new(&[1.0], 0), Err(Error::Parameter { name: "dim", .. })));
        let error = Rows::new(&[1.0, 2.0, f64::NAN, 4.0], 2).expect_err("NaN is refused");
        assert_eq!(error.to_string(), "row 1, column 0: NaN is not a finite number; remove the row first");
    }
}
