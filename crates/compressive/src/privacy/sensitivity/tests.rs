use super::*;
use crate::num::random::{Purpose, Stream};
use crate::testing::{columns, sketch_of};
use crate::{Directions, FrequencyLaw, ImageShape, LandmarkRule, Landmarks, Map, Wave, Waves};
use crate::{SketchOperator, SketchSpec};

fn waves() -> Vec<Wave> {
    let bent = Wave::Periodic { table: vec![1.0, 0.25, -0.5, 0.0, 0.75] };
    let steep = Wave::Periodic { table: vec![0.2, 0.9, -1.0, -0.3, -0.9, 0.4, 0.1] };
    Wave::plain().chain([bent, steep]).collect()
}

fn operator(wave: &Wave, dim: usize, size: usize) -> SketchOperator {
    let waves = Waves::usual(wave.clone(), FrequencyLaw::Gaussian);
    let mut spec = SketchSpec::new(columns(dim), waves, 1.0, size);
    spec.seed = 5;
    spec.build().unwrap()
}

/// The sums of one row, as they would be added to a sketch.
fn sums(operator: &SketchOperator, row: &[f64]) -> Vec<i64> {
    let sketch = sketch_of(operator, row);
    sketch.sums().to_vec()
}

fn norms(change: impl Iterator<Item = i64>) -> (u128, u128) {
    change.fold((0, 0), |(l1, l2), v| {
        let v = u128::from(v.unsigned_abs());
        (l1 + v, l2 + v * v)
    })
}

/// Climbs from random places with shrinking steps: the largest `score` of a vector of `dim` coordinates.
fn climb(dim: usize, seed: u64, score: &mut dyn FnMut(&[f64]) -> u128) -> u128 {
    let mut best = 0;
    for start in 0..12 {
        let mut stream = Stream::new(seed, Purpose::Decode, start);
        let mut x: Vec<f64> = (0..dim).map(|_| 30.0 * stream.normal()).collect();
        let mut value = score(&x);
        let mut step = 2.0;
        for _ in 0..600 {
            let candidate: Vec<f64> = x.iter().map(|v| v + step * stream.normal()).collect();
            let reached = score(&candidate);
            if reached > value {
                (x, value) = (candidate, reached);
            } else {
                step = if step < 1e-5 { 2.0 } else { step * 0.97 };
            }
        }
        best = best.max(value);
    }
    best
}

/// The largest changes a search finds between neighbours, as parts of the bounds: (L1, root of L2 squared).
fn found(wave: &Wave, dim: usize, size: usize, neighbours: Neighbours) -> (f64, f64) {
    found_with(&operator(wave, dim, size), neighbours)
}

fn found_with(operator: &SketchOperator, neighbours: Neighbours) -> (f64, f64) {
    let (dim, feature) = (operator.dim(), operator.spec().map.feature());
    let bound = Sensitivity::new(&feature, operator.spec().size, neighbours);
    let change = |x: &[f64]| match neighbours {
        Neighbours::AddRemove => sums(operator, x),
        Neighbours::Replace => {
            let (a, b) = x.split_at(dim);
            let (a, b) = (sums(operator, a), sums(operator, b));
            a.iter().zip(&b).map(|(a, b)| a - b).collect()
        }
    };
    let coordinates = if neighbours == Neighbours::Replace { 2 * dim } else { dim };
    let l1 = climb(coordinates, 1, &mut |x| norms(change(x).into_iter()).0);
    let l2 = climb(coordinates, 2, &mut |x| norms(change(x).into_iter()).1);
    assert!(l1 <= bound.l1, "{} {neighbours:?}: L1 {l1} passes the bound {}", feature.name(), bound.l1);
    assert!(l2 <= bound.l2_squared, "{} {neighbours:?}: L2 {l2} passes the bound", feature.name());
    (l1 as f64 / bound.l1 as f64, (l2 as f64 / bound.l2_squared as f64).sqrt())
}

#[test]
fn no_search_passes_the_bounds_and_few_frequencies_attain_them() {
    for wave in waves() {
        for neighbours in [Neighbours::AddRemove, Neighbours::Replace] {
            // With no more frequencies than columns every combination of phases can be had, so the bounds are
            // sharp.
            let (l1, l2) = found(&wave, 3, 2, neighbours);
            // The mirror image of the farthest point is not always on the curve: a sawtooth gets to sqrt(4.5
            // / 5) of the doubled norm, tables where theirs do.
            let sharp = match (&wave, neighbours) {
                (Wave::Sawtooth, Neighbours::Replace) => (0.99, 0.94),
                (Wave::Periodic { .. }, Neighbours::Replace) => (0.97, 0.7),
                _ => (0.99, 0.99),
            };
            assert!(l1 > sharp.0 && l2 > sharp.1, "{} {neighbours:?}: {l1} {l2}", wave.name());
            found(&wave, 3, 20, neighbours);
        }
    }
}

