//! Queries on the density of a sketch whose recipe has an outline.
//!
//! 1. Points stand for the cells (file `density/table.rs`); the answer is the weighted mean of f over them.
//!    Points beyond the grown data box are drawn to its side, where their cell is inside.
//! 2. A cell that is a point mass in a column is known to the rounding of its centre. Where a threshold of
//!    the query is as near as that, the mass is taken to be at the threshold.
//! 3. The error has four parts: the weights, by draws of weights that are as likely; the shapes of cells,
//!    which are not Gaussian, each by itself (variance [`SHAPE`] $\sum_a w_a^2 v_a$ with $v_a$ the variance of
//!    f within a cell) and all alike (deviation $\varrho \sum_a w_a v_a$); and what fewer rows than one of the
//!    pilot do not show. $\varrho$ is [`ALIKE`] for smooth columns, and [`TIED`] where rows share values: then
//!    all cells that a threshold cuts are wrong in the same direction.
//!
//! Cost: one evaluation of each function for each point, and A multiply-adds for each draw.

use super::combine::Answers;
use super::expr::Expr;
use super::functions::Plan;
use super::law::{Sample, limits};
use super::parse::QueryKind;
use super::regress::Posterior;
use super::{Answer, Query};
use crate::density::{Density, Target};
use crate::error::Result;
use crate::model::Working;
use crate::num::linear::dot;
use crate::num::random::{Purpose, Stream};
use crate::sketch::operator::SketchOperator;

/// Points that stand for the density, about.
const POINTS: usize = 20_000;
/// Draws of likely weights.
const DRAWS: usize = 200;
/// Thresholds that a quantile is looked for among.
const LEVELS: usize = 401;
/// Variance of what a cell's shape changes in the mean of f over it, in variances of f within the cell.
const SHAPE: f64 = 0.1;
/// Error that cells of smooth columns have in common, in mean variances of f within cells.
const ALIKE: f64 = 0.3;
/// The same where a column has point masses, so that rows share its values.
const TIED: f64 = 1.2;
/// Deviation of a share, in rows of the pilot: 95% of shares in which it has no row are below three.
const UNSEEN: f64 = 1.5;
/// Functions up to which their covariances are wanted; bins and thresholds are told one by one.
const JOINT: usize = 20;

/// A density as points in the user's units.
pub(super) struct OnDensity {
    sample: Sample,
    /// First point of each cell that has a weight, and the end.
    starts: Vec<usize>,
    /// Weight of each cell.
    weights: Vec<f64>,
    /// Likely weights of the cells, a row for each draw.
    draws: Vec<Vec<f64>>,
    /// Whether a cell is a point mass in a column, A rows of d.
    masses: Vec<bool>,
    /// Most that a point mass is moved by rounding, for each column.
    rounding: Vec<f64>,
    pilot_rows: f64,
}

impl OnDensity {
    /// None without an outline.
    pub fn new(operator: &SketchOperator, target: &Target, seed: u64) -> Result<Option<OnDensity>> {
        let (Some(outline), Some(density)) = (&target.outline, Density::weighed(target)) else {
            return Ok(None);
        };
        let (d, blocks) = (density.dim(), &density.blocks);
        let working = Working::new(&operator.spec().transform)?;
        let cloud = density.cloud(POINTS, seed);
        let cells: Vec<usize> = (0..blocks.len()).filter(|&a| density.weights()[a] > 0.0).collect();
        let ends = cells.iter().map(|a| cloud.cells.partition_point(|c| c <= a));
        let starts: Vec<usize> = std::iter::once(0).chain(ends).collect();
        let mut stream = Stream::new(seed, Purpose::Decode, u64::MAX - 6);
        let mut draw = |_| {
            let all = density.likely_weights(&mut stream);
            cells.iter().map(|&a| all[a]).collect()
        };
        let mass = |a: &usize| blocks.variances[a * d..(a + 1) * d].iter().map(|v| *v == 0.0);
        let mut found = OnDensity {
            sample: Sample {
                rows: cloud.points.chunks_exact(d).flat_map(|u| working.location(u)).collect(),
                working: Vec::new(),
                weights: cloud.weights,
            },
            starts,
            weights: cells.iter().map(|&a| density.weights()[a]).collect(),
            draws: (0..DRAWS).map(&mut draw).collect(),
            // Whitened coordinates mix the columns, none of which is then known to have ties.
            masses: cells.iter().flat_map(mass).collect(),
            rounding: working.reach(blocks.steps().into_iter().fold(0.0, f64::max)),
            pilot_rows: outline.pilot_rows().max(1) as f64,
        };
        let centres = cells.iter().map(|&a| working.location(&blocks.centres[a * d..(a + 1) * d]));
        found.draw_in(operator, &centres.collect::<Vec<_>>());
        Ok(Some(found))
    }

    /// Moves points beyond the grown box to its side.
    fn draw_in(&mut self, operator: &SketchOperator, centres: &[Vec<f64>]) {
        let Some((low, high)) = limits(operator) else { return };
        let d = low.len();
        for (ends, centre) in self.starts.windows(2).zip(centres) {
            let inside = |c: &usize| (low[*c]..=high[*c]).contains(&centre[*c]);
            for row in self.sample.rows[ends[0] * d..ends[1] * d].chunks_exact_mut(d) {
                (0..d).filter(inside).for_each(|c| row[c] = row[c].clamp(low[c], high[c]));
            }
        }
    }

