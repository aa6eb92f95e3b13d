//! Local privacy: readings that answer for themselves. What their reports show of epsilon, and which clusters
//! are found in them.

use std::f64::consts::{FRAC_PI_4, PI};

use compressive::design::{Request, Task};
use compressive::features::packed;
use compressive::learn::Decoder;
use compressive::privacy::{LocalResponse, PrivateSketch, SeededEntropy};
use compressive::{FrequencyLaw, RowsRef, Scratch, SketchOperator, SketchSpec, Wave, Waves};

use crate::epsilon_bound::epsilon_lower_bound;
use crate::error::Result;
use crate::experiment::clusters::cell;
use crate::experiment::draws::{self, median};
use crate::experiment::fits::{self, Sketched};
use crate::experiment::report::{Cell, Figure, Report, Table, Verdict};
use crate::experiment::{Experiment, Options, Progress};
use crate::plot::{Lines, Series};
use compressive_data::{KMeansParams, Rng, Rows, generate, lloyd, sse};

/// Reports of one-bit features under local differential privacy.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "local-privacy",
    title: "Local privacy: k-means from readings that answer for themselves",
    reference: "subsampled entries after [CSH21] and [Sch21] figure 5.2, reported by randomised response; no published numbers; Jagielski, Ullman and Oprea (2020) for the audit",
    work: run,
};

const K: usize = 10;
const DIM: usize = 10;
const SEPARATION: f64 = 2.5;
/// Rows on which sums of squares are taken.
const EVALUATED: usize = 100_000;
/// Readings reported at once.
const CHUNK: usize = 10_000;
/// Sizes m in units of k d; the first is the one that is judged.
const RATIOS: [usize; 3] = [2, 4, 8];
/// Budgets of one reading.
const BUDGETS: [f64; 4] = [1.0, 2.0, 4.0, 8.0];
/// Readings, budget and largest median relative SSE.
const BAR: (usize, f64, f64) = (1_000_000, 4.0, 1.2);
/// Probability that a bound of the audit is above the true epsilon.
const ERROR: f64 = 0.001;
/// Claims of the audit, and the factors by which the budget that is really spent is larger.
const CLAIMS: [f64; 3] = [1.0, 2.0, 4.0];
const OVERSPENT: [f64; 2] = [1.0, 1.3];

/// Relative SSE with one size: of reports with the chosen number of entries and with a single one, by budget;
/// and of exact bits.
struct Outcome {
    reports: Vec<[f64; 2]>,
    exact: f64,
}

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report> {
    let draws = options.draws(20, 1);
    let rows: &[usize] = options.pick(&[100_000, 1_000_000], &[100_000]);
    let ratios: &[usize] = options.pick(&RATIOS, &RATIOS[..1]);
    let columns = ["n", "m / (k d)", "epsilon", "entries reported", "RSSE", "RSSE, one entry reported"];
    let mut table =
        Table::new("k-means from reports: median relative SSE (share of draws at most 1.05)", &columns);
    let mut figures = Vec::new();
    for &n_rows in rows {
        let label = format!("n = {:.0e}", n_rows as f64);
        let outcomes =
            draws::map(draws, options.threads, &label, progress, |draw| one_draw(n_rows, ratios, draw))?;
        let mut curves = Vec::new();
        for (at, &ratio) in ratios.iter().enumerate() {
            let of = |outcomes: &[Vec<Outcome>], pick: &dyn Fn(&Outcome) -> f64| {
                outcomes.iter().map(|draw| pick(&draw[at])).collect::<Vec<f64>>()
            };
            let mut curve = Vec::new();
            for (which, &epsilon) in BUDGETS.iter().enumerate() {
                let by_method = [0, 1].map(|method| of(&outcomes, &|o| o.reports[which][method]));
                curve.push((epsilon.log2(), median(&by_method[0]).log10()));
                let mut cells = head(n_rows, ratio, &epsilon.to_string());
                cells.push(Cell::number("entries", f64::from(entries(epsilon)?), 0));
                cells.extend(by_method.iter().map(|losses| cell(losses)));
                table.push(cells, judge(n_rows, ratio, epsilon, median(&by_method[0])));
            }
            let exact = of(&outcomes, &|o| o.exact);
            let mut cells = head(n_rows, ratio, "exact bits");
            cells.extend([Cell::text("all"), cell(&exact), Cell::text("")]);
            table.push(cells, None);
            curves.push(curve);
        }
        figures.push(figure(n_rows, ratios, curves)?);
    }
    let audit = audit_table(options, progress)?;
    Ok(Report { text: text(draws), tables: vec![table, audit], figures, ..Report::default() })
}

fn head(n_rows: usize, ratio: usize, epsilon: &str) -> Vec<Cell> {
    vec![
        Cell::text(format!("{:.0e}", n_rows as f64)).with("rows", n_rows as f64),
        Cell::number("ratio", ratio as f64, 0),
        Cell::text(epsilon),
    ]
}

