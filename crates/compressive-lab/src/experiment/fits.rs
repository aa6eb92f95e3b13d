//! From rows to a sketch to a model, as the program does it, with one thread a draw.

use compressive::design::{Look, Request, Task, design, look_spec};
use compressive::learn::{Decoder, LearnParams, Start, learn};
use compressive::model::{Content, Covariances, Model};
use compressive::privacy::{Neighbours, PrivacyParams, SeededEntropy, plan, privatize};
use compressive::{
    Bounds, FrequencyLaw, Moments, RowsRef, Scratch, Sketch, SketchOperator, SketchSpec, Wave,
};

use crate::error::Result;
use compressive_data::parallel::map_chunks;
use compressive_data::{Mixture, Shape};

/// Rows the program designs a spec on.
pub(super) use compressive::design::PILOT_ROWS;

/// Share of a privacy budget that the scale of the frequencies is paid with.
pub(super) const PILOT_SHARE: f64 = compressive::design::LOOK_SHARE;

/// A sketch, ready to be decoded.
pub(super) struct Sketched {
    pub operator: SketchOperator,
    pub moments: Moments,
}

/// At most 10,000 rows, evenly spread over the table.
fn pilot(values: &[f64], dim: usize) -> Vec<f64> {
    let n_rows = values.len() / dim;
    let kept = n_rows.min(PILOT_ROWS);
    (0..kept).flat_map(|i| values[i * n_rows / kept * dim..][..dim].iter().copied()).collect()
}

/// Names for the columns.
pub(super) fn columns(dim: usize) -> Vec<String> {
    (1..=dim).map(|column| format!("x{column}")).collect()
}

/// The program's own design on a pilot of the rows, then one pass over all.
pub(super) fn designed(values: &[f64], dim: usize, params: &Request) -> Result<Sketched> {
    sketch(values, spec(values, dim, params)?)
}

/// The program's own design on a pilot of the rows.
pub(super) fn spec(values: &[f64], dim: usize, params: &Request) -> Result<SketchSpec> {
    Ok(design(Look::Sample { rows: &pilot(values, dim), columns: &columns(dim) }, params)?.spec)
}

/// A sketch without any transform: the law at a given scale in the data's own units, and the range of the
/// rows as the box.
pub(super) fn untransformed(
    values: &[f64],
    dim: usize,
    law: FrequencyLaw,
    scale: f64,
    size: usize,
    seed: u64,
) -> Result<Sketched> {
    let mut spec = SketchSpec::new(columns(dim), law, scale, size);
    spec.seed = seed;
    in_box(values, spec)
}

/// A sketch by a spec without a transform, to which the range of the rows is added as the box.
pub(super) fn in_box(values: &[f64], mut spec: SketchSpec) -> Result<Sketched> {
    let dim = spec.dim();
    let mut bounds = Bounds { low: vec![f64::INFINITY; dim], high: vec![f64::NEG_INFINITY; dim] };
    for row in values.chunks_exact(dim) {
        for (c, &x) in row.iter().enumerate() {
            bounds.low[c] = bounds.low[c].min(x);
            bounds.high[c] = bounds.high[c].max(x);
        }
    }
    spec.bounds = Some(bounds);
    sketch(values, spec)
}

/// The scale that \[KBGP18\] estimates (`EstimMeanSigma`) on a pilot of the rows in their own units.
pub(super) fn estimated_scale(values: &[f64], dim: usize, seed: u64) -> Result<f64> {
    let rule = compressive::design::scale::ScaleRule::MeanSigma;
    Ok(compressive::design::scale::estimate(rule, &pilot(values, dim), dim, seed)?)
}

/// The box $[-h, h]^d$, as a user declares it.
pub(super) fn cube(dim: usize, half_width: f64) -> Bounds {
    Bounds { low: vec![-half_width; dim], high: vec![half_width; dim] }
}

