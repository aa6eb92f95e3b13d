//! A partition of rows into many small cells, none with fewer rows than a given number.
//!
//! 1. All rows are one cell.
//! 2. A cell is cut across its longest axis (some power iterations), where that lowers the sum of squares
//!    most and leaves enough rows on both sides.
//!    Where rows are few, both sides together can be cut into as many cells as the whole, if such a cut gains
//!    nearly as much; between groups of equal rows it does not.
//! 3. The cell whose cut gains most is cut next, until there are as many as wanted.
//! 4. Rows move to nearer cells while the cell that they leave keeps enough.
//!
//! Far rows keep cells of their own this way: they are cut off first, where k-means with random starts would
//! give them to a large neighbour. Cost: O(n d log A) for the cuts, n A d for a round of step 4.

use crate::num::linear::{dot, multiply_transposed};

/// Power iterations for the longest axis; any direction near it serves.
const POWER_ITERATIONS: usize = 8;
/// Rounds of step 4.
const ROUNDS: usize = 3;
/// Rows for which step 4 holds all distances at a time.
const BLOCK: usize = 256;

/// Part of the best gain that a cut which wastes no rows has at least.
const WHOLE: f64 = 0.9;

/// A cut of a cell: what it gains, and the rows on both sides.
struct Cut {
    gain: f64,
    left: Vec<u32>,
    right: Vec<u32>,
}

/// How cells are cut.
#[derive(Clone, Copy)]
struct Rule {
    /// Rows of a cell.
    least: usize,
    /// Whether rows are too few for the cells wanted, so that a cut should not leave fewer cells to be had.
    tight: bool,
}

/// The cell of every row, for at most `cells` cells of at least `least` rows.
pub(crate) fn bisect(rows: &[f64], dim: usize, cells: usize, least: usize) -> Vec<u32> {
    let n = rows.len() / dim;
    let rule = Rule { least, tight: n < 2 * least * cells };
    // Step 1.
    let mut leaves: Vec<(Vec<u32>, Option<Cut>)> = vec![];
    let all: Vec<u32> = (0..n as u32).collect();
    let first = cut(rows, dim, &all, rule);
    leaves.push((all, first));
    while leaves.len() < cells {
        // Step 3.
        let gain = |leaf: &(Vec<u32>, Option<Cut>)| leaf.1.as_ref().map_or(-1.0, |cut| cut.gain);
        let best = (0..leaves.len()).max_by(|&a, &b| gain(&leaves[a]).total_cmp(&gain(&leaves[b])));
        let Some(Cut { left, right, .. }) = best.and_then(|best| leaves[best].1.take()) else { break };
        let next = cut(rows, dim, &right, rule);
        leaves.push((right, next));
        let next = cut(rows, dim, &left, rule);
        leaves[best.unwrap_or(0)] = (left, next);
    }
    let mut cell = vec![0; n];
    for (a, (leaf, _)) in leaves.iter().enumerate() {
        leaf.iter().for_each(|&i| cell[i as usize] = a as u32);
    }
    for _ in 0..ROUNDS {
        exchange(rows, dim, leaves.len(), least, &mut cell);
    }
    cell
}

/// Step 2; none if there are too few rows, or all are equal.
fn cut(rows: &[f64], dim: usize, cell: &[u32], rule: Rule) -> Option<Cut> {
    let (n, least) = (cell.len(), rule.least);
    if n < 2 * least {
        return None;
    }
    let row = |i: u32| &rows[i as usize * dim..(i as usize + 1) * dim];
    let mean = mean_of(rows, dim, cell);
    let centred: Vec<f64> = cell.iter().flat_map(|&i| row(i).iter().zip(&mean).map(|(x, m)| x - m)).collect();
    let axis = longest_axis(&centred, dim)?;
    let along: Vec<f64> = centred.chunks_exact(dim).map(|r| dot(r, &axis)).collect();
    let mut order: Vec<u32> = (0..n as u32).collect();
    order.sort_by(|&a, &b| along[a as usize].total_cmp(&along[b as usize]).then(a.cmp(&b)));
    // The best cut, and the best that wastes no rows.
    let (mut sum, mut best, mut whole) = (vec![0.0; dim], (0.0, 0), (0.0, 0));
    for (at, pair) in order.windows(2).enumerate() {
        let [a, b] = [pair[0] as usize, pair[1] as usize];
        sum.iter_mut().zip(&centred[a * dim..(a + 1) * dim]).for_each(|(s, x)| *s += x);
        let left = at + 1;
        let wasteful = rule.tight && left / least + (n - left) / least < n / least;
        if left < least || n - left < least || !(along[b] > along[a]) {
            continue;
        }
        let gain = dot(&sum, &sum) * (1.0 / left as f64 + 1.0 / (n - left) as f64);
        if gain > best.0 {
            best = (gain, left);
        }
        if gain > whole.0 && !wasteful {
            whole = (gain, left);
        }
    }
    let (gain, left) = if whole.0 > WHOLE * best.0 { whole } else { best };
    let side = |part: &[u32]| part.iter().map(|&i| cell[i as usize]).collect();
    (left > 0).then(|| Cut { gain, left: side(&order[..left]), right: side(&order[left..]) })
}

