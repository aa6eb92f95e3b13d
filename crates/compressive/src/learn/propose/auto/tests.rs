use super::*;
use crate::Wave;
use crate::design::{Look, Request, Task, design};
use crate::num::random::{Purpose, Stream};
use crate::testing::{columns, sketch_of};

/// Rows of k unit Gaussians whose centres have deviation 2.5 k^(1/d), and the centres.
fn clusters(k: usize, dim: usize, n: usize, draw: u64) -> (Vec<f64>, Vec<f64>) {
    let mut stream = Stream::new(17, Purpose::PilotMixture, 100 + draw);
    let deviation = 2.5 * (k as f64).powf(1.0 / dim as f64);
    let centres: Vec<f64> = (0..k * dim).map(|_| deviation * stream.normal()).collect();
    let rows =
        (0..n).flat_map(|i| (0..dim).map(move |c| (i % k) * dim + c)).map(|at| centres[at] + stream.normal());
    let rows = rows.collect();
    (rows, centres)
}

fn target(rows: &[f64], dim: usize, k: usize, factor: usize, wave: Wave) -> (Target, crate::Transform) {
    let columns = columns(dim);
    let params = Request::new(Task::Kmeans, k).size(factor * k * dim).feature(wave);
    let spec = design(Look::Sample { rows, columns: &columns }, &params).unwrap().spec;
    let transform = spec.transform.clone();
    let operator = spec.build().unwrap();
    let sketch = sketch_of(&operator, rows);
    (Target::new(&operator, &sketch.moments().unwrap()).unwrap(), transform)
}

/// Largest distance of a true centre to the nearest found one, in the units of the clusters' deviation.
fn worst_centre(found: &Decoded, transform: &crate::Transform, centres: &[f64]) -> f64 {
    let dim = transform.centre.len();
    let distance = |truth: &[f64], atom: &[f64]| {
        let units =
            atom[..dim].iter().zip(&transform.spread).zip(&transform.centre).map(|((x, s), c)| x * s + c);
        units.zip(truth).map(|(x, t)| (x - t).powi(2)).sum::<f64>().sqrt()
    };
    let nearest = |truth: &[f64]| {
        found
            .fit
            .atoms
            .chunks_exact(found.family.n_params())
            .map(|a| distance(truth, a))
            .fold(f64::INFINITY, f64::min)
    };
    centres.chunks_exact(dim).map(nearest).fold(0.0, f64::max)
}

#[test]
fn clusters_are_found_from_sketches_of_two_to_five_numbers_per_parameter() {
    for draw in 0..3 {
        let (rows, centres) = clusters(6, 4, 20_000, draw);
        for factor in [2, 5] {
            let (target, transform) = target(&rows, 4, 6, factor, Wave::Fourier);
            let found = auto(&target, &AutoParams { k: 6, ..AutoParams::default() }).unwrap();
            // A mean of 3300 rows has a deviation of 0.035 in four columns; a sketch of 2kd frequencies adds
            // to that.
            let worst = worst_centre(&found, &transform, &centres);
            assert!(worst < 0.3, "draw {draw}, m = {factor} k d: {worst}");
            assert_eq!(found.fit.k(), 6);
            assert!(
                found.fit.weights.iter().all(|w| (w - 1.0 / 6.0).abs() < 0.03),
                "{:?}",
                found.fit.weights
            );
        }
    }
}

#[test]
fn quantized_sketches_decode_with_the_same_call() {
    let (rows, centres) = clusters(5, 3, 20_000, 9);
    for feature in [Wave::OneBit, Wave::Sawtooth, Wave::Cosine] {
        let (target, transform) = target(&rows, 3, 5, 10, feature.clone());
        let found = auto(&target, &AutoParams { k: 5, ..AutoParams::default() }).unwrap();
        let worst = worst_centre(&found, &transform, &centres);
        assert!(worst < 0.4, "{}: {worst}", feature.name());
    }
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    let (rows, _) = clusters(4, 3, 5_000, 4);
    let (target, _) = target(&rows, 3, 4, 4, Wave::Fourier);
    let run = |threads| {
        auto(
            &target,
            &AutoParams { k: 4, restarts: 4, threads, seed: 3, mixture: true, ..AutoParams::default() },
        )
        .unwrap()
    };
    let (one, three) = (run(1), run(3));
    assert_eq!(one.fit, three.fit);
    assert_eq!((one.info, one.chi_square), (three.info, three.chi_square));
}

#[test]
fn impossible_numbers_of_components_say_why() {
    let (rows, _) = clusters(2, 2, 50, 5);
    let (target, _) = target(&rows, 2, 2, 3, Wave::Fourier);
    let message = |k| auto(&target, &AutoParams { k, ..AutoParams::default() }).unwrap_err().to_string();
    assert!(message(0).contains("1 or more"));
    assert!(message(51).contains("50 rows"));
    assert!(message(13).contains("12"));
}
