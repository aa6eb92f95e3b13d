//! k-medians and mixtures of alpha-stable laws: planted parameters found in the sketch.

use compressive::design::{Request, Task};
use compressive::model::Content;

use crate::error::Result;
use crate::experiment::draws::{self, median};
use crate::experiment::report::{Cell, Report, Table, Verdict};
use crate::experiment::{Experiment, Options, Progress, fits};
use compressive_data::Sample;
use compressive_data::families::{StableMixture, kmedians, sum_of_distances};
use compressive_data::{KMeansParams, Rng, kmeans};

/// Families besides Gaussian mixtures.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "families",
    title: "k-medians and alpha-stable mixtures from a sketch",
    reference: "[GBKT17] section 4 (k-medians); [KDL18] (alpha-stable laws)",
    work: run,
};

/// Shapes of the clusters of the k-medians table.
#[derive(Clone, Copy, Debug)]
enum Tails {
    Gaussian,
    Skewed,
    Heavy,
    Outliers,
}

const TAILS: [(&str, Tails); 4] = [
    ("Gaussian", Tails::Gaussian),
    ("exponential", Tails::Skewed),
    ("Student, 2 degrees", Tails::Heavy),
    ("Gaussian, 5% outliers", Tails::Outliers),
];

/// Sum of distances allowed, relative to direct k-medians on all rows.
const COST: f64 = 1.05;
/// Error of an exponent allowed.
const ALPHA: f64 = 0.05;
const K: usize = 5;
const DIM: usize = 4;

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report> {
    let n_rows = options.pick(100_000, 20_000);
    let draws = options.draws(20, 1);
    let columns = ["clusters", "k-medians", "worst", "k-means of the sketch", "Lloyd on all rows"];
    let mut costs = Table::new("Median sum of distances relative to direct k-medians on all rows", &columns);
    for (name, tails) in if options.quick { &TAILS[3..] } else { &TAILS[..] } {
        let found = draws::map(draws, options.threads, name, progress, |draw| medians(*tails, n_rows, draw))?;
        let of = |at: usize| found.iter().map(|f| f[at]).collect::<Vec<f64>>();
        let worst = of(0).into_iter().fold(0.0, f64::max);
        let cells = vec![
            Cell::text(*name),
            Cell::number("median", median(&of(0)), 4).with("draws", draws as f64),
            Cell::number("worst", worst, 4),
            Cell::number("median", median(&of(1)), 4),
            Cell::number("median", median(&of(2)), 4),
        ];
        costs.push(cells, Some(Verdict::bar(median(&of(0)) <= COST, format!("at most {COST}"))));
    }
    let columns = ["components", "alpha", "error of alpha", "worst", "error of locations", "error of scales"];
    let mut stable =
        Table::new("Stable laws: median over draws of the largest error over components", &columns);
    for (k, dim, alpha) in if options.quick { &STABLE[..1] } else { &STABLE[..] } {
        let name = format!("k = {k}, d = {dim}");
        let found = draws::map(draws, options.threads, &name, progress, |draw| {
            recovered(*k, *dim, alpha, n_rows.max(100_000), draw)
        })?;
        let of = |at: usize| found.iter().map(|f| f[at]).collect::<Vec<f64>>();
        let shown: Vec<String> = alpha.iter().map(f64::to_string).collect();
        let worst = of(0).into_iter().fold(0.0, f64::max);
        let cells = vec![
            Cell::text(name),
            Cell::text(shown.join(", ")),
            Cell::number("alpha", median(&of(0)), 4),
            Cell::number("worst", worst, 4),
            Cell::number("location", median(&of(1)), 4),
            Cell::number("scale", median(&of(2)), 4),
        ];
        stable.push(cells, Some(Verdict::bar(median(&of(0)) <= ALPHA, format!("alpha within {ALPHA}"))));
    }
    Ok(Report { text: text(n_rows, draws), tables: vec![costs, stable], ..Report::default() })
}

/// Components, columns and exponents of the stable table.
const STABLE: [(usize, usize, &[f64]); 4] =
    [(1, 2, &[1.5]), (3, 2, &[1.2, 1.6, 2.0]), (3, 5, &[1.5, 1.5, 1.5]), (4, 3, &[0.9, 1.2, 1.5, 1.8])];

fn text(n_rows: usize, draws: usize) -> Vec<String> {
    vec![
        format!(
            "k-medians: {K} clusters in {DIM} columns, {n_rows} rows, {draws} draws; the direct method starts at ten k-means++ solutions and at the true centres. The outliers are uniform in a cube of ten times \
             the clusters' spread."
        ),
        "Stable laws: at least 100,000 rows; locations apart by 8 scales or more, scales U[0.5, 1.5] for each column. The errors of locations are in scales, of scales relative.".into(),
    ]
}

