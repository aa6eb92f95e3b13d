//! Charts as SVG: a frame with ticks, and marks in it. Colours come from the page's style sheet by class, so
//! that they follow dark and light.

use std::fmt::Write as _;

use crate::html::escape;
use crate::words::number;

/// Width and height of a chart, in its own units.
pub const WIDTH: f64 = 640.0;
/// See [`WIDTH`].
pub const HEIGHT: f64 = 400.0;
/// Room for labels: left, right, top, bottom.
const MARGIN: [f64; 4] = [62.0, 14.0, 12.0, 44.0];

/// A chart being drawn.
pub struct Chart {
    x: (f64, f64),
    y: (f64, f64),
    body: String,
}

impl Chart {
    /// An empty chart over ranges, which are widened if they are empty.
    pub fn new(x: (f64, f64), y: (f64, f64)) -> Chart {
        let wide = |(low, high): (f64, f64)| if high > low { (low, high) } else { (low - 0.5, low + 0.5) };
        Chart { x: wide(x), y: wide(y), body: String::new() }
    }

    /// The place of a value on the horizontal axis.
    pub fn px(&self, x: f64) -> f64 {
        MARGIN[0] + (x - self.x.0) / (self.x.1 - self.x.0) * (WIDTH - MARGIN[0] - MARGIN[1])
    }

    /// The place of a value on the vertical axis.
    pub fn py(&self, y: f64) -> f64 {
        HEIGHT - MARGIN[3] - (y - self.y.0) / (self.y.1 - self.y.0) * (HEIGHT - MARGIN[2] - MARGIN[3])
    }

    /// Adds markup as it is.
    pub fn raw(&mut self, markup: &str) {
        self.body.push_str(markup);
    }

    /// A point with its value for those who point at it.
    pub fn point(&mut self, (x, y): (f64, f64), radius: f64, class: &str, tip: &str) {
        // Writing to a string cannot fail.
        let _ = write!(
            self.body,
            r#"<circle cx="{:.1}" cy="{:.1}" r="{radius}" class="{class}" data-tip="{}"/>"#,
            self.px(x),
            self.py(y.clamp(self.y.0, self.y.1)),
            escape(tip)
        );
    }

    /// A line through points.
    pub fn line(&mut self, points: &[(f64, f64)], class: &str) {
        let place =
            |&(x, y): &(f64, f64)| format!("{:.1},{:.1}", self.px(x), self.py(y.clamp(self.y.0, self.y.1)));
        let points: Vec<String> = points.iter().map(place).collect();
        let _ = write!(self.body, r#"<polyline points="{}" class="{class}"/>"#, points.join(" "));
    }

    /// A line across the chart at a height, with a word at its right end.
    pub fn level(&mut self, y: f64, class: &str, word: &str) {
        self.line(&[(self.x.0, y), (self.x.1, y)], class);
        let _ = write!(
            self.body,
            r#"<text x="{:.1}" y="{:.1}" class="note" text-anchor="end">{}</text>"#,
            WIDTH - MARGIN[1] - 4.0,
            self.py(y.clamp(self.y.0, self.y.1)) - 5.0,
            escape(word)
        );
    }

    /// The frame with ticks and names of the axes; `x_words` stand for whole numbers from 0 if they are
    /// given.
    pub fn frame(&mut self, x_name: &str, y_name: &str, x_words: Option<&[String]>) {
        let mut marks = String::new();
        let (bottom, left) = (HEIGHT - MARGIN[3], MARGIN[0]);
        let x_ticks: Vec<(f64, String)> = match x_words {
            None => ticks(self.x).into_iter().map(|t| (t, number(t))).collect(),
            Some(words) => {
                let step = words.len().div_ceil(8).max(1);
                words.iter().enumerate().step_by(step).map(|(i, w)| (i as f64, w.clone())).collect()
            }
        };
        for (at, label) in x_ticks {
            let x = self.px(at);
            let _ = write!(
                marks,
                r#"<line x1="{x:.1}" x2="{x:.1}" y1="{}" y2="{bottom}" class="grid"/><text x="{x:.1}" y="{}" text-anchor="middle">{}</text>"#,
                MARGIN[2],
                bottom + 16.0,
                escape(&label)
            );
        }
        for at in ticks(self.y) {
            let y = self.py(at);
            let _ = write!(
                marks,
                r#"<line x1="{left}" x2="{}" y1="{y:.1}" y2="{y:.1}" class="grid"/><text x="{}" y="{:.1}" text-anchor="end">{}</text>"#,
                WIDTH - MARGIN[1],
                left - 6.0,
                y + 4.0,
                number(at)
            );
        }
        let middle = (left + WIDTH - MARGIN[1]) / 2.0;
        let half = (MARGIN[2] + bottom) / 2.0;
        let _ = write!(
            marks,
            r#"<text x="{middle}" y="{}" text-anchor="middle" class="axis">{}</text><text transform="translate(14 {half}) rotate(-90)" text-anchor="middle" class="axis">{}</text>"#,
            HEIGHT - 8.0,
            escape(x_name),
            escape(y_name)
        );
        self.body.insert_str(0, &format!("<g class=\"frame\">{marks}</g>"));
    }

    /// The chart as an image with words for those who cannot see it.
    pub fn finish(self, id: &str, alt: &str) -> String {
        format!(
            r#"<svg id="{id}" class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{}">{}</svg>"#,
            escape(alt),
            self.body
        )
    }
}

/// Round steps of 1, 2 or 5 times a power of ten that cover a range with about six of them.
pub fn ticks((low, high): (f64, f64)) -> Vec<f64> {
    let raw = ((high - low) / 6.0).max(f64::MIN_POSITIVE);
    let power = 10.0_f64.powf(raw.log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].map(|f| f * power).into_iter().find(|s| *s >= raw * 0.999).unwrap_or(raw);
    let (first, last) = ((low / step - 1e-9).ceil() as i64, (high / step + 1e-9).floor() as i64);
    (first..=last).map(|i| i as f64 * step).collect()
}

/// The range of some values, with a margin; the whole of [0, 1] if there are none.
pub fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values
        .filter(|v| v.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    if low > high {
        return (0.0, 1.0);
    }
    let margin = 0.04 * (high - low);
    (low - margin, high + margin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers_inside_the_range() {
        assert_eq!(ticks((0.0, 1.0)), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
        assert_eq!(ticks((-7.0, 42.0)), [0.0, 10.0, 20.0, 30.0, 40.0]);
    }

    #[test]
    fn a_chart_puts_points_inside_its_frame_and_escapes_its_words() {
        let mut chart = Chart::new((0.0, 10.0), (0.0, 1.0));
        chart.point((10.0, 7.0), 2.0, "mark", "a < b");
        chart.frame("x & y", "z", None);
        let text = chart.finish("c", "say \"no\"");
        assert!(text.contains(r#"cx="626.0" cy="12.0""#), "{text}");
        assert!(
            text.contains("a &lt; b") && text.contains("x &amp; y") && text.contains("&quot;no&quot;"),
            "{text}"
        );
    }
}
