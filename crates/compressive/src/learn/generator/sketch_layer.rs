//! The sketch as the fixed last layer of a network (\[Sch21\] section 6.2.3): its loss, and the loss'
//! gradient in the rows.
//!
//! Two halves A and B of a batch are drawn independently. With the mean features
//! $\bar a^A_j = \frac1{n_A} \sum_{i \in A} \phi(t_{ij})$, $t_{ij} = \omega_j^\top u_i + \xi_j$, the loss is
//! $$L = \sum_j w_j\,\mathrm{Re}\big( (\bar a^A_j - z_j)^* (\bar a^B_j - z_j) \big), \qquad \sum_j w_j = 1,$$
//! whose mean is $\sum_j w_j \lvert \mathbb E\,\phi_j - z_j \rvert^2$ exactly, however the rows within a half
//! depend on each other.
// Differs from [Sch21]: its eq. 6.14 squares the residual of one batch, which adds the batch's own variance
// to the loss and draws generated rows together.
//!
//! Weights are inverse variances of the entries: $1 - \lvert z_j\rvert^2$ from sampling, held above 0.05,
//! plus what noise was added, in units of 1/N. Cost: 2 n m (d + 20), in single precision.
//!
//! A quantised feature has other harmonics than the first: they add $\sum_h r_h\,\mathbb E\, e^{iht_j}$ to
//! $z_j$. [`SketchLayer::predict_harmonics`] takes out what generated rows predict of them.

use std::f64::consts::TAU;

use compressive_kernels::{wave_gradient, wave_sums};

use crate::density::Target;
use crate::error::remedy::{Parameter, Remedy};
use crate::error::{Error, Result};
use crate::sketch::Moments;
use crate::sketch::operator::SketchOperator;

/// Smallest variance of a feature that is used as a weight: low frequencies, whose features hardly vary, may
/// count at most this much more than high ones.
const VARIANCE_FLOOR: f64 = 0.05;
/// Harmonics weaker than this are left in: together they are a few percent of an entry at the lowest
/// frequencies, and nothing elsewhere.
const HARMONIC_MIN: f64 = 0.06;
/// Rows whose features are summed in single precision.
const CHUNK: usize = 128;

/// A sketch to be matched.
#[derive(Clone, Debug)]
pub(super) struct SketchLayer {
    /// Frequencies in turns, d rows of m.
    turns: Vec<f32>,
    /// Dither in turns.
    dither: Vec<f32>,
    /// The sketch: m real parts, m imaginary parts.
    observed: Vec<f64>,
    /// The sketch without what is predicted of other harmonics.
    target: Vec<f64>,
    /// Other harmonics of the feature: (h, real part, imaginary part).
    harmonics: Vec<(i32, f64, f64)>,
    /// Weights of the entries, of sum one; zero for imaginary parts that are not in the sketch.
    weights: Vec<f64>,
    noise: f64,
}

