//! The usable range of kernel widths: Nystrom against Fourier sketches, after figure 2 of \[CCDR22\].

use compressive::design::{LawChoice, Task};

use crate::error::Result;
use crate::experiment::draws::{self, median};
use crate::experiment::kernels::{K, Method, Problem};
use crate::experiment::report::{Cell, Figure, Report, Table, Verdict};
use crate::experiment::{Experiment, Options, Progress};
use crate::plot::{Lines, Series};

/// \[CCDR22\] figure 2.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "nystrom-scale",
    title: "Which kernel widths work: Nystrom against Fourier sketches, k-means",
    reference: "[CCDR22] section 5, figure 2",
    work: |options, progress| run(Task::Kmeans, options, progress),
};

/// \[CCDR22\] figure 4.
pub(super) const MIXTURES: Experiment = Experiment {
    name: "nystrom-scale-mixtures",
    title: "Which kernel widths work: Nystrom against Fourier sketches, mixtures",
    reference: "[CCDR22] section 5, figure 4",
    work: |options, progress| run(Task::Gmm, options, progress),
};

/// Kernel widths, in estimated cluster widths.
const WIDTHS: [f64; 10] = [0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.7, 8.0, 11.0, 16.0];
/// The same kernel, by random frequencies and by landmarks.
const METHODS: [(&str, Method); 3] = [
    ("Fourier, m frequencies", Method::Fourier(LawChoice::Gaussian)),
    ("Fourier, m sums", Method::HalfFourier(LawChoice::Gaussian)),
    ("Nystrom, rpcholesky", Method::Nystrom(LawChoice::Rpcholesky)),
];
/// m in parameters of the task.
const SIZE: f64 = 2.0;
/// A loss up to this is usable: relative SSE, or log-likelihood per row below EM's.
const USABLE: [f64; 2] = [1.05, 0.05];

fn run(task: Task, options: &Options, progress: &mut Progress<'_>) -> Result<Report> {
    let draws = options.draws(20, 1);
    let n_rows = options.pick(100_000, 10_000);
    let widths: &[f64] = options.pick(&WIDTHS, &[2.0, 4.0]);
    let key = format!("nystrom-scale-{}", task.name());
    let outcomes = draws::map_kept(options, draws, &key, progress, |draw| {
        let problem = Problem::synthetic(task, n_rows, draw)?;
        let m = (SIZE * problem.parameters() as f64).round() as usize;
        let one =
            |width: f64| METHODS.iter().map(|(_, method)| problem.loss(*method, width, m, draw)).collect();
        widths.iter().map(|&width| one(width)).collect::<Result<Vec<Vec<f64>>>>()
    })?;
    let medians: Vec<Vec<f64>> = (0..METHODS.len())
        .map(|method| {
            let at = |i: usize| median(&outcomes.iter().map(|o| o[i][method]).collect::<Vec<f64>>());
            (0..widths.len()).map(at).collect()
        })
        .collect();
    Ok(Report {
        text: text(n_rows, draws),
        tables: vec![table(task, widths, &medians)],
        figures: vec![figure(task, widths, &medians)?],
        ..Report::default()
    })
}

fn table(task: Task, widths: &[f64], medians: &[Vec<f64>]) -> Table {
    let usable = USABLE[usize::from(task == Task::Gmm)];
    let title = match task {
        Task::Kmeans => "k-means: median relative SSE",
        _ => "Mixtures: median loss of mean log-likelihood against EM",
    };
    let columns: Vec<&str> = ["kernel width"].into_iter().chain(METHODS.map(|(name, _)| name)).collect();
    let mut table = Table::new(title, &columns);
    for (at, &width) in widths.iter().enumerate() {
        let cells = medians.iter().map(|curve| Cell::number("median", curve[at], 3));
        table.push([Cell::number("width", width, 1)].into_iter().chain(cells).collect(), None);
    }
    let counts: Vec<usize> =
        medians.iter().map(|curve| curve.iter().filter(|loss| **loss <= usable).count()).collect();
    let cells = counts.iter().map(|&n| Cell::number("usable", n as f64, 0));
    table.push(
        [Cell::text(format!("widths with at most {usable}"))].into_iter().chain(cells).collect(),
        Some(Verdict::bar(counts[2] >= counts[0], "Nystrom has at least as many usable widths")),
    );
    table
}

fn figure(task: Task, widths: &[f64], medians: &[Vec<f64>]) -> Result<Figure> {
    // A failed fit may be far off; where exactly does not matter.
    let top = if task == Task::Kmeans { 3.0 } else { 2.0 };
    let series = METHODS.iter().zip(medians).map(|((name, _), curve)| Series {
        name: (*name).into(),
        points: widths.iter().zip(curve).map(|(w, loss)| (w.log2(), loss.min(top))).collect(),
    });
    let y_label = if task == Task::Kmeans { "relative SSE" } else { "minus log-likelihood above EM's" };
    let lines = Lines {
        title: format!("{}, k = d = {K}, m = {SIZE} times the parameters", task.name()),
        x_label: "log2 of the kernel width in estimated cluster widths".into(),
        y_label: y_label.into(),
        series: series.collect(),
    };
    let alt = format!(
        "Median {y_label} (above {top} drawn as {top}) against the kernel width for {}.",
        task.name()
    );
    Ok(Figure { file: format!("nystrom-scale-{}.png", task.name()), alt, png: lines.to_png()? })
}

fn text(n_rows: usize, draws: usize) -> Vec<String> {
    vec![format!(
        "k = {K} unit Gaussians with means N(0, (2 k^(1/d))^2 I), d = 10, {n_rows} rows, {draws} draws, m = {SIZE} times the parameters (k d for k-means, k (2d + 1) for mixtures). Frequencies are drawn from the \
         Gaussian law of the very kernel that the landmarks are given, so that both sketches approximate the same mean embedding. Its width is in units of the estimated width of the clusters. `auto` decodes both."
    )]
}
