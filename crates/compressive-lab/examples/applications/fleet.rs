//! A fleet of one-bit sensors (\[SJ22\], figure 1): every reading leaves its sensor as 2m bits, a server only
//! counts them, and the clusters are learned from the counts.
//!
//! 1. The recipe is designed once, on the first readings of a few sensors, and every sensor gets it;
//!    frequencies are drawn anew from its seed.
//! 2. A sensor sends the signs of two square waves for each of the m frequencies of a reading, packed into
//!    bytes.
//! 3. The server adds them up as they come in, in any order. Nothing else is kept, and the result has the
//!    bytes of a one-bit sketch of all readings in one table.
//! 4. k-means is learned from the counts, as if they had been Fourier features: the decoder corrects for the
//!    square waves.
//!
//! The readings are simulated: six regimes of a machine hall in four quantities, every sensor with its own
//! share of regimes and its own bias. `compressive-lab run fleet` repeats it for many fleets and sizes.
//!
//! `cargo run --release -p compressive-lab --example applications fleet`

use compressive::design::{Request, Task};
use compressive::learn::{LearnParams, learn};
use compressive::{RowsRef, Scratch, Sketch, Wave};
use compressive_data::{KMeansParams, Rng, Rows, kmeans, sse};
use compressive_lab::simulate::fleet::{DIM, Fleet, REGIMES, scaled};

use crate::Error;

pub fn main() -> Result<(), Error> {
    let outcome = run(50, 2000)?;
    println!("{} readings of {DIM} quantities, {} bytes each on the air", outcome.readings, outcome.bytes);
    println!("the counts are those of a sketch of all readings: {}", outcome.same);
    println!(
        "sum of squares of the centres found, relative to k-means on all readings: {:.4}",
        outcome.relative
    );
    Ok(())
}

/// What [`run`] saw.
struct Outcome {
    readings: usize,
    /// Of a message.
    bytes: usize,
    /// Whether the server's sketch has the bytes of an offline one.
    same: bool,
    /// Sum of squares relative to k-means on all readings.
    relative: f64,
}

fn run(sensors: usize, readings: usize) -> Result<Outcome, Error> {
    let fleet = Fleet::simulate(sensors, readings, &mut Rng::new(1));
    // Step 1.
    let settings = Request::new(Task::Kmeans, REGIMES).feature(Wave::OneBit);
    let operator = fleet.recipe(&settings)?.build()?;
    // Steps 2 and 3.
    let (server, bytes) = fleet.collect(&operator)?;
    // Step 4.
    let params = LearnParams::new(Task::Kmeans, REGIMES);
    let model = learn(&operator, &server.moments()?, &params)?.model;

    // What one would have with all readings in one place.
    let all = fleet.rows();
    let mut offline = Sketch::empty(&operator);
    operator.accumulate(RowsRef::F64(&all), None, &mut offline, &mut Scratch::default())?;
    let all = scaled(&all, operator.spec());
    let rows = Rows::new(&all, DIM)?;
    let best = kmeans(rows, REGIMES, &KMeansParams::default())?.sse;
    let centres = scaled(&model.locations().concat(), operator.spec());
    Ok(Outcome {
        readings: rows.n_rows(),
        bytes,
        same: offline.to_bytes() == server.to_bytes(),
        relative: sse(rows, &centres)? / best,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_regimes_are_learned_from_bits_alone() {
        let outcome = run(20, 500).unwrap();
        assert!(outcome.same);
        assert!(outcome.relative < 1.02, "{}", outcome.relative);
    }
}
