//! One judge of all that is learned on a density: the expected loss under it, and how certain that is.
//!
//! - *Centres*: how much their sum of squares may exceed the best. Weights that are as likely as those of
//!   the density are drawn; for each, Lloyd's rounds show what better centres would save. To the worst of
//!   them comes what the cells are too coarse for, in proportion to the centres for each cell.
//! - *Mixtures*: atoms polished on the sketch are taken if they explain it and the density does not speak
//!   against them, or if they are better under the density.
//! - *How many*: mixtures by the Bayesian information criterion, unless fewer components explain the sketch;
//!   centres by the mean silhouette, taken with the distances to the nearest two centres.

use crate::density::Density;
use crate::num::lloyd::{Points, lloyd};
use crate::num::random::{Purpose, Stream};

/// Draws of likely weights.
const DRAWS: usize = 10;
/// Rounds that show what better centres would save.
const ROUNDS: usize = 20;
/// What cells are too coarse for, for one centre a cell.
const COARSE: f64 = 0.15;
/// What the search may miss besides.
const SLACK: f64 = 0.002;

/// The part by which the sum of squares of centres, in working coordinates, may exceed the best; too small
/// for about one model in ten.
pub(super) fn excess(density: &Density, centres: &[f64], seed: u64) -> f64 {
    let d = density.dim();
    let within: Vec<f64> = density.blocks.variances.chunks_exact(d).map(|v| v.iter().sum()).collect();
    let mut stream = Stream::new(seed, Purpose::Decode, u64::MAX - 5);
    let mut worst: f64 = 0.0;
    for _ in 0..DRAWS {
        let weights = density.likely_weights(&mut stream);
        let points = Points { rows: &density.blocks.centres, weights: Some(&weights), dim: d };
        let spread: f64 = within.iter().zip(&weights).map(|(v, w)| v * w).sum();
        let best = lloyd(points, centres.to_vec(), ROUNDS).cost;
        worst = worst.max((points.sse(centres) + spread) / (best + spread) - 1.0);
    }
    let k = (centres.len() / d) as f64;
    worst + COARSE * k / density.n_places() as f64 + SLACK
}

/// Mean silhouette of weighted points, with the distances a and b to the nearest and the next centre in place
/// of those to all points: the mean of 1 - a / b.
pub(super) fn silhouette(points: Points<'_>, centres: &[f64]) -> f64 {
    let (mut sum, mut total) = (0.0, 0.0);
    for (row, w) in points.iter() {
        let (mut first, mut second) = (f64::INFINITY, f64::INFINITY);
        for centre in centres.chunks_exact(points.dim) {
            let square: f64 = row.iter().zip(centre).map(|(x, c)| (x - c) * (x - c)).sum();
            if square < first {
                (first, second) = (square, first);
            } else if square < second {
                second = square;
            }
        }
        sum += w * if second > 0.0 { 1.0 - (first / second).sqrt() } else { 0.0 };
        total += w;
    }
    sum / total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silhouette_is_that_of_the_nearest_two() {
        // Distances 1 to the nearest and 9, 11 to the other centre.
        let points = Points::equal(&[-6.0, -4.0, 4.0, 6.0], 1);
        let wanted = 0.5 * ((1.0 - 1.0 / 9.0) + (1.0 - 1.0 / 11.0));
        assert!((silhouette(points, &[-5.0, 5.0]) - wanted).abs() < 1e-12);
        assert!(silhouette(points, &[0.0, 5.0]) < wanted);
    }
}
