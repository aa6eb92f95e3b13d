//! The nearest of k centres, exactly, for many rows.
//!
//! 1. Scores in single precision (file `nearest.rs` of the kernels) of rows and centres, taken from the mean
//!    centre and divided by the largest distance of a centre from it: columns far from zero keep their
//!    digits.
//! 2. With unit roundoff u and $\lvert x\rvert$ the row's norm, a score is off by at most
//!    $e = (d + 8)\, u\, (\lvert x\rvert + \tfrac12)$. Where the least two scores are more than 2 e apart, the
//!    centre is known.
//! 3. Elsewhere, and for rows so far away that double precision rounds more than that, distances are sums of
//!    squared differences in double precision, the first of equals.
//!
//! So the answer is that of step 3 alone, bit for bit. Cost: k (d + 5) operations in single precision a row,
//! and 3 k d in double precision for few of them.
//!
//! Reference, for centres that move: \[Ham10\] G. Hamerly, "Making k-means even faster", SDM 2010.

use compressive_kernels::{NEAREST_CENTERS, NEAREST_ROWS, NearestTwo, nearest_two};

/// Centres prepared for many rows.
#[derive(Clone, Debug)]
pub(crate) struct Nearest {
    dim: usize,
    /// k rows of d.
    centers: Vec<f64>,
    origin: Vec<f64>,
    /// The largest distance of a centre from the origin, and one over it.
    reach: (f64, f64),
    /// The centres in these terms, padded to a multiple of [`NEAREST_CENTERS`], and halves of their squares.
    single: Vec<f32>,
    halves: Vec<f32>,
}

/// Working memory of [`Nearest::block`].
#[derive(Clone, Debug)]
pub(crate) struct Block {
    columns: Vec<[f32; NEAREST_ROWS]>,
}

/// Roundings of a score beside those of each column.
const ROUNDINGS: f64 = 8.0;
/// Rows farther away than this are looked at in double precision.
const FAR: f64 = 1e6;

/// What is known of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    /// The nearest centre.
    pub label: u32,
    /// All other centres are at least this far away, to rounding.
    pub others: f64,
}

impl Nearest {
    /// Prepares k rows of d. Cost: k d.
    pub fn new(centers: &[f64], dim: usize) -> Nearest {
        let k = centers.len() / dim;
        let mut origin = vec![0.0; dim];
        for center in centers.chunks_exact(dim) {
            origin.iter_mut().zip(center).for_each(|(o, x)| *o += x / k as f64);
        }
        let reach =
            centers.chunks_exact(dim).map(|center| square(center, &origin)).fold(0.0, f64::max).sqrt();
        // Where all centres are one, scores are equal and step 3 has the word.
        let scale = if reach > f64::MIN_POSITIVE && reach.is_finite() { 1.0 / reach } else { 0.0 };
        let padded = k.next_multiple_of(NEAREST_CENTERS);
        let (mut single, mut halves) = (vec![0.0; padded * dim], vec![f32::INFINITY; padded]);
        let rows = centers.chunks_exact(dim).zip(single.chunks_exact_mut(dim));
        for ((center, single), half) in rows.zip(&mut halves) {
            for ((s, x), o) in single.iter_mut().zip(center).zip(&origin) {
                *s = ((x - o) * scale) as f32;
            }
            *half = (0.5 * scale * scale * square(center, &origin)) as f32;
        }
        Nearest { dim, centers: centers.to_vec(), origin, reach: (reach, scale), single, halves }
    }

    /// Number of centres.
    pub fn k(&self) -> usize {
        self.centers.len() / self.dim
    }

    /// The centres, k rows of d.
    pub fn centers(&self) -> &[f64] {
        &self.centers
    }

    /// Working memory.
    pub fn memory(&self) -> Block {
        Block { columns: vec![[0.0; NEAREST_ROWS]; self.dim] }
    }

