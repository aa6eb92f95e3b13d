//! k-means on all rows: the baseline of compressive k-means.
//!
//! Minimises $\mathrm{SSE}(C) = \sum_i \min_l \lVert x_i - c_l\rVert^2$ by Lloyd's iteration from several
//! greedy k-means++ starts:
//!
//! 1. every row goes to its nearest centre;
//! 2. every centre becomes the mean of its rows; a centre left without rows moves to the row farthest from
//!    its own centre;
//! 3. stop when the centres' squared moves sum to at most `tolerance` times the mean variance of a column, or
//!    at `max_iterations`.
//!
//! The start with the lowest SSE is kept. The SSE never rises along a run: each step minimises it with the
//! other side fixed.
//!
//! Cost per iteration: 3 n k d operations in vector registers, over all threads; memory beside the rows: n
//! labels. What it does not do: bounds that skip distances (Hamerly, Elkan), mini-batches, row weights.
//! Reference: Lloyd (1982); Arthur and Vassilvitskii (2007) for k-means++.

mod seed;

use crate::block::for_blocks;
use crate::error::{Error, Result, at_least_one, expect_len};
use crate::parallel::map_chunks;
use crate::random::Rng;
use crate::rows::Rows;

pub(crate) use seed::plus_plus;

/// How to run k-means.
#[derive(Clone, Debug, PartialEq)]
pub struct KMeansParams {
    /// Starts, at least 1; the best is kept. Default 10.
    pub n_init: usize,
    /// Iterations of one start, at least 1. Default 300.
    pub max_iterations: usize,
    /// Squared moves of all centres that count as converged, relative to the mean variance of a column; 0 or
    /// more. Default 1e-4.
    pub tolerance: f64,
    /// Seed of the starts. Default 0.
    pub seed: u64,
    /// Threads; 0, the default, for all cores. Does not change the result.
    pub threads: usize,
}

impl Default for KMeansParams {
    fn default() -> KMeansParams {
        KMeansParams { n_init: 10, max_iterations: 300, tolerance: 1e-4, seed: 0, threads: 0 }
    }
}

/// Why a run stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// The change fell to the tolerance.
    Converged,
    /// The iterations were used up.
    MaxIterations,
}

/// How the best run went.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct KMeansInfo {
    /// Iterations of the best start.
    pub iterations: usize,
    /// Why it stopped.
    pub stop: Stop,
    /// The SSE of its centres before each iteration, and at the end; never rises.
    pub sse_history: Vec<f64>,
    /// Centres that lost all rows and were moved.
    pub relocated: usize,
    /// The SSE of every start, in order.
    pub sse_starts: Vec<f64>,
}

/// k centres and the partition they make.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct KMeans {
    /// k x d centres, row-major.
    pub centers: Vec<f64>,
    /// The nearest centre of every row. Every centre has a row, unless there are fewer than k distinct rows.
    pub labels: Vec<u32>,
    /// Sum of squared distances to the nearest centre.
    pub sse: f64,
    /// How the fit went.
    pub info: KMeansInfo,
}

/// The best of `n_init` runs of Lloyd's iteration from greedy k-means++ starts.
///
/// 1 <= k <= n. Cost: see the [module](mod@crate::kmeans).
pub fn kmeans(rows: Rows<'_>, k: usize, params: &KMeansParams) -> Result<KMeans> {
    check(rows, k, params)?;
    let mut best: Option<Run> = None;
    let mut sse_starts = Vec::with_capacity(params.n_init);
    for start in 0..params.n_init {
        let mut rng = Rng::derived(params.seed, start as u64);
        let run = iterate(rows, plus_plus(rows, k, &mut rng, params.threads), params);
        sse_starts.push(run.sse());
        if best.as_ref().is_none_or(|best| run.sse() < best.sse()) {
            best = Some(run);
        }
    }
    let best = best.expect("n_init is at least 1");
    Ok(finish(rows, best, sse_starts, params))
}

/// Lloyd's iteration from given centres (k x d, row-major); `n_init` and `seed` are not used.
pub fn lloyd(rows: Rows<'_>, centers: &[f64], params: &KMeansParams) -> Result<KMeans> {
    let k = check_centers(rows, centers)?;
    check(rows, k, params)?;
    let run = iterate(rows, centers.to_vec(), params);
    let sse_starts = vec![run.sse()];
    Ok(finish(rows, run, sse_starts, params))
}

