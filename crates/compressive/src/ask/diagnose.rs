//! Why a model is not good enough: the sketch, its scale, or the search (\[Sch21\] section 6.3).
//!
//! The objective at the model is compared with the objective at a reference: a model known to be good, or the
//! best of a fresh search with other seeds.
//!
//! - The reference has a clearly lower objective: the search was stuck. Of a Nystrom sketch that neither
//!   explains, the objective is that of its weighted landmarks (file `landmarks.rs`), which is what `auto`
//!   then goes by.
//! - The model has the lower objective, and is still far from a *known* good model: the objective prefers a
//!   wrong answer, so the sketch is too small.
//! - Most $|z_j|$ are at the noise floor (frequencies too high) or near 1 (too low): the scale is wrong.

use serde::Serialize;

use crate::density::Target;
use crate::density::fit::{Fit, Problem};
use crate::design::Task;
use crate::error::remedy::{Command, Parameter, Remedy, Vocabulary};
use crate::error::{Error, Result};
use crate::learn::laid::{Laid, working_locations};
use crate::learn::weighted_landmarks;
use crate::learn::{CovarianceKind, LearnParams, learn};
use crate::model::{Content, Covariances, Explained, Misfit, Model};
use crate::names::named;
use crate::sketch::Moments;
use crate::sketch::operator::SketchOperator;

/// What is wrong, if anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// Nothing: the model has the lowest objective found and explains the sketch.
    Good,
    /// The model has the lowest objective found, but the sketch holds structure that k such components do not
    /// explain.
    TooSimple,
    /// The sketch speaks neither for nor against the model.
    CannotTell,
    /// A lower objective exists.
    DecoderStuck,
    /// The objective is lowest at a wrong answer.
    SketchTooSmall,
    /// The frequencies are far too high or too low.
    ScaleWrong,
}

named!(Verdict, "a verdict", {
    Good => "good": "good",
    TooSimple => "too-simple": "too simple: the rows have structure beyond this model",
    CannotTell => "cannot-tell": "cannot tell: the sketch speaks neither for nor against this model",
    DecoderStuck => "decoder-stuck": "decoder stuck: a better model of this kind exists",
    SketchTooSmall => "sketch-too-small": "sketch too small: the best fit is not the truth",
    ScaleWrong => "scale-wrong": "scale wrong: the frequencies (or the kernel) do not fit the rows",
});

/// The result of [`diagnose`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Diagnosis {
    /// What is wrong.
    pub verdict: Verdict,
    /// One sentence: what was found.
    #[serde(skip)]
    pub finding: String,
    /// What to change; nothing for a good model.
    #[serde(skip)]
    pub remedies: Vec<Remedy>,
    /// How well the model explains the sketch.
    #[serde(flatten)]
    pub misfit: Misfit,
    /// The misfit of the reference.
    pub reference_misfit: f64,
    /// Whether the reference was given, not searched for.
    pub reference_given: bool,
    /// Root mean square distance between the model's locations and the nearest of the reference, in cluster
    /// widths.
    pub distance: f64,
    /// Mean of $|z_j|$.
    pub mean_modulus: f64,
    /// What that mean is for rows without any structure: the sampling noise.
    pub noise_modulus: f64,
}

/// Objective above the reference's by this factor: stuck.
const STUCK: f64 = 1.02;
/// Locations this many cluster widths from the reference's: another answer.
const FAR: f64 = 0.5;
/// Mean moduli outside this range show a wrong scale; a good one is 0.3 to 0.6.
const MODULUS: (f64, f64) = (0.02, 0.95);

