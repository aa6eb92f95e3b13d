use super::*;
use crate::privacy::calibrate::gaussian_sigma;
use crate::privacy::{SeededEntropy, Sensitivity, SpecOrigin};
use crate::sketch::spec::Source;
use crate::testing::sketch_of;
use crate::{FrequencyLaw, RowsRef, Scratch, SketchOperator, Wave, Waves};

fn operator(size: usize, wave: Wave, source: Option<Source>) -> SketchOperator {
    let waves = Waves::new(wave, FrequencyLaw::AdaptedRadius);
    let mut spec = SketchSpec::new(["a", "b"], waves, 1.0, size);
    spec.source = source;
    spec.build().unwrap()
}

fn waves(operator: &SketchOperator, n_rows: usize) -> Sketch {
    let rows: Vec<f64> = (0..2 * n_rows).map(|i| (i as f64 * 0.7).sin() * 3.0).collect();
    sketch_of(operator, &rows)
}

fn public() -> PrivacyParams {
    PrivacyParams { public_spec: true, ..PrivacyParams::default() }
}

fn refusal(sketch: &Sketch, params: &PrivacyParams) -> String {
    privatize(sketch, params, &mut SeededEntropy::new(0)).unwrap_err().to_string()
}

#[test]
fn the_noise_has_the_scale_of_the_sensitivity_over_the_budget() {
    let operator = operator(100, Wave::Fourier, None);
    let sketch = waves(&operator, 50);
    for (neighbours, delta) in [
        (Neighbours::AddRemove, 0.0),
        (Neighbours::Replace, 0.0),
        (Neighbours::AddRemove, 1e-6),
        (Neighbours::Replace, 1e-6),
    ] {
        let params = PrivacyParams { neighbours, delta, epsilon: 0.5, ..public() };
        let release = Release::plan(sketch.spec(), &params).unwrap();
        assert!((release.epsilon_sums + release.epsilon_rows - 0.5).abs() < 1e-15);
        let sensitivity = Sensitivity::new(&Wave::Fourier.into(), 100, neighbours);
        match release.mechanism {
            Mechanism::DiscreteLaplace { scale } => {
                let exact = sensitivity.l1 as f64 / release.epsilon_sums;
                assert!(scale as f64 >= exact && (scale as f64) < exact + 2.0, "{scale} {exact}");
            }
            Mechanism::DiscreteGaussian { sigma } => {
                let unit = sigma as f64 / (sensitivity.l2_squared as f64).sqrt();
                let expected = gaussian_sigma(release.epsilon_sums, 1e-6);
                assert!((unit / expected - 1.0).abs() < 1e-6, "{unit} {expected}");
            }
            Mechanism::LocalResponse { .. } => panic!("no plan asks readings"),
        }
        assert_eq!(release.rows_scale.is_some(), neighbours == Neighbours::AddRemove);
        // The noise that is there is the noise that was promised.
        let mut squares = 0.0;
        for seed in 0..200 {
            let private = privatize(&sketch, &params, &mut SeededEntropy::new(seed)).unwrap();
            squares +=
                private.sums().iter().zip(sketch.sums()).map(|(a, b)| ((a - b) as f64).powi(2)).sum::<f64>();
        }
        let unit = (1u64 << Sketch::GRID_BITS) as f64;
        let variance = squares / (200.0 * 200.0) / (unit * unit);
        // 40,000 draws: a relative error of 5 / sqrt(40,000) at most, for the kurtosis of Laplace, is five
        // standard deviations.
        assert!((variance / release.mechanism.variance() - 1.0).abs() < 0.06, "{variance}");
    }
}

#[test]
fn the_best_split_starves_neither_part() {
    // The published optimum for Laplace noise: (4 m^2 / c)^(1/3) with c = 0.35.
    for (size, share) in [(100, 0.980), (1000, 0.9956), (10_000, 0.9990)] {
        let spec = SketchSpec::new(["a"], FrequencyLaw::AdaptedRadius, 1.0, size);
        let release = Release::plan(&spec, &public()).unwrap();
        assert!((release.epsilon_sums - share).abs() < 1e-3, "{size}: {}", release.epsilon_sums);
    }
}

#[test]
fn a_spec_from_the_rows_is_refused_and_a_paid_one_is_charged() {
    let params = PrivacyParams { epsilon: 1.0, ..PrivacyParams::default() };
    let unpaid = waves(&operator(10, Wave::Fourier, None), 5);
    assert!(refusal(&unpaid, &params).contains("public data"));
    let bounds = waves(&operator(10, Wave::Fourier, Some(Source::Bounds)), 5);
    assert_eq!(Release::plan(bounds.spec(), &params).unwrap().spec, SpecOrigin::Bounds);
    let paid = waves(&operator(10, Wave::Fourier, Some(Source::Private { epsilon: 0.25 })), 5);
    let release = Release::plan(paid.spec(), &params).unwrap();
    assert_eq!(release.spec, SpecOrigin::Paid { epsilon: 0.25 });
    assert!((release.epsilon_sums + release.epsilon_rows - 0.75).abs() < 1e-15);
    let replace = PrivacyParams { neighbours: Neighbours::Replace, ..params.clone() };
    assert_eq!(Release::plan(paid.spec(), &replace).unwrap().epsilon_sums, 0.5);
    let three = PrivacyParams { rows_per_person: 3, ..params.clone() };
    assert_eq!(Release::plan(paid.spec(), &three).unwrap().rows_per_person, 3);
    let poor = PrivacyParams { epsilon: 0.25, ..params };
    assert!(refusal(&paid, &poor).contains("already cost 0.25"));
}

