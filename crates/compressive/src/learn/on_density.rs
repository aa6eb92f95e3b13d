//! Learners on a density: the ordinary algorithms, on the cells of an outline and on points that stand for
//! them.
//!
//! Starts and most rounds cost next to nothing on the cells; the best few are finished on the points, by
//! which they are judged: Lloyd's rounds for k-means, expectation-maximisation for mixtures. A start of the
//! cells is a greedy k-means++ one.

pub(super) use crate::density::POINT_VARIANCE;
use crate::density::atom::{AtomFamily, Gaussian, Shape};
use crate::density::fit::Fit;
use crate::density::{Cloud, Density};
use crate::learn::judge::silhouette;
use crate::num::budget;
use crate::num::em::{Blobs, Mixture, Regular, Scatter, Start, em};
use crate::num::linear::cholesky;
use crate::num::lloyd::{Points, Run, greedy_plus_plus, lloyd, n_starts, nearest, plus_plus};
use crate::num::random::{Purpose, Stream};
use crate::num::swaps::exchange;
use crate::num::weiszfeld::medians;

/// Runs on the cells, fewer for many components.
const STARTS: usize = 16;
/// Exchanges that are tried on each start, or as many as there are centres.
const EXCHANGES: usize = 25;
/// Runs that are finished on the points.
const FINISHED: usize = 3;
/// Rounds of a run at most.
const ROUNDS: usize = 100;
/// Multiply-adds of a round on the points, and the points that they are worth at least and at most.
const EFFORT: (usize, usize, usize) = (4_000_000, 2_000, 20_000);
/// Multiply-adds of a search for nearest centres, in single precision, that take as long as one of these.
const SINGLE: usize = 8;
/// Points for each centre at least.
const POINTS_EACH: usize = 40;
/// Iterations of expectation-maximisation on the cells and on the points, with the least gain in nats.
const ON_CELLS: (usize, f64) = (200, 1e-5);
const ON_POINTS: (usize, f64) = (60, 1e-4);
/// Rows that the mean scatter counts for in a component's; for full covariances as many more as there are
/// columns.
const PULL: f64 = 4.0;
/// Parts in which blobs are left out to choose how much scatters are drawn to their mean, and iterations for
/// each.
const FOLDS: usize = 5;
const ON_FOLDS: (usize, f64) = (10, 1e-3);
/// Rows of a blob that are left out together at least: those of a cell.
const FOLD_PART: f64 = 5.0;
/// What [`PULL`] is multiplied by, whether the mean scatter keeps its variances, and the gain in nats a column
/// that is worth it; a mixture of some of the cells knows less than one of all.
const PULLS: [(f64, bool, f64); 6] = [
    (0.1, false, 0.01),
    (0.01, false, 0.01),
    (1.0, true, 0.1),
    (4.0, true, 0.1),
    (16.0, true, 0.1),
    (64.0, true, 0.1),
];
/// Iterations of expectation-maximisation that tell which start is the best.
const ON_STARTS: (usize, f64) = (20, 1e-3);
/// Starts drawn by k-means++ at most, and multiply-adds of all of them.
const SCATTERED: (usize, usize) = (12, 400_000_000);
/// Rows that show it, where there are rows.
const FOLD_ROWS: usize = 2000;
/// Least variance of a component, in variances of the column.
const FLOOR: f64 = 1e-9;

/// Centres with what they leave.
#[derive(Clone, Debug)]
pub(crate) struct Centres {
    /// k rows of d, in the coordinates of the metric.
    pub centres: Vec<f64>,
    /// Share of the rows nearest to each.
    pub shares: Vec<f64>,
    /// Mean squared distance, or mean distance.
    pub cost: f64,
    /// Mean silhouette.
    pub silhouette: f64,
    cloud: Cloud,
    loss: fn(f64) -> f64,
}

