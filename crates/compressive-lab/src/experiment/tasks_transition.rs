//! Two tasks from one sketch, against its scale: where k-means succeeds and a mixture fails, and the reverse.

use compressive::FrequencyLaw;
use compressive::design::scale::{ScaleRule, estimate};
use compressive::learn::Decoder;

use crate::error::Result;
use crate::experiment::costs::End;
use crate::experiment::draws::{self, mean, median};
use crate::experiment::report::{Cell, Figure, Report, Table, Verdict};
use crate::experiment::{Experiment, Options, Progress, fits};
use crate::plot::{Lines, Series};
use compressive_data::metric::log_likelihood;
use compressive_data::{KMeansParams, Rng, generate, lloyd, sse};

/// \[Sch21\] figure 6.8.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "tasks-transition",
    title: "k-means and mixtures from one sketch: success against the scale",
    reference: "[Sch21] figure 6.8 (CL-OMPR x3, m = 20Kd, K = 6, d = 5, n = 1e5; no numbers are printed beside the curves)",
    work: run,
};

const K: usize = 6;
const DIM: usize = 5;
const SEPARATION: f64 = 2.5;
/// Runs of `cl-ompr`, of which the best is kept.
const RUNS: usize = 3;
/// A loss up to this is a success: the relative SSE, or the likelihood of the truth over that of the mixture,
/// a row.
const SUCCESS: f64 = 1.3;
/// Laws of the frequencies, with their names.
static LAWS: [(&str, FrequencyLaw); 2] =
    [("adapted-radius", FrequencyLaw::AdaptedRadius), ("folded-gaussian", FrequencyLaw::FoldedGaussian)];
/// Names of the curves: task and decoder.
const CURVES: [&str; 4] = ["k-means, cl-ompr x3", "k-means, auto", "mixture, cl-ompr x3", "mixture, auto"];

/// What is reported for one law and scale.
#[derive(Clone, Copy, Debug)]
struct Point {
    scale: f64,
    /// Shares of successes, by [`CURVES`].
    success: [f64; 4],
    /// Shares of ends above the cost of the solution.
    stuck: [f64; 4],
}

/// One draw: the ends by law, scale and curve, and the two estimated scales.
struct Draw {
    ends: Vec<Vec<[End; 4]>>,
    estimates: [f64; 2],
}

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report> {
    let n_rows = options.pick(100_000, 10_000);
    let draws = options.draws(5, 1);
    let scales: &[f64] = options.pick(&[0.2, 0.4, 0.8, 1.5, 3.0, 6.0, 8.5, 12.0], &[0.4, 1.5]);
    let laws = if options.quick { &LAWS[..1] } else { &LAWS[..] };
    let outcomes =
        draws::map(draws, options.threads, "scales", progress, |draw| one_draw(n_rows, laws, scales, draw))?;
    let columns: Vec<&str> = ["law", "scale"].into_iter().chain(CURVES).collect();
    let mut table = Table::new("Share of successes (share stuck above the cost of the solution)", &columns);
    let mut stated = Table::new("What the thesis states", &["statement", "law", "scales"]);
    let mut figures = Vec::new();
    for (of, (law, _)) in laws.iter().enumerate() {
        let points: Vec<Point> =
            scales.iter().enumerate().map(|(at, &scale)| point(&outcomes, of, at, scale)).collect();
        for point in &points {
            let mut cells =
                vec![Cell::text(*law), Cell::text(point.scale.to_string()).with("scale", point.scale)];
            cells.extend((0..4).map(|curve| share_cell(point, curve)));
            table.push(cells, None);
        }
        state(&mut stated, law, &points);
        figures.push(figure(law, &points)?);
    }
    let estimates =
        [0, 1].map(|rule| median(&outcomes.iter().map(|draw| draw.estimates[rule]).collect::<Vec<_>>()));
    Ok(Report {
        text: text(n_rows, draws, estimates),
        tables: vec![table, stated],
        figures,
        ..Report::default()
    })
}

