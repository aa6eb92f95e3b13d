//! What the experiments on asymmetric learning share: rows with the best risks on all of them, the published
//! recipe, and how far a model is above the best.
//!
//! The excess risk of \[SJ22\] eq. 30 is here relative for k-means, $\mathrm{SSE}/\mathrm{SSE}^* - 1$, and a
//! difference of means over the rows for mixtures, $\mathrm{LL}^* - \mathrm{LL}$. A model succeeds if
//! $\mathrm{SSE} \le 1.2\,\mathrm{SSE}^*$, or $\mathrm{LL} \ge \mathrm{LL}^*/1.2$.

use compressive::design::Task;
use compressive::learn::Decoder;
use compressive::{FrequencyLaw, SketchSpec, Wave, Waves};

use crate::error::Result;
use crate::experiment::draws::{mean, median};
use crate::experiment::fits::{self, Sketched};
use crate::experiment::report::Cell;
use compressive_data::Mixture;
use compressive_data::Sample;
use compressive_data::em::em_from;
use compressive_data::metric::log_likelihood;
use compressive_data::{EmParams, KMeansParams, Rng, em, generate, kmeans, lloyd, sse};

/// A model may be so many times worse than the best.
const SUCCESS: f64 = 1.2;

/// The tasks, in the order of the papers' panels.
pub(super) const TASKS: [Task; 2] = [Task::Kmeans, Task::Gmm];

/// A task in words.
pub(super) fn task_name(task: Task) -> &'static str {
    if task == Task::Kmeans { "k-means" } else { "mixture" }
}

/// How a sketch is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Search {
    /// `cl-ompr` with one start an atom, as published.
    Published,
    /// The program's default.
    Auto,
}

/// The searches, by the names of their columns.
pub(super) const SEARCHES: [(&str, Search); 2] = [("cl-ompr", Search::Published), ("auto", Search::Auto)];

/// What the searches find, in their order; nothing where one was left out.
pub(super) type Found = [Option<Risk>; 2];

/// Rows of a mixture, and the best risks on all of them.
pub(super) struct Population {
    pub sample: Sample,
    k: usize,
    sse: f64,
    likelihood: f64,
}

/// A model's excess risk, and the largest that is a success.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Risk {
    pub excess: f64,
    limit: f64,
}

impl Population {
    /// Rows of a mixture of [`generate::unit_box`]. The best risks are those of Lloyd's algorithm and of
    /// expectation-maximisation, each the better of a few starts and of a start at the truth.
    pub fn new(k: usize, dim: usize, n_rows: usize, seed: u64) -> Result<Population> {
        let (truth, sample) = generate::unit_box(k, dim, n_rows, &mut Rng::derived(45_000, seed))?;
        let rows = sample.rows()?;
        let clusters = KMeansParams { n_init: 5, threads: 1, seed, ..KMeansParams::default() };
        let sse = kmeans(rows, k, &clusters)?.sse.min(lloyd(rows, &truth.means, &clusters)?.sse);
        let mixtures = EmParams { n_init: 2, threads: 1, seed, tolerance: 1e-7, ..EmParams::default() };
        let from_truth = em_from(rows, &truth, &mixtures)?.log_likelihood;
        let likelihood = em(rows, k, &mixtures)?.log_likelihood.max(from_truth);
        Ok(Population { k, sse, likelihood, sample })
    }

    /// Components, and columns.
    pub fn problem(&self) -> (usize, usize) {
        (self.k, self.sample.dim)
    }

    /// Frequencies for a size in units of K d.
    pub fn frequencies(&self, size: f64) -> usize {
        (size * (self.k * self.sample.dim) as f64).round() as usize
    }

    /// Rows picked at random without replacement.
    pub fn subset(&self, n_rows: usize, rng: &mut Rng) -> Vec<f64> {
        let (dim, total) = (self.sample.dim, self.sample.labels.len());
        let mut order: Vec<u32> = (0..total as u32).collect();
        let kept = n_rows.min(total);
        (0..kept).for_each(|i| order.swap(i, i + rng.below(total - i)));
        order[..kept].iter().flat_map(|&i| self.sample.values[i as usize * dim..][..dim].to_vec()).collect()
    }

    /// The risks, on all rows, of the models learned from a sketch: by `cl-ompr`, and by `auto` if it is
    /// asked for.
    pub fn risks(&self, task: Task, sketched: &Sketched, auto: bool) -> Result<Found> {
        let mut found = [None; 2];
        for (risk, (_, search)) in found.iter_mut().zip(SEARCHES) {
            if search == Search::Published || auto {
                *risk = Some(self.risk(task, sketched, search)?);
            }
        }
        Ok(found)
    }

