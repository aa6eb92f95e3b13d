use std::f64::consts::{PI, TAU};

use super::*;
use crate::num::random::{Purpose, Stream};
use crate::sketch::map::LawOrLandmarks;
use crate::sketch::spec::Bounds;
use crate::testing::sketch_of;
use crate::{Backend, Feature, FrequencyLaw, ImageShape, LandmarkRule, Sketch};
use crate::{Images, Landmarks, Map};

const DIM: usize = 3;

fn data(n: usize, seed: u64) -> Vec<f64> {
    let mut stream = Stream::new(seed, Purpose::PilotMixture, 9);
    (0..n * DIM).map(|_| stream.normal()).collect()
}

fn spec(feature: impl Into<Feature>, size: usize) -> SketchSpec {
    structured_spec(feature.into(), size, false)
}

fn structured_spec(feature: Feature, size: usize, structured: bool) -> SketchSpec {
    let dither = matches!(feature, Feature::Wave(_));
    let points = |y: &[f64]| y.iter().map(|x| f64::from(*x as f32)).collect();
    let at = match feature {
        Feature::Nystrom => LawOrLandmarks::Landmarks(Landmarks {
            rule: LandmarkRule::Uniform,
            points: data(size, 4).chunks(DIM).map(points).collect(),
        }),
        _ => FrequencyLaw::Gaussian.into(),
    };
    let map = Map::at(feature, at, dither, structured).unwrap();
    let mut spec = SketchSpec::new(["a", "b", "c"], map, 1.5, size);
    spec.bounds = Some(Bounds { low: vec![-2.0; DIM], high: vec![2.0; DIM] });
    spec.seed = 11;
    spec
}

fn table(shift: f64) -> Wave {
    Wave::Periodic { table: (0..64).map(|i| (TAU * f64::from(i) / 64.0 + shift).cos().powi(3)).collect() }
}

fn all_features() -> Vec<Feature> {
    let others = [false, true].map(|complex| Feature::Quadratic { complex });
    Wave::plain().chain([table(0.3)]).map(Feature::Wave).chain(others).chain([Feature::Nystrom]).collect()
}

#[test]
fn the_features_of_rows_add_up_to_their_sketch_for_every_feature() {
    for feature in all_features() {
        for structured in [false, true] {
            let structured = structured && feature != Feature::Nystrom;
            let operator = structured_spec(feature.clone(), 21, structured).build().unwrap();
            let rows_f64 = data(700, 1);
            let sketch = sketch_of(&operator, &rows_f64);
            let (mut table, mut buffer) = (Vec::new(), Scratch::default());
            for backend in Backend::available() {
                let operator = operator.clone().with_backend(backend);
                rows(&operator, RowsRef::F64(&rows_f64), &mut table, &mut buffer).unwrap();
                let mut sums = vec![0.0f64; operator.sketch_len()];
                for row in table.chunks_exact(sums.len()) {
                    assert!(row.iter().all(|z| z.abs() <= 1.0));
                    sums.iter_mut().zip(row).for_each(|(sum, z)| *sum += f64::from(*z));
                }
                let exact: Vec<f64> = sketch.sums().iter().map(|s| *s as f64 / 16_777_216.0).collect();
                assert_eq!(sums, exact, "{} structured {structured}", feature.name());
            }
        }
    }
}

#[test]
fn every_row_agrees_with_the_double_precision_features() {
    let waves = [Wave::Fourier, Wave::Sawtooth, table(0.0)].map(Feature::Wave);
    for feature in waves.into_iter().chain([Feature::Nystrom]) {
        let operator = spec(feature.clone(), 30).build().unwrap();
        let (values, mut found) = (data(20, 2), Vec::new());
        rows(&operator, RowsRef::F64(&values), &mut found, &mut Scratch::default()).unwrap();
        let (mut u, mut expected) = (vec![0.0; DIM], vec![0.0; operator.sketch_len()]);
        for (x, z) in values.chunks_exact(DIM).zip(found.chunks_exact(operator.sketch_len())) {
            operator.working(x, &mut u);
            operator.features(&u, &mut expected);
            for (a, b) in z.iter().zip(&expected) {
                // A phase of a few turns in f32 is good to 1e-7 turns; no row lies beside a jump.
                assert!((f64::from(*a) - b).abs() < 3e-6, "{}: {a} {b}", feature.name());
            }
        }
    }
}