fn text(n_rows: usize, draws: usize, [width, cloud]: [f64; 2]) -> Vec<String> {
    vec![
        format!(
            "K = {K} unit Gaussians of equal weight in d = {DIM} columns with means N(0, (s K^(1/d))^2 I), s = {SEPARATION}, {n_rows} rows, {draws} draws, m = 20Kd frequencies without a transform, from both laws at \
             the scales of the table, in deviations of a cluster (the thesis does not say its clusters' width, so that its scales cannot be compared). The rule of [KBGP18] for mixtures (`mean-sigma`) gives {width:.2} here, that of \
             [BCGS19] for k-means (`data-variance`) {cloud:.2}: medians over the draws."
        ),
        format!(
            "Success is a relative SSE of at most {SUCCESS}, or a likelihood a row (the geometric mean over the rows) of at least that of the truth divided by {SUCCESS}. `cl-ompr` x{RUNS} keeps the lowest cost of {RUNS} runs, with points for k-means and \
             diagonal Gaussians for mixtures. *Stuck* is an end above the cost of the solution: of points at the centres of Lloyd's algorithm from the true means or of the true mixture; \
             it is not shown for `auto` at k-means, whose atoms are not points."
        ),
    ]
}

/// Shares of successes and of stuck ends; the latter are not shown for `auto` at k-means.
fn share_cell(point: &Point, curve: usize) -> Cell {
    let (success, stuck) = (point.success[curve], point.stuck[curve]);
    let stuck_share = if curve == 1 { String::new() } else { format!(" ({:.0}%)", 100.0 * stuck) };
    Cell::text(format!("{:.0}%{stuck_share}", 100.0 * success)).with("success", success).with("stuck", stuck)
}

/// Successes and stuck ends of one law and scale.
fn point(outcomes: &[Draw], law: usize, at: usize, scale: f64) -> Point {
    let part = |curve: usize, is: fn(&End) -> bool| {
        mean(
            &outcomes
                .iter()
                .map(|draw| f64::from(u8::from(is(&draw.ends[law][at][curve]))))
                .collect::<Vec<_>>(),
        )
    };
    Point {
        scale,
        success: std::array::from_fn(|curve| part(curve, |end| end.loss <= SUCCESS)),
        stuck: std::array::from_fn(|curve| part(curve, End::is_stuck)),
    }
}

/// The statements of the thesis, and that of this project, about the points of one law.
fn state(table: &mut Table, law: &str, points: &[Point]) {
    let won = |point: &Point, curve: usize| point.success[curve] >= 0.5;
    let coarse: Vec<&Point> = points.iter().filter(|p| won(p, 0) && !won(p, 2)).collect();
    let fine: Vec<&Point> = points.iter().filter(|p| won(p, 2) && !won(p, 0)).collect();
    let stuck = |all: &[&Point], curve: usize| mean(&all.iter().map(|p| p.stuck[curve]).collect::<Vec<_>>());
    let percent = |all: &[&Point], curve: usize| match all.is_empty() {
        true => "no such scale".into(),
        false => format!("{:.0}%", 100.0 * stuck(all, curve)),
    };
    let list = |all: &[&Point]| all.iter().map(|p| p.scale.to_string()).collect::<Vec<_>>().join(", ");
    let mut push = |statement: &str, all: &[&Point], met: bool, detail: String| {
        let cells = vec![
            Cell::text(statement),
            Cell::text(law),
            Cell::text(list(all)).with("scales", all.len() as f64),
        ];
        table.push(cells, Some(Verdict::bar(met, detail)));
    };
    push(
        "at coarse scales `cl-ompr` x3 succeeds at k-means and fails at mixtures, without stuck ends of the latter: the sketch lacks the detail",
        &coarse,
        !coarse.is_empty() && stuck(&coarse, 2) <= 0.1,
        format!("at one scale or more, mixtures stuck in at most 10% ({})", percent(&coarse, 2)),
    );
    push(
        "at fine scales `cl-ompr` x3 succeeds at mixtures and fails at k-means, with stuck ends: the search failed",
        &fine,
        !fine.is_empty() && stuck(&fine, 0) >= 0.9,
        format!("at one scale or more, k-means stuck in at least 90% ({})", percent(&fine, 0)),
    );
    let behind = |p: &&Point| p.success[1] < p.success[0] || p.success[3] < p.success[2];
    let lost: Vec<&Point> = points.iter().filter(behind).collect();
    let more = |curve: usize| points.iter().filter(|p| won(p, curve)).count();
    push(
        "not of the thesis: `auto` succeeds at least as often as `cl-ompr` x3, at every scale and both tasks (scales where it does not)",
        &lost,
        lost.is_empty(),
        format!(
            "half of the draws at {} and {} scales (k-means, mixtures) against {} and {}",
            more(1),
            more(3),
            more(0),
            more(2)
        ),
    );
}