impl Centres {
    /// The cost of other centres.
    pub fn cost_of(&self, centres: &[f64]) -> f64 {
        let points =
            Points { rows: &self.cloud.points, weights: Some(&self.cloud.weights), dim: self.cloud.dim };
        points.iter().map(|(row, w)| w * (self.loss)(nearest(row, centres, points.dim).1)).sum()
    }
}

/// Atoms at centres, with the variances of the points nearest to each.
pub(super) fn shapes_of(density: &Density, found: &Centres, family: &Gaussian) -> Fit {
    let (d, (low, high)) = (density.dim(), family.variance_range());
    let mut squares = vec![0.0; found.centres.len()];
    for (row, w) in found.cloud.points.chunks_exact(d).zip(&found.cloud.weights) {
        let l = nearest(row, &found.centres, d).0;
        for c in 0..d {
            squares[l * d + c] += w * (row[c] - found.centres[l * d + c]).powi(2);
        }
    }
    let mut atoms = Vec::with_capacity(2 * squares.len());
    for (l, centre) in found.centres.chunks_exact(d).enumerate() {
        atoms.extend_from_slice(centre);
        let share = found.shares[l].max(1e-12);
        atoms.extend(squares[l * d..(l + 1) * d].iter().map(|s| (s / share).clamp(low, high)));
    }
    Fit { atoms, shared: Vec::new(), weights: found.shares.clone() }
}

