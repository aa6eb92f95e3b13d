//! The threaded pass.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use compressive::{FrequencyLaw, SketchOperator, SketchSpec};
use compressive_io::{DriveOptions, Error, Outcome, ReadOptions, sketch_dataset};

use crate::support::*;

pub fn operator(columns: &[String], size: usize) -> SketchOperator {
    SketchSpec::new(columns.to_vec(), FrequencyLaw::AdaptedRadius, 10.0, size).build().unwrap()
}

pub fn sketch(inputs: &[&str], options: &ReadOptions, drive: &DriveOptions<'_>) -> Result<Outcome, Error> {
    let mut dataset = open(inputs, options)?;
    let operator = operator(dataset.columns(), 16);
    sketch_dataset(&mut dataset, &operator, drive)
}

fn bytes(outcome: &Outcome) -> Vec<u8> {
    outcome.sketches[""].to_bytes()
}

#[test]
fn threads_chunks_formats_and_shards_give_the_same_bytes() {
    let folder = Folder::new();
    let table = Table::new(60_000, 2);
    let (head, tail) = table.values.split_at(2 * 12_345);
    let shard = |values: &[f64]| Table { values: values.to_vec(), dim: 2 };
    let npy = folder.file("a.npy", table.npy("<f4", false));
    let expected = bytes(&sketch(&[&npy], &ReadOptions::default(), &DriveOptions::default()).unwrap());
    let inputs = [
        vec![npy],
        vec![folder.file("b.npy", table.npy("<f8", true))],
        vec![folder.file("c.csv", table.csv(',', "\n"))],
        vec![folder.file("d.parquet", parquet_bytes(&table.batch(true), 5000))],
        vec![folder.file("e.arrow", arrow_file_bytes(&table.batch(false), 5000))],
        vec![
            folder.file("two.csv", shard(tail).csv(';', "\r\n")),
            folder.file("one.arrows", arrow_stream_bytes(&shard(head).batch(true), 5000)),
        ],
    ];
    for paths in inputs {
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        for (threads, chunk_rows) in [(1, 4096), (2, 7), (3, 1), (5, 100_000)] {
            let options = ReadOptions { chunk_rows, ..ReadOptions::default() };
            let drive = DriveOptions { threads, ..DriveOptions::default() };
            let outcome = sketch(&paths, &options, &drive).unwrap();
            assert_eq!((outcome.rows_read, outcome.rows_skipped), (60_000, 0));
            assert!(bytes(&outcome) == expected, "{paths:?} with {threads} threads, chunks of {chunk_rows}");
        }
    }
}

#[test]
fn the_error_is_that_of_the_first_bad_row_whatever_the_threads() {
    let folder = Folder::new();
    let mut table = Table::new(300_000, 1);
    for row in [150_000, 170_000, 290_000] {
        table.values[row] = f64::NAN;
    }
    for path in [
        folder.file("a.csv", table.csv(',', "\n")),
        folder.file("a.npy", table.npy("<f4", false)),
        folder.file("a.parquet", parquet_bytes(&table.batch(true), 20_000)),
        folder.file("a.arrow", arrow_file_bytes(&table.batch(true), 9_000)),
    ] {
        for threads in [1, 2, 4, 8] {
            let drive = DriveOptions { threads, ..DriveOptions::default() };
            let message = failure(sketch(&[&path], &ReadOptions::default(), &drive));
            assert_says(&message, &[&path, "row 150001", "NaN"]);
        }
        let options = ReadOptions { skip_bad_rows: true, ..ReadOptions::default() };
        let outcome = sketch(&[&path], &options, &DriveOptions::default()).unwrap();
        assert_eq!((outcome.rows_read, outcome.rows_skipped), (299_997, 3), "{path}");
        assert_eq!(outcome.sketches[""].rows(), 299_997);
    }
}

#[test]
fn skipping_bad_rows_gives_the_sketch_of_the_good_ones() {
    let folder = Folder::new();
    let good = folder.file("good.csv", "a,b\n1,2\n3,4\n5,6\n");
    let bad = folder.file("bad.csv", "a,b\n1,2\nx,9\n3,4\n3,nan\n8\n5,6\n");
    let options = ReadOptions { skip_bad_rows: true, ..ReadOptions::default() };
    let expected = sketch(&[&good], &options, &DriveOptions::default()).unwrap();
    let found = sketch(&[&bad], &options, &DriveOptions::default()).unwrap();
    assert_eq!(bytes(&found), bytes(&expected));
    assert_eq!((found.rows_read, found.rows_skipped), (3, 3));
}

