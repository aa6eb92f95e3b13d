//! Audio events told apart by alpha features (\[Sch21\] section 4.5.7): eight kinds of generated sound, each
//! clip with its own pitch, loudness and background noise.
//!
//! Every clip is cut into frames, and every frame becomes [`DIM`] mel-frequency cepstral coefficients. For a
//! mixture of k Gaussians of all frames, a clip's alpha features are the mean probabilities of its frames
//! under the k components; half of the clips, with their classes, classify the other half by the nearest
//! class mean of the square roots of the features (Hellinger's distance).
//!
//! Differs from \[Sch21\], which has a support vector machine on the alpha features and recordings (ESC-50,
//! 50 classes).

mod mel;

use std::f64::consts::TAU;

use compressive::model::Model;

use crate::error::Result;
use compressive_data::Rng;
use mel::Mel;

/// Samples a second, and of a clip.
const RATE: f64 = 16_000.0;
const CLIP: usize = 16_000;
/// Coefficients of a frame.
pub const DIM: usize = mel::DIM;
/// Kinds of sound.
pub const CLASSES: [&str; 8] = ["tone", "chord", "chirp", "siren", "hiss", "rain", "engine", "bell"];

/// Clips as frames of coefficients, with their classes.
#[derive(Clone, Debug, PartialEq)]
pub struct Clips {
    frames: Vec<Vec<f64>>,
    classes: Vec<usize>,
}

impl Clips {
    /// So many clips of each class, the classes in turn. Cost: about 2 ms a clip.
    pub fn generate(of_each: usize, rng: &mut Rng) -> Clips {
        let mel = Mel::new(RATE);
        let classes: Vec<usize> = (0..of_each * CLASSES.len()).map(|i| i % CLASSES.len()).collect();
        let frames = classes.iter().map(|&class| mel.coefficients(&clip(CLASSES[class], rng))).collect();
        Clips { frames, classes }
    }

    /// Number of clips.
    pub fn len(&self) -> usize {
        self.classes.len()
    }

    /// Whether there are no clips.
    pub fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }

    /// The frames of all clips, rows of [`DIM`].
    pub fn rows(&self) -> Vec<f64> {
        self.frames.concat()
    }

    /// Names of the coefficients.
    pub fn columns() -> Vec<String> {
        (0..DIM).map(|c| format!("mfcc{c}")).collect()
    }

    /// Share of the second half of the clips that the first half classifies rightly by its alpha features
    /// under a mixture.
    pub fn accuracy(&self, model: &Model) -> Result<f64> {
        let features: Vec<Vec<f64>> =
            self.frames.iter().map(|frames| alpha(model, frames)).collect::<Result<_>>()?;
        let half = self.len() / 2;
        let mut means = vec![vec![0.0; model.k]; CLASSES.len()];
        for (feature, &class) in features[..half].iter().zip(&self.classes) {
            means[class].iter_mut().zip(feature).for_each(|(m, a)| *m += a.sqrt());
        }
        let clips_of_class = (half / CLASSES.len()) as f64;
        let distance = |mean: &[f64], feature: &[f64]| {
            mean.iter().zip(feature).map(|(m, a)| (m / clips_of_class - a.sqrt()).powi(2)).sum::<f64>()
        };
        let right = features[half..].iter().zip(&self.classes[half..]).filter(|(feature, class)| {
            let nearest = (0..CLASSES.len())
                .min_by(|&a, &b| distance(&means[a], feature).total_cmp(&distance(&means[b], feature)));
            nearest == Some(**class)
        });
        Ok(right.count() as f64 / (self.len() - half) as f64)
    }
}

/// The alpha features of a clip: $\alpha_l = \frac1N \sum_i p(l \mid x_i)$.
fn alpha(model: &Model, frames: &[f64]) -> Result<Vec<f64>> {
    let shares = model.scores(frames)?.responsibilities;
    let n = (shares.len() / model.k) as f64;
    Ok((0..model.k).map(|l| shares.iter().skip(l).step_by(model.k).sum::<f64>() / n).collect())
}

/// One clip of a kind, a second long.
fn clip(kind: &str, rng: &mut Rng) -> Vec<f64> {
    let pitch = 300.0 * (1.5 * rng.uniform()).exp();
    let (loud, noise, speed) = (rng.between(0.3, 1.0), rng.between(0.05, 0.2), rng.between(2.0, 8.0));
    let (mut phase, mut state, mut drop) = (0.0, 0.0, 0.0);
    let mut samples = Vec::with_capacity(CLIP);
    for i in 0..CLIP {
        let t = i as f64 / RATE;
        let hertz = match kind {
            "chirp" => pitch * (1.0 + 3.0 * (t * speed).fract()),
            "siren" => pitch * (1.5 + (TAU * 0.5 * speed * t).sin()),
            "engine" => 0.15 * pitch,
            _ => pitch,
        };
        phase += TAU * hertz / RATE;
        state = 0.95 * state + 0.3 * rng.normal();
        drop = if rng.uniform() < 0.003 { 1.0 } else { 0.97 * drop };
        let value = match kind {
            "chord" => (phase.sin() + (1.25 * phase).sin() + (1.5 * phase).sin() + (3.0 * phase).sin()) / 4.0,
            "hiss" => 0.5 * rng.normal() * (1.0 + 0.5 * (TAU * speed * t).sin()),
            "rain" => drop * rng.normal(),
            "engine" => 0.6 * (phase / TAU).fract() - 0.3 + 0.3 * state,
            "bell" => {
                (phase.sin() + 0.6 * (2.76 * phase).sin() + 0.4 * (5.4 * phase).sin()) * (-4.0 * t).exp()
            }
            _ => phase.sin(),
        };
        samples.push(loud * value + noise * rng.normal());
    }
    samples
}
