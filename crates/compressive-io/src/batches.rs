//! Arrow record batches handed over by another program in the same process: a stream that is read once, or a
//! table that is in memory already.
//!
//! The first batches of a stream that a pilot looks at are kept for the full pass. A table in memory can be
//! read any number of times and sampled at any place; its batches are shared, not copied.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::SchemaRef;

use crate::arrow_ipc::Slices;
use crate::chunk::{RowChunk, RowReader};
use crate::columnar::{self, BatchReader};
use crate::error::{Error, Result};
use crate::plan::Plan;
use crate::table::{Opened, Parts, Sink, Spread, Table, drain};

/// Record batches, one by one.
pub(crate) type Reader = Box<dyn RecordBatchReader + Send>;

/// A stream whose rows come once.
pub(crate) fn open_stream(name: &str, reader: Reader) -> Opened {
    let path: Arc<str> = Arc::from(name);
    let schema = reader.schema();
    Opened {
        columns: columnar::columns(&schema),
        has_rows: true,
        n_rows: None,
        n_bytes: None,
        remarks: Vec::new(),
        table: Box::new(Stream {
            path: Arc::clone(&path),
            schema,
            held: VecDeque::new(),
            rest: Some(reader),
        }),
        path,
    }
}

/// A table whose batches are in memory.
pub(crate) fn open_memory(name: &str, reader: Reader) -> Result<Opened> {
    let path: Arc<str> = Arc::from(name);
    let schema = reader.schema();
    let batches = reader.map(|batch| batch.map_err(|e| broken(name, e))).collect::<Result<Vec<_>>>()?;
    let n_rows: u64 = batches.iter().map(|batch| batch.num_rows() as u64).sum();
    if n_rows == 0 {
        return Err(Error::NoRows { rows_skipped: 0 });
    }
    let n_bytes: usize = batches.iter().map(RecordBatch::get_array_memory_size).sum();
    Ok(Opened {
        columns: columnar::columns(&schema),
        has_rows: true,
        n_rows: Some(n_rows),
        n_bytes: Some(n_bytes as u64),
        remarks: Vec::new(),
        table: Box::new(Memory { schema, batches: batches.into(), n_rows }),
        path,
    })
}

fn broken(path: &str, error: impl ToString) -> Error {
    Error::BrokenStream { path: path.to_owned(), reason: error.to_string() }
}

struct Stream {
    path: Arc<str>,
    schema: SchemaRef,
    /// Batches that were looked at and not yet handed out.
    held: VecDeque<RecordBatch>,
    rest: Option<Reader>,
}

impl Table for Stream {
    fn parts(&mut self, plan: &Arc<Plan>) -> Result<Box<dyn Parts>> {
        let rest = self.rest.take().ok_or_else(|| Error::StreamConsumed { path: self.path.to_string() })?;
        let held = std::mem::take(&mut self.held).into_iter().map(Ok);
        let path = Arc::clone(&self.path);
        let rest = rest.map(move |batch| batch.map_err(|e| broken(&path, e)));
        Ok(Box::new(BatchParts::new(plan, &self.schema, Box::new(held.chain(rest)))?))
    }

    fn head(&mut self, plan: &Arc<Plan>, max_bytes: usize) -> Result<Box<dyn Parts>> {
        let rest = self.rest.as_mut().ok_or_else(|| Error::StreamConsumed { path: self.path.to_string() })?;
        let mut bytes: usize = self.held.iter().map(RecordBatch::get_array_memory_size).sum();
        while bytes < max_bytes {
            let Some(batch) = rest.next() else { break };
            let batch = batch.map_err(|e| broken(&self.path, e))?;
            bytes += batch.get_array_memory_size();
            self.held.push_back(batch);
        }
        let held = self.held.clone().into_iter().map(Ok);
        Ok(Box::new(BatchParts::new(plan, &self.schema, Box::new(held))?))
    }

    fn sample(&mut self, _: &Arc<Plan>, _: &Spread, _: Sink<'_>) -> Result<bool> {
        Ok(false)
    }
}

struct Memory {
    schema: SchemaRef,
    batches: Arc<[RecordBatch]>,
    n_rows: u64,
}

impl Memory {
    /// At most `n_rows` rows from row `start` (from 0) on, within one batch.
    fn slice(&self, start: u64, n_rows: usize) -> Option<RecordBatch> {
        let mut before = 0;
        for batch in &*self.batches {
            let end = before + batch.num_rows() as u64;
            if start < end {
                let at = (start - before) as usize;
                return Some(batch.slice(at, n_rows.min(batch.num_rows() - at)));
            }
            before = end;
        }
        None
    }
}

impl Table for Memory {
    fn parts(&mut self, plan: &Arc<Plan>) -> Result<Box<dyn Parts>> {
        let batches = Arc::clone(&self.batches);
        let all = (0..batches.len()).map(move |i| Ok(batches[i].clone()));
        Ok(Box::new(BatchParts::new(plan, &self.schema, Box::new(all))?))
    }

