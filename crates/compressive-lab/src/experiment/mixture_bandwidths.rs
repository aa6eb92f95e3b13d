//! Table 3 of the mixture-model paper: the best of fifteen Gaussian kernels against the adapted radius at an
//! estimated scale.

use compressive::FrequencyLaw;
use compressive::learn::Decoder;

use crate::error::Result;
use crate::experiment::clock::{self, timed};
use crate::experiment::draws::{self, mean};
use crate::experiment::fits::{self, Sketched};
use crate::experiment::mixtures::{cell, log_kl, parameters};
use crate::experiment::report::{Cell, Report, Table, Verdict};
use crate::experiment::{Experiment, Options, Progress};
use compressive_data::Mixture;
use compressive_data::Sample;
use compressive_data::{Rng, generate};

/// \[KBGP18\] table 3.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "mixture-table-3",
    title: "Gaussian mixtures: a tuned Gaussian kernel against the adapted radius",
    reference: "[KBGP18] table 3 (log of the symmetric KL divergence, geometric mean of 50 runs; seconds of choosing the scale)",
    work: run,
};

/// A problem with the published numbers: adapted radius, then the best Gaussian kernel.
struct Setting {
    k: usize,
    dim: usize,
    published: [f64; 2],
    seconds: [f64; 2],
    /// Draws of a full run: fifteen fits of each take long.
    draws: usize,
}

const SETTINGS: [Setting; 2] = [
    Setting { k: 3, dim: 2, published: [-9.38, -9.14], seconds: [1.02, 23.10], draws: 20 },
    Setting { k: 5, dim: 20, published: [-6.32, -5.18], seconds: [0.98, 74.10], draws: 8 },
];

/// How far `cl-ompr` may be from the paper.
const TOLERANCE: f64 = 0.3;
/// The factor within which a ratio of seconds is a reproduction.
const FACTOR: f64 = 1.5;
/// Bandwidths $\sigma^2$ tried: so many, from 0.1 to 100.
const BANDWIDTHS: usize = 15;

/// The row that tells whether the adapted radius is ahead.
const AHEAD: &str = "adapted radius less best kernel";

/// The i-th of n bandwidths $\sigma^2$, evenly spread on a logarithmic scale.
fn bandwidth(i: usize, n: usize) -> f64 {
    10.0_f64.powf(-1.0 + 3.0 * i as f64 / (n.max(2) - 1) as f64)
}

/// One draw: log-KL and seconds.
struct Outcome {
    /// Adapted radius at the estimated scale: `cl-ompr`, `auto`, and the seconds of the estimate.
    adapted: [f64; 3],
    /// `cl-ompr` at each bandwidth, and the seconds of all sketches and fits.
    kernels: Vec<f64>,
    search: f64,
}

/// The data of a draw.
fn draw_data(setting: &Setting, n_rows: usize, draw: u64) -> Result<(Mixture, Sample)> {
    let mut rng = Rng::derived(2000, draw);
    let truth = generate::random_variances(setting.k, setting.dim, &mut rng)?;
    let sample = truth.sample(n_rows, &mut rng)?;
    Ok((truth, sample))
}

fn sketch(setting: &Setting, sample: &Sample, law: FrequencyLaw, scale: f64, draw: u64) -> Result<Sketched> {
    let size = 10 * parameters(setting.k, setting.dim);
    fits::untransformed(&sample.values, sample.dim, law, scale, size, draw)
}

fn one_draw(setting: &Setting, n_rows: usize, bandwidths: &[f64], draw: u64) -> Result<Outcome> {
    let (truth, sample) = draw_data(setting, n_rows, draw)?;
    let kl = |mixture| log_kl(&truth, &mixture, n_rows);
    let (scale, estimate) = timed(|| fits::estimated_scale(&sample.values, sample.dim, draw))?;
    let adapted = sketch(setting, &sample, FrequencyLaw::AdaptedRadius, scale, draw)?;
    let adapted = [
        kl(adapted.published_mixture(setting.k)?)?,
        kl(adapted.mixture(setting.k, Decoder::Auto, 1)?)?,
        estimate,
    ];
    let (mut kernels, mut search) = (Vec::new(), 0.0);
    for variance in bandwidths {
        let (mixture, seconds) = timed(|| {
            sketch(setting, &sample, FrequencyLaw::Gaussian, variance.sqrt(), draw)?
                .published_mixture(setting.k)
        })?;
        kernels.push(kl(mixture)?);
        search += seconds;
    }
    Ok(Outcome { adapted, kernels, search })
}

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report> {
    let n_rows = options.pick(300_000, 20_000);
    let n = options.pick(BANDWIDTHS, 4);
    let bandwidths: Vec<f64> = (0..n).map(|i| bandwidth(i, n)).collect();
    let columns =
        ["problem", "frequencies", "published", "`cl-ompr`", "`auto`", "seconds to choose", "published, s"];
    let mut table =
        Table::new("Log of the symmetric KL divergence: mean (median); lower is better", &columns);
    for setting in if options.quick { &SETTINGS[..1] } else { &SETTINGS[..] } {
        let label = format!("d = {}, K = {}", setting.dim, setting.k);
        let draws = options.draws(setting.draws, 2);
        let outcomes = draws::map(draws, options.threads, &label, progress, |draw| {
            one_draw(setting, n_rows, &bandwidths, draw)
        })?;
        let best = best_bandwidth(&outcomes, n);
        let label = format!("{label}, {draws} draws");
        let progress_label = format!("{label}, auto at the best bandwidth");
        let auto = draws::map(draws, options.threads, &progress_label, progress, |draw| {
            let (truth, sample) = draw_data(setting, n_rows, draw)?;
            let scale = bandwidths[best].sqrt();
            let sketched = sketch(setting, &sample, FrequencyLaw::Gaussian, scale, draw)?;
            log_kl(&truth, &sketched.mixture(setting.k, Decoder::Auto, 1)?, n_rows)
        })?;
        fill(&mut table, setting, &label, &outcomes, (bandwidths[best], best, &auto), options.quick);
    }
    let report = Report { text: text(n_rows, n), tables: vec![table], ..Report::default() };
    Ok(report.explain(
        AHEAD,
        "a Gaussian law of the right width puts its radii where the adapted law has most of its own. Its width is chosen by the truth and judged on the same draws, and so it comes out level or a little ahead; the paper's best kernel falls far short of ours at d = 20, for \
         reasons it does not give. What the adapted radius saves is the search, which no user could make.",
    ))
}