#[test]
fn packed_bits_are_the_signs_in_the_order_of_numpy() {
    let operator = spec(Wave::OneBit, 19).build().unwrap();
    let (values, mut buffer) = (data(9, 3), Scratch::default());
    let (mut signs, mut bytes) = (Vec::new(), Vec::new());
    rows(&operator, RowsRef::F64(&values), &mut signs, &mut buffer).unwrap();
    for blocks in [1, 2] {
        packed(&operator, blocks, RowsRef::F64(&values), &mut bytes, &mut buffer).unwrap();
        assert_eq!(bytes.len(), 9 * packed_len(19 * blocks));
        for (row, bytes) in signs.chunks_exact(38).zip(bytes.chunks_exact(packed_len(19 * blocks))) {
            assert_eq!(unpack(bytes, 19 * blocks).unwrap(), &row[..19 * blocks]);
            assert_eq!(bytes[0] >> 7 == 1, row[0] > 0.0);
            assert_eq!(bytes[bytes.len() - 1] & 1, 0, "the rest of the last byte is zeros");
        }
    }
    assert!(unpack(&bytes, 3).unwrap_err().to_string().contains("expected 1"));
    let message = packed(&operator, 3, RowsRef::F64(&values), &mut bytes, &mut buffer).unwrap_err();
    assert!(message.to_string().contains("1 or 2, not 3"), "{message}");
    let fourier = spec(Wave::Fourier, 5).build().unwrap();
    let message = packed(&fourier, 1, RowsRef::F64(&values), &mut bytes, &mut buffer).unwrap_err();
    assert!(message.to_string().contains("`fourier`"), "{message}");
}

#[test]
fn bad_rows_are_named() {
    let operator = spec(Wave::Fourier, 5).build().unwrap();
    let mut out = vec![7.0];
    let mut bad = |values: &[f64]| {
        rows(&operator, RowsRef::F64(values), &mut out, &mut Scratch::default()).unwrap_err()
    };
    assert!(matches!(bad(&[0.0; 4]), Error::Shape { found: 1, expected: 3, .. }));
    assert!(matches!(bad(&[0.0, 0.0, 0.0, 1.0, f64::NAN, 0.0]), Error::NotFinite { row: 1, column: 1, .. }));
    assert_eq!(out, [7.0]);
}

#[test]
fn columns_are_numbered_block_by_block_and_as_many_as_the_sums() {
    assert_eq!(columns(&spec(Wave::Fourier, 2)), ["cos1", "cos2", "sin1", "sin2"]);
    for feature in all_features() {
        let spec = spec(feature, 4);
        assert_eq!(columns(&spec).len(), spec.sketch_len());
    }
}

#[test]
fn factors_are_those_of_the_thesis() {
    let factor = |a: Wave, b: Wave| KernelPair::new(&a, &b).unwrap().factor();
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12 * b, "{a} {b}");
    close(factor(Wave::Cosine, Wave::Fourier), 2.0);
    close(factor(Wave::OneBit, Wave::Cosine), PI / 2.0);
    close(factor(Wave::Fourier, Wave::OneBit), PI / 2.0);
    close(factor(Wave::Sawtooth, Wave::Cosine), PI);
    close(factor(Wave::OneBit, Wave::OneBit), 1.0);
    close(factor(Wave::Sawtooth, Wave::Sawtooth), 3.0);
    for feature in Wave::plain() {
        close(factor(feature.clone(), Wave::Fourier), 2.0 / feature.surrogate().gain);
    }
    // A table of the cosine is the cosine, but for its corners.
    let cosine: Vec<f64> = (0..4096).map(|i| (TAU * f64::from(i) / 4096.0).cos()).collect();
    assert!((factor(Wave::Periodic { table: cosine }, Wave::Cosine) - 2.0).abs() < 1e-5);
}