/// The private flow of the program, all of it paid from one budget: the size by the plan for these rows, the
/// scale from a private pilot of all rows in the declared box ([`PILOT_SHARE`] of epsilon, no delta), then
/// the release. The noise repeats with its seed. Cost: two passes.
pub(super) fn private(
    values: &[f64],
    dim: usize,
    params: &Request,
    privacy: &PrivacyParams,
    noise_seed: u64,
) -> Result<Sketched> {
    let columns = columns(dim);
    let n_rows = (values.len() / dim) as f64;
    let k = params.k.unwrap_or(params.defaults()?.k);
    let feature = params.feature.clone().unwrap_or(Wave::Fourier.into());
    let (forecasts, best) = plan::plan(n_rows, params.task.parameters(k, dim), &feature, privacy)?;
    let params = params.clone().size(forecasts[best].size);
    let mut entropy = SeededEntropy::new(noise_seed);
    // A pilot is released for one row more or less; to replace a row is to remove one and add one.
    let changes = if privacy.neighbours == Neighbours::Replace { 2.0 } else { 1.0 };
    let paid = PrivacyParams::new(PILOT_SHARE * privacy.epsilon / changes);
    let (_, pilot) = accumulated(values, look_spec(&columns, &params)?)?;
    let pilot = privatize(&pilot, &paid, &mut entropy)?;
    let (operator, sums) = accumulated(values, design(Look::Private(&pilot), &params)?.spec)?;
    Ok(Sketched { moments: privatize(&sums, privacy, &mut entropy)?.moments(), operator })
}

/// One pass over all rows with a given spec.
pub(super) fn sketch(values: &[f64], spec: SketchSpec) -> Result<Sketched> {
    let (operator, sketch) = accumulated(values, spec)?;
    Ok(Sketched { moments: sketch.moments()?, operator })
}

/// One pass over all rows.
pub(super) fn accumulated(values: &[f64], spec: SketchSpec) -> Result<(SketchOperator, Sketch)> {
    let operator = spec.build()?;
    let mut sketch = Sketch::empty(&operator);
    operator.accumulate(RowsRef::F64(values), None, &mut sketch, &mut Scratch::default())?;
    Ok((operator, sketch))
}

/// One pass over all rows on several threads, as the program makes it: sums are exact, so that threads change
/// nothing.
pub(super) fn sketch_on(values: &[f64], spec: SketchSpec, threads: usize) -> Result<Sketched> {
    let operator = spec.build()?;
    let dim = operator.dim();
    let parts = map_chunks(values.len() / dim, threads, |_, rows| -> Result<Sketch> {
        let mut part = Sketch::empty(&operator);
        let chunk = RowsRef::F64(&values[rows.start * dim..rows.end * dim]);
        operator.accumulate(chunk, None, &mut part, &mut Scratch::default())?;
        Ok(part)
    });
    let mut sum = Sketch::empty(&operator);
    for part in parts {
        sum.merge(&part?)?;
    }
    Ok(Sketched { moments: sum.moments()?, operator })
}

impl Sketched {
    /// The model of a decoder with the program's defaults.
    fn learn(&self, task: Task, k: usize, decoder: Decoder, threads: usize) -> Result<Model> {
        let params = LearnParams::new(task, k).decoder(decoder).threads(threads);
        Ok(learn(&self.operator, &self.moments, &params)?.model)
    }

    /// Principal components by a decoder with the program's defaults.
    pub fn components(&self, k: usize, decoder: Decoder) -> Result<Model> {
        self.learn(Task::Pca, k, decoder, 1)
    }

    /// The model of a task with the program's defaults.
    pub fn model(&self, task: Task, k: usize) -> Result<Model> {
        self.learn(task, k, Decoder::Auto, 1)
    }

    /// Centres of k-means, k x d, by a decoder with the program's defaults.
    pub fn centers(&self, k: usize, decoder: Decoder, threads: usize) -> Result<Vec<f64>> {
        Ok(self.learn(Task::Kmeans, k, decoder, threads)?.locations().concat())
    }

    /// A mixture of diagonal Gaussians by a decoder with the program's defaults.
    pub fn mixture(&self, k: usize, decoder: Decoder, threads: usize) -> Result<Mixture> {
        Ok(to_mixture(&self.learn(Task::Gmm, k, decoder, threads)?))
    }

    /// A mixture of diagonal Gaussians by a decoder with so many restarts.
    pub fn mixture_of(&self, k: usize, decoder: Decoder, restarts: usize) -> Result<Mixture> {
        let params = LearnParams::new(Task::Gmm, k).decoder(decoder).restarts(restarts);
        Ok(to_mixture(&learn(&self.operator, &self.moments, &params)?.model))
    }

    /// `cl-ompr` with one start for each atom; `restarts` whole runs, of which the one with the lowest cost
    /// is kept.
    fn published(&self, task: Task, k: usize, start: Start, restarts: usize) -> Result<Model> {
        let params = LearnParams::new(task, k).decoder(Decoder::ClOmpr);
        let params = params.start(start).starts(1).restarts(restarts);
        Ok(learn(&self.operator, &self.moments, &params)?.model)
    }

