//! Random convolutional activations: what the feature `conv` puts between the pixels of an image and the
//! waves.
//!
//! A row is an image of $h \times w$ pixels with c channels (the columns in the order row, column, channel).
//! \[Sch21\] section 6.1 sums the last layer of a network with random weights; here one layer of random
//! filters is followed by random Fourier features of its activations, which classified better than further
//! random layers (see the lab's `classify-images`):
//!
//! 1. [`FILTERS`] filters of $5 \times 5 \times c$ weights: standard normal draws, less the mean of each
//!    channel's 25, over the norm of all.
//! 2. The response of each filter at each pixel, with zeros around the image.
//! 3. Its positive part, and of that the largest value in each cell of a grid of at most $7 \times 7$ cells
//!    ($\lceil h/7\rceil \times \lceil w/7\rceil$ pixels, fewer at the far edges; no empty cells).
//! 4. From each filter's cells their mean is subtracted: how bright an image is matters less than where.
//! 5. The D values that result are the coordinates that frequencies are drawn for: the sketch adds $\cos$ and
//!    $\sin$ of $\omega_j^\top a$.
//!
//! Steps 2 to 4 are single precision, one rounding an operation, in the order of the code: the same bits on
//! every platform. Cost of a row: 25 c h w [`FILTERS`] multiply-adds (pixels of value zero cost nothing),
//! then m D.

use serde::{Deserialize, Serialize};

use super::fail;
use crate::error::Result;
use crate::num::random::{Purpose, Stream};
use crate::sketch::frequency::FrequencyLaw;
use crate::sketch::map::dither::Dither;
use crate::sketch::spec::SketchSpec;

/// Why nothing but a classifier is learned from images.
pub(crate) const ONLY_CLASSIFIES: &str = "a sketch of the feature `conv` tells classes of images apart and nothing else: its entries are not waves of the columns";

/// Cosines and sines of phases of the activations of images.
#[derive(Clone, Debug, PartialEq)]
pub struct Images {
    /// Shape of an image, whose values are the columns in the order row, column, channel.
    pub shape: ImageShape,
    /// Law of the frequencies, an isotropic one.
    pub law: FrequencyLaw,
    /// Phases of the frequencies.
    pub dither: Dither,
}

impl Images {
    /// Images have as many values as there are columns, and their frequencies are drawn one by one.
    pub(super) fn validate(&self, spec: &SketchSpec) -> Result<()> {
        self.shape.validate(spec.dim())?;
        self.dither.validate(spec.size)?;
        if spec.transform.whiten.is_some() {
            return fail(
                "transform",
                "whitened columns are not pixels; use the feature `conv` without whitening".into(),
            );
        }
        if !self.law.is_isotropic() {
            let problem =
                format!("the feature `conv` does not go with the law `{}`; use gaussian", self.law.name());
            return fail("law", problem);
        }
        Ok(())
    }
}

/// Number of filters.
pub const FILTERS: usize = 32;
/// Height and width of a filter.
const REACH: usize = 5;
/// Cells of the grid along each side of the image.
const CELLS: usize = 7;

/// Height, width and channels of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageShape {
    /// Rows of pixels.
    pub height: usize,
    /// Columns of pixels.
    pub width: usize,
    /// Values of a pixel.
    pub channels: usize,
}

impl ImageShape {
    /// Checks that images of this shape have `dim` values.
    pub(crate) fn validate(self, dim: usize) -> Result<()> {
        let ImageShape { height, width, channels } = self;
        let values = height.checked_mul(width).and_then(|pixels| pixels.checked_mul(channels));
        if values == Some(dim) {
            return Ok(());
        }
        let problem = format!(
            "an image of {height} x {width} pixels and {channels} channels does not have as many values as there are columns ({dim})"
        );
        fail("feature", problem)
    }

    /// Number D of activations: cells times filters.
    pub fn activations(self) -> usize {
        cells(self.height).1 * cells(self.width).1 * FILTERS
    }
}

/// Pixels of a cell along a side, and the number of cells.
fn cells(side: usize) -> (usize, usize) {
    let pixels = side.div_ceil(CELLS).max(1);
    (pixels, side.div_ceil(pixels))
}

/// The filters of a spec, ready for images of one shape.
#[derive(Clone, Debug)]
pub(crate) struct ConvMap {
    shape: ImageShape,
    /// For each tap (row, column, channel), one weight of every filter.
    weights: Vec<[f32; FILTERS]>,
}

/// Largest response of each filter in a cell, and the pixel that has it.
type Best = ([f32; FILTERS], [usize; FILTERS]);

