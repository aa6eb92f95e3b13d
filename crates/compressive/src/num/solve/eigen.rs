//! Eigenvalues and eigenvectors of a dense symmetric matrix: Householder reduction to tridiagonal form, then
//! implicit QL (\[MRW68\], \[BMRW71\]).
//!
//! Steps:
//!
//! 1. $A = Q T Q^\top$ with T tridiagonal, by d - 2 reflections from the last row up.
//! 2. T is made diagonal by plane rotations with implicit shifts, which are applied to the rows of $Q^\top$
//!    as well, so that each eigenvector lies in one row.
//! 3. Sorted, the largest first.
//!
//! Cost: $\tfrac43 d^3$ for step 1, about $3 d^3$ for the rotations, $\tfrac43 d^3$ for Q. Only IEEE
//! operations and square roots, in a fixed order.

use super::{add_scaled, dot};

/// Rotations' rounds for one eigenvalue; two or three are usual.
const ROUNDS_MAX: usize = 60;

/// The eigenvalues, the largest first, and the eigenvectors as rows (n x n, row-major). Only the lower
/// triangle of the row-major `matrix` is read.
///
/// Orthonormal to rounding, and with an error of a few roundings of the largest eigenvalue, whatever the
/// matrix.
pub fn symmetric_eigen(matrix: &[f64], n: usize) -> (Vec<f64>, Vec<f64>) {
    debug_assert_eq!(matrix.len(), n * n);
    let (mut diagonal, mut off, mut vectors) = tridiagonal(matrix, n);
    diagonalise(&mut diagonal, &mut off, &mut vectors, n);
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| diagonal[b].total_cmp(&diagonal[a]));
    let sorted = order.iter().flat_map(|&i| vectors[i * n..(i + 1) * n].iter().copied()).collect();
    (order.iter().map(|&i| diagonal[i]).collect(), sorted)
}

/// Step 1: diagonal, off-diagonal (entry i couples i - 1 and i), and $Q^\top$.
fn tridiagonal(matrix: &[f64], n: usize) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let mut a = matrix.to_vec();
    for i in 0..n {
        for j in 0..i {
            a[j * n + i] = a[i * n + j];
        }
    }
    let mut off = vec![0.0; n];
    // Reflections I - 2 v v^T / |v|^2, kept in order.
    let mut reflections: Vec<(usize, Vec<f64>)> = Vec::with_capacity(n);
    for i in (2..n).rev() {
        let mut v = a[i * n..i * n + i].to_vec();
        let scale = v.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        let rest = v[..i - 1].iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        if rest == 0.0 {
            off[i] = v[i - 1];
            continue;
        }
        v.iter_mut().for_each(|x| *x /= scale);
        let norm = dot(&v, &v).sqrt();
        let image = if v[i - 1] > 0.0 { -norm } else { norm };
        v[i - 1] -= image;
        off[i] = scale * image;
        reflect(&mut a, n, i, &v);
        reflections.push((i, v));
    }
    if n > 1 {
        off[1] = a[n];
    }
    let diagonal = (0..n).map(|i| a[i * n + i]).collect();
    // Rows of Q^T = H_last ... H_first.
    let mut q = vec![0.0; n * n];
    (0..n).for_each(|i| q[i * n + i] = 1.0);
    for (i, v) in reflections.iter().rev() {
        let square = dot(v, v);
        for row in q.chunks_exact_mut(n) {
            let factor = -2.0 * dot(&row[..*i], v) / square;
            add_scaled(&mut row[..*i], factor, v);
        }
    }
    (diagonal, off, q)
}

/// $H B H$ of the leading i x i block B, $H = I - 2 v v^\top / |v|^2$: a symmetric update of rank two.
fn reflect(a: &mut [f64], n: usize, i: usize, v: &[f64]) {
    let square = dot(v, v);
    let mut p: Vec<f64> = (0..i).map(|r| 2.0 * dot(&a[r * n..r * n + i], v) / square).collect();
    let half = dot(&p, v) / square;
    add_scaled(&mut p, -half, v);
    for r in 0..i {
        let row = &mut a[r * n..r * n + i];
        add_scaled(row, -v[r], &p);
        add_scaled(row, -p[r], v);
    }
}

/// Step 2.
fn diagonalise(d: &mut [f64], e: &mut [f64], vectors: &mut [f64], n: usize) {
    // Entry i now couples i and i + 1.
    e.rotate_left(1);
    if n > 0 {
        e[n - 1] = 0.0;
    }
    let scale = d.iter().chain(e.iter()).fold(0.0, |most: f64, x| most.max(x.abs()));
    let small = |e: f64, a: f64, b: f64| {
        e.abs() <= f64::EPSILON * (a.abs() + b.abs())
            || e.abs() <= f64::MIN_POSITIVE.max(1e-17 * f64::EPSILON * scale)
    };
    for l in 0..n {
        for _ in 0..ROUNDS_MAX {
            let end = (l..n - 1).find(|&i| small(e[i], d[i], d[i + 1])).unwrap_or(n - 1);
            if end == l {
                break;
            }
            sweep(d, e, vectors, n, l, end);
        }
    }
}

