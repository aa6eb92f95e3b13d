//! From Arrow record batches to rows: shared by Parquet and Arrow files.
//!
//! f32 columns stay f32 if all features are f32; every other number becomes f64. Nulls are bad values.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, Float32Array, Float64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Schema};

use crate::chunk::{RowChunk, RowReader, Slot, number_key};
use crate::error::{Error, Result};
use crate::guard::guarded;
use crate::plan::{ColumnInfo, ColumnKind, Plan, quote};

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
        T::Timestamp(..) | T::Date32 | T::Date64 | T::Time32(_) | T::Time64(_) => ColumnKind::Time,
        T::Duration(_) | T::Interval(_) => ColumnKind::Time,
        T::Null => ColumnKind::Empty,
        other if other.is_nested() => ColumnKind::Nested,
        other => ColumnKind::Other(other.to_string()),
    }
}

/// Refuses columns that the plan needs as numbers and this file stores otherwise.
pub(crate) fn require_types(plan: &Plan, columns: &[ColumnInfo]) -> Result<()> {
    for &i in plan.features.iter().chain(&plan.weights) {
        if columns[i].kind != ColumnKind::Number {
            return Err(Error::NotNumeric {
                path: plan.path.to_string(),
                column: columns[i].name.clone(),
                option: None,
                kind: columns[i].kind.describe(),
            });
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
        columns.fill(at, n_rows, out);
        out.settle(n_rows, (self.plan.skip_bad_rows, self.plan.missing), |row, slot| {
            self.plan.bad(slot, first_row + row as u64, None, columns.describe(slot, at + row))
        })?;
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
    Single(Vec<Float32Array>),
    Double(Vec<Float64Array>),
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
        let cast =
            |array: &ArrayRef, to: &DataType| guarded(&plan.path, "Arrow", || arrow_cast::cast(array, to));
        let double = |file_column: usize| -> Result<Float64Array> {
            Ok(cast(column(file_column), &DataType::Float64)?.as_primitive::<Float64Type>().clone())
        };
        let single = plan.features.iter().all(|&i| column(i).data_type() == &DataType::Float32);
        let features = if single {
            let arrays = plan.features.iter().map(|&i| column(i).as_primitive::<Float32Type>().clone());
            Features::Single(arrays.collect())
        } else {
            Features::Double(plan.features.iter().map(|&i| double(i)).collect::<Result<_>>()?)
        };
        let keys = |file_column: usize| -> Result<Keys> {
            let array = column(file_column);
            Ok(match array.data_type() {
                DataType::Float32 => Keys::Single(array.as_primitive::<Float32Type>().clone()),
                DataType::Float16 | DataType::Float64 => Keys::Double(double(file_column)?),
                _ => Keys::Text(cast(array, &DataType::Utf8)?.as_string::<i32>().clone()),
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
    fn fill(&self, at: usize, n_rows: usize, out: &mut RowChunk) {
        let single = matches!(self.features, Features::Single(_));
        out.declare(single, self.weights.is_some(), self.keys.is_some());
        match &self.features {
            Features::Single(arrays) => {
                let columns =
                    arrays.iter().map(|array| (&array.values()[at..at + n_rows], array as &dyn Array));
                transpose(columns, at, n_rows, f32::NAN, &mut out.singles);
            }
            Features::Double(arrays) => {
                let columns =
                    arrays.iter().map(|array| (&array.values()[at..at + n_rows], array as &dyn Array));
                transpose(columns, at, n_rows, f64::NAN, &mut out.doubles);
            }
        }
        if let Some(weights) = &self.weights {
            let column = std::iter::once((&weights.values()[at..at + n_rows], weights as &dyn Array));
            transpose(column, at, n_rows, f64::NAN, &mut out.weights);
        }
        if let Some(keys) = &self.keys {
            for row in at..at + n_rows {
                keys.push(row, out);
            }
        }
    }

    /// The bad value of a row as the user sees it.
    fn describe(&self, slot: Slot, row: usize) -> String {
        let number = |array: &dyn Array, value: f64| {
            if array.is_null(row) { "null".to_owned() } else { value.to_string() }
        };
        match (slot, &self.features) {
            (Slot::Feature(i), Features::Single(arrays)) => {
                number(&arrays[i], f64::from(arrays[i].value(row)))
            }
            (Slot::Feature(i), Features::Double(arrays)) => number(&arrays[i], arrays[i].value(row)),
            (Slot::Weight, _) => self.weights.as_ref().map_or_else(String::new, |w| number(w, w.value(row))),
            (Slot::Group, _) => match &self.keys {
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

/// Writes columns side by side: value (r, c) to `out[r * n_columns + c]`; nulls become `null`.
fn transpose<'a, T: Copy + 'a>(
    columns: impl ExactSizeIterator<Item = (&'a [T], &'a dyn Array)>,
    at: usize,
    n_rows: usize,
    null: T,
    out: &mut Vec<T>,
) {
    let n_columns = columns.len();
    out.resize(n_rows * n_columns, null);
    for (i, (values, array)) in columns.enumerate() {
        let targets = out[i..].iter_mut().step_by(n_columns);
        if array.null_count() == 0 {
            targets.zip(values).for_each(|(target, value)| *target = *value);
        } else {
            for (row, (target, value)) in targets.zip(values).enumerate() {
                *target = if array.is_null(at + row) { null } else { *value };
            }
        }
    }
}
