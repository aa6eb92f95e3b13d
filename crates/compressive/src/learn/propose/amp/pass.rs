//! One iteration of message passing, numbered as in the parent module.

use crate::density::atom::{AtomFamily, Batch};
use crate::density::target::Target;
use crate::num::linear::{multiply, multiply_transposed};
use crate::num::random::Stream;

/// Points of the posterior's grid.
const GRID: usize = 48;
/// The grid's half width, in prior deviations.
const REACH: f64 = 3.5;

/// Below this deviation of a phase, in radians, the wave is taken as straight.
const LINEAR: f64 = 0.1;

/// The state: centres about the middle of the box, their variances, and the messages S.
pub(super) struct Messages<'a> {
    target: &'a Target,
    /// Unit directions of the frequencies, m rows of d.
    directions: Vec<f64>,
    /// $g_j$.
    radii: Vec<f64>,
    /// Phase of each entry at the middle of the box: $\omega_j^\top \text{middle} + \xi_j$.
    offsets: Vec<f64>,
    middle: Vec<f64>,
    prior: f64,
    centres: Vec<f64>,
    variances: Vec<f64>,
    /// S, k rows of m.
    scores: Vec<f64>,
    /// $\mu$ and u of the prior of every phase, k rows of m.
    means: Vec<f64>,
    spreads: Vec<f64>,
    /// Sums over the atoms: mean (re, im), variance of re, of im, and covariance.
    totals: Vec<[f64; 5]>,
}

