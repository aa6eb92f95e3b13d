//! Non-negative least squares with many variables by block principal pivoting.
//!
//! $$ \min_{x \ge 0} \tfrac12 x^\top H x - h^\top x, \qquad H = G + \lambda I \text{ positive definite}. $$
//!
//! Steps, in the manner of \[KP11\] section 3:
//!
//! 1. start with all variables passive (free to be positive);
//! 2. solve $H_{PP}\, x_P = h_P$, and the gradient $y = H x - h$ of the others;
//! 3. variables break the conditions where a passive one is negative or the gradient of another is; stop if
//!    there is none;
//! 4. exchange all of them while their number falls below the lowest so far, or some rounds of grace remain;
//!    else only the last of them, which ends for certain.
//!
//! Where most weights are positive in the end, some five to fifteen solves suffice, where an active-set
//! method that lets variables in one by one would take as many as there are weights. Cost: $k^3/6$
//! multiply-adds a solve.
//!
//! Reference: \[KP11\] J. Kim, H. Park, "Fast nonnegative matrix factorization: an active-set-like method and
//! comparisons", SIAM J. Sci. Comput. 33(6), 2011.

use super::cholesky;

/// Rounds that may fail to lower the number of broken conditions before one variable moves at a time.
const GRACE: usize = 3;
/// Rounds at most.
const ROUNDS: usize = 200;
/// Pivots below this part of their diagonal are taken as zero.
const RANK: f64 = 1e-12;

/// The minimiser, its passive variables, and the upper Cholesky factor of their block of H.
pub(crate) struct Pivoted {
    /// Weights, not negative.
    pub x: Vec<f64>,
    /// Indices of the passive variables.
    pub passive: Vec<usize>,
    /// Upper factor of $H_{PP}$, row-major.
    pub factor: Vec<f64>,
}

/// Minimises $\tfrac12 x^\top H x - h^\top x$ over $x \ge 0$; `gram` is G, k x k row-major, and `ridge` is
/// $\lambda$. None if H is not positive definite to rounding.
pub(crate) fn pivot(gram: &[f64], ridge: f64, h: &[f64]) -> Option<Pivoted> {
    let k = h.len();
    // Step 1.
    let mut is_passive = vec![true; k];
    let (mut fewest, mut grace) = (usize::MAX, GRACE);
    let mut last: Option<Pivoted> = None;
    for _ in 0..ROUNDS {
        // Step 2.
        let memory = last.take().map(|state| state.factor).unwrap_or_default();
        let state = solve(gram, ridge, h, &is_passive, memory)?;
        let mut gradient = h.iter().map(|h| -h).collect::<Vec<f64>>();
        for &j in state.passive.iter().filter(|&&j| state.x[j] != 0.0) {
            let value = state.x[j];
            gradient.iter_mut().zip(&gram[j * k..(j + 1) * k]).for_each(|(g, h)| *g += value * h);
            gradient[j] += ridge * value;
        }
        // Step 3.
        let slack = |j: usize| 1e-12 * h[j].abs();
        let broken: Vec<usize> = (0..k)
            .filter(|&j| if is_passive[j] { state.x[j] < 0.0 } else { gradient[j] < -slack(j) })
            .collect();
        if broken.is_empty() {
            return Some(state);
        }
        // Step 4.
        if broken.len() < fewest {
            (fewest, grace) = (broken.len(), GRACE);
        } else {
            grace = grace.saturating_sub(1);
        }
        let exchanged =
            if broken.len() <= fewest || grace > 0 { &broken[..] } else { &broken[broken.len() - 1..] };
        exchanged.iter().for_each(|&j| is_passive[j] = !is_passive[j]);
        last = Some(state);
    }
    let mut state = last?;
    state.x.iter_mut().for_each(|x| *x = x.max(0.0));
    Some(state)
}

/// Step 2's solution; its factor is made in `factor`, whatever that held.
fn solve(gram: &[f64], ridge: f64, h: &[f64], is_passive: &[bool], mut factor: Vec<f64>) -> Option<Pivoted> {
    let k = h.len();
    let passive: Vec<usize> = (0..k).filter(|&j| is_passive[j]).collect();
    let n = passive.len();
    factor.resize(n * n, 0.0);
    for (row, &i) in factor.chunks_exact_mut(n.max(1)).zip(&passive) {
        row.iter_mut().zip(&passive).for_each(|(value, &j)| *value = gram[i * k + j]);
    }
    (0..n).for_each(|i| factor[i * n + i] += ridge);
    if !cholesky::factor(&mut factor, n, RANK) {
        return None;
    }
    let mut found: Vec<f64> = passive.iter().map(|&j| h[j]).collect();
    cholesky::solve(&factor, n, &mut found);
    let mut x = vec![0.0; k];
    passive.iter().zip(&found).for_each(|(&j, value)| x[j] = *value);
    Some(Pivoted { x, passive, factor })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::random::{Purpose, Stream};
    use crate::num::solve::{NnlsParams, nnls};

    #[test]
    fn it_agrees_with_the_active_set_method() {
        for (seed, k) in [(1, 5), (2, 30), (3, 120)] {
            let mut stream = Stream::new(seed, Purpose::PilotMixture, 0);
            let rows = 2 * k;
            let a: Vec<f64> = (0..rows * k).map(|_| stream.normal()).collect();
            let b: Vec<f64> = (0..rows).map(|_| stream.normal()).collect();
            let at = |i: usize, j: usize| a[i * k + j];
            let mut gram = vec![0.0; k * k];
            for i in 0..k {
                for j in 0..k {
                    gram[i * k + j] = (0..rows).map(|r| at(r, i) * at(r, j)).sum();
                }
            }
            let h: Vec<f64> = (0..k).map(|j| (0..rows).map(|r| at(r, j) * b[r]).sum()).collect();
            let (expected, _) = nnls(&gram, &h, &NnlsParams::default());
            let found = pivot(&gram, 0.0, &h).expect("positive definite");
            for (x, y) in found.x.iter().zip(&expected) {
                assert!((x - y).abs() < 1e-9, "{x} {y}");
            }
            assert!(found.x.contains(&0.0), "some are at zero");
        }
    }

    #[test]
    fn a_singular_matrix_is_refused() {
        assert!(pivot(&[1.0, 1.0, 1.0, 1.0], 0.0, &[1.0, 1.0]).is_none());
    }
}
