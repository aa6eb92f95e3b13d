//! Speaker verification with a universal background model (GMM-UBM, \[KBGP18\] section 6), on synthetic
//! speakers: each says [`SOUNDS`] sounds in their own way, and a little differently in every session.
//!
//! Each enrolled speaker's model is the background with its means moved towards the speaker's frames (MAP
//! adaptation); a claim is judged by the mean log-likelihood ratio of its frames; the equal error rate is
//! where false rejections are as frequent as false acceptances.

use compressive::model::{Content, Model};

use crate::error::Result;
use compressive_data::Rng;

/// Coefficients of a frame.
pub const DIM: usize = 12;
/// Sounds of the language.
pub const SOUNDS: usize = 20;
/// Deviation of a speaker's sounds from everyone's, and of a session's from the speaker's, in deviations of a
/// sound.
const SPEAKER: f64 = 0.20;
const SESSION: f64 = 0.08;
/// Frames that count as much as the background in the adaptation.
const RELEVANCE: f64 = 16.0;

/// Sizes of the experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Speakers of the background.
    pub background: usize,
    /// Frames of each.
    pub frames: usize,
    /// Enrolled speakers.
    pub enrolled: usize,
    /// Frames that a speaker is enrolled with.
    pub enrolment: usize,
    /// Claims by each enrolled speaker, each made against their own model and against another's.
    pub claims: usize,
    /// Frames of a claim.
    pub claim: usize,
}

/// A language with the frames of its background speakers.
#[derive(Clone, Debug)]
pub struct Speakers {
    sizes: Sizes,
    language: Language,
    /// Frames of all background speakers, rows of [`DIM`], speaker after speaker.
    pub frames: Vec<f64>,
}

/// The sounds of a language, of a speaker or of a session: Gaussians.
#[derive(Clone, Debug)]
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
    fn moved(&self, offset: f64, rng: &mut Rng) -> Language {
        let mut own = self.clone();
        own.means.iter_mut().zip(&self.deviations).for_each(|(m, s)| *m += offset * s * rng.normal());
        own
    }

    /// The frames of a speaker's session.
    fn session(&self, frames: usize, rng: &mut Rng) -> Vec<f64> {
        let own = self.moved(SESSION, rng);
        let mut rows = Vec::with_capacity(frames * DIM);
        for _ in 0..frames {
            let first = DIM * rng.choice(&own.shares);
            rows.extend((first..first + DIM).map(|i| own.means[i] + own.deviations[i] * rng.normal()));
        }
        rows
    }
}

impl Speakers {
    /// A language and its background speakers.
    pub fn simulate(sizes: Sizes, rng: &mut Rng) -> Speakers {
        let language = Language::new(rng);
        let mut frames = Vec::with_capacity(sizes.background * sizes.frames * DIM);
        for _ in 0..sizes.background {
            let speaker = language.moved(SPEAKER, rng);
            frames.extend(speaker.session(sizes.frames, rng));
        }
        Speakers { sizes, language, frames }
    }

    /// Names of the coefficients.
    pub fn columns() -> Vec<String> {
        (0..DIM).map(|c| format!("c{c}")).collect()
    }

    /// The equal error rate of a background model: enrols new speakers of the seed, then judges every claim
    /// against its own speaker and against the next one.
    pub fn equal_error_rate(&self, background: &Model, seed: u64) -> Result<f64> {
        let mut rng = Rng::new(seed);
        let speakers: Vec<Language> =
            (0..self.sizes.enrolled).map(|_| self.language.moved(SPEAKER, &mut rng)).collect();
        let mut models = Vec::new();
        for speaker in &speakers {
            models.push(adapted(background, &speaker.session(self.sizes.enrolment, &mut rng))?);
        }
        let (mut genuine, mut impostor) = (Vec::new(), Vec::new());
        for (i, speaker) in speakers.iter().enumerate() {
            for _ in 0..self.sizes.claims {
                let frames = speaker.session(self.sizes.claim, &mut rng);
                let plain = mean_log_density(background, &frames)?;
                genuine.push(mean_log_density(&models[i], &frames)? - plain);
                impostor.push(mean_log_density(&models[(i + 1) % models.len()], &frames)? - plain);
            }
        }
        Ok(crossing(&mut genuine, &mut impostor))
    }
}

/// Where as many genuine scores are below a threshold as impostors' are not: the least larger rate.
fn crossing(genuine: &mut [f64], impostor: &mut [f64]) -> f64 {
    genuine.sort_by(f64::total_cmp);
    impostor.sort_by(f64::total_cmp);
    let rates = genuine.iter().enumerate().map(|(rejected, threshold)| {
        let accepted = impostor.len() - impostor.partition_point(|score| score < threshold);
        (rejected as f64 / genuine.len() as f64, accepted as f64 / impostor.len() as f64)
    });
    rates.map(|(r, a)| f64::max(r, a)).fold(1.0, f64::min)
}

fn mean_log_density(model: &Model, frames: &[f64]) -> Result<f64> {
    let densities = model.scores(frames)?.log_densities;
    Ok(densities.iter().sum::<f64>() / densities.len() as f64)
}

/// MAP adaptation: $\mu_l \leftarrow (N_l \bar x_l + r \mu_l) / (N_l + r)$, with the frames' probabilities
/// under the background as counts. A model that is not a mixture of Gaussians stays as it is.
fn adapted(background: &Model, frames: &[f64]) -> Result<Model> {
    let mut model = background.clone();
    let Content::Gmm { means, .. } = &mut model.content else { return Ok(model) };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_equal_error_rate_is_where_the_curves_of_both_errors_cross() {
        // Two of ten genuine claims are below 5, and two of ten impostors at 5 or above.
        let mut genuine = [1.0, 2.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0];
        let mut impostor = [-5.0, -4.0, -3.0, -2.0, -1.0, 0.0, 3.0, 4.0, 6.5, 7.5];
        assert_eq!(crossing(&mut genuine, &mut impostor), 0.2);
        assert_eq!(crossing(&mut [1.0, 2.0], &mut [-1.0, 0.0]), 0.0);
    }
}