impl SketchLayer {
    /// The layer of a sketch. Refused for features without phases.
    pub fn new(operator: &SketchOperator, moments: &Moments) -> Result<SketchLayer> {
        let spec = operator.spec();
        if spec.map.wave().is_none() {
            return Err(Error::Task {
                field: "feature",
                problem: format!(
                    "a generative network is learned from periodic features, not from `{}`",
                    spec.map.name()
                ),
            }
            .advise(Remedy::sketch_with(Parameter::Task, "generate")));
        }
        let target = Target::new(operator, moments)?;
        let (m, d) = (spec.size, spec.dim());
        let mut turns = vec![0.0; m * d];
        for (j, w) in operator.frequencies().chunks_exact(d).enumerate() {
            w.iter().enumerate().for_each(|(c, w)| turns[c * m + j] = (w / TAU) as f32);
        }
        let variances = variances(&target);
        let mut weights: Vec<f64> =
            (0..m).map(|j| target.weights[j] * target.weights[j] / variances[j]).collect();
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|w| *w /= total);
        let noise = weights.iter().zip(&variances).map(|(w, v)| w * v).sum::<f64>();
        let imaginary: Vec<f64> = if target.complex { weights.clone() } else { vec![0.0; m] };
        weights.extend(imaginary);
        // Rounded, so that the platform's sine does not tell in the network.
        let rounded = |x: f64| (x * 1_048_576.0).round() / 1_048_576.0;
        let strong = target.harmonics.iter().filter(|(_, a, b)| a.hypot(*b) >= HARMONIC_MIN);
        let harmonics = strong.map(|&(h, a, b)| (h, rounded(a), rounded(b))).collect();
        let dither = operator.dither().to_vec();
        let observed = [target.re, target.im].concat();
        Ok(SketchLayer { turns, dither, target: observed.clone(), observed, harmonics, weights, noise })
    }

    /// Whether the feature has harmonics beside the first.
    pub fn has_harmonics(&self) -> bool {
        !self.harmonics.is_empty()
    }

    /// Takes out of the sketch what rows (n x d, working coordinates) predict of the other harmonics. Cost: n
    /// m (d + 20) for each harmonic.
    pub fn predict_harmonics(&mut self, rows: &[f32]) {
        let (m, dim) = (self.dither.len(), self.turns.len() / self.dither.len());
        let n = (rows.len() / dim) as f64;
        self.target.clone_from(&self.observed);
        for &(h, ratio_re, ratio_im) in &self.harmonics {
            let times =
                |values: &[f32]| values.iter().map(|x| x * h.unsigned_abs() as f32).collect::<Vec<f32>>();
            let (turns, dither) = (times(&self.turns), times(&self.dither));
            let mut means = vec![0.0; 2 * m];
            for chunk in rows.chunks(CHUNK * dim) {
                let mut sums = vec![0.0; 2 * m];
                wave_sums(&turns, &dither, chunk, &mut sums);
                means.iter_mut().zip(&sums).for_each(|(mean, s)| *mean += f64::from(*s) / n);
            }
            let (target_re, target_im) = self.target.split_at_mut(m);
            for j in 0..m {
                let (a, b) = (means[j], f64::from(h.signum()) * means[m + j]);
                target_re[j] -= ratio_re * a - ratio_im * b;
                target_im[j] -= ratio_re * b + ratio_im * a;
            }
        }
    }

    /// Expected loss of a network that makes the data's own distribution: the weighted noise of the sketch.
    pub fn noise(&self) -> f64 {
        self.noise
    }

    /// Number of real entries 2m of what [`SketchLayer::sums`] fills.
    pub fn len(&self) -> usize {
        self.target.len()
    }

    /// Adds the features of rows (n x d, working coordinates) to `sums`: m cosines, m sines. At most a few
    /// hundred rows at a call keep the single-precision sums exact to 1e-6.
    pub fn sums(&self, rows: &[f32], sums: &mut [f32]) {
        wave_sums(&self.turns, &self.dither, rows, sums);
    }

    /// The loss of two halves with these mean features.
    pub fn loss(&self, first: &[f64], second: &[f64]) -> f64 {
        let entries = self.target.iter().zip(&self.weights);
        entries.zip(first.iter().zip(second)).map(|((z, w), (a, b))| w * (a - z) * (b - z)).sum()
    }

    /// What [`SketchLayer::gradient`] needs for rows of a half of `n_rows` rows, from the mean features of
    /// the other half.
    pub fn pull(&self, other: &[f64], n_rows: usize) -> Vec<f32> {
        let entries = self.target.iter().zip(&self.weights).zip(other);
        entries.map(|((z, w), a)| (TAU * w * (a - z) / n_rows as f64) as f32).collect()
    }

    /// Gradient of the loss in rows of a half.
    pub fn gradient(&self, pull: &[f32], rows: &[f32], gradient: &mut [f32]) {
        wave_gradient(&self.turns, &self.dither, pull, rows, gradient);
    }
}

