//! NumPy arrays: `.npy` files of one or two dimensions, and streams of them.
//!
//! Columns are called `x0`, `x1`, ... A part is a range of rows of about 1 MB that the worker fetches with
//! positioned reads on the shared file: in C order one read, in Fortran order one read per column in use. f32
//! stays f32; all other types become f64.

mod decode;
mod header;

use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use decode::{Layout, RangeReader};
use header::{HEADER_BYTES_MAX, Header};

use crate::chunk::{RowChunk, RowReader};
use crate::error::{Error, Result};
use crate::fileio::{self, BufferPool, PeekReader};
use crate::plan::{ColumnInfo, ColumnKind, Plan};
use crate::table::{Opened, Parts, Sink, Spread, Table, drain};

/// Bytes of rows per part.
const PART_BYTES: usize = 1 << 20;

/// Opens a `.npy` file.
pub(crate) fn open_file(path: &Arc<str>) -> Result<Opened> {
    let file = fileio::open(path)?;
    let size = fileio::size(path, &file)?;
    if size == 0 {
        return Err(Error::EmptyFile { path: path.to_string() });
    }
    let mut head = vec![0; size.min(12 + HEADER_BYTES_MAX as u64) as usize];
    fileio::read_exact_at(&file, &mut head, 0).map_err(|source| Error::io(path, "read", source))?;
    let header = header::parse(path, &head)?;
    if size < header.file_bytes() {
        return Err(Error::Truncated { path: path.to_string(), expected: header.file_bytes(), found: size });
    }
    if size > header.file_bytes() {
        return Err(trailing(path, Some(size - header.file_bytes())));
    }
    let opened = (columns(&header), header.n_rows);
    let table = NpyFile { path: Arc::clone(path), header: Arc::new(header) };
    Ok(finish(path, opened, Some(size), Box::new(table)))
}

/// Opens an array that arrives through a stream.
pub(crate) fn open_stream(path: &Arc<str>, mut stream: PeekReader) -> Result<Opened> {
    let head = stream.peek(12 + HEADER_BYTES_MAX).map_err(|source| Error::io(path, "read", source))?;
    let header = header::parse(path, head)?;
    if header.fortran && header.n_columns > 1 {
        return Err(Error::Unsupported {
            path: path.to_string(),
            what: "an array in Fortran order has its first row complete only at the end of the stream"
                .to_owned(),
            remedy: "give the file by name, or save it in C order: np.save(file, np.ascontiguousarray(a))",
        });
    }
    let opened = (columns(&header), header.n_rows);
    let table = NpyStream { path: Arc::clone(path), stream: Some(stream), header: Arc::new(header) };
    Ok(finish(path, opened, None, Box::new(table)))
}

/// The error for bytes behind the array, of which nobody knows what they are.
fn trailing(path: &str, n_bytes: Option<u64>) -> Error {
    let count = n_bytes.map_or_else(|| "bytes".to_owned(), |n| format!("{n} bytes"));
    Error::Unsupported {
        path: path.to_owned(),
        what: format!("{count} follow the array that its header announces"),
        remedy: "save one array a file, and write it again if its header is damaged",
    }
}

fn finish(
    path: &Arc<str>,
    (columns, n_rows): (Vec<ColumnInfo>, u64),
    n_bytes: Option<u64>,
    table: Box<dyn Table>,
) -> Opened {
    let (has_rows, n_rows, remarks) = (n_rows > 0, Some(n_rows), Vec::new());
    Opened { path: Arc::clone(path), columns, has_rows, n_rows, n_bytes, remarks, table }
}

fn columns(header: &Header) -> Vec<ColumnInfo> {
    (0..header.n_columns).map(|i| ColumnInfo { name: format!("x{i}"), kind: ColumnKind::Number }).collect()
}

fn rows_per_part(header: &Header) -> u64 {
    (PART_BYTES / header.row_bytes().max(1)).max(1) as u64
}

/// The file is opened for every pass: a data set may have more files than a process may hold open.
struct NpyFile {
    path: Arc<str>,
    header: Arc<Header>,
}

impl NpyFile {
    fn ranges(&self, plan: &Arc<Plan>) -> Result<Ranges> {
        Ok(Ranges {
            file: Arc::new(fileio::open(&self.path)?),
            header: Arc::clone(&self.header),
            plan: Arc::clone(plan),
            pool: BufferPool::default(),
            next: 0,
            end: self.header.n_rows,
        })
    }
}

impl Table for NpyFile {
    fn parts(&mut self, plan: &Arc<Plan>) -> Result<Box<dyn Parts>> {
        Ok(Box::new(self.ranges(plan)?))
    }

    fn sample(&mut self, plan: &Arc<Plan>, spread: &Spread, sink: Sink<'_>) -> Result<bool> {
        let mut chunk = RowChunk::default();
        let ranges = self.ranges(plan)?;
        for fraction in &spread.fractions {
            let first = (fraction * self.header.n_rows as f64) as u64;
            let end = (first + spread.rows_per_point as u64).min(self.header.n_rows);
            drain(&mut ranges.reader(first, end)?, &mut chunk, sink)?;
        }
        Ok(true)
    }
}

