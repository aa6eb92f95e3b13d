//! Training by sketch matching (\[Sch21\] section 6.2.3).
//!
//! A step:
//! 1. draws two halves of a batch of latent rows, each a randomly shifted lattice mapped to $N(0, I_p)$;
//! 2. makes $u_i = G_\theta(\xi_i)$, rows in working coordinates, and the mean features of each half;
//! 3. takes the unbiased loss of [`SketchLayer`] and its gradient in the rows (eq. 6.15, the fixed last
//!    layer);
//! 4. carries that gradient back to $\theta$;
//! 5. moves $\theta$ by Adam, at a rate that falls smoothly from its first value to zero.
//!
//! Every twentieth of the steps, what the network predicts of a quantised feature's other harmonics is taken
//! out of the sketch. The network returned has the mean of the weights over the last steps, which takes the
//! batches' noise out.
//!
//! Cost a step: 2 n m (d + 20) for the sketch and 6 n |theta| for the network, n the batch. Rows are worked
//! on in chunks of 128; the chunks' sums are added in order, so that threads change no bit.

use super::adam::Adam;
use super::sketch_layer::SketchLayer;
use crate::error::{Error, Result};
use crate::model::generative::latent::{Lattice, MEASURE_STREAMS, normals};
use crate::model::generative::network::{Activation, Pass, first_weights, n_weights};
use crate::model::generative::{Generator, WEIGHTS_MAX, WIDTH_MAX};
use crate::model::{Content, DecodeInfo, Misfit, Model, Origin, Stop};
use crate::num::parallel::for_each;
use crate::setters::setters;
use crate::sketch::Moments;
use crate::sketch::operator::SketchOperator;

/// What to train, and how.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TrainParams {
    /// Widths of the hidden layers; none for an affine map.
    pub layers: Vec<usize>,
    /// Width p of the latent rows; d + 3 if none is given, at most 10 but at least d.
    pub latent: Option<usize>,
    /// What follows each hidden layer.
    pub activation: Activation,
    /// Steps, at least 1.
    pub steps: usize,
    /// Latent rows a step, 2 to 2^20.
    pub batch: usize,
    /// First learning rate, above 0 and at most 1.
    pub rate: f64,
    /// Seed of first weights and latent rows.
    pub seed: u64,
    /// Threads, at least 1; they change the time, never the result.
    pub threads: usize,
}

impl Default for TrainParams {
    fn default() -> TrainParams {
        TrainParams {
            layers: vec![64; 3],
            latent: None,
            activation: Activation::LeakyRelu,
            steps: 4000,
            batch: 1000,
            rate: 5e-3,
            seed: 0,
            threads: 1,
        }
    }
}

setters! { TrainParams {
    /// With hidden layers of these widths.
    layers: Vec<usize>,
    /// With latent rows of this width.
    latent: impl Into<Option<usize>>,
    /// With this after each hidden layer.
    activation: Activation,
    /// In this many steps.
    steps: usize,
    /// With this many latent rows a step.
    batch: usize,
    /// From this learning rate on.
    rate: f64,
    /// With this seed.
    seed: u64,
    /// On this many threads.
    threads: usize,
} }

/// Latent width for d columns: d + 3, at most 10 but at least d.
pub fn default_latent(dim: usize) -> usize {
    (dim + 3).min(10).max(dim)
}

/// Rows a chunk.
const CHUNK: usize = 128;
/// Share of the steps, at the end, whose weights are averaged.
const AVERAGED: f64 = 0.1;
/// Share of the steps between two predictions of a quantised feature's other harmonics, and the rows they are
/// made with.
const REFRESHED: (f64, usize) = (0.05, 1 << 14);
/// Independent rows of each half that the trained network is measured with.
const MEASURED: usize = 1 << 16;

