use super::*;
use crate::num::random::{Purpose, Stream};
use crate::testing::sketch_of;
use crate::{FrequencyLaw, SketchSpec, Waves};

fn operator(wave: Wave) -> SketchOperator {
    let waves = Waves::usual(wave, FrequencyLaw::AdaptedRadius);
    SketchSpec::new(["a", "b", "c"], waves, 1.0, 200).build().unwrap()
}

/// n rows of four clusters, moved by `shift` along the first column; `draw` numbers the sample.
fn sample(op: &SketchOperator, n: usize, shift: f64, draw: u64) -> Sketch {
    let mut stream = Stream::new(99, Purpose::PilotMixture, draw);
    let mut rows = Vec::with_capacity(3 * n);
    for _ in 0..n {
        let cluster = stream.below(4);
        rows.push(shift + 3.0 * (cluster & 1) as f64 + stream.normal());
        rows.push(3.0 * (cluster >> 1) as f64 + stream.normal());
        rows.push(stream.normal());
    }
    sketch_of(op, &rows)
}

#[test]
fn false_alarms_stay_at_or_below_the_nominal_rate() {
    // 400 pairs: at a true rate of 5% more than 34 alarms (8.5%) have probability below 0.2%.
    for feature in [Wave::Fourier, Wave::OneBit, Wave::Sawtooth, Wave::Cosine] {
        let op = operator(feature.clone());
        let p_values: Vec<f64> = (0..400)
            .map(|i| {
                let (a, b) = (sample(&op, 300, 0.0, 2 * i), sample(&op, 500, 0.0, 2 * i + 1));
                compare(&op, &a, &b).unwrap().p_value
            })
            .collect();
        let alarms = p_values.iter().filter(|p| **p < 0.05).count();
        assert!(alarms <= 34, "{}: {alarms} alarms in 400", feature.name());
        // The bound is not so loose that the test is blind.
        assert!(alarms >= 2, "{}: {alarms} alarms in 400", feature.name());
    }
}

#[test]
fn a_shift_is_seen_and_its_size_estimated() {
    for feature in [Wave::Fourier, Wave::OneBit] {
        let op = operator(feature);
        let (a, b) = (sample(&op, 5000, 0.0, 1), sample(&op, 5000, 0.3, 2));
        let c = compare(&op, &a, &b).unwrap();
        assert!(c.p_value < 1e-6, "{c:?}");
        // The squared MMD itself, from samples two hundred times larger, where its noise is negligible.
        let truth = compare(&op, &sample(&op, 1_000_000, 0.0, 3), &sample(&op, 1_000_000, 0.3, 4))
            .unwrap()
            .mmd_squared;
        assert!((c.mmd_squared - truth).abs() < 4.0 * c.standard_error, "{c:?} {truth}");
        assert!(c.standard_error < 0.5 * truth, "{c:?} {truth}");
    }
}

#[test]
fn the_estimate_is_unbiased_and_its_standard_error_covers() {
    let op = operator(Wave::Fourier);
    let runs: Vec<Comparison> = (0..200)
        .map(|i| {
            compare(&op, &sample(&op, 200, 0.0, 1000 + 2 * i), &sample(&op, 200, 0.0, 1001 + 2 * i)).unwrap()
        })
        .collect();
    let mean = runs.iter().map(|c| c.mmd_squared).sum::<f64>() / 200.0;
    let deviation = (runs.iter().map(|c| (c.mmd_squared - mean).powi(2)).sum::<f64>() / 199.0).sqrt();
    assert!(mean.abs() < 4.0 * deviation / 200f64.sqrt(), "bias {mean} of deviation {deviation}");
    let stated = runs.iter().map(|c| c.standard_error).sum::<f64>() / 200.0;
    assert!(stated > 0.8 * deviation && stated < 2.5 * deviation, "stated {stated}, found {deviation}");
}

#[test]
fn a_sketch_equals_itself() {
    let op = operator(Wave::Fourier);
    let a = sample(&op, 100, 0.0, 5);
    let c = compare(&op, &a, &a).unwrap();
    assert_eq!(c.distance, 0.0);
    assert!(c.p_value > 0.999);
}

#[test]
fn one_row_is_too_few_and_another_spec_is_refused() {
    let op = operator(Wave::Fourier);
    let (one, many) = (sample(&op, 1, 0.0, 6), sample(&op, 10, 0.0, 7));
    assert!(matches!(compare(&op, &one, &many), Err(Error::TooFewRows { rows: 1, .. })));
    let other = operator(Wave::OneBit);
    let refused = compare(&op, &many, &sample(&other, 10, 0.0, 8)).unwrap_err();
    assert!(matches!(refused.cause(), Error::Incompatible { .. }));
}
