//! Parquet files.
//!
//! Only the columns in use are read, page by page. While many row groups remain, a part is a row group that
//! its worker decodes in batches; the last row groups of a file (all of them, in a small file) are decoded
//! under the lock and handed out batch by batch, so that no worker idles while another has a million rows
//! before it. Decoding costs a fraction of sketching, so the lock is rarely waited for.
//!
//! Pages with a checksum are checked against it.
//!
//! Memory: per part one page of every column in use, and one batch of rows.

use std::fs::File;
use std::sync::Arc;

use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
    RowSelection, RowSelector,
};
use ::parquet::basic::Compression;

use crate::chunk::{RowChunk, RowReader};
use crate::columnar::{self, BatchReader, Batches};
use crate::error::{Error, Result};
use crate::fileio;
use crate::guard::guarded;
use crate::plan::Plan;
use crate::table::{Opened, Parts, Sink, Spread, Table, drain};

const FORMAT: &str = "Parquet";
/// Rows decoded at a time.
const BATCH_ROWS: usize = 8192;
/// Row groups at the end of a file that are handed out batch by batch.
const TAIL_GROUPS: usize = 8;
/// Row groups up to this size are handed out whole wherever they are.
const SMALL_GROUP_ROWS: i64 = 1 << 15;
/// Row groups of one file looked at for a sample.
const SAMPLE_GROUPS: usize = 16;

/// Opens a Parquet file: reads its footer only.
pub(crate) fn open_file(path: &Arc<str>) -> Result<Opened> {
    let file = fileio::open(path)?;
    let n_bytes = fileio::size(path, &file)?;
    if n_bytes == 0 {
        return Err(Error::EmptyFile { path: path.to_string() });
    }
    let metadata = guarded(path, FORMAT, || ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()))?;
    require_codecs(path, &metadata)?;
    let n_rows = metadata.metadata().file_metadata().num_rows().max(0) as u64;
    let columns = columnar::columns(metadata.schema());
    Ok(Opened {
        path: Arc::clone(path),
        columns,
        has_rows: n_rows > 0,
        n_rows: Some(n_rows),
        n_bytes: Some(n_bytes),
        remarks: Vec::new(),
        table: Box::new(ParquetTable { path: Arc::clone(path), metadata, n_bytes }),
    })
}

/// Refuses compressions that this program was built without.
fn require_codecs(path: &str, metadata: &ArrowReaderMetadata) -> Result<()> {
    let mut columns = metadata.metadata().row_groups().iter().flat_map(|group| group.columns());
    let name = columns.find_map(|column| match column.compression() {
        Compression::BROTLI(_) => Some("brotli"),
        Compression::LZO => Some("LZO"),
        _ => None,
    });
    name.map_or(Ok(()), |name| {
        Err(Error::Unsupported {
            path: path.to_owned(),
            what: format!("its columns are compressed with {name}"),
            remedy: "write it again with zstd, snappy, lz4 or gzip",
        })
    })
}

struct ParquetTable {
    path: Arc<str>,
    metadata: ArrowReaderMetadata,
    n_bytes: u64,
}

impl ParquetTable {
    fn groups(&self, plan: &Arc<Plan>) -> Result<Groups> {
        columnar::require_types(plan, &columnar::columns(self.metadata.schema()))?;
        Ok(Groups {
            path: Arc::clone(&self.path),
            metadata: self.metadata.clone(),
            n_bytes: self.n_bytes,
            plan: Arc::clone(plan),
            next_group: 0,
            end_group: self.metadata.metadata().num_row_groups(),
            next_row: 1,
            tail: None,
        })
    }
}

impl Table for ParquetTable {
    fn parts(&mut self, plan: &Arc<Plan>) -> Result<Box<dyn Parts>> {
        Ok(Box::new(self.groups(plan)?))
    }

    fn sample(&mut self, plan: &Arc<Plan>, spread: &Spread, sink: Sink<'_>) -> Result<bool> {
        let groups = self.groups(plan)?;
        let sizes: Vec<u64> = self
            .metadata
            .metadata()
            .row_groups()
            .iter()
            .map(|group| group.num_rows().max(0) as u64)
            .collect();
        let mut chunk = RowChunk::default();
        for (group, starts) in sample_places(&sizes, spread) {
            let selection = selection(&starts, spread.rows_per_point, sizes[group]);
            let batches = groups.open_group(group, Some(selection))?;
            drain(&mut BatchReader::new(plan, batches, 1), &mut chunk, sink)?;
        }
        Ok(true)
    }
}

