//! Phases of a dense frequency matrix: a matrix product whose order of operations never changes.
//!
//! h_j = fma(x_{d-1}, w_{d-1,j}, ... fma(x_0, w_{0,j}, start_j)), columns in ascending order, whatever the
//! tiles. A panel is 16 frequencies, stored [column][16]. A tile of `ROWS` rows by one panel stays in
//! registers over [`COLUMNS`] columns; the panel's block of columns (16 KiB) stays in the first-level cache
//! while all row tiles pass.
//!
//! Cost: 16 d fused multiply-adds per row and panel.

use crate::simd::Simd;
use crate::wave::PANEL;
use std::ops::Range;

/// Columns per block.
const COLUMNS: usize = 256;

/// Columns of a block from which the next block is fetched ahead.
const PREFETCH_MIN: usize = 64;

/// One panel's inputs.
#[derive(Clone, Copy)]
pub(crate) struct Product<'a> {
    /// Weights, `[dim][16]`.
    pub(crate) panel: &'a [f32],
    /// Value of each phase before the first column, [16].
    pub(crate) start: &'a [f32],
    /// Rows, `[n][dim]`.
    pub(crate) rows: &'a [f32],
    /// Columns per row.
    pub(crate) dim: usize,
}

/// Writes the phases of all rows at one panel to `out`, `[n][16]`. `NV` vectors make a panel.
#[inline(always)]
pub(crate) fn project<S: Simd, const NV: usize, const ROWS: usize>(simd: S, input: Product, out: &mut [f32]) {
    let dim = input.dim;
    let n = input.rows.len() / dim;
    assert!(NV * S::LANES == PANEL, "vectors of a panel");
    assert!(input.panel.len() >= dim * PANEL && input.start.len() >= PANEL, "one panel");
    assert!(out.len() >= n * PANEL, "room for every phase");
    // SAFETY: with the lengths asserted above, every block of columns lies within the rows and the panel.
    unsafe {
        columns::<S, NV, ROWS, false>(simd, input, 0..COLUMNS.min(dim), out);
        for first in (COLUMNS..dim).step_by(COLUMNS) {
            columns::<S, NV, ROWS, true>(simd, input, first..(first + COLUMNS).min(dim), out);
        }
    }
}

/// All rows by one panel by a block of columns; `CONTINUE`: from the phases in `out`, else from
/// `input.start`.
///
/// # Safety
/// The block must lie within the columns, and panel, start and `out` must have the lengths [`project`]
/// asserts.
#[inline(always)]
unsafe fn columns<S: Simd, const NV: usize, const ROWS: usize, const CONTINUE: bool>(
    simd: S,
    input: Product,
    block: Range<usize>,
    out: &mut [f32],
) {
    let (dim, columns) = (input.dim, block.len());
    let n = input.rows.len() / dim;
    // What follows the block in memory is the panel's next block of columns, or the next panel: fetched in
    // equal parts while the tiles of this block are computed. Small panels are in the cache anyway.
    let next = input.panel.as_ptr().wrapping_add(block.end * PANEL);
    let lines = if columns < PREFETCH_MIN { 0 } else { columns.div_ceil((n / ROWS).max(1)) };
    let mut row = 0;
    while row < n {
        for line in 0..lines {
            simd.prefetch(next.wrapping_add((row / ROWS * lines + line) * PANEL));
        }
        // SAFETY: row < n, so each tile reads `columns` values of at most n - row rows and of the panel, and
        // writes rows it owns.
        unsafe {
            let tile = Tile {
                panel: input.panel.as_ptr().add(block.start * PANEL),
                start: input.start.as_ptr(),
                x: input.rows.as_ptr().add(row * dim + block.start),
                dim,
                columns,
                out: out.as_mut_ptr().add(row * PANEL),
            };
            row += if n - row >= ROWS {
                tile.run::<S, NV, ROWS, CONTINUE>(simd)
            } else if n - row >= 2 {
                tile.run::<S, NV, 2, CONTINUE>(simd)
            } else {
                tile.run::<S, NV, 1, CONTINUE>(simd)
            };
        }
    }
}

/// A few rows by one panel by a block of columns.
struct Tile {
    panel: *const f32,
    start: *const f32,
    x: *const f32,
    dim: usize,
    columns: usize,
    out: *mut f32,
}

impl Tile {
    /// Adds the block's columns to the phases of `ROWS` rows; returns `ROWS`.
    ///
    /// # Safety
    /// `panel` must be readable for `columns * 16` values, `x` for `columns` values in each of `ROWS` rows
    /// that lie `dim` apart, `start` for 16, and `out` readable and writable for `ROWS * 16`.
    #[inline(always)]
    unsafe fn run<S: Simd, const NV: usize, const ROWS: usize, const CONTINUE: bool>(
        &self,
        simd: S,
    ) -> usize {
        let mut phase = [[simd.splat(0.0); NV]; ROWS];
        for (row, vectors) in phase.iter_mut().enumerate() {
            for (v, value) in vectors.iter_mut().enumerate() {
                // SAFETY: 16 readable values begin at `start` and at each row of `out`.
                *value = unsafe {
                    let from = if CONTINUE { self.out.add(row * PANEL).cast_const() } else { self.start };
                    simd.load(from.add(v * S::LANES))
                };
            }
        }
        for column in 0..self.columns {
            // SAFETY: column < columns, within the panel.
            let weights: [S::F; NV] =
                std::array::from_fn(|v| unsafe { simd.load(self.panel.add(column * PANEL + v * S::LANES)) });
            for (row, vectors) in phase.iter_mut().enumerate() {
                // SAFETY: row < ROWS and column < columns, within the rows.
                let x = simd.splat(unsafe { *self.x.add(row * self.dim + column) });
                for (value, &weight) in vectors.iter_mut().zip(&weights) {
                    *value = simd.fma(x, weight, *value);
                }
            }
        }
        for (row, vectors) in phase.iter().enumerate() {
            for (v, &value) in vectors.iter().enumerate() {
                // SAFETY: row < ROWS, within `out`.
                unsafe { simd.store(self.out.add(row * PANEL + v * S::LANES), value) };
            }
        }
        ROWS
    }
}
