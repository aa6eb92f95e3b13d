//! The cells of an outline as Gaussians, and what a sketch would be if all rows were in one of them.

use crate::density::atom::{AtomFamily, Batch, Gaussian, Shape};
use crate::density::target::Target;
use crate::num::linear::{cholesky, dot};
use crate::sketch::outline::Cells;

/// Small Gaussians in working coordinates.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blocks {
    /// d.
    pub dim: usize,
    /// A rows of d.
    pub centres: Vec<f64>,
    /// A rows of d; 0 for a point mass.
    pub variances: Vec<f64>,
    /// Lower factors of the covariances by rows, A triangles; empty if coordinates are uncorrelated.
    pub factors: Vec<f64>,
}

/// Added to the diagonal of a group's correlations until they have a factor.
const JITTER: f64 = 1e-6;
/// Steps of an outline's centres from the lowest to the highest.
const STEPS: f64 = 65_535.0;

impl Blocks {
    /// The cells of an outline. A factor is that of the group's correlations, its rows times the cell's
    /// deviations. Cost: G d^3 / 6 + A d^2.
    pub fn of(cells: &Cells) -> Blocks {
        let d = cells.dim;
        let shared: Vec<Vec<Vec<f64>>> = cells.correlations.iter().map(|r| factor(r, d)).collect();
        let mut factors = Vec::new();
        for (a, deviations) in cells.deviations.chunks_exact(d).enumerate() {
            let Some(lower) = shared.get(usize::from(cells.groups[a])) else { continue };
            for (row, deviation) in lower.iter().zip(deviations) {
                factors.extend(row.iter().map(|x| x * deviation));
            }
        }
        let variances = cells.deviations.iter().map(|s| s * s).collect();
        Blocks { dim: d, centres: cells.centres.clone(), variances, factors }
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.centres.len() / self.dim
    }

    /// Width of the steps that centres are written in, for each coordinate.
    pub fn steps(&self) -> Vec<f64> {
        let range = |c: usize| {
            let all = self.centres.iter().skip(c).step_by(self.dim);
            let (low, high) =
                all.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(*x), h.max(*x)));
            (high - low).max(0.0)
        };
        (0..self.dim).map(|c| range(c) / STEPS).collect()
    }

    /// Entries of a factor.
    pub fn triangle(&self) -> usize {
        self.dim * (self.dim + 1) / 2
    }

    /// Adds a point without a spread.
    pub fn push_point(&mut self, centre: &[f64]) {
        self.centres.extend_from_slice(centre);
        self.variances.resize(self.variances.len() + self.dim, 0.0);
        if !self.factors.is_empty() {
            self.factors.resize(self.factors.len() + self.triangle(), 0.0);
        }
    }

    /// Some of the cells, in the order given.
    pub fn select(&self, which: &[usize]) -> Blocks {
        let (d, t) = (self.dim, self.triangle());
        let pick = |v: &[f64], each: usize| {
            which.iter().flat_map(|&a| &v[a * each..(a + 1) * each]).copied().collect()
        };
        Blocks {
            dim: d,
            centres: pick(&self.centres, d),
            variances: pick(&self.variances, d),
            factors: if self.factors.is_empty() { Vec::new() } else { pick(&self.factors, t) },
        }
    }

    /// Adds other cells of the same kind.
    pub fn extend(&mut self, other: &Blocks) {
        self.centres.extend_from_slice(&other.centres);
        self.variances.extend_from_slice(&other.variances);
        self.factors.extend_from_slice(&other.factors);
    }

    /// The cells, moved so that a mean and deviations become those of `to` where they were `from`: rows that
    /// moved together keep their outline.
    pub fn moved(&self, from: (&[f64], &[f64]), to: (&[f64], &[f64])) -> Blocks {
        let d = self.dim;
        let ratios: Vec<f64> =
            (0..d).map(|c| if from.1[c] > 0.0 { to.1[c] / from.1[c] } else { 1.0 }).collect();
        let mut all = self.clone();
        for (i, x) in all.centres.iter_mut().enumerate() {
            let c = i % d;
            *x = to.0[c] + ratios[c] * (*x - from.0[c]);
        }
        all.variances.iter_mut().enumerate().for_each(|(i, v)| *v *= ratios[i % d] * ratios[i % d]);
        for lower in all.factors.chunks_exact_mut(self.triangle()) {
            for i in 0..d {
                lower[i * (i + 1) / 2..(i + 1) * (i + 2) / 2].iter_mut().for_each(|x| *x *= ratios[i]);
            }
        }
        all
    }

    /// The cells after the linear map $u \mapsto M u + t$, M with d rows of d. Cells without correlations stay
    /// so. Cost: A d^3 with correlations.
    pub fn mapped(&self, matrix: &[f64], shift: &[f64]) -> Blocks {
        let d = self.dim;
        let row = |i: usize| &matrix[i * d..(i + 1) * d];
        let diagonal = (0..d * d).all(|at| at / d == at % d || matrix[at] == 0.0);
        let mut all = self.clone();
        for (from, to) in self.centres.chunks_exact(d).zip(all.centres.chunks_exact_mut(d)) {
            to.iter_mut().enumerate().for_each(|(i, x)| *x = dot(row(i), from) + shift[i]);
        }
        for (from, to) in self.variances.chunks_exact(d).zip(all.variances.chunks_exact_mut(d)) {
            to.iter_mut()
                .enumerate()
                .for_each(|(i, v)| *v = row(i).iter().zip(from).map(|(m, v)| m * m * v).sum());
        }
        if diagonal {
            for lower in all.factors.chunks_exact_mut(self.triangle()) {
                for i in 0..d {
                    lower[i * (i + 1) / 2..(i + 1) * (i + 2) / 2].iter_mut().for_each(|x| *x *= row(i)[i]);
                }
            }
            return all;
        }
        let mut own = vec![0.0; d * d];
        for (a, lower) in all.factors.chunks_exact_mut(self.triangle()).enumerate() {
            self.covariance(a, &mut own);
            let half: Vec<f64> =
                (0..d * d).map(|at| dot(row(at / d), &own[at % d * d..(at % d + 1) * d])).collect();
            let mut sigma: Vec<Vec<f64>> =
                half.chunks_exact(d).map(|h| (0..d).map(|j| dot(row(j), h)).collect()).collect();
            (0..d).for_each(|i| sigma[i][i] += JITTER * (sigma[i][i] + f64::MIN_POSITIVE.sqrt()));
            if let Some(found) = cholesky(&sigma) {
                (0..d).for_each(|i| {
                    lower[i * (i + 1) / 2..(i + 1) * (i + 2) / 2].copy_from_slice(&found[i][..=i])
                });
            }
            (0..d).for_each(|i| all.variances[a * d + i] = sigma[i][i]);
        }
        all
    }

    /// Covariance of a cell into `out`, d rows of d.
    pub fn covariance(&self, a: usize, out: &mut [f64]) {
        let d = self.dim;
        out.fill(0.0);
        if self.factors.is_empty() {
            (0..d).for_each(|c| out[c * d + c] = self.variances[a * d + c]);
            return;
        }
        let lower = &self.factors[a * self.triangle()..(a + 1) * self.triangle()];
        let row = |i: usize| &lower[i * (i + 1) / 2..(i + 1) * (i + 2) / 2];
        for i in 0..d {
            for j in 0..=i {
                let value: f64 = row(i)[..=j].iter().zip(row(j)).map(|(x, y)| x * y).sum();
                (out[i * d + j], out[j * d + i]) = (value, value);
            }
        }
    }

    /// The family of these cells at a target's frequencies, and their parameters in it.
    fn atoms(&self, target: &Target) -> (Gaussian, Vec<f64>) {
        let (d, t) = (self.dim, self.triangle());
        let full = !self.factors.is_empty();
        let shape = if full { Shape::Full } else { Shape::Diagonal };
        let mut atoms = Vec::with_capacity(self.len() * (d + if full { t } else { d }));
        for a in 0..self.len() {
            atoms.extend_from_slice(&self.centres[a * d..(a + 1) * d]);
            match full {
                true => atoms.extend_from_slice(&self.factors[a * t..(a + 1) * t]),
                false => atoms.extend_from_slice(&self.variances[a * d..(a + 1) * d]),
            }
        }
        (target.points.with_covariance(shape), atoms)
    }

    /// Sketches of the cells as the target would show them, other harmonics of a quantised feature
    /// included. Cost: A m d, A m d^2 with correlations.
    pub fn sketches(&self, target: &Target) -> Batch {
        let (family, atoms) = self.atoms(target);
        let mut all = Batch::default();
        family.sketch_batch(&atoms, &[], &mut all);
        let mut other = Batch::default();
        for &(h, ratio_re, ratio_im) in &target.harmonics {
            family.harmonic(h.abs()).sketch_batch(&atoms, &[], &mut other);
            let sign = f64::from(h.signum());
            let values = other.re.iter().zip(&other.im);
            for ((re, im), (a, b)) in all.re.iter_mut().zip(&mut all.im).zip(values) {
                let b = sign * b;
                *re += ratio_re * a - ratio_im * b;
                *im += ratio_re * b + ratio_im * a;
            }
        }
        all
    }
}

