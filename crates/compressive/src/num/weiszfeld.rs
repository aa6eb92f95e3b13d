//! k-medians of weighted rows in memory: centres that minimise the sum of distances
//! $\sum_i \min_l \lVert x_i - c_l\rVert$.
//!
//! Each round gives every row to its nearest centre and moves each centre by one step of Weiszfeld's
//! algorithm, $c \leftarrow \sum_i x_i / d_i \,\big/ \sum_i 1 / d_i$ with $d_i = \lVert x_i - c\rVert$;
//! neither can raise the sum. Distances below [`NEAR`] of the mean one are taken as that, so that a centre on
//! a row does not stick to it. Cost: at most n k d a round.
//!
//! Reference: E. Weiszfeld, Tohoku Math. J. 43, 1937.

use crate::num::budget;
use crate::num::lloyd::{Points, Run};
use crate::num::nearest::Following;

/// Smallest distance, relative to the mean.
const NEAR: f64 = 1e-6;
/// A round that gains less than this part of the sum is the last.
const GAIN: f64 = 1e-7;

/// Rounds until one gains next to nothing, at most `rounds`. A centre that loses its rows stays where it was.
pub(crate) fn medians(points: Points<'_>, mut centers: Vec<f64>, rounds: usize) -> Run {
    let dim = points.dim;
    let n = points.iter().map(|(_, w)| w).sum::<f64>().max(f64::MIN_POSITIVE);
    let (mut last, mut near) = (f64::INFINITY, 0.0);
    let mut counts = vec![0.0; centers.len() / dim];
    let mut following = Following::new(points.rows, dim);
    for _ in 0..rounds {
        let mut sums = vec![0.0; centers.len()];
        let mut pulls = vec![0.0; counts.len()];
        counts.fill(0.0);
        let mut sum = 0.0;
        following.update(&centers);
        for ((row, weight), (l, square)) in points.iter().zip(following.labels.iter().zip(&following.squares))
        {
            let l = *l as usize;
            let distance = square.sqrt();
            sum += weight * distance;
            counts[l] += weight;
            let pull = weight / distance.max(near).max(f64::MIN_POSITIVE);
            pulls[l] += pull;
            sums[l * dim..(l + 1) * dim].iter_mut().zip(row).for_each(|(t, x)| *t += pull * x);
        }
        let moved = centers.chunks_exact_mut(dim).zip(sums.chunks_exact(dim)).zip(&pulls);
        for ((center, sum), pull) in moved.filter(|(_, p)| **p > 0.0 && p.is_finite()) {
            center.iter_mut().zip(sum).for_each(|(c, s)| *c = s / pull);
        }
        near = NEAR * sum / n;
        if !(sum < last * (1.0 - GAIN)) {
            last = last.min(sum);
            break;
        }
        last = sum;
        if budget::spent() {
            break;
        }
    }
    Run { centers, counts, cost: last }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_a_line_the_centres_are_the_medians_whatever_the_outliers() {
        let rows = [0.0, 1.0, 2.0, 3.0, 40.0, 100.0, 101.0, 102.0, 103.0, 180.0];
        let run = medians(Points::equal(&rows, 1), vec![0.5, 110.0], 10_000);
        // Between 1 and 3 rows on each side of 2 (of 102) the sum is least at 2 (at 102).
        assert!(
            (run.centers[0] - 2.0).abs() < 0.01 && (run.centers[1] - 102.0).abs() < 0.01,
            "{:?}",
            run.centers
        );
        assert_eq!(run.counts, [5.0, 5.0]);
        assert!((run.cost - (42.0 + 82.0)).abs() < 0.05, "{}", run.cost);
    }

    #[test]
    fn in_the_plane_the_median_of_a_triangle_sees_its_sides_under_equal_angles() {
        // The Fermat point of (0,0), (1,0), (0,1) is ((3 - sqrt 3)/6, same).
        let run = medians(Points::equal(&[0.0, 0.0, 1.0, 0.0, 0.0, 1.0], 2), vec![0.3, 0.4], 10_000);
        let point = (3.0 - 3.0f64.sqrt()) / 6.0;
        assert!(run.centers.iter().all(|c| (c - point).abs() < 1e-3), "{:?}", run.centers);
    }
}