#[test]
fn integer_weights_are_copies_of_rows() {
    let folder = Folder::new();
    let weighted = folder.file("w.csv", "x,w\n1.5,2\n-0.25,1\n7,3\n");
    let copies = folder.file("c.csv", "x\n1.5\n1.5\n-0.25\n7\n7\n7\n");
    let options = ReadOptions { weights: Some("w".into()), ..ReadOptions::default() };
    let weighted = sketch(&[&weighted], &options, &DriveOptions::default()).unwrap();
    let copies = sketch(&[&copies], &ReadOptions::default(), &DriveOptions::default()).unwrap();
    assert_eq!(weighted.sketches[""].sums(), copies.sketches[""].sums());
    assert_eq!(weighted.sketches[""].weight(), copies.sketches[""].weight());
}

#[test]
fn no_good_row_is_an_error() {
    let folder = Folder::new();
    let path = folder.file("a.csv", "x,y\n1,nan\n2,nan\n");
    let options = ReadOptions { skip_bad_rows: true, ..ReadOptions::default() };
    let message = failure(sketch(&[&path], &options, &DriveOptions::default()));
    assert_says(&message, &["no row to sketch", "all 2 rows have bad values"]);
}

#[test]
fn a_raised_flag_interrupts_the_pass() {
    let folder = Folder::new();
    let path = folder.file("a.npy", Table::new(100_000, 1).npy("<f4", false));
    let flag = AtomicBool::new(true);
    let drive = DriveOptions { cancel: Some(&flag), ..DriveOptions::default() };
    let result = sketch(&[&path], &ReadOptions::default(), &drive);
    assert!(matches!(result, Err(Error::Interrupted { rows: 0 })));

    let flag = AtomicBool::new(false);
    let raise = |_| flag.store(true, Ordering::Relaxed);
    let drive =
        DriveOptions { threads: 2, cancel: Some(&flag), progress: Some(&raise), ..DriveOptions::default() };
    match sketch(&[&path], &ReadOptions::default(), &drive) {
        Err(Error::Interrupted { rows }) => assert!(rows > 0 && rows <= 100_000),
        other => panic!("not interrupted: {:?}", other.map(|outcome| outcome.rows_read)),
    }
}

#[test]
fn progress_ends_at_all_rows_and_never_passes_the_size() {
    let folder = Folder::new();
    let table = Table::new(100_000, 2);
    for path in [
        folder.file("a.npy", table.npy("<f4", false)),
        folder.file("a.csv", table.csv(',', "\n")),
        folder.file("a.parquet", parquet_bytes(&table.batch(true), 30_000)),
        folder.file("a.arrow", arrow_file_bytes(&table.batch(true), 30_000)),
    ] {
        let (rows, bytes) = (AtomicU64::new(0), AtomicU64::new(0));
        let note = |progress: compressive_io::Progress| {
            rows.fetch_max(progress.rows, Ordering::Relaxed);
            bytes.fetch_max(progress.bytes, Ordering::Relaxed);
        };
        let drive = DriveOptions { progress: Some(&note), ..DriveOptions::default() };
        let size = open(&[&path], &ReadOptions::default()).unwrap().n_bytes().unwrap();
        sketch(&[&path], &ReadOptions::default(), &drive).unwrap();
        assert_eq!(rows.into_inner(), 100_000, "{path}");
        let bytes = bytes.into_inner();
        assert!(bytes > size / 2 && bytes <= size, "{path}: {bytes} of {size}");
    }
}

#[test]
fn rows_of_another_width_are_refused() {
    let folder = Folder::new();
    let path = folder.file("a.npy", Table::new(10, 3).npy("<f4", false));
    let mut dataset = open(&[&path], &ReadOptions::default()).unwrap();
    let operator = operator(&["x0".into(), "x1".into()], 8);
    let message = failure(sketch_dataset(&mut dataset, &operator, &DriveOptions::default()));
    assert_says(&message, &["expects 2 columns", "have 3"]);
}
