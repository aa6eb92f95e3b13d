//! One sketch per group.

use compressive_io::{DriveOptions, ReadOptions};

use crate::driver::sketch;
use crate::support::*;

fn by(column: &str) -> ReadOptions {
    ReadOptions { by: Some(column.into()), ..ReadOptions::default() }
}

#[test]
fn every_group_has_the_sketch_of_its_rows() {
    let folder = Folder::new();
    let table = Table::new(5000, 2);
    let names = ["north", "south", "east"];
    let region = |i: usize| names[(i * i + i / 7) % 3];
    let line = |i: usize| format!("{},{},{}\n", region(i), table.values[2 * i], table.values[2 * i + 1]);
    let all: String = (0..5000).map(line).collect();
    let path = folder.file("all.csv", format!("region,x0,x1\n{all}"));
    for (threads, chunk_rows) in [(1, 4096), (3, 1), (2, 500)] {
        let options = ReadOptions { chunk_rows, ..by("region") };
        let drive = DriveOptions { threads, ..DriveOptions::default() };
        let found = sketch(&[&path], &options, &drive).unwrap();
        assert_eq!(found.sketches.keys().collect::<Vec<_>>(), ["east", "north", "south"]);
        for name in names {
            let rows = (0..5000)
                .filter(|i| region(*i) == name)
                .flat_map(|i| table.values[2 * i..2 * i + 2].to_vec());
            let only = Table { values: rows.collect(), dim: 2 };
            let path = folder.file("only.npy", only.npy("<f8", false));
            let expected = sketch(&[&path], &ReadOptions::default(), &DriveOptions::default()).unwrap();
            assert_eq!(found.sketches[name].to_bytes(), expected.sketches[""].to_bytes(), "{name}");
        }
    }
}

#[test]
fn groups_with_weights_keep_the_weights_of_their_rows() {
    let folder = Folder::new();
    let path = folder.file("a.csv", "g,w,x\na,2,1\nb,1,5\na,1,3\nb,3,6\n");
    let options = ReadOptions { weights: Some("w".into()), ..by("g") };
    let found = sketch(&[&path], &options, &DriveOptions::default()).unwrap();
    for (name, copies) in [("a", "x\n1\n1\n3\n"), ("b", "x\n5\n6\n6\n6\n")] {
        let path = folder.file("copies.csv", copies);
        let expected = sketch(&[&path], &ReadOptions::default(), &DriveOptions::default()).unwrap();
        assert_eq!(found.sketches[name].sums(), expected.sketches[""].sums(), "{name}");
    }
}

#[test]
fn more_groups_than_the_bound_is_an_error_and_the_bound_itself_is_not() {
    let folder = Folder::new();
    let rows: String = (0..2000).map(|i| format!("k{},{i}\n", i % 50)).collect();
    let path = folder.file("a.csv", format!("key,x\n{rows}"));
    for threads in [1, 3] {
        let drive = DriveOptions { threads, max_groups: 49, ..DriveOptions::default() };
        let message = failure(sketch(&[&path], &by("key"), &drive));
        assert_says(&message, &["column \"key\"", "more than 49", "coarser", "raise the bound"]);
        let drive = DriveOptions { threads, max_groups: 50, ..DriveOptions::default() };
        assert_eq!(sketch(&[&path], &by("key"), &drive).unwrap().sketches.len(), 50);
    }
}

#[test]
fn a_missing_key_is_an_error() {
    let folder = Folder::new();
    let path = folder.file("a.csv", "key,x\na,1\n,2\n");
    let message = failure(sketch(&[&path], &by("key"), &DriveOptions::default()));
    assert_says(&message, &["row 2", "line 3", "column \"key\"", "names no group"]);
}
