//! One column of an Arrow batch, ready to be copied into rows.

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, Float64Array, PrimitiveArray, StringArray};
use arrow_schema::DataType;
use compressive::calendar;

use crate::convert;
use crate::entry::{Entry, Levels, is_missing, is_missing_text, lock};
use crate::error::Result;
use crate::guard::guarded;
use crate::plan::quote;

/// Numbers of rows, f32 or f64.
pub(crate) trait Real: Copy + Into<f64> {
    const ZERO: Self;
    const ONE: Self;
    /// A missing entry.
    const MISSING: Self;
    /// An entry that cannot be used.
    const BAD: Self;
}

impl Real for f32 {
    const ZERO: f32 = 0.0;
    const ONE: f32 = 1.0;
    const MISSING: f32 = f32::NAN;
    const BAD: f32 = f32::INFINITY;
}

impl Real for f64 {
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;
    const MISSING: f64 = f64::NAN;
    const BAD: f64 = f64::INFINITY;
}

/// A number type of Arrow that rows have.
pub(crate) trait RealType: ArrowPrimitiveType<Native: Real> {}
impl RealType for Float32Type {}
impl RealType for Float64Type {}

/// What a category's entry is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Missing,
    /// One that the recipe does not know.
    Unknown,
    At(usize),
}

/// The entries of a column.
pub(crate) enum Cells<T: RealType> {
    Numbers(PrimitiveArray<T>),
    /// Numbers read from text, and the text for those that are none.
    Parsed(PrimitiveArray<T>, StringArray),
    Levels(Vec<Level>),
    /// Numbers of all vectors, and the start and length of each row's; none for a missing one.
    Vectors(PrimitiveArray<T>, Spans, usize),
}

/// The type of a list's values, and its length if that is part of the type.
pub(crate) fn list_type(data_type: &DataType) -> Option<(&DataType, Option<usize>)> {
    match data_type {
        DataType::FixedSizeList(field, length) => Some((field.data_type(), usize::try_from(*length).ok())),
        DataType::List(field) | DataType::LargeList(field) => Some((field.data_type(), None)),
        _ => None,
    }
}

/// Start and length of the values of each row of a list.
pub(crate) type Spans = Vec<Option<(usize, usize)>>;

/// The values of a list in use, and where in them those of each row are.
pub(crate) fn child_of(array: &ArrayRef) -> Option<(ArrayRef, Spans)> {
    let present = |i: usize, span: (usize, usize)| (!array.is_null(i)).then_some(span);
    let (values, mut spans): (&ArrayRef, Spans) = match array.data_type() {
        DataType::FixedSizeList(_, length) => {
            let list = array.as_fixed_size_list();
            let start = |i: usize| list.value_offset(i) as usize;
            (list.values(), (0..list.len()).map(|i| present(i, (start(i), *length as usize))).collect())
        }
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let ends = list.value_offsets();
            let span = |i: usize| (ends[i] as usize, (ends[i + 1] - ends[i]) as usize);
            (list.values(), (0..list.len()).map(|i| present(i, span(i))).collect())
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            let ends = list.value_offsets();
            let span = |i: usize| (ends[i] as usize, (ends[i + 1] - ends[i]) as usize);
            (list.values(), (0..list.len()).map(|i| present(i, span(i))).collect())
        }
        _ => return None,
    };
    // A slice of a batch shares the values of the whole.
    let from = spans.iter().flatten().map(|(start, _)| *start).min().unwrap_or(0);
    let to = spans.iter().flatten().map(|(start, len)| start + len).max().unwrap_or(0);
    spans.iter_mut().flatten().for_each(|(start, _)| *start -= from);
    Some((values.slice(from, to - from), spans))
}

/// A column as numbers: times of a day and durations in seconds.
pub(crate) fn doubles(path: &str, array: &ArrayRef) -> Result<Float64Array> {
    guarded(path, "Arrow", || convert::doubles(array))
}

/// A column as texts.
pub(crate) fn strings(path: &str, array: &ArrayRef) -> Result<StringArray> {
    guarded(path, "Arrow", || convert::texts(array))
}

/// What each text of a column is; none for null. The texts of a dictionary are looked at once.
fn map_texts<T: Clone>(
    path: &str,
    array: &ArrayRef,
    mut of: impl FnMut(&str) -> T,
) -> Result<Vec<Option<T>>> {
    let mut map =
        |texts: &StringArray| -> Vec<Option<T>> { texts.iter().map(|text| text.map(&mut of)).collect() };
    let Some(dictionary) = array.as_any_dictionary_opt() else { return Ok(map(&strings(path, array)?)) };
    let values = map(&strings(path, dictionary.values())?);
    Ok(convert::keys(dictionary).map(|key| values[key?].clone()).collect())
}

