//! Curves over one axis.

use crate::error::Result;
use crate::plot::canvas::{Align, Canvas, Colour, GRID, INK, TEXT_HEIGHT, WHITE, text_width};
use crate::plot::{short, ticks};

/// A curve; points that are not finite are left out.
pub(crate) struct Series {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// A figure of curves.
pub(crate) struct Lines {
    pub title: String,
    pub x_label: String,
    pub y_label: String,
    pub series: Vec<Series>,
}

/// Told apart also by those who do not see red from green (Okabe and Ito 2008).
const COLOURS: [Colour; 6] =
    [[0, 114, 178], [213, 94, 0], [0, 158, 115], [204, 121, 167], [86, 180, 233], [230, 159, 0]];

const SIZE: (usize, usize) = (1000, 620);
const LEFT: f64 = 100.0;
const TOP: f64 = 60.0;
const BOTTOM: f64 = 80.0;
const RIGHT: f64 = 30.0;

impl Lines {
    /// Draws the figure.
    pub fn to_png(&self) -> Result<Vec<u8>> {
        let mut canvas = Canvas::new(SIZE.0, SIZE.1);
        let (x_range, y_range) = self.ranges();
        let (right, bottom) = (SIZE.0 as f64 - RIGHT, SIZE.1 as f64 - BOTTOM);
        let to_x = |x: f64| LEFT + (x - x_range.0) / (x_range.1 - x_range.0) * (right - LEFT);
        let to_y = |y: f64| bottom - (y - y_range.0) / (y_range.1 - y_range.0) * (bottom - TOP);
        for x in ticks(x_range.0, x_range.1, 10) {
            canvas.line((to_x(x), TOP), (to_x(x), bottom), 1.0, GRID);
            canvas.text((to_x(x) as i64, bottom as i64 + 8), Align::Middle, &short(x), INK);
        }
        for y in ticks(y_range.0, y_range.1, 8) {
            canvas.line((LEFT, to_y(y)), (right, to_y(y)), 1.0, GRID);
            canvas.text((LEFT as i64 - 8, to_y(y) as i64 - TEXT_HEIGHT / 2), Align::Right, &short(y), INK);
        }
        canvas.frame((LEFT as i64, TOP as i64), ((right - LEFT) as i64, (bottom - TOP) as i64), INK);
        for (series, colour) in self.series.iter().zip(COLOURS.into_iter().cycle()) {
            let points: Vec<(f64, f64)> =
                series.points.iter().filter(|p| p.1.is_finite()).map(|p| (to_x(p.0), to_y(p.1))).collect();
            points.windows(2).for_each(|pair| canvas.line(pair[0], pair[1], 3.0, colour));
            points.iter().for_each(|point| canvas.line(*point, *point, 10.0, colour));
        }
        let middle = ((LEFT + right) / 2.0) as i64;
        canvas.text((middle, 18), Align::Middle, &self.title, INK);
        canvas.text((middle, SIZE.1 as i64 - 36), Align::Middle, &self.x_label, INK);
        canvas.text_upwards((14, ((TOP + bottom) / 2.0) as i64), &self.y_label, INK);
        self.legend(&mut canvas, right as i64);
        canvas.to_png()
    }

    /// Ends of both axes, with room above the curves for the legend.
    fn ranges(&self) -> ((f64, f64), (f64, f64)) {
        let finite =
            || self.series.iter().flat_map(|s| &s.points).filter(|p| p.0.is_finite() && p.1.is_finite());
        let ends = |pick: fn(&(f64, f64)) -> f64| {
            let (low, high) = finite().map(pick).fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
            if low <= high { (low, high.max(low + 1e-9)) } else { (0.0, 1.0) }
        };
        let (x, y) = (ends(|p| p.0), ends(|p| p.1));
        let (x_pad, y_pad) = (0.03 * (x.1 - x.0), 0.06 * (y.1 - y.0).max(0.5));
        // The legend's share of the height of the plot.
        let share = (26.0 * self.series.len() as f64 + 34.0) / (SIZE.1 as f64 - TOP - BOTTOM);
        let legend = (y.1 - y.0 + 2.0 * y_pad) * share / (1.0 - share).max(0.2);
        ((x.0 - x_pad, x.1 + x_pad), (y.0 - y_pad, y.1 + y_pad + legend))
    }

    fn legend(&self, canvas: &mut Canvas, right: i64) {
        let longest = self.series.iter().map(|s| text_width(&s.name)).max().unwrap_or(0);
        let (left, top) = (right - longest - 70, TOP as i64 + 10);
        let height = 26 * self.series.len() as i64 + 8;
        canvas.fill((left, top), (longest + 60, height), WHITE);
        canvas.frame((left, top), (longest + 60, height), GRID);
        for (at, (series, colour)) in self.series.iter().zip(COLOURS.into_iter().cycle()).enumerate() {
            let y = top + 6 + 26 * at as i64;
            let middle = (y + TEXT_HEIGHT / 2) as f64;
            canvas.line(((left + 10) as f64, middle), ((left + 40) as f64, middle), 3.0, colour);
            canvas.text((left + 50, y), Align::Left, &series.name, INK);
        }
    }
}
