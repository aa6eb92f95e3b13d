//! The phase transition of compressive mixture learning.

use compressive::design::LawChoice;
use compressive::task::Decoder;

use crate::error::Result;
use crate::experiment::draws::{self, mean};
use crate::experiment::mixtures::{cell, designed, log_kl, parameters};
use crate::experiment::report::{Cell, Figure, Report, Table};
use crate::experiment::{Experiment, Options, Progress};
use crate::plot::{Heat, HeatMaps};
use crate::{Rng, generate};

/// \[KBGP18\] figure 4.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "phase-mixture",
    title: "Gaussian mixtures: phase transition in the size of the sketch",
    reference: "[KBGP18] figure 4 (log of the symmetric KL against m/((2d+1)K) and d, or K; no numbers are printed)",
    work: run,
};

/// The grid of one panel: pairs (k, d), and what varies.
struct Panel {
    title: &'static str,
    label: &'static str,
    problems: Vec<(usize, usize)>,
    /// Head of a row.
    head: fn(&(usize, usize)) -> usize,
}

fn panels(options: &Options) -> Vec<Panel> {
    let (k, dim) = options.pick((10, 10), (3, 3));
    let dims: &[usize] = options.pick(&[2, 5, 10, 15, 20], &[2, 3]);
    let ks: &[usize] = options.pick(&[2, 5, 10, 15, 20], &[2, 3]);
    vec![
        Panel {
            title: options.pick("K = 10", "K = 3"),
            label: "d",
            problems: dims.iter().map(|dim| (k, *dim)).collect(),
            head: |problem| problem.1,
        },
        Panel {
            title: options.pick("d = 10", "d = 3"),
            label: "K",
            problems: ks.iter().map(|k| (*k, dim)).collect(),
            head: |problem| problem.0,
        },
    ]
}

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report> {
    let ratios: &[f64] = options.pick(&[0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0], &[0.5, 5.0]);
    let n_rows = options.pick(100_000, 10_000);
    let draws = options.draws(5, 1);
    let columns = ["panel", "m/((2d+1)K)", "d or K", "`auto`", "`cl-ompr`"];
    let mut table =
        Table::new("Log of the symmetric KL divergence: mean (median); lower is better", &columns);
    let mut maps = Vec::new();
    for panel in panels(options) {
        let mut values = [Vec::new(), Vec::new()];
        for problem in &panel.problems {
            let label = format!("{}, {} = {}", panel.title, panel.label, (panel.head)(problem));
            let outcomes = draws::map(draws, options.threads, &label, progress, |draw| {
                one_draw(*problem, ratios, n_rows, draw)
            })?;
            values.iter_mut().for_each(|map| map.push(Vec::new()));
            for (at, ratio) in ratios.iter().enumerate() {
                let of = |decoder: usize| outcomes.iter().map(|o| o[at][decoder]).collect::<Vec<_>>();
                values.iter_mut().enumerate().for_each(|(decoder, map)| {
                    map.last_mut().expect("pushed above").push(mean(&of(decoder)));
                });
                let head = Cell::text(format!("{} = {}", panel.label, (panel.head)(problem)));
                let size = Cell::number("size", *ratio, 1);
                table.push(vec![Cell::text(panel.title), size, head, cell(&of(0)), cell(&of(1))], None);
            }
        }
        for (name, values) in ["auto", "cl-ompr"].into_iter().zip(values) {
            maps.push(Heat {
                title: format!("{name}, {}", panel.title),
                x_label: "m/((2d+1)K)".into(),
                y_label: panel.label.into(),
                xs: ratios.iter().map(|r| format!("{r}")).collect(),
                ys: panel.problems.iter().map(|p| (panel.head)(p).to_string()).collect(),
                values,
            });
        }
    }
    let figure = HeatMaps {
        title: "Log of the symmetric KL divergence (dark is good)".into(),
        maps,
        across: 2,
        range: (-8.0, 2.0),
        unit: "log KL".into(),
        digits: 1,
    };
    let alt = "Four heat maps of the log KL divergence against m/((2d+1)K) and d or K: auto and cl-ompr side by side.";
    let figures = vec![Figure { file: "phase-mixture.png".into(), alt: alt.into(), png: figure.to_png()? }];
    let text = format!(
        "The mixtures of [KBGP18] section 5.1; {n_rows} rows (the paper: 300,000), {draws} draws a cell (the paper: 50), on a coarser grid than the paper's. Law, scale and transform are the \
         program's own; `cl-ompr` has one start an atom, at the centre of the data, as published."
    );
    Ok(Report { text: vec![text], tables: vec![table], figures, ..Report::default() })
}

/// Log-KL of `auto` and `cl-ompr` at every size.
fn one_draw((k, dim): (usize, usize), ratios: &[f64], n_rows: usize, draw: u64) -> Result<Vec<[f64; 2]>> {
    let mut rng = Rng::derived(6000, draw);
    let truth = generate::random_variances(k, dim, &mut rng)?;
    let sample = truth.sample(n_rows, &mut rng)?;
    let mut outcome = Vec::new();
    for ratio in ratios {
        let size = (ratio * parameters(k, dim) as f64).round() as usize;
        let sketched = designed(&sample, k, size, LawChoice::AdaptedRadius, draw)?;
        let auto = log_kl(&truth, &sketched.mixture(k, Decoder::Auto, 1)?, n_rows)?;
        outcome.push([auto, log_kl(&truth, &sketched.published_mixture(k)?, n_rows)?]);
    }
    Ok(outcome)
}
