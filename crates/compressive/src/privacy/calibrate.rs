//! How much noise a promise needs: the analytic Gaussian mechanism, and the discrete one on the integer grid.
//!
//! **Continuous.** Gaussian noise of standard deviation $\sigma$ per unit of L2 sensitivity is
//! $(\epsilon, \delta)$-private if and only if
//! $$\delta \ge \delta_0(\epsilon, \sigma) = \Phi(\tfrac{1}{2\sigma} - \epsilon\sigma) - e^\epsilon \Phi(-\tfrac{1}{2\sigma} - \epsilon\sigma)$$
//! (\[BW18\], theorem 8). The classical $\sqrt{2 \ln(1.25/\delta)}/\epsilon$ is not used: it is too small for
//! large $\epsilon$.
//!
//! **Discrete.** A sum $s \in \mathbb Z^r$ whose neighbours $s'$ have $|s - s'|_2 \le \Delta$ is released as
//! $s + Y$, with independent discrete Gaussian entries, $p(x) = e^{-x^2/(2\sigma^2)}/Z$. Compare it with the
//! rounded Gaussian:
//!
//! 1. For $X \sim N(0, \sigma^2 I_r)$ and integer $s$,
//!    $\operatorname{round}(s + X) = s + \operatorname{round}(X)$. The left side is made from the continuous
//!    mechanism without looking at $s$ again, so $s + \operatorname{round}(X)$ is
//!    $(\epsilon, \delta_0(\epsilon, \sigma/\Delta))$-private.
//! 2. One entry of $\operatorname{round}(X)$ has $q(x) = a(x)\, e^{-x^2/(2\sigma^2)}/(\sqrt{2\pi}\sigma)$
//!    with $a(x) = \int_{-1/2}^{1/2} e^{-(2xu + u^2)/(2\sigma^2)} du$. The part odd in u cancels:
//!    $a(x) = \int_{-1/2}^{1/2} e^{-u^2/(2\sigma^2)} \cosh(xu/\sigma^2)\, du$
//!    $\ge \int_{-1/2}^{1/2} (1 - \tfrac{u^2}{2\sigma^2})\, du = 1 - \tfrac{1}{24\sigma^2}$ for every x. By
//!    Poisson's summation formula $Z = \sqrt{2\pi}\sigma\,(1 + 2\sum_{k \ge 1} e^{-2\pi^2\sigma^2k^2})$,
//!    which lies between $\sqrt{2\pi}\sigma$ and $(1 + 10^{-8}) \sqrt{2\pi}\sigma$ for $\sigma \ge 1$. So
//!    $p(x) - q(x) \le \tfrac{1}{24\sigma^2} e^{-x^2/(2\sigma^2)}/(\sqrt{2\pi}\sigma)$, and the total
//!    variation, which is the sum of the positive parts of $p - q$ alone, is at most
//!    $\tfrac{1}{24\sigma^2} \cdot \tfrac{Z}{\sqrt{2\pi}\sigma} \le \tfrac{1}{23\sigma^2}$. No bound of the
//!    tails is needed. (Its true size is about $\tfrac{1}{48\sigma^2} E|1 - N^2| = 0.0202/\sigma^2$.)
//! 3. Over r independent entries total variations add at most: $\tau \le r/(23\sigma^2)$. For any set S,
//!    $P_s(S) \le Q_s(S) + \tau \le e^\epsilon Q_{s'}(S) + \delta_0 + \tau \le e^\epsilon P_{s'}(S) + \delta_0 + (1 + e^\epsilon)\tau$.
//!
//! So the discrete mechanism is
//! $(\epsilon, \delta_0(\epsilon, \sigma/\Delta) + (1 + e^\epsilon)\, r/(23\sigma^2))$-private, and
//! [`discrete_gaussian_sigma`] is the smallest $\sigma$ that keeps this below $\delta$. On the grid of
//! $2^{-24}$, $\Delta \ge 2^{24}$ and the second term is of the order $e^\epsilon 2^{-52}$: it matters only
//! for very large $\epsilon$.
//!
//! Cost: about 100 evaluations of $\delta_0$, each some 1,000 floating-point operations.
//!
//! Reference: \[BW18\] Balle, Wang, "Improving the Gaussian mechanism for differential privacy", ICML 2018.