#[test]
fn kernel_values_keep_their_bounds_and_near_landmarks_attain_them() {
    // As wide as the search's starting points are spread, so that it does not begin where all values are
    // zero.
    for (apart, size, sharp) in [(0.01, 4, 0.98), (20.0, 12, 0.0)] {
        let mut stream = Stream::new(9, Purpose::Decode, 0);
        let points = (0..size).map(|_| (0..3).map(|_| f64::from((apart * stream.normal()) as f32)).collect());
        let map = Map::Landmarks(Landmarks { rule: LandmarkRule::Box, points: points.collect() });
        let operator = SketchSpec::new(["a", "b", "c"], map, 30.0, size).build().unwrap();
        for neighbours in [Neighbours::AddRemove, Neighbours::Replace] {
            let (l1, l2) = found_with(&operator, neighbours);
            assert!(l1 > sharp && l2 > sharp, "{neighbours:?}, {apart}: {l1} {l2}");
        }
    }
}

#[test]
fn replacing_a_fourier_row_can_change_it_by_nearly_twice_its_norm() {
    // A smaller claim, sqrt(2 m), is in use elsewhere; the search refutes it for every size tried. The values
    // are those that a search over x - x' found before.
    for (dim, size, published) in [(2, 1, 2.0), (2, 4, 1.98), (5, 10, 1.98)] {
        let (_, l2) = found(&Wave::Fourier, dim, size, Neighbours::Replace);
        assert!(2.0 * l2 > published - 0.08, "d {dim} m {size}: {}", 2.0 * l2);
        assert!(2.0 * l2 > 1.5, "d {dim} m {size} does not refute sqrt 2: {}", 2.0 * l2);
    }
}

#[test]
fn one_bit_rows_have_the_bound_exactly_wherever_they_are() {
    let operator = operator(&Wave::OneBit, 4, 25);
    let bound = Sensitivity::new(&Wave::OneBit.into(), 25, Neighbours::AddRemove);
    for i in 0..50 {
        let row: Vec<f64> = (0..4).map(|c| f64::from(i * 7 + c * 13) * 0.37 - 9.0).collect();
        assert_eq!(norms(sums(&operator, &row).into_iter()), (bound.l1, bound.l2_squared));
    }
}

#[test]
fn the_bounds_are_the_published_ones_up_to_the_rounding_of_features() {
    let unit = (1u64 << Sketch::GRID_BITS) as f64;
    let m = 100.0;
    let table = [
        (Wave::Fourier.into(), 2f64.sqrt() * m, m.sqrt()),
        (Wave::OneBit.into(), 2.0 * m, (2.0 * m).sqrt()),
        (Wave::Sawtooth.into(), 1.5 * m, (1.25 * m).sqrt()),
        (Wave::Cosine.into(), m, m.sqrt()),
        (Feature::Nystrom, m, m.sqrt()),
        (Feature::Conv(ImageShape { height: 2, width: 2, channels: 1 }), 2f64.sqrt() * m, m.sqrt()),
    ];
    for (feature, l1, l2) in table {
        // Kernel values are not negative.
        let twice = if feature == Feature::Nystrom { 1.0 } else { 2.0 };
        for (neighbours, factor) in [(Neighbours::AddRemove, 1.0), (Neighbours::Replace, twice)] {
            let s = Sensitivity::new(&feature, 100, neighbours);
            let (found_l1, found_l2) = (s.l1 as f64 / unit, (s.l2_squared as f64).sqrt() / unit);
            assert!((found_l1 / (factor * l1) - 1.0).abs() < 2e-7, "{} {found_l1}", feature.name());
            assert!((found_l2 / (factor * l2) - 1.0).abs() < 2e-7, "{} {found_l2}", feature.name());
        }
    }
}

#[test]
fn subsampled_rows_keep_the_bounds_of_subsampling() {
    let (dim, size) = (4, 12);
    let operator = operator(&Wave::Fourier, dim, size);
    let plain = Sensitivity::new(&Wave::Fourier.into(), size, Neighbours::AddRemove);
    for kept in [1, 3, 12] {
        let bound = plain.subsampled(kept, size);
        assert_eq!(bound.l1, plain.l1);
        let masked = |x: &[f64]| -> Vec<i64> {
            let row = sums(&operator, x);
            let factor = (size / kept) as i64;
            // Which frequencies a row keeps does not matter to the bound: the first ones.
            (0..2 * size).map(|j| if j % size < kept { factor * row[j] } else { 0 }).collect()
        };
        let l1 = climb(dim, 3, &mut |x| norms(masked(x).into_iter()).0);
        let l2 = climb(dim, 4, &mut |x| norms(masked(x).into_iter()).1);
        assert!(l1 <= bound.l1 && l2 <= bound.l2_squared, "{kept}: {l1} {l2}");
        if kept == 1 {
            assert!(l1 as f64 > 0.99 * bound.l1 as f64 && l2 as f64 > 0.99 * bound.l2_squared as f64);
        }
    }
}