    /// The nearest centres of at most [`NEAREST_ROWS`] rows, told with the place of each row.
    pub fn block<T: Copy + Into<f64>>(
        &self,
        rows: &[&[T]],
        memory: &mut Block,
        mut tell: impl FnMut(usize, Found),
    ) {
        let (reach, scale) = self.reach;
        for (lane, row) in rows.iter().enumerate() {
            for ((column, x), o) in memory.columns.iter_mut().zip(*row).zip(&self.origin) {
                column[lane] = (((*x).into() - o) * scale) as f32;
            }
        }
        let mut squares = [0.0f32; NEAREST_ROWS];
        for column in &memory.columns {
            for lane in 0..NEAREST_ROWS {
                squares[lane] += column[lane] * column[lane];
            }
        }
        let NearestTwo { index, least, next } = nearest_two(&memory.columns, &self.single, &self.halves);
        let unit = 0.5 * f64::from(f32::EPSILON) * (self.dim as f64 + ROUNDINGS);
        for (lane, row) in rows.iter().enumerate() {
            // Rounded, too.
            let square = f64::from(squares[lane]);
            let size = ((1.0 + 2.0 * unit) * square).sqrt();
            let error = unit * (size + 0.5);
            let (least, next) = (f64::from(least[lane]), f64::from(next[lane]));
            let found = if size < FAR && next - least > 2.0 * error {
                let others = (1.0 - 2.0 * unit) * square + 2.0 * (next - error);
                Found { label: index[lane], others: reach * others.max(0.0).sqrt() }
            } else {
                self.closely(row)
            };
            tell(lane, found);
        }
    }

    /// Step 3.
    fn closely<T: Copy + Into<f64>>(&self, row: &[T]) -> Found {
        let (mut label, mut least, mut next) = (0, f64::INFINITY, f64::INFINITY);
        for (l, center) in self.centers.chunks_exact(self.dim).enumerate() {
            let square = square(row, center);
            if square < least {
                (label, least, next) = (l as u32, square, least);
            } else if square < next {
                next = square;
            }
        }
        Found { label, others: next.sqrt() }
    }

    /// Squared distance of a row to a centre.
    pub fn square<T: Copy + Into<f64>>(&self, row: &[T], label: u32) -> f64 {
        let at = label as usize * self.dim;
        square(row, &self.centers[at..at + self.dim])
    }
}

/// Tells the nearest centre of each row, in order, with its squared distance.
pub(crate) fn each(rows: &[f64], centers: &[f64], dim: usize, mut tell: impl FnMut(usize, u32, f64)) {
    let nearest = Nearest::new(centers, dim);
    let mut memory = nearest.memory();
    for (block, part) in rows.chunks(NEAREST_ROWS * dim).enumerate() {
        let rows: Vec<&[f64]> = part.chunks_exact(dim).collect();
        nearest.block(&rows, &mut memory, |at, found| {
            tell(block * NEAREST_ROWS + at, found.label, nearest.square(rows[at], found.label));
        });
    }
}

/// The nearest centres of rows, round after round, while the centres move.
///
/// With each row goes a distance that all centres but its own are beyond. It shrinks by the longest move of
/// those; while the own centre is nearer than that, nothing else can be, and only its distance is computed:
/// \[Ham10\]. The answer is that of looking at all centres.
pub(crate) struct Following<'a> {
    rows: &'a [f64],
    dim: usize,
    /// Centre of each row.
    pub labels: Vec<u32>,
    /// Squared distance of each row to it.
    pub squares: Vec<f64>,
    others: Vec<f64>,
    last: Vec<f64>,
}

/// What bounds on distances are short by, for all the rounding of all rounds.
const SHORT: f64 = 1e-9;