/// Compares a model with a reference under a sketch; without a reference, with a fresh search of four
/// restarts on `threads` threads.
pub fn diagnose(
    operator: &SketchOperator,
    moments: &Moments,
    model: &Model,
    reference: Option<&Model>,
    threads: usize,
) -> Result<Diagnosis> {
    for model in [Some(model), reference].into_iter().flatten() {
        refuse_undiagnosed(&model.content)?;
    }
    let target = Target::new(operator, moments)?;
    let fresh = match reference {
        Some(_) => None,
        None => Some(fresh_model(operator, moments, model, threads)?),
    };
    let other = reference.or(fresh.as_ref()).unwrap_or(model);
    let ours = objective(operator, &target, model)?;
    let theirs = objective(operator, &target, other)?;
    let modulus = target.re.iter().zip(&target.im).map(|(a, b)| a.hypot(*b));
    let mean_modulus = modulus.sum::<f64>() / target.size() as f64;
    let mut diagnosis = Diagnosis {
        verdict: Verdict::Good,
        finding: String::new(),
        remedies: Vec::new(),
        misfit: ours.misfit,
        reference_misfit: theirs.misfit.value(),
        reference_given: reference.is_some(),
        distance: distance(operator, model, other) / ours.variance.sqrt().max(1e-12),
        mean_modulus,
        // Mean of a Rayleigh variable.
        noise_modulus: (target.noise * std::f64::consts::FRAC_PI_2).sqrt(),
    };
    let by_landmarks = weighted_landmarks::is_worse(&target, &ours.laid, &theirs.laid, theirs.misfit);
    let is_worse = by_landmarks.unwrap_or(ours.misfit.value() > STUCK * theirs.misfit.value());
    diagnosis.verdict = verdict(&diagnosis, is_worse);
    (diagnosis.finding, diagnosis.remedies) = advice(&diagnosis, &target, model);
    Ok(diagnosis)
}

impl Diagnosis {
    /// One sentence in the words of a surface: what was found, and what to change.
    pub fn advice(&self, vocabulary: &dyn Vocabulary) -> String {
        match self.remedies.as_slice() {
            [] => self.finding.clone(),
            remedies => format!("{}: {}", self.finding, Remedy::words(remedies, vocabulary)),
        }
    }
}

/// The cost $\lVert z - \mathcal A(P_\theta)\rVert^2 / m$ of a model under a sketch: of a mixture as it is, of
/// centres as that of points there with the weights that fit best. Cost: O(k m (d + k)).
pub fn cost(operator: &SketchOperator, moments: &Moments, model: &Model) -> Result<f64> {
    refuse_undiagnosed(&model.content)?;
    let target = Target::new(operator, moments)?;
    let (family, fit) = match model.content {
        Content::Gmm { .. } => {
            let laid = Laid::new(operator, &target, model)?;
            (laid.family, laid.fit)
        }
        _ => {
            let atoms = working_locations(operator, model).concat();
            let mut fit = Fit { atoms, shared: Vec::new(), weights: vec![0.0; model.k] };
            fit.weights = Problem::new(&target, &target.points).solve_weights(&fit, false);
            (target.points.clone(), fit)
        }
    };
    Ok(Problem::new(&target, &family).cost(&fit) / target.size() as f64)
}

/// Refuses the kinds of models that are not diagnosed, and says what to do instead.
fn refuse_undiagnosed(content: &Content) -> Result<()> {
    let (problem, remedies) = match content {
        Content::Generator(_) => (
            "a generative network is not diagnosed; its own `origin.misfit` says how well it explains the sketch",
            vec![Remedy::Run("compare its rows with others", Command::Score)],
        ),
        Content::Classify(_) => (
            "a classifier comes from several sketches",
            vec![Remedy::Run("measure it on rows", Command::ScoreLabels)],
        ),
        Content::Pca { .. } => (
            "principal components have no search to be stuck and no scale to be wrong, \
             and are exact if the sketch is large enough",
            vec![
                Remedy::Run("measure them on rows", Command::Score),
                Remedy::SketchAgain(vec![Remedy::Raise(Parameter::Size)]),
            ],
        ),
        Content::Stable { .. } => (
            "stable laws are not diagnosed; their own `origin.misfit` says how well they explain the sketch",
            vec![],
        ),
        Content::Kmeans { .. } | Content::Kmedians { .. } | Content::Gmm { .. } => return Ok(()),
    };
    let error = Error::Task { field: "model", problem: problem.into() };
    Err(remedies.into_iter().fold(error, Error::advise))
}

fn verdict(d: &Diagnosis, is_worse: bool) -> Verdict {
    if d.mean_modulus < MODULUS.0.max(2.0 * d.noise_modulus) || d.mean_modulus > MODULUS.1 {
        return Verdict::ScaleWrong;
    }
    // Differences below the noise of the objective itself are none.
    let explained = d.misfit.explained();
    if is_worse && explained == Explained::No {
        return Verdict::DecoderStuck;
    }
    if d.reference_given && d.distance > FAR {
        return Verdict::SketchTooSmall;
    }
    match explained {
        Explained::Yes => Verdict::Good,
        Explained::No => Verdict::TooSimple,
        Explained::CannotTell => Verdict::CannotTell,
    }
}

