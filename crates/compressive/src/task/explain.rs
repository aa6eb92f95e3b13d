//! What a model explains of a sketch, entry by entry.
//!
//! A model predicts the sketch $\hat z_j = \sum_l \alpha_l\, a_j(\theta_l)$. What is left, $z_j - \hat z_j$, is compared with what a right model would leave there: the sampling noise (and noise added on
//! purpose), less the part that looks like slightly other parameters. At low frequencies that is next to nothing, and centres that were moved to where the SSE is lowest leave more: there the unit is a
//! share of the sampling noise itself, $(1 - |z_j|^2)/n$.

use serde::Serialize;

use crate::atom::{AtomFamily, Gaussian, Shape};
use crate::decode::{Fit, Problem, Target, cluster_variance, excess, expected_cost, expected_squares};
use crate::error::{Error, Result};
use crate::model::{Content, Covariances, Model, Working, to_working};
use crate::operator::SketchOperator;
use crate::sketch::Moments;

/// Least unit of a residual, in standard deviations of the sampling noise.
pub const LEAST: f64 = 0.3;

/// A model under a sketch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// Mean square residual of an entry relative to what a right model leaves: near 1 if the model explains the sketch.
    pub misfit: f64,
    /// One for each frequency; none for a sketch of kernel values, whose entries are not independent.
    pub entries: Vec<Entry>,
    /// Weights of the components that suit this sketch best, which sum to one: for another day's sketch, that day's.
    pub shares: Vec<f64>,
    /// Covariances of the components, in the user's units: a mixture's own; around centres, those that suit the sketch best.
    pub covariances: Covariances,
}

/// One frequency of a sketch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// $|z_j|$.
    pub observed: f64,
    /// $|\hat z_j|$.
    pub predicted: f64,
    /// $|z_j - \hat z_j|$ in units of the root mean square that a right model leaves there, at least [`LEAST`] of the sampling noise: near 1 for a right model, and less at low frequencies.
    pub residual: f64,
}

/// Lays clusters or a Gaussian mixture over a sketch. A mixture is taken as it is; around the centres of k-means and k-medians, weights and diagonal covariances are fitted first. Cost: O(k m d),
/// times the steps of that fit.
///
/// # Errors
/// Models of other kinds, models of other columns, and sketches that hold no mixture.
pub fn explain(operator: &SketchOperator, moments: &Moments, model: &Model) -> Result<Explanation> {
    if !matches!(model.content, Content::Kmeans { .. } | Content::Kmedians { .. } | Content::Gmm { .. }) {
        return Err(Error::Task {
            field: "model",
            problem: format!("a model of the task `{}` is not laid over a sketch", model.task()),
        });
    }
    let target = Target::new(operator, moments)?;
    let laid = Laid::new(operator, &target, model)?;
    let mut problem = Problem::new(&laid.clean, &laid.family);
    let shares = problem.solve_weights(&laid.fit, false);
    let shares = Fit { weights: shares, ..laid.fit.clone() }.normalised_weights();
    let covariances = match &model.content {
        Content::Gmm { covariances, .. } => covariances.clone(),
        _ => Working::new(&operator.spec().transform)?.covariances(&laid.covariances(), true),
    };
    Ok(Explanation { misfit: laid.misfit(), entries: laid.entries(), shares, covariances })
}

/// A model as a fit of a sketch.
pub(super) struct Laid {
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

    /// The objective relative to what a right model leaves.
    pub fn misfit(&self) -> f64 {
        let cost = Problem::new(&self.clean, &self.family).cost(&self.fit);
        cost / expected_cost(&self.clean, &self.family, &self.fit)
    }

    /// Covariance of each component in working coordinates, row-major.
    pub fn covariances(&self) -> Vec<Vec<f64>> {
        let atoms = self.fit.atoms.chunks_exact(self.family.n_params());
        atoms.map(|atom| self.family.covariance_of(atom, &self.fit.shared)).collect()
    }

    fn entries(&self) -> Vec<Entry> {
        let target = &self.clean;
        if target.metric.is_some() {
            return Vec::new();
        }
        let (re, im) = Problem::new(target, &self.family).residual(&self.fit);
        let expected = expected_squares(target, &self.family, &self.fit);
        // A complex entry has the power of both its parts.
        let power = if target.complex { 2.0 } else { 1.0 } * (0.5 + excess(target));
        let entry = |j: usize| {
            let observed = target.re[j].hypot(target.im[j]);
            let sampling = (power - observed * observed).max(0.0) / target.rows;
            Entry {
                observed,
                predicted: (target.re[j] - re[j]).hypot(target.im[j] - im[j]),
                residual: re[j].hypot(im[j]) / expected[j].max(LEAST * LEAST * sampling).sqrt(),
            }
        };
        (0..target.size()).map(entry).collect()
    }
}

/// A model's locations in working coordinates.
pub(super) fn working_locations(operator: &SketchOperator, model: &Model) -> Vec<Vec<f64>> {
    model.locations().iter().map(|x| operator.spec().transform.apply(x)).collect()
}

/// Lower Cholesky factor of a covariance (validated, so it has one), by rows.
fn triangle(sigma: &[f64], d: usize) -> Vec<f64> {
    let rows: Vec<Vec<f64>> = sigma.chunks_exact(d).map(<[f64]>::to_vec).collect();
    let lower = crate::frequency::cholesky(&rows).unwrap_or_else(|| vec![vec![0.0; d]; d]);
    lower.iter().enumerate().flat_map(|(i, row)| row[..=i].to_vec()).collect()
}

/// Diagonal Gaussians at a model's centres, their weights and variances fitted.
fn fitted_shapes(operator: &SketchOperator, target: &Target, model: &Model) -> (Gaussian, Fit) {
    let family: Gaussian = target.points.with_covariance(Shape::Diagonal);
    let width = cluster_variance(target);
    let atoms: Vec<f64> =
        working_locations(operator, model).iter().flat_map(|c| family.init(c, width)).collect();
    let mut fit = Fit { atoms, shared: vec![], weights: vec![1.0 / model.k as f64; model.k] };
    let mut clean = target.clone();
    for _ in 0..if target.harmonics.is_empty() { 1 } else { 4 } {
        let mut problem = Problem::new(&clean, &family);
        fit.weights = problem.solve_weights(&fit, false);
        problem.descend_shapes(&mut fit, 300);
        clean = target.without_harmonics(&family, &fit);
    }
    (family, fit)
}
