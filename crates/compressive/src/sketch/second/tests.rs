use proptest::prelude::*;

use super::*;
use crate::sketch::spec::Transform;
use crate::testing::{columns, sketch_of, weighted_sketch_of};
use crate::{FrequencyLaw, RowsRef, Sketch, SketchOperator, SketchSpec};

fn spec(set: MomentSet, dim: usize) -> SketchSpec {
    SketchSpec { moments: Some(set), ..SketchSpec::new(columns(dim), FrequencyLaw::AdaptedRadius, 1.0, 4) }
}

fn operator(set: MomentSet, dim: usize) -> SketchOperator {
    spec(set, dim).build().unwrap()
}

/// The sums as the module's doc defines them, one product at a time.
fn plain_sums(set: MomentSet, rows: &[f64], dim: usize, weights: Option<&[f64]>) -> (Vec<i128>, Vec<i128>) {
    let (mut first, mut second) = (vec![0; dim], Vec::new());
    second.resize(set.products(dim), 0);
    for (r, row) in rows.chunks_exact(dim).enumerate() {
        let q: Vec<i128> = row
            .iter()
            .map(|u| (u.clamp(-WORKING_LIMIT, WORKING_LIMIT) * 16_777_216.0).round_ties_even() as i128)
            .collect();
        let weight = weights.map_or(1 << 24, |w| (w[r] * 16_777_216.0).round_ties_even() as i128);
        let a: Vec<i128> = q.iter().map(|q| (weight * q + (1 << 23)).div_euclid(1 << 24)).collect();
        first.iter_mut().zip(&a).for_each(|(sum, a)| *sum += a);
        let mut place = 0;
        for (i, a) in a.iter().enumerate() {
            let from = if set == MomentSet::Full { 0 } else { i };
            for q in &q[from..=i] {
                second[place] += a * q;
                place += 1;
            }
        }
    }
    (first, second)
}

/// Mostly a few spreads from the centre, some far, and a few beyond the limit.
fn value() -> impl Strategy<Value = f64> {
    prop_oneof![8 => -4.0..4.0, 2 => -200.0..200.0, 1 => -1e6..1e6, 1 => -1e8..1e8]
}

proptest! {
    #[test]
    fn sums_are_those_of_one_product_at_a_time(
        table in prop::collection::vec(value(), 3..900),
        weights in prop::collection::vec(prop_oneof![Just(1.0), Just(7.0), 0.0..3.0, 0.0..1e5], 300),
    ) {
        let rows = &table[..table.len() / 3 * 3];
        let weights = &weights[..rows.len() / 3];
        for set in [MomentSet::Full, MomentSet::Diagonal] {
            for weights in [None, Some(weights)] {
                let sketch = weighted_sketch_of(&operator(set, 3), RowsRef::F64(rows), weights);
                let found = sketch.second_sums().unwrap();
                let (first, second) = plain_sums(set, rows, 3, weights);
                prop_assert_eq!(found.first.as_slice(), first);
                prop_assert_eq!(found.second.as_slice(), second);
                let far = |row: &&[f64]| row.iter().any(|u| u.abs() > WORKING_LIMIT);
                if weights.is_none() {
                    prop_assert_eq!(found.beyond() as usize, rows.chunks_exact(3).filter(far).count());
                }
                prop_assert_eq!(&Sketch::from_bytes(&sketch.to_bytes()).unwrap(), &sketch);
            }
        }
    }

    #[test]
    fn merge_and_subtract_are_exact(a in prop::collection::vec(value(), 0..60), b in prop::collection::vec(value(), 0..60)) {
        let (a, b) = (&a[..a.len() / 2 * 2], &b[..b.len() / 2 * 2]);
        for set in [MomentSet::Full, MomentSet::Diagonal] {
            let op = operator(set, 2);
            let (left, right, both) = (sketch_of(&op, a), sketch_of(&op, b), sketch_of(&op, &[a, b].concat()));
            let mut sum = left.clone();
            sum.merge(&right).unwrap();
            prop_assert_eq!(sum.to_bytes(), both.to_bytes());
            sum.subtract(&right).unwrap();
            prop_assert_eq!(sum.to_bytes(), left.to_bytes());
        }
    }

    #[test]
    fn mean_and_covariance_are_those_of_the_rows(
        table in prop::collection::vec(-5.0f64..5.0, 6..200), shift in -1e5f64..1e5, broken in any::<bool>(),
    ) {
        // Weighted coordinates are rounded, by more units the farther they are from the centre.
        let shift = if broken { 1e-4 * shift } else { shift };
        let rows: Vec<f64> = table[..table.len() / 2 * 2].iter().map(|u| u + shift).collect();
        let weights: Vec<f64> = (0..rows.len() / 2).map(|i| if broken { 0.3 + 0.7 * (i % 3) as f64 } else { 1.0 }).collect();
        let sketch = weighted_sketch_of(&operator(MomentSet::Full, 2), RowsRef::F64(&rows), Some(&weights));
        let found = sketch.exact_moments().unwrap();
        let n: f64 = weights.iter().sum();
        let centred: Vec<f64> = rows.iter().map(|u| u - shift).collect();
        let mean = |f: &dyn Fn(&[f64]) -> f64| -> f64 {
            centred.chunks_exact(2).zip(&weights).map(|(row, w)| w * f(row)).sum::<f64>() / n
        };
        let mu = [mean(&|u| u[0]), mean(&|u| u[1])];
        let Covariance::Full(sigma) = &found.covariance else { panic!("a full covariance") };
        for i in 0..2 {
            prop_assert!((found.mean[i] - shift - mu[i]).abs() < 1e-7, "{} {}", found.mean[i] - shift, mu[i]);
            for j in 0..2 {
                let expected = mean(&|u| (u[i] - mu[i]) * (u[j] - mu[j]));
                // Values are rounded to 6e-8; a shifted value has lost digits before, at most 1e-11.
                prop_assert!((sigma[i][j] - expected).abs() < 1e-6, "{} {expected}", sigma[i][j]);
            }
        }
    }
}

