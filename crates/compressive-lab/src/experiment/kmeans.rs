//! Compressive k-means: share of optimal fits against the size of the sketch, all decoders side by side.

use compressive::design::{Request, Task};
use compressive::learn::Decoder;

use crate::error::Result;
use crate::experiment::clusters::{PROBLEMS, Problem, cell};
use crate::experiment::draws;
use crate::experiment::report::{Cell, Report, Table};
use crate::experiment::{Experiment, Options, Progress, fits};
use compressive_data::sse;

/// Compressive k-means on synthetic clusters.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "kmeans",
    title: "Compressive k-means: quality against the size of the sketch",
    reference: "[KTTG17] section 4 (relative SSE against m/(kd)); [Sch21] section 6.3 (greedy decoding with 10 restarts)",
    work: run,
};

/// A way to get centres from a sketch, or from all rows.
#[derive(Clone, Copy, PartialEq)]
enum Method {
    By(Decoder),
    /// `cl-ompr` as published, so many runs.
    Published(usize),
}

/// The decoders with the draws they get at most: in all cells, and where a fit takes many seconds (k = 50 or
/// d = 50).
const METHODS: [(&str, Method, [usize; 2]); 5] = [
    ("`auto`", Method::By(Decoder::Auto), [usize::MAX, usize::MAX]),
    ("`cl-ompr`", Method::Published(1), [usize::MAX, 4]),
    ("`cl-ompr` x10", Method::Published(10), [10, 1]),
    ("`shift`", Method::By(Decoder::Shift), [usize::MAX, 4]),
    ("`amp`", Method::By(Decoder::Amp), [10, 1]),
];

/// Relative SSE of one draw.
struct Outcome {
    /// For each size, for each method it was run with.
    decoded: Vec<Vec<Option<f64>>>,
    lloyd_one: f64,
    lloyd_ten: f64,
}

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report> {
    let n_rows = options.pick(100_000, 20_000);
    let draws = options.draws(20, 2);
    let problems = if options.quick { &PROBLEMS[..1] } else { &PROBLEMS[..] };
    let columns = ["problem", "m/(kd)"].into_iter().chain(METHODS.map(|(name, ..)| name));
    let columns: Vec<&str> = columns.chain(["Lloyd, 1 start", "Lloyd, 10 starts"]).collect();
    let mut table = Table::new("Median relative SSE (share of draws at most 1.05)", &columns);
    for problem in problems {
        let sizes = if options.quick { &problem.sizes[1..3] } else { problem.sizes };
        let outcomes = draws::map(draws, options.threads, problem.name, progress, |draw| {
            one_draw(problem, sizes.iter().map(|(size, _)| *size), (n_rows, options.quick), draw)
        })?;
        let of =
            |pick: &dyn Fn(&Outcome) -> Option<f64>| outcomes.iter().filter_map(pick).collect::<Vec<_>>();
        for (at, (size, bar)) in sizes.iter().enumerate() {
            let mut cells = vec![Cell::text(problem.name), Cell::number("size", *size, 0)];
            cells.extend((0..METHODS.len()).map(|method| cell(&of(&|outcome| outcome.decoded[at][method]))));
            cells.push(cell(&of(&|outcome| Some(outcome.lloyd_one))));
            cells.push(cell(&of(&|outcome| Some(outcome.lloyd_ten))));
            table.push(cells, bar.judge(&of(&|outcome| outcome.decoded[at][0])));
        }
    }
    let few = METHODS.iter().filter(|(_, _, [_, large])| *large < draws);
    let few: Vec<String> =
        few.map(|(name, _, [all, large])| format!("{name} {} and {large}", draws.min(*all))).collect();
    let fewer = match few.is_empty() {
        _ if options.quick => " A quick run leaves `cl-ompr` x10 out.".into(),
        true => String::new(),
        false => format!(
            " Slow decoders get fewer draws, in all cells and where k or d is 50: {}.",
            few.join(", ")
        ),
    };
    Ok(Report { text: text(n_rows, draws, &fewer), tables: vec![table], ..Report::default() })
}

fn text(n_rows: usize, draws: usize, fewer: &str) -> Vec<String> {
    vec![
        format!(
            "k unit Gaussians of equal weight with means N(0, (s k^(1/d))^2 I), {n_rows} rows, {draws} draws a cell of data and frequencies; `unequal` has Dirichlet(5) \
             weights and variances that differ by cluster and column. Transform, law and scale are the program's own, chosen on 10,000 rows.{fewer}"
        ),
        "The reference SSE is the better of ten k-means++ starts of Lloyd's algorithm on all rows and Lloyd's algorithm from the true means. `cl-ompr` has point atoms and one \
         start an atom, as published; x10 keeps the best residual of ten runs. `shift` and `amp` are this project's renderings of their papers, with a shared width. Lloyd sees all rows. \
         The verdict is on `auto`."
            .into(),
    ]
}

fn one_draw(
    problem: &Problem,
    sizes: impl Iterator<Item = f64>,
    (n_rows, quick): (usize, bool),
    draw: u64,
) -> Result<Outcome> {
    let drawn = problem.draw(n_rows, draw)?;
    let rows = drawn.sample.rows()?;
    let large = problem.k.max(problem.dim) > 10;
    let mut decoded = Vec::new();
    for size in sizes {
        let params =
            Request::new(Task::Kmeans, problem.k).outline(false).size(problem.frequencies(size)).seed(draw);
        let sketched = fits::designed(&drawn.sample.values, problem.dim, &params)?;
        let mut cells = Vec::new();
        for (_, method, most) in METHODS {
            let left_out =
                draw >= most[usize::from(large)] as u64 || quick && method == Method::Published(10);
            if left_out {
                cells.push(None);
                continue;
            }
            let centers = match method {
                Method::By(decoder) => sketched.centers(problem.k, decoder, 1)?,
                Method::Published(runs) => sketched.published_centers(problem.k, runs)?,
            };
            cells.push(Some(sse(rows, &centers)? / drawn.reference));
        }
        decoded.push(cells);
    }
    let relative = |sse: f64| sse / drawn.reference;
    Ok(Outcome { decoded, lloyd_one: relative(drawn.lloyd_one), lloyd_ten: relative(drawn.lloyd_ten) })
}
