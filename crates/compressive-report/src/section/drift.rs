//! Drift over a series of sketches: each against the one before and against the first, and the components'
//! shares.

use compressive::ask::compare::{Comparison, compare};
use compressive::ask::drift::DIFFERENT as ALARM;
use compressive::ask::explain::explain;
use compressive::privacy::AnySketch;
use compressive::{Result, Sketch};

use crate::html::{details, figure, section as part, table};
use crate::page::{View, colour};
use crate::svg::Chart;
use crate::words::{count, number, thousands};

/// One sketch of the series.
struct Day {
    name: String,
    rows: u64,
    before: Option<Comparison>,
    first: Option<Comparison>,
    misfit: Option<f64>,
    shares: Vec<f64>,
}

/// Two charts and a table, if there are two sketches or more.
pub fn section(view: &View<'_>) -> Result<String> {
    if view.material.series.len() < 2 {
        return Ok(String::new());
    }
    let Some(plain) = plain(view) else {
        let body = "<p>Private sketches are not compared: their noise would pass for a difference.</p>\n";
        return Ok(part("drift", "Drift", body));
    };
    let days = days(view, &plain)?;
    let body = distances(&days) + &shares(view, &days) + &values(&days);
    Ok(part("drift", "Drift", &body))
}

/// The distances over the series by themselves; none for fewer than two sketches, or private ones.
pub fn picture(view: &View<'_>) -> Result<Option<String>> {
    match plain(view) {
        Some(series) if series.len() > 1 => Ok(Some(chart(&days(view, &series)?).0)),
        _ => Ok(None),
    }
}

/// The series, if all of it may be compared.
fn plain<'a>(view: &View<'a>) -> Option<Vec<(&'a str, &'a Sketch)>> {
    let one = |(name, sketch): &'a (String, AnySketch)| match sketch {
        AnySketch::Plain(sketch) => Some((name.as_str(), sketch)),
        AnySketch::Private(_) => None,
    };
    view.material.series.iter().map(one).collect()
}

fn days(view: &View<'_>, series: &[(&str, &Sketch)]) -> Result<Vec<Day>> {
    let operator = view.material.operator;
    let mut days = Vec::new();
    for (i, (name, sketch)) in series.iter().enumerate() {
        let against =
            |other: usize| (i > other).then(|| compare(operator, series[other].1, sketch)).transpose();
        let (first, before) = (against(0)?, if i > 0 { against(i - 1)? } else { None });
        let model = view.material.model;
        let found = match model {
            Some(model) => explain(operator, &sketch.moments()?, model).ok(),
            None => None,
        };
        days.push(Day {
            name: (*name).to_owned(),
            rows: sketch.rows(),
            before,
            first,
            misfit: found.as_ref().map(|f| f.misfit.value()),
            shares: found.map(|f| f.shares).unwrap_or_default(),
        });
    }
    Ok(days)
}

/// The distance in units of what sampling alone gives.
fn ratio(c: &Comparison) -> f64 {
    c.distance / c.distance_expected.max(f64::MIN_POSITIVE)
}

fn distances(days: &[Day]) -> String {
    let (picture, verdict) = chart(days);
    let caption = format!(
        "Distance of each sketch from the one before (line) and from the first (dashed), in units of what sampling alone gives. Large marks: different with p below {ALARM}. In short: {verdict}."
    );
    figure(&picture, &caption)
}