/// $\sum_i \min_l \lVert x_i - c_l\rVert^2$ for centres of k rows of d, on all cores. Cost: 3 n k d
/// operations.
pub fn sse(rows: Rows<'_>, centers: &[f64]) -> Result<f64> {
    check_centers(rows, centers)?;
    Ok(tally(rows, centers, 0).sse)
}

/// The nearest of k centres for every row, on all cores.
pub fn assign(rows: Rows<'_>, centers: &[f64]) -> Result<Vec<u32>> {
    check_centers(rows, centers)?;
    Ok(nearest(rows, centers, 0).0)
}

fn check(rows: Rows<'_>, k: usize, params: &KMeansParams) -> Result<()> {
    at_least_one("k", k)?;
    at_least_one("n_init", params.n_init)?;
    at_least_one("max_iterations", params.max_iterations)?;
    if !(params.tolerance >= 0.0) {
        return Err(Error::Parameter { name: "tolerance", value: params.tolerance, allowed: "0 or more" });
    }
    if rows.n_rows() < k {
        return Err(Error::TooFewRows {
            what: "k-means with one row per centre",
            rows: rows.n_rows(),
            needed: k,
        });
    }
    Ok(())
}

/// The number of centres, at least 1 and all finite.
fn check_centers(rows: Rows<'_>, centers: &[f64]) -> Result<usize> {
    let k = centers.len().div_ceil(rows.dim()).max(1);
    expect_len("centres", centers.len(), k * rows.dim())?;
    match centers.iter().position(|value| !value.is_finite()) {
        Some(at) => Err(Error::Component {
            component: at / rows.dim(),
            what: "centre",
            value: centers[at],
            allowed: "finite",
        }),
        None => Ok(k),
    }
}

/// What step 2 needs of a partition.
struct Tally {
    sse: f64,
    counts: Vec<u64>,
    sums: Vec<f64>,
}

/// Assigns every row and sums the rows of every centre.
fn tally(rows: Rows<'_>, centers: &[f64], threads: usize) -> Tally {
    let (dim, k) = (rows.dim(), centers.len() / rows.dim());
    let empty = || Tally { sse: 0.0, counts: vec![0; k], sums: vec![0.0; k * dim] };
    let parts = map_chunks(rows.n_rows(), threads, |_, range| {
        let mut part = empty();
        for_blocks(rows, range, |block| {
            let (index, squared) = block.nearest(centers);
            for lane in 0..block.len {
                let center = index[lane] as usize;
                part.sse += squared[lane];
                part.counts[center] += 1;
                let sum = &mut part.sums[center * dim..(center + 1) * dim];
                sum.iter_mut().zip(rows.row(block.start + lane)).for_each(|(total, value)| *total += value);
            }
        });
        part
    });
    parts.into_iter().fold(empty(), |mut total, part| {
        total.sse += part.sse;
        total.counts.iter_mut().zip(&part.counts).for_each(|(sum, count)| *sum += count);
        total.sums.iter_mut().zip(&part.sums).for_each(|(sum, value)| *sum += value);
        total
    })
}

/// The nearest centre of every row and the squared distance to it.
fn nearest(rows: Rows<'_>, centers: &[f64], threads: usize) -> (Vec<u32>, Vec<f64>) {
    let parts = map_chunks(rows.n_rows(), threads, |_, range| {
        let mut part = (Vec::with_capacity(range.len()), Vec::with_capacity(range.len()));
        for_blocks(rows, range, |block| {
            let (index, squared) = block.nearest(centers);
            part.0.extend_from_slice(&index[..block.len]);
            part.1.extend_from_slice(&squared[..block.len]);
        });
        part
    });
    let mut all = (Vec::with_capacity(rows.n_rows()), Vec::with_capacity(rows.n_rows()));
    for (labels, squared) in parts {
        all.0.extend(labels);
        all.1.extend(squared);
    }
    all
}