/// What minimises a sum over weighted points from a start.
#[derive(Clone, Copy)]
struct Algorithm {
    run: fn(Points<'_>, Vec<f64>) -> Run,
    /// What is summed, of a squared distance.
    loss: fn(f64) -> f64,
}

const LLOYD: Algorithm =
    Algorithm { run: |points, start| lloyd(points, start, ROUNDS), loss: |square| square };
const MEDIANS: Algorithm = Algorithm { run: |points, start| medians(points, start, ROUNDS), loss: f64::sqrt };

/// Coordinates in which distances are taken, from working ones; none if they are these.
pub(super) type ToMetric<'a> = Option<&'a dyn Fn(&[f64]) -> Vec<f64>>;

/// [`kmeans`] or [`kmedians`].
pub(super) type Clusters = fn(&Density, usize, u64, ToMetric<'_>) -> Option<Centres>;

/// k-means of a density; none if fewer than k cells have a weight.
pub(super) fn kmeans(density: &Density, k: usize, seed: u64, metric: ToMetric<'_>) -> Option<Centres> {
    clusters(density, k, seed, metric, LLOYD)
}

/// k-medians of a density; none if fewer than k cells have a weight.
pub(super) fn kmedians(density: &Density, k: usize, seed: u64, metric: ToMetric<'_>) -> Option<Centres> {
    clusters(density, k, seed, metric, MEDIANS)
}

fn clusters(
    density: &Density,
    k: usize,
    seed: u64,
    metric: ToMetric<'_>,
    algorithm: Algorithm,
) -> Option<Centres> {
    let d = density.dim();
    let (effort, least, most) = EFFORT;
    let points = (SINGLE * effort / (k * d)).clamp(least, most);
    let mut cloud = density.cloud(points.max((POINTS_EACH * k).min(effort / d)), seed);
    let mut cells = density.blocks.centres.clone();
    if let Some(metric) = metric {
        cloud.points = cloud.points.chunks_exact(d).flat_map(metric).collect();
        cells = cells.chunks_exact(d).flat_map(metric).collect();
    }
    let cells = Points { rows: &cells, weights: Some(density.weights()), dim: d };
    let points = Points { rows: &cloud.points, weights: Some(&cloud.weights), dim: d };
    let starts = starts(cells, k, seed, algorithm)?.into_iter().enumerate();
    let starts = starts.take_while(|(i, _)| *i == 0 || !budget::spent());
    let runs = starts.map(|(_, start)| (algorithm.run)(points, start));
    let best = runs.min_by(|a, b| a.cost.total_cmp(&b.cost))?;
    let silhouette = silhouette(points, &best.centers);
    Some(Centres {
        shares: best.counts,
        cost: best.cost,
        silhouette,
        centres: best.centers,
        loss: algorithm.loss,
        cloud,
    })
}

/// Points for an effort of so many multiply-adds a point and round.
fn cloud_for(density: &Density, each: usize, seed: u64) -> Cloud {
    let (effort, least, most) = EFFORT;
    density.cloud((effort / each.max(1)).clamp(least, most), seed)
}

/// The best few of the runs on the cells.
fn starts(cells: Points<'_>, k: usize, seed: u64, algorithm: Algorithm) -> Option<Vec<Vec<f64>>> {
    if cells.iter().filter(|(_, w)| *w > 0.0).count() < k {
        return None;
    }
    let mut stream = Stream::new(seed, Purpose::Decode, u64::MAX - 4);
    // Exchanges lead many starts to one end, which need not be the best.
    let mut start = || {
        let drawn = greedy_plus_plus(cells, k, algorithm.loss, &mut stream);
        let exchanged = exchange(cells, drawn.clone(), EXCHANGES.max(k), algorithm.loss, &mut stream);
        [drawn, exchanged]
    };
    let mut runs: Vec<Run> = (0..n_starts(STARTS, k))
        .take_while(|i| *i == 0 || !budget::spent())
        .flat_map(|_| start().map(|start| (algorithm.run)(cells, start)))
        .collect();
    runs.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    runs.dedup_by(|a, b| (a.cost - b.cost).abs() <= 1e-6 * b.cost);
    runs.truncate(FINISHED);
    Some(runs.into_iter().map(|run| run.centers).collect())
}

/// A mixture of a density.
pub(super) struct FoundMixture {
    pub mixture: Mixture,
    /// Mean log-density of the density's points.
    pub likelihood: f64,
    cloud: Cloud,
}

impl FoundMixture {
    /// The mean log-density of the same points under another mixture.
    pub fn cloud_likelihood(&self, family: &Gaussian, fit: &Fit) -> Option<f64> {
        let (d, p) = (family.dim(), family.n_params());
        let atoms = || fit.atoms.chunks_exact(p);
        let other = Mixture {
            dim: d,
            weights: fit.normalised_weights().iter().map(|w| w.max(1e-12)).collect(),
            means: atoms().flat_map(|atom| &atom[..d]).copied().collect(),
            scatters: atoms().map(|atom| family.covariance_of(atom, &fit.shared)).collect(),
        };
        other.log_likelihood(self.cloud.blobs())
    }
}

/// A mixture of k Gaussians of a shape; none if fewer than k cells have a weight.
pub(super) fn mixture(density: &Density, k: usize, shape: &Shape, seed: u64) -> Option<FoundMixture> {
    let d = density.dim();
    let scatter = scatter_of(shape);
    let each = k * d * if scatter == Scatter::Full { d.div_ceil(2) } else { 1 };
    let cloud = cloud_for(density, each, seed);
    let variances = density.finite_variances();
    let covariances = if scatter == Scatter::Full { density.finite_covariances() } else { Vec::new() };
    let cells = density.blobs(&variances, &covariances);
    let floor: Vec<f64> = cells.moments().1.iter().map(|v| FLOOR * v).collect();
    let regular = Regular { rows: density.rows, pull: pull(&scatter, d), wide: false, floor: &floor };
    let centres = Points { rows: &density.blocks.centres, weights: Some(density.weights()), dim: d };
    let mut starts = starts(centres, k, seed, LLOYD)?;
    starts.extend(scattered(centres, k, &scatter, seed));
    let mut found = tried(cells, &starts, &scatter, regular);
    found.sort_by(|a, b| by_likelihood(b, a));
    let go_on = |(start, _): (Mixture, f64)| em(cells, Start::At(start), &scatter, regular, ON_CELLS);
    let mut found: Vec<(Mixture, f64)> = found.into_iter().take(2).filter_map(go_on).collect();
    found.sort_by(|a, b| by_likelihood(b, a));
    let regular =
        found.first().map_or(regular, |(start, _)| validated(cells, start, &scatter, regular, density.pilot));
    let finish =
        |(start, _): (Mixture, f64)| em(cloud.blobs(), Start::At(start), &scatter, regular, ON_POINTS);
    let (mixture, likelihood) = found.into_iter().filter_map(finish).max_by(by_likelihood)?;
    Some(FoundMixture { mixture, likelihood, cloud })
}

/// Mixtures after a few iterations from centres, each with the blobs nearest to it.
fn tried(
    blobs: Blobs<'_>,
    starts: &[Vec<f64>],
    scatter: &Scatter,
    regular: Regular<'_>,
) -> Vec<(Mixture, f64)> {
    let d = blobs.dim;
    let run = |centres: &Vec<f64>| {
        let labels: Vec<usize> = blobs.centres.chunks_exact(d).map(|x| nearest(x, centres, d).0).collect();
        em(blobs, Start::Memberships(&labels, centres.len() / d), scatter, regular, ON_STARTS)
    };
    let runs = starts.iter().enumerate().take_while(|(i, _)| *i == 0 || !budget::spent());
    runs.filter_map(|(_, centres)| run(centres)).collect()
}

fn by_likelihood(a: &(Mixture, f64), b: &(Mixture, f64)) -> std::cmp::Ordering {
    a.1.total_cmp(&b.1)
}

/// Centres drawn by k-means++: clusters are not the best starts of a mixture where columns have few values,
/// and such draws differ more. Fewer where iterations are costly.
pub(super) fn scattered(points: Points<'_>, k: usize, scatter: &Scatter, seed: u64) -> Vec<Vec<f64>> {
    let (d, n) = (points.dim, (points.rows.len() / points.dim).min(FOLD_ROWS));
    let each = n * k * d * if *scatter == Scatter::Full { d } else { 1 } * ON_STARTS.0;
    let mut stream = Stream::new(seed, Purpose::Decode, u64::MAX - 7);
    (0..(SCATTERED.1 / each.max(1)).min(SCATTERED.0)).map(|_| plus_plus(points, k, &mut stream)).collect()
}

/// How much the components' scatters are drawn to their mean: more or less, if that makes blobs that were
/// left out more likely under mixtures of the others. A column that hardly varies within a component wants
/// more, since one row that differs would be next to impossible; columns of few values want less.
///
/// Blobs stand for `rows` rows in all; those of many are left out in part, as they would be if their rows were.
fn validated<'a>(
    blobs: Blobs<'_>,
    start: &Mixture,
    scatter: &Scatter,
    regular: Regular<'a>,
    rows: f64,
) -> Regular<'a> {
    let total: f64 = blobs.weights.iter().sum();
    let mut next = 0;
    // Of each blob the part of it that each fold leaves out.
    let parts: Vec<[f64; FOLDS]> = blobs
        .weights
        .iter()
        .map(|w| {
            let n = ((w / total * rows / FOLD_PART) as usize).clamp(1, 4 * FOLDS);
            let mut out = [0.0; FOLDS];
            (next..next + n).for_each(|i| out[i % FOLDS] += 1.0 / n as f64);
            next += n;
            out
        })
        .collect();
    let fold = |f: usize, held: bool| -> Vec<f64> {
        let part = |(w, out): (&f64, &[f64; FOLDS])| w * if held { out[f] } else { 1.0 - out[f] };
        blobs.weights.iter().zip(&parts).map(part).collect()
    };
    let likelihood = |regular: Regular<'_>| -> Option<f64> {
        let mut sum = 0.0;
        for f in 0..FOLDS {
            let (kept, held) = (fold(f, false), fold(f, true));
            let part = Blobs { weights: &kept, ..blobs };
            let (mixture, _) = em(part, Start::At(start.clone()), scatter, regular, ON_FOLDS)?;
            let share: f64 = held.iter().sum();
            if share > 0.0 {
                sum += share * mixture.log_likelihood(Blobs { weights: &held, ..blobs })?;
            }
        }
        Some(sum / total)
    };
    let Some(plain) = likelihood(regular) else { return regular };
    let mut best = (plain, regular);
    for (factor, wide, worth) in PULLS {
        let next = Regular { pull: factor * regular.pull, wide, ..regular };
        if let Some(found) = likelihood(next)
            && found > best.0.max(plain + worth * blobs.dim as f64)
        {
            best = (found, next);
        }
    }
    best.1
}