/// What was found, and what to change.
fn advice(d: &Diagnosis, target: &Target, model: &Model) -> (String, Vec<Remedy>) {
    let too_wide = d.mean_modulus > 0.5;
    let other = if too_wide { Remedy::Lower } else { Remedy::Raise };
    let rescale = vec![Remedy::SketchAgain(vec![other(Parameter::Scale), Remedy::Drop(Parameter::Scale)])];
    let size = target.size();
    match d.verdict {
        Verdict::Good => {
            ("the model explains the sketch to within its sampling noise; nothing to change".into(), vec![])
        }
        Verdict::TooSimple => (
            format!(
                "no better model of {} such components was found, yet the squared residual is {:.1} times the \
                 sampling noise (if the data should be described more closely)",
                model.k,
                d.misfit.value()
            ),
            vec![Remedy::FitAgain(vec![
                Remedy::Raise(Parameter::K),
                Remedy::set(Parameter::Covariance, "full"),
            ])],
        ),
        Verdict::CannotTell if target.is_noisy() => (
            "most of the sketch's noise was added for privacy: it does not speak against the model, and could \
             not tell it from a nearly right one"
                .into(),
            vec![],
        ),
        Verdict::CannotTell => (
            format!(
                "the sketch has size {size} and no more entries than the model has parameters, so that many \
                 models fit it"
            ),
            vec![Remedy::sketch_with(Parameter::Size, 2 * size)],
        ),
        Verdict::DecoderStuck => (
            "a lower objective exists".into(),
            vec![Remedy::FitAgain(vec![
                Remedy::set(Parameter::Decoder, "auto"),
                Remedy::Raise(Parameter::Restarts),
                Remedy::Change(Parameter::Seed),
            ])],
        ),
        Verdict::SketchTooSmall => (
            format!("the objective is lowest away from the true answer, and the sketch has size {size}"),
            vec![Remedy::sketch_with(Parameter::Size, 2 * size)],
        ),
        Verdict::ScaleWrong if target.points.kernel().is_some() => {
            let side = if too_wide { "wide" } else { "narrow" };
            let value = d.mean_modulus;
            (
                format!("the mean kernel value is {value:.2}, so the kernel is too {side} for the rows"),
                rescale,
            )
        }
        Verdict::ScaleWrong if too_wide => {
            ("the frequencies are too low to tell the rows apart".into(), rescale)
        }
        Verdict::ScaleWrong => ("the frequencies are too high, the sketch is noise".into(), rescale),
    }
}

/// The best of a fresh search for a model of the same kind.
fn fresh_model(operator: &SketchOperator, moments: &Moments, model: &Model, threads: usize) -> Result<Model> {
    let params = |task| LearnParams::new(task, model.k).restarts(4).seed(1_000_003).threads(threads);
    let params = match &model.content {
        Content::Kmedians { .. } => params(Task::Kmedians),
        Content::Gmm { covariances: Covariances::Full(_), .. } => {
            params(Task::Gmm).covariance(CovarianceKind::Full)
        }
        Content::Gmm { .. } => params(Task::Gmm),
        _ => params(Task::Kmeans),
    };
    Ok(learn(operator, moments, &params)?.model)
}

/// A model under a sketch.
struct Objective {
    misfit: Misfit,
    /// Mean variance of the components, in working units.
    variance: f64,
    laid: Laid,
}

/// The objective at a model. A mixture is taken as it is; for k-means the weights and the variances of the
/// clusters are fitted at the given centres.
fn objective(operator: &SketchOperator, target: &Target, model: &Model) -> Result<Objective> {
    let laid = Laid::new(operator, target, model)?;
    let d = target.dim();
    let trace = |sigma: &Vec<f64>| (0..d).map(|i| sigma[i * d + i]).sum::<f64>() / d as f64;
    let variance = laid.covariances().iter().map(trace).sum::<f64>() / model.k as f64;
    Ok(Objective { misfit: laid.misfit(), variance, laid })
}

/// Root mean square distance of each location to the nearest of the other model, the larger of both ways, per
/// working coordinate.
fn distance(operator: &SketchOperator, a: &Model, b: &Model) -> f64 {
    let (a, b) = (working_locations(operator, a), working_locations(operator, b));
    let one_way = |a: &[Vec<f64>], b: &[Vec<f64>]| {
        let nearest = |x: &Vec<f64>| {
            let square = |y: &Vec<f64>| x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum::<f64>();
            b.iter().map(square).fold(f64::INFINITY, f64::min)
        };
        (a.iter().map(nearest).sum::<f64>() / a.len().max(1) as f64).sqrt()
    };
    one_way(&a, &b).max(one_way(&b, &a))
}
