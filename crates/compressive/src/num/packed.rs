//! A symmetric positive definite matrix in block columns, its Cholesky factor, and solves with it.
//!
//! $C = R^\top R$ with $R$ upper triangular. Block column i holds the rows from the top to the end of its
//! diagonal block, row-major, so that the part above any block is one contiguous slice and every update is
//! one matrix product:
//!
//! 1. for block column j: take $R_{<j,j}^\top R_{<j,j}$ off the diagonal block, factor it, invert the small
//!    factor;
//! 2. for every later block column i: $R_{ji} = R_{jj}^{-\top}\,(C_{ji} - R_{<j,j}^\top R_{<j,i})$.
//!
//! Step 2 is split over threads by block columns. Cost: $n^3/6$ multiply-adds for the factor, $n^2 c / 2$ to
//! whiten c columns; memory: $n^2/2$ numbers.

use compressive_kernels::{Layout, product};

use crate::num::linear::dot;
use crate::num::parallel::for_each;
use crate::num::random::{Purpose, Stream};

/// Steps of the power iteration; a value within a few percent is enough for a ridge.
const POWER_ITERATIONS: usize = 20;
/// Random vectors behind a trace.
const PROBES: usize = 8;

/// The upper block columns of a symmetric matrix, or of its factor.
#[derive(Clone, Debug)]
pub(crate) struct Packed {
    n: usize,
    block: usize,
    /// Block column i: (end of block i) rows of (width of block i).
    pub(crate) columns: Vec<Vec<f64>>,
}

impl Packed {
    /// A zero matrix of n rows in blocks of `block`.
    pub(crate) fn zeros(n: usize, block: usize) -> Packed {
        let columns = (0..n).step_by(block).map(|start| {
            let end = n.min(start + block);
            vec![0.0; end * (end - start)]
        });
        Packed { n, block, columns: columns.collect() }
    }

    /// First row and width of block i.
    pub(crate) fn span(&self, i: usize) -> (usize, usize) {
        let start = i * self.block;
        (start, self.block.min(self.n - start))
    }

    /// Sets every entry of the upper block columns by its row and column.
    pub(crate) fn fill(&mut self, entry: impl Fn(usize, usize) -> f64) {
        for i in 0..self.columns.len() {
            let (start, width) = self.span(i);
            for (row, values) in self.columns[i].chunks_exact_mut(width).enumerate() {
                values.iter_mut().enumerate().for_each(|(a, v)| *v = entry(row, start + a));
            }
        }
    }

    /// Adds to the diagonal.
    pub(crate) fn add_diagonal(&mut self, value: f64) {
        for i in 0..self.columns.len() {
            let (start, width) = self.span(i);
            (0..width).for_each(|a| self.columns[i][(start + a) * width + a] += value);
        }
    }

    /// Multiplies all entries.
    pub(crate) fn scale(&mut self, factor: f64) {
        self.columns.iter_mut().flatten().for_each(|v| *v *= factor);
    }

    /// $C x$. Cost: $n^2$ multiply-adds, bound by memory.
    fn multiply(&self, x: &[f64]) -> Vec<f64> {
        let mut y = vec![0.0; self.n];
        for (i, column) in self.columns.iter().enumerate() {
            let (start, width) = self.span(i);
            let mut sums = vec![0.0; width];
            for (b, row) in column.chunks_exact(width).enumerate() {
                y[b] += dot(row, &x[start..start + width]);
                if b < start {
                    add_scaled(&mut sums, x[b], row);
                }
            }
            add_scaled(&mut y[start..start + width], 1.0, &sums);
        }
        y
    }

    /// The largest eigenvalue, to about a percent from below, by power iteration from a vector without
    /// symmetry.
    pub(crate) fn largest_eigenvalue(&self) -> f64 {
        let mut x: Vec<f64> = (0..self.n).map(|i| 1.0 + ((i * i) % 17) as f64 / 34.0).collect();
        let mut value = 0.0;
        for _ in 0..POWER_ITERATIONS {
            let norm = dot(&x, &x).sqrt();
            if !(norm > 0.0 && norm.is_finite()) {
                break;
            }
            x.iter_mut().for_each(|v| *v /= norm);
            x = self.multiply(&x);
            let next = dot(&x, &x).sqrt();
            let settled = (next - value).abs() <= 0.005 * next;
            value = next;
            if settled {
                break;
            }
        }
        value
    }

