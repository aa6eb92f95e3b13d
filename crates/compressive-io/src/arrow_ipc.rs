//! Arrow IPC: the file format (`.arrow`, `.feather`, `.ipc`), which can be read in any order.
//!
//! A part is one record batch, or several small ones, decoded by the worker. A batch of many rows is decoded
//! under the lock and handed out in slices, so that all workers share it.
//!
//! Memory: a record batch is the unit that can be decoded, with all its columns; a file written as one huge
//! batch therefore needs room for that batch.

use std::collections::VecDeque;
use std::fs::File;
use std::sync::Arc;

use ::arrow_ipc::Block;
use ::arrow_ipc::reader::read_footer_length;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::arrow_message::{self, Dictionaries, FORMAT, RawMessage};
use crate::chunk::{RowChunk, RowReader};
use crate::columnar::{self, BatchReader, SLICE_ROWS};
use crate::error::{Error, Result};
use crate::fileio;
use crate::plan::Plan;
use crate::table::{Opened, Parts, Sink, Spread, Table, drain};

/// Bytes after the footer: its length and the magic.
const TRAILER_BYTES: u64 = 10;
/// Record batches looked at for a sample.
const SAMPLE_BATCHES: usize = 64;

/// One record batch of a file.
#[derive(Debug, Clone, Copy)]
struct Place {
    block: Block,
    rows: u64,
    /// Rows of the batches before.
    before: u64,
}

/// What the footer of a file says. The file is opened for every pass: a data set may have more files than a
/// process may hold open.
struct ArrowFile {
    path: Arc<str>,
    schema: SchemaRef,
    dictionaries: Vec<Block>,
    places: Arc<Vec<Place>>,
}

/// Opens an Arrow file: reads its footer and the head of every batch.
pub(crate) fn open_file(path: &Arc<str>) -> Result<Opened> {
    let file = fileio::open(path)?;
    let n_bytes = fileio::size(path, &file)?;
    if n_bytes == 0 {
        return Err(Error::EmptyFile { path: path.to_string() });
    }
    let table = ArrowFile::new(path, &file, n_bytes)?;
    let n_rows = table.n_rows();
    Ok(Opened {
        path: Arc::clone(path),
        columns: columnar::columns(&table.schema),
        has_rows: n_rows > 0,
        n_rows: Some(n_rows),
        n_bytes: Some(n_bytes),
        remarks: Vec::new(),
        table: Box::new(table),
    })
}

fn read_at(path: &str, file: &File, offset: u64, len: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; len];
    fileio::read_exact_at(file, &mut bytes, offset).map_err(|source| Error::io(path, "read", source))?;
    Ok(bytes)
}

impl ArrowFile {
    fn new(path: &Arc<str>, file: &File, n_bytes: u64) -> Result<Self> {
        let bad = |detail: String| Error::malformed(path, FORMAT, detail);
        let trailer_start =
            n_bytes.checked_sub(TRAILER_BYTES).ok_or_else(|| bad("it is too short for a footer".into()))?;
        let trailer = read_at(path, file, trailer_start, TRAILER_BYTES as usize)?;
        let trailer: [u8; 10] = trailer.try_into().expect("ten bytes were read");
        let footer_len = read_footer_length(trailer).map_err(|error| bad(error.to_string()))? as u64;
        let footer_start = trailer_start
            .checked_sub(footer_len)
            .ok_or_else(|| bad(format!("a footer of {footer_len} bytes does not fit into it")))?;
        let footer = read_at(path, file, footer_start, footer_len as usize)?;
        let footer = ::arrow_ipc::root_as_footer(&footer).map_err(|error| bad(error.to_string()))?;
        let schema = arrow_message::schema(path, footer.schema())?;
        let fits = |block: &Block| {
            let (offset, meta, body) = (block.offset(), block.metaDataLength(), block.bodyLength());
            let end = u64::try_from(offset)
                .ok()
                .zip(u64::try_from(meta).ok())
                .zip(u64::try_from(body).ok())
                .and_then(|((offset, meta), body)| offset.checked_add(meta)?.checked_add(body));
            match end {
                Some(end) if end <= footer_start => Ok(*block),
                _ => Err(bad("a record batch lies outside the file".into())),
            }
        };
        let blocks = footer.recordBatches().ok_or_else(|| bad("the footer lists no batches".into()))?;
        let blocks = blocks.iter().map(fits).collect::<Result<Vec<Block>>>()?;
        let dictionaries = footer.dictionaries().iter().flatten().map(fits).collect::<Result<_>>()?;
        let mut places = Vec::with_capacity(blocks.len());
        let mut before = 0;
        for block in blocks {
            let rows = batch_rows(path, file, &block)?;
            places.push(Place { block, rows, before });
            before += rows;
        }
        Ok(ArrowFile { path: Arc::clone(path), schema, dictionaries, places: Arc::new(places) })
    }

    fn n_rows(&self) -> u64 {
        self.places.last().map_or(0, |last| last.before + last.rows)
    }

    fn decoder(&self, plan: &Arc<Plan>) -> Result<Arc<Decoder>> {
        columnar::require_types(plan, &columnar::columns(&self.schema))?;
        let file = fileio::open(&self.path)?;
        let mut dictionaries = Dictionaries::new();
        for block in &self.dictionaries {
            let message = read_block(&self.path, &file, block)?;
            arrow_message::add_dictionary(&self.path, &self.schema, &mut dictionaries, &message)?;
        }
        Ok(Arc::new(Decoder {
            path: Arc::clone(&self.path),
            file,
            places: Arc::clone(&self.places),
            schema: Arc::clone(&self.schema),
            dictionaries,
            columns: plan.file_columns(),
        }))
    }

