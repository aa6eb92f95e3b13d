//! The components as ellipses on two axes, over the sample if there is one; the axes can be chosen.

use std::fmt::Write as _;

use compressive::Parameter;
use serde_json::json;

use crate::html::{escape, figure, rounded, section as part};
use crate::page::{View, colour};
use crate::shapes::Shapes;
use crate::svg::{Chart, range};
use crate::words::{count, number};

/// Rows drawn at most.
const POINTS: usize = 1500;
/// Ellipses are drawn at this many standard deviations.
const REACH: f64 = 2.0;
/// Points of a density curve.
const CURVE: usize = 200;

/// Everything projected on the axes: what the picture is drawn from, here and in the page's script.
struct Projected {
    names: Vec<String>,
    labels: Vec<String>,
    /// k rows of A coordinates.
    means: Vec<Vec<f64>>,
    /// k rows of A x A covariances.
    covariances: Vec<Vec<f64>>,
    /// n rows of A coordinates.
    points: Vec<Vec<f64>>,
}

/// The map, or the density of a single column.
pub fn section(view: &View<'_>) -> String {
    if view.shapes.is_none() && view.rows.is_empty() {
        return String::new();
    }
    let projected = project(view);
    let body = match view.axes.len() {
        0 => return String::new(),
        1 => density(view, &projected),
        _ => map(view, &projected),
    };
    part("map", "Where they are", &body)
}

fn project(view: &View<'_>) -> Projected {
    let axes = &view.axes;
    let d = axes[0].vector.len();
    let on_axes = |row: &[f64]| axes.iter().map(|axis| rounded(axis.of(row))).collect::<Vec<f64>>();
    let n = view.rows.len() / d;
    let step = n.div_ceil(POINTS).max(1);
    let (mut means, mut covariances) = (Vec::new(), Vec::new());
    if let Some(shapes) = &view.shapes {
        for l in 0..shapes.k() {
            means.push(on_axes(&shapes.means[l]));
            let pair = |a: &crate::axes::Axis, b: &crate::axes::Axis| {
                rounded(shapes.covariance(l, &a.vector, &b.vector))
            };
            covariances.push(axes.iter().flat_map(|a| axes.iter().map(move |b| pair(a, b))).collect());
        }
    }
    Projected {
        names: axes.iter().map(|axis| axis.name.clone()).collect(),
        labels: axes.iter().map(|axis| axis.label.clone()).collect(),
        means,
        covariances,
        points: view.rows.chunks_exact(d).step_by(step).map(on_axes).collect(),
    }
}

/// The picture of the components on two axes by itself; none for a single column, or
/// without a model and a sample.
pub fn picture(view: &View<'_>) -> Option<String> {
    if view.axes.len() < 2 || (view.shapes.is_none() && view.rows.is_empty()) {
        return None;
    }
    let projected = project(view);
    Some(chart(view, &projected).finish("map-svg", &alt(view, &projected)))
}

fn map(view: &View<'_>, projected: &Projected) -> String {
    let picture = chart(view, projected).finish("map-svg", &alt(view, projected));
    let shown = match projected.points.len() {
        0 => {
            let vocabulary = view.material.vocabulary;
            let how = vocabulary.aside(&format!("{} adds them", vocabulary.name(Parameter::Data)));
            format!("no sample was given, so no rows are drawn{how}")
        }
        n => format!("{} behind them", count(n as u64, "row")),
    };
    let caption = format!(
        "Ellipses: {REACH} standard deviations around each mean; {shown}. To begin with, the axes are those that tell the components apart best."
    );
    format!("{}{}{}", controls(view, projected), figure(&picture, &caption), data(view, projected))
}