impl Cells<Float64Type> {
    /// A column whose entries are these.
    pub(crate) fn new(path: &str, array: &ArrayRef, entry: &Entry) -> Result<Self> {
        Ok(match entry {
            Entry::Number => Cells::Numbers(doubles(path, array)?),
            Entry::Time(order) => match array.data_type() {
                DataType::Timestamp(..) | DataType::Date32 | DataType::Date64 | DataType::Null => {
                    Cells::Numbers(doubles(path, array)?)
                }
                _ => {
                    let texts = strings(path, array)?;
                    let parsed = texts.iter().map(|text| {
                        let text = text.filter(|text| !is_missing(text.as_bytes()))?;
                        Some(calendar::parse(text.as_bytes(), *order).unwrap_or(f64::BAD))
                    });
                    Cells::Parsed(parsed.collect(), texts)
                }
            },
            Entry::Vector(length) => match child_of(array) {
                Some((child, spans)) => Cells::Vectors(doubles(path, &child)?, spans, *length),
                None => Cells::Numbers(Float64Array::new_null(array.len())),
            },
            Entry::Category(levels) => {
                let found = map_texts(path, array, |text| level(levels, text))?;
                Cells::Levels(found.into_iter().map(|level| level.unwrap_or(Level::Missing)).collect())
            }
            Entry::Coded(texts) => {
                let mut texts = lock(texts);
                let code =
                    |text: &str| (!is_missing_text(text.as_bytes())).then(|| texts.number(text.trim()));
                let codes = map_texts(path, array, code)?;
                Cells::Numbers(codes.into_iter().map(Option::flatten).collect())
            }
            Entry::Length => {
                let spans = child_of(array).map(|(_, spans)| spans).unwrap_or_default();
                Cells::Numbers(spans.iter().map(|span| span.map(|(_, length)| length as f64)).collect())
            }
        })
    }
}

fn level(levels: &Levels, text: &str) -> Level {
    if is_missing_text(text.as_bytes()) {
        return Level::Missing;
    }
    levels.place(text.trim()).map_or(Level::Unknown, Level::At)
}

/// Copies numbers to every `stride`-th place; nulls are missing.
pub(crate) fn copy_numbers<T: RealType>(
    array: &PrimitiveArray<T>,
    at: usize,
    n_rows: usize,
    out: &mut [T::Native],
    stride: usize,
) {
    let values = &array.values()[at..at + n_rows];
    let targets = out.iter_mut().step_by(stride);
    if array.null_count() == 0 {
        targets.zip(values).for_each(|(target, value)| *target = *value);
    } else {
        for (row, (target, value)) in targets.zip(values).enumerate() {
            *target = if array.is_null(at + row) { T::Native::MISSING } else { *value };
        }
    }
}

impl<T: RealType> Cells<T> {
    /// Writes rows `at..at + n_rows` to the first `width` places of every `stride`.
    pub(crate) fn fill(&self, at: usize, n_rows: usize, out: &mut [T::Native], stride: usize, width: usize) {
        match self {
            Cells::Numbers(array) | Cells::Parsed(array, _) => copy_numbers(array, at, n_rows, out, stride),
            Cells::Levels(levels) => {
                for (row, level) in levels[at..at + n_rows].iter().enumerate() {
                    let entries = &mut out[row * stride..row * stride + width];
                    match level {
                        Level::Missing => entries.fill(T::Native::MISSING),
                        Level::Unknown => entries.fill(T::Native::ZERO),
                        Level::At(place) => {
                            entries.fill(T::Native::ZERO);
                            entries[*place] = T::Native::ONE;
                        }
                    }
                }
            }
            Cells::Vectors(values, spans, length) => {
                for (row, span) in spans[at..at + n_rows].iter().enumerate() {
                    let entries = &mut out[row * stride..row * stride + width];
                    match span {
                        None => entries.fill(T::Native::MISSING),
                        Some((_, found)) if found != length => entries.fill(T::Native::BAD),
                        Some((start, _)) => {
                            entries.copy_from_slice(&values.values()[*start..*start + length]);
                            if values.null_count() > 0 {
                                let missing = (0..*length).filter(|i| values.is_null(start + i));
                                missing.for_each(|i| entries[i] = T::Native::MISSING);
                            }
                        }
                    }
                }
            }
        }
    }

    /// An entry that cannot be used, as the user sees it; `within` is its place in a vector.
    pub(crate) fn describe(&self, row: usize, within: usize) -> String {
        match self {
            Cells::Numbers(array) if array.is_null(row) => "null".to_owned(),
            Cells::Numbers(array) => number(array.value(row)),
            Cells::Parsed(_, texts) if texts.is_null(row) => "null".to_owned(),
            Cells::Parsed(_, texts) => quote(texts.value(row)),
            Cells::Levels(_) => "null".to_owned(),
            Cells::Vectors(values, spans, length) => match spans[row] {
                None => "null".to_owned(),
                Some((_, found)) if found != *length => format!("a vector of {found} numbers"),
                Some((start, _)) if values.is_null(start + within) => format!("one with null at [{within}]"),
                Some((start, _)) => {
                    format!("one with {} at [{within}]", number(values.value(start + within)))
                }
            },
        }
    }
}

fn number<T: Real>(value: T) -> String {
    Into::<f64>::into(value).to_string()
}
