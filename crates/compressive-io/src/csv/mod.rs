//! Delimited text: `.csv`, `.tsv`, `.txt`, plain, compressed with gzip, or from a stream.
//!
//! The source reads blocks of about 1 MB and cuts them at the last record boundary (outside quotes); that is
//! all that happens under the lock. The workers split the blocks into fields and read the numbers. Every
//! block knows the number of its first row and line, so that errors name them whatever the order of the
//! workers.
//!
//! Fields are in UTF-8 or, where they are not, in Windows-1252; numbers may have decimal commas, separators
//! of thousands and signs ([`notation`]).
//!
//! What it does not do: comments, UTF-16.

mod dialect;
mod notation;
pub(crate) mod number;
mod parse;
mod record;

use std::fs::File;
use std::io::{Cursor, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dialect::Dialect;
use flate2::read::MultiGzDecoder;
use parse::{BlockReader, Roles};

use crate::chunk::{RowChunk, RowReader};
use crate::error::{Error, Result};
use crate::fileio::{self, BufferPool, CountingFile, PeekReader};
use crate::options::ReadOptions;
use crate::plan::Plan;
use crate::table::{Opened, Parts, Sink, Spread, Table};

/// Bytes of text per part.
const BLOCK_BYTES: usize = 1 << 20;
/// Bytes looked at first to learn the dialect.
const PROBE_BYTES: usize = 1 << 18;
/// Longest record.
const RECORD_BYTES_MAX: usize = 1 << 26;

/// Opens a text file.
pub(crate) fn open_file(path: &Arc<str>, tab: bool, gz: bool, options: &ReadOptions) -> Result<Opened> {
    let mut file = CsvFile { path: Arc::clone(path), gz, dialect: None };
    let n_bytes = fileio::size(path, &fileio::open(path)?)?;
    if n_bytes == 0 {
        return Err(Error::EmptyFile { path: path.to_string() });
    }
    let (input, _) = file.input()?;
    let (dialect, columns) = probe(path, &mut PeekReader::new(input), tab, options)?;
    let (has_rows, remarks) = (dialect.has_rows, dialect.remarks.clone());
    file.dialect = Some(dialect);
    Ok(Opened {
        path: Arc::clone(path),
        columns,
        has_rows,
        n_rows: None,
        n_bytes: Some(n_bytes),
        remarks,
        table: Box::new(file),
    })
}

/// Opens text that arrives through a stream, already decompressed.
pub(crate) fn open_stream(path: &Arc<str>, mut stream: PeekReader, options: &ReadOptions) -> Result<Opened> {
    let (dialect, columns) = probe(path, &mut stream, false, options)?;
    let (has_rows, remarks) = (dialect.has_rows, dialect.remarks.clone());
    let table = CsvStream { path: Arc::clone(path), stream: Some(stream), dialect };
    Ok(Opened {
        path: Arc::clone(path),
        columns,
        has_rows,
        n_rows: None,
        n_bytes: None,
        remarks,
        table: Box::new(table),
    })
}

/// Looks at more and more of the stream until the dialect is clear.
fn probe(
    path: &str,
    stream: &mut PeekReader,
    tab: bool,
    options: &ReadOptions,
) -> Result<(Dialect, Vec<crate::plan::ColumnInfo>)> {
    let mut len = PROBE_BYTES;
    loop {
        let io_error = |source| Error::io(path, "read", source);
        let n = stream.peek(len).map_err(io_error)?.len();
        let ended = n < len;
        let head = stream.peek(len).map_err(io_error)?;
        if let Some(seen) = dialect::probe(path, head, ended, tab, options)? {
            return Ok(seen);
        }
        if len >= RECORD_BYTES_MAX {
            return Err(Error::UnclosedQuote { path: path.to_owned(), line: 1, bytes: len });
        }
        len *= 4;
    }
}

/// A text file, plain or compressed.
struct CsvFile {
    path: Arc<str>,
    gz: bool,
    dialect: Option<Dialect>,
}

/// Counter of the bytes read from the underlying file.
type Count = Arc<AtomicU64>;

impl CsvFile {
    /// The text of the file from its start.
    fn input(&self) -> Result<(Box<dyn Read + Send>, Count)> {
        let count = Count::default();
        let file = CountingFile { file: fileio::open(&self.path)?, count: Arc::clone(&count) };
        if self.gz {
            let buffered = std::io::BufReader::with_capacity(1 << 16, file);
            return Ok((Box::new(MultiGzDecoder::new(buffered)), count));
        }
        Ok((Box::new(file), count))
    }

    fn dialect(&self) -> &Dialect {
        self.dialect.as_ref().expect("a file is opened before it is read")
    }
}

impl Table for CsvFile {
    fn parts(&mut self, plan: &Arc<Plan>) -> Result<Box<dyn Parts>> {
        let (input, count) = self.input()?;
        Ok(Box::new(Blocks::new(input, count, self.dialect(), plan)?))
    }

    fn head(&mut self, plan: &Arc<Plan>, max_bytes: usize) -> Result<Box<dyn Parts>> {
        let (mut input, _) = self.input()?;
        let mut bytes = Vec::new();
        let ended = fileio::fill(&mut *input, &mut bytes, max_bytes)
            .map_err(|source| Error::io(&self.path, "read", source))?;
        head_blocks(bytes, ended, self.dialect(), plan)
    }

    fn sample(&mut self, plan: &Arc<Plan>, spread: &Spread, sink: Sink<'_>) -> Result<bool> {
        if self.gz {
            return Ok(false);
        }
        let mut file = fileio::open(&self.path)?;
        let size = fileio::size(&self.path, &file)?;
        let start = self.dialect().data_start;
        for fraction in &spread.fractions {
            let offset = start + (fraction * size.saturating_sub(start) as f64) as u64;
            self.sample_at(&mut file, offset, plan, spread.rows_per_point, sink)
                .map_err(|source| Error::io(&self.path, "read", source))?;
        }
        Ok(true)
    }
}

impl CsvFile {
    /// Reads records after the first newline behind `offset`. The place may lie inside quotes; what is then
    /// read as a record has the wrong number of fields or no numbers, and is dropped.
    fn sample_at(
        &self,
        file: &mut File,
        offset: u64,
        plan: &Arc<Plan>,
        rows: usize,
        sink: Sink<'_>,
    ) -> std::io::Result<()> {
        let dialect = self.dialect();
        let window = (dialect.record_bytes * (rows + 2) * 3 / 2).clamp(1 << 12, 1 << 22);
        file.seek(SeekFrom::Start(offset))?;
        let mut block = BufferPool::default().take();
        let ended = fileio::fill(file, &mut block.bytes, window)?;
        let bytes = &mut block.bytes;
        let newline = |byte: &u8| *byte == b'\n';
        let from = match bytes.iter().position(newline) {
            _ if offset == dialect.data_start => 0,
            Some(at) => at + 1,
            None => return Ok(()),
        };
        let end = if ended { bytes.len() } else { bytes.iter().rposition(newline).map_or(0, |at| at + 1) };
        bytes.truncate(end.max(from));
        bytes.drain(..from);
        let sample_plan = Arc::new(Plan { chunk_rows: rows, ..(**plan).clone() });
        let roles = Arc::new(Roles::new(&sample_plan, dialect));
        let mut reader = block_reader(block, &sample_plan, &roles, 1, 1);
        let mut chunk = RowChunk::default();
        if matches!(reader.next_rows(&mut chunk), Ok(true)) {
            sink(&chunk);
        }
        Ok(())
    }
}

/// Text from a stream that can be read once.
struct CsvStream {
    path: Arc<str>,
    stream: Option<PeekReader>,
    dialect: Dialect,
}

impl CsvStream {
    fn consumed(&self) -> Error {
        Error::StreamConsumed { path: self.path.to_string() }
    }
}

impl Table for CsvStream {
    fn parts(&mut self, plan: &Arc<Plan>) -> Result<Box<dyn Parts>> {
        let stream = self.stream.take().ok_or_else(|| self.consumed())?;
        Ok(Box::new(Blocks::new(Box::new(stream), Count::default(), &self.dialect, plan)?))
    }

    fn head(&mut self, plan: &Arc<Plan>, max_bytes: usize) -> Result<Box<dyn Parts>> {
        let consumed = self.consumed();
        let stream = self.stream.as_mut().ok_or(consumed)?;
        let bytes = stream.peek(max_bytes).map_err(|source| Error::io(&self.path, "read", source))?.to_vec();
        let ended = stream.ended();
        head_blocks(bytes, ended, &self.dialect, plan)
    }

    fn sample(&mut self, _: &Arc<Plan>, _: &Spread, _: Sink<'_>) -> Result<bool> {
        Ok(false)
    }
}

/// Parts over the first bytes of a text; an incomplete last record is dropped.
fn head_blocks(
    mut bytes: Vec<u8>,
    ended: bool,
    dialect: &Dialect,
    plan: &Arc<Plan>,
) -> Result<Box<dyn Parts>> {
    if !ended {
        let start = (dialect.data_start as usize).min(bytes.len());
        let end = start + record::cut(&bytes[start..], dialect.delimiter).end;
        bytes.truncate(end);
    }
    Ok(Box::new(Blocks::new(Box::new(Cursor::new(bytes)), Count::default(), dialect, plan)?))
}

/// Blocks of whole records.
struct Blocks {
    input: Box<dyn Read + Send>,
    count: Count,
    plan: Arc<Plan>,
    roles: Arc<Roles>,
    delimiter: u8,
    pool: BufferPool,
    /// Start of the record that the last block cut off.
    carry: Vec<u8>,
    ended: bool,
    next_row: u64,
    next_line: u64,
    block_bytes: usize,
}

impl Blocks {
    fn new(
        mut input: Box<dyn Read + Send>,
        count: Count,
        dialect: &Dialect,
        plan: &Arc<Plan>,
    ) -> Result<Self> {
        std::io::copy(&mut (&mut input).take(dialect.data_start), &mut std::io::sink())
            .map_err(|source| Error::io(&plan.path, "read", source))?;
        Ok(Blocks {
            input,
            count,
            plan: Arc::clone(plan),
            roles: Arc::new(Roles::new(plan, dialect)),
            delimiter: dialect.delimiter,
            pool: BufferPool::default(),
            carry: Vec::new(),
            ended: false,
            next_row: 1,
            next_line: dialect.data_line,
            block_bytes: BLOCK_BYTES,
        })
    }

    /// Reads until there is a whole record, and cuts after the last one.
    fn read_block(&mut self, bytes: &mut Vec<u8>) -> Result<record::Cut> {
        bytes.append(&mut self.carry);
        let mut len = self.block_bytes;
        loop {
            if !self.ended {
                self.ended = fileio::fill(&mut *self.input, bytes, len)
                    .map_err(|source| Error::io(&self.plan.path, "read", source))?;
            }
            let cut = record::cut(bytes, self.delimiter);
            let unclosed = (self.ended && cut.in_quotes) || bytes.len() >= RECORD_BYTES_MAX;
            if cut.end == 0 && unclosed {
                return Err(Error::UnclosedQuote {
                    path: self.plan.path.to_string(),
                    line: self.next_line,
                    bytes: bytes.len(),
                });
            }
            if self.ended && !cut.in_quotes {
                // The last record may lack its newline.
                let rest = bytes.len() - cut.end;
                let extra = u64::from(rest > 0 && record::empty_line(bytes, cut.end).is_none());
                return Ok(record::Cut { end: bytes.len(), records: cut.records + extra, ..cut });
            }
            if cut.end > 0 {
                self.carry.extend_from_slice(&bytes[cut.end..]);
                bytes.truncate(cut.end);
                return Ok(cut);
            }
            len += self.block_bytes;
        }
    }
}

fn block_reader(
    block: fileio::PooledBuffer,
    plan: &Arc<Plan>,
    roles: &Arc<Roles>,
    first_row: u64,
    first_line: u64,
) -> BlockReader {
    BlockReader {
        block,
        plan: Arc::clone(plan),
        roles: Arc::clone(roles),
        first_row,
        first_line,
        at: 0,
        done: 0,
        scratch: Vec::new(),
    }
}

impl Parts for Blocks {
    fn next_part(&mut self) -> Result<Option<Box<dyn RowReader + Send>>> {
        if self.ended && self.carry.is_empty() {
            return Ok(None);
        }
        let mut block = self.pool.take();
        let cut = self.read_block(&mut block.bytes)?;
        if block.bytes.is_empty() {
            return Ok(None);
        }
        let reader = block_reader(block, &self.plan, &self.roles, self.next_row, self.next_line);
        self.next_row += cut.records;
        self.next_line += cut.lines;
        Ok(Some(Box::new(reader)))
    }

    fn bytes_done(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}