/// One run, its partition not yet written out.
struct Run {
    centers: Vec<f64>,
    sse_history: Vec<f64>,
    stop: Stop,
    relocated: usize,
}

impl Run {
    fn sse(&self) -> f64 {
        self.sse_history.last().copied().unwrap_or(f64::INFINITY)
    }
}

fn iterate(rows: Rows<'_>, mut centers: Vec<f64>, params: &KMeansParams) -> Run {
    let move_max = params.tolerance * mean_variance(rows, params.threads);
    let (mut sse_history, mut relocated, mut stop) = (Vec::new(), 0, Stop::MaxIterations);
    for _ in 0..params.max_iterations {
        let mut tally = tally(rows, &centers, params.threads);
        sse_history.push(tally.sse);
        if tally.counts.contains(&0) {
            relocated += fill_empty(rows, &centers, &mut tally, params.threads);
        }
        let moved = move_centers(&mut centers, &tally);
        if moved <= move_max {
            stop = Stop::Converged;
            break;
        }
    }
    // Two passes over the same rows: the last one for the centres that are returned.
    sse_history.push(tally(rows, &centers, params.threads).sse);
    Run { centers, sse_history, stop, relocated }
}

/// Step 2: every centre that has rows becomes their mean; returns the sum of the squared moves.
fn move_centers(centers: &mut [f64], tally: &Tally) -> f64 {
    let dim = centers.len() / tally.counts.len();
    let mut moved = 0.0;
    let sums = tally.sums.chunks_exact(dim);
    for ((center, sum), &count) in centers.chunks_exact_mut(dim).zip(sums).zip(&tally.counts) {
        if count == 0 {
            continue;
        }
        for (coordinate, total) in center.iter_mut().zip(sum) {
            let mean = total / count as f64;
            moved += (mean - *coordinate) * (mean - *coordinate);
            *coordinate = mean;
        }
    }
    moved
}

/// Gives every centre without rows the row farthest from its own centre, and returns how many were moved.
///
/// A row is taken only from a centre that keeps another, and only if it does not lie on its centre: with
/// fewer distinct rows than centres there is nothing better than a centre without rows. Rare, so it spends a
/// pass and a sort.
fn fill_empty(rows: Rows<'_>, centers: &[f64], tally: &mut Tally, threads: usize) -> usize {
    let dim = rows.dim();
    let (labels, squared) = nearest(rows, centers, threads);
    let mut order: Vec<usize> = (0..rows.n_rows()).filter(|&row| squared[row] > 0.0).collect();
    order.sort_by(|&a, &b| squared[b].total_cmp(&squared[a]).then(a.cmp(&b)));
    let mut candidates = order.into_iter();
    let mut moved = 0;
    for empty in 0..tally.counts.len() {
        if tally.counts[empty] > 0 {
            continue;
        }
        let Some(row) = candidates.find(|&row| tally.counts[labels[row] as usize] > 1) else {
            break;
        };
        let donor = labels[row] as usize;
        tally.counts[donor] -= 1;
        tally.counts[empty] = 1;
        for (l, &value) in rows.row(row).iter().enumerate() {
            tally.sums[donor * dim + l] -= value;
            tally.sums[empty * dim + l] = value;
        }
        moved += 1;
    }
    moved
}

/// The mean over the columns of their variance; from two passes, so that a large offset costs no digits.
pub(crate) fn mean_variance(rows: Rows<'_>, threads: usize) -> f64 {
    let scale = 1.0 / rows.n_rows() as f64;
    let first = tally(rows, &vec![0.0; rows.dim()], threads);
    let mean: Vec<f64> = first.sums.iter().map(|sum| sum * scale).collect();
    tally(rows, &mean, threads).sse * scale / rows.dim() as f64
}

fn finish(rows: Rows<'_>, run: Run, sse_starts: Vec<f64>, params: &KMeansParams) -> KMeans {
    KMeans {
        labels: nearest(rows, &run.centers, params.threads).0,
        sse: run.sse(),
        info: KMeansInfo {
            iterations: run.sse_history.len() - 1,
            stop: run.stop,
            relocated: run.relocated,
            sse_history: run.sse_history,
            sse_starts,
        },
        centers: run.centers,
    }
}

#[cfg(test)]
mod tests;
