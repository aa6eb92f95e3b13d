//! Every kind of bad input has its error, with place and remedy.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use compressive_io::{Dataset, Error, ReadOptions};

use crate::support::*;

fn skipping() -> ReadOptions {
    ReadOptions { skip_bad_rows: true, ..ReadOptions::default() }
}

#[test]
fn bad_values_in_text_are_named_with_file_row_line_and_column() {
    let folder = Folder::new();
    for (bad, shown) in [
        ("nan", "\"nan\""),
        ("inf", "\"inf\""),
        ("-Infinity", "\"-Infinity\""),
        ("", "an empty field"),
        ("  ", "an empty field"),
        ("abc", "\"abc\""),
        ("NA", "\"NA\""),
        ("1e999", "\"1e999\""),
        ("\"x\ny\"", "\"x\\ny\""),
    ] {
        let path = folder.file("a.csv", format!("a,b\n1,2\n3,4\n5,{bad}\n7,8\n"));
        let message = failure(read_file(&path, &ReadOptions::default()));
        assert_says(
            &message,
            &["a.csv, row 3, line 4, column \"b\"", shown, "leave such rows out", "leave the column out"],
        );
        let rows = read_file(&path, &skipping()).unwrap();
        assert_eq!((rows.values, rows.skipped), (vec![1.0, 2.0, 3.0, 4.0, 7.0, 8.0], 1), "{bad:?}");
        assert_eq!(rows.numbers, [1, 2, 4]);
    }
}

#[test]
fn ragged_rows_are_named_with_the_fields_expected_and_found() {
    let folder = Folder::new();
    let path = folder.file("a.csv", "a,b\n1,2\n\n3\n4,5,6\n7,8\n");
    let message = failure(read_file(&path, &ReadOptions::default()));
    assert_says(
        &message,
        &["a.csv, row 2, line 4", "1 fields where 2 are expected", "leave such rows out", "delimiter"],
    );
    let rows = read_file(&path, &skipping()).unwrap();
    assert_eq!((rows.values, rows.skipped, rows.numbers), (vec![1.0, 2.0, 7.0, 8.0], 2, vec![1, 4]));
}

#[test]
fn bad_values_in_arrays_are_named_with_file_row_and_column() {
    let folder = Folder::new();
    let mut table = Table::new(50, 2);
    (table.values[61], table.values[80]) = (f64::NAN, f64::NEG_INFINITY);
    for path in [
        folder.file("a.npy", table.npy("<f4", false)),
        folder.file("b.npy", table.npy("<f8", true)),
        folder.file("c.parquet", parquet_bytes(&table.batch(true), 20)),
        folder.file("d.arrow", arrow_file_bytes(&table.batch(false), 20)),
        folder.file("e.arrows", arrow_stream_bytes(&table.batch(false), 20)),
    ] {
        let message = failure(read_file(&path, &ReadOptions::default()));
        assert_says(&message, &[&path, "row 31", "column \"x1\"", "NaN", "leave such rows out"]);
        let rows = read_file(&path, &skipping()).unwrap();
        assert_eq!((rows.values.len(), rows.skipped), (96, 2), "{path}");
        assert!(!rows.numbers.contains(&31) && !rows.numbers.contains(&41), "{path}");
        assert_eq!(rows.numbers.last(), Some(&50), "{path}");
    }
}

#[test]
fn nulls_are_bad_values_weights_and_groups() {
    let folder = Folder::new();
    let batch = RecordBatch::try_from_iter([
        ("g", Arc::new(StringArray::from(vec![Some("a"), None, Some("c"), Some("d")])) as ArrayRef),
        ("w", Arc::new(Float64Array::from(vec![Some(1.0), Some(1.0), None, Some(4.0)])) as ArrayRef),
        ("x", Arc::new(Float64Array::from(vec![None, Some(1.0), Some(2.0), Some(3.0)])) as ArrayRef),
    ])
    .unwrap();
    let path = folder.file("a.parquet", parquet_bytes(&batch, 10));
    assert_says(
        &failure(read_file(&path, &ReadOptions { exclude: vec!["w".into()], ..ReadOptions::default() })),
        &["row 1", "column \"x\"", "null"],
    );
    let by = |columns: &str| ReadOptions {
        columns: Some(vec![columns.into()]),
        by: (columns == "w").then(|| "g".into()),
        weights: (columns == "x").then(|| "w".into()),
        skip_bad_rows: false,
        ..ReadOptions::default()
    };
    assert_says(&failure(read_file(&path, &by("w"))), &["row 2", "column \"g\"", "null", "names no group"]);
    let options = ReadOptions {
        by: Some("g".into()),
        weights: Some("w".into()),
        skip_bad_rows: true,
        ..ReadOptions::default()
    };
    let rows = read_file(&path, &options).unwrap();
    assert_eq!((rows.values, rows.weights, rows.keys), (vec![3.0], vec![4.0], vec!["d".to_owned()]));
    assert_eq!((rows.skipped, rows.numbers), (3, vec![4]));
}

