//! The location of a component in words, a cell for each column of the table: numbers with as many digits as
//! tell the components apart, dates, shares of levels.

use std::f64::consts::TAU;
use std::ops::Range;

use compressive::model::{Content, Covariances, Model};
use compressive::reading::{PERIODS, places};
use compressive::{Column, Reading, calendar};

use crate::words::{number, number_within};

/// Levels of a category that a cell shows at most.
const LEVELS_SHOWN: usize = 3;
/// Share from which on a level is shown though others are more frequent.
const SHARE_SHOWN: f64 = 0.1;
/// Characters of a level's name that are shown.
const LEVEL_CHARS: usize = 16;
/// Numbers of a vector that a cell shows.
const NUMBERS_SHOWN: usize = 2;
/// Seconds between components up to which the time of day is shown beside the date.
const CLOCK_RANGE: f64 = 10.0 * 86_400.0;
/// Distance from the centre of a circle below which a component is all around it.
const ALL_AROUND: f64 = 0.05;

/// A column of the table, and the coordinates that it gives.
pub struct Shown {
    column: Column,
    at: Range<usize>,
    /// How far apart the components are in its first coordinate, or how wide.
    range: f64,
}

/// The columns of a model's table.
pub fn shown(model: &Model) -> Vec<Shown> {
    let table = model.table_columns();
    let of = |(column, at): (&Column, Range<usize>)| {
        let entries = || model.locations().iter().map(|location| location[at.start]);
        let low = entries().fold(f64::INFINITY, f64::min);
        let high = entries().fold(f64::NEG_INFINITY, f64::max);
        let width = (0..model.k).filter_map(|l| deviation(model, l, at.start)).fold(0.0, f64::max);
        Shown { column: column.clone(), at, range: (high - low).max(width) }
    };
    places(&table).map(of).collect()
}

/// Standard deviation of a component along a coordinate, or the scale of a stable law.
fn deviation(model: &Model, component: usize, coordinate: usize) -> Option<f64> {
    match &model.content {
        Content::Stable { scales, .. } => Some(scales[component][coordinate]),
        Content::Gmm { covariances: Covariances::Diagonal(all), .. } => {
            Some(all[component][coordinate].sqrt())
        }
        Content::Gmm { covariances: Covariances::Full(all), .. } => {
            Some(all[component][coordinate][coordinate].sqrt())
        }
        _ => None,
    }
}

impl Shown {
    /// Name of the column.
    pub fn name(&self) -> &str {
        &self.column.column
    }

    /// Where a component is.
    pub fn cell(&self, model: &Model, component: usize) -> String {
        let location = &model.locations()[component][self.at.clone()];
        let wide = deviation(model, component, self.at.start);
        match &self.column.reading {
            Reading::Category { .. } => level_shares(&self.column, location),
            Reading::Vector { .. } => vector(location),
            reading if !reading.periods().is_empty() => {
                let time = matches!(reading, Reading::Time { .. });
                let pairs = location.chunks_exact(2).zip(reading.periods());
                let places: Vec<String> = pairs.map(|(at, period)| place(at, *period, time)).collect();
                places.join(", ")
            }
            Reading::Time { .. } => {
                let date = calendar::show(location[0], self.range < CLOCK_RANGE);
                wide.map_or(date.clone(), |s| format!("{date} ({})", duration(s)))
            }
            Reading::Number { .. } => {
                let middle = number_within(location[0], self.range);
                wide.map_or(middle.clone(), |s| format!("{middle} ({})", number(s)))
            }
        }
    }
}

/// A coordinate in words.
pub struct Coordinate {
    /// Its name for people.
    pub name: String,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Number,
    Date,
    /// The share of a level.
    Share,
}

/// The coordinates of some columns.
pub fn coordinates(table: &[Column]) -> Vec<Coordinate> {
    let of = |column: &Column| {
        let kind = match &column.reading {
            Reading::Category { .. } => Kind::Share,
            Reading::Time { periods, .. } if periods.is_empty() => Kind::Date,
            _ => Kind::Number,
        };
        column.shown().into_iter().map(|name| Coordinate { name, kind }).collect::<Vec<_>>()
    };
    table.iter().flat_map(of).collect()
}

impl Coordinate {
    /// A place on it.
    pub fn place(&self, x: f64) -> String {
        match self.kind {
            Kind::Number => number(x),
            Kind::Date => calendar::show(x, false),
            Kind::Share => format!("{:.0}%", 100.0 * x.clamp(0.0, 1.0)),
        }
    }

    /// How far around a place rows are; none where that is 0, and for shares, which tell it themselves.
    pub fn width(&self, width: f64) -> Option<String> {
        match self.kind {
            Kind::Number => Some(number(width)),
            Kind::Date => Some(duration(width)),
            Kind::Share => None,
        }
        .filter(|_| width > 0.0)
    }
}

