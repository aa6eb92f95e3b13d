//! The decoders by name, and how each is run for a task.

use std::str::FromStr;

use crate::density::Target;
use crate::density::atom::{Gaussian, Shape};
use crate::density::fit::Fit;
use crate::density::noise::expected_cost;
use crate::error::remedy::{Parameter, Remedy};
use crate::error::{Error, Result};
use crate::learn::propose::amp::{AmpParams, amp};
use crate::learn::propose::auto::{AutoFit, AutoParams, auto};
use crate::learn::propose::clompr::{ClomprParams, cl_omp, cl_ompr};
use crate::learn::propose::genetic::{GeneticParams, genetic};
use crate::learn::propose::greedy::Start;
use crate::learn::propose::iht::{IhtParams, iht};
use crate::learn::propose::shift::{ShiftParams, shift};
use crate::learn::propose::split::{SplitParams, split};
use crate::learn::{Decoded, LearnParams, StartFrom, weighted_landmarks};
use crate::model::DecodeInfo;
use crate::sketch::operator::SketchOperator;

/// A way to search for the mixture behind a sketch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decoder {
    /// What users get: [`crate::learn::propose::auto`].
    #[default]
    Auto,
    /// Orthogonal matching pursuit, \[KBGP18\].
    ClOmp,
    /// The same with replacement, \[KBGP18\] algorithm 1.
    ClOmpr,
    /// Hierarchical splitting, \[KBGP18\] algorithm 2.
    Split,
    /// Iterative hard thresholding, the baseline of \[KBGP18\].
    Iht,
    /// Mean-shift search in the manner of \[BG24\].
    Shift,
    /// Approximate message passing in the manner of \[BCGS19\].
    Amp,
    /// Genetic search, \[Sch21\] section 6.3.
    Genetic,
    /// Principal components by factorisation: [`crate::learn::pca::decode`].
    Factorised,
    /// Principal components by positive semidefinite least squares.
    Psd,
    /// Principal components with the nuclear norm.
    Nuclear,
}

/// All decoders with their names.
const NAMES: [(&str, Decoder); 11] = [
    ("auto", Decoder::Auto),
    ("cl-omp", Decoder::ClOmp),
    ("cl-ompr", Decoder::ClOmpr),
    ("split", Decoder::Split),
    ("iht", Decoder::Iht),
    ("shift", Decoder::Shift),
    ("amp", Decoder::Amp),
    ("genetic", Decoder::Genetic),
    ("factorised", Decoder::Factorised),
    ("psd", Decoder::Psd),
    ("nuclear", Decoder::Nuclear),
];

impl Decoder {
    /// Whether it finds principal components, not mixtures; `auto` does both.
    pub fn is_for_components(self) -> bool {
        matches!(self, Decoder::Factorised | Decoder::Psd | Decoder::Nuclear)
    }

    /// The stable name used on the command line and in models.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, d)| *d == self).map_or("auto", |(name, _)| name)
    }
}

impl FromStr for Decoder {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Decoder, String> {
        let names = || NAMES.map(|(name, _)| name).join(", ");
        NAMES
            .iter()
            .find(|(n, _)| *n == name)
            .map(|(_, d)| *d)
            .ok_or_else(|| format!("the decoders are {}", names()))
    }
}

