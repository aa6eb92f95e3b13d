//! Alpha features for audio events, with the mixture learned from one-bit contributions (\[Sch21\] section
//! 4.5.7).
//!
//! 1. Every clip is cut into frames, and every frame becomes d mel-frequency cepstral coefficients (MFCC).
//! 2. The frames of all clips are sketched, by Fourier features or by one-bit ones, which a sensor sends as
//!    2m bits a frame.
//! 3. A mixture of k Gaussians is learned from the sketch; a clip's alpha features are the mean probabilities
//!    of its frames under the k components.
//! 4. Half of the clips, with their classes, classify the other half by the nearest class mean of the square
//!    roots of the features (Hellinger's distance).
//!
//! The clips are generated: eight kinds of sound, each clip with its own pitch, loudness and background
//! noise. EM on all frames is the baseline. `compressive-lab run sounds` repeats it for several sizes of the
//! sketch.
//!
//! `cargo run --release -p compressive-lab --example applications sounds`

use compressive::design::{Look, Request, Task, design};
use compressive::learn::{LearnParams, learn};
use compressive::model::Model;
use compressive::{RowsRef, Scratch, Sketch, Wave};
use compressive_data::{EmParams, Rng, Rows, em};
use compressive_lab::simulate::sounds::{Clips, DIM};

use crate::Error;

/// Components of the mixture.
const K: usize = 12;

pub fn main() -> Result<(), Error> {
    let clips = Clips::generate(60, &mut Rng::new(1));
    println!("{} clips, {} frames of {DIM} coefficients", clips.len(), clips.rows().len() / DIM);
    println!("{:<34} bits a frame   accuracy", "mixture learned from");
    for (name, feature) in [("a Fourier sketch", Wave::Fourier), ("one-bit contributions", Wave::OneBit)] {
        let (model, entries) = sketched(&clips, feature.clone())?;
        let bits = entries * if feature == Wave::OneBit { 1 } else { 32 };
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
fn sketched(clips: &Clips, feature: Wave) -> Result<(Model, usize), Error> {
    let rows = clips.rows();
    let settings = Request::new(Task::Gmm, K).feature(feature);
    let operator =
        design(Look::Sample { rows: &rows, columns: &Clips::columns() }, &settings)?.spec.build()?;
    let mut sketch = Sketch::empty(&operator);
    operator.accumulate(RowsRef::F64(&rows), None, &mut sketch, &mut Scratch::default())?;
    // No mixture of a few Gaussians explains sounds, so more searches than two are not worth their time.
    let params = LearnParams::new(Task::Gmm, K).restarts(2);
    Ok((learn(&operator, &sketch.moments()?, &params)?.model, sketch.moments()?.mean.len()))
}

/// The baseline, which keeps all frames.
fn direct(clips: &Clips) -> Result<Model, Error> {
    let params = EmParams { n_init: 3, tolerance: 1e-6, ..EmParams::default() };
    Ok(em(Rows::new(&clips.rows(), DIM)?, K, &params)?.mixture.to_model(Clips::columns()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of eight classes, chance has an eighth; a mixture of all frames and one of one-bit contributions see
    /// nearly the same.
    #[test]
    fn one_bit_contributions_recognise_sounds_nearly_as_well_as_all_frames() {
        let clips = Clips::generate(30, &mut Rng::new(5));
        let one_bit = clips.accuracy(&sketched(&clips, Wave::OneBit).unwrap().0).unwrap();
        let all = clips.accuracy(&direct(&clips).unwrap()).unwrap();
        assert!(one_bit > 0.5 && one_bit > all - 0.15, "{one_bit} {all}");
    }
}
