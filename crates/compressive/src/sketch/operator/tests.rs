use super::*;
use crate::sketch::spec::Transform;
use crate::testing::{check_vjp, columns, sketch_of, weighted_sketch_of};
use crate::{Dither, Feature, FrequencyLaw, ImageShape};

fn rows(n: usize, dim: usize, seed: u64) -> Vec<f64> {
    let mut stream = Stream::new(seed, Purpose::PilotMixture, 3);
    (0..n * dim).map(|_| stream.normal()).collect()
}

fn features() -> Vec<Feature> {
    let table = (0..64).map(|i| (TAU * f64::from(i) / 64.0).cos().powi(3)).collect();
    Wave::plain().chain([Wave::Periodic { table }]).map(Feature::Wave).collect()
}

/// All features that rows of `dim` values can have; images have no structured frequencies.
fn cases(dim: usize, structured: bool) -> impl Iterator<Item = Feature> {
    let image = Feature::Conv(ImageShape { height: 1, width: dim, channels: 1 });
    features().into_iter().chain((!structured).then_some(image))
}

fn operator(feature: impl Into<Feature>, dim: usize, size: usize, structured: bool) -> SketchOperator {
    let map = Map::at(feature.into(), FrequencyLaw::AdaptedRadius.into(), true, structured).unwrap();
    let mut spec = SketchSpec::new(columns(dim), map, 1.0, size);
    spec.seed = 5;
    spec.build().unwrap()
}

#[test]
fn sums_agree_with_the_double_precision_features() {
    for structured in [false, true] {
        for feature in cases(5, structured) {
            let op = operator(feature.clone(), 5, 40, structured);
            let data = rows(300, 5, 1);
            let mean = sketch_of(&op, &data).moments().unwrap().mean;
            let (mut expected, mut f) = (vec![0.0; op.sketch_len()], vec![0.0; op.sketch_len()]);
            for row in data.chunks_exact(5) {
                op.features(row, &mut f);
                expected.iter_mut().zip(&f).for_each(|(e, f)| *e += f / 300.0);
            }
            let error = mean.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            // A row beside a jump of a discontinuous feature may fall on the other side: 2/300 each, and none
            // does here.
            assert!(error < 1e-6, "{} structured {structured}: {error:e}", feature.name());
        }
    }
}

#[test]
fn the_sketch_does_not_depend_on_grouping_order_backend_or_float_width() {
    for structured in [false, true] {
        for feature in cases(3, structured) {
            let op = operator(feature, 3, 50, structured);
            // Values that f32 holds exactly.
            let single: Vec<f32> = rows(500, 3, 2).iter().map(|&x| x as f32).collect();
            let data: Vec<f64> = single.iter().map(|&x| f64::from(x)).collect();
            let whole = sketch_of(&op, &data);
            assert_eq!(weighted_sketch_of(&op, RowsRef::F32(&single), None), whole);
            for backend in Backend::available() {
                let other = op.clone().with_backend(backend);
                assert_eq!(sketch_of(&other, &data), whole, "{}", backend.name());
            }
            for chunk in [1, 7, 200] {
                let mut sketch = Sketch::empty(&op);
                let mut scratch = Scratch::default();
                for part in data.rchunks(chunk * 3) {
                    op.accumulate(RowsRef::F64(part), None, &mut sketch, &mut scratch).unwrap();
                }
                assert_eq!(sketch, whole);
            }
        }
    }
}

#[test]
fn a_whole_weight_is_that_many_copies_to_the_byte() {
    for feature in features() {
        let op = operator(feature, 2, 20, false);
        let data = rows(40, 2, 3);
        let weights: Vec<f64> = (0..40).map(|i| f64::from(i % 4)).collect();
        let copies: Vec<f64> =
            data.chunks_exact(2).zip(&weights).flat_map(|(row, &w)| row.repeat(w as usize)).collect();
        let weighted = weighted_sketch_of(&op, RowsRef::F64(&data), Some(&weights));
        // But for the largest weight, which is remembered.
        let mut copies = sketch_of(&op, &copies);
        copies.note_weights(weighted.row_weights());
        assert_eq!(weighted.to_bytes(), copies.to_bytes());
        assert_eq!(weighted.rows(), 60);
    }
}

