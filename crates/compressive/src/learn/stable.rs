//! Mixtures of alpha-stable laws from a sketch.
//!
//! 1. Decode k Gaussian atoms (`auto`); heavy tails only make them wide.
//! 2. From each of several exponents, joint descent over weights, locations, scales and exponents of
//!    [`Stable`] atoms; the lowest cost is kept.
//! 3. Again from other Gaussian searches until the residual is the sampling noise, or all restarts are spent.
//!
//! The data box of heavy-tailed rows is set by their outliers, so atoms are looked for near the centre of the
//! working coordinates, which is robust as their unit is, in boxes of the sizes [`REACHES`]. Cost: some
//! Gaussian decodings, and for each as many descents as there are exponents in [`STARTS`], O(k m d) an
//! evaluation. Reference: \[KDL18\], which starts at one exponent and has no other search.

use crate::density::Target;
use crate::density::atom::{AtomFamily, Gaussian, Stable};
use crate::density::fit::{Fit, Problem};
use crate::error::remedy::{Parameter, Remedy};
use crate::error::{Error, Result};
use crate::learn::atoms::{model, origin};
use crate::learn::misfit::judged;
use crate::learn::propose::auto::{AutoParams, auto};
use crate::learn::{Candidate, Components, CovarianceKind, Decoder, LearnParams, Learned};
use crate::model::{Content, DecodeInfo, Explained, Working};
use crate::num::budget;
use crate::sketch::Moments;
use crate::sketch::operator::SketchOperator;

/// Exponents that descents start from.
const STARTS: [f64; 3] = [1.95, 1.5, 1.1];
/// Working units from the centre within which atoms are looked for, in turns.
const REACHES: [f64; 3] = [4.0, 10.0, 30.0];
/// Iterations of a descent.
const DESCENT: usize = 3000;
/// Runs of a Gaussian search: the second pair has shapes of its own from the start, which finds what shared
/// widths miss.
const SEARCHES: usize = 4;

/// Searches at most, unless another number is asked for.
const RESTARTS: usize = 6;

/// Learns a mixture of k stable laws; of the covariances, `Iso` and `Diag` are their scales.
pub(crate) fn stable(operator: &SketchOperator, moments: &Moments, params: &LearnParams) -> Result<Learned> {
    if params.decoder != Decoder::Auto {
        return Err(
            refuse("decoder", "stable laws have one decoder").advise(Remedy::Drop(Parameter::Decoder))
        );
    }
    let scale_each = match params.covariance {
        CovarianceKind::Iso => false,
        CovarianceKind::Diag => true,
        _ => return Err(refuse("covariance", "stable laws have the scales iso and diag")),
    };
    let Components::Exactly(k) = params.k else {
        return Err(refuse("k", "the number of stable laws is not chosen for you; give a number"));
    };
    check(operator)?;
    let target = &Target::new(operator, moments)?;
    target.check_components(k)?;
    let family = Stable::new(&target.points, scale_each);
    let (expected, parameters) = (expected(target, k, &family), k * (1 + family.n_params()));
    let misfit = |info: &DecodeInfo| judged(target, info.cost / expected, parameters);
    let mut best: Option<(Fit, DecodeInfo)> = None;
    for restart in 0..params.restarts.unwrap_or(RESTARTS).max(1) {
        let seed = params.seed.wrapping_add(1_000_003 * restart as u64);
        let near = target.near(REACHES[restart % REACHES.len()]);
        let (fit, info) = search(&near, (k, scale_each), seed, params.threads)?;
        if best.as_ref().is_none_or(|(_, b)| info.cost < b.cost) {
            best = Some((fit, info));
        }
        let explained = best.as_ref().is_some_and(|(_, b)| misfit(b).explained() != Explained::No);
        if explained || budget::spent() {
            break;
        }
    }
    let Some((fit, info)) = best else { unreachable!("at least one search was made") };
    let misfit = misfit(&info);
    let candidate = Candidate { k, cost: info.cost, misfit, chi_square: None, degrees: None, score: None };
    let decoder = (Decoder::Auto, params.seed);
    let origin = origin(operator, target.rows, decoder, params.covariance.name(), (misfit, &info));
    let model = model(operator, content(operator, &family, &fit)?, k, origin);
    model.validate()?;
    Ok(Learned { model, candidates: vec![candidate] })
}