    /// Centres of compressive k-means as \[KTTG17\] has it: `cl-ompr` with point atoms, one start for each
    /// atom, anywhere in the box.
    pub fn published_centers(&self, k: usize, restarts: usize) -> Result<Vec<f64>> {
        Ok(self.published(Task::Kmeans, k, Start::Range, restarts)?.locations().concat())
    }

    /// A mixture as \[KBGP18\] section 5.3 has it: `cl-ompr` with diagonal Gaussians, one start for each
    /// atom, at the centre of the data.
    pub fn published_mixture(&self, k: usize) -> Result<Mixture> {
        self.published_mixture_of(k, 1)
    }

    /// The same, the best of so many runs by their cost.
    pub fn published_mixture_of(&self, k: usize, restarts: usize) -> Result<Mixture> {
        Ok(to_mixture(&self.published(Task::Gmm, k, Start::Centre, restarts)?))
    }
}

/// A learned mixture in the lab's form.
fn to_mixture(model: &Model) -> Mixture {
    let (covariances, shape) = match &model.content {
        Content::Gmm { covariances: Covariances::Diagonal(rows), .. } => (rows.concat(), Shape::Diagonal),
        Content::Gmm { covariances: Covariances::Full(all), .. } => {
            (all.iter().flatten().flatten().copied().collect(), Shape::Full)
        }
        _ => (Vec::new(), Shape::Diagonal),
    };
    let (weights, means) = (model.weights().to_vec(), model.locations().concat());
    Mixture { dim: model.dim(), weights, means, covariances, shape }
}

#[cfg(test)]
mod tests {
    use compressive::Source;

    use super::*;
    use compressive_data::metric::match_centers;
    use compressive_data::{Rng, generate};

    #[test]
    fn models_come_back_in_the_units_of_the_data() {
        let mut truth = generate::separated(2, 2, 10.0, &mut Rng::new(4)).expect("valid");
        truth.means.iter_mut().for_each(|x| *x = 1000.0 + 100.0 * *x);
        truth.covariances.iter_mut().for_each(|v| *v = 1e4);
        let values = truth.sample(20_000, &mut Rng::new(5)).expect("valid").values;
        let params = Request::new(Task::Kmeans, 2).outline(false).size(100);
        let sketched = designed(&values, 2, &params).expect("designed");
        let auto = sketched.centers(2, Decoder::Auto, 1).expect("decoded");
        let mixture = sketched.mixture(2, Decoder::Auto, 1).expect("decoded");
        for centers in [&auto, &mixture.means] {
            assert!(match_centers(&truth.means, centers, 2).expect("matched").rms < 10.0, "{centers:?}");
        }
        assert!(mixture.covariances.iter().all(|v| (0.8e4..1.2e4).contains(v)), "{mixture:?}");
        let published = sketched.published_mixture(2).expect("decoded");
        published.validate().expect("a mixture in the data's units");
    }

    #[test]
    fn a_private_sketch_pays_for_its_scale_from_the_same_budget() {
        let values: Vec<f64> = (0..4000).map(|i| 3.0 * (f64::from(i) * 0.7).sin()).collect();
        let params = Request::new(Task::Kmeans, 2).outline(false).bounds(cube(2, 5.0));
        for (neighbours, changes) in [(Neighbours::AddRemove, 1.0), (Neighbours::Replace, 2.0)] {
            let privacy = PrivacyParams::new(2.0).neighbours(neighbours);
            let sketched = private(&values, 2, &params, &privacy, 1).expect("released");
            let Some(Source::Private { epsilon }) = sketched.operator.spec().source else {
                panic!("the spec says what it cost")
            };
            // A look that was paid for one row more or less costs twice as much under replacement.
            assert!((changes * epsilon - PILOT_SHARE * 2.0).abs() < 1e-12, "{neighbours:?}: {epsilon}");
            assert!(sketched.moments.noise_std > 0.0);
            let again = private(&values, 2, &params, &privacy, 1).expect("released");
            assert_eq!(again.moments, sketched.moments);
        }
    }

    #[test]
    fn a_pilot_is_spread_over_the_whole_table() {
        let values: Vec<f64> = (0..30_000).map(f64::from).collect();
        let rows = pilot(&values, 1);
        assert_eq!((rows.len(), rows[0], rows[9_999]), (10_000, 0.0, 29_997.0));
        assert_eq!(pilot(&values[..10], 2).len(), 10);
    }
}