    /// The factor, or none if a pivot is not a positive number.
    pub(crate) fn factor(mut self, threads: usize) -> Option<Factor> {
        let mut inverses = Vec::with_capacity(self.columns.len());
        for j in 0..self.columns.len() {
            let (start, width) = self.span(j);
            let spans: Vec<usize> = (j + 1..self.columns.len()).map(|i| self.span(i).1).collect();
            let (done, later) = self.columns.split_at_mut(j + 1);
            // Step 1.
            let (above, diagonal) = done[j].split_at_mut(start * width);
            product(
                (width, start, width),
                -1.0,
                above,
                Layout::Transposed,
                above,
                Layout::Plain,
                1.0,
                diagonal,
            );
            if !factor_block(diagonal, width) {
                return None;
            }
            let inverse = invert_transposed(diagonal, width);
            // Step 2.
            let above = &*above;
            for_each(later.iter_mut().zip(spans).collect(), threads, |(column, c)| {
                let (head, rest) = column.split_at_mut(start * c);
                let tile = &mut rest[..width * c];
                product((width, start, c), -1.0, above, Layout::Transposed, head, Layout::Plain, 1.0, tile);
                let right = tile.to_vec();
                product((width, width, c), 1.0, &inverse, Layout::Plain, &right, Layout::Plain, 0.0, tile);
            });
            inverses.push(inverse);
        }
        Some(Factor { upper: self, inverses })
    }
}

/// The factor $R$ of $C = R^\top R$.
#[derive(Clone, Debug)]
pub(crate) struct Factor {
    upper: Packed,
    /// $R_{jj}^{-\top}$ of each diagonal block, lower triangular.
    inverses: Vec<Vec<f64>>,
}

impl Factor {
    /// Number n of rows.
    pub(crate) fn len(&self) -> usize {
        self.upper.n
    }

    /// The trace of $C^{-1}$, to a few percent when n is large: the mean of $\lVert R^{-\top} v \rVert^2$
    /// over random signs v. Cost: 4 n^2 multiply-adds.
    pub(crate) fn inverse_trace(&self) -> f64 {
        let mut stream = Stream::new(0, Purpose::Decode, 0);
        let probe = |_| {
            let mut v: Vec<f64> = (0..self.len()).map(|_| f64::from(stream.sign())).collect();
            self.solve_lower(&mut v);
            dot(&v, &v)
        };
        (0..PROBES).map(probe).sum::<f64>() / PROBES as f64
    }

    /// Replaces the n x c row-major `a` by $R^{-\top} a$.
    pub(crate) fn whiten(&self, a: &mut [f64], c: usize) {
        for (i, (column, inverse)) in self.upper.columns.iter().zip(&self.inverses).enumerate() {
            let (start, width) = self.upper.span(i);
            let (done, rest) = a.split_at_mut(start * c);
            let rows = &mut rest[..width * c];
            let above = &column[..start * width];
            product((width, start, c), -1.0, above, Layout::Transposed, done, Layout::Plain, 1.0, rows);
            let right = rows.to_vec();
            product((width, width, c), 1.0, inverse, Layout::Plain, &right, Layout::Plain, 0.0, rows);
        }
    }

    /// Replaces `b` by $R^{-\top} b$.
    pub(crate) fn solve_lower(&self, b: &mut [f64]) {
        for (i, (column, inverse)) in self.upper.columns.iter().zip(&self.inverses).enumerate() {
            let (start, width) = self.upper.span(i);
            let (done, rest) = b.split_at_mut(start);
            let own = &mut rest[..width];
            for (row, value) in column.chunks_exact(width).zip(&*done) {
                add_scaled(own, -value, row);
            }
            let right = own.to_vec();
            own.iter_mut().zip(inverse.chunks_exact(width)).for_each(|(o, row)| *o = dot(row, &right));
        }
    }

    /// Replaces `b` by $R^{-1} b$.
    pub(crate) fn solve_upper(&self, b: &mut [f64]) {
        for (i, (column, inverse)) in self.upper.columns.iter().zip(&self.inverses).enumerate().rev() {
            let (start, width) = self.upper.span(i);
            let (earlier, rest) = b.split_at_mut(start);
            let own = &mut rest[..width];
            let right = own.to_vec();
            own.fill(0.0);
            for (row, value) in inverse.chunks_exact(width).zip(right) {
                add_scaled(own, value, row);
            }
            earlier.iter_mut().zip(column.chunks_exact(width)).for_each(|(e, row)| *e -= dot(row, own));
        }
    }
}

/// Replaces a symmetric block by the upper factor, zero below the diagonal; false if a pivot is not a
/// positive number.
fn factor_block(a: &mut [f64], n: usize) -> bool {
    for k in 0..n {
        let (done, later) = a.split_at_mut((k + 1) * n);
        let row = &mut done[k * n..];
        row[..k].fill(0.0);
        if !(row[k] > 0.0 && row[k].is_finite()) {
            return false;
        }
        let root = row[k].sqrt();
        row[k..].iter_mut().for_each(|v| *v /= root);
        for (ahead, target) in later.chunks_exact_mut(n).enumerate() {
            let i = k + 1 + ahead;
            add_scaled(&mut target[i..], -row[i], &row[i..]);
        }
    }
    true
}

