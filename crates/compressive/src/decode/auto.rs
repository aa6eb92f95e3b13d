//! `auto`, what users get: greedy search with a shared width, then richer covariances.
//!
//! 1. Several greedy runs with mean-shift search and isotropic atoms of one shared width ([`greedy`]); the lowest cost is kept.
//!    The width is what makes it work: point atoms leave a ring of residual around every cluster they find, which attracts the next atom.
//! 2. Joint descent with one variance per coordinate, shared by the atoms: columns are scaled by their spread, not by the clusters'.
//! 3. Joint descent with variances of each atom's own, if the sketch has at least twice as many entries as there are parameters.
//!
//! The restarts of step 1 run side by side; which one is kept does not depend on the number of threads.
//! Cost: about 2k searches and descents a restart, O(k^2 m d) each.

use crate::atom::{AtomFamily, Gaussian, Shape};
use crate::decode::fit::{Fit, Problem};
use crate::decode::greedy::{GreedyParams, greedy};
use crate::decode::target::Target;
use crate::error::{Error, Result};

/// Parameters of [`auto`].
#[derive(Clone, Debug)]
pub struct AutoParams {
    /// Atoms wanted, at least 1.
    pub k: usize,
    /// Greedy runs from other starting points, at least 1.
    pub restarts: usize,
    /// Threads to run them on, at least 1; changes the time only.
    pub threads: usize,
    /// Seed of the starting points.
    pub seed: u64,
}

impl Default for AutoParams {
    fn default() -> Self {
        AutoParams { k: 10, restarts: 2, threads: 1, seed: 0 }
    }
}

/// What [`auto`] found: the atoms of `family`, and the cost at each step.
#[derive(Clone, Debug)]
pub struct AutoFit {
    /// The family of the last step.
    pub family: Gaussian,
    /// The mixture, in working coordinates.
    pub fit: Fit,
    /// Cost of each restart of step 1.
    pub restarts: Vec<f64>,
    /// The final cost $\lVert z - \sum_l \alpha_l a(\theta_l) \rVert^2$.
    pub cost: f64,
}

/// Iterations of the descents of steps 2 and 3.
const DESCENT: usize = 1000;

/// Decodes a sketch into k Gaussian atoms; for k-means the answer is their locations.
pub fn auto(target: &Target, params: &AutoParams) -> Result<AutoFit> {
    check(target, params)?;
    // Step 1.
    let family = target.points.with_covariance(Shape::SharedWidth);
    let runs = restarts(target, &family, params);
    let costs: Vec<f64> = runs.iter().map(|(cost, _)| *cost).collect();
    let best = runs.into_iter().min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, fit)| fit).unwrap_or_default();
    // Step 2.
    let dim = target.dim();
    let family = target.points.with_covariance(Shape::SharedDiagonal);
    let mut fit = Fit { shared: vec![best.shared[0].max(family.variance_range().0); dim], ..best };
    let mut cost = Problem::new(target, &family).descend(&mut fit, DESCENT).value;
    let entries = target.size() * if target.complex { 2 } else { 1 };
    if entries < 2 * params.k * (2 * dim + 1) {
        return Ok(AutoFit { family, fit, restarts: costs, cost });
    }
    // Step 3.
    let own = target.points.with_covariance(Shape::Diagonal);
    let low = own.variance_range().0;
    let variances: Vec<f64> = fit.shared.iter().map(|v| v.max(low)).collect();
    let atoms = fit.atoms.chunks_exact(dim).flat_map(|c| [c, &variances[..]].concat()).collect();
    let mut fit = Fit { atoms, shared: Vec::new(), weights: fit.weights };
    cost = cost.min(Problem::new(target, &own).descend(&mut fit, DESCENT).value);
    Ok(AutoFit { family: own, fit, restarts: costs, cost })
}

fn check(target: &Target, params: &AutoParams) -> Result<()> {
    let fail = |problem: String| Err(Error::Spec { field: "k", problem });
    if params.k == 0 {
        return fail("0 components cannot be learned; ask for 1 or more".into());
    }
    if params.k as f64 > target.rows {
        return fail(format!("{} components cannot be learned from {} rows", params.k, target.rows));
    }
    if target.size() < params.k {
        return fail(format!(
            "{} components need at least {0} frequencies, and the sketch has {}",
            params.k,
            target.size()
        ));
    }
    Ok(())
}

/// The greedy runs with their costs, in the order of their numbers.
fn restarts(target: &Target, family: &Gaussian, params: &AutoParams) -> Vec<(f64, Fit)> {
    let run = |restart: usize| {
        let seed = params.seed.wrapping_mul(1_000_003).wrapping_add(restart as u64);
        let fit = greedy(target, family, &GreedyParams::shift(params.k, seed));
        (Problem::new(target, family as &dyn AtomFamily).cost(&fit), fit)
    };
    let (restarts, threads) = (params.restarts.max(1), params.threads.max(1));
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.min(restarts))
            .map(|worker| {
                scope.spawn(move || {
                    (worker..restarts).step_by(threads).map(|r| (r, run(r))).collect::<Vec<_>>()
                })
            })
            .collect();
        let mut all: Vec<_> = workers.into_iter().flat_map(|w| w.join().unwrap_or_default()).collect();
        all.sort_by_key(|(restart, _)| *restart);
        all.into_iter().map(|(_, outcome)| outcome).collect()
    })
}

#[cfg(test)]
mod tests;
