//! What the columns of a table are, and which coordinates of a row each of them gives.
//!
//! | reading | coordinates | names |
//! |---|---|---|
//! | number | the number | `carat` |
//! | time | seconds since 1970-01-01, UTC | `time_hour` |
//! | either, with periods P | $\cos(2\pi x / P)$ and $\sin(2\pi x / P)$ for each P | `time_hour cos(day)` |
//! | vector | its numbers | `embedding[0]` |
//! | category | 1 for the row's level, 0 for the others | `cut=Ideal`, `cut=(other)` |
//!
//! A level that the recipe does not know is `(other)`; where there is no such coordinate it is 0 in all of
//! them, which is as far from every level. A missing entry is missing in all coordinates of its column.

use std::collections::HashSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::calendar::Order;
use crate::error::{Error, Result};
use crate::num::math::cos_sin_of_turns;

/// A column of a table, and how it is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Its name in the table.
    pub column: String,
    /// What its entries are.
    pub reading: Reading,
}

/// How the entries of a column become coordinates of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Reading {
    /// A number, or its place on circles.
    Number {
        /// The circles' lengths, in the column's units; without any the number itself.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        periods: Vec<f64>,
    },
    /// A date or time as seconds since the start of 1970 in UTC, or its place on circles.
    Time {
        /// The circles' lengths in seconds; without any the seconds themselves.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        periods: Vec<f64>,
        /// What texts such as `05/06/2013` mean.
        #[serde(default, skip_serializing_if = "told")]
        order: Order,
    },
    /// As many numbers as this.
    Vector {
        /// How many.
        length: usize,
    },
    /// One of a few texts.
    Category {
        /// The levels that have a coordinate of their own.
        levels: Vec<String>,
        /// Whether all others share one.
        other: bool,
    },
}

fn told(order: &Order) -> bool {
    *order == Order::Told
}

/// Periods with a name, in seconds; a year is that of the Gregorian calendar.
pub const PERIODS: [(&str, f64); 4] =
    [("hour", 3600.0), ("day", 86_400.0), ("week", 604_800.0), ("year", 31_556_952.0)];

/// The name in brackets of the coordinate that all levels without one share.
pub const OTHER: &str = "(other)";

impl Reading {
    /// A plain number.
    pub const NUMBER: Reading = Reading::Number { periods: Vec::new() };

    /// Seconds on these circles, from dates that tell themselves which number is the day.
    pub fn time(periods: Vec<f64>) -> Reading {
        Reading::Time { periods, order: Order::Told }
    }

    /// Number of coordinates.
    pub fn width(&self) -> usize {
        match self {
            Reading::Number { periods } | Reading::Time { periods, .. } if periods.is_empty() => 1,
            Reading::Number { periods } | Reading::Time { periods, .. } => 2 * periods.len(),
            Reading::Vector { length } => *length,
            Reading::Category { levels, other } => levels.len() + usize::from(*other),
        }
    }

    /// Lengths of the circles that an entry is placed on.
    pub fn periods(&self) -> &[f64] {
        match self {
            Reading::Number { periods } | Reading::Time { periods, .. } => periods,
            Reading::Vector { .. } | Reading::Category { .. } => &[],
        }
    }
}

impl Column {
    /// A column of plain numbers.
    pub fn number(name: impl Into<String>) -> Column {
        Column { column: name.into(), reading: Reading::NUMBER }
    }

    /// Names of the coordinates.
    pub fn coordinates(&self) -> Vec<String> {
        let name = &self.column;
        match &self.reading {
            Reading::Number { periods } | Reading::Time { periods, .. } if periods.is_empty() => {
                vec![name.clone()]
            }
            Reading::Number { periods } => circles(name, periods, |p| p.to_string()),
            Reading::Time { periods, .. } => circles(name, periods, period_name),
            Reading::Vector { length } => (0..*length).map(|i| format!("{name}[{i}]")).collect(),
            Reading::Category { levels, other } => {
                let named = levels.iter().map(String::as_str).chain(other.then_some(OTHER));
                named.map(|level| format!("{name}={level}")).collect()
            }
        }
    }

    /// Names of the coordinates for people: those of a category as `cut: Ideal`.
    pub fn shown(&self) -> Vec<String> {
        let mut names = self.coordinates();
        if matches!(self.reading, Reading::Category { .. }) {
            let start = self.column.len();
            names.iter_mut().for_each(|name| name.replace_range(start..=start, ": "));
        }
        names
    }

    /// Checks the parameters of the reading.
    fn validate(&self) -> Result<()> {
        let fail = |problem: String| {
            Err(Error::Spec { field: "readings", problem: format!("column `{}`: {problem}", self.column) })
        };
        match &self.reading {
            Reading::Vector { length: 0 } => fail("a vector has at least one number".into()),
            Reading::Vector { .. } => Ok(()),
            Reading::Number { periods } | Reading::Time { periods, .. } => {
                match periods.iter().find(|p| !(**p > 0.0 && p.is_finite())) {
                    Some(p) => fail(format!("the period {p} is not a positive number")),
                    None => Ok(()),
                }
            }
            Reading::Category { levels, .. } => {
                if self.reading.width() == 0 {
                    return fail("a category has at least one level".into());
                }
                match levels.iter().find(|level| level.is_empty() || level.trim() != level.as_str()) {
                    Some(level) => fail(format!("the level {level:?} is empty, or has space around it")),
                    None => Ok(()),
                }
            }
        }
    }
}

fn circles(name: &str, periods: &[f64], say: impl Fn(f64) -> String) -> Vec<String> {
    let both = |p: &f64| ["cos", "sin"].map(|f| format!("{name} {f}({})", say(*p)));
    periods.iter().flat_map(both).collect()
}