#[test]
fn a_person_with_three_rows_counts_three_times() {
    let one = Sensitivity::new(&Wave::Fourier.into(), 7, Neighbours::AddRemove);
    let three = one.of_persons(3);
    assert_eq!((three.l1, three.l2_squared), (3 * one.l1, 9 * one.l2_squared));
}

/// An operator over a box that is not a cube and not about the centre.
fn quadratic(dim: usize, size: usize, structured: bool, complex: bool) -> SketchOperator {
    let map = Map::Moments(Directions { complex, structured });
    let mut spec = SketchSpec::new(columns(dim), map, 1.0, size);
    spec.seed = 6;
    let low = (0..dim).map(|c| -1.0 - 0.5 * c as f64).collect();
    let high = (0..dim).map(|c| 2.0 + 0.3 * c as f64).collect();
    spec.bounds = Some(crate::Bounds { low, high });
    spec.build().unwrap()
}

/// The largest changes found among rows of the box, as parts of the bounds. Convex in each row, they are
/// largest at corners, which are flipped one column at a time.
fn found_quadratic(operator: &SketchOperator, neighbours: Neighbours) -> (f64, f64) {
    let bound = Sensitivity::of_operator(operator, neighbours);
    let (dim, bounds) = (operator.dim(), operator.spec().bounds.clone().unwrap());
    let pair = neighbours == Neighbours::Replace;
    let row = |signs: &[bool]| -> Vec<f64> {
        (0..dim).map(|c| if signs[c] { bounds.high[c] } else { bounds.low[c] }).collect()
    };
    let change = |signs: &[bool]| {
        let (first, second) = signs.split_at(dim);
        let a = sums(operator, &row(first));
        let b = if pair { sums(operator, &row(second)) } else { vec![0; a.len()] };
        norms(a.into_iter().zip(b).map(|(a, b)| a - b))
    };
    let mut best = (0, 0);
    for start in 0..20 {
        let mut stream = Stream::new(17, Purpose::Decode, start);
        let mut signs: Vec<bool> = (0..2 * dim).map(|_| stream.uniform() < 0.5).collect();
        for by_l2 in [false, true] {
            let mut value = change(&signs);
            for _ in 0..4 {
                for c in 0..if pair { 2 * dim } else { dim } {
                    signs[c] = !signs[c];
                    let next = change(&signs);
                    let better = if by_l2 { next.1 > value.1 } else { next.0 > value.0 };
                    if better { value = next } else { signs[c] = !signs[c] }
                }
            }
            best = (best.0.max(value.0), best.1.max(value.1));
        }
    }
    assert!(best.0 <= bound.l1, "{neighbours:?}: L1 {} passes the bound {}", best.0, bound.l1);
    assert!(
        best.1 <= bound.l2_squared,
        "{neighbours:?}: L2 {} passes the bound {}",
        best.1,
        bound.l2_squared
    );
    (best.0 as f64 / bound.l1 as f64, (best.1 as f64 / bound.l2_squared as f64).sqrt())
}

#[test]
fn no_search_passes_the_quadratic_bounds() {
    for (dim, size) in [(1, 3), (2, 1), (4, 12), (10, 80)] {
        for (structured, complex) in [(false, false), (true, false), (false, true), (true, true)] {
            let operator = quadratic(dim, size, structured, complex);
            for neighbours in [Neighbours::AddRemove, Neighbours::Replace] {
                let (l1, l2) = found_quadratic(&operator, neighbours);
                assert!(
                    l1 > 0.5 && l2 > 0.5,
                    "d {dim} m {size} {structured} {complex} {neighbours:?}: {l1} {l2}"
                );
            }
        }
    }
}

#[test]
fn the_directions_make_the_quadratic_bounds_several_times_smaller() {
    let operator = quadratic(30, 300, false, false);
    let known = Sensitivity::of_operator(&operator, Neighbours::AddRemove);
    let blind = Sensitivity::new(&operator.spec().map.feature(), 300, Neighbours::AddRemove);
    let ratio = (blind.l2_squared as f64 / known.l2_squared as f64, blind.l1 as f64 / known.l1 as f64);
    assert!(ratio.0 > 6.0 && ratio.1 > 3.0, "{ratio:?}");
}

#[test]
fn an_operator_of_a_periodic_feature_has_the_bounds_of_the_feature() {
    let operator = operator(&Wave::OneBit, 3, 8);
    for neighbours in [Neighbours::AddRemove, Neighbours::Replace] {
        let expected = Sensitivity::new(&Wave::OneBit.into(), 8, neighbours);
        assert_eq!(Sensitivity::of_operator(&operator, neighbours), expected);
        assert_eq!(Sensitivity::of_spec(operator.spec(), neighbours).unwrap(), expected);
    }
}
