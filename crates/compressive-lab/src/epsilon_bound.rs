//! Audit of a privacy claim: a lower bound on $\varepsilon$ from many releases of two neighbouring tables.
//!
//! A mechanism that is $(\varepsilon, \delta)$-private gives every event E probabilities with
//! $P_a(E) \le e^\varepsilon P_b(E) + \delta$, for neighbouring tables a and b in either order. So
//! $\varepsilon \ge \ln\frac{P_a(E) - \delta}{P_b(E)}$, and confidence bounds on the two probabilities bound
//! $\varepsilon$ from below:
//!
//! 1. each release is reduced to one number, its score (for instance the inner product with the difference of
//!    the two exact answers);
//! 2. the first halves of the scores choose E among the events "score at least t" and "score at most t";
//! 3. on the second halves, Clopper-Pearson bounds give $\ln\frac{p_a^{low} - \delta}{p_b^{high}}$;
//! 4. steps 2 and 3 are repeated with a and b exchanged, each at half of the allowed error, and the larger
//!    value is the answer.
//!
//! A value above the claim disproves it, except with probability `error`. A value below says only that this
//! score and this many releases show no more: with N releases events below about 10/N are out of sight, and a
//! Gaussian mechanism with small $\delta$ is tight nowhere else.
//!
//! Cost: a sort of the scores; the bounds take microseconds.
//! Reference: Clopper and Pearson (1934); Jagielski, Ullman and Oprea (2020) for the audit.

use compressive_data::{Error, Result};

mod beta;

use beta::incomplete_beta;

/// Standard deviations by which step 2 mistrusts the shares of the first halves.
const CAUTION: f64 = 3.5;
/// Halvings in the search for a confidence bound: more than f64 can tell apart.
const BISECTIONS: usize = 80;

/// Exact confidence interval of a probability after so many successes in so many trials: each end is wrong
/// with probability at most `error`/2.
///
/// The ends are the `error`/2 quantile of Beta(s, n - s + 1) and the 1 - `error`/2 quantile of Beta(s + 1, n - s), found by bisection and rounded outwards.
/// More successes than trials count as all; an `error` of 0 or less (or NaN) allows nothing better than (0, 1).
pub fn clopper_pearson(successes: u64, trials: u64, error: f64) -> (f64, f64) {
    if !(error > 0.0) || trials == 0 {
        return (0.0, 1.0);
    }
    let successes = successes.min(trials);
    let (hits, misses) = (successes as f64, (trials - successes) as f64);
    let tail = error.min(1.0) / 2.0;
    // P(at least s successes) = I_p(s, n - s + 1) rises with p: the lower end is where it reaches the tail.
    let low = match successes {
        0 => 0.0,
        _ => bisect(|p| incomplete_beta(hits, misses + 1.0, p) < tail).0,
    };
    // P(at most s successes) = I_{1-p}(n - s, s + 1) falls with p.
    let high = match trials - successes {
        0 => 1.0,
        _ => bisect(|p| incomplete_beta(misses, hits + 1.0, 1.0 - p) > tail).1,
    };
    (low, high)
}

/// The ends of a short interval in which `below` turns from true to false.
fn bisect(below: impl Fn(f64) -> bool) -> (f64, f64) {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..BISECTIONS {
        let middle = (low + high) / 2.0;
        if below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low, high)
}

/// A lower bound on $\varepsilon$ for a mechanism that claims $(\varepsilon, \delta)$, from independent
/// scores of releases of two neighbouring tables; 0 if nothing is shown.
///
/// The bound is above the true $\varepsilon$ with probability at most `error`. Each sample needs two scores
/// or more, none of them NaN; `delta` is in [0, 1), `error` in (0, 1). Cost: two sorts of all scores.
pub fn epsilon_lower_bound(scores_a: &[f64], scores_b: &[f64], delta: f64, error: f64) -> Result<f64> {
    check(scores_a, scores_b, delta, error)?;
    let (pick_a, proof_a) = scores_a.split_at(scores_a.len() / 2);
    let (pick_b, proof_b) = scores_b.split_at(scores_b.len() / 2);
    let forward = proven(&pick(pick_a, pick_b, delta), proof_a, proof_b, delta, error / 2.0);
    let backward = proven(&pick(pick_b, pick_a, delta), proof_b, proof_a, delta, error / 2.0);
    Ok(forward.max(backward).max(0.0))
}

