//! A fleet of one-bit sensors (\[SJ22\], figure 1): every reading leaves its sensor as 2m bits, a server only counts them, and the clusters are learned from the counts.
//!
//! 1. The recipe is designed once, on the first readings of a few sensors, and every sensor gets it; frequencies are drawn anew from its seed.
//! 2. A sensor sends the signs of two square waves for each of the m frequencies of a reading, packed into bytes.
//! 3. The server adds them up as they come in, in any order. Nothing else is kept, and the result has the bytes of a one-bit sketch of all readings in one table.
//! 4. k-means is learned from the counts, as if they had been Fourier features: the decoder corrects for the square waves.
//!
//! The readings are simulated: six regimes of a machine hall in four quantities, every sensor with its own share of regimes and its own bias.
//!
//! `cargo run --release -p compressive-lab --example fleet`

use compressive::design::{DesignParams, Task, design};
use compressive::features::{Buffer, add_packed, packed};
use compressive::task::{Components, LearnParams, learn};
use compressive::{Feature, RowsRef, Scratch, Sketch, SketchOperator};
use compressive_lab::{KMeansParams, Rng, Rows, kmeans, sse};

/// Quantities of a reading, with the deviations of a regime and the spread between regimes.
const QUANTITIES: [(&str, f64, f64); 4] =
    [("celsius", 0.8, 6.0), ("humidity", 2.0, 12.0), ("ampere", 0.4, 3.0), ("vibration", 0.05, 0.4)];
const DIM: usize = QUANTITIES.len();
/// Regimes of the machine hall.
const REGIMES: usize = 6;

type Error = Box<dyn std::error::Error>;

fn main() -> Result<(), Error> {
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
    let mut rng = Rng::new(1);
    let hall = Hall::new(&mut rng);
    let fleet: Vec<Vec<f64>> = (0..sensors).map(|_| hall.sensor(readings, &mut rng)).collect();
    let operator = recipe(&fleet)?;

    // Messages of all sensors, one reading of each in turn.
    let (mut server, mut message, mut buffer) = (Sketch::empty(&operator), Vec::new(), Buffer::default());
    for reading in 0..readings {
        for sensor in &fleet {
            let row = &sensor[reading * DIM..(reading + 1) * DIM];
            packed(&operator, 2, RowsRef::F64(row), &mut message, &mut buffer)?;
            add_packed(&operator, &message, &mut server)?;
        }
    }

    let params = LearnParams { k: Components::Exactly(REGIMES), ..LearnParams::default() };
    let model = learn(&operator, &server.moments()?, &params)?.model;
    compare(&operator, &fleet.concat(), &server, &model.locations().concat(), message.len())
}

/// Step 1.
fn recipe(fleet: &[Vec<f64>]) -> Result<SketchOperator, Error> {
    let columns: Vec<String> = QUANTITIES.iter().map(|(name, ..)| (*name).to_owned()).collect();
    let pilot: Vec<f64> = fleet.iter().take(10).flat_map(|sensor| sensor[..200 * DIM].to_vec()).collect();
    let settings =
        DesignParams { task: Task::Kmeans, k: REGIMES, feature: Feature::OneBit, ..DesignParams::default() };
    Ok(design(&pilot, &columns, &settings)?.build()?)
}

/// What one would have with all readings in one place.
fn compare(
    operator: &SketchOperator,
    all: &[f64],
    server: &Sketch,
    centres: &[f64],
    bytes: usize,
) -> Result<Outcome, Error> {
    let mut offline = Sketch::empty(operator);
    operator.accumulate(RowsRef::F64(all), None, &mut offline, &mut Scratch::default())?;
    // Every quantity counts by its spread, as in the sketch.
    let spread = &operator.spec().transform.spread;
    let scaled =
        |rows: &[f64]| rows.iter().enumerate().map(|(i, x)| x / spread[i % DIM]).collect::<Vec<f64>>();
    let rows = scaled(all);
    let rows = Rows::new(&rows, DIM)?;
    let best = kmeans(rows, REGIMES, &KMeansParams::default())?.sse;
    Ok(Outcome {
        readings: rows.n_rows(),
        bytes,
        same: offline.to_bytes() == server.to_bytes(),
        relative: sse(rows, &scaled(centres))? / best,
    })
}

/// Where the regimes are.
struct Hall {
    centres: Vec<f64>,
}

impl Hall {
    fn new(rng: &mut Rng) -> Hall {
        Hall { centres: (0..REGIMES * DIM).map(|i| 20.0 + QUANTITIES[i % DIM].2 * rng.normal()).collect() }
    }

    /// The readings of one sensor.
    fn sensor(&self, readings: usize, rng: &mut Rng) -> Vec<f64> {
        let shares = rng.dirichlet(1.0, REGIMES);
        let bias: Vec<f64> =
            QUANTITIES.iter().map(|(_, deviation, _)| 0.3 * deviation * rng.normal()).collect();
        let mut rows = Vec::with_capacity(readings * DIM);
        for _ in 0..readings {
            let regime = rng.choice(&shares);
            rows.extend(
                (0..DIM).map(|c| self.centres[regime * DIM + c] + bias[c] + QUANTITIES[c].1 * rng.normal()),
            );
        }
        rows
    }
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
