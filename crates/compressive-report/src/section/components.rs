//! The components: weight, and how each column's mean differs from that of all rows.

use compressive::model::{Content, Model};

use crate::columns::{Coordinate, coordinates};
use crate::html::{details, escape, section as part, table};
use crate::page::{View, colour};
use crate::shapes::Shapes;
use crate::words::thousands;

/// Bars are drawn up to the longest, but to no more and no less than so many standard deviations.
const REACH: (f64, f64) = (1.0, 4.0);
/// Columns named as those a component stands out by.
const NAMED: usize = 3;
/// Columns up to which their names are written over the bars.
const HEADS: usize = 12;
/// Cells up to which all values are given as a table.
const CELLS: usize = 10_000;

/// One line of the list.
struct Line {
    name: String,
    colour: usize,
    share: f64,
    /// For each column, the height of its bar from -1 to 1 and what it means.
    bars: Vec<(f64, String)>,
    /// What to say beside the bars.
    words: String,
}

/// Weights and profiles.
pub fn section(view: &View<'_>) -> String {
    let Some(model) = view.material.model else { return String::new() };
    let (title, note, lines) = match (&model.content, &view.shapes) {
        (Content::Pca { .. }, _) => (
            "Principal components",
            "Bars: the entries of each component, from -1 to 1. Percent: its share of the variance of the rows.",
            principal(model),
        ),
        (_, Some(shapes)) => (
            "Components",
            "Bars: how far the component's mean of each column lies above or below that of all rows, in standard deviations of all rows. Percent: its share of the rows.",
            profiles(model, shapes),
        ),
        (Content::Classify(classifier), None) => {
            ("Classes", "Percent: the share of each class.", priors(classifier))
        }
        _ => return String::new(),
    };
    let most = lines.iter().map(|l| l.share).fold(1e-12, f64::max);
    let items: String = lines.iter().map(|line| item(line, most)).collect();
    let heads = if lines.iter().all(|l| l.bars.is_empty()) { String::new() } else { heads(&model.columns) };
    let values = view.shapes.as_ref().map_or(String::new(), |shapes| values(model, shapes));
    part(
        "components",
        title,
        &format!("<p>{note}</p>\n{heads}<ol class=\"components\">\n{items}</ol>\n{values}"),
    )
}

/// Names of the columns over their bars, if they fit.
fn heads(columns: &[String]) -> String {
    if columns.len() > HEADS {
        return String::new();
    }
    let names: String = columns.iter().map(|c| format!("<span>{}</span>", escape(c))).collect();
    format!(
        "<div class=\"heads\" aria-hidden=\"true\"><div></div><div class=\"names\" style=\"grid-template-columns:repeat({},1fr)\">{names}</div></div>\n",
        columns.len()
    )
}

fn item(line: &Line, most: f64) -> String {
    let percent = format!("{:.1}%", 100.0 * line.share);
    let strip = if line.bars.is_empty() { String::new() } else { strip(line) };
    format!(
        "<li class=\"{}\" data-shape=\"{}\"><div class=\"share\"><b>{}</b><span>{percent}</span><i style=\"width:{:.1}%\"></i></div>{strip}<p>{}</p></li>\n",
        colour(line.colour),
        escape(&line.name),
        escape(&line.name),
        100.0 * line.share / most,
        escape(&line.words)
    )
}

/// The bars of one component, as wide as there is room.
fn strip(line: &Line) -> String {
    let d = line.bars.len();
    let bar = |(c, (height, tip)): (usize, &(f64, String))| {
        let h = 20.0 * height.clamp(-1.0, 1.0);
        let (y, class) = if h >= 0.0 { (20.0 - h, "up") } else { (20.0, "down") };
        // The whole height answers to the pointer, however small the bar.
        format!(
            "<g data-tip=\"{}\"><rect x=\"{x}\" y=\"0\" width=\"10\" height=\"40\" class=\"hit\"/><rect x=\"{}\" y=\"{y:.1}\" width=\"8\" height=\"{:.1}\" class=\"{class}\"/></g>",
            escape(tip),
            c * 10 + 1,
            h.abs().max(0.4),
            x = c * 10,
        )
    };
    let bars: String = line.bars.iter().enumerate().map(bar).collect();
    format!(
        "<svg class=\"strip\" viewBox=\"0 0 {} 40\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"Profile of {}: {}\">{bars}<line x1=\"0\" x2=\"{}\" y1=\"20\" y2=\"20\" class=\"zero\"/></svg>",
        d * 10,
        escape(&line.name),
        escape(&line.words),
        d * 10
    )
}

