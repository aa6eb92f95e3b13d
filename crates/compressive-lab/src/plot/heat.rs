//! Heat maps side by side, with the number in every cell.

use crate::error::Result;
use crate::plot::canvas::{Align, Canvas, Colour, INK, TEXT_HEIGHT, WHITE, text_width};
use crate::plot::short;

/// One map: a value for each pair of a row and a column.
pub(crate) struct Heat {
    pub title: String,
    pub x_label: String,
    pub y_label: String,
    /// Heads of the columns.
    pub xs: Vec<String>,
    /// Heads of the rows, the first at the bottom.
    pub ys: Vec<String>,
    /// `values[row][column]`; NaN stays grey.
    pub values: Vec<Vec<f64>>,
}

/// Maps with one scale of colours, so many in a row of the figure.
pub(crate) struct HeatMaps {
    pub title: String,
    pub maps: Vec<Heat>,
    pub across: usize,
    /// Values of the darkest and the brightest colour.
    pub range: (f64, f64),
    /// What the colours mean.
    pub unit: String,
    /// Digits after the point in the cells.
    pub digits: usize,
}

/// Even steps of the viridis scale (van der Walt and Smith 2015), which grows in brightness alone.
const SCALE: [Colour; 6] =
    [[68, 1, 84], [65, 68, 135], [42, 120, 142], [34, 168, 132], [122, 209, 81], [253, 231, 37]];
const CELL: (i64, i64) = (64, 44);
const LEFT: i64 = 110;
const TOP: i64 = 44;
const BOTTOM: i64 = 76;

/// The colour of a share of the way along the scale.
fn colour(share: f64) -> Colour {
    if share.is_nan() {
        return [200, 200, 200];
    }
    let place = share.clamp(0.0, 1.0) * (SCALE.len() - 1) as f64;
    let at = (place as usize).min(SCALE.len() - 2);
    let t = place - at as f64;
    std::array::from_fn(|c| {
        (f64::from(SCALE[at][c]) * (1.0 - t) + f64::from(SCALE[at + 1][c]) * t).round() as u8
    })
}

impl HeatMaps {
    /// Draws the figure.
    pub fn to_png(&self) -> Result<Vec<u8>> {
        let columns = self.maps.iter().map(|map| map.xs.len()).max().unwrap_or(0) as i64;
        let rows = self.maps.iter().map(|map| map.ys.len()).max().unwrap_or(0) as i64;
        let across = self.across.max(1);
        let map_size = (LEFT + columns * CELL.0 + 20, TOP + rows * CELL.1 + BOTTOM);
        let down = self.maps.len().div_ceil(across) as i64;
        let widest = self.maps.iter().map(|map| text_width(&map.title) + 40).max().unwrap_or(0);
        let step = map_size.0.max(widest);
        let (width, height) = (step * across as i64 + 130, 50 + map_size.1 * down);
        let mut canvas = Canvas::new(width.max(text_width(&self.title) + 40) as usize, height as usize);
        canvas.text((width / 2, 14), Align::Middle, &self.title, INK);
        for (at, map) in self.maps.iter().enumerate() {
            let corner = ((at % across) as i64 * step, 50 + (at / across) as i64 * map_size.1);
            self.draw_map(&mut canvas, map, corner);
        }
        self.draw_scale(&mut canvas, step * across as i64 + 20, height);
        canvas.to_png()
    }

    fn share(&self, value: f64) -> f64 {
        (value - self.range.0) / (self.range.1 - self.range.0)
    }

    fn draw_map(&self, canvas: &mut Canvas, map: &Heat, (left, top): (i64, i64)) {
        let (x0, y0) = (left + LEFT, top + TOP);
        let (n_rows, width) = (map.ys.len() as i64, map.xs.len() as i64 * CELL.0);
        let half = TEXT_HEIGHT / 2;
        canvas.text((x0 + width / 2, top + 12), Align::Middle, &map.title, INK);
        for (row, values) in map.values.iter().enumerate() {
            let y = y0 + (n_rows - 1 - row as i64) * CELL.1;
            canvas.text((x0 - 10, y + CELL.1 / 2 - half), Align::Right, &map.ys[row], INK);
            for (column, &value) in values.iter().enumerate() {
                let x = x0 + column as i64 * CELL.0;
                let share = self.share(value);
                canvas.fill((x, y), (CELL.0 - 1, CELL.1 - 1), colour(share));
                let ink = if share < 0.55 { WHITE } else { INK };
                let text = if value.is_nan() { String::new() } else { format!("{value:.*}", self.digits) };
                canvas.text((x + CELL.0 / 2, y + CELL.1 / 2 - half), Align::Middle, &text, ink);
            }
        }
        let bottom = y0 + n_rows * CELL.1;
        for (column, head) in map.xs.iter().enumerate() {
            let x = x0 + column as i64 * CELL.0 + CELL.0 / 2;
            canvas.text((x, bottom + 6), Align::Middle, head, INK);
        }
        canvas.text((x0 + width / 2, bottom + 34), Align::Middle, &map.x_label, INK);
        canvas.text_upwards((left + 12, y0 + n_rows * CELL.1 / 2), &map.y_label, INK);
    }

    /// The scale of colours at the right edge.
    fn draw_scale(&self, canvas: &mut Canvas, x: i64, height: i64) {
        let (top, bottom) = (100, height - BOTTOM);
        for y in top..bottom {
            let share = 1.0 - (y - top) as f64 / (bottom - top).max(1) as f64;
            canvas.fill((x, y), (24, 1), colour(share));
        }
        let half = TEXT_HEIGHT / 2;
        canvas.text((x + 30, top - half), Align::Left, &short(self.range.1), INK);
        canvas.text((x + 30, bottom - half), Align::Left, &short(self.range.0), INK);
        canvas.text_upwards((x + 40, (top + bottom) / 2), &self.unit, INK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_run_from_dark_to_bright() {
        let brightness = |share: f64| colour(share).iter().map(|c| u32::from(*c)).sum::<u32>();
        assert_eq!((colour(0.0), colour(2.0)), (SCALE[0], SCALE[5]));
        assert!(brightness(0.0) < brightness(0.5) && brightness(0.5) < brightness(1.0));
        assert_eq!(colour(f64::NAN), [200, 200, 200]);
    }
}