#[test]
fn broken_weights_give_the_weighted_mean() {
    let op = operator(Wave::Fourier, 2, 20, false);
    let data = rows(3, 2, 4);
    let found = weighted_sketch_of(&op, RowsRef::F64(&data), Some(&[0.3, 1.25, 2.2])).moments().unwrap().mean;
    let mut f = vec![0.0; op.sketch_len()];
    let mut expected = vec![0.0; op.sketch_len()];
    for (row, w) in data.chunks_exact(2).zip([0.3, 1.25, 2.2]) {
        op.features(row, &mut f);
        expected.iter_mut().zip(&f).for_each(|(e, f)| *e += w / 3.75 * f);
    }
    for (a, b) in found.iter().zip(&expected) {
        // Three rows average little: an f32 phase of a few turns is good to 1e-7 turns.
        assert!((a - b).abs() < 1e-6, "{a} {b}");
    }
}

#[test]
fn epoch_seconds_keep_their_digits() {
    // Two clusters one second apart at 1.7e9: f32 alone has steps of 128 there.
    let mut spec = SketchSpec::new(["t"], FrequencyLaw::AdaptedRadius, 0.3, 64);
    spec.transform = Transform { centre: vec![1.7e9], spread: vec![1.0], whiten: None };
    let op = spec.build().unwrap();
    let data: Vec<f64> = (0..1000).map(|i| 1.7e9 + f64::from(i % 2) + 1e-3 * f64::from(i % 7)).collect();
    let mean = sketch_of(&op, &data).moments().unwrap().mean;
    for (j, w) in op.frequencies().iter().enumerate() {
        let exact = data.iter().map(|x| (w * (x - 1.7e9)).cos()).sum::<f64>() / 1000.0;
        assert!((mean[j] - exact).abs() < 1e-6, "{j}: {} {exact}", mean[j]);
    }
}

#[test]
fn whitening_is_applied_after_centre_and_spread() {
    let mut spec = SketchSpec::new(["a", "b"], FrequencyLaw::Gaussian, 1.0, 30);
    let matrix = vec![vec![1.0, 0.5], vec![-0.25, 2.0]];
    spec.transform = Transform { centre: vec![1.0, -2.0], spread: vec![2.0, 0.5], whiten: Some(matrix) };
    let op = spec.build().unwrap();
    let x = [2.0, -1.0];
    let mut u = [0.0; 2];
    op.working(&x, &mut u);
    assert_eq!(u, [0.5 + 0.5 * 2.0, -0.25 * 0.5 + 2.0 * 2.0]);
    let mut expected = vec![0.0; 60];
    op.features(&u, &mut expected);
    let mean = sketch_of(&op, &x).moments().unwrap().mean;
    for (a, b) in mean.iter().zip(&expected) {
        assert!((a - b).abs() < 1e-6);
    }
}

#[test]
fn structured_frequencies_have_the_laws_radius_on_average() {
    let dense = operator(Wave::Fourier, 20, 4000, false).radii();
    let structured = operator(Wave::Fourier, 20, 4000, true).radii();
    let mean_square = |r: &[f64]| r.iter().map(|x| x * x).sum::<f64>() / r.len() as f64;
    // The mean square of the adapted radius is 2.304, its standard error at 4000 draws about 0.036.
    assert!((mean_square(&dense) - 2.304).abs() < 0.18);
    assert!((mean_square(&structured) - 2.304).abs() < 0.25, "{}", mean_square(&structured));
}

#[test]
fn the_vector_jacobian_product_agrees_with_central_differences() {
    let op = operator(Wave::Fourier, 4, 30, false);
    let (u, v) = (rows(1, 4, 6), rows(60, 1, 7));
    check_vjp(&op, &u, &v, |gradient| 1e-7 * gradient.abs().max(1.0));
}

