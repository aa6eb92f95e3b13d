//! Speaker verification with a background model learned from a sketch (GMM-UBM, the application of \[KBGP18\]
//! section 6).
//!
//! 1. The frames of many background speakers are sketched in one pass and thrown away.
//! 2. A mixture of k diagonal Gaussians, the universal background model, is learned from the sketch.
//! 3. Each enrolled speaker's model is the background with its means moved towards the speaker's frames (MAP
//!    adaptation).
//! 4. A claim is judged by the mean log-likelihood ratio of its frames; the equal error rate is where false
//!    rejections are as frequent as false acceptances.
//!
//! The speakers are synthetic: each says k sounds in their own way, and a little differently in every
//! session. EM on all frames is the baseline. `compressive-lab run speakers` repeats it for several decoders
//! and sizes of the sketch.
//!
//! `cargo run --release -p compressive-lab --example applications speakers`

use std::time::Instant;

use compressive::design::{Look, Request, Task, design};
use compressive::learn::{LearnParams, learn};
use compressive::{RowsRef, Scratch, Sketch};
use compressive_data::{EmParams, Rng, Rows, em};
use compressive_lab::simulate::speakers::{DIM, SOUNDS, Sizes, Speakers};

use crate::Error;

pub fn main() -> Result<(), Error> {
    let sizes = Sizes { background: 200, frames: 1500, enrolled: 100, enrolment: 1000, claims: 5, claim: 60 };
    let outcome = run(sizes)?;
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

fn run(sizes: Sizes) -> Result<Outcome, Error> {
    let speakers = Speakers::simulate(sizes, &mut Rng::new(1));
    let (frames, columns) = (&speakers.frames, Speakers::columns());
    let n_rows = frames.len() / DIM;

    // Steps 1 and 2. The sketch is all that is kept of the frames; the recipe comes from a sample of them.
    let settings = Request::new(Task::Gmm, SOUNDS);
    let start = Instant::now();
    let operator =
        design(Look::Sample { rows: &frames[..20_000.min(n_rows) * DIM], columns: &columns }, &settings)?
            .spec
            .build()?;
    let mut sketch = Sketch::empty(&operator);
    operator.accumulate(RowsRef::F64(frames), None, &mut sketch, &mut Scratch::default())?;
    let params = LearnParams::new(Task::Gmm, SOUNDS);
    let model = learn(&operator, &sketch.moments()?, &params)?.model;
    let seconds = start.elapsed().as_secs_f64();

    let start = Instant::now();
    let params = EmParams { n_init: 3, tolerance: 1e-6, threads: 1, ..EmParams::default() };
    let direct = em(Rows::new(frames, DIM)?, SOUNDS, &params)?.mixture.to_model(columns);
    let direct_seconds = start.elapsed().as_secs_f64();

    // Steps 3 and 4.
    Ok(Outcome {
        rows: n_rows,
        bytes: sketch.to_bytes().len(),
        sketched: (seconds, speakers.equal_error_rate(&model, 2)?),
        direct: (direct_seconds, speakers.equal_error_rate(&direct, 2)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_background_from_the_sketch_verifies_as_well_as_one_of_all_frames() {
        let sizes = Sizes { background: 50, frames: 800, enrolled: 30, enrolment: 500, claims: 4, claim: 60 };
        let outcome = run(sizes).unwrap();
        assert!(outcome.sketched.1 < 0.25, "{}", outcome.sketched.1);
        assert!(outcome.sketched.1 <= outcome.direct.1 + 0.03, "{} {}", outcome.sketched.1, outcome.direct.1);
    }
}
