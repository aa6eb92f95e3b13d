//! Whether noise keeps what a file says it promises.
//!
//! Everything that [`Release::plan`] decides is worked out again from the spec and the promise: the parts of
//! epsilon must not exceed the whole, and each noise must be at least what its part asks for. More noise than
//! that is nobody's loss.

use crate::error::{Error, Result};
use crate::privacy::calibrate::discrete_gaussian_holds;
use crate::privacy::local::LocalResponse;
use crate::privacy::release::{Mechanism, PrivacyParams, Release, SLACK, SpecOrigin, check, refuse, whole};
use crate::privacy::sampler::{MAX_SCALE, MAX_SIGMA};
use crate::privacy::sensitivity::{Neighbours, Sensitivity};
use crate::sketch::map::Map;
use crate::sketch::spec::{SketchSpec, Source};
use crate::sketch::wire::corrupt;

/// What another machine's order of additions may change a bound that was computed from directions: a tenth of
/// the slack that the bound has for its own rounding. The other bounds are whole numbers.
const OTHER_MACHINES: f64 = 1e-10;

/// Hexadecimal digits of a release's identity.
pub(crate) const ID_DIGITS: usize = 32;

/// Refuses promises that are not kept. Cost: some 100 evaluations of a normal distribution for each promise;
/// for the feature `quadratic` that of [`Sensitivity::of_spec`] once.
pub(crate) fn verify(releases: &[Release], spec: &SketchSpec) -> Result<()> {
    let mut known: Vec<(Neighbours, Sensitivity)> = Vec::new();
    for (i, release) in releases.iter().enumerate() {
        let kept = (|| {
            if matches!(release.mechanism, Mechanism::LocalResponse { .. }) {
                return local(release, spec);
            }
            budget(release, spec)?;
            row_noise(release)?;
            let sensitivity = match known.iter().find(|(n, _)| *n == release.neighbours) {
                Some((_, sensitivity)) => *sensitivity,
                None => {
                    let sensitivity = Sensitivity::of_spec(spec, release.neighbours)?;
                    known.push((release.neighbours, sensitivity));
                    sensitivity
                }
            };
            noise(release, spec, sensitivity)
        })();
        match kept {
            Ok(()) => {}
            Err(Error::Privacy { field, problem }) => {
                return corrupt(format!("promise {} is not kept ({field}): {problem}", i + 1));
            }
            Err(error) => return corrupt(format!("promise {} cannot be verified: {error}", i + 1)),
        }
    }
    Ok(())
}

/// Readings that answered for themselves leave nothing open but their number.
fn local(release: &Release, spec: &SketchSpec) -> Result<()> {
    let Mechanism::LocalResponse { entries, reports, .. } = release.mechanism else { return Ok(()) };
    let made = LocalResponse::with_entries(spec, release.epsilon, entries)?.release(reports);
    if made == *release {
        return Ok(());
    }
    refuse("mechanism", format!("answers of {entries} signs at epsilon {} are others", release.epsilon))
}

/// The parts of epsilon, and what was said of the spec.
fn budget(release: &Release, spec: &SketchSpec) -> Result<()> {
    let Release { epsilon, delta, rows_per_person, epsilon_sums, epsilon_rows, .. } = *release;
    check(&PrivacyParams { epsilon, delta, rows_per_person, ..PrivacyParams::default() })?;
    if release.id.as_ref().is_some_and(|id| !is_id(id)) {
        return refuse("id", format!("an identity has {ID_DIGITS} hexadecimal digits"));
    }
    let same = match (release.spec, spec.source) {
        (SpecOrigin::DeclaredPublic, _) | (SpecOrigin::Bounds, Some(Source::Bounds)) => true,
        (SpecOrigin::Paid { epsilon }, Some(Source::Private { epsilon: cost })) => epsilon == cost,
        _ => false,
    };
    if !same {
        return refuse("spec", "the spec itself says otherwise where it comes from".into());
    }
    let paid = release.spec.cost(release.neighbours, rows_per_person);
    let all = epsilon_sums + epsilon_rows + paid;
    if epsilon_sums > 0.0 && epsilon_rows >= 0.0 && all <= epsilon * SLACK {
        return Ok(());
    }
    refuse(
        "epsilon",
        format!(
            "{epsilon_sums} for the sums, {epsilon_rows} for the number of rows and {paid} for the spec are not parts of {epsilon}"
        ),
    )
}

fn is_id(text: &str) -> bool {
    text.len() == ID_DIGITS && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// The noise on the number of rows.
fn row_noise(release: &Release) -> Result<()> {
    let need = f64::from(release.rows_per_person) / release.epsilon_rows;
    let kept = match (release.neighbours, release.rows_scale) {
        (Neighbours::Replace, None) => release.epsilon_rows == 0.0,
        (Neighbours::AddRemove, Some(scale)) => {
            let ratio = scale.numerator as f64 / scale.denominator as f64;
            scale.denominator > 0 && ratio <= MAX_SCALE as f64 && ratio * SLACK >= need
        }
        _ => false,
    };
    if kept {
        return Ok(());
    }
    refuse("rows_scale", format!("the noise on the number of rows is not one of scale {need} or more"))
}

/// The noise on the sums.
fn noise(release: &Release, spec: &SketchSpec, sensitivity: Sensitivity) -> Result<()> {
    let Release { epsilon_sums: epsilon, delta, .. } = *release;
    let sensitivity = sensitivity.of_persons(release.rows_per_person);
    let forgiven = if matches!(spec.map, Map::Moments(_)) { OTHER_MACHINES } else { 0.0 };
    match release.mechanism {
        Mechanism::DiscreteLaplace { scale } => {
            let need = whole(sensitivity.l1 as f64 / epsilon)?;
            if scale <= MAX_SCALE && scale as f64 >= need as f64 * (1.0 - forgiven) {
                return Ok(());
            }
            refuse("mechanism", format!("scale {scale} where epsilon {epsilon} needs {need}"))
        }
        Mechanism::DiscreteGaussian { sigma } => {
            let squared = (sensitivity.l2_squared as f64 * (1.0 - forgiven)) as u128;
            let entries = spec.sketch_len();
            if sigma <= MAX_SIGMA && discrete_gaussian_holds(epsilon, delta, squared, entries, sigma) {
                return Ok(());
            }
            refuse(
                "mechanism",
                format!("sigma {sigma} is too small, or too large, for epsilon {epsilon} and delta {delta}"),
            )
        }
        Mechanism::LocalResponse { .. } => Ok(()),
    }
}

#[cfg(test)]
mod tests;
