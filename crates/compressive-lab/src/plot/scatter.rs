//! Clouds of points side by side on one scale.

use crate::error::Result;
use crate::plot::canvas::{Align, Canvas, Colour, GRID, INK, TEXT_HEIGHT};
use crate::plot::{short, ticks};

/// One cloud.
pub(crate) struct Cloud {
    pub title: String,
    pub points: Vec<[f64; 2]>,
}

/// Clouds, so many in a row of the figure; the clouds of one row share their axes.
pub(crate) struct Clouds {
    pub title: String,
    pub clouds: Vec<Cloud>,
    pub across: usize,
}

const SIDE: i64 = 400;
const LEFT: i64 = 80;
const TOP: i64 = 40;
const BOTTOM: i64 = 40;
const INKED: Colour = [0, 114, 178];
/// Size of a point in pixels.
const POINT: f64 = 2.0;

impl Clouds {
    /// Draws the figure.
    pub fn to_png(&self) -> Result<Vec<u8>> {
        let across = self.across.max(1);
        let rows = self.clouds.len().div_ceil(across);
        let cell = (LEFT + SIDE + 20, TOP + SIDE + BOTTOM);
        let size = (cell.0 * across as i64, cell.1 * rows as i64 + TEXT_HEIGHT + 20);
        let mut canvas = Canvas::new(size.0 as usize, size.1 as usize);
        canvas.text((size.0 / 2, 10), Align::Middle, &self.title, INK);
        for (r, row) in self.clouds.chunks(across).enumerate() {
            let range = range(row);
            for (c, cloud) in row.iter().enumerate() {
                let corner = (c as i64 * cell.0 + LEFT, r as i64 * cell.1 + TEXT_HEIGHT + 20 + TOP);
                cloud.draw(&mut canvas, corner, range);
            }
        }
        canvas.to_png()
    }
}

/// Middle and half width of a square that holds the middle 99.8% of the clouds in both directions, and a
/// margin.
fn range(clouds: &[Cloud]) -> ([f64; 2], f64) {
    let mut middle = [0.0; 2];
    let mut half = 1e-9f64;
    for c in 0..2 {
        let mut all: Vec<f64> = clouds.iter().flat_map(|cloud| cloud.points.iter().map(|p| p[c])).collect();
        all.retain(|x| x.is_finite());
        all.sort_by(f64::total_cmp);
        if let (Some(&low), Some(&high)) =
            (all.get(all.len() / 1000), all.get(all.len().saturating_sub(1 + all.len() / 1000)))
        {
            middle[c] = 0.5 * (low + high);
            half = half.max(0.55 * (high - low));
        }
    }
    (middle, half)
}

impl Cloud {
    fn draw(&self, canvas: &mut Canvas, (x, y): (i64, i64), (middle, half): ([f64; 2], f64)) {
        let place = |p: &[f64; 2]| {
            let share = |c: usize| (p[c] - middle[c]) / half * 0.5 + 0.5;
            (x as f64 + share(0) * SIDE as f64, y as f64 + (1.0 - share(1)) * SIDE as f64)
        };
        canvas.text((x + SIDE / 2, y - TEXT_HEIGHT - 8), Align::Middle, &self.title, INK);
        for tick in ticks(middle[0] - half, middle[0] + half, 4) {
            let at = place(&[tick, middle[1]]).0;
            canvas.line((at, y as f64), (at, (y + SIDE) as f64), 1.0, GRID);
            canvas.text((at as i64, y + SIDE + 8), Align::Middle, &short(tick), INK);
        }
        for tick in ticks(middle[1] - half, middle[1] + half, 4) {
            let at = place(&[middle[0], tick]).1;
            canvas.line((x as f64, at), ((x + SIDE) as f64, at), 1.0, GRID);
            canvas.text((x - 8, at as i64 - TEXT_HEIGHT / 2), Align::Right, &short(tick), INK);
        }
        for point in self.points.iter().map(place) {
            let inside = |at: f64, start: i64| at > start as f64 && at < (start + SIDE) as f64;
            if inside(point.0, x) && inside(point.1, y) {
                canvas.line(point, point, POINT, INKED);
            }
        }
        canvas.frame((x, y), (SIDE, SIDE), INK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clouds_of_a_row_share_a_square_that_leaves_out_far_points() {
        let mut points: Vec<[f64; 2]> = (0..5000).map(|i| [f64::from(i % 100), f64::from(i % 50)]).collect();
        points[7] = [1e9, f64::NAN];
        let clouds = [Cloud { title: "a".into(), points }, Cloud { title: "b".into(), points: Vec::new() }];
        let (middle, half) = range(&clouds);
        assert!((middle[0] - 49.5).abs() < 1.0 && (half - 0.55 * 99.0).abs() < 1.0, "{middle:?} {half}");
        let figure = Clouds { title: "two".into(), clouds: clouds.into(), across: 2 };
        assert!(figure.to_png().expect("drawn").len() > 1000);
    }
}
