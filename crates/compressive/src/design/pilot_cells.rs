//! The outline of a pilot: as many cells as the recipe may spend bytes on.
//!
//! 1. Cells of at least [`LEAST_ROWS`] rows (file `num/bisect.rs`).
//! 2. A row that alone makes up nearly all of its cell's sum of squares is left out, and the cells are made
//!    anew: it says nothing of where other rows are, and the exact moments tell of it.
//! 3. Groups of neighbouring cells share correlations, drawn to those of all by twice as many rows as there
//!    are columns. Deviations are each cell's own, 0 where its rows agree.
//! 4. The blur: what the cells miss in the sketch of the pilot's rows.
//!
//! Cost: O(n A d) for the cells and one small sketch of the pilot.

use std::sync::Arc;

use crate::density::Target;
use crate::density::cells::Blocks;
use crate::density::weigh::blur;
use crate::design::Task;
use crate::design::request::Settled;
use crate::error::Result;
use crate::num::bisect::{bisect, centres};
use crate::num::lloyd::{Points, lloyd, nearest, plus_plus};
use crate::num::random::{Purpose, Stream};
use crate::num::repeated::repeated;
use crate::sketch::Sketch;
use crate::sketch::map::Map;
use crate::sketch::operator::{RowsRef, Scratch};
use crate::sketch::outline::{Cells, LEAST_ROWS, Outline};
use crate::sketch::spec::SketchSpec;

/// Cells at most, whatever the bytes, for up to 200 components.
const CELLS: usize = 800;
/// For more components, cells for each of them.
const CELLS_EACH: usize = 4;
/// Cells at most for any number of components: the weights cost the cube of it, and hold four matrices of its
/// square, 400 MB.
const MOST_CELLS: usize = 3500;
/// Bytes of an outline for each byte of the sums.
const BYTES: usize = 2;
/// Groups that share correlations, at most; their bytes are at most a quarter of all.
const GROUPS: usize = 16;
/// Columns up to which cells have correlations at all: they cost d^2 for each cell and frequency.
const CORRELATED_COLUMNS: usize = 64;
/// Frequencies that show the blur.
const BLUR_SIZE: usize = 1000;
/// What is left of a cell's sum of squares without a row that step 2 leaves out.
const DOMINATED: f64 = 0.1;
/// Part of the whole sum of squares that such a cell has at least.
const NOTICEABLE: f64 = 1e-3;
/// Rounds of step 2, each of which leaves out one row of a cell.
const ROUNDS: usize = 5;
/// Cells for mixtures part the rows of a column of few values as if it were so many times as long: a cell of
/// one value is a point mass there, which is worth more to a likelihood than nearness in other columns.
const REPEATED: f64 = 4.0;

/// Cells of rows in working coordinates, and how many rows are in none.
pub(super) struct Partition {
    dim: usize,
    rows: Vec<f64>,
    cell: Vec<u32>,
    counts: Vec<usize>,
    centres: Vec<f64>,
    left_out: usize,
}

impl Partition {
    /// Steps 1 and 2; cells part the rows along each column as if it were so many times as long.
    pub fn new(rows: &[f64], dim: usize, most: usize, lengths: &[f64]) -> Partition {
        let mut rows = rows.to_vec();
        let all = rows.len() / dim;
        let most = most.clamp(1, MOST_CELLS);
        for round in 0.. {
            let longer: Vec<f64> = rows.iter().zip(lengths.iter().cycle()).map(|(x, l)| x * l).collect();
            let cell = bisect(&longer, dim, most, LEAST_ROWS as usize);
            let n = cell.iter().max().map_or(0, |&a| a as usize + 1);
            let (counts, centres) = centres(&rows, dim, n, &cell);
            let left_out = all - rows.len() / dim;
            let found = Partition { dim, rows, cell, counts, centres, left_out };
            let far = if round < ROUNDS { found.dominating() } else { Vec::new() };
            if far.is_empty() {
                return found;
            }
            let kept = found.rows.chunks_exact(dim).enumerate().filter(|(i, _)| !far.contains(i));
            rows = kept.flat_map(|(_, row)| row).copied().collect();
        }
        unreachable!("the last round leaves no row out")
    }

