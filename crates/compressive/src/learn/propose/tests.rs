//! Planted mixtures, sketched exactly: every decoder must find them.

use super::amp::{AmpParams, amp};
use super::ascent::Ascent;
use super::clompr::{cl_omp, cl_ompr};
use super::genetic::{GeneticParams, genetic};
use super::greedy::{GreedyParams, Start};
use super::iht::iht;
use super::pursuit::cluster_variance;
use super::shift::{self, shift};
use super::split::{self, split};
use crate::density::Target;
use crate::density::atom::{AtomFamily, Batch, Gaussian, Shape};
use crate::density::fit::Fit;
use crate::model::{DecodeInfo, Stop};
use crate::num::random::roulette;
use crate::num::random::{Purpose, Stream};
use crate::testing::columns;
use crate::{FrequencyLaw, SketchSpec};

/// The exact sketch, at 10 k d frequencies of scale 1 (20 k d without sines), of k clusters 3 deviations
/// apart with variances 1 +- `spread`.
fn planted(k: usize, dim: usize, spread: f64, complex: bool, seed: u64) -> (Target, Fit) {
    planted_at(3.0, k, dim, spread, complex, seed)
}

/// Means of the given deviation, at least 4/3 of it apart, weights from 1 to 2.
fn planted_at(deviation: f64, k: usize, dim: usize, spread: f64, complex: bool, seed: u64) -> (Target, Fit) {
    let m = if complex { 10 } else { 20 } * k * dim;
    let mut spec = SketchSpec::new(columns(dim), FrequencyLaw::AdaptedRadius, 1.0, m);
    spec.seed = seed;
    let operator = spec.build().unwrap();
    let mut stream = Stream::new(seed, Purpose::PilotMixture, 7);
    let dither: Vec<f64> = (0..m).map(|_| std::f64::consts::TAU * stream.uniform()).collect();
    let points = Gaussian::new(Shape::Dirac, dim, operator.frequencies(), &dither, 25.0);
    let mut atoms: Vec<f64> = Vec::new();
    while atoms.len() < k * 2 * dim {
        let centre: Vec<f64> = (0..dim).map(|_| deviation * stream.normal()).collect();
        let far = |a: &[f64]| distance(&centre, a) > 4.0 / 3.0 * deviation;
        if centre.iter().all(|x| x.abs() < 8.0) && atoms.chunks_exact(2 * dim).all(far) {
            atoms.extend(centre);
            atoms.extend((0..dim).map(|_| 1.0 + spread * (2.0 * stream.uniform() - 1.0)));
        }
    }
    let weights: Vec<f64> = (0..k).map(|l| 1.0 + l as f64 / k as f64).collect();
    let total: f64 = weights.iter().sum();
    let truth = Fit { atoms, shared: vec![], weights: weights.iter().map(|w| w / total).collect() };
    let mut batch = Batch::default();
    points.with_covariance(Shape::Diagonal).sketch_batch(&truth.atoms, &[], &mut batch);
    let mix = |rows: &[f64]| -> Vec<f64> {
        (0..m).map(|j| (0..k).map(|l| truth.weights[l] * rows[l * m + j]).sum()).collect()
    };
    let target = Target {
        re: mix(&batch.re),
        im: if complex { mix(&batch.im) } else { vec![0.0; m] },
        complex,
        weights: vec![1.0; m],
        low: vec![-10.0; dim],
        high: vec![10.0; dim],
        start_low: vec![-10.0; dim],
        start_high: vec![10.0; dim],
        rows: 1e6,
        noise: 4e-7,
        added: 0.0,
        points,
        harmonics: Vec::new(),
        metric: None,
        outline: None,
        exact: None,
    };
    (target, truth)
}

/// Distance of two locations; `a` has no other parameters.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt()
}

/// Largest distance from a planted atom to the nearest one found, in the first `compared` parameters.
fn miss(truth: &Fit, fit: &Fit, compared: usize) -> f64 {
    let p = fit.atoms.len() / fit.k();
    let nearest = |a: &[f64]| {
        fit.atoms.chunks_exact(p).map(|b| distance(&a[..compared], b)).fold(f64::INFINITY, f64::min)
    };
    truth.atoms.chunks_exact(truth.atoms.len() / truth.k()).map(nearest).fold(0.0, f64::max)
}

