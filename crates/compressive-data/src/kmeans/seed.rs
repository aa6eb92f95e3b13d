//! Greedy k-means++ (Arthur and Vassilvitskii 2007, section 5; the variant that scikit-learn uses).
//!
//! The first centre is a uniform row. Each further one is the best of $2 + \lfloor \ln k \rfloor$ rows drawn
//! with probability proportional to $D^2(x)$, the squared distance to the nearest centre so far; the best is
//! that which leaves the least $\sum_x D^2(x)$. Cost: 3 n d k (2 + ln k) operations; memory: n numbers.

use crate::block::{Lanes, for_blocks};
use crate::parallel::map_chunks;
use crate::random::Rng;
use crate::rows::Rows;

/// k centres, all of them rows; 1 <= k <= n.
pub(crate) fn plus_plus(rows: Rows<'_>, k: usize, rng: &mut Rng, threads: usize) -> Vec<f64> {
    let n_trials = 2 + (k as f64).ln() as usize;
    let mut centers = rows.row(rng.below(rows.n_rows())).to_vec();
    let mut closest = Closest::new(rows, &centers, threads);
    while centers.len() < k * rows.dim() {
        let trials: Vec<usize> = (0..n_trials).map(|_| closest.draw(rows.n_rows(), rng)).collect();
        let potentials = closest.potentials(rows, &trials, threads);
        let mut best = 0;
        for trial in 1..n_trials {
            if potentials[trial] < potentials[best] {
                best = trial;
            }
        }
        let center = rows.row(trials[best]);
        centers.extend_from_slice(center);
        closest.add(rows, center, threads);
    }
    centers
}

/// $D^2$ of every row, in chunks, with the chunks' first rows and sums.
struct Closest {
    chunks: Vec<(usize, Vec<f64>)>,
    sums: Vec<f64>,
}

impl Closest {
    fn new(rows: Rows<'_>, center: &[f64], threads: usize) -> Closest {
        Closest::map(rows, threads, |_, _, squared| squared, center)
    }

    fn add(&mut self, rows: Rows<'_>, center: &[f64], threads: usize) {
        let chunks = &self.chunks;
        let closer = |chunk: usize, row: usize, squared: f64| {
            let (start, old) = &chunks[chunk];
            squared.min(old[row - start])
        };
        *self = Closest::map(rows, threads, closer, center);
    }

    /// `update(chunk, row, squared distance to the centre)` for every row.
    fn map(
        rows: Rows<'_>,
        threads: usize,
        update: impl Fn(usize, usize, f64) -> f64 + Sync,
        center: &[f64],
    ) -> Closest {
        let chunks = map_chunks(rows.n_rows(), threads, |chunk, range| {
            let start = range.start;
            let mut values = Vec::with_capacity(range.len());
            for_blocks(rows, range, |block| {
                let squared = block.squared_distances(center);
                values.extend((0..block.len).map(|lane| update(chunk, block.start + lane, squared[lane])));
            });
            (start, values)
        });
        let sums = chunks.iter().map(|(_, values)| values.iter().sum()).collect();
        Closest { chunks, sums }
    }

    /// A row with probability proportional to D^2; uniform if every row lies on a centre.
    fn draw(&self, n_rows: usize, rng: &mut Rng) -> usize {
        if !(self.sums.iter().sum::<f64>() > 0.0) {
            return rng.below(n_rows);
        }
        let (start, values) = &self.chunks[rng.choice(&self.sums)];
        start + rng.choice(values)
    }

    /// The sum of D^2 that each of the trial rows would leave as the next centre.
    fn potentials(&self, rows: Rows<'_>, trials: &[usize], threads: usize) -> Vec<f64> {
        let parts = map_chunks(rows.n_rows(), threads, |chunk, range| {
            let (start, old) = &self.chunks[chunk];
            let mut sums = vec![0.0; trials.len()];
            for_blocks(rows, range, |block| {
                let before = &old[block.start - start..][..block.len];
                for (sum, &trial) in sums.iter_mut().zip(trials) {
                    let squared: Lanes = block.squared_distances(rows.row(trial));
                    *sum += squared.iter().zip(before).map(|(new, old)| new.min(*old)).sum::<f64>();
                }
            });
            sums
        });
        let mut total = vec![0.0; trials.len()];
        for part in parts {
            total.iter_mut().zip(part).for_each(|(sum, value)| *sum += value);
        }
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_far_cluster_gets_a_start() {
        // Ten points 1e3 apart, 200 rows around each with standard deviation 1: a second centre in a cluster
        // has probability about 1e-5.
        let mut rng = Rng::new(1);
        let values: Vec<f64> = (0..2000).map(|i| f64::from(i % 10) * 1000.0 + rng.normal()).collect();
        let rows = Rows::new(&values, 1).expect("rows");
        for seed in 0..20 {
            let mut centers = plus_plus(rows, 10, &mut Rng::new(seed), 2);
            centers.sort_by(f64::total_cmp);
            for (number, center) in centers.iter().enumerate() {
                assert!((center - number as f64 * 1000.0).abs() < 10.0, "seed {seed}: {centers:?}");
            }
        }
    }

    #[test]
    fn identical_rows_still_give_k_centres() {
        let rows = [2.0; 30];
        let centers = plus_plus(Rows::new(&rows, 3).expect("rows"), 4, &mut Rng::new(1), 1);
        assert_eq!(centers, [2.0; 12]);
    }
}
