//! One judge of all that is learned on a density: the expected loss under it, and how certain that is.
//!
//! - *Centres*: how much their sum of squares may exceed the best. Weights that are as likely as those of
//!   the density are drawn; for each, Lloyd's rounds show what better centres would save. To the worst of
//!   them comes what the cells are too coarse for, in proportion to the centres for each cell; what a centre
//!   in place of a cheaper one would save in a cell of few rows, which may lie anywhere in it; and variance
//!   that no cell has.
//! - *Mixtures*: atoms polished on the sketch are taken if they explain it and the density does not speak
//!   against them, or if they are better under the density.
//! - *How many*: mixtures by the Bayesian information criterion, unless fewer components explain the sketch;
//!   centres by the mean silhouette.

use crate::density::Density;
use crate::num::lloyd::{Points, lloyd, nearest};
use crate::num::nearest::square;
use crate::num::random::{Purpose, Stream};
use crate::num::swaps::assign;

/// Draws of likely weights.
const DRAWS: usize = 10;
/// Rounds that show what better centres would save.
const ROUNDS: usize = 20;
/// What cells are too coarse for, for one centre a cell.
const COARSE: f64 = 0.2;
/// Rows of a cell among which one may have nearly all of its sum of squares.
const LUMPY: f64 = 5.0;
/// Points that a silhouette is taken of.
const SEEN: usize = 600;
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
    let points = Points { rows: &density.blocks.centres, weights: Some(density.weights()), dim: d };
    let all = points.sse(centres) + within.iter().zip(density.weights()).map(|(v, w)| v * w).sum::<f64>();
    let (saved, prices) = (in_cells(density, &within), prices(points, centres));
    let saved: f64 = saved.iter().zip(&prices).map(|(saved, price)| (saved - price).max(0.0)).sum();
    let missing = (density.missing - prices.first().unwrap_or(&0.0)).max(0.0);
    let lumps = (all + missing) / (all - saved).max(1e-3 * all) - 1.0;
    worst + lumps + COARSE * k / density.n_places() as f64 + SLACK
}

/// What a centre could save in each cell at most, the largest first: a row among few may have nearly all of
/// the cell's sum of squares.
fn in_cells(density: &Density, within: &[f64]) -> Vec<f64> {
    let lumpy = |w: f64| (LUMPY / (w * density.rows)).min(1.0);
    let mut saved: Vec<f64> = within
        .iter()
        .zip(density.weights())
        .filter(|(_, w)| **w > 0.0)
        .map(|(v, w)| v * w * lumpy(*w))
        .collect();
    saved.sort_by(|a, b| b.total_cmp(a));
    saved
}

/// What the loss of each centre costs, the cheapest first; none can be spared where there is one.
fn prices(points: Points<'_>, centres: &[f64]) -> Vec<f64> {
    let (d, k) = (points.dim, centres.len() / points.dim);
    let mut prices = vec![0.0; k];
    for (row, w) in points.iter() {
        let two = assign(row, centres, d, |square| square);
        prices[two.nearest] += w * (two.second - two.first);
    }
    prices.sort_by(f64::total_cmp);
    prices
}

/// Mean silhouette of clusters: the mean of $(b - a) / \max(a, b)$ over rows, with a the mean distance to the
/// others of the row's cluster and b that to the nearest other cluster; 0 for the only row of a cluster. Of
/// some of the points, as many as there is weight. Cost: [`SEEN`]^2 d / 2.
///
/// Reference: \[Rou87\].
pub(super) fn silhouette(points: Points<'_>, centres: &[f64]) -> f64 {
    let (d, k) = (points.dim, centres.len() / points.dim);
    let total: f64 = points.iter().map(|(_, w)| w).sum();
    let (mut rows, mut labels, mut sum, mut counts) = (Vec::new(), Vec::new(), 0.0, vec![0.0; k]);
    let n = SEEN.min(points.rows.len() / d);
    for (row, w) in points.iter() {
        sum += w / total;
        while labels.len() < n && (labels.len() as f64 + 0.5) / (n as f64) < sum {
            let label = nearest(row, centres, d).0;
            rows.extend_from_slice(row);
            labels.push(label);
            counts[label] += 1.0;
        }
    }
    // Distances of each row to all rows of each cluster, added.
    let mut away = vec![0.0; labels.len() * k];
    for (i, x) in rows.chunks_exact(d).enumerate() {
        for (j, y) in rows.chunks_exact(d).enumerate().take(i) {
            let distance = square(x, y).sqrt();
            away[i * k + labels[j]] += distance;
            away[j * k + labels[i]] += distance;
        }
    }
    let own = |(away, &label): (&[f64], &usize)| {
        if counts[label] < 2.0 {
            return 0.0;
        }
        let others = (0..k).filter(|&l| l != label && counts[l] > 0.0).map(|l| away[l] / counts[l]);
        let (a, b) = (away[label] / (counts[label] - 1.0), others.fold(f64::INFINITY, f64::min));
        if b.is_finite() && a.max(b) > 0.0 { (b - a) / a.max(b) } else { 0.0 }
    };
    away.chunks_exact(k).zip(&labels).map(own).sum::<f64>() / labels.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silhouette_is_that_of_the_rows() {
        let points = Points::equal(&[-6.0, -4.0, 4.0, 6.0], 1);
        // The others of a cluster are 2 away, those of the other cluster 11 and 9 in the mean.
        let wanted = 0.5 * ((1.0 - 2.0 / 11.0) + (1.0 - 2.0 / 9.0));
        assert!((silhouette(points, &[-5.0, 5.0]) - wanted).abs() < 1e-12);
        // A cluster of one row has none.
        let left = (1.0 - 2.0 / 11.0 + 1.0 - 2.0 / 9.0) / 4.0;
        let found = silhouette(points, &[-5.0, 4.0, 6.0]);
        assert!(found < wanted && found < left + 0.1, "{found}");
        assert_eq!(silhouette(points, &[0.0]), 0.0);
    }
}
