//! Linear queries: means, variances, shares, quantiles and histograms of the rows behind a sketch, from the
//! sketch alone.
//!
//! Where the recipe has an outline, its cells, weighted by the sketch, are a density, and an answer is a mean
//! under it (file `of_cells.rs`). Without one, a law of the rows is learned:
//!
//! A sketch holds the means of some functions $\Phi$ of a row. The mean of any function f that a combination
//! $b^\top\Phi$ comes close to is known with them (\[HSC22\]; moment to moment):
//!
//! 1. learn a law Q of the rows from the sketch (a rich mixture, a little widened), and draw rows from it;
//!    two laws in fact, each from half of the frequencies, whose answers are averaged;
//! 2. find the combination b for f by ridge regression under Q, where the ridge follows from how far the
//!    table may be from Q and from the noise of the sketch;
//! 3. answer $E_Q f + b^\top(z - E_Q\Phi)$: exact where f is a combination of features, and where Q is right.
//!
//! Step 2 takes the density of the table relative to Q as a random smooth function (file `regress.rs`), whose
//! size and roughness are chosen by predicting entries of the sketch from the others; it gives the error of
//! the answer, too: the part that the features cannot say, to which the difference of the two laws' answers
//! is added, and the part from the noise of a private sketch. Variances, correlations and ratios follow by
//! the delta method. The interval is for the table's own value.
//!
//! Where the sketch keeps exact moments, means of polynomials of degree two and what is made of them
//! (variances, correlations) are the table's own (file `exact.rs`), and say so.
//!
//! ```
//! use compressive::ask::query::{Query, QueryParams, Value, answer};
//! use compressive::{FrequencyLaw, RowsRef, Scratch, Sketch, SketchSpec};
//!
//! let operator = SketchSpec::new(["x"], FrequencyLaw::AdaptedRadius, 1.0, 100).build()?;
//! let rows: Vec<f64> = (0..5000).map(|i| ((i as f64 + 0.5) / 5000.0 * 3.0).exp().ln_1p()).collect();
//! let mut sketch = Sketch::empty(&operator);
//! operator.accumulate(RowsRef::F64(&rows), None, &mut sketch, &mut Scratch::default())?;
//!
//! let query = Query::parse("mean(x^2)", &operator.spec().columns)?;
//! let answers = answer(&operator, &sketch.moments()?, &[query], &QueryParams::default())?;
//! let Value::Number(found) = &answers[0].value else { panic!("a number") };
//! let truth = rows.iter().map(|x| x * x).sum::<f64>() / 5000.0;
//! assert!((found.value / truth - 1.0).abs() < 0.01);
//! # Ok::<(), compressive::Error>(())
//! ```
//!
//! What no sketch can tell: the effect of few rows far away on a mean of high powers (a share s of rows
//! changes no entry by more than 2s), and ties, since the law is smooth: a threshold at a value that many
//! rows share is answered as if they were spread around it.
//!
//! Cost: the learning of the law, then $S N (N/2 + M)$ multiply-adds for N entries (at most 1000), M = 512
//! waves and S = 16384 rows of the law; all queries of one call share them.

mod combine;
mod entries;
mod exact;
mod expr;
mod functions;
mod law;
mod levels;
mod of_cells;
mod parse;
mod prior;
mod regress;
mod token;

use serde::Serialize;

use crate::density::Target;
use crate::error::remedy::Remedy;
use crate::error::{Error, Result};
use crate::setters::setters;
use crate::sketch::Moments;
use crate::sketch::operator::SketchOperator;

use combine::Answers;
use entries::Features;
use exact::Exact;
use expr::Linear;
use functions::Plan;
use law::Law;
pub(super) use law::limits;
use of_cells::OnDensity;
use parse::QueryKind;
use prior::Waves;
use regress::Regression;

/// A question that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    text: String,
    columns: usize,
    kind: QueryKind,
    linears: Vec<Linear>,
}

impl Query {
    /// Reads a query, such as `mean(x^2)`, `var(x)`, `corr(x, y)`, `share(1 < x and y >= 2)`,
    /// `quantile(x, 0.9)` or `histogram(x, 20)`, against the names of a sketch's columns.
    ///
    /// # Errors
    /// [`Error::Query`] with the place of the problem.
    pub fn parse(text: &str, columns: &[String]) -> Result<Query> {
        let (kind, linears) = parse::parse(text, columns)?;
        Ok(Query { text: text.into(), columns: columns.len(), kind, linears })
    }

    /// The query as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    fn fail<T>(&self, problem: String) -> Result<T> {
        Err(Error::Query { text: self.text.clone(), at: 0, problem })
    }
}

/// Parameters of [`answer`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct QueryParams {
    /// Seed of the law's search and rows.
    pub seed: u64,
    /// Threads, at least 1; they change the time, never the answers.
    pub threads: usize,
    /// Standard deviation of the noise on the number of rows of a private sketch; 0 for a plain one. It
    /// enters counts and sums.
    pub rows_std: f64,
}

impl Default for QueryParams {
    fn default() -> QueryParams {
        QueryParams { seed: 0, threads: 1, rows_std: 0.0 }
    }
}

