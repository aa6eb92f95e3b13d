//! A model learned from a sketch, improved on rows that are at hand as well: the sample that the recipe was
//! chosen on.
//!
//! - Centres of k-means, where the sample is the whole table: Lloyd's rounds on the rows, from the centres
//!   that were learned and from other starts. A larger table is better known by its sketch.
//! - Mixtures that do not explain the sketch: expectation-maximisation on the rows from the one that was
//!   learned. The density behind it is made of cells, which blur what the rows show.
//!
//! Cost: some rounds of n k d, n k d^2 for full covariances.

use crate::density::Target;
use crate::error::Result;
use crate::learn::laid::{Laid, working_locations};
use crate::learn::{Learned, on_density};
use crate::model::{Content, Covariances, Explained, Model, Stop, Working, to_working};
use crate::num::em::{Blobs, Mixture, Scatter};
use crate::num::lloyd::{Points, greedy_plus_plus, lloyd, n_starts};
use crate::num::random::{Purpose, Stream};
use crate::num::swaps::exchange;
use crate::sketch::Moments;
use crate::sketch::operator::SketchOperator;

/// Starts of k-means beside the learned centres.
const STARTS: usize = 10;
/// Rounds of a run at most.
const ROUNDS: usize = 300;
/// Share of equal values above which a column is taken to have point masses.
const OFTEN: f64 = 0.1;

/// Improves a model on sampled rows of the sketched table, row-major in the user's units; as it came if there
/// is nothing to gain, or no time.
///
/// # Errors
/// None that learning itself would not have had.
pub fn improve(
    operator: &SketchOperator,
    moments: &Moments,
    mut learned: Learned,
    rows: &[f64],
) -> Result<Learned> {
    let spec = operator.spec();
    let (d, transform) = (spec.dim(), &spec.transform);
    let n = rows.len() / d;
    let Some(origin) = learned.model.origin.clone() else { return Ok(learned) };
    let cut = origin.info.stop == Stop::Cut;
    if cut || n < 2 * learned.model.k || transform.whiten.is_some() {
        return Ok(learned);
    }
    let working: Vec<f64> = rows.chunks_exact(d).flat_map(|row| transform.apply(row)).collect();
    let place = Working::new(transform)?;
    let content = match &learned.model.content {
        Content::Kmeans { .. } if n as f64 == moments.rows => {
            let start = working_locations(operator, &learned.model).concat();
            let (centres, shares) = centres(&working, d, start, origin.seed);
            let order = heaviest_first(&shares);
            Content::Kmeans {
                centers: order.iter().map(|&l| place.location(&centres[l * d..(l + 1) * d])).collect(),
                weights: order.iter().map(|&l| shares[l]).collect(),
            }
        }
        Content::Gmm { covariances, .. } if origin.misfit.explained() == Explained::No => {
            let start = mixture(operator, &learned.model, covariances);
            let Some(found) = refitted(&working, start, &origin.covariance) else { return Ok(learned) };
            let order = heaviest_first(&found.weights);
            let sigmas: Vec<Vec<f64>> = order.iter().map(|&l| found.covariance(l)).collect();
            let diagonal = matches!(covariances, Covariances::Diagonal(_));
            Content::Gmm {
                weights: order.iter().map(|&l| found.weights[l]).collect(),
                means: order.iter().map(|&l| place.location(&found.means[l * d..(l + 1) * d])).collect(),
                covariances: place.covariances(&sigmas, diagonal),
            }
        }
        _ => return Ok(learned),
    };
    let model = Model { content, ..learned.model.clone() };
    model.validate()?;
    let misfit = Laid::new(operator, &Target::new(operator, moments)?, &model)?.misfit();
    let misfit = misfit.with_excess(origin.misfit.excess());
    learned.model = model;
    learned.model.origin.iter_mut().for_each(|origin| origin.misfit = misfit);
    learned.candidates.iter_mut().filter(|c| c.k == learned.model.k).for_each(|c| c.misfit = misfit);
    Ok(learned)
}

fn heaviest_first(shares: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by(|&a, &b| shares[b].total_cmp(&shares[a]));
    order
}

/// The best of Lloyd's runs, and the share of each cluster.
fn centres(rows: &[f64], d: usize, start: Vec<f64>, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let points = Points::equal(rows, d);
    let k = start.len() / d;
    let mut stream = Stream::new(seed, Purpose::Decode, u64::MAX - 6);
    let run = |start: Vec<f64>, stream: &mut Stream| {
        let steps = on_density::EXCHANGES.max(k);
        lloyd(points, exchange(points, start, steps, |square| square, stream), ROUNDS)
    };
    let mut best = run(start, &mut stream);
    for _ in 0..n_starts(STARTS, k) {
        let drawn = greedy_plus_plus(points, k, |square| square, &mut stream);
        let next = run(drawn, &mut stream);
        if next.cost < best.cost && !next.counts.contains(&0.0) {
            best = next;
        }
    }
    let total: f64 = best.counts.iter().sum();
    (best.centers, best.counts.iter().map(|n| n / total).collect())
}

/// A model's mixture in working coordinates.
fn mixture(operator: &SketchOperator, model: &Model, covariances: &Covariances) -> Mixture {
    let (transform, d) = (&operator.spec().transform, operator.dim());
    let diagonal = matches!(covariances, Covariances::Diagonal(_));
    let scatter = |l: usize| {
        let sigma = to_working(transform, &covariances.matrix(l));
        if diagonal { (0..d).map(|c| sigma[c * d + c]).collect() } else { sigma }
    };
    Mixture {
        dim: d,
        weights: model.weights().iter().map(|w| w.max(1e-12)).collect(),
        means: working_locations(operator, model).concat(),
        scatters: (0..model.k).map(scatter).collect(),
    }
}

/// Expectation-maximisation on rows; none for a known covariance.
fn refitted(rows: &[f64], start: Mixture, covariance: &str) -> Option<Mixture> {
    let scatter = match covariance {
        "iso" => Scatter::Width,
        "diag" => Scatter::Diagonal,
        "full" => Scatter::Full,
        _ => return None,
    };
    let d = start.dim;
    let n = rows.len() / d;
    let (weights, none) = (vec![1.0; n], vec![0.0; n * d]);
    let plain = Blobs { dim: d, centres: rows, weights: &weights, variances: &none, covariances: &[] };
    let all = plain.moments().1;
    let masses: Vec<f64> = (0..d)
        .map(|c| if most_frequent(rows, d, c) > OFTEN { on_density::POINT_VARIANCE * all[c] } else { 0.0 })
        .collect();
    let variances: Vec<f64> = (0..n).flat_map(|_| masses.iter().copied()).collect();
    on_density::expectation_maximisation(Blobs { variances: &variances, ..plain }, start, &scatter, n as f64)
}

/// Share of the most frequent value of a column.
fn most_frequent(rows: &[f64], d: usize, c: usize) -> f64 {
    let mut column: Vec<f64> = rows.iter().skip(c).step_by(d).copied().collect();
    column.sort_by(f64::total_cmp);
    let longest = column.chunk_by(|a, b| a == b).map(<[f64]>::len).max().unwrap_or(0);
    longest as f64 / column.len().max(1) as f64
}
