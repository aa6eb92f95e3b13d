use super::*;
use crate::num::random::{Purpose, Stream};
use crate::testing::columns;
use crate::{Bounds, Directions, SketchSpec};

/// An operator over a cube.
fn operator(dim: usize, size: usize, structured: bool, complex: bool, seed: u64) -> SketchOperator {
    let map = Map::Moments(Directions { complex, structured });
    let mut spec = SketchSpec::new(columns(dim), map, 1.0, size);
    spec.seed = seed;
    spec.bounds = Some(Bounds { low: vec![-20.0; dim], high: vec![20.0; dim] });
    spec.build().unwrap()
}

/// Orthonormal vectors, d rows of d.
fn basis(dim: usize, seed: u64) -> Vec<Vec<f64>> {
    let mut stream = Stream::new(seed, Purpose::Decode, 0);
    let mut found: Vec<Vec<f64>> = Vec::new();
    while found.len() < dim {
        let mut v: Vec<f64> = (0..dim).map(|_| stream.normal()).collect();
        for _ in 0..2 {
            for other in &found {
                let part = dot(&v, other);
                v.iter_mut().zip(other).for_each(|(x, o)| *x -= part * o);
            }
        }
        let norm = dot(&v, &v).sqrt();
        found.push(v.iter().map(|x| x / norm).collect());
    }
    found
}

/// The moments of rows with this mean and these variances along a basis, exactly.
fn moments(op: &SketchOperator, mean: &[f64], basis: &[Vec<f64>], variances: &[f64]) -> Moments {
    let (m, d) = (op.spec().size, op.dim());
    let mut out = vec![0.0; 2 * m];
    for (j, v) in op.frequencies().chunks_exact(d).enumerate() {
        let along = basis.iter().zip(variances).map(|(e, s)| s * dot(v, e).powi(2)).sum::<f64>();
        out[j % m] += along + dot(v, mean).powi(2);
        if j < m {
            out[m + j] = dot(v, mean);
        }
    }
    Moments { mean: out, rows: 1e6, noise_std: 0.0, exact: None }
}

/// Excess reconstruction error relative to that of the true components.
fn excess(spectrum: &Spectrum, basis: &[Vec<f64>], variances: &[f64]) -> f64 {
    let k = spectrum.vectors.len();
    let kept: f64 = spectrum
        .vectors
        .iter()
        .map(|v| basis.iter().zip(variances).map(|(e, s)| s * dot(v, e).powi(2)).sum::<f64>())
        .sum();
    let (total, rest) = (variances.iter().sum::<f64>(), variances[k..].iter().sum::<f64>());
    (total - kept) / rest - 1.0
}

fn kinds() -> [(bool, bool); 4] {
    [(false, false), (true, false), (false, true), (true, true)]
}

#[test]
fn a_few_components_and_an_isotropic_rest_are_recovered_exactly() {
    let (d, k) = (20, 3);
    let basis = basis(d, 1);
    let variances: Vec<f64> = [9.0, 5.0, 2.0].into_iter().chain(std::iter::repeat_n(0.3, d - k)).collect();
    let mean: Vec<f64> = (0..d).map(|c| 0.1 * c as f64 - 0.7).collect();
    for (structured, complex) in kinds() {
        let op = operator(d, 2 * k * d, structured, complex, 3);
        let data = Measurements::new(&op, &moments(&op, &mean, &basis, &variances), k).unwrap();
        let worst = data.mean().iter().zip(&mean).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst < 1e-9, "mean off by {worst:e}");
        let params = FactorisedParams { spare: Some(0), ..FactorisedParams::new(k) };
        let found = factorised(&data, &params);
        for (value, exact) in found.values.iter().zip(&variances) {
            assert!((value / exact - 1.0).abs() < 1e-4, "{structured} {complex}: {:?}", found.values);
        }
        assert!((found.total / variances.iter().sum::<f64>() - 1.0).abs() < 1e-4);
        assert!(excess(&found, &basis, &variances) < 1e-6, "{structured} {complex}: {found:?}");
        assert!(found.residual < 1e-4, "{}", found.residual);
    }
}

/// Singular values 5, 4, 3, 2.5, 2, then 0.5 / sqrt(i).
fn decaying(d: usize) -> Vec<f64> {
    let rest = (1..=d - 5).map(|i| 0.25 / i as f64);
    [25.0, 16.0, 9.0, 6.25, 4.0].into_iter().chain(rest).collect()
}

#[test]
fn a_decaying_spectrum_is_recovered_nearly_as_well_as_from_the_rows() {
    // Over 20 draws of rows the medians are 0.11% and 0.005%, the largest 0.32% and 0.007%; each of these
    // three draws must stay below 1% and 0.3%.
    let (d, k, variances) = (50, 5, decaying(50));
    for (factor, most) in [(2, 0.01), (4, 0.003)] {
        for (seed, (structured, complex)) in kinds().into_iter().take(3).enumerate() {
            let op = operator(d, factor * k * d, structured, complex, seed as u64);
            let basis = basis(d, 50 + seed as u64);
            let data = Measurements::new(&op, &moments(&op, &[0.0; 50], &basis, &variances), k).unwrap();
            let found = excess(&factorised(&data, &FactorisedParams::new(k)), &basis, &variances);
            assert!(found < most, "m = {factor} k d, {structured} {complex}: {found}");
        }
    }
}

