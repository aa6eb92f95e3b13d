//! Centre and spread of every coordinate, by what it is.
//!
//! - Numbers and times: median and interquartile range / 1.349, or one spread for all ([`Scaling`]); for
//!   k-means the standard deviation, as its sums of squares are made of them.
//! - The numbers of a vector share a unit, and so a spread: the root mean square of theirs.
//! - An indicator of a category: centred at its share, and divided by $\sqrt 2 / w$, so that two rows that
//!   differ in one category alone are w apart; w is 1 unless asked otherwise. Rare levels count as others do.
//! - Cosine and sine of a circle: as they are, so that a column that is all around the circle has variance 1.

use std::borrow::Cow;
use std::f64::consts::SQRT_2;
use std::ops::Range;

use crate::design::request::Settled;
use crate::design::{Reason, Scaling, Task};
use crate::error::remedy::{Parameter, Remedy};
use crate::error::{Error, Result};
use crate::num::linear::cholesky;
use crate::sketch::spec::reading::{self, Column, Reading};
use crate::sketch::spec::{Bounds, Transform};

/// What a coordinate is, as far as its scale goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Measured,
    Indicator,
    Circle,
}

/// What the coordinates are, and which of them share a unit because they are one vector.
struct Roles {
    of: Vec<Role>,
    vectors: Vec<Range<usize>>,
}

impl Roles {
    fn new(readings: &[Column], columns: &[String]) -> Roles {
        let (mut of, mut vectors) = (Vec::new(), Vec::new());
        for (column, at) in reading::places(&reading::table_columns(readings, columns)) {
            let role = match &column.reading {
                Reading::Category { .. } => Role::Indicator,
                reading if !reading.periods().is_empty() => Role::Circle,
                _ => Role::Measured,
            };
            if matches!(column.reading, Reading::Vector { .. }) {
                vectors.push(at.clone());
            }
            of.resize(at.end, role);
        }
        Roles { of, vectors }
    }

    fn measured(&self) -> Vec<usize> {
        (0..self.of.len()).filter(|&c| self.of[c] == Role::Measured).collect()
    }

    /// Replaces the spreads of a vector's numbers by the one that they share.
    fn share(&self, spreads: &mut [f64]) {
        for vector in &self.vectors {
            let own = &mut spreads[vector.clone()];
            let mean_square = own.iter().map(|s| s * s).sum::<f64>() / own.len() as f64;
            own.fill(mean_square.sqrt());
        }
    }

    fn is_in_vector(&self, c: usize) -> bool {
        self.vectors.iter().any(|vector| vector.contains(&c))
    }
}

/// One coordinate of the sample.
struct Seen {
    centre: f64,
    spread: f64,
    deviation: f64,
    low: f64,
    high: f64,
}

impl Seen {
    fn new(rows: &[f64], (c, dim): (usize, usize), name: &str) -> Result<Seen> {
        let present = rows.iter().skip(c).step_by(dim).copied().filter(|x| !x.is_nan());
        let mut column: Vec<f64> = present.collect();
        if column.len() < 2 {
            let problem =
                format!("column `{name}` has {} entries in {} rows", column.len(), rows.len() / dim);
            return Err(Error::Spec { field: "columns", problem }.advise(leave_out(name)));
        }
        column.sort_by(f64::total_cmp);
        let interquartile = quantile(&column, 0.75) - quantile(&column, 0.25);
        let deviation = deviation(&column);
        Ok(Seen {
            centre: quantile(&column, 0.5),
            spread: if interquartile > 0.0 { interquartile / 1.349 } else { deviation },
            deviation,
            low: column[0],
            high: column[column.len() - 1],
        })
    }
}

fn leave_out(name: &str) -> Remedy {
    Remedy::say("leave it out", Remedy::set(Parameter::Exclude, name))
}