fn judge(n_rows: usize, ratio: usize, epsilon: f64, loss: f64) -> Option<Verdict> {
    let judged = (n_rows, epsilon) == (BAR.0, BAR.1) && ratio == RATIOS[0];
    judged.then(|| Verdict::bar(loss <= BAR.2, format!("median at most {}", BAR.2)))
}

/// A spec of one-bit features at the unit frequencies of two columns.
fn plain_spec() -> SketchSpec {
    let frequencies = vec![vec![1.0, 0.0], vec![0.0, 1.0]];
    SketchSpec::new(["x1", "x2"], Waves::new(Wave::OneBit, FrequencyLaw::Explicit { frequencies }), 1.0, 2)
}

/// Entries that a reading tells with a budget, where there are many.
fn entries(epsilon: f64) -> Result<u32> {
    let spec = SketchSpec::new(["x"], Waves::new(Wave::OneBit, FrequencyLaw::Gaussian), 1.0, 100);
    Ok(LocalResponse::new(&spec, epsilon)?.entries())
}

fn one_draw(n_rows: usize, ratios: &[usize], draw: u64) -> Result<Vec<Outcome>> {
    let mut rng = Rng::derived(15_000, draw);
    let truth = generate::separated(K, DIM, SEPARATION, &mut rng)?;
    let sample = truth.sample(n_rows, &mut rng)?;
    let evaluated = Rows::new(&sample.values[..n_rows.min(EVALUATED) * DIM], DIM)?;
    let reference =
        lloyd(evaluated, &truth.means, &KMeansParams { threads: 1, ..KMeansParams::default() })?.sse;
    let one = |ratio: &usize| -> Result<Outcome> {
        let params = Request::new(Task::Kmeans, K)
            .outline(false)
            .feature(Wave::OneBit)
            .size(ratio * K * DIM)
            .seed(draw);
        let spec = fits::spec(&sample.values, DIM, &params)?;
        let (operator, sums) = fits::accumulated(&sample.values, spec)?;
        let loss = |sketched: &Sketched| -> Result<f64> {
            Ok(sse(evaluated, &sketched.centers(K, Decoder::Auto, 1)?)? / reference)
        };
        let mut sketched = Sketched { moments: sums.moments()?, operator };
        let exact = loss(&sketched)?;
        let mut reports = Vec::new();
        for (which, &epsilon) in BUDGETS.iter().enumerate() {
            let spec = sketched.operator.spec();
            let answers =
                [LocalResponse::new(spec, epsilon)?, LocalResponse::with_entries(spec, epsilon, 1)?];
            let mut losses = [f64::NAN; 2];
            for (method, answer) in answers.iter().enumerate() {
                // Where one entry is the choice, it is the same method.
                if method == 1 && answers[0].entries() == 1 {
                    losses[1] = losses[0];
                    continue;
                }
                let seed = 1000 * draw + 10 * which as u64 + method as u64;
                let reported = add_up(&sketched.operator, &sample.values, answer, seed)?;
                sketched.moments = reported.moments();
                losses[method] = loss(&sketched)?;
            }
            reports.push(losses);
        }
        Ok(Outcome { reports, exact })
    };
    ratios.iter().map(one).collect()
}

/// All readings' reports, added up.
fn add_up(
    operator: &SketchOperator,
    values: &[f64],
    answer: &LocalResponse,
    seed: u64,
) -> Result<PrivateSketch> {
    let mut entropy = SeededEntropy::new(seed);
    let (mut bits, mut buffer, mut sum) = (Vec::new(), Scratch::default(), None::<PrivateSketch>);
    for rows in values.chunks(CHUNK * operator.dim()) {
        bits.clear();
        packed(operator, 2, RowsRef::F64(rows), &mut bits, &mut buffer)?;
        let more = LocalResponse::add_up(operator.spec(), &answer.reports(&bits, &mut entropy)?)?;
        match &mut sum {
            None => sum = Some(more),
            Some(sum) => sum.merge(&more)?,
        }
    }
    Ok(sum.ok_or(compressive_data::Error::TooFewRows { what: "reports", rows: 0, needed: 1 })?)
}

fn audit_table(options: &Options, progress: &mut Progress<'_>) -> Result<Table> {
    let reports = options.pick(2_000_000, 200_000);
    let columns = ["claimed epsilon", "entries reported", "spent", "epsilon is at least"];
    let mut table = Table::new(
        format!("Audit: lower bounds on epsilon from {reports} reports of each of two readings"),
        &columns,
    );
    let all: Vec<(f64, f64)> = CLAIMS.iter().flat_map(|&c| OVERSPENT.map(|factor| (c, factor))).collect();
    let bounds = draws::map(all.len(), options.threads, "audits", progress, |at| {
        let (claim, factor) = all[at as usize];
        audit(claim, factor, reports, at)
    })?;
    for ((claim, factor), bound) in all.into_iter().zip(bounds) {
        let verdict = match factor {
            1.0 => Some(Verdict::bar(bound <= claim, "never above the claim")),
            // The few reports of a quick run cannot show as much.
            _ => (!options.quick).then(|| Verdict::bar(bound > claim, "an overspent budget is caught")),
        };
        let reported = LocalResponse::new(&plain_spec(), claim)?.entries();
        let cells = vec![
            Cell::number("claim", claim, 0),
            Cell::number("entries", f64::from(reported), 0),
            Cell::text(if factor == 1.0 { "as claimed".into() } else { format!("{factor} times the claim") })
                .with("factor", factor),
            Cell::number("bound", bound, 3),
        ];
        table.push(cells, verdict);
    }
    Ok(table)
}