use super::sampler::{MAX_SIGMA, Ratio};
use crate::num::special::mills_ratio;
use crate::{Error, Result};

/// Smallest standard deviation, in steps of the grid, of [`discrete_gaussian_sigma`].
pub const MIN_SIGMA: u64 = 1 << 10;

/// Relative excess of an integer sigma over the computed need. The floating-point error of the need is below
/// 1e-11.
const SLACK: f64 = 1e-9;

/// A larger delta is treated as this one, since the need loses its digits as delta nears 1.
const MAX_DELTA: f64 = 0.999;

/// $\delta_0(\epsilon, \sigma)$ of the module's formula: the smallest delta of Gaussian noise of standard
/// deviation `sigma` per unit of L2 sensitivity; \[BW18\], theorem 8.
///
/// With $l = \epsilon\sigma - 1/(2\sigma)$, $h = \epsilon\sigma + 1/(2\sigma)$ and
/// $e^\epsilon \varphi(h) = \varphi(l)$ it is
/// $\varphi(l) (R(l) - R(h)) = \varphi(l) \int_l^h (1 - t R(t))\, dt$, R being Mills' ratio. Neither form
/// overflows, and where the difference would cancel (h close to l) the integral is taken, by Gauss's rule.
/// Relative error below 1e-12 down to 1e-300. It is 1 (no promise) for a sigma that is not positive or an
/// epsilon that is negative or not finite.
pub fn gaussian_delta(epsilon: f64, sigma: f64) -> f64 {
    if !(epsilon >= 0.0 && epsilon.is_finite() && sigma > 0.0) {
        return 1.0;
    }
    if sigma == f64::INFINITY {
        return 0.0;
    }
    let (centre, half) = (epsilon * sigma, 0.5 / sigma);
    let (low, high) = (centre - half, centre + half);
    let density = (-0.5 * low * low).exp() / std::f64::consts::TAU.sqrt();
    if low < -0.125 {
        // R(low) grows without bound, so by symmetry: R(low) = 1 / density - R(-low).
        return 1.0 - density * (mills_ratio(-low) + mills_ratio(high));
    }
    if density == 0.0 {
        return 0.0;
    }
    let difference =
        if half > 0.125 { mills_ratio(low) - mills_ratio(high) } else { mills_integral(centre, half) };
    density * difference
}

/// $\int (1 - t R(t))\, dt = R(c - w) - R(c + w)$ over $c \pm w$, by the five-point Gauss rule; for
/// $w \le 1/8$ its error is below 1e-15.
fn mills_integral(centre: f64, half: f64) -> f64 {
    const RULE: [(f64, f64); 5] = [
        (-0.906_179_845_938_664, 0.236_926_885_056_189_08),
        (-0.538_469_310_105_683_1, 0.478_628_670_499_366_47),
        (0.0, 0.568_888_888_888_888_9),
        (0.538_469_310_105_683_1, 0.478_628_670_499_366_47),
        (0.906_179_845_938_664, 0.236_926_885_056_189_08),
    ];
    let slope = |t: f64| 1.0 - t * mills_ratio(t);
    half * RULE.iter().map(|&(node, weight)| weight * slope(centre + half * node)).sum::<f64>()
}

