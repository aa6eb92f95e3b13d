mod costs;
mod pages;

use super::*;
use crate::experiment::write::Provenance;

mod decoding;
mod sensors;

fn quick(name: &str) -> Report {
    find(name).expect("an experiment").run(&Options::quick(), &mut |_| ()).expect("a quick run")
}

fn number(row: &Row, column: usize, name: &str) -> f64 {
    row.cells[column].numbers[name]
}

/// The size of a PNG, read from its header.
fn png_size(bytes: &[u8]) -> (u32, u32) {
    let info = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().expect("a PNG");
    (info.info().width, info.info().height)
}

fn example() -> Report {
    let mut table = Table::new("Errors", &["m", "ours"]);
    table.push(
        vec![Cell::number("size", 5.0, 0), Cell::number("rsse", 1.0371, 2)],
        Some(Verdict::bar(true, "at most 1.05")),
    );
    table.push(vec![Cell::number("size", 2.0, 0), Cell::text("none").with("rsse", f64::NAN)], None);
    Report {
        name: "example".into(),
        title: "An example".into(),
        reference: "[KBGP18] table 9".into(),
        reasons: vec!["Few rows.".into()],
        text: vec!["Two draws.".into()],
        tables: vec![table],
        figures: vec![Figure { file: "example.png".into(), alt: "A dot.".into(), png: vec![1, 2, 3] }],
    }
}

#[test]
fn a_report_is_printed_as_markdown_with_a_verdict_in_every_row() {
    let expected = "# An example\n\nReference: [KBGP18] table 9.\n\n**Verdict**: no row has a published number; the bar is met.\n\nWhy: Few rows.\n\nTwo draws.\n\n## Errors\n\n| m | ours | verdict |\n|---|---|---|\n\
                    | 5 | 1.04 | **met**: at most 1.05 |\n| 2 | none | |\n\n![A dot.](example.png)\n";
    assert_eq!(example().to_markdown(), expected);
}

#[test]
fn written_files_hold_the_page_its_origin_and_unrounded_numbers() {
    let folder = tempfile::tempdir().expect("a folder");
    let origin = Provenance {
        command: "compressive-lab run example".into(),
        machine: "a machine".into(),
        commit: "abc".into(),
    };
    let files = write(&example(), &origin, &folder.path().join("new")).expect("written");
    let names: Vec<_> = files.iter().map(|f| f.file_name().expect("a name").to_string_lossy()).collect();
    assert_eq!(names, ["example.md", "example.json", "example.png"]);
    let page = std::fs::read_to_string(&files[0]).expect("the page");
    assert!(page.ends_with("Made by `compressive-lab run example` on a machine, commit abc; all numbers, unrounded: [example.json](example.json).\n"));
    let json: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&files[1]).expect("JSON")).expect("valid");
    let rows = &json["report"]["tables"][0]["rows"];
    assert_eq!(rows[0]["cells"][1]["rsse"], 1.0371);
    assert_eq!(rows[0]["verdict"]["outcome"], "met");
    assert!(rows[1]["cells"][1]["rsse"].is_null() && rows[1].get("verdict").is_none());
    assert_eq!(std::fs::read(&files[2]).expect("the figure"), [1, 2, 3]);
    let error = write(&example(), &origin, &files[0]).expect_err("a file is not a folder").to_string();
    assert!(error.contains("example.md"), "{error}");
}

#[test]
fn names_are_unique_and_an_unknown_one_lists_them() {
    let mut names: Vec<&str> = all().iter().map(|e| e.name).collect();
    let message = find("kmean").expect_err("no such name").to_string();
    assert!(names.iter().all(|name| message.contains(name)) && message.contains("`kmean`"), "{message}");
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all().len());
}

#[test]
fn published_numbers_are_compared_with_a_tolerance() {
    let outcome = |ours| Verdict::published(ours, -6.32, 0.3).outcome;
    assert_eq!(
        [outcome(-6.5), outcome(-6.1), outcome(-7.0), outcome(-5.9)],
        [Outcome::Reproduced, Outcome::Reproduced, Outcome::Better, Outcome::Worse]
    );
}

#[test]
fn kmeans_by_auto_finds_the_clusters_and_threads_change_nothing() {
    let run = |threads| {
        let options = Options { threads, ..Options::quick() };
        find("kmeans").expect("listed").run(&options, &mut |_| ()).expect("a quick run")
    };
    let report = run(1);
    for row in &report.tables[0].rows {
        assert_eq!(number(row, 2, "share"), 1.0, "{row:?}");
        // One start an atom and point atoms: what the shared width is better than.
        assert!(number(row, 2, "median") < number(row, 3, "median"), "{row:?}");
    }
    assert!(report.verdicts().all(|(_, verdict)| verdict.outcome == Outcome::Met));
    assert_eq!(report, run(3));
}