#[test]
fn the_pair_of_a_cosine_is_unbiased_and_others_are_narrower() {
    let gaussian = |k: u32| (-0.5 * f64::from(k * k)).exp();
    let pair = |a: &Wave, b: &Wave| KernelPair::new(a, b).unwrap();
    for other in Wave::plain().chain([table(0.0)]) {
        let pair = pair(&other, &Wave::Cosine);
        assert!(pair.is_unbiased());
        assert!((pair.expected(gaussian) - gaussian(1)).abs() < 1e-12);
    }
    let quantized = pair(&Wave::OneBit, &Wave::OneBit);
    assert!(!quantized.is_unbiased());
    assert!((quantized.expected(|_| 1.0) - 1.0).abs() < 1e-12);
    // 8/pi^2 (e^{-1/2} + e^{-9/2} / 9 + ...), the middle value by hand.
    let by_hand = 8.0 / (PI * PI) * (gaussian(1) + gaussian(3) / 9.0 + gaussian(5) / 25.0);
    assert!((quantized.expected(gaussian) - by_hand).abs() < 1e-4);
    assert!(quantized.expected(gaussian) < gaussian(1));
}

#[test]
fn the_distorted_kernel_of_a_fixed_frequency_is_the_correlation_of_the_waves() {
    // With one frequency the kernel is cos(t), and the estimate's mean is the correlation over a uniform
    // dither, here by quadrature.
    let points = 1 << 15;
    for (a, b) in [
        (Wave::OneBit, Wave::OneBit),
        (Wave::Sawtooth, Wave::Sawtooth),
        (Wave::OneBit, Wave::Sawtooth),
        (table(0.4), table(0.4)),
        (table(0.1), Wave::OneBit),
    ] {
        let pair = KernelPair::new(&a, &b).unwrap();
        for t in [0.3f64, 1.1, 2.5] {
            let phase = |i: u32| TAU * (f64::from(i) + 0.5) / f64::from(points);
            let mean = (0..points).map(|i| a.value(phase(i) + t) * b.value(phase(i))).sum::<f64>();
            let back = (0..points).map(|i| a.value(phase(i) - t) * b.value(phase(i))).sum::<f64>();
            // The formula is for an even kernel: both signs of the difference in equal parts.
            let found = 0.5 * (mean + back) / f64::from(points) * pair.factor();
            let expected = pair.expected(|k| (f64::from(k) * t).cos());
            assert!((found - expected).abs() < 5e-4, "{} {} {t}: {found} {expected}", a.name(), b.name());
        }
    }
}

#[test]
fn estimates_from_one_and_from_both_blocks_agree_with_the_gaussian_kernel() {
    let m = 20_000;
    let values = data(2, 6);
    let features = |feature: &Wave| {
        let mut out = Vec::new();
        rows(
            &spec(feature.clone(), m).build().unwrap(),
            RowsRef::F64(&values),
            &mut out,
            &mut Scratch::default(),
        )
        .unwrap();
        let half = out.split_off(out.len() / 2);
        (out, half)
    };
    let square: f64 = (0..DIM).map(|c| (values[c] - values[DIM + c]).powi(2)).sum();
    let kernel = |k: u32| (-f64::from(k * k) * square / (2.0 * 1.5 * 1.5)).exp();
    let (known, _) = features(&Wave::Fourier);
    let (_, fourier) = features(&Wave::Fourier);
    for feature in [Wave::Fourier, Wave::OneBit, Wave::Sawtooth] {
        let pair = KernelPair::new(&feature, &Wave::Fourier).unwrap();
        let (x, y) = features(&feature);
        assert_eq!(known.len(), 2 * m);
        for len in [m, 2 * m] {
            let asymmetric = pair.estimate(&x[..len], &fourier[..len]).unwrap();
            let alone = KernelPair::new(&feature, &feature).unwrap();
            let same = alone.estimate(&x[..len], &y[..len]).unwrap();
            // Five standard deviations of at most factor / sqrt(2 m): one in 1e6 each.
            let tolerance = 5.0 * pair.factor() / (2.0 * m as f64).sqrt();
            assert!((asymmetric - kernel(1)).abs() < tolerance, "{} {len}: {asymmetric}", feature.name());
            assert!((same - alone.expected(kernel)).abs() < tolerance, "{} {len}: {same}", feature.name());
        }
    }
}