/// The smallest standard deviation of Gaussian noise, per unit of L2 sensitivity, that is
/// $(\epsilon, \delta)$-private; \[BW18\], algorithm 1.
///
/// Bisection on [`gaussian_delta`], which falls as sigma grows. The result is on the safe side: the private
/// end of the bracket, and a relative 1e-11 more for the error of the evaluation. It is infinite where no
/// finite noise keeps the promise or none can be computed: epsilon negative or not finite, delta below 1e-300
/// or not below 1.
pub fn gaussian_sigma(epsilon: f64, delta: f64) -> f64 {
    if !(epsilon >= 0.0 && epsilon.is_finite() && (1e-300..1.0).contains(&delta)) {
        return f64::INFINITY;
    }
    let delta = delta.min(MAX_DELTA);
    let private = |sigma: f64| gaussian_delta(epsilon, sigma) <= delta;
    // Both loops end: delta is 0 at infinity and 1 at 0.
    let mut high = 1.0;
    while !private(high) {
        high *= 2.0;
    }
    let mut low = 0.5 * high;
    while private(low) {
        high = low;
        low *= 0.5;
    }
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if private(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high * (1.0 + 1e-11)
}

/// The smallest integer $\sigma$ for which discrete Gaussian noise on each of `entries` integers, whose
/// vector has squared L2 sensitivity `l2_squared`, is proven $(\epsilon, \delta)$-private by the argument of
/// the [module](self).
///
/// Rounded up, with a relative slack of 1e-9 for floating-point error. Refuses an epsilon that is not
/// positive, a delta outside (0, 1), an empty sensitivity or vector, and a need outside [`MIN_SIGMA`] to
/// [`MAX_SIGMA`]. Cost: 50 evaluations of [`gaussian_delta`].
pub fn discrete_gaussian_sigma(epsilon: f64, delta: f64, l2_squared: u128, entries: usize) -> Result<u64> {
    if !(epsilon > 0.0 && epsilon.is_finite()) {
        return Err(refuse("epsilon", format!("{epsilon} is not a positive number; 0.1 to 10 are usual")));
    }
    if !(delta > 0.0 && delta < 1.0) {
        return Err(refuse("delta", format!("{delta} is not between 0 and 1; choose one below 1 / rows")));
    }
    if l2_squared == 0 || entries == 0 {
        return Err(refuse(
            "sensitivity",
            format!(
                "{entries} entries of squared sensitivity {l2_squared}: there is nothing to protect; both must be at least 1"
            ),
        ));
    }
    let sensitivity = (l2_squared as f64).sqrt();
    let private = |sigma: u64| is_proven(epsilon, delta, sensitivity, entries, sigma as f64 / (1.0 + SLACK));
    let (mut low, mut high) = (MIN_SIGMA - 1, MAX_SIGMA);
    if private(low) {
        return Err(refuse(
            "epsilon",
            format!(
                "epsilon {epsilon} and delta {delta} need noise below {MIN_SIGMA} steps of the grid; ask for a smaller epsilon"
            ),
        ));
    }
    if !private(high) {
        return Err(refuse(
            "epsilon",
            format!(
                "epsilon {epsilon} and delta {delta} need noise above 2^50 steps of the grid for {entries} entries of L2 sensitivity \
                 {sensitivity:.6e}; ask for an epsilon between 0.001 and 20, a larger delta or a smaller sketch"
            ),
        ));
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if private(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Ok(high)
}

/// Whether the argument of the [module](self) proves noise of parameter `sigma` private: it holds for every
/// result of [`discrete_gaussian_sigma`], on whatever machine that was computed, and for no sigma that is too
/// small.
pub fn discrete_gaussian_holds(
    epsilon: f64,
    delta: f64,
    l2_squared: u128,
    entries: usize,
    sigma: u64,
) -> bool {
    // A tenth of the slack is for functions that another machine rounds differently, nine are kept.
    let least = sigma as f64 / (1.0 + 0.9 * SLACK);
    epsilon > 0.0
        && delta > 0.0
        && sigma >= MIN_SIGMA
        && is_proven(epsilon, delta, (l2_squared as f64).sqrt(), entries, least)
}

/// The inequality of the module.
fn is_proven(epsilon: f64, delta: f64, sensitivity: f64, entries: usize, sigma: f64) -> bool {
    let excess = (1.0 + epsilon.exp()) * entries as f64 / 23.0;
    gaussian_delta(epsilon, sigma / sensitivity) + excess / (sigma * sigma) <= delta.min(MAX_DELTA)
}

/// The variance of discrete Laplace noise: $2q/(1-q)^2 = 1/(2 \sinh^2(1/(2t)))$, $q = e^{-1/t}$, $t$ =
/// `scale`; $2t^2 - 1/6$ for large t.
///
/// The second form keeps all digits at every scale. Infinite for a denominator of 0, zero for a numerator of
/// 0.
pub fn laplace_variance(scale: Ratio) -> f64 {
    let half_rate = 0.5 * scale.denominator as f64 / scale.numerator as f64;
    0.5 / half_rate.sinh().powi(2)
}

fn refuse(field: &'static str, problem: String) -> Error {
    Error::Privacy { field, problem }
}

#[cfg(test)]
mod tests;