/// The distances, and what they come to in words.
fn chart(days: &[Day]) -> (String, String) {
    let curve = |of: &dyn Fn(&Day) -> Option<Comparison>| -> Vec<(f64, f64)> {
        days.iter().enumerate().filter_map(|(i, day)| of(day).map(|c| (i as f64, ratio(&c)))).collect()
    };
    let before = curve(&|day: &Day| day.before.clone());
    let first = curve(&|day: &Day| day.first.clone());
    let top = before.iter().chain(&first).map(|p| p.1).fold(2.0, f64::max);
    let mut chart = Chart::new((-0.5, days.len() as f64 - 0.5), (0.0, 1.1 * top));
    chart.level(1.0, "dotted", "sampling alone");
    chart.line(&first, "curve c1 dashed");
    chart.line(&before, "curve c0");
    for (i, day) in days.iter().enumerate() {
        for (c, class, words) in [(&day.first, "c1", "the first"), (&day.before, "c0", "the one before")] {
            let Some(c) = c else { continue };
            let alarm = c.p_value < ALARM;
            let tip = format!(
                "{}: {} times sampling noise from {words}{}",
                day.name,
                number(ratio(c)),
                if alarm { ", different" } else { "" }
            );
            chart.point(
                (i as f64, ratio(c)),
                if alarm { 6.0 } else { 3.5 },
                &format!("mark {class}{}", if alarm { " alarm" } else { "" }),
                &tip,
            );
        }
    }
    let names: Vec<String> = days.iter().map(|day| day.name.clone()).collect();
    chart.frame("sketch", "distance / sampling noise", Some(&names));
    let alarms: Vec<&str> = days
        .iter()
        .filter(|d| d.before.as_ref().is_some_and(|c| c.p_value < ALARM))
        .map(|d| d.name.as_str())
        .collect();
    let verdict = match alarms.len() {
        0 => "no sketch differs from the one before it".to_owned(),
        n if n <= 6 => format!("different from the one before: {}", alarms.join(", ")),
        n => format!("{n} of {} differ from the one before", days.len() - 1),
    };
    let alt = format!(
        "Distance of each of {} from the one before and from the first: {verdict}.",
        count(days.len() as u64, "sketch")
    );
    (chart.finish("drift-svg", &alt), verdict)
}

/// Stacked bars: the share of each component, day by day.
fn shares(view: &View<'_>, days: &[Day]) -> String {
    let Some(shapes) = view.shapes.as_ref().filter(|_| days.iter().all(|day| !day.shares.is_empty())) else {
        return String::new();
    };
    let mut chart = Chart::new((-0.5, days.len() as f64 - 0.5), (0.0, 100.0));
    let width = 0.8 * (chart.px(1.0) - chart.px(0.0));
    for (i, day) in days.iter().enumerate() {
        let mut from = 0.0;
        for (l, share) in day.shares.iter().enumerate() {
            let (y, height) =
                (chart.py(100.0 * (from + share)), chart.py(100.0 * from) - chart.py(100.0 * (from + share)));
            let tip = format!("{}: {:.1}% of component {}", day.name, 100.0 * share, shapes.names[l]);
            let bar = format!(
                "<rect x=\"{:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" class=\"bar {}\" data-tip=\"{}\"/>",
                chart.px(i as f64) - width / 2.0,
                colour(shapes.colours[l]),
                crate::html::escape(&tip)
            );
            chart.raw(&bar);
            from += share;
        }
    }
    let names: Vec<String> = days.iter().map(|day| day.name.clone()).collect();
    chart.frame("sketch", "share of the rows, %", Some(&names));
    let alt = "Shares of the components in each sketch, as stacked bars; the table below has the values.";
    figure(
        &chart.finish("shares-svg", alt),
        "Share of each component in each sketch, with the components held where the model has them.",
    )
}

fn values(days: &[Day]) -> String {
    let heads: Vec<String> = [
        "sketch",
        "rows",
        "from the one before",
        "p-value",
        "from the first",
        "p-value",
        "misfit of the model",
        "shares, %",
    ]
    .map(String::from)
    .to_vec();
    let pair = |c: &Option<Comparison>| match c {
        None => ["-".to_owned(), "-".to_owned()],
        Some(c) => {
            [number(ratio(c)), if c.p_value < 1e-12 { "below 1e-12".into() } else { number(c.p_value) }]
        }
    };
    let row = |day: &Day| {
        let mut row = vec![day.name.clone(), thousands(day.rows)];
        row.extend(pair(&day.before));
        row.extend(pair(&day.first));
        row.push(day.misfit.map_or("-".into(), number));
        row.push(day.shares.iter().map(|s| format!("{:.1}", 100.0 * s)).collect::<Vec<_>>().join(" "));
        row
    };
    let rows: Vec<Vec<String>> = days.iter().map(row).collect();
    details("The values", &table("Drift, sketch by sketch", &heads, &rows))
}