/// Lower factor of a matrix of correlations, rows of growing length.
fn factor(correlations: &[f64], d: usize) -> Vec<Vec<f64>> {
    let entry = |i: usize, j: usize| correlations[i * (i - 1) / 2 + j];
    let mut jitter = JITTER;
    loop {
        let row = |i: usize| -> Vec<f64> {
            let value = |j: usize| match i.cmp(&j) {
                std::cmp::Ordering::Equal => 1.0,
                std::cmp::Ordering::Greater => (1.0 - jitter) * entry(i, j),
                std::cmp::Ordering::Less => (1.0 - jitter) * entry(j, i),
            };
            (0..d).map(value).collect()
        };
        let matrix: Vec<Vec<f64>> = (0..d).map(row).collect();
        if let Some(mut lower) = cholesky(&matrix) {
            lower.iter_mut().enumerate().for_each(|(i, row)| row.truncate(i + 1));
            return lower;
        }
        // At 1 the matrix is the identity, which has a factor.
        jitter = (4.0 * jitter).min(1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_keeps_its_covariance_and_an_impossible_correlation_is_drawn_in() {
        let cells = Cells {
            dim: 3,
            centres: vec![0.0; 6],
            deviations: vec![1.0, 2.0, 3.0, 0.5, 0.0, 1.0],
            rows: vec![5, 5],
            groups: vec![0, 1],
            correlations: vec![vec![0.5, 0.0, -0.25], vec![1.0, 1.0, -1.0]],
        };
        let blocks = Blocks::of(&cells);
        let mut sigma = vec![0.0; 9];
        blocks.covariance(0, &mut sigma);
        for (found, wanted) in sigma.iter().zip([1.0, 1.0, 0.0, 1.0, 4.0, -1.5, 0.0, -1.5, 9.0]) {
            assert!((found - wanted).abs() < 1e-5, "{sigma:?}");
        }
        blocks.covariance(1, &mut sigma);
        assert!((sigma[0] - 0.25).abs() < 1e-12 && sigma[4] == 0.0 && (sigma[8] - 1.0).abs() < 1e-12);
    }
}
