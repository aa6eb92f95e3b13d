//! Rows in blocks, frequencies in panels: the loops around the kernels, and the public functions.

use crate::backend::Backend;
use crate::buffer::Buffer;
use crate::dense::Product;
use crate::dispatch::{Kernels, Pair, kernels};
use crate::hadamard::Block;
use crate::projection::{Frequencies, Projection};
use crate::wave::{PANEL, Phases, ROWS_MAX, Wave};
use crate::weight::WEIGHT_MAX;

/// Bytes of rows to work on at a time: they are read once per panel, so they should stay in the second-level
/// cache.
const ROW_BYTES: usize = 400 << 10;

/// Bytes of structured phases to work on at a time; the padded rows take as much again.
const TRANSFORM_BYTES: usize = 96 << 10;

/// Least common multiple of the backends' tile heights: blocks of a multiple of it leave no remainder.
const TILE_ROWS: usize = 42;

/// Reusable buffers of the kernels, one per thread. Empty at first, up to a few hundred KiB in use.
#[derive(Debug, Default)]
pub struct Scratch {
    phases: Buffer,
    padded: Buffer,
    features: Vec<Pair>,
}

/// Adds the features of `rows` (row-major `[n][dim]`, any n) to `sums`: `sums[b * m + j]` += sum over rows of
/// q, block b.
///
/// An unavailable `backend` runs as [`Backend::Scalar`], with the same result.
///
/// # Panics
/// If `rows` is not a whole number of rows, or `sums` does not have `wave.blocks() * m` entries.
pub fn accumulate(
    backend: Backend,
    p: &Projection,
    wave: Wave,
    rows: &[f32],
    sums: &mut [i64],
    scratch: &mut Scratch,
) {
    check_sums(p, wave, sums);
    let kernels = kernels(backend);
    for_each_panel(kernels, p, wave, rows, scratch, |panel, _| {
        let mut lanes = [[0; PANEL]; 2];
        // SAFETY: `kernels` only hands out entry points this processor can run; the phases are readable.
        unsafe { kernels.sum(wave, panel.phases, &mut lanes) };
        for (block, values) in sums.chunks_exact_mut(p.size()).zip(&lanes) {
            for (s, &v) in block[panel.first..].iter_mut().zip(values) {
                *s = s.wrapping_add(i64::from(v));
            }
        }
    });
}

/// Adds the features of `rows`, row i with weight `weights[i]` in units of 2^-24, to `sums`.
///
/// A row adds floor((W q + 2^23) / 2^24) to each sum: exactly w q for a whole weight W = w 2^24. The sums
/// wrap around at 64 bits; callers bound the total weight.
///
/// # Panics
/// As [`accumulate`], or if `weights` does not have one entry in 0..=2^52 per row.
pub fn accumulate_weighted(
    backend: Backend,
    p: &Projection,
    wave: Wave,
    rows: &[f32],
    weights: &[i64],
    sums: &mut [i64],
    scratch: &mut Scratch,
) {
    check_sums(p, wave, sums);
    assert_eq!(weights.len() * p.dim(), rows.len(), "one weight per row");
    assert!(weights.iter().all(|w| (0..=WEIGHT_MAX).contains(w)), "weights must lie in 0..=2^52");
    let kernels = kernels(backend);
    for_each_panel(kernels, p, wave, rows, scratch, |panel, features| {
        let own = &weights[panel.row..panel.row + panel.phases.rows];
        let mut lanes = [[0; PANEL]; 2];
        // SAFETY: `kernels` only hands out entry points this processor can run; the phases are readable.
        unsafe {
            kernels.quantize(wave, panel.phases, features);
            (kernels.weigh)(features, own, &mut lanes);
        }
        for (block, values) in sums.chunks_exact_mut(p.size()).zip(&lanes) {
            for (s, &v) in block[panel.first..].iter_mut().zip(values) {
                *s = s.wrapping_add(v);
            }
        }
    });
}

/// Writes the features of each row to `out`, row-major `[n][blocks * m]`; [`accumulate`] adds exactly their
/// column sums.
///
/// # Panics
/// If `rows` is not a whole number of rows, or `out` does not have `wave.blocks() * m` entries per row.
pub fn quantize(
    backend: Backend,
    p: &Projection,
    wave: Wave,
    rows: &[f32],
    out: &mut [i32],
    scratch: &mut Scratch,
) {
    let len = wave.blocks() * p.size();
    assert_eq!(out.len() * p.dim(), rows.len() * len, "features: {len} per row");
    let kernels = kernels(backend);
    for_each_panel(kernels, p, wave, rows, scratch, |panel, features| {
        // SAFETY: `kernels` only hands out entry points this processor can run; the phases are readable.
        unsafe { kernels.quantize(wave, panel.phases, features) };
        let lanes = PANEL.min(p.size() - panel.first);
        for (pair, row) in features.iter().zip(out[panel.row * len..].chunks_exact_mut(len)) {
            for (block, values) in row.chunks_exact_mut(p.size()).zip(pair) {
                block[panel.first..][..lanes].copy_from_slice(&values[..lanes]);
            }
        }
    });
}

