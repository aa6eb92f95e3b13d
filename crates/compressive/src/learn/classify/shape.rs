//! Step 2 of mixtures for classes: covariances are drawn to a shape that all classes share.
//!
//! - Whitened columns have the covariance I over all classes together, of which the class means $\mu_k$ make
//!   up the part between classes. What is left is the covariance within them,
//!   $\bar\Sigma = I - \sum_k p_k (\mu_k - \mu)(\mu_k - \mu)^\top$ with $\mu = \sum_k p_k \mu_k$, eigenvalues
//!   at least 1/1000. It takes no sketch entries but those that tell the means. A class whose own covariance
//!   was learned in full counts it with its rows against $\nu = d$ of the shared shape; any other class of
//!   one component takes the shared shape alone, which is Fisher's linear discriminant.
//! - Without whitening $\bar\Sigma$ is the mean of the classes' variances, a diagonal matrix, with $\nu = 4$.
//!
//! Shares $p_k$ are those of the rows, whatever priors the rule is given. Cost: d^3.

use crate::error::Result;
use crate::learn::classify::ClassData;
use crate::model::units::Working;
use crate::model::{ClassMixture, Covariances};
use crate::num::solve::symmetric_eigen;
use crate::sketch::spec::{SketchSpec, Transform};

/// Rows of the pooled variances that each component is taken to have had besides its own.
const POOLED_ROWS: f64 = 4.0;
/// Least share of a direction's variance that lies within classes.
const WITHIN_MIN: f64 = 1e-3;

/// Variance of the Gaussians that class means are learned with; all rows together have one.
const WIDE: f64 = 4.0;

/// Draws the covariances of all components together; `own` tells which classes have learned theirs in full.
pub(super) fn draw_together(
    all: &mut [ClassMixture],
    data: &[ClassData],
    own: &[bool],
    spec: &SketchSpec,
) -> Result<()> {
    let total: f64 = data.iter().map(|class| class.weight).sum();
    let shares: Vec<f64> = data.iter().map(|class| class.weight / total).collect();
    if spec.transform.whiten.is_none() || all.iter().any(|class| class.weights.len() > 1) {
        pooled(all, data, &shares, spec.dim());
        return Ok(());
    }
    let shape = within(all, &shares, &spec.transform)?;
    let d = spec.dim() as f64;
    for ((class, data), full) in all.iter_mut().zip(data).zip(own) {
        let kept = if *full { data.moments.rows / (data.moments.rows + d) } else { 0.0 };
        if let Covariances::Full(matrices) = &mut class.covariances {
            for (row, target) in matrices[0].iter_mut().zip(&shape) {
                row.iter_mut().zip(target).for_each(|(v, s)| *v = kept * *v + (1.0 - kept) * s);
            }
        }
    }
    Ok(())
}

/// A covariance wider than any class, in the user's units, if the columns are whitened. A Gaussian of this
/// known shape has only its mean to be learned, and the mean is that of all rows of the class: one that is as
/// narrow as the class settles among those few rows that are near each other, of which there are hardly any
/// in many columns.
pub(super) fn wide(transform: &Transform) -> Result<Option<Vec<Vec<f64>>>> {
    if transform.whiten.is_none() {
        return Ok(None);
    }
    let d = transform.centre.len();
    let sigma = (0..d * d).map(|i| if i % (d + 1) == 0 { WIDE } else { 0.0 }).collect();
    full(transform, sigma).map(Some)
}

/// A covariance of working coordinates in the user's units.
fn full(transform: &Transform, sigma: Vec<f64>) -> Result<Vec<Vec<f64>>> {
    match Working::new(transform)?.covariances(&[sigma], false) {
        Covariances::Full(mut matrices) => Ok(matrices.remove(0)),
        Covariances::Diagonal(_) => unreachable!("full covariances were asked for"),
    }
}

/// The covariance within classes of whitened columns, in the user's units.
fn within(all: &[ClassMixture], shares: &[f64], transform: &Transform) -> Result<Vec<Vec<f64>>> {
    let d = transform.centre.len();
    let means: Vec<Vec<f64>> = all.iter().map(|class| transform.apply(&class.means[0])).collect();
    let mut centre = vec![0.0; d];
    for (mean, p) in means.iter().zip(shares) {
        centre.iter_mut().zip(mean).for_each(|(c, x)| *c += p * x);
    }
    let mut sigma: Vec<f64> = (0..d * d).map(|i| if i % (d + 1) == 0 { 1.0 } else { 0.0 }).collect();
    for (mean, p) in means.iter().zip(shares) {
        let off: Vec<f64> = mean.iter().zip(&centre).map(|(x, c)| x - c).collect();
        for (i, row) in sigma.chunks_exact_mut(d).enumerate() {
            row.iter_mut().zip(&off).for_each(|(s, x)| *s -= p * off[i] * x);
        }
    }
    let (values, vectors) = symmetric_eigen(&sigma, d);
    sigma.fill(0.0);
    for (value, vector) in values.iter().zip(vectors.chunks_exact(d)) {
        for (i, row) in sigma.chunks_exact_mut(d).enumerate() {
            row.iter_mut().zip(vector).for_each(|(s, v)| *s += value.max(WITHIN_MIN) * vector[i] * v);
        }
    }
    full(transform, sigma)
}

/// Draws all components to the mean of their variances.
fn pooled(all: &mut [ClassMixture], data: &[ClassData], shares: &[f64], d: usize) {
    let mut pooled = vec![0.0; d];
    for (class, p) in all.iter().zip(shares) {
        for (l, weight) in class.weights.iter().enumerate() {
            let variance = |c: usize| match &class.covariances {
                Covariances::Diagonal(rows) => rows[l][c],
                Covariances::Full(matrices) => matrices[l][c][c],
            };
            pooled.iter_mut().enumerate().for_each(|(c, v)| *v += p * weight * variance(c));
        }
    }
    for (class, data) in all.iter_mut().zip(data) {
        for (l, weight) in class.weights.iter().enumerate() {
            let own = weight * data.moments.rows / (weight * data.moments.rows + POOLED_ROWS);
            match &mut class.covariances {
                Covariances::Diagonal(rows) => {
                    rows[l].iter_mut().zip(&pooled).for_each(|(v, p)| *v = own * *v + (1.0 - own) * p);
                }
                Covariances::Full(matrices) => {
                    for (i, row) in matrices[l].iter_mut().enumerate() {
                        row.iter_mut().for_each(|v| *v *= own);
                        row[i] += (1.0 - own) * pooled[i];
                    }
                }
            }
        }
    }
}