setters! { QueryParams {
    /// With this seed.
    seed: u64,
    /// On this many threads.
    threads: usize,
    /// With this noise on the number of rows.
    rows_std: f64,
} }

/// The answer to a query.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Answer {
    /// The query as it was written.
    pub query: String,
    /// What was found.
    #[serde(flatten)]
    pub value: Value,
}

/// What an answer is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Value {
    /// One number.
    Number(Estimate),
    /// Shares of rows in bins.
    Histogram {
        /// The bins in order, the first and the last with what lies outside of the range.
        bins: Vec<Bin>,
    },
}

/// A bin of a histogram.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bin {
    /// Lower end; none for the bin of all smaller values.
    pub from: Option<f64>,
    /// Upper end; none for the bin of all larger values.
    pub to: Option<f64>,
    /// Share of the rows.
    #[serde(flatten)]
    pub share: Estimate,
}

/// A number with its error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The answer for the rows of the table.
    pub value: f64,
    /// Its standard error: `approximation` and `noise` together.
    pub standard_error: f64,
    /// Lower end of the 95% interval.
    pub low: f64,
    /// Upper end of the 95% interval.
    pub high: f64,
    /// The part that the features cannot say.
    pub approximation: f64,
    /// The part of the noise of a private sketch.
    pub noise: f64,
    /// How far the table's own value is from that of the population its rows were drawn from; not part of the
    /// interval.
    pub sampling: f64,
    /// Whether it comes from exact moments, as [`MomentSet`](crate::MomentSet) keeps them: the interval is then
    /// no more than the rounding of the rows to the grid.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
}

/// Rows of the law S.
const ROWS: usize = 16_384;
/// Thresholds that a quantile is looked for between.
const LEVELS: usize = 41;

/// Answers queries from a sketch's moments.
///
/// # Errors
/// [`Error::Query`] for a function that is not a finite number on the rows, [`Error::TooFewRows`] for an
/// empty sketch.
pub fn answer(
    operator: &SketchOperator,
    moments: &Moments,
    queries: &[Query],
    params: &QueryParams,
) -> Result<Vec<Answer>> {
    if queries.is_empty() {
        return Ok(Vec::new());
    }
    if let Some(query) = queries.iter().find(|q| q.columns != operator.dim()) {
        return query.fail(format!(
            "it was read for {} columns, and the sketch has {}",
            query.columns,
            operator.dim()
        ));
    }
    let exact = Exact::new(operator, moments)?;
    let known: Vec<Option<Answer>> =
        queries.iter().map(|query| exact.as_ref().and_then(|exact| exact.answer(query))).collect();
    let open: Vec<Query> = queries
        .iter()
        .zip(&known)
        .filter(|(_, known)| known.is_none())
        .map(|(query, _)| query.clone())
        .collect();
    let mut estimated = estimate(operator, moments, &open, params)?.into_iter();
    Ok(known.into_iter().filter_map(|known| known.or_else(|| estimated.next())).collect())
}

/// Answers queries from the features.
fn estimate(
    operator: &SketchOperator,
    moments: &Moments,
    queries: &[Query],
    params: &QueryParams,
) -> Result<Vec<Answer>> {
    if queries.is_empty() {
        return Ok(Vec::new());
    }
    let map = &operator.spec().map;
    let only_waves = || {
        let problem = format!(
            "questions are answered from an outline's cells or from waves, and this sketch has the feature `{}` and no outline",
            map.name()
        );
        Err(Error::Task { field: "feature", problem }.advise(Remedy::of_waves()))
    };
    if map.waves().is_none() && operator.spec().outline.is_none() {
        return only_waves();
    }
    let target = Target::new(operator, moments)?;
    if let Some(density) = OnDensity::new(operator, &target, params.seed)? {
        return density.answers(operator, queries, moments.rows, params.rows_std);
    }
    if map.waves().is_none() {
        return only_waves();
    }
    let features = Features::new(operator);
    let first = Law::learn(operator, &target, params, None)?;
    let second = Law::learn(operator, &target, params, Some(&first))?;
    let samples = [first, second].map(|law| law.draw(ROWS));
    // Centres and thresholds must be the same under both laws.
    let plans = queries
        .iter()
        .map(|query| Plan::new(operator, query, &samples[0], LEVELS))
        .collect::<Result<Vec<Plan>>>()?;
    let groups = functions::groups(queries, &plans)?;
    let waves = Waves::new(operator, params.seed);
    let under = |which: usize| -> Result<_> {
        let (sample, threads) = (&samples[which], params.threads);
        let values = queries.iter().zip(&plans).map(|(query, plan)| plan.values(query, sample));
        let values = values.collect::<Result<Vec<_>>>()?.concat();
        let regression =
            Regression::new(&features, &waves, &sample.working, &values, groups.clone(), threads);
        Ok(regression.solve(&features.pick(&moments.mean), moments.rows, moments.noise_std, which))
    };
    let posterior = under(0)?.with(&under(1)?, &groups);
    let answers = Answers::new(posterior, moments.rows, params.rows_std);
    let asked = queries.iter().zip(&plans).zip(&groups).enumerate();
    Ok(asked.map(|(at, ((query, plan), group))| answers.tell(at, group.clone(), query, plan)).collect())
}

#[cfg(test)]
mod tests;
