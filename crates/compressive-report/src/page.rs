//! The page: what is needed, worked out once, then one section after the other.

use compressive::ask::explain::{Explanation, explain};
use compressive::learn::Candidate;
use compressive::model::{Content, Model};
use compressive::privacy::AnySketch;
use compressive::{Column, Moments, Result, SketchOperator, Vocabulary};

use crate::axes::{Axis, axes, columns};
use crate::html::escape;
use crate::section;
use crate::shapes::Shapes;

const STYLE: &str = include_str!("page/style.css");
const SCRIPT: &str = include_str!("page/script.js");

/// Functions for pictures in a page's script: ticks, frames, ellipses, values under the pointer.
pub const CHART_SCRIPT: &str = include_str!("page/chart.js");

/// Rows of a generative network that are drawn.
const MADE: usize = 1000;

/// What a page is made from.
#[derive(Clone, Copy)]
pub struct Material<'a> {
    /// Head of the page.
    pub title: &'a str,
    /// The recipe of the sketches.
    pub operator: &'a SketchOperator,
    /// The sketch of all rows.
    pub total: &'a AnySketch,
    /// Its size in bytes.
    pub bytes: usize,
    /// The sketches it is the sum of, with their names, in order; drift is shown if there are two or more.
    pub series: &'a [(String, AnySketch)],
    /// What was learned from it.
    pub model: Option<&'a Model>,
    /// The objective for several numbers of components.
    pub candidates: &'a [Candidate],
    /// Some rows (n of d) to draw behind the model.
    pub sample: Option<&'a [f64]>,
    /// The commands that made all this.
    pub commands: &'a [String],
    /// How parameters and steps are written.
    pub vocabulary: &'a dyn Vocabulary,
}

/// What the sections share.
pub(crate) struct View<'a> {
    pub material: &'a Material<'a>,
    pub moments: Moments,
    pub explanation: Option<Explanation>,
    pub shapes: Option<Shapes>,
    pub axes: Vec<Axis>,
    /// Rows to draw: the sample, or what a generative network makes.
    pub rows: Vec<f64>,
}

impl<'a> View<'a> {
    pub fn new(material: &'a Material<'a>) -> Result<View<'a>> {
        let moments = material.total.moments()?;
        // Other kinds of models and sketches have no explanation, and the page says less about them.
        let explanation = material.model.and_then(|model| explain(material.operator, &moments, model).ok());
        let shapes = material.model.and_then(|model| Shapes::of(model, explanation.as_ref()));
        let rows = match (material.sample, material.model.map(|model| &model.content)) {
            (None, Some(Content::Generator(generator))) => generator.sample(MADE, 0)?,
            (sample, _) => sample.unwrap_or(&[]).to_vec(),
        };
        let axes = match (material.model, &shapes) {
            (Some(model), Some(shapes)) => axes(model, shapes),
            _ => {
                let table = material.total.spec().table_columns();
                columns(&table.iter().flat_map(Column::shown).collect::<Vec<_>>())
            }
        };
        Ok(View { moments, explanation, shapes, axes, rows, material })
    }
}

/// The page as HTML. Cost: that of laying the model over the sketch, and a comparison for each sketch of the
/// series.
///
/// # Errors
/// A sketch without rows, or one of another recipe than the operator's.
pub fn page(material: &Material<'_>) -> Result<String> {
    let view = View::new(material)?;
    let sections = [
        section::overview::section(&view),
        section::components::section(&view),
        section::map::section(&view),
        section::objective::section(&view),
        section::drift::section(&view)?,
        section::sketch::section(&view),
        section::privacy::section(&view),
        section::reproduce::section(&view),
    ];
    let title = escape(material.title);
    let style = style();
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"generator\" content=\"compressive {}\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<header><h1>{title}</h1></header>\n<main>\n{}</main>\n\
         <div id=\"tip\" role=\"status\" hidden></div>\n<script>\n{CHART_SCRIPT}{SCRIPT}</script>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION"),
        sections.concat(),
    ))
}

/// Colours of the components, ten that differ well on both grounds.
const LIGHT: [&str; 10] = [
    "#1f6fb4", "#c4520b", "#2a8540", "#b3262b", "#7a4fa8", "#7d5245", "#b83a91", "#5c5c5c", "#7c7a0a",
    "#0d8290",
];
const DARK: [&str; 10] = [
    "#6fb3ea", "#ff9f5a", "#71cf88", "#ff8583", "#bda0ea", "#cfa394", "#f29ad6", "#b9b9b9", "#d4d35c",
    "#54d0df",
];

/// The style sheet of pages, light, dark and on paper, with the colours of components as classes `c0` to
/// `c9`.
pub fn style() -> String {
    STYLE.replace("/*COLOURS*/", &colours())
}

fn colours() -> String {
    let rule = |palette: &[&str; 10]| -> String {
        palette.iter().enumerate().map(|(i, c)| format!("--c{i}:{c};")).collect()
    };
    let classes: String =
        (0..LIGHT.len()).map(|i| format!(".c{i}{{--colour:var(--c{i})}}")).collect::<Vec<_>>().join("\n");
    format!(
        ":root{{{}}}\n@media (prefers-color-scheme:dark){{:root{{{}}}}}\n@media print{{:root{{{}}}}}\n{classes}",
        rule(&LIGHT),
        rule(&DARK),
        rule(&LIGHT)
    )
}

/// The class that gives a component its colour.
pub(crate) fn colour(i: usize) -> String {
    format!("c{}", i % LIGHT.len())
}
