//! The law that queries are answered under: a mixture learned from the sketch, a little wider than it.
//!
//! It is learned from every other frequency, so that the rest can tell how far the table is from it. There
//! are two such laws, of the even and of the odd frequencies: where they disagree, neither is to be trusted.
//! If the first does not explain its half of the sketch, the second has half as many atoms, so that they
//! disagree where the number of atoms matters. Most of its rows come from the mixture, [`WIDE`] of them from
//! the same atoms with [`WIDER`] times the width, and [`BROAD`] of them are uniform in the data box, grown:
//! where the mixture sees nothing there may still be a few rows. Rows outside the box, grown by [`MARGIN`] of
//! its width, are drawn again; a column that is nowhere negative in the box stays so.

use crate::density::Target;
use crate::density::atom::{AtomFamily, Gaussian};
use crate::density::fit::Fit;
use crate::error::Result;
use crate::learn::propose::auto::{AutoParams, auto};
use crate::model::{Explained, Misfit, Working};
use crate::num::random::{Purpose, Stream};
use crate::sketch::operator::SketchOperator;

use super::QueryParams;

/// Share of rows from wider atoms.
const WIDE: f64 = 0.1;
/// How much wider.
const WIDER: f64 = 2.5;
/// Share of rows that are uniform in the box.
const BROAD: f64 = 0.03;
/// What the box is grown by on each side, in parts of its width.
const MARGIN: f64 = 0.3;
/// Atoms at most.
const ATOMS_MAX: usize = 32;
/// Entries of the half of a sketch for each parameter of its mixture, at least.
const ENTRIES_PER_PARAMETER: usize = 2;
/// Searches for each number of atoms.
const RESTARTS: usize = 2;
/// Draws for a row inside the box.
const TRIES: usize = 50;

/// Rows of the law.
pub(super) struct Sample {
    /// In the user's units, n rows of d.
    pub rows: Vec<f64>,
    /// In working coordinates.
    pub working: Vec<f64>,
    /// Of each row, 1 in all.
    pub weights: Vec<f64>,
}

/// A law to draw rows from.
pub(super) struct Law<'a> {
    operator: &'a SketchOperator,
    working: Working,
    /// Sums of the weights up to each atom.
    cumulative: Vec<f64>,
    /// Location and lower Cholesky factor of each atom's covariance, in working coordinates.
    atoms: Vec<(Vec<f64>, Vec<Vec<f64>>)>,
    /// The grown box in the user's units.
    limits: Option<(Vec<f64>, Vec<f64>)>,
    seed: u64,
    which: usize,
    /// Whether its misfit to what it was learned from is that of a right model.
    explains: bool,
}