fn profiles(model: &Model, shapes: &Shapes) -> Vec<Line> {
    let d = shapes.dim();
    let table = coordinates(&model.table_columns());
    let all: Vec<(f64, f64)> =
        (0..d).map(|c| (shapes.mean(c), shapes.variances(c).1.sqrt().max(f64::MIN_POSITIVE))).collect();
    let score = |l: usize, c: usize| (shapes.means[l][c] - all[c].0) / all[c].1;
    let longest = (0..shapes.k()).flat_map(|l| (0..d).map(move |c| (l, c))).map(|(l, c)| score(l, c).abs());
    let most = longest.fold(REACH.0, f64::max).min(REACH.1);
    let line = |l: usize| {
        let scores: Vec<f64> = (0..d).map(|c| score(l, c)).collect();
        let tip = |c: usize| {
            let column = &table[c];
            let width = column.width(shapes.variance(l, c).sqrt());
            let width = width.map_or_else(String::new, |width| format!(" (± {width})"));
            let (here, there) = (column.place(shapes.means[l][c]), column.place(all[c].0));
            format!("{}: {here}{width}, {:+.1} from all rows' {there}", column.name, scores[c])
        };
        Line {
            name: shapes.names[l].clone(),
            colour: shapes.colours[l],
            share: shapes.weights[l],
            bars: (0..d).map(|c| (scores[c] / most, tip(c))).collect(),
            words: stands_out(&table, &scores),
        }
    };
    (0..shapes.k()).map(line).collect()
}

/// The columns furthest from those of all rows.
fn stands_out(table: &[Coordinate], scores: &[f64]) -> String {
    let mut order: Vec<usize> = (0..scores.len()).filter(|&c| scores[c].abs() >= 0.5).collect();
    order.sort_by(|&a, &b| scores[b].abs().total_cmp(&scores[a].abs()));
    if order.is_empty() {
        return "near the middle in every column".into();
    }
    let word = |&c: &usize| {
        format!("{} {} ({:+.1})", if scores[c] > 0.0 { "high" } else { "low" }, table[c].name, scores[c])
    };
    order.iter().take(NAMED).map(word).collect::<Vec<_>>().join(", ")
}

fn principal(model: &Model) -> Vec<Line> {
    let Content::Pca { components, explained_variance, total_variance, .. } = &model.content else {
        return Vec::new();
    };
    let names = model.shown_columns();
    let line = |(l, (v, variance)): (usize, (&Vec<f64>, &f64))| {
        let mut order: Vec<usize> = (0..v.len()).collect();
        order.sort_by(|&a, &b| v[b].abs().total_cmp(&v[a].abs()));
        let words: Vec<String> =
            order.iter().take(NAMED).map(|&c| format!("{} {:+.2}", names[c], v[c])).collect();
        Line {
            name: format!("pc{}", l + 1),
            colour: l,
            share: variance / total_variance.max(f64::MIN_POSITIVE),
            bars: v.iter().zip(&names).map(|(x, c)| (*x, format!("{c}: {x:+.3}"))).collect(),
            words: words.join(", "),
        }
    };
    components.iter().zip(explained_variance).enumerate().map(line).collect()
}

fn priors(classifier: &compressive::model::Classifier) -> Vec<Line> {
    let line = |(class, (name, prior)): (usize, (&String, &f64))| Line {
        name: name.clone(),
        colour: class,
        share: *prior,
        bars: Vec::new(),
        words: String::new(),
    };
    classifier.classes.iter().zip(&classifier.priors).enumerate().map(line).collect()
}

/// Every mean with its standard deviation.
fn values(model: &Model, shapes: &Shapes) -> String {
    let (k, d) = (shapes.k(), shapes.dim());
    if k * d > CELLS {
        return format!(
            "<p>{} means are in the model file; a table of them would be too long here.</p>\n",
            thousands((k * d) as u64)
        );
    }
    let heads: Vec<String> =
        ["component".to_owned(), "weight".to_owned()].into_iter().chain(model.shown_columns()).collect();
    let columns = coordinates(&model.table_columns());
    let cell = |l: usize, c: usize| {
        let middle = columns[c].place(shapes.means[l][c]);
        columns[c]
            .width(shapes.variance(l, c).sqrt())
            .map_or(middle.clone(), |width| format!("{middle} ± {width}"))
    };
    let row = |l: usize| {
        let mut row = vec![shapes.names[l].clone(), format!("{:.2}%", 100.0 * shapes.weights[l])];
        row.extend((0..d).map(|c| cell(l, c)));
        row
    };
    let rows: Vec<Vec<String>> = (0..k).map(row).collect();
    details(
        "All means and standard deviations",
        &table("Means and standard deviations of the components", &heads, &rows),
    )
}
