//! A density: the cells of an outline, weighted by a sketch. A mixture of small Gaussians that cannot
//! degenerate, on which every task is an ordinary algorithm.
//!
//! 1. Weights of the cells (file `weigh.rs`).
//! 2. Where the exact moments show variance that no cell has, a few rows lie far outside: with the excess
//!    $\Delta$ of the second moments about the density's mean, its longest axis e of length $\lambda$ and
//!    the excess g of the mean along e, a share $g^2 / \lambda$ of the rows is at a distance
//!    $\sqrt{\lambda / \text{share}}$ to the side of g. g is uncertain by $\sigma_e / \sqrt n$, and the fewest
//!    rows that it allows are taken: one, as a rule. Points are added one by one, of a density whose weights
//!    the moments have not touched, since these would give the variance to outer cells; a few at most. Then
//!    the weights are found anew, and the points keep their rows.
//! 3. Where step 1 does not match the sketch, few rows are far or many moved since the pilot: steps 1 and 2
//!    once more, with the cells and their copies, moved so that mean and deviations are the exact ones, and
//!    without rows that would be very far. Of this and step 2 the one is taken that makes the sketch more
//!    probable.
//! 4. The cells are moved and scaled so that mean and deviations are the exact ones; a deviation that lacks
//!    more than a little is that of few far rows, and left as it is.
//!
//! Cost: that of the weights.

use crate::density::cells::Blocks;
use crate::density::target::Target;
use crate::density::weigh::{Prior, Weighed, weigh};
use crate::num::em::Blobs;
use crate::num::linear::dot;
use crate::num::random::{Purpose, Stream};
use crate::num::solve::symmetric_eigen;
use crate::sketch::ExactMoments;
use crate::sketch::frequency::Covariance;

/// Frequencies that the weights are found by at most: some for each cell.
pub(crate) const FREQUENCIES: usize = 2000;
/// Points added by step 3 at most.
const FAR_POINTS: usize = 4;
/// Part of all variance that calls for one.
const FAR_VARIANCE: f64 = 0.01;
/// Where cells were moved, their shapes are not those of the rows: a first row is not believed to be at more
/// than this square of a distance, in units of all variance.
const FAR_FROM_MOVED: f64 = 100.0;
/// Share of the rows that such a point has at most.
const FAR_SHARE: f64 = 0.05;
/// Standard errors by which the rows of such a point may be fewer than the mean calls for.
const UNSURE: f64 = 1.5;
/// Step 4 does not widen a column by more than this.
const WIDEN: f64 = 1.05;
/// A point mass counts as this part of its column's variance where a density has to be finite.
pub(crate) const POINT_VARIANCE: f64 = 1e-3;
/// Points that stand for a cell at least, an even number.
const POINTS_LEAST: usize = 4;

/// A weighted mixture of small Gaussians, in working coordinates.
pub(crate) struct Density {
    pub blocks: Blocks,
    weighed: Weighed,
    /// Rows behind the sketch.
    pub rows: f64,
    /// Rows behind the cells.
    pub pilot: f64,
    /// Part of the rows' variance, summed over coordinates, that no cell has.
    pub missing: f64,
}

/// Weighted points.
#[derive(Clone, Debug)]
pub(crate) struct Cloud {
    pub dim: usize,
    /// n cells.
    pub cells: Vec<usize>,
    /// n rows of d.
    pub points: Vec<f64>,
    /// n weights, 1 in all.
    pub weights: Vec<f64>,
    /// n rows of d variances, 0 but for point masses, which count as a small part of their column's.
    pub variances: Vec<f64>,
}

impl Cloud {
    /// For expectation-maximisation.
    pub fn blobs(&self) -> Blobs<'_> {
        Blobs {
            dim: self.dim,
            centres: &self.points,
            weights: &self.weights,
            variances: &self.variances,
            covariances: &[],
        }
    }
}

impl Density {
    /// Steps 1 to 4; none without an outline, or if the weights cannot be found.
    pub fn new(target: &Target) -> Option<Density> {
        let mut density = Density::weighed(target)?;
        if let Some(exact) = exact_of(target) {
            density.hold(exact);
        }
        Some(density)
    }