fn scatter_of(shape: &Shape) -> Scatter {
    match shape {
        Shape::Full => Scatter::Full,
        Shape::Known(sigma) => Scatter::Known(sigma.clone()),
        Shape::Width | Shape::SharedWidth | Shape::Dirac => Scatter::Width,
        Shape::Diagonal | Shape::SharedDiagonal => Scatter::Diagonal,
    }
}

/// A mixture as atoms of a family, with variances within its range.
pub(super) fn fit_of(mixture: &Mixture, family: &Gaussian) -> Option<Fit> {
    let d = mixture.dim;
    let (low, high) = family.variance_range();
    let mut atoms = Vec::new();
    for (l, mean) in mixture.means.chunks_exact(d).enumerate() {
        atoms.extend_from_slice(mean);
        let sigma = mixture.covariance(l);
        let variances = (0..d).map(|c| sigma[c * d + c].clamp(low, high));
        match family.covariance() {
            Shape::Width => atoms.push(variances.sum::<f64>() / d as f64),
            Shape::Diagonal => atoms.extend(variances),
            Shape::Full => {
                let lower = cholesky(&sigma.chunks_exact(d).map(<[f64]>::to_vec).collect::<Vec<_>>())?;
                (0..d).for_each(|i| atoms.extend_from_slice(&lower[i][..=i]));
            }
            Shape::Dirac | Shape::SharedWidth | Shape::SharedDiagonal | Shape::Known(_) => {}
        }
    }
    Some(Fit { atoms, shared: vec![low; family.n_shared()], weights: mixture.weights.clone() })
}

