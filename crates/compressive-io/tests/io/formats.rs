//! The same rows in every format.

use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, DictionaryArray, Float32Array, Float64Array, Int32Array,
    Int64Array, RecordBatch, UInt8Array,
};
use compressive_io::{Dataset, ReadOptions};
use proptest::prelude::*;

use crate::support::*;

fn all_files(folder: &Folder, table: &Table) -> Vec<String> {
    let (single, double) = (table.batch(true), table.batch(false));
    vec![
        folder.file("a.csv", table.csv(',', "\n")),
        folder.file("b.tsv", table.csv('\t', "\r\n")),
        folder.file("c.txt", table.csv(';', "\n").trim_end()),
        folder.file("d.csv.gz", gzip(table.csv('|', "\n").as_bytes())),
        folder.file("e.npy", table.npy("<f4", false)),
        folder.file("f.npy", table.npy("<f4", true)),
        folder.file("g.npy", table.npy("<f8", false)),
        folder.file("h.npy", table.npy("<f8", true)),
        folder.file("i.parquet", parquet_bytes(&single, 700)),
        folder.file("j.parquet", parquet_bytes(&double, 1 << 20)),
        folder.file("k.arrow", arrow_file_bytes(&single, 300)),
        folder.file("l.feather", arrow_file_bytes(&double, 1 << 20)),
        folder.file("m.arrows", arrow_stream_bytes(&single, 300)),
        folder.file("n.arrow", arrow_stream_bytes(&double, 1000)),
    ]
}

fn is_stream(path: &str) -> bool {
    ["csv", "tsv", "txt", "gz", "arrows", "n.arrow", "e.npy", "g.npy"].iter().any(|end| path.ends_with(end))
}

#[test]
fn the_same_rows_come_from_every_format() {
    let folder = Folder::new();
    let table = Table::new(2500, 3);
    let numbers: Vec<u64> = (1..=2500).collect();
    for path in all_files(&folder, &table) {
        for chunk_rows in [1, 7, 4096] {
            let options = ReadOptions { chunk_rows, ..ReadOptions::default() };
            let mut dataset = open(&[&path], &options).unwrap();
            assert_eq!(dataset.columns(), table.names(), "{path}");
            let rows = read(&mut dataset).unwrap();
            assert!(rows.values == table.values, "{path}, chunks of {chunk_rows}");
            assert_eq!(rows.numbers, numbers, "{path}, chunks of {chunk_rows}");
            if let Some(known) = dataset.n_rows() {
                assert_eq!(known, 2500, "{path}");
            }
        }
    }
}

#[test]
fn the_same_rows_come_through_a_stream() {
    let folder = Folder::new();
    let table = Table::new(2500, 3);
    for path in all_files(&folder, &table).iter().filter(|path| is_stream(path)) {
        let bytes = std::fs::read(path).unwrap();
        let reader = Box::new(std::io::Cursor::new(bytes));
        let mut dataset = Dataset::from_reader("<stdin>", reader, &ReadOptions::default()).unwrap();
        assert_eq!(dataset.n_bytes(), None);
        dataset.pilot(100, 1).unwrap();
        assert!(read(&mut dataset).unwrap().values == table.values, "{path}");
        assert_says(&failure(read(&mut dataset)), &["<stdin>", "read already"]);
    }
}

#[test]
fn files_can_be_read_again_and_single_precision_is_kept() {
    let folder = Folder::new();
    let table = Table::new(100, 2);
    for path in all_files(&folder, &table) {
        let mut dataset = open(&[&path], &ReadOptions::default()).unwrap();
        let first = read(&mut dataset).unwrap();
        assert_eq!(first, read(&mut dataset).unwrap(), "{path}");
        let expected =
            ["e.npy", "f.npy", "i.parquet", "k.arrow", "m.arrows"].iter().any(|end| path.ends_with(end));
        assert_eq!(first.singles, expected, "{path}");
    }
}