/// Variance of each entry of a sketch, both parts together: proportional to $1 - \lvert z_j\rvert^2$ from
/// sampling, with the target's own mean, and what was added.
fn variances(target: &Target) -> Vec<f64> {
    let spread = |(re, im): (&f64, &f64)| (1.0 - re * re - im * im).max(VARIANCE_FLOOR);
    let spreads: Vec<f64> = target.re.iter().zip(&target.im).map(spread).collect();
    let mean = spreads.iter().sum::<f64>() / spreads.len() as f64;
    let parts = if target.complex { 2.0 } else { 1.0 };
    // Rows that are all alike have no sampling noise, and still weights.
    let sampling = (target.noise - target.added).max(1e-6 / target.rows);
    spreads.iter().map(|s| parts * (s / mean * sampling + target.added)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::generative::latent::normals;
    use crate::testing::sketch_of;
    use crate::{Bounds, Directions, FrequencyLaw, Map, RowsRef, Scratch, Sketch, SketchSpec, Wave, Waves};

    fn layer(wave: Wave) -> SketchLayer {
        let waves = Waves::usual(wave, FrequencyLaw::AdaptedRadius);
        let operator = SketchSpec::new(["x", "y"], waves, 0.7, 150).build().expect("valid");
        let rows: Vec<f64> = (0..2000).map(|i| (f64::from(i) * 0.37).sin() * 2.0).collect();
        let sketch = sketch_of(&operator, &rows);
        SketchLayer::new(&operator, &sketch.moments().expect("rows")).expect("a layer")
    }

    fn means(layer: &SketchLayer, rows: &[f32]) -> Vec<f64> {
        let mut sums = vec![0.0; layer.len()];
        layer.sums(rows, &mut sums);
        sums.iter().map(|s| f64::from(*s) / (rows.len() / 2) as f64).collect()
    }

    fn rows(n: usize, seed: u64) -> Vec<f32> {
        let mut rows = vec![0.0; 2 * n];
        normals(seed, 0, &mut rows);
        rows
    }

    #[test]
    fn the_gradient_is_the_slope_of_the_loss() {
        for feature in [Wave::Fourier, Wave::Cosine, Wave::OneBit] {
            let layer = layer(feature.clone());
            let (mut first, second) = (rows(20, 3), rows(10, 4));
            let other = means(&layer, &second);
            let mut gradient = vec![0.0; first.len()];
            layer.gradient(&layer.pull(&other, 20), &first, &mut gradient);
            let scale = gradient.iter().fold(0.0f32, |most, g| most.max(g.abs()));
            for at in [0, 7, 18, 39] {
                let mut loss = |by: f32| {
                    first[at] += by;
                    let loss = layer.loss(&means(&layer, &first), &other);
                    first[at] -= by;
                    loss
                };
                let slope = ((loss(1e-2) - loss(-1e-2)) / 2e-2) as f32;
                let gap = (slope - gradient[at]).abs();
                assert!(gap < 0.01 * scale, "{feature:?} {at}: {slope} {}", gradient[at]);
            }
        }
    }

    #[test]
    fn the_loss_is_unbiased_over_batches() {
        // The mean over 400 pairs of halves of 5 rows against one pair of 20,000: the standard error of the
        // former is measured, and four are allowed; the square of one batch of 5 would be too large by a
        // fifth of the features' variance.
        for feature in [Wave::Fourier, Wave::Cosine] {
            let layer = layer(feature);
            let of = |n: usize, seed: u64| means(&layer, &rows(n, seed));
            let small: Vec<f64> = (0..400).map(|s| layer.loss(&of(5, s), &of(5, 1000 + s))).collect();
            let mean = small.iter().sum::<f64>() / 400.0;
            let error = (small.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 400.0 / 400.0).sqrt();
            let large = layer.loss(&of(20_000, 5000), &of(20_000, 5001));
            assert!((mean - large).abs() < 4.0 * error && error < 0.03, "{mean} {large} {error}");
        }
    }

    #[test]
    fn what_rows_predict_of_other_harmonics_leaves_the_first() {
        // One-bit features of the very rows that are sketched: without the other harmonics the entries are
        // means of e^{it}, but for those left in and the sampling of 1000 rows.
        let waves = Waves::usual(Wave::OneBit, FrequencyLaw::AdaptedRadius);
        let operator = SketchSpec::new(["x", "y"], waves, 2.0, 150).build().expect("valid");
        let rows = rows(4000, 8);
        let mut sketch = Sketch::empty(&operator);
        let scratch = &mut Scratch::default();
        operator.accumulate(RowsRef::F32(&rows), None, &mut sketch, scratch).expect("summed");
        let mut layer = SketchLayer::new(&operator, &sketch.moments().expect("rows")).expect("a layer");
        let means = means(&layer, &rows);
        let before = layer.loss(&means, &means);
        layer.predict_harmonics(&rows);
        let after = layer.loss(&means, &means);
        assert!(before > 0.01 && after < 0.1 * before, "{before} {after}");
    }

    #[test]
    fn sketches_without_phases_are_refused() {
        let map = Map::Moments(Directions { complex: false, structured: false });
        let mut spec = SketchSpec::new(["x", "y"], map, 1.0, 10);
        spec.bounds = Some(Bounds { low: vec![-1.0; 2], high: vec![1.0; 2] });
        let operator = spec.build().expect("valid");
        let sketch = sketch_of(&operator, &[0.1, 0.2]);
        let error = SketchLayer::new(&operator, &sketch.moments().expect("a row")).expect_err("no phases");
        assert!(error.to_string().contains("not from `quadratic`"), "{error}");
    }
}
