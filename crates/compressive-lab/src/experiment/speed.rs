//! Seconds of the decoders, measured alone.

use compressive::design::{LawChoice, Request, Task};
use compressive::learn::Decoder;

use crate::error::Result;
use crate::experiment::clock::{THREADS, timed};
use crate::experiment::draws::median;
use crate::experiment::fits::{self, Sketched};
use crate::experiment::report::{Cell, Report, Table, Verdict};
use crate::experiment::{Experiment, Options, Progress, mixtures};
use compressive_data::{Rng, generate};

/// Seconds of `auto`, `split` and `cl-ompr`.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "speed",
    title: "Seconds to learn from a sketch",
    reference: "[KBGP18] table 4 (K = 64, d = 12; seconds on a 2.1 GHz laptop, in MATLAB)",
    work: run,
};

/// One fit to be timed.
struct Case {
    task: &'static str,
    decoder: Decoder,
    k: usize,
    dim: usize,
    size: usize,
    /// Seconds allowed, or NaN.
    bar: f64,
    /// Seconds in the paper, or NaN.
    published: f64,
    /// Repeats at most; the slowest fits are not repeated.
    repeats: usize,
}

const NONE: f64 = f64::NAN;

const fn case(task: &'static str, decoder: Decoder, (k, dim, size): (usize, usize, usize)) -> Case {
    Case { task, decoder, k, dim, size, bar: NONE, published: NONE, repeats: 3 }
}

const CASES: [Case; 7] = [
    Case { bar: 0.5, ..case("kmeans", Decoder::Auto, (10, 10, 500)) },
    Case { bar: 5.0, ..case("gmm", Decoder::Auto, (20, 10, 2100)) },
    case("kmeans", Decoder::Auto, (64, 12, 10_000)),
    Case { published: 50.0, ..case("gmm", Decoder::Split, (64, 12, 1000)) },
    Case { bar: 20.0, published: 500.0, ..case("gmm", Decoder::Split, (64, 12, 10_000)) },
    Case { published: 700.0, ..case("gmm", Decoder::ClOmpr, (64, 12, 1000)) },
    Case { bar: 200.0, published: 7000.0, repeats: 1, ..case("gmm", Decoder::ClOmpr, (64, 12, 10_000)) },
];

/// Seconds within this factor of the published ones are a reproduction.
const TOLERANCE: f64 = 1.5;

impl Case {
    /// A bar that is missed, else the published seconds, else the bar.
    fn judge(&self, seconds: f64) -> Option<Verdict> {
        let bar = || Verdict::bar(seconds <= self.bar, format!("under {} s", self.bar));
        let met = self.bar.is_nan() || seconds <= self.bar;
        if met && !self.published.is_nan() {
            return Some(Verdict::ratio(seconds, self.published, TOLERANCE, " s"));
        }
        (!self.bar.is_nan()).then(bar)
    }
}

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report> {
    let cases = if options.quick { &CASES[..1] } else { &CASES[..] };
    let columns = ["task", "decoder", "k", "d", "m", "seconds", "repeats", "published, s", "bar, s"];
    let mut table =
        Table::new(format!("Seconds of one fit on {THREADS} threads, median of the repeats"), &columns);
    for case in cases {
        let repeats = options.draws(case.repeats, 1).min(case.repeats);
        progress(&format!("{} by {}, k = {}, m = {}", case.task, case.decoder.name(), case.k, case.size));
        let seconds = time(case, repeats, options.pick(100_000, 20_000))?;
        let known = |name, value: f64, digits| {
            if value.is_nan() { Cell::text("") } else { Cell::number(name, value, digits) }
        };
        let cells = vec![
            Cell::text(case.task),
            Cell::text(format!("`{}`", case.decoder.name())),
            Cell::number("k", case.k as f64, 0),
            Cell::number("d", case.dim as f64, 0),
            Cell::number("m", case.size as f64, 0),
            Cell::number("seconds", seconds, 2),
            Cell::number("repeats", repeats as f64, 0),
            known("published", case.published, 0),
            known("bar", case.bar, 1),
        ];
        table.push(cells, case.judge(seconds));
    }
    let text = "Unit Gaussians with means of standard deviation 2.5 k^(1/d) for k-means and the mixtures of [KBGP18] section 5.1 for gmm; the seconds are those of learning alone, from a sketch of 100,000 \
                rows that is already in memory, with the program's defaults for each decoder. The paper's seconds are for speech features (n = 2e8), of the same K, d and m.";
    Ok(Report { text: vec![text.into()], tables: vec![table], ..Report::default() })
}

/// Median seconds over repeats with other data.
fn time(case: &Case, repeats: usize, n_rows: usize) -> Result<f64> {
    let mut seconds = Vec::new();
    for repeat in 0..repeats as u64 {
        let sketched = prepare(case, n_rows, repeat)?;
        let gmm = case.task == "gmm";
        let fit = || match gmm {
            true => sketched.mixture(case.k, case.decoder, THREADS).map(|_| ()),
            false => sketched.centers(case.k, case.decoder, THREADS).map(|_| ()),
        };
        seconds.push(timed(fit)?.1);
    }
    Ok(median(&seconds))
}

fn prepare(case: &Case, n_rows: usize, seed: u64) -> Result<Sketched> {
    let mut rng = Rng::derived(5000, seed);
    if case.task == "gmm" {
        let sample = generate::random_variances(case.k, case.dim, &mut rng)?.sample(n_rows, &mut rng)?;
        return mixtures::designed(&sample, case.k, case.size, LawChoice::AdaptedRadius, seed);
    }
    let sample = generate::separated(case.k, case.dim, 2.5, &mut rng)?.sample(n_rows, &mut rng)?;
    let params = Request::new(Task::Kmeans, case.k).outline(false).size(case.size).seed(seed);
    fits::designed(&sample.values, case.dim, &params)
}