    fn batches(&self, plan: &Arc<Plan>) -> Result<Box<dyn Parts>> {
        Ok(Box::new(FileBatches {
            decoder: self.decoder(plan)?,
            plan: Arc::clone(plan),
            next: 0,
            end: self.places.len(),
            slices: Slices::default(),
            bytes: 0,
        }))
    }
}

fn read_block(path: &str, file: &File, block: &Block) -> Result<RawMessage> {
    let (offset, meta_len) = (block.offset() as u64, block.metaDataLength() as usize);
    let meta = arrow_message::strip_prefix(path, read_at(path, file, offset, meta_len)?)?;
    let body = read_at(path, file, offset + meta_len as u64, block.bodyLength() as usize)?;
    Ok(RawMessage { meta, body })
}

/// Number of rows of a record batch, from its metadata.
fn batch_rows(path: &str, file: &File, block: &Block) -> Result<u64> {
    let bytes = read_at(path, file, block.offset() as u64, block.metaDataLength() as usize)?;
    let meta = arrow_message::strip_prefix(path, bytes)?;
    arrow_message::batch_rows(path, &meta, block.bodyLength() as u64)
}

/// Decoder of the batches of a file, shared by the workers.
struct Decoder {
    path: Arc<str>,
    file: File,
    places: Arc<Vec<Place>>,
    schema: SchemaRef,
    dictionaries: Dictionaries,
    columns: Vec<usize>,
}

impl Decoder {
    fn read(&self, i: usize) -> Result<RecordBatch> {
        let message = read_block(&self.path, &self.file, &self.places[i].block)?;
        arrow_message::decode_batch(&self.path, &self.schema, &self.dictionaries, &self.columns, message)
    }
}

impl Table for ArrowFile {
    fn parts(&mut self, plan: &Arc<Plan>) -> Result<Box<dyn Parts>> {
        self.batches(plan)
    }

    fn sample(&mut self, plan: &Arc<Plan>, spread: &Spread, sink: Sink<'_>) -> Result<bool> {
        let decoder = self.decoder(plan)?;
        let n_rows = self.n_rows();
        let mut chunk = RowChunk::default();
        let mut held: Option<(usize, RecordBatch)> = None;
        // Every batch is decoded whole, so places are thinned out if they would touch too many.
        let thin = (spread.fractions.len().min(self.places.len())).div_ceil(SAMPLE_BATCHES).max(1);
        for fraction in spread.fractions.iter().step_by(thin) {
            let row = (fraction * n_rows as f64) as u64;
            let i = self.places.partition_point(|place| place.before + place.rows <= row);
            if held.as_ref().is_none_or(|(known, _)| *known != i) {
                held = Some((i, decoder.read(i)?));
            }
            let Some((_, batch)) = &held else { continue };
            let first = (row - self.places[i].before) as usize;
            let len = (spread.rows_per_point * thin).min(batch.num_rows().saturating_sub(first));
            let first = first.min(batch.num_rows());
            drain(&mut BatchReader::of_batch(plan, batch.slice(first, len), 1), &mut chunk, sink)?;
        }
        Ok(true)
    }
}

/// Slices of a large batch, waiting to be handed out.
#[derive(Default)]
pub(crate) struct Slices(VecDeque<(RecordBatch, u64)>);

impl Slices {
    /// Cuts a batch whose first row has the number `first_row`.
    pub(crate) fn push(&mut self, batch: &RecordBatch, first_row: u64) {
        let mut at = 0;
        while at < batch.num_rows() {
            let len = SLICE_ROWS.min(batch.num_rows() - at);
            self.0.push_back((batch.slice(at, len), first_row + at as u64));
            at += len;
        }
    }

    pub(crate) fn pop(&mut self, plan: &Arc<Plan>) -> Option<BatchReader> {
        let (batch, first_row) = self.0.pop_front()?;
        Some(BatchReader::of_batch(plan, batch, first_row))
    }
}

/// The record batches of a file.
struct FileBatches {
    decoder: Arc<Decoder>,
    plan: Arc<Plan>,
    next: usize,
    end: usize,
    slices: Slices,
    bytes: u64,
}

impl Parts for FileBatches {
    fn next_part(&mut self) -> Result<Option<Box<dyn RowReader + Send>>> {
        if let Some(reader) = self.slices.pop(&self.plan) {
            return Ok(Some(Box::new(reader)));
        }
        if self.next == self.end {
            return Ok(None);
        }
        let places = Arc::clone(&self.decoder.places);
        let first = self.next;
        let first_row = places[first].before + 1;
        if places[first].rows as usize > 4 * SLICE_ROWS {
            self.next += 1;
            self.bytes += places[first].block.bodyLength() as u64;
            let batch = self.decoder.read(first)?;
            self.slices.push(&batch, first_row);
            return self.next_part();
        }
        let mut rows = 0;
        while self.next < self.end && rows < SLICE_ROWS && places[self.next].rows as usize <= 4 * SLICE_ROWS {
            rows += places[self.next].rows as usize;
            self.bytes += places[self.next].block.bodyLength() as u64;
            self.next += 1;
        }
        let decoder = Arc::clone(&self.decoder);
        let batches = (first..self.next).map(move |i| decoder.read(i));
        Ok(Some(Box::new(BatchReader::new(&self.plan, Box::new(batches), first_row))))
    }

    fn bytes_done(&self) -> u64 {
        self.bytes
    }
}
