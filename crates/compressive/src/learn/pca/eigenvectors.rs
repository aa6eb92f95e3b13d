//! Principal components from exact moments: an eigen-decomposition, with nothing left open. Cost: $6 d^3$.

use super::decode::{Spectrum, check_rank, no_variance};
use crate::error::remedy::{Parameter, Remedy};
use crate::error::{Error, Result};
use crate::model::{DecodeInfo, Stop, Working};
use crate::num::solve::symmetric_eigen;
use crate::sketch::Moments;
use crate::sketch::frequency::Covariance;
use crate::sketch::operator::SketchOperator;

/// The mean in the user's units, and the covariance of the columns over their spreads.
pub(super) struct Pairs {
    mean: Vec<f64>,
    covariance: Vec<f64>,
}

/// What the sketch keeps of all pairs of columns; none if it does not.
pub(super) fn pairs(operator: &SketchOperator, moments: &Moments) -> Result<Option<Pairs>> {
    let transform = &operator.spec().transform;
    let Some(exact) = moments.exact.as_ref().filter(|exact| matches!(exact.covariance, Covariance::Full(_)))
    else {
        return Ok(None);
    };
    let (mean, covariance) = Working::new(transform)?.moments(exact);
    let Some(Covariance::Full(rows)) = covariance else { return Ok(None) };
    let spread = &transform.spread;
    let scaled = |(i, row): (usize, &Vec<f64>)| -> Vec<f64> {
        row.iter().zip(spread).map(|(c, s)| c / (spread[i] * s)).collect()
    };
    Ok(Some(Pairs { mean, covariance: rows.iter().enumerate().flat_map(scaled).collect() }))
}

impl Pairs {
    /// The mean and the k largest eigenvalues with their vectors.
    pub(super) fn decode(self, k: usize, rows: f64) -> Result<(Vec<f64>, Spectrum)> {
        let d = self.mean.len();
        check_rank(k, d, rows)?;
        let (values, vectors) = symmetric_eigen(&self.covariance, d);
        let total: f64 = (0..d).map(|i| self.covariance[i * d + i]).sum();
        if !(total > 0.0) {
            return Err(no_variance(rows));
        }
        let spectrum = Spectrum {
            values: values[..k].iter().map(|v| v.max(0.0)).collect(),
            vectors: vectors.chunks_exact(d).take(k).map(<[f64]>::to_vec).collect(),
            total,
            residual: 0.0,
            info: DecodeInfo { iterations: 1, evaluations: 1, cost: 0.0, stop: Stop::Converged },
        };
        Ok((self.mean, spectrum))
    }
}

/// The decoder of exact moments without any.
pub(super) fn not_kept() -> Error {
    let problem =
        "`eigen` needs the exact moments of all pairs of columns, and this sketch does not keep them";
    Error::Task { field: "decoder", problem: problem.into() }.advise(Remedy::Drop(Parameter::Decoder))
}