    /// The answers to all queries.
    pub fn answers(
        &self,
        operator: &SketchOperator,
        queries: &[Query],
        rows: f64,
        rows_std: f64,
    ) -> Result<Vec<Answer>> {
        let answer = |query: &Query| {
            let plan = Plan::new(operator, query, &self.sample, LEVELS)?;
            let moved = self.at_thresholds(query, &plan);
            let values = plan.values(query, moved.as_ref().unwrap_or(&self.sample))?;
            let n = plan.len(query);
            let posterior = self.posterior(&values, n, self.alike(query));
            Ok(Answers::new(posterior, rows, rows_std).stepped(self.rounding_of(query)).tell(
                0,
                0..n,
                query,
                &plan,
            ))
        };
        queries.iter().map(answer).collect()
    }

    /// How wrong cells are alike in the columns of a query.
    fn alike(&self, query: &Query) -> f64 {
        let d = self.rounding.len();
        let mut columns = Vec::new();
        query.linears.iter().flat_map(|l| &l.factors).for_each(|f| f.columns(&mut columns));
        let tied = |c: &usize| self.masses.iter().skip(*c).step_by(d).any(|mass| *mass);
        if columns.iter().any(tied) { TIED } else { ALIKE }
    }

    /// Most that rounding moves a quantile.
    fn rounding_of(&self, query: &Query) -> f64 {
        match query.linears.first().map(|l| &l.factors[0]) {
            Some(Expr::Column(c)) => self.rounding[*c],
            _ => 0.0,
        }
    }

    /// Step 2; none if nothing has to be moved.
    fn at_thresholds(&self, query: &Query, plan: &Plan) -> Option<Sample> {
        let d = self.rounding.len();
        let mut bars = Vec::new();
        for factor in query.linears.iter().flat_map(|l| &l.factors) {
            factor.bars(&mut bars);
            if let (Expr::Column(c), QueryKind::Histogram { .. }) = (factor, &query.kind) {
                bars.extend(plan.thresholds.iter().map(|t| (*c, *t)));
            }
        }
        bars.retain(|(c, _)| self.masses.iter().skip(*c).step_by(d).any(|mass| *mass));
        if bars.is_empty() {
            return None;
        }
        let (rows, weights) = (self.sample.rows.clone(), self.sample.weights.clone());
        let mut sample = Sample { rows, working: Vec::new(), weights };
        for (a, ends) in self.starts.windows(2).enumerate() {
            for &(c, t) in bars.iter().filter(|(c, _)| self.masses[a * d + c]) {
                for row in sample.rows[ends[0] * d..ends[1] * d].chunks_exact_mut(d) {
                    row[c] = if (row[c] - t).abs() <= self.rounding[c] { t } else { row[c] };
                }
            }
        }
        Some(sample)
    }

    /// Step 3, of n functions with one row of `values` each.
    fn posterior(&self, values: &[f64], n: usize, alike: f64) -> Posterior {
        let w = &self.sample.weights;
        let rows: Vec<&[f64]> = values.chunks_exact(w.len()).collect();
        let means: Vec<f64> = rows.iter().map(|v| dot(v, w)).collect();
        let cells = || self.starts.windows(2).map(|ends| ends[0]..ends[1]);
        let average = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
        let inside: Vec<Vec<f64>> =
            rows.iter().map(|v| cells().map(|part| average(&v[part])).collect()).collect();
        let off: Vec<Vec<f64>> = inside
            .iter()
            .zip(&means)
            .map(|(f, mean)| self.draws.iter().map(|draw| dot(draw, f) - mean).collect())
            .collect();
        let (mut approximation, mut functions) = (vec![0.0; n * n], vec![0.0; n * n]);
        for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).filter(|(i, j)| n <= JOINT || i == j) {
            let (mut own, mut common, mut all) = (0.0, 0.0, 0.0);
            for (a, part) in cells().enumerate() {
                let square = dot(&rows[i][part.clone()], &rows[j][part.clone()]) / part.len() as f64;
                let within = square - inside[i][a] * inside[j][a];
                own += self.weights[a] * self.weights[a] * within;
                common += self.weights[a] * within;
                all += self.weights[a] * square;
            }
            functions[i * n + j] = all - means[i] * means[j];
            let mut variance = dot(&off[i], &off[j]) / DRAWS as f64 + SHAPE * own;
            if i == j {
                let largest = rows[i].iter().fold(0.0f64, |most, x| most.max(x.abs())).max(1e-300);
                // In units in which the function is at most 1, as that of a share is.
                let common = alike * common.max(0.0) / largest;
                variance += common * common + (largest * UNSEEN / self.pilot_rows).powi(2);
            }
            approximation[i * n + j] = variance;
        }
        let noise = vec![vec![0.0; n * n]];
        Posterior { means, approximation: vec![approximation], noise, functions: vec![functions] }
    }
}
