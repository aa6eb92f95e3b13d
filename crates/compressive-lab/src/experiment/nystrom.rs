//! Nystrom against Fourier sketches over the sketch size: figure 1 of \[CCDR22\].

use compressive::design::{LawChoice, Task};

use crate::error::Result;
use crate::experiment::draws::{self, median};
use crate::experiment::kernels::{K, Method, Problem};
use crate::experiment::report::{Cell, Figure, Report, Table, Verdict};
use crate::experiment::{Experiment, Options, Progress};
use crate::plot::{Lines, Series};

/// \[CCDR22\] figure 1, k-means.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "nystrom",
    title: "Nystrom sketches against Fourier sketches: k-means",
    reference: "[CCDR22] section 5 and figure 1",
    work: |options, progress| run(Task::Kmeans, options, progress),
};

/// \[CCDR22\] figure 1, mixtures.
pub(super) const MIXTURES: Experiment = Experiment {
    name: "nystrom-mixtures",
    title: "Nystrom sketches against Fourier sketches: mixtures",
    reference: "[CCDR22] section 5 and figure 1",
    work: |options, progress| run(Task::Gmm, options, progress),
};

/// A table, and the widths of kernel and law used on it, in estimated cluster widths: the program's defaults,
/// not tuned to the table.
struct Set {
    name: &'static str,
    /// None for the synthetic table.
    file: Option<&'static str>,
    /// For k-means and for mixtures, the width of the kernel and that of the law.
    widths: [(f64, f64); 2],
    /// For k-means and for mixtures, how many of [`SIZES`] are tried: a fit takes time as m^2 and more.
    sizes: [usize; 2],
    /// For k-means and for mixtures, the number of draws.
    draws: [usize; 2],
}

const SETS: [Set; 3] = [
    Set {
        name: "synthetic, d = 10",
        file: None,
        widths: [(3.8, 1.4), (3.8, 1.0)],
        sizes: [7, 5],
        draws: [20, 20],
    },
    Set {
        name: "digits, PCA to 10",
        file: Some("digits-pca10.npy"),
        widths: [(3.8, 1.4), (3.8, 1.0)],
        sizes: [7, 5],
        draws: [20, 20],
    },
    Set {
        name: "Fashion-MNIST, PCA to 20",
        file: Some("fashion-mnist-pca20.npy"),
        widths: [(5.4, 1.4), (5.4, 1.0)],
        sizes: [7, 5],
        draws: [20, 8],
    },
];

/// The curves: names and methods.
const METHODS: [(&str, Method); 6] = [
    ("Fourier, m frequencies", Method::Fourier(LawChoice::AdaptedRadius)),
    ("Fourier, m sums", Method::HalfFourier(LawChoice::AdaptedRadius)),
    ("uniform", Method::Nystrom(LawChoice::Uniform)),
    ("leverage", Method::Nystrom(LawChoice::Leverage)),
    ("greedy", Method::Nystrom(LawChoice::Greedy)),
    ("rpcholesky", Method::Nystrom(LawChoice::Rpcholesky)),
];

/// Sizes m in parameters of the task.
const SIZES: [f64; 7] = [0.3, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0];
/// For k-means and for mixtures, the size up to which the program's own rule must be ahead.
const SMALL: [f64; 2] = [1.0, 0.5];
/// Larger losses of log-likelihood are drawn as this one.
const CEILING: f64 = 5.0;

fn run(task: Task, options: &Options, progress: &mut Progress<'_>) -> Result<Report> {
    let n_rows = options.pick(100_000, 10_000);
    let mut report = Report { text: text(task, n_rows), ..Report::default() };
    let mut table = Table::new(title(task), &columns());
    for set in if options.quick { &SETS[..1] } else { &SETS[..] } {
        let sizes: &[f64] = if options.quick { &[0.5, 2.0] } else { &SIZES[..set.sizes[index(task)]] };
        let draws = options.draws(set.draws[index(task)], 1);
        let fixed = match set.file {
            Some(file) => Some(Problem::file(task, file, options.data.as_deref(), options.threads)?),
            None => None,
        };
        let key = format!("nystrom-{}-{}", task.name(), short(set.name));
        let outcomes = draws::map_kept(options, draws, &key, progress, |draw| {
            let drawn = if fixed.is_none() { Some(Problem::synthetic(task, n_rows, draw)?) } else { None };
            match drawn.as_ref().or(fixed.as_ref()) {
                Some(problem) => one_draw(problem, set, task, sizes, draw),
                None => Ok(Vec::new()),
            }
        })?;
        let medians = add_rows(&mut table, set, task, sizes, &outcomes);
        report.figures.push(figure(set, task, sizes, &medians)?);
    }
    report.tables.push(table);
    Ok(report)
}

/// Where a task stands among the numbers of a set.
fn index(task: Task) -> usize {
    usize::from(task == Task::Gmm)
}

/// Losses of one draw, by size and method.
fn one_draw(problem: &Problem, set: &Set, task: Task, sizes: &[f64], draw: u64) -> Result<Vec<Vec<f64>>> {
    let (kernel, law) = set.widths[index(task)];
    let one = |size: f64, method: Method| {
        let width = if matches!(method, Method::Nystrom(_)) { kernel } else { law };
        let m = (size * problem.parameters() as f64).round() as usize;
        problem.loss(method, width, m, draw)
    };
    sizes.iter().map(|&size| METHODS.iter().map(|(_, method)| one(size, *method)).collect()).collect()
}