/// Expectation-maximisation on points, for rows that are as many as these, from the start that some of them
/// call the best: a mixture, or centres with the points nearest to each.
pub(super) fn expectation_maximisation(
    blobs: Blobs<'_>,
    (start, starts): (Mixture, &[Vec<f64>]),
    scatter: &Scatter,
    rows: f64,
) -> Option<Mixture> {
    let floor: Vec<f64> = blobs.moments().1.iter().map(|v| FLOOR * v).collect();
    let regular = Regular { rows, pull: pull(scatter, blobs.dim), wide: false, floor: &floor };
    let step = blobs.weights.len().div_ceil(FOLD_ROWS);
    let some: Vec<usize> = (0..blobs.weights.len()).step_by(step).collect();
    let thinned = |all: &[f64]| -> Vec<f64> {
        some.iter().flat_map(|i| &all[i * blobs.dim..(i + 1) * blobs.dim]).copied().collect()
    };
    let part = Blobs {
        dim: blobs.dim,
        centres: &thinned(blobs.centres),
        weights: &some.iter().map(|&i| blobs.weights[i]).collect::<Vec<f64>>(),
        variances: &thinned(blobs.variances),
        covariances: &[],
    };
    let learned = em(part, Start::At(start), scatter, regular, ON_STARTS);
    let (best, _) = learned.into_iter().chain(tried(part, starts, scatter, regular)).max_by(by_likelihood)?;
    let regular = validated(part, &best, scatter, regular, some.len() as f64);
    em(blobs, Start::At(best), scatter, regular, ON_POINTS).map(|(mixture, _)| mixture)
}

