//! The quadratic feature's sensitivity, from its directions and the data box.
//!
//! With $t = V u$ the projections of a row (2m of them for complex directions),
//! $Q = \sup_u \lVert V u \rVert^2$ over the box, $Q_1$ the same for the rows of V whose projections are
//! summed themselves, and $D_1 = \sup_{u, u'} \lVert V_1 (u - u') \rVert^2$, one row adds at most
//!
//! | | L1 | L2 squared |
//! |---|---|---|
//! | add or remove | $Q + \sqrt{m Q_1}$ | $Q + Q_1$ |
//! | replace | $\min(2Q, m) + \sqrt{m D_1}$ | $\min(2Q, m) + D_1$ |
//!
//! in units of $2^{24}$: squares are at most 1, so that $\sum t^4 \le \sum t^2$; they are not negative, so
//! that $|a - b| \le \max(a, b)$ and $(a - b)^2 \le a^2 + b^2$; and $\sum |t_j| \le \sqrt{m \sum t_j^2}$. A
//! supremum of $u^\top G u$ over the box is bounded, with $U_c = \max |u_c|$, by the least of
//! $\lambda_{\max}(G) \lVert U \rVert^2$, $d\,\lambda_{\max}(\mathrm{diag}(U)\,G\,\mathrm{diag}(U))$ and
//! $\sum_{c, c'} |G_{cc'}| U_c U_{c'}$.
//!
//! What the kernel's f32 arithmetic and the rounding to the grid add is bounded entry by entry. The test
//! `no_search_passes_the_quadratic_bounds` looks for rows that pass them.

use crate::num::linear::{multiply, transposed_multiply};
use crate::privacy::sensitivity::{Neighbours, Sensitivity};
use crate::sketch::Sketch;
use crate::sketch::map::moments::{DataBox, projection_error};
use crate::sketch::operator::SketchOperator;

/// The bounds of the module's table.
pub(super) fn sensitivity(operator: &SketchOperator, neighbours: Neighbours) -> Sensitivity {
    let spec = operator.spec();
    let (m, dim) = (spec.size as f64, operator.dim());
    let Some(bounds) = &spec.bounds else { unreachable!("validated") };
    let data_box = DataBox::of(&spec.transform, bounds);
    let most = data_box.norms_max();
    let rows = operator.frequencies();
    let (all, real) = (gram(rows, dim), gram(&rows[..spec.size * dim], dim));
    let squares = supremum(&all, &most).min(m);
    let (squares, values) = match neighbours {
        Neighbours::AddRemove => (squares, supremum(&real, &most).min(m)),
        Neighbours::Replace => ((2.0 * squares).min(m), supremum(&real, &data_box.widths()).min(4.0 * m)),
    };
    let (l1, l2) = (squares + (m * values).sqrt(), (squares + values).sqrt());
    // Each entry of one row is wrong by at most `error` in the squares and in the values; two rows by twice
    // that.
    let error = entry_error(operator) * if neighbours == Neighbours::Replace { 2.0 } else { 1.0 };
    const UNIT: f64 = (1u64 << Sketch::GRID_BITS) as f64;
    const SLACK: f64 = 1.0 + 1e-9;
    let l1 = (l1 + 2.0 * m * error) * SLACK * UNIT;
    let l2 = (l2 + (2.0 * m).sqrt() * error) * SLACK * UNIT;
    Sensitivity { l1: l1.ceil() as u128, l2_squared: (l2 * l2).ceil() as u128 }
}

/// Largest error of an entry of one row, squares and values alike: with $\delta$ that of a projection,
/// $2\delta + \delta^2$ for each square, and the rounding to the grid.
fn entry_error(operator: &SketchOperator) -> f64 {
    const GRID: f64 = 1.0 / (1u64 << Sketch::GRID_BITS) as f64;
    let delta = projection_error(operator.spec());
    operator.spec().map.parts() as f64 * (2.0 * delta + delta * delta + GRID)
}

/// $V^\top V$.
fn gram(rows: &[f64], dim: usize) -> Vec<f64> {
    let mut out = vec![0.0; dim * dim];
    transposed_multiply(rows, rows, dim, &mut out);
    out
}

/// A bound of $u^\top G u$ over $|u_c| \le U_c$.
fn supremum(gram: &[f64], most: &[f64]) -> f64 {
    let dim = most.len();
    let scaled: Vec<f64> = (0..dim * dim).map(|at| gram[at] * most[at / dim] * most[at % dim]).collect();
    let entries = scaled.iter().map(|x| x.abs()).sum::<f64>();
    let norm = most.iter().map(|u| u * u).sum::<f64>();
    let round = largest_eigenvalue(gram.to_vec(), dim) * norm;
    let cube = largest_eigenvalue(scaled, dim) * dim as f64;
    entries.min(round).min(cube)
}

/// Columns up to which eigenvalues are bounded by powers of the matrix.
const POWERS_MAX: usize = 1000;

/// An upper bound of the largest eigenvalue of a positive semidefinite matrix:
/// $\lambda_{\max} \le \lVert G^{256} \rVert_F^{1/256}$, which is at most $d^{1/512}$ too large, or the
/// largest sum of absolute values of a row if there are many columns.
fn largest_eigenvalue(mut g: Vec<f64>, dim: usize) -> f64 {
    let rows = g.chunks_exact(dim).map(|row| row.iter().map(|x| x.abs()).sum::<f64>()).fold(0.0, f64::max);
    if dim > POWERS_MAX || !(rows > 0.0) {
        return rows;
    }
    let (mut log, mut power) = (0.0, 1.0);
    let mut square = vec![0.0; dim * dim];
    for step in 0..=8 {
        let norm = g.iter().map(|x| x * x).sum::<f64>().sqrt();
        log += norm.ln() / power;
        if step == 8 || !(norm > 0.0) {
            break;
        }
        g.iter_mut().for_each(|x| *x /= norm);
        multiply(&g, &g, dim, &mut square);
        std::mem::swap(&mut g, &mut square);
        power *= 2.0;
    }
    // Rounding of the products, far below the slack.
    rows.min(log.exp() * (1.0 + 1e-9))
}