fn mean_of(rows: &[f64], dim: usize, cell: &[u32]) -> Vec<f64> {
    let mut mean = vec![0.0; dim];
    for &i in cell {
        mean.iter_mut().zip(&rows[i as usize * dim..]).for_each(|(m, x)| *m += x);
    }
    mean.iter_mut().for_each(|m| *m /= cell.len() as f64);
    mean
}

/// The direction in which centred rows vary most, from that of the longest row; none if all are zero.
fn longest_axis(centred: &[f64], dim: usize) -> Option<Vec<f64>> {
    let rows = || centred.chunks_exact(dim);
    let mut axis = rows().max_by(|a, b| dot(a, a).total_cmp(&dot(b, b)))?.to_vec();
    for _ in 0..=POWER_ITERATIONS {
        let length = dot(&axis, &axis).sqrt();
        if !(length > 0.0) {
            return None;
        }
        axis.iter_mut().for_each(|x| *x /= length);
        let mut next = vec![0.0; dim];
        for row in rows() {
            let along = dot(row, &axis);
            next.iter_mut().zip(row).for_each(|(t, x)| *t += along * x);
        }
        axis = next;
    }
    Some(axis)
}

/// One round of step 4; the rows that gain most move first.
fn exchange(rows: &[f64], dim: usize, cells: usize, least: usize, cell: &mut [u32]) {
    let (mut counts, centres) = centres(rows, dim, cells, cell);
    let norms: Vec<f64> = centres.chunks_exact(dim).map(|c| dot(c, c)).collect();
    let mut moves: Vec<(f64, usize, u32)> = Vec::new();
    let mut products = vec![0.0; BLOCK * cells];
    for (block, part) in rows.chunks(BLOCK * dim).enumerate() {
        let n = part.len() / dim;
        multiply_transposed(part, &centres, dim, &mut products[..n * cells]);
        for (i, products) in products[..n * cells].chunks_exact(cells).enumerate() {
            // The squared distance without the row's own square.
            let distance = |a: usize| norms[a] - 2.0 * products[a];
            let (mut nearest, mut lowest) = (0, f64::INFINITY);
            for (a, (norm, product)) in norms.iter().zip(products).enumerate() {
                let square = norm - 2.0 * product;
                if square < lowest {
                    (nearest, lowest) = (a, square);
                }
            }
            let own = cell[block * BLOCK + i];
            let gain = distance(own as usize) - lowest;
            if gain > 0.0 {
                moves.push((gain, block * BLOCK + i, nearest as u32));
            }
        }
    }
    moves.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    for (_, i, to) in moves {
        let from = cell[i] as usize;
        if counts[from] > least {
            counts[from] -= 1;
            counts[to as usize] += 1;
            cell[i] = to;
        }
    }
}

/// Rows of each cell, and its mean.
pub(crate) fn centres(rows: &[f64], dim: usize, cells: usize, cell: &[u32]) -> (Vec<usize>, Vec<f64>) {
    let (mut counts, mut sums) = (vec![0; cells], vec![0.0; cells * dim]);
    for (row, &a) in rows.chunks_exact(dim).zip(cell) {
        counts[a as usize] += 1;
        sums[a as usize * dim..].iter_mut().zip(row).for_each(|(s, x)| *s += x);
    }
    for (sum, &n) in sums.chunks_exact_mut(dim).zip(&counts) {
        sum.iter_mut().for_each(|s| *s /= (n as f64).max(1.0));
    }
    (counts, sums)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::random::{Purpose, Stream};

    #[test]
    fn cells_are_small_and_none_is_below_the_least() {
        let mut stream = Stream::new(1, Purpose::PilotMixture, 0);
        let mut rows: Vec<f64> = (0..2 * 2000).map(|_| stream.normal()).collect();
        // Six far rows keep a cell of their own.
        rows.extend((0..6).flat_map(|i| [50.0 + 0.1 * f64::from(i), 0.0]));
        let cell = bisect(&rows, 2, 100, 5);
        let (counts, centres) = centres(&rows, 2, 100, &cell);
        assert!(counts.iter().all(|&n| n >= 5), "{counts:?}");
        let far: Vec<_> = (0..100).filter(|a| centres[2 * a] > 40.0).collect();
        assert_eq!(far.len(), 1);
        assert_eq!(counts[far[0]], 6);
        let within: f64 = rows
            .chunks_exact(2)
            .zip(&cell)
            .map(|(row, &a)| (0..2).map(|c| (row[c] - centres[2 * a as usize + c]).powi(2)).sum::<f64>())
            .sum();
        // 100 cells of a disc leave about a hundredth of its variance, 4000 here.
        assert!(within < 100.0, "{within}");
    }

    #[test]
    fn few_rows_give_as_many_cells_as_there_can_be() {
        let mut stream = Stream::new(2, Purpose::PilotMixture, 0);
        let rows: Vec<f64> = (0..3 * 150).map(|_| stream.normal()).collect();
        let cell = bisect(&rows, 3, 100, 5);
        let (counts, _) = centres(&rows, 3, 30, &cell);
        assert_eq!(counts, vec![5; 30]);
    }

    #[test]
    fn equal_rows_are_one_cell_and_few_rows_too() {
        assert_eq!(bisect(&[1.0; 40], 1, 8, 5), vec![0; 40]);
        assert_eq!(bisect(&[1.0, 2.0, 3.0], 1, 8, 2), vec![0; 3]);
    }
}