#[test]
fn weights_must_be_finite_and_not_negative() {
    let folder = Folder::new();
    for bad in ["-1", "nan", "", "x", "1e30"] {
        let path = folder.file("a.csv", format!("w,x\n1,1\n2,2\n{bad},3\n"));
        let options = ReadOptions { weights: Some("w".into()), ..ReadOptions::default() };
        let message = failure(read_file(&path, &options));
        assert_says(&message, &["row 3", "line 4", "weight column \"w\"", "from 0 to 2^28"]);
        let rows = read_file(&path, &ReadOptions { skip_bad_rows: true, ..options }).unwrap();
        assert_eq!((rows.weights, rows.skipped), (vec![1.0, 2.0], 1), "{bad:?}");
    }
    let table = Table { values: vec![1.0, -2.0, 3.0, 4.0], dim: 2 };
    let path = folder.file("a.npy", table.npy("<f8", false));
    let options = ReadOptions { weights: Some("x1".into()), ..ReadOptions::default() };
    assert_says(&failure(read_file(&path, &options)), &["row 1", "\"x1\"", "-2"]);
}

#[test]
fn empty_and_header_only_files_are_told_apart() {
    let folder = Folder::new();
    for name in ["a.csv", "a.npy", "a.parquet", "a.arrow", "a.arrows", "a.csv.gz", "a.unknown"] {
        let message = failure(open(&[&folder.file(name, "")], &ReadOptions::default()));
        assert_says(&message, &[name, "is empty"]);
    }
    let blank = folder.file("blank.csv", "\n \n".replace(' ', ""));
    assert_says(&failure(open(&[&blank], &ReadOptions::default())), &["blank.csv", "is empty"]);
    let header = folder.file("header.csv", "a,b\n");
    assert_says(&failure(open(&[&header], &ReadOptions::default())), &["header.csv", "2 columns", "no row"]);
    let none = folder.file("none.npy", npy_bytes("<f4", false, "(0, 3)", &[]));
    assert_says(&failure(open(&[&none], &ReadOptions::default())), &["none.npy", "3 columns", "no row"]);
    let none = folder.file("none.parquet", parquet_bytes(&Table { values: vec![], dim: 2 }.batch(true), 5));
    assert_says(&failure(open(&[&none], &ReadOptions::default())), &["none.parquet", "no row"]);
}

#[test]
fn a_file_without_rows_among_others_is_no_error() {
    let folder = Folder::new();
    let paths =
        [folder.file("a.csv", "a,b\n"), folder.file("b.csv", "a,b\n1,2\n"), folder.file("c.csv", "a,b")];
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let mut dataset = open(&paths, &ReadOptions::default()).unwrap();
    assert_eq!(read(&mut dataset).unwrap().values, [1.0, 2.0]);
    assert_eq!(dataset.pilot(10, 1).unwrap().rows, [1.0, 2.0]);
}

#[test]
fn no_numeric_column_is_an_error_that_lists_the_others() {
    let folder = Folder::new();
    let path = folder.file("a.csv", "name,city\nAnn,Paris\nBob,Rome\n");
    let message = failure(open(&[&path], &ReadOptions::default()));
    assert_says(&message, &["no numeric column", "\"name\": text", "\"city\": text", "name the columns"]);
    let path = folder.file("b.npy", npy_bytes("<f4", false, "(4, 0)", &[]));
    assert_says(&failure(open(&[&path], &ReadOptions::default())), &["b.npy", "no numeric column"]);
    let path = folder.file("c.csv", "x\n1\n");
    let options = ReadOptions { exclude: vec!["x".into()], ..ReadOptions::default() };
    assert_says(&failure(open(&[&path], &options)), &["no numeric column", "excluded"]);
}

