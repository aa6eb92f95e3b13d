//! What a private release promises, in words.

use compressive::SketchSpec;
use compressive::privacy::{Mechanism, Neighbours, PrivateSketch, Release, SpecOrigin};

use crate::words::{amount, count, number, thousands};

/// One release, a fact a line.
pub fn describe(release: &Release) -> String {
    let Release { epsilon, delta, neighbours, rows_per_person, epsilon_sums, epsilon_rows, .. } = release;
    let paid = epsilon - epsilon_sums - epsilon_rows;
    let mut parts = vec![format!("sums {}", number(*epsilon_sums))];
    match release.rows_scale {
        Some(_) => parts.push(format!("number of rows {}", number(*epsilon_rows))),
        None => parts.push("number of rows public".into()),
    }
    if let SpecOrigin::Paid { .. } = release.spec {
        parts.push(format!("spec {}", number(paid)));
    }
    format!(
        "promise      epsilon {}, delta {}: {}\n\
         budget       {}\n\
         noise        {}: standard deviation {} on a sum\n\
         spec         {}\n",
        amount(*epsilon),
        amount(*delta),
        match release.mechanism {
            Mechanism::LocalResponse { .. } => {
                "hides the values of any one reading, from the collector too (local)".into()
            }
            _ => protects(*neighbours, *rows_per_person),
        },
        parts.join(", "),
        match release.mechanism {
            Mechanism::DiscreteLaplace { .. } => "discrete Laplace".into(),
            Mechanism::DiscreteGaussian { .. } => "discrete Gaussian".into(),
            Mechanism::LocalResponse { entries, of, .. } => {
                format!("randomised response, {entries} of {} signs reported", thousands(of.into()))
            }
            other => format!("{other:?}"),
        },
        rows(release.mechanism.variance().sqrt()),
        origin(release.spec),
    )
}

/// The number of rows, and how sure it is.
pub fn row_count(sketch: &PrivateSketch) -> String {
    let rows = whole(sketch.rows());
    if sketch.rows_are_public() {
        return format!("{rows} (public)");
    }
    format!("{rows} (number of rows is noisy, +- {})", number(sketch.rows_std()))
}

/// The noise on an entry of the mean, next to what sampling alone gives.
pub fn mean_noise(sketch: &PrivateSketch) -> String {
    let moments = sketch.moments();
    let Some(variance) = sketch.spec().map.variance() else {
        return format!("{} on an entry of the mean", number(moments.noise_std));
    };
    let sampling = (variance / moments.rows).sqrt();
    format!(
        "{} on an entry of the mean (sampling alone: about {})",
        number(moments.noise_std),
        number(sampling)
    )
}

/// Where a spec comes from, if that is known.
pub fn source(spec: &SketchSpec) -> Option<String> {
    use compressive::Source;
    let text = match spec.source? {
        Source::Bounds => "declared bounds: made without looking at any row".to_owned(),
        Source::Private { epsilon } => {
            format!(
                "declared bounds and a private look at the rows, which cost epsilon {epsilon} (add-remove)"
            )
        }
    };
    Some(text)
}

fn whole(n: i64) -> String {
    let sign = if n < 0 { "-" } else { "" };
    format!("{sign}{}", count(n.unsigned_abs(), "row"))
}

/// A noise in units of one row's contribution.
fn rows(std: f64) -> String {
    format!("{} rows", number(std))
}

fn protects(neighbours: Neighbours, rows_per_person: u32) -> String {
    match (neighbours, rows_per_person) {
        (Neighbours::AddRemove, 1) => "hides whether any one row is in the table (add-remove)".into(),
        (Neighbours::AddRemove, n) => {
            format!("hides whether any person, with up to {n} rows, is in the table (add-remove)")
        }
        (Neighbours::Replace, 1) => "hides the values of any one row (replace)".into(),
        (Neighbours::Replace, n) => {
            format!("hides the values of any person's rows, up to {n} of them (replace)")
        }
    }
}

fn origin(origin: SpecOrigin) -> String {
    match origin {
        SpecOrigin::Bounds => "made from declared bounds, without any row".into(),
        SpecOrigin::DeclaredPublic => {
            "declared public by the owner of the rows: nothing was paid for it".into()
        }
        SpecOrigin::Paid { epsilon } => {
            format!("made from declared bounds and a private look at the rows (epsilon {epsilon})")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compressive::FrequencyLaw;
    use compressive::privacy::PrivacyParams;

    #[test]
    fn a_promise_says_what_is_protected_and_what_was_paid() {
        let mut spec = SketchSpec::new(["a"], FrequencyLaw::AdaptedRadius, 1.0, 10);
        spec.source = Some(compressive::Source::Private { epsilon: 0.25 });
        let params = PrivacyParams::new(2.0).neighbours(Neighbours::Replace);
        let text = describe(&Release::plan(&spec, &params).unwrap());
        assert!(text.contains("sums 1.5, number of rows public, spec 0.5"), "{text}");
        assert!(text.contains("discrete Laplace") && text.contains("epsilon 0.25"), "{text}");
        let text = describe(&Release::plan(&spec, &params.delta(1e-6)).unwrap());
        assert!(text.contains("delta 1e-6") && text.contains("discrete Gaussian"), "{text}");
    }
}