/// Rows that the mean scatter counts for.
fn pull(scatter: &Scatter, dim: usize) -> f64 {
    PULL + if *scatter == Scatter::Full { dim as f64 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::{Look, Request, Task, design};
    use crate::model::Model;

    /// Rows that are not Gaussian: a skewed column, one that is mostly zero, one that depends on the first.
    fn rows(n: usize, shift: f64) -> Vec<f64> {
        let mut stream = Stream::new(17, Purpose::PilotMixture, 33);
        let mut draw = |_| {
            let skewed = -stream.uniform().ln();
            let rare = if stream.uniform() < 0.05 { -4.0 * stream.uniform().ln() } else { 0.0 };
            let third = (3.0 * skewed).sin() + 0.2 * stream.normal();
            [shift + skewed, rare, third]
        };
        (0..n).flat_map(&mut draw).collect()
    }

    fn learned(pilot: &[f64], rows: &[f64], task: Task, k: usize) -> Model {
        let columns = ["a", "b", "c"].map(String::from);
        let spec =
            design(Look::Sample { rows: pilot, columns: &columns }, &Request::new(task, k)).unwrap().spec;
        assert!(spec.outline.is_some() && spec.moments.is_some());
        let sketch = spec.sketch(rows).unwrap();
        if task == Task::Gmm { sketch.gmm(k).unwrap() } else { sketch.kmeans(k).unwrap() }
    }

    fn best(rows: &[f64], k: usize) -> f64 {
        let points = Points::equal(rows, 3);
        let mut stream = Stream::new(3, Purpose::PilotMixture, 1);
        let starts = (0..20).map(|_| greedy_plus_plus(points, k, |square| square, &mut stream));
        starts.map(|start| lloyd(points, start, 300).cost).fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn k_means_of_rows_that_are_no_clusters_is_that_of_the_rows_and_within_its_promise() {
        let rows = rows(30_000, 0.0);
        for k in [5, 10] {
            let model = learned(&rows[..3 * 8000], &rows, Task::Kmeans, k);
            let ratio = Points::equal(&rows, 3).sse(&model.locations().concat()) / best(&rows, k);
            let excess = model.origin.unwrap().misfit.excess().unwrap();
            assert!(ratio < 1.02 && ratio < 1.0 + excess && excess < 0.05, "{k}: {ratio} {excess}");
        }
    }

    #[test]
    fn rows_that_moved_since_the_pilot_are_found_where_they_are() {
        let (pilot, now) = (rows(8_000, 0.0), rows(20_000, 1.5));
        let model = learned(&pilot, &now, Task::Kmeans, 5);
        let ratio = Points::equal(&now, 3).sse(&model.locations().concat()) / best(&now, 5);
        assert!(ratio < 1.1, "{ratio}");
    }

    #[test]
    fn a_mixture_is_as_likely_as_that_of_the_rows() {
        let rows = rows(20_000, 0.0);
        let model = learned(&rows[..3 * 8000], &rows, Task::Gmm, 4);
        let likelihood = model.scores(&rows).unwrap().log_densities.iter().sum::<f64>() / 20_000.0;
        let n = rows.len() / 3;
        let (weights, none) = (vec![1.0; n], vec![0.0; rows.len()]);
        let plain = Blobs { dim: 3, centres: &rows, weights: &weights, variances: &none, covariances: &[] };
        let all = plain.moments().1;
        // Point masses count as much as they do for a density.
        let masses = [0.0, POINT_VARIANCE * all[1], 0.0].repeat(n);
        let blobs = Blobs { variances: &masses, ..plain };
        let points = Points::equal(&rows, 3);
        let start =
            greedy_plus_plus(points, 4, |square| square, &mut Stream::new(3, Purpose::PilotMixture, 1));
        let centres = lloyd(points, start, 100).centers;
        let labels: Vec<usize> = rows.chunks_exact(3).map(|x| nearest(x, &centres, 3).0).collect();
        let regular = Regular { rows: n as f64, pull: PULL, wide: false, floor: &[1e-9; 3] };
        let (direct, _) =
            em(blobs, Start::Memberships(&labels, 4), &Scatter::Diagonal, regular, (300, 1e-6)).unwrap();
        let direct = direct.log_likelihood(plain).unwrap();
        // A tenth of a nat for each column, as on real tables.
        assert!(likelihood > direct - 0.3, "{likelihood} for {direct}");
    }
}