#[test]
fn one_bit_and_sawtooth_sketches_find_the_clusters() {
    for row in &quick("one-bit").tables[0].rows {
        assert_eq!(number(row, 3, "share"), 1.0, "{row:?}");
        // A sawtooth's second harmonic is half its first, a one-bit feature's third a third: the former
        // disturbs more, and its bar is wider.
        assert!(number(row, 4, "median") < 1.1, "{row:?}");
    }
}

#[test]
fn digits_come_near_lloyd_at_ten_kd() {
    let report = quick("images");
    let rows = &report.tables[0].rows;
    assert_eq!(rows.len(), 3);
    assert!(number(&rows[2], 3, "median") < 1.1, "{rows:?}");
}

#[test]
fn the_mixture_table_has_the_published_numbers_and_auto_beats_the_greedy_decoder() {
    let report = quick("mixture-table-2");
    let rows = &report.tables[0].rows;
    let published: Vec<f64> = rows.iter().map(|row| number(row, 3, "published")).collect();
    assert_eq!(published, [-9.30, -8.90, -9.38, -8.93, -8.67, -9.20]);
    // 30,000 rows instead of 300,000: the divergence is ten times larger at best, 2.3 in logarithms.
    for row in [&rows[2], &rows[5]] {
        assert!(number(row, 5, "mean") < -6.5, "{row:?}");
        assert!(number(row, 5, "mean") < number(row, 4, "mean") + 0.3, "{row:?}");
    }
}

#[test]
fn a_small_mixture_is_learned_nearly_as_well_as_by_em() {
    let report = quick("mixture-size");
    let rows = &report.tables[0].rows;
    assert!(rows.iter().all(|row| number(row, 9, "gap") < 1.0), "{rows:?}");
    // Ten times the rows: a tenth of the divergence, 2.3 in logarithms.
    assert!(number(&rows[1], 3, "mean") < number(&rows[0], 3, "mean") - 1.0, "{rows:?}");
}

#[test]
fn auto_does_not_mind_columns_of_other_scales() {
    let report = quick("non-isotropic");
    assert!(report.verdicts().all(|(_, verdict)| verdict.outcome == Outcome::Met), "{:?}", report.tables);
    assert_eq!(png_size(&report.figures[0].png), (1000, 620));
}

#[test]
fn phase_maps_get_better_with_the_size_of_the_sketch() {
    let report = quick("phase-mixture");
    for pair in report.tables[0].rows.chunks(2) {
        assert!(number(&pair[1], 3, "mean") < number(&pair[0], 3, "mean") - 1.0, "{pair:?}");
    }
    assert!(png_size(&report.figures[0].png).0 > 400);
    let report = quick("phase-one-bit");
    for pair in report.tables[0].rows.chunks(2) {
        assert_eq!(number(&pair[1], 3, "share"), 1.0, "{pair:?}");
        assert!(number(&pair[0], 3, "share") <= number(&pair[1], 3, "share"));
    }
    assert!(png_size(&report.figures[0].png).1 > 200);
}

#[test]
fn a_private_sketch_of_a_hundred_thousand_rows_finds_the_clusters_at_epsilon_one() {
    let report = quick("private-kmeans");
    let [tight, ample] = &report.tables[0].rows[..] else { panic!("two budgets: {:?}", report.tables) };
    let medians = |row| [2, 4, 5].map(|column| number(row, column, "median"));
    let [sketch, uniform, spread] = medians(ample);
    assert!(sketch < 1.05 && sketch < uniform && sketch < spread, "{ample:?}");
    // A smaller budget buys a smaller sketch and a worse model.
    assert!(number(tight, 3, "size") <= number(ample, 3, "size"), "{tight:?}");
    assert!(medians(tight)[0] > sketch, "{tight:?}");
    assert_eq!(png_size(&report.figures[0].png), (1000, 620));
}

#[test]
fn a_private_mixture_comes_near_em_with_a_large_budget() {
    let report = quick("private-mixture");
    for row in &report.tables[0].rows {
        assert!(number(row, 1, "median") < number(row, 5, "median"), "{row:?}");
        // In-sample, EM is above the truth by about p / (2 n).
        let truth = number(row, 7, "median");
        assert!((0.0..0.02).contains(&truth), "{row:?}");
    }
    assert!(number(&report.tables[0].rows[1], 1, "median") < 0.5, "{:?}", report.tables[0].rows);
    assert_eq!(png_size(&report.figures[0].png), (1000, 620));
}

