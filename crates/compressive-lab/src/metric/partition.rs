//! Relative SSE and adjusted Rand index.

use crate::error::{Error, Result, expect_len, positive};
use crate::kmeans::{KMeansParams, kmeans, sse};
use crate::rows::Rows;

/// The SSE that centres are compared with: the better of k-means with `params` and, where they are known, the true means (k x d).
///
/// \[KTTG17\] and \[Sch21\] (section 5.4.2) take k-means alone; the true means guard against a bad k-means run. Cost: that of k-means.
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

/// Relative SSE: $\mathrm{SSE}(C) / \mathrm{SSE}_{\mathrm{ref}}$, where the reference is positive. 1 is as good as k-means on all rows; papers call up to 1.2 or 2 a success.
pub fn rsse(rows: Rows<'_>, centers: &[f64], reference: f64) -> Result<f64> {
    positive("reference", reference)?;
    Ok(sse(rows, centers)? / reference)
}

/// Adjusted Rand index of two partitions of the same rows: 1 for equal partitions, 0 on average for independent ones.
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
    let n = first.len() as f64;
    let all = n * (n - 1.0) / 2.0;
    let expected = if all > 0.0 { a * b / all } else { 0.0 };
    let most = (a + b) / 2.0;
    // Equality means a = b = 0 or a = b = all pairs: both trivial in the same way.
    Ok(if most == expected { 1.0 } else { (joint - expected) / (most - expected) })
}

/// Pairs of equal labels.
fn pairs_within<T: Ord>(labels: &mut [T]) -> f64 {
    labels.sort_unstable();
    labels.chunk_by(|a, b| a == b).map(|run| run.len() as f64 * (run.len() as f64 - 1.0) / 2.0).sum()
}
