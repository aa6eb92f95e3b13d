//! The two steps of expectation-maximisation, on moments about the old means.
//!
//! With $\mu$ the old mean of a component, rows are summed as $s_0 = \sum r_i$, $s_1 = \sum r_i (x_i - \mu)$,
//! $S_2 = \sum r_i (x_i - \mu)(x_i - \mu)^\top$; then the new mean is $\mu + s_1/s_0$ and the new covariance
//! $S_2/s_0 - (s_1/s_0)(s_1/s_0)^\top$. Means move little between iterations, so that nothing cancels.

use crate::block::{Block, LANES, Lanes, for_blocks, sum_lanes};
use crate::density::{Density, center, log_sum_exp};
use crate::error::Result;
use crate::linear::floor_eigenvalues;
use crate::mixture::{Mixture, Shape};
use crate::parallel::map_chunks;
use crate::rows::Rows;

/// Weighted moments of k components about their old means.
#[derive(Clone, Debug)]
pub(crate) struct Moments {
    shape: Shape,
    dim: usize,
    /// $s_0$: k entries.
    pub(crate) weight: Vec<f64>,
    /// $s_1$: k x d.
    pub(crate) first: Vec<f64>,
    /// $S_2$: k x d, or the lower halves of k x d x d.
    pub(crate) second: Vec<f64>,
}

impl Moments {
    fn zeros(k: usize, dim: usize, shape: Shape) -> Moments {
        Moments {
            shape,
            dim,
            weight: vec![0.0; k],
            first: vec![0.0; k * dim],
            second: vec![0.0; k * shape.len(dim)],
        }
    }

    /// Adds a block with its responsibilities for one component; `differences` are the rows minus the
    /// component's mean.
    fn add(&mut self, component: usize, responsibility: &Lanes, differences: &[Lanes]) {
        let dim = self.dim;
        let len = self.shape.len(dim);
        self.weight[component] += sum_lanes(responsibility);
        let first = &mut self.first[component * dim..(component + 1) * dim];
        let second = &mut self.second[component * len..(component + 1) * len];
        for (i, difference) in differences.iter().enumerate() {
            let weighted = product(responsibility, difference);
            first[i] += sum_lanes(&weighted);
            match self.shape {
                Shape::Diagonal => second[i] += sum_lanes(&product(&weighted, difference)),
                Shape::Full => {
                    for (entry, other) in second[i * dim..=i * dim + i].iter_mut().zip(differences) {
                        *entry += sum_lanes(&product(&weighted, other));
                    }
                }
            }
        }
    }

    fn merge(&mut self, other: &Moments) {
        let add = |ours: &mut [f64], theirs: &[f64]| ours.iter_mut().zip(theirs).for_each(|(a, b)| *a += b);
        add(&mut self.weight, &other.weight);
        add(&mut self.first, &other.first);
        add(&mut self.second, &other.second);
    }
}

fn product(a: &Lanes, b: &Lanes) -> Lanes {
    std::array::from_fn(|lane| a[lane] * b[lane])
}

/// Step 1: the moments under the responsibilities, and the mean log-likelihood of the mixture.
pub(crate) fn expect(rows: Rows<'_>, mixture: &Mixture, threads: usize) -> Result<(Moments, f64)> {
    let density = Density::new(mixture)?;
    let (k, dim) = (mixture.k(), mixture.dim);
    let parts = map_chunks(rows.n_rows(), threads, |_, range| {
        let mut moments = Moments::zeros(k, dim, mixture.shape);
        let mut joint = vec![[0.0; LANES]; k];
        let mut differences = vec![[0.0; LANES]; dim];
        let mut log_likelihood = 0.0;
        for_blocks(rows, range, |block| {
            density.joint(block, &mut joint);
            let total = log_sum_exp(&mut joint);
            log_likelihood += total[..block.len].iter().sum::<f64>();
            for (component, share) in joint.iter().enumerate() {
                let responsibility = responsibilities(block, share);
                // Most rows belong to few components: what has no part in a block costs nothing more.
                if responsibility.iter().any(|&r| r > 0.0) {
                    center(block, mixture.mean(component), &mut differences);
                    moments.add(component, &responsibility, &differences);
                }
            }
        });
        (moments, log_likelihood)
    });
    let mut moments = Moments::zeros(k, dim, mixture.shape);
    let mut log_likelihood = 0.0;
    for (part, value) in &parts {
        moments.merge(part);
        log_likelihood += value;
    }
    Ok((moments, log_likelihood / rows.n_rows() as f64))
}

/// The shares of a component, zero for the lanes past the last row, and below 1e-18, which no sum would
/// notice.
fn responsibilities(block: &Block, share: &Lanes) -> Lanes {
    std::array::from_fn(|lane| if lane < block.len && share[lane] > 1e-18 { share[lane] } else { 0.0 })
}

/// The moments of a partition: every row counts for its nearest centre alone, about that centre.
pub(super) fn partition_moments(rows: Rows<'_>, centers: &[f64], shape: Shape, threads: usize) -> Moments {
    let dim = rows.dim();
    let k = centers.len() / dim;
    let parts = map_chunks(rows.n_rows(), threads, |_, range| {
        let mut moments = Moments::zeros(k, dim, shape);
        let mut differences = vec![[0.0; LANES]; dim];
        for_blocks(rows, range, |block| {
            let (index, _) = block.nearest(centers);
            for component in 0..k {
                let member = |lane| lane < block.len && index[lane] as usize == component;
                let responsibility: Lanes = std::array::from_fn(|lane| f64::from(u8::from(member(lane))));
                if responsibility.iter().any(|&r| r > 0.0) {
                    center(block, &centers[component * dim..(component + 1) * dim], &mut differences);
                    moments.add(component, &responsibility, &differences);
                }
            }
        });
        moments
    });
    parts.iter().fold(Moments::zeros(k, dim, shape), |mut total, part| {
        total.merge(part);
        total
    })
}

/// Step 2: the mixture of the moments, with the floor under its variances. A component without rows keeps its
/// old mean and covariance.
pub(super) fn maximize(moments: &Moments, old: &Mixture, n_rows: usize, floor: f64) -> Mixture {
    let dim = moments.dim;
    let len = moments.shape.len(dim);
    let mut new = old.clone();
    let total: f64 = moments.weight.iter().sum();
    for component in 0..old.k() {
        let weight = moments.weight[component];
        new.weights[component] = weight / total;
        // Below this share of one row the quotients are noise.
        if weight <= 1e-10 * n_rows as f64 / old.k() as f64 {
            continue;
        }
        let shift: Vec<f64> =
            moments.first[component * dim..(component + 1) * dim].iter().map(|s| s / weight).collect();
        let mean = &mut new.means[component * dim..(component + 1) * dim];
        mean.iter_mut().zip(&shift).for_each(|(value, step)| *value += step);
        let second = &moments.second[component * len..(component + 1) * len];
        let covariance = &mut new.covariances[component * len..(component + 1) * len];
        match moments.shape {
            Shape::Diagonal => {
                for ((variance, square), step) in covariance.iter_mut().zip(second).zip(&shift) {
                    *variance = (square / weight - step * step).max(floor);
                }
            }
            Shape::Full => {
                for i in 0..dim {
                    for j in 0..=i {
                        let value = second[i * dim + j] / weight - shift[i] * shift[j];
                        covariance[i * dim + j] = value;
                        covariance[j * dim + i] = value;
                    }
                }
                floor_eigenvalues(covariance, dim, floor);
            }
        }
    }
    new
}
