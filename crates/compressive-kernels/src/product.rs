//! Products of row-major f64 matrices, for decoders: a safe face of `matrixmultiply`, which picks AVX2 and
//! FMA where they are.

/// Whether a factor is taken as it is stored or transposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// As stored.
    Plain,
    /// Transposed.
    Transposed,
}

/// out = scale * a b + keep * out, with `a` an (r x n) and `b` an (n x c) matrix after their layouts are
/// applied, all row-major.
///
/// # Panics
/// If a slice has another length than its shape (r, n, c) asks for.
#[expect(clippy::too_many_arguments, reason = "the arguments of a matrix product")]
pub fn product(
    (r, n, c): (usize, usize, usize),
    scale: f64,
    a: &[f64],
    a_layout: Layout,
    b: &[f64],
    b_layout: Layout,
    keep: f64,
    out: &mut [f64],
) {
    assert!(a.len() == r * n && b.len() == n * c && out.len() == r * c, "shapes {r} x {n} and {n} x {c}");
    let strides = |layout, rows: usize, columns: usize| match layout {
        Layout::Plain => (columns as isize, 1),
        Layout::Transposed => (1, rows as isize),
    };
    let ((a_row, a_column), (b_row, b_column)) = (strides(a_layout, r, n), strides(b_layout, n, c));
    // SAFETY: with the lengths asserted above every index r * stride + c * stride lies within its slice, and
    // `out` is not aliased.
    unsafe {
        matrixmultiply::dgemm(
            r,
            n,
            c,
            scale,
            a.as_ptr(),
            a_row,
            a_column,
            b.as_ptr(),
            b_row,
            b_column,
            keep,
            out.as_mut_ptr(),
            c as isize,
            1,
        );
    }
}

/// Takes $P^\top P$ off a symmetric matrix, for a `panel` P of rows of length n. `rows` are the last rows of the
/// matrix, of length n too; of each of them the entries from the diagonal on are right afterwards, and some
/// before it have no meaning.
///
/// # Panics
/// If the slices are not whole rows of n, or `rows` are more than n.
pub fn subtract_gram(panel: &[f64], n: usize, rows: &mut [f64]) {
    let (inner, count) = (panel.len() / n, rows.len() / n);
    assert!(panel.len() == inner * n && rows.len() == count * n && count <= n, "whole rows of {n}");
    for start in (0..count).step_by(GRAM_ROWS) {
        let (height, column) = (GRAM_ROWS.min(count - start), n - count + start);
        let width = n - column;
        // SAFETY: all columns read and written are below n, all rows of `panel` below `inner` and of `rows`
        // below `count`, and the slices were asserted to be whole rows; `rows` is not aliased.
        unsafe {
            matrixmultiply::dgemm(
                height,
                inner,
                width,
                -1.0,
                panel.as_ptr().add(column),
                1,
                n as isize,
                panel.as_ptr().add(column),
                n as isize,
                1,
                1.0,
                rows.as_mut_ptr().add(start * n + column),
                n as isize,
                1,
            );
        }
    }
}

/// Rows of one product of [`subtract_gram`]: a twentieth of the work is lost on entries before the diagonal of
/// a matrix of a thousand.
const GRAM_ROWS: usize = 96;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_agree_with_the_definition_in_every_layout() {
        let (r, n, c) = (5, 7, 3);
        let value = |i: usize| ((i * 37 + 11) % 19) as f64 - 9.0;
        let (a, b): (Vec<f64>, Vec<f64>) =
            ((0..r * n).map(value).collect(), (0..n * c).map(|i| value(i + 5)).collect());
        for a_layout in [Layout::Plain, Layout::Transposed] {
            for b_layout in [Layout::Plain, Layout::Transposed] {
                let at =
                    |i: usize, l: usize| if a_layout == Layout::Plain { a[i * n + l] } else { a[l * r + i] };
                let bt =
                    |l: usize, j: usize| if b_layout == Layout::Plain { b[l * c + j] } else { b[j * n + l] };
                let mut out = vec![1.0; r * c];
                product((r, n, c), 2.0, &a, a_layout, &b, b_layout, -1.0, &mut out);
                for i in 0..r {
                    for j in 0..c {
                        let sum: f64 = (0..n).map(|l| at(i, l) * bt(l, j)).sum();
                        assert_eq!(out[i * c + j], 2.0 * sum - 1.0, "{a_layout:?} {b_layout:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_gram_matrix_is_taken_off_from_the_diagonal_on() {
        let (n, inner, count) = (233, 5, 210);
        let value = |i: usize| ((i * 37 + 11) % 19) as f64 - 9.0;
        let panel: Vec<f64> = (0..inner * n).map(value).collect();
        let before: Vec<f64> = (0..count * n).map(|i| value(i + 3)).collect();
        let mut rows = before.clone();
        subtract_gram(&panel, n, &mut rows);
        for i in 0..count {
            let diagonal = n - count + i;
            for j in diagonal..n {
                let sum: f64 = (0..inner).map(|l| panel[l * n + diagonal] * panel[l * n + j]).sum();
                assert_eq!(rows[i * n + j], before[i * n + j] - sum);
            }
        }
    }
}
