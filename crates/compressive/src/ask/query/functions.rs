//! The functions whose means a query needs, and their values at rows.

use std::ops::Range;

use super::Query;
use super::expr::{Expr, Linear};
use super::law::Sample;
use super::parse::QueryKind;
use crate::error::Result;
use crate::sketch::operator::SketchOperator;

/// Most functions whose means are found at a time.
const FUNCTIONS_MAX: usize = 4000;

/// The functions whose means are needed for a query: its linear parts, the bins of a histogram, or "at most"
/// each threshold of a quantile.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// Edges of a histogram, or thresholds of a quantile, in order.
    pub thresholds: Vec<f64>,
    /// Centres of the factors of each linear part.
    centres: Vec<Vec<f64>>,
}

impl Plan {
    /// Chooses centres and thresholds on rows; a quantile is looked for between so many `levels`.
    pub fn new(operator: &SketchOperator, query: &Query, sample: &Sample, levels: usize) -> Result<Plan> {
        let centre = |linear: &Linear| -> Result<Vec<f64>> {
            let each = linear.factors.iter();
            each.map(|f| if linear.centred { mean(query, f, sample) } else { Ok(0.0) }).collect()
        };
        let centres = query.linears.iter().map(centre).collect::<Result<Vec<_>>>()?;
        let thresholds = match &query.kind {
            QueryKind::Number { .. } => Vec::new(),
            QueryKind::Histogram { range, bins } => {
                let (low, high) = match range {
                    Some(range) => *range,
                    None => box_range(operator, query, sample)?,
                };
                (0..=*bins).map(|i| low + (high - low) * i as f64 / *bins as f64).collect()
            }
            QueryKind::Quantile { level } => {
                let sorted = Sorted::new(&column(query, &query.linears[0], &[0.0], sample)?, &sample.weights);
                sorted.levels(*level, levels)
            }
        };
        Ok(Plan { thresholds, centres })
    }

    /// Number of functions.
    pub fn len(&self, query: &Query) -> usize {
        match query.kind {
            QueryKind::Number { .. } => query.linears.len(),
            QueryKind::Histogram { .. } => self.thresholds.len() + 1,
            QueryKind::Quantile { .. } => self.thresholds.len(),
        }
    }

    /// Values of the functions at the rows of a sample, one row a function.
    pub fn values(&self, query: &Query, sample: &Sample) -> Result<Vec<f64>> {
        let mut values = Vec::new();
        for (linear, centres) in query.linears.iter().zip(&self.centres) {
            let own = column(query, linear, centres, sample)?;
            match query.kind {
                QueryKind::Number { .. } => values.extend(own),
                QueryKind::Histogram { .. } => {
                    values.resize((self.thresholds.len() + 1) * own.len(), 0.0);
                    own.iter().enumerate().for_each(|(i, x)| values[self.bin(*x) * own.len() + i] = 1.0);
                }
                QueryKind::Quantile { .. } => {
                    for t in &self.thresholds {
                        values.extend(own.iter().map(|x| if x <= t { 1.0 } else { 0.0 }));
                    }
                }
            }
        }
        Ok(values)
    }

    /// The bin of a value: lower ends belong to their bins, and the upper end of the range to the last of it.
    fn bin(&self, x: f64) -> usize {
        let at = self.thresholds.partition_point(|edge| *edge <= x);
        if at == self.thresholds.len() && x <= self.thresholds[at - 1] { at - 1 } else { at }
    }
}

/// The places of each plan's functions in the list of all.
pub(super) fn groups(queries: &[Query], plans: &[Plan]) -> Result<Vec<Range<usize>>> {
    let mut total = 0;
    let groups = queries.iter().zip(plans).map(|(query, plan)| {
        let start = total;
        total += plan.len(query);
        start..total
    });
    let groups = groups.collect();
    if total > FUNCTIONS_MAX {
        return queries[0].fail(format!(
            "the queries need {total} means, more than {FUNCTIONS_MAX} at a time; ask in several runs or with fewer bins"
        ));
    }
    Ok(groups)
}

/// A linear part at each row of a sample.
fn column(query: &Query, linear: &Linear, centres: &[f64], sample: &Sample) -> Result<Vec<f64>> {
    let d = sample.rows.len() / sample.weights.len();
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
fn mean(query: &Query, expr: &Expr, sample: &Sample) -> Result<f64> {
    let values = column(query, &Linear::of(expr.clone()), &[0.0], sample)?;
    Ok(values.iter().zip(&sample.weights).map(|(v, w)| v * w).sum())
}

/// Values in order, with the weight of those before each and itself.
struct Sorted {
    values: Vec<f64>,
    cumulative: Vec<f64>,
}

impl Sorted {
    fn new(values: &[f64], weights: &[f64]) -> Sorted {
        let mut both: Vec<(f64, f64)> = values.iter().copied().zip(weights.iter().copied()).collect();
        both.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut sum = 0.0;
        let cumulative = both.iter().map(|(_, w)| {
            sum += w;
            sum
        });
        Sorted { cumulative: cumulative.collect(), values: both.iter().map(|(v, _)| *v).collect() }
    }

    /// The value that a share of the weight is at most.
    fn at(&self, share: f64) -> f64 {
        let at = self.cumulative.partition_point(|c| *c < share);
        self.values[at.min(self.values.len() - 1)]
    }

    /// Thresholds for a quantile: the sample's own quantiles at levels spread around the one wanted, closer
    /// in its neighbourhood.
    fn levels(&self, level: f64, number: usize) -> Vec<f64> {
        let logit = (level / (1.0 - level)).ln();
        let share = |i: usize| {
            let s = i as f64 / (number - 1) as f64 * 2.0 - 1.0;
            1.0 / (1.0 + (-(logit + 4.0 * s * s.abs())).exp())
        };
        let mut thresholds: Vec<f64> = (0..number).map(|i| self.at(share(i))).collect();
        thresholds.dedup();
        thresholds
    }
}

/// Range of a histogram that was given none: the data box for a column, else where the sample's rows are.
fn box_range(operator: &SketchOperator, query: &Query, sample: &Sample) -> Result<(f64, f64)> {
    if let (Expr::Column(c), Some(bounds)) = (&query.linears[0].factors[0], &operator.spec().bounds)
        && bounds.low[*c] < bounds.high[*c]
    {
        return Ok((bounds.low[*c], bounds.high[*c]));
    }
    let sorted = Sorted::new(&column(query, &query.linears[0], &[0.0], sample)?, &sample.weights);
    let (low, high) = (sorted.at(0.001), sorted.at(0.999));
    Ok(if low < high { (low, high) } else { (low - 0.5, low + 0.5) })
}
