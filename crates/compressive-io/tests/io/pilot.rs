//! The pilot sample.

use std::collections::HashSet;

use compressive_io::{Dataset, ReadOptions};

use crate::support::*;

/// Rows whose first value is their number, large enough that they are not read whole.
fn numbered(n_rows: usize, dim: usize) -> Table {
    let values =
        (0..n_rows).flat_map(|i| (0..dim).map(move |j| if j == 0 { i as f64 } else { 0.5 * j as f64 }));
    Table { values: values.collect(), dim }
}

#[test]
fn large_files_are_sampled_over_their_whole_length() {
    let folder = Folder::new();
    let n_rows = 1_200_000;
    let table = numbered(n_rows, 2);
    let double = table.batch(false);
    for path in [
        folder.file("a.npy", table.npy("<f8", false)),
        folder.file("b.npy", table.npy("<f8", true)),
        folder.file("c.csv", table.csv(',', "\n")),
        folder.file("d.parquet", parquet_bytes(&double, 30_000)),
        folder.file("e.arrow", arrow_file_bytes(&double, 10_000)),
    ] {
        // Columns that compress well would let the file fall below the size that is read whole.
        let mut dataset = open(&[&path, &path, &path], &ReadOptions::default()).unwrap();
        let pilot = dataset.pilot(3000, 1).unwrap();
        assert!(pilot.n_rows > 2900 && pilot.n_rows <= 3000, "{path}: {} rows", pilot.n_rows);
        assert_eq!(pilot.columns, ["x0", "x1"]);
        assert!(pilot.rows.chunks(2).all(|row| row[1] == 0.5), "{path}");
        let mut tenths = [0; 10];
        pilot.rows.chunks(2).for_each(|row| tenths[row[0] as usize * 10 / n_rows] += 1);
        assert!(tenths.iter().all(|&count| count > 100), "{path}: {tenths:?}");
        assert_eq!(pilot, dataset.pilot(3000, 1).unwrap(), "{path}");
        assert_ne!(pilot, dataset.pilot(3000, 2).unwrap(), "{path}");
        let places: HashSet<u64> = pilot.rows.chunks(2).map(|row| row[0] as u64 / 1000).collect();
        assert!(places.len() > 50, "{path}: {} places", places.len());
    }
}

#[test]
fn small_files_are_sampled_uniformly() {
    let folder = Folder::new();
    let path = folder.file("a.csv", numbered(10_000, 2).csv(',', "\n"));
    let mut dataset = open(&[&path], &ReadOptions::default()).unwrap();
    let pilot = dataset.pilot(1000, 3).unwrap();
    assert_eq!(pilot.n_rows, 1000);
    let distinct: HashSet<u64> = pilot.rows.chunks(2).map(|row| row[0] as u64).collect();
    assert_eq!(distinct.len(), 1000);
    // The mean of 1000 draws without replacement from 0..10000 has a standard deviation below 91; 4.5 of them
    // are passed by chance once in 150,000 seeds, and the seed is fixed.
    let mean = pilot.rows.iter().step_by(2).sum::<f64>() / 1000.0;
    assert!((mean - 4999.5).abs() < 410.0, "{mean}");
    let all = dataset.pilot(20_000, 3).unwrap();
    assert_eq!((all.n_rows, all.rows), (10_000, numbered(10_000, 2).values));
}

#[test]
fn bad_rows_are_dropped_from_the_pilot_only() {
    let folder = Folder::new();
    let path = folder.file("a.csv", "x,y\n1,2\nbad,3\n4,nan\n5\n6,7\n");
    let mut dataset = open(&[&path], &ReadOptions::default()).unwrap();
    assert_eq!(dataset.pilot(10, 1).unwrap().rows, [1.0, 2.0, 6.0, 7.0]);
    assert_says(&failure(read(&mut dataset)), &["row 2", "bad"]);
    let path = folder.file("b.csv", "x\nnan\nnan\n");
    let mut dataset = open(&[&path], &ReadOptions::default()).unwrap();
    assert_says(&failure(dataset.pilot(10, 1)), &["b.csv", "no usable row"]);
}

#[test]
fn a_large_stream_gives_a_pilot_and_then_all_its_rows() {
    let table = numbered(600_000, 3);
    let single = Table { values: table.values.iter().map(|v| f64::from(*v as f32)).collect(), dim: 3 };
    for (name, bytes) in [
        ("csv", table.csv(',', "\n").into_bytes()),
        ("gz", gzip(table.csv(',', "\n").as_bytes())),
        ("npy", table.npy("<f8", false)),
        ("arrow", arrow_stream_bytes(&single.batch(true), 50_000)),
        ("one batch", arrow_stream_bytes(&table.batch(false), 1 << 20)),
    ] {
        let reader = Box::new(std::io::Cursor::new(bytes));
        let mut dataset = Dataset::from_reader("<stdin>", reader, &ReadOptions::default()).unwrap();
        let pilot = dataset.pilot(500, 1).unwrap();
        assert_eq!(pilot.n_rows, 500, "{name}");
        assert_eq!(pilot, dataset.pilot(500, 1).unwrap(), "{name}");
        assert!(read(&mut dataset).unwrap().values == table.values, "{name}");
    }
}

#[test]
fn quoted_newlines_do_not_spoil_the_pilot_of_a_text_file() {
    let folder = Folder::new();
    let mut text = "note,x,y\n".to_owned();
    for i in 0..400_000 {
        text.push_str(&format!("\"first line\n7,8,9,second line\",{i},0.5\n"));
    }
    let path = folder.file("a.csv", text);
    let mut dataset = open(&[&path], &ReadOptions::default()).unwrap();
    let pilot = dataset.pilot(2000, 1).unwrap();
    assert!(pilot.n_rows > 900, "{}", pilot.n_rows);
    assert!(pilot.rows.chunks(2).all(|row| row[1] == 0.5));
}

#[test]
fn many_files_all_have_a_chance() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("many")).unwrap();
    for i in 0..40 {
        let values = vec![f64::from(i); 60_000];
        folder.file(&format!("many/{i:02}.npy"), Table { values, dim: 2 }.npy("<f8", false));
    }
    let mut dataset = Dataset::open(&[folder.path("many")], &ReadOptions::default()).unwrap();
    let mut seen = HashSet::new();
    for seed in 0..12 {
        let pilot = dataset.pilot(320, seed).unwrap();
        let files: HashSet<u64> = pilot.rows.iter().map(|v| *v as u64).collect();
        assert_eq!((files.len(), pilot.n_rows), (16, 320));
        seen.extend(files);
    }
    assert!(seen.len() > 35, "{} of 40 files", seen.len());
}
