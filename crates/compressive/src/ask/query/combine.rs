//! From the means of functions and their errors to answers.

use std::ops::Range;

use super::expr::{Expr, Scope};
use super::functions::Plan;
use super::parse::QueryKind;
use super::regress::Posterior;
use super::{Answer, Bin, Estimate, Query, Value};
use crate::num::linear::dot;

/// No answer is claimed to be nearer to the table's own than this part of the table's distance to its
/// population: at a threshold inside a thin shape the rest of the error is not what a smooth law says.
const FLOOR: f64 = 0.1;
/// Standard errors in half of a 95% interval.
const HALF_WIDTH: f64 = 1.959_963_984_540_054;

/// Means of all functions, and their covariances.
pub(super) struct Answers {
    means: Vec<f64>,
    /// For each query, the covariances of its functions' means from each source.
    parts: Vec<Parts>,
    rows: f64,
    rows_std: f64,
    /// Whether shares rise in steps at the thresholds, which are known to so much; else they are smooth.
    steps: Option<f64>,
}

/// Covariances of the means of one query's functions.
struct Parts {
    approximation: Vec<f64>,
    noise: Vec<f64>,
    sampling: Vec<f64>,
}

impl Answers {
    pub(super) fn new(posterior: Posterior, rows: f64, rows_std: f64) -> Answers {
        let Posterior { means, approximation, noise, functions } = posterior;
        let groups = approximation.into_iter().zip(noise).zip(functions);
        let parts = groups.map(|((mut approximation, noise), mut sampling)| {
            sampling.iter_mut().for_each(|c| *c /= rows);
            approximation.iter_mut().zip(&sampling).for_each(|(a, s)| *a += FLOOR * FLOOR * s);
            Parts { approximation, noise, sampling }
        });
        Answers { means, parts: parts.collect(), rows, rows_std, steps: None }
    }

    /// For shares that rise at the thresholds alone, which are known to `rounding`.
    pub(super) fn stepped(self, rounding: f64) -> Answers {
        Answers { steps: Some(rounding), ..self }
    }

    /// The answer to the query of an index.
    pub(super) fn tell(&self, index: usize, group: Range<usize>, query: &Query, plan: &Plan) -> Answer {
        let own = Own { all: self, means: &self.means[group], parts: &self.parts[index] };
        let value = match &query.kind {
            QueryKind::Number { outer, range } => Value::Number(own.number(outer, *range)),
            QueryKind::Histogram { .. } => Value::Histogram { bins: own.bins(&plan.thresholds) },
            QueryKind::Quantile { level } => Value::Number(own.quantile(*level, &plan.thresholds)),
        };
        Answer { query: query.text.clone(), value }
    }
}

/// What is known about the functions of one query.
struct Own<'a> {
    all: &'a Answers,
    means: &'a [f64],
    parts: &'a Parts,
}

impl Own<'_> {
    /// An estimate from its value and its gradient in the means.
    fn estimate(&self, value: f64, gradient: &[f64], by_rows: f64, range: (f64, f64)) -> Estimate {
        let approximation = deviation(&self.parts.approximation, gradient);
        let noise = deviation(&self.parts.noise, gradient).hypot(by_rows * self.all.rows_std);
        let standard_error = approximation.hypot(noise);
        let inside = |x: f64| x.clamp(range.0, range.1);
        Estimate {
            value: inside(value),
            standard_error,
            low: inside(value - HALF_WIDTH * standard_error),
            high: inside(value + HALF_WIDTH * standard_error),
            approximation,
            noise,
            sampling: deviation(&self.parts.sampling, gradient),
            exact: false,
        }
    }

    /// Standard error of the mean of one function.
    fn error(&self, i: usize) -> f64 {
        let at = i * (self.means.len() + 1);
        (self.parts.approximation[at] + self.parts.noise[at]).max(0.0).sqrt()
    }

    /// An expression in the means, by the delta method: differences over half a standard error each way.
    fn number(&self, outer: &Expr, range: (f64, f64)) -> Estimate {
        let (mut means, rows) = (self.means.to_vec(), self.all.rows);
        let value_at = |means: &[f64], rows: f64| outer.eval(&Scope { row: &[], means, rows });
        let value = value_at(&means, rows);
        let mut gradient = Vec::with_capacity(means.len());
        for i in 0..means.len() {
            let (kept, step) = (means[i], (0.5 * self.error(i)).max(1e-7 * means[i].abs()).max(1e-12));
            means[i] = kept + step;
            let above = value_at(&means, rows);
            means[i] = kept - step;
            let below = value_at(&means, rows);
            means[i] = kept;
            gradient.push((above - below) / (2.0 * step));
        }
        let step = 1e-3 * rows;
        let by_rows = (value_at(&means, rows + step) - value_at(&means, rows - step)) / (2.0 * step);
        self.estimate(value, &gradient, by_rows, range)
    }

    /// Shares between edges, and outside of them.
    fn bins(&self, edges: &[f64]) -> Vec<Bin> {
        let bin = |at: usize| {
            let mut gradient = vec![0.0; self.means.len()];
            gradient[at] = 1.0;
            let share = self.estimate(self.means[at], &gradient, 0.0, (0.0, 1.0));
            Bin { from: at.checked_sub(1).map(|i| edges[i]), to: edges.get(at).copied(), share }
        };
        (0..self.means.len()).map(bin).collect()
    }

    /// Where the share of rows at most t crosses the level, and where the ends of its interval do.
    fn quantile(&self, level: f64, thresholds: &[f64]) -> Estimate {
        let n = self.means.len();
        let crossing = |sign: f64| {
            let curve: Vec<f64> = (0..n).map(|i| self.means[i] + sign * HALF_WIDTH * self.error(i)).collect();
            cross(thresholds, &curve, level, self.all.steps.is_none())
        };
        let rounding = self.all.steps.unwrap_or(0.0);
        let (low, value, high) = (crossing(1.0) - rounding, crossing(0.0), crossing(-1.0) + rounding);
        let standard_error = (high - low) / (2.0 * HALF_WIDTH);
        let off = |i: &usize| (self.means[*i] - level).abs();
        let nearest = (0..n).min_by(|a, b| off(a).total_cmp(&off(b))).unwrap_or(0);
        let scaled = |covariance: &[f64]| {
            let part = covariance[nearest * (n + 1)].max(0.0).sqrt();
            standard_error * part / self.error(nearest).max(1e-300)
        };
        Estimate {
            value,
            standard_error,
            low,
            high,
            approximation: scaled(&self.parts.approximation),
            noise: scaled(&self.parts.noise),
            sampling: scaled(&self.parts.sampling),
            exact: false,
        }
    }
}

/// $\sqrt{g^\top \Sigma g}$.
fn deviation(covariance: &[f64], gradient: &[f64]) -> f64 {
    let rows = covariance.chunks_exact(gradient.len().max(1)).zip(gradient);
    rows.map(|(row, g)| g * dot(row, gradient)).sum::<f64>().max(0.0).sqrt()
}

/// Where a curve, made to rise, first reaches a level; the ends if it does not.
fn cross(thresholds: &[f64], curve: &[f64], level: f64, smooth: bool) -> f64 {
    let mut top = f64::NEG_INFINITY;
    for (i, value) in curve.iter().enumerate() {
        if *value >= level {
            if i == 0 || !smooth {
                return thresholds[i];
            }
            let part = ((level - top) / (value - top)).clamp(0.0, 1.0);
            return thresholds[i - 1] + part * (thresholds[i] - thresholds[i - 1]);
        }
        top = top.max(*value);
    }
    thresholds[thresholds.len() - 1]
}
