//! The cost $C(\theta; z) = \lVert z - \mathcal A(P_\theta)\rVert^2$ of a sketch at given centres or
//! mixtures, and whose fault a failure is (\[Sch21\] section 6.3).
//!
//! A decoder that ends at a higher cost than the solution has failed for certain. One that ends at a lower
//! cost, far from the solution, has not: the cost itself prefers a wrong answer.

use compressive::ask::diagnose::{cost, diagnose};
use compressive::design::Task;
use compressive::learn::{Decoder, LearnParams, learn};
use compressive::model::{Content, Covariances, Model};

use crate::error::Result;
use crate::experiment::fits::Sketched;
use compressive_data::Mixture;

/// Costs that differ by less than this share are equal: descents stop with about as much left.
pub(super) const EQUAL: f64 = 1e-3;

/// Where a decoder ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct End {
    /// Loss of the task, by which success is judged.
    pub loss: f64,
    /// Cost relative to that of the solution.
    pub cost: f64,
}

impl End {
    /// Whether the search ended above the cost of the solution: a failure of the decoder, detected from the
    /// sketch.
    pub fn is_stuck(&self) -> bool {
        self.cost > 1.0 + EQUAL
    }

    /// Whether the task failed at a cost that is no higher than that of the solution: a failure of the cost.
    pub fn is_misled(&self, success: f64) -> bool {
        !(self.loss <= success) && !self.is_stuck()
    }
}

impl Sketched {
    /// The cost a frequency of points at centres in the data's units, with the weights that fit best.
    pub fn cost_of_centers(&self, centers: &[f64]) -> Result<f64> {
        Ok(cost(&self.operator, &self.moments, &self.centers_as_model(centers))?)
    }

    /// The cost a frequency of a mixture of diagonal Gaussians in the data's units, its weights as they are.
    pub fn cost_of_mixture(&self, mixture: &Mixture) -> Result<f64> {
        let rows = |values: &[f64]| values.chunks_exact(mixture.dim).map(<[f64]>::to_vec).collect();
        let content = Content::Gmm {
            weights: mixture.weights.clone(),
            means: rows(&mixture.means),
            covariances: Covariances::Diagonal(rows(&mixture.covariances)),
        };
        Ok(cost(&self.operator, &self.moments, &self.as_model(content, mixture.k()))?)
    }

    /// Centres by the genetic decoder with point atoms and its defaults.
    pub fn genetic_centers(&self, k: usize, seed: u64) -> Result<Vec<f64>> {
        let params = LearnParams::new(Task::Kmeans, k).decoder(Decoder::Genetic).seed(seed);
        Ok(learn(&self.operator, &self.moments, &params)?.model.locations().concat())
    }

    /// The centres of `auto`, and their cost relative to that of a solution's as the program's `diagnose` has
    /// it: that of Gaussians there whose weights and variances fit best.
    pub fn diagnosed_centers(&self, k: usize, solution: &[f64]) -> Result<(Vec<f64>, f64)> {
        let model = self.model(Task::Kmeans, k)?;
        let reference = self.centers_as_model(solution);
        let diagnosis = diagnose(&self.operator, &self.moments, &model, Some(&reference), 1)?;
        Ok((model.locations().concat(), diagnosis.misfit.value() / diagnosis.reference_misfit))
    }

    /// Centres in the data's units as a model of equal weights.
    fn centers_as_model(&self, centers: &[f64]) -> Model {
        let centers: Vec<_> = centers.chunks_exact(self.operator.dim()).map(<[f64]>::to_vec).collect();
        let k = centers.len();
        self.as_model(Content::Kmeans { centers, weights: vec![1.0 / k as f64; k] }, k)
    }

    fn as_model(&self, content: Content, k: usize) -> Model {
        Model::new(content, k, self.operator.spec().columns.clone())
    }
}

#[cfg(test)]
mod tests {
    use compressive::design::Request;

    use super::*;
    use crate::experiment::fits;
    use compressive_data::{Rng, generate};

    #[test]
    fn an_end_is_stuck_above_the_cost_of_the_solution_and_misled_below() {
        let end = |loss, cost| {
            let end = End { loss, cost };
            (end.is_stuck(), end.is_misled(1.2))
        };
        assert_eq!(
            [end(2.0, 1.5), end(2.0, 0.5), end(1.0, 1.0)],
            [(true, false), (false, true), (false, false)]
        );
        assert_eq!(end(f64::NAN, 0.5), (false, true));
    }

    #[test]
    fn costs_are_lowest_near_the_truth_in_the_units_of_the_data() {
        let mut truth = generate::separated(3, 2, 6.0, &mut Rng::new(4)).expect("valid");
        truth.means.iter_mut().for_each(|x| *x = 50.0 + 10.0 * *x);
        truth.covariances.iter_mut().for_each(|v| *v = 100.0);
        let values = truth.sample(20_000, &mut Rng::new(5)).expect("valid").values;
        let params = Request::new(Task::Kmeans, 3).outline(false).size(100);
        let sketched = fits::designed(&values, 2, &params).expect("designed");
        let mut moved = truth.clone();
        moved.means.iter_mut().for_each(|x| *x += 20.0);
        let points = |mixture: &Mixture| sketched.cost_of_centers(&mixture.means).expect("a cost");
        let mixtures = |mixture: &Mixture| sketched.cost_of_mixture(mixture).expect("a cost");
        assert!(points(&truth) < 0.5 * points(&moved));
        // A right mixture leaves the sampling noise, (1 - |z|^2) / n a frequency; right points leave the
        // width of the clusters, too.
        assert!(mixtures(&truth) < 2.0 / 20_000.0 && points(&truth) > 10.0 * mixtures(&truth));
        let (centers, cost) = sketched.diagnosed_centers(3, &truth.means).expect("diagnosed");
        assert_eq!(centers.len(), 6);
        assert!((0.5..1.5).contains(&cost), "{cost}");
    }
}
