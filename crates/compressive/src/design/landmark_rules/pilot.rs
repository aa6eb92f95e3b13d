//! The kernel matrix of pilot rows, entry by entry, and its partial Cholesky factor.

use compressive_kernels::{Layout, product};

/// Rows under a Gaussian kernel.
pub(super) struct Pilot<'a> {
    rows: &'a [f64],
    dim: usize,
    /// $-1 / 2\sigma^2$.
    factor: f64,
}

impl<'a> Pilot<'a> {
    pub(super) fn new(rows: &'a [f64], dim: usize, scale: f64) -> Pilot<'a> {
        Pilot { rows, dim, factor: -0.5 / (scale * scale) }
    }

    /// Number n of rows.
    pub(super) fn len(&self) -> usize {
        self.rows.len() / self.dim
    }

    pub(super) fn row(&self, i: usize) -> &'a [f64] {
        &self.rows[i * self.dim..(i + 1) * self.dim]
    }

    /// $\kappa(x_i, x_j)$.
    pub(super) fn kernel(&self, i: usize, j: usize) -> f64 {
        let square: f64 = self.row(i).iter().zip(self.row(j)).map(|(a, b)| (a - b) * (a - b)).sum();
        (self.factor * square).exp()
    }

    /// $\kappa(x_i, x_j)$ for all j.
    pub(super) fn column(&self, i: usize) -> impl Iterator<Item = f64> + '_ {
        (0..self.len()).map(move |j| self.kernel(i, j))
    }
}

/// The partial Cholesky factor $K \approx G^\top G$ after some pivots, and what it leaves of the diagonal.
///
/// After t pivots the residual $d_i$ is the squared distance of $\kappa(x_i, \cdot)$ from the span of the
/// pivots. Memory: t n numbers.
pub(super) struct Partial<'a> {
    pilot: &'a Pilot<'a>,
    /// G, t rows of n.
    factor: Vec<f64>,
    /// What is left of the diagonal; exactly 0 at pivots.
    pub(super) residual: Vec<f64>,
    /// The pivots, in order.
    pub(super) pivots: Vec<usize>,
}

impl<'a> Partial<'a> {
    pub(super) fn new(pilot: &'a Pilot<'a>) -> Partial<'a> {
        Partial { pilot, factor: Vec::new(), residual: vec![1.0; pilot.len()], pivots: Vec::new() }
    }

    /// What is left of the trace.
    pub(super) fn left(&self) -> f64 {
        self.residual.iter().sum()
    }

    /// The residual kernel at some rows, b rows of b.
    pub(super) fn residual_kernel(&self, at: &[usize]) -> Vec<f64> {
        let (b, t) = (at.len(), self.pivots.len());
        let mut matrix: Vec<f64> =
            at.iter().flat_map(|&i| at.iter().map(move |&j| self.pilot.kernel(i, j))).collect();
        let own = self.entries(at);
        product((b, t, b), -1.0, &own, Layout::Plain, &own, Layout::Transposed, 1.0, &mut matrix);
        matrix
    }

    /// The columns of G at some rows, as b rows of t.
    fn entries(&self, at: &[usize]) -> Vec<f64> {
        let n = self.pilot.len();
        at.iter().flat_map(|&i| self.factor.iter().skip(i).step_by(n).copied()).collect()
    }

    /// Adds pivots whose residual kernel has the lower factor `lower` (b rows of b). Cost: b n t
    /// multiply-adds.
    pub(super) fn add(&mut self, pivots: &[usize], lower: &[f64]) {
        let (n, b, t) = (self.pilot.len(), pivots.len(), self.pivots.len());
        let mut block: Vec<f64> = pivots.iter().flat_map(|&i| self.pilot.column(i)).collect();
        let own = self.entries(pivots);
        product((b, t, n), -1.0, &own, Layout::Plain, &self.factor, Layout::Plain, 1.0, &mut block);
        for i in 0..b {
            let (done, rest) = block.split_at_mut(i * n);
            let row = &mut rest[..n];
            for (j, above) in done.chunks_exact(n).enumerate() {
                row.iter_mut().zip(above).for_each(|(r, a)| *r -= lower[i * b + j] * a);
            }
            let pivot = lower[i * b + i];
            row.iter_mut().for_each(|r| *r /= pivot);
            self.residual.iter_mut().zip(&*row).for_each(|(d, g)| *d = (*d - g * g).max(0.0));
        }
        self.factor.extend(block);
        self.pivots.extend_from_slice(pivots);
        pivots.iter().for_each(|&i| self.residual[i] = 0.0);
    }
}
