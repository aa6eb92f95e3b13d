//! A spec without looking at the rows, or with a look that is paid for.
//!
//! Declared bounds give working coordinates in which the box is [-2, 2] (one width for all columns where
//! [`Scaling`](crate::design::Scaling) says so). What bounds cannot tell is where in the box the rows are and
//! how wide their clusters: both are read off a small private sketch of all rows.
//!
//! 1. The mean of each column from the phase of one frequency along it, of a radius at which the column's own
//!    box has phases of -2 to 2.
//! 2. For k clusters of width $\sigma$ whose centres spread by $\tau$, the energy at radius R is near $$
//!    \mathbb E\,|z|^2 = e^{-R^2\sigma^2}\Bigl(\tfrac1k + \bigl(1 - \tfrac1k\bigr) e^{-R^2\tau^2}\Bigr), $$
//!    fitted to the noisy energies of 60 frequencies of twelve radii, less the known variance of the noise,
//!    by maximum likelihood over a grid, with weak priors that decide when the budget is too small to see
//!    anything.
//! 3. The transform is centred at the means and divided by $\sqrt{\sigma^2 + \tau^2}$ of the box's units; the
//!    scale is a multiple of $\sigma$.
//!
//! Cost: one pass with 60 + d frequencies, then a thousand evaluations.

use crate::design::request::{Request, Settled};
use crate::design::scale::ScaleRule;
use crate::design::transform::common_scale;
use crate::design::{Designed, Reason, Task, check_components, finish, held, kernel_width, landmark_rules};
use crate::error::remedy::{Parameter, Remedy};
use crate::error::{Error, Result};
use crate::num::random::{Purpose, Stream};
use crate::privacy::PrivateSketch;
use crate::sketch::frequency::FrequencyLaw;
use crate::sketch::map::landmarks::Landmarks;
use crate::sketch::map::{Feature, LawOrLandmarks};
use crate::sketch::spec::{Bounds, SketchSpec, Source, Transform};

/// Radii of the pilot's frequencies, in working coordinates: from the whole box to details of a hundredth of
/// it.
const RADII: [f64; 12] = [0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0, 12.0, 18.0];
/// Frequencies of each radius.
const DIRECTIONS: usize = 5;
/// Width of the clusters, and spread of their centres, in quarters of the box where nothing else is known.
const PRIOR: (f64, f64) = (0.25, 0.6);
/// Standard deviation of the logarithms around them.
const PRIOR_SPREAD: f64 = 0.5;
/// The spec of the small sketch from which [`design`](crate::design::design) estimates the scale.
///
/// # Errors
/// As [`design`](crate::design::design), and for principal components, which need no look.
pub fn look_spec(columns: &[String], request: &Request) -> Result<SketchSpec> {
    let params = &request.settled(false, columns.len())?;
    refuse_look(params.task == Task::Pca)?;
    let dim = columns.len();
    let (transform, bounds) = transform(columns, params, &mut Vec::new())?;
    let mut frequencies = Vec::with_capacity(RADII.len() * DIRECTIONS);
    for (j, radius) in RADII.iter().flat_map(|r| [r; DIRECTIONS]).enumerate() {
        let mut stream = Stream::new(params.seed, Purpose::PilotRows, 1 + j as u64);
        let direction: Vec<f64> = (0..dim).map(|_| stream.normal()).collect();
        let norm = direction.iter().map(|x| x * x).sum::<f64>().sqrt().max(1e-300);
        frequencies.push(direction.iter().map(|x| radius * x / norm).collect());
    }
    let along = along(&transform, &bounds);
    frequencies.extend((0..dim).map(|c| (0..dim).map(|i| if i == c { along[c] } else { 0.0 }).collect()));
    let size = frequencies.len();
    let law = FrequencyLaw::Explicit { frequencies };
    let spec = SketchSpec {
        transform,
        bounds: Some(bounds),
        source: Some(Source::Bounds),
        missing: params.missing.unwrap_or_default(),
        ..SketchSpec::new(columns.iter().cloned(), law, 1.0, size)
    };
    spec.validate()?;
    Ok(spec)
}

