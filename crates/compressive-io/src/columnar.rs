//! From Arrow record batches to rows: shared by Parquet and Arrow files.
//!
//! f32 columns stay f32 if all features are f32; every other number becomes f64. Nulls are missing entries.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, Float32Array, Float64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Schema};

use crate::cells::{Cells, child_of, doubles, list_type, strings};
use crate::chunk::{RowChunk, RowReader, Slot, number_key};
use crate::entry::Entry;
use crate::error::Result;
use crate::plan::{ColumnInfo, ColumnKind, Plan, quote, wrong_kind};

/// Rows above which a batch is handed out in slices.
pub(crate) const SLICE_ROWS: usize = 1 << 15;

/// Names and kinds of the columns of a schema.
pub(crate) fn columns(schema: &Schema) -> Vec<ColumnInfo> {
    let kind = |data_type: &DataType| match data_type {
        DataType::Dictionary(_, value) => value_kind(value),
        other => value_kind(other),
    };
    schema
        .fields()
        .iter()
        .map(|field| ColumnInfo { name: field.name().clone(), kind: kind(field.data_type()) })
        .collect()
}

fn value_kind(data_type: &DataType) -> ColumnKind {
    use DataType as T;
    match data_type {
        T::Boolean | T::Decimal32(..) | T::Decimal64(..) | T::Decimal128(..) | T::Decimal256(..) => {
            ColumnKind::Number
        }
        other if other.is_numeric() => ColumnKind::Number,
        T::Utf8 | T::LargeUtf8 | T::Utf8View => ColumnKind::Text { example: String::new() },
        T::Timestamp(..) | T::Date32 | T::Date64 => ColumnKind::Time { clock: false },
        T::Time32(_) | T::Time64(_) | T::Duration(_) => ColumnKind::Time { clock: true },
        T::Null => ColumnKind::Empty,
        other => match list_type(other) {
            Some((value, length)) if value_kind(value) == ColumnKind::Number => ColumnKind::Vector { length },
            _ if other.is_nested() => ColumnKind::Nested,
            _ => ColumnKind::Other(other.to_string()),
        },
    }
}

/// Refuses columns that the plan reads and this file stores otherwise.
pub(crate) fn require_types(plan: &Plan, columns: &[ColumnInfo]) -> Result<()> {
    let refuse = |i: usize, reading| Err(wrong_kind(&plan.path, &columns[i], reading, None));
    let text = |i: usize| matches!(columns[i].kind, ColumnKind::Text { .. } | ColumnKind::Empty);
    let numbers = plan.sources.iter().filter(|source| matches!(source.entry, Entry::Number));
    for i in numbers.map(|source| source.file_column).chain(plan.weights) {
        if text(i) {
            return refuse(i, &compressive::Reading::NUMBER);
        }
    }
    Ok(())
}

/// Batches that arrive one by one, with the columns `Plan::file_columns` in this order.
pub(crate) type Batches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// Reader of the rows of a sequence of batches.
pub(crate) struct BatchReader {
    plan: Arc<Plan>,
    batches: Batches,
    current: Option<Columns>,
    /// Rows of the current batch done.
    at: usize,
    /// Number of the next row, from 1.
    next_row: u64,
}

impl BatchReader {
    pub(crate) fn new(plan: &Arc<Plan>, batches: Batches, first_row: u64) -> Self {
        BatchReader { plan: Arc::clone(plan), batches, current: None, at: 0, next_row: first_row }
    }

    /// Reader of one batch that is there already.
    pub(crate) fn of_batch(plan: &Arc<Plan>, batch: RecordBatch, first_row: u64) -> Self {
        BatchReader::new(plan, Box::new(std::iter::once(Ok(batch))), first_row)
    }
}

impl RowReader for BatchReader {
    fn next_rows(&mut self, out: &mut RowChunk) -> Result<bool> {
        while self.current.as_ref().is_none_or(|columns| self.at == columns.n_rows) {
            self.current = match self.batches.next() {
                Some(batch) => Some(Columns::new(&batch?, &self.plan)?),
                None => return Ok(false),
            };
            self.at = 0;
        }
        let Some(columns) = &self.current else { return Ok(false) };
        let n_rows = (columns.n_rows - self.at).min(self.plan.chunk_rows);
        let (at, first_row) = (self.at, self.next_row);
        self.at += n_rows;
        self.next_row += n_rows as u64;
        out.reset(&self.plan.path, first_row, self.plan.dim());
        columns.fill(&self.plan, at, n_rows, out);
        columns.excuse(&self.plan, (at, n_rows), first_row, out);
        out.settle(n_rows, (self.plan.skip_bad_rows, self.plan.missing), |row, slot| {
            self.plan.bad(slot, first_row + row as u64, None, columns.describe(&self.plan, slot, at + row))
        })?;
        self.plan.turn(&mut out.doubles);
        Ok(true)
    }
}

/// The columns of a batch in the types that are copied from.
struct Columns {
    n_rows: usize,
    features: Features,
    weights: Option<Float64Array>,
    keys: Option<Keys>,
}

enum Features {
    Single(Vec<Cells<Float32Type>>),
    Double(Vec<Cells<Float64Type>>),
}

/// Group keys of a batch.
enum Keys {
    Single(Float32Array),
    Double(Float64Array),
    Text(StringArray),
}