#[test]
fn columns_come_in_the_order_asked_for_from_every_format() {
    let folder = Folder::new();
    let table = Table::new(50, 4);
    let expected: Vec<f64> = table.values.chunks(4).flat_map(|row| [row[3], row[1]]).collect();
    let options = ReadOptions { columns: Some(vec!["x3".into(), "x1".into()]), ..ReadOptions::default() };
    for path in all_files(&folder, &table) {
        assert_eq!(read_file(&path, &options).unwrap().values, expected, "{path}");
    }
}

#[test]
fn weights_and_groups_come_from_every_format() {
    let folder = Folder::new();
    let mut table = Table::new(40, 3);
    table.values.chunks_mut(3).enumerate().for_each(|(i, row)| (row[0], row[2]) = ((i % 3) as f64, i as f64));
    let options = ReadOptions { by: Some("x0".into()), weights: Some("x2".into()), ..ReadOptions::default() };
    for path in all_files(&folder, &table) {
        let rows = read_file(&path, &options).unwrap();
        assert_eq!(rows.values, table.column(1), "{path}");
        assert_eq!(rows.weights, table.column(2), "{path}");
        let keys: Vec<String> = (0..40).map(|i| (i % 3).to_string()).collect();
        assert_eq!(rows.keys, keys, "{path}");
    }
}

#[test]
fn many_row_groups_and_large_batches_keep_their_row_numbers() {
    let folder = Folder::new();
    let table = Table::new(200_000, 1);
    let numbers: Vec<u64> = (1..=200_000).collect();
    let batch = table.batch(true);
    for path in [
        folder.file("groups.parquet", parquet_bytes(&batch, 10_000)),
        folder.file("large.parquet", parquet_bytes(&batch, 1 << 20)),
        folder.file("one.arrow", arrow_file_bytes(&batch, 1 << 20)),
        folder.file("mixed.arrow", arrow_file_bytes(&batch, 150_000)),
        folder.file("one.arrows", arrow_stream_bytes(&batch, 1 << 20)),
        folder.file("rows.npy", table.npy("<f4", false)),
    ] {
        let rows = read_file(&path, &ReadOptions::default()).unwrap();
        assert!(rows.values == table.values, "{path}");
        assert!(rows.numbers == numbers, "{path}");
    }
}

#[test]
fn integers_booleans_decimals_and_dictionaries_are_numbers() {
    let folder = Folder::new();
    let dictionary: DictionaryArray<Int8Type> =
        DictionaryArray::new(vec![1i8, 0, 1].into(), Arc::new(Int64Array::from(vec![5, 6])));
    let batch = RecordBatch::try_from_iter([
        ("i", Arc::new(Int64Array::from(vec![1, -2, 3])) as ArrayRef),
        ("u", Arc::new(UInt8Array::from(vec![255, 0, 1])) as ArrayRef),
        ("b", Arc::new(BooleanArray::from(vec![true, false, true])) as ArrayRef),
        (
            "d",
            Arc::new(Decimal128Array::from(vec![123, -1, 0]).with_precision_and_scale(9, 2).unwrap())
                as ArrayRef,
        ),
        ("f", Arc::new(Float32Array::from(vec![0.5, 1.5, 2.5])) as ArrayRef),
        ("k", Arc::new(dictionary) as ArrayRef),
    ])
    .unwrap();
    let expected =
        [1.0, 255.0, 1.0, 1.23, 0.5, 6.0, -2.0, 0.0, 0.0, -0.01, 1.5, 5.0, 3.0, 1.0, 1.0, 0.0, 2.5, 6.0];
    for path in [
        folder.file("a.parquet", parquet_bytes(&batch, 2)),
        folder.file("a.arrow", arrow_file_bytes(&batch, 2)),
        folder.file("a.arrows", arrow_stream_bytes(&batch, 2)),
    ] {
        assert_eq!(read_file(&path, &ReadOptions::default()).unwrap().values, expected, "{path}");
    }
}

