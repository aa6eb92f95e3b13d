//! Line search along the projected path $x(t) = P(x + t d)$.

use crate::num::solve::{Bounds, dot};

/// Sufficient decrease: part of the first-order decrease that must be reached.
const DECREASE: f64 = 1e-4;
/// Curvature: a step is too short while the slope is steeper than this part of the first.
const CURVATURE: f64 = 0.9;
/// Changes below this part of the value are taken for rounding of the objective, which sums many terms.
const NOISE: f64 = 512.0 * f64::EPSILON;
/// Evaluations after which an acceptable step is taken even if it is short.
const REFINE_MAX: usize = 6;

/// A point of the box with its value and gradient.
#[derive(Clone)]
pub(super) struct Point {
    pub x: Vec<f64>,
    pub gradient: Vec<f64>,
    pub value: f64,
}

impl Point {
    pub fn is_finite(&self) -> bool {
        self.value.is_finite() && self.gradient.iter().all(|g| g.is_finite())
    }
}

/// What the search did.
pub(super) struct Found {
    /// Whether `next` holds a better point.
    pub accepted: bool,
    /// Whether there is none because already the first trial promised a decrease below the rounding of the
    /// value.
    pub exhausted: bool,
    pub evaluations: usize,
}

/// One place on the path: parameter, value and slope.
#[derive(Clone, Copy)]
struct Sample {
    t: f64,
    value: f64,
    slope: f64,
}

/// Seeks a step from `start` along `direction`, trying `t = first` first, and leaves the new point in `next`;
/// `trial` is scratch.
///
/// The step lies in a bracket (low, high): low satisfies the decrease and is still steep, high does not
/// satisfy it.
#[allow(clippy::too_many_arguments, reason = "the buffers are the caller's so that no step allocates")]
pub(super) fn search(
    objective: &mut dyn FnMut(&[f64], &mut [f64]) -> f64,
    start: &Point,
    direction: &[f64],
    bounds: Bounds<'_>,
    first: f64,
    evaluations_max: usize,
    next: &mut Point,
    trial: &mut Point,
) -> Found {
    let mut low = Sample { t: 0.0, value: start.value, slope: dot(direction, &start.gradient) };
    let steepest = low.slope;
    let mut high = f64::INFINITY;
    let mut t = first;
    let mut accepted = false;
    let mut spent = 0;
    let mut below_noise = false;
    for trials in 0..evaluations_max.max(1) {
        let (promised, moved) = advance(start, direction, bounds, t, &mut trial.x);
        // Also a step too short to change x. Trying on would only compare rounding errors.
        if !(moved > 0.5 * f64::EPSILON * start.value.abs()) {
            return Found {
                accepted,
                exhausted: !accepted && (below_noise || trials == 0),
                evaluations: spent,
            };
        }
        below_noise |= trials == 0 && moved <= NOISE * start.value.abs();
        // Far along the path, with the variables that descend clipped, the others may climb.
        if !(promised < 0.0) {
            high = t;
            t = 0.5 * (low.t + t);
            continue;
        }
        spent += 1;
        trial.value = objective(&trial.x, &mut trial.gradient);
        if !trial.is_finite() {
            high = t;
            t = low.t + 0.1 * (t - low.t);
            continue;
        }
        let here =
            Sample { t, value: trial.value, slope: slope_at(start, direction, bounds, t, &trial.gradient) };
        if !(here.value <= start.value + DECREASE * promised && here.value < start.value) {
            if accepted && spent >= REFINE_MAX {
                return Found { accepted, exhausted: false, evaluations: spent };
            }
            high = t;
            t = low.t + (minimum_between(low, here) - low.t).clamp(0.1 * (t - low.t), 0.9 * (t - low.t));
            continue;
        }
        let better = !accepted || here.value < next.value;
        if better {
            std::mem::swap(next, trial);
        }
        accepted = true;
        if !better || here.slope >= CURVATURE * steepest || spent >= REFINE_MAX {
            return Found { accepted, exhausted: false, evaluations: spent };
        }
        t = if high.is_finite() { 0.5 * (t + high) } else { beyond(low, here) };
        low = here;
    }
    Found { accepted, exhausted: false, evaluations: spent }
}

/// Writes $P(x + t d)$; returns the first-order change $\nabla f^\top (P(x + t d) - x)$ and the sum of the
/// moduli of its terms.
fn advance(start: &Point, direction: &[f64], bounds: Bounds<'_>, t: f64, out: &mut [f64]) -> (f64, f64) {
    let (mut change, mut moved) = (0.0, 0.0);
    for (i, out) in out.iter_mut().enumerate() {
        *out = bounds.clip(i, start.x[i] + t * direction[i]);
        let term = start.gradient[i] * (*out - start.x[i]);
        change += term;
        moved += term.abs();
    }
    (change, moved)
}

/// Slope of the path at t: only the variables that are not clipped move.
fn slope_at(start: &Point, direction: &[f64], bounds: Bounds<'_>, t: f64, gradient: &[f64]) -> f64 {
    (0..direction.len())
        .filter(|&i| {
            let x = start.x[i] + t * direction[i];
            x > bounds.lower[i] && x < bounds.upper[i]
        })
        .map(|i| gradient[i] * direction[i])
        .sum()
}

/// Minimiser of the cubic through two values and slopes, or the middle where it has none.
fn minimum_between(a: Sample, b: Sample) -> f64 {
    let width = b.t - a.t;
    let theta = 3.0 * (a.value - b.value) / width + a.slope + b.slope;
    let square = theta * theta - a.slope * b.slope;
    if square >= 0.0 {
        let root = square.sqrt();
        let denominator = b.slope - a.slope + 2.0 * root;
        let t = b.t - width * (b.slope + root - theta) / denominator;
        if t.is_finite() {
            return t;
        }
    }
    0.5 * (a.t + b.t)
}

/// Where the slope would vanish if it went on as from a to b; between 2 and 10 times b.
fn beyond(a: Sample, b: Sample) -> f64 {
    let secant = b.t + (b.t - a.t) * b.slope / (a.slope - b.slope);
    let target = if a.slope < b.slope { secant } else { f64::INFINITY };
    target.clamp(2.0 * b.t, 10.0 * b.t)
}
