//! The fit for fewer and for more components, which shows how much their number matters.

use compressive::design::Task;
use compressive::learn::{Candidate, CovarianceKind, LearnParams, learn};
use compressive::model::{Content, Covariances, Model};
use compressive::{Moments, SketchOperator};

/// Components times frequencies times columns up to which a sweep takes seconds.
const QUICK: usize = 300_000;

/// Whether a sweep around this model takes seconds.
pub fn is_quick(model: &Model, operator: &SketchOperator) -> bool {
    model.k * operator.spec().size * operator.dim() <= QUICK
}

/// The fit for some numbers of components around the model's own; empty for models that are neither clusters
/// nor mixtures of Gaussians. A number of components that the sketch cannot carry is left out.
pub fn sweep(operator: &SketchOperator, moments: &Moments, model: &Model, threads: usize) -> Vec<Candidate> {
    let (task, covariance) = match &model.content {
        Content::Gmm { covariances: Covariances::Full(_), .. } => (Task::Gmm, CovarianceKind::Full),
        Content::Gmm { .. } => (Task::Gmm, CovarianceKind::Diag),
        Content::Kmedians { .. } => (Task::Kmedians, CovarianceKind::Diag),
        Content::Kmeans { .. } => (Task::Kmeans, CovarianceKind::Diag),
        _ => return Vec::new(),
    };
    let k = model.k;
    let mut all =
        vec![1, k / 4, k / 2, 3 * k / 4, k.saturating_sub(1), k, k + 1, k + k.div_ceil(4), k + k.div_ceil(2)];
    all.retain(|&k| k > 0);
    all.sort_unstable();
    all.dedup();
    let one = |k: usize| {
        let params = LearnParams::new(task, k).covariance(covariance.clone()).threads(threads);
        learn(operator, moments, &params).ok().and_then(|learned| learned.candidates.into_iter().next())
    };
    all.into_iter().filter_map(one).collect()
}