    /// Step 2: rows that make up nearly all of their cells' sums of squares.
    fn dominating(&self) -> Vec<usize> {
        let squares: Vec<f64> = self
            .rows
            .chunks_exact(self.dim)
            .zip(&self.cell)
            .map(|(row, &a)| {
                let centre = &self.centres[a as usize * self.dim..];
                row.iter().zip(centre).map(|(x, c)| (x - c) * (x - c)).sum()
            })
            .collect();
        let (mut sums, mut largest) = (vec![0.0; self.counts.len()], vec![0; self.counts.len()]);
        for (i, &a) in self.cell.iter().enumerate() {
            let a = a as usize;
            if sums[a] == 0.0 || squares[i] > squares[largest[a]] {
                largest[a] = i;
            }
            sums[a] += squares[i];
        }
        let total: f64 = sums.iter().sum();
        let dominated = |&a: &usize| {
            // Without the row the mean moves to the others.
            let n = self.counts[a] as f64;
            let rest = sums[a] - squares[largest[a]] * n / (n - 1.0);
            sums[a] > NOTICEABLE * total && rest < DOMINATED * sums[a]
        };
        (0..self.counts.len()).filter(dominated).map(|a| largest[a]).collect()
    }

    /// Rows in cells.
    fn n_rows(&self) -> usize {
        self.cell.len()
    }

    /// Sums of squares within cells, A rows of d.
    fn squares(&self) -> Vec<f64> {
        let d = self.dim;
        let mut out = vec![0.0; self.centres.len()];
        for (row, &a) in self.rows.chunks_exact(d).zip(&self.cell) {
            let a = a as usize;
            for c in 0..d {
                out[a * d + c] += (row[c] - self.centres[a * d + c]).powi(2);
            }
        }
        out
    }

    /// Step 3, with so many groups.
    fn cells(&self, groups: usize, seed: u64) -> Cells {
        let (d, n) = (self.dim, self.counts.len());
        let squares = self.squares();
        let deviation = |(i, s): (usize, &f64)| {
            let variance = s / self.counts[i / d] as f64;
            // Equal values leave rounding alone.
            if variance.sqrt() > 1e-9 * self.centres[i].abs().max(1e-3) { variance.sqrt() } else { 0.0 }
        };
        let deviations: Vec<f64> = squares.iter().enumerate().map(deviation).collect();
        let group = self.groups(groups, seed);
        let mut correlations = Vec::new();
        if groups > 0 {
            let all = self.products(&deviations, |_| true);
            let present = group.iter().max().map_or(0, |g| g + 1);
            for g in 0..present {
                let (own, rows) = self.products(&deviations, |a| group[a] == g);
                let pull = 2.0 * d as f64;
                let drawn = own.iter().zip(&all.0).map(|(r, mean)| (rows * r + pull * mean) / (rows + pull));
                correlations.push(drawn.collect());
            }
        }
        Cells {
            dim: d,
            centres: self.centres.clone(),
            deviations,
            rows: self.counts.iter().map(|&n| n as u32).collect(),
            groups: if groups > 0 { group.iter().map(|&g| g as u8).collect() } else { vec![0; n] },
            correlations,
        }
    }

    /// Correlations of standardised rows in some of the cells, lower triangle by rows, and how many rows.
    fn products(&self, deviations: &[f64], which: impl Fn(usize) -> bool) -> (Vec<f64>, f64) {
        let d = self.dim;
        let (mut sums, mut squares) = (vec![0.0; d * (d - 1) / 2], vec![0.0; d]);
        let (mut white, mut n) = (vec![0.0; d], 0.0);
        for (row, &a) in self.rows.chunks_exact(d).zip(&self.cell) {
            let a = a as usize;
            if !which(a) {
                continue;
            }
            n += 1.0;
            for c in 0..d {
                let s = deviations[a * d + c];
                white[c] = if s > 0.0 { (row[c] - self.centres[a * d + c]) / s } else { 0.0 };
                squares[c] += white[c] * white[c];
            }
            for i in 1..d {
                let at = i * (i - 1) / 2;
                let x = white[i];
                sums[at..at + i].iter_mut().zip(&white).for_each(|(s, y)| *s += x * y);
            }
        }
        for i in 1..d {
            for j in 0..i {
                let scale = (squares[i] * squares[j]).sqrt();
                let value = &mut sums[i * (i - 1) / 2 + j];
                *value = if scale > 0.0 { *value / scale } else { 0.0 };
            }
        }
        (sums, n)
    }

