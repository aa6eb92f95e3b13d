//! k-means from a sketch: the locations of atoms, moved to where the sum of squares is lowest.

use crate::density::Target;
use crate::error::Result;
use crate::learn::atoms::Found;
use crate::learn::refine::refine;
use crate::learn::{Components, Decoder, Learned, SearchParams, within};
use crate::model::Content;
use crate::num::budget;
use crate::sketch::Moments;
use crate::sketch::operator::SketchOperator;

/// Parameters of [`kmeans`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct KmeansParams {
    /// Number of clusters, at least 1; 10 by default.
    pub k: Components,
    /// How to search.
    pub search: SearchParams,
}

/// Learns the centres of k-means.
pub fn kmeans(operator: &SketchOperator, moments: &Moments, params: &KmeansParams) -> Result<Learned> {
    within(&params.search.budget, || search(operator, moments, params))
}

fn search(operator: &SketchOperator, moments: &Moments, params: &KmeansParams) -> Result<Learned> {
    let target = Target::new(operator, moments)?;
    let mut found = Found::search(operator, target, params.k, None, &params.search)?;
    if let Some(better) = found.centres_of_density(None)? {
        found.move_to(better);
    } else if params.search.decoder == Decoder::Auto
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
