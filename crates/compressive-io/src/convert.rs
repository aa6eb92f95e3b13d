//! Columns of Arrow as the numbers and the texts that rows are made of.
//!
//! Arrow's own `cast` turns every type into every other one; to have it costs a tenth of the program. Numbers
//! and texts are bit for bit what it makes of them, but for dictionaries of times, which are in seconds.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{AnyDictionaryArray, Array, Float64Array, PrimitiveArray, StringArray};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use compressive::calendar;
use num_traits::ToPrimitive;

/// A column as numbers: times of a day and durations in seconds, moments in seconds since 1970, yes and no as
/// 1 and 0.
pub(crate) fn doubles(array: &dyn Array) -> Result<Float64Array, ArrowError> {
    use DataType as T;
    Ok(match array.data_type() {
        T::Float64 => array.as_primitive().clone(),
        T::Float32 => widened::<Float32Type>(array),
        T::Float16 => widened::<Float16Type>(array),
        T::Int8 => widened::<Int8Type>(array),
        T::Int16 => widened::<Int16Type>(array),
        T::Int32 => widened::<Int32Type>(array),
        T::Int64 => widened::<Int64Type>(array),
        T::UInt8 => widened::<UInt8Type>(array),
        T::UInt16 => widened::<UInt16Type>(array),
        T::UInt32 => widened::<UInt32Type>(array),
        T::UInt64 => widened::<UInt64Type>(array),
        T::Decimal32(_, scale) => decimals::<Decimal32Type>(array, *scale),
        T::Decimal64(_, scale) => decimals::<Decimal64Type>(array, *scale),
        T::Decimal128(_, scale) => decimals::<Decimal128Type>(array, *scale),
        T::Decimal256(_, scale) => decimals::<Decimal256Type>(array, *scale),
        T::Boolean => {
            array.as_boolean().iter().map(|flag| flag.map(|flag| f64::from(u8::from(flag)))).collect()
        }
        T::Date32 => array.as_primitive::<Date32Type>().unary(calendar::from_days),
        T::Date64 => seconds(&stored::<Int64Type>(array), TimeUnit::Millisecond),
        T::Time32(unit) => seconds(&stored::<Int32Type>(array), *unit),
        T::Time64(unit) | T::Timestamp(unit, _) | T::Duration(unit) => {
            seconds(&stored::<Int64Type>(array), *unit)
        }
        T::Null => Float64Array::new_null(array.len()),
        T::Dictionary(..) => {
            let values = doubles(array.as_any_dictionary().values())?;
            let at =
                |key: Option<usize>| key.filter(|key| !values.is_null(*key)).map(|key| values.value(key));
            keys(array.as_any_dictionary()).map(at).collect()
        }
        other => return Err(ArrowError::CastError(format!("{other} is not read as numbers"))),
    })
}

/// A column as texts.
pub(crate) fn texts(array: &dyn Array) -> Result<StringArray, ArrowError> {
    use DataType as T;
    Ok(match array.data_type() {
        T::Utf8 => array.as_string().clone(),
        T::LargeUtf8 => array.as_string::<i64>().iter().collect(),
        T::Utf8View => array.as_string_view().iter().collect(),
        T::Null => StringArray::new_null(array.len()),
        T::Dictionary(..) => {
            let values = texts(array.as_any_dictionary().values())?;
            let at =
                |key: Option<usize>| key.filter(|key| !values.is_null(*key)).map(|key| values.value(key));
            keys(array.as_any_dictionary()).map(at).collect()
        }
        T::Boolean => written(array)?,
        primitive if primitive.is_primitive() => written(array)?,
        other => return Err(ArrowError::CastError(format!("{other} is not read as texts"))),
    })
}

/// The place in a dictionary of each row's value; none for null.
pub(crate) fn keys(dictionary: &dyn AnyDictionaryArray) -> impl Iterator<Item = Option<usize>> {
    let empty = dictionary.values().is_empty();
    let places = if empty { vec![0; dictionary.len()] } else { dictionary.normalized_keys() };
    places.into_iter().enumerate().map(move |(row, at)| (!empty && !dictionary.is_null(row)).then_some(at))
}

fn widened<T: ArrowPrimitiveType<Native: ToPrimitive>>(array: &dyn Array) -> Float64Array {
    array.as_primitive::<T>().unary(|value| value.to_f64().unwrap_or(f64::NAN))
}

fn decimals<T: ArrowPrimitiveType<Native: ToPrimitive>>(array: &dyn Array, scale: i8) -> Float64Array {
    let divisor = 10_f64.powi(scale.into());
    array.as_primitive::<T>().unary(|value| value.to_f64().unwrap_or(f64::NAN) / divisor)
}

/// The integers that a type of times is stored as.
fn stored<T: ArrowPrimitiveType>(array: &dyn Array) -> PrimitiveArray<T> {
    let data = array.to_data();
    PrimitiveArray::new(data.buffers()[0].clone().into(), data.nulls().cloned())
}