#[test]
fn wrong_budgets_and_weighted_rows_are_refused() {
    let operator = operator(10, Wave::Fourier, None);
    let sketch = waves(&operator, 5);
    let cases: [(&str, PrivacyParams); 7] = [
        ("0 is not a positive number", PrivacyParams { epsilon: 0.0, ..public() }),
        ("NaN", PrivacyParams { epsilon: f64::NAN, ..public() }),
        ("inf", PrivacyParams { epsilon: f64::INFINITY, ..public() }),
        ("1 is not from 0", PrivacyParams { delta: 1.0, ..public() }),
        ("share 1", PrivacyParams { split: Some(1.0), ..public() }),
        ("at least 1 row", PrivacyParams { rows_per_person: 0, ..public() }),
        ("noise of scale", PrivacyParams { epsilon: 1e-12, ..public() }),
    ];
    for (words, params) in cases {
        let message = refusal(&sketch, &params);
        assert!(message.contains(words), "{words}: {message}");
    }
    let mut weighted = Sketch::empty(&operator);
    let rows = [0.0, 1.0, 2.0, 3.0];
    // Weights that add up to the number of rows do not hide themselves.
    operator
        .accumulate(RowsRef::F64(&rows), Some(&[0.5, 1.5]), &mut weighted, &mut Scratch::default())
        .unwrap();
    assert_eq!(weighted.weight(), weighted.rows() as f64);
    assert!(refusal(&weighted, &public()).contains("without weights"));
    let back = Sketch::from_bytes(&weighted.to_bytes()).unwrap();
    assert!(back.has_fractional_weights());
    let mut merged = waves(&operator, 5);
    merged.merge(&back).unwrap();
    assert!(refusal(&merged, &public()).contains("without weights"));
}

#[test]
fn a_row_of_whole_weight_needs_the_noise_of_as_many_rows() {
    let operator = operator(10, Wave::Fourier, None);
    let weigh = |weights: &[f64]| {
        let mut sketch = Sketch::empty(&operator);
        let rows = vec![0.5; 2 * weights.len()];
        operator
            .accumulate(RowsRef::F64(&rows), Some(weights), &mut sketch, &mut Scratch::default())
            .unwrap();
        sketch
    };
    let heavy = weigh(&[1.0, 100_000.0, 2.0]);
    let refused = refusal(&heavy, &public());
    assert!(refused.contains("weight 100000") && refused.contains("rows of a person 100000"), "{refused}");
    assert!(refusal(&heavy, &PrivacyParams { rows_per_person: 99_999, ..public() }).contains("99999"));
    let enough = PrivacyParams { rows_per_person: 100_000, ..public() };
    privatize(&heavy, &enough, &mut SeededEntropy::new(0)).unwrap();
    // A file, a merge and a subtraction keep the largest weight in mind.
    let mut merged = waves(&operator, 5);
    merged.merge(&Sketch::from_bytes(&heavy.to_bytes()).unwrap()).unwrap();
    merged.subtract(&weigh(&[3.0])).unwrap();
    assert_eq!(merged.row_weights(), crate::sketch::RowWeights::Whole { largest: 100_000 });
    assert!(refusal(&merged, &public()).contains("weight 100000"));
    // Rows of weight 1 or 0 are rows, and their bytes are those of format 1.
    let plain = weigh(&[1.0, 0.0, 1.0]);
    assert_eq!(plain.row_weights(), crate::sketch::RowWeights::ONE);
    privatize(&plain, &public(), &mut SeededEntropy::new(0)).unwrap();
}

#[test]
fn the_same_release_is_never_merged_twice() {
    let operator = operator(20, Wave::OneBit, Some(Source::Bounds));
    let sketch = waves(&operator, 400);
    let release =
        |seed| privatize(&sketch, &PrivacyParams::default(), &mut SeededEntropy::new(seed)).unwrap();
    let (a, b) = (release(1), release(2));
    let mut both = a.clone();
    both.merge(&b).unwrap();
    // Neither in itself, nor within a sum, nor after a trip through a file.
    for again in [&a, &b, &both, &PrivateSketch::from_bytes(&b.to_bytes()).unwrap()] {
        let refused = both.clone().merge(again).unwrap_err().to_string();
        assert!(refused.contains("given twice"), "{refused}");
    }
    // Files of format 1 name no release; their noise does.
    let nameless = |sketch: &PrivateSketch| {
        let releases = sketch.releases.iter().map(|r| Release { id: None, ..r.clone() }).collect();
        let sketch = PrivateSketch { releases, ..sketch.clone() };
        let bytes = sketch.to_bytes();
        assert!(bytes.windows(17).any(|w| w == b"\"compressive\":\"1\""));
        PrivateSketch::from_bytes(&bytes).unwrap()
    };
    assert!(nameless(&a).merge(&nameless(&a)).is_err());
    nameless(&a).merge(&nameless(&b)).unwrap();
    // Single answers of readings may well be equal.
    let response = crate::privacy::LocalResponse::new(operator.spec(), 2.0).unwrap();
    let batch = response.reports(&[0; 5], &mut SeededEntropy::new(3)).unwrap();
    let mut one = crate::privacy::LocalResponse::add_up(operator.spec(), &batch).unwrap();
    let same = one.clone();
    one.merge(&same).unwrap();
    assert_eq!(one.rows(), 2);
}