fn refuse(field: &'static str, problem: &str) -> Error {
    Error::Task { field, problem: problem.into() }
}

/// Refuses sketches that the family cannot use.
fn check(operator: &SketchOperator) -> Result<()> {
    if operator.spec().transform.whiten.is_some() {
        let problem = "stable laws have a scale for each column, which a whitened sketch mixes";
        return Err(
            refuse("task", problem).advise(Remedy::SketchAgain(vec![Remedy::Drop(Parameter::Whiten)]))
        );
    }
    if operator.kernel().is_some() {
        let problem = "stable laws are known by their waves, not by kernel values";
        return Err(refuse("feature", problem).advise(Remedy::of_waves()));
    }
    if operator.spec().map.wave().is_some_and(|wave| !wave.harmonics().is_empty()) {
        let problem = "the other harmonics of a quantised feature are removed for Gaussian atoms only";
        return Err(refuse("task", problem).advise(Remedy::of_waves()));
    }
    Ok(())
}

/// What sampling noise leaves of a right fit: an upper estimate, as a fit absorbs part of it.
fn expected(target: &Target, k: usize, family: &Stable) -> f64 {
    let squares: f64 = target.weights.iter().map(|w| w * w).sum();
    let entries = target.entries() as f64;
    let free = (1.0 - (k * (1 + family.n_params())) as f64 / entries).max(0.1);
    (free * target.noise * squares * entries / target.size() as f64).max(1e-16 * squares)
}

/// Steps 1 and 2.
fn search(
    target: &Target,
    (k, scale_each): (usize, bool),
    seed: u64,
    threads: usize,
) -> Result<(Fit, DecodeInfo)> {
    let family = &Stable::new(&target.points, scale_each);
    let settings =
        AutoParams { k, mixture: true, restarts: SEARCHES, threads, seed, ..AutoParams::default() };
    let start = auto(target, &settings)?;
    let mut info = start.info;
    let mut best: Option<(Fit, f64)> = None;
    for alpha in STARTS {
        let mut fit = from_gaussian(family, &start.family, &start.fit, alpha);
        let descent = Problem::new(target, family).descend(&mut fit, DESCENT);
        info.evaluations += descent.evaluations;
        if best.as_ref().is_none_or(|(_, cost)| descent.value < *cost) {
            best = Some((fit, descent.value));
            info.stop = descent.stop.into();
        }
    }
    let Some((fit, cost)) = best else { unreachable!("there are exponents to start from") };
    Ok((fit, DecodeInfo { cost, ..info }))
}

/// Stable atoms at the locations of Gaussian ones, with their variances as scales.
fn from_gaussian(family: &Stable, gaussian: &Gaussian, fit: &Fit, alpha: f64) -> Fit {
    let d = family.dim();
    let (low, high) = gaussian.variance_range();
    let mut atoms = Vec::new();
    for atom in fit.atoms.chunks_exact(gaussian.n_params()) {
        let sigma = gaussian.covariance_of(atom, &fit.shared);
        let variances: Vec<f64> = (0..d).map(|c| sigma[c * d + c].clamp(low, high)).collect();
        atoms.extend_from_slice(&atom[..d]);
        match family.scales() {
            1 => atoms.push(variances.iter().sum::<f64>() / d as f64),
            _ => atoms.extend(variances),
        }
        atoms.push(alpha);
    }
    Fit { atoms, shared: Vec::new(), weights: fit.weights.clone() }
}