fn period_name(period: f64) -> String {
    let known = PERIODS.iter().find(|(_, seconds)| *seconds == period);
    known.map_or_else(|| format!("{period} s"), |(name, _)| (*name).to_owned())
}

/// Places a number on circles: cosine and sine for each period.
pub fn on_circles(x: f64, periods: &[f64], out: &mut [f64]) {
    for (pair, period) in out.chunks_exact_mut(2).zip(periods) {
        // Whole turns are taken off first, so that seconds since 1970 lose no digits.
        (pair[0], pair[1]) = cos_sin_of_turns(x.rem_euclid(*period) / period);
    }
}

/// The coordinates of some columns in order, column by column.
pub fn coordinates(columns: &[Column]) -> Vec<String> {
    columns.iter().flat_map(Column::coordinates).collect()
}

/// The columns, each with the places of its coordinates.
pub fn places(columns: &[Column]) -> impl Iterator<Item = (&Column, Range<usize>)> {
    let mut at = 0;
    columns.iter().map(move |column| {
        let start = at;
        at += column.reading.width();
        (column, start..at)
    })
}

/// The columns of a table behind coordinates of these names: those given, or plain numbers.
pub fn table_columns(readings: &[Column], coordinates: &[String]) -> Vec<Column> {
    if readings.is_empty() { coordinates.iter().map(Column::number).collect() } else { readings.to_vec() }
}

/// What a recipe or a model writes: nothing where all columns are plain numbers.
pub fn written(columns: &[Column]) -> Vec<Column> {
    let plain = columns.iter().all(|column| column.reading == Reading::NUMBER);
    if plain { Vec::new() } else { columns.to_vec() }
}

/// Checks that these columns have coordinates of these names; without any they are plain numbers.
pub(crate) fn validate(columns: &[Column], names: &[String]) -> Result<()> {
    if columns.is_empty() {
        return Ok(());
    }
    let fail = |problem: &str| Err(Error::Spec { field: "readings", problem: problem.into() });
    if written(columns).is_empty() {
        return fail("columns of plain numbers alone are not listed");
    }
    columns.iter().try_for_each(Column::validate)?;
    let mut seen = HashSet::new();
    if let Some(twice) = columns.iter().find(|column| !seen.insert(column.column.as_str())) {
        return fail(&format!("column `{}` appears twice", twice.column));
    }
    // Lengths are compared first, so that a vector of absurd length is not written out.
    let width = columns.iter().try_fold(0usize, |n, column| n.checked_add(column.reading.width()));
    if width != Some(names.len()) || coordinates(columns) != names {
        return fail("the coordinates of these columns are not the spec's `columns`");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, reading: Reading) -> Column {
        Column { column: name.into(), reading }
    }

    fn table() -> Vec<Column> {
        vec![
            Column::number("x"),
            column("t", Reading::time(vec![86_400.0, 90.0])),
            column("v", Reading::Vector { length: 2 }),
            column("cut", Reading::Category { levels: vec!["Ideal".into()], other: true }),
        ]
    }

    #[test]
    fn coordinates_are_named_after_their_columns() {
        let names = ["x", "t cos(day)", "t sin(day)", "t cos(90 s)", "t sin(90 s)"];
        let more = ["v[0]", "v[1]", "cut=Ideal", "cut=(other)"];
        assert_eq!(coordinates(&table()), [&names[..], &more[..]].concat());
        assert_eq!(table()[3].shown(), ["cut: Ideal", "cut: (other)"]);
        let ends: Vec<usize> = places(&table()).map(|(_, at)| at.end).collect();
        assert_eq!(ends, [1, 5, 7, 9]);
    }

    #[test]
    fn circles_close_after_a_period_and_keep_the_digits_of_far_times() {
        let mut now = [0.0; 2];
        on_circles(1_700_000_000.25, &[86_400.0], &mut now);
        let mut tomorrow = [0.0; 2];
        on_circles(1_700_000_000.25 + 86_400.0, &[86_400.0], &mut tomorrow);
        assert_eq!(now, tomorrow);
        let mut quarter = [0.0; 4];
        on_circles(-1.0, &[4.0, 2.0], &mut quarter);
        let expected = [0.0, -1.0, -1.0, 0.0];
        assert!(quarter.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15), "{quarter:?}");
    }

    #[test]
    fn readings_that_contradict_the_columns_or_themselves_are_refused() {
        let names = coordinates(&table());
        assert_eq!(validate(&table(), &names), Ok(()));
        type Spoil = fn(&mut Vec<Column>);
        let cases: [(&str, Spoil); 7] = [
            ("not the spec's", |c| c.truncate(3)),
            ("not the spec's", |c| c[2].reading = Reading::Vector { length: usize::MAX }),
            ("plain numbers alone", |c| c.truncate(1)),
            ("twice", |c| c[1].column = "x".into()),
            ("at least one number", |c| c[2].reading = Reading::Vector { length: 0 }),
            ("positive", |c| c[1].reading = Reading::time(vec![f64::NAN])),
            ("space around", |c| {
                c[3].reading = Reading::Category { levels: vec![" a".into()], other: false };
            }),
        ];
        for (word, spoil) in cases {
            let mut columns = table();
            spoil(&mut columns);
            let message = validate(&columns, &names).unwrap_err().to_string();
            assert!(message.contains(word), "{word}: {message}");
        }
    }

    #[test]
    fn a_reading_reads_back_from_its_json() {
        let json = serde_json::to_string(&table()).unwrap();
        assert!(json.starts_with(r#"[{"column":"x","reading":{"name":"number"}},"#), "{json}");
        assert!(json.ends_with(r#"{"name":"category","levels":["Ideal"],"other":true}}]"#), "{json}");
        assert_eq!(serde_json::from_str::<Vec<Column>>(&json).unwrap(), table());
    }
}
