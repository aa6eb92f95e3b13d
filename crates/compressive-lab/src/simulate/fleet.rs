//! A fleet of one-bit sensors: every reading leaves its sensor as 2m bits, and a server only counts them
//! (\[SJ22\] figure 1).
//!
//! The readings are those of a machine hall with [`REGIMES`] regimes in [`DIM`] quantities; every sensor has
//! its own share of regimes and its own bias.

use compressive::design::{Look, Request, design};
use compressive::features::{add_packed, packed};
use compressive::{RowsRef, Scratch, Sketch, SketchOperator, SketchSpec};

use crate::error::Result;
use compressive_data::Rng;

/// Quantities of a reading, with the deviations of a regime and the spread between regimes.
const QUANTITIES: [(&str, f64, f64); 4] =
    [("celsius", 0.8, 6.0), ("humidity", 2.0, 12.0), ("ampere", 0.4, 3.0), ("vibration", 0.05, 0.4)];
/// Number of quantities.
pub const DIM: usize = QUANTITIES.len();
/// Regimes of the machine hall.
pub const REGIMES: usize = 6;
/// Sensors, and readings of each, that the recipe is designed on.
const PILOT: (usize, usize) = (10, 200);

/// The readings of all sensors.
#[derive(Clone, Debug, PartialEq)]
pub struct Fleet {
    /// The readings of each sensor, rows of [`DIM`] quantities.
    pub sensors: Vec<Vec<f64>>,
}

impl Fleet {
    /// So many sensors with so many readings each.
    pub fn simulate(sensors: usize, readings: usize, rng: &mut Rng) -> Fleet {
        let centres: Vec<f64> =
            (0..REGIMES * DIM).map(|i| 20.0 + QUANTITIES[i % DIM].2 * rng.normal()).collect();
        Fleet { sensors: (0..sensors).map(|_| sensor(&centres, readings, rng)).collect() }
    }

    /// All readings, sensor after sensor.
    pub fn rows(&self) -> Vec<f64> {
        self.sensors.concat()
    }

    /// The recipe that every sensor gets, designed on the first readings of a few sensors.
    pub fn recipe(&self, params: &Request) -> Result<SketchSpec> {
        let columns: Vec<String> = QUANTITIES.iter().map(|(name, ..)| (*name).to_owned()).collect();
        let first = |sensor: &Vec<f64>| sensor[..sensor.len().min(PILOT.1 * DIM)].to_vec();
        let pilot: Vec<f64> = self.sensors.iter().take(PILOT.0).flat_map(first).collect();
        Ok(design(Look::Sample { rows: &pilot, columns: &columns }, params)?.spec)
    }

    /// What the server counts if every sensor sends its readings as packed bits, one reading of each sensor
    /// in turn; and the bytes of a message. For one-bit features.
    pub fn collect(&self, operator: &SketchOperator) -> Result<(Sketch, usize)> {
        let (mut server, mut message, mut buffer) = (Sketch::empty(operator), Vec::new(), Scratch::default());
        let readings = self.sensors.iter().map(|sensor| sensor.len() / DIM).max().unwrap_or(0);
        for reading in 0..readings {
            for row in self.sensors.iter().filter_map(|sensor| sensor.get(reading * DIM..(reading + 1) * DIM))
            {
                packed(operator, 2, RowsRef::F64(row), &mut message, &mut buffer)?;
                add_packed(operator, &message, &mut server)?;
            }
        }
        Ok((server, message.len()))
    }
}

/// Rows with every quantity divided by its spread in the recipe, as it counts in the sketch.
pub fn scaled(rows: &[f64], spec: &SketchSpec) -> Vec<f64> {
    rows.iter().zip(spec.transform.spread.iter().cycle()).map(|(x, spread)| x / spread).collect()
}

/// The readings of one sensor.
fn sensor(centres: &[f64], readings: usize, rng: &mut Rng) -> Vec<f64> {
    let shares = rng.dirichlet(1.0, REGIMES);
    let bias: Vec<f64> = QUANTITIES.iter().map(|(_, deviation, _)| 0.3 * deviation * rng.normal()).collect();
    let mut rows = Vec::with_capacity(readings * DIM);
    for _ in 0..readings {
        let regime = rng.choice(&shares);
        rows.extend((0..DIM).map(|c| centres[regime * DIM + c] + bias[c] + QUANTITIES[c].1 * rng.normal()));
    }
    rows
}