    /// Group of each cell: clusters of the cells' centres, by weighted k-means.
    fn groups(&self, groups: usize, seed: u64) -> Vec<usize> {
        if groups <= 1 {
            return vec![0; self.counts.len()];
        }
        let counts: Vec<f64> = self.counts.iter().map(|&n| n as f64).collect();
        let points = Points { rows: &self.centres, weights: Some(&counts), dim: self.dim };
        let mut stream = Stream::new(seed, Purpose::PilotMixture, 2);
        let run = lloyd(points, plus_plus(points, groups.min(counts.len()), &mut stream), 20);
        let of = self.centres.chunks_exact(self.dim).map(|c| nearest(c, &run.centers, self.dim).0);
        // Numbered without gaps, as some centre may have lost its cells.
        let raw: Vec<usize> = of.collect();
        let mut present: Vec<usize> = raw.clone();
        present.sort_unstable();
        present.dedup();
        raw.iter().map(|g| present.binary_search(g).unwrap_or(0)).collect()
    }
}

/// Cells and groups that a recipe of this many sums for k components pays for.
pub(super) fn affordable(dim: usize, sums: usize, k: usize) -> (usize, usize) {
    let (cell, group) = Outline::bytes(dim);
    let budget = BYTES * 8 * sums;
    let most = CELLS_EACH.saturating_mul(k).clamp(CELLS, MOST_CELLS);
    let groups =
        if (2..=CORRELATED_COLUMNS).contains(&dim) { (budget / 4 / group.max(1)).min(GROUPS) } else { 0 };
    ((budget.saturating_sub(groups * group + 16 * dim) / cell).clamp(1, most), groups)
}

/// Steps 1 to 4: the recipe for its components with its outline; `rows` in the user's units, `working` in working
/// coordinates.
pub(super) fn with_outline(
    mut spec: SketchSpec,
    rows: &[f64],
    working: &[f64],
    params: &Settled,
) -> Result<SketchSpec> {
    let dim = spec.dim();
    if working.len() / dim < LEAST_ROWS as usize {
        return Ok(spec);
    }
    let (most, groups) = affordable(dim, spec.sketch_len(), params.k);
    let length = |often| if often && params.task == Task::Gmm { REPEATED } else { 1.0 };
    let lengths: Vec<f64> = repeated(working, dim).into_iter().map(length).collect();
    let partition = Partition::new(working, dim, most, &lengths);
    let outline = Outline::new(
        &partition.cells(groups, spec.seed),
        (partition.n_rows() + partition.left_out) as u64,
        0.0,
    );
    // Step 4. The rows that were left out are not missed.
    let size = if matches!(spec.map, Map::Waves(_)) { spec.size.min(BLUR_SIZE) } else { spec.size };
    let operator = SketchSpec { moments: None, size, ..spec.clone() }.build()?;
    let kept = match partition.left_out {
        0 => rows.to_vec(),
        _ => {
            let all = working.chunks_exact(dim).zip(rows.chunks_exact(dim));
            let mut left = partition.rows.chunks_exact(dim).peekable();
            let kept = all.filter(|(u, _)| left.next_if(|next| next == u).is_some());
            kept.flat_map(|(_, row)| row).copied().collect()
        }
    };
    let mut sketch = Sketch::empty(&operator);
    operator.accumulate(RowsRef::F64(&kept), None, &mut sketch, &mut Scratch::default())?;
    let target = Target::new(&operator, &sketch.moments()?)?;
    let blocks = Blocks::of(outline.cells());
    let inside: f64 = outline.cells().rows.iter().map(|&n| f64::from(n)).sum();
    let shares: Vec<f64> = outline.cells().rows.iter().map(|&n| f64::from(n) / inside).collect();
    let missed = blur(&target, &blocks, &shares).clamp(0.0, 1.0);
    spec.outline = Some(Arc::new(outline.with_blur(missed)));
    Ok(spec)
}
