//! k-medians from a sketch: the centres of the density that the sketch describes.
//!
//! The means of k fitted Gaussians are its medians only if the clusters are symmetric. As for k-means, but
//! always, a mixture stands for the rows:
//!
//! 1. a richer mixture of up to 2k atoms where the sketch can carry it and is described better by it, else
//!    the k atoms found;
//! 2. a synthetic sample of it, in the user's units;
//! 3. k-medians of the sample (file `weiszfeld.rs`) from the decoded centres and from other starts; the
//!    lowest sum of distances is kept.
//!
//! The objective is that of \[GBKT17\] section 4: $\sum_i \min_l \lVert x_i - c_l\rVert$, with each column
//! divided by its spread in the spec. Cost: one more decoding, and some runs on the sample.

use crate::density::Target;
use crate::error::Result;
use crate::learn::atoms::Found;
use crate::learn::on_density;
use crate::learn::refine::{self, Shares};
use crate::learn::{Decoder, LearnParams, Learned, within};
use crate::model::Content;
use crate::num::budget;
use crate::num::lloyd::Points;
use crate::num::weiszfeld::medians;
use crate::sketch::Moments;
use crate::sketch::operator::SketchOperator;

/// Rounds of a run at most.
const ROUNDS: usize = 300;

/// Learns the centres of k-medians.
pub(crate) fn kmedians(
    operator: &SketchOperator,
    moments: &Moments,
    params: &LearnParams,
) -> Result<Learned> {
    within(&params.budget, || search(operator, moments, params))
}

fn search(operator: &SketchOperator, moments: &Moments, params: &LearnParams) -> Result<Learned> {
    let target = Target::new(operator, moments)?;
    let mut found = Found::search(operator, target, None, params)?;
    if let Some(better) = found.centres_of_density(Some(on_density::kmedians))? {
        found.move_to(better);
    } else if params.decoder == Decoder::Auto
        && found.density.is_none()
        && !budget::spent()
        && let Some(better) = medians_of(&found)?
    {
        found.move_to(better);
    }
    let (centers, weights) = (found.locations.clone(), found.weights.clone());
    found.to_model(Content::Kmedians { centers, weights }, "none")
}

/// Steps 1 to 3: k centres in the user's units, with their shares; none if a centre got no rows.
fn medians_of(found: &Found<'_>) -> Result<Option<Shares>> {
    let Found { target, decoded, .. } = found;
    let rich = refine::richer(found, refine::affordable(target, decoded.fit.k()))?;
    let mixture = rich.unwrap_or_else(|| (decoded.family.clone(), decoded.fit.clone()));
    refine::centres_of_sample(found, &mixture, |rows, start| {
        medians(Points::equal(rows, target.dim()), start, ROUNDS)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::{Look, Request, Task, design};
    use crate::num::random::{Purpose, Stream};

    #[test]
    fn skewed_clusters_among_outliers_have_their_medians_found() {
        let mut stream = Stream::new(4, Purpose::PilotMixture, 91);
        let centres = [[0.0, 0.0], [9.0, 2.0], [-3.0, 8.0]];
        let mut rows = Vec::new();
        for i in 0..30_000 {
            if i % 25 == 0 {
                rows.extend([0, 1].map(|_| 400.0 * stream.uniform() - 200.0));
            } else {
                rows.extend(centres[i % 3].map(|c| c - 1.5 * stream.uniform().ln()));
            }
        }
        let columns = ["x".to_owned(), "y".to_owned()];
        let settings = Request::new(Task::Kmedians, 3);
        let sketch = design(Look::Sample { rows: &rows[..20_000], columns: &columns }, &settings)
            .unwrap()
            .spec
            .sketch(&rows)
            .unwrap();
        let model = sketch.kmedians(3).unwrap();
        assert_eq!(model.task(), "kmedians");
        let direct = medians(Points::equal(&rows, 2), centres.concat(), 300);
        let found = medians(Points::equal(&rows, 2), model.locations().concat(), 1);
        // The first round's sum is that of the centres as they were given.
        assert!(
            found.cost < 1.05 * direct.cost,
            "{} for {}: {:?}",
            found.cost,
            direct.cost,
            model.locations()
        );
        for centre in direct.centers.chunks_exact(2) {
            let off = |c: &Vec<f64>| (c[0] - centre[0]).hypot(c[1] - centre[1]);
            let nearest = model.locations().iter().map(off).fold(f64::INFINITY, f64::min);
            assert!(nearest < 0.25, "{centre:?} in {:?}", model.locations());
        }
    }
}