fn seconds<T: ArrowPrimitiveType<Native: Into<i64>>>(
    array: &PrimitiveArray<T>,
    unit: TimeUnit,
) -> Float64Array {
    let parts = match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    };
    array.unary(|value| calendar::from_parts(value.into(), parts))
}

/// The values as Arrow prints them.
fn written(array: &dyn Array) -> Result<StringArray, ArrowError> {
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(array, &options)?;
    let text = |row: usize| (!array.is_null(row)).then(|| formatter.value(row).try_to_string()).transpose();
    (0..array.len()).map(text).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::*;
    use arrow_cast::cast;

    use super::*;

    /// Columns of every type that is read, each with a null and a slice of a longer one.
    fn columns() -> Vec<ArrayRef> {
        let days = Date32Array::from(vec![Some(19_000), None, Some(-1), Some(0)]);
        let decimal = |values: Vec<Option<i128>>, scale| {
            Decimal128Array::from(values).with_precision_and_scale(38, scale).unwrap()
        };
        let dictionary: DictionaryArray<Int8Type> =
            [Some("b"), None, Some("a"), Some("b")].into_iter().collect();
        let text = vec![Some("x"), None, Some(""), Some("a longer text than fits into a view")];
        let all: Vec<ArrayRef> = vec![
            Arc::new(Float64Array::from(vec![Some(0.1), None, Some(f64::NAN), Some(-1e300)])),
            Arc::new(Float32Array::from(vec![Some(0.1), None, Some(f32::INFINITY), Some(1e20)])),
            Arc::new(Int64Array::from(vec![Some(i64::MAX), None, Some(i64::MIN), Some((1 << 53) + 1)])),
            Arc::new(UInt64Array::from(vec![Some(u64::MAX), None, Some(0), Some(3)])),
            Arc::new(Int8Array::from(vec![Some(-128), None, Some(0), Some(3)])),
            Arc::new(UInt32Array::from(vec![Some(u32::MAX), None, Some(0), Some(3)])),
            Arc::new(BooleanArray::from(vec![Some(true), None, Some(false), Some(true)])),
            Arc::new(decimal(vec![Some(10_i128.pow(37) + 1), None, Some(-5), Some(123)], 3)),
            Arc::new(decimal(vec![Some(7), None, Some(-5), Some(123)], -2)),
            Arc::new(NullArray::new(4)),
            Arc::new(StringArray::from(text.clone())),
            Arc::new(LargeStringArray::from(text.clone())),
            Arc::new(StringViewArray::from(text)),
            Arc::new(dictionary),
            Arc::new(days),
            Arc::new(TimestampMillisecondArray::from(vec![Some(1_700_000_000_123), None, Some(-1), Some(0)])),
            Arc::new(Time32SecondArray::from(vec![Some(86_399), None, Some(1), Some(0)])),
        ];
        all.iter().flat_map(|array| [array.clone(), array.slice(1, 2)]).collect()
    }

    #[test]
    fn numbers_and_texts_are_those_of_arrows_own_cast() {
        for array in columns() {
            let expected = cast(&array, &DataType::Utf8).unwrap();
            assert_eq!(&texts(&array).unwrap(), expected.as_string::<i32>(), "{array:?}");
            let own_units = array.data_type().is_temporal();
            let text = matches!(
                array.data_type(),
                DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Dictionary(..)
            );
            if own_units || text {
                continue;
            }
            let expected = cast(&array, &DataType::Float64).unwrap();
            let bits = |array: &Float64Array| -> Vec<Option<u64>> {
                array.iter().map(|value| value.map(f64::to_bits)).collect()
            };
            assert_eq!(bits(&doubles(&array).unwrap()), bits(expected.as_primitive()), "{array:?}");
        }
    }

    #[test]
    fn dictionaries_of_numbers_and_times_are_read_as_their_values_are() {
        let moments: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![Some(1500), None]));
        let keys = Int8Array::from(vec![Some(0), None, Some(1), Some(0)]);
        let dictionary = DictionaryArray::new(keys, moments);
        let found: Vec<_> = doubles(&dictionary).unwrap().iter().collect();
        assert_eq!(found, [Some(1.5), None, None, Some(1.5)]);
        let nothing: ArrayRef = Arc::new(Float64Array::from(Vec::<f64>::new()));
        let empty = DictionaryArray::new(Int8Array::from(vec![None, None]), nothing);
        assert_eq!(doubles(&empty).unwrap().null_count(), 2);
        assert_eq!(texts(&empty).unwrap().null_count(), 2);
    }

    #[test]
    fn what_is_neither_is_an_error() {
        let bytes = BinaryArray::from(vec![b"x".as_slice()]);
        assert!(doubles(&bytes).is_err() && texts(&bytes).is_err());
        assert!(doubles(&StringArray::from(vec!["1"])).is_err());
    }
}
