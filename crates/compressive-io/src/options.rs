//! What to read from the inputs and how.

use compressive::{Column, Missing};

/// Options of [`crate::Dataset::open`].
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// Feature columns in the order wanted; `None` takes every one that can be used, in file order.
    pub columns: Option<Vec<String>>,
    /// The columns of a recipe or model and how it reads them, in place of `columns`.
    pub readings: Option<Vec<Column>>,
    /// Use columns of dates, and of text as the sample of [`Dataset::pilot`](crate::Dataset::pilot) shows it;
    /// else only numbers and vectors are used unless they are named.
    pub interpret: bool,
    /// Columns to be read as places on circles.
    pub cyclic: Vec<Cyclic>,
    /// Columns never used as features.
    pub exclude: Vec<String>,
    /// Column whose distinct values make one sketch each.
    pub by: Option<String>,
    /// Column with one weight per row.
    pub weights: Option<String>,
    /// Whether text files start with a header; `None` looks at the first records.
    pub header: Option<bool>,
    /// Delimiter of text files; `None` chooses among `,` `;` tab and `|`.
    pub delimiter: Option<u8>,
    /// Leave out and count rows with bad values instead of stopping at the first.
    pub skip_bad_rows: bool,
    /// What becomes of missing entries: refused, handed on as NaN for the recipe to fill, or their rows left
    /// out.
    pub missing: Missing,
    /// Leave out columns that the pilot shows to be mostly empty, constant or a number of the row, unless
    /// `columns` names them.
    pub leave_out_unfit: bool,
    /// Rows handed to the kernel at a time, at least 1 (default 4096). Wide tables use fewer, so that a
    /// chunk stays in the cache; the sums are exact, so this changes the speed only.
    pub chunk_rows: usize,
}

/// A circle that entries of a column are placed on.
#[derive(Debug, Clone, PartialEq)]
pub struct Cyclic {
    /// The column; `None` for every column of dates or times.
    pub column: Option<String>,
    /// Length of the circle: seconds for dates and times, else in the column's units.
    pub period: f64,
}

impl ReadOptions {
    /// To read the columns of a recipe or a model as it does.
    pub fn of(readings: Vec<Column>) -> ReadOptions {
        ReadOptions { readings: Some(readings), ..ReadOptions::default() }
    }

    /// The periods asked for of a column.
    pub(crate) fn periods(&self, column: &str, is_time: bool) -> Vec<f64> {
        let of = |cyclic: &&Cyclic| match &cyclic.column {
            Some(name) => name == column,
            None => is_time,
        };
        self.cyclic.iter().filter(of).map(|cyclic| cyclic.period).collect()
    }
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            columns: None,
            readings: None,
            interpret: false,
            cyclic: Vec::new(),
            exclude: Vec::new(),
            by: None,
            weights: None,
            header: None,
            delimiter: None,
            skip_bad_rows: false,
            missing: Missing::Error,
            leave_out_unfit: false,
            chunk_rows: 4096,
        }
    }
}
