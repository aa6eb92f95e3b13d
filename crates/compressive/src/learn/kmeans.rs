//! k-means from a sketch: the locations of atoms, moved to where the sum of squares is lowest.

use crate::density::Target;
use crate::error::Result;
use crate::learn::atoms::Found;
use crate::learn::refine::refine;
use crate::learn::{Decoder, LearnParams, Learned, within};
use crate::model::Content;
use crate::num::budget;
use crate::sketch::Moments;
use crate::sketch::operator::SketchOperator;

/// Learns the centres of k-means.
pub(crate) fn kmeans(operator: &SketchOperator, moments: &Moments, params: &LearnParams) -> Result<Learned> {
    within(&params.budget, || search(operator, moments, params))
}

fn search(operator: &SketchOperator, moments: &Moments, params: &LearnParams) -> Result<Learned> {
    let target = Target::new(operator, moments)?;
    let mut found = Found::search(operator, target, None, params)?;
    if let Some(better) = found.centres_of_density(None)? {
        found.move_to(better);
    } else if params.decoder == Decoder::Auto
        && found.density.is_none()
        && !budget::spent()
        && let Some(better) = refine(&found)?
    {
        found.move_to(better);
    }
    found.promise();
    let (centers, weights) = (found.locations.clone(), found.weights.clone());
    found.to_model(Content::Kmeans { centers, weights }, "none")
}
