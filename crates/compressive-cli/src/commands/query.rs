//! `query`: means, shares and histograms of the rows behind a sketch.

use anyhow::{Context, Result};
use compressive::ask::query::{Answer, Bin, Estimate, Query, QueryParams, Value, answer};
use compressive::privacy::AnySketch;
use compressive::{Column, Reading, calendar};
use serde_json::json;

use super::read_any_sketch;
use crate::args::QueryArgs;
use crate::output::{self, amount, count, number};

/// Characters of the longest bar of a histogram.
const BAR: f64 = 40.0;

/// Answers questions from a sketch.
pub fn run(args: &QueryArgs) -> Result<()> {
    let sketch = read_any_sketch(&args.sketch)?;
    let columns = &sketch.spec().columns;
    let queries =
        args.queries.iter().map(|text| Query::parse(text, columns)).collect::<Result<Vec<_>, _>>()?;
    let operator = sketch.spec().clone().build()?;
    let rows_std = match &sketch {
        AnySketch::Plain(_) => 0.0,
        AnySketch::Private(private) => private.rows_std(),
    };
    let params = QueryParams::default().seed(args.seed.seed).threads(args.threads.count()).rows_std(rows_std);
    let bar = output::spinner("asking", args.quiet);
    let found = sketch
        .moments()
        .and_then(|moments| Ok((moments.rows, answer(&operator, &moments, &queries, &params)?)));
    bar.finish_and_clear();
    let (rows, answers) = found.with_context(|| args.sketch.display().to_string())?;
    if args.json {
        return output::print_json(&json!({ "rows": rows, "answers": answers }));
    }
    let exact = |answer: &Answer| matches!(&answer.value, Value::Number(estimate) if estimate.exact);
    let intervals = if answers.iter().all(exact) { "" } else { ", with 95% intervals" };
    let mut text = format!("from the sketch of {}{intervals}:\n", count(rows.max(0.0) as u64, "row"));
    let table = sketch.spec().table_columns();
    answers.iter().for_each(|answer| text.push_str(&describe(answer, &table)));
    output::print(&text)
}

fn describe(answer: &Answer, table: &[Column]) -> String {
    match &answer.value {
        Value::Number(estimate) if is_date(&answer.query, table) => {
            let show = |seconds: f64| calendar::show(seconds, true);
            let (low, high) = (show(estimate.low), show(estimate.high));
            let interval = if estimate.exact { "exact".to_owned() } else { format!("[{low}, {high}]") };
            format!("{}  {}  {interval}\n", answer.query, show(estimate.value))
        }
        Value::Number(estimate) => {
            format!("{}  {}{}\n", answer.query, interval(estimate), private_part(estimate))
        }
        Value::Histogram { bins } => histogram(&answer.query, bins),
    }
}

/// Whether a query asks for the mean or a quantile of a column of dates.
fn is_date(query: &str, table: &[Column]) -> bool {
    let asked = ["mean(", "quantile("].iter().find_map(|start| query.strip_prefix(start));
    let name = asked.map(|rest| rest.split([',', ')']).next().unwrap_or_default().trim().trim_matches('`'));
    let whole = query.matches('(').count() == 1 && query.ends_with(')');
    let date =
        |column: &Column| matches!(&column.reading, Reading::Time { periods, .. } if periods.is_empty());
    whole && table.iter().any(|column| date(column) && Some(column.column.as_str()) == name)
}

/// `1.25  [1.2, 1.3]`, or `1.25  exact`.
fn interval(estimate: &Estimate) -> String {
    if estimate.exact {
        return format!("{}  exact", amount(estimate.value));
    }
    format!("{}  [{}, {}]", number(estimate.value), number(estimate.low), number(estimate.high))
}

/// Says where the error comes from if a release's noise is most of it.
fn private_part(estimate: &Estimate) -> &'static str {
    if estimate.noise > estimate.approximation && estimate.noise > 1e-3 * estimate.value.abs() {
        "  (most of the error is noise of the release)"
    } else {
        ""
    }
}

fn histogram(query: &str, bins: &[Bin]) -> String {
    let most = bins.iter().map(|bin| bin.share.value).fold(1e-300, f64::max);
    let end = |end: Option<f64>, none: &str| end.map_or_else(|| none.to_owned(), number);
    let label = |bin: &Bin| format!("{} to {}", end(bin.from, "below"), end(bin.to, "above"));
    let width = bins.iter().map(|bin| label(bin).chars().count()).max().unwrap_or(0);
    let mut text = format!("{query}\n");
    for bin in bins {
        let share = &bin.share;
        let bar = "#".repeat((BAR * share.value / most).round() as usize);
        let error = 0.5 * (share.high - share.low);
        let line = format!(
            "  {:>width$}  {:>6.2}% +- {:<5.2} {bar}",
            label(bin),
            100.0 * share.value,
            100.0 * error
        );
        text.push_str(&format!("{}\n", line.trim_end()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_and_quantiles_of_dates_are_dates() {
        let table = [Column { column: "day".into(), reading: Reading::time(vec![]) }, Column::number("x")];
        for (query, expected) in [
            ("mean(day)", true),
            ("quantile(`day`, 0.5)", true),
            ("mean(x)", false),
            ("std(day)", false),
            ("mean(day) - mean(day)", false),
            ("mean(day * x)", false),
        ] {
            assert_eq!(is_date(query, &table), expected, "{query}");
        }
    }

    #[test]
    fn a_histogram_has_a_line_for_each_bin_with_its_share() {
        let share = |value| Estimate {
            value,
            standard_error: 0.01,
            low: value - 0.02,
            high: value + 0.02,
            approximation: 0.01,
            noise: 0.0,
            sampling: 0.0,
            exact: false,
        };
        let bin = |from, to, value| Bin { from, to, share: share(value) };
        let bins = [bin(None, Some(0.0), 0.0), bin(Some(0.0), Some(1.5), 0.75), bin(Some(1.5), None, 0.25)];
        let text = histogram("histogram(x, 1)", &bins);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(lines[2].contains("0 to 1.5") && lines[2].contains("75.00% +- 2.00"), "{text}");
        assert_eq!(lines[2].matches('#').count(), 40, "{text}");
        assert!(lines[3].contains("1.5 to above"), "{text}");
    }
}
