//! Dense products of row-major matrices in slices, on one core.

use compressive_kernels::{Layout, product};

/// out = a b, with a (r x n) and b (n x `columns`).
pub(crate) fn multiply(a: &[f64], b: &[f64], columns: usize, out: &mut [f64]) {
    let shape = (out.len() / columns, b.len() / columns, columns);
    product(shape, 1.0, a, Layout::Plain, b, Layout::Plain, 0.0, out);
}

/// out = a b^T, with a (r x `columns`) and b (n x `columns`).
pub(crate) fn multiply_transposed(a: &[f64], b: &[f64], columns: usize, out: &mut [f64]) {
    let shape = (a.len() / columns, columns, b.len() / columns);
    product(shape, 1.0, a, Layout::Plain, b, Layout::Transposed, 0.0, out);
}

/// out = a^T b, with a (n x `columns`) and b (n x q), q = out.len() / columns.
pub(crate) fn transposed_multiply(a: &[f64], b: &[f64], columns: usize, out: &mut [f64]) {
    let shape = (columns, a.len() / columns, out.len() / columns);
    product(shape, 1.0, a, Layout::Transposed, b, Layout::Plain, 0.0, out);
}

/// Rows of one product of [`gram`].
const GRAM_ROWS: usize = 256;

/// Products of all pairs of rows of `columns` numbers. Cost: half of a matrix product.
pub(crate) fn gram(rows: &[f64], columns: usize) -> Vec<f64> {
    let n = rows.len() / columns;
    let (mut out, mut part) = (vec![0.0; n * n], Vec::new());
    for start in (0..n).step_by(GRAM_ROWS) {
        let end = n.min(start + GRAM_ROWS);
        part.resize((end - start) * end, 0.0);
        multiply_transposed(
            &rows[start * columns..end * columns],
            &rows[..end * columns],
            columns,
            &mut part,
        );
        for (i, values) in (start..end).zip(part.chunks_exact(end)) {
            out[i * n..i * n + end].copy_from_slice(values);
            (0..i).for_each(|j| out[j * n + i] = values[j]);
        }
    }
    out
}

/// $a^\top b$ in eight interleaved sums, which the compiler turns into vector operations without changing
/// their order.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a_blocks, a_rest) = a.as_chunks::<8>();
    let (b_blocks, b_rest) = b.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for (x, y) in a_blocks.iter().zip(b_blocks) {
        for lane in 0..8 {
            sums[lane] += x[lane] * y[lane];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum();
    let [s0, s1, s2, s3, s4, s5, s6, s7] = sums;
    ((s0 + s4) + (s1 + s5)) + ((s2 + s6) + (s3 + s7)) + rest
}

/// Lower Cholesky factor with a fixed order of operations, so that its bits do not depend on the machine.
pub(crate) fn cholesky(a: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let n = a.len();
    let mut lower = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..=i {
            let dot: f64 = (0..j).map(|k| lower[i][k] * lower[j][k]).sum();
            let left = a[i][j] - dot;
            if i == j {
                if !(left > 0.0 && left.is_finite()) {
                    return None;
                }
                lower[i][i] = left.sqrt();
            } else {
                lower[i][j] = left / lower[j][j];
            }
        }
    }
    Some(lower)
}
