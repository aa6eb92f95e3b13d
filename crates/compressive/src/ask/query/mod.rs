//! Linear queries: means, variances, shares, quantiles and histograms of the rows behind a sketch, from the
//! sketch alone.
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
mod law;
mod parse;
mod prior;
mod regress;
mod token;

use std::ops::Range;

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
use law::{Law, Sample};
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
/// Most functions whose means are found at a time.
const FUNCTIONS_MAX: usize = 4000;

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
    if map.waves().is_none() {
        let problem = format!(
            "questions are answered from sketches of waves, and this one is of the feature `{}`",
            map.name()
        );
        return Err(Error::Task { field: "feature", problem }.advise(Remedy::of_waves()));
    }
    let target = Target::new(operator, moments)?;
    let features = Features::new(operator);
    let first = Law::learn(operator, &target, params, None)?;
    let second = Law::learn(operator, &target, params, Some(&first))?;
    let samples = [first, second].map(|law| law.draw(ROWS));
    // Centres and thresholds must be the same under both laws.
    let prepared = Prepared::new(operator, queries, &samples[0])?;
    let groups: Vec<Range<usize>> = prepared.plans.iter().map(|plan| plan.functions.clone()).collect();
    let waves = Waves::new(operator, params.seed);
    let under = |which: usize| -> Result<_> {
        let (sample, threads) = (&samples[which], params.threads);
        let values = prepared.values(queries, sample, operator.dim())?;
        let regression =
            Regression::new(&features, &waves, &sample.working, &values, groups.clone(), threads);
        Ok(regression.solve(&features.pick(&moments.mean), moments.rows, moments.noise_std, which))
    };
    let posterior = under(0)?.with(&under(1)?, &groups);
    let answers = Answers::new(posterior, moments.rows, params.rows_std);
    let asked = queries.iter().zip(&prepared.plans).enumerate();
    Ok(asked.map(|(index, (query, plan))| answers.tell(index, query, plan)).collect())
}

/// The functions whose means are needed for a query.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The functions, by their places in the list of all.
    functions: Range<usize>,
    /// Thresholds of a histogram or quantile: the functions are "at most" each of them.
    thresholds: Vec<f64>,
    /// Centres of the factors of each linear part.
    centres: Vec<Vec<f64>>,
}

/// The functions of all queries.
struct Prepared {
    plans: Vec<Plan>,
}

impl Prepared {
    /// Chooses centres and thresholds on rows of the law.
    fn new(operator: &SketchOperator, queries: &[Query], sample: &Sample) -> Result<Prepared> {
        let d = operator.dim();
        let mut plans: Vec<Plan> = Vec::new();
        for query in queries {
            let start = plans.last().map_or(0, |plan| plan.functions.end);
            let centre = |linear: &Linear| -> Result<Vec<f64>> {
                linear
                    .factors
                    .iter()
                    .map(|f| if linear.centred { mean(query, f, sample, d) } else { Ok(0.0) })
                    .collect()
            };
            let centres = query.linears.iter().map(centre).collect::<Result<Vec<_>>>()?;
            let thresholds = match &query.kind {
                QueryKind::Number { .. } => Vec::new(),
                QueryKind::Histogram { range, bins } => {
                    let (low, high) = match range {
                        Some(range) => *range,
                        None => box_range(operator, query, sample),
                    };
                    (0..=*bins).map(|i| low + (high - low) * i as f64 / *bins as f64).collect()
                }
                QueryKind::Quantile { level } => {
                    combine::levels(*level, sorted(&column(query, &query.linears[0], &[0.0], sample, d)?))
                }
            };
            let number = if thresholds.is_empty() { query.linears.len() } else { thresholds.len() };
            plans.push(Plan { functions: start..start + number, thresholds, centres });
        }
        let total = plans.last().map_or(0, |plan| plan.functions.end);
        if total > FUNCTIONS_MAX {
            return queries[0].fail(format!(
                "the queries need {total} means, more than {FUNCTIONS_MAX} at a time; ask in several runs or with fewer bins"
            ));
        }
        Ok(Prepared { plans })
    }

    /// Values of all functions at the rows of a sample, one row a function.
    fn values(&self, queries: &[Query], sample: &Sample, d: usize) -> Result<Vec<f64>> {
        let mut values = Vec::new();
        for (query, plan) in queries.iter().zip(&self.plans) {
            for (linear, centres) in query.linears.iter().zip(&plan.centres) {
                let own = column(query, linear, centres, sample, d)?;
                if plan.thresholds.is_empty() {
                    values.extend(own);
                } else {
                    for t in &plan.thresholds {
                        values.extend(own.iter().map(|x| if x <= t { 1.0 } else { 0.0 }));
                    }
                }
            }
        }
        Ok(values)
    }
}

/// A linear part at each row of a sample.
fn column(query: &Query, linear: &Linear, centres: &[f64], sample: &Sample, d: usize) -> Result<Vec<f64>> {
    let values: Vec<f64> = sample.rows.chunks_exact(d).map(|row| linear.at(row, centres)).collect();
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(values),
        Some(at) => {
            let row: Vec<String> =
                sample.rows[at * d..(at + 1) * d].iter().take(4).map(|x| format!("{x:.4}")).collect();
            query.fail(format!(
                "it has no finite value at rows such as ({}), which the sketch cannot rule out; ask for something that is defined everywhere in the data box, such as log(abs(x) + 1)",
                row.join(", ")
            ))
        }
    }
}

/// Mean of an expression over a sample.
fn mean(query: &Query, expr: &expr::Expr, sample: &Sample, d: usize) -> Result<f64> {
    let values = column(query, &Linear::of(expr.clone()), &[0.0], sample, d)?;
    Ok(values.iter().sum::<f64>() / values.len() as f64)
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

/// Range of a histogram that was given none: the data box for a column, else where the law's rows are.
fn box_range(operator: &SketchOperator, query: &Query, sample: &Sample) -> (f64, f64) {
    if let (expr::Expr::Column(c), Some(bounds)) = (&query.linears[0].factors[0], &operator.spec().bounds)
        && bounds.low[*c] < bounds.high[*c]
    {
        return (bounds.low[*c], bounds.high[*c]);
    }
    let values = column(query, &query.linears[0], &[0.0], sample, operator.dim()).unwrap_or_default();
    let values = sorted(&values);
    let at = |share: f64| values.get((share * values.len() as f64) as usize).copied().unwrap_or(0.0);
    let (low, high) = (at(0.001), at(0.999));
    if low < high { (low, high) } else { (low - 0.5, low + 0.5) }
}

#[cfg(test)]
mod tests;