#[test]
fn the_largest_sketch_of_the_farthest_rows_does_not_overflow() {
    for set in [MomentSet::Full, MomentSet::Diagonal] {
        let op = operator(set, 2);
        let far = [2e6, -2e6];
        let mut sketch = weighted_sketch_of(&op, RowsRef::F64(&far), Some(&[268_435_456.0]));
        for _ in 0..10 {
            let copy = sketch.clone();
            sketch.merge(&copy).unwrap();
        }
        // 2^38 rows at the limit; all but one more of as many fit.
        let mut other = sketch.clone();
        other.subtract(&weighted_sketch_of(&op, RowsRef::F64(&far), Some(&[1.0]))).unwrap();
        sketch.merge(&other).unwrap();
        assert_eq!(sketch.rows(), (1 << 39) - 1);
        let sums = sketch.second_sums().unwrap();
        assert_eq!(sums.second[0], ((1 << 39) - 1) << 88);
        assert_eq!((sums.first[1], sums.beyond()), (-(((1 << 39) - 1) << 44), (1 << 39) - 1));
        assert_eq!(Sketch::from_bytes(&sketch.to_bytes()).unwrap(), sketch);
        assert!(sketch.exact_moments().is_none());
        let exact = SecondSums { beyond: 0, ..sums.clone() }.exact(sketch.weight_units()).unwrap();
        assert_eq!((exact.mean[0], exact.variances()), (WORKING_LIMIT, vec![0.0; 2]));
        sketch.merge(&sketch_of(&op, &[0.0, 0.0])).unwrap_err();
    }
}

#[test]
fn rows_beyond_the_limit_are_counted_and_taken_back() {
    let op = operator(MomentSet::Full, 2);
    let (near, far) = ([1.0, 2.0, 3.0, 5.0], [1e9, 0.0]);
    let mut sketch = sketch_of(&op, &[&near[..], &far[..]].concat());
    assert_eq!((sketch.second_sums().unwrap().beyond(), sketch.exact_moments()), (1, None));
    assert!(sketch.moments().unwrap().exact.is_none());
    sketch.subtract(&sketch_of(&op, &far)).unwrap();
    assert_eq!(sketch.exact_moments().unwrap().mean, [2.0, 3.5]);
}

#[test]
fn whitened_coordinates_are_what_is_summed() {
    let mut recipe = spec(MomentSet::Full, 2);
    recipe.transform = Transform {
        centre: vec![1.0, 2.0],
        spread: vec![2.0, 4.0],
        whiten: Some(vec![vec![2.0, 0.0], vec![-1.0, 1.0]]),
    };
    let sketch = sketch_of(&recipe.build().unwrap(), &[3.0, 10.0]);
    assert_eq!(sketch.exact_moments().unwrap().mean, [2.0, 1.0]);
}

#[test]
fn what_could_not_be_a_part_is_refused() {
    let op = operator(MomentSet::Diagonal, 2);
    let mut ours = sketch_of(&op, &[0.25, 0.5, 0.0, 0.0]);
    let before = ours.clone();
    // The features of a coordinate at two turns are those at none, and its square is too large.
    let error = ours.subtract(&sketch_of(&op, &[0.25, 4.0])).unwrap_err();
    assert!(matches!(error, Error::NotAPart { ours: 2, theirs: 1 }));
    assert_eq!(ours, before);
}