/// The mixture in the user's units, the heaviest component first.
fn content(operator: &SketchOperator, family: &Stable, fit: &Fit) -> Result<Content> {
    let spec = operator.spec();
    let working = Working::new(&spec.transform)?;
    let (d, p) = (family.dim(), family.n_params());
    let all = fit.normalised_weights();
    let mut order: Vec<usize> = (0..fit.k()).collect();
    order.sort_by(|&a, &b| all[b].total_cmp(&all[a]));
    let atom = |l: usize| &fit.atoms[l * p..(l + 1) * p];
    let scale =
        |l: usize, c: usize| atom(l)[d + c.min(family.scales() - 1)].sqrt() * spec.transform.spread[c];
    Ok(Content::Stable {
        weights: order.iter().map(|&l| all[l]).collect(),
        locations: order.iter().map(|&l| working.location(&atom(l)[..d])).collect(),
        scales: order.iter().map(|&l| (0..d).map(|c| scale(l, c)).collect()).collect(),
        alpha: order.iter().map(|&l| atom(l)[p - 1]).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::density::atom::Batch;
    use crate::design::Task;
    use crate::model::Model;
    use crate::{FrequencyLaw, SketchSpec, Wave, Waves};

    /// The moments of endless rows of three laws, and their parameters: weight, location, variances,
    /// exponent.
    fn exact() -> (SketchOperator, Moments, [(f64, Vec<f64>); 3]) {
        let mut spec = SketchSpec::new(["x", "y"], FrequencyLaw::AdaptedRadius, 0.5, 240);
        spec.bounds = Some(crate::Bounds { low: vec![-4000.0; 2], high: vec![9000.0; 2] });
        let operator = spec.build().unwrap();
        let truth = [
            (0.5, vec![-2.0, 1.0, 0.3, 0.1, 1.2]),
            (0.3, vec![2.0, 2.0, 0.2, 0.4, 1.6]),
            (0.2, vec![1.0, -2.0, 0.1, 0.1, 2.0]),
        ];
        let empty = Moments { mean: vec![0.0; 480], rows: 1e5, noise_std: 0.0, exact: None };
        let target = Target::new(&operator, &empty).unwrap();
        let mut values = Batch::default();
        let atoms: Vec<f64> = truth.iter().flat_map(|(_, atom)| atom.clone()).collect();
        Stable::new(&target.points, true).sketch_batch(&atoms, &[], &mut values);
        let sum =
            |v: &[f64], j: usize| truth.iter().enumerate().map(|(l, (w, _))| w * v[l * 240 + j]).sum::<f64>();
        let mean = (0..240).map(|j| sum(&values.re, j)).chain((0..240).map(|j| sum(&values.im, j))).collect();
        (operator, Moments { mean, ..empty }, truth)
    }

    fn params(covariance: CovarianceKind) -> LearnParams {
        LearnParams { task: Task::Stable, k: Components::Exactly(3), covariance, ..LearnParams::default() }
    }

    #[test]
    fn planted_laws_are_found_in_a_box_set_by_outliers() {
        let (operator, moments, truth) = exact();
        let model = crate::learn::learn(&operator, &moments, &params(CovarianceKind::Diag)).unwrap().model;
        let Content::Stable { weights, locations, scales, alpha } = &model.content else {
            panic!("stable laws")
        };
        for (l, (weight, atom)) in truth.iter().enumerate() {
            assert!((weights[l] - weight).abs() < 0.01, "{weights:?}");
            assert!((alpha[l] - atom[4]).abs() < 0.02, "{alpha:?}");
            for c in 0..2 {
                assert!((locations[l][c] - atom[c]).abs() < 0.01, "{locations:?}");
                assert!((scales[l][c] - atom[2 + c].sqrt()).abs() < 0.02, "{scales:?}");
            }
        }
        let back = Model::from_json(&model.to_json()).unwrap();
        assert_eq!(back.task(), "stable");
        assert!(back.assign(&[0.0, 0.0]).unwrap_err().to_string().contains("no density"));
    }

    #[test]
    fn what_the_family_cannot_do_is_refused_with_the_remedy() {
        let (operator, moments, _) = exact();
        let message =
            |params: &LearnParams| crate::learn::learn(&operator, &moments, params).unwrap_err().to_string();
        assert!(message(&params(CovarianceKind::Full)).contains("iso and diag"));
        let range = LearnParams { k: Components::Between(1, 3), ..params(CovarianceKind::Diag) };
        assert!(message(&range).contains("give a number"));
        let other = LearnParams { decoder: Decoder::Amp, ..params(CovarianceKind::Diag) };
        assert!(message(&other).contains("leave decoder out"));
        let mut spec = operator.spec().clone();
        spec.map = Waves::new(Wave::OneBit, FrequencyLaw::AdaptedRadius).into();
        let one_bit = spec.build().unwrap();
        let refused = crate::learn::learn(&one_bit, &moments, &params(CovarianceKind::Diag));
        assert!(refused.unwrap_err().to_string().contains("feature fourier"));
    }
}
