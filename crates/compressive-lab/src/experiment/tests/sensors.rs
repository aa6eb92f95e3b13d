//! Quick runs of the experiments on simulated applications.

use super::*;

#[test]
fn one_bit_messages_are_counted_exactly_and_carry_the_regimes() {
    let report = quick("fleet");
    let kmeans = report.tables[0].rows.last().expect("the largest size");
    assert!(number(kmeans, 6, "relative_sse") < 1.05, "{kmeans:?}");
    let mixtures = report.tables[1].rows.last().expect("the largest size");
    assert!(number(mixtures, 6, "excess") < 0.3, "{mixtures:?}");
    let counted = report.tables[3].rows[0].verdict.as_ref().map(|verdict| verdict.outcome);
    assert_eq!(counted, Some(Outcome::Met), "{:?}", report.tables[3]);
    assert_eq!(report.figures.len(), 2);
}

#[test]
fn sounds_are_recognised_from_one_bit_contributions() {
    let report = quick("sounds");
    let row = report.tables[0].rows.last().expect("the largest size");
    let direct = number(&report.tables[2].rows[0], 0, "accuracy");
    // Of eight classes, chance has an eighth; 64 clips to be classified, so that a clip is 1.6 points.
    assert!(
        number(row, 6, "accuracy") > 40.0 && number(row, 6, "accuracy") > direct - 15.0,
        "{row:?} {direct}"
    );
    assert_eq!(png_size(&report.figures[0].png), (1000, 620));
}

#[test]
fn speakers_are_verified_with_a_background_from_a_sketch() {
    let report = quick("speakers");
    let row = report.tables[0].rows.last().expect("the largest size");
    let [auto, em] = [5, 7].map(|column| number(row, column, "rate"));
    // 80 claims of each kind: a claim is 1.25 points.
    assert!(auto < 30.0 && auto < em + 10.0, "{row:?}");
    let published: Vec<f64> = report.tables[3].rows.iter().map(|row| number(row, 5, "published")).collect();
    assert_eq!(published, [31.2, 30.7, 30.7, 32.5, 29.0, 28.6, 29.4, 29.1, 29.2]);
}
