//! Queries that a sketch's exact moments answer: numbers made of means of polynomials of degree two.
//!
//! With the mean $\mu$ and the covariance $\Sigma$ of the rows, $x = \mu + z$, a polynomial is
//! $p = c + l^\top z + z^\top Q z$ and its mean $c + \mathrm{tr}(Q \Sigma)$. Taken about the mean from the
//! start, a variance or covariance loses no digits, wherever the columns lie. Levels of categories are
//! indicators, so that shares of two levels at a time, and means of a number in the rows of a level, are such
//! means, too (file `levels.rs`).
//!
//! The answer is the table's own but for the rounding of rows to the grid: moving each value of a column by
//! at most e moves a mean by at most e times the root mean square slope, and the interval is that wide. How
//! far that is from the population's follows from the covariance of the means of normal rows,
//! $(l_a^\top \Sigma\, l_b + 2\,\mathrm{tr}(Q_a \Sigma\, Q_b \Sigma)) / n$.

use std::collections::BTreeMap;

use super::expr::{Expr, Function, Linear, Operator, Scope};
use super::levels::products;
use super::parse::QueryKind;
use super::{Answer, Estimate, Query, Value};
use crate::error::Result;
use crate::model::Working;
use crate::num::linear::dot;
use crate::sketch::frequency::Covariance;
use crate::sketch::operator::SketchOperator;
use crate::sketch::{Moments, Sketch};

/// Mean and covariance of the rows in the user's units.
pub(super) struct Exact {
    mean: Vec<f64>,
    covariance: Option<Covariance>,
    rows: f64,
    /// Most that each column of a row is rounded by.
    rounding: Vec<f64>,
    /// The table's column of each coordinate.
    column: Vec<usize>,
}

/// A polynomial of degree two about the mean.
#[derive(Clone, Debug, Default, PartialEq)]
struct Polynomial {
    constant: f64,
    linear: BTreeMap<usize, f64>,
    /// Pairs (i, j) with j at most i, each once.
    quadratic: BTreeMap<(usize, usize), f64>,
}

impl Exact {
    /// What the sketch keeps, if anything.
    pub(super) fn new(operator: &SketchOperator, moments: &Moments) -> Result<Option<Exact>> {
        let Some(exact) = &moments.exact else { return Ok(None) };
        let working = Working::new(&operator.spec().transform)?;
        let (mean, covariance) = working.moments(exact);
        let rounding = working.reach(0.5 / (1u64 << Sketch::GRID_BITS) as f64);
        let columns = operator.spec().table_columns();
        let widths = columns.iter().map(|column| column.reading.width());
        let column = widths.enumerate().flat_map(|(c, width)| vec![c; width]).collect();
        Ok(Some(Exact { mean, covariance, rows: moments.rows, rounding, column }))
    }

    /// The answer, if the moments give it.
    pub(super) fn answer(&self, query: &Query) -> Option<Answer> {
        let QueryKind::Number { outer, .. } = &query.kind else { return None };
        let parts =
            query.linears.iter().map(|l| self.polynomial_of(l)).collect::<Option<Vec<Polynomial>>>()?;
        let means = parts.iter().map(|p| self.mean_of(p)).collect::<Option<Vec<f64>>>()?;
        let value_at = |means: &[f64]| outer.eval(&Scope { row: &[], means, rows: self.rows });
        let value = value_at(&means);
        let dense = self.dense(&parts);
        let slope = |i: usize| {
            // A difference over a small part of the mean's own error.
            let small = 1e-3 * dense[i].covariance(&dense[i]).sqrt() / self.rows.sqrt();
            let (mut moved, step) = (means.clone(), small.max(1e-9 * means[i].abs()).max(1e-300));
            moved[i] = means[i] + step;
            let above = value_at(&moved);
            moved[i] = means[i] - step;
            (above - value_at(&moved)) / (2.0 * step)
        };
        let slopes: Vec<f64> = (0..means.len()).map(slope).collect();
        let variance: f64 = (slopes.iter().zip(&dense))
            .flat_map(|(s, p)| slopes.iter().zip(&dense).map(move |(t, q)| s * t * p.covariance(q)))
            .sum();
        let rounded: f64 = slopes.iter().zip(&dense).map(|(s, p)| s.abs() * p.rounding).sum();
        let estimate = Estimate::exact(value, rounded, (variance.max(0.0) / self.rows).sqrt());
        Some(Answer { query: query.text.clone(), value: Value::Number(estimate) })
    }