/// Trains a generator on a sketch; `progress` gets each step and its loss. The model's `origin` holds the
/// loss of the result as `info.cost` and, in units of the sketch's noise, as `misfit`.
pub fn train(
    operator: &SketchOperator,
    moments: &Moments,
    params: &TrainParams,
    progress: &mut dyn FnMut(usize, f64),
) -> Result<Model> {
    let spec = operator.spec();
    let sketch = SketchLayer::new(operator, moments)?;
    let mut widths = vec![params.latent.unwrap_or_else(|| default_latent(spec.dim()))];
    widths.extend_from_slice(&params.layers);
    widths.push(spec.dim());
    check(params, &widths)?;
    let mut weights = first_weights(&widths, params.activation, params.seed);
    let mut adam = Adam::new(weights.len());
    let mut mean = vec![0.0; weights.len()];
    let noise = sketch.noise();
    let mut batch = Batch::new(sketch, &widths, params);
    let refreshed = ((REFRESHED.0 * params.steps as f64) as usize).max(1);
    let averaged = ((AVERAGED * params.steps as f64) as usize).max(1);
    for step in 0..params.steps {
        if step > 0 && step.is_multiple_of(refreshed) {
            batch.refresh(&weights);
        }
        // 1. to 4.
        let (loss, gradient) = batch.step(step as u64, &weights);
        if !loss.is_finite() || gradient.iter().any(|g| !g.is_finite()) {
            return Err(diverged(params, step));
        }
        // 5.
        adam.update(&mut weights, gradient, rate_at(params, step));
        if step + averaged >= params.steps {
            mean.iter_mut().zip(&weights).for_each(|(m, w)| *m += f64::from(*w) / averaged as f64);
        }
        progress(step + 1, loss);
    }
    let weights: Vec<f32> = mean.iter().map(|w| *w as f32).collect();
    batch.refresh(&weights);
    let loss = batch.measure(&weights);
    let model = finish(operator, moments, params, (widths.clone(), weights), (loss, noise));
    model.validate()?;
    Ok(model)
}

fn finish(
    operator: &SketchOperator,
    moments: &Moments,
    params: &TrainParams,
    (layers, weights): (Vec<usize>, Vec<f32>),
    (loss, noise): (f64, f64),
) -> Model {
    let spec = operator.spec();
    let transform = spec.transform.clone();
    let generator = Generator {
        layers,
        activation: params.activation,
        centre: transform.centre,
        spread: transform.spread,
        whiten: transform.whiten,
        weights,
    };
    let (iterations, evaluations) = (params.steps, params.steps * params.batch);
    let origin = Origin {
        fingerprint: operator.fingerprint().into(),
        rows: moments.rows as u64,
        decoder: "adam".into(),
        covariance: "none".into(),
        seed: params.seed,
        misfit: Misfit::unjudged(loss / noise),
        info: DecodeInfo { iterations, evaluations, cost: loss, stop: Stop::IterationLimit },
    };
    let content = Content::Generator(generator);
    Model { origin: Some(origin), ..Model::of_spec(content, 1, spec) }
}

/// Some rows of a batch, with all that is computed of them.
struct Chunk {
    /// Which half, and the first row within it.
    half: usize,
    first: usize,
    pass: Pass,
    sums: Vec<f32>,
    rows_gradient: Vec<f32>,
    gradient: Vec<f32>,
}

/// A batch in two halves of chunks.
struct Batch<'a> {
    sketch: SketchLayer,
    widths: &'a [usize],
    params: &'a TrainParams,
    /// Rows of the two halves.
    rows: [usize; 2],
    chunks: Vec<Chunk>,
    gradient: Vec<f64>,
}