#[test]
fn waves_out_of_phase_and_rows_of_different_lengths_are_refused() {
    let refuse = |a: &Wave, b: &Wave| KernelPair::new(a, b).unwrap_err().to_string();
    assert!(refuse(&table(PI / 2.0), &Wave::Cosine).contains("in phase"));
    assert!(refuse(&table(PI), &Wave::Cosine).contains("correlation of -"));
    let shape = kernel_estimate(&Wave::Fourier, &[1.0; 4], &Wave::OneBit, &[1.0; 2]).unwrap_err();
    assert!(shape.to_string().contains("got 2, expected 4"), "{shape}");
    assert!(kernel_estimate(&Wave::Fourier, &[], &Wave::OneBit, &[]).is_err());
}

#[test]
fn a_sketch_of_bits_is_the_sketch_of_their_rows() {
    let operator = spec(Wave::OneBit, 37).build().unwrap();
    let values = data(50, 8);
    let (mut bits, mut counted) = (Vec::new(), Sketch::empty(&operator));
    for part in [&values[..12 * DIM], &values[12 * DIM..]] {
        packed(&operator, 2, RowsRef::F64(part), &mut bits, &mut Scratch::default()).unwrap();
        add_packed(&operator, &bits, &mut counted).unwrap();
    }
    let direct = sketch_of(&operator, &values);
    assert_eq!(counted.to_bytes(), direct.to_bytes());
    // What does not fit changes nothing.
    assert!(add_packed(&operator, &bits[1..], &mut counted).is_err());
    let other = spec(Wave::OneBit, 36).build().unwrap();
    packed(&other, 2, RowsRef::F64(&values[..DIM]), &mut bits, &mut Scratch::default()).unwrap();
    let refused = add_packed(&other, &bits, &mut counted).unwrap_err();
    assert!(matches!(refused.cause(), Error::Incompatible { .. }));
    let fourier = spec(Wave::Fourier, 37).build().unwrap();
    assert!(add_packed(&fourier, &bits, &mut counted).unwrap_err().to_string().contains("one-bit"));
    assert_eq!(counted.to_bytes(), direct.to_bytes());
}

#[test]
fn the_features_of_images_add_up_to_their_sketch() {
    let shape = ImageShape { height: 8, width: 8, channels: 1 };
    let map = Map::Images(Images { shape, law: FrequencyLaw::Gaussian, dither: false.into() });
    let operator = SketchSpec::new((0..64).map(|c| format!("p{c}")), map, 1.5, 21).build().unwrap();
    let images = &data(2200, 12)[..100 * 64];
    let sketch = sketch_of(&operator, images);
    let mut grid = Vec::new();
    operator.quantize(RowsRef::F64(images), &mut grid, &mut Scratch::default()).unwrap();
    let sum =
        |j: usize| grid.iter().skip(j).step_by(operator.sketch_len()).map(|q| i64::from(*q)).sum::<i64>();
    assert_eq!(sketch.sums(), (0..operator.sketch_len()).map(sum).collect::<Vec<i64>>());
}
