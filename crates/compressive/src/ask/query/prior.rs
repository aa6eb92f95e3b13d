//! Waves that the density of a table may differ from its law by.
//!
//! Frequencies are those of the sketch times a factor between [`FACTORS`], log-uniform, in three kinds of
//! equal number: as they are, along one coordinate, and along two; the last two since columns often differ
//! from any mixture each by itself, which waves in random directions hardly see.

use std::f64::consts::TAU;

use compressive_kernels::damped_waves;

use crate::num::linear::multiply_transposed;
use crate::num::random::{Purpose, Stream};
use crate::sketch::operator::SketchOperator;

/// Number M of waves.
const WAVES: usize = 512;
/// Wave numbers relative to those of the sketch.
const FACTORS: (f64, f64) = (0.3, 6.0);

/// The waves $\psi_i(u) = \sqrt 2\cos(v_i^\top u + \varphi_i)$.
pub(super) struct Waves {
    dim: usize,
    frequencies: Vec<f64>,
    phases: Vec<f64>,
    factors: Vec<f64>,
}

impl Waves {
    /// Waves for a sketch.
    pub(super) fn new(operator: &SketchOperator, seed: u64) -> Waves {
        let (d, m) = (operator.dim(), operator.spec().size);
        let mut stream = Stream::new(seed, Purpose::Decode, u64::MAX - 10);
        let mut waves = Waves { dim: d, frequencies: Vec::new(), phases: Vec::new(), factors: Vec::new() };
        for i in 0..WAVES {
            let j = stream.below(m);
            let base = &operator.frequencies()[j * d..(j + 1) * d];
            let factor = FACTORS.0 * (FACTORS.1 / FACTORS.0).powf(stream.uniform());
            let radius = base.iter().map(|w| w * w).sum::<f64>().sqrt() * factor;
            let mut wave = vec![0.0; d];
            match i % 3 {
                0 => wave.iter_mut().zip(base).for_each(|(v, w)| *v = w * factor),
                1 => wave[stream.below(d)] = radius,
                _ => {
                    let angle = TAU * stream.uniform();
                    wave[stream.below(d)] += radius * angle.cos();
                    wave[stream.below(d)] += radius * angle.sin();
                }
            }
            waves.frequencies.extend(wave);
            waves.phases.push(TAU * stream.uniform());
            waves.factors.push(factor);
        }
        waves
    }

    /// Number M of waves.
    pub(super) fn len(&self) -> usize {
        self.factors.len()
    }

    /// Wave numbers relative to those of the sketch.
    pub(super) fn factors(&self) -> &[f64] {
        &self.factors
    }

    /// The waves at some rows in working coordinates, M rows with one number a row of the table.
    pub(super) fn at(&self, working: &[f64]) -> Vec<f64> {
        let rows = working.len() / self.dim;
        let mut phases = vec![0.0; self.len() * rows];
        multiply_transposed(&self.frequencies, working, self.dim, &mut phases);
        for (row, phase) in phases.chunks_exact_mut(rows).zip(&self.phases) {
            row.iter_mut().for_each(|t| *t += phase);
        }
        let (mut re, mut im) = (vec![0.5 * std::f64::consts::LN_2; phases.len()], vec![0.0; phases.len()]);
        damped_waves(&phases, &mut re, &mut im);
        re
    }
}