#[test]
fn principal_components_of_a_sketch_are_nearly_those_of_the_rows() {
    let report = quick("pca");
    assert!(report.verdicts().all(|(_, verdict)| verdict.outcome == Outcome::Met), "{:?}", report.tables);
    let rows = &report.tables[0].rows;
    assert_eq!(rows.len(), 6);
    // At 2kd the isotropic rest and spare components tell; at 4kd there are 240 equations for 210 unknowns,
    // and the convex decoder is exact.
    for (small, large) in rows[..3].iter().zip(&rows[3..]) {
        assert!(number(small, 2, "median") < 0.5 * number(small, 3, "median"), "{small:?}");
        assert!(number(large, 3, "median") < 1e-4, "{large:?}");
    }
    assert_eq!(png_size(&report.figures[0].png), (1000, 620));
}

#[test]
fn a_nystrom_sketch_is_ahead_of_a_fourier_sketch_where_both_are_small() {
    let report = quick("nystrom");
    let [small, large] = &report.tables[0].rows[..] else { panic!("two sizes: {:?}", report.tables) };
    // Columns 2 and 3 are Fourier with as many frequencies and with as many sums, 7 is the program's own rule
    // for landmarks.
    let medians = |row| [2, 3, 7].map(|column| number(row, column, "median"));
    let [frequencies, sums, landmarks] = medians(small);
    assert!(landmarks < 1.3 && landmarks < frequencies && landmarks < sums, "{small:?}");
    assert!(medians(large)[2] < 1.05, "{large:?}");
    assert_eq!(png_size(&report.figures[0].png), (1000, 620));
}

#[test]
fn mixtures_are_learned_from_nystrom_sketches() {
    let report = quick("nystrom-mixtures");
    assert!(number(&report.tables[0].rows[1], 7, "median") < 0.1, "{:?}", report.tables[0]);
}

#[test]
fn a_nystrom_sketch_works_at_kernel_widths_where_fewer_waves_fail() {
    let report = quick("nystrom-scale");
    for row in &report.tables[0].rows[..2] {
        assert!(number(row, 3, "median") < 1.05, "{row:?}");
    }
    let last = report.tables[0].rows.last().expect("the number of usable widths");
    assert!(number(last, 3, "usable") >= number(last, 2, "usable"), "{last:?}");
    assert_eq!((report.figures.len(), quick("nystrom-scale-mixtures").figures.len()), (1, 1));
}

#[test]
fn speed_is_a_positive_number_of_seconds_beside_its_bar() {
    let report = quick("speed");
    let row = &report.tables[0].rows[0];
    assert!(number(row, 5, "seconds") > 0.0 && number(row, 8, "bar") == 0.5, "{row:?}");
}

#[test]
fn random_queries_are_answered_within_the_error_that_is_stated() {
    // 200 queries with a chance of at most 0.05 each to be outside: fewer than 184 inside happen in less than
    // 3% of runs.
    let report = quick("queries");
    let row = &report.tables[0].rows[0];
    assert!(number(row, 2, "inside") >= 0.92 && number(row, 2, "queries") == 200.0, "{row:?}");
    assert!(number(row, 8, "half_width") < 0.05, "intervals that say something: {row:?}");
}

#[test]
fn medians_among_outliers_and_stable_laws_are_found() {
    let report = quick("families");
    assert!(number(&report.tables[0].rows[0], 1, "median") < 1.05, "{report:?}");
    assert!(number(&report.tables[1].rows[0], 2, "alpha") < 0.05, "{report:?}");
}

#[test]
fn kernel_estimates_are_unbiased_with_a_cosine_and_distorted_without() {
    // Twenty fixed draws: a right estimate is beyond 4 standard errors (19 degrees of freedom) once in 1300
    // looks, of which there are 40 here.
    let report = quick("kernel-estimates");
    for table in &report.tables[..2] {
        assert_eq!(table.rows.len(), 10);
        for row in &table.rows {
            let (bias, error) = (number(row, 3, "bias"), number(row, 3, "error"));
            assert!(bias.abs() < 4.0 * error, "{row:?}");
            let closed = number(row, 5, "closed_form");
            assert!((number(row, 4, "bias") - closed).abs() < 4.0 * number(row, 4, "error"), "{row:?}");
        }
        // At distances of 1 to 1.5 the distorted kernel is well below the kernel.
        assert!(number(&table.rows[2], 4, "bias") < -0.05);
        assert!(number(&table.rows[2], 4, "bias") < -5.0 * number(&table.rows[2], 3, "bias").abs());
    }
    assert_eq!(report.figures.len(), 4);
    let ratio = number(&report.tables[2].rows[1], 3, "ratio");
    assert!((1.05..1.6).contains(&ratio), "{ratio}");
    let slope = number(report.tables[4].rows.last().expect("the slope"), 2, "slope");
    assert!((slope + 0.5).abs() < 0.08, "{slope}");
}