impl ConvMap {
    /// Step 1. Cost: 25 c draws for each filter.
    pub fn new(shape: ImageShape, seed: u64) -> ConvMap {
        let (taps, c) = (REACH * REACH, shape.channels);
        let mut weights = vec![[0.0; FILTERS]; taps * c];
        for f in 0..FILTERS {
            let mut stream = Stream::new(seed, Purpose::Filters, f as u64);
            let mut filter: Vec<f64> = (0..taps * c).map(|_| stream.normal()).collect();
            for channel in 0..c {
                let mean = filter.iter().skip(channel).step_by(c).sum::<f64>() / taps as f64;
                filter.iter_mut().skip(channel).step_by(c).for_each(|w| *w -= mean);
            }
            let norm = filter.iter().map(|w| w * w).sum::<f64>().sqrt();
            weights.iter_mut().zip(&filter).for_each(|(all, w)| all[f] = (w / norm) as f32);
        }
        ConvMap { shape, weights }
    }

    /// Number D of activations.
    pub fn len(&self) -> usize {
        self.shape.activations()
    }

    /// The activations of every row of working coordinates.
    pub fn extend(&self, rows: &[f32], out: &mut Vec<f32>) {
        out.clear();
        let ImageShape { height, width, channels } = self.shape;
        let mut padded = Vec::new();
        for image in rows.chunks_exact(height * width * channels) {
            let start = out.len();
            self.pad(image, &mut padded);
            self.each_cell(&padded, |_, best| out.extend_from_slice(&best.0));
            centre(&mut out[start..]);
        }
    }

    /// The activations of one row.
    pub fn activations(&self, u: &[f64]) -> Vec<f64> {
        let row: Vec<f32> = u.iter().map(|&x| x as f32).collect();
        let mut out = Vec::with_capacity(self.len());
        self.extend(&row, &mut out);
        out.into_iter().map(f64::from).collect()
    }

    /// Vector-Jacobian product: the gradient in `u` of $\langle v, a(u)\rangle$, away from ties.
    pub fn vjp(&self, u: &[f64], v: &[f64], gradient: &mut [f64]) {
        let ImageShape { height, width, channels } = self.shape;
        let row: Vec<f32> = u.iter().map(|&x| x as f32).collect();
        let mut padded = Vec::new();
        self.pad(&row, &mut padded);
        let n_cells = v.len() / FILTERS;
        let mean = |f: usize| v.iter().skip(f).step_by(FILTERS).sum::<f64>() / n_cells as f64;
        let means: Vec<f64> = (0..FILTERS).map(mean).collect();
        gradient.fill(0.0);
        self.each_cell(&padded, |cell, (values, places)| {
            for f in (0..FILTERS).filter(|&f| values[f] > 0.0) {
                let slope = v[cell * FILTERS + f] - means[f];
                let (y, x) = (places[f] / width, places[f] % width);
                for (tap, weights) in self.weights.iter().enumerate() {
                    let (dy, dx, c) = (tap / (REACH * channels), tap / channels % REACH, tap % channels);
                    let (py, px) = (y + dy, x + dx);
                    let half = REACH / 2;
                    if (half..height + half).contains(&py) && (half..width + half).contains(&px) {
                        gradient[((py - half) * width + px - half) * channels + c] +=
                            slope * f64::from(weights[f]);
                    }
                }
            }
        });
    }

    /// The image with [`REACH`] / 2 zeros on each side.
    fn pad(&self, image: &[f32], padded: &mut Vec<f32>) {
        let ImageShape { height, width, channels } = self.shape;
        let stride = (width + REACH - 1) * channels;
        padded.clear();
        padded.resize((height + REACH - 1) * stride, 0.0);
        let first = REACH / 2 * (stride + channels);
        for (y, row) in image.chunks_exact(width * channels).enumerate() {
            padded[first + y * stride..][..row.len()].copy_from_slice(row);
        }
    }

    /// Steps 2 and 3: calls `take` with every cell, row by row.
    fn each_cell(&self, padded: &[f32], mut take: impl FnMut(usize, &Best)) {
        let ImageShape { height, width, .. } = self.shape;
        let ((tall, n_tall), (wide, n_wide)) = (cells(height), cells(width));
        for cell in 0..n_tall * n_wide {
            let (top, left) = (cell / n_wide * tall, cell % n_wide * wide);
            let mut best: Best = ([0.0; FILTERS], [0; FILTERS]);
            for y in top..(top + tall).min(height) {
                for x in left..(left + wide).min(width) {
                    for (f, value) in self.response(padded, y, x).into_iter().enumerate() {
                        if value > best.0[f] {
                            (best.0[f], best.1[f]) = (value, y * width + x);
                        }
                    }
                }
            }
            take(cell, &best);
        }
    }

    /// All filters at one pixel: products are added tap by tap.
    fn response(&self, padded: &[f32], y: usize, x: usize) -> [f32; FILTERS] {
        let channels = self.shape.channels;
        let stride = (self.shape.width + REACH - 1) * channels;
        let across = REACH * channels;
        let mut sums = [0.0f32; FILTERS];
        for (dy, weights) in self.weights.chunks_exact(across).enumerate() {
            let pixels = &padded[(y + dy) * stride + x * channels..][..across];
            for (value, weights) in pixels.iter().zip(weights) {
                // A product with zero changes no sum.
                if *value != 0.0 {
                    sums.iter_mut().zip(weights).for_each(|(s, w)| *s += value * w);
                }
            }
        }
        sums
    }
}

