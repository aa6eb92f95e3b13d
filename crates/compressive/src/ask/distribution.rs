//! The distribution of the rows behind a sketch, without a model: the cells of the recipe's outline, weighted
//! by the sketch. Rows are drawn from it, and the log-density of a row tells how usual the row is.
//!
//! - A drawn row is one of a cell: $x = c_a + L_a e$ with a standard normal e, and a cell a with probability
//!   $w_a$. Columns in which a cell has one value keep that value: centres are written in steps, and of all
//!   numbers within a step the one with the fewest digits is taken, which is the table's own for counts and
//!   flags. Where a cell lies in the data box, its rows are drawn in to the grown box.
//! - The log-density is that of $(1 - \beta) \sum_a w_a N(c_a, \Sigma_a) + \beta N(\mu, \Sigma)$ in nats and
//!   in the table's units, with the mean and the covariance of all rows in the last part and
//!   $\beta$ = [`BACKGROUND`]: rows far from all cells have finite scores, lower the farther they are. A value
//!   that all rows of a cell share counts as a narrow Gaussian.
//!
//! Cost: the weights once; then d^2 for a drawn row, and A d^2 for the density of a row, with A cells.
//!
//! ```
//! use compressive::design::{Look, Request, Task, design};
//!
//! let rows: Vec<f64> = (0..2000).flat_map(|i| [f64::from(i % 2), (f64::from(i) * 0.37).sin()]).collect();
//! let columns = vec!["flag".to_string(), "wave".to_string()];
//! let spec = design(Look::Sample { rows: &rows, columns: &columns }, &Request::new(Task::Kmeans, 4))?.spec;
//! let distribution = spec.sketch(&rows[..])?.distribution()?;
//! assert!(distribution.sample(100, 7).chunks(2).all(|row| row[0] == 0.0 || row[0] == 1.0));
//! let scores = distribution.log_densities(&[1.0, 0.5, 40.0, -3.0][..])?;
//! assert!(scores[0] > scores[1] && scores[1].is_finite());
//! # Ok::<(), compressive::Error>(())
//! ```

use crate::ask::query::limits;
use crate::density::cells::Blocks;
use crate::density::{Density, POINT_VARIANCE, Target};
use crate::error::remedy::{Parameter, Remedy};
use crate::error::{Error, Result};
use crate::model::{Covariances, Predictor, Scores, Wanted, Working};
use crate::num::linear::{cholesky, dot};
use crate::num::random::{Purpose, Stream};
use crate::sketch::frequency::Covariance;
use crate::sketch::operator::{RowsRef, SketchOperator};
use crate::sketch::{Moments, Sketch};

/// Share of the one broad Gaussian in a log-density: small beside any cell, and enough for finite scores.
const BACKGROUND: f64 = 1e-3;
/// Part of a column's variance that is added to the broad Gaussian's, so that columns that are combinations
/// of others leave it a density.
const RIDGE: f64 = 1e-6;

/// Where the rows behind a sketch are.
pub struct Distribution {
    blocks: Blocks,
    /// Sums of the weights up to each cell.
    cumulative: Vec<f64>,
    working: Working,
    /// Most that rounding of centres moves a point mass, in each column; 0 where columns are mixed.
    rounding: Vec<f64>,
    /// The grown box in the user's units.
    limits: Option<(Vec<f64>, Vec<f64>)>,
    mixture: Predictor,
}

impl Sketch {
    /// The distribution of the rows, for drawing others like them and for scoring; [`Distribution::new`].
    pub fn distribution(&self) -> Result<Distribution> {
        Distribution::new(&self.spec().clone().build()?, &self.moments()?)
    }
}