/// The bandwidth with the best mean over the draws, as the paper has it.
fn best_bandwidth(outcomes: &[Outcome], n: usize) -> usize {
    let at = |i: usize| mean(&outcomes.iter().map(|o| o.kernels[i]).collect::<Vec<_>>());
    (0..n).min_by(|a, b| at(*a).total_cmp(&at(*b))).unwrap_or(0)
}

fn fill(
    table: &mut Table,
    setting: &Setting,
    label: &str,
    outcomes: &[Outcome],
    (variance, best, auto): (f64, usize, &[f64]),
    quick: bool,
) {
    let of = |pick: &dyn Fn(&Outcome) -> f64| outcomes.iter().map(pick).collect::<Vec<_>>();
    let seconds = [of(&|o| o.adapted[2]), of(&|o| o.search)].map(|s| mean(&s));
    let rows = [
        ("adapted radius, estimated scale".to_owned(), of(&|o| o.adapted[0]), of(&|o| o.adapted[1])),
        (
            format!(
                "Gaussian kernel, best of {}: {variance:.2}",
                outcomes.first().map_or(0, |o| o.kernels.len())
            ),
            of(&|o| o.kernels[best]),
            auto.to_vec(),
        ),
    ];
    for (at, (name, ours, auto)) in rows.into_iter().enumerate() {
        let cells = vec![
            Cell::text(label),
            Cell::text(name),
            Cell::number("published", setting.published[at], 2),
            cell(&ours),
            cell(&auto),
            clock::cell(seconds[at]),
            Cell::number("seconds", setting.seconds[at], 2),
        ];
        let verdict = Verdict::published(mean(&ours), setting.published[at], TOLERANCE);
        // A quick run has fewer rows than the paper: there is nothing to compare.
        table.push(cells, (!quick).then_some(verdict));
    }
    let gap = |pick: fn(&Outcome) -> f64, kernel: &[f64]| mean(&of(&pick)) - mean(kernel);
    let gaps = [gap(|o| o.adapted[0], &of(&|o| o.kernels[best])), gap(|o| o.adapted[1], auto)];
    let mut cells = vec![Cell::text(label), Cell::text(AHEAD)];
    cells.push(Cell::number("gap", setting.published[0] - setting.published[1], 2));
    cells.extend(gaps.map(|gap| Cell::number("gap", gap, 2)));
    cells.extend([Cell::text(""), Cell::text("")]);
    table.push(
        cells,
        (!quick)
            .then(|| Verdict::bar(gaps[0] < 0.0, "`cl-ompr` ahead with the adapted radius, as published")),
    );
    let mut cells = vec![Cell::text(label), Cell::text("seconds: kernel over adapted radius")];
    cells.extend([Cell::text(""), Cell::text(""), Cell::text("")]);
    let (ours, published) = (seconds[1] / seconds[0], setting.seconds[1] / setting.seconds[0]);
    cells.extend([clock::times(ours), clock::times(published)]);
    table.push(cells, (!quick).then(|| Verdict::speedup(ours, published, FACTOR)));
}

fn text(n_rows: usize, n: usize) -> Vec<String> {
    vec![
        format!(
            "The data of table 2: K diagonal Gaussians with means N(0, K^(2/d) I) and variances U[0.25, 1.75], {n_rows} rows, m = 10K(2d+1); no transform. The adapted radius has the scale that `EstimMeanSigma` finds on 5000 rows. The \
             Gaussian kernel has the bandwidth sigma^2 with the best mean result, among {n} evenly spread on a logarithmic scale from 0.1 to 100: a choice by the truth, which no user can make. `cl-ompr` has diagonal atoms and one start an atom, at the centre of the data, as published."
        ),
        format!(
            "Seconds are those of one draw on one thread: the estimate, and {n} sketches with their fits. Reproduced means within {TOLERANCE} of the paper's divergence (`cl-ompr`), and within a factor of {FACTOR} of its ratio of seconds. The published -9.38 is the number of the *oracle* scale in the \
             paper's table 2, where the estimated scale has -9.20."
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidths_run_from_a_tenth_to_a_hundred() {
        let all: Vec<f64> = (0..BANDWIDTHS).map(|i| bandwidth(i, BANDWIDTHS)).collect();
        assert!((all[0] - 0.1).abs() < 1e-12 && (all[14] - 100.0).abs() < 1e-9);
        assert!(all.windows(2).all(|pair| (pair[1] / pair[0] - 10.0_f64.powf(3.0 / 14.0)).abs() < 1e-9));
    }
}