    /// A mean of products of factors; about their own means if `centred`.
    fn polynomial_of(&self, linear: &Linear) -> Option<Polynomial> {
        linear.factors.iter().try_fold(Polynomial::constant(1.0), |product, factor| {
            let mut factor = self.polynomial(factor)?;
            if linear.centred {
                factor.constant -= self.mean_of(&factor)?;
            }
            product.times(&factor)
        })
    }

    /// An expression in the columns as a polynomial; none if it is not a polynomial of degree two.
    fn polynomial(&self, expr: &Expr) -> Option<Polynomial> {
        match expr {
            Expr::Number(value) => Some(Polynomial::constant(*value)),
            Expr::Column(c) => Some(self.coordinate(*c)),
            condition if condition.is_condition() => products(condition, &self.column)?.iter().try_fold(
                Polynomial::default(),
                |sum, (product, value)| {
                    let one = product
                        .iter()
                        .try_fold(Polynomial::constant(1.0), |all, c| all.times(&self.coordinate(*c)))?;
                    Some(sum.plus(&one, *value))
                },
            ),
            Expr::Call(Function::Negate, inner) => self.polynomial(inner)?.times(&Polynomial::constant(-1.0)),
            Expr::Binary(operator, a, b) => {
                let (a, b) = (self.polynomial(a)?, self.polynomial(b)?);
                match operator {
                    Operator::Add => Some(a.plus(&b, 1.0)),
                    Operator::Subtract => Some(a.plus(&b, -1.0)),
                    Operator::Multiply => a.times(&b),
                    Operator::Divide if b.is_constant() => a.times(&Polynomial::constant(1.0 / b.constant)),
                    Operator::Power if b == Polynomial::constant(1.0) => Some(a),
                    Operator::Power if b == Polynomial::constant(2.0) => a.times(&a),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn coordinate(&self, c: usize) -> Polynomial {
        Polynomial { linear: BTreeMap::from([(c, 1.0)]), ..Polynomial::constant(self.mean[c]) }
    }

    /// The covariance of two columns, if it is kept.
    fn covariance(&self, i: usize, j: usize) -> Option<f64> {
        match self.covariance.as_ref()? {
            Covariance::Full(rows) => Some(rows[i][j]),
            Covariance::Diagonal(variances) => (i == j).then(|| variances[i]),
        }
    }

    fn mean_of(&self, p: &Polynomial) -> Option<f64> {
        let squares = p.quadratic.iter().map(|((i, j), q)| Some(q * self.covariance(*i, *j)?));
        Some(p.constant + squares.sum::<Option<f64>>()?)
    }

    /// The polynomials of a query over the columns that they have, pairs that are not kept taken as
    /// uncorrelated.
    fn dense(&self, parts: &[Polynomial]) -> Vec<Dense> {
        let mut columns: Vec<usize> = parts.iter().flat_map(Polynomial::columns).collect();
        columns.sort_unstable();
        columns.dedup();
        let d = columns.len();
        let place = |c: &usize| columns.binary_search(c).unwrap_or(0);
        let sigma: Vec<Vec<f64>> = (columns.iter())
            .map(|i| columns.iter().map(|j| self.covariance(*i, *j).unwrap_or(0.0)).collect())
            .collect();
        let by_sigma = |row: &[f64]| -> Vec<f64> { sigma.iter().map(|s| dot(row, s)).collect() };
        let one = |p: &Polynomial| {
            let (mut linear, mut quadratic) = (vec![0.0; d], vec![vec![0.0; d]; d]);
            p.linear.iter().for_each(|(c, v)| linear[place(c)] += v);
            for ((i, j), v) in &p.quadratic {
                let (i, j) = (place(i), place(j));
                quadratic[i][j] += 0.5 * v;
                quadratic[j][i] += 0.5 * v;
            }
            let spread: Vec<Vec<f64>> = quadratic.iter().map(|row| by_sigma(row)).collect();
            // Root mean square of the slope l + 2 Q z in each column.
            let slope = |i: usize| (linear[i].powi(2) + 4.0 * dot(&spread[i], &quadratic[i])).max(0.0).sqrt();
            let rounding = (0..d).map(|i| self.rounding[columns[i]] * slope(i)).sum();
            Dense { linear_sigma: by_sigma(&linear), linear, quadratic_sigma: spread, rounding }
        };
        parts.iter().map(one).collect()
    }
}

/// A polynomial over a few columns, with its products by $\Sigma$.
struct Dense {
    linear: Vec<f64>,
    linear_sigma: Vec<f64>,
    quadratic_sigma: Vec<Vec<f64>>,
    /// Most that its mean can be wrong by from the rounding of the rows to the grid, to first order.
    rounding: f64,
}

impl Dense {
    /// Covariance of two polynomials of normal rows.
    fn covariance(&self, other: &Dense) -> f64 {
        let (a, b) = (&self.quadratic_sigma, &other.quadratic_sigma);
        let pairs = (0..a.len()).flat_map(|i| (0..a.len()).map(move |j| (i, j)));
        dot(&self.linear_sigma, &other.linear) + 2.0 * pairs.map(|(i, j)| a[i][j] * b[j][i]).sum::<f64>()
    }
}

impl Polynomial {
    fn constant(constant: f64) -> Polynomial {
        Polynomial { constant, ..Polynomial::default() }
    }

    fn is_constant(&self) -> bool {
        self.linear.is_empty() && self.quadratic.is_empty()
    }

    fn columns(&self) -> impl Iterator<Item = usize> {
        self.linear.keys().copied().chain(self.quadratic.keys().flat_map(|(i, j)| [*i, *j]))
    }

    fn plus(mut self, other: &Polynomial, sign: f64) -> Polynomial {
        self.constant += sign * other.constant;
        other.linear.iter().for_each(|(c, v)| *self.linear.entry(*c).or_default() += sign * v);
        other.quadratic.iter().for_each(|(c, v)| *self.quadratic.entry(*c).or_default() += sign * v);
        self
    }

    /// The product, unless its degree is above two.
    fn times(&self, other: &Polynomial) -> Option<Polynomial> {
        let too_high = |a: &Polynomial, b: &Polynomial| !a.quadratic.is_empty() && !b.is_constant();
        if too_high(self, other) || too_high(other, self) {
            return None;
        }
        let scaled = |p: &Polynomial, by: f64| Polynomial {
            constant: 0.0,
            linear: p.linear.iter().map(|(c, v)| (*c, v * by)).collect(),
            quadratic: p.quadratic.iter().map(|(c, v)| (*c, v * by)).collect(),
        };
        let mut product = scaled(self, other.constant).plus(&scaled(other, self.constant), 1.0);
        product.constant = self.constant * other.constant;
        for (i, a) in &self.linear {
            for (j, b) in &other.linear {
                *product.quadratic.entry((*i.max(j), *i.min(j))).or_default() += a * b;
            }
        }
        Some(product)
    }
}

impl Estimate {
    /// The table's own value, up to what rounding to the grid and to f64 can do.
    fn exact(value: f64, rounded: f64, sampling: f64) -> Estimate {
        let half = rounded + 4.0 * f64::EPSILON * value.abs();
        Estimate {
            value,
            standard_error: half,
            low: value - half,
            high: value + half,
            approximation: half,
            noise: 0.0,
            sampling,
            exact: true,
        }
    }
}
