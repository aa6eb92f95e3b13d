//! Small optimisers of the decoders: deterministic, bounded, without randomness, threads or clock.
//!
//! | function | problem | method |
//! |---|---|---|
//! | [`nnls()`] | $\min_{x \ge 0} \tfrac12 x^\top G x - c^\top x$ | active set, \[LH74\] chapter 23 |
//! | [`minimize`] | $\min_{l \le x \le u} f(x)$ with gradient | projected limited-memory BFGS, \[Ber82\], \[BLNZ95\] |
//! | [`levenberg_marquardt`] | $\min_{l \le x \le u} \tfrac12 \lVert r(x) \rVert^2$ | damped Gauss-Newton, \[Mar63\], \[Nie99\] |
//!
//! Each takes a `Params` (with `Default`) and returns an `Info` with the iterations, the value reached and a
//! [`StopReason`]. Every loop has a limit, and reaching it is a reason to stop, not an error. Bad input
//! (unequal lengths, crossed bounds, NaN) is also a reason: the point is then handed back as it came.
//!
//! Only the IEEE operations and the square root are used, in a fixed order, so that the same problem takes
//! the same steps on every machine.

pub(crate) mod cholesky;
mod eigen;
mod golden;
mod lbfgs;
mod levenberg;
mod nnls;
pub(crate) mod pivot;
#[cfg(test)]
mod problems;

pub use eigen::symmetric_eigen;
pub(crate) use golden::golden_section;
pub use lbfgs::{LbfgsInfo, LbfgsParams, minimize};
pub use levenberg::{LeastSquares, LmInfo, LmParams, levenberg_marquardt};
pub use nnls::{NnlsParams, nnls};

use crate::num::linear::dot;

/// Why a solver stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// The conditions of optimality hold to the tolerance.
    Optimal,
    /// The last step lowered the value by less than the relative tolerance.
    SmallDecrease,
    /// The last step moved no variable by more than the relative tolerance.
    SmallStep,
    /// The time for it was up; the point is the best one found.
    Cut,
    /// The limit of iterations was reached; the point is the best one found.
    IterationLimit,
    /// No step, however short, lowers the value: the limit of rounding, or a wrong gradient.
    NoProgress,
    /// The value or the gradient at the start is NaN or infinite.
    NotFinite,
    /// The input is not a problem: unequal lengths, NaN, or a lower bound above its upper bound.
    BadInput,
}

impl StopReason {
    /// Whether a tolerance was met.
    #[must_use]
    pub fn converged(self) -> bool {
        matches!(self, StopReason::Optimal | StopReason::SmallDecrease | StopReason::SmallStep)
    }
}

/// `y += factor * x`.
fn add_scaled(y: &mut [f64], factor: f64, x: &[f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += factor * x;
    }
}

/// The box $l \le x \le u$ of a bounded solver; either side may be infinite.
#[derive(Clone, Copy)]
struct Bounds<'a> {
    lower: &'a [f64],
    upper: &'a [f64],
}

impl<'a> Bounds<'a> {
    /// The box, if it is one for `x`: equal lengths, no NaN, no crossed or empty interval.
    fn new(x: &[f64], lower: &'a [f64], upper: &'a [f64]) -> Option<Bounds<'a>> {
        let fits = x.len() == lower.len() && x.len() == upper.len();
        // The comparisons are false for NaN.
        let ordered =
            lower.iter().zip(upper).all(|(&l, &u)| l <= u && l < f64::INFINITY && u > f64::NEG_INFINITY);
        (fits && ordered && x.iter().all(|v| v.is_finite())).then_some(Bounds { lower, upper })
    }

    fn clip(&self, i: usize, value: f64) -> f64 {
        value.max(self.lower[i]).min(self.upper[i])
    }

    fn project(&self, x: &mut [f64]) {
        for (i, value) in x.iter_mut().enumerate() {
            *value = self.clip(i, *value);
        }
    }

    /// Whether variable `i` sits on a bound that the descent direction `-g` would leave.
    fn is_held(&self, i: usize, x: f64, g: f64) -> bool {
        (x <= self.lower[i] && g >= 0.0) || (x >= self.upper[i] && g <= 0.0)
    }
}
