//! Strongly non-isotropic data: half of the columns divided by A.

use compressive::FrequencyLaw;
use compressive::design::LawChoice;
use compressive::learn::Decoder;

use crate::error::Result;
use crate::experiment::draws::{self, mean};
use crate::experiment::mixtures::{cell, designed, em_best, log_kl};
use crate::experiment::report::{Cell, Figure, Report, Table, Verdict};
use crate::experiment::{Experiment, Options, Progress, fits};
use crate::plot::{Lines, Series};
use compressive_data::{Rng, generate};

/// \[KBGP18\] figure 3.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "non-isotropic",
    title: "Gaussian mixtures of strongly non-isotropic data",
    reference: "[KBGP18] figure 3 (its learned law degrades as A grows; no numbers are printed)",
    work: run,
};

/// How far the mean may move from its value at A = 1.
const BAR: f64 = 0.4;
const CURVES: [&str; 4] = ["auto", "cl-ompr, same sketch", "cl-ompr, published scheme", "EM on all rows"];

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report> {
    let (k, dim, n_rows, size) = options.pick((10, 10, 200_000, 2000), (4, 4, 20_000, 300));
    let factors: &[f64] = options.pick(&[1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0], &[1.0, 10.0]);
    let draws = options.draws(20, 2);
    let mut curves: [Vec<f64>; 4] = Default::default();
    let columns = ["A", "`auto`", "`cl-ompr`, same sketch", "`cl-ompr`, published scheme", "EM on all rows"];
    let mut table =
        Table::new("Log of the symmetric KL divergence: mean (median); lower is better", &columns);
    for &factor in factors {
        let label = format!("A = {factor}");
        let outcomes = draws::map(draws, options.threads, &label, progress, |draw| {
            one_draw((k, dim, n_rows, size), factor, draw)
        })?;
        let mut cells = vec![Cell::number("factor", factor, 0)];
        for (at, curve) in curves.iter_mut().enumerate() {
            // Draws that a curve was not given are NaN.
            let values = outcomes.iter().map(|outcome| outcome[at]).filter(|value| !value.is_nan());
            let values: Vec<f64> = values.collect();
            curve.push(mean(&values));
            cells.push(cell(&values));
        }
        let moved = curves[0][curves[0].len() - 1] - curves[0][0];
        let verdict = Verdict::bar(moved.abs() <= BAR, format!("{moved:+.2} from A = 1, at most {BAR}"));
        table.push(cells, Some(verdict));
    }
    let series = curves.iter().zip(CURVES).map(|(curve, name)| Series {
        name: name.into(),
        points: factors.iter().copied().zip(curve.iter().copied()).collect(),
    });
    let figure = Lines {
        title: format!("Non-isotropic data, d = {dim}, K = {k}, m = {size}"),
        x_label: "A: half of the columns are divided by it".into(),
        y_label: "log of symmetric KL".into(),
        series: series.collect(),
    };
    let alt =
        "Log of the symmetric KL divergence against A: auto and EM stay level, the published scheme rises.";
    let figure = Figure { file: "non-isotropic.png".into(), alt: alt.into(), png: figure.to_png()? };
    let text = format!(
        "K = {k} unit Gaussians in d = {dim} columns with means N(0, K^(2/d) I), then the first half of the columns of means and deviations divided by A; {n_rows} rows, m = {size}, {draws} draws. \
         The published scheme has no transform and one scale for all columns, estimated on 10,000 rows; `auto` and the second column decode one sketch with the program's own design, which scales each \
         column by its robust spread. EM is the best of ten restarts; its draws are the first {}.",
        EM_DRAWS.min(draws)
    );
    Ok(Report { text: vec![text], tables: vec![table], figures: vec![figure], ..Report::default() })
}

/// EM is a level line here, so it gets fewer draws.
const EM_DRAWS: usize = 5;

/// Log-KL of the four curves.
fn one_draw(
    (k, dim, n_rows, size): (usize, usize, usize, usize),
    factor: f64,
    draw: u64,
) -> Result<[f64; 4]> {
    let mut rng = Rng::derived(4000, draw);
    let truth = generate::stretched(k, dim, factor, &mut rng)?;
    let sample = truth.sample(n_rows, &mut rng)?;
    let kl = |mixture| log_kl(&truth, &mixture, n_rows);
    let ours = designed(&sample, k, size, LawChoice::AdaptedRadius, draw)?;
    let scale = fits::estimated_scale(&sample.values, dim, draw)?;
    let law = FrequencyLaw::AdaptedRadius;
    let published = fits::untransformed(&sample.values, dim, law, scale, size, draw)?;
    let em = if draw < EM_DRAWS as u64 { kl(em_best(&sample, k, draw, 10)?)? } else { f64::NAN };
    Ok([
        kl(ours.mixture(k, Decoder::Auto, 1)?)?,
        kl(ours.published_mixture(k)?)?,
        kl(published.published_mixture(k)?)?,
        em,
    ])
}
