//! k-means of a Nystrom sketch without any atoms: the landmarks, weighted, are clustered.
//!
//! The landmarks are rows of the data, and a sketch tells how many rows are around each:
//!
//! 1. weights $w \ge 0$ on the landmarks such that $\sum_j w_j\,\delta_{y_j}$ has the data's mean embedding
//!    as nearly as it can: $\min_w w^\top K w - 2 z^\top w$, non-negative least squares in the kernel's own
//!    norm (a quadrature rule);
//! 2. weighted k-means of the landmarks: k-means++ starts and Lloyd's rounds, the lowest sum of squares is
//!    kept.
//!
//! Cost: O(m^3) for the weights at worst, `starts` times `rounds` times k m d for the clustering. This
//! project's own.

use crate::density::atom::{AtomFamily, Batch};
use crate::density::target::Target;
use crate::num::lloyd::{Points, lloyd, nearest, plus_plus};
use crate::num::random::{Purpose, Stream};
use crate::num::solve::{NnlsParams, nnls};

/// k-means++ starts.
const STARTS: usize = 30;
/// Rounds of a run at most.
const ROUNDS: usize = 100;

/// Weighted landmarks and their k-means, in working coordinates.
pub(crate) struct Quadrature {
    /// The landmarks that have a weight, d numbers each.
    pub points: Vec<f64>,
    /// Their weights, about 1 in all.
    pub weights: Vec<f64>,
    /// k rows of d.
    pub centres: Vec<f64>,
    /// Weights of the clusters.
    pub shares: Vec<f64>,
    /// Weighted sum of squares.
    pub sse: f64,
}

impl Quadrature {
    /// Steps 1 and 2; none if the target has no landmarks, or fewer than k with any weight.
    pub fn new(target: &Target, k: usize, seed: u64) -> Option<Quadrature> {
        let (kernel, d, m) = (target.points.kernel()?, target.dim(), target.size());
        let mut gram = Batch::default();
        target.points.sketch_batch(kernel.points(), &[], &mut gram);
        (0..m).for_each(|i| gram.re[i * m + i] += 1e-8);
        let weights = nnls(&gram.re, &target.re, &NnlsParams::default()).0;
        let kept = || kernel.points().chunks_exact(d).zip(&weights).filter(|(_, w)| **w > 0.0);
        if kept().count() < k {
            return None;
        }
        let points: Vec<f64> = kept().flat_map(|(x, _)| x).copied().collect();
        let weights: Vec<f64> = kept().map(|(_, w)| *w).collect();
        let mut stream = Stream::new(seed, Purpose::Decode, u64::MAX - 2);
        let weighted = Points { rows: &points, weights: Some(&weights), dim: d };
        let runs = (0..STARTS).map(|_| lloyd(weighted, plus_plus(weighted, k, &mut stream), ROUNDS));
        let best = runs.min_by(|a, b| a.cost.total_cmp(&b.cost))?;
        Some(Quadrature { centres: best.centers, shares: best.counts, sse: best.cost, points, weights })
    }

    /// Number d of coordinates.
    pub fn dim(&self) -> usize {
        self.points.len() / self.weights.len()
    }

    /// For each landmark k numbers, 1 at its cluster and 0 elsewhere.
    pub fn memberships(&self) -> Vec<f64> {
        let (d, k) = (self.dim(), self.shares.len());
        let clusters = self.points.chunks_exact(d).map(|x| nearest(x, &self.centres, d).0);
        clusters.flat_map(|cluster| (0..k).map(move |l| f64::from(u8::from(l == cluster)))).collect()
    }

    /// The weighted sum of squares of other centres.
    pub fn sse_of(&self, centres: &[f64]) -> f64 {
        Points { rows: &self.points, weights: Some(&self.weights), dim: self.dim() }.sse(centres)
    }
}