impl<'a> Messages<'a> {
    pub fn new(target: &'a Target, k: usize, stream: &mut Stream) -> Messages<'a> {
        let (m, d) = (target.size(), target.dim());
        let radii: Vec<f64> = target.points.norms().iter().map(|n| n.sqrt().max(1e-12)).collect();
        let rows = target.points.frequencies().chunks_exact(d).zip(&radii);
        let directions = rows.flat_map(|(w, g)| w.iter().map(move |x| x / g)).collect();
        let middle: Vec<f64> = target.low.iter().zip(&target.high).map(|(l, h)| 0.5 * (l + h)).collect();
        let mut waves = Batch::default();
        target.points.sketch_batch(&middle, &[], &mut waves);
        let offsets = waves.re.iter().zip(&waves.im).map(|(c, s)| s.atan2(*c)).collect();
        // The box of a sample is about six deviations wide.
        let sides = target.low.iter().zip(&target.high).map(|(l, h)| ((h - l) / 6.0).powi(2));
        let prior = (sides.sum::<f64>() / d as f64).max(1e-12);
        let centres = (0..k * d).map(|_| prior.sqrt() * stream.normal()).collect();
        Messages {
            target,
            directions,
            radii,
            offsets,
            middle,
            prior,
            centres,
            variances: vec![prior; k],
            scores: vec![0.0; k * m],
            means: vec![0.0; k * m],
            spreads: vec![0.0; k * m],
            totals: vec![[0.0; 5]; m],
        }
    }

    /// The centres in working coordinates, inside the box.
    pub fn centres(&self) -> Vec<f64> {
        let d = self.target.dim();
        let place = |(i, x): (usize, &f64)| {
            (x + self.middle[i % d]).clamp(self.target.low[i % d], self.target.high[i % d])
        };
        self.centres.iter().enumerate().map(place).collect()
    }

    /// One iteration with the given weights, widths and noise floor.
    pub fn pass(&mut self, weights: &[f64], widths: &[f64], floor: f64, damping: f64) {
        let (m, d, k) = (self.target.size(), self.target.dim(), weights.len());
        self.predict();
        self.sum_up(weights, widths);
        for l in 0..k {
            let rows = l * m..(l + 1) * m;
            let deviation = self.variances[l].sqrt();
            // Step 3.
            let mut mean_spread = 0.0;
            for j in 0..m {
                let (e1, e2) = self.posterior(l, j, weights[l], widths[l], floor);
                let score = &mut self.scores[l * m + j];
                *score += damping * (e1 / deviation - *score);
                mean_spread += e2 / m as f64;
            }
            // Step 4. A posterior as wide as the prior carries no information; the least is kept so that the
            // variance stays finite.
            let informed = (1.0 - mean_spread).max(1e-3) / self.variances[l];
            let noise = d as f64 / m as f64 / informed;
            let mut change = vec![0.0; d];
            multiply(&self.scores[rows], &self.directions, d, &mut change);
            // Step 5.
            let gain = self.prior / (self.prior + noise);
            for (c, change) in self.centres[l * d..(l + 1) * d].iter_mut().zip(&change) {
                *c += damping * (gain * (*c + noise * change) - *c);
            }
            self.variances[l] = (noise * gain).max(1e-12 * self.prior);
        }
    }

    /// Step 1: the priors $\mu$ and u of all phases.
    fn predict(&mut self) {
        let m = self.target.size();
        multiply_transposed(&self.centres, &self.directions, self.target.dim(), &mut self.means);
        for (l, &q) in self.variances.iter().enumerate() {
            for j in 0..m {
                let (at, g) = (l * m + j, self.radii[j]);
                self.means[at] = g * (self.means[at] - q * self.scores[at]) + self.offsets[j];
                self.spreads[at] = g * g * q;
            }
        }
    }

    /// Step 2: the moments of all atoms together.
    fn sum_up(&mut self, weights: &[f64], widths: &[f64]) {
        let m = self.target.size();
        self.totals.fill([0.0; 5]);
        for l in 0..weights.len() {
            for j in 0..m {
                let moments = self.moments(l, j, weights[l], widths[l]);
                self.totals[j].iter_mut().zip(moments).for_each(|(t, x)| *t += x);
            }
        }
    }

    /// $\beta_{jl}$.
    fn amplitude(&self, j: usize, weight: f64, width: f64) -> f64 {
        weight * (-0.5 * width * self.radii[j] * self.radii[j]).exp()
    }

    /// Mean and covariance of atom l's part of entry j.
    fn moments(&self, l: usize, j: usize, weight: f64, width: f64) -> [f64; 5] {
        let at = l * self.target.size() + j;
        let beta = self.amplitude(j, weight, width);
        let (sin, cos) = self.means[at].sin_cos();
        let half = (-0.5 * self.spreads[at]).exp();
        let damped = half * half;
        let scale = 0.5 * beta * beta * (1.0 - damped);
        let (cos2, sin2) = (cos * cos - sin * sin, 2.0 * sin * cos);
        [
            beta * half * cos,
            beta * half * sin,
            scale * (1.0 - damped * cos2),
            scale * (1.0 + damped * cos2),
            -scale * damped * sin2,
        ]
    }

    /// Step 3: mean and variance of phase (l, j) after seeing entry j, in prior deviations.
    fn posterior(&self, l: usize, j: usize, weight: f64, width: f64, floor: f64) -> (f64, f64) {
        let at = l * self.target.size() + j;
        let own = self.moments(l, j, weight, width);
        let others: [f64; 5] = std::array::from_fn(|i| self.totals[j][i] - own[i]);
        let (re, im) = (self.target.re[j] - others[0], self.target.im[j] - others[1]);
        let (a, b, c) = (others[2].max(0.0) + floor, others[3].max(0.0) + floor, others[4]);
        // The inverse of the covariance; without imaginary parts only the first entry counts.
        let determinant = (a * b - c * c).max(floor * floor);
        let (paa, pbb, pab) = if self.target.complex {
            (b / determinant, a / determinant, -c / determinant)
        } else {
            (1.0 / a, 0.0, 0.0)
        };
        let beta = self.amplitude(j, weight, width);
        let deviation = self.spreads[at].sqrt();
        let quadratic = |x: f64, y: f64| paa * x * x + pbb * y * y + 2.0 * pab * x * y;
        // The entry says nothing about this phase.
        if beta * beta * (paa + pbb) < 1e-10 {
            return (0.0, 1.0);
        }
        if deviation < LINEAR {
            // The wave is straight over the prior, so the posterior is Gaussian.
            let (sin, cos) = self.means[at].sin_cos();
            let (x, y) = (re - beta * cos, im - beta * sin);
            let (tx, ty) = (-beta * deviation * sin, beta * deviation * cos);
            let variance = 1.0 / (1.0 + quadratic(tx, ty));
            return (variance * (paa * x * tx + pbb * y * ty + pab * (x * ty + y * tx)), variance);
        }
        let step = 2.0 * REACH / (GRID - 1) as f64;
        let (mut sin, mut cos) = (self.means[at] - REACH * deviation).sin_cos();
        let (turn_sin, turn_cos) = (step * deviation).sin_cos();
        let mut logs = [0.0; GRID];
        let mut top = f64::NEG_INFINITY;
        for (i, log) in logs.iter_mut().enumerate() {
            let t = i as f64 * step - REACH;
            let (x, y) = (re - beta * cos, im - beta * sin);
            *log = -0.5 * (quadratic(x, y) + t * t);
            top = top.max(*log);
            (cos, sin) = (cos * turn_cos - sin * turn_sin, sin * turn_cos + cos * turn_sin);
        }
        let (mut sum, mut first, mut second) = (0.0, 0.0, 0.0);
        for (i, log) in logs.iter().enumerate() {
            let t = i as f64 * step - REACH;
            let w = (log - top).exp();
            sum += w;
            first += w * t;
            second += w * t * t;
        }
        let e1 = first / sum;
        (e1, second / sum - e1 * e1)
    }
}