/// The most frequent levels of a category, with their shares.
pub fn level_shares(column: &Column, location: &[f64]) -> String {
    let names = column.coordinates();
    let mut shares: Vec<(&str, f64)> = names
        .iter()
        .map(|name| &name[column.column.len() + 1..])
        .zip(location.iter().map(|share| share.clamp(0.0, 1.0)))
        .collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    let frequent = shares.iter().filter(|(_, share)| *share >= SHARE_SHOWN).count();
    let shown = &shares[..frequent.clamp(1, LEVELS_SHOWN.min(shares.len()))];
    let words: Vec<String> =
        shown.iter().map(|(level, share)| format!("{} {:.0}%", cut(level), 100.0 * share)).collect();
    words.join(" ")
}

/// A level, or the start of a long one.
fn cut(level: &str) -> String {
    if level.chars().count() <= LEVEL_CHARS {
        return level.to_owned();
    }
    level.chars().take(LEVEL_CHARS - 2).chain("..".chars()).collect()
}

fn vector(location: &[f64]) -> String {
    let head: Vec<String> = location.iter().take(NUMBERS_SHOWN).map(|x| number(*x)).collect();
    let more = if location.len() > head.len() { " .." } else { "" };
    format!("[{}{more}]", head.join(" "))
}

/// Where on a circle a component is.
fn place(at: &[f64], period: f64, time: bool) -> String {
    if at[0].hypot(at[1]) < ALL_AROUND {
        return "all around".into();
    }
    let place = at[1].atan2(at[0]).rem_euclid(TAU) / TAU * period;
    let named = PERIODS.iter().find(|(_, seconds)| time && *seconds == period);
    match named.map(|(name, _)| *name) {
        Some("hour") => format!("{:02}:{:02} min", place as u32 / 60, place as u32 % 60),
        Some("day") => format!("{:02}:{:02}", place as u32 / 3600, place as u32 / 60 % 60),
        // The first day of 1970 was a Thursday.
        Some("week") => {
            ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][(place / 86_400.0) as usize % 7].into()
        }
        Some("year") => calendar::show(place, false)[5..].into(),
        _ => number(place),
    }
}

/// A number of seconds in a unit that a person would use.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s >= 86_400.0 => format!("{} d", number(s / 86_400.0)),
        s if s >= 3600.0 => format!("{} h", number(s / 3600.0)),
        s => format!("{} s", number(s)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(readings: Vec<Column>, centers: Vec<Vec<f64>>) -> Model {
        let k = centers.len();
        let content = Content::Kmeans { centers, weights: vec![1.0 / k as f64; k] };
        let columns = compressive::reading::coordinates(&readings);
        Model { readings, ..Model::new(content, k, columns) }
    }

    fn column(name: &str, reading: Reading) -> Column {
        Column { column: name.into(), reading }
    }

    #[test]
    fn a_cell_says_what_the_column_is() {
        let levels = ["Ideal", "Good", "Fair"].map(String::from).to_vec();
        let table = vec![
            column("cut", Reading::Category { levels, other: true }),
            column("when", Reading::time(vec![])),
            column("hour", Reading::time(vec![86_400.0])),
            column("v", Reading::Vector { length: 3 }),
        ];
        let first = vec![0.612, 0.304, 0.05, 0.034, 1.357e9, 0.0, 0.9, 0.25, -1.0, 3.0];
        let second = vec![0.01, -0.02, 0.03, 0.98, 1.358e9, 0.01, 0.02, 0.0, 0.0, 0.0];
        let model = model(table, vec![first, second]);
        let cells = |l: usize| shown(&model).iter().map(|shown| shown.cell(&model, l)).collect::<Vec<_>>();
        assert_eq!(cells(0), ["Ideal 61% Good 30%", "2013-01-01", "06:00", "[0.25 -1 ..]"]);
        assert_eq!(cut("One_Story_1946_and_Newer"), "One_Story_1946..");
        assert_eq!(cells(1), ["(other) 98%", "2013-01-12", "all around", "[0 0 ..]"]);
    }

    #[test]
    fn numbers_have_the_digits_that_tell_components_apart() {
        let model = model(
            vec![Column::number("year"), Column::number("x")],
            vec![vec![2013.111, 1.0], vec![2013.9, 250.0]],
        );
        let cells = |l: usize| shown(&model).iter().map(|shown| shown.cell(&model, l)).collect::<Vec<_>>();
        assert_eq!(cells(0), ["2013.111", "1"]);
        assert_eq!(cells(1), ["2013.9", "250"]);
    }
}
