//! The k-means problems that several experiments share: data, reference, bars.

use crate::error::Result;
use crate::experiment::draws::{median, share};
use crate::experiment::report::{Cell, Verdict};
use compressive_data::Sample;
use compressive_data::{KMeansParams, Rng, generate, kmeans, lloyd};

/// A relative SSE up to this counts as the optimum found.
pub(super) const SUCCESS: f64 = 1.05;

/// A kind of synthetic clusters with the sketch sizes they are tried at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Problem {
    pub name: &'static str,
    pub k: usize,
    pub dim: usize,
    pub separation: f64,
    /// Weights and variances that differ, instead of equal round clusters.
    pub unequal: bool,
    /// Sizes m in units of k d, each with its bar.
    pub sizes: &'static [(f64, Bar)],
}

/// What a cell is held to; NaN where nothing is asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bar {
    /// Least share of draws with a relative SSE of at most [`SUCCESS`].
    share: f64,
    /// Largest median of the relative SSE.
    median: f64,
}

const NONE: Bar = Bar { share: f64::NAN, median: f64::NAN };
const ALWAYS: Bar = Bar { share: 1.0, median: 1.002 };

const fn at_least(share: f64) -> Bar {
    Bar { share, median: f64::NAN }
}

/// The problems of the k-means tables.
pub(super) const PROBLEMS: [Problem; 5] = [
    Problem {
        name: "k = d = 10, s = 2.5",
        k: 10,
        dim: 10,
        separation: 2.5,
        unequal: false,
        sizes: &[(2.0, at_least(0.9)), (3.0, ALWAYS), (5.0, ALWAYS), (10.0, ALWAYS)],
    },
    Problem {
        name: "k = d = 10, s = 1.5",
        k: 10,
        dim: 10,
        separation: 1.5,
        unequal: false,
        sizes: &[(2.0, NONE), (3.0, at_least(0.85)), (5.0, at_least(1.0)), (10.0, NONE)],
    },
    Problem {
        name: "unequal, k = d = 10, s = 2.5",
        k: 10,
        dim: 10,
        separation: 2.5,
        unequal: true,
        sizes: &[(2.0, NONE), (3.0, Bar { share: f64::NAN, median: 1.01 }), (5.0, NONE)],
    },
    Problem {
        name: "k = 50, d = 10, s = 2.5",
        k: 50,
        dim: 10,
        separation: 2.5,
        unequal: false,
        sizes: &[(5.0, at_least(0.95))],
    },
    Problem {
        name: "k = 10, d = 50, s = 2.5",
        k: 10,
        dim: 50,
        separation: 2.5,
        unequal: false,
        sizes: &[(5.0, at_least(0.95))],
    },
];

/// Rows of a problem with the baselines on all of them.
pub(super) struct Drawn {
    pub sample: Sample,
    /// The better of ten k-means++ starts and Lloyd from the true means.
    pub reference: f64,
    /// SSE of Lloyd from one k-means++ start.
    pub lloyd_one: f64,
    /// SSE of the best of ten.
    pub lloyd_ten: f64,
}

impl Problem {
    /// The rows of a draw and their reference. Cost: ten runs of Lloyd.
    pub fn draw(&self, n_rows: usize, draw: u64) -> Result<Drawn> {
        let mut rng = Rng::derived(1000, draw);
        let make = if self.unequal { generate::unequal } else { generate::separated };
        let truth = make(self.k, self.dim, self.separation, &mut rng)?;
        let sample = truth.sample(n_rows, &mut rng)?;
        let params = KMeansParams { threads: 1, seed: draw, ..KMeansParams::default() };
        let best = kmeans(sample.rows()?, self.k, &params)?;
        let (lloyd_one, lloyd_ten) = (best.info.sse_starts[0], best.sse);
        let from_truth = lloyd(sample.rows()?, &truth.means, &params)?.sse;
        Ok(Drawn { reference: lloyd_ten.min(from_truth), lloyd_one, lloyd_ten, sample })
    }

    /// Frequencies for a size in units of k d.
    pub fn frequencies(&self, size: f64) -> usize {
        (size * (self.k * self.dim) as f64).round() as usize
    }
}

impl Bar {
    /// Whether draws meet the bar, if there is one.
    pub fn judge(&self, rsse: &[f64]) -> Option<Verdict> {
        let mut words = Vec::new();
        let mut met = true;
        if self.share.is_finite() {
            words.push(format!("at least {:.0}%", 100.0 * self.share));
            met &= share(rsse, SUCCESS) >= self.share;
        }
        if self.median.is_finite() {
            words.push(format!("median at most {}", self.median));
            met &= median(rsse) <= self.median;
        }
        if words.is_empty() { None } else { Some(Verdict::bar(met, words.join(", "))) }
    }
}

/// Median relative SSE with the share of successes behind it.
pub(super) fn cell(rsse: &[f64]) -> Cell {
    if rsse.is_empty() {
        return Cell::text("");
    }
    let (middle, success) = (median(rsse), share(rsse, SUCCESS));
    Cell::text(format!("{middle:.3} ({:.0}%)", 100.0 * success))
        .with("median", middle)
        .with("share", success)
        .with("draws", rsse.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::report::Outcome;

    #[test]
    fn bars_are_judged_by_share_and_median() {
        let outcome = |bar: Bar, rsse: &[f64]| bar.judge(rsse).map(|verdict| verdict.outcome);
        assert_eq!(outcome(NONE, &[9.0]), None);
        assert_eq!(outcome(ALWAYS, &[1.0, 1.001]), Some(Outcome::Met));
        assert_eq!(outcome(ALWAYS, &[1.01, 1.01]), Some(Outcome::Missed));
        assert_eq!(outcome(at_least(0.5), &[1.05, 1.06]), Some(Outcome::Met));
        assert_eq!(outcome(at_least(0.6), &[1.05, 1.06]), Some(Outcome::Missed));
    }

    #[test]
    fn a_draw_repeats_and_its_reference_is_the_best_of_all() {
        let (a, b) = (PROBLEMS[2].draw(2000, 3).expect("drawn"), PROBLEMS[2].draw(2000, 3).expect("drawn"));
        assert_eq!(a.sample, b.sample);
        assert_ne!(a.sample, PROBLEMS[2].draw(2000, 4).expect("drawn").sample);
        assert!(a.reference <= a.lloyd_ten && a.lloyd_ten <= a.lloyd_one);
    }
}
