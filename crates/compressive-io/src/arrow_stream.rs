//! Arrow IPC: the stream format (`.arrows`, or through a pipe), which is read from its start to its end.
//!
//! Messages are read in order under the lock and decoded by the workers; a batch of many rows is decoded
//! under the lock and handed out in slices. Memory holds one batch per worker.

use std::io::{Cursor, Read};
use std::sync::Arc;

use arrow_schema::SchemaRef;

use crate::arrow_ipc::Slices;
use crate::arrow_message::{self, Dictionaries, FORMAT, RawMessage};
use crate::chunk::RowReader;
use crate::columnar::{self, BatchReader, SLICE_ROWS};
use crate::error::{Error, Result};
use crate::fileio::{self, PeekReader};
use crate::plan::Plan;
use crate::table::{Opened, Parts, Sink, Spread, Table};

/// Bytes within which the schema must be complete.
const SCHEMA_BYTES_MAX: usize = 1 << 24;
/// Bytes looked at for a first batch when it is larger than what was asked for.
const HEAD_BYTES_MAX: usize = 1 << 25;

/// Opens a stream; `reopen` tells that it is a file that can be opened again by its path.
pub(crate) fn open(path: &Arc<str>, mut stream: PeekReader, reopen: bool) -> Result<Opened> {
    let schema = read_schema(path, &mut stream)?;
    let n_bytes = if reopen { Some(fileio::size(path, &fileio::open(path)?)?) } else { None };
    // A file is opened again for every pass: a data set may have more files than a process may hold open.
    let stream = (!reopen).then_some(stream);
    Ok(Opened {
        path: Arc::clone(path),
        columns: columnar::columns(&schema),
        has_rows: true,
        n_rows: None,
        n_bytes,
        remarks: Vec::new(),
        table: Box::new(ArrowStream { path: Arc::clone(path), schema, stream, reopen }),
    })
}

fn read_schema(path: &str, stream: &mut PeekReader) -> Result<SchemaRef> {
    let mut len = 1 << 16;
    loop {
        let head = stream.peek(len).map_err(|source| Error::io(path, "read", source))?;
        let whole = head.len() < len;
        match first_schema(path, &mut Cursor::new(head)) {
            Err(_) if !whole && len < SCHEMA_BYTES_MAX => len *= 4,
            found => return found,
        }
    }
}

/// The schema is the first message.
fn first_schema(path: &str, input: &mut dyn Read) -> Result<SchemaRef> {
    let message = arrow_message::read_message(path, input)?
        .ok_or_else(|| Error::malformed(path, FORMAT, "it has no schema"))?;
    arrow_message::schema(path, arrow_message::parse(path, &message.meta)?.header_as_schema())
}

struct ArrowStream {
    path: Arc<str>,
    schema: SchemaRef,
    stream: Option<PeekReader>,
    reopen: bool,
}

impl ArrowStream {
    fn consumed(&self) -> Error {
        Error::StreamConsumed { path: self.path.to_string() }
    }

    /// Opens the file again after its stream was read.
    fn renew(&mut self) -> Result<()> {
        if self.stream.is_none() && self.reopen {
            self.stream = Some(PeekReader::new(Box::new(fileio::open(&self.path)?)));
        }
        Ok(())
    }

    fn batches(
        &self,
        plan: &Arc<Plan>,
        mut input: Box<dyn Read + Send>,
        lenient: bool,
    ) -> Result<Box<dyn Parts>> {
        columnar::require_types(plan, &columnar::columns(&self.schema))?;
        first_schema(&self.path, &mut input)?;
        Ok(Box::new(StreamBatches {
            input,
            schema: Arc::clone(&self.schema),
            dictionaries: Arc::default(),
            plan: Arc::clone(plan),
            columns: plan.file_columns().into(),
            slices: Slices::default(),
            next_row: 1,
            bytes: 0,
            lenient,
        }))
    }
}