#[test]
fn missing_and_unknown_files_are_told_apart() {
    let folder = Folder::new();
    let missing = folder.path("absent.csv");
    let result = open(&[&missing], &ReadOptions::default());
    assert!(matches!(result, Err(Error::NotFound { .. })));
    assert_says(&failure(result), &["no such file", "absent.csv"]);
    let unknown = folder.file("a.json", "{\"x\": 1}");
    assert_says(
        &failure(open(&[&unknown], &ReadOptions::default())),
        &["a.json", ".csv", ".parquet", "rename"],
    );
    let parquet = folder.file("data.bin", parquet_bytes(&Table::new(3, 1).batch(true), 10));
    assert_eq!(read_file(&parquet, &ReadOptions::default()).unwrap().values.len(), 3);
    let wide = folder.file("wide.csv", [0xff, 0xfe, b'a', 0, b'\n', 0]);
    assert_says(&failure(open(&[&wide], &ReadOptions::default())), &["UTF-16", "iconv"]);
    let archive = folder.file("a.npz", b"PK\x03\x04rest");
    assert_says(&failure(open(&[&archive], &ReadOptions::default())), &["zip archive", ".npy"]);
}

#[test]
fn an_unclosed_quote_is_reported_with_its_line() {
    let folder = Folder::new();
    let path = folder.file("a.csv", "n,x\na,1\nb,2\n\"c,3\nd,4\n");
    let message = failure(read_file(&path, &ReadOptions::default()));
    assert_says(&message, &["a.csv, line 4", "quote"]);
}

#[test]
fn streams_of_formats_with_an_index_at_the_end_are_refused() {
    let table = Table::new(10, 2);
    let stream = |bytes: Vec<u8>| {
        let reader = Box::new(std::io::Cursor::new(bytes));
        failure(Dataset::from_reader("<stdin>", reader, &ReadOptions::default()))
    };
    assert_says(&stream(parquet_bytes(&table.batch(true), 5)), &["<stdin>", "Parquet", "by name"]);
    assert_says(&stream(arrow_file_bytes(&table.batch(true), 5)), &["<stdin>", "Arrow file", "by name"]);
    assert_says(&stream(table.npy("<f4", true)), &["<stdin>", "Fortran order", "C order"]);
    assert_says(&stream(vec![]), &["<stdin>", "is empty"]);
    let mut short = table.npy("<f4", false);
    short.truncate(short.len() - 3);
    let reader = Box::new(std::io::Cursor::new(short));
    let mut dataset = Dataset::from_reader("<stdin>", reader, &ReadOptions::default()).unwrap();
    assert_says(&failure(read(&mut dataset)), &["<stdin>", "truncated"]);
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let folder = Folder::new();
    let path = folder.file("a.csv", [1, 0, 2, 0, 10, 3, 0]);
    assert_says(
        &failure(open(&[&path], &ReadOptions::default())),
        &["a.csv", "not a valid text file", "zero bytes"],
    );
    let path = folder.file("b.csv", b"a,b\r1,2\r3,4\r");
    assert_says(&failure(open(&[&path], &ReadOptions::default())), &["b.csv", "carriage returns", "tr "]);
}

#[test]
fn more_files_than_can_be_open_at_once_are_read() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("many")).unwrap();
    let table = Table::new(2, 1);
    let batch = table.batch(true);
    for i in 0..1500 {
        let (name, bytes) = match i % 5 {
            0 => ("npy", table.npy("<f4", false)),
            1 => ("csv", table.csv(',', "\n").into_bytes()),
            2 => ("parquet", parquet_bytes(&batch, 10)),
            3 => ("arrow", arrow_file_bytes(&batch, 10)),
            _ => ("arrows", arrow_stream_bytes(&batch, 10)),
        };
        folder.file(&format!("many/{i:04}.{name}"), bytes);
    }
    let mut dataset = Dataset::open(&[folder.path("many")], &ReadOptions::default()).unwrap();
    assert_eq!(read(&mut dataset).unwrap().values, table.values.repeat(1500));
    assert_eq!(dataset.pilot(5000, 1).unwrap().n_rows, 3000);
}