/// Step 4.
fn centre(activations: &mut [f32]) {
    let mut means = [0.0f32; FILTERS];
    for cell in activations.chunks_exact(FILTERS) {
        means.iter_mut().zip(cell).for_each(|(m, a)| *m += a);
    }
    let n_cells = (activations.len() / FILTERS) as f32;
    means.iter_mut().for_each(|m| *m /= n_cells);
    for cell in activations.chunks_exact_mut(FILTERS) {
        cell.iter_mut().zip(&means).for_each(|(a, m)| *a -= m);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(shape: ImageShape) -> Vec<f64> {
        let mut stream = Stream::new(3, Purpose::Decode, 0);
        (0..shape.height * shape.width * shape.channels).map(|_| stream.normal().max(0.0)).collect()
    }

    /// The definition, pixel by pixel and in double precision.
    fn naive(map: &ConvMap, u: &[f64]) -> Vec<f64> {
        let ImageShape { height, width, channels } = map.shape;
        let at = |y: isize, x: isize, c: usize| {
            let inside = (0..height as isize).contains(&y) && (0..width as isize).contains(&x);
            if inside { u[(y as usize * width + x as usize) * channels + c] } else { 0.0 }
        };
        let (tall, wide) = (height.div_ceil(7), width.div_ceil(7));
        let (rows, columns) = (height.div_ceil(tall), width.div_ceil(wide));
        let mut out = vec![0.0f64; rows * columns * FILTERS];
        for y in 0..height {
            for x in 0..width {
                for f in 0..FILTERS {
                    let mut response = 0.0;
                    for (tap, w) in map.weights.iter().enumerate() {
                        let (dy, dx, c) = (tap / (5 * channels), tap / channels % 5, tap % channels);
                        let (py, px) = ((y + dy) as isize - 2, (x + dx) as isize - 2);
                        response += at(py, px, c) * f64::from(w[f]);
                    }
                    let best = &mut out[(y / tall * columns + x / wide) * FILTERS + f];
                    *best = best.max(response);
                }
            }
        }
        for f in 0..FILTERS {
            let mean = out.iter().skip(f).step_by(FILTERS).sum::<f64>() / (rows * columns) as f64;
            out.iter_mut().skip(f).step_by(FILTERS).for_each(|a| *a -= mean);
        }
        out
    }

    const SHAPES: [ImageShape; 4] = [
        ImageShape { height: 9, width: 15, channels: 1 },
        ImageShape { height: 8, width: 8, channels: 3 },
        ImageShape { height: 1, width: 3, channels: 1 },
        ImageShape { height: 2, width: 2, channels: 2 },
    ];

    #[test]
    fn activations_are_those_of_the_definition() {
        for shape in SHAPES {
            let (map, u) = (ConvMap::new(shape, 5), image(shape));
            let (ours, expected) = (map.activations(&u), naive(&map, &u));
            assert_eq!((ours.len(), expected.len()), (map.len(), map.len()));
            let error = ours.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(error < 1e-5, "{shape:?}: {error}");
        }
    }

    #[test]
    fn filters_have_unit_norm_and_do_not_see_a_constant_channel() {
        let map = ConvMap::new(SHAPES[1], 0);
        for f in 0..FILTERS {
            let norm: f64 = map.weights.iter().map(|w| f64::from(w[f]).powi(2)).sum();
            assert!((norm - 1.0).abs() < 1e-6, "{norm}");
            for c in 0..3 {
                let sum: f64 = map.weights.iter().skip(c).step_by(3).map(|w| f64::from(w[f])).sum();
                assert!(sum.abs() < 1e-6, "{sum}");
            }
        }
    }

    #[test]
    fn the_vector_jacobian_product_agrees_with_central_differences() {
        let shape = SHAPES[0];
        let (map, u) = (ConvMap::new(shape, 1), image(shape));
        let mut stream = Stream::new(4, Purpose::Decode, 1);
        let v: Vec<f64> = (0..map.len()).map(|_| stream.normal()).collect();
        let mut gradient = vec![0.0; u.len()];
        map.vjp(&u, &v, &mut gradient);
        let value = |u: &[f64]| naive(&map, u).iter().zip(&v).map(|(a, b)| a * b).sum::<f64>();
        for i in 0..u.len() {
            let moved = |h: f64| {
                let mut u = u.clone();
                u[i] += h;
                value(&u)
            };
            let slope = (moved(1e-6) - moved(-1e-6)) / 2e-6;
            assert!((slope - gradient[i]).abs() < 1e-4, "{i}: {slope} {}", gradient[i]);
        }
    }

    #[test]
    fn a_shape_of_another_number_of_values_is_refused() {
        let fails = |height, width, channels| {
            ImageShape { height, width, channels }.validate(12).unwrap_err().to_string()
        };
        assert!(ImageShape { height: 2, width: 3, channels: 2 }.validate(12).is_ok());
        assert!(fails(2, 3, 1).contains("2 x 3"));
        assert!(fails(0, 3, 1).contains("(12)"));
        assert!(fails(usize::MAX, 3, 4).contains("(12)"));
    }
}
