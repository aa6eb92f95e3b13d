//! The metric of a kernel: the norm of the span of the landmarks, for sketches of kernel values.
//!
//! The Nystrom feature map is $\Phi(x) = K^{-1/2} k_S(x)$ with $K = (\kappa(y_i, y_j))$ and
//! $k_S(x) = (\kappa(x, y_j))_j$ (\[CCDR22\] eq. 8). What is summed is $k_S$; the inverse square root enters
//! here, once, as the square $r^\top M r$ of a residual r of kernel values,
//!
//! $$ M = m\,(K + \varrho I)^{-1}. $$
//!
//! The factor m makes it comparable with the sum over m frequencies of a Fourier sketch. The ridge $\varrho$
//! is 1e-8 of the mean diagonal of K, which is 1: landmarks that nearly depend on the others add directions
//! in which there is no signal. A sketch with added noise of variance $\nu$ on an entry gets $m \nu$ if that
//! is more, as noise would drown these directions first. If there is no factor, ten times more is tried.
//!
//! Cost: $m^3/6$ multiply-adds for the factor, $m^2$ for a product with M; memory $4 m^2$ bytes.

use std::sync::Arc;

use compressive_kernels::{Layout, product};

use crate::error::{Error, Result};
use crate::num::linear::dot;
use crate::num::packed::Factor;
use crate::num::packed::Packed;

/// Ridge relative to the mean diagonal.
const RIDGE: f64 = 1e-8;
/// Ridges tried, each ten times the one before.
const TRIES: usize = 9;
/// Rows of a block of the factor.
const BLOCK: usize = 64;

/// The square of a residual of kernel values. See the module.
#[derive(Clone, Debug)]
pub struct Metric {
    /// $R^\top R = M^{-1}$.
    factor: Arc<Factor>,
    /// Variance of the noise added to each kernel value's mean.
    entry_noise: f64,
}

impl Metric {
    /// The metric at landmarks (m rows of d) of a kernel of the given squared width, for a mean with added
    /// noise of variance `entry_noise`.
    pub(crate) fn new(points: &[f64], dim: usize, width_squared: f64, entry_noise: f64) -> Result<Metric> {
        let m = points.len() / dim;
        let norms: Vec<f64> = points.chunks_exact(dim).map(|y| dot(y, y)).collect();
        let mut ridge = RIDGE.max(m as f64 * entry_noise);
        for _ in 0..TRIES {
            let mut matrix = Packed::zeros(m, BLOCK);
            for i in 0..matrix.columns.len() {
                let (start, width) = matrix.span(i);
                let end = start + width;
                let cells = &mut matrix.columns[i];
                let (rows, own) = (&points[..end * dim], &points[start * dim..end * dim]);
                product((end, dim, width), 1.0, rows, Layout::Plain, own, Layout::Transposed, 0.0, cells);
                for (row, cells) in cells.chunks_exact_mut(width).enumerate() {
                    let squares = cells.iter_mut().zip(&norms[start..end]);
                    squares.for_each(|(c, n)| {
                        *c = -(norms[row] + n - 2.0 * *c).max(0.0) / (2.0 * width_squared)
                    });
                }
                compressive_kernels::exponentials(cells);
            }
            matrix.add_diagonal(ridge);
            matrix.scale(1.0 / m as f64);
            // Threads would not change the result, but decoders already run side by side.
            if let Some(factor) = matrix.factor(1) {
                return Ok(Metric { factor: Arc::new(factor), entry_noise });
            }
            ridge *= 10.0;
        }
        Err(Error::Task {
            field: "feature",
            problem: format!(
                "the kernel matrix of the {m} landmarks has no factor: they are not finite numbers"
            ),
        })
    }

    /// The factor R of $M^{-1} = R^\top R$.
    pub(crate) fn factor(&self) -> Arc<Factor> {
        self.factor.clone()
    }

    /// Entries whose sum of squares is $r^\top M r$.
    pub(crate) fn whiten(&self, r: &mut [f64]) {
        self.factor.solve_lower(r);
    }

    /// Replaces r by $M r$.
    pub(crate) fn apply(&self, r: &mut [f64]) {
        self.factor.solve_lower(r);
        self.factor.solve_upper(r);
    }

    /// $r^\top M r$.
    pub fn square(&self, r: &[f64]) -> f64 {
        let mut r = r.to_vec();
        self.factor.solve_lower(&mut r);
        dot(&r, &r)
    }

    /// Variance of the noise added to the mean of each kernel value.
    pub(crate) fn entry_noise(&self) -> f64 {
        self.entry_noise
    }

    /// The same noise in the metric, averaged over m entries.
    pub(crate) fn added_noise(&self) -> f64 {
        if self.entry_noise == 0.0 {
            return 0.0;
        }
        self.entry_noise * self.factor.inverse_trace() / self.factor.len() as f64
    }

    /// Gram matrix of atoms (k rows of m) in the metric, and their products with z.
    pub(crate) fn normal_equations(&self, atoms: &[f64], z: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let m = self.factor.len();
        let k = atoms.len() / m;
        let whitened = self.whitened(atoms, z);
        let c = k + 1;
        let mut all = vec![0.0; c * c];
        product((c, m, c), 1.0, &whitened, Layout::Transposed, &whitened, Layout::Plain, 0.0, &mut all);
        let gram = (0..k * k).map(|at| all[at / k * c + at % k]).collect();
        let rhs = (0..k).map(|l| all[l * c + k]).collect();
        (gram, rhs)
    }

    /// $R^{-\top}$ times the vectors, m rows of as many columns as there are vectors (rows of m, then `last`
    /// if it is not empty).
    pub(crate) fn whitened(&self, rows: &[f64], last: &[f64]) -> Vec<f64> {
        let m = self.factor.len();
        let columns: Vec<&[f64]> = rows.chunks_exact(m).chain(last.chunks_exact(m)).collect();
        let mut all: Vec<f64> = (0..m).flat_map(|j| columns.iter().map(move |column| column[j])).collect();
        self.factor.whiten(&mut all, columns.len());
        all
    }
}