    /// Steps 1 to 3, which leave point masses where they are.
    pub fn weighed(target: &Target) -> Option<Density> {
        let outline = target.outline.as_deref()?;
        let part = target.first(FREQUENCIES);
        let weighing = Weighing {
            target: part.as_ref().unwrap_or(target),
            exact: exact_of(target),
            pilot: outline.pilot_rows() as f64,
            blur: outline.blur(),
        };
        let blocks = Blocks::of(outline.cells());
        let inside: f64 = outline.cells().rows.iter().map(|&n| f64::from(n)).sum();
        let shares: Vec<f64> = outline.cells().rows.iter().map(|&n| f64::from(n) / inside).collect();
        // Step 1.
        let density = weighing.weigh(blocks.clone(), &shares)?;
        // Step 2.
        let with_far = weighing.with_far(&blocks, &shares, f64::INFINITY);
        // Step 3.
        let Some(exact) = weighing.exact.filter(|_| density.weighed.moved(weighing.target)) else {
            return with_far.or(Some(density));
        };
        let (mean, variances) = density.pilot_moments(&shares);
        let deviations: Vec<f64> = variances.iter().map(|v| v.sqrt()).collect();
        let to: Vec<f64> = exact.variances().iter().map(|v| v.sqrt()).collect();
        // Cells that lost their weight stay out.
        let kept: Vec<usize> = (0..shares.len()).filter(|&a| density.weights()[a] > 0.0).collect();
        let mut all = blocks.select(&kept);
        all.extend(&blocks.moved((&mean, &deviations), (&exact.mean, &to)));
        let old: Vec<f64> = kept.iter().map(|&a| shares[a]).collect();
        let twice = 1.0 + old.iter().sum::<f64>();
        let shares: Vec<f64> = old.iter().chain(&shares).map(|p| p / twice).collect();
        let copies = weighing.with_far(&all, &shares, FAR_FROM_MOVED);
        let copies = copies.or_else(|| weighing.weigh(all, &shares));
        let evidence = |density: &Density| density.weighed.evidence;
        let found = [copies, with_far].into_iter().flatten();
        found.min_by(|a, b| evidence(a).total_cmp(&evidence(b))).or(Some(density))
    }

    /// Step 4.
    fn hold(&mut self, exact: &ExactMoments) {
        let (mean, variances) = self.plain_blobs().moments();
        let from: Vec<f64> = variances.iter().map(|v| v.sqrt()).collect();
        let to: Vec<f64> = exact.variances().iter().map(|v| v.sqrt()).collect();
        let held = |(from, to): (&f64, &f64)| if *to <= WIDEN * from { *to } else { *from };
        let held: Vec<f64> = from.iter().zip(&to).map(held).collect();
        self.missing = to.iter().zip(&held).map(|(to, held)| (to * to - held * held).max(0.0)).sum();
        self.blocks = self.blocks.moved((&mean, &from), (&exact.mean, &held));
    }

    /// Number d of coordinates.
    pub fn dim(&self) -> usize {
        self.blocks.dim
    }

    /// Weight of each cell.
    pub fn weights(&self) -> &[f64] {
        &self.weighed.weights
    }

    /// Number of cells that have a weight.
    pub fn n_places(&self) -> usize {
        self.weights().iter().filter(|w| **w > 0.0).count()
    }

    /// Weights that are as likely as these.
    pub fn likely_weights(&self, stream: &mut Stream) -> Vec<f64> {
        self.weighed.draw(|| stream.normal())
    }

    /// Mean and second moments about it, d rows of d.
    pub fn moments(&self) -> (Vec<f64>, Vec<f64>) {
        moments(&self.blocks, self.weights())
    }