/// For the row groups to be sampled: the first rows of the sampled blocks, within the group.
///
/// Opening a row group costs a page of every column, so only [`SAMPLE_GROUPS`] of them, evenly spread, are
/// opened; places that fall into another move to the same relative place of the nearest chosen one.
fn sample_places(sizes: &[u64], spread: &Spread) -> Vec<(usize, Vec<u64>)> {
    let chosen: Vec<usize> = if sizes.len() <= SAMPLE_GROUPS {
        (0..sizes.len()).collect()
    } else {
        (0..SAMPLE_GROUPS).map(|i| (2 * i + 1) * sizes.len() / (2 * SAMPLE_GROUPS)).collect()
    };
    let total: u64 = chosen.iter().map(|&group| sizes[group]).sum();
    let mut places = Vec::new();
    let mut fractions = spread.fractions.iter().map(|fraction| (fraction * total as f64) as u64).peekable();
    let mut before = 0;
    for group in chosen {
        let end = before + sizes[group];
        let mut starts = Vec::new();
        while let Some(row) = fractions.next_if(|&row| row < end) {
            starts.push(row - before);
        }
        before = end;
        if !starts.is_empty() {
            places.push((group, starts));
        }
    }
    places
}

/// Blocks of `rows` rows at ascending starts, without overlap.
fn selection(starts: &[u64], rows: usize, group_rows: u64) -> RowSelection {
    let mut selectors = Vec::new();
    let mut at = 0;
    for &start in starts {
        let start = start.max(at);
        let end = (start + rows as u64).min(group_rows);
        if end > start {
            selectors.push(RowSelector::skip((start - at) as usize));
            selectors.push(RowSelector::select((end - start) as usize));
            at = end;
        }
    }
    selectors.into()
}

/// The row groups of a file.
struct Groups {
    path: Arc<str>,
    metadata: ArrowReaderMetadata,
    n_bytes: u64,
    plan: Arc<Plan>,
    next_group: usize,
    end_group: usize,
    /// First row of the next part, from 1.
    next_row: u64,
    /// The row group that is handed out batch by batch.
    tail: Option<Batches>,
}

impl Groups {
    /// Batches of one row group.
    fn open_group(&self, group: usize, selection: Option<RowSelection>) -> Result<Batches> {
        // Every part opens the file for itself: the decoder moves the file's cursor, which clones of a handle
        // share.
        let file = fileio::open(&self.path)?;
        let mask = ProjectionMask::roots(self.metadata.parquet_schema(), self.plan.file_columns());
        let mut builder =
            ParquetRecordBatchReaderBuilder::<File>::new_with_metadata(file, self.metadata.clone())
                .with_projection(mask)
                .with_row_groups(vec![group])
                .with_batch_size(BATCH_ROWS);
        if let Some(selection) = selection {
            builder = builder.with_row_selection(selection);
        }
        let mut reader: ParquetRecordBatchReader = guarded(&self.path, FORMAT, || builder.build())?;
        let path = Arc::clone(&self.path);
        let next = move || guarded(&path, FORMAT, || reader.next().transpose()).transpose();
        Ok(Box::new(std::iter::from_fn(next)))
    }

    fn group_rows(&self, group: usize) -> i64 {
        self.metadata.metadata().row_group(group).num_rows()
    }

    /// The next batch of the row group being decoded, as a part.
    fn next_batch(&mut self) -> Result<Option<BatchReader>> {
        let Some(tail) = &mut self.tail else { return Ok(None) };
        let Some(batch) = tail.next().transpose()? else {
            self.tail = None;
            return Ok(None);
        };
        let first_row = self.next_row;
        self.next_row += batch.num_rows() as u64;
        Ok(Some(BatchReader::of_batch(&self.plan, batch, first_row)))
    }
}

impl Parts for Groups {
    fn next_part(&mut self) -> Result<Option<Box<dyn RowReader + Send>>> {
        loop {
            if let Some(reader) = self.next_batch()? {
                return Ok(Some(Box::new(reader)));
            }
            if self.next_group == self.end_group {
                return Ok(None);
            }
            let group = self.next_group;
            self.next_group += 1;
            let rows = self.group_rows(group);
            let batches = self.open_group(group, None)?;
            if self.end_group - group > TAIL_GROUPS || rows <= SMALL_GROUP_ROWS {
                let first_row = self.next_row;
                self.next_row += rows.max(0) as u64;
                return Ok(Some(Box::new(BatchReader::new(&self.plan, batches, first_row))));
            }
            self.tail = Some(batches);
        }
    }

    fn bytes_done(&self) -> u64 {
        let total = self.metadata.metadata().file_metadata().num_rows().max(1) as f64;
        ((self.next_row - 1) as f64 / total * self.n_bytes as f64) as u64
    }
}
