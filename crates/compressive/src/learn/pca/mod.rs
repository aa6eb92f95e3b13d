//! Principal components of the rows behind a quadratic sketch.
//!
//! The columns' common spread s brings eigenvalues back to the user's units, $\lambda s^2$, and leaves the eigenvectors as they are. Columns with spreads of their own
//! have components in coordinates $(x - \mu) / s$, and the model says so.

pub mod decode;

use crate::design::Task;
use crate::error::{Error, Result};
use crate::learn::pca::decode::{
    FactorisedParams, Measurements, NuclearParams, PsdParams, Spectrum, factorised, nuclear, psd,
};
use crate::learn::{Candidate, Components, Decoder, LearnParams, Learned};
use crate::model::{Content, Origin, Working};
use crate::sketch::Moments;
use crate::sketch::operator::SketchOperator;

/// Learns principal components.
pub(super) fn learn(operator: &SketchOperator, moments: &Moments, params: &LearnParams) -> Result<Learned> {
    debug_assert_eq!(params.task, Task::Pca);
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
    let decoder = decoder(params.decoder)?;
    let data = Measurements::new(operator, moments, k)?;
    let found = match decoder {
        Decoder::Psd => psd(&data, &PsdParams::new(k)),
        Decoder::Nuclear => nuclear(&data, &NuclearParams::new(k)),
        _ => factorised(&data, &FactorisedParams::new(k)),
    };
    // The sampling error of a variance is sqrt(2 / n) of it for Gaussian rows.
    let misfit = found.residual.powi(2) / (2.0 / moments.rows);
    let candidate = Candidate { k, cost: found.info.cost, misfit, chi_square: None, degrees: None };
    let origin = Origin {
        decoder: decoder.name().into(),
        ..super::origin(operator, moments.rows, params, "none", (misfit, &found.info))
    };
    let model = super::model(operator, tell(operator, &data, found)?, k, origin);
    model.validate()?;
    Ok(Learned { model, candidates: vec![candidate] })
}

fn decoder(asked: Decoder) -> Result<Decoder> {
    match asked {
        Decoder::Auto => Ok(Decoder::Factorised),
        asked if asked.is_for_components() => Ok(asked),
        asked => Err(Error::Task {
            field: "decoder",
            problem: format!(
                "`{}` searches for mixtures; principal components are found by factorised, psd and nuclear",
                asked.name()
            ),
        }),
    }
}

/// The components in the user's units, or in those of the columns' own spreads.
fn tell(operator: &SketchOperator, data: &Measurements, found: Spectrum) -> Result<Content> {
    let transform = &operator.spec().transform;
    let spread = &transform.spread;
    let common = spread.iter().all(|s| *s == spread[0]);
    let unit = if common { spread[0] * spread[0] } else { 1.0 };
    let (k, d) = (found.values.len(), operator.dim());
    let explained: f64 = found.values.iter().sum();
    let rest = if d > k { ((found.total - explained) / (d - k) as f64).max(0.0) } else { 0.0 };
    Ok(Content::Pca {
        mean: Working::new(transform)?.location(data.mean()),
        components: found.vectors.into_iter().map(upright).collect(),
        explained_variance: found.values.iter().map(|v| v * unit).collect(),
        noise_variance: rest * unit,
        total_variance: found.total.max(explained) * unit,
        scale: (!common).then(|| spread.clone()),
    })
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
