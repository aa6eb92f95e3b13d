//! Exact samplers of discrete noise: integers in, integers out, no floating-point number anywhere.
//!
//! - [`discrete_laplace`]: $P(x) \propto e^{-|x|/t}$ on the integers, for any rational $t$;
//! - [`discrete_gaussian`]: $P(x) \propto e^{-x^2/(2\sigma^2)}$ on the integers, for integer $\sigma$;
//! - [`bernoulli_exp`]: true with probability $e^{-\gamma}$, for any rational $\gamma \ge 0$.
//!
//! If the bits are uniform, the probabilities are these and not approximations of them, up to two events that
//! are cut off so that every loop and every integer is bounded: a loop that rejects 4096 times in a row (an
//! error: the source is broken), and a value beyond i64 (drawn again). Each has probability below $e^{-1000}$
//! per draw, so the law of a draw is within that total variation of the stated one.
//!
//! **No overflow.** Scale $t \le 2^{53}$, numerator and denominator below $2^{64}$: a Laplace draw computes
//! $u + v \cdot numerator$ with $u < 2^{64}$ and $v \le 2^{12}$, below $2^{77}$. Standard deviation
//! $\sigma \le 2^{50}$: a Gaussian draw computes $(|y| - \sigma)^2 < 2^{126}$ and $2 \sigma^2 \le 2^{101}$.
//! All of it is in u128.
//!
//! Cost per draw: about six to ten uniform integers, each of at most as many bits as the scale. Running time
//! depends on the value drawn.
//!
//! Reference: \[CKS20\] Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", NeurIPS
//! 2020, algorithms 1 to 3.

use serde::{Deserialize, Serialize};

use super::entropy::{Bits, MAX_TRIES, broken_source};
use crate::{Error, Result};

/// Largest scale $t$ of discrete Laplace noise: $2^{53}$, so that a draw leaves i64 with probability
/// $e^{-1024}$ only.
pub const MAX_SCALE: u64 = 1 << 53;

/// Largest standard deviation of discrete Gaussian noise: $2^{50}$.
pub const MAX_SIGMA: u64 = 1 << 50;

/// A positive rational number: the scale of discrete Laplace noise, in steps of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ratio {
    /// Above the line; at least 1.
    pub numerator: u64,
    /// Below the line; at least 1.
    pub denominator: u64,
}

/// True with probability $e^{-\gamma}$ exactly, $\gamma$ = `numerator / denominator` >= 0; \[CKS20\],
/// algorithm 1.
///
/// Refuses a denominator of 0. Cost: fewer than three uniform integers on average for $\gamma \le 1$, fewer
/// than six for any.
pub fn bernoulli_exp(bits: &mut Bits<'_>, numerator: u128, denominator: u128) -> Result<bool> {
    if denominator == 0 {
        return Err(refuse("gamma", "its denominator is 0; give a positive one".into()));
    }
    // Lines 8 to 12: e^-gamma is a product of floor(gamma) factors e^-1 and one of e^-(the rest); the first
    // failure decides.
    let (whole, rest) = (numerator / denominator, numerator % denominator);
    for tries in 0..whole {
        if tries == u128::from(MAX_TRIES) {
            return Err(broken_source());
        }
        if !bernoulli_exp_fraction(bits, 1, 1)? {
            return Ok(false);
        }
    }
    bernoulli_exp_fraction(bits, rest, denominator)
}

/// Lines 2 to 7 of algorithm 1, for $\gamma \in [0, 1]$: count successes of Bernoulli($\gamma/K$), K = 1, 2,
/// ...; the first failure comes at an odd K with probability
/// $1 - \gamma + \gamma^2/2! - \dots = e^{-\gamma}$.
fn bernoulli_exp_fraction(bits: &mut Bits<'_>, numerator: u128, denominator: u128) -> Result<bool> {
    for k in 1..=MAX_TRIES {
        // Differs from [CKS20]: Bernoulli(gamma / K) as two independent draws, 1 / K and gamma, so that K
        // times the denominator, which could overflow, is never computed, and most failures cost few bits.
        let success = bits.below(u128::from(k))? == 0 && bits.below(denominator)? < numerator;
        if !success {
            return Ok(k % 2 == 1);
        }
    }
    Err(broken_source())
}

