//! Principal components of the rows behind a sketch: the eigenvectors of its exact moments, where it keeps
//! those of all pairs of columns, else what a quadratic sketch tells.
//!
//! The columns' common spread s brings eigenvalues back to the user's units, $\lambda s^2$, and leaves the
//! eigenvectors as they are. Columns with spreads of their own have components in coordinates
//! $(x - \mu) / s$, and the model says so.

pub(crate) mod decode;
mod exact;

use crate::error::{Error, Result};
use crate::learn::atoms::{model, origin};
use crate::learn::pca::decode::{Measurements, Spectrum};
use crate::learn::propose::{Decoder, Finds};
use crate::learn::{Candidate, Components, LearnParams, Learned};
use crate::model::{Content, Misfit, Working};
use crate::sketch::Moments;
use crate::sketch::operator::SketchOperator;

/// Learns principal components. Of the parameters it asks for the number, the seed, which the model records,
/// and the decoder: [`Decoder::Auto`] is [`Decoder::Eigen`] where the sketch has exact moments and
/// [`Decoder::Factorised`] elsewhere.
pub(crate) fn pca(operator: &SketchOperator, moments: &Moments, params: &LearnParams) -> Result<Learned> {
    let k = match params.k {
        Components::Exactly(k) => k,
        Components::Between(low, high) => {
            return Err(Error::Task {
                field: "k",
                problem: format!(
                    "principal components are ordered, so there is nothing to choose between {low} and {high}: ask for {high}, and take as many as their explained variance is worth"
                ),
            });
        }
    };
    let asked = params.decoder;
    let pairs = exact::pairs(operator, moments)?;
    let decoder = match (asked, &pairs) {
        (Decoder::Auto, Some(_)) => Decoder::Eigen,
        (Decoder::Auto, None) => Decoder::Factorised,
        _ => asked,
    };
    let (mean, found) = match (decoder.finds(), pairs) {
        (Finds::Eigenvectors, Some(pairs)) => pairs.decode(k, moments.rows)?,
        (Finds::Eigenvectors, None) => return Err(exact::not_kept()),
        (Finds::Components(decode), _) => {
            let data = Measurements::new(operator, moments, k)?;
            (Working::new(&operator.spec().transform)?.location(data.mean()), decode(&data, k))
        }
        (Finds::Anything | Finds::Atoms(_), _) => {
            return Err(Error::Task {
                field: "decoder",
                problem: format!(
                    "`{asked}` searches for mixtures; principal components are found by eigen, factorised, psd and nuclear"
                ),
            });
        }
    };
    // The sampling error of a variance is sqrt(2 / n) of it for Gaussian rows.
    let misfit = Misfit::unjudged(found.residual.powi(2) / (2.0 / moments.rows));
    let candidate =
        Candidate { k, cost: found.info.cost, misfit, chi_square: None, degrees: None, score: None };
    let origin = origin(operator, moments.rows, (decoder, params.seed), "none", (misfit, &found.info));
    let model = model(operator, content(operator, mean, found), k, origin);
    model.validate()?;
    Ok(Learned { model, candidates: vec![candidate] })
}

/// The components in the user's units, or in those of the columns' own spreads.
fn content(operator: &SketchOperator, mean: Vec<f64>, found: Spectrum) -> Content {
    let spread = &operator.spec().transform.spread;
    let common = spread.iter().all(|s| *s == spread[0]);
    let unit = if common { spread[0] * spread[0] } else { 1.0 };
    let (k, d) = (found.values.len(), operator.dim());
    let explained: f64 = found.values.iter().sum();
    let rest = if d > k { ((found.total - explained) / (d - k) as f64).max(0.0) } else { 0.0 };
    Content::Pca {
        mean,
        components: found.vectors.into_iter().map(upright).collect(),
        explained_variance: found.values.iter().map(|v| v * unit).collect(),
        noise_variance: rest * unit,
        total_variance: found.total.max(explained) * unit,
        scale: (!common).then(|| spread.clone()),
    }
}

/// The sign with which the entry of largest modulus, the first of equals, is positive.
fn upright(mut vector: Vec<f64>) -> Vec<f64> {
    let largest = vector.iter().fold(0.0f64, |most, x| if x.abs() > most.abs() { *x } else { most });
    if largest < 0.0 {
        vector.iter_mut().for_each(|x| *x = -*x);
    }
    vector
}

#[cfg(test)]
mod tests;