    /// Points that stand for the density: for each cell pairs at equal distances from its centre, as many as
    /// its share of about `total`, and a few at least. Deterministic for a seed.
    pub fn cloud(&self, total: usize, seed: u64) -> Cloud {
        let (d, t) = (self.dim(), self.blocks.triangle());
        let mut stream = Stream::new(seed, Purpose::Decode, u64::MAX - 3);
        let floor = self.point_variances();
        let mut cloud = Cloud { dim: d, cells: vec![], points: vec![], weights: vec![], variances: vec![] };
        for (a, w) in self.weights().iter().enumerate().filter(|(_, w)| **w > 0.0) {
            let centre = &self.blocks.centres[a * d..(a + 1) * d];
            let spread = &self.blocks.variances[a * d..(a + 1) * d];
            let pairs = if spread.iter().all(|v| *v == 0.0) {
                1
            } else {
                (POINTS_LEAST / 2).max((0.5 * w * total as f64).round() as usize)
            };
            for _ in 0..pairs {
                let normal: Vec<f64> = (0..d).map(|_| stream.normal()).collect();
                let step: Vec<f64> = match self.blocks.factors.get(a * t..(a + 1) * t) {
                    Some(lower) => (0..d)
                        .map(|i| dot(&lower[i * (i + 1) / 2..(i + 1) * (i + 2) / 2], &normal[..=i]))
                        .collect(),
                    None => normal.iter().zip(spread).map(|(e, v)| e * v.sqrt()).collect(),
                };
                for sign in [1.0, -1.0] {
                    cloud.points.extend(centre.iter().zip(&step).map(|(c, s)| c + sign * s));
                    cloud.cells.push(a);
                    cloud.weights.push(w / (2 * pairs) as f64);
                    let mass = |(v, f): (&f64, &f64)| if *v == 0.0 { *f } else { 0.0 };
                    cloud.variances.extend(spread.iter().zip(&floor).map(mass));
                }
            }
        }
        cloud
    }

    /// What a point mass counts as in each coordinate where a density has to be finite.
    pub fn point_variances(&self) -> Vec<f64> {
        let (_, variances) = self.plain_blobs().moments();
        variances.iter().map(|v| POINT_VARIANCE * v).collect()
    }

    /// The cells as blobs for expectation-maximisation, with `covariances` of d x d each or none; point masses
    /// count as a small part of their column's variance.
    pub fn blobs<'a>(&'a self, variances: &'a [f64], covariances: &'a [f64]) -> Blobs<'a> {
        Blobs { variances, covariances, ..self.plain_blobs() }
    }

    /// Variances of the cells with point masses counted, A rows of d.
    pub fn finite_variances(&self) -> Vec<f64> {
        let floor = self.point_variances();
        let all = self.blocks.variances.chunks_exact(self.dim());
        let finite = |(v, f): (&f64, &f64)| if *v == 0.0 { *f } else { *v };
        all.flat_map(|row| row.iter().zip(&floor).map(finite)).collect()
    }

    /// Covariances of the cells with point masses counted, A times d rows of d.
    pub fn finite_covariances(&self) -> Vec<f64> {
        let (d, floor) = (self.dim(), self.point_variances());
        let mut all = vec![0.0; self.blocks.len() * d * d];
        for (a, out) in all.chunks_exact_mut(d * d).enumerate() {
            self.blocks.covariance(a, out);
            (0..d)
                .filter(|c| self.blocks.variances[a * d + c] == 0.0)
                .for_each(|c| out[c * d + c] = floor[c]);
        }
        all
    }

    /// Mean and variances of cells with given shares.
    fn pilot_moments(&self, shares: &[f64]) -> (Vec<f64>, Vec<f64>) {
        Blobs { weights: shares, ..self.plain_blobs() }.moments()
    }

    fn plain_blobs(&self) -> Blobs<'_> {
        Blobs {
            dim: self.dim(),
            centres: &self.blocks.centres,
            weights: self.weights(),
            variances: &self.blocks.variances,
            covariances: &[],
        }
    }
}

/// What weights are found by.
struct Weighing<'a> {
    target: &'a Target,
    exact: Option<&'a ExactMoments>,
    pilot: f64,
    blur: f64,
}

impl Weighing<'_> {
    /// Step 1, with these shares expected.
    fn weigh(&self, blocks: Blocks, shares: &[f64]) -> Option<Density> {
        let prior = Prior { shares, rows: self.pilot, blur: self.blur };
        let weighed = weigh(self.target, &blocks, self.exact, &prior)?;
        Some(Density { weighed, blocks, rows: self.target.rows, pilot: self.pilot, missing: 0.0 })
    }

    /// Step 2, for a first row up to a squared distance in units of all variance; none if the moments do not
    /// call for a point.
    fn with_far(&self, blocks: &Blocks, shares: &[f64], most: f64) -> Option<Density> {
        let prior = Prior { shares, rows: self.pilot, blur: self.blur };
        let plain = || weigh(self.target, blocks, None, &prior).map(|weighed| weighed.weights);
        let far = far_points(blocks, shares, (self.exact?, most), self.target.rows, plain);
        if far.is_empty() {
            return None;
        }
        let mut all = blocks.clone();
        far.iter().for_each(|(point, _)| all.push_point(point));
        let own: Vec<f64> = far.iter().map(|(_, share)| *share).collect();
        let mut density = self.weigh(all, &[shares, &own].concat())?;
        density.weighed.keep_last(&own);
        Some(density)
    }
}

