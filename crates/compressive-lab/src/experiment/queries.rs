//! Linear queries from a sketch: whether the truth lies within the error that is stated, and how large that
//! error is.

use compressive::ask::query::{Estimate, Query, QueryParams, Value, answer};
use compressive::design::{Request, Task};
use compressive::privacy::PrivacyParams;
use compressive::{Bounds, Wave};

use crate::error::Result;
use crate::experiment::draws::{self, median};
use crate::experiment::fits::{self, Sketched};
use crate::experiment::questions::{KINDS, Question};
use crate::experiment::report::{Cell, Report, Table, Verdict};
use crate::experiment::{Experiment, Options, Progress, images};
use compressive_data::Rows;
use compressive_data::{Rng, generate};

/// Queries answered from sketches.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "queries",
    title: "Linear queries from a sketch: coverage of the stated error",
    reference: "[HSC22] (any linear query from a sketch of features)",
    work: run,
};

/// Where the rows come from.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Data {
    Mixture,
    Uniform,
    Skewed,
    Heavy,
    Ring,
    Digits,
}

/// What is sketched how.
struct Case {
    name: &'static str,
    data: Data,
    how: How,
}

#[derive(Clone, Copy, PartialEq)]
enum How {
    Task(Task),
    OneBit,
    Private(f64),
}

const KMEANS: How = How::Task(Task::Kmeans);
const GMM: How = How::Task(Task::Gmm);

const CASES: [Case; 10] = [
    Case { name: "ten Gaussians, d = 5", data: Data::Mixture, how: KMEANS },
    Case { name: "the same, sketch for mixtures", data: Data::Mixture, how: GMM },
    Case { name: "the same, one-bit", data: Data::Mixture, how: How::OneBit },
    Case { name: "the same, private, epsilon 1", data: Data::Mixture, how: How::Private(1.0) },
    Case { name: "uniform, d = 3", data: Data::Uniform, how: KMEANS },
    Case { name: "exponential, d = 4", data: Data::Skewed, how: KMEANS },
    Case { name: "the same, sketch for mixtures", data: Data::Skewed, how: GMM },
    Case { name: "Laplace, correlated, d = 3", data: Data::Heavy, how: KMEANS },
    Case { name: "ring, d = 2", data: Data::Ring, how: KMEANS },
    Case { name: "digits, PCA to 10", data: Data::Digits, how: KMEANS },
];

/// Queries asked of each sketch.
const QUERIES: usize = 200;
/// Share of truths that intervals of 95% must hold.
const COVERAGE: f64 = 0.95;

/// One query: its kind, whether the truth was inside, half the interval and the error in units of the scale.
struct Outcome {
    kind: usize,
    inside: bool,
    half_width: f64,
    error: f64,
}

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report> {
    let n_rows = options.pick(100_000, 20_000);
    let draws = options.draws(5, 1);
    let mut columns = vec!["data", "n", "inside"];
    columns.extend(KINDS);
    columns.extend(["half width", "error"]);
    let mut table = Table::new("Share of true answers inside the stated 95% interval", &columns);
    let cases = if options.quick { &CASES[..1] } else { &CASES[..] };
    for case in cases {
        let outcomes = draws::map(draws, options.threads, case.name, progress, |draw| {
            one_draw(case, n_rows, options, draw)
        })?;
        let rows = if case.data == Data::Digits { 1797 } else { n_rows };
        let all: Vec<&Outcome> = outcomes.iter().flatten().collect();
        let share = |kind: Option<usize>| {
            let own = || all.iter().filter(|o| kind.is_none_or(|k| o.kind == k));
            own().filter(|o| o.inside).count() as f64 / own().count().max(1) as f64
        };
        let of = |pick: &dyn Fn(&Outcome) -> f64| median(&all.iter().map(|o| pick(o)).collect::<Vec<f64>>());
        let mut cells = vec![
            Cell::text(case.name),
            Cell::number("rows", rows as f64, 0),
            Cell::number("inside", share(None), 3).with("queries", all.len() as f64),
        ];
        cells.extend((0..KINDS.len()).map(|kind| Cell::number("inside", share(Some(kind)), 2)));
        cells.push(Cell::number("half_width", of(&|o| o.half_width), 4));
        cells.push(Cell::number("error", of(&|o| o.error), 4));
        let verdict = Verdict::bar(share(None) >= COVERAGE, format!("at least {COVERAGE}"));
        table.push(cells, Some(verdict));
    }
    Ok(Report { text: text(draws), tables: vec![table], ..Report::default() })
}