impl Distribution {
    /// The distribution that a sketch's moments tell.
    ///
    /// # Errors
    /// [`Error::Task`] if the recipe has no outline, [`Error::TooFewRows`] for an empty sketch.
    pub fn new(operator: &SketchOperator, moments: &Moments) -> Result<Distribution> {
        let refuse = |problem: &str| Error::Task { field: "outline", problem: problem.into() };
        if operator.spec().outline.is_none() {
            let recipe =
                "sketch again with a recipe designed on a sample of the rows for clusters or mixtures";
            return Err(refuse("the recipe holds no outline of where rows are")
                .advise(Remedy::say(recipe, Remedy::set(Parameter::Task, "kmeans")))
                .advise(Remedy::say("learn a mixture and use that", Remedy::set(Parameter::Task, "gmm"))));
        }
        let density = Density::weighed(&Target::new(operator, moments)?)
            .ok_or_else(|| refuse("no weights of the outline's cells match the sketch"))?;
        let kept: Vec<usize> = (0..density.blocks.len()).filter(|&a| density.weights()[a] > 0.0).collect();
        let weights: Vec<f64> = kept.iter().map(|&a| density.weights()[a]).collect();
        let blocks = density.blocks.select(&kept);
        let working = Working::new(&operator.spec().transform)?;
        let broad = broad(&density, moments);
        let total: f64 = weights.iter().sum();
        let sums = weights.iter().scan(0.0, |sum, w| {
            *sum += w / total;
            Some(*sum)
        });
        let rounding = match operator.spec().transform.whiten {
            None => operator.spec().transform.spread.iter().zip(blocks.steps()).map(|(s, u)| s * u).collect(),
            Some(_) => vec![0.0; blocks.dim],
        };
        Ok(Distribution {
            cumulative: sums.collect(),
            rounding,
            limits: limits(operator),
            mixture: mixture(&blocks, &weights, total, &broad, &working).filling(operator.spec().fill()),
            working,
            blocks,
        })
    }

    /// Number of columns.
    pub fn dim(&self) -> usize {
        self.blocks.dim
    }

    /// Draws rows in the user's units, row-major. Row i depends on (seed, i) alone, so that a longer sample
    /// starts with a shorter one.
    pub fn sample(&self, n_rows: usize, seed: u64) -> Vec<f64> {
        self.sample_from(0, n_rows, seed)
    }

    /// Draws the rows `first..first + n_rows` of a sample.
    pub fn sample_from(&self, first: usize, n_rows: usize, seed: u64) -> Vec<f64> {
        let row = |i| self.row(&mut Stream::new(seed, Purpose::DrawnRows, i as u64));
        (first..first + n_rows).flat_map(row).collect()
    }

    /// Log-density of each of some rows, in nats and in the user's units. Missing entries are filled where
    /// the recipe fills them.
    ///
    /// # Errors
    /// [`Error::Shape`] if the values are not whole rows, [`Error::NotFinite`] for the first value that is
    /// not finite.
    pub fn log_densities<'a>(&self, rows: impl Into<RowsRef<'a>>) -> Result<Vec<f64>> {
        let mut scores = Scores::default();
        let wanted = Wanted { log_densities: true, ..Wanted::default() };
        self.mixture.measure(rows.into(), wanted, &mut scores)?;
        Ok(scores.log_densities)
    }

    fn row(&self, stream: &mut Stream) -> Vec<f64> {
        let (d, t, at) = (self.dim(), self.blocks.triangle(), stream.uniform());
        let a = self.cumulative.partition_point(|sum| *sum < at).min(self.cumulative.len() - 1);
        let centre = &self.blocks.centres[a * d..(a + 1) * d];
        let spread = &self.blocks.variances[a * d..(a + 1) * d];
        let normal: Vec<f64> = (0..d).map(|_| stream.normal()).collect();
        let step = |c: usize| match self.blocks.factors.get(a * t..(a + 1) * t) {
            Some(lower) => dot(&lower[c * (c + 1) / 2..(c + 1) * (c + 2) / 2], &normal[..=c]),
            None => normal[c] * spread[c].sqrt(),
        };
        let mut row = self.working.location(&(0..d).map(|c| centre[c] + step(c)).collect::<Vec<_>>());
        let middle = self.working.location(centre);
        for c in 0..d {
            if spread[c] == 0.0 {
                row[c] = fewest_digits(row[c], self.rounding[c]);
            } else if let Some((low, high)) = &self.limits
                && (low[c]..=high[c]).contains(&middle[c])
            {
                row[c] = row[c].clamp(low[c], high[c]);
            }
        }
        row
    }
}

