//! Alpha features for audio events, with the mixture learned from one-bit contributions (\[Sch21\] section 4.5.7).
//!
//! 1. Every clip is cut into frames, and every frame becomes d mel-frequency cepstral coefficients (MFCC).
//! 2. The frames of all clips are sketched, by Fourier features or by one-bit ones, which a sensor sends as 2m bits a frame.
//! 3. A mixture of k Gaussians is learned from the sketch; a clip's alpha features are the mean probabilities of its frames under the k components.
//! 4. Half of the clips, with their classes, classify the other half by the nearest class mean of the square roots of the features (Hellinger's distance).
//!
//! The clips are generated: eight kinds of sound, each clip with its own pitch, loudness and background noise. EM on all frames is the baseline.
//!
//! `cargo run --release -p compressive-lab --example sounds`

use std::f64::consts::{PI, TAU};

use compressive::design::{DesignParams, Task, design};
use compressive::model::{Content, Covariances, Model};
use compressive::task::{Components, LearnParams, learn};
use compressive::{Feature, RowsRef, Scratch, Sketch};
use compressive_lab::{EmParams, Rng, Rows, em};

/// Samples a second, of a clip, of a frame, and from one frame to the next.
const RATE: f64 = 16_000.0;
const CLIP: usize = 16_000;
const FRAME: usize = 512;
const HOP: usize = 256;
/// Mel bands, and coefficients kept of a frame.
const BANDS: usize = 24;
const DIM: usize = 10;
/// Components of the mixture.
const K: usize = 12;
/// Kinds of sound.
const CLASSES: [&str; 8] = ["tone", "chord", "chirp", "siren", "hiss", "rain", "engine", "bell"];

type Error = Box<dyn std::error::Error>;

fn main() -> Result<(), Error> {
    let clips = Clips::generate(60, &mut Rng::new(1));
    println!("{} clips, {} frames of {DIM} coefficients", clips.classes.len(), clips.rows().len() / DIM);
    println!("{:<34} bits a frame   accuracy", "mixture learned from");
    for (name, feature) in
        [("a Fourier sketch", Feature::Fourier), ("one-bit contributions", Feature::OneBit)]
    {
        let (model, entries) = sketched(&clips, feature.clone())?;
        let bits = entries * if feature == Feature::OneBit { 1 } else { 32 };
        println!("{name:<34} {bits:>12}   {:.1}%", 100.0 * clips.accuracy(&model)?);
    }
    println!(
        "{:<34} {:>12}   {:.1}%",
        "all frames (EM)",
        32 * DIM,
        100.0 * clips.accuracy(&direct(&clips)?)?
    );
    Ok(())
}

/// Steps 2 and 3: the mixture, and the entries of the sketch.
fn sketched(clips: &Clips, feature: Feature) -> Result<(Model, usize), Error> {
    let columns: Vec<String> = (0..DIM).map(|c| format!("mfcc{c}")).collect();
    let rows = clips.rows();
    let settings = DesignParams { task: Task::Gmm, k: K, feature, ..DesignParams::default() };
    let operator = design(&rows, &columns, &settings)?.build()?;
    let mut sketch = Sketch::empty(&operator);
    operator.accumulate(RowsRef::F64(&rows), None, &mut sketch, &mut Scratch::default())?;
    // No mixture of a few Gaussians explains sounds, so more searches than two are not worth their time.
    let params = LearnParams {
        task: Task::Gmm,
        k: Components::Exactly(K),
        restarts: Some(2),
        ..LearnParams::default()
    };
    Ok((learn(&operator, &sketch.moments()?, &params)?.model, sketch.moments()?.mean.len()))
}

/// The baseline, which keeps all frames.
fn direct(clips: &Clips) -> Result<Model, Error> {
    let rows = clips.rows();
    let params = EmParams { n_init: 3, tolerance: 1e-6, ..EmParams::default() };
    let mixture = em(Rows::new(&rows, DIM)?, K, &params)?.mixture;
    let cut = |values: &[f64]| values.chunks_exact(DIM).map(<[f64]>::to_vec).collect();
    let content = Content::Gmm {
        means: cut(&mixture.means),
        covariances: Covariances::Diagonal(cut(&mixture.covariances)),
        weights: mixture.weights,
    };
    let columns = (0..DIM).map(|c| format!("mfcc{c}")).collect();
    Ok(Model { format: compressive::model::MODEL_FORMAT, content, k: K, columns, origin: None })
}

/// Clips as frames of coefficients, with their classes.
struct Clips {
    frames: Vec<Vec<f64>>,
    classes: Vec<usize>,
}

impl Clips {
    fn generate(of_each: usize, rng: &mut Rng) -> Clips {
        let mel = Mel::new();
        let classes: Vec<usize> = (0..of_each * CLASSES.len()).map(|i| i % CLASSES.len()).collect();
        let frames = classes.iter().map(|&class| mel.coefficients(&clip(CLASSES[class], rng))).collect();
        Clips { frames, classes }
    }

    fn rows(&self) -> Vec<f64> {
        self.frames.concat()
    }

