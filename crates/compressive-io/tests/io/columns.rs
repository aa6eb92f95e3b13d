//! Which columns are used, and what is said about the others.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, Date32Array, Int32Array, RecordBatch, StringArray, TimestampSecondArray};
use compressive_io::ReadOptions;

use crate::support::*;

fn reasons(path: &str, options: &ReadOptions) -> Vec<(String, String)> {
    let dataset = open(&[path], options).unwrap();
    dataset.left_out().iter().map(|column| (column.name.clone(), column.reason.clone())).collect()
}

#[test]
fn text_columns_are_left_out_and_said_so() {
    let folder = Folder::new();
    let path = folder.file("a.csv", "city,x,empty,y\nParis,1,,2\nRome,3,,4\n");
    let dataset = open(&[&path], &ReadOptions::default()).unwrap();
    assert_eq!(dataset.columns(), ["x", "y"]);
    let expected = [("city", "text (such as \"Paris\")"), ("empty", "empty")];
    assert_eq!(reasons(&path, &ReadOptions::default()), expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
}

#[test]
fn times_and_nested_columns_of_parquet_are_left_out() {
    let folder = Folder::new();
    let mut list = ListBuilder::new(StringBuilder::new());
    list.append_value([Some("a"), Some("b")]);
    list.append_null();
    let batch = RecordBatch::try_from_iter([
        ("when", Arc::new(TimestampSecondArray::from(vec![1, 2])) as ArrayRef),
        ("day", Arc::new(Date32Array::from(vec![1, 2])) as ArrayRef),
        ("list", Arc::new(list.finish()) as ArrayRef),
        ("name", Arc::new(StringArray::from(vec!["a", "b"])) as ArrayRef),
        ("x", Arc::new(Int32Array::from(vec![3, 4])) as ArrayRef),
    ])
    .unwrap();
    let expected =
        [("when", "a date or time"), ("day", "a date or time"), ("list", "nested"), ("name", "text")];
    for path in [
        folder.file("a.parquet", parquet_bytes(&batch, 10)),
        folder.file("a.arrow", arrow_file_bytes(&batch, 10)),
        folder.file("a.arrows", arrow_stream_bytes(&batch, 10)),
    ] {
        assert_eq!(
            reasons(&path, &ReadOptions::default()),
            expected.map(|(a, b)| (a.to_owned(), b.to_owned()))
        );
        assert_eq!(read_file(&path, &ReadOptions::default()).unwrap().values, [3.0, 4.0], "{path}");
        let by = ReadOptions { by: Some("name".into()), ..ReadOptions::default() };
        assert_eq!(read_file(&path, &by).unwrap().keys, ["a", "b"], "{path}");
        let by = ReadOptions { by: Some("day".into()), ..ReadOptions::default() };
        assert_eq!(read_file(&path, &by).unwrap().keys, ["1970-01-02", "1970-01-03"], "{path}");
        let by = ReadOptions { by: Some("list".into()), ..ReadOptions::default() };
        assert_says(&failure(open(&[&path], &by)), &["list", "nested", "group by"]);
    }
}

#[test]
fn excluded_weight_and_group_columns_are_no_features() {
    let folder = Folder::new();
    let path = folder.file("a.csv", "g,w,x,y\n1,2,3,4\n5,6,7,8\n");
    let options = ReadOptions {
        exclude: vec!["y".into()],
        by: Some("g".into()),
        weights: Some("w".into()),
        ..ReadOptions::default()
    };
    let dataset = open(&[&path], &options).unwrap();
    assert_eq!(dataset.columns(), ["x"]);
    assert_eq!(dataset.left_out().len(), 3);
}

#[test]
fn an_absent_column_is_an_error_with_close_names() {
    let folder = Folder::new();
    let path = folder.file("a.csv", "height,weight,age\n1,2,3\n");
    let columns = |name: &str| ReadOptions { columns: Some(vec![name.into()]), ..ReadOptions::default() };
    let message = failure(open(&[&path], &columns("heigth")));
    assert_says(&message, &["a.csv", "\"heigth\"", "asked for by columns", "did you mean \"height\"?"]);
    let message = failure(open(&[&path], &columns("WEIGHT")));
    assert_says(&message, &["did you mean \"weight\" or \"height\"?"]);
    let message = failure(open(&[&path], &columns("salary")));
    assert_says(&message, &["its 3 columns are height, weight, age"]);
    for options in [
        ReadOptions { exclude: vec!["agee".into()], ..ReadOptions::default() },
        ReadOptions { by: Some("agee".into()), ..ReadOptions::default() },
        ReadOptions { weights: Some("agee".into()), ..ReadOptions::default() },
    ] {
        assert_says(
            &failure(open(&[&path], &options)),
            &["\"agee\"", "did you mean \"age\"?", "(asked for by "],
        );
    }
}

#[test]
fn a_text_column_asked_for_by_name_is_an_error() {
    let folder = Folder::new();
    let path = folder.file("a.csv", "city,x\nParis,1\nRome,2\n");
    let options = ReadOptions { columns: Some(vec!["city".into()]), ..ReadOptions::default() };
    assert_says(
        &failure(open(&[&path], &options)),
        &["\"city\"", "used by columns", "text (such as \"Paris\")"],
    );
    let options = ReadOptions { weights: Some("city".into()), ..ReadOptions::default() };
    assert_says(&failure(open(&[&path], &options)), &["\"city\"", "used by weights", "numeric"]);
}

#[test]
fn columns_of_one_name_are_told_apart_and_it_is_said() {
    let folder = Folder::new();
    let path = folder.file("a.csv", "x,x,y\n1,2,3\n");
    let dataset = open(&[&path], &ReadOptions::default()).unwrap();
    assert_eq!(dataset.columns(), ["x", "x.1", "y"]);
    assert_eq!(dataset.remarks(), ["another column named `x` is called `x.1`"]);
    let options = ReadOptions { exclude: vec!["x".into()], ..ReadOptions::default() };
    assert_eq!(read_file(&path, &options).unwrap().values, [2.0, 3.0]);
}

#[test]
fn files_with_other_columns_are_refused_and_told_apart() {
    let folder = Folder::new();
    let one = folder.file("one.csv", "a,b\n1,2\n");
    let two = folder.file("two.csv", "b,c\n3,4\n");
    let message = failure(open(&[&one, &two], &ReadOptions::default()));
    assert_says(
        &message,
        &["two.csv", "one.csv", "it lacks \"a\"", "it has \"c\" besides", "name the common columns"],
    );
    let options = ReadOptions { columns: Some(vec!["b".into()]), ..ReadOptions::default() };
    assert_eq!(read(&mut open(&[&one, &two], &options).unwrap()).unwrap().values, [2.0, 3.0]);
}

#[test]
fn the_order_of_columns_may_differ_between_files() {
    let folder = Folder::new();
    let one = folder.file("one.csv", "a,b\n1,2\n");
    let two = folder.file("two.csv", "b,a\n4,3\n");
    let rows = read(&mut open(&[&one, &two], &ReadOptions::default()).unwrap()).unwrap();
    assert_eq!(rows.values, [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn a_column_of_another_type_in_a_later_file_is_refused() {
    let folder = Folder::new();
    let numbers =
        RecordBatch::try_from_iter([("x", Arc::new(Int32Array::from(vec![3])) as ArrayRef)]).unwrap();
    let texts =
        RecordBatch::try_from_iter([("x", Arc::new(StringArray::from(vec!["a"])) as ArrayRef)]).unwrap();
    let one = folder.file("one.parquet", parquet_bytes(&numbers, 10));
    let two = folder.file("two.parquet", parquet_bytes(&texts, 10));
    let message =
        failure(open(&[&one, &two], &ReadOptions::default()).and_then(|mut dataset| read(&mut dataset)));
    assert_says(&message, &["two.parquet", "\"x\"", "text"]);
}
