//! `split`: hierarchical splitting of Gaussians, for mixtures of many components.
//!
//! Steps of \[KBGP18\] algorithm 2:
//!
//! - start with one atom highly correlated with the sketch;
//! - for t = 1 to $\lceil \log_2 k \rceil$: `Split` every Gaussian into two at $\mu \pm \sigma_\ell e_\ell$,
//!   with $\ell$ its direction of largest variance, both with its covariance; then the steps 3 (keep k, only
//!   in the last round), 4 (weights) and 5 (joint descent) of algorithm 1.
//!
//! A family whose atoms have no variance of their own (points, shared widths) is split as diagonal Gaussians;
//! the centres found start the last descent in that family.
//!
//! Cost: $O(m d k \log k)$; the last descent, with all k atoms, is most of it. It never looks elsewhere than
//! where a Gaussian already is: good for smooth densities, less so for well separated clusters (\[KBGP18\]
//! section 6.3).

use crate::density::atom::{AtomFamily, Gaussian, Shape};
use crate::density::fit::Fit;
use crate::density::target::Target;
use crate::learn::propose::Published;
use crate::learn::propose::greedy::{GreedyParams, Start};
use crate::learn::propose::pursuit::{Pursuit, assemble, cluster_variance};
use crate::model::DecodeInfo;
use crate::num::linear::dot;
use crate::num::random::{Purpose, Stream};

pub(super) const SPLIT: Published = Published {
    centres: Shape::Dirac,
    starts_at_rows: false,
    needs_phases: false,
    run: |target, family, wanted| split(target, family, &defaults(wanted.k, wanted.seed).wanted(wanted)),
};

/// One start for the first atom, as published; descents of 100 and 600 iterations. Any k, not only powers of
/// two.
pub fn defaults(k: usize, seed: u64) -> GreedyParams {
    GreedyParams { starts: 1, descent: 100, last_descent: 600, ..GreedyParams::new(k, seed) }
}

/// Decodes a sketch by hierarchical splitting; steps, cost and reference: see the module.
pub fn split(target: &Target, family: &Gaussian, params: &GreedyParams) -> (Fit, DecodeInfo) {
    let diagonal = target.points.with_covariance(Shape::Diagonal);
    let own_shape = family.n_params() > family.dim();
    let working = if own_shape { family } else { &diagonal };
    let mut splitting = Pursuit::new(target, working);
    let mut pursuit = Pursuit::new(target, family);
    let variance = cluster_variance(target);
    for restart in 0..if params.k == 0 { 0 } else { params.restarts.max(1) } {
        let mut stream = Stream::new(params.seed, Purpose::Decode, restart as u64);
        let mut fit = run(&mut splitting, params, variance, &mut stream);
        if !own_shape {
            fit = without_shape(working, family, &fit);
            pursuit.project(&mut fit);
        }
        pursuit.offer(fit, params.last_descent);
    }
    pursuit.iterations = splitting.iterations;
    pursuit.evaluations += splitting.evaluations;
    pursuit.finish()
}

/// One run, without the last descent.
fn run(pursuit: &mut Pursuit<'_>, params: &GreedyParams, variance: f64, stream: &mut Stream) -> Fit {
    let (target, family) = (pursuit.target, pursuit.family);
    let mut best = (f64::NEG_INFINITY, Vec::new());
    for _ in 0..params.starts.max(1) {
        let location = Start::Range.draw(target, &[], family.n_params(), stream);
        let mut atom = family.init(&location, (0.5 + stream.uniform()) * variance);
        let value = pursuit.climb((&target.re, &target.im), &[], &mut atom, params.sweeps);
        if best.1.is_empty() || value > best.0 {
            best = (value, atom);
        }
    }
    let mut fit = Fit { atoms: best.1, shared: Vec::new(), weights: vec![1.0] };
    while fit.k() < params.k {
        pursuit.iterations += 1;
        split_all(family, &mut fit, target, stream);
        // Step 3.
        pursuit.threshold(&mut fit, params.k);
        // Step 4.
        pursuit.project(&mut fit);
        // Step 5.
        pursuit.descend(&mut fit, params.descent);
    }
    fit
}

/// `Split` of \[KBGP18\]: every atom becomes two, a standard deviation to each side.
fn split_all(family: &Gaussian, fit: &mut Fit, target: &Target, stream: &mut Stream) {
    let mut atoms = Vec::with_capacity(2 * fit.atoms.len());
    for atom in fit.atoms.chunks_exact(family.n_params()) {
        let offset = principal_deviation(family, atom, stream);
        for side in [-1.0, 1.0] {
            let mut half = atom.to_vec();
            let ends = target.low.iter().zip(&target.high);
            for ((x, o), (l, u)) in half.iter_mut().zip(&offset).zip(ends) {
                *x = (*x + side * o).clamp(*l, *u);
            }
            atoms.extend(half);
        }
    }
    fit.weights = fit.weights.iter().flat_map(|w| [0.5 * w, 0.5 * w]).collect();
    fit.atoms = atoms;
}

/// $\sigma_\ell e_\ell$: the direction of largest variance times the standard deviation along it.
fn principal_deviation(family: &Gaussian, atom: &[f64], stream: &mut Stream) -> Vec<f64> {
    let d = family.dim();
    let sigma = family.covariance_of(atom, &[]);
    match family.covariance() {
        Shape::Diagonal => {
            let widest =
                (0..d).fold(0, |best, c| if sigma[c * d + c] > sigma[best * d + best] { c } else { best });
            let mut offset = vec![0.0; d];
            offset[widest] = sigma[widest * d + widest].sqrt();
            offset
        }
        _ => {
            // Power iteration; a random start is also the answer for isotropic atoms, where no direction is
            // larger than another.
            let mut direction: Vec<f64> = (0..d).map(|_| stream.normal()).collect();
            let mut variance = 0.0;
            for _ in 0..50 {
                let norm = dot(&direction, &direction).sqrt().max(1e-300);
                direction.iter_mut().for_each(|x| *x /= norm);
                let image: Vec<f64> = sigma.chunks_exact(d).map(|row| dot(row, &direction)).collect();
                variance = dot(&image, &direction);
                direction = image;
            }
            let norm = dot(&direction, &direction).sqrt().max(1e-300);
            direction.iter().map(|x| x / norm * variance.max(0.0).sqrt()).collect()
        }
    }
}

/// The centres and mean variances of `fit` as atoms of another family.
fn without_shape(from: &Gaussian, to: &Gaussian, fit: &Fit) -> Fit {
    let d = from.dim();
    let atoms = || fit.atoms.chunks_exact(from.n_params());
    let centres: Vec<f64> = atoms().flat_map(|atom| atom[..d].iter().copied()).collect();
    let widths: Vec<f64> = atoms()
        .map(|atom| from.covariance_of(atom, &fit.shared).iter().step_by(d + 1).sum::<f64>() / d as f64)
        .collect();
    assemble(to, &centres, &widths, &fit.weights)
}
