//! Seconds and memory of compressive mixture learning against the number of rows, beside
//! expectation-maximisation.

use compressive::design::{Request, Task};
use compressive::learn::Decoder;

use crate::error::Result;
use crate::experiment::clock::{self, THREADS, timed, timed_median};
use crate::experiment::fits::{self, PILOT_ROWS};
use crate::experiment::mixtures::parameters;
use crate::experiment::report::{Cell, Figure, Report, Table, Verdict};
use crate::experiment::{Experiment, Options, Progress};
use compressive_data::{EmParams, Rng, em, generate};

/// \[KBGP18\] figure 6.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "mixture-cost",
    title: "Gaussian mixtures: seconds and memory against the number of rows",
    reference: "[KBGP18] figure 6 (d = 10, K = 5, m = 5(2d+1)K; curves only, no numbers are printed)",
    work: run,
};

const K: usize = 5;
const DIM: usize = 10;
/// m in units of K(2d+1).
const SIZE: usize = 5;
/// The learning methods.
const DECODERS: [(&str, Decoder); 4] = [
    ("`cl-omp`", Decoder::ClOmp),
    ("`cl-ompr`", Decoder::ClOmpr),
    ("`split`", Decoder::Split),
    ("`auto`", Decoder::Auto),
];
/// Restarts of EM, and the iterations of each, in the paper.
const EM: (usize, usize) = (10, 100);
/// "Several orders of magnitude" less memory is at least this many times less.
const ORDERS: f64 = 100.0;
/// Bytes of a number.
const NUMBER: usize = 8;

/// Seconds at one number of rows.
struct Outcome {
    sketch: f64,
    learn: [f64; 4],
    /// One run, and the paper's ten.
    em: [f64; 2],
}

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report> {
    let sizes: &[usize] = options.pick(&[10_000, 100_000, 1_000_000, 3_000_000], &[10_000, 30_000]);
    let mut outcomes = Vec::new();
    for &n_rows in sizes {
        progress(&format!("{n_rows} rows"));
        outcomes.push(one(n_rows, options.draws(3, 1))?);
    }
    Ok(Report {
        text: text(),
        tables: vec![time_table(sizes, &outcomes, options.quick), memory_table(sizes, options.quick)],
        figures: figures(sizes, &outcomes)?,
        ..Report::default()
    })
}

fn one(n_rows: usize, repeats: usize) -> Result<Outcome> {
    let mut rng = Rng::derived(13_000, 0);
    let sample = generate::random_variances(K, DIM, &mut rng)?.sample(n_rows, &mut rng)?;
    let size = Some(SIZE * parameters(K, DIM));
    let params = Request::new(Task::Gmm, K).outline(false).size(size);
    let (sketched, sketch) =
        timed(|| fits::sketch_on(&sample.values, fits::spec(&sample.values, DIM, &params)?, THREADS))?;
    let mut learn = [0.0; 4];
    for (seconds, (_, decoder)) in learn.iter_mut().zip(DECODERS) {
        *seconds = timed_median(repeats, || sketched.mixture(K, decoder, THREADS))?.1;
    }
    let mut seconds = [0.0; 2];
    for (seconds, n_init) in seconds.iter_mut().zip([1, EM.0]) {
        // One iteration at most after the restarts: the paper has none.
        let params = EmParams {
            n_init,
            restart_iterations: EM.1,
            max_iterations: 1,
            threads: THREADS,
            ..EmParams::default()
        };
        *seconds = timed(|| Ok(em(sample.rows()?, K, &params)?))?.1;
    }
    Ok(Outcome { sketch, learn, em: seconds })
}

fn time_table(sizes: &[usize], outcomes: &[Outcome], quick: bool) -> Table {
    let mut columns = vec!["n", "sketch"];
    columns.extend(DECODERS.map(|(name, _)| name));
    columns.extend(["EM, 1 run", "EM, 10 runs", "EM, 10 runs, over sketch and `auto`"]);
    let mut table = Table::new(format!("Seconds on {THREADS} threads"), &columns);
    for (&n_rows, outcome) in sizes.iter().zip(outcomes) {
        let mut cells = vec![clock::rows(n_rows), clock::cell(outcome.sketch)];
        cells.extend(outcome.learn.into_iter().chain(outcome.em).map(clock::cell));
        cells.push(clock::times(outcome.em[1] / (outcome.sketch + outcome.learn[3])));
        // The text's claims are for large n.
        let slowest = outcome.sketch + outcome.learn.iter().copied().fold(0.0, f64::max);
        let verdict = Verdict::bar(
            slowest < outcome.em[1],
            "sketch and the slowest decoder together faster than EM, as published",
        );
        table.push(cells, (!quick && Some(&n_rows) == sizes.last()).then_some(verdict));
    }
    table
}

