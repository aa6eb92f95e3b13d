//! Which means, deviations and correlations of the columns changed, from exact moments.
//!
//! | statistic | compared on | variance from one row |
//! |---|---|---|
//! | mean | $\mu / \sigma$ | 1 |
//! | deviation | $\ln \sigma$ | $(\kappa - 1) / 4$ |
//! | correlation | $\operatorname{artanh} \rho$ | $E\,(xy - \tfrac\rho2 (x^2 + y^2))^2 / (1 - \rho^2)^2$ |
//!
//! x and y are standardised columns and $\kappa$ a kurtosis. Fourth moments are those of the density of all
//! rows. Without an outline they are bounded: a column whose values lie within r deviations of its mean has
//! $\kappa \le r^2$, and no square above it is more than that of a normal column times $\kappa / 3$.
//!
//! With S statistics in all, a change is named if chance gives one of S as large with a probability below
//! [`CHANCE`].
//!
//! Cost: d^2 for each of some thousand points.

use serde::Serialize;

use crate::ask::drift::difference::Difference;
use crate::model::Working;
use crate::num::special::chi_square_tail;
use crate::sketch::Sketch;
use crate::sketch::frequency::Covariance;
use crate::sketch::operator::SketchOperator;

/// Probability that anything is named although nothing changed.
const CHANCE: f64 = 0.01;
/// Points that stand for the density.
const POINTS: usize = 3000;
/// Least variance of a squared standardised column, which for one of two values is near 0.
const LEAST_SQUARE: f64 = 0.05;
/// A column whose deviation is below this part of its mean or of the other side's has none.
const NO_DEVIATION: f64 = 1e-9;
/// A correlation nearer to 1 has no finite error.
const DEPENDENT: f64 = 1.0 - 1e-9;
/// Where a column's range is not declared: deviations from its mean that its values are within.
const REACH: f64 = 6.0;

/// A number of one or two columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "statistic", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Statistic {
    /// Its mean.
    Mean {
        /// Place of the column in the recipe.
        column: usize,
    },
    /// Its standard deviation.
    Deviation {
        /// Place of the column in the recipe.
        column: usize,
    },
    /// The correlation of two.
    Correlation {
        /// Places of the columns, the lower first.
        columns: [usize; 2],
    },
}

impl Statistic {
    /// Its stable name.
    pub fn name(self) -> &'static str {
        match self {
            Statistic::Mean { .. } => "mean",
            Statistic::Deviation { .. } => "deviation",
            Statistic::Correlation { .. } => "correlation",
        }
    }

    /// Places of its columns in the recipe.
    pub fn columns(self) -> Vec<usize> {
        match self {
            Statistic::Mean { column } | Statistic::Deviation { column } => vec![column],
            Statistic::Correlation { columns } => columns.to_vec(),
        }
    }
}

/// A statistic that changed by more than chance explains.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Change {
    /// What changed.
    #[serde(flatten)]
    pub statistic: Statistic,
    /// In the first sketch, in the user's units.
    pub before: f64,
    /// In the second.
    pub after: f64,
    /// Standard error of the difference, in the same units.
    pub standard_error: f64,
    /// The difference in units of a standard error, as the table above compares it, with its sign.
    pub score: f64,
}

/// Means and covariances of one side, in the user's units.
struct Side {
    mean: Vec<f64>,
    covariance: Covariance,
}

impl Side {
    fn new(sketch: &Sketch, working: &Working) -> Option<Side> {
        let (mean, covariance) = working.moments(&sketch.exact_moments()?);
        Some(Side { mean, covariance: covariance? })
    }

    fn deviation(&self, c: usize) -> f64 {
        match &self.covariance {
            Covariance::Full(rows) => rows[c][c].max(0.0).sqrt(),
            Covariance::Diagonal(variances) => variances[c].max(0.0).sqrt(),
        }
    }

    fn correlation(&self, i: usize, j: usize) -> f64 {
        match &self.covariance {
            Covariance::Full(rows) => rows[i][j] / (self.deviation(i) * self.deviation(j)),
            Covariance::Diagonal(_) => 0.0,
        }
    }
}

/// Those beyond chance, the surest first.
pub(super) fn beyond_chance(mut all: Vec<Change>) -> Vec<Change> {
    let n = all.len() as f64;
    all.retain(|c| n * chi_square_tail(c.score * c.score, 1.0) < CHANCE);
    all.sort_by(|x, y| y.score.abs().total_cmp(&x.score.abs()));
    all
}

