//! The misfit of a mixture of atoms; the rule by which it is judged is [`Misfit`]'s own.

use crate::density::Target;
use crate::density::atom::{AtomFamily, Gaussian};
use crate::density::fit::Fit;
use crate::density::noise::expected_cost;
use crate::model::{Evidence, Misfit};

/// A fit's cost relative to what a right fit of its family leaves.
pub(crate) fn misfit(target: &Target, family: &Gaussian, fit: &Fit, cost: f64) -> Misfit {
    let parameters = fit.k() * (1 + family.n_params()) + fit.shared.len();
    judged(target, cost / expected_cost(target, family, fit), parameters)
}

/// A misfit of so many fitted parameters, judged by the sketch.
pub(super) fn judged(target: &Target, value: f64, parameters: usize) -> Misfit {
    let (kernel, noisy) = (target.points.kernel().is_some(), target.is_noisy());
    Misfit::new(value, Evidence { entries: target.entries(), parameters, kernel, noisy })
}
