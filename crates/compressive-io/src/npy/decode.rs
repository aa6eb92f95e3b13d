//! Elements of a range of rows, from bytes to values.

use std::fs::File;
use std::sync::Arc;

use super::header::{Element, Header};
use crate::chunk::{RowChunk, RowReader, Slot, number_key};
use crate::error::{Error, Result};
use crate::fileio::{self, PooledBuffer};
use crate::plan::Plan;

/// Where the elements of a range lie in its buffer: row r of file column c at byte `start(c) + r * stride`.
#[derive(Debug)]
pub(super) struct Layout {
    n_rows: usize,
    stride: usize,
    /// Byte of row 0 for every feature.
    features: Vec<usize>,
    weights: Option<usize>,
    by: Option<usize>,
    /// For Fortran order: the file columns in the buffer, one after the other.
    columns: Option<Vec<usize>>,
    /// Whether the buffer is exactly the features, row by row.
    whole_rows: bool,
}

impl Layout {
    pub(super) fn new(header: &Header, plan: &Plan, n_rows: usize) -> Result<Self> {
        let size = header.element.size();
        // A single column lies the same way in both orders.
        let columns = (header.fortran && header.n_columns > 1).then(|| plan.file_columns());
        let start = |column: usize| match &columns {
            None => column * size,
            Some(held) => held.partition_point(|&other| other < column) * n_rows * size,
        };
        let features = plan.plain_columns()?;
        let identity = features.iter().copied().eq(0..header.n_columns);
        Ok(Layout {
            n_rows,
            stride: if columns.is_some() { size } else { header.row_bytes() },
            features: features.iter().map(|&column| start(column)).collect(),
            weights: plan.weights.map(start),
            by: plan.by.map(start),
            whole_rows: identity && columns.is_none(),
            columns,
        })
    }
}

/// Reader of one range of rows.
pub(super) struct RangeReader {
    /// The file to fetch the range from; `None` if the bytes are there already.
    pub source: Option<Arc<File>>,
    pub header: Arc<Header>,
    pub plan: Arc<Plan>,
    pub bytes: PooledBuffer,
    pub layout: Layout,
    /// First row of the range, from 0.
    pub first: u64,
    /// Rows of the range done.
    pub at: usize,
}

impl RowReader for RangeReader {
    fn next_rows(&mut self, out: &mut RowChunk) -> Result<bool> {
        if let Some(file) = self.source.take() {
            self.fetch(&file).map_err(|source| Error::io(&self.plan.path, "read", source))?;
        }
        let n_rows = (self.layout.n_rows - self.at).min(self.plan.chunk_rows);
        let first_row = self.first + self.at as u64 + 1;
        out.reset(&self.plan.path, first_row, self.plan.dim());
        if n_rows == 0 {
            return Ok(false);
        }
        let single = self.header.element == Element::F32;
        out.declare(single, self.plan.weights.is_some(), self.plan.by.is_some());
        if single {
            self.fill(&mut out.singles, n_rows, |bytes| f32::from_le_bytes(array(bytes)));
        } else {
            self.fill_doubles(&mut out.doubles, n_rows);
        }
        let rows = self.at..self.at + n_rows;
        if let Some(start) = self.layout.weights {
            out.weights.extend(rows.clone().map(|row| self.value(start, row)));
        }
        if let Some(start) = self.layout.by {
            rows.for_each(|row| match self.key(start, row) {
                Some(key) => out.keys.push(&key),
                None => out.keys.push_missing(),
            });
        }
        let at = self.at;
        self.at += n_rows;
        out.settle(n_rows, (self.plan.skip_bad_rows, self.plan.missing), |row, slot| {
            let start = match slot {
                Slot::Feature(i) | Slot::Entry(i) => self.layout.features[i],
                Slot::Weight => self.layout.weights.unwrap_or(0),
                Slot::Group => self.layout.by.unwrap_or(0),
            };
            let text = format!("{}", self.value(start, at + row));
            self.plan.bad(slot, first_row + row as u64, None, text)
        })?;
        Ok(true)
    }
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("an element has its size")
}

