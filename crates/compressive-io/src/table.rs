//! What every format offers to the data set: its columns, its rows in parts, and a sample.

use std::sync::Arc;

use crate::chunk::{RowChunk, RowReader};
use crate::error::Result;
use crate::plan::{ColumnInfo, Plan};

/// Parts of one file, in order.
pub(crate) trait Parts: Send {
    fn next_part(&mut self) -> Result<Option<Box<dyn RowReader + Send>>>;

    /// Bytes of the file handed out so far.
    fn bytes_done(&self) -> u64;
}

/// Where to sample a file: blocks of `rows_per_point` rows at fractions of its length.
#[derive(Debug, Clone)]
pub(crate) struct Spread {
    /// Ascending, each in [0, 1).
    pub fractions: Vec<f64>,
    pub rows_per_point: usize,
}

/// Receiver of sampled rows.
pub(crate) type Sink<'a> = &'a mut dyn FnMut(&RowChunk);

/// A file or stream whose columns are known.
pub(crate) trait Table: Send {
    /// All rows, in parts.
    fn parts(&mut self, plan: &Arc<Plan>) -> Result<Box<dyn Parts>>;

    /// The first rows only, from about `max_bytes`, of an input that cannot be sampled; nothing that `parts`
    /// gives later is lost by it.
    fn head(&mut self, plan: &Arc<Plan>, max_bytes: usize) -> Result<Box<dyn Parts>> {
        let _ = max_bytes;
        self.parts(plan)
    }

    /// Rows at spread places, bad ones left out; `false` if the input cannot be read out of order.
    fn sample(&mut self, plan: &Arc<Plan>, spread: &Spread, sink: Sink<'_>) -> Result<bool>;
}

/// A table with what is known of it before any row is read.
pub(crate) struct Opened {
    pub path: Arc<str>,
    pub columns: Vec<ColumnInfo>,
    /// Whether there is at least one row, as far as is known.
    pub has_rows: bool,
    pub n_rows: Option<u64>,
    pub n_bytes: Option<u64>,
    /// What a reader of the table should know of how it was read.
    pub remarks: Vec<String>,
    pub table: Box<dyn Table>,
}

/// Runs a reader to its end.
pub(crate) fn drain(reader: &mut dyn RowReader, chunk: &mut RowChunk, sink: Sink<'_>) -> Result<()> {
    while reader.next_rows(chunk)? {
        sink(chunk);
    }
    Ok(())
}

/// Runs all parts to their end.
pub(crate) fn drain_parts(parts: &mut dyn Parts, sink: Sink<'_>) -> Result<()> {
    let mut chunk = RowChunk::default();
    while let Some(mut reader) = parts.next_part()? {
        drain(&mut *reader, &mut chunk, sink)?;
    }
    Ok(())
}
