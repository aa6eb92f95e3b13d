//! The recipe for images: pixels are brought to [0, 1] by one range, so that what is dark all over the pilot
//! stays as it is, and the scale is that of the activations.
//!
//! With activations $a$ of the pilot's images,
//! $\sigma = \sqrt{\operatorname{mean} |a|^2} / (1.2\, m^{0.12})$: phases have a root mean square of 2.3
//! radians at m = 250 and of 3.3 at m = 5000. The narrower the kernel the better it tells classes apart, and
//! the more frequencies it takes; on digits and Fashion-MNIST 2 to 2.5 and 3 to 3.5 radians classify best.
//! Cost: one convolution of at most 1000 images.

use crate::design::LawChoice;
use crate::design::request::Settled;
use crate::design::scale::{ScaleRule, spread_rows};
use crate::error::remedy::{Parameter, Remedy};
use crate::error::{Error, Result};
use crate::num::math::{exp, ln};
use crate::sketch::frequency::FrequencyLaw;
use crate::sketch::map::images::{ConvMap, ImageShape};
use crate::sketch::map::{Feature, Map};
use crate::sketch::spec::{Bounds, SketchSpec, Transform};

/// Root mean square of the phases of one frequency, in radians, and the power of m that it grows with.
const PHASE: (f64, f64) = (1.2, 0.12);
/// Images that the scale is taken from.
const IMAGES: usize = 1000;

pub(super) fn design(
    rows: &[f64],
    columns: &[String],
    shape: ImageShape,
    params: &Settled,
) -> Result<SketchSpec> {
    let dim = columns.len();
    shape.validate(dim)?;
    if params.whiten {
        let problem = "whitened columns are not pixels".into();
        return Err(Error::Spec { field: "transform", problem }.advise(Remedy::Drop(Parameter::Whiten)));
    }
    let smallest = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = |values: &[f64]| values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let bounds = params
        .bounds
        .clone()
        .unwrap_or_else(|| Bounds { low: vec![smallest(rows); dim], high: vec![largest(rows); dim] });
    let (low, high) = (smallest(&bounds.low), largest(&bounds.high));
    if !(high > low) {
        let problem = format!("all pixels of the sample are {low}: there is nothing to tell images apart by");
        return Err(Error::Spec { field: "transform", problem });
    }
    let transform = Transform { centre: vec![low; dim], spread: vec![high - low; dim], whiten: None };
    let scale = match params.scale {
        ScaleRule::Fixed(value) => value,
        _ => {
            let sample = spread_rows(rows, dim, IMAGES, params.seed);
            let filters = ConvMap::new(shape, params.seed);
            let square =
                |row: &[f64]| filters.activations(&transform.apply(row)).iter().map(|a| a * a).sum::<f64>();
            let mean = sample.chunks_exact(dim).map(square).sum::<f64>() / (sample.len() / dim) as f64;
            let phase = PHASE.0 * exp(PHASE.1 * ln(params.size_for(dim) as f64));
            (mean.sqrt() / phase).max(1e-6)
        }
    };
    let law = match params.law {
        LawChoice::PilotMixture
        | LawChoice::MultiScale
        | LawChoice::Rpcholesky
        | LawChoice::Greedy
        | LawChoice::Leverage
        | LawChoice::Uniform
        | LawChoice::Box => {
            let problem =
                "the frequencies of `conv` are drawn for activations, not for rows; use the law gaussian";
            return Err(Error::Spec { field: "law", problem: problem.into() });
        }
        LawChoice::Gaussian => FrequencyLaw::Gaussian,
        LawChoice::FoldedGaussian => FrequencyLaw::FoldedGaussian,
        LawChoice::AdaptedRadius => FrequencyLaw::AdaptedRadius,
        LawChoice::Weighted => FrequencyLaw::Weighted,
    };
    let (dither, structured) = (params.dither, params.structured.unwrap_or(params.defaults.structured));
    let map = Map::at(Feature::Conv(shape), law.into(), dither, structured)?;
    let spec = SketchSpec {
        transform,
        bounds: Some(bounds),
        seed: params.seed,
        ..SketchSpec::new(columns.iter().cloned(), map, scale, params.size_for(dim))
    };
    spec.validate()?;
    Ok(spec)
}
