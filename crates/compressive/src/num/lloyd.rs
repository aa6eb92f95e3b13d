//! k-means of weighted rows in memory: the pilot of a design, weighted landmarks, the synthetic sample of a
//! mixture.
//!
//! Rows and centres are flat, `dim` numbers each. Cost: at most n k d a round, less as centres settle.

use crate::num::budget;
use crate::num::nearest::{Following, each, square};
use crate::num::random::{Stream, roulette};

/// Rows with their weights; all of weight 1 where there are none.
#[derive(Clone, Copy)]
pub(crate) struct Points<'a> {
    /// n rows of d.
    pub rows: &'a [f64],
    /// n weights, not negative.
    pub weights: Option<&'a [f64]>,
    /// d.
    pub dim: usize,
}

impl<'a> Points<'a> {
    /// Rows that all count alike.
    pub fn equal(rows: &'a [f64], dim: usize) -> Points<'a> {
        Points { rows, weights: None, dim }
    }

    /// Each row with its weight.
    pub fn iter(self) -> impl Iterator<Item = (&'a [f64], f64)> {
        let weight = move |i: usize| self.weights.map_or(1.0, |w| w[i]);
        self.rows.chunks_exact(self.dim).enumerate().map(move |(i, row)| (row, weight(i)))
    }

    /// Weighted sum of squared distances to the nearest centres.
    pub fn sse(self, centers: &[f64]) -> f64 {
        let mut sum = 0.0;
        each(self.rows, centers, self.dim, |i, _, square| sum += self.weights.map_or(1.0, |w| w[i]) * square);
        sum
    }

    /// A row.
    pub fn row(self, i: usize) -> &'a [f64] {
        &self.rows[i * self.dim..(i + 1) * self.dim]
    }
}

/// A finished run of [`lloyd`], or of [`medians`](crate::num::weiszfeld::medians).
pub(crate) struct Run {
    /// k rows of d.
    pub centers: Vec<f64>,
    /// Weight of the rows nearest to each.
    pub counts: Vec<f64>,
    /// The objective, a sum of squared distances or of distances, before the last move of the centres.
    pub cost: f64,
}

/// Runs from other starts for k centres, where `most` are worth it for up to 200: runs of many centres differ
/// little.
pub(crate) fn n_starts(most: usize, k: usize) -> usize {
    (200 * most / k.max(1)).clamp(most.min(LEAST_STARTS), most)
}

/// The least of [`n_starts`].
const LEAST_STARTS: usize = 4;

/// Lloyd's algorithm until a round gains less than 1e-5 of the SSE, at most `rounds`. A centre that loses its
/// rows stays where it was.
pub(crate) fn lloyd(points: Points, mut centers: Vec<f64>, rounds: usize) -> Run {
    let dim = points.dim;
    let mut last = f64::INFINITY;
    let mut counts = vec![0.0; centers.len() / dim];
    let mut following = Following::new(points.rows, dim);
    for _ in 0..rounds {
        let mut sums = vec![0.0; centers.len()];
        counts.fill(0.0);
        let mut sse = 0.0;
        following.update(&centers);
        for ((row, weight), (l, s)) in points.iter().zip(following.labels.iter().zip(&following.squares)) {
            let l = *l as usize;
            sse += weight * s;
            counts[l] += weight;
            sums[l * dim..(l + 1) * dim].iter_mut().zip(row).for_each(|(t, x)| *t += weight * x);
        }
        let moved = centers.chunks_exact_mut(dim).zip(sums.chunks_exact(dim)).zip(&counts);
        for ((center, sum), count) in moved.filter(|(_, n)| **n > 0.0) {
            center.iter_mut().zip(sum).for_each(|(c, s)| *c = s / count);
        }
        if !(sse < last * (1.0 - 1e-5)) {
            last = last.min(sse);
            break;
        }
        last = sse;
        if budget::spent() {
            break;
        }
    }
    Run { centers, counts, cost: last }
}

