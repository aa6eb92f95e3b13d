//! Where rows came and went: cells that gained, and cells that lost, in a few groups of neighbours.
//!
//! 1. k-means of the cells of one sign, weighted by what they gained, for k = 1, 2 and 3, in deviations of
//!    the columns; another group is taken while it at least halves the sum of squares.
//! 2. Groups of less than a tenth of all that moved are left out.
//! 3. Columns are ordered by how far they tell the place from all rows, the divergence of two normal laws,
//!    $\ln(\sigma_c / s_c) + (s_c^2 + (x_c - \mu_c)^2) / 2 \sigma_c^2 - 1/2$.

use serde::Serialize;

use crate::ask::drift::difference::Difference;
use crate::model::{Covariances, Working};
use crate::num::lloyd::{Points, Run, greedy_plus_plus, lloyd, nearest};
use crate::num::math::ln;
use crate::num::random::{Purpose, Stream};
use crate::sketch::spec::Transform;

/// Places of one sign, at most.
const MOST: usize = 3;
/// Another group is worth it if it leaves less than this part of the sum of squares.
const WORTH: f64 = 0.5;
/// Least part of all gains, or losses, that a place is named for.
const LEAST: f64 = 0.1;
/// A place is taken to have at least this part of a column's variance: flags have none.
const LEAST_SPREAD: f64 = 1e-4;
/// Rounds of k-means.
const ROUNDS: usize = 50;

/// A place that rows came to, or went from.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Place {
    /// The part of all rows that came or went.
    pub share: f64,
    /// The middle, in the user's units.
    pub location: Vec<f64>,
    /// How far each column tells the place from all rows, in nats.
    pub telling: Vec<f64>,
}

impl Place {
    /// The columns, the most telling first.
    pub fn columns(&self) -> Vec<usize> {
        let mut columns: Vec<usize> = (0..self.telling.len()).collect();
        columns.sort_by(|a, b| self.telling[*b].total_cmp(&self.telling[*a]));
        columns
    }
}

/// Cells in the user's units.
struct Cells {
    dim: usize,
    /// A rows of d.
    centres: Vec<f64>,
    /// A rows of d.
    variances: Vec<f64>,
    /// Mean and deviations of all rows.
    mean: Vec<f64>,
    deviations: Vec<f64>,
}

impl Cells {
    fn new(found: &Difference, transform: &Transform, working: &Working) -> Cells {
        let d = found.blocks.dim;
        let centres: Vec<f64> =
            found.blocks.centres.chunks_exact(d).flat_map(|u| working.location(u)).collect();
        let variances: Vec<f64> = match transform.whiten {
            None => {
                let spreads = transform.spread.iter().cycle();
                found.blocks.variances.iter().zip(spreads).map(|(v, s)| v * s * s).collect()
            }
            Some(_) => (0..found.blocks.len())
                .flat_map(|a| {
                    let mut own = vec![0.0; d * d];
                    found.blocks.covariance(a, &mut own);
                    match working.covariances(&[own], false) {
                        Covariances::Full(all) => (0..d).map(|c| all[0][c][c]).collect(),
                        Covariances::Diagonal(all) => all[0].clone(),
                    }
                })
                .collect(),
        };
        let cells = || centres.chunks_exact(d).zip(variances.chunks_exact(d)).zip(&found.weights);
        let (mut mean, mut squares) = (vec![0.0; d], vec![0.0; d]);
        for ((x, _), w) in cells() {
            mean.iter_mut().zip(x).for_each(|(m, x)| *m += w * x);
        }
        for ((x, v), w) in cells() {
            (0..d).for_each(|c| squares[c] += w * (v[c] + (x[c] - mean[c]).powi(2)));
        }
        let deviations = squares.iter().map(|v| v.max(f64::MIN_POSITIVE).sqrt()).collect();
        Cells { dim: d, centres, variances, mean, deviations }
    }

    /// Deviations from the mean of all rows.
    fn scaled(&self, a: usize) -> Vec<f64> {
        let centre = &self.centres[a * self.dim..(a + 1) * self.dim];
        centre.iter().zip(&self.mean).zip(&self.deviations).map(|((x, m), s)| (x - m) / s).collect()
    }
}

/// Places that gained, and places that lost, most first.
pub(super) fn places(
    found: &Difference,
    transform: &Transform,
    working: &Working,
) -> (Vec<Place>, Vec<Place>) {
    let cells = Cells::new(found, transform, working);
    (of_sign(found, &cells, 1.0), of_sign(found, &cells, -1.0))
}

fn of_sign(found: &Difference, cells: &Cells, sign: f64) -> Vec<Place> {
    let d = cells.dim;
    let which: Vec<usize> = (0..found.gains.len()).filter(|&a| sign * found.gains[a] > 0.0).collect();
    if which.is_empty() {
        return Vec::new();
    }
    let weights: Vec<f64> = which.iter().map(|&a| found.gains[a].abs()).collect();
    let rows: Vec<f64> = which.iter().flat_map(|&a| cells.scaled(a)).collect();
    let points = Points { rows: &rows, weights: Some(&weights), dim: d };
    let run = groups(points, which.len());
    let total: f64 = weights.iter().sum();
    let mut squares = vec![0.0; run.centers.len()];
    for (&a, (row, w)) in which.iter().zip(points.iter()) {
        let l = nearest(row, &run.centers, d).0;
        for c in 0..d {
            let within = cells.variances[a * d + c] / (cells.deviations[c] * cells.deviations[c]);
            squares[l * d + c] += w * ((row[c] - run.centers[l * d + c]).powi(2) + within);
        }
    }
    let place = |l: usize| {
        let centre = &run.centers[l * d..(l + 1) * d];
        let telling = |c: usize| {
            let (x, v) = (centre[c], squares[l * d + c] / run.counts[l]);
            0.5 * (v + x * x - 1.0 - ln(v.max(LEAST_SPREAD)))
        };
        let location = |c: usize| cells.mean[c] + centre[c] * cells.deviations[c];
        Place {
            share: run.counts[l],
            location: (0..d).map(location).collect(),
            telling: (0..d).map(telling).collect(),
        }
    };
    let kept = (0..run.counts.len()).filter(|&l| run.counts[l] >= LEAST * total);
    let mut places: Vec<Place> = kept.map(place).collect();
    places.sort_by(|a, b| b.share.total_cmp(&a.share));
    places
}

/// Step 1.
fn groups(points: Points<'_>, cells: usize) -> Run {
    let run = |k: usize| {
        let mut stream = Stream::new(k as u64, Purpose::PilotMixture, 0);
        lloyd(points, greedy_plus_plus(points, k, |s| s, &mut stream), ROUNDS)
    };
    let mut best = run(1);
    for k in 2..=MOST.min(cells) {
        let next = run(k);
        if !(next.cost < WORTH * best.cost) {
            break;
        }
        best = next;
    }
    best
}