fn medians(tails: Tails, n_rows: usize, draw: u64) -> Result<[f64; 3]> {
    let mut rng = Rng::derived(71, draw);
    let (sample, truth) = clusters(tails, n_rows, &mut rng);
    let rows = sample.rows()?;
    let reference = {
        let starts = kmeans(rows, K, &KMeansParams { seed: draw, threads: 1, ..KMeansParams::default() })?;
        let (_, a) = kmedians(rows, starts.centers.clone(), 200);
        let (_, b) = kmedians(rows, truth, 200);
        (a.min(b), sum_of_distances(rows, &starts.centers))
    };
    let params = Request::new(Task::Kmedians, K).outline(false).seed(draw);
    let sketched = fits::designed(&sample.values, DIM, &params)?;
    let cost = |task| -> Result<f64> {
        let centers = sketched.model(task, K)?.locations().concat();
        Ok(sum_of_distances(rows, &centers) / reference.0)
    };
    Ok([cost(Task::Kmedians)?, cost(Task::Kmeans)?, reference.1 / reference.0])
}

/// Rows and the centres they scatter around.
fn clusters(tails: Tails, n_rows: usize, rng: &mut Rng) -> (Sample, Vec<f64>) {
    let centres: Vec<f64> = (0..K * DIM).map(|_| 6.0 * rng.normal()).collect();
    let mut sample = Sample { dim: DIM, values: Vec::new(), labels: Vec::new() };
    for _ in 0..n_rows {
        let l = rng.below(K);
        let wide = (2.0 / rng.gamma(1.0)).sqrt();
        let far = rng.uniform() < 0.05;
        for c in 0..DIM {
            let centre = centres[l * DIM + c];
            sample.values.push(match tails {
                Tails::Gaussian => centre + rng.normal(),
                Tails::Skewed => centre + 1.5 * rng.gamma(1.0),
                Tails::Heavy => centre + 0.7 * wide / std::f64::consts::SQRT_2 * rng.normal(),
                Tails::Outliers if far => rng.between(-60.0, 60.0),
                Tails::Outliers => centre + rng.normal(),
            });
        }
        sample.labels.push(l as u32);
    }
    (sample, centres)
}

/// Largest errors over the components: exponent, location in scales, scale relative.
fn recovered(k: usize, dim: usize, alpha: &[f64], n_rows: usize, draw: u64) -> Result<[f64; 3]> {
    let mut rng = Rng::derived(73, draw);
    let law = StableMixture {
        dim,
        locations: separated(k, dim, &mut rng),
        scales: (0..k * dim).map(|_| rng.between(0.5, 1.5)).collect(),
        alpha: alpha.to_vec(),
    };
    let sample = law.sample(n_rows, &mut rng)?;
    let params = Request::new(Task::Stable, k).seed(draw);
    let model = fits::designed(&sample.values, dim, &params)?.model(Task::Stable, k)?;
    let Content::Stable { locations, scales, alpha: found, .. } = &model.content else {
        return Ok([f64::NAN; 3]);
    };
    let mut errors = [0.0f64; 3];
    for (l, planted) in alpha.iter().enumerate() {
        let own = &law.locations[l * dim..(l + 1) * dim];
        let square = |x: &Vec<f64>| x.iter().zip(own).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        let near =
            (0..k).min_by(|&a, &b| square(&locations[a]).total_cmp(&square(&locations[b]))).unwrap_or(0);
        errors[0] = errors[0].max((found[near] - planted).abs());
        for c in 0..dim {
            let scale = law.scales[l * dim + c];
            errors[1] = errors[1].max((locations[near][c] - own[c]).abs() / scale);
            errors[2] = errors[2].max((scales[near][c] / scale - 1.0).abs());
        }
    }
    Ok(errors)
}

/// Locations at least 8 apart.
fn separated(k: usize, dim: usize, rng: &mut Rng) -> Vec<f64> {
    loop {
        let all: Vec<f64> = (0..k * dim).map(|_| rng.between(-12.0, 12.0)).collect();
        let apart = |a: usize, b: usize| {
            (0..dim).map(|c| (all[a * dim + c] - all[b * dim + c]).powi(2)).sum::<f64>().sqrt() >= 8.0
        };
        if (0..k).all(|a| (0..a).all(|b| apart(a, b))) {
            return all;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compressive_data::Rows;

    #[test]
    fn locations_are_kept_apart() {
        let all = separated(4, 3, &mut Rng::new(1));
        let rows = Rows::new(&all, 3).expect("rows");
        let gap = |a: usize, b: usize| {
            rows.row(a).iter().zip(rows.row(b)).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt()
        };
        assert!((0..4).all(|a| (0..a).all(|b| gap(a, b) >= 8.0)));
    }
}