/// The lower bound on epsilon that reports of two readings show whose signs are all opposite. A report is
/// scored by the exact logarithm of its likelihood ratio, up to a factor: 1 if it tells the first reading's
/// word, -1 if the second's, 0 for words in between.
fn audit(claim: f64, factor: f64, reports: usize, seed: u64) -> Result<f64> {
    let operator = plain_spec().build()?;
    let entries = LocalResponse::new(operator.spec(), claim)?.entries();
    let answer = LocalResponse::with_entries(operator.spec(), claim * factor, entries)?;
    let width = 4 * entries as usize;
    let scores = [FRAC_PI_4, FRAC_PI_4 + PI].map(|x| -> Result<Vec<f64>> {
        let (mut bits, mut buffer) = (Vec::new(), Scratch::default());
        packed(&operator, 2, RowsRef::F64(&[x, x]), &mut bits, &mut buffer)?;
        let own = u64::from(x > 1.0);
        let body = answer.reports(&bits.repeat(reports), &mut SeededEntropy::new(2 * seed + own))?;
        let of = |report: &[u8]| -> f64 {
            let ones = report.chunks_exact(4).filter(|entry| entry[0] & 1 == 1).count();
            if ones == entries as usize {
                1.0
            } else if ones == 0 {
                -1.0
            } else {
                0.0
            }
        };
        Ok(body[body.len() - reports * width..].chunks_exact(width).map(of).collect())
    });
    let [first, second] = scores;
    Ok(epsilon_lower_bound(&first?, &second?, 0.0, ERROR)?)
}

fn figure(n_rows: usize, ratios: &[usize], curves: Vec<Vec<(f64, f64)>>) -> Result<Figure> {
    let series =
        ratios.iter().zip(curves).map(|(ratio, points)| Series { name: format!("m = {ratio}kd"), points });
    let lines = Lines {
        title: format!("Local privacy: k-means, k = d = {K}, n = {:.0e}", n_rows as f64),
        x_label: "log2 of epsilon for one reading".into(),
        y_label: "log10 of relative SSE".into(),
        series: series.collect(),
    };
    Ok(Figure {
        file: format!("local-privacy-{:.0e}.png", n_rows as f64),
        alt: format!(
            "Median relative SSE of k-means from local reports of {n_rows} readings against epsilon, for sketches of {ratios:?} times k d frequencies."
        ),
        png: lines.to_png()?,
    })
}

fn text(draws: usize) -> Vec<String> {
    vec![
        format!(
            "k = {K} unit Gaussians of equal weight in d = {DIM} columns with means N(0, (s k^(1/d))^2 I), s = {SEPARATION}; {draws} draws of data, frequencies and answers. Every reading draws a few of the 2m signs of its one-bit features, \
             and tells them as one word by randomised response: nobody, the collector included, learns more of a reading than epsilon allows. The number of signs is the one of least noise; beside it stands what a single sign per reading gives. The spec is the \
             program's own, made on a public sample of 10,000 rows, and `auto` decodes. Answers are seeded here; a sensor has its operating system's randomness."
        ),
        format!(
            "Sums of squares are taken on the first {EVALUATED} rows, relative to Lloyd's algorithm from the true means. Each reading tells as many signs whatever m is, so that the noise of a mean grows with m; there are more of them, and what they tell together hardly depends on m."
        ),
        format!(
            "The audit takes two readings of which every sign is opposite, and two frequencies (4 signs). A report is scored by its exact likelihood ratio; half of the scores choose an event, the other half bounds its probabilities (Clopper-Pearson), and a bound is above the true \
             epsilon with probability at most {ERROR}. The rows with an overspent budget must be caught, or the audit would prove nothing."
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::report::Outcome as Is;

    #[test]
    fn reports_keep_their_claim_and_an_overspent_budget_is_caught() {
        // Seeded: a right claim would fail for one seed in 1000, at most.
        let right = audit(2.0, 1.0, 400_000, 1).expect("an audit");
        let wrong = audit(2.0, 1.3, 400_000, 2).expect("an audit");
        assert!(right <= 2.0 && right > 1.9, "{right}");
        assert!(wrong > 2.3, "{wrong}");
    }

    #[test]
    fn only_the_stated_cell_has_a_bar() {
        let outcome = |n, ratio, epsilon, loss| judge(n, ratio, epsilon, loss).map(|v| v.outcome);
        assert_eq!(outcome(1_000_000, 2, 4.0, 1.19), Some(Is::Met));
        assert_eq!(outcome(1_000_000, 2, 4.0, 1.21), Some(Is::Missed));
        assert_eq!(outcome(1_000_000, 4, 4.0, 1.0), None);
        assert_eq!(outcome(100_000, 2, 4.0, 1.0), None);
    }
}
