//! What the experiments that measure seconds share. They run alone, one measurement after the other, so that
//! nothing of their own disturbs the clock.

use std::time::Instant;

use crate::error::Result;
use crate::experiment::draws::median;
use crate::experiment::report::{Cell, Figure};
use crate::plot::{Lines, Series};

/// Threads of everything that is timed.
pub(super) const THREADS: usize = 2;

/// A result, and the seconds it took.
pub(super) fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, f64)> {
    let clock = Instant::now();
    Ok((work()?, clock.elapsed().as_secs_f64()))
}

/// The last of so many results, at least one, and the median of the seconds.
pub(super) fn timed_median<T>(repeats: usize, work: impl Fn() -> Result<T>) -> Result<(T, f64)> {
    let (mut last, first) = timed(&work)?;
    let mut seconds = vec![first];
    for _ in 1..repeats {
        let (result, more) = timed(&work)?;
        last = result;
        seconds.push(more);
    }
    Ok((last, median(&seconds)))
}

/// Seconds with three digits that count.
pub(super) fn cell(seconds: f64) -> Cell {
    let digits = match seconds {
        s if s < 1.0 => 3,
        s if s < 10.0 => 2,
        _ => 1,
    };
    Cell::number("seconds", seconds, digits)
}

/// How many times.
pub(super) fn times(value: f64) -> Cell {
    Cell::number("times", value, if value < 10.0 { 1 } else { 0 })
}

/// A number of rows as a power of ten.
pub(super) fn rows(n_rows: usize) -> Cell {
    Cell::text(format!("{n_rows:e}")).with("n", n_rows as f64)
}

/// Curves against the number of rows, both on logarithmic axes (base 10).
pub(super) fn figure(
    file: &str,
    (title, what): (&str, &str),
    sizes: &[usize],
    curves: Vec<(&str, Vec<f64>)>,
) -> Result<Figure> {
    let names: Vec<&str> = curves.iter().map(|(name, _)| *name).collect();
    let alt = format!(
        "Curves of {what} against the number of rows, both as logarithms to base 10: {}.",
        names.join(", ")
    );
    let points = |values: Vec<f64>| {
        sizes.iter().zip(values).map(|(n, value)| ((*n as f64).log10(), value.log10())).collect()
    };
    let series =
        curves.into_iter().map(|(name, values)| Series { name: name.into(), points: points(values) });
    let lines = Lines {
        title: title.into(),
        x_label: "log10 of the number of rows".into(),
        y_label: format!("log10 of {what}"),
        series: series.collect(),
    };
    Ok(Figure { file: file.into(), alt, png: lines.to_png()? })
}
