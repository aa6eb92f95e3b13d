//! Bounded nonlinear least squares: Levenberg-Marquardt on the normal equations.
//!
//! $$ \min_x \tfrac12 \lVert r(x) \rVert^2 \quad\text{subject to}\quad l \le x \le u. $$
//!
//! The problem hands over $H = J^\top J$ and $g = J^\top r$, never $J$. Each iteration:
//!
//! 1. Variables on a bound that $-g$ would leave are held; the others are free.
//! 2. Solve $(H_{FF} + \mu D_{FF})\, \delta_F = -g_F$ by Cholesky, $D$ the running maximum of the diagonal of
//!    $H$ (\[Mar63\]; the maximum is \[Mor78\]). If the matrix is not positive definite to rounding, $\mu$
//!    grows.
//! 3. Variables that the step takes out of the box go to their bound, and the step of the rest is solved
//!    again given that, up to three times; what is still outside is clipped.
//! 4. Gain ratio $\varrho$ = decrease of the cost / decrease of the model
//!    $-(g^\top \delta + \tfrac12 \delta^\top H \delta)$. If $\varrho > 0$ accept and
//!    $\mu \leftarrow \mu \max(\tfrac13, 1 - (2\varrho - 1)^3)$, $\nu \leftarrow 2$; else
//!    $\mu \leftarrow \mu\nu$, $\nu \leftarrow 2\nu$ (\[Nie99\]).
//!
//! Cost per iteration: one [`LeastSquares::cost`], one [`LeastSquares::normal`] if accepted, and one Cholesky
//! of $p^3/3$ multiply-adds (one more for each round of step 3). It squares the condition of $J$: directions
//! whose scaled singular values are below $10^{-7}$ of the largest are left to the damping.
//!
//! References: \[Mar63\] D. W. Marquardt, An algorithm for least-squares estimation of nonlinear parameters,
//! *J. SIAM* 11(2), 1963; \[Mor78\] J. J. Moré, The Levenberg-Marquardt algorithm: implementation and theory,
//! *Numerical Analysis*, Lecture Notes in Mathematics 630, 1978; \[Nie99\] H. B. Nielsen, Damping parameter
//! in Marquardt's method, report IMM-REP-1999-05, Technical University of Denmark, 1999.

use super::{Bounds, StopReason, cholesky, dot};
use crate::num::budget;

/// A least-squares problem, seen through its normal equations.
pub trait LeastSquares {
    /// Number p of parameters.
    fn n_params(&self) -> usize;

    /// $\tfrac12 \lVert r(x) \rVert^2$; NaN or infinity means "not here".
    fn cost(&mut self, x: &[f64]) -> f64;

    /// Fills `hessian` with $J^\top J$ (p x p row-major, both triangles) and `gradient` with $J^\top r$, both
    /// zeroed before the call; returns the cost.
    fn normal(&mut self, x: &[f64], hessian: &mut [f64], gradient: &mut [f64]) -> f64;
}

/// Parameters of [`levenberg_marquardt`].
#[derive(Clone, Debug)]
pub struct LmParams {
    /// Stop when the residual is this orthogonal to every free column of $J$: $|g_i| \le$ `gtol`
    /// $\lVert J_i \rVert \lVert r \rVert$. In [0, 1); default 1e-10.
    pub gtol: f64,
    /// Stop when both the real and the expected decrease are at most this part of the cost. In [0, 1);
    /// default 1e-12.
    pub ftol: f64,
    /// Stop when no variable moves by more than this part of itself. In [0, 1); default 1e-12.
    pub xtol: f64,
    /// First $\mu$, relative to the diagonal. Above 0: 1e-6 near the solution, 1 far from it; default 1e-3.
    pub damping: f64,
    /// Limit of iterations, rejected steps included. Default 200.
    pub iterations_max: usize,
}

impl Default for LmParams {
    fn default() -> LmParams {
        LmParams { gtol: 1e-10, ftol: 1e-12, xtol: 1e-12, damping: 1e-3, iterations_max: 200 }
    }
}

/// What [`levenberg_marquardt`] did.
#[derive(Clone, Debug)]
pub struct LmInfo {
    /// Steps tried, rejected ones included.
    pub iterations: usize,
    /// Steps taken.
    pub accepted: usize,
    /// Cholesky factorisations.
    pub factorizations: usize,
    /// $\tfrac12 \lVert r \rVert^2$ at the returned point; not above that at the projected start.
    pub cost: f64,
    /// Largest cosine $|g_i| / (\lVert J_i \rVert \lVert r \rVert)$ over the free variables there.
    pub gradient_max: f64,
    /// Why it stopped.
    pub stop: StopReason,
}

