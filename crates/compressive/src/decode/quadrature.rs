//! k-means of a Nystrom sketch that is too small for anything else: the landmarks, weighted, are clustered.
//!
//! With fewer sums than parameters no fit of free atoms is determined. But the landmarks are rows of the data, and a sketch tells how many rows are around each:
//!
//! 1. weights $w \ge 0$ on the landmarks such that $\sum_j w_j\,\delta_{y_j}$ has the data's mean embedding as nearly as it can: $\min_w w^\top K w - 2 z^\top w$, non-negative least squares in
//!    the kernel's own norm (a quadrature rule);
//! 2. weighted k-means of the landmarks: k-means++ starts and Lloyd's rounds, the lowest sum of squares is kept.
//!
//! Cost: O(m^3) for the weights at worst, `starts` times `rounds` times k m d for the clustering. This project's own.

use crate::atom::{AtomFamily, Batch};
use crate::decode::target::Target;
use crate::linear::dot;
use crate::random::{Purpose, Stream};
use crate::solve::{NnlsParams, nnls};

/// k-means++ starts.
const STARTS: usize = 30;
/// Rounds of a run at most.
const ROUNDS: usize = 100;

/// k centres (k rows of d, working coordinates) and the weights of their clusters; none if the target has no landmarks, or fewer than k with any weight.
pub(crate) fn quadrature(target: &Target, k: usize, seed: u64) -> Option<(Vec<f64>, Vec<f64>)> {
    let (kernel, d) = (target.points.kernel()?, target.dim());
    // Step 1.
    let mut gram = Batch::default();
    target.points.sketch_batch(kernel.points(), &[], &mut gram);
    let m = target.size();
    (0..m).for_each(|i| gram.re[i * m + i] += 1e-8);
    let weights = nnls(&gram.re, &target.re, &NnlsParams::default()).0;
    let kept: Vec<usize> = (0..m).filter(|&j| weights[j] > 0.0).collect();
    if kept.len() < k {
        return None;
    }
    let points: Vec<&[f64]> = kept.iter().map(|&j| &kernel.points()[j * d..(j + 1) * d]).collect();
    let weights: Vec<f64> = kept.iter().map(|&j| weights[j]).collect();
    // Step 2.
    let mut stream = Stream::new(seed, Purpose::Decode, u64::MAX - 2);
    (0..STARTS)
        .map(|_| run(&points, &weights, k, &mut stream))
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, centres, shares)| (centres, shares))
}

/// Squared distance and index of the nearest centre.
fn nearest(x: &[f64], centres: &[f64]) -> (f64, usize) {
    let square = |c: &[f64]| {
        let difference: Vec<f64> = x.iter().zip(c).map(|(a, b)| a - b).collect();
        dot(&difference, &difference)
    };
    let distances = centres.chunks_exact(x.len()).map(square).enumerate();
    distances.fold((f64::INFINITY, 0), |best, (l, s)| if s < best.0 { (s, l) } else { best })
}

/// One run of Lloyd's algorithm on weighted points: sum of squares, centres, weights of the clusters.
fn run(points: &[&[f64]], weights: &[f64], k: usize, stream: &mut Stream) -> (f64, Vec<f64>, Vec<f64>) {
    let d = points[0].len();
    let mut centres: Vec<f64> = Vec::new();
    for _ in 0..k {
        let distance = |x: &[f64]| if centres.is_empty() { 1.0 } else { nearest(x, &centres).0 };
        let chances: Vec<f64> = points.iter().zip(weights).map(|(x, w)| w * distance(x)).collect();
        centres.extend_from_slice(points[super::greedy::roulette(&chances, stream)]);
    }
    let mut before = f64::INFINITY;
    let mut shares = vec![0.0; k];
    for _ in 0..ROUNDS {
        let (mut sums, mut total) = (vec![0.0; k * d], 0.0);
        shares.fill(0.0);
        for (x, w) in points.iter().zip(weights) {
            let (square, l) = nearest(x, &centres);
            total += w * square;
            shares[l] += w;
            sums[l * d..(l + 1) * d].iter_mut().zip(*x).for_each(|(s, x)| *s += w * x);
        }
        for (l, share) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
            (0..d).for_each(|c| centres[l * d + c] = sums[l * d + c] / share);
        }
        if !(total < before) {
            break;
        }
        before = total;
    }
    (before, centres, shares)
}