/// Centre and spread of every coordinate, and their ranges.
pub(super) fn transform(
    rows: &[f64],
    columns: &[String],
    params: &Settled,
    reasons: &mut Vec<Reason>,
) -> Result<(Transform, Bounds)> {
    let dim = columns.len();
    reading::validate(&reading::written(&params.readings), columns)?;
    let roles = Roles::new(&params.readings, columns);
    let (mut transform, mut deviations) = (Transform::identity(dim), vec![0.0; dim]);
    let mut range = Bounds { low: vec![0.0; dim], high: vec![1.0; dim] };
    for (c, name) in columns.iter().enumerate() {
        let seen = Seen::new(rows, (c, dim), name)?;
        // The levels of a category sum to one: a level alone says nothing.
        let alone = roles.of[c] == Role::Measured && !roles.is_in_vector(c) || dim == 1;
        if seen.low == seen.high && alone {
            let rows = rows.iter().skip(c).step_by(dim).filter(|x| !x.is_nan()).count();
            let error = Error::ConstantColumn { column: name.clone(), value: seen.low, rows };
            return Err(error.advise(leave_out(name)));
        }
        deviations[c] = seen.deviation;
        (transform.centre[c], transform.spread[c]) = (seen.centre, seen.spread);
        (range.low[c], range.high[c]) = (seen.low, seen.high);
        match roles.of[c] {
            Role::Measured => {}
            Role::Circle => {
                (transform.centre[c], transform.spread[c]) = (0.0, 1.0);
                (range.low[c], range.high[c]) = (-1.0, 1.0);
            }
            Role::Indicator => {
                transform.centre[c] = mean(rows, (c, dim));
                transform.spread[c] = SQRT_2 / params.category_weight;
                (range.low[c], range.high[c]) = (0.0, 1.0);
            }
        }
    }
    roles.share(&mut transform.spread);
    roles.share(&mut deviations);
    if let Some(empty) = roles.vectors.iter().find(|vector| !(transform.spread[vector.start] > 0.0)) {
        let (column, value) = (columns[empty.start].clone(), range.low[empty.start]);
        let error = Error::ConstantColumn { column: column.clone(), value, rows: rows.len() / dim };
        return Err(error.advise(leave_out(&column)));
    }
    let measured = roles.measured();
    if !measured.is_empty() {
        let pick = |all: &[f64]| -> Vec<f64> { measured.iter().map(|&c| all[c]).collect() };
        let mut spread = pick(&transform.spread);
        common_scale(params, &mut spread, &pick(&deviations), reasons);
        measured.iter().zip(spread).for_each(|(&c, s)| transform.spread[c] = s);
    }
    let enough = params.scaling == Scaling::Auto && rows.len() / dim >= WHITENING_ROWS * dim;
    let categories = roles.of.contains(&Role::Indicator);
    if params.whiten && categories {
        let problem = "the levels of a category sum to one, so their covariance is singular".into();
        return Err(Error::Spec { field: "transform", problem }
            .advise(Remedy::Drop(Parameter::Whiten))
            .advise(Remedy::say("leave categories out", Remedy::set(Parameter::Exclude, "COLUMN"))));
    }
    if params.whiten || (params.defaults.whiten && enough && !categories) {
        reasons.push(Reason::Whitened { asked: params.whiten });
        let rows = filled(rows, &transform.centre);
        transform.whiten = Some(whitening(&to_working(&rows, &transform), dim)?);
    }
    Ok((transform, range))
}

fn mean(rows: &[f64], (c, dim): (usize, usize)) -> f64 {
    let present = || rows.iter().skip(c).step_by(dim).filter(|x| !x.is_nan());
    present().sum::<f64>() / present().count().max(1) as f64
}

/// Rows of the pilot for each column that suffice to whiten by. Classes of correlated columns are told apart
/// by directions in which the whole table hardly varies, so classification whitens unless a scaling is asked
/// for.
const WHITENING_ROWS: usize = 5;

/// Ratio of the largest spread to that below which a quarter of the columns are, up to which columns are
/// taken to share a unit. Some columns of one unit hardly vary, such as pixels at the edge of an image.
const ONE_UNIT: f64 = 30.0;

