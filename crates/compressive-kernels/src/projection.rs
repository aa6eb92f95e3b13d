//! Frequencies laid out for the kernels.

use crate::buffer::Buffer;
use crate::wave::{ONE_BIT_SHIFT, PANEL, Wave};

/// A linear map from rows to m phases, phase_j = omega_j^T x / (2 pi) + dither_j in turns, in the kernels'
/// layout.
///
/// Phases are kept in half turns inside (a power of two away, so no bit differs). Memory: 4 m d bytes dense,
/// about 16 m bytes structured.
#[derive(Clone, Debug)]
pub struct Projection {
    dim: usize,
    size: usize,
    pub(crate) kind: Frequencies,
    /// Dither of each frequency, in half turns, zeros behind.
    start: Buffer,
    /// The same, shifted for the one-bit wave.
    start_one_bit: Buffer,
}

/// How the phases are computed.
#[derive(Clone, Debug)]
pub(crate) enum Frequencies {
    /// Panels of 16 frequencies, [panel]`[dim][16]`.
    Dense { panels: Buffer },
    /// Blocks of `width` frequencies; signs [block][3][width], gains [block][width].
    Structured { width: usize, signs: Buffer, gains: Buffer },
}

impl Projection {
    /// Dense frequencies: `frequencies[j * dim + c]` in turns (omega / 2 pi), `dither[j]` in turns (zeros for
    /// none).
    ///
    /// Cost of use: m d multiply-adds per row.
    ///
    /// # Panics
    /// If `dim` is 0 or `frequencies` does not have `dim` entries per entry of `dither`.
    pub fn dense(dim: usize, frequencies: &[f32], dither: &[f32]) -> Projection {
        let size = dither.len();
        assert!(dim > 0, "a projection needs at least one column");
        assert_eq!(frequencies.len(), dim * size, "dense frequencies: {size} rows of {dim}");
        let padded = size.next_multiple_of(PANEL);
        let mut panels = Buffer::zeros(padded * dim);
        let target = panels.as_mut_slice();
        for (j, row) in frequencies.chunks_exact(dim).enumerate() {
            let base = j / PANEL * PANEL * dim + j % PANEL;
            for (c, &w) in row.iter().enumerate() {
                target[base + c * PANEL] = 2.0 * w;
            }
        }
        let (start, start_one_bit) = starts(dither, padded);
        Projection { dim, size, kind: Frequencies::Dense { panels }, start, start_one_bit }
    }

    /// Exponents instead of phases, for [`Wave::Gaussian`]: exponent_j = `weights[j * dim ..]` x +
    /// `start[j]`.
    ///
    /// Same cost and order of operations as [`Projection::dense`].
    ///
    /// # Panics
    /// If `dim` is 0 or `weights` does not have `dim` entries per entry of `start`.
    pub fn exponents(dim: usize, weights: &[f32], start: &[f32]) -> Projection {
        // What is kept inside is twice what `dense` is given; halving is exact.
        let halves = |values: &[f32]| values.iter().map(|v| 0.5 * v).collect::<Vec<f32>>();
        Projection::dense(dim, &halves(weights), &halves(start))
    }

    /// Structured frequencies in blocks H D3 H D2 H D1 of width p = [`Projection::padded_dim`]`(dim)`.
    ///
    /// `signs[(b * 3 + i) * p + c]` is +1 or -1, the diagonal of D_{i+1} of block b; with H the p x p
    /// Hadamard matrix of +1 and -1 in natural order, phase_j = `gains[j]` * (H D3 H D2 H D1 x)_{j mod p} of
    /// block j / p + `dither[j]`, in turns, x padded with zeros. Cost of use: 3 log2(p) + 4 additions per row
    /// and frequency.
    ///
    /// # Panics
    /// If `dim` is 0, `gains` and `dither` differ in length, or `signs` does not have 3 p entries per block.
    pub fn structured(dim: usize, signs: &[f32], gains: &[f32], dither: &[f32]) -> Projection {
        let size = dither.len();
        assert!(dim > 0, "a projection needs at least one column");
        assert_eq!(gains.len(), size, "one gain per frequency");
        let width = Projection::padded_dim(dim);
        let padded = size.next_multiple_of(width);
        assert_eq!(
            signs.len(),
            3 * padded,
            "signs: 3 diagonals of {width} in each of {} blocks",
            padded / width
        );
        let mut own_signs = Buffer::zeros(3 * padded);
        own_signs.as_mut_slice().copy_from_slice(signs);
        let mut own_gains = Buffer::zeros(padded);
        for (target, &gain) in own_gains.as_mut_slice().iter_mut().zip(gains) {
            *target = 2.0 * gain;
        }
        let (start, start_one_bit) = starts(dither, padded);
        let kind = Frequencies::Structured { width, signs: own_signs, gains: own_gains };
        Projection { dim, size, kind, start, start_one_bit }
    }

    /// Width of a structured block: the next power of two, at least 16.
    pub fn padded_dim(dim: usize) -> usize {
        dim.next_power_of_two().max(PANEL)
    }

    /// Number of columns d.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Number of frequencies m.
    pub fn size(&self) -> usize {
        self.size
    }

    /// What the phases start from, in half turns, whole panels.
    pub(crate) fn start(&self, wave: Wave) -> &[f32] {
        match wave {
            Wave::OneBit => self.start_one_bit.as_slice(),
            _ => self.start.as_slice(),
        }
    }
}

/// Dither in half turns, plain and shifted for the one-bit wave.
fn starts(dither: &[f32], padded: usize) -> (Buffer, Buffer) {
    let (mut plain, mut shifted) = (Buffer::zeros(padded), Buffer::zeros(padded));
    for ((p, s), &xi) in plain.as_mut_slice().iter_mut().zip(shifted.as_mut_slice()).zip(dither) {
        *p = 2.0 * xi;
        *s = 2.0 * xi - ONE_BIT_SHIFT;
    }
    (plain, shifted)
}