#[test]
fn npy_integers_and_one_dimension_are_read() {
    let folder = Folder::new();
    let table = Table { values: vec![1.0, 2.0, 3.0, 100.0, 5.0, 6.0], dim: 2 };
    for descr in ["<i2", "<i8", "|u1"] {
        for fortran in [false, true] {
            let path = folder.file("a.npy", table.npy(descr, fortran));
            assert_eq!(read_file(&path, &ReadOptions::default()).unwrap().values, table.values);
        }
    }
    let data: Vec<u8> = [1.5f64, -2.5].iter().flat_map(|v| v.to_le_bytes()).collect();
    let path = folder.file("one.npy", npy_bytes("<f8", true, "(2,)", &data));
    let mut dataset = open(&[&path], &ReadOptions::default()).unwrap();
    assert_eq!(dataset.columns(), ["x0"]);
    assert_eq!(read(&mut dataset).unwrap().values, [1.5, -2.5]);
}

#[test]
fn large_integers_are_not_rounded_as_group_keys() {
    let folder = Folder::new();
    let ids = [9_007_199_254_740_993i64, -9_007_199_254_740_993];
    let data: Vec<u8> = [ids[0], 1, ids[1], 2].iter().flat_map(|v| v.to_le_bytes()).collect();
    let npy = folder.file("a.npy", npy_bytes("<i8", false, "(2, 2)", &data));
    let batch = RecordBatch::try_from_iter([
        ("x0", Arc::new(Int64Array::from(ids.to_vec())) as ArrayRef),
        ("x1", Arc::new(Int32Array::from(vec![1, 2])) as ArrayRef),
    ])
    .unwrap();
    let options = ReadOptions { by: Some("x0".into()), ..ReadOptions::default() };
    for path in [npy, folder.file("a.parquet", parquet_bytes(&batch, 10))] {
        assert_eq!(read_file(&path, &options).unwrap().keys, ids.map(|id| id.to_string()), "{path}");
    }
}

#[test]
fn several_files_directories_and_globs_are_one_table() {
    let folder = Folder::new();
    let (one, two) = (Table::new(30, 2), Table::new(40, 2));
    std::fs::create_dir(folder.path("sub")).unwrap();
    folder.file("sub/b.csv", two.csv(',', "\n"));
    folder.file("sub/a.npy", one.npy("<f4", false));
    folder.file("sub/notes.md", "no table");
    let expected: Vec<f64> = [&one.values[..], &two.values[..]].concat();
    for inputs in [
        vec![folder.path("sub/a.npy"), folder.path("sub/b.csv")],
        vec![folder.path("sub")],
        vec![folder.path("s*/*.[cn]*")],
    ] {
        let mut dataset = Dataset::open(&inputs, &ReadOptions::default()).unwrap();
        assert_eq!(dataset.paths().count(), 2);
        assert_eq!(read(&mut dataset).unwrap().values, expected, "{inputs:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn any_numbers_survive_text_npy_parquet_and_arrow_bit_for_bit(
        values in prop::collection::vec(prop::num::f64::NORMAL | prop::num::f64::ZERO | prop::num::f64::SUBNORMAL, 2..60),
    ) {
        let values = values[..values.len() / 2 * 2].to_vec();
        let folder = Folder::new();
        let table = Table { values: values.clone(), dim: 2 };
        let column = |i: usize| Arc::new(Float64Array::from(table.column(i))) as ArrayRef;
        let batch = RecordBatch::try_from_iter([("x0", column(0)), ("x1", column(1))]).unwrap();
        for path in [
            folder.file("a.csv", table.csv(',', "\n")),
            folder.file("b.npy", table.npy("<f8", true)),
            folder.file("c.parquet", parquet_bytes(&batch, 5)),
            folder.file("d.arrow", arrow_file_bytes(&batch, 5)),
        ] {
            let found = read_file(&path, &ReadOptions::default()).unwrap().values;
            let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<u64>>();
            prop_assert_eq!(bits(&found), bits(&values), "{}", path);
        }
    }
}