/// One implicit QL round on the block l..=end.
fn sweep(d: &mut [f64], e: &mut [f64], vectors: &mut [f64], n: usize, l: usize, end: usize) {
    let mut g = (d[l + 1] - d[l]) / (2.0 * e[l]);
    let root = (g * g + 1.0).sqrt();
    g = d[end] - d[l] + e[l] / (g + if g >= 0.0 { root } else { -root });
    let (mut sine, mut cosine, mut p) = (1.0, 1.0, 0.0);
    for i in (l..end).rev() {
        let (f, b) = (sine * e[i], cosine * e[i]);
        let r = (f * f + g * g).sqrt();
        e[i + 1] = r;
        if r == 0.0 {
            // The block falls apart here; the next round sees the pieces.
            d[i + 1] -= p;
            e[end] = 0.0;
            return;
        }
        (sine, cosine) = (f / r, g / r);
        g = d[i + 1] - p;
        let r = (d[i] - g) * sine + 2.0 * cosine * b;
        p = sine * r;
        d[i + 1] = g + p;
        g = cosine * r - b;
        let (upper, lower) = vectors.split_at_mut((i + 1) * n);
        for (a, b) in upper[i * n..].iter_mut().zip(&mut lower[..n]) {
            (*a, *b) = (cosine * *a - sine * *b, sine * *a + cosine * *b);
        }
    }
    d[l] -= p;
    e[l] = g;
    e[end] = 0.0;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::random::{Purpose, Stream};

    /// Largest entries of $A - V^\top \Lambda V$ and of $V V^\top - I$.
    fn errors(a: &[f64], n: usize) -> (f64, f64) {
        let (values, v) = symmetric_eigen(a, n);
        assert!(values.windows(2).all(|w| w[0] >= w[1]), "{values:?}");
        let (mut matrix, mut unit) = (0.0f64, 0.0f64);
        for i in 0..n {
            for j in 0..n {
                let built: f64 = (0..n).map(|l| values[l] * v[l * n + i] * v[l * n + j]).sum();
                matrix = matrix.max((built - a[i * n + j]).abs());
                let product = dot(&v[i * n..(i + 1) * n], &v[j * n..(j + 1) * n]);
                unit = unit.max((product - if i == j { 1.0 } else { 0.0 }).abs());
            }
        }
        (matrix, unit)
    }

    fn random(n: usize, rank: usize, seed: u64) -> Vec<f64> {
        let mut stream = Stream::new(seed, Purpose::Decode, 0);
        let root: Vec<f64> = (0..rank * n).map(|_| stream.normal()).collect();
        let entry = |i: usize, j: usize| (0..rank).map(|l| root[l * n + i] * root[l * n + j]).sum::<f64>();
        (0..n * n).map(|at| entry(at / n, at % n)).collect()
    }

    #[test]
    fn the_matrix_is_rebuilt_for_every_size_and_rank() {
        for n in [1usize, 2, 3, 4, 5, 10, 33, 80] {
            for rank in [1, 2, n.div_ceil(2), n, 2 * n] {
                let a = random(n, rank, (n * 100 + rank) as u64);
                let largest = a.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
                let (matrix, unit) = errors(&a, n);
                assert!(
                    matrix < 1e-13 * (n as f64) * largest && unit < 1e-13 * n as f64,
                    "{n} {rank}: {matrix} {unit}"
                );
            }
        }
    }

    #[test]
    fn special_matrices_have_their_known_eigenvalues() {
        assert_eq!(symmetric_eigen(&[2.0, 0.0, 0.0, 5.0], 2), (vec![5.0, 2.0], vec![0.0, 1.0, 1.0, 0.0]));
        let zero = symmetric_eigen(&[0.0; 9], 3);
        assert_eq!(zero.0, [0.0; 3]);
        // The second difference matrix: 2 - 2 cos(pi j / (n + 1)).
        let n = 40;
        let entry = |i: usize, j: usize| match i.abs_diff(j) {
            0 => 2.0,
            1 => -1.0,
            _ => 0.0,
        };
        let a: Vec<f64> = (0..n * n).map(|at| entry(at / n, at % n)).collect();
        let (values, _) = symmetric_eigen(&a, n);
        for (j, value) in values.iter().rev().enumerate() {
            let exact = 2.0 - 2.0 * (std::f64::consts::PI * (j + 1) as f64 / (n + 1) as f64).cos();
            assert!((value - exact).abs() < 1e-13, "{j}: {value} {exact}");
        }
        // Equal eigenvalues, and entries of very different size.
        for a in [vec![1.0; 25], (0..25).map(|at| 10f64.powi(-3 * (at / 5 + at % 5))).collect()] {
            let (matrix, unit) = errors(&a, 5);
            assert!(matrix < 1e-14 && unit < 1e-13, "{matrix} {unit}");
        }
    }
}