/// Rows, ellipses and frame on the first two axes.
fn chart(view: &View<'_>, projected: &Projected) -> Chart {
    let span = |axis: usize| {
        let a = projected.labels.len();
        let reach = projected.means.iter().zip(&projected.covariances).flat_map(|(mean, sigma)| {
            let r = REACH * sigma[axis * a + axis].max(0.0).sqrt();
            [mean[axis] - r, mean[axis] + r]
        });
        let mut seen: Vec<f64> = projected.points.iter().map(|p| p[axis]).collect();
        seen.sort_by(f64::total_cmp);
        let at = |share: f64| seen.get((seen.len().saturating_sub(1) as f64 * share) as usize).copied();
        range(reach.chain([at(0.005), at(0.995)].into_iter().flatten()))
    };
    let mut chart = Chart::new(span(0), span(1));
    chart.raw("<g id=\"map-points\">");
    for p in &projected.points {
        chart.raw(&format!(
            "<circle class=\"row\" r=\"1.6\" cx=\"{:.1}\" cy=\"{:.1}\"/>",
            chart.px(p[0]),
            chart.py(p[1])
        ));
    }
    chart.raw("</g><g id=\"map-shapes\">");
    if let Some(shapes) = &view.shapes {
        (0..shapes.k()).for_each(|l| draw(&mut chart, shapes, projected, l));
    }
    chart.raw("</g>");
    chart.frame(&projected.names[0], &projected.names[1], None);
    chart
}

/// One component: its ellipse, and its name at the centre.
fn draw(chart: &mut Chart, shapes: &Shapes, projected: &Projected, l: usize) {
    let a = projected.labels.len();
    let (mean, sigma) = (&projected.means[l], &projected.covariances[l]);
    let unit = (chart.px(1.0) - chart.px(0.0), chart.py(1.0) - chart.py(0.0));
    let (xx, xy, yy) =
        (sigma[0] * unit.0 * unit.0, sigma[1] * unit.0 * unit.1, sigma[a + 1] * unit.1 * unit.1);
    let (rx, ry, angle) = ellipse(xx, xy, yy);
    let (cx, cy) = (chart.px(mean[0]), chart.py(mean[1]));
    let tip = format!("{}: {:.1}%", shapes.names[l], 100.0 * shapes.weights[l]);
    chart.raw(&format!(
        "<g class=\"shape {}\" data-shape=\"{}\" data-tip=\"{}\"><ellipse rx=\"{rx:.1}\" ry=\"{ry:.1}\" transform=\"translate({cx:.1} {cy:.1}) rotate({angle:.1})\"/><text x=\"{cx:.1}\" y=\"{cy:.1}\" dy=\"4\" text-anchor=\"middle\">{}</text></g>",
        colour(shapes.colours[l]),
        escape(&shapes.names[l]),
        escape(&tip),
        escape(&shapes.names[l]),
    ));
}

/// Half axes and angle (degrees) of the ellipse of a covariance at [`REACH`] standard deviations.
fn ellipse(xx: f64, xy: f64, yy: f64) -> (f64, f64, f64) {
    let middle = 0.5 * (xx + yy);
    let apart = (0.25 * (xx - yy).powi(2) + xy * xy).sqrt();
    let angle = 0.5 * (2.0 * xy).atan2(xx - yy);
    let half = |v: f64| (REACH * v.max(0.0).sqrt()).max(2.0);
    (half(middle + apart), half(middle - apart), angle.to_degrees())
}

fn alt(view: &View<'_>, projected: &Projected) -> String {
    let mut text = format!("Map on {} and {}.", projected.labels[0], projected.labels[1]);
    if let Some(shapes) = &view.shapes {
        for l in (0..shapes.k()).take(10) {
            let mean = &projected.means[l];
            let _ = write!(text, " {}: {}, {}.", shapes.names[l], number(mean[0]), number(mean[1]));
        }
        if shapes.k() > 10 {
            let _ = write!(text, " And {} more.", shapes.k() - 10);
        }
    }
    text
}

