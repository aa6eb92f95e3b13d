//! k-medians centres: those of the density that the sketch describes.
//!
//! The means of k fitted Gaussians are its medians only if the clusters are symmetric. As for k-means, but always, a mixture stands for the rows:
//!
//! 1. a richer mixture of up to 2k atoms where the sketch can carry it and is described better by it, else the k atoms found;
//! 2. a synthetic sample of it, in the user's units;
//! 3. k-medians of the sample (file `weiszfeld.rs`) from the decoded centres and from other starts; the lowest sum of distances is kept.
//!
//! The objective is that of \[GBKT17\] section 4: $\sum_i \min_l \lVert x_i - c_l\rVert$, with each column divided by its spread in the spec.
//! Cost: one more decoding, and some runs on the sample.

use super::refine::{self, Shares};
use crate::density::Target;
use crate::error::Result;
use crate::learn::{Decoded, LearnParams};
use crate::num::weiszfeld::medians;
use crate::sketch::operator::SketchOperator;

/// Rounds of a run at most.
const ROUNDS: usize = 300;

/// Steps 1 to 3: k centres in the user's units, with their shares; none if a centre got no rows.
pub(super) fn medians_of(
    operator: &SketchOperator,
    target: &Target,
    decoded: &Decoded,
    centers: &[Vec<f64>],
    params: &LearnParams,
) -> Result<Option<Shares>> {
    let rich = refine::richer(target, decoded, refine::affordable(target, centers.len()), params)?;
    let mixture = rich.unwrap_or_else(|| (decoded.family.clone(), decoded.fit.clone()));
    let run = |rows: &[f64], start| medians(rows, target.dim(), start, ROUNDS);
    refine::centres_of_sample(operator, &mixture, centers, params, run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::{DesignParams, Task, design};
    use crate::learn::{Components, learn};
    use crate::num::random::{Purpose, Stream};
    use crate::testing::sketch_of;

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
        let settings = DesignParams { task: Task::Kmedians, k: 3, ..DesignParams::default() };
        let operator = design(&rows[..20_000], &columns, &settings).unwrap().build().unwrap();
        let sketch = sketch_of(&operator, &rows);
        let params =
            LearnParams { task: Task::Kmedians, k: Components::Exactly(3), ..LearnParams::default() };
        let model = learn(&operator, &sketch.moments().unwrap(), &params).unwrap().model;
        assert_eq!(model.task(), "kmedians");
        let direct = medians(&rows, 2, centres.concat(), 300);
        let found = medians(&rows, 2, model.locations().concat(), 1);
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