fn columns() -> Vec<&'static str> {
    ["data", "m / parameters"].into_iter().chain(METHODS.map(|(name, _)| name)).collect()
}

fn title(task: Task) -> &'static str {
    match task {
        Task::Kmeans => "k-means: median relative SSE (standard deviation)",
        _ => "Mixtures: median of minus the mean log-likelihood above that of EM (standard deviation)",
    }
}

/// One row for each size; returns the medians, by method and size.
fn add_rows(
    table: &mut Table,
    set: &Set,
    task: Task,
    sizes: &[f64],
    outcomes: &[Vec<Vec<f64>>],
) -> Vec<Vec<f64>> {
    let mut medians = vec![Vec::new(); METHODS.len()];
    for (at, &size) in sizes.iter().enumerate() {
        let mut cells = vec![Cell::text(set.name), Cell::number("size", size, 1)];
        for (method, curve) in medians.iter_mut().enumerate() {
            let losses: Vec<f64> = outcomes.iter().map(|outcome| outcome[at][method]).collect();
            curve.push(median(&losses));
            cells.push(cell(&losses));
        }
        let middle = |method: usize| medians[method][at];
        let verdict = (size <= SMALL[index(task)])
            .then(|| Verdict::bar(middle(5) <= middle(0), "rpcholesky ahead of Fourier with m frequencies"));
        table.push(cells, verdict);
    }
    medians
}

/// Median and standard deviation.
fn cell(losses: &[f64]) -> Cell {
    let n = losses.len() as f64;
    let mean = losses.iter().sum::<f64>() / n;
    let deviation = (losses.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt();
    let shown = |x: f64| if x < 1000.0 { format!("{x:.3}") } else { format!("{x:.0e}") };
    Cell::text(format!("{} ({})", shown(median(losses)), shown(deviation)))
        .with("median", median(losses))
        .with("deviation", deviation)
        .with("draws", n)
}

/// The first word of a name.
fn short(name: &str) -> String {
    name.split([',', ' ']).next().unwrap_or_default().to_lowercase()
}

fn figure(set: &Set, task: Task, sizes: &[f64], medians: &[Vec<f64>]) -> Result<Figure> {
    let (y_label, ceiling) = match task {
        Task::Kmeans => ("relative SSE".to_owned(), f64::INFINITY),
        _ => (format!("minus log-likelihood above EM's (above {CEILING} drawn as {CEILING})"), CEILING),
    };
    let series = METHODS.iter().zip(medians).map(|((name, _), curve)| Series {
        name: (*name).into(),
        points: sizes.iter().copied().zip(curve.iter().map(|y| y.min(ceiling))).collect(),
    });
    let lines = Lines {
        title: format!("{}: {}", task.name(), set.name),
        x_label: "m / parameters".into(),
        y_label: y_label.clone(),
        series: series.collect(),
    };
    let name = short(set.name);
    let names: Vec<&str> = METHODS.iter().map(|(name, _)| *name).collect();
    Ok(Figure {
        file: format!("nystrom-{}-{name}.png", task.name()),
        alt: format!(
            "{}, {}: median {y_label} against the sketch size: {}.",
            task.name(),
            set.name,
            names.join(", ")
        ),
        png: lines.to_png()?,
    })
}

/// Why some numbers of the mixtures' table are so large.
const COLLAPSED: &str = "Losses of thousands of nats and more are those of mixtures with variances next to zero: on tables \
     whose clusters are not Gaussian, and from sketches with too few sums, the atoms that match a Fourier sketch best have them. A mixture from landmarks has its covariances drawn to their mean.";

fn text(task: Task, n_rows: usize) -> Vec<String> {
    let draws = SETS.map(|set| format!("{} ({})", set.draws[index(task)], short(set.name))).join(", ");
    let mut paragraphs = vec![
        format!(
            "k = {K}. Synthetic: unit Gaussians of equal weight with means N(0, (2 k^(1/d))^2 I), d = 10, {n_rows} rows, drawn anew each time; the two real tables are those of the experiment `real`. Draws of \
             landmarks and frequencies: {draws}, by what a fit takes. Parameters: k d for k-means, k (2d + 1) for mixtures. The reference is the best of 20 k-means++ starts of Lloyd's algorithm, or of 5 runs of EM, on all rows."
        ),
        "Landmarks are chosen among a pilot of at most 10,000 rows. A Nystrom sketch has m sums, a Fourier sketch of m frequencies 2m; Fourier is shown with as many frequencies as there are landmarks, and with as many \
         sums. Both are decoded by `auto`, but not in the same way: where free atoms are not determined by a Nystrom sketch, or do not explain it, its weighted landmarks are clustered, for which a Fourier sketch has no counterpart, \
         and the lead on real tables and at small m is that of this decoder together with the landmarks. Widths of kernel and law are the program's defaults, not tuned to the tables (in estimated cluster widths: "
            .to_owned()
            + &SETS
                .iter()
                .map(|set| {
                    let [(a, b), (c, d)] = set.widths;
                    format!("{}: k-means {a} and {b}, mixtures {c} and {d}", set.name)
                })
                .collect::<Vec<_>>()
                .join("; ")
            + ").",
    ];
    if task == Task::Gmm {
        paragraphs.push(COLLAPSED.into());
    }
    paragraphs
}
