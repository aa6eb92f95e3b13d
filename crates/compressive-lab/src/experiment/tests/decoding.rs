//! Quick runs of the experiments on what decoders do with the size and the scale of a sketch.

use super::*;

#[test]
fn failures_of_the_search_and_of_the_cost_are_told_apart() {
    let report = quick("decoder-failures");
    let [small, middle, large] = &report.tables[0].rows[..] else {
        panic!("three sizes: {:?}", report.tables)
    };
    assert!(number(small, 2, "median") > 1.2 && number(large, 2, "share") == 1.0, "{:?}", report.tables[0]);
    // `auto` finds the clusters where points are still misled or stuck.
    for row in [middle, large] {
        assert_eq!(number(row, 5, "share"), 1.0, "{row:?}");
        assert!(number(row, 5, "median") <= number(row, 2, "median"), "{row:?}");
    }
    let last = report.tables[1].rows.last().expect("costs");
    // Ten runs have a lower cost than one, or the same; of points, wrong answers cost less than the solution.
    assert!(number(last, 4, "cost") <= number(last, 3, "cost"), "{last:?}");
    assert!(number(last, 4, "cost") < number(last, 2, "cost"), "{last:?}");
    assert_eq!(report.figures.len(), 4);
}

#[test]
fn points_fail_at_a_fine_scale_where_gaussians_do_not() {
    let report = quick("tasks-transition");
    let [fine, right] = &report.tables[0].rows[..] else { panic!("two scales: {:?}", report.tables) };
    let success = |row, column| number(row, column, "success");
    // Points fail at the fine scale, where their search is stuck; Gaussians do not.
    assert_eq!([2, 3, 5].map(|column| success(fine, column)), [0.0, 1.0, 1.0], "{fine:?}");
    assert_eq!(number(fine, 2, "stuck"), 1.0, "{fine:?}");
    assert_eq!([2, 3, 5].map(|column| success(right, column)), [1.0, 1.0, 1.0], "{right:?}");
    assert_eq!(png_size(&report.figures[0].png), (1000, 620));
}

#[test]
fn a_larger_private_sketch_is_a_worse_one_for_a_small_budget() {
    let report = quick("private-size");
    let rows = &report.tables[0].rows;
    let of = |delta: f64, epsilon: f64| {
        let is = |row: &&Row| {
            row.cells[1].numbers.get("delta") == Some(&delta) && number(row, 2, "epsilon") == epsilon
        };
        rows.iter().find(is).expect("a row")
    };
    // Sizes 2, 10 and 40 kd are columns 3 to 5. The budget of 0.1 is enough for none but the smallest, unless
    // there is a delta.
    let loss = |row, column| number(row, column, "auto");
    assert!(loss(of(0.0, 0.1), 5) > 2.0 * loss(of(0.0, 0.1), 3), "{rows:?}");
    assert!(loss(of(1e-8, 0.1), 5) < 1.1, "{rows:?}");
    assert!(loss(of(0.0, 1.0), 5) > loss(of(0.0, 1.0), 4), "{rows:?}");
    let plain = rows.iter().find(|row| number(row, 2, "epsilon").is_infinite()).expect("a row without noise");
    assert!(loss(plain, 4) < 1.05, "{plain:?}");
    assert_eq!(report.figures.len(), 2);
}
