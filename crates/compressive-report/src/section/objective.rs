//! How the fit changes with the number of components.

use crate::html::{details, figure, section as part, table};
use crate::page::View;
use crate::svg::Chart;
use crate::words::{number, thousands};

/// Misfit against k.
pub fn section(view: &View<'_>) -> String {
    let all = view.material.candidates;
    if all.len() < 2 {
        return String::new();
    }
    let chosen = view.material.model.map(|model| model.k);
    let log = |misfit: f64| misfit.max(1e-3).log10();
    let top = all.iter().map(|c| log(c.misfit.value())).fold(0.3, f64::max);
    let least = all.iter().map(|c| log(c.misfit.value())).fold(0.0, f64::min);
    let (first, last) = (all[0].k as f64, all[all.len() - 1].k as f64);
    let mut chart = Chart::new((first - 0.5, last + 0.5), (least - 0.05 * (top - least), 1.08 * top));
    chart.level(log(1.0), "dotted", "the sampling noise");
    let points: Vec<(f64, f64)> = all.iter().map(|c| (c.k as f64, log(c.misfit.value()))).collect();
    chart.line(&points, "curve c0");
    for candidate in all {
        let class = if Some(candidate.k) == chosen { "mark chosen" } else { "mark c0" };
        let tip = format!("k = {}: misfit {}", candidate.k, number(candidate.misfit.value()));
        chart.point((candidate.k as f64, log(candidate.misfit.value())), 4.5, class, &tip);
    }
    chart.frame("number of components k", "log10 of the misfit", None);
    let listed: Vec<String> =
        all.iter().map(|c| format!("k = {}: {}", c.k, number(c.misfit.value()))).collect();
    let alt = format!("Misfit against the number of components. {}.", listed.join("; "));
    let heads = ["k", "objective", "misfit"].map(String::from);
    let rows: Vec<Vec<String>> =
        all.iter().map(|c| vec![thousands(c.k as u64), number(c.cost), number(c.misfit.value())]).collect();
    let caption = "The squared residual in units of the sampling noise, on a logarithmic scale. Where the curve stops falling, more components explain nothing more.";
    let body = figure(&chart.finish("objective-svg", &alt), caption)
        + &details("The values", &table("Objective against the number of components", &heads, &rows));
    part("objective", "How many components", &body)
}
