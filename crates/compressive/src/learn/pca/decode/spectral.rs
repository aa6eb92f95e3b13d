//! Where the factorised decoder starts: eigenvectors of the weighted sum of the directions.
//!
//! For directions x uniform on the sphere
//! $\mathbb E\,[x^\top \Sigma x \cdot x x^\top] = (2\Sigma + \mathrm{tr}\Sigma\, I) / (d(d + 2))$, and for
//! complex ones, whose parts make up the sphere together, $(\Sigma + \mathrm{tr}\Sigma\, I) / (d(d + 1))$. So
//! the sum $S = \tfrac1m \sum_j (s_j - \bar s)\, x_j x_j^\top$ has the eigenvectors of $\Sigma$, up to the
//! scatter of the draw, and its eigenvalues tell those of $\Sigma$.
//!
//! Steps: block power iteration on $S + cI$, c such that the negative eigenvalues do not lead, then a
//! Rayleigh-Ritz step. Cost: 40 times m d (k + 5).

use crate::learn::pca::decode::Measurements;
use crate::num::linear::{multiply, multiply_transposed, transposed_multiply};
use crate::num::random::{Purpose, Stream};
use crate::num::solve::symmetric_eigen;

/// Power steps: the start needs directions, not digits.
const STEPS: usize = 40;
/// Vectors iterated besides those wanted: the last of a block converge slowly.
const SPARE: usize = 5;

/// The `k` leading eigenvectors (columns of a d x k matrix) times the roots of the eigenvalues of
/// $\Sigma - \lambda I$, $\lambda$ the mean variance.
pub(super) fn start(data: &Measurements, k: usize) -> Vec<f64> {
    let (d, m) = (data.dim, data.size() as f64);
    let complex = data.directions.len() > data.size() * d;
    let dim = d as f64;
    let factor = if complex { dim * (dim + 1.0) } else { 0.5 * dim * (dim + 2.0) };
    let residuals: Vec<f64> = data.values.iter().map(|s| factor / m * (s - 1.0)).collect();
    let block = (k + SPARE).min(d);
    let mut stream = Stream::new(0, Purpose::Decode, u64::MAX - 7);
    let mut basis: Vec<f64> = (0..d * block).map(|_| stream.normal()).collect();
    orthonormalise(&mut basis, d, block);
    let mut image = vec![0.0; d * block];
    for _ in 0..STEPS {
        product(data, &residuals, &basis, &mut image);
        // The mean variance is 1 in these units, so that no eigenvalue of the expected matrix is below -1.
        basis.iter_mut().zip(&image).for_each(|(b, i)| *b += i);
        orthonormalise(&mut basis, d, block);
    }
    product(data, &residuals, &basis, &mut image);
    let mut small = vec![0.0; block * block];
    transposed_multiply(&basis, &image, block, &mut small);
    let (values, vectors) = symmetric_eigen(&small, block);
    let mut ritz = vec![0.0; d * block];
    multiply_transposed(&basis, &vectors, block, &mut ritz);
    let mut out = vec![0.0; d * k];
    for (row, from) in out.chunks_exact_mut(k).zip(ritz.chunks_exact(block)) {
        for (l, x) in row.iter_mut().enumerate() {
            *x = from[l] * values[l].max(FLOOR).sqrt();
        }
    }
    out
}

/// Least eigenvalue of a component at the start, relative to the mean variance: from zero it could not grow.
const FLOOR: f64 = 1e-3;

/// $\sum_j r_j\, x_j x_j^\top B$, as columns of a row-major d x block matrix.
fn product(data: &Measurements, residuals: &[f64], basis: &[f64], out: &mut [f64]) {
    let block = basis.len() / data.dim;
    let mut images = vec![0.0; data.directions.len() / data.dim * block];
    multiply(&data.directions, basis, block, &mut images);
    let scaled = data.scaled_rows(&images, residuals, block);
    transposed_multiply(&data.directions, &scaled, data.dim, out);
}

/// Modified Gram-Schmidt, twice, on the columns of a d x `columns` matrix.
fn orthonormalise(basis: &mut [f64], d: usize, columns: usize) {
    for _ in 0..2 {
        for c in 0..columns {
            for before in 0..c {
                let dot: f64 = (0..d).map(|i| basis[i * columns + c] * basis[i * columns + before]).sum();
                (0..d).for_each(|i| basis[i * columns + c] -= dot * basis[i * columns + before]);
            }
            let norm = (0..d).map(|i| basis[i * columns + c].powi(2)).sum::<f64>().sqrt().max(1e-300);
            (0..d).for_each(|i| basis[i * columns + c] /= norm);
        }
    }
}
