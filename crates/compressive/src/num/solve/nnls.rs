//! Non-negative least squares on the Gram matrix.
//!
//! $$ \min_{x \ge 0} \tfrac12 x^\top G x - c^\top x, \qquad G = A^\top A, \quad c = A^\top b, $$
//!
//! which is $\min_{x \ge 0} \tfrac12 \lVert A x - b \rVert^2$ without its constant
//! $\tfrac12 \lVert b \rVert^2$.
//!
//! Steps, numbered as in \[LH74\] chapter 23, algorithm NNLS:
//!
//! - 1 start with every variable at zero, the *passive* set $P$ of variables that may be positive empty;
//! - 2 the negative gradient $w = c - G x$;
//! - 3 stop if no variable outside $P$ has $w_j > 0$;
//! - 4, 5 move the variable with the largest $w_j$ into $P$;
//! - 6 solve $G_{PP}\, s = c_P$; 7 if $s > 0$, take it and go to 2;
//! - 8 to 11 otherwise go from $x$ towards $s$ until a variable reaches zero, take it out of $P$, and go to
//!   6.
//!
//! The columns are first scaled to unit length, which makes the tolerances relative. The Cholesky factor of
//! $G_{PP}$ grows by a row in step 5 and is repaired by plane rotations in step 11, so neither costs more
//! than the gradient. A column that depends on those of $P$ to rounding is refused until $P$ changes:
//! collinear columns therefore neither loop nor blow up, the first of them is used.
//!
//! Cost: $O(k^2)$ multiply-adds per iteration, about as many iterations as positive variables. It does not
//! see $A$: columns closer than about $10^{-7}$ of their length are the same to it.
//!
//! Reference: \[LH74\] C. L. Lawson, R. J. Hanson, *Solving least squares problems*, 1974, chapter 23.

use super::{StopReason, add_scaled, dot};

/// Parameters of [`nnls()`].
#[derive(Clone, Debug)]
pub struct NnlsParams {
    /// A variable enters while its gradient exceeds this part of the largest $|c_j|$, columns scaled to unit
    /// length. In (0, 1); default 1e-13.
    pub tolerance: f64,
    /// A column is dependent if the square of its distance to the span of the passive columns is below this
    /// part of its own square. From about 1e-15 (rounding of the Gram matrix) to 1; default 1e-14.
    pub rank_tolerance: f64,
    /// Limit of the number of variables entering or leaving the passive set. Default 10,000.
    pub iterations_max: usize,
}

impl Default for NnlsParams {
    fn default() -> NnlsParams {
        NnlsParams { tolerance: 1e-13, rank_tolerance: 1e-14, iterations_max: 10_000 }
    }
}

/// What [`nnls()`] did.
#[cfg_attr(not(test), expect(dead_code, reason = "the tests hold the solver to it"))]
#[derive(Clone, Debug)]
pub struct NnlsInfo {
    /// Variables that entered or left the passive set.
    pub iterations: usize,
    /// $\tfrac12 x^\top G x - c^\top x$ at the solution; never above 0, its value at zero.
    pub value: f64,
    /// Largest $w_j = (c - G x)_j / \sqrt{G_{jj}}$ of a variable at zero, and largest $|w_j|$ of a positive
    /// one: 0 at the exact solution.
    pub gradient_max: f64,
    /// Why it stopped.
    pub stop: StopReason,
}