impl<'a> Following<'a> {
    /// Rows of d.
    pub fn new(rows: &'a [f64], dim: usize) -> Following<'a> {
        let n = rows.len() / dim;
        let (labels, squares, others) = (vec![0; n], vec![0.0; n], vec![f64::NEG_INFINITY; n]);
        Following { rows, dim, labels, squares, others, last: Vec::new() }
    }

    /// The nearest of k centres, k as in the round before. Cost: n d for the rows that keep theirs for
    /// certain, n k d in single precision for the others.
    pub fn update(&mut self, centers: &[f64]) {
        let dim = self.dim;
        let moves = self.last.chunks_exact(dim).zip(centers.chunks_exact(dim));
        // The two longest: a centre's own move does not count.
        let (mut longest, mut second) = ((usize::MAX, 0.0), 0.0);
        for (l, (from, to)) in moves.enumerate() {
            let moved = (1.0 + SHORT) * square(from, to).sqrt();
            if moved > longest.1 {
                (longest, second) = ((l, moved), longest.1);
            } else if moved > second {
                second = moved;
            }
        }
        let nearest = Nearest::new(centers, dim);
        let mut memory = nearest.memory();
        let mut open: Vec<usize> = Vec::with_capacity(NEAREST_ROWS);
        let n = self.labels.len();
        for (i, row) in self.rows.chunks_exact(dim).enumerate() {
            let own = self.labels[i];
            self.others[i] -= if own as usize == longest.0 { second } else { longest.1 };
            self.squares[i] = nearest.square(row, own);
            if !(self.squares[i].sqrt() < self.others[i]) {
                open.push(i);
            }
            if open.len() == NEAREST_ROWS || (i + 1 == n && !open.is_empty()) {
                let rows: Vec<&[f64]> = open.iter().map(|&i| &self.rows[i * dim..(i + 1) * dim]).collect();
                nearest.block(&rows, &mut memory, |at, found| {
                    let i = open[at];
                    self.labels[i] = found.label;
                    self.squares[i] = nearest.square(rows[at], found.label);
                    self.others[i] = (1.0 - SHORT) * found.others;
                });
                open.clear();
            }
        }
        self.last.clear();
        self.last.extend_from_slice(centers);
    }
}

/// Squared distance, added column by column.
pub(crate) fn square<T: Copy + Into<f64>>(a: &[T], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| ((*a).into() - b).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::random::{Purpose, Stream};

    /// The definition.
    fn plainly(row: &[f64], centers: &[f64], dim: usize) -> (u32, f64) {
        let all = centers.chunks_exact(dim).map(|center| square(row, center)).enumerate();
        all.fold((0, f64::INFINITY), |best, (l, s)| if s < best.1 { (l as u32, s) } else { best })
    }

    fn normal(n: usize, seed: u64) -> Vec<f64> {
        let mut stream = Stream::new(seed, Purpose::PilotMixture, 0);
        (0..n).map(|_| stream.normal()).collect()
    }

    fn agree(rows: &[f64], centers: &[f64], dim: usize) {
        let mut told = 0;
        each(rows, centers, dim, |i, label, square| {
            assert_eq!((label, square), plainly(&rows[i * dim..(i + 1) * dim], centers, dim), "row {i}");
            told += 1;
        });
        assert_eq!(told, rows.len() / dim);
    }

    #[test]
    fn the_nearest_centre_is_that_of_the_definition_whatever_the_numbers() {
        for (n, k, dim) in [(100, 1, 1), (333, 7, 2), (200, 50, 17), (50, 9, 200)] {
            let (rows, centers) = (normal(n * dim, 1), normal(k * dim, 2));
            agree(&rows, &centers, dim);
            for (scale, shift) in [(1e-200, 0.0), (1e150, 0.0), (1.0, 1e9), (1e-9, 1.0)] {
                let moved = |v: &[f64]| v.iter().map(|x| scale * x + shift).collect::<Vec<f64>>();
                agree(&moved(&rows), &moved(&centers), dim);
                agree(&rows, &moved(&centers), dim);
            }
        }
    }

    #[test]
    fn of_equal_and_nearly_equal_centres_it_is_the_nearest_and_the_first() {
        let rows = normal(300, 3);
        let centers = normal(30, 4);
        agree(&rows, &[&centers[..], &centers].concat(), 3);
        let nearly: Vec<f64> = centers.iter().map(|x| x * (1.0 - 1e-12)).collect();
        agree(&rows, &[&centers[..], &nearly].concat(), 3);
        agree(&rows, &[1.5, 2.5, 3.5].repeat(6), 3);
        // A grid, whose cells' corners are as far from four centres.
        let corners: Vec<f64> = (0..400).map(|i| f64::from(i % 20) * 0.5).collect();
        let grid: Vec<f64> =
            (0..200).map(|i| f64::from(if i % 2 == 0 { i / 20 } else { i / 2 % 10 })).collect();
        agree(&corners, &grid, 2);
    }

    #[test]
    fn rows_keep_the_nearest_centre_while_centres_move_far_or_hardly() {
        let (rows, dim) = (normal(500 * 4, 5), 4);
        let mut centers = normal(12 * dim, 6);
        let mut following = Following::new(&rows, dim);
        for round in 0..60 {
            following.update(&centers);
            for (i, row) in rows.chunks_exact(dim).enumerate() {
                let found = (following.labels[i], following.squares[i]);
                assert_eq!(found, plainly(row, &centers, dim), "round {round}, row {i}");
            }
            let step = if round % 20 == 19 { 1.0 } else { 0.3 / f64::from(1 + round % 20).powi(2) };
            centers.iter_mut().zip(normal(12 * dim, 100 + round as u64)).for_each(|(c, e)| *c += step * e);
        }
    }
}
