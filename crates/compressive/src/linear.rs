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
