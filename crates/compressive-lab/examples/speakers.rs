//! Speaker verification with a background model learned from a sketch (GMM-UBM, the application of \[KBGP18\] section 5.6).
//!
//! 1. The frames of many background speakers are sketched in one pass and thrown away.
//! 2. A mixture of k diagonal Gaussians, the universal background model, is learned from the sketch.
//! 3. Each enrolled speaker's model is the background with its means moved towards the speaker's frames (MAP adaptation).
//! 4. A claim is judged by the mean log-likelihood ratio of its frames; the equal error rate is where false rejections are as frequent as false acceptances.
//!
//! The speakers are synthetic: each says k sounds in their own way, and a little differently in every session.
//! EM on all frames is the baseline.
//!
//! `cargo run --release -p compressive-lab --example speakers`

use std::time::Instant;

use compressive::design::{DesignParams, Task, design};
use compressive::model::{Content, Covariances, Model};
use compressive::task::{Components, LearnParams, learn};
use compressive::{RowsRef, Scratch, Sketch};
use compressive_lab::{EmParams, Rng, Rows, em};

/// Coefficients of a frame.
const DIM: usize = 12;
/// Sounds of the language.
const SOUNDS: usize = 20;
/// Deviation of a speaker's sounds from everyone's, and of a session's from the speaker's, in deviations of a sound.
const SPEAKER: f64 = 0.20;
const SESSION: f64 = 0.08;
/// Frames that count as much as the background in the adaptation.
const RELEVANCE: f64 = 16.0;

/// Sizes of the experiment.
struct Sizes {
    background: usize,
    frames: usize,
    enrolled: usize,
    enrolment: usize,
    claims: usize,
    claim: usize,
}

type Error = Box<dyn std::error::Error>;

fn main() -> Result<(), Error> {
    let sizes = Sizes { background: 200, frames: 1500, enrolled: 100, enrolment: 1000, claims: 5, claim: 60 };
    let outcome = run(&sizes)?;
    println!("{} frames of {DIM} coefficients, sketch of {} bytes", outcome.rows, outcome.bytes);
    println!("background model   seconds   equal error rate");
    println!("from the sketch    {:7.2}   {:.1}%", outcome.sketched.0, 100.0 * outcome.sketched.1);
    println!("EM on all frames   {:7.2}   {:.1}%", outcome.direct.0, 100.0 * outcome.direct.1);
    Ok(())
}

/// What [`run`] measured: seconds and equal error rates.
struct Outcome {
    rows: usize,
    bytes: usize,
    sketched: (f64, f64),
    direct: (f64, f64),
}

fn run(sizes: &Sizes) -> Result<Outcome, Error> {
    let mut rng = Rng::new(1);
    let language = Language::new(&mut rng);
    let mut frames = Vec::new();
    for _ in 0..sizes.background {
        let speaker = language.speaker(SPEAKER, &mut rng);
        frames.extend(speaker.speaker(SESSION, &mut rng).speak(sizes.frames, &mut rng));
    }
    let n_rows = frames.len() / DIM;

    // The sketch is all that is kept of the frames; the recipe comes from a sample of them.
    let columns: Vec<String> = (0..DIM).map(|c| format!("c{c}")).collect();
    let settings = DesignParams { task: Task::Gmm, k: SOUNDS, ..DesignParams::default() };
    let start = Instant::now();
    let operator = design(&frames[..20_000.min(n_rows) * DIM], &columns, &settings)?.build()?;
    let mut sketch = Sketch::empty(&operator);
    operator.accumulate(RowsRef::F64(&frames), None, &mut sketch, &mut Scratch::default())?;
    let params = LearnParams { task: Task::Gmm, k: Components::Exactly(SOUNDS), ..LearnParams::default() };
    let model = learn(&operator, &sketch.moments()?, &params)?.model;
    let seconds = start.elapsed().as_secs_f64();

    let start = Instant::now();
    let params = EmParams { n_init: 3, tolerance: 1e-6, threads: 1, ..EmParams::default() };
    let mixture = em(Rows::new(&frames, DIM)?, SOUNDS, &params)?.mixture;
    let direct_seconds = start.elapsed().as_secs_f64();

    let cut = |values: &[f64]| values.chunks_exact(DIM).map(<[f64]>::to_vec).collect();
    let content = Content::Gmm {
        weights: mixture.weights.clone(),
        means: cut(&mixture.means),
        covariances: Covariances::Diagonal(cut(&mixture.covariances)),
    };
    let direct = Model { content, origin: None, ..model.clone() };
    Ok(Outcome {
        rows: n_rows,
        bytes: sketch.to_bytes().len(),
        sketched: (seconds, equal_error_rate(&model, &language, sizes)?),
        direct: (direct_seconds, equal_error_rate(&direct, &language, sizes)?),
    })
}

