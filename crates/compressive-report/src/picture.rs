//! One picture by itself, as SVG, where a page would be too much: the map of the model, and beside it the
//! drift over the series.
//!
//! It follows light and dark by itself, as the page does, and where it is shown in a narrow column its
//! numbers give way to larger words.

use compressive::Result;

use crate::html::escape;
use crate::page::{Material, View, style};
use crate::section::{drift, map};
use crate::svg::{HEIGHT, WIDTH};
use crate::text::named;
use crate::words::{bytes, count};

/// Room above each chart for its title, and between two charts.
const HEAD: f64 = 44.0;
/// What the picture needs beyond the page's style: a ground of its own, and words of two sizes.
const STYLE: &str = include_str!("page/picture.css");

/// The picture; None if there is nothing to draw: neither a model nor a sample of two columns or more, and no
/// series. Cost: as the same parts of a page.
///
/// # Errors
/// A sketch without rows, or one of another recipe than the operator's.
pub fn picture(material: &Material<'_>) -> Result<Option<String>> {
    let view = View::new(material)?;
    let size = bytes(material.bytes as u64);
    let map = map::picture(&view).map(|chart| {
        let rows = count(view.moments.rows.max(0.0) as u64, "row");
        let what = material.model.map_or_else(|| "A sample".into(), named);
        (format!("{what} of {rows}, from {size}"), chart)
    });
    let drift = drift::picture(&view)?.map(|chart| {
        (format!("Drift over {}, without the rows", count(material.series.len() as u64, "sketch")), chart)
    });
    let charts: Vec<(String, String)> = map.into_iter().chain(drift).collect();
    if charts.is_empty() {
        return Ok(None);
    }
    let (width, height) = (charts.len() as f64 * WIDTH, HEIGHT + HEAD);
    let mut body = String::new();
    for (i, (title, chart)) in charts.iter().enumerate() {
        let x = i as f64 * WIDTH;
        body.push_str(&format!(
            "<text class=\"title\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n<g transform=\"translate({x} {HEAD})\">{}</g>\n",
            x + WIDTH / 2.0,
            0.7 * HEAD,
            escape(title),
            chart.replacen("<svg ", &format!("<svg width=\"{WIDTH}\" height=\"{HEIGHT}\" "), 1)
        ));
    }
    Ok(Some(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         aria-label=\"{}\">\n<style>\n{}{STYLE}</style>\n\
         <rect class=\"ground\" width=\"{width}\" height=\"{height}\" rx=\"8\"/>\n{body}</svg>\n",
        escape(material.title),
        style().replace('<', "&lt;").replace('>', "&gt;"),
    )))
}