    fn risk(&self, task: Task, sketched: &Sketched, search: Search) -> Result<Risk> {
        let rows = self.sample.rows()?;
        if task == Task::Kmeans {
            let centers = match search {
                Search::Published => sketched.published_centers(self.k, 1)?,
                Search::Auto => sketched.centers(self.k, Decoder::Auto, 1)?,
            };
            return Ok(Risk { excess: sse(rows, &centers)? / self.sse - 1.0, limit: SUCCESS - 1.0 });
        }
        let mixture: Mixture = match search {
            Search::Published => sketched.published_mixture(self.k)?,
            Search::Auto => sketched.mixture(self.k, Decoder::Auto, 1)?,
        };
        let excess = self.likelihood - log_likelihood(rows, &mixture)?;
        Ok(Risk { excess, limit: self.likelihood * (1.0 - 1.0 / SUCCESS) })
    }
}

/// The published recipe: no transform, and dither unless the feature is Fourier.
pub(super) fn recipe(
    wave: &Wave,
    law: FrequencyLaw,
    scale: f64,
    (size, dim): (usize, usize),
    seed: u64,
) -> SketchSpec {
    let waves = Waves::usual(wave.clone(), law);
    SketchSpec { seed, ..SketchSpec::new(fits::columns(dim), waves, scale, size) }
}

/// Median of the excess risks.
pub(super) fn excess(risks: &[Risk]) -> f64 {
    median(&risks.iter().map(|risk| risk.excess).collect::<Vec<f64>>())
}

/// Share of successes.
pub(super) fn success(risks: &[Risk]) -> f64 {
    mean(&risks.iter().map(|risk| f64::from(u8::from(risk.excess <= risk.limit))).collect::<Vec<f64>>())
}

/// Median excess risk with the share of successes behind it.
pub(super) fn cell(risks: &[Risk]) -> Cell {
    if risks.is_empty() {
        return Cell::text("");
    }
    let (middle, share) = (excess(risks), success(risks));
    Cell::text(format!("{} ({:.0}%)", digits(middle), 100.0 * share))
        .with("excess", middle)
        .with("share", share)
        .with("draws", risks.len() as f64)
}

/// Two digits, whatever the size.
pub(super) fn digits(value: f64) -> String {
    if value == 0.0 || (0.01..100.0).contains(&value.abs()) {
        return format!(
            "{value:.*}",
            (1 - (value.abs().max(1e-9).log10().floor() as i32)).clamp(0, 3) as usize
        );
    }
    format!("{value:.1e}")
}

/// A height for a logarithmic axis; an excess of next to nothing lies at its foot, and none without draws.
pub(super) fn height(excess: f64) -> f64 {
    if excess.is_nan() { excess } else { excess.max(1e-5).log10() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_perfect_sketch_has_no_excess_and_a_few_rows_have_much() {
        let population = Population::new(3, 2, 20_000, 1).expect("drawn");
        let law = || FrequencyLaw::FoldedGaussian;
        let all = fits::in_box(&population.sample.values, recipe(&Wave::Fourier, law(), 0.15, (200, 2), 1))
            .expect("sketched");
        let few = population.subset(30, &mut Rng::new(2));
        assert_eq!(few.len(), 60);
        let few = fits::in_box(&few, recipe(&Wave::Fourier, law(), 0.15, (200, 2), 1)).expect("sketched");
        for task in TASKS {
            let [good, bad] = [&all, &few].map(|s| population.risk(task, s, Search::Auto).expect("decoded"));
            assert!(good.excess < 0.05 && success(&[good]) == 1.0, "{task:?}: {good:?}");
            assert!(bad.excess > 3.0 * good.excess, "{task:?}: {good:?} {bad:?}");
        }
    }

    #[test]
    fn subsets_take_no_row_twice() {
        let population = Population::new(2, 2, 50, 3).expect("drawn");
        let mut all = population.subset(50, &mut Rng::new(4));
        let mut values = population.sample.values.clone();
        all.sort_by(f64::total_cmp);
        values.sort_by(f64::total_cmp);
        assert_eq!(all, values);
    }

    #[test]
    fn numbers_are_printed_with_two_digits() {
        let texts: Vec<String> = [0.0, 0.0123, 0.5, 4.26, 31.7, 452.0, 0.0004].map(digits).into();
        assert_eq!(texts, ["0.000", "0.012", "0.50", "4.3", "32", "4.5e2", "4.0e-4"]);
    }
}
