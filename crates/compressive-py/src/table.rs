//! Numbers for each row of a source, in the order of the rows.

use std::sync::Mutex;

use compressive::{Missing, RowsRef};
use compressive_io::{Readable, Ready, RowChunk, pass_in_order};
use numpy::ndarray::Array2;
use numpy::{Element, PyArray2};
use pyo3::prelude::*;

use crate::array::{Buffers, block_rows, moved, over_blocks};
use crate::error;
use crate::pass::watched;
use crate::source::{Source, SourceKind, drive, lock, named, warn};

/// `width` numbers for each row of a source, in the order of the rows; with `fill` missing entries are handed
/// on as NaN.
pub fn table<'py, T: Element + Copy + Default + Send + Sync>(
    py: Python<'py>,
    source: &Source,
    threads: usize,
    (dim, width): (usize, usize),
    fill: bool,
    of_rows: impl Fn(RowsRef<'_>) -> compressive::Result<Vec<T>> + Sync + Send,
) -> PyResult<Bound<'py, PyArray2<T>>> {
    if source.names().len() != dim {
        let error = compressive_io::Error::WrongWidth { expected: dim, found: source.names().len() };
        return Err(error::io(error));
    }
    let values: Vec<T> = match source.kind() {
        SourceKind::Array(array) => {
            let borrowed = array.borrow(py)?;
            let matrix = borrowed.matrix();
            watched(py, None, |watch| {
                let (n, block) = (matrix.n_rows(), block_rows(dim));
                let mut values = vec![T::default(); n * width];
                let slots: Vec<Mutex<&mut [T]>> =
                    values.chunks_mut((block * width).max(1)).map(Mutex::new).collect();
                over_blocks(n, block, threads, watch, Buffers::default, |buffers, number, rows| {
                    let start = rows.start;
                    let found = of_rows(matrix.block(rows, buffers));
                    let found = found.map_err(|error| moved(error, |row| start + row))?;
                    if let Some(slot) = slots.get(number) {
                        slot.lock().unwrap_or_else(|e| e.into_inner()).copy_from_slice(&found);
                    }
                    Ok(())
                })
                .map_err(|error| named(error, &source.names()))?;
                drop(slots);
                Ok(values)
            })?
        }
        SourceKind::Table(dataset) => watched(py, None, |watch| {
            let mut values = Vec::new();
            drive(watch, threads, 1, |options| {
                let mut dataset = lock(dataset);
                if fill {
                    Readable::treat_missing(&mut *dataset, Missing::Fill)?;
                }
                let new_worker = || {
                    |chunk: &RowChunk| {
                        let value = of_rows(chunk.rows())?;
                        Ok(Ready { bytes: std::mem::size_of_val(&value[..]), value })
                    }
                };
                pass_in_order(&mut dataset.source()?, options, &new_worker, &mut |part: Vec<T>| {
                    values.extend(part);
                    Ok(())
                })
            })
            .map_err(error::io)?;
            Ok(values)
        })
        .and_then(|values| {
            let strays = lock(dataset).strays();
            strays.iter().try_for_each(|stray| warn(py, &stray.to_string())).map(|()| values)
        })?,
    };
    let n = values.len().checked_div(width).unwrap_or(0);
    let array = Array2::from_shape_vec((n, width), values).map_err(|e| error::argument(e.to_string()))?;
    Ok(PyArray2::from_owned_array(py, array))
}