/// Mean and covariance of all rows in working coordinates, d rows of d: the exact ones where they are kept.
fn broad(density: &Density, moments: &Moments) -> (Vec<f64>, Vec<f64>) {
    let d = density.dim();
    let (mut mean, mut sigma) = density.moments();
    if let Some(exact) = &moments.exact {
        mean.clone_from(&exact.mean);
        if let Covariance::Full(all) = &exact.covariance {
            sigma = all.concat();
        } else {
            // The correlations of the cells with the exact deviations.
            let ratio = |(c, v): (usize, &f64)| match sigma[c * d + c] {
                own if own > 0.0 => (v / own).sqrt(),
                _ => 0.0,
            };
            let variances = exact.variances();
            let ratios: Vec<f64> = variances.iter().enumerate().map(ratio).collect();
            sigma.iter_mut().enumerate().for_each(|(at, s)| *s *= ratios[at / d] * ratios[at % d]);
            (0..d).for_each(|c| sigma[c * d + c] = variances[c]);
        }
    }
    for c in 0..d {
        // A column without any variance has its spread, which is 1 here.
        let variance = if sigma[c * d + c] > 0.0 { sigma[c * d + c] } else { 1.0 };
        sigma[c * d + c] = variance * (1.0 + RIDGE);
    }
    (mean, sigma)
}

/// The cells and the broad Gaussian in the user's units.
fn mixture(
    blocks: &Blocks,
    weights: &[f64],
    total: f64,
    (mean, sigma): &(Vec<f64>, Vec<f64>),
    working: &Working,
) -> Predictor {
    let d = blocks.dim;
    let narrow = |c: usize| POINT_VARIANCE * sigma[c * d + c];
    let cell = |a: usize| {
        let mut own = vec![0.0; d * d];
        blocks.covariance(a, &mut own);
        (0..d).filter(|c| blocks.variances[a * d + c] == 0.0).for_each(|c| own[c * d + c] = narrow(c));
        own
    };
    let mut all: Vec<Vec<f64>> = (0..blocks.len()).map(cell).collect();
    all.push(sigma.clone());
    let covariances = match working.covariances(&all, blocks.factors.is_empty()) {
        Covariances::Full(all) => Covariances::Full(all.into_iter().map(with_factor).collect()),
        diagonal => diagonal,
    };
    let shares =
        weights.iter().map(|w| (1.0 - BACKGROUND) * w / total).chain([BACKGROUND]).collect::<Vec<_>>();
    let means = blocks.centres.chunks_exact(d).chain([&mean[..]]).flat_map(|u| working.location(u)).collect();
    Predictor::mixture(&shares, means, &covariances)
}

/// The covariance, or what is left of it without correlations if rounding leaves it no Cholesky factor.
fn with_factor(mut sigma: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    if cholesky(&sigma).is_none() {
        for (i, row) in sigma.iter_mut().enumerate() {
            row.iter_mut().enumerate().filter(|(j, _)| *j != i).for_each(|(_, s)| *s = 0.0);
        }
    }
    sigma
}

/// The number with the fewest decimal digits within a distance of another.
fn fewest_digits(x: f64, within: f64) -> f64 {
    if !(within > 0.0) {
        return x;
    }
    // Decimal places from the width of the interval on; one less than needed at first.
    let first = (-within.log10()).floor().clamp(-300.0, 300.0) as i32 - 1;
    let rounded = (first..first + 3).map(|places| {
        let unit = 10f64.powi(places.abs());
        if places < 0 { (x / unit).round() * unit } else { (x * unit).round() / unit }
    });
    rounded.into_iter().find(|y| (y - x).abs() <= within).unwrap_or(x)
}

#[cfg(test)]
mod tests;