/// The nearest centre and its squared distance; the first of equals.
pub(crate) fn nearest(row: &[f64], centers: &[f64], dim: usize) -> (usize, f64) {
    let all = centers.chunks_exact(dim).map(|center| square(row, center)).enumerate();
    all.fold((0, f64::INFINITY), |best, (l, s)| if s < best.1 { (l, s) } else { best })
}

/// k-means++ starts: k rows, each drawn with probability proportional to its weight times its squared
/// distance to those before.
pub(crate) fn plus_plus(points: Points, k: usize, stream: &mut Stream) -> Vec<f64> {
    let first = match points.weights {
        Some(weights) => roulette(weights, stream),
        None => stream.below(points.rows.len() / points.dim),
    };
    let mut centers = points.row(first).to_vec();
    let mut chances: Vec<f64> = points.iter().map(|(row, w)| w * square(row, &centers)).collect();
    for _ in 1..k {
        let center = points.row(roulette(&chances, stream));
        chances.iter_mut().zip(points.iter()).for_each(|(s, (row, w))| *s = s.min(w * square(row, center)));
        centers.extend_from_slice(center);
    }
    centers
}

/// The same, each start the best of some that are drawn that way: \[AV07\] section 6. Starts are better, and
/// fewer of them are needed. `loss` makes of a squared distance what is summed.
pub(crate) fn greedy_plus_plus(
    points: Points,
    k: usize,
    loss: fn(f64) -> f64,
    stream: &mut Stream,
) -> Vec<f64> {
    let tries = 2 + (k as f64).ln() as usize;
    let weights: Vec<f64> = points.iter().map(|(_, w)| w).collect();
    let mut centers = points.row(roulette(&weights, stream)).to_vec();
    let mut chances: Vec<f64> = points.iter().map(|(row, w)| w * loss(square(row, &centers))).collect();
    for _ in 1..k {
        let mut best: Option<(f64, Vec<f64>, usize)> = None;
        for _ in 0..tries {
            let at = roulette(&chances, stream);
            let center = points.row(at);
            let next: Vec<f64> = chances
                .iter()
                .zip(points.iter())
                .map(|(s, (row, w))| s.min(w * loss(square(row, center))))
                .collect();
            let left: f64 = next.iter().sum();
            if best.as_ref().is_none_or(|(b, ..)| left < *b) {
                best = Some((left, next, at));
            }
        }
        let Some((_, next, at)) = best else { break };
        chances = next;
        centers.extend_from_slice(points.row(at));
    }
    centers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::random::Purpose;

    #[test]
    fn two_groups_end_at_their_means_from_distinct_starts() {
        let rows = [0.0, 0.2, 0.4, 10.0, 10.2, 10.4];
        let start = plus_plus(Points::equal(&rows, 1), 2, &mut Stream::new(1, Purpose::PilotMixture, 0));
        assert!((start[0] < 5.0) != (start[1] < 5.0), "{start:?}");
        let run = lloyd(Points::equal(&rows, 1), start, 100);
        let mut centers = run.centers;
        centers.sort_by(f64::total_cmp);
        assert!((centers[0] - 0.2).abs() < 1e-12 && (centers[1] - 10.2).abs() < 1e-12, "{centers:?}");
        assert_eq!(run.counts, [3.0, 3.0]);
        assert!((run.cost - 0.16).abs() < 1e-12, "{}", run.cost);
    }

    #[test]
    fn a_row_of_weight_three_counts_as_three_rows() {
        let (rows, weights) = ([0.0, 1.0, 8.0, 10.0], [3.0, 1.0, 1.0, 0.0]);
        let run = lloyd(Points { rows: &rows, weights: Some(&weights), dim: 1 }, vec![0.0, 9.0], 100);
        assert_eq!(run.centers, [0.25, 8.0]);
        assert_eq!(run.counts, [4.0, 1.0]);
        assert!((run.cost - 0.75).abs() < 1e-12, "{}", run.cost);
    }
}
