//! Relative SSE and adjusted Rand index.

use crate::error::{Error, Result, at_least_one, expect_len, positive};
use crate::kmeans::{KMeansParams, kmeans, sse};
use crate::rows::Rows;

/// The SSE that centres are compared with: the better of k-means with `params` and, where they are known, the
/// true means (k x d).
///
/// \[KTTG17\] and \[Sch21\] (section 5.4.2) take k-means alone; the true means guard against a bad k-means
/// run. Cost: that of k-means.
pub fn reference_sse(
    rows: Rows<'_>,
    k: usize,
    true_means: Option<&[f64]>,
    params: &KMeansParams,
) -> Result<f64> {
    let fitted = kmeans(rows, k, params)?.sse;
    match true_means {
        Some(means) => {
            expect_len("true means", means.len(), k * rows.dim())?;
            Ok(fitted.min(sse(rows, means)?))
        }
        None => Ok(fitted),
    }
}

/// Relative SSE: $\mathrm{SSE}(C) / \mathrm{SSE}_{\mathrm{ref}}$, where the reference is positive. 1 is as
/// good as k-means on all rows; papers call up to 1.2 or 2 a success.
pub fn rsse(rows: Rows<'_>, centers: &[f64], reference: f64) -> Result<f64> {
    positive("reference", reference)?;
    Ok(sse(rows, centers)? / reference)
}

/// Adjusted Rand index of two partitions of the same rows: 1 for equal partitions, 0 on average for
/// independent ones.
///
/// With $n_{ab}$ the rows of class a and cluster b, and margins $n_{a\cdot}$, $n_{\cdot b}$:
/// $$\mathrm{ARI} = \frac{S - E}{\tfrac12(A + B) - E},\quad S = \sum_{ab}\tbinom{n_{ab}}2,\ A = \sum_a \tbinom{n_{a\cdot}}2,\ B = \sum_b \tbinom{n_{\cdot b}}2,\ E = AB / \tbinom n2.$$
/// Two partitions that are both one cluster, or both all singletons, are equal: 1. Cost: a sort of n pairs.
pub fn ari(first: &[u32], second: &[u32]) -> Result<f64> {
    expect_len("labels of the second partition", second.len(), first.len())?;
    if first.is_empty() {
        return Err(Error::TooFewRows { what: "the adjusted Rand index", rows: 0, needed: 1 });
    }
    let mut both: Vec<(u32, u32)> = first.iter().copied().zip(second.iter().copied()).collect();
    let joint = pairs_within(&mut both);
    let a = pairs_within(&mut first.to_vec());
    let b = pairs_within(&mut second.to_vec());
    Ok(adjusted(joint, a, b, pairs(first.len() as u64)))
}

/// [`ari`] from the rows of each class and cluster, $n_{ab}$, class after class with `clusters` numbers each.
/// Cost: one pass over them.
pub fn ari_of_counts(counts: &[u64], clusters: usize) -> Result<f64> {
    at_least_one("clusters", clusters)?;
    expect_len("counts of whole classes", counts.len(), counts.len().next_multiple_of(clusters))?;
    let classes = counts.chunks_exact(clusters);
    let joint = counts.iter().map(|n| pairs(*n)).sum();
    let a = classes.clone().map(|class| pairs(class.iter().sum())).sum();
    let b = (0..clusters).map(|l| pairs(classes.clone().map(|class| class[l]).sum())).sum();
    Ok(adjusted(joint, a, b, pairs(counts.iter().sum())))
}

/// The index of the pairs of rows that are together in both partitions, in each, and of all pairs.
fn adjusted(joint: f64, a: f64, b: f64, all: f64) -> f64 {
    let expected = if all > 0.0 { a * b / all } else { 0.0 };
    let most = (a + b) / 2.0;
    // Equality means a = b = 0 or a = b = all pairs: both trivial in the same way.
    if most == expected { 1.0 } else { (joint - expected) / (most - expected) }
}

/// Pairs among n rows.
fn pairs(n: u64) -> f64 {
    n as f64 * (n as f64 - 1.0) / 2.0
}

/// Pairs of equal labels.
fn pairs_within<T: Ord>(labels: &mut [T]) -> f64 {
    labels.sort_unstable();
    labels.chunk_by(|a, b| a == b).map(|run| pairs(run.len() as u64)).sum()
}
