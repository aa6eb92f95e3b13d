//! Steps 1 and 2: the least gains of cells that explain what a difference says of them.

use crate::num::linear::{dot, multiply_transposed};
use crate::num::solve::cholesky;

/// The penalty falls by this factor, so many times at most.
const PATH: (f64, usize) = (0.75, 40);
/// Rounds over all coordinates for each penalty, at most.
const ROUNDS: usize = 100;
/// A round that moves no scaled coordinate by more than this is the last.
const STILL: f64 = 1e-3;
/// Deviations of S that the interval allows for.
const DEVIATIONS: f64 = 2.0;

/// The three shares, from the least to the most, and the gains of the middle one.
pub(super) type Path = ([f64; 3], Vec<f64>);

/// What a difference says of u.
pub(super) struct Least {
    /// A rows of A.
    p: Vec<f64>,
    q: Vec<f64>,
    /// $\sqrt{D_a}$.
    roots: Vec<f64>,
    /// Least and most of each $u_a$.
    limits: Vec<(f64, f64)>,
}

impl Least {
    /// P and q for A rows of coefficients and a right-hand side; none if they cannot be solved for.
    pub fn new(left: &[f64], right: &[f64], roots: &[f64], limits: Vec<(f64, f64)>) -> Option<Least> {
        let r = right.len();
        let mut scaled = left.to_vec();
        scaled.chunks_exact_mut(r).zip(roots).for_each(|(row, s)| row.iter_mut().for_each(|x| *x *= s));
        let (p, q) = information(&scaled, right)?;
        Some(Least { p, q, roots: roots.to_vec(), limits })
    }

    /// S for these gains, relative to its mean.
    pub fn excess(&self, gains: &[f64]) -> f64 {
        let left = self.left_by(gains);
        let n = self.q.len();
        dot(&left, &left) / (0..n).map(|i| self.p[i * n + i]).sum::<f64>()
    }

    /// The three shares, and $\delta$ of the middle one, for noise of this many times its variance.
    pub fn path(&self, noise: f64) -> Path {
        let n = self.q.len();
        let mean = noise * (0..n).map(|i| self.p[i * n + i]).sum::<f64>();
        let deviation = noise * (2.0 * self.p.iter().map(|x| x * x).sum::<f64>()).sqrt();
        let wanted = [mean + DEVIATIONS * deviation, mean, (mean - DEVIATIONS * deviation).max(0.0)];
        let (mut u, mut left) = (vec![0.0; n], self.q.clone());
        let mut lambda = self.q.iter().zip(&self.roots).map(|(q, s)| q.abs() / s).fold(0.0, f64::max);
        let mut last = (dot(&left, &left), vec![0.0; n]);
        let (mut share, mut gains) = ([None; 3], vec![0.0; n]);
        for step in 0..=PATH.1 {
            if step > 0 {
                lambda *= PATH.0;
                self.descend(lambda, &mut u, &mut left);
            }
            let square = dot(&left, &left);
            let moved: Vec<f64> = u.iter().zip(&self.roots).map(|(u, s)| u * s).collect();
            for (at, wanted) in wanted.iter().enumerate().filter(|(_, w)| square <= **w) {
                if share[at].is_some() {
                    continue;
                }
                let part =
                    if last.0 > square { ((last.0 - wanted) / (last.0 - square)).max(0.0) } else { 1.0 };
                let between = |(x, y): (&f64, &f64)| x + part * (y - x);
                let here: Vec<f64> = last.1.iter().zip(&moved).map(between).collect();
                share[at] = Some(half_sum(&here));
                if at == 1 {
                    gains = here;
                }
            }
            if share[2].is_some() {
                break;
            }
            last = (square, moved);
        }
        let most = half_sum(&last.1);
        if share[1].is_none() {
            gains = last.1;
        }
        (share.map(|s| s.unwrap_or(most)), gains)
    }

    /// q - P u for these gains.
    fn left_by(&self, gains: &[f64]) -> Vec<f64> {
        let mut left = self.q.clone();
        for (a, row) in self.p.chunks_exact(self.q.len()).enumerate().filter(|(a, _)| gains[*a] != 0.0) {
            let u = gains[a] / self.roots[a];
            left.iter_mut().zip(row).for_each(|(l, p)| *l -= u * p);
        }
        left
    }

    /// Step 1 for one penalty; `left` is q - P u.
    fn descend(&self, lambda: f64, u: &mut [f64], left: &mut [f64]) {
        let n = u.len();
        for _ in 0..ROUNDS {
            let mut largest = 0.0f64;
            for i in 0..n {
                let curvature = self.p[i * n + i];
                if !(curvature > f64::MIN_POSITIVE) {
                    continue;
                }
                let pull = left[i] + curvature * u[i];
                let threshold = lambda * self.roots[i];
                let free = (pull.abs() - threshold).max(0.0) * pull.signum() / curvature;
                let step = free.clamp(self.limits[i].0, self.limits[i].1) - u[i];
                if step != 0.0 {
                    u[i] += step;
                    let row = &self.p[i * n..(i + 1) * n];
                    left.iter_mut().zip(row).for_each(|(l, p)| *l -= step * p);
                    largest = largest.max(step.abs());
                }
            }
            if largest < STILL {
                return;
            }
        }
    }
}

/// P and q of the module, for A scaled rows of R coefficients.
fn information(left: &[f64], right: &[f64]) -> Option<(Vec<f64>, Vec<f64>)> {
    let r = right.len();
    let n = left.len() / r;
    let mut matrix = vec![0.0; n * n];
    multiply_transposed(left, left, r, &mut matrix);
    (0..n).for_each(|i| matrix[i * n + i] += 1.0);
    if !cholesky::factor(&mut matrix, n, 0.0) {
        return None;
    }
    let mut q: Vec<f64> = left.chunks_exact(r).map(|row| dot(row, right)).collect();
    cholesky::solve(&matrix, n, &mut q);
    let mut p = vec![0.0; n * n];
    for (i, column) in p.chunks_exact_mut(n).enumerate() {
        column[i] = 1.0;
        cholesky::solve(&matrix, n, column);
        column.iter_mut().for_each(|x| *x = -*x);
        column[i] += 1.0;
    }
    Some((p, q))
}

fn half_sum(gains: &[f64]) -> f64 {
    0.5 * gains.iter().map(|g| g.abs()).sum::<f64>()
}