/// An integer with $P(x) = \frac{1-q}{1+q} q^{|x|}$, $q = e^{-1/t}$, $t$ = `scale`; \[CKS20\], algorithm 2.
///
/// Refuses a scale of 0, one without a denominator, and one above [`MAX_SCALE`]. Variance:
/// [`laplace_variance`](super::calibrate::laplace_variance).
pub fn discrete_laplace(bits: &mut Bits<'_>, scale: Ratio) -> Result<i64> {
    check_scale(scale)?;
    let (t, s) = (u128::from(scale.numerator), u128::from(scale.denominator));
    for _ in 0..MAX_TRIES {
        // Lines 2 to 4: u is geometric of scale t, given that it is below t.
        let u = bits.below(t)?;
        if !bernoulli_exp_fraction(bits, u, t)? {
            continue;
        }
        // Lines 5 to 11: v whole multiples of t make it geometric on all of 0, 1, 2, ...
        let v = whole_parts(bits)?;
        // Lines 12 to 13: the quotient by s is geometric of scale t / s.
        let magnitude = (u + t * v) / s;
        // Lines 14 to 16: a random sign; one of the two zeros is drawn again, or 0 would count twice.
        let negative = bits.bit()?;
        if negative && magnitude == 0 {
            continue;
        }
        // Beyond i64 (probability e^-1024 at the largest scale) it is drawn again.
        if let Ok(value) = i64::try_from(magnitude) {
            return Ok(if negative { -value } else { value });
        }
    }
    Err(broken_source())
}

/// The number of successes of Bernoulli($e^{-1}$) before the first failure.
fn whole_parts(bits: &mut Bits<'_>) -> Result<u128> {
    for v in 0..=MAX_TRIES {
        if !bernoulli_exp_fraction(bits, 1, 1)? {
            return Ok(u128::from(v));
        }
    }
    Err(broken_source())
}

/// An integer with $P(x) \propto e^{-x^2/(2\sigma^2)}$; \[CKS20\], algorithm 3.
///
/// Its variance is at most $\sigma^2$, and less than one part in $10^{30}$ below it for $\sigma \ge 2$.
/// Refuses $\sigma = 0$ and $\sigma$ above [`MAX_SIGMA`]. Three of four proposals are accepted.
pub fn discrete_gaussian(bits: &mut Bits<'_>, sigma: u64) -> Result<i64> {
    if sigma == 0 || sigma > MAX_SIGMA {
        return Err(refuse(
            "sigma",
            format!("the noise needs a standard deviation from 1 to 2^50, not {sigma}"),
        ));
    }
    // Differs from [CKS20]: the proposal has scale sigma, not floor(sigma) + 1. Any scale gives the same law;
    // with this one the acceptance probability e^-((|y| - sigma^2/t)^2 / (2 sigma^2)) needs no fraction.
    let scale = Ratio { numerator: sigma, denominator: 1 };
    let sigma = u128::from(sigma);
    for _ in 0..MAX_TRIES {
        // Line 3: the proposal. Lines 4 to 6: accept or draw again.
        let proposal = discrete_laplace(bits, scale)?;
        let distance = u128::from(proposal.unsigned_abs()).abs_diff(sigma);
        if bernoulli_exp(bits, distance * distance, 2 * sigma * sigma)? {
            return Ok(proposal);
        }
    }
    Err(broken_source())
}

fn check_scale(scale: Ratio) -> Result<()> {
    let Ratio { numerator, denominator } = scale;
    if numerator == 0 || denominator == 0 {
        return Err(refuse(
            "scale",
            format!("{numerator}/{denominator} is not a positive fraction; both parts must be at least 1"),
        ));
    }
    if u128::from(numerator) > u128::from(denominator) * u128::from(MAX_SCALE) {
        return Err(refuse(
            "scale",
            format!(
                "noise of scale {numerator}/{denominator} is above 2^53 steps of the grid; ask for a larger epsilon or a smaller sketch"
            ),
        ));
    }
    Ok(())
}

fn refuse(field: &'static str, problem: String) -> Error {
    Error::Privacy { field, problem }
}

#[cfg(test)]
mod tests;
