//! Bounded quasi-Newton: projected limited-memory BFGS.
//!
//! $$ \min_x f(x) \quad\text{subject to}\quad l \le x \le u, $$
//!
//! $f$ smooth, given with its gradient; bounds may be infinite.
//!
//! Each iteration:
//!
//! 1. Held variables: those on a bound that $-\nabla f$ would leave. They stay; the others are free
//!    (\[Ber82\], section 2).
//! 2. Direction $d_F = -H_F\, \nabla_F f$ on the free variables, $H_F$ the inverse limited-memory BFGS matrix
//!    of the stored pairs $(s, y)$ restricted to them, by the two-loop recursion (\[NW06\], algorithm 7.4);
//!    pairs without positive curvature there are left out. Because a free variable on a bound has its
//!    gradient pointing inwards, clipping cannot spoil the descent (\[Ber82\], proposition 1).
//! 3. Search along the projected path $x(t) = P(x + t d)$: sufficient decrease
//!    $f(x(t)) \le f(x) + 10^{-4}\, \nabla f(x)^\top (x(t) - x)$, and a slope along the path of at least 0.9
//!    times the first, so that steps are not too short. The first trial is $t = 1$. Wherever $f$ or its
//!    gradient is not finite the step is cut.
//! 4. The pair $s = x^+ - x$, $y = \nabla f(x^+) - \nabla f(x)$ is stored if
//!    $s^\top y > \epsilon\, y^\top y$.
//!
//! The search ends, as converged, when the decrease to be expected is below the rounding of the value. If no
//! step is found the pairs are dropped and steepest descent is tried, once. The value never rises.
//!
//! Cost: one evaluation of $f$ in most iterations, and $O(n)$ multiply-adds per stored pair. Only a local
//! minimum is sought.
//!
//! References: \[Ber82\] D. P. Bertsekas, Projected Newton methods for optimization problems with simple
//! constraints, *SIAM J. Control and Optimization* 20(2), 1982; \[NW06\] J. Nocedal, S. J. Wright, *Numerical
//! optimization*, 2006; stopping rules of \[BLNZ95\] R. H. Byrd, P. Lu, J. Nocedal, C. Zhu, A limited memory
//! algorithm for bound constrained optimization, *SIAM J. Scientific Computing* 16(5), 1995.

use std::collections::VecDeque;

use super::{Bounds, StopReason, add_scaled, dot};
use crate::num::budget;

mod line_search;
use line_search::{Point, search};

/// Parameters of [`minimize`].
#[derive(Clone, Debug)]
pub struct LbfgsParams {
    /// Stored pairs. 1 to about 30; default 10.
    pub memory: usize,
    /// Stop when no entry of the projected gradient $x - P(x - \nabla f)$ exceeds this, in the units of the
    /// gradient. At least 0; default 1e-8.
    pub gtol: f64,
    /// Stop when an iteration lowers the value by at most this part of its modulus. At least 0; default
    /// 1e-10.
    pub ftol: f64,
    /// Limit of iterations. Default 1000.
    pub iterations_max: usize,
    /// Limit of evaluations in one line search. At least 1; default 25.
    pub search_max: usize,
}

impl Default for LbfgsParams {
    fn default() -> LbfgsParams {
        LbfgsParams { memory: 10, gtol: 1e-8, ftol: 1e-10, iterations_max: 1000, search_max: 25 }
    }
}

/// What [`minimize`] did.
#[derive(Clone, Debug)]
pub struct LbfgsInfo {
    /// Steps taken.
    pub iterations: usize,
    /// Calls of the objective.
    pub evaluations: usize,
    /// The value at the returned point; not above that at the projected start.
    pub value: f64,
    /// Sup-norm of the projected gradient at the returned point.
    pub gradient_max: f64,
    /// Why it stopped.
    pub stop: StopReason,
}

/// Minimises `objective` over the box `lower <= x <= upper`, from the projection of `x`, which it overwrites
/// with the best point found.
///
/// `objective(x, gradient)` returns $f(x)$ and fills the gradient (it may be given any finite point of the
/// box); NaN or infinity means "not here" and shortens the step. Bounds may be infinite. On
/// [`StopReason::BadInput`] `x` is left as it is. Cost and references: see the module.
pub fn minimize(
    objective: &mut dyn FnMut(&[f64], &mut [f64]) -> f64,
    x: &mut [f64],
    lower: &[f64],
    upper: &[f64],
    params: &LbfgsParams,
) -> LbfgsInfo {
    let mut info = LbfgsInfo {
        iterations: 0,
        evaluations: 0,
        value: f64::NAN,
        gradient_max: f64::NAN,
        stop: StopReason::BadInput,
    };
    let Some(bounds) = Bounds::new(x, lower, upper) else { return info };
    bounds.project(x);
    let mut point = Point { x: x.to_vec(), gradient: vec![0.0; x.len()], value: 0.0 };
    point.value = objective(&point.x, &mut point.gradient);
    info.evaluations = 1;
    info.stop = if point.is_finite() {
        descend(objective, &mut point, bounds, params, &mut info)
    } else {
        StopReason::NotFinite
    };
    info.value = point.value;
    info.gradient_max = projected_gradient_max(&point, bounds);
    x.copy_from_slice(&point.x);
    info
}