type Decoder = Box<dyn Fn(&Target, &Gaussian, u64) -> (Fit, DecodeInfo)>;

fn decoders(k: usize) -> Vec<(&'static str, Decoder)> {
    vec![
        (
            "cl-omp",
            Box::new(move |t, f, s| cl_omp(t, f, &GreedyParams { restarts: 10, ..GreedyParams::new(k, s) })),
        ),
        (
            "cl-ompr",
            Box::new(move |t, f, s| cl_ompr(t, f, &GreedyParams { restarts: 3, ..GreedyParams::new(k, s) })),
        ),
        ("shift", Box::new(move |t, f, s| shift(t, f, &shift::defaults(k, s)))),
        (
            "split",
            Box::new(move |t, f, s| split(t, f, &GreedyParams { restarts: 10, ..split::defaults(k, s) })),
        ),
        ("iht", Box::new(move |t, f, s| iht(t, f, &GreedyParams { restarts: 3, ..GreedyParams::new(k, s) }))),
        ("genetic", Box::new(move |t, f, s| genetic(t, f, &GeneticParams::new(k, s)))),
        ("amp", Box::new(move |t, f, s| amp(t, f, &AmpParams::new(k, s)))),
    ]
}

#[test]
fn every_decoder_finds_planted_clusters_and_their_shared_width() {
    let (target, truth) = planted(4, 3, 0.0, true, 1);
    let family = target.points.with_covariance(Shape::SharedWidth);
    for (name, decode) in decoders(4) {
        let (fit, info) = decode(&target, &family, 3);
        let miss = miss(&truth, &fit, 3);
        assert!(
            miss < 1e-4 && (fit.shared[0] - 1.0).abs() < 1e-4,
            "{name}: {miss} {:?} {info:?}",
            fit.shared
        );
        assert!(info.cost < 1e-8 && info.stop == Stop::Converged, "{name}: {info:?}");
        assert!(info.iterations > 0 && info.evaluations > 0, "{name}: {info:?}");
    }
}

#[test]
fn every_decoder_finds_planted_clusters_from_cosines_alone() {
    let (target, truth) = planted(3, 2, 0.0, false, 1);
    let family = target.points.with_covariance(Shape::SharedWidth);
    for (name, decode) in decoders(3) {
        let (fit, info) = decode(&target, &family, 3);
        let miss = miss(&truth, &fit, 2);
        assert!(miss < 1e-4, "{name}: {miss} {info:?}");
    }
}

#[test]
fn cl_ompr_finds_the_means_and_variances_of_a_planted_diagonal_mixture() {
    for seed in 1..4 {
        let (target, truth) = planted(4, 3, 0.7, true, seed);
        let family = target.points.with_covariance(Shape::Diagonal);
        let (fit, info) = cl_ompr(&target, &family, &GreedyParams::new(4, 1));
        let miss = miss(&truth, &fit, 6);
        assert!(miss < 1e-4, "draw {seed}: {miss} {info:?}");
        let (mut found, mut planted) = (fit.weights.clone(), truth.weights);
        found.sort_by(f64::total_cmp);
        planted.sort_by(f64::total_cmp);
        assert!(distance(&found, &planted) < 1e-4, "draw {seed}: {found:?}");
    }
}

#[test]
fn cl_ompr_with_points_is_compressive_k_means() {
    // Points cannot express the width of the clusters, which displaces them; centres are at least 4 apart, so
    // within 2 none is mistaken.
    let (target, truth) = planted(4, 3, 0.0, true, 1);
    let rows: Vec<f64> = truth.atoms.chunks_exact(6).flat_map(|a| a[..3].iter().map(|x| x + 0.5)).collect();
    for start in [Start::Range, Start::Sample(rows.clone()), Start::PlusPlus(rows)] {
        let params = GreedyParams { start: start.clone(), ..GreedyParams::new(4, 2) };
        let (fit, info) = cl_ompr(&target, &target.points, &params);
        let miss = miss(&truth, &fit, 3);
        assert!(miss < 2.0, "{start:?}: {miss} {info:?}");
    }
}

