//! Random queries with their true answers on the rows.

use compressive_data::Rng;
use compressive_data::Rows;

/// What a query asks.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Question {
    /// The mean of a power.
    Moment { column: usize, power: i32 },
    /// The mean of a product.
    Product { columns: [usize; 2] },
    /// The variance of a column.
    Variance { column: usize },
    /// The correlation of two columns.
    Correlation { columns: [usize; 2] },
    /// The share of rows at most a threshold.
    HalfLine { column: usize, threshold: f64 },
    /// The share of rows inside a box of some columns.
    Box { columns: Vec<usize>, low: Vec<f64>, high: Vec<f64> },
    /// The value that a share of rows is at most.
    Quantile { column: usize, level: f64 },
}

/// Kinds of questions, as tables name them.
pub(super) const KINDS: [&str; 5] = ["moments", "products", "half-lines", "boxes", "quantiles"];

impl Question {
    /// A question of a random kind; thresholds are values of random rows.
    pub(super) fn draw(rows: Rows<'_>, rng: &mut Rng) -> Question {
        let (n, d) = (rows.n_rows(), rows.dim());
        let column = rng.below(d);
        let other = (column + 1 + rng.below((d - 1).max(1))) % d;
        match rng.below(8) {
            0 => Question::Moment { column, power: 1 + rng.below(3) as i32 },
            1 => Question::Variance { column },
            2 => Question::Product { columns: [column, other] },
            3 => Question::Correlation { columns: [column, other] },
            4 | 5 => Question::HalfLine { column, threshold: rows.row(rng.below(n))[column] },
            6 => {
                let columns = if d > 1 && rng.below(2) == 1 { vec![column, other] } else { vec![column] };
                let (a, b) = (rows.row(rng.below(n)), rows.row(rng.below(n)));
                let low = columns.iter().map(|&c| a[c].min(b[c])).collect();
                let high = columns.iter().map(|&c| a[c].max(b[c])).collect();
                Question::Box { columns, low, high }
            }
            _ => Question::Quantile { column, level: rng.between(0.05, 0.95) },
        }
    }

    /// Its kind, as an index into [`KINDS`].
    pub(super) fn kind(&self) -> usize {
        match self {
            Question::Moment { .. } | Question::Variance { .. } => 0,
            Question::Product { .. } | Question::Correlation { .. } => 1,
            Question::HalfLine { .. } => 2,
            Question::Box { .. } => 3,
            Question::Quantile { .. } => 4,
        }
    }

    /// The query, for columns x1, x2, ...
    pub(super) fn text(&self) -> String {
        let x = |c: &usize| format!("x{}", c + 1);
        match self {
            Question::Moment { column, power } => format!("mean({}^{power})", x(column)),
            Question::Variance { column } => format!("var({})", x(column)),
            Question::Product { columns: [a, b] } => format!("mean({} * {})", x(a), x(b)),
            Question::Correlation { columns: [a, b] } => format!("corr({}, {})", x(a), x(b)),
            Question::HalfLine { column, threshold } => {
                format!("share({} <= {})", x(column), literal(*threshold))
            }
            Question::Box { columns, low, high } => {
                let side =
                    |i: usize| format!("{} <= {} <= {}", literal(low[i]), x(&columns[i]), literal(high[i]));
                let sides: Vec<String> = (0..columns.len()).map(side).collect();
                format!("share({})", sides.join(" and "))
            }
            Question::Quantile { column, level } => format!("quantile({}, {level})", x(column)),
        }
    }

    /// The answer on the rows, and the scale that an error of it is measured in: the standard deviation of
    /// what is averaged, or of the column.
    pub(super) fn truth(&self, rows: Rows<'_>) -> (f64, f64) {
        let n = rows.n_rows();
        let mean = |f: &dyn Fn(&[f64]) -> f64| (0..n).map(|i| f(rows.row(i))).sum::<f64>() / n as f64;
        let spread = |f: &dyn Fn(&[f64]) -> f64| {
            let centre = mean(f);
            (centre, mean(&|r| (f(r) - centre).powi(2)).sqrt())
        };
        match self {
            Question::Moment { column, power } => spread(&|r| r[*column].powi(*power)),
            Question::Product { columns: [a, b] } => spread(&|r| r[*a] * r[*b]),
            Question::Variance { column } => {
                let centre = mean(&|r| r[*column]);
                spread(&|r| (r[*column] - centre).powi(2))
            }
            Question::Correlation { columns: [a, b] } => {
                let ((ma, sa), (mb, sb)) = (spread(&|r| r[*a]), spread(&|r| r[*b]));
                (mean(&|r| (r[*a] - ma) * (r[*b] - mb)) / (sa * sb), 1.0)
            }
            Question::HalfLine { column, threshold } => {
                spread(&|r| f64::from(u8::from(r[*column] <= *threshold)))
            }
            Question::Box { columns, low, high } => {
                let inside = |r: &[f64]| {
                    (0..columns.len()).all(|i| r[columns[i]] >= low[i] && r[columns[i]] <= high[i])
                };
                spread(&|r| f64::from(u8::from(inside(r))))
            }
            Question::Quantile { column, level } => {
                let mut values: Vec<f64> = (0..n).map(|i| rows.row(i)[*column]).collect();
                values.sort_by(f64::total_cmp);
                let rank = ((level * n as f64).ceil() as usize).clamp(1, n) - 1;
                (values[rank], spread(&|r| r[*column]).1)
            }
        }
    }
}

/// A number as the query language writes it.
fn literal(x: f64) -> String {
    if x < 0.0 { format!("-{}", -x) } else { format!("{x}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_readable_queries_with_their_values_on_the_rows() {
        let values: Vec<f64> = (0..300).map(|i| f64::from(i % 97) - 40.5).collect();
        let rows = Rows::new(&values, 3).expect("rows");
        let columns: Vec<String> = (1..=3).map(|c| format!("x{c}")).collect();
        let mut rng = Rng::new(3);
        let mut kinds = [0; KINDS.len()];
        for _ in 0..200 {
            let question = Question::draw(rows, &mut rng);
            kinds[question.kind()] += 1;
            assert!(
                compressive::ask::query::Query::parse(&question.text(), &columns).is_ok(),
                "{}",
                question.text()
            );
            let (truth, scale) = question.truth(rows);
            assert!(truth.is_finite() && scale >= 0.0, "{question:?}");
        }
        assert!(kinds.iter().all(|n| *n > 5), "{kinds:?}");
        let half = Question::HalfLine { column: 0, threshold: values[0] };
        let count = (0..100).filter(|i| values[3 * i] <= values[0]).count();
        assert_eq!(half.truth(rows).0, count as f64 / 100.0);
    }
}