fn text(draws: usize) -> Vec<String> {
    vec![
        format!(
            "{QUERIES} random queries of each of {draws} sketches: means of powers up to 3 and variances; means of products and correlations; shares at most a threshold; shares in boxes of one or two \
             columns; quantiles. Thresholds are values of random rows. The sketch is the program's own for k = 10; the truth is taken over all rows."
        ),
        "Half width: the median of half the 95% interval, and error: the median error, both in standard deviations of what is averaged (of the column for a quantile, 1 for a correlation)."
            .into(),
    ]
}

fn one_draw(case: &Case, n_rows: usize, options: &Options, draw: u64) -> Result<Vec<Outcome>> {
    let mut rng = Rng::derived(41, draw);
    let (values, dim) = rows_of(case.data, n_rows, options, &mut rng)?;
    let rows = Rows::new(&values, dim)?;
    let Sketched { operator, moments } = sketched(case.how, rows, draw)?;
    let questions: Vec<Question> = (0..QUERIES).map(|_| Question::draw(rows, &mut rng)).collect();
    let queries = questions.iter().map(|q| Query::parse(&q.text(), &operator.spec().columns));
    let queries = queries.collect::<std::result::Result<Vec<_>, _>>()?;
    let answers = answer(&operator, &moments, &queries, &QueryParams::default().seed(draw))?;
    let outcome = |(question, value): (&Question, &Value)| {
        let (truth, scale) = question.truth(rows);
        let Value::Number(Estimate { value, low, high, .. }) = value else { unreachable!("no histograms") };
        // The scale of a share that is 0 or 1 is 0.
        let scale = scale.max(1e-3);
        Outcome {
            kind: question.kind(),
            inside: *low <= truth && truth <= *high,
            half_width: 0.5 * (high - low) / scale,
            error: (value - truth).abs() / scale,
        }
    };
    Ok(questions.iter().zip(answers.iter().map(|a| &a.value)).map(outcome).collect())
}

fn sketched(how: How, rows: Rows<'_>, seed: u64) -> Result<Sketched> {
    let params = Request::new(Task::Kmeans, 10).outline(false).seed(seed);
    let (values, dim) = (rows.values(), rows.dim());
    match how {
        How::Task(task) => fits::designed(values, dim, &params.task(task)),
        How::OneBit => {
            let feature = Wave::OneBit;
            fits::designed(values, dim, &params.feature(feature).dither(true))
        }
        How::Private(epsilon) => {
            let largest = values.iter().fold(0.0f64, |a, x| a.max(x.abs()));
            let bounds = Some(Bounds { low: vec![-largest; dim], high: vec![largest; dim] });
            let privacy = PrivacyParams::new(epsilon).delta(1e-6);
            fits::private(values, dim, &params.bounds(bounds), &privacy, seed)
        }
    }
}

fn rows_of(data: Data, n_rows: usize, options: &Options, rng: &mut Rng) -> Result<(Vec<f64>, usize)> {
    let table = |dim: usize, rng: &mut Rng, row: &dyn Fn(&mut Rng) -> Vec<f64>| {
        ((0..n_rows).flat_map(|_| row(rng)).collect::<Vec<f64>>(), dim)
    };
    Ok(match data {
        Data::Mixture => {
            let sample = generate::unequal(10, 5, 1.5, rng)?.sample(n_rows, rng)?;
            (sample.values, 5)
        }
        Data::Uniform => table(3, rng, &|rng| (0..3).map(|_| rng.between(-1.0, 3.0)).collect()),
        Data::Skewed => table(4, rng, &|rng| {
            let common = rng.gamma(1.0);
            (0..4).map(|c| f64::from(c) * 0.2 * common + rng.gamma(1.0)).collect()
        }),
        Data::Heavy => table(3, rng, &|rng| {
            let (a, b, c) = (rng.laplace(), rng.laplace(), rng.laplace());
            vec![a, 0.8 * a + 0.6 * b, c - 0.5 * b]
        }),
        Data::Ring => (generate::ring(n_rows, 3.0, 0.3, rng).values, 2),
        Data::Digits => images::digits(options.data.as_deref())?,
    })
}