impl<'a> Law<'a> {
    /// Learns the mixture: 1, 2, 4, ... atoms until they explain the sketch, or until it cannot carry more.
    pub(super) fn learn(
        operator: &'a SketchOperator,
        target: &Target,
        params: &QueryParams,
        first: Option<&Law<'_>>,
    ) -> Result<Law<'a>> {
        let which = usize::from(first.is_some());
        let target = &half(target, which);
        let d = target.dim();
        let carried = target.entries() / (ENTRIES_PER_PARAMETER * (1 + 2 * d));
        let most = carried.clamp(1, ATOMS_MAX).min(target.rows as usize).max(1);
        let most = if first.is_none_or(|law| law.explains) { most } else { most.div_ceil(2) };
        let mut best: Option<(Misfit, Gaussian, Fit)> = None;
        let mut k = 1;
        loop {
            let settings = AutoParams {
                k,
                restarts: RESTARTS,
                threads: params.threads.max(1),
                seed: params.seed,
                ..AutoParams::default()
            };
            let found = auto(target, &settings)?;
            if best.as_ref().is_none_or(|(misfit, ..)| found.misfit.value() < misfit.value()) {
                best = Some((found.misfit, found.family, found.fit));
            }
            if found.misfit.explained() != Explained::No || k >= most {
                break;
            }
            k = (2 * k).min(most);
        }
        let Some((misfit, family, fit)) = best else { unreachable!("at least one search was made") };
        let explains = misfit.explained() != Explained::No;
        Ok(Law { which, explains, ..Law::new(operator, target, &family, &fit, params.seed)? })
    }

    fn new(
        operator: &'a SketchOperator,
        target: &Target,
        family: &Gaussian,
        fit: &Fit,
        seed: u64,
    ) -> Result<Law<'a>> {
        let (d, p) = (target.dim(), family.n_params());
        let least = |c: usize| (1e-4 * (target.high[c] - target.low[c])).max(1e-9).powi(2);
        let factor = |atom: &[f64]| {
            let sigma = family.covariance_of(atom, &fit.shared);
            let rows: Vec<Vec<f64>> = (0..d)
                .map(|i| (0..d).map(|j| sigma[i * d + j] + if i == j { least(i) } else { 0.0 }).collect())
                .collect();
            let diagonal =
                || (0..d).map(|i| (0..d).map(|j| if i == j { rows[i][i].sqrt() } else { 0.0 }).collect());
            crate::num::linear::cholesky(&rows).unwrap_or_else(|| diagonal().collect())
        };
        let mut total = 0.0;
        let cumulative = fit.normalised_weights().into_iter().map(|w| {
            total += w;
            total
        });
        Ok(Law {
            operator,
            working: Working::new(&operator.spec().transform)?,
            cumulative: cumulative.collect(),
            atoms: fit.atoms.chunks_exact(p).map(|atom| (atom[..d].to_vec(), factor(atom))).collect(),
            limits: limits(operator),
            seed,
            which: 0,
            explains: false,
        })
    }

    /// Draws rows.
    pub(super) fn draw(&self, n_rows: usize) -> Sample {
        let d = self.operator.dim();
        let mut stream = Stream::new(self.seed, Purpose::Decode, u64::MAX - 2 - self.which as u64);
        let mut sample = Sample {
            rows: Vec::with_capacity(n_rows * d),
            working: Vec::with_capacity(n_rows * d),
            weights: vec![1.0 / n_rows as f64; n_rows],
        };
        for _ in 0..n_rows {
            let row = self.row(&mut stream);
            sample.working.extend(self.operator.spec().transform.apply(&row));
            sample.rows.extend(row);
        }
        sample
    }

    /// One row in the user's units.
    fn row(&self, stream: &mut Stream) -> Vec<f64> {
        let kind = stream.uniform();
        if let (true, Some((low, high))) = (kind < BROAD, &self.limits) {
            let ends = low.iter().zip(high);
            return ends.map(|(l, h)| l + (h - l) * stream.uniform()).collect();
        }
        let width = if kind < BROAD + WIDE { WIDER } else { 1.0 };
        let mut row = self.mixture_row(width, stream);
        let Some((low, high)) = &self.limits else { return row };
        let inside = |row: &[f64]| row.iter().zip(low.iter().zip(high)).all(|(x, (l, h))| x >= l && x <= h);
        for _ in 0..TRIES {
            if inside(&row) {
                return row;
            }
            row = self.mixture_row(width, stream);
        }
        row.iter_mut().zip(low.iter().zip(high)).for_each(|(x, (l, h))| *x = x.clamp(*l, *h));
        row
    }

    fn mixture_row(&self, width: f64, stream: &mut Stream) -> Vec<f64> {
        let at = stream.uniform();
        let l = self.cumulative.partition_point(|c| *c < at).min(self.atoms.len() - 1);
        let (location, factor) = &self.atoms[l];
        let normals: Vec<f64> = location.iter().map(|_| width * stream.normal()).collect();
        let inner = |row: &Vec<f64>| row.iter().zip(&normals).map(|(a, b)| a * b).sum::<f64>();
        let u: Vec<f64> = location.iter().zip(factor).map(|(c, row)| c + inner(row)).collect();
        self.working.location(&u)
    }
}

/// Whether a law is learned from a frequency; what it says about the others tells how good it is.
pub(super) fn learns_from(frequency: usize, which: usize) -> bool {
    frequency % 2 == which
}

/// The frequencies of a target that the law is learned from.
fn half(target: &Target, law: usize) -> Target {
    let which: Vec<usize> = (0..target.size()).filter(|j| learns_from(*j, law)).collect();
    if which.is_empty() {
        return target.clone();
    }
    let pick = |values: &[f64]| which.iter().map(|&j| values[j]).collect::<Vec<f64>>();
    Target {
        re: pick(&target.re),
        im: pick(&target.im),
        weights: pick(&target.weights),
        points: target.points.at(&which),
        ..target.clone()
    }
}

/// The data box, grown.
pub(in crate::ask) fn limits(operator: &SketchOperator) -> Option<(Vec<f64>, Vec<f64>)> {
    let bounds = operator.spec().bounds.as_ref()?;
    let margin = |c: usize| MARGIN * (bounds.high[c] - bounds.low[c]);
    let low = (0..bounds.low.len()).map(|c| match bounds.low[c] {
        least if least > 0.0 => (least - margin(c)).max(0.5 * least),
        0.0 => 0.0,
        least => least - margin(c),
    });
    Some((low.collect(), bounds.high.iter().enumerate().map(|(c, h)| h + margin(c)).collect()))
}