/// $R^{-\top}$ of an upper triangular block: row i is $(e_i - \sum_{l<i} R_{li}\, x_l) / R_{ii}$.
fn invert_transposed(r: &[f64], n: usize) -> Vec<f64> {
    let mut inverse = vec![0.0; n * n];
    for i in 0..n {
        let (done, rest) = inverse.split_at_mut(i * n);
        let row = &mut rest[..n];
        row[i] = 1.0;
        for (l, earlier) in done.chunks_exact(n).enumerate() {
            add_scaled(&mut row[..=l], -r[l * n + i], &earlier[..=l]);
        }
        row[..=i].iter_mut().for_each(|v| *v /= r[i * n + i]);
    }
    inverse
}

fn add_scaled(y: &mut [f64], factor: f64, x: &[f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += factor * x);
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: usize = 37;
    const BLOCK: usize = 8;

    /// $B B^\top + I$ for a random B, dense and packed.
    fn random_matrix() -> (Vec<f64>, Packed) {
        let mut stream = Stream::new(5, Purpose::PilotMixture, 1);
        let b: Vec<f64> = (0..N * N).map(|_| stream.normal()).collect();
        let mut dense = vec![0.0; N * N];
        product((N, N, N), 1.0, &b, Layout::Plain, &b, Layout::Transposed, 0.0, &mut dense);
        let mut packed = Packed::zeros(N, BLOCK);
        for i in 0..packed.columns.len() {
            let (start, width) = packed.span(i);
            for (b, row) in packed.columns[i].chunks_exact_mut(width).enumerate() {
                row.copy_from_slice(&dense[b * N + start..b * N + start + width]);
            }
        }
        packed.add_diagonal(1.0);
        (0..N).for_each(|i| dense[i * N + i] += 1.0);
        (dense, packed)
    }

    #[test]
    fn solving_with_the_factor_inverts_the_matrix_for_any_number_of_threads() {
        let (dense, packed) = random_matrix();
        let x: Vec<f64> = (0..N).map(|i| (i as f64 * 0.7).sin()).collect();
        let y: Vec<f64> = dense.chunks_exact(N).map(|row| dot(row, &x)).collect();
        assert!(packed.multiply(&x).iter().zip(&y).all(|(a, b)| (a - b).abs() < 1e-11));
        let mut answers = Vec::new();
        for threads in [1, 3] {
            let factor = random_matrix().1.factor(threads).expect("positive definite");
            let mut solution = y.clone();
            factor.solve_lower(&mut solution);
            let mut columns: Vec<f64> = y.iter().flat_map(|v| [*v, -2.0 * v]).collect();
            factor.whiten(&mut columns, 2);
            let agree =
                |(pair, s): (&[f64], &f64)| (pair[0] - s).abs() < 1e-10 && (pair[1] + 2.0 * s).abs() < 1e-10;
            assert!(columns.chunks_exact(2).zip(&solution).all(agree));
            factor.solve_upper(&mut solution);
            assert!(solution.iter().zip(&x).all(|(a, b)| (a - b).abs() < 1e-9));
            answers.push(solution);
        }
        assert_eq!(answers[0], answers[1]);
    }

    #[test]
    fn the_largest_eigenvalue_is_found_from_below() {
        let (dense, packed) = random_matrix();
        let mut x = vec![1.0; N];
        for _ in 0..2000 {
            let y: Vec<f64> = dense.chunks_exact(N).map(|row| dot(row, &x)).collect();
            let norm = dot(&y, &y).sqrt();
            x = y.iter().map(|v| v / norm).collect();
        }
        let exact = dense.chunks_exact(N).map(|row| dot(row, &x)).zip(&x).map(|(a, b)| a * b).sum::<f64>();
        let found = packed.largest_eigenvalue();
        assert!(found <= exact * (1.0 + 1e-9) && found > 0.9 * exact, "{found} {exact}");
    }

    #[test]
    fn the_trace_of_the_inverse_is_close() {
        // Eight probes of 37 signs: the error is 14% here; it falls with the size of the matrix.
        let factor = random_matrix().1.factor(2).expect("positive definite");
        let unit = |i: usize| {
            let mut v = vec![0.0; N];
            v[i] = 1.0;
            factor.solve_lower(&mut v);
            dot(&v, &v)
        };
        let exact: f64 = (0..N).map(unit).sum();
        assert!((factor.inverse_trace() / exact - 1.0).abs() < 0.2, "{} {exact}", factor.inverse_trace());
    }

    #[test]
    fn an_indefinite_matrix_has_no_factor() {
        let (_, mut packed) = random_matrix();
        packed.add_diagonal(-50.0);
        assert!(packed.factor(1).is_none());
    }
}
