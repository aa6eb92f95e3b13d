//! Private k-means: one private sketch against DP-Lloyd, for three sizes of table and budgets from 0.01 to
//! 10.

use compressive::design::{Request, Task};
use compressive::learn::Decoder;
use compressive::privacy::PrivacyParams;

use crate::error::Result;
use crate::experiment::clusters::cell;
use crate::experiment::draws::{self, median};
use crate::experiment::report::{Cell, Figure, Report, Table, Verdict};
use crate::experiment::{Experiment, Options, Progress, fits};
use crate::plot::{Lines, Series};
use compressive_data::{Bounds, KMeansParams, PrivateKMeansParams, PrivateStart, Rng, Rows};
use compressive_data::{generate, lloyd, private_kmeans, sse};

/// \[Sch21\] section 5.3.1, figure 5.2.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "private-kmeans",
    title: "Private k-means: a private sketch against DP-Lloyd",
    reference: "[Sch21] section 5.3.1 and figure 5.2 (k = d = 10, n = 1e7, s = 2.5); [CSH21]",
    work: run,
};

const K: usize = 10;
const DIM: usize = 10;
const SEPARATION: f64 = 2.5;
/// Half-width of the declared box, in every column and for all methods.
const BOX: f64 = 15.0;
/// Rows on which all sums of squares are taken.
const EVALUATED: usize = 100_000;
/// The methods, with the names of their curves.
const METHODS: [&str; 3] = ["sketch", "DP-Lloyd, uniform start", "DP-Lloyd, spread start"];