/// Ranges of rows of a file.
struct Ranges {
    file: Arc<File>,
    header: Arc<Header>,
    plan: Arc<Plan>,
    pool: BufferPool,
    next: u64,
    end: u64,
}

impl Ranges {
    fn reader(&self, first: u64, end: u64) -> Result<RangeReader> {
        Ok(RangeReader {
            source: Some(Arc::clone(&self.file)),
            header: Arc::clone(&self.header),
            plan: Arc::clone(&self.plan),
            bytes: self.pool.take(),
            layout: Layout::new(&self.header, &self.plan, (end - first) as usize)?,
            first,
            at: 0,
        })
    }
}

impl Parts for Ranges {
    fn next_part(&mut self) -> Result<Option<Box<dyn RowReader + Send>>> {
        if self.next >= self.end {
            return Ok(None);
        }
        let first = self.next;
        self.next = (first + rows_per_part(&self.header)).min(self.end);
        Ok(Some(Box::new(self.reader(first, self.next)?)))
    }

    fn bytes_done(&self) -> u64 {
        self.next * self.header.row_bytes() as u64
    }
}

struct NpyStream {
    path: Arc<str>,
    stream: Option<PeekReader>,
    header: Arc<Header>,
}

impl NpyStream {
    fn consumed(&self) -> Error {
        Error::StreamConsumed { path: self.path.to_string() }
    }

    fn blocks(
        &self,
        plan: &Arc<Plan>,
        mut input: Box<dyn Read + Send>,
        n_rows: u64,
        whole: bool,
    ) -> Result<Box<dyn Parts>> {
        std::io::copy(&mut (&mut input).take(self.header.data_start), &mut std::io::sink())
            .map_err(|source| Error::io(&self.path, "read", source))?;
        Ok(Box::new(StreamBlocks {
            input,
            header: Arc::clone(&self.header),
            plan: Arc::clone(plan),
            pool: BufferPool::default(),
            next: 0,
            end: n_rows,
            whole,
        }))
    }
}

impl Table for NpyStream {
    fn parts(&mut self, plan: &Arc<Plan>) -> Result<Box<dyn Parts>> {
        let stream = self.stream.take().ok_or_else(|| self.consumed())?;
        self.blocks(plan, Box::new(stream), self.header.n_rows, true)
    }

    fn head(&mut self, plan: &Arc<Plan>, max_bytes: usize) -> Result<Box<dyn Parts>> {
        let consumed = self.consumed();
        let stream = self.stream.as_mut().ok_or(consumed)?;
        let bytes = stream.peek(max_bytes).map_err(|source| Error::io(&self.path, "read", source))?.to_vec();
        let data = bytes.len() as u64 - self.header.data_start.min(bytes.len() as u64);
        let rows = (data / self.header.row_bytes().max(1) as u64).min(self.header.n_rows);
        self.blocks(plan, Box::new(std::io::Cursor::new(bytes)), rows, false)
    }

    fn sample(&mut self, _: &Arc<Plan>, _: &Spread, _: Sink<'_>) -> Result<bool> {
        Ok(false)
    }
}

/// Blocks of whole rows of a stream.
struct StreamBlocks {
    input: Box<dyn Read + Send>,
    header: Arc<Header>,
    plan: Arc<Plan>,
    pool: BufferPool,
    next: u64,
    end: u64,
    /// Whether nothing may follow the last row.
    whole: bool,
}

impl Parts for StreamBlocks {
    fn next_part(&mut self) -> Result<Option<Box<dyn RowReader + Send>>> {
        if self.next >= self.end {
            let mut beyond = Vec::new();
            let ended = !self.whole
                || fileio::fill(&mut *self.input, &mut beyond, 1)
                    .map_err(|source| Error::io(&self.plan.path, "read", source))?;
            return if ended { Ok(None) } else { Err(trailing(&self.plan.path, None)) };
        }
        let first = self.next;
        self.next = (first + rows_per_part(&self.header)).min(self.end);
        let n_rows = (self.next - first) as usize;
        let mut bytes = self.pool.take();
        let len = n_rows * self.header.row_bytes();
        let ended = fileio::fill(&mut *self.input, &mut bytes.bytes, len)
            .map_err(|source| Error::io(&self.plan.path, "read", source))?;
        if ended {
            return Err(Error::Truncated {
                path: self.plan.path.to_string(),
                expected: self.header.file_bytes(),
                found: self.header.data_start
                    + first * self.header.row_bytes() as u64
                    + bytes.bytes.len() as u64,
            });
        }
        Ok(Some(Box::new(RangeReader {
            source: None,
            header: Arc::clone(&self.header),
            plan: Arc::clone(&self.plan),
            bytes,
            layout: Layout::new(&self.header, &self.plan, n_rows)?,
            first,
            at: 0,
        })))
    }

    fn bytes_done(&self) -> u64 {
        self.next * self.header.row_bytes() as u64
    }
}