/// Writes the phases of each row, in turns, dither included, not wrapped, to `out`, row-major `[n][m]`.
///
/// # Panics
/// If `rows` is not a whole number of rows, or `out` does not have m entries per row.
pub fn phases(backend: Backend, p: &Projection, rows: &[f32], out: &mut [f32], scratch: &mut Scratch) {
    let m = p.size();
    assert_eq!(out.len() * p.dim(), rows.len() * m, "phases: {m} per row");
    for_each_panel(kernels(backend), p, Wave::Fourier, rows, scratch, |panel, _| {
        let lanes = PANEL.min(m - panel.first);
        for row in 0..panel.phases.rows {
            // SAFETY: each of the panel's rows holds PANEL readable phases.
            let half_turns = unsafe {
                std::slice::from_raw_parts(panel.phases.first.add(row * panel.phases.stride), lanes)
            };
            let target = &mut out[(panel.row + row) * m + panel.first..];
            for (t, &h) in target.iter_mut().zip(half_turns) {
                *t = 0.5 * h;
            }
        }
    });
}

fn check_sums(p: &Projection, wave: Wave, sums: &[i64]) {
    let (blocks, m) = (wave.blocks(), p.size());
    assert_eq!(sums.len(), blocks * m, "sums: {blocks} blocks of {m}");
}

/// Phases of a block of rows at one panel.
struct Panel {
    /// First row.
    row: usize,
    /// First frequency; the last panel may reach beyond m.
    first: usize,
    phases: Phases,
}

/// Calls `consume` with the phases of every block of rows and panel, and with room for the block's features.
fn for_each_panel(
    kernels: &Kernels,
    p: &Projection,
    wave: Wave,
    rows: &[f32],
    scratch: &mut Scratch,
    mut consume: impl FnMut(Panel, &mut [Pair]),
) {
    let dim = p.dim();
    assert_eq!(rows.len() % dim, 0, "rows must have {dim} columns each");
    if p.size() == 0 {
        return;
    }
    let block_rows = match &p.kind {
        Frequencies::Dense { .. } => {
            (ROW_BYTES / (4 * dim) / TILE_ROWS * TILE_ROWS).clamp(TILE_ROWS, ROWS_MAX)
        }
        Frequencies::Structured { width, .. } => (TRANSFORM_BYTES / (4 * width)).clamp(4, ROWS_MAX),
    };
    scratch.features.resize(ROWS_MAX, [[0; PANEL]; 2]);
    for (index, chunk) in rows.chunks(block_rows * dim).enumerate() {
        let row = index * block_rows;
        match &p.kind {
            Frequencies::Dense { panels } => {
                dense_block(kernels, p, wave, panels.as_slice(), (row, chunk), scratch, &mut consume)
            }
            Frequencies::Structured { .. } => {
                structured_block(kernels, p, wave, (row, chunk), scratch, &mut consume)
            }
        }
    }
}

/// A block of rows against every dense panel.
fn dense_block(
    kernels: &Kernels,
    p: &Projection,
    wave: Wave,
    panels: &[f32],
    (row, rows): (usize, &[f32]),
    scratch: &mut Scratch,
    consume: &mut impl FnMut(Panel, &mut [Pair]),
) {
    let dim = p.dim();
    let n = rows.len() / dim;
    let out = scratch.phases.at_least(n * PANEL);
    for (index, panel) in panels.chunks_exact(dim * PANEL).enumerate() {
        let first = index * PANEL;
        let start = &p.start(wave)[first..];
        // SAFETY: `kernels` only hands out entry points this processor can run.
        unsafe { (kernels.project)(Product { panel, start, rows, dim }, out) };
        let phases = Phases { first: out.as_ptr(), stride: PANEL, rows: n };
        consume(Panel { row, first, phases }, &mut scratch.features[..n]);
    }
}

/// A block of rows against every structured block of frequencies.
fn structured_block(
    kernels: &Kernels,
    p: &Projection,
    wave: Wave,
    (row, rows): (usize, &[f32]),
    scratch: &mut Scratch,
    consume: &mut impl FnMut(Panel, &mut [Pair]),
) {
    let Frequencies::Structured { width, signs, gains } = &p.kind else { return };
    let (dim, width) = (p.dim(), *width);
    let n = rows.len() / dim;
    let padded = scratch.padded.at_least(n * width);
    for (target, x) in padded.chunks_exact_mut(width).zip(rows.chunks_exact(dim)) {
        target[..dim].copy_from_slice(x);
        target[dim..].fill(0.0);
    }
    let out = scratch.phases.at_least(n * width);
    for base in (0..p.size()).step_by(width) {
        let block = Block {
            width,
            signs: &signs.as_slice()[3 * base..],
            gains: &gains.as_slice()[base..],
            start: &p.start(wave)[base..],
            rows: padded,
        };
        // SAFETY: `kernels` only hands out entry points this processor can run.
        unsafe { (kernels.transform)(block, out) };
        for first in (base..p.size().min(base + width)).step_by(PANEL) {
            // The panel lies within each row of `out`, which begins at frequency `base`.
            let phases = Phases { first: out[first - base..].as_ptr(), stride: width, rows: n };
            consume(Panel { row, first, phases }, &mut scratch.features[..n]);
        }
    }
}