    fn sample(&mut self, plan: &Arc<Plan>, spread: &Spread, sink: Sink<'_>) -> Result<bool> {
        columnar::require_types(plan, &columnar::columns(&self.schema))?;
        let mut chunk = RowChunk::default();
        for fraction in &spread.fractions {
            let start = (fraction * self.n_rows as f64) as u64;
            if let Some(batch) = self.slice(start, spread.rows_per_point) {
                let mut reader = BatchReader::of_batch(plan, projected(&batch, plan)?, start + 1);
                drain(&mut reader, &mut chunk, sink)?;
            }
        }
        Ok(true)
    }
}

/// The columns that the plan reads.
fn projected(batch: &RecordBatch, plan: &Plan) -> Result<RecordBatch> {
    batch.project(&plan.file_columns()).map_err(|e| broken(&plan.path, e))
}

/// Batches in their order, cut into slices.
struct BatchParts {
    plan: Arc<Plan>,
    batches: Box<dyn Iterator<Item = Result<RecordBatch>> + Send>,
    slices: Slices,
    next_row: u64,
    bytes: u64,
}

impl BatchParts {
    fn new(
        plan: &Arc<Plan>,
        schema: &SchemaRef,
        batches: Box<dyn Iterator<Item = Result<RecordBatch>> + Send>,
    ) -> Result<BatchParts> {
        columnar::require_types(plan, &columnar::columns(schema))?;
        Ok(BatchParts { plan: Arc::clone(plan), batches, slices: Slices::default(), next_row: 1, bytes: 0 })
    }
}

impl Parts for BatchParts {
    fn next_part(&mut self) -> Result<Option<Box<dyn RowReader + Send>>> {
        loop {
            if let Some(reader) = self.slices.pop(&self.plan) {
                return Ok(Some(Box::new(reader)));
            }
            let Some(batch) = self.batches.next() else { return Ok(None) };
            let batch = projected(&batch?, &self.plan)?;
            self.bytes += batch.get_array_memory_size() as u64;
            self.slices.push(&batch, self.next_row);
            self.next_row += batch.num_rows() as u64;
        }
    }

    fn bytes_done(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, Float64Array, RecordBatchIterator, StringArray};
    use compressive::{FrequencyLaw, SketchSpec};

    use super::*;
    use crate::{Dataset, DriveOptions, ReadOptions, sketch_dataset};

    fn batches(sizes: &[usize]) -> Reader {
        let mut next = 0;
        let mut all = Vec::new();
        for &n in sizes {
            let x: Vec<f64> = (next..next + n).map(|i| i as f64).collect();
            let name: Vec<String> =
                (next..next + n).map(|i| if i % 3 == 0 { "a" } else { "b" }.into()).collect();
            next += n;
            let columns: Vec<(&str, ArrayRef)> =
                vec![("name", Arc::new(StringArray::from(name))), ("x", Arc::new(Float64Array::from(x)))];
            all.push(RecordBatch::try_from_iter(columns).unwrap());
        }
        let schema = all[0].schema();
        Box::new(RecordBatchIterator::new(all.into_iter().map(Ok), schema))
    }

    fn sketch(mut dataset: Dataset) -> std::collections::BTreeMap<String, Vec<u8>> {
        let operator = SketchSpec::new(["x"], FrequencyLaw::AdaptedRadius, 30.0, 20).build().unwrap();
        let outcome = sketch_dataset(&mut dataset, &operator, &DriveOptions::default()).unwrap();
        outcome.sketches.into_iter().map(|(key, sketch)| (key, sketch.to_bytes())).collect()
    }

    #[test]
    fn the_sketch_does_not_depend_on_how_the_rows_are_cut_or_looked_at() {
        let options = ReadOptions { by: Some("name".into()), ..ReadOptions::default() };
        let whole = sketch(Dataset::from_batches("t", batches(&[100_000]), &options).unwrap());
        assert_eq!(whole.len(), 2);
        let mut looked_at = Dataset::from_batches("t", batches(&[1, 70_000, 29_999]), &options).unwrap();
        assert_eq!(looked_at.pilot(500, 1).unwrap().n_rows, 500);
        assert_eq!(sketch(looked_at), whole);
        let mut held = Dataset::from_memory("t", batches(&[60_000, 0, 40_000]), &options).unwrap();
        assert_eq!(held.n_rows(), Some(100_000));
        let pilot = held.pilot(1000, 1).unwrap();
        assert!((490.0 * 1e2..510.0 * 1e2).contains(&(pilot.rows.iter().sum::<f64>() / 1000.0)));
        assert_eq!(sketch(held), whole);
    }

    #[test]
    fn a_stream_is_read_once_and_says_so() {
        let mut dataset = Dataset::from_batches("a query", batches(&[10]), &ReadOptions::default()).unwrap();
        let operator = SketchSpec::new(["x"], FrequencyLaw::AdaptedRadius, 3.0, 20).build().unwrap();
        sketch_dataset(&mut dataset, &operator, &DriveOptions::default()).unwrap();
        let error = sketch_dataset(&mut dataset, &operator, &DriveOptions::default()).unwrap_err();
        assert!(error.to_string().contains("a query was read already"), "{error}");
    }
}
