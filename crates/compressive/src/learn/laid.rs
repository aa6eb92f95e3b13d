//! A model laid over a sketch: as a fit of it, with the misfit that this has.

use crate::density::Target;
use crate::density::atom::{AtomFamily, Gaussian, Shape};
use crate::density::fit::{Fit, Problem};
use crate::error::{Error, Result};
use crate::learn::misfit::misfit;
use crate::learn::propose::cluster_variance;
use crate::model::{Content, Covariances, Misfit, Model, to_working};
use crate::sketch::operator::SketchOperator;

/// A model as a fit of a sketch.
pub(crate) struct Laid {
    pub family: Gaussian,
    pub fit: Fit,
    /// Whether shapes and weights are the model's own.
    pub is_mixture: bool,
    /// The sketch without the other harmonics of a quantised feature.
    pub clean: Target,
}

impl Laid {
    /// The fit that a model is.
    pub fn new(operator: &SketchOperator, target: &Target, model: &Model) -> Result<Laid> {
        let spec = operator.spec();
        if model.columns != spec.columns {
            return Err(Error::Model {
                field: "columns".into(),
                problem: format!(
                    "the model has {}, the sketch {}",
                    model.columns.join(", "),
                    spec.columns.join(", ")
                ),
            });
        }
        let (family, fit) = match &model.content {
            Content::Gmm { weights, covariances, .. } => {
                // A fit of variances alone absorbs less of the noise than one of all covariances.
                let diagonal =
                    matches!(covariances, Covariances::Diagonal(_)) && spec.transform.whiten.is_none();
                let shape = if diagonal { Shape::Diagonal } else { Shape::Full };
                let (d, mut atoms) = (target.dim(), Vec::new());
                for (l, location) in working_locations(operator, model).iter().enumerate() {
                    atoms.extend_from_slice(location);
                    let sigma = to_working(&spec.transform, &covariances.matrix(l));
                    match diagonal {
                        true => atoms.extend((0..d).map(|c| sigma[c * d + c])),
                        false => atoms.extend(triangle(&sigma, d)),
                    }
                }
                let family = target.points.with_covariance(shape);
                (family, Fit { atoms, shared: vec![], weights: weights.clone() })
            }
            _ => fitted_shapes(operator, target, model),
        };
        let clean = target.without_harmonics(&family, &fit);
        let is_mixture = matches!(model.content, Content::Gmm { .. });
        Ok(Laid { family, fit, is_mixture, clean })
    }

    /// How well the model explains the sketch: the one number of a model and a sketch.
    pub fn misfit(&self) -> Misfit {
        let cost = Problem::new(&self.clean, &self.family).cost(&self.fit);
        misfit(&self.clean, &self.family, &self.fit, cost)
    }

    /// Covariance of each component in working coordinates, row-major.
    pub fn covariances(&self) -> Vec<Vec<f64>> {
        let atoms = self.fit.atoms.chunks_exact(self.family.n_params());
        atoms.map(|atom| self.family.covariance_of(atom, &self.fit.shared)).collect()
    }
}

/// A model's locations in working coordinates.
pub(crate) fn working_locations(operator: &SketchOperator, model: &Model) -> Vec<Vec<f64>> {
    model.locations().iter().map(|x| operator.spec().transform.apply(x)).collect()
}

/// Lower Cholesky factor of a covariance (validated, so it has one), by rows.
fn triangle(sigma: &[f64], d: usize) -> Vec<f64> {
    let rows: Vec<Vec<f64>> = sigma.chunks_exact(d).map(<[f64]>::to_vec).collect();
    let lower = crate::num::linear::cholesky(&rows).unwrap_or_else(|| vec![vec![0.0; d]; d]);
    lower.iter().enumerate().flat_map(|(i, row)| row[..=i].to_vec()).collect()
}

/// Diagonal Gaussians at a model's centres, their weights and variances fitted.
fn fitted_shapes(operator: &SketchOperator, target: &Target, model: &Model) -> (Gaussian, Fit) {
    let family: Gaussian = target.points.with_covariance(Shape::Diagonal);
    let width = cluster_variance(target);
    let atoms: Vec<f64> =
        working_locations(operator, model).iter().flat_map(|c| family.init(c, width)).collect();
    // A weight of 0 would not move.
    let least = 0.01 / model.k as f64;
    let weights = model.weights().iter().map(|w| w.max(least)).collect();
    let mut fit = Fit { atoms, shared: vec![], weights };
    let mut clean = target.clone();
    for _ in 0..if target.harmonics.is_empty() { 1 } else { 4 } {
        Problem::new(&clean, &family).settle_shapes(&mut fit);
        clean = target.without_harmonics(&family, &fit);
    }
    (family, fit)
}