impl Columns {
    fn new(batch: &RecordBatch, plan: &Plan) -> Result<Self> {
        let held = plan.file_columns();
        let column = |file_column: usize| {
            let i = held.partition_point(|&other| other < file_column);
            batch.column(i)
        };
        let double = |file_column: usize| doubles(&plan.path, column(file_column));
        let single = plan.sources.iter().all(|source| {
            let array = column(source.file_column);
            match source.entry {
                Entry::Number if source.periods.is_empty() => array.data_type() == &DataType::Float32,
                Entry::Vector(_) => {
                    list_type(array.data_type()).is_some_and(|(value, _)| value == &DataType::Float32)
                }
                _ => false,
            }
        });
        let features = if single {
            let cells = plan.sources.iter().map(|source| {
                let array = column(source.file_column);
                match source.entry {
                    Entry::Vector(length) => {
                        let (child, spans) = child_of(array)?;
                        Some(Cells::Vectors(child.as_primitive().clone(), spans, length))
                    }
                    _ => Some(Cells::Numbers(array.as_primitive().clone())),
                }
            });
            Features::Single(cells.collect::<Option<_>>().unwrap_or_default())
        } else {
            let cells = plan.sources.iter();
            let cells = cells.map(|source| Cells::new(&plan.path, column(source.file_column), &source.entry));
            Features::Double(cells.collect::<Result<_>>()?)
        };
        let keys = |file_column: usize| -> Result<Keys> {
            let array = column(file_column);
            Ok(match array.data_type() {
                DataType::Float32 => Keys::Single(array.as_primitive::<Float32Type>().clone()),
                DataType::Float16 | DataType::Float64 => Keys::Double(double(file_column)?),
                _ => Keys::Text(strings(&plan.path, array)?),
            })
        };
        Ok(Columns {
            n_rows: batch.num_rows(),
            features,
            weights: plan.weights.map(double).transpose()?,
            keys: plan.by.map(keys).transpose()?,
        })
    }

    /// Appends rows `at..at + n_rows`.
    fn fill(&self, plan: &Plan, at: usize, n_rows: usize, out: &mut RowChunk) {
        let single = matches!(self.features, Features::Single(_));
        out.declare(single, self.weights.is_some(), self.keys.is_some());
        let dim = plan.dim();
        match &self.features {
            Features::Single(cells) => {
                out.singles.resize(n_rows * dim, 0.0);
                for (source, cells) in plan.sources.iter().zip(cells) {
                    cells.fill(at, n_rows, &mut out.singles[source.at..], dim, source.width);
                }
            }
            Features::Double(cells) => {
                out.doubles.resize(n_rows * dim, 0.0);
                for (source, cells) in plan.sources.iter().zip(cells) {
                    cells.fill(at, n_rows, &mut out.doubles[source.at..], dim, source.width);
                }
            }
        }
        if let Some(weights) = &self.weights {
            out.weights.resize(n_rows, 0.0);
            crate::cells::copy_numbers(weights, at, n_rows, &mut out.weights, 1);
        }
        if let Some(keys) = &self.keys {
            for row in at..at + n_rows {
                keys.push(row, out);
            }
        }
    }

    /// Takes texts that are no dates for missing where entries may be.
    fn excuse(&self, plan: &Plan, (at, n_rows): (usize, usize), first_row: u64, out: &mut RowChunk) {
        let Features::Double(cells) = &self.features else { return };
        let parsed = cells.iter().enumerate().filter(|(_, cells)| matches!(cells, Cells::Parsed(..)));
        for (source, cells) in parsed.filter(|_| plan.excuses) {
            let places = out.doubles.iter_mut().skip(plan.sources[source].at).step_by(plan.dim());
            for (row, value) in places.take(n_rows).enumerate().filter(|(_, value)| value.is_infinite()) {
                *value = f64::NAN;
                plan.strays
                    .count(plan, source, first_row + row as u64, || (cells.describe(at + row, 0), None));
            }
        }
    }

    /// The bad value of a row as the user sees it.
    fn describe(&self, plan: &Plan, slot: Slot, row: usize) -> String {
        let number = |array: &dyn Array, value: f64| {
            if array.is_null(row) { "null".to_owned() } else { value.to_string() }
        };
        match slot {
            Slot::Entry(_) | Slot::Feature(_) => {
                let (source, coordinate) = match slot {
                    Slot::Feature(i) => (plan.source_of(i), i),
                    Slot::Entry(i) => (i, plan.sources[i].at),
                    Slot::Weight | Slot::Group => (0, 0),
                };
                let within = coordinate - plan.sources[source].at;
                match &self.features {
                    Features::Single(cells) => cells[source].describe(row, within),
                    Features::Double(cells) => cells[source].describe(row, within),
                }
            }
            Slot::Weight => self.weights.as_ref().map_or_else(String::new, |w| number(w, w.value(row))),
            Slot::Group => match &self.keys {
                Some(Keys::Single(array)) => number(array, f64::from(array.value(row))),
                Some(Keys::Double(array)) => number(array, array.value(row)),
                Some(Keys::Text(array)) if !array.is_null(row) => quote(array.value(row)),
                _ => "null".to_owned(),
            },
        }
    }
}

impl Keys {
    fn push(&self, row: usize, out: &mut RowChunk) {
        let number = |array: &dyn Array, value: f64, text: &dyn Fn() -> String| {
            if array.is_null(row) { None } else { number_key(value, text) }
        };
        let key = match self {
            Keys::Single(array) => {
                let value = array.value(row);
                number(array, f64::from(value), &|| format!("{value:?}"))
            }
            Keys::Double(array) => {
                let value = array.value(row);
                number(array, value, &|| format!("{value:?}"))
            }
            Keys::Text(array) if array.is_null(row) => None,
            Keys::Text(array) => {
                // As in text files: white space around a key is not part of it, and an empty key is missing.
                match array.value(row).trim() {
                    "" => out.keys.push_missing(),
                    key => out.keys.push(key),
                }
                return;
            }
        };
        match key {
            Some(key) => out.keys.push(&key),
            None => out.keys.push_missing(),
        }
    }
}
