//! What the experiments on mixtures share: designs, the measure, cells.

use compressive::FrequencyLaw;
use compressive::design::{LawChoice, Request, Task};

use crate::error::Result;
use crate::experiment::draws::{mean, median};
use crate::experiment::fits::{self, Sketched};
use crate::experiment::report::Cell;
use compressive_data::Mixture;
use compressive_data::Sample;
use compressive_data::metric::symmetric_kl;
use compressive_data::{EmParams, em};

/// Parameters of a mixture of k diagonal Gaussians, as the papers count them.
pub(super) fn parameters(k: usize, dim: usize) -> usize {
    k * (2 * dim + 1)
}

/// The program's own design for a mixture, with a law.
pub(super) fn designed(
    sample: &Sample,
    k: usize,
    size: usize,
    law: LawChoice,
    seed: u64,
) -> Result<Sketched> {
    let params = Request::new(Task::Gmm, k).outline(false).size(size).law(law).seed(seed);
    fits::designed(&sample.values, sample.dim, &params)
}

/// A sketch at the true mean variance of the clusters, without a transform.
pub(super) fn oracle(
    sample: &Sample,
    truth: &Mixture,
    size: usize,
    law: FrequencyLaw,
    seed: u64,
) -> Result<Sketched> {
    fits::untransformed(&sample.values, sample.dim, law, mean(&truth.covariances).sqrt(), size, seed)
}

/// Logarithm of the symmetric Kullback-Leibler divergence to the truth (\[KBGP18\] eq. 24).
pub(super) fn log_kl(truth: &Mixture, estimate: &Mixture, n_draws: usize) -> Result<f64> {
    Ok(symmetric_kl(truth, estimate, n_draws, 7)?.value.ln())
}

/// The best of ten runs of expectation-maximisation on all rows, on one thread.
pub(super) fn em_best(sample: &Sample, k: usize, seed: u64, n_init: usize) -> Result<Mixture> {
    let params = EmParams { n_init, seed, threads: 1, ..EmParams::default() };
    Ok(em(sample.rows()?, k, &params)?.mixture)
}

/// Mean with the median behind it.
pub(super) fn cell(values: &[f64]) -> Cell {
    if values.is_empty() {
        return Cell::text("");
    }
    Cell::text(format!("{:.2} ({:.2})", mean(values), median(values)))
        .with("mean", mean(values))
        .with("median", median(values))
        .with("worst", values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
        .with("draws", values.len() as f64)
}