/// Step 2: points and their shares, as many as the moments call for. The weights of the cells by the sketch
/// alone are asked for only if those of the pilot call for one.
fn far_points(
    blocks: &Blocks,
    shares: &[f64],
    (exact, most): (&ExactMoments, f64),
    rows: f64,
    weights: impl Fn() -> Option<Vec<f64>>,
) -> Vec<(Vec<f64>, f64)> {
    let mut found: Vec<(Vec<f64>, f64)> = Vec::new();
    if far_point(blocks, shares, (exact, most), rows).is_none() {
        return found;
    }
    let Some(mut weights) = weights() else { return found };
    let mut all = blocks.clone();
    while let Some((point, share)) =
        far_point(&all, &weights, (exact, f64::INFINITY), rows).filter(|_| found.len() < FAR_POINTS)
    {
        weights.iter_mut().for_each(|w| *w *= 1.0 - share);
        weights.push(share);
        all.push_point(&point);
        found.push((point, share));
    }
    found
}

/// The next of them, if there is one, up to this squared distance of a row in units of all variance.
fn far_point(
    blocks: &Blocks,
    weights: &[f64],
    (exact, most): (&ExactMoments, f64),
    rows: f64,
) -> Option<(Vec<f64>, f64)> {
    let d = blocks.dim;
    let Covariance::Full(covariance) = &exact.covariance else { return None };
    let (mean, second) = moments(blocks, weights);
    let off: Vec<f64> = exact.mean.iter().zip(&mean).map(|(x, m)| x - m).collect();
    let excess: Vec<f64> =
        (0..d * d).map(|at| covariance[at / d][at % d] + off[at / d] * off[at % d] - second[at]).collect();
    let all: f64 = (0..d).map(|c| covariance[c][c]).sum();
    let (values, vectors) = symmetric_eigen(&excess, d);
    let (at, &length) = values.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1))?;
    if !(length > FAR_VARIANCE * all && length * rows <= most * all) {
        return None;
    }
    let axis = &vectors[at * d..(at + 1) * d];
    let along = dot(axis, &off);
    let own: f64 = (0..d).map(|i| axis[i] * dot(&second[i * d..(i + 1) * d], axis)).sum();
    // Roots of rows that the mean calls for, and their error.
    let (root, error) = (along.abs() * (rows / length).sqrt(), (own / length).sqrt());
    let fewest = (root - UNSURE * error).max(0.0).powi(2).max(1.0);
    let share = (fewest / rows).min(FAR_SHARE);
    let distance = (length / share).sqrt() * if along < 0.0 { -1.0 } else { 1.0 };
    Some((mean.iter().zip(axis).map(|(m, e)| m + distance * e).collect(), share))
}

/// Mean of weighted cells and second moments about it, d rows of d.
fn moments(blocks: &Blocks, weights: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let d = blocks.dim;
    let total: f64 = weights.iter().sum();
    let mut mean = vec![0.0; d];
    for (centre, w) in blocks.centres.chunks_exact(d).zip(weights) {
        mean.iter_mut().zip(centre).for_each(|(m, x)| *m += w / total * x);
    }
    let (mut second, mut own) = (vec![0.0; d * d], vec![0.0; d * d]);
    for (a, w) in weights.iter().enumerate().filter(|(_, w)| **w > 0.0) {
        blocks.covariance(a, &mut own);
        let centre = &blocks.centres[a * d..(a + 1) * d];
        let away: Vec<f64> = centre.iter().zip(&mean).map(|(x, m)| x - m).collect();
        for i in 0..d {
            for j in 0..d {
                second[i * d + j] += w / total * (own[i * d + j] + away[i] * away[j]);
            }
        }
    }
    (mean, second)
}

/// The moments that the weights are held to. Kernel values do not see rows far away, whose share of the
/// moments nearer cells would be given.
fn exact_of(target: &Target) -> Option<&ExactMoments> {
    target.exact.as_ref().filter(|_| target.metric.is_none())
}
