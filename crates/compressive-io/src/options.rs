//! What to read from the inputs and how.

use compressive::Missing;

/// Options of [`crate::Dataset::open`].
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// Feature columns in the order wanted; `None` takes every numeric column in file order.
    pub columns: Option<Vec<String>>,
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

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            columns: None,
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