#[test]
fn real_and_complex_features_do_alike_and_the_modulo_map_worse() {
    let report = quick("periodic-features");
    let rows = &report.tables[0].rows;
    // Factors of the variances by the closed forms: 1.23 for bits and 1.64 for the modulo map, up to the
    // noise of ten draws and steps of 200.
    for (row, expected) in rows.iter().zip([1.0, 1.23, 1.64]) {
        assert!((number(row, 4, "ratio") / expected - 1.0).abs() < 0.25, "{row:?}");
        assert!((number(row, 3, "ratio") - 1.0).abs() < 0.25, "{row:?}");
    }
    assert_eq!(png_size(&report.figures[0].png), (1000, 620));
}

#[test]
fn bits_and_a_modulo_map_are_learned_from_as_cosines_are() {
    let report = quick("asymmetric");
    // After the table of needs, k-means and mixtures; after the size, three features by `cl-ompr`, then three
    // by `auto`.
    for table in &report.tables[1..] {
        let [small, large] = &table.rows[..] else { panic!("two sizes: {table:?}") };
        for column in 4..7 {
            assert_eq!(number(large, column, "share"), 1.0, "{large:?}");
            assert!(number(large, column, "excess") < number(small, column, "excess"), "{table:?}");
        }
    }
    assert_eq!(report.figures.len(), 4);
}

#[test]
fn more_sketched_rows_leave_less_excess_risk() {
    let report = quick("asymmetric-rows");
    for table in &report.tables[1..] {
        let large = &table.rows[1];
        for feature in 0..2 {
            assert!(number(large, 5 + feature, "excess") < number(large, 1 + feature, "excess"), "{table:?}");
        }
    }
    assert_eq!(report.figures.len(), 4);
}

#[test]
fn only_scales_near_that_of_the_clusters_work() {
    let report = quick("asymmetric-scale");
    let [_, auto, _, mixture] = &report.tables[0].rows[..] else {
        panic!("two tasks, two decoders: {report:?}")
    };
    // Of three scales, the one in the middle works; steps of 1.75 decades.
    for row in [auto, mixture] {
        for column in [3, 4] {
            assert_eq!(number(row, column, "decades"), 1.75, "{row:?}");
        }
    }
    assert_eq!(report.figures.len(), 4);
}

#[test]
fn classes_in_the_plane_are_told_apart_nearly_as_well_as_possible() {
    let report = quick("classify-synthetic");
    for row in &report.tables[0].rows {
        // A third is what guessing has; the densities themselves are the best possible.
        let [best, narrow, wide, mixture] = [1, 2, 4, 5].map(|column| number(row, column, "accuracy"));
        assert!(narrow > best - 5.0 && narrow > wide && mixture > best - 5.0, "{row:?}");
        assert!(narrow < best + 1.0 && mixture < best + 1.0, "{row:?}");
    }
    assert_eq!(report.figures.len(), 2);
}

#[test]
fn class_sketches_tell_classes_apart_and_mixtures_better() {
    let report = quick("classify");
    // Splits differ by four points on iris, so that four of them say little of the published error; the
    // largest class alone would leave 60% or more.
    assert!(report.tables[0].rows.iter().all(|row| number(row, 3, "error") < 20.0), "{:?}", report.tables);
    let [iris, wine] = &report.tables[1].rows[..] else { panic!("two tables: {:?}", report.tables) };
    // Four splits; discriminants on all the rows have 2 to 3% on both.
    assert!(number(iris, 2, "error") < 5.0 && number(wine, 2, "error") < 5.0, "{:?}", report.tables[1]);
}

#[test]
fn convolutional_features_tell_digits_apart_about_as_well_as_the_best_fourier_features() {
    let report = quick("classify-images");
    let row = &report.tables[0].rows[0];
    // Two splits of 599 test images; the widths of the Fourier features are chosen by these very images,
    // which is worth about half a point.
    let best =
        |columns: [usize; 3]| columns.map(|c| number(row, c, "error")).into_iter().fold(100.0, f64::min);
    assert!(best([2, 3, 4]) < 8.5 && best([2, 3, 4]) < best([5, 6, 7]) + 1.0, "{row:?}");
}