/// The recipe for declared bounds, with the scale from a private sketch of [`look_spec`] or, without one, a
/// common guess.
pub(super) fn design(
    columns: &[String],
    params: &Settled,
    pilot: Option<&PrivateSketch>,
) -> Result<Designed> {
    check_components(params, columns.len())?;
    if params.whiten || params.law.looks_at_rows() {
        return Err(Error::Spec {
            field: "transform",
            problem: "whitening, the law pilot-mixture and landmarks among the rows are taken from the rows themselves and cannot be had privately".into(),
        });
    }
    if matches!(params.feature, Feature::Conv(_)) {
        return Err(Error::Spec {
            field: "feature",
            problem: "the scale of `conv` is taken from the rows and cannot be had privately".into(),
        }
        .advise(Remedy::say(
            "privatize its sketches as those of a public spec if the recipe may be known",
            Remedy::TurnOn(Parameter::PublicSpec),
        )));
    }
    let mut reasons = Vec::new();
    let (mut transform, bounds) = transform(columns, params, &mut reasons)?;
    if params.task == Task::Pca {
        refuse_look(pilot.is_some())?;
        let spec = finish(columns, transform, bounds, None, 1.0, params)?;
        return Ok(designed(spec, None, reasons));
    }
    let seen = pilot.map_or(Seen::blind(columns.len()), |sketch| Seen::at(sketch, params.k));
    let unit = if pilot.is_some() { seen.width.hypot(seen.spread) } else { 1.0 };
    for ((centre, spread), mean) in transform.centre.iter_mut().zip(&mut transform.spread).zip(&seen.means) {
        *centre += *spread * mean;
        *spread *= unit;
    }
    let scale = match params.scale {
        ScaleRule::Fixed(value) => value,
        _ => {
            let width = match pilot {
                None => seen.width,
                Some(_) => held(params, columns.len(), seen.width / unit, &mut reasons),
            };
            let kernel = if params.feature == Feature::Nystrom { kernel_width(columns.len()) } else { 1.0 };
            params.defaults.unseen_width * kernel * width
        }
    };
    let law = params.law.landmarks().map(|rule| {
        let ends = [&bounds.low, &bounds.high].map(|corner| transform.apply(corner));
        let points = landmark_rules::in_box(&ends[0], &ends[1], params.size_for(columns.len()), params.seed);
        LawOrLandmarks::Landmarks(Landmarks { rule, points })
    });
    let spec = finish(columns, transform, bounds, law, scale, params)?;
    let epsilon = pilot.map(|sketch| sketch.releases().iter().map(|r| r.epsilon).sum());
    Ok(designed(spec, epsilon, reasons))
}

/// The recipe with its source, and the source as the first reason.
fn designed(spec: SketchSpec, epsilon: Option<f64>, mut reasons: Vec<Reason>) -> Designed {
    let scale = spec.scale;
    let (source, first) = match epsilon {
        None => (Source::Bounds, Reason::Bounds { scale }),
        Some(epsilon) => (Source::Private { epsilon }, Reason::PrivateLook { scale, epsilon }),
    };
    reasons.insert(0, first);
    Designed { spec: SketchSpec { source: Some(source), ..spec }, reasons }
}

/// Principal components need no scale, so that there is nothing to pay for.
fn refuse_look(paid: bool) -> Result<()> {
    if !paid {
        return Ok(());
    }
    Err(Error::Privacy {
        field: "spec",
        problem: "a recipe for principal components has no scale to estimate".into(),
    }
    .advise(Remedy::say(
        "make it from the bounds alone, which costs nothing",
        Remedy::set(Parameter::Private, 0),
    )))
}

