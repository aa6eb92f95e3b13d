//! Seconds of compressive k-means against the number of rows, beside Lloyd's algorithm on all of them.

use compressive::design::{Request, Task};
use compressive::learn::Decoder;

use crate::error::Result;
use crate::experiment::clock::{self, THREADS, timed, timed_median};
use crate::experiment::report::{Cell, Report, Table, Verdict};
use crate::experiment::{Experiment, Options, Progress, fits};
use compressive_data::{KMeansParams, Rng, generate, kmeans, sse};

/// The times of \[KTTG17\] section 4.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "kmeans-time",
    title: "Compressive k-means: seconds against the number of rows",
    reference: "[KTTG17] section 4 (k = d = 10, m = 1000; one run up to 150 times faster than k-means with 5 starts at n = 1e7, the sketch not counted)",
    work: run,
};

const K: usize = 10;
const DIM: usize = 10;
const SIZE: usize = 1000;
/// Separation of the paper's clusters.
const SEPARATION: f64 = 1.5;
/// Starts of Lloyd's algorithm.
const STARTS: [usize; 2] = [1, 5];
/// How many times faster than five starts the paper is at its largest n, and the factor within which that is
/// a reproduction.
const PUBLISHED: (f64, f64) = (150.0, 1.5);
/// Rows from which on sketch and fit together must be ahead of five starts.
const LARGE: usize = 1_000_000;

/// Seconds and relative SSE at one number of rows.
struct Outcome {
    sketch: f64,
    /// `cl-ompr` as published, then `auto`: the fit alone.
    fits: [f64; 2],
    lloyd: [f64; 2],
    /// Of `cl-ompr`, `auto`, and Lloyd with one and with five starts.
    rsse: [f64; 4],
}

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report> {
    let sizes: &[usize] = options.pick(&[10_000, 100_000, 1_000_000, 10_000_000], &[10_000, 100_000]);
    let mut outcomes = Vec::new();
    for &n_rows in sizes {
        progress(&format!("{n_rows} rows"));
        outcomes.push(one(n_rows, options.draws(3, 1))?);
    }
    let mut report =
        Report { text: text(), tables: tables(sizes, &outcomes, options.quick), ..Report::default() };
    let of = |pick: fn(&Outcome) -> f64| outcomes.iter().map(pick).collect::<Vec<_>>();
    let curves = vec![
        ("sketch", of(|o| o.sketch)),
        ("fit by cl-ompr", of(|o| o.fits[0])),
        ("fit by auto", of(|o| o.fits[1])),
        ("Lloyd, 1 start", of(|o| o.lloyd[0])),
        ("Lloyd, 5 starts", of(|o| o.lloyd[1])),
    ];
    let title = ("k-means, k = d = 10, m = 1000", "seconds");
    report.figures = vec![clock::figure("kmeans-time.png", title, sizes, curves)?];
    Ok(report)
}

/// Measures all methods on one table; fits are repeated, passes over large tables are not.
fn one(n_rows: usize, repeats: usize) -> Result<Outcome> {
    let mut rng = Rng::derived(12_000, 0);
    let sample = generate::separated(K, DIM, SEPARATION, &mut rng)?.sample(n_rows, &mut rng)?;
    let params = Request::new(Task::Kmeans, K).outline(false).size(SIZE);
    let (sketched, sketch) = timed_median(if n_rows < LARGE { repeats } else { 1 }, || {
        fits::sketch_on(&sample.values, fits::spec(&sample.values, DIM, &params)?, THREADS)
    })?;
    let (greedy, greedy_seconds) = timed_median(repeats, || sketched.published_centers(K, 1))?;
    let (auto, auto_seconds) = timed_median(repeats, || sketched.centers(K, Decoder::Auto, THREADS))?;
    let mut lloyd = [0.0; 2];
    let mut losses = [sse(sample.rows()?, &greedy)?, sse(sample.rows()?, &auto)?, 0.0, 0.0];
    for (at, n_init) in STARTS.into_iter().enumerate() {
        let params = KMeansParams { n_init, threads: THREADS, ..KMeansParams::default() };
        let (fit, seconds) = timed(|| Ok(kmeans(sample.rows()?, K, &params)?))?;
        (lloyd[at], losses[2 + at]) = (seconds, fit.sse);
    }
    let best = losses.iter().copied().fold(f64::MAX, f64::min);
    Ok(Outcome { sketch, fits: [greedy_seconds, auto_seconds], lloyd, rsse: losses.map(|loss| loss / best) })
}

fn tables(sizes: &[usize], outcomes: &[Outcome], quick: bool) -> Vec<Table> {
    let columns = ["n", "sketch", "fit, `cl-ompr`", "fit, `auto`", "Lloyd, 1 start", "Lloyd, 5 starts"];
    let mut seconds = Table::new(format!("Seconds on {THREADS} threads"), &columns);
    let columns = ["n", "fit by `cl-ompr`", "fit by `auto`", "sketch and `cl-ompr`", "sketch and `auto`"];
    let mut ratios = Table::new("How many times faster than Lloyd's algorithm with 5 starts", &columns);
    let columns = ["n", "`cl-ompr`", "`auto`", "Lloyd, 1 start", "Lloyd, 5 starts"];
    let mut quality = Table::new("SSE relative to the best of the four", &columns);
    for (&n_rows, outcome) in sizes.iter().zip(outcomes) {
        let parts = [outcome.sketch, outcome.fits[0], outcome.fits[1], outcome.lloyd[0], outcome.lloyd[1]];
        let row =
            |cells: &mut dyn Iterator<Item = Cell>| [clock::rows(n_rows)].into_iter().chain(cells).collect();
        seconds.push(row(&mut parts.into_iter().map(clock::cell)), None);
        let all = |fit: f64| outcome.sketch + fit;
        let faster = [outcome.fits[0], outcome.fits[1], all(outcome.fits[0]), all(outcome.fits[1])]
            .map(|ours| outcome.lloyd[1] / ours);
        let last = Some(&n_rows) == sizes.last();
        let verdict = match n_rows {
            _ if quick => None,
            _ if last => Some(Verdict::speedup(faster[0], PUBLISHED.0, PUBLISHED.1)),
            n if n >= LARGE => Some(Verdict::bar(faster[3] > 1.0, "sketch and `auto` together are faster")),
            _ => None,
        };
        ratios.push(row(&mut faster.into_iter().map(clock::times)), verdict);
        quality.push(row(&mut outcome.rsse.into_iter().map(|rsse| Cell::number("rsse", rsse, 3))), None);
    }
    vec![seconds, ratios, quality]
}

fn text() -> Vec<String> {
    vec![
        format!(
            "k = {K} unit Gaussians of equal weight in d = {DIM} columns with means N(0, ({SEPARATION} k^(1/d))^2 I), the rows in memory as 64-bit numbers; m = {SIZE}, recipe by the program on 10,000 rows (its seconds are among the sketch's). \
             `cl-ompr` has point atoms and one start an atom, as published, and uses one thread. Lloyd's algorithm has greedy k-means++ starts and stops when the centres hardly move."
        ),
        "The paper times MATLAB programs and leaves out the sketch; its number is the verdict on the first column of ratios at the largest n. A user pays for the sketch, too: the last two columns. The sketch is made once for any number of fits.".into(),
    ]
}