    /// Step 4: the first half of the clips classifies the second.
    fn accuracy(&self, model: &Model) -> Result<f64, Error> {
        let features: Vec<Vec<f64>> =
            self.frames.iter().map(|frames| alpha(model, frames)).collect::<Result<_, Error>>()?;
        let half = self.classes.len() / 2;
        let mut means = vec![vec![0.0; K]; CLASSES.len()];
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
        Ok(right.count() as f64 / (self.classes.len() - half) as f64)
    }
}

/// Step 3: $\alpha_l = \frac1N \sum_i p(l \mid x_i)$.
fn alpha(model: &Model, frames: &[f64]) -> Result<Vec<f64>, Error> {
    let shares = model.scores(frames)?.responsibilities;
    let n = (shares.len() / K) as f64;
    Ok((0..K).map(|l| shares.iter().skip(l).step_by(K).sum::<f64>() / n).collect())
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

/// Triangular filters, evenly spaced in mel, on the bins of a Fourier transform.
struct Mel {
    filters: Vec<Vec<f64>>,
    window: Vec<f64>,
}

impl Mel {
    fn new() -> Mel {
        let mel = |hertz: f64| 2595.0 * (1.0 + hertz / 700.0).log10();
        let at = |band: usize| mel(RATE / 2.0) * band as f64 / (BANDS + 1) as f64;
        let filter = |band: usize| {
            (0..=FRAME / 2)
                .map(|bin| {
                    let place = mel(bin as f64 * RATE / FRAME as f64);
                    let rise = (place - at(band)) / (at(band + 1) - at(band));
                    let fall = (at(band + 2) - place) / (at(band + 2) - at(band + 1));
                    rise.min(fall).max(0.0)
                })
                .collect()
        };
        let hann = |i: usize| 0.5 - 0.5 * (TAU * i as f64 / FRAME as f64).cos();
        Mel { filters: (0..BANDS).map(filter).collect(), window: (0..FRAME).map(hann).collect() }
    }

    /// Step 1: the discrete cosine transform of the log-energies of the bands, frame by frame.
    fn coefficients(&self, samples: &[f64]) -> Vec<f64> {
        let mut rows = Vec::new();
        for frame in samples.windows(FRAME).step_by(HOP) {
            let mut re: Vec<f64> = frame.iter().zip(&self.window).map(|(x, w)| x * w).collect();
            let mut im = vec![0.0; FRAME];
            fourier(&mut re, &mut im);
            let energy = |filter: &Vec<f64>| {
                filter.iter().zip(&re).zip(&im).map(|((f, a), b)| f * (a * a + b * b)).sum::<f64>()
            };
            let logs: Vec<f64> = self.filters.iter().map(|f| (energy(f) + 1e-6).ln()).collect();
            let cosine = |c: usize, b: usize| (PI * c as f64 * (b as f64 + 0.5) / BANDS as f64).cos();
            rows.extend(
                (0..DIM).map(|c| logs.iter().enumerate().map(|(b, e)| e * cosine(c, b)).sum::<f64>()),
            );
        }
        rows
    }
}

/// The fast Fourier transform of a power of two, in place: even and odd samples first, then their sum and difference.
fn fourier(re: &mut [f64], im: &mut [f64]) {
    let n = re.len();
    if n == 1 {
        return;
    }
    let half = |values: &[f64], odd: usize| values.iter().skip(odd).step_by(2).copied().collect::<Vec<f64>>();
    let (mut even, mut odd) = ((half(re, 0), half(im, 0)), (half(re, 1), half(im, 1)));
    fourier(&mut even.0, &mut even.1);
    fourier(&mut odd.0, &mut odd.1);
    for i in 0..n / 2 {
        let (sin, cos) = (-TAU * i as f64 / n as f64).sin_cos();
        let (a, b) = (odd.0[i] * cos - odd.1[i] * sin, odd.0[i] * sin + odd.1[i] * cos);
        (re[i], im[i]) = (even.0[i] + a, even.1[i] + b);
        (re[i + n / 2], im[i + n / 2]) = (even.0[i] - a, even.1[i] - b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fourier_transform_is_the_sum_it_stands_for() {
        let mut rng = Rng::new(3);
        let (x, y): (Vec<f64>, Vec<f64>) = (0..16).map(|_| (rng.normal(), rng.normal())).unzip();
        let (mut re, mut im) = (x.clone(), y.clone());
        fourier(&mut re, &mut im);
        for k in 0..16 {
            let term = |i: usize| {
                let (sin, cos) = (-TAU * (i * k) as f64 / 16.0).sin_cos();
                (x[i] * cos - y[i] * sin, x[i] * sin + y[i] * cos)
            };
            let (a, b) = (0..16).map(term).fold((0.0, 0.0), |s, t| (s.0 + t.0, s.1 + t.1));
            assert!((re[k] - a).abs() < 1e-12 && (im[k] - b).abs() < 1e-12);
        }
    }

    /// Of eight classes, chance has an eighth; a mixture of all frames and one of one-bit contributions see nearly the same.
    #[test]
    fn one_bit_contributions_recognise_sounds_nearly_as_well_as_all_frames() {
        let clips = Clips::generate(30, &mut Rng::new(5));
        let one_bit = clips.accuracy(&sketched(&clips, Feature::OneBit).unwrap().0).unwrap();
        let all = clips.accuracy(&direct(&clips).unwrap()).unwrap();
        assert!(one_bit > 0.5 && one_bit > all - 0.15, "{one_bit} {all}");
    }
}
