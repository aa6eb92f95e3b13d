//! k-means of rows in memory: the pilot sample of a design, and the synthetic sample of a fitted mixture.
//!
//! Rows and centres are flat, `dim` numbers each. Cost: n k d a round.

use crate::num::random::Stream;

/// A finished run of [`lloyd`], or of [`medians`](crate::num::weiszfeld::medians).
pub(crate) struct Run {
    /// k rows of d.
    pub centers: Vec<f64>,
    /// Rows nearest to each.
    pub counts: Vec<f64>,
    /// The objective, a sum of squared distances or of distances, before the last move of the centres.
    pub cost: f64,
}

/// Lloyd's algorithm until a round gains less than 1e-5 of the SSE, at most `rounds`. A centre that loses its rows stays where it was.
pub(crate) fn lloyd(rows: &[f64], dim: usize, mut centers: Vec<f64>, rounds: usize) -> Run {
    let mut last = f64::INFINITY;
    let mut counts = vec![0.0; centers.len() / dim];
    for _ in 0..rounds {
        let mut sums = vec![0.0; centers.len()];
        counts.fill(0.0);
        let mut sse = 0.0;
        for row in rows.chunks_exact(dim) {
            let (l, s) = nearest(row, &centers, dim);
            sse += s;
            counts[l] += 1.0;
            sums[l * dim..(l + 1) * dim].iter_mut().zip(row).for_each(|(t, x)| *t += x);
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
    }
    Run { centers, counts, cost: last }
}

/// The nearest centre and its squared distance; the first of equals.
pub(crate) fn nearest(row: &[f64], centers: &[f64], dim: usize) -> (usize, f64) {
    let all = centers.chunks_exact(dim).map(|center| square(row, center)).enumerate();
    all.fold((0, f64::INFINITY), |best, (l, s)| if s < best.1 { (l, s) } else { best })
}

/// k-means++ starts: k rows, each drawn with probability proportional to its squared distance to those before.
pub(crate) fn plus_plus(rows: &[f64], dim: usize, k: usize, stream: &mut Stream) -> Vec<f64> {
    let row = |i: usize| &rows[i * dim..(i + 1) * dim];
    let mut centers = row(stream.below(rows.len() / dim)).to_vec();
    let mut distances: Vec<f64> = rows.chunks_exact(dim).map(|row| square(row, &centers)).collect();
    for _ in 1..k {
        let mut left = stream.uniform() * distances.iter().sum::<f64>();
        let pick = distances.iter().position(|s| {
            left -= s;
            left < 0.0
        });
        let center = row(pick.unwrap_or(distances.len() - 1));
        distances.iter_mut().zip(rows.chunks_exact(dim)).for_each(|(s, row)| *s = s.min(square(row, center)));
        centers.extend_from_slice(center);
    }
    centers
}

fn square(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::random::Purpose;

    #[test]
    fn two_groups_end_at_their_means_from_distinct_starts() {
        let rows = [0.0, 0.2, 0.4, 10.0, 10.2, 10.4];
        let start = plus_plus(&rows, 1, 2, &mut Stream::new(1, Purpose::PilotMixture, 0));
        assert!((start[0] < 5.0) != (start[1] < 5.0), "{start:?}");
        let run = lloyd(&rows, 1, start, 100);
        let mut centers = run.centers;
        centers.sort_by(f64::total_cmp);
        assert!((centers[0] - 0.2).abs() < 1e-12 && (centers[1] - 10.2).abs() < 1e-12, "{centers:?}");
        assert_eq!(run.counts, [3.0, 3.0]);
        assert!((run.cost - 0.16).abs() < 1e-12, "{}", run.cost);
    }
}
