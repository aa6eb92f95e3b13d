//! Flags whose values are names of the library.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use compressive::Named;

/// The parser of a set of names; help shows all of them, each with the line about it.
pub fn named<T: Named + Send + Sync>() -> impl TypedValueParser<Value = T> {
    named_if(|_: T| true)
}

/// The parser of those names of a set that fit.
pub fn named_if<T: Named + Send + Sync>(fits: impl Fn(T) -> bool) -> impl TypedValueParser<Value = T> {
    let values = T::ALL.iter().filter(|value| fits(**value)).map(|value| match value.about() {
        "" => PossibleValue::new(value.name()),
        about => PossibleValue::new(value.name()).help(about),
    });
    PossibleValuesParser::new(values).try_map(|name| T::from_name(&name))
}
