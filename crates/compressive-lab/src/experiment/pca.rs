//! Principal components from random second moments: how much is lost against the rows themselves.

use compressive::Feature;
use compressive::design::{Request, Task};
use compressive::learn::Decoder;
use compressive::model::{Content, Model};

use crate::error::Result;
use crate::experiment::draws::{self, median};
use crate::experiment::report::{Cell, Figure, Report, Table, Verdict};
use crate::experiment::{Experiment, Options, Progress, fits};
use crate::plot::{Lines, Series};
use compressive_data::Rng;
use compressive_data::jacobi;

/// \[GBKT17\] section 3.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "pca",
    title: "Compressive PCA",
    reference: "[GBKT17] section 3 (guarantees only, no numbers are printed)",
    work: run,
};

const KINDS: [&str; 3] = ["real", "structured", "complex"];
const DECODERS: [Decoder; 3] = [Decoder::Factorised, Decoder::Psd, Decoder::Nuclear];
/// Median excess error allowed at a multiple of k d.
const BARS: [(f64, f64); 2] = [(2.0, 0.01), (4.0, 0.003)];
/// The convex decoders take seconds a draw and vary little, so they get fewer.
const CONVEX_DRAWS: u64 = 5;

/// Sizes of the problem.
#[derive(Clone, Copy)]
struct Problem {
    rows: usize,
    dim: usize,
    k: usize,
}

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report> {
    let problem =
        options.pick(Problem { rows: 100_000, dim: 50, k: 5 }, Problem { rows: 10_000, dim: 20, k: 3 });
    let Problem { rows, dim, k } = problem;
    let factors: &[f64] = options.pick(&[1.0, 1.5, 2.0, 3.0, 4.0, 8.0], &[2.0, 4.0]);
    let draws = options.draws(20, 2);
    let outcomes =
        draws::map(draws, options.threads, "all sizes", progress, |draw| one_draw(problem, factors, draw))?;
    let columns = ["m / (k d)", "directions", "`factorised`", "`psd`", "`nuclear`"];
    let mut table =
        Table::new("Excess reconstruction error in percent: median (largest); lower is better", &columns);
    let mut curves = vec![Vec::new(); DECODERS.len()];
    for (f, &factor) in factors.iter().enumerate() {
        for (kind, name) in KINDS.iter().enumerate() {
            let mut cells = vec![Cell::number("factor", factor, 1), Cell::text(*name)];
            let mut medians = Vec::new();
            for decoder in 0..DECODERS.len() {
                let all = outcomes.iter().map(|outcome| outcome[f][kind][decoder]);
                let values: Vec<f64> = all.filter(|value| !value.is_nan()).collect();
                medians.push(median(&values));
                cells.push(cell(&values));
            }
            if kind == 0 {
                // Below a part in a million is rounding.
                curves.iter_mut().zip(&medians).for_each(|(c, m)| c.push((factor, m.max(1e-6).log10())));
            }
            let bar = BARS.iter().find(|bar| bar.0 == factor);
            let verdict = bar.map(|(_, most)| {
                Verdict::bar(medians[0] <= *most, format!("`factorised` at most {}%", 100.0 * most))
            });
            table.push(cells, verdict);
        }
    }
    let series = curves.into_iter().zip(DECODERS);
    let series = series.map(|(points, decoder)| Series { name: decoder.name().into(), points });
    let figure = Lines {
        title: format!("Compressive PCA, real directions, d = {dim}, k = {k}"),
        x_label: "m / (k d)".into(),
        y_label: "log10 of the relative excess error".into(),
        series: series.collect(),
    };
    let alt = "Excess reconstruction error against the number of directions: it falls steeply, and the factorised decoder is lowest until the equations determine the covariance.";
    let figure = Figure { file: "pca.png".into(), alt: alt.into(), png: figure.to_png()? };
    let text = format!(
        "{rows} Gaussian rows of d = {dim} columns with a mean of their own and, in a random basis, singular values 5, 4, 3, 2.5, 2 (the first k = {k} of them), then 0.5 / sqrt(i); {draws} draws of rows and directions. \
         The sketch is designed on 10,000 rows and made in one pass with exact sums. The error is the mean squared distance of the rows to the subspace, through the mean found, relative to that of exact \
         PCA of the same rows. `factorised` fits spare components where the sketch carries them, and an isotropic rest. From m = d (d + 1) / 2 = {} on the equations determine the covariance, and `psd` is exact; the convex \
         decoders get the first {} draws.",
        dim * (dim + 1) / 2,
        CONVEX_DRAWS.min(draws as u64)
    );
    Ok(Report { text: vec![text], tables: vec![table], figures: vec![figure], ..Report::default() })
}

fn cell(values: &[f64]) -> Cell {
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let middle = median(values);
    Cell::text(format!("{:.3} ({:.3})", 100.0 * middle, 100.0 * most))
        .with("median", middle)
        .with("largest", most)
}