/// Minimises $\tfrac12 x^\top G x - c^\top x$ over $x \ge 0$.
///
/// `gram` is $G$, k x k row-major, symmetric positive semidefinite; `rhs` is $c$, k entries. A column with a
/// zero on the diagonal keeps weight 0. Unequal lengths, or a value that is not finite, give zeros and
/// [`StopReason::BadInput`]. Cost and reference: see the module.
#[must_use]
pub fn nnls(gram: &[f64], rhs: &[f64], params: &NnlsParams) -> (Vec<f64>, NnlsInfo) {
    let k = rhs.len();
    let finite = gram.len() == k * k && gram.iter().chain(rhs).all(|v| v.is_finite());
    if !finite {
        let info = NnlsInfo { iterations: 0, value: 0.0, gradient_max: f64::NAN, stop: StopReason::BadInput };
        return (vec![0.0; k], info);
    }
    let lengths: Vec<f64> = (0..k).map(|j| gram[j * k + j].max(0.0).sqrt()).collect();
    let inverse: Vec<f64> = lengths.iter().map(|&l| if l > 0.0 { 1.0 / l } else { 0.0 }).collect();
    let scaled_gram = (0..k * k).map(|at| gram[at] * inverse[at / k] * inverse[at % k]).collect();
    let scaled_rhs: Vec<f64> = rhs.iter().zip(&inverse).map(|(c, i)| c * i).collect();
    let mut state = ActiveSet::new(scaled_gram, scaled_rhs);
    let stop = state.run(params);
    let gradient = state.gradient();
    let gradient_max =
        (0..k).map(|j| if state.x[j] > 0.0 { gradient[j].abs() } else { gradient[j] }).fold(0.0, f64::max);
    let value = -0.5 * (dot(&state.rhs, &state.x) + dot(&gradient, &state.x));
    let info = NnlsInfo { iterations: state.iterations, value, gradient_max, stop };
    (state.x.iter().zip(&inverse).map(|(x, i)| x * i).collect(), info)
}

/// The state of the iteration, in units where every column has length 1.
struct ActiveSet {
    gram: Vec<f64>,
    rhs: Vec<f64>,
    x: Vec<f64>,
    /// Indices of the passive set, in the order of the rows of `factor`.
    passive: Vec<usize>,
    is_passive: Vec<bool>,
    /// Lower Cholesky factor of the Gram matrix of the passive set: row i in `factor[i * k..]`.
    factor: Vec<f64>,
    iterations: usize,
}

impl ActiveSet {
    fn new(gram: Vec<f64>, rhs: Vec<f64>) -> ActiveSet {
        let k = rhs.len();
        ActiveSet {
            gram,
            x: vec![0.0; k],
            passive: Vec::with_capacity(k),
            is_passive: vec![false; k],
            factor: vec![0.0; k * k],
            iterations: 0,
            rhs,
        }
    }

    fn run(&mut self, params: &NnlsParams) -> StopReason {
        let k = self.rhs.len();
        let threshold = params.tolerance * self.rhs.iter().fold(0.0, |m: f64, c| m.max(c.abs()));
        let mut refused = vec![false; k];
        while self.iterations < params.iterations_max {
            // Steps 2 to 4.
            let gradient = self.gradient();
            let Some(entering) = largest(&gradient, |j| !self.is_passive[j] && !refused[j]) else {
                return StopReason::Optimal;
            };
            if !(gradient[entering] > threshold) {
                return StopReason::Optimal;
            }
            // Step 5.
            if !self.push(entering, params.rank_tolerance) {
                refused[entering] = true;
                continue;
            }
            self.iterations += 1;
            let solution = self.solve();
            // A gradient that is positive by rounding alone: the variable would leave at once, and enter
            // again for ever.
            if !(solution[solution.len() - 1] > 0.0) {
                self.remove(self.passive.len() - 1);
                refused[entering] = true;
                continue;
            }
            refused.fill(false);
            self.descend(solution, params.iterations_max);
        }
        StopReason::IterationLimit
    }

    /// $w = c - G x$, from the positive variables only.
    fn gradient(&self) -> Vec<f64> {
        let k = self.rhs.len();
        let mut w = self.rhs.clone();
        for &j in &self.passive {
            add_scaled(&mut w, -self.x[j], &self.gram[j * k..(j + 1) * k]);
        }
        w
    }