fn figure(law: &str, points: &[Point]) -> Result<Figure> {
    let series = CURVES.iter().enumerate().map(|(curve, name)| Series {
        name: (*name).into(),
        points: points.iter().map(|point| (point.scale.log10(), point.success[curve])).collect(),
    });
    let lines = Lines {
        title: format!("Share of successes against the scale, {law}"),
        x_label: "log10 of the scale in deviations of a cluster".into(),
        y_label: "share of successes".into(),
        series: series.collect(),
    };
    Ok(Figure {
        file: format!("tasks-transition-{law}.png"),
        alt: format!("Share of successes against the scale of {law} frequencies: {}.", CURVES.join("; ")),
        png: lines.to_png()?,
    })
}

fn one_draw(n_rows: usize, laws: &[(&str, FrequencyLaw)], scales: &[f64], draw: u64) -> Result<Draw> {
    let mut rng = Rng::derived(13_000, draw);
    let truth = generate::separated(K, DIM, SEPARATION, &mut rng)?;
    let sample = truth.sample(n_rows, &mut rng)?;
    let rows = sample.rows()?;
    let solution = lloyd(rows, &truth.means, &KMeansParams { threads: 1, ..KMeansParams::default() })?;
    let best = log_likelihood(rows, &truth)?;
    let mut ends = Vec::new();
    for (_, law) in laws {
        let mut of_law = Vec::new();
        for &scale in scales {
            let sketched = fits::untransformed(&sample.values, DIM, law.clone(), scale, 20 * K * DIM, draw)?;
            let (points, truths) =
                (sketched.cost_of_centers(&solution.centers)?, sketched.cost_of_mixture(&truth)?);
            let mut found = Vec::new();
            for centers in [sketched.published_centers(K, RUNS)?, sketched.centers(K, Decoder::Auto, 1)?] {
                let cost = sketched.cost_of_centers(&centers)? / points;
                found.push(End { loss: sse(rows, &centers)? / solution.sse, cost });
            }
            for mixture in [sketched.published_mixture_of(K, RUNS)?, sketched.mixture(K, Decoder::Auto, 1)?] {
                let cost = sketched.cost_of_mixture(&mixture)? / truths;
                found.push(End { loss: (best - log_likelihood(rows, &mixture)?).exp(), cost });
            }
            of_law.push(std::array::from_fn(|curve| found[curve]));
        }
        ends.push(of_law);
    }
    let pilot = &sample.values[..DIM * n_rows.min(10_000)];
    let cloud = estimate(ScaleRule::DataVariance, pilot, DIM, draw)?;
    Ok(Draw { ends, estimates: [fits::estimated_scale(&sample.values, DIM, draw)?, cloud] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::report::Outcome;

    #[test]
    fn statements_are_judged_by_scales_and_stuck_ends() {
        let point = |scale, success, stuck| Point { scale, success, stuck };
        let judged = |points: &[Point]| {
            let mut table = Table::new("", &[]);
            state(&mut table, "x", points);
            table.rows.iter().filter_map(|row| row.verdict.as_ref().map(|v| v.outcome)).collect::<Vec<_>>()
        };
        let fine = point(0.1, [0.0, 1.0, 1.0, 1.0], [1.0, 0.0, 0.0, 0.0]);
        let coarse = point(9.0, [1.0, 1.0, 0.0, 0.0], [0.0; 4]);
        assert_eq!(judged(&[fine, coarse]), [Outcome::Met, Outcome::Met, Outcome::Met]);
        let worse = point(9.0, [1.0, 0.5, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]);
        assert_eq!(judged(&[worse]), [Outcome::Missed, Outcome::Missed, Outcome::Missed]);
    }
}
