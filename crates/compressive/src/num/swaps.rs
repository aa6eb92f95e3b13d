//! Local search for k-means: centres exchanged for rows, one at a time, while that lowers the loss.
//!
//! Each step:
//!
//! 1. draw a row with probability proportional to its weight times its loss (the squared distance to the
//!    nearest centre, for k-means);
//! 2. for each centre, the loss with the row in its place: rows that were nearest to it go to the second
//!    nearest centre or to the row;
//! 3. exchange the best of them, if that lowers the loss.
//!
//! From k-means++ starts some k log log k steps are within a constant of the best in expectation. Where
//! Lloyd's rounds only move centres, an exchange takes one to another cluster. Cost: n d a step, n k d once,
//! and k d more for each row that an exchange takes a centre from.
//!
//! Reference: \[LS19\] algorithm 2.

use crate::num::budget;
use crate::num::lloyd::Points;
use crate::num::nearest::square;
use crate::num::random::{Stream, roulette};

/// The nearest two centres of a row and what it loses to them.
pub(crate) struct Row {
    pub nearest: usize,
    pub first: f64,
    next: usize,
    pub second: f64,
}

/// Takes so many steps from the given centres; `loss` makes of a squared distance what is summed.
pub(crate) fn exchange(
    points: Points<'_>,
    mut centers: Vec<f64>,
    steps: usize,
    loss: fn(f64) -> f64,
    stream: &mut Stream,
) -> Vec<f64> {
    let d = points.dim;
    let k = centers.len() / d;
    if k < 2 {
        return centers;
    }
    let mut rows: Vec<Row> = points.iter().map(|(row, _)| assign(row, &centers, d, loss)).collect();
    for _ in 0..steps {
        // Step 1.
        let chances: Vec<f64> = rows.iter().zip(points.iter()).map(|(r, (_, w))| w * r.first).collect();
        let cost: f64 = chances.iter().sum();
        if !(cost > 0.0) || budget::spent() {
            break;
        }
        let candidate = points.row(roulette(&chances, stream));
        // Step 2.
        let (mut kept, mut without) = (0.0, vec![0.0; k]);
        let losses: Vec<f64> = points.iter().map(|(row, _)| loss(square(row, candidate))).collect();
        for ((row, (_, w)), own) in rows.iter().zip(points.iter()).zip(&losses) {
            let stays = row.first.min(*own);
            kept += w * stays;
            without[row.nearest] += w * (row.second.min(*own) - stays);
        }
        let Some(out) = (0..k).min_by(|&a, &b| without[a].total_cmp(&without[b])) else { break };
        // Step 3.
        if kept + without[out] >= cost {
            continue;
        }
        centers[out * d..(out + 1) * d].copy_from_slice(candidate);
        for ((row, (x, _)), own) in rows.iter_mut().zip(points.iter()).zip(&losses) {
            if row.nearest == out || row.next == out {
                *row = assign(x, &centers, d, loss);
            } else {
                row.add(out, *own);
            }
        }
    }
    centers
}

impl Row {
    /// Another centre and what the row loses to it.
    fn add(&mut self, center: usize, own: f64) {
        if own < self.first {
            *self = Row { nearest: center, first: own, next: self.nearest, second: self.first };
        } else if own < self.second {
            (self.next, self.second) = (center, own);
        }
    }
}

/// The nearest two of some centres; the second is at infinity where there is one.
pub(crate) fn assign(row: &[f64], centers: &[f64], d: usize, loss: fn(f64) -> f64) -> Row {
    let mut found = Row { nearest: 0, first: f64::INFINITY, next: 0, second: f64::INFINITY };
    for (l, center) in centers.chunks_exact(d).enumerate() {
        found.add(l, loss(square(row, center)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::lloyd::lloyd;
    use crate::num::random::Purpose;

    #[test]
    fn a_centre_moves_to_the_cluster_that_has_none() {
        // Four clusters on a line, and two of four centres in the first.
        let rows: Vec<f64> = (0..80).map(|i| f64::from(i / 20) * 100.0 + f64::from(i % 20)).collect();
        let points = Points::equal(&rows, 1);
        let start = vec![3.0, 16.0, 110.0, 260.0];
        let stuck = lloyd(points, start.clone(), 100).cost;
        let mut stream = Stream::new(1, Purpose::Decode, 0);
        let moved = exchange(points, start, 20, |square| square, &mut stream);
        let mut found = lloyd(points, moved, 100);
        found.centers.sort_by(f64::total_cmp);
        assert_eq!(found.centers, [9.5, 109.5, 209.5, 309.5]);
        assert!(found.cost < 0.1 * stuck, "{} {stuck}", found.cost);
    }

    #[test]
    fn a_row_without_weight_is_never_taken() {
        let (rows, weights) = ([0.0, 1.0, 50.0, 10.0], [1.0, 1.0, 0.0, 1.0]);
        let points = Points { rows: &rows, weights: Some(&weights), dim: 1 };
        let found = exchange(points, vec![0.0, 1.0], 30, |s| s, &mut Stream::new(1, Purpose::Decode, 0));
        assert!(!found.contains(&50.0) && points.sse(&found) <= 1.0, "{found:?}");
    }
}
