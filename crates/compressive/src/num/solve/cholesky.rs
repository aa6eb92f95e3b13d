//! Cholesky factor of a dense positive definite matrix: $A = R^\top R$ with $R$ upper triangular.
//!
//! Right-looking and blocked: a panel of [`BLOCK`] rows of $R$ is finished, then its outer product is taken
//! off all later rows, two rows and four panel rows at a time, so that each value loaded is used several
//! times. All inner loops run along rows of the row-major matrix.
//!
//! Cost: $n^3/3$ multiply-adds, no allocation. Only the upper triangle is read and written. There is no
//! pivoting: a matrix that is singular to rounding is refused, and the caller adds damping or drops a
//! variable.

use super::{add_scaled, dot};

/// Rows of a panel. 16 to 64 make no measurable difference at n = 200 and n = 500.
const BLOCK: usize = 32;

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
        update(tail, panel, n, end);
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

/// Takes `panel^T panel` off the rows `tail`, the first of which is row `first` of the matrix.
fn update(tail: &mut [f64], panel: &[f64], n: usize, first: usize) {
    for (pair, rows) in tail.chunks_mut(2 * n).enumerate() {
        let i = first + 2 * pair;
        let (upper, lower) = rows.split_at_mut(n);
        let upper = &mut upper[i..];
        // The entry below the diagonal that the second row of a pair also gets is never read.
        let lower = if lower.is_empty() { &mut [][..] } else { &mut lower[i..] };
        let mut blocks = panel.chunks_exact(4 * n);
        for four in &mut blocks {
            let [p0, p1, p2, p3] = [0, 1, 2, 3].map(|k| &four[k * n + i..(k + 1) * n]);
            if lower.is_empty() {
                for j in 0..upper.len() {
                    upper[j] -= p0[0] * p0[j] + p1[0] * p1[j] + p2[0] * p2[j] + p3[0] * p3[j];
                }
            } else {
                update_pair(upper, lower, [p0, p1, p2, p3]);
            }
        }
        for row in blocks.remainder().chunks_exact(n) {
            let p = &row[i..];
            add_scaled(upper, -p[0], p);
            if !lower.is_empty() {
                add_scaled(lower, -p[1], p);
            }
        }
    }
}

/// The inner loop: four rows of the panel off two rows of the matrix.
fn update_pair(upper: &mut [f64], lower: &mut [f64], p: [&[f64]; 4]) {
    let width = upper.len();
    let lower = &mut lower[..width];
    let [p0, p1, p2, p3] = p.map(|row| &row[..width]);
    let (a, b) = ([p0[0], p1[0], p2[0], p3[0]], [p0[1], p1[1], p2[1], p3[1]]);
    for j in 0..width {
        let (q0, q1, q2, q3) = (p0[j], p1[j], p2[j], p3[j]);
        upper[j] -= (a[0] * q0 + a[1] * q1) + (a[2] * q2 + a[3] * q3);
        lower[j] -= (b[0] * q0 + b[1] * q1) + (b[2] * q2 + b[3] * q3);
    }
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