impl RangeReader {
    /// Reads the bytes of the range.
    fn fetch(&mut self, file: &File) -> std::io::Result<()> {
        let buffer = &mut self.bytes.bytes;
        let start = self.header.data_start;
        match &self.layout.columns {
            None => {
                buffer.resize(self.layout.n_rows * self.header.row_bytes(), 0);
                fileio::read_exact_at(file, buffer, start + self.first * self.header.row_bytes() as u64)
            }
            Some(columns) => {
                let size = self.header.element.size();
                let len = self.layout.n_rows * size;
                buffer.resize(columns.len() * len, 0);
                for (part, &column) in buffer.chunks_exact_mut(len).zip(columns) {
                    let element = column as u64 * self.header.n_rows + self.first;
                    fileio::read_exact_at(file, part, start + element * size as u64)?;
                }
                Ok(())
            }
        }
    }

    /// Appends the features of the next rows, row by row.
    fn fill<T: Copy + Default>(&self, out: &mut Vec<T>, n_rows: usize, read: impl Fn(&[u8]) -> T) {
        let size = self.header.element.size();
        let bytes = &self.bytes.bytes;
        let dim = self.layout.features.len();
        if self.layout.whole_rows {
            let span = self.at * self.layout.stride..(self.at + n_rows) * self.layout.stride;
            out.extend(bytes[span].chunks_exact(size).map(read));
            return;
        }
        out.resize(n_rows * dim, T::default());
        for (i, start) in self.layout.features.iter().enumerate() {
            let mut at = start + self.at * self.layout.stride;
            for value in out[i..].iter_mut().step_by(dim) {
                *value = read(&bytes[at..at + size]);
                at += self.layout.stride;
            }
        }
    }

    fn fill_doubles(&self, out: &mut Vec<f64>, n_rows: usize) {
        match self.header.element {
            Element::F64 => self.fill(out, n_rows, |bytes| f64::from_le_bytes(array(bytes))),
            element => self.fill(out, n_rows, |bytes| number(element, bytes)),
        }
    }

    fn element(&self, start: usize, row: usize) -> &[u8] {
        let at = start + row * self.layout.stride;
        &self.bytes.bytes[at..at + self.header.element.size()]
    }

    fn value(&self, start: usize, row: usize) -> f64 {
        number(self.header.element, self.element(start, row))
    }

    /// Group key of a row; integers are not passed through f64, which would merge large ones.
    fn key(&self, start: usize, row: usize) -> Option<String> {
        let bytes = self.element(start, row);
        match self.header.element {
            Element::F32 => {
                let value = f32::from_le_bytes(array(bytes));
                number_key(f64::from(value), || format!("{value:?}"))
            }
            Element::F64 => {
                let value = f64::from_le_bytes(array(bytes));
                number_key(value, || format!("{value:?}"))
            }
            Element::Bool => Some((bytes[0] != 0).to_string()),
            Element::Signed(_) => Some(signed(bytes).to_string()),
            Element::Unsigned(_) => Some(unsigned(bytes).to_string()),
        }
    }
}

fn number(element: Element, bytes: &[u8]) -> f64 {
    match element {
        Element::F32 => f64::from(f32::from_le_bytes(array(bytes))),
        Element::F64 => f64::from_le_bytes(array(bytes)),
        Element::Bool => f64::from(u8::from(bytes[0] != 0)),
        Element::Signed(_) => signed(bytes) as f64,
        Element::Unsigned(_) => unsigned(bytes) as f64,
    }
}

fn unsigned(bytes: &[u8]) -> u64 {
    let mut all = [0; 8];
    all[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(all)
}

fn signed(bytes: &[u8]) -> i64 {
    let unused = 64 - 8 * bytes.len() as u32;
    (unsigned(bytes) << unused) as i64 >> unused
}
