//! Experiments that measure seconds, or errors in the metric of the sketch.

use super::*;

#[test]
fn compressive_kmeans_is_timed_beside_lloyd_and_finds_the_clusters() {
    let report = quick("kmeans-time");
    let [seconds, ratios, quality] = &report.tables[..] else { panic!("three tables: {:?}", report.tables) };
    for row in &seconds.rows {
        assert!((1..6).all(|column| number(row, column, "seconds") > 0.0), "{row:?}");
    }
    // A hundred thousand rows and five starts: decoding a sketch of 1000 frequencies takes a fraction of
    // that; the table is small, so that little is asked.
    assert!(number(&ratios.rows[1], 2, "times") > 1.0, "{:?}", ratios.rows);
    assert!(quality.rows.iter().all(|row| number(row, 2, "rsse") < 1.02), "{:?}", quality.rows);
    assert_eq!(png_size(&report.figures[0].png), (1000, 620));
}

#[test]
fn a_sketch_holds_no_more_for_more_rows_and_em_does() {
    let report = quick("mixture-cost");
    let [time, memory] = &report.tables[..] else { panic!("two tables: {:?}", report.tables) };
    assert!(time.rows.iter().all(|row| (1..8).all(|c| number(row, c, "seconds") > 0.0)), "{:?}", time.rows);
    let grows =
        |column| number(&memory.rows[1], column, "megabytes") / number(&memory.rows[0], column, "megabytes");
    assert!(grows(1) == 1.0 && grows(2) == 1.0 && (grows(3) - 3.0).abs() < 1e-9, "{:?}", memory.rows);
    assert_eq!(report.figures.len(), 2);
}

#[test]
fn an_estimated_scale_is_as_good_as_the_best_of_the_kernels_and_found_at_once() {
    let report = quick("mixture-table-3");
    let [adapted, kernel, _, seconds] = &report.tables[0].rows[..] else {
        panic!("four rows: {:?}", report.tables)
    };
    assert_eq!([adapted, kernel].map(|row| number(row, 2, "published")), [-9.38, -9.14]);
    // The kernel has the best of four widths by the result itself, over two draws.
    assert!(number(adapted, 4, "mean") < number(kernel, 4, "mean") + 0.3, "{adapted:?} {kernel:?}");
    assert!(number(seconds, 5, "times") > 1.0, "{seconds:?}");
}

#[test]
fn the_error_in_the_metric_of_the_sketch_has_a_transition_in_m_and_falls_with_n() {
    let report = quick("embedding-error");
    let [sizes, counts] = &report.tables[..] else { panic!("two tables: {:?}", report.tables) };
    let auto = |row: &Row| number(row, 2, "log10");
    // From half a number for each parameter to four there is a transition; m^(-1/2) would give 0.45.
    assert!(auto(&sizes.rows[2]) < auto(&sizes.rows[0]) - 2.0, "{:?}", sizes.rows);
    let slope = number(counts.rows.last().expect("the slope of auto"), 2, "slope");
    assert!((-0.65..-0.35).contains(&slope), "{slope}");
}