/// Runs the decoder of `params` for k components; `shape` is none for k-means.
pub(super) fn run(
    operator: &SketchOperator,
    target: &Target,
    k: usize,
    shape: Option<Shape>,
    params: &LearnParams,
) -> Result<Decoded> {
    if params.decoder.is_for_components() {
        let name = params.decoder.name();
        return Err(Error::Task {
            field: "decoder",
            problem: format!(
                "`{name}` finds principal components; for {} take auto, cl-ompr or another of the searches",
                params.task.name()
            ),
        }
        .advise(Remedy::set(Parameter::Task, "pca"))
        .advise(Remedy::set(Parameter::Decoder, "auto")));
    }
    if params.decoder == Decoder::Auto {
        let defaults = AutoParams::default();
        let auto_params = AutoParams {
            k,
            mixture: shape.is_some(),
            shape: shape.unwrap_or(defaults.shape),
            restarts: params.restarts.unwrap_or(defaults.restarts),
            threads: params.threads,
            seed: params.seed,
        };
        let from_landmarks = match auto_params.mixture {
            true => weighted_landmarks::decode_mixture(target, &auto_params)?,
            false => weighted_landmarks::decode(target, k, params.seed),
        };
        if let Some(decoded) = from_landmarks {
            return Ok(decoded);
        }
        let mut decoded = self::decoded(auto(target, &auto_params)?);
        if !auto_params.mixture && decoded.misfit > LOST {
            let mixture = self::decoded(auto(target, &AutoParams { mixture: true, ..auto_params.clone() })?);
            if mixture.info.cost < decoded.info.cost {
                decoded = mixture;
            }
        }
        return Ok(decoded);
    }
    if params.decoder == Decoder::Amp && target.points.kernel().is_some() {
        return Err(Error::Task {
            field: "decoder",
            problem: "amp passes messages about phases, and a sketch of kernel values (nystrom) has none; take auto, cl-ompr or shift".into(),
        });
    }
    // The published k-means decoders use points; those built on a width share one.
    let shape = shape.unwrap_or(match params.decoder {
        Decoder::Shift | Decoder::Amp => Shape::SharedWidth,
        _ => Shape::Dirac,
    });
    let family = target.points.with_covariance(shape);
    let (fit, info) = published(operator, target, &family, k, params);
    let misfit = info.cost / expected_cost(target, &family, &fit);
    Ok(Decoded { family, fit, info, misfit, chi_square: None })
}

/// Misfit of k-means above which clusters were not found rather than badly described; the search for mixtures, whose atoms have shapes of their own from the start, may find them.
const LOST: f64 = 100.0;

fn decoded(found: AutoFit) -> Decoded {
    let AutoFit { family, fit, info, misfit, chi_square } = found;
    Decoded { family, fit, info, misfit, chi_square }
}

/// A published decoder with its own defaults.
fn published(
    operator: &SketchOperator,
    target: &Target,
    family: &Gaussian,
    k: usize,
    params: &LearnParams,
) -> (Fit, DecodeInfo) {
    let seed = params.seed;
    let clompr = || {
        let defaults = ClomprParams::new(k, seed);
        ClomprParams {
            start: start(operator, &params.start),
            restarts: params.restarts.unwrap_or(defaults.restarts),
            ..defaults
        }
    };
    match params.decoder {
        Decoder::ClOmp => cl_omp(target, family, &clompr()),
        Decoder::Auto | Decoder::ClOmpr => cl_ompr(target, family, &clompr()),
        Decoder::Split => {
            let defaults = SplitParams::new(k, seed);
            split(
                target,
                family,
                &SplitParams { restarts: params.restarts.unwrap_or(defaults.restarts), ..defaults },
            )
        }
        Decoder::Iht => {
            let defaults = IhtParams::new(k, seed);
            let restarts = params.restarts.unwrap_or(defaults.restarts);
            iht(target, family, &IhtParams { start: start(operator, &params.start), restarts, ..defaults })
        }
        Decoder::Shift => {
            let defaults = ShiftParams::new(k, seed);
            shift(
                target,
                family,
                &ShiftParams { restarts: params.restarts.unwrap_or(defaults.restarts), ..defaults },
            )
        }
        Decoder::Amp => {
            let defaults = AmpParams::new(k, seed);
            amp(
                target,
                family,
                &AmpParams { restarts: params.restarts.unwrap_or(defaults.restarts), ..defaults },
            )
        }
        Decoder::Genetic => genetic(target, family, &GeneticParams::new(k, seed)),
        Decoder::Factorised | Decoder::Psd | Decoder::Nuclear => unreachable!("refused in `run`"),
    }
}

/// The starting rows in working coordinates.
fn start(operator: &SketchOperator, start: &StartFrom) -> Start {
    let transform = &operator.spec().transform;
    let working =
        |rows: &[f64]| rows.chunks_exact(operator.dim()).flat_map(|row| transform.apply(row)).collect();
    match start {
        StartFrom::Range => Start::Range,
        StartFrom::Sample(rows) => Start::Sample(working(rows)),
        StartFrom::PlusPlus(rows) => Start::PlusPlus(working(rows)),
    }
}
