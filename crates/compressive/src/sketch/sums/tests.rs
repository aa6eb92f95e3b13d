use proptest::prelude::*;

use super::*;
use crate::testing::sketch_of;
use crate::{FrequencyLaw, Wave, Waves};

fn operator(wave: Wave) -> SketchOperator {
    SketchSpec::new(["a", "b"], Waves::new(wave, FrequencyLaw::Gaussian), 1.0, 12).build().unwrap()
}

fn sketch(op: &SketchOperator, rows: &[(f64, f64)]) -> Sketch {
    let flat: Vec<f64> = rows.iter().flat_map(|r| [r.0, r.1]).collect();
    sketch_of(op, &flat)
}

fn merged(a: &Sketch, b: &Sketch) -> Sketch {
    let mut sum = a.clone();
    sum.merge(b).unwrap();
    sum
}

fn table() -> impl Strategy<Value = Vec<(f64, f64)>> {
    prop::collection::vec((-1e3..1e3, -1e3..1e3), 0..40)
}

proptest! {
    #[test]
    fn merge_is_exact_associative_commutative_with_identity_and_inverse(a in table(), b in table(), c in table()) {
        for wave in Wave::plain() {
            let op = operator(wave);
            let (sa, sb, sc) = (sketch(&op, &a), sketch(&op, &b), sketch(&op, &c));
            let all: Vec<_> = a.iter().chain(&b).chain(&c).copied().collect();
            prop_assert_eq!(merged(&merged(&sa, &sb), &sc), sketch(&op, &all));
            prop_assert_eq!(merged(&sa, &merged(&sb, &sc)), sketch(&op, &all));
            prop_assert_eq!(merged(&sa, &sb), merged(&sb, &sa));
            prop_assert_eq!(&merged(&sa, &Sketch::empty(&op)), &sa);
            let mut back = merged(&sa, &sb);
            back.subtract(&sb).unwrap();
            prop_assert_eq!(back.to_bytes(), sa.to_bytes());
        }
    }
}

#[test]
fn another_spec_is_refused_and_the_difference_named() {
    let op = operator(Wave::Fourier);
    let mut other = op.spec().clone();
    other.seed = 3;
    let mut a = Sketch::empty(&op);
    let b = Sketch::empty(&other.build().unwrap());
    let message = a.merge(&b).unwrap_err().to_string();
    assert!(message.contains("seed (0 / 3)") && message.contains("make both with one spec"), "{message}");
    assert_eq!(a.subtract(&b).unwrap_err(), a.merge(&b).unwrap_err());
}

#[test]
fn subtracting_what_is_not_a_part_is_refused_and_changes_nothing() {
    let op = operator(Wave::Fourier);
    let mut small = sketch(&op, &[(1.0, 2.0)]);
    let large = sketch(&op, &[(0.0, 0.5), (3.0, 4.0)]);
    assert_eq!(small.subtract(&large), Err(Error::NotAPart { ours: 1, theirs: 2 }));
    let stranger = sketch(&op, &[(-5.0, 0.3)]);
    assert_eq!(small.subtract(&stranger), Err(Error::NotAPart { ours: 1, theirs: 1 }));
    assert_eq!(small, sketch(&op, &[(1.0, 2.0)]));
}

#[test]
fn a_full_sketch_refuses_more_rows() {
    let op = operator(Wave::Fourier);
    let mut nearly = Sketch::empty(&op);
    nearly.add_rows(Sketch::MAX_ROWS, (Sketch::MAX_ROWS as i64) << 24).unwrap();
    assert_eq!(nearly.merge(&sketch(&op, &[(0.0, 0.0)])), Err(Error::Full));
}

#[test]
fn the_mean_of_nothing_is_an_error() {
    let op = operator(Wave::Fourier);
    assert!(matches!(Sketch::empty(&op).moments(), Err(Error::TooFewRows { rows: 0, .. })));
}