/// The sounds of a language, of a speaker or of a session: Gaussians.
#[derive(Clone)]
struct Language {
    shares: Vec<f64>,
    means: Vec<f64>,
    deviations: Vec<f64>,
}

impl Language {
    fn new(rng: &mut Rng) -> Language {
        Language {
            shares: rng.dirichlet(5.0, SOUNDS),
            means: (0..SOUNDS * DIM).map(|_| 3.0 * rng.normal()).collect(),
            deviations: (0..SOUNDS * DIM).map(|_| rng.between(0.7, 1.3)).collect(),
        }
    }

    /// The same sounds, each moved by so many deviations.
    fn speaker(&self, offset: f64, rng: &mut Rng) -> Language {
        let mut own = self.clone();
        own.means.iter_mut().zip(&self.deviations).for_each(|(m, s)| *m += offset * s * rng.normal());
        own
    }

    fn speak(&self, frames: usize, rng: &mut Rng) -> Vec<f64> {
        let mut rows = Vec::with_capacity(frames * DIM);
        for _ in 0..frames {
            let first = DIM * rng.choice(&self.shares);
            rows.extend((first..first + DIM).map(|i| self.means[i] + self.deviations[i] * rng.normal()));
        }
        rows
    }
}

fn mean_log_density(model: &Model, frames: &[f64]) -> Result<f64, Error> {
    let densities = model.scores(frames)?.log_densities;
    Ok(densities.iter().sum::<f64>() / densities.len() as f64)
}

/// Step 3: $\mu_l \leftarrow (N_l \bar x_l + r \mu_l) / (N_l + r)$, with the frames' probabilities under the background as counts.
fn adapted(background: &Model, frames: &[f64]) -> Result<Model, Error> {
    let mut model = background.clone();
    let Content::Gmm { means, .. } = &mut model.content else { return Err("not a mixture".into()) };
    let shares = background.scores(frames)?.responsibilities;
    for (l, mean) in means.iter_mut().enumerate() {
        let mut count = RELEVANCE;
        mean.iter_mut().for_each(|m| *m *= RELEVANCE);
        for (frame, shares) in frames.chunks_exact(DIM).zip(shares.chunks_exact(background.k)) {
            count += shares[l];
            mean.iter_mut().zip(frame).for_each(|(m, x)| *m += shares[l] * x);
        }
        mean.iter_mut().for_each(|m| *m /= count);
    }
    Ok(model)
}

/// Steps 3 and 4: every claim is made against its own speaker and against the next one.
fn equal_error_rate(background: &Model, language: &Language, sizes: &Sizes) -> Result<f64, Error> {
    let mut rng = Rng::new(2);
    let speakers: Vec<Language> = (0..sizes.enrolled).map(|_| language.speaker(SPEAKER, &mut rng)).collect();
    let mut models = Vec::new();
    for speaker in &speakers {
        let frames = speaker.speaker(SESSION, &mut rng).speak(sizes.enrolment, &mut rng);
        models.push(adapted(background, &frames)?);
    }
    let (mut genuine, mut impostor) = (Vec::new(), Vec::new());
    for (i, speaker) in speakers.iter().enumerate() {
        for _ in 0..sizes.claims {
            let frames = speaker.speaker(SESSION, &mut rng).speak(sizes.claim, &mut rng);
            let plain = mean_log_density(background, &frames)?;
            genuine.push(mean_log_density(&models[i], &frames)? - plain);
            impostor.push(mean_log_density(&models[(i + 1) % models.len()], &frames)? - plain);
        }
    }
    genuine.sort_by(f64::total_cmp);
    impostor.sort_by(f64::total_cmp);
    let n = genuine.len() as f64;
    let rates = genuine.iter().enumerate().map(|(rejected, threshold)| {
        let accepted = impostor.len() - impostor.partition_point(|score| score < threshold);
        (rejected as f64 / n, accepted as f64 / n)
    });
    Ok(rates.map(|(r, a)| f64::max(r, a)).fold(1.0, f64::min))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_background_from_the_sketch_verifies_as_well_as_one_of_all_frames() {
        let sizes = Sizes { background: 50, frames: 800, enrolled: 30, enrolment: 500, claims: 4, claim: 60 };
        let outcome = run(&sizes).unwrap();
        assert!(outcome.sketched.1 < 0.25, "{}", outcome.sketched.1);
        assert!(outcome.sketched.1 <= outcome.direct.1 + 0.03, "{} {}", outcome.sketched.1, outcome.direct.1);
    }
}