/// Minimises the cost of `problem` over the box `lower <= x <= upper`, from the projection of `x`, which it
/// overwrites with the best point found.
///
/// Bounds may be infinite. On [`StopReason::BadInput`] `x` is left as it is. Cost and references: see the
/// module.
pub fn levenberg_marquardt(
    problem: &mut dyn LeastSquares,
    x: &mut [f64],
    lower: &[f64],
    upper: &[f64],
    params: &LmParams,
) -> LmInfo {
    let mut info = LmInfo {
        iterations: 0,
        accepted: 0,
        factorizations: 0,
        cost: f64::NAN,
        gradient_max: f64::NAN,
        stop: StopReason::BadInput,
    };
    let bounds = Bounds::new(x, lower, upper).filter(|_| problem.n_params() == x.len());
    let Some(bounds) = bounds else { return info };
    bounds.project(x);
    let mut state = State::new(x, bounds, params.damping);
    if state.linearize(problem) {
        info.stop = state.run(problem, params, &mut info);
        info.gradient_max = state.cosine_max();
    } else {
        info.stop = StopReason::NotFinite;
    }
    info.cost = state.cost;
    x.copy_from_slice(&state.x);
    info
}

/// The current point, its normal equations and the damping.
struct State<'a> {
    bounds: Bounds<'a>,
    x: Vec<f64>,
    cost: f64,
    hessian: Vec<f64>,
    gradient: Vec<f64>,
    /// Running maximum of the diagonal of the Hessian.
    scale: Vec<f64>,
    damping: f64,
    growth: f64,
    /// Scratch for the factor.
    factor: Vec<f64>,
}