#[test]
fn splitting_finds_mixtures_whatever_their_size() {
    for (k, shape) in [(3, Shape::Full), (3, Shape::Width), (5, Shape::Diagonal), (8, Shape::Diagonal)] {
        let spread = if shape == Shape::Width { 0.0 } else { 0.5 };
        let (target, truth) = planted_at(1.5, k, 6, spread, true, 1);
        let family = target.points.with_covariance(shape.clone());
        let (fit, info) = split(&target, &family, &GreedyParams { restarts: 3, ..split::defaults(k, 1) });
        let miss = miss(&truth, &fit, 6);
        let relative = (info.cost / target.energy()).sqrt();
        assert_eq!(fit.k(), k);
        // Eight overlapping components are fitted as a density; their places are found only for fewer.
        assert!(relative < 0.05 && (k == 8 || miss < 1e-3), "{k} {shape:?}: {miss} {relative} {info:?}");
    }
}

#[test]
fn the_ascents_gradient_is_that_of_its_value() {
    for complex in [true, false] {
        let (mut target, truth) = planted(2, 3, 0.7, complex, 4);
        target.weights = (0..target.size()).map(|j| 0.5 + (j % 7) as f64 / 7.0).collect();
        let family = target.points.with_covariance(Shape::Diagonal);
        let (re, im) = (target.re.clone(), target.im.clone());
        let mut ascent = Ascent::new(&target, &family, (&re, &im), &[]);
        let atom: Vec<f64> = truth.atoms[..6].iter().map(|x| x + 0.4).collect();
        let (mut gradient, mut unused) = (vec![0.0; 6], vec![0.0; 6]);
        ascent.evaluate(&atom, &mut gradient);
        for i in 0..6 {
            let mut at = |step: f64| {
                let mut moved = atom.clone();
                moved[i] += step;
                ascent.evaluate(&moved, &mut unused)
            };
            let numeric = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!(
                (gradient[i] - numeric).abs() < 1e-6 * (1.0 + numeric.abs()),
                "{i}: {} {numeric}",
                gradient[i]
            );
        }
    }
}

#[test]
fn starts_are_drawn_where_they_say() {
    let (target, _) = planted(2, 2, 0.0, true, 1);
    let mut stream = Stream::new(1, Purpose::Decode, 0);
    assert_eq!(Start::Centre.draw(&target, &[], 2, &mut stream), [0.0, 0.0]);
    let rows = vec![1.0, 1.0, 5.0, 5.0];
    for _ in 0..20 {
        let uniform = Start::Range.draw(&target, &[], 2, &mut stream);
        assert!(uniform.iter().all(|x| x.abs() < 10.0));
        let row = Start::Sample(rows.clone()).draw(&target, &[], 2, &mut stream);
        assert!(row == rows[..2] || row == rows[2..]);
        // The first row is an atom already, so only the second is left.
        assert_eq!(Start::PlusPlus(rows.clone()).draw(&target, &[1.0, 1.0], 2, &mut stream), rows[2..]);
        assert_eq!(roulette(&[0.0, 3.0, 0.0], &mut stream), 1);
    }
}

#[test]
fn the_cluster_variance_is_read_off_the_sketch() {
    // As on data, interference between clusters keeps the peaks below the envelope, so the estimate errs
    // upwards.
    let (target, _) = planted(4, 3, 0.0, true, 1);
    let variance = cluster_variance(&target);
    assert!((1.0..2.5).contains(&variance), "{variance}");
}

#[test]
fn nothing_wanted_is_nothing_found() {
    let (target, _) = planted(2, 2, 0.0, true, 1);
    let family = target.points.with_covariance(Shape::Width);
    for (name, decode) in decoders(0) {
        let (fit, info) = decode(&target, &family, 1);
        assert_eq!((fit.k(), info.stop), (0, Stop::BadInput), "{name}");
        assert_eq!(info.cost, target.energy(), "{name}");
    }
}

#[test]
fn equal_seeds_give_equal_fits() {
    let (target, _) = planted(3, 2, 0.5, true, 2);
    let family = target.points.with_covariance(Shape::Width);
    for (name, decode) in decoders(3) {
        assert_eq!(decode(&target, &family, 5), decode(&target, &family, 5), "{name}");
    }
}