impl Table for ArrowStream {
    fn parts(&mut self, plan: &Arc<Plan>) -> Result<Box<dyn Parts>> {
        self.renew()?;
        let stream = self.stream.take().ok_or_else(|| self.consumed())?;
        self.batches(plan, Box::new(stream), false)
    }

    fn head(&mut self, plan: &Arc<Plan>, max_bytes: usize) -> Result<Box<dyn Parts>> {
        self.renew()?;
        let consumed = self.consumed();
        let stream = self.stream.as_mut().ok_or(consumed)?;
        let mut len = max_bytes;
        let bytes = loop {
            let head = stream.peek(len).map_err(|source| Error::io(&self.path, "read", source))?;
            let whole = head.len() < len;
            let has_batch = has_batch(&self.path, head);
            if has_batch || whole || len >= HEAD_BYTES_MAX {
                break head.to_vec();
            }
            len *= 2;
        };
        self.batches(plan, Box::new(Cursor::new(bytes)), true)
    }

    fn sample(&mut self, _: &Arc<Plan>, _: &Spread, _: Sink<'_>) -> Result<bool> {
        Ok(false)
    }
}

/// Whether the bytes hold a whole record batch behind the schema and the dictionaries.
fn has_batch(path: &str, head: &[u8]) -> bool {
    let mut input = Cursor::new(head);
    while let Ok(Some(message)) = arrow_message::read_message(path, &mut input) {
        if arrow_message::batch_rows(path, &message.meta, message.body.len() as u64).is_ok() {
            return true;
        }
    }
    false
}

/// The record batches of a stream.
struct StreamBatches {
    input: Box<dyn Read + Send>,
    schema: SchemaRef,
    /// Shared with the batches that were handed out before the next dictionary arrived.
    dictionaries: Arc<Dictionaries>,
    plan: Arc<Plan>,
    columns: Arc<[usize]>,
    slices: Slices,
    next_row: u64,
    bytes: u64,
    /// Whether a message that is cut off ends the input without error.
    lenient: bool,
}

impl StreamBatches {
    /// The next record batch, undecoded, with its number of rows.
    fn next_batch(&mut self) -> Result<Option<(RawMessage, u64)>> {
        let path = &self.plan.path;
        loop {
            let message = match arrow_message::read_message(path, &mut self.input) {
                Ok(Some(message)) => message,
                Err(error) if !self.lenient => return Err(error),
                _ => return Ok(None),
            };
            self.bytes += (message.meta.len() + message.body.len()) as u64;
            let dictionaries = Arc::make_mut(&mut self.dictionaries);
            if !arrow_message::add_dictionary(path, &self.schema, dictionaries, &message)? {
                let rows = arrow_message::batch_rows(path, &message.meta, message.body.len() as u64)?;
                return Ok(Some((message, rows)));
            }
        }
    }
}

impl Parts for StreamBatches {
    fn next_part(&mut self) -> Result<Option<Box<dyn RowReader + Send>>> {
        if let Some(reader) = self.slices.pop(&self.plan) {
            return Ok(Some(Box::new(reader)));
        }
        let Some((message, rows)) = self.next_batch()? else { return Ok(None) };
        let first_row = self.next_row;
        self.next_row += rows;
        let (plan, schema) = (Arc::clone(&self.plan), Arc::clone(&self.schema));
        let (dictionaries, columns) = (Arc::clone(&self.dictionaries), Arc::clone(&self.columns));
        let decode =
            move || arrow_message::decode_batch(&plan.path, &schema, &dictionaries, &columns, message);
        if rows > 4 * SLICE_ROWS as u64 {
            self.slices.push(&decode()?, first_row);
            return self.next_part();
        }
        // The worker decodes: the iterator runs when the first rows are asked for.
        let mut decode = Some(decode);
        let batch = std::iter::from_fn(move || decode.take().map(|decode| decode()));
        Ok(Some(Box::new(BatchReader::new(&self.plan, Box::new(batch), first_row))))
    }

    fn bytes_done(&self) -> u64 {
        self.bytes
    }
}