/// All statistics of two sketches; none if one of them has no exact moments.
pub(super) fn statistics(
    operator: &SketchOperator,
    working: &Working,
    [a, b]: [&Sketch; 2],
    found: Option<&Difference>,
) -> Vec<Change> {
    let (Some(before), Some(after)) = (Side::new(a, working), Side::new(b, working)) else {
        return Vec::new();
    };
    let d = operator.dim();
    let tails = match found {
        Some(found) => Tails::of_density(found, working),
        None => Tails::bounded(operator, &before, &after),
    };
    let inverse_rows = 1.0 / a.rows() as f64 + 1.0 / b.rows() as f64;
    let mut all = Vec::new();
    let varies: Vec<bool> = (0..d)
        .map(|c| {
            let (s, t) = (before.deviation(c), after.deviation(c));
            s.min(t) > NO_DEVIATION * s.max(t).max(before.mean[c].abs().max(after.mean[c].abs()))
        })
        .collect();
    for (c, varies) in varies.iter().enumerate() {
        let (s, t) = (before.deviation(c), after.deviation(c));
        let error = (s * s / a.rows() as f64 + t * t / b.rows() as f64).sqrt();
        if error > 0.0 {
            let (x, y) = (before.mean[c], after.mean[c]);
            all.push(change(Statistic::Mean { column: c }, (x, y), error, (y - x) / error));
        }
        if *varies {
            let error = 0.5 * (tails.square(c) * inverse_rows).sqrt();
            let score = (t / s).ln() / error;
            all.push(change(Statistic::Deviation { column: c }, (s, t), error * (s * t).sqrt(), score));
        }
    }
    if matches!(before.covariance, Covariance::Full(_)) {
        for (i, j) in
            (0..d).flat_map(|j| (0..j).map(move |i| (i, j))).filter(|&(i, j)| varies[i] && varies[j])
        {
            let (x, y) = (before.correlation(i, j), after.correlation(i, j));
            if x.abs() < DEPENDENT && y.abs() < DEPENDENT {
                let unit = 1.0 - (0.5 * (x + y)).powi(2);
                let error = (tails.product(i, j) * inverse_rows).sqrt();
                let score = (y.atanh() - x.atanh()) / (error / unit);
                all.push(change(Statistic::Correlation { columns: [i, j] }, (x, y), error, score));
            }
        }
    }
    all
}

fn change(statistic: Statistic, (before, after): (f64, f64), standard_error: f64, score: f64) -> Change {
    Change { statistic, before, after, standard_error, score }
}

/// Fourth moments of standardised columns.
enum Tails {
    /// Weighted points, rows of d standardised columns.
    Points { dim: usize, rows: Vec<f64>, weights: Vec<f64> },
    /// Bounds of the kurtosis of each column, and mean correlations of pairs.
    Bounds { kurtosis: Vec<f64>, correlations: Vec<Vec<f64>> },
}

impl Tails {
    fn of_density(found: &Difference, working: &Working) -> Tails {
        let cloud = found.pooled.cloud(POINTS, 0);
        let d = cloud.dim;
        let mut rows: Vec<f64> = cloud.points.chunks_exact(d).flat_map(|u| working.location(u)).collect();
        for c in 0..d {
            let column = || rows.iter().skip(c).step_by(d).zip(&cloud.weights);
            let mean: f64 = column().map(|(x, w)| w * x).sum();
            let variance: f64 = column().map(|(x, w)| w * (x - mean).powi(2)).sum();
            let unit = if variance > 0.0 { 1.0 / variance.sqrt() } else { 0.0 };
            rows.iter_mut().skip(c).step_by(d).for_each(|x| *x = (*x - mean) * unit);
        }
        Tails::Points { dim: d, rows, weights: cloud.weights }
    }

    fn bounded(operator: &SketchOperator, before: &Side, after: &Side) -> Tails {
        let bounds = operator.spec().bounds.as_ref();
        let d = operator.dim();
        let kurtosis = |c: usize| {
            let mean = 0.5 * (before.mean[c] + after.mean[c]);
            let deviation = before.deviation(c).min(after.deviation(c));
            let reach =
                bounds.map_or(REACH, |b| (b.high[c] - mean).abs().max((mean - b.low[c]).abs()) / deviation);
            if reach.is_finite() { (reach * reach).max(3.0) } else { REACH * REACH }
        };
        let mean = |i: usize, j: usize| 0.5 * (before.correlation(i, j) + after.correlation(i, j));
        Tails::Bounds {
            kurtosis: (0..d).map(kurtosis).collect(),
            correlations: (0..d).map(|i| (0..i).map(|j| mean(i, j)).collect()).collect(),
        }
    }

    /// Variance of a squared standardised column.
    fn square(&self, c: usize) -> f64 {
        let kurtosis = match self {
            Tails::Points { dim, rows, weights } => {
                rows.iter().skip(c).step_by(*dim).zip(weights).map(|(x, w)| w * x.powi(4)).sum()
            }
            Tails::Bounds { kurtosis, .. } => kurtosis[c],
        };
        (kurtosis - 1.0).max(LEAST_SQUARE)
    }

    /// Variance of a correlation from one row.
    fn product(&self, i: usize, j: usize) -> f64 {
        match self {
            Tails::Points { dim, rows, weights } => {
                let points = || rows.chunks_exact(*dim).zip(weights);
                let rho: f64 = points().map(|(x, w)| w * x[i] * x[j]).sum();
                let slope = |x: &[f64]| x[i] * x[j] - 0.5 * rho * (x[i] * x[i] + x[j] * x[j]);
                let least = LEAST_SQUARE * (1.0 - rho * rho).powi(2);
                points().map(|(x, w)| w * slope(x).powi(2)).sum::<f64>().max(least)
            }
            Tails::Bounds { kurtosis, correlations } => {
                let rho = correlations[i.max(j)][i.min(j)];
                (1.0 - rho * rho).powi(2) * kurtosis[i].max(kurtosis[j]) / 3.0
            }
        }
    }
}
