//! One-bit and sawtooth sketches at 1.3 times the size, decoded as any other.

use compressive::Wave;
use compressive::design::{Request, Task};
use compressive::learn::Decoder;

use crate::error::Result;
use crate::experiment::clusters::{PROBLEMS, Problem, cell};
use crate::experiment::draws;
use crate::experiment::report::{Cell, Report, Table};
use crate::experiment::{Experiment, Options, Progress, fits};
use compressive_data::sse;

/// The k-means problems with quantized features.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "one-bit",
    title: "One-bit and sawtooth sketches: k-means at 1.3 times the size",
    reference: "[Sch21] section 4.5.1: one-bit sketches need 1.13 to 1.23 times the frequencies; [SJ22]",
    work: run,
};

/// Sizes are those of the Fourier sketch times this.
const FACTOR: f64 = 1.3;

/// Draws that sawtooth sketches get where k or d is 50: a fit takes minutes.
const LARGE_SAWTOOTH: u64 = 2;

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report> {
    let n_rows = options.pick(100_000, 20_000);
    let draws = options.draws(20, 2);
    let problems = if options.quick { &PROBLEMS[..1] } else { &PROBLEMS[..] };
    let mut table = Table::new(
        "Median relative SSE (share of draws at most 1.05)",
        &[
            "problem",
            "m/(kd), Fourier",
            "m/(kd), one-bit",
            "`auto`, one-bit",
            "`auto`, sawtooth",
            "Lloyd, 1 start",
        ],
    );
    for problem in problems {
        let sizes = if options.quick { &problem.sizes[1..3] } else { problem.sizes };
        let outcomes = draws::map(draws, options.threads, problem.name, progress, |draw| {
            one_draw(problem, sizes.iter().map(|(size, _)| FACTOR * size), n_rows, draw)
        })?;
        let lloyd: Vec<f64> = outcomes.iter().map(|(_, lloyd)| *lloyd).collect();
        for (at, (size, bar)) in sizes.iter().enumerate() {
            let of = |feature: usize| {
                outcomes.iter().filter_map(|(cells, _)| cells[at][feature]).collect::<Vec<f64>>()
            };
            let cells = vec![
                Cell::text(problem.name),
                Cell::number("size", *size, 0),
                Cell::number("size_one_bit", FACTOR * size, 1),
                cell(&of(0)),
                cell(&of(1)),
                cell(&lloyd),
            ];
            table.push(cells, bar.judge(&of(0)));
        }
    }
    let text = format!(
        "The problems, seeds, reference and bars are those of the experiment `kmeans` ({n_rows} rows, {draws} draws a cell); each row of the data gives m pairs of bits (or of \
         sawtooth values) instead of m complex exponentials, with m = {FACTOR} times larger. The sketch is divided by the feature's first Fourier coefficient, and the same decoder does the \
         rest. Sawtooth sketches get {LARGE_SAWTOOTH} draws where k or d is 50. The verdict is on the one-bit column."
    );
    Ok(Report { text: vec![text], tables: vec![table], ..Report::default() })
}

/// Relative SSE for each size with both features, and of one run of Lloyd.
fn one_draw(
    problem: &Problem,
    sizes: impl Iterator<Item = f64>,
    n_rows: usize,
    draw: u64,
) -> Result<(Vec<[Option<f64>; 2]>, f64)> {
    let drawn = problem.draw(n_rows, draw)?;
    let rows = drawn.sample.rows()?;
    let mut cells = Vec::new();
    for size in sizes {
        let mut pair = [None; 2];
        for (value, feature) in pair.iter_mut().zip([Wave::OneBit, Wave::Sawtooth]) {
            if feature == Wave::Sawtooth && problem.k.max(problem.dim) > 10 && draw >= LARGE_SAWTOOTH {
                continue;
            }
            let params = Request::new(Task::Kmeans, problem.k)
                .outline(false)
                .size(problem.frequencies(size))
                .feature(feature)
                .seed(draw);
            let sketched = fits::designed(&drawn.sample.values, problem.dim, &params)?;
            let centers = sketched.centers(problem.k, Decoder::Auto, 1)?;
            *value = Some(sse(rows, &centers)? / drawn.reference);
        }
        cells.push(pair);
    }
    Ok((cells, drawn.lloyd_one / drawn.reference))
}