/// The iteration; `point` moves from the start to the best point.
fn descend(
    objective: &mut dyn FnMut(&[f64], &mut [f64]) -> f64,
    point: &mut Point,
    bounds: Bounds<'_>,
    params: &LbfgsParams,
    info: &mut LbfgsInfo,
) -> StopReason {
    let n = point.x.len();
    let mut pairs = Pairs::new(params.memory);
    let mut direction = vec![0.0; n];
    let mut next = Point { x: vec![0.0; n], gradient: vec![0.0; n], value: 0.0 };
    let mut spare = next.clone();
    loop {
        if projected_gradient_max(point, bounds) <= params.gtol {
            return StopReason::Optimal;
        }
        if info.iterations >= params.iterations_max {
            return StopReason::IterationLimit;
        }
        let free: Vec<usize> =
            (0..n).filter(|&i| !bounds.is_held(i, point.x[i], point.gradient[i])).collect();
        pairs.direction(&point.gradient, &free, &mut direction);
        let slope = dot(&direction, &point.gradient);
        if !(slope < 0.0 && slope.is_finite()) {
            pairs.clear();
            pairs.direction(&point.gradient, &free, &mut direction);
        }
        // Without curvature the length of the gradient says nothing about the step; this is the first step of
        // [BLNZ95].
        let first = if pairs.is_empty() { 1.0 / dot(&direction, &direction).sqrt().max(1.0) } else { 1.0 };
        let found =
            search(objective, point, &direction, bounds, first, params.search_max, &mut next, &mut spare);
        info.evaluations += found.evaluations;
        if found.exhausted {
            return StopReason::SmallDecrease;
        }
        if !found.accepted {
            if pairs.is_empty() {
                return StopReason::NoProgress;
            }
            pairs.clear();
            continue;
        }
        info.iterations += 1;
        pairs.store(point, &next);
        let decrease = point.value - next.value;
        let scale = point.value.abs().max(next.value.abs());
        std::mem::swap(point, &mut next);
        if decrease <= params.ftol * scale {
            return StopReason::SmallDecrease;
        }
        if budget::spent() {
            return StopReason::Cut;
        }
    }
}

/// Sup-norm of $x - P(x - g)$.
fn projected_gradient_max(point: &Point, bounds: Bounds<'_>) -> f64 {
    let entries = point.x.iter().zip(&point.gradient).enumerate();
    // Taken from the gradient where no bound is near: the difference of x and x - g loses its digits.
    entries
        .map(|(i, (&x, &g))| if g < 0.0 { -g.max(x - bounds.upper[i]) } else { g.min(x - bounds.lower[i]) })
        .fold(0.0, |largest, entry| if entry > largest || entry.is_nan() { entry } else { largest })
}

/// The last pairs of step and change of gradient, oldest first.
struct Pairs {
    pairs: VecDeque<(Vec<f64>, Vec<f64>)>,
    memory: usize,
}

impl Pairs {
    fn new(memory: usize) -> Pairs {
        Pairs { pairs: VecDeque::new(), memory: memory.max(1) }
    }

    fn clear(&mut self) {
        self.pairs.clear();
    }

    fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    fn store(&mut self, from: &Point, to: &Point) {
        let recycled = if self.pairs.len() == self.memory { self.pairs.pop_front() } else { None };
        let (mut s, mut y) = recycled.unwrap_or_default();
        let difference = |out: &mut Vec<f64>, to: &[f64], from: &[f64]| {
            out.clear();
            out.extend(to.iter().zip(from).map(|(a, b)| a - b));
        };
        difference(&mut s, &to.x, &from.x);
        difference(&mut y, &to.gradient, &from.gradient);
        if has_curvature(&s, &y) {
            self.pairs.push_back((s, y));
        }
    }

    /// $d_F = -H_F g_F$ on the free variables, zero elsewhere; $-g_F$ without pairs.
    fn direction(&self, gradient: &[f64], free: &[usize], out: &mut [f64]) {
        let gather = |v: &[f64]| free.iter().map(|&i| v[i]).collect::<Vec<f64>>();
        let usable: Vec<(Vec<f64>, Vec<f64>)> = self
            .pairs
            .iter()
            .map(|(s, y)| (gather(s), gather(y)))
            .filter(|(s, y)| has_curvature(s, y))
            .collect();
        let mut q = gather(gradient);
        let mut weights = Vec::with_capacity(usable.len());
        for (s, y) in usable.iter().rev() {
            let weight = dot(s, &q) / dot(s, y);
            add_scaled(&mut q, -weight, y);
            weights.push(weight);
        }
        if let Some((s, y)) = usable.last() {
            let scale = dot(s, y) / dot(y, y);
            q.iter_mut().for_each(|v| *v *= scale);
        }
        for ((s, y), weight) in usable.iter().zip(weights.iter().rev()) {
            let correction = weight - dot(y, &q) / dot(s, y);
            add_scaled(&mut q, correction, s);
        }
        out.fill(0.0);
        for (&i, value) in free.iter().zip(&q) {
            out[i] = -value;
        }
    }
}

fn has_curvature(s: &[f64], y: &[f64]) -> bool {
    dot(s, y) > f64::EPSILON * dot(y, y)
}

#[cfg(test)]
mod tests;
