//! Columns that hold numbers and yet tell nothing of the rows, as the pilot shows them: mostly empty,
//! constant, or a number of the row.

use compressive::design::Request;
use compressive::{Column, Reading, calendar, reading};

use crate::pilot::Pilot;
use crate::plan::LeftOut;

/// Share of missing entries above which a column is left out: most of what is summed would be its centre.
const MISSING_MOST: f64 = 0.5;
/// Rows from which on a column that counts up is taken for a number of the row: fewer may do so by chance.
const NUMBERED_ROWS: usize = 20;
/// Share of equal steps of a column that counts up; blocks of a sample are apart.
const REGULAR_STEPS: f64 = 0.9;
/// Names under which whole numbers that never repeat are numbers of rows, also in a sample without order.
const NUMBER_NAMES: [&str; 5] = ["rownames", "row", "id", "index", "unnamed: 0"];

/// The columns to leave out, and why; none if no other would remain.
pub(crate) fn unfit(pilot: &Pilot, columns: &[Column]) -> Vec<LeftOut> {
    let dim = pilot.columns.len();
    let found: Vec<LeftOut> = reading::places(columns)
        .filter_map(|(column, at)| {
            let entries = |c: usize| pilot.rows.iter().skip(c).step_by(dim).copied().collect::<Vec<f64>>();
            let coordinates: Vec<Vec<f64>> = at.map(entries).collect();
            let (reason, group) = reason(column, &coordinates)?;
            Some(LeftOut { name: column.column.clone(), reason, group, asked: false })
        })
        .collect();
    if found.len() < columns.len() { found } else { Vec::new() }
}

/// Why a column with these coordinates is left out, and what several such columns are called.
fn reason(column: &Column, coordinates: &[Vec<f64>]) -> Option<(String, &'static str)> {
    let entries = coordinates.first()?;
    if let Some(empty) = mostly_empty(entries) {
        return Some(empty);
    }
    // Indicators are seldom constant together, and circles hide what a number is.
    match &column.reading {
        Reading::Category { .. } => None,
        Reading::Vector { .. } => {
            let constant = coordinates.iter().all(|entries| constant(entries).is_some());
            constant.then(|| ("constant in the sample".to_owned(), "constant columns"))
        }
        Reading::Time { periods, .. } => {
            let value = constant(entries).filter(|_| periods.is_empty())?;
            let date = calendar::show(value, true);
            Some((format!("constant, {date} in the sample"), "constant columns"))
        }
        Reading::Number { periods } if !periods.is_empty() => None,
        Reading::Number { .. } => {
            if let Some(value) = constant(entries) {
                return Some((format!("constant, {value} in the sample"), "constant columns"));
            }
            numbers_rows(&column.column, entries)
                .then(|| ("it numbers the rows".to_owned(), "columns that number the rows"))
        }
    }
}

/// The only value of a column that is there twice or more.
fn constant(entries: &[f64]) -> Option<f64> {
    let mut present = entries.iter().copied().filter(|x| !x.is_nan());
    let first = present.next()?;
    let mut more = 0;
    let same = present.all(|x| {
        more += 1;
        x == first
    });
    (same && more > 0).then_some(first)
}

fn mostly_empty(column: &[f64]) -> Option<(String, &'static str)> {
    let present: Vec<f64> = column.iter().copied().filter(|x| !x.is_nan()).collect();
    let missing = column.len() - present.len();
    if present.len() < 2 && missing > 0 {
        return Some(("empty".to_owned(), "empty columns"));
    }
    if missing as f64 > MISSING_MOST * column.len() as f64 {
        let share = 100.0 * missing as f64 / column.len() as f64;
        return Some((
            format!("{share:.0}% of its entries are missing in the sample"),
            "mostly empty columns",
        ));
    }
    None
}