/// Replaces the spreads by one for all columns, where the scaling is common; else by the standard deviations
/// for k-means, whose sums of squares are made of them.
pub(super) fn common_scale(
    params: &Settled,
    spread: &mut [f64],
    deviations: &[f64],
    reasons: &mut Vec<Reason>,
) {
    let k_means = params.task == Task::Kmeans;
    let mut sorted = if k_means { deviations.to_vec() } else { spread.to_vec() };
    sorted.sort_by(f64::total_cmp);
    let ratio = sorted[sorted.len() - 1] / sorted[(sorted.len() - 1) / 4];
    let (asked, scaling) = match params.scaling {
        Scaling::Auto => (false, params.defaults.scaling),
        given => (true, given),
    };
    let common = match scaling {
        Scaling::Common => true,
        Scaling::Columns => false,
        Scaling::Auto => !params.whiten && ratio <= ONE_UNIT,
    };
    if common {
        let mean_square = spread.iter().map(|s| s * s).sum::<f64>() / spread.len() as f64;
        spread.fill(mean_square.sqrt());
        return;
    }
    if k_means {
        spread.copy_from_slice(deviations);
    }
    if !asked && !params.whiten && scaling == Scaling::Auto {
        reasons.push(Reason::OwnSpreads { ratio, most: ONE_UNIT });
    }
}

/// The rows with the centres in place of missing entries.
pub(super) fn filled<'a>(rows: &'a [f64], centre: &[f64]) -> Cow<'a, [f64]> {
    if rows.iter().all(|x| !x.is_nan()) {
        return Cow::Borrowed(rows);
    }
    rows.iter().zip(centre.iter().cycle()).map(|(x, c)| if x.is_nan() { *c } else { *x }).collect()
}

fn quantile(sorted: &[f64], p: f64) -> f64 {
    let position = p * (sorted.len() - 1) as f64;
    let i = position as usize;
    let next = sorted[(i + 1).min(sorted.len() - 1)];
    sorted[i] + (position - i as f64) * (next - sorted[i])
}

fn deviation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt()
}

pub(super) fn to_working(rows: &[f64], transform: &Transform) -> Vec<f64> {
    rows.chunks_exact(transform.centre.len()).flat_map(|row| transform.apply(row)).collect()
}

/// $L^{-1}$ with $L L^\top$ the covariance of the rows (plus a millionth of its mean variance on the
/// diagonal).
fn whitening(rows: &[f64], dim: usize) -> Result<Vec<Vec<f64>>> {
    let n = (rows.len() / dim) as f64;
    let mut mean = vec![0.0; dim];
    for row in rows.chunks_exact(dim) {
        mean.iter_mut().zip(row).for_each(|(m, x)| *m += x / n);
    }
    let mut covariance = vec![vec![0.0; dim]; dim];
    for row in rows.chunks_exact(dim) {
        for i in 0..dim {
            for j in 0..=i {
                covariance[i][j] += (row[i] - mean[i]) * (row[j] - mean[j]) / n;
            }
        }
    }
    let ridge = 1e-6 * (0..dim).map(|i| covariance[i][i]).sum::<f64>() / dim as f64;
    (0..dim).for_each(|i| covariance[i][i] += ridge);
    let lower = cholesky(&covariance).ok_or_else(|| {
        let problem = "the pilot's covariance is singular, so it cannot be whitened".into();
        Error::Spec { field: "transform", problem }
            .advise(Remedy::Drop(Parameter::Whiten))
            .advise(Remedy::say("leave dependent columns out", Remedy::set(Parameter::Exclude, "COLUMN")))
    })?;
    let mut inverse: Vec<Vec<f64>> = Vec::with_capacity(dim);
    for (i, row) in lower.iter().enumerate() {
        let entry = |column: usize| {
            let unit = if i == column { 1.0 } else { 0.0 };
            let dot: f64 = inverse.iter().zip(row).map(|(above, l)| l * above[column]).sum();
            (unit - dot) / row[i]
        };
        let entries = (0..dim).map(entry).collect();
        inverse.push(entries);
    }
    Ok(inverse)
}