impl<'a> State<'a> {
    fn new(x: &[f64], bounds: Bounds<'a>, damping: f64) -> State<'a> {
        let p = x.len();
        State {
            bounds,
            x: x.to_vec(),
            cost: f64::NAN,
            hessian: vec![0.0; p * p],
            gradient: vec![0.0; p],
            scale: vec![0.0; p],
            damping: if damping > 0.0 { damping.min(DAMPING_MAX) } else { 1e-3 },
            growth: 2.0,
            factor: Vec::with_capacity(p * p),
        }
    }

    /// Normal equations at `x`; false if they are not finite.
    fn linearize(&mut self, problem: &mut dyn LeastSquares) -> bool {
        let p = self.x.len();
        self.hessian.fill(0.0);
        self.gradient.fill(0.0);
        self.cost = problem.normal(&self.x, &mut self.hessian, &mut self.gradient);
        let finite =
            self.cost.is_finite() && self.hessian.iter().chain(&self.gradient).all(|v| v.is_finite());
        for i in 0..if finite { p } else { 0 } {
            self.scale[i] = self.scale[i].max(self.hessian[i * p + i]);
        }
        finite
    }

    fn run(&mut self, problem: &mut dyn LeastSquares, params: &LmParams, info: &mut LmInfo) -> StopReason {
        let mut trial = self.x.clone();
        loop {
            if self.cosine_max() <= params.gtol {
                return StopReason::Optimal;
            }
            if info.iterations >= params.iterations_max {
                return StopReason::IterationLimit;
            }
            if info.iterations > 0 && budget::spent() {
                return StopReason::Cut;
            }
            info.iterations += 1;
            let Some(step) = self.step(&mut info.factorizations) else { return StopReason::NoProgress };
            let expected = self.model_decrease(&step);
            for i in 0..trial.len() {
                trial[i] = self.bounds.clip(i, self.x[i] + step[i]);
            }
            let moved = |(a, b): (&f64, &f64)| (a - b).abs() > params.xtol * (a.abs() + params.xtol);
            let small_step = !self.x.iter().zip(&trial).any(moved);
            let cost = if expected > 0.0 { problem.cost(&trial) } else { f64::NAN };
            let decrease = self.cost - cost;
            let limit = params.ftol * self.cost;
            // Read before the update: rounding noise in the cost can also reject the last step.
            let small_decrease = decrease.abs() <= limit && expected <= limit && expected > 0.0;
            if decrease > 0.0 {
                std::mem::swap(&mut self.x, &mut trial);
                if self.linearize(problem) {
                    info.accepted += 1;
                    self.cost = cost;
                    self.relax(decrease / expected);
                } else {
                    // The cost was finite but its derivatives are not: back to the point before, and a
                    // shorter step.
                    std::mem::swap(&mut self.x, &mut trial);
                    if !self.linearize(problem) || !self.tighten() {
                        return StopReason::NoProgress;
                    }
                    continue;
                }
            } else if !self.tighten() {
                return StopReason::NoProgress;
            }
            if small_decrease {
                return StopReason::SmallDecrease;
            }
            if small_step {
                return StopReason::SmallStep;
            }
        }
    }

    /// Nielsen's update after an accepted step of gain ratio `gain`.
    fn relax(&mut self, gain: f64) {
        // Not powi, whose last bit the standard library leaves open.
        let centred = 2.0 * gain - 1.0;
        let factor = 1.0 - centred * centred * centred;
        self.damping = (self.damping * factor.max(1.0 / 3.0)).max(f64::MIN_POSITIVE);
        self.growth = 2.0;
    }

    /// Nielsen's update after a rejected step; false when the damping has left all bounds.
    fn tighten(&mut self) -> bool {
        self.damping *= self.growth;
        self.growth *= 2.0;
        self.damping <= DAMPING_MAX
    }

    /// Steps 1 to 3: the damped step, held in the box. None if no damping makes the matrix positive definite.
    fn step(&mut self, factorizations: &mut usize) -> Option<Vec<f64>> {
        let p = self.x.len();
        let mut step = vec![0.0; p];
        let mut free: Vec<usize> =
            (0..p).filter(|&i| !self.bounds.is_held(i, self.x[i], self.gradient[i])).collect();
        for round in 0..=BOUND_ROUNDS {
            let mut solution = self.solve_free(&free, &step, factorizations)?;
            let outside = |(&i, &s): (&usize, &f64)| {
                self.x[i] + s < self.bounds.lower[i] || self.x[i] + s > self.bounds.upper[i]
            };
            let all_inside = !free.iter().zip(&solution).any(outside);
            if all_inside || round == BOUND_ROUNDS {
                for (&i, s) in free.iter().zip(&solution) {
                    step[i] = self.bounds.clip(i, self.x[i] + s) - self.x[i];
                }
                break;
            }
            let mut at = 0;
            free.retain(|&i| {
                let s = std::mem::take(&mut solution[at]);
                at += 1;
                let leaves = outside((&i, &s));
                if leaves {
                    step[i] = self.bounds.clip(i, self.x[i] + s) - self.x[i];
                }
                !leaves
            });
        }
        Some(step)
    }

    /// Solves for the free variables, the others moving by `step`; raises the damping until the matrix is
    /// positive definite.
    fn solve_free(&mut self, free: &[usize], step: &[f64], factorizations: &mut usize) -> Option<Vec<f64>> {
        let (p, f) = (self.x.len(), free.len());
        let moved = step.iter().any(|&s| s != 0.0);
        let mut rhs: Vec<f64> = free
            .iter()
            .map(|&i| {
                -self.gradient[i] - if moved { dot(&self.hessian[i * p..(i + 1) * p], step) } else { 0.0 }
            })
            .collect();
        // A parameter without any influence has a zero column: a small scale keeps it where it is.
        let floor = f64::EPSILON * self.scale.iter().fold(0.0, |m: f64, &s| m.max(s));
        loop {
            self.factor.clear();
            self.factor.resize(f * f, 0.0);
            for (row, &i) in free.iter().enumerate() {
                let source = &self.hessian[i * p..(i + 1) * p];
                let target = &mut self.factor[row * f..(row + 1) * f];
                for (value, &j) in target[row..].iter_mut().zip(&free[row..]) {
                    *value = source[j];
                }
                target[row] += self.damping * self.scale[i].max(floor).max(f64::MIN_POSITIVE);
            }
            *factorizations += 1;
            if cholesky::factor(&mut self.factor, f, f64::EPSILON) {
                cholesky::solve(&self.factor, f, &mut rhs);
                return Some(rhs);
            }
            if !self.tighten() {
                return None;
            }
        }
    }

    /// $-(g^\top \delta + \tfrac12 \delta^\top H \delta)$.
    fn model_decrease(&self, step: &[f64]) -> f64 {
        let p = step.len();
        let curvature: f64 = (0..p)
            .filter(|&i| step[i] != 0.0)
            .map(|i| step[i] * dot(&self.hessian[i * p..(i + 1) * p], step))
            .sum();
        -(dot(&self.gradient, step) + 0.5 * curvature)
    }

    /// Largest $|g_i| / (\lVert J_i \rVert \lVert r \rVert)$ over the free variables.
    fn cosine_max(&self) -> f64 {
        let p = self.x.len();
        let residual = (2.0 * self.cost).max(0.0).sqrt();
        (0..p)
            .filter(|&i| !self.bounds.is_held(i, self.x[i], self.gradient[i]))
            .map(|i| self.gradient[i].abs() / (self.hessian[i * p + i].max(0.0).sqrt() * residual))
            // A perfect fit or a column of zeros divides 0 by 0.
            .fold(0.0, |m: f64, c| if c > m { c } else { m })
    }
}

/// Rounds of step 3.
const BOUND_ROUNDS: usize = 3;
/// Beyond this the step is below the rounding of x.
const DAMPING_MAX: f64 = 1e30;

#[cfg(test)]
mod tests;
