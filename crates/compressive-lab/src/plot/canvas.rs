//! A picture in memory.

use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster, get_raster_width};

use crate::error::{Error, Result};

/// Red, green, blue.
pub(super) type Colour = [u8; 3];

pub(super) const WHITE: Colour = [255, 255, 255];
pub(super) const INK: Colour = [34, 34, 34];
pub(super) const GRID: Colour = [222, 222, 222];

const SIZE: RasterHeight = RasterHeight::Size20;
/// Height of a line of text.
pub(super) const TEXT_HEIGHT: i64 = 20;

/// Where a text's anchor lies.
#[derive(Clone, Copy)]
pub(super) enum Align {
    Left,
    Middle,
    Right,
}

/// Pixels, row by row from the top.
pub(super) struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

/// Width of a text in pixels.
pub(super) fn text_width(text: &str) -> i64 {
    (text.chars().count() * get_raster_width(FontWeight::Regular, SIZE)) as i64
}

impl Canvas {
    /// A white picture.
    pub fn new(width: usize, height: usize) -> Canvas {
        Canvas { width, height, pixels: vec![255; 3 * width * height] }
    }

    /// Mixes a colour into a pixel; what lies outside is left out.
    fn blend(&mut self, x: i64, y: i64, colour: Colour, cover: f64) {
        if x < 0 || y < 0 || x >= self.width as i64 || y >= self.height as i64 {
            return;
        }
        let at = 3 * (y as usize * self.width + x as usize);
        for (pixel, ink) in self.pixels[at..at + 3].iter_mut().zip(colour) {
            *pixel = (f64::from(*pixel) * (1.0 - cover) + f64::from(ink) * cover).round() as u8;
        }
    }

    /// A filled rectangle.
    pub fn fill(&mut self, (x, y): (i64, i64), (width, height): (i64, i64), colour: Colour) {
        for row in y..y + height {
            for column in x..x + width {
                self.blend(column, row, colour, 1.0);
            }
        }
    }

    /// The outline of a rectangle.
    pub fn frame(&mut self, (x, y): (i64, i64), (width, height): (i64, i64), colour: Colour) {
        self.fill((x, y), (width, 1), colour);
        self.fill((x, y + height - 1), (width, 1), colour);
        self.fill((x, y), (1, height), colour);
        self.fill((x + width - 1, y), (1, height), colour);
    }

    /// A smooth line.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), thickness: f64, colour: Colour) {
        let reach = thickness / 2.0 + 1.0;
        let span = |a: f64, b: f64| ((a.min(b) - reach).floor() as i64, (a.max(b) + reach).ceil() as i64);
        let ((left, right), (top, bottom)) = (span(from.0, to.0), span(from.1, to.1));
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let squared = (dx * dx + dy * dy).max(1e-12);
        for y in top..=bottom {
            for x in left..=right {
                let (px, py) = (x as f64 - from.0, y as f64 - from.1);
                let t = ((px * dx + py * dy) / squared).clamp(0.0, 1.0);
                let distance = (px - t * dx).hypot(py - t * dy);
                let cover = (thickness / 2.0 + 0.5 - distance).clamp(0.0, 1.0);
                if cover > 0.0 {
                    self.blend(x, y, colour, cover);
                }
            }
        }
    }

    /// A line of text; `y` is its top.
    pub fn text(&mut self, (x, y): (i64, i64), align: Align, text: &str, colour: Colour) {
        let start = x - shift(align, text_width(text));
        self.letters(text, |canvas, column, row, cover| {
            canvas.blend(start + column, y + row, colour, cover);
        });
    }

    /// A line of text that reads upwards, centred at `y`; `x` is its left edge.
    pub fn text_upwards(&mut self, (x, y): (i64, i64), text: &str, colour: Colour) {
        let start = y + text_width(text) / 2;
        self.letters(text, |canvas, column, row, cover| {
            canvas.blend(x + row, start - column, colour, cover);
        });
    }

    /// Calls `put(column, row, cover)` for every pixel of a text; letters the font lacks become question
    /// marks.
    fn letters(&mut self, text: &str, mut put: impl FnMut(&mut Canvas, i64, i64, f64)) {
        let advance = get_raster_width(FontWeight::Regular, SIZE);
        for (place, letter) in text.chars().enumerate() {
            let raster = get_raster(letter, FontWeight::Regular, SIZE)
                .or_else(|| get_raster('?', FontWeight::Regular, SIZE));
            let Some(raster) = raster else { continue };
            for (row, line) in raster.rows().enumerate() {
                for (column, &value) in line.iter().enumerate().filter(|(_, value)| **value > 0) {
                    let column = (place * advance + column) as i64;
                    put(self, column, row as i64, f64::from(value) / 255.0);
                }
            }
        }
    }

    /// The picture as a PNG file.
    pub fn to_png(&self) -> Result<Vec<u8>> {
        let failed = |e: png::EncodingError| Error::File { path: "figure".into(), problem: e.to_string() };
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header().map_err(failed)?;
        writer.write_image_data(&self.pixels).map_err(failed)?;
        writer.finish().map_err(failed)?;
        Ok(bytes)
    }
}

fn shift(align: Align, width: i64) -> i64 {
    match align {
        Align::Left => 0,
        Align::Middle => width / 2,
        Align::Right => width,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_reads_back_with_its_size_and_ink() {
        let mut canvas = Canvas::new(60, 40);
        canvas.text((30, 5), Align::Middle, "m/d", INK);
        canvas.line((-5.0, 30.0), (100.0, 30.0), 2.0, [255, 0, 0]);
        let bytes = canvas.to_png().expect("encoded");
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().expect("a PNG header");
        let mut pixels = vec![0; reader.output_buffer_size().expect("a small picture")];
        let info = reader.next_frame(&mut pixels).expect("pixels");
        assert_eq!((info.width, info.height), (60, 40));
        assert_eq!(&pixels[3 * (30 * 60 + 10)..][..3], [255, 0, 0]);
        assert!(pixels[..3 * 60 * 25].chunks(3).any(|p| p[0] < 100 && p[1] < 100), "text leaves ink");
    }
}