    /// Steps 6 to 11: moves to the minimum over the passive set, dropping the variables that would become
    /// negative.
    fn descend(&mut self, mut solution: Vec<f64>, iterations_max: usize) {
        loop {
            let mut step = 1.0;
            let mut blocking = None;
            for (at, (&j, &s)) in self.passive.iter().zip(&solution).enumerate() {
                if s <= 0.0 {
                    let here = self.x[j] / (self.x[j] - s);
                    // The comparison also takes 0 / 0, a variable that is at zero and stays there.
                    if blocking.is_none() || !(here >= step) {
                        (step, blocking) = (if here.is_finite() { here } else { 0.0 }, Some(at));
                    }
                }
            }
            for (&j, &s) in self.passive.iter().zip(&solution) {
                self.x[j] = if blocking.is_none() { s } else { self.x[j] + step * (s - self.x[j]) };
            }
            let Some(blocking) = blocking else { return };
            self.x[self.passive[blocking]] = 0.0;
            for at in (0..self.passive.len()).rev() {
                if self.x[self.passive[at]] <= 0.0 {
                    self.remove(at);
                    self.iterations += 1;
                }
            }
            if self.iterations >= iterations_max {
                return;
            }
            solution = self.solve();
        }
    }

    /// Adds column `j` to the passive set and a row to the factor; false if it depends on the others.
    fn push(&mut self, j: usize, rank_tolerance: f64) -> bool {
        let (k, s) = (self.rhs.len(), self.passive.len());
        let (done, rest) = self.factor.split_at_mut(s * k);
        let row = &mut rest[..s + 1];
        for (i, &p) in self.passive.iter().enumerate() {
            let other = &done[i * k..i * k + i + 1];
            row[i] = (self.gram[j * k + p] - dot(&other[..i], &row[..i])) / other[i];
        }
        let diagonal = self.gram[j * k + j];
        let distance = diagonal - dot(&row[..s], &row[..s]);
        if !(distance > rank_tolerance * diagonal && distance > 0.0) {
            return false;
        }
        row[s] = distance.sqrt();
        self.passive.push(j);
        self.is_passive[j] = true;
        true
    }

    /// Takes entry `at` out of the passive set and repairs the factor by plane rotations of neighbouring
    /// columns.
    fn remove(&mut self, at: usize) {
        let k = self.rhs.len();
        let j = self.passive.remove(at);
        self.is_passive[j] = false;
        self.x[j] = 0.0;
        let s = self.passive.len();
        self.factor.copy_within((at + 1) * k..(s + 1) * k, at * k);
        for column in at..s {
            let (a, b) = (self.factor[column * k + column], self.factor[column * k + column + 1]);
            // The diagonal b of the old factor is positive, so the length is too.
            let length = (a * a + b * b).sqrt();
            let (cos, sin) = (a / length, b / length);
            for row in column..s {
                let pair = &mut self.factor[row * k + column..row * k + column + 2];
                (pair[0], pair[1]) = (cos * pair[0] + sin * pair[1], cos * pair[1] - sin * pair[0]);
            }
        }
    }

    /// $G_{PP}^{-1} c_P$ with one step of refinement, which restores the digits that the rotations lose.
    fn solve(&self) -> Vec<f64> {
        let k = self.rhs.len();
        let mut solution: Vec<f64> = self.passive.iter().map(|&p| self.rhs[p]).collect();
        self.apply_inverse(&mut solution);
        let mut residual = self.rhs.clone();
        for (&p, &s) in self.passive.iter().zip(&solution) {
            add_scaled(&mut residual, -s, &self.gram[p * k..(p + 1) * k]);
        }
        let mut correction: Vec<f64> = self.passive.iter().map(|&p| residual[p]).collect();
        self.apply_inverse(&mut correction);
        add_scaled(&mut solution, 1.0, &correction);
        solution
    }

    fn apply_inverse(&self, b: &mut [f64]) {
        let (k, s) = (self.rhs.len(), self.passive.len());
        for i in 0..s {
            let row = &self.factor[i * k..i * k + i + 1];
            b[i] = (b[i] - dot(&row[..i], &b[..i])) / row[i];
        }
        for i in (0..s).rev() {
            let row = &self.factor[i * k..i * k + i + 1];
            b[i] /= row[i];
            let value = b[i];
            add_scaled(&mut b[..i], -value, &row[..i]);
        }
    }
}

/// Index of the largest value among the eligible; the first of equals.
fn largest(values: &[f64], eligible: impl Fn(usize) -> bool) -> Option<usize> {
    (0..values.len())
        .filter(|&j| eligible(j))
        .reduce(|best, j| if values[j] > values[best] { j } else { best })
}

#[cfg(test)]
mod tests;