/// Bytes that the methods hold at n rows: through `cl-ompr`, through `auto`, and by EM.
///
/// The sketch's way: the pilot of at most 10,000 rows while the recipe is made; then the frequencies, in
/// single precision for the pass and in double precision to learn, and 2m sums; for each of K + 1 atoms its
/// 2m features (slopes are never held: products with them are formed); and for the polish of `auto` the
/// slopes of 2m entries in all parameters, and the factor of their covariance, 4 bytes for each pair. EM's
/// way: all rows.
fn bytes(n_rows: usize) -> [usize; 3] {
    let m = SIZE * parameters(K, DIM);
    let pilot = NUMBER * n_rows.min(PILOT_ROWS) * DIM;
    let sketch = m * DIM * (4 + NUMBER) + 2 * m * NUMBER;
    let greedy = sketch + (K + 1) * (2 * m) * NUMBER;
    let polish = (2 * m) * parameters(K, DIM) * NUMBER + 4 * (2 * m) * (2 * m);
    [pilot.max(greedy), pilot.max(greedy + polish), NUMBER * n_rows * DIM]
}

fn memory_table(sizes: &[usize], quick: bool) -> Table {
    let columns = ["n", "sketch, `cl-ompr`", "sketch, `auto`", "EM", "EM over `cl-ompr`", "EM over `auto`"];
    let mut table = Table::new("Megabytes held at most, counted", &columns);
    for &n_rows in sizes {
        let held = bytes(n_rows);
        let ratio = |at: usize| held[2] as f64 / held[at] as f64;
        let mut cells = vec![clock::rows(n_rows)];
        cells.extend(held.map(|b| Cell::number("megabytes", b as f64 / 1e6, 2)));
        cells.extend([0, 1].map(|at| clock::times(ratio(at))));
        let verdict = Verdict::bar(
            ratio(0) >= ORDERS,
            format!("`cl-ompr` {ORDERS} times less or better: several orders of magnitude, as published"),
        );
        table.push(cells, (!quick && Some(&n_rows) == sizes.last()).then_some(verdict));
    }
    table
}

fn figures(sizes: &[usize], outcomes: &[Outcome]) -> Result<Vec<Figure>> {
    let of = |pick: &dyn Fn(&Outcome) -> f64| outcomes.iter().map(pick).collect::<Vec<_>>();
    let mut curves = vec![("sketch", of(&|o| o.sketch))];
    let names = ["fit by cl-omp", "fit by cl-ompr", "fit by split", "fit by auto"];
    curves.extend(names.into_iter().enumerate().map(|(at, name)| (name, of(&|o| o.learn[at]))));
    curves.push(("EM, 10 runs", of(&|o| o.em[1])));
    let held = |at: usize| sizes.iter().map(|n| bytes(*n)[at] as f64 / 1e6).collect::<Vec<_>>();
    let memory = vec![("sketch and cl-ompr", held(0)), ("sketch and auto", held(1)), ("EM", held(2))];
    let title = "Gaussian mixtures, d = 10, K = 5, m = 5(2d+1)K";
    Ok(vec![
        clock::figure("mixture-cost-seconds.png", (title, "seconds"), sizes, curves)?,
        clock::figure("mixture-cost-memory.png", (title, "megabytes"), sizes, memory)?,
    ])
}

fn text() -> Vec<String> {
    vec![
        format!(
            "The mixtures of [KBGP18] section 5.1, d = {DIM}, K = {K}, m = {} frequencies; the rows are in memory as 64-bit numbers. The sketch's seconds include the design on 10,000 rows; the decoders have the program's defaults (ten starts an atom for `cl-omp` and \
             `cl-ompr`, where the paper has one). EM has {} runs of at most {} iterations, as in the paper, but stops a run early when it hardly gains; one run is shown, too.",
            SIZE * parameters(K, DIM),
            EM.0,
            EM.1,
        ),
        "The paper's text says: at large n EM is substantially slower than all compressive methods, sketching alone included, and needs several orders of magnitude more memory. Its programs are MATLAB, its EM is C++. \
         Memory is counted, not measured: EM holds all rows; the sketch's way holds a pilot of 10,000 rows, then frequencies and sums, and the features of K + 1 atoms; `auto` adds slopes and the factor of the covariance of the sketch's entries. The rest of a program comes on top; \
         what whole processes hold was measured for [k-means and PCA](peers.md)."
            .into(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_em_holds_more_for_more_rows() {
        let (small, large) = (bytes(100_000), bytes(1_000_000));
        assert_eq!(small[..2], large[..2]);
        assert_eq!((small[2], large[2]), (8_000_000, 80_000_000));
    }
}
