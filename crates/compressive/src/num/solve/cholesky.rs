//! Cholesky factor of a dense positive definite matrix: $A = R^\top R$ with $R$ upper triangular.
//!
//! Right-looking and blocked: a panel of [`BLOCK`] rows of $R$ is finished, then its product with itself is
//! taken off all later rows. All inner loops run along rows of the row-major matrix.
//!
//! Cost: $n^3/6$ multiply-adds, nearly all of them in matrix products. Only the upper triangle is read; what
//! is written below it has no meaning. There is no pivoting: a matrix that is singular to rounding is
//! refused, and the caller adds damping or drops a variable.

use compressive_kernels::subtract_gram;

use super::{add_scaled, dot};

/// Rows of a panel: few enough that those of a panel, which are no products, are a small part of the work.
const BLOCK: usize = 48;

/// Replaces the upper triangle of the row-major `a` (n x n) by $R$.
///
/// Returns false, with `a` spoilt, if a pivot is not above `relative_floor` times its diagonal entry (or is
/// NaN).
pub(crate) fn factor(a: &mut [f64], n: usize, relative_floor: f64) -> bool {
    debug_assert_eq!(a.len(), n * n);
    let floors: Vec<f64> = (0..n).map(|i| relative_floor * a[i * n + i]).collect();
    for start in (0..n).step_by(BLOCK) {
        let end = n.min(start + BLOCK);
        let (head, tail) = a.split_at_mut(end * n);
        let panel = &mut head[start * n..];
        if !factor_panel(panel, n, start, &floors) {
            return false;
        }
        subtract_gram(panel, n, tail);
    }
    true
}

/// Factors the panel whose first row is row `start` of the matrix.
fn factor_panel(panel: &mut [f64], n: usize, start: usize, floors: &[f64]) -> bool {
    for k in 0..panel.len() / n {
        let column = start + k;
        let (done, later) = panel.split_at_mut((k + 1) * n);
        let row = &mut done[k * n + column..];
        let pivot = row[0];
        if !(pivot > floors[column] && pivot > 0.0 && pivot.is_finite()) {
            return false;
        }
        let root = pivot.sqrt();
        row[0] = root;
        for value in &mut row[1..] {
            *value /= root;
        }
        for (ahead, target) in later.chunks_exact_mut(n).enumerate() {
            add_scaled(&mut target[column + 1 + ahead..], -row[1 + ahead], &row[1 + ahead..]);
        }
    }
    true
}

/// Solves $R^\top y = b$ in place for a `b` that is zero before `from`. Cost: $(n - from)^2 / 2$
/// multiply-adds.
pub(crate) fn solve_lower(r: &[f64], n: usize, from: usize, b: &mut [f64]) {
    for i in from..n {
        let row = &r[i * n..(i + 1) * n];
        b[i] /= row[i];
        let value = b[i];
        add_scaled(&mut b[i + 1..n], -value, &row[i + 1..]);
    }
}

/// Solves $R^\top R x = b$ in place. Cost: $n^2$ multiply-adds.
pub(crate) fn solve(r: &[f64], n: usize, b: &mut [f64]) {
    solve_lower(r, n, 0, b);
    for i in (0..n).rev() {
        let row = &r[i * n..(i + 1) * n];
        b[i] = (b[i] - dot(&row[i + 1..], &b[i + 1..n])) / row[i];
    }
}

#[cfg(test)]
mod tests;