#[test]
fn holders_merge_their_releases_and_keep_their_promises() {
    let operator = operator(20, Wave::OneBit, Some(Source::Bounds));
    let sketch = waves(&operator, 400);
    let release = |epsilon, seed| {
        let params = PrivacyParams { epsilon, ..PrivacyParams::default() };
        privatize(&sketch, &params, &mut SeededEntropy::new(seed)).unwrap()
    };
    let (a, b) = (release(1.0, 1), release(2.0, 2));
    let mut both = a.clone();
    both.merge(&b).unwrap();
    assert_eq!(both.rows(), a.rows() + b.rows());
    assert!(both.sums().iter().zip(a.sums()).zip(b.sums()).all(|((s, x), y)| *s == x + y));
    assert_eq!(both.releases().iter().map(|r| r.epsilon).collect::<Vec<_>>(), [1.0, 2.0]);
    let variance = |s: &PrivateSketch| (s.moments().noise_std * s.moments().rows).powi(2);
    assert!((variance(&both) / (variance(&a) + variance(&b)) - 1.0).abs() < 1e-12);
    let other = super::tests::operator(21, Wave::OneBit, Some(Source::Bounds));
    let stranger =
        privatize(&waves(&other, 5), &PrivacyParams::default(), &mut SeededEntropy::new(3)).unwrap();
    assert!(both.merge(&stranger).unwrap_err().to_string().contains("size (20 / 21)"));
}

#[test]
fn private_bytes_round_trip_and_are_never_taken_for_plain_ones() {
    let operator = operator(20, Wave::Fourier, Some(Source::Private { epsilon: 0.1 }));
    let sketch = waves(&operator, 400);
    let params = PrivacyParams { delta: 1e-6, ..PrivacyParams::default() };
    let private = privatize(&sketch, &params, &mut SeededEntropy::new(9)).unwrap();
    let bytes = private.to_bytes();
    assert_eq!(PrivateSketch::from_bytes(&bytes).unwrap(), private);
    assert!(Sketch::from_bytes(&bytes).unwrap_err().to_string().contains("private sketch"));
    assert!(PrivateSketch::from_bytes(&sketch.to_bytes()).unwrap_err().to_string().contains("plain sketch"));
    for i in 0..bytes.len() {
        let mut broken = bytes.clone();
        broken[i] ^= 1;
        assert!(AnySketch::from_bytes(&broken).is_err(), "byte {i} went unnoticed");
    }
}

#[test]
fn a_noisy_number_of_rows_below_one_counts_as_one() {
    let operator = operator(5, Wave::Fourier, Some(Source::Bounds));
    let empty = Sketch::empty(&operator);
    let params = PrivacyParams { epsilon: 0.01, ..PrivacyParams::default() };
    let rows: Vec<i64> = (0..50)
        .map(|seed| {
            let private = privatize(&empty, &params, &mut SeededEntropy::new(seed)).unwrap();
            assert!(private.moments().rows >= 1.0);
            private.rows()
        })
        .collect();
    assert!(rows.iter().any(|r| *r < 0) && rows.iter().any(|r| *r > 0), "{rows:?}");
}

#[test]
fn exact_moments_are_never_released() {
    let plain = operator(20, Wave::OneBit, None);
    let keeping = SketchSpec { moments: Some(crate::MomentSet::Full), ..plain.spec().clone() };
    let sketch = waves(&keeping.clone().build().unwrap(), 50);
    let private = privatize(&sketch, &public(), &mut SeededEntropy::new(0)).unwrap();
    assert_eq!(private.fingerprint(), plain.fingerprint());
    assert_eq!(private.moments().exact, None);
    assert_eq!(PrivateSketch::from_bytes(&private.to_bytes()).unwrap(), private);
    let forged = PrivateSketch { spec: keeping.clone().into(), ..private };
    assert!(crate::privacy::AnySketch::from_bytes(&forged.to_bytes()).is_err());
    let local = crate::privacy::LocalResponse::new(&keeping, 1.0).unwrap_err().to_string();
    assert!(local.contains("moments"), "{local}");
    let operator = keeping.build().unwrap();
    let bits = crate::features::add_packed(&operator, &[0; 5], &mut Sketch::empty(&operator)).unwrap_err();
    assert!(bits.to_string().contains("make the recipe without them"), "{bits}");
}
