//! Small dense symmetric matrices (d x d, row-major): Cholesky factor, its inverse, eigenvalues with a floor.

/// Lower factor L with $L L^\top = A$, zeros above the diagonal; `None` unless A is positive definite. Reads
/// the lower half. Cost: d^3/3.
pub(crate) fn cholesky(a: &[f64], dim: usize) -> Option<Vec<f64>> {
    let mut factor = vec![0.0; dim * dim];
    for i in 0..dim {
        for j in 0..=i {
            let dot: f64 = (0..j).map(|l| factor[i * dim + l] * factor[j * dim + l]).sum();
            let rest = a[i * dim + j] - dot;
            if i != j {
                factor[i * dim + j] = rest / factor[j * dim + j];
            } else if rest > 0.0 && rest.is_finite() {
                factor[i * dim + i] = rest.sqrt();
            } else {
                return None;
            }
        }
    }
    Some(factor)
}

/// Inverse of a lower triangular matrix with a positive diagonal. Cost: d^3/3.
pub(crate) fn invert_lower(factor: &[f64], dim: usize) -> Vec<f64> {
    let mut inverse = vec![0.0; dim * dim];
    for column in 0..dim {
        inverse[column * dim + column] = 1.0 / factor[column * dim + column];
        for i in column + 1..dim {
            let dot: f64 = (column..i).map(|l| factor[i * dim + l] * inverse[l * dim + column]).sum();
            inverse[i * dim + column] = -dot / factor[i * dim + i];
        }
    }
    inverse
}

/// Raises the eigenvalues of a symmetric matrix that lie below `floor` to it.
///
/// Among covariances with all eigenvalues at least `floor`, this is the maximiser of
/// $-\ln\lvert\Sigma\rvert - \mathrm{tr}(\Sigma^{-1} S)$, so expectation-maximisation with this floor still
/// never lowers the likelihood.
pub(crate) fn floor_eigenvalues(matrix: &mut [f64], dim: usize, floor: f64) {
    let mut shifted = matrix.to_vec();
    (0..dim).for_each(|i| shifted[i * dim + i] -= floor);
    // A positive definite A - floor I has nothing to raise; nearly always so, and cheaper to see than the
    // eigenvalues.
    if cholesky(&shifted, dim).is_some() {
        return;
    }
    let (values, vectors) = jacobi(matrix.to_vec(), dim);
    for i in 0..dim {
        for j in 0..dim {
            matrix[i * dim + j] =
                (0..dim).map(|l| values[l].max(floor) * vectors[i * dim + l] * vectors[j * dim + l]).sum();
        }
    }
}

/// Eigenvalues and eigenvectors (columns) of a symmetric matrix, by cyclic Jacobi rotations.
pub fn jacobi(mut a: Vec<f64>, dim: usize) -> (Vec<f64>, Vec<f64>) {
    let mut vectors = vec![0.0; dim * dim];
    (0..dim).for_each(|i| vectors[i * dim + i] = 1.0);
    let total: f64 = a.iter().map(|x| x * x).sum();
    // Convergence is quadratic: ten sweeps are ample, and the limit is a guard.
    for _ in 0..30 {
        let off: f64 =
            (0..dim).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| a[i * dim + j].powi(2)).sum();
        if off <= 1e-32 * total {
            break;
        }
        for p in 0..dim {
            for q in p + 1..dim {
                rotate(&mut a, &mut vectors, dim, p, q);
            }
        }
    }
    ((0..dim).map(|i| a[i * dim + i]).collect(), vectors)
}

/// One Jacobi rotation, which zeroes the entry (p, q).
fn rotate(a: &mut [f64], vectors: &mut [f64], dim: usize, p: usize, q: usize) {
    let entry = a[p * dim + q];
    if entry == 0.0 {
        return;
    }
    let theta = (a[q * dim + q] - a[p * dim + p]) / (2.0 * entry);
    let tangent = theta.signum() / (theta.abs() + theta.hypot(1.0));
    let cosine = 1.0 / tangent.hypot(1.0);
    let sine = tangent * cosine;
    for i in 0..dim {
        let (x, y) = (a[i * dim + p], a[i * dim + q]);
        (a[i * dim + p], a[i * dim + q]) = (cosine * x - sine * y, sine * x + cosine * y);
        let (x, y) = (vectors[i * dim + p], vectors[i * dim + q]);
        (vectors[i * dim + p], vectors[i * dim + q]) = (cosine * x - sine * y, sine * x + cosine * y);
    }
    for i in 0..dim {
        let (x, y) = (a[p * dim + i], a[q * dim + i]);
        (a[p * dim + i], a[q * dim + i]) = (cosine * x - sine * y, sine * x + cosine * y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Rng;

    fn product(a: &[f64], b: &[f64], dim: usize) -> Vec<f64> {
        let entry = |i: usize, j: usize| (0..dim).map(|l| a[i * dim + l] * b[l * dim + j]).sum();
        (0..dim * dim).map(|at| entry(at / dim, at % dim)).collect()
    }

    fn transposed(a: &[f64], dim: usize) -> Vec<f64> {
        (0..dim * dim).map(|at| a[at % dim * dim + at / dim]).collect()
    }

    fn gap(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn cholesky_and_its_inverse_rebuild_the_matrix() {
        let (dim, mut rng) = (6, Rng::new(1));
        let root: Vec<f64> = (0..dim * dim).map(|_| rng.normal()).collect();
        let matrix = product(&root, &transposed(&root, dim), dim);
        let factor = cholesky(&matrix, dim).expect("positive definite");
        assert!(gap(&product(&factor, &transposed(&factor, dim), dim), &matrix) < 1e-12);
        let identity: Vec<f64> = (0..dim * dim).map(|at| f64::from(u8::from(at / dim == at % dim))).collect();
        assert!(gap(&product(&factor, &invert_lower(&factor, dim), dim), &identity) < 1e-10);
    }

    #[test]
    fn an_indefinite_matrix_has_no_factor() {
        assert_eq!(cholesky(&[1.0, 2.0, 2.0, 1.0], 2), None);
    }

    #[test]
    fn the_floor_raises_small_eigenvalues_only() {
        // Eigenvalues 3 (along (1, 1)) and -1 (along (1, -1)); with the floor 0.5 the matrix becomes ((1.75,
        // 1.25), (1.25, 1.75)).
        let mut matrix = vec![1.0, 2.0, 2.0, 1.0];
        floor_eigenvalues(&mut matrix, 2, 0.5);
        assert!(gap(&matrix, &[1.75, 1.25, 1.25, 1.75]) < 1e-14, "{matrix:?}");
        let mut untouched = vec![2.0, 0.3, 0.3, 1.0];
        floor_eigenvalues(&mut untouched, 2, 0.5);
        assert_eq!(untouched, [2.0, 0.3, 0.3, 1.0]);
    }
}
