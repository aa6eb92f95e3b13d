//! Rows of a source to a collector, in a run that a later call takes up.
//!
//! A run is known by its rows: files by their paths, as the command does it; rows
//! in memory by a digest of their values, which costs a pass over them; rows that can be read once by a name
//! that the user gives. A name can be given to all of them, and stands for the rows then.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use compressive::{RowsRef, SketchOperator};
use compressive_client::{Client, PushParams, Rows, Spool};
use compressive_io::{DataSource, DriveOptions, Progress, Ready, RowChunk, RowReader, pass_in_order};
use pyo3::prelude::*;
use sha2::{Digest, Sha256};

use crate::array::{Buffers, Matrix, block_rows};
use crate::error::{self, CompressiveError};
use crate::pass::{Watch, watched};
use crate::source::{Identity, Source, SourceKind, lock, named};

/// Rows of an array, copied block by block.
struct ArrayRows<'a> {
    matrix: Matrix<'a>,
    columns: &'a [String],
    next: usize,
}

/// One block of them.
struct Block {
    dim: usize,
    first_row: u64,
    values: Option<Vec<f64>>,
}

impl DataSource for ArrayRows<'_> {
    fn columns(&self) -> &[String] {
        self.columns
    }

    fn next_part(&mut self) -> compressive_io::Result<Option<Box<dyn RowReader + Send>>> {
        let (start, dim) = (self.next, self.matrix.dim());
        self.next = (start + block_rows(dim)).min(self.matrix.n_rows());
        if start == self.next {
            return Ok(None);
        }
        let values = Some(self.matrix.take(start..self.next));
        Ok(Some(Box::new(Block { dim, first_row: start as u64 + 1, values })))
    }
}

impl RowReader for Block {
    fn next_rows(&mut self, out: &mut RowChunk) -> compressive_io::Result<bool> {
        let Some(values) = self.values.take() else { return Ok(false) };
        out.reset(&Arc::from("X"), self.first_row, self.dim);
        for row in values.chunks_exact(self.dim) {
            out.push_row(row, None, None);
        }
        Ok(true)
    }
}

/// The first value that is not a finite number is the error.
fn check_finite(matrix: Matrix<'_>, watch: &Watch) -> compressive::Result<()> {
    let (n, dim, mut buffers) = (matrix.n_rows(), matrix.dim(), Buffers::default());
    for start in (0..n).step_by(block_rows(dim)) {
        let rows = start..(start + block_rows(dim)).min(n);
        let found = match matrix.block(rows, &mut buffers) {
            RowsRef::F64(v) => v.iter().position(|x| !x.is_finite()).map(|i| (i, v[i])),
            RowsRef::F32(v) => v.iter().position(|x| !x.is_finite()).map(|i| (i, f64::from(v[i]))),
        };
        if let Some((i, value)) = found {
            return Err(compressive::Error::NotFinite { row: start + i / dim, column: i % dim, value });
        }
        if watch.cancel.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok(())
}

/// Calls `work` with all rows of a source, on a thread of its own; those of an array are checked before.
fn with_rows<T: Send>(
    py: Python<'_>,
    source: &Source,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Watch, &mut dyn DataSource) -> PyResult<T> + Send,
) -> PyResult<T> {
    match source.kind() {
        SourceKind::Array(array) => {
            let borrowed = array.borrow(py)?;
            let (matrix, columns) = (borrowed.matrix(), &source.names()[..]);
            if matrix.n_rows() == 0 {
                return Err(CompressiveError::new_err("no row to push: the table has none"));
            }
            watched(py, progress, |watch| {
                check_finite(matrix, watch).map_err(|e| named(e, columns))?;
                work(watch, &mut ArrayRows { matrix, columns, next: 0 })
            })
        }
        SourceKind::Table(dataset) => watched(py, progress, |watch| {
            let mut dataset = lock(dataset);
            let mut rows = dataset.source().map_err(error::io)?;
            work(watch, &mut rows)
        }),
    }
}

/// SHA-256 of the values of all rows, as little-endian f64 in the order of the rows.
fn digest_of_values(py: Python<'_>, source: &Source, threads: usize) -> PyResult<String> {
    with_rows(py, source, None, |watch, rows| {
        let options = DriveOptions { threads, cancel: Some(&watch.cancel), ..DriveOptions::default() };
        let new_worker = || {
            |chunk: &RowChunk| {
                let value: Vec<u8> = match chunk.rows() {
                    RowsRef::F64(rows) => rows.iter().flat_map(|x| x.to_le_bytes()).collect(),
                    RowsRef::F32(rows) => rows.iter().flat_map(|x| f64::from(*x).to_le_bytes()).collect(),
                };
                Ok(Ready { bytes: value.len(), value })
            }
        };
        let mut hash = Sha256::new();
        let mut deliver = |part: Vec<u8>| {
            hash.update(&part);
            Ok(())
        };
        pass_in_order(rows, &options, &new_worker, &mut deliver).map_err(error::io)?;
        Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    })
}

/// What a later call knows the rows of a source by.
pub fn rows_of(py: Python<'_>, source: &Source, name: Option<&str>, threads: usize) -> PyResult<Rows> {
    match (name, source.identity()) {
        (Some(name), _) => Ok(Rows::Named(name.to_owned())),
        (None, Identity::Files(paths)) => Ok(Rows::Files(paths.clone())),
        (None, Identity::Values) => Ok(Rows::Values(digest_of_values(py, source, threads)?)),
        (None, Identity::Nothing) => Err(error::argument(
            "these rows can only be read once, so a later call could not recognise them: name them with run=\"...\", and use the name again for the same rows only",
        )),
    }
}

/// To whom, as what and how rows are sent.
#[derive(Clone, Copy)]
pub struct Way<'a> {
    pub client: &'a Client,
    pub operator: &'a SketchOperator,
    pub params: PushParams<'a>,
    pub threads: usize,
}

/// Sends what the spool's run has not sent yet: rows acknowledged, batches, and batches that had been counted
/// before.
pub fn send(
    py: Python<'_>,
    source: &Source,
    spool: &mut Spool,
    way: Way<'_>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<(u64, u64, u64)> {
    let Way { client, operator, params, threads } = way;
    with_rows(py, source, progress, |watch, rows| {
        let report = |p: Progress| watch.rows.store(p.rows, Ordering::Relaxed);
        let options = DriveOptions {
            threads,
            cancel: Some(&watch.cancel),
            progress: Some(&report),
            ..DriveOptions::default()
        };
        let client = client.clone().stopped_by(Arc::clone(&watch.cancel));
        let pushed = compressive_client::push(&client, operator, Some(rows), spool, &params, &options);
        pushed.map(|p| (p.rows, p.batches, p.repeated)).map_err(error::collector)
    })
}