fn numbers_rows(name: &str, column: &[f64]) -> bool {
    if column.len() < NUMBERED_ROWS || column.iter().any(|x| x.fract() != 0.0) {
        return false;
    }
    if NUMBER_NAMES.contains(&name.to_lowercase().as_str()) {
        let mut sorted = column.to_vec();
        sorted.sort_by(f64::total_cmp);
        return sorted.windows(2).all(|pair| pair[0] < pair[1]);
    }
    let mut steps: Vec<f64> = column.windows(2).map(|pair| pair[1] - pair[0]).collect();
    if steps.iter().any(|step| *step <= 0.0) {
        return false;
    }
    steps.sort_by(f64::total_cmp);
    let usual = steps[steps.len() / 2];
    let equal = steps.iter().filter(|step| **step == usual).count();
    equal as f64 >= REGULAR_STEPS * steps.len() as f64
}

/// Gives the columns that the sample brought to light their place in the bounds that a request has: their
/// range in the sample.
pub(crate) fn widen(request: &mut Request, known: &[String], pilot: &Pilot) {
    let Some(bounds) = &mut request.bounds else { return };
    let dim = pilot.columns.len();
    if bounds.low.len() != known.len() || known.len() == dim {
        return;
    }
    let ends = |c: usize| match known.iter().position(|name| *name == pilot.columns[c]) {
        Some(place) => (bounds.low[place], bounds.high[place]),
        None => {
            let entries = || pilot.rows.iter().skip(c).step_by(dim).copied();
            (entries().fold(f64::INFINITY, f64::min), entries().fold(f64::NEG_INFINITY, f64::max))
        }
    };
    let (low, high) = (0..dim).map(ends).unzip();
    (bounds.low, bounds.high) = (low, high);
}

/// Keeps the named columns of a pilot, and of the bounds that a request has.
pub(crate) fn keep(pilot: &mut Pilot, request: &mut Request, columns: &[String]) {
    let dim = pilot.columns.len();
    let kept: Vec<usize> = (0..dim).filter(|&c| columns.contains(&pilot.columns[c])).collect();
    let of = |row: &[f64]| -> Vec<f64> { kept.iter().map(|&c| row[c]).collect() };
    pilot.rows = pilot.rows.chunks_exact(dim).flat_map(of).collect();
    if let Some(bounds) = &mut request.bounds
        && bounds.low.len() == dim
    {
        (bounds.low, bounds.high) = (of(&bounds.low), of(&bounds.high));
    }
    pilot.columns = columns.to_vec();
}

#[cfg(test)]
mod tests {
    use super::*;

    type Filled<'a> = (&'a str, fn(usize) -> f64);

    fn reasons(columns: &[Filled<'_>], n_rows: usize) -> Vec<(String, String)> {
        let rows = (0..n_rows).flat_map(|i| columns.iter().map(move |(_, f)| f(i))).collect();
        let names = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
        let pilot = Pilot { rows, n_rows, columns: names, groups: None };
        let columns: Vec<Column> = pilot.columns.iter().map(Column::number).collect();
        unfit(&pilot, &columns).into_iter().map(|left| (left.name, left.reason)).collect()
    }

    #[test]
    fn columns_that_tell_nothing_are_found_and_others_kept() {
        let found = reasons(
            &[
                ("x", |i| (i * 7 % 30) as f64),
                ("year", |_| 2013.0),
                ("n", |i| 5.0 + 2.0 * i as f64),
                ("ID", |i| ((i * 7) % 30) as f64),
                ("gone", |i| if i < 14 { i as f64 * 0.5 } else { f64::NAN }),
                ("half", |i| if i < 15 { i as f64 * 0.5 } else { f64::NAN }),
                ("none", |_| f64::NAN),
            ],
            30,
        );
        let expected = [
            ("year", "constant, 2013 in the sample"),
            ("n", "it numbers the rows"),
            ("ID", "it numbers the rows"),
            ("gone", "53% of its entries are missing in the sample"),
            ("none", "empty"),
        ];
        assert_eq!(found, expected.map(|(name, reason)| (name.to_owned(), reason.to_owned())));
    }

    #[test]
    fn few_rows_that_count_up_are_data_and_the_last_column_is_never_left_out() {
        assert_eq!(reasons(&[("n", |i| i as f64), ("x", |i| (i % 3) as f64)], 19), []);
        assert_eq!(reasons(&[("n", |i| i as f64)], 50), []);
    }
}
