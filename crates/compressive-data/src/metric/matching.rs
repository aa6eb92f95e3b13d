//! Which estimated centre is which true one.

use crate::error::{Result, at_least_one, expect_len};

/// The best pairing of true and estimated centres.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Matching {
    /// The estimated centre paired with each true one.
    pub partner: Vec<usize>,
    /// The distance within each pair, in the order of the true centres.
    pub distances: Vec<f64>,
    /// Root of the mean squared distance.
    pub rms: f64,
}

/// Pairs k true with k estimated centres (k x d each) such that the sum of squared distances is least.
///
/// The Hungarian method with potentials (Kuhn 1955, Munkres 1957), exact. Cost: k^2 d + k^3.
pub fn match_centers(truth: &[f64], estimate: &[f64], dim: usize) -> Result<Matching> {
    at_least_one("dim", dim)?;
    at_least_one("centres", truth.len())?;
    expect_len("true centres", truth.len(), truth.len().div_ceil(dim) * dim)?;
    expect_len("estimated centres", estimate.len(), truth.len())?;
    let squared = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum::<f64>();
    let k = truth.len() / dim;
    let costs: Vec<f64> = truth
        .chunks_exact(dim)
        .flat_map(|a| estimate.chunks_exact(dim).map(move |b| squared(a, b)))
        // A centre that is not a number is as bad as can be, but still has to be paired.
        .map(|cost| if cost.is_finite() { cost } else { f64::MAX.sqrt() })
        .collect();
    let partner = assignment(&costs, k);
    let paired: Vec<f64> = partner.iter().enumerate().map(|(row, &column)| costs[row * k + column]).collect();
    Ok(Matching {
        rms: (paired.iter().sum::<f64>() / k as f64).sqrt(),
        distances: paired.iter().map(|cost| cost.sqrt()).collect(),
        partner,
    })
}

/// The column of each row in the cheapest assignment of a square cost matrix.
///
/// Rows enter one by one; each entry follows the shortest alternating path under reduced costs
/// `cost - u - v`, which stay nonnegative. Index 0 of the arrays stands for "none", so rows and columns count
/// from 1.
fn assignment(costs: &[f64], k: usize) -> Vec<usize> {
    let (mut u, mut v) = (vec![0.0; k + 1], vec![0.0; k + 1]);
    let mut row_of = vec![0; k + 1];
    for row in 1..=k {
        row_of[0] = row;
        let mut slack = vec![f64::INFINITY; k + 1];
        let mut previous = vec![0; k + 1];
        let mut done = vec![false; k + 1];
        let mut column = 0;
        while row_of[column] != 0 {
            done[column] = true;
            let current = row_of[column];
            let (mut delta, mut next) = (f64::INFINITY, 0);
            for candidate in (1..=k).filter(|&candidate| !done[candidate]) {
                let reduced = costs[(current - 1) * k + candidate - 1] - u[current] - v[candidate];
                if reduced < slack[candidate] {
                    slack[candidate] = reduced;
                    previous[candidate] = column;
                }
                if slack[candidate] < delta {
                    (delta, next) = (slack[candidate], candidate);
                }
            }
            for visited in 0..=k {
                if done[visited] {
                    u[row_of[visited]] += delta;
                    v[visited] -= delta;
                } else {
                    slack[visited] -= delta;
                }
            }
            column = next;
        }
        while column != 0 {
            row_of[column] = row_of[previous[column]];
            column = previous[column];
        }
    }
    let mut partner = vec![0; k];
    (1..=k).for_each(|column| partner[row_of[column] - 1] = column - 1);
    partner
}