fn transform(columns: &[String], params: &Settled, reasons: &mut Vec<Reason>) -> Result<(Transform, Bounds)> {
    let Some(bounds) = &params.bounds else {
        return Err(Error::Privacy {
            field: "bounds",
            problem: "a spec that does not look at the rows needs a box that you know them to lie in".into(),
        }
        .advise(Remedy::say("declare it", Remedy::set(Parameter::Bounds, "LOW:HIGH"))));
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
    let spreads = transform.spread.clone();
    common_scale(params, &mut transform.spread, &spreads, reasons);
    Ok((transform, bounds.clone()))
}

/// Radius of the frequency along each column, in working coordinates: 1 in units of a quarter of its own
/// width.
fn along(transform: &Transform, bounds: &Bounds) -> Vec<f64> {
    let sides = bounds.low.iter().zip(&bounds.high).zip(&transform.spread);
    sides.map(|((low, high), spread)| spread / (0.25 * (high - low))).collect()
}

/// What is known of the rows, in quarters of the box's width.
struct Seen {
    /// Mean of each column, from the middle of the box.
    means: Vec<f64>,
    /// Width of the clusters.
    width: f64,
    /// Spread of their centres.
    spread: f64,
}

impl Seen {
    /// What is assumed without a look.
    fn blind(dim: usize) -> Seen {
        Seen { means: vec![0.0; dim], width: PRIOR.0, spread: PRIOR.1 }
    }

    /// Steps 1 and 2.
    fn at(pilot: &PrivateSketch, k: usize) -> Seen {
        let moments = pilot.moments();
        let (dim, m) = (pilot.spec().dim(), pilot.spec().size);
        let noise = moments.noise_std.powi(2) + 0.5 / moments.rows;
        let spec = pilot.spec();
        let along = spec.bounds.as_ref().map_or(vec![1.0; dim], |bounds| along(&spec.transform, bounds));
        let mean = |c: usize| {
            let j = m - dim + c;
            let (re, im) = (moments.mean[j], moments.mean[m + j]);
            // Shrinks towards the middle as the noise takes over.
            let square = re * re + im * im;
            im.atan2(re) / along[c] * (1.0 - 2.0 * noise / square.max(1e-300)).max(0.0)
        };
        let means = (0..dim).map(mean).collect();
        let energies: Vec<f64> = (0..RADII.len())
            .map(|r| {
                let own = r * DIRECTIONS..(r + 1) * DIRECTIONS;
                let square = |j: usize| moments.mean[j].powi(2) + moments.mean[m + j].powi(2) - 2.0 * noise;
                own.map(square).sum::<f64>() / DIRECTIONS as f64
            })
            .collect();
        let mut best = (f64::INFINITY, PRIOR);
        for width in grid(0.02, 2.0, 60) {
            for spread in grid(0.05, 2.0, 30) {
                let cost = unlikeliness(&energies, noise, k, (width, spread));
                if cost < best.0 {
                    best = (cost, (width, spread));
                }
            }
        }
        let (_, (width, spread)) = best;
        Seen { means, width, spread }
    }
}

/// Twice the negative log-likelihood of a width and a spread, up to a constant.
fn unlikeliness(energies: &[f64], noise: f64, k: usize, (width, spread): (f64, f64)) -> f64 {
    let share = 1.0 / k.max(1) as f64;
    let prior = |value: f64, centre: f64| ((value / centre).ln() / PRIOR_SPREAD).powi(2);
    let each = RADII.iter().zip(energies).map(|(r, energy)| {
        let model = (-(r * width).powi(2)).exp() * (share + (1.0 - share) * (-(r * spread).powi(2)).exp());
        // Energies of interfering clusters scatter like an exponential law, less so where all are in phase;
        // noise adds its own scatter. The last term covers what the formula leaves out.
        let scatter = model * (1.0 - model) + 2.0 * noise;
        let variance = scatter * scatter / DIRECTIONS as f64 + 1e-4;
        (energy - model).powi(2) / variance + variance.ln()
    });
    prior(width, PRIOR.0) + prior(spread, PRIOR.1) + each.sum::<f64>()
}

/// Values from one end to the other in equal ratios.
fn grid(from: f64, to: f64, steps: u32) -> impl Iterator<Item = f64> {
    (0..=steps).map(move |i| from * (to / from).powf(f64::from(i) / f64::from(steps)))
}

#[cfg(test)]
mod tests;
