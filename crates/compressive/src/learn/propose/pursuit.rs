//! The steps that the greedy decoders share, and the count of their work.

use crate::density::atom::{AtomFamily, Gaussian};
use crate::density::fit::{Fit, Problem};
use crate::density::target::Target;
use crate::design::kernel_width;
use crate::design::scale::fit_decay;
use crate::learn::propose::ascent::Ascent;
use crate::model::{DecodeInfo, Stop};
use crate::num::random::Stream;

/// A problem with the steps 3 to 5 of \[KBGP18\] algorithm 1; keeps the best fit offered to it.
pub(super) struct Pursuit<'a> {
    pub target: &'a Target,
    pub family: &'a Gaussian,
    pub problem: Problem<'a>,
    pub iterations: usize,
    pub evaluations: usize,
    best: Option<(f64, Fit, Stop)>,
}

impl<'a> Pursuit<'a> {
    pub fn new(target: &'a Target, family: &'a Gaussian) -> Pursuit<'a> {
        let problem = Problem::new(target, family);
        Pursuit { target, family, problem, iterations: 0, evaluations: 0, best: None }
    }

    /// A fit without atoms, shared widths at zero.
    pub fn empty(&self) -> Fit {
        Fit { shared: vec![0.0; self.family.n_shared()], ..Fit::default() }
    }

    /// What the fit leaves of the sketch.
    pub fn residual(&mut self, fit: &Fit) -> (Vec<f64>, Vec<f64>) {
        if fit.k() == 0 {
            return (self.target.re.clone(), self.target.im.clone());
        }
        self.problem.residual(fit)
    }

    /// Step 1 of one start: climbs from `atom` to a maximum of the normalised correlation with a residual;
    /// returns its value.
    pub fn climb(
        &mut self,
        residual: (&[f64], &[f64]),
        shared: &[f64],
        atom: &mut [f64],
        iterations: usize,
    ) -> f64 {
        let (value, evaluations) =
            Ascent::new(self.target, self.family, residual, shared).climb(atom, iterations);
        self.evaluations += evaluations;
        value
    }

    /// Step 3: keeps the k atoms with the largest weights in a non-negative fit of normalised atoms.
    pub fn threshold(&mut self, fit: &mut Fit, k: usize) {
        if fit.k() <= k {
            return;
        }
        let weights = self.problem.solve_weights(fit, true);
        let mut order: Vec<usize> = (0..fit.k()).collect();
        order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]));
        order.truncate(k);
        order.sort_unstable();
        fit.keep(&order);
    }

    /// Step 4: the weights, not negative.
    pub fn project(&mut self, fit: &mut Fit) {
        fit.weights = self.problem.solve_weights(fit, false);
    }

    /// Step 5: joint descent; returns the cost and why it stopped.
    pub fn descend(&mut self, fit: &mut Fit, iterations: usize) -> (f64, Stop) {
        let info = self.problem.descend(fit, iterations);
        self.evaluations += info.evaluations;
        (info.value, info.stop.into())
    }

    /// The last descent of a restart; the fit is kept if it is the best so far.
    pub fn offer(&mut self, mut fit: Fit, iterations: usize) {
        let (cost, stop) = self.descend(&mut fit, iterations);
        if self.best.as_ref().is_none_or(|(best, _, _)| cost < *best) {
            self.best = Some((cost, fit, stop));
        }
    }

    /// The best fit offered; an empty one, and [`Stop::BadInput`], if there was none.
    pub fn finish(mut self) -> (Fit, DecodeInfo) {
        let (cost, fit, stop) =
            self.best.take().unwrap_or_else(|| (self.target.energy(), self.empty(), Stop::BadInput));
        (fit, DecodeInfo { iterations: self.iterations, evaluations: self.evaluations, cost, stop })
    }
}

/// Atoms of any family at the given centres (k rows of d) with the given isotropic variances; shared
/// parameters start at their mean.
pub(super) fn assemble(family: &Gaussian, centres: &[f64], widths: &[f64], weights: &[f64]) -> Fit {
    let located = centres.chunks_exact(family.dim()).zip(widths);
    let mean = widths.iter().sum::<f64>() / widths.len().max(1) as f64;
    Fit {
        atoms: located.flat_map(|(centre, &width)| family.init(centre, width)).collect(),
        shared: vec![mean; family.n_shared()],
        weights: weights.to_vec(),
    }
}

/// A point drawn uniformly where searches start.
pub(super) fn uniform_point(target: &Target, stream: &mut Stream) -> Vec<f64> {
    let ends = target.start_low.iter().zip(&target.start_high);
    ends.map(|(l, h)| l + (h - l) * stream.uniform()).collect()
}

/// Squared kernel width $d / \overline{|\omega|^2}$ of the frequency law.
pub(super) fn kernel_variance(target: &Target) -> f64 {
    let norms = target.points.norms();
    target.dim() as f64 * norms.len() as f64 / norms.iter().sum::<f64>().max(1e-300)
}

/// Mean variance of the clusters from the decay of the peaks of $|z|$ with the radius, the regression of
/// \[KBGP18\] section 3.3.3 on the sketch itself.
pub(crate) fn cluster_variance(target: &Target) -> f64 {
    const BLOCKS: usize = 30;
    let (smallest, largest) = target.points.variance_range();
    if let Some(kernel) = target.points.kernel() {
        // Kernel values have no radii; the width of a designed kernel is a multiple of that of the clusters.
        return (kernel.width_squared() / kernel_width(target.dim()).powi(2)).clamp(smallest, largest);
    }
    let modulus = target.re.iter().zip(&target.im).map(|(a, b)| (a * a + b * b).sqrt());
    let radii = target.points.norms().iter().map(|n| n.sqrt());
    let mut curve: Vec<(f64, f64)> = radii.zip(modulus).collect();
    curve.sort_by(|a, b| a.0.total_cmp(&b.0));
    let block = (curve.len() / BLOCKS).max(1);
    let peak = |c: &[(f64, f64)]| c.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
    let peaks: Vec<(f64, f64)> = curve.chunks_exact(block).filter_map(peak).collect();
    // The adapted radius law has a mean square of 2.3 in units of the width sought.
    let start = (2.3 / target.dim() as f64 * kernel_variance(target)).sqrt();
    fit_decay(&peaks, start).powi(2).clamp(smallest, largest)
}
