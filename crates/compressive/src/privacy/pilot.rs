//! A spec without looking at the rows, or with a look that is paid for.
//!
//! The transform follows from declared bounds: centre of the box, and a quarter of its width as the spread, so that the box is [-2, 2] in working coordinates (one
//! width for all columns where [`Scaling`](crate::design::Scaling) says so). What bounds cannot tell is the width $\sigma$ of the clusters. It is estimated from a small
//! private sketch of all rows: for k clusters of width $\sigma$ whose centres spread by $\tau$, the energy at radius R is near
//!
//! $$ \mathbb E\,|z|^2 = e^{-R^2\sigma^2}\Bigl(\tfrac1k + \bigl(1 - \tfrac1k\bigr) e^{-R^2\tau^2}\Bigr), $$
//!
//! fitted to the noisy energies, less the known variance of the noise, by maximum likelihood over a grid, with a weak prior around $\sigma = 0.25$
//! that decides when the budget is too small to see anything. Cost: one pass with 60 frequencies, then a thousand evaluations.

use crate::design::{DesignParams, LawChoice, common_scaling, finish, scale_factor};
use crate::error::{Error, Result};
use crate::frequency::FrequencyLaw;
use crate::privacy::private::PrivateSketch;
use crate::random::{Purpose, Stream};
use crate::spec::{Bounds, SketchSpec, Source, Transform};

/// Radii of the pilot's frequencies, in working coordinates: from the whole box to details of a hundredth of it.
const RADII: [f64; 12] = [0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0, 12.0, 18.0];
/// Frequencies of each radius.
const DIRECTIONS: usize = 5;
/// Width of the clusters in working units where nothing else is known.
const PRIOR: f64 = 0.25;
/// Standard deviation of the logarithm of the width around it.
const PRIOR_SPREAD: f64 = 0.7;

/// The spec of the small sketch from which [`design`] estimates the scale.
pub fn pilot_spec(columns: &[String], params: &DesignParams) -> Result<SketchSpec> {
    let dim = columns.len();
    let (transform, bounds) = transform(columns, params)?;
    let mut frequencies = Vec::with_capacity(RADII.len() * DIRECTIONS);
    for (j, radius) in RADII.iter().flat_map(|r| [r; DIRECTIONS]).enumerate() {
        let mut stream = Stream::new(params.seed, Purpose::PilotRows, 1 + j as u64);
        let direction: Vec<f64> = (0..dim).map(|_| stream.normal()).collect();
        let norm = direction.iter().map(|x| x * x).sum::<f64>().sqrt().max(1e-300);
        frequencies.push(direction.iter().map(|x| radius * x / norm).collect());
    }
    let size = frequencies.len();
    let law = FrequencyLaw::Explicit { frequencies };
    let spec = SketchSpec {
        transform,
        bounds: Some(bounds),
        source: Some(Source::Bounds),
        ..SketchSpec::new(columns.iter().cloned(), law, 1.0, size)
    };
    spec.validate()?;
    Ok(spec)
}

/// The spec for declared bounds, with the scale from a private pilot of [`pilot_spec`] or, without one, a common guess.
pub fn design(
    columns: &[String],
    params: &DesignParams,
    pilot: Option<&PrivateSketch>,
) -> Result<SketchSpec> {
    if params.whiten || params.law == LawChoice::PilotMixture {
        return Err(Error::Spec {
            field: "transform",
            problem: "whitening and the law pilot-mixture are estimated from the rows themselves and cannot be had privately".into(),
        });
    }
    let (transform, bounds) = transform(columns, params)?;
    let width = pilot.map_or(PRIOR, |sketch| width(sketch, params.k));
    let source = match pilot {
        None => Source::Bounds,
        Some(sketch) => Source::Private { epsilon: sketch.releases().iter().map(|r| r.epsilon).sum() },
    };
    let spec = finish(columns, transform, bounds, None, scale_factor(params, width), params)?;
    Ok(SketchSpec { source: Some(source), ..spec })
}

fn transform(columns: &[String], params: &DesignParams) -> Result<(Transform, Bounds)> {
    let Some(bounds) = &params.bounds else {
        return Err(Error::Privacy {
            field: "bounds",
            problem: "a spec that does not look at the rows needs a box that you know them to lie in; declare it with --bounds LOW:HIGH or --bounds COLUMN=LOW:HIGH".into(),
        });
    };
    let mut transform = Transform::identity(columns.len());
    let sides = bounds.low.iter().zip(&bounds.high).enumerate();
    for (c, (low, high)) in sides.take(columns.len()) {
        if !(high > low) {
            return Err(Error::Spec {
                field: "bounds",
                problem: format!("column `{}`: [{low}, {high}] has no width to scale by", columns[c]),
            });
        }
        transform.centre[c] = 0.5 * (low + high);
        transform.spread[c] = 0.25 * (high - low);
    }
    if common_scaling(params, &transform.spread) {
        let mean_square = transform.spread.iter().map(|s| s * s).sum::<f64>() / columns.len() as f64;
        transform.spread.fill(mean_square.sqrt());
    }
    Ok((transform, bounds.clone()))
}

/// The most likely width of the clusters, in working units.
fn width(pilot: &PrivateSketch, k: usize) -> f64 {
    let moments = pilot.moments();
    let m = RADII.len() * DIRECTIONS;
    let noise = moments.noise_std.powi(2) + 0.5 / moments.rows;
    let energies: Vec<f64> = RADII
        .iter()
        .enumerate()
        .map(|(r, _)| {
            let own = r * DIRECTIONS..(r + 1) * DIRECTIONS;
            let square = |j: usize| moments.mean[j].powi(2) + moments.mean[m + j].powi(2) - 2.0 * noise;
            own.map(square).sum::<f64>() / DIRECTIONS as f64
        })
        .collect();
    let share = 1.0 / k.max(1) as f64;
    let cost = |sigma: f64, tau: f64| -> f64 {
        let prior = ((sigma / PRIOR).ln() / PRIOR_SPREAD).powi(2);
        let each = RADII.iter().zip(&energies).map(|(r, energy)| {
            let model = (-(r * sigma).powi(2)).exp() * (share + (1.0 - share) * (-(r * tau).powi(2)).exp());
            // Energies of interfering clusters scatter like an exponential law; noise adds its own scatter. A hundredth covers what the formula leaves out.
            let variance = ((model + 2.0 * noise).powi(2) / DIRECTIONS as f64) + 1e-4;
            (energy - model).powi(2) / variance + variance.ln()
        });
        prior + each.sum::<f64>()
    };
    let grid = |from: f64, to: f64, n: u32| {
        (0..=n).map(move |i| from * (to / from).powf(f64::from(i) / f64::from(n)))
    };
    let mut best = (f64::INFINITY, PRIOR);
    for sigma in grid(0.02, 2.0, 60) {
        for tau in grid(0.05, 2.0, 20) {
            let c = cost(sigma, tau);
            if c < best.0 {
                best = (c, sigma);
            }
        }
    }
    best.1
}
