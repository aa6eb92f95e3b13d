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
use crate::num::lloyd::{Points, Run, greedy_plus_plus, lloyd, n_starts};
use crate::num::random::{Purpose, Stream};
use crate::num::repeated::repeated;
use crate::num::swaps::exchange;
use crate::sketch::Moments;
use crate::sketch::operator::SketchOperator;

/// Starts of k-means beside the learned centres, more where a run is cheap: as many as these multiply-adds
/// pay for, at so many rounds a run.
const STARTS: usize = 10;
const STARTS_CHEAP: (usize, usize, usize) = (60, 200_000_000, 30);
/// Exchanges that are tried on each start, or as many as there are centres.
const EXCHANGES: usize = 100;
/// Rounds of a run at most.
const ROUNDS: usize = 300;
/// Clusterings that mixtures start from, beside the learned mixture.
const CLUSTERINGS: usize = 4;

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
            let points = Points::equal(&working, d);
            let (centres, shares) = centres(points, start, origin.seed);
            let order = heaviest_first(&shares);
            Content::Kmeans {
                centers: order.iter().map(|&l| place.location(&centres[l * d..(l + 1) * d])).collect(),
                weights: order.iter().map(|&l| shares[l]).collect(),
            }
        }
        Content::Gmm { covariances, .. } if origin.misfit.explained() == Explained::No => {
            let start = mixture(operator, &learned.model, covariances);
            let found = refitted(&working, start, &origin.covariance, origin.seed);
            let Some(found) = found else { return Ok(learned) };
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
fn centres(points: Points<'_>, start: Vec<f64>, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let k = start.len() / points.dim;
    let mut stream = Stream::new(seed, Purpose::Decode, u64::MAX - 6);
    let exchanged = |start: Vec<f64>, stream: &mut Stream| {
        exchange(points, start, EXCHANGES.max(k), |square| square, stream)
    };
    let mut best = lloyd(points, start, ROUNDS);
    let take = |next: Run, best: &mut Run| {
        if next.cost < best.cost && !next.counts.contains(&0.0) {
            *best = next;
        }
    };
    let (most, effort, rounds) = STARTS_CHEAP;
    let cheap = (effort / (rounds * points.rows.len() * k).max(1)).min(most);
    for _ in 0..n_starts(STARTS, k).max(cheap) {
        // Exchanges lead many starts to one end, which need not be the best.
        let drawn = greedy_plus_plus(points, k, |square| square, &mut stream);
        take(lloyd(points, drawn.clone(), ROUNDS), &mut best);
        take(lloyd(points, exchanged(drawn, &mut stream), ROUNDS), &mut best);
    }
    let last = exchanged(best.centers.clone(), &mut stream);
    take(lloyd(points, last, ROUNDS), &mut best);
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

/// Expectation-maximisation on rows, from a mixture and from clusters; none for a known covariance.
fn refitted(rows: &[f64], start: Mixture, covariance: &str, seed: u64) -> Option<Mixture> {
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
    let mass = |(often, v): (bool, &f64)| if often { on_density::POINT_VARIANCE * v } else { 0.0 };
    let masses: Vec<f64> = repeated(rows, d).into_iter().zip(&all).map(mass).collect();
    let variances: Vec<f64> = (0..n).flat_map(|_| masses.iter().copied()).collect();
    let points = Points::equal(rows, d);
    let mut stream = Stream::new(seed, Purpose::Decode, u64::MAX - 8);
    let clusters = |_| {
        let start = greedy_plus_plus(points, start.k(), |square| square, &mut stream);
        lloyd(points, start, ROUNDS).centers
    };
    let mut starts: Vec<Vec<f64>> = (0..CLUSTERINGS).map(clusters).collect();
    starts.extend(on_density::scattered(points, start.k(), &scatter, seed));
    let blobs = Blobs { variances: &variances, ..plain };
    on_density::expectation_maximisation(blobs, (start, &starts), &scatter, n as f64)
}
