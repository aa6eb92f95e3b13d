//! Randomly pivoted Cholesky landmarks, in blocks (\[CETW25\]).
//!
//! The plain loop draws the next landmark with probability proportional to the residuals $d_i$, then updates
//! them by one step of Cholesky's factorisation. The block form has the same law with fewer passes over the
//! memory, by rejection:
//!
//! 1. draw b rows with probability proportional to the residuals, with replacement;
//! 2. form the residual kernel H of these rows; $h_j$ is its diagonal before any of them is a landmark;
//! 3. for j = 1 ... b: accept row j with probability $H_{jj} / h_j$, with H the residual after the rows
//!    accepted before, and eliminate it from H;
//! 4. add the accepted rows to the factor in one product, update the residuals; again from 1.
//!
//! Cost: $n m^2$ multiply-adds and n m kernel values, in memory for n m numbers.

use super::largest_pivot::SPANNED;
use super::pilot::{Partial, Pilot};
use crate::num::random::Stream;

/// Rows drawn at a time, at most.
const BLOCK: usize = 32;

/// Up to `size` rows; fewer if the others are in their span.
pub(super) fn rpcholesky(pilot: &Pilot, size: usize, stream: &mut Stream) -> Vec<usize> {
    blocks(pilot, size, BLOCK, stream)
}

/// As [`rpcholesky`], `block` rows at a time; 1 is the plain loop.
pub(super) fn blocks(pilot: &Pilot, size: usize, block: usize, stream: &mut Stream) -> Vec<usize> {
    let mut partial = Partial::new(pilot);
    // Early blocks are small, as the first few landmarks change the law of the next ones most.
    while partial.pivots.len() < size && partial.left() > SPANNED * pilot.len() as f64 {
        let wanted = (1 + partial.pivots.len()).min(block).min(size - partial.pivots.len());
        // Step 1.
        let drawn: Vec<usize> = draw(&partial.residual, wanted, stream);
        // Steps 2 and 3.
        let (accepted, lower) = accept(&partial, &drawn, stream);
        if accepted.is_empty() {
            break;
        }
        // Step 4.
        partial.add(&accepted, &lower);
    }
    partial.pivots
}

/// `count` indices drawn with probability proportional to the weights.
fn draw(weights: &[f64], count: usize, stream: &mut Stream) -> Vec<usize> {
    let mut total = 0.0;
    let cumulative: Vec<f64> = weights
        .iter()
        .map(|w| {
            total += w;
            total
        })
        .collect();
    let one = |_| {
        let at = stream.uniform() * total;
        // Rounding must not lead to a row of weight zero behind the last.
        let i = cumulative.partition_point(|&c| c <= at).min(weights.len() - 1);
        (0..=i).rev().find(|&i| weights[i] > 0.0).unwrap_or(i)
    };
    (0..count).map(one).collect()
}

/// Steps 2 and 3: the accepted rows, and the lower factor of their residual kernel.
fn accept(partial: &Partial, drawn: &[usize], stream: &mut Stream) -> (Vec<usize>, Vec<f64>) {
    let b = drawn.len();
    let mut h = partial.residual_kernel(drawn);
    let before: Vec<f64> = (0..b).map(|j| h[j * b + j]).collect();
    let mut places: Vec<usize> = Vec::new();
    // Columns of the factor at all drawn rows, one for each accepted row.
    let mut columns: Vec<Vec<f64>> = Vec::new();
    for j in 0..b {
        let left = h[j * b + j];
        if !(left > SPANNED) || stream.uniform() * before[j] >= left {
            continue;
        }
        let root = left.sqrt();
        let column: Vec<f64> = (0..b).map(|i| h[i * b + j] / root).collect();
        for (row, x) in h.chunks_exact_mut(b).zip(&column) {
            row.iter_mut().zip(&column).for_each(|(h, y)| *h -= x * y);
        }
        places.push(j);
        columns.push(column);
    }
    let lower = places.iter().flat_map(|&i| columns.iter().map(move |column| column[i])).collect();
    (places.iter().map(|&j| drawn[j]).collect(), lower)
}