fn controls(view: &View<'_>, projected: &Projected) -> String {
    let select = |id: &str, name: &str, chosen: usize| {
        let option = |(i, label): (usize, &String)| {
            let selected = if i == chosen { " selected" } else { "" };
            format!("<option value=\"{i}\"{selected}>{}</option>", escape(label))
        };
        let options: String = projected.labels.iter().enumerate().map(option).collect();
        format!("<label>{name} <select id=\"{id}\">{options}</select></label>\n")
    };
    let d = view.material.total.spec().dim();
    let columns =
        view.axes.iter().filter(|axis| axis.vector.iter().filter(|v| **v != 0.0).count() == 1).count();
    let fewer = if columns < d {
        format!("<span>the {columns} most telling of {d} columns</span>")
    } else {
        String::new()
    };
    format!(
        "<p class=\"controls\">{}{}{fewer}</p>\n",
        select("axis-x", "across", 0),
        select("axis-y", "upwards", 1)
    )
}

/// What the script draws other axes from.
fn data(view: &View<'_>, projected: &Projected) -> String {
    let names = view.shapes.as_ref().map_or(&[][..], |shapes| &shapes.names);
    let data = json!({
        "axes": projected.names, "labels": projected.labels, "means": projected.means, "covariances": projected.covariances,
        "points": projected.points, "names": names, "reach": REACH,
    });
    // Within a script element only `<` could end it.
    let text = data.to_string().replace('<', "\\u003c");
    format!("<script type=\"application/json\" id=\"map-data\">{text}</script>\n")
}

/// One column: the densities of the components and their sum, over a histogram of the sample.
fn density(view: &View<'_>, projected: &Projected) -> String {
    let Some(shapes) = &view.shapes else { return String::new() };
    let deviation = |l: usize| projected.covariances[l][0].max(0.0).sqrt();
    let reach = (0..shapes.k()).flat_map(|l| {
        let (m, r) = (projected.means[l][0], 3.0 * deviation(l));
        [m - r, m + r]
    });
    let (low, high) = range(reach.chain(projected.points.iter().map(|p| p[0])));
    let at = |i: usize| low + (high - low) * i as f64 / CURVE as f64;
    let bell = |l: usize, x: f64| {
        let s = deviation(l).max(1e-3 * (high - low));
        let z = (x - projected.means[l][0]) / s;
        shapes.weights[l] * (-0.5 * z * z).exp() / (s * std::f64::consts::TAU.sqrt())
    };
    let curve = |of: &dyn Fn(f64) -> f64| (0..=CURVE).map(|i| (at(i), of(at(i)))).collect::<Vec<_>>();
    let whole = curve(&|x| (0..shapes.k()).map(|l| bell(l, x)).sum());
    let top = whole.iter().map(|p| p.1).fold(f64::MIN_POSITIVE, f64::max);
    let mut chart = Chart::new((low, high), (0.0, 1.1 * top));
    for p in &projected.points {
        chart.point((p[0], 0.01 * top), 2.0, "row", &number(p[0]));
    }
    for l in 0..shapes.k() {
        chart.line(&curve(&|x| bell(l, x)), &format!("curve {}", colour(shapes.colours[l])));
    }
    chart.line(&whole, "curve whole");
    chart.frame(&projected.labels[0], "density", None);
    let alt = format!(
        "Density of {}: {} and their sum.",
        projected.labels[0],
        count(shapes.k() as u64, "component")
    );
    figure(
        &chart.finish("map-svg", &alt),
        "Densities of the components, weighted, and their sum; dots: rows of the sample.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ellipse_has_the_axes_of_its_covariance() {
        let (rx, ry, angle) = ellipse(400.0, 0.0, 100.0);
        assert!((rx - 40.0).abs() < 1e-9 && (ry - 20.0).abs() < 1e-9 && angle.abs() < 1e-9);
        let (rx, ry, angle) = ellipse(250.0, 150.0, 250.0);
        assert!((rx - 40.0).abs() < 1e-9 && (ry - 20.0).abs() < 1e-9 && (angle - 45.0).abs() < 1e-9);
    }
}