impl<'a> Batch<'a> {
    fn new(sketch: SketchLayer, widths: &'a [usize], params: &'a TrainParams) -> Batch<'a> {
        let rows = [params.batch / 2, params.batch - params.batch / 2];
        let chunk = |half: usize, first: usize| {
            let n = CHUNK.min(rows[half] - first);
            Chunk {
                half,
                first,
                pass: Pass::new(widths, n),
                sums: vec![0.0; sketch.len()],
                rows_gradient: vec![0.0; n * widths[widths.len() - 1]],
                gradient: vec![0.0; n_weights(widths)],
            }
        };
        let places = (0..2).flat_map(|half| (0..rows[half]).step_by(CHUNK).map(move |first| (half, first)));
        let chunks = places.map(|(half, first)| chunk(half, first)).collect();
        Batch { sketch, widths, params, rows, chunks, gradient: vec![0.0; n_weights(widths)] }
    }

    /// Loss, and gradient in the weights.
    fn step(&mut self, step: u64, weights: &[f32]) -> (f64, &[f64]) {
        let (sketch, widths, activation) = (&self.sketch, self.widths, self.params.activation);
        let lattice = |half: u64| Lattice::new(widths[0], self.params.seed, 2 * step + half);
        let lattices = [lattice(0), lattice(1)];
        for_each(self.chunks.iter_mut().collect(), self.params.threads, |chunk: &mut Chunk| {
            lattices[chunk.half].fill(chunk.first, chunk.pass.input());
            chunk.make(sketch, widths, activation, weights);
        });
        let means = self.means();
        let pulls = [sketch.pull(&means[1], self.rows[0]), sketch.pull(&means[0], self.rows[1])];
        for_each(self.chunks.iter_mut().collect(), self.params.threads, |chunk: &mut Chunk| {
            sketch.gradient(&pulls[chunk.half], chunk.pass.output(), &mut chunk.rows_gradient);
            chunk.gradient.fill(0.0);
            chunk.pass.backward((widths, activation), weights, &chunk.rows_gradient, &mut chunk.gradient);
        });
        self.gradient.fill(0.0);
        for chunk in &self.chunks {
            self.gradient.iter_mut().zip(&chunk.gradient).for_each(|(sum, g)| *sum += f64::from(*g));
        }
        (sketch.loss(&means[0], &means[1]), &self.gradient)
    }

    /// Mean features of both halves.
    fn means(&self) -> [Vec<f64>; 2] {
        let mut means = [vec![0.0; self.sketch.len()], vec![0.0; self.sketch.len()]];
        for chunk in &self.chunks {
            let n = self.rows[chunk.half] as f64;
            means[chunk.half].iter_mut().zip(&chunk.sums).for_each(|(m, s)| *m += f64::from(*s) / n);
        }
        means
    }

    /// Takes what the network predicts of the feature's other harmonics out of the sketch.
    fn refresh(&mut self, weights: &[f32]) {
        if !self.sketch.has_harmonics() {
            return;
        }
        let mut pass = Pass::new(self.widths, REFRESHED.1);
        Lattice::new(self.widths[0], self.params.seed, MEASURE_STREAMS - 1).fill(0, pass.input());
        pass.forward(self.widths, self.params.activation, weights);
        self.sketch.predict_harmonics(pass.output());
    }

    /// The loss of many independent rows.
    fn measure(&mut self, weights: &[f32]) -> f64 {
        let (sketch, widths, activation) = (&self.sketch, self.widths, self.params.activation);
        let rounds = MEASURED.div_ceil(self.rows[0].max(1));
        let mut total = [vec![0.0; sketch.len()], vec![0.0; sketch.len()]];
        for round in 0..rounds {
            for_each(self.chunks.iter_mut().collect(), self.params.threads, |chunk: &mut Chunk| {
                let place = (2 * round + chunk.half) * (1 << 20) + chunk.first;
                normals(self.params.seed, MEASURE_STREAMS + place as u64, chunk.pass.input());
                chunk.make(sketch, widths, activation, weights);
            });
            for (sum, mean) in total.iter_mut().zip(self.means()) {
                sum.iter_mut().zip(mean).for_each(|(s, m)| *s += m / rounds as f64);
            }
        }
        sketch.loss(&total[0], &total[1])
    }
}

impl Chunk {
    /// Rows from the latent rows, and the sums of their features.
    fn make(&mut self, sketch: &SketchLayer, widths: &[usize], activation: Activation, weights: &[f32]) {
        self.pass.forward(widths, activation, weights);
        self.sums.fill(0.0);
        sketch.sums(self.pass.output(), &mut self.sums);
    }
}

/// $1 - 3x^2 + 2x^3$ of the first rate after a share x of the steps: close to half a cosine, from IEEE
/// operations only.
fn rate_at(params: &TrainParams, step: usize) -> f64 {
    let done = step as f64 / params.steps as f64;
    params.rate * (1.0 - done * done * (3.0 - 2.0 * done))
}

fn diverged(params: &TrainParams, step: usize) -> Error {
    Error::Task {
        field: "rate",
        problem: format!(
            "the training diverged at step {} of {}; lower the learning rate {}",
            step + 1,
            params.steps,
            params.rate
        ),
    }
}

fn check(params: &TrainParams, widths: &[usize]) -> Result<()> {
    let fail = |field, problem: String| Err(Error::Task { field, problem });
    if let Some(width) = widths.iter().find(|width| !(1..=WIDTH_MAX).contains(*width)) {
        return fail(
            "layers",
            format!("a width of {width}; widths, that of the latent rows too, are 1 to {WIDTH_MAX}"),
        );
    }
    let size = n_weights(widths);
    if size > WEIGHTS_MAX {
        return fail("layers", format!("the layers have {size} weights; the most is 2^27"));
    }
    if params.steps == 0 {
        return fail("steps", "0 steps train nothing; ask for 1 or more".into());
    }
    if !(2..=1 << 20).contains(&params.batch) {
        return fail("batch", format!("{} rows a step; it must be 2 to 2^20", params.batch));
    }
    if !(params.rate > 0.0 && params.rate <= 1.0) {
        return fail("rate", format!("a learning rate of {}; it must be above 0 and at most 1", params.rate));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