#[test]
fn a_bad_value_is_named_and_nothing_is_summed() {
    let op = operator(Wave::Fourier, 2, 10, false);
    let mut sketch = Sketch::empty(&op);
    let mut scratch = Scratch::default();
    let mut add = |rows: &[f64], weights: Option<&[f64]>| {
        op.accumulate(RowsRef::F64(rows), weights, &mut sketch, &mut scratch).unwrap_err()
    };
    let message = add(&[1.0, 2.0, 3.0, f64::NAN], None).to_string();
    assert_eq!(message, "row 1, column 1: NaN is not a finite number");
    assert!(matches!(add(&[f64::INFINITY, 2.0], None), Error::NotFinite { row: 0, column: 0, .. }));
    assert!(matches!(add(&[1.0, 2.0, 3.0], None), Error::Shape { .. }));
    assert!(matches!(add(&[1.0, 2.0], Some(&[1.0, 1.0])), Error::Shape { .. }));
    assert!(matches!(add(&[1.0, 2.0], Some(&[-1.0])), Error::BadWeight { row: 0, .. }));
    assert!(matches!(add(&[1.0, 2.0], Some(&[f64::NAN])), Error::BadWeight { .. }));
    assert_eq!(sketch, Sketch::empty(&op));
}

#[test]
fn values_far_outside_the_pilot_stay_bounded() {
    for feature in features() {
        let op = operator(feature, 2, 33, false);
        let sketch = sketch_of(&op, &[1e300, -1e300, 0.0, f64::MAX]);
        assert!(sketch.sums().iter().all(|s| s.abs() <= 2 << 24));
        for backend in Backend::available() {
            let other = op.clone().with_backend(backend);
            assert_eq!(sketch_of(&other, &[1e300, -1e300, 0.0, f64::MAX]), sketch);
        }
    }
}

#[test]
fn a_mixture_law_of_vanishing_width_is_refused() {
    use crate::{Component, Covariance, RadiusLaw};
    let components = vec![Component { weight: 1.0, covariance: Covariance::Diagonal(vec![1e-100]) }];
    let law = FrequencyLaw::PilotMixture { radius: RadiusLaw::Gaussian, components };
    let message = SketchSpec::new(["a"], law, 1.0, 5).build().unwrap_err().to_string();
    assert!(message.contains("`law`") && message.contains("larger covariances"), "{message}");
}

#[test]
fn a_smaller_sketch_is_a_prefix_of_a_larger_one() {
    let (small, large) = (operator(Wave::Cosine, 3, 10, false), operator(Wave::Cosine, 3, 25, false));
    let data = rows(50, 3, 8);
    let (a, b) = (sketch_of(&small, &data), sketch_of(&large, &data));
    assert_eq!(a.sums(), &b.sums()[..10]);
}

#[test]
fn a_listed_dither_that_equals_the_drawn_one_gives_the_same_sums_and_is_checked() {
    let data = rows(200, 3, 9);
    for structured in [false, true] {
        for feature in cases(3, structured) {
            let drawn = operator(feature, 3, 20, structured);
            let mut spec = drawn.spec().clone();
            let own = |spec: &mut SketchSpec, phases: Vec<f64>| match &mut spec.map {
                Map::Waves(Waves { dither, .. }) | Map::Images(Images { dither, .. }) => {
                    *dither = Dither::Listed(phases);
                }
                _ => unreachable!("the cases have phases"),
            };
            own(&mut spec, drawn.dither().iter().map(|xi| f64::from(*xi)).collect());
            let again = SketchSpec::from_json(&spec.to_json()).unwrap();
            assert_eq!((again.to_json(), &again), (spec.to_json(), &spec));
            assert_ne!(again.fingerprint(), drawn.spec().fingerprint());
            let (listed, expected) = (sketch_of(&again.build().unwrap(), &data), sketch_of(&drawn, &data));
            assert_eq!(listed.sums(), expected.sums());
            for (phases, words) in
                [(vec![0.5; 19], "19 phases are listed for 20 frequencies"), (vec![2.0; 20], "2 is")]
            {
                own(&mut spec, phases);
                let message = spec.validate().unwrap_err().to_string();
                assert!(message.contains("`dither`") && message.contains(words), "{message}");
            }
        }
    }
    let json = operator(Wave::OneBit, 2, 2, false).spec().to_json();
    let wrong = json.replace("\"dither\":true", "\"dither\":\"yes\"");
    let message = SketchSpec::from_json(&wrong).unwrap_err().to_string();
    assert!(message.contains("`dither` is true, false or a list of phases"), "{message}");
}