fn check(scores_a: &[f64], scores_b: &[f64], delta: f64, error: f64) -> Result<()> {
    let fewest = scores_a.len().min(scores_b.len());
    if fewest < 2 {
        return Err(Error::TooFewRows {
            what: "an audit with two halves of scores",
            rows: fewest,
            needed: 2,
        });
    }
    if let Some(&value) = scores_a.iter().chain(scores_b).find(|score| score.is_nan()) {
        return Err(Error::Parameter { name: "score", value, allowed: "a number" });
    }
    if !(0.0..1.0).contains(&delta) {
        return Err(Error::Parameter { name: "delta", value: delta, allowed: "at least 0 and below 1" });
    }
    if !(error > 0.0 && error < 1.0) {
        return Err(Error::Parameter { name: "error", value: error, allowed: "between 0 and 1" });
    }
    Ok(())
}

/// An event about a score.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    AtLeast(f64),
    AtMost(f64),
}

impl Event {
    fn count(self, scores: &[f64]) -> u64 {
        let hit = |score: &&f64| match self {
            Event::AtLeast(threshold) => **score >= threshold,
            Event::AtMost(threshold) => **score <= threshold,
        };
        scores.iter().filter(hit).count() as u64
    }
}

/// Step 2: the event with the largest cautious estimate of $\ln((p_a - \delta)/p_b)$; every score of the two
/// samples is tried as threshold.
fn pick(scores_a: &[f64], scores_b: &[f64], delta: f64) -> Event {
    let mut all: Vec<(f64, bool)> = scores_a
        .iter()
        .map(|&score| (score, true))
        .chain(scores_b.iter().map(|&score| (score, false)))
        .collect();
    all.sort_unstable_by(|x, y| x.0.total_cmp(&y.0));
    let total = [scores_a.len() as f64, scores_b.len() as f64];
    let mut best = (f64::NEG_INFINITY, Event::AtLeast(f64::NEG_INFINITY));
    let mut below = [0.0; 2];
    for run in all.chunk_by(|x, y| x.0 == y.0) {
        let at_least = [total[0] - below[0], total[1] - below[1]];
        run.iter().for_each(|&(_, of_a)| below[usize::from(!of_a)] += 1.0);
        for (event, hits) in [(Event::AtLeast(run[0].0), at_least), (Event::AtMost(run[0].0), below)] {
            let low = wilson(hits[0], total[0], -CAUTION) - delta;
            let value = low.max(0.0).ln() - wilson(hits[1], total[1], CAUTION).ln();
            if value > best.0 {
                best = (value, event);
            }
        }
    }
    best.1
}

/// The end of Wilson's score interval that lies z standard deviations up (down, if negative): a closed form
/// that behaves at shares near 0.
fn wilson(hits: f64, trials: f64, z: f64) -> f64 {
    let share = hits / trials;
    let spread = (share * (1.0 - share) / trials + z * z / (4.0 * trials * trials)).sqrt();
    (share + z * z / (2.0 * trials) + z * spread) / (1.0 + z * z / trials)
}

/// Step 3.
fn proven(event: &Event, scores_a: &[f64], scores_b: &[f64], delta: f64, error: f64) -> f64 {
    let (low, _) = clopper_pearson(event.count(scores_a), scores_a.len() as u64, error);
    let (_, high) = clopper_pearson(event.count(scores_b), scores_b.len() as u64, error);
    ((low - delta).max(0.0) / high).ln()
}

#[cfg(test)]
mod tests;