#[test]
fn the_convex_decoders_find_any_covariance_from_enough_directions() {
    let d = 8;
    let basis = basis(d, 2);
    let variances = [4.0, 3.0, 2.0, 1.5, 1.0, 0.5, 0.2, 0.1];
    // 36 unknowns.
    let op = operator(d, 80, false, false, 1);
    let data = Measurements::new(&op, &moments(&op, &[0.5; 8], &basis, &variances), 3).unwrap();
    for (name, found, tolerance) in [
        ("psd", psd(&data, &PsdParams { tolerance: 1e-9, iterations_max: 5000, ..PsdParams::new(3) }), 1e-5),
        ("nuclear", nuclear(&data, &NuclearParams { iterations_max: 2000, ..NuclearParams::new(3) }), 1e-2),
    ] {
        for (value, exact) in found.values.iter().zip(&variances) {
            assert!((value / exact - 1.0).abs() < tolerance, "{name}: {:?}", found.values);
        }
        assert!(excess(&found, &basis, &variances) < tolerance, "{name}");
    }
}

#[test]
fn the_gradient_agrees_with_central_differences() {
    for complex in [false, true] {
        let op = operator(6, 30, false, complex, 4);
        let basis = basis(6, 4);
        let moments = moments(&op, &[0.0; 6], &basis, &[3.0, 2.0, 1.0, 0.5, 0.4, 0.3]);
        let data = Measurements::new(&op, &moments, 2).unwrap();
        let weights: Vec<f64> = (0..30).map(|j| 0.5 + 0.05 * f64::from(j)).collect();
        let mut problem = factorised::Problem { data: &data, rank: 2, weights: &weights };
        let mut stream = Stream::new(5, Purpose::Decode, 5);
        let x: Vec<f64> = (0..13).map(|_| stream.normal()).collect();
        let (mut gradient, mut unused) = (vec![0.0; 13], vec![0.0; 13]);
        problem.value(&x, &mut gradient);
        for i in 0..13 {
            let mut at = |step: f64| {
                let mut moved = x.clone();
                moved[i] += step;
                problem.value(&moved, &mut unused)
            };
            let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((difference - gradient[i]).abs() < 1e-7, "{complex} {i}: {difference} {}", gradient[i]);
        }
    }
}

#[test]
fn known_noise_is_weighed_and_leaves_the_leading_components() {
    let (d, k) = (20, 2);
    let basis = basis(d, 6);
    let variances: Vec<f64> = [16.0, 9.0].into_iter().chain(std::iter::repeat_n(0.1, d - k)).collect();
    let op = operator(d, 400, false, false, 7);
    let mut noisy = moments(&op, &[0.0; 20], &basis, &variances);
    let level = 0.1 * noisy.mean[..400].iter().sum::<f64>() / 400.0;
    let mut stream = Stream::new(9, Purpose::Decode, 9);
    noisy.mean.iter_mut().for_each(|z| *z += level * stream.normal());
    noisy.noise_std = level;
    let data = Measurements::new(&op, &noisy, k).unwrap();
    assert!((data.noise_level() / 0.1 - 1.0).abs() < 0.5, "{}", data.noise_level());
    let found = factorised(&data, &FactorisedParams::new(k));
    // The noise explains what two components leave, so that no spare ones are fitted to it.
    assert_eq!(found, factorised(&data, &FactorisedParams { spare: Some(0), ..FactorisedParams::new(k) }));
    for (value, exact) in found.values.iter().zip(&variances) {
        assert!((value / exact - 1.0).abs() < 0.1, "{:?}", found.values);
    }
    for (v, e) in found.vectors.iter().zip(&basis) {
        assert!(dot(v, e).abs() > 0.98, "{}", dot(v, e));
    }
}

#[test]
fn a_third_component_above_the_noise_does_not_spoil_the_first_two() {
    let (d, k) = (12, 2);
    let basis = basis(d, 8);
    let variances: Vec<f64> = [36.0, 16.0, 6.25].into_iter().chain(std::iter::repeat_n(0.1, d - 3)).collect();
    let op = operator(d, 4 * k * d, false, false, 5);
    let mut noisy = moments(&op, &[0.0; 12], &basis, &variances);
    let level = 0.01 * noisy.mean[..96].iter().sum::<f64>() / 96.0;
    let mut stream = Stream::new(10, Purpose::Decode, 4);
    noisy.mean.iter_mut().for_each(|z| *z += level * stream.normal());
    noisy.noise_std = level;
    let data = Measurements::new(&op, &noisy, k).unwrap();
    let error = |params: &FactorisedParams| excess(&factorised(&data, params), &basis, &variances);
    let alone = error(&FactorisedParams { spare: Some(0), ..FactorisedParams::new(k) });
    let chosen = error(&FactorisedParams::new(k));
    assert!(chosen < 0.02 && chosen < 0.2 * alone, "{chosen} {alone}");
}

#[test]
fn components_are_orthonormal_even_where_there_is_no_variance_left() {
    let op = operator(5, 40, false, false, 2);
    let basis = basis(5, 3);
    let data =
        Measurements::new(&op, &moments(&op, &[0.0; 5], &basis, &[1.0, 0.0, 0.0, 0.0, 0.0]), 4).unwrap();
    for found in [
        factorised(&data, &FactorisedParams::new(4)),
        psd(&data, &PsdParams::new(4)),
        nuclear(&data, &NuclearParams::new(4)),
    ] {
        assert_eq!(found.vectors.len(), 4);
        for (i, a) in found.vectors.iter().enumerate() {
            for (j, b) in found.vectors.iter().enumerate() {
                let expected = if i == j { 1.0 } else { 0.0 };
                assert!((dot(a, b) - expected).abs() < 1e-9, "{i} {j}");
            }
        }
        assert!((found.values[0] - 1.0).abs() < 0.02, "{:?}", found.values);
    }
}
