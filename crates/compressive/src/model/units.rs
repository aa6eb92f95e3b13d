//! Between working coordinates and the user's units: $u = W\,\mathrm{diag}(s)^{-1}(x - c)$, so
//! $x = c + \mathrm{diag}(s)\,W^{-1} u$ and $\Sigma_x = B\,\Sigma_u B^\top$ with
//! $B = \mathrm{diag}(s)\,W^{-1}$.

use crate::error::{Error, Result};
use crate::model::Covariances;
use crate::sketch::ExactMoments;
use crate::sketch::frequency::Covariance;
use crate::sketch::spec::Transform;

/// Undoes a spec's transform.
pub(crate) struct Working {
    centre: Vec<f64>,
    /// $B$, d rows of d; only its diagonal without whitening.
    back: Vec<Vec<f64>>,
    diagonal: bool,
}

impl Working {
    /// The way back of a transform; refused if its whitening matrix is singular. Cost: d^3 with whitening.
    pub fn new(transform: &Transform) -> Result<Working> {
        let d = transform.centre.len();
        let inverse = match &transform.whiten {
            None => identity(d),
            Some(matrix) => inverse(matrix).ok_or_else(|| Error::Spec {
                field: "transform",
                problem:
                    "the whitening matrix has no inverse, so nothing learned can be expressed in the table's units"
                        .into(),
            })?,
        };
        let back = inverse
            .iter()
            .zip(&transform.spread)
            .map(|(row, s)| row.iter().map(|x| x * s).collect())
            .collect();
        Ok(Working { centre: transform.centre.clone(), back, diagonal: transform.whiten.is_none() })
    }

    /// A location in the user's units.
    pub fn location(&self, u: &[f64]) -> Vec<f64> {
        if self.diagonal {
            return (0..u.len()).map(|i| self.centre[i] + self.back[i][i] * u[i]).collect();
        }
        self.centre.iter().zip(&self.back).map(|(c, row)| c + crate::num::linear::dot(row, u)).collect()
    }

    /// Most that each column moves when every working coordinate moves by at most `step`.
    pub fn reach(&self, step: f64) -> Vec<f64> {
        self.back.iter().map(|row| step * row.iter().map(|b| b.abs()).sum::<f64>()).collect()
    }

    /// Mean and covariance of rows in the user's units. Variances of whitened coordinates tell nothing of the
    /// columns' own.
    pub fn moments(&self, exact: &ExactMoments) -> (Vec<f64>, Option<Covariance>) {
        let covariance = match &exact.covariance {
            Covariance::Full(sigma) => Some(Covariance::Full(congruence(&self.back, sigma))),
            Covariance::Diagonal(variances) => self.diagonal.then(|| {
                let own = |(i, v): (usize, &f64)| v * self.back[i][i].powi(2);
                Covariance::Diagonal(variances.iter().enumerate().map(own).collect())
            }),
        };
        (self.location(&exact.mean), covariance)
    }

    /// Covariances (d x d each, row-major) in the user's units; they stay diagonal if `diagonal` and there is
    /// no whitening.
    pub fn covariances(&self, all: &[Vec<f64>], diagonal: bool) -> Covariances {
        let d = self.centre.len();
        if diagonal && self.diagonal {
            let variances =
                |sigma: &Vec<f64>| (0..d).map(|i| sigma[i * d + i] * self.back[i][i].powi(2)).collect();
            return Covariances::Diagonal(all.iter().map(variances).collect());
        }
        let full = |sigma: &Vec<f64>| {
            let rows: Vec<Vec<f64>> = sigma.chunks_exact(d).map(<[f64]>::to_vec).collect();
            congruence(&self.back, &rows)
        };
        Covariances::Full(all.iter().map(full).collect())
    }
}

/// A covariance in working coordinates, row-major.
pub(crate) fn to_working(transform: &Transform, sigma: &[Vec<f64>]) -> Vec<f64> {
    let d = sigma.len();
    let rows = transform.whiten.clone().unwrap_or_else(|| identity(d));
    let scaled: Vec<Vec<f64>> =
        rows.iter().map(|row| row.iter().zip(&transform.spread).map(|(w, s)| w / s).collect()).collect();
    congruence(&scaled, sigma).into_iter().flatten().collect()
}

/// $B\,\Sigma B^\top$, symmetric to the last bit.
fn congruence(b: &[Vec<f64>], sigma: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let d = sigma.len();
    let half: Vec<Vec<f64>> =
        b.iter().map(|row| (0..d).map(|j| (0..d).map(|i| row[i] * sigma[i][j]).sum()).collect()).collect();
    let mut out = vec![vec![0.0; b.len()]; b.len()];
    for i in 0..b.len() {
        for j in 0..=i {
            out[i][j] = crate::num::linear::dot(&half[i], &b[j]);
            out[j][i] = out[i][j];
        }
    }
    out
}

fn identity(d: usize) -> Vec<Vec<f64>> {
    (0..d).map(|i| (0..d).map(|j| if i == j { 1.0 } else { 0.0 }).collect()).collect()
}

/// Gauss-Jordan with row pivoting; none if singular to rounding.
fn inverse(matrix: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let d = matrix.len();
    let mut rows: Vec<Vec<f64>> =
        matrix.iter().zip(identity(d)).map(|(row, unit)| [row.clone(), unit].concat()).collect();
    let largest = matrix.iter().flatten().fold(0.0f64, |a, x| a.max(x.abs()));
    for column in 0..d {
        let pivot = (column..d).max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()))?;
        if !(rows[pivot][column].abs() > 1e-13 * largest) {
            return None;
        }
        rows.swap(column, pivot);
        let lead = rows[column].clone();
        for (i, row) in rows.iter_mut().enumerate() {
            let factor = if i == column { 1.0 - 1.0 / lead[column] } else { row[column] / lead[column] };
            row.iter_mut().zip(&lead).for_each(|(x, l)| *x -= factor * l);
        }
    }
    Some(rows.into_iter().map(|row| row[d..].to_vec()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_and_a_covariance_come_back_as_they_were() {
        let transform = Transform {
            centre: vec![10.0, -3.0],
            spread: vec![2.0, 0.1],
            whiten: Some(vec![vec![1.0, 0.5], vec![-0.25, 2.0]]),
        };
        let working = Working::new(&transform).unwrap();
        let x = [13.0, -2.7];
        let back = working.location(&transform.apply(&x));
        assert!(back.iter().zip(&x).all(|(a, b)| (a - b).abs() < 1e-12), "{back:?}");
        let sigma = vec![vec![4.0, 0.3], vec![0.3, 0.09]];
        let there = to_working(&transform, &sigma);
        let Covariances::Full(all) = working.covariances(&[there], true) else { panic!("whitened") };
        for (a, b) in all[0].iter().flatten().zip(sigma.iter().flatten()) {
            assert!((a - b).abs() < 1e-12, "{all:?}");
        }
    }

    #[test]
    fn a_singular_whitening_matrix_is_refused() {
        let mut transform = Transform::identity(2);
        transform.whiten = Some(vec![vec![1.0, 2.0], vec![2.0, 4.0]]);
        assert!(Working::new(&transform).is_err());
    }
}