/// Mean and covariance of rows.
struct Truth {
    mean: Vec<f64>,
    covariance: Vec<f64>,
    /// Error of the best subspace.
    best: f64,
}

/// Excess errors by size, kind and decoder.
fn one_draw(problem: Problem, factors: &[f64], draw: u64) -> Result<Vec<[[f64; 3]; 3]>> {
    let Problem { rows, dim, k } = problem;
    let values = sample(problem, &mut Rng::derived(9000, draw));
    let truth = truth(&values, dim, k);
    debug_assert_eq!(values.len(), rows * dim);
    let mut all = Vec::new();
    for factor in factors {
        let mut cells = [[f64::NAN; 3]; 3];
        for (kind, row) in cells.iter_mut().enumerate() {
            let params = Request::new(Task::Pca, k)
                .size((factor * (k * dim) as f64).round() as usize)
                .feature(Feature::Quadratic { complex: KINDS[kind] == "complex" })
                .structured(KINDS[kind] == "structured")
                .seed(draw);
            let sketched = fits::designed(&values, dim, &params)?;
            for (value, decoder) in row.iter_mut().zip(DECODERS) {
                if decoder == Decoder::Factorised || draw < CONVEX_DRAWS {
                    *value = excess(&truth, &sketched.components(k, decoder)?);
                }
            }
        }
        all.push(cells);
    }
    Ok(all)
}

/// Rows with the decaying spectrum.
fn sample(problem: Problem, rng: &mut Rng) -> Vec<f64> {
    let Problem { rows, dim, k } = problem;
    let deviation =
        |i: usize| if i < k { [5.0, 4.0, 3.0, 2.5, 2.0][i] } else { 0.5 / ((i - k + 1) as f64).sqrt() };
    let basis = orthonormal(dim, rng);
    let mean: Vec<f64> = (0..dim).map(|_| 3.0 * rng.normal()).collect();
    let mut values = Vec::with_capacity(rows * dim);
    let mut row = vec![0.0; dim];
    for _ in 0..rows {
        row.copy_from_slice(&mean);
        for (i, direction) in basis.chunks_exact(dim).enumerate() {
            let along = deviation(i) * rng.normal();
            row.iter_mut().zip(direction).for_each(|(x, e)| *x += along * e);
        }
        values.extend_from_slice(&row);
    }
    values
}

/// Rows of a random orthonormal basis, by Gram-Schmidt.
fn orthonormal(dim: usize, rng: &mut Rng) -> Vec<f64> {
    let mut basis: Vec<f64> = Vec::with_capacity(dim * dim);
    for _ in 0..dim {
        let mut v: Vec<f64> = (0..dim).map(|_| rng.normal()).collect();
        for _ in 0..2 {
            for other in basis.chunks_exact(dim) {
                let part: f64 = v.iter().zip(other).map(|(a, b)| a * b).sum();
                v.iter_mut().zip(other).for_each(|(x, o)| *x -= part * o);
            }
        }
        let norm = v.iter().map(|x| x * x).sum::<f64>().sqrt();
        basis.extend(v.iter().map(|x| x / norm));
    }
    basis
}

fn truth(values: &[f64], dim: usize, k: usize) -> Truth {
    let n = (values.len() / dim) as f64;
    let mut mean = vec![0.0; dim];
    for row in values.chunks_exact(dim) {
        mean.iter_mut().zip(row).for_each(|(m, x)| *m += x / n);
    }
    let mut covariance = vec![0.0; dim * dim];
    let mut centred = vec![0.0; dim];
    for row in values.chunks_exact(dim) {
        centred.iter_mut().zip(row).zip(&mean).for_each(|((c, x), m)| *c = x - m);
        for (line, a) in covariance.chunks_exact_mut(dim).zip(&centred) {
            line.iter_mut().zip(&centred).for_each(|(c, b)| *c += a * b / n);
        }
    }
    let (mut eigenvalues, _) = jacobi(covariance.clone(), dim);
    eigenvalues.sort_by(f64::total_cmp);
    let best = eigenvalues[..dim - k].iter().sum();
    Truth { mean, covariance, best }
}

/// The error of a model's subspace through its mean, relative to the best one, minus one.
fn excess(truth: &Truth, model: &Model) -> f64 {
    let Content::Pca { mean, components, .. } = &model.content else { return f64::NAN };
    let dim = mean.len();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let shift: Vec<f64> = mean.iter().zip(&truth.mean).map(|(a, b)| a - b).collect();
    let mut error = (0..dim).map(|c| truth.covariance[c * dim + c]).sum::<f64>() + dot(&shift, &shift);
    for component in components {
        let image: Vec<f64> = truth.covariance.chunks_exact(dim).map(|line| dot(line, component)).collect();
        error -= dot(&image, component) + dot(&shift, component).powi(2);
    }
    error / truth.best - 1.0
}