/// Rows of a table and the budgets they are tried with.
type Block = (usize, &'static [f64]);

const FULL: [Block; 3] = [
    (100_000, &[0.01, 0.03, 0.1, 0.3, 1.0, 10.0]),
    (1_000_000, &[0.01, 0.03, 0.1, 0.3, 1.0, 10.0]),
    (10_000_000, &[0.01, 0.1, 1.0, 10.0]),
];
const QUICK: [Block; 1] = [(100_000, &[0.1, 1.0])];

/// Largest median relative SSE, for a number of rows and a budget.
const BARS: [(usize, f64, f64); 2] = [(1_000_000, 0.1, 1.05), (10_000_000, 0.01, 1.10)];
/// Rows from which on the sketch must be ahead of DP-Lloyd at every budget.
const AHEAD: usize = 1_000_000;

/// Relative SSE of the methods with one budget, and the frequencies that were planned.
#[derive(Clone, Copy)]
struct Outcome {
    rsse: [f64; 3],
    size: usize,
}

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report> {
    let blocks: &[Block] = options.pick(&FULL, &QUICK);
    let draws = options.draws(20, 2);
    let columns = ["n", "epsilon", "sketch", "m", METHODS[1], METHODS[2]];
    let mut table = Table::new("Median relative SSE (share of draws at most 1.05)", &columns);
    let mut figures = Vec::new();
    for &(n_rows, budgets) in blocks {
        let label = format!("n = {n_rows:.0e}", n_rows = n_rows as f64);
        let outcomes =
            draws::map(draws, options.threads, &label, progress, |draw| one_draw(n_rows, budgets, draw))?;
        let mut curves: [Vec<f64>; 3] = Default::default();
        for (at, &epsilon) in budgets.iter().enumerate() {
            let of = |method: usize| outcomes.iter().map(|draw| draw[at].rsse[method]).collect::<Vec<_>>();
            let mut cells = vec![
                Cell::text(format!("{:.0e}", n_rows as f64)).with("rows", n_rows as f64),
                Cell::text(epsilon.to_string()).with("epsilon", epsilon),
            ];
            cells.extend((0..METHODS.len()).map(|method| cell(&of(method))));
            cells.insert(3, Cell::number("size", outcomes[0][at].size as f64, 0));
            curves.iter_mut().enumerate().for_each(|(method, curve)| curve.push(median(&of(method))));
            table.push(cells, judge(n_rows, epsilon, curves.each_ref().map(|curve| curve[at])));
        }
        figures.push(figure(n_rows, budgets, &curves)?);
    }
    Ok(Report { text: text(draws), tables: vec![table], figures, ..Report::default() })
}

/// The verdict on the medians of a row.
fn judge(n_rows: usize, epsilon: f64, medians: [f64; 3]) -> Option<Verdict> {
    let mut met = true;
    let mut words = Vec::new();
    for (_, _, bar) in BARS.iter().filter(|(rows, budget, _)| (*rows, *budget) == (n_rows, epsilon)) {
        met &= medians[0] <= *bar;
        words.push(format!("median at most {bar:.2}"));
    }
    if n_rows >= AHEAD {
        met &= medians[0] < medians[1] && medians[0] < medians[2];
        words.push("ahead of DP-Lloyd".into());
    }
    (!words.is_empty()).then(|| Verdict::bar(met, words.join(", ")))
}

fn figure(n_rows: usize, budgets: &[f64], curves: &[Vec<f64>; 3]) -> Result<Figure> {
    let series = curves.iter().zip(METHODS).map(|(curve, name)| Series {
        name: name.into(),
        points: budgets.iter().zip(curve).map(|(epsilon, rsse)| (epsilon.log10(), rsse.log10())).collect(),
    });
    let lines = Lines {
        title: format!("Private k-means, k = d = {K}, n = {:.0e}", n_rows as f64),
        x_label: "log10 of epsilon".into(),
        y_label: "log10 of relative SSE".into(),
        series: series.collect(),
    };
    Ok(Figure {
        file: format!("private-kmeans-{:.0e}.png", n_rows as f64),
        alt: format!(
            "Median relative SSE of {} against epsilon for {n_rows} rows, both as logarithms to base 10.",
            METHODS.join(", ")
        ),
        png: lines.to_png()?,
    })
}

fn text(draws: usize) -> Vec<String> {
    vec![
        format!(
            "k = {K} unit Gaussians of equal weight in d = {DIM} columns with means N(0, (s k^(1/d))^2 I), s = {SEPARATION}; {draws} draws a cell of data, frequencies and noise. Neighbours are add-remove and \
             the promise is pure epsilon. All methods know that the columns lie in [-{BOX}, {BOX}], and nothing else: DP-Lloyd clips rows to this box, the sketch need not."
        ),
        format!(
            "The sketch pays everything from epsilon, as the program does: {:.0}% for the scale of the frequencies, the rest for sums and number of rows; m is planned from n and epsilon before a row is seen, \
             and `auto` decodes. DP-Lloyd has the split and the number of iterations of [SCL16], with centres that start anywhere in the box or spread over it. Both plan with the true n, of which a user knows \
             the order of magnitude. The noise is seeded here; a release has the operating system's.",
            100.0 * fits::PILOT_SHARE
        ),
        format!(
            "All sums of squares, that of the reference (Lloyd's algorithm from the true means) included, are taken on the first {EVALUATED} rows; the private methods saw all n."
        ),
    ]
}

/// Relative SSE for every budget, on one table. Memory: 8 d + 4 bytes a row.
fn one_draw(n_rows: usize, budgets: &[f64], draw: u64) -> Result<Vec<Outcome>> {
    let mut rng = Rng::derived(8000, draw);
    let truth = generate::separated(K, DIM, SEPARATION, &mut rng)?;
    let sample = truth.sample(n_rows, &mut rng)?;
    let rows = sample.rows()?;
    let evaluated = Rows::new(&sample.values[..n_rows.min(EVALUATED) * DIM], DIM)?;
    let reference =
        lloyd(evaluated, &truth.means, &KMeansParams { threads: 1, ..KMeansParams::default() })?.sse;
    let bounds = Bounds::cube(DIM, BOX);
    let mut outcomes = Vec::new();
    for (at, &epsilon) in budgets.iter().enumerate() {
        let seed = 100 * draw + at as u64;
        let baseline = |start| -> Result<f64> {
            let params =
                PrivateKMeansParams { epsilon, start, seed, threads: 1, ..PrivateKMeansParams::default() };
            Ok(sse(evaluated, &private_kmeans(rows, K, &bounds, &params)?.centers)?)
        };
        let params = Request::new(Task::Kmeans, K).outline(false).bounds(fits::cube(DIM, BOX)).seed(draw);
        let privacy = PrivacyParams::new(epsilon);
        let sketched = fits::private(&sample.values, DIM, &params, &privacy, seed)?;
        let ours = sse(evaluated, &sketched.centers(K, Decoder::Auto, 1)?)?;
        let all = [ours, baseline(PrivateStart::Uniform)?, baseline(PrivateStart::Spread)?];
        outcomes.push(Outcome { rsse: all.map(|sse| sse / reference), size: sketched.operator.spec().size });
    }
    Ok(outcomes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::report::Outcome as Is;

    #[test]
    fn rows_are_judged_by_their_bar_and_against_both_baselines() {
        let outcome = |n, epsilon, medians| judge(n, epsilon, medians).map(|verdict| verdict.outcome);
        assert_eq!(outcome(100_000, 0.1, [9.0, 1.0, 1.0]), None);
        assert_eq!(outcome(1_000_000, 0.1, [1.06, 2.0, 2.0]), Some(Is::Missed));
        assert_eq!(outcome(1_000_000, 0.1, [1.04, 2.0, 2.0]), Some(Is::Met));
        assert_eq!(outcome(1_000_000, 0.1, [1.04, 2.0, 1.03]), Some(Is::Missed));
        assert_eq!(outcome(10_000_000, 0.01, [1.09, 2.0, 2.0]), Some(Is::Met));
        assert_eq!(outcome(10_000_000, 0.1, [1.2, 1.3, f64::NAN]), Some(Is::Missed));
    }
}
