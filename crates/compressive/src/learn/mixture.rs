//! Mixtures of Gaussians from a sketch: atoms with shapes of their own, polished.

use crate::density::Target;
use crate::density::atom::Shape;
use crate::error::{Error, Result};
use crate::learn::atoms::Found;
use crate::learn::{LearnParams, Learned, within};
use crate::model::{Content, Working, to_working};
use crate::sketch::Moments;
use crate::sketch::operator::SketchOperator;

/// Kind of covariance of a mixture's components.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum CovarianceKind {
    /// One width for each component, after each column was scaled by its spread.
    Iso,
    /// A variance for each column.
    #[default]
    Diag,
    /// Any covariance.
    Full,
    /// This covariance for all components, in the user's units.
    Known(Vec<Vec<f64>>),
}

impl CovarianceKind {
    /// A kind that needs no more than its name.
    pub fn by_name(name: &str) -> Option<CovarianceKind> {
        [CovarianceKind::Iso, CovarianceKind::Diag, CovarianceKind::Full]
            .into_iter()
            .find(|k| k.name() == name)
    }

    /// The stable name used on the command line and in models.
    pub fn name(&self) -> &'static str {
        match self {
            CovarianceKind::Iso => "iso",
            CovarianceKind::Diag => "diag",
            CovarianceKind::Full => "full",
            CovarianceKind::Known(_) => "known",
        }
    }
}

/// Learns a mixture of Gaussians.
pub(crate) fn mixture(operator: &SketchOperator, moments: &Moments, params: &LearnParams) -> Result<Learned> {
    within(&params.budget, || search(operator, moments, params))
}

fn search(operator: &SketchOperator, moments: &Moments, params: &LearnParams) -> Result<Learned> {
    let target = Target::new(operator, moments)?;
    let transform = &operator.spec().transform;
    let shape = match &params.covariance {
        CovarianceKind::Iso => Shape::Width,
        CovarianceKind::Diag => Shape::Diagonal,
        CovarianceKind::Full => Shape::Full,
        CovarianceKind::Known(sigma) => {
            check_known(sigma, target.dim())?;
            Shape::Known(to_working(transform, sigma))
        }
    };
    let found = Found::search(operator, target, Some(&shape), params)?;
    let diagonal = !matches!(found.decoded.family.covariance(), Shape::Full | Shape::Known(_));
    let covariances = Working::new(transform)?.covariances(&found.covariances(), diagonal);
    let (weights, means) = (found.weights.clone(), found.locations.clone());
    found.to_model(Content::Gmm { weights, means, covariances }, params.covariance.name())
}

fn check_known(sigma: &[Vec<f64>], d: usize) -> Result<()> {
    let fail = |problem: String| Err(Error::Task { field: "covariance", problem });
    if sigma.len() != d || sigma.iter().any(|row| row.len() != d) {
        return fail(format!(
            "the known covariance must have {d} rows of {d} numbers, as the sketch has {d} columns"
        ));
    }
    let symmetric = (0..d)
        .all(|i| (0..i).all(|j| (sigma[i][j] - sigma[j][i]).abs() <= 1e-9 * sigma[i][i].max(sigma[j][j])));
    if !symmetric || crate::num::linear::cholesky(sigma).is_none() {
        return fail("the known covariance is not symmetric and positive definite".into());
    }
    Ok(())
}
