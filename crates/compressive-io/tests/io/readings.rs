//! Columns that are no plain numbers: dates, categories, vectors, circles; the same rows from every format.

use std::sync::Arc;

use arrow_array::builder::{FixedSizeListBuilder, Float32Builder, ListBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, DictionaryArray, Float32Array, Float64Array, RecordBatch,
    RecordBatchIterator, StringArray, Time64MicrosecondArray, TimestampMicrosecondArray,
};
use compressive::{Column, FrequencyLaw, Missing, Reading, SketchOperator, SketchSpec};
use compressive_io::{Cyclic, Dataset, DriveOptions, ReadOptions, sketch_dataset};

use crate::support::*;

const N: usize = 200;

fn text(i: usize) -> Option<&'static str> {
    (i % 7 != 3).then_some(["red", "green", "blue", "red"][i % 4])
}

fn vectors() -> (ArrayRef, ArrayRef) {
    let mut fixed = FixedSizeListBuilder::new(Float32Builder::new(), 2);
    let mut list = ListBuilder::new(Float32Builder::new());
    for i in 0..N {
        for value in [i as f32 * 0.5, 1.0 / (i + 1) as f32] {
            fixed.values().append_value(value);
            list.values().append_value(value);
        }
        fixed.append(true);
        list.append(true);
    }
    (Arc::new(fixed.finish()), Arc::new(list.finish()))
}

/// A table with a column of every kind; `stored` otherwise: text as a dictionary, days as text, lists.
fn batch(stored_otherwise: bool) -> RecordBatch {
    let texts: StringArray = (0..N).map(text).collect();
    let dictionary: DictionaryArray<Int32Type> = (0..N).map(text).collect();
    let days = Date32Array::from_iter_values((0..N).map(|i| 15_706 + i as i32));
    let written: StringArray =
        (0..N).map(|i| Some(compressive::calendar::show((15_706 + i) as f64 * 86_400.0, false))).collect();
    let instants = TimestampMicrosecondArray::from_iter_values((0..N).map(instant)).with_timezone("+02:00");
    let (fixed, list) = vectors();
    let pick = |a: ArrayRef, b: ArrayRef| if stored_otherwise { b } else { a };
    RecordBatch::try_from_iter_with_nullable([
        ("x", Arc::new(Float64Array::from_iter_values((0..N).map(|i| i as f64))) as ArrayRef, true),
        ("colour", pick(Arc::new(texts), Arc::new(dictionary)), true),
        ("day", pick(Arc::new(days), Arc::new(written)), true),
        ("at", Arc::new(instants), true),
        ("ok", Arc::new(BooleanArray::from_iter((0..N).map(|i| Some(i % 3 == 0)))), true),
        ("v", pick(fixed, list), true),
    ])
    .unwrap()
}

fn instant(i: usize) -> i64 {
    1_357_016_400_250_000 + i as i64 * 3_600_000_000
}

fn csv() -> String {
    let mut out = "x,colour,day,at,ok,v[0],v[1]\n".to_owned();
    for i in 0..N {
        let colour = text(i).unwrap_or("NA");
        let day = compressive::calendar::show((15_706 + i) as f64 * 86_400.0, false);
        let whole = compressive::calendar::show((instant(i) / 1_000_000) as f64, true);
        let ok = if i % 3 == 0 { "True" } else { "FALSE" };
        let (a, b) = (i as f32 * 0.5, 1.0 / (i + 1) as f32);
        out += &format!("{i},\" {colour} \",{day},{whole}.250,{ok},{},{}\n", f64::from(a), f64::from(b));
    }
    out
}

fn interpreted() -> ReadOptions {
    ReadOptions { interpret: true, missing: Missing::Fill, ..ReadOptions::default() }
}

/// The bits of all values, so that NaN equals NaN.
fn bits(rows: &Rows) -> Vec<u64> {
    rows.values.iter().map(|x| if x.is_nan() { u64::MAX } else { x.to_bits() }).collect()
}

fn table() -> Vec<Column> {
    let column = |name: &str, reading| Column { column: name.into(), reading };
    let levels = ["red", "blue", "green"].map(String::from).to_vec();
    vec![
        Column::number("x"),
        column("colour", Reading::Category { levels, other: false }),
        column("day", Reading::time(vec![])),
        column("at", Reading::time(vec![])),
        Column::number("ok"),
        column("v", Reading::Vector { length: 2 }),
    ]
}

#[test]
fn the_same_rows_come_from_every_format_and_type() {
    let folder = Folder::new();
    let mut found = Vec::new();
    for otherwise in [false, true] {
        let batch = batch(otherwise);
        let memory = RecordBatchIterator::new([Ok(batch.clone())], batch.schema());
        let stream =
            RecordBatchIterator::new([Ok(batch.slice(0, 90)), Ok(batch.slice(90, N - 90))], batch.schema());
        let files = [
            folder.file("a.parquet", parquet_bytes(&batch, 70)),
            folder.file("a.arrow", arrow_file_bytes(&batch, 30)),
            folder.file("a.arrows", arrow_stream_bytes(&batch, 64)),
        ];
        let mut tables = vec![
            Dataset::from_memory("memory", Box::new(memory), &interpreted()).unwrap(),
            Dataset::from_batches("stream", Box::new(stream), &interpreted()).unwrap(),
        ];
        tables.extend(files.iter().map(|path| open(&[path], &interpreted()).unwrap()));
        for mut dataset in tables {
            let pilot = dataset.pilot(1000, 0).unwrap();
            assert_eq!(dataset.table_columns(), table());
            assert_eq!(pilot.columns, dataset.columns());
            let rows = read(&mut dataset).unwrap();
            let same = |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan();
            assert!(pilot.rows.iter().zip(&rows.values).all(same));
            found.push(bits(&rows));
        }
    }
    assert!(found.windows(2).all(|pair| pair[0] == pair[1]));
    // The recipe's columns are found in a text file, where a vector has a column for each number.
    let path = folder.file("a.csv", csv());
    let recipe = ReadOptions { missing: Missing::Fill, ..ReadOptions::of(table()) };
    assert_eq!(bits(&read_file(&path, &recipe).unwrap()), found[0]);
    let mut dataset = open(&[&path], &interpreted()).unwrap();
    dataset.pilot(1000, 0).unwrap();
    assert_eq!(dataset.table_columns()[..5], table()[..5]);
    assert_eq!(bits(&read(&mut dataset).unwrap()), found[0]);
}

#[test]
fn f32_vectors_alone_stay_f32_and_are_chosen_by_their_name() {
    let folder = Folder::new();
    let (fixed, list) = vectors();
    let single = Arc::new(Float32Array::from_iter_values((0..N).map(|i| i as f32))) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("y", single), ("v", fixed), ("w", list)]).unwrap();
    let path = folder.file("a.parquet", parquet_bytes(&batch, 50));
    let all = read_file(&path, &ReadOptions::default()).unwrap();
    assert!(all.singles && all.values.len() == 5 * N);
    let only = |columns: &[&str], exclude: &[&str]| {
        let names = |all: &[&str]| all.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let columns = (!columns.is_empty()).then(|| names(columns));
        let options = ReadOptions { columns, exclude: names(exclude), ..ReadOptions::default() };
        open(&[&path], &options).unwrap().columns().to_vec()
    };
    assert_eq!(only(&["w", "y"], &[]), ["w[0]", "w[1]", "y"]);
    assert_eq!(only(&[], &["v", "y"]), ["w[0]", "w[1]"]);
}

#[test]
fn a_ragged_vector_is_an_error_with_row_and_lengths() {
    let folder = Folder::new();
    let mut list = ListBuilder::new(Float32Builder::new());
    for length in [3, 3, 0, 2] {
        (0..length).for_each(|i| list.values().append_value(i as f32));
        list.append(length > 0);
    }
    let list = Arc::new(list.finish()) as ArrayRef;
    let batch = RecordBatch::try_from_iter_with_nullable([("v", list, true)]).unwrap();
    let fill = ReadOptions { missing: Missing::Fill, ..ReadOptions::default() };
    let skip = ReadOptions { skip_bad_rows: true, ..ReadOptions::default() };
    for path in [
        folder.file("a.parquet", parquet_bytes(&batch, 10)),
        folder.file("a.arrow", arrow_file_bytes(&batch, 10)),
    ] {
        let message = failure(read_file(&path, &fill));
        assert_says(&message, &["row 4", "\"v\"", "a vector of 2 numbers", "a vector of 3"]);
        assert_eq!(read_file(&path, &skip).unwrap().values, [0.0, 1.0, 2.0, 0.0, 1.0, 2.0]);
        let message = failure(read_file(&path, &ReadOptions::default()));
        assert_says(&message, &["row 3", "null"]);
    }
    let recipe = vec![Column { column: "v".into(), reading: Reading::Vector { length: 4 } }];
    let path = folder.file("b.parquet", parquet_bytes(&batch, 10));
    assert_says(&failure(read_file(&path, &ReadOptions::of(recipe))), &["row 1", "of 3", "of 4"]);
}

#[test]
fn levels_that_the_recipe_does_not_know_are_other_or_nothing() {
    let folder = Folder::new();
    let path = folder.file("a.csv", "c\nred\npink\nred\n\"none\"\n");
    let of = |other| {
        let reading = Reading::Category { levels: vec!["red".into()], other };
        ReadOptions::of(vec![Column { column: "c".into(), reading }])
    };
    let values = |other| read_file(&path, &of(other)).unwrap().values;
    assert_eq!(values(true), [1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0]);
    assert_eq!(values(false), [1.0, 0.0, 1.0, 0.0]);
    let gap = folder.file("b.csv", "x,c\n1,red\n2,NA\n");
    assert_says(&failure(read_file(&gap, &of(true))), &["row 2", "line 3", "\"c\"", "\"NA\""]);
    let skip = ReadOptions { missing: Missing::Skip, ..of(true) };
    assert_eq!(read_file(&gap, &skip).unwrap().values, [1.0, 0.0]);
}

#[test]
fn what_is_no_date_where_dates_are_is_an_error() {
    let folder = Folder::new();
    let rows: String = (1..=20).map(|i| format!("2013-01-{i:02}\n")).collect();
    let path = folder.file("a.csv", format!("d\n{rows}soon\n"));
    let strict = ReadOptions { missing: Missing::Error, ..interpreted() };
    let mut dataset = open(&[&path], &strict).unwrap();
    assert_eq!(dataset.pilot(1000, 0).unwrap().n_rows, 20);
    assert_says(&failure(read(&mut dataset)), &["row 21", "line 22", "\"soon\" is not a date"]);
}

fn operator(dataset: &Dataset) -> SketchOperator {
    let mut spec = SketchSpec::new(dataset.columns().to_vec(), FrequencyLaw::AdaptedRadius, 10.0, 8);
    spec.missing = Missing::Fill;
    spec.build().unwrap()
}

#[test]
fn a_stray_word_counts_as_missing_and_is_told() {
    let folder = Folder::new();
    let row = |i: usize| match i {
        17 => "rotary,soon".to_owned(),
        i => format!("{},2013-01-{:02}", 0.5 * i as f64, i % 28 + 1),
    };
    let rows: String = (0..60).map(|i| row(i) + "\n").collect();
    let path = folder.file("a.csv", format!("x,d\n{rows}"));
    let mut dataset = open(&[&path], &interpreted()).unwrap();
    let pilot = dataset.pilot(1000, 0).unwrap();
    assert_eq!((pilot.n_rows, pilot.rows.iter().filter(|x| x.is_nan()).count()), (60, 2));
    let operator = operator(&dataset);
    for _ in 0..2 {
        let done = sketch_dataset(&mut dataset, &operator, &DriveOptions::default()).unwrap();
        assert_eq!(done.filled, [("x".to_owned(), 1), ("d".to_owned(), 1)]);
        let told: Vec<String> = done.strays.iter().map(ToString::to_string).collect();
        assert_eq!(
            told[0],
            "1 entry of `x` counts as missing: \"rotary\" (row 18, line 19) is not a finite number"
        );
        assert!(told[1].contains("\"soon\" (row 18, line 19) is not a date"), "{told:?}");
    }
    let strict = ReadOptions { missing: Missing::Error, ..interpreted() };
    assert_says(&failure(read_file(&path, &strict)), &["row 18", "line 19", "\"rotary\""]);
}

#[test]
fn a_column_of_many_strays_is_a_category_or_refused() {
    let folder = Folder::new();
    let rows = |strays: usize| -> String {
        (0..3000).map(|i| format!("{},{}\n", if i >= 3000 - strays { "3+" } else { "2" }, i % 7)).collect()
    };
    // The strays begin behind the lines that were looked at first.
    let path = folder.file("a.csv", format!("n,x\n{}", rows(600)));
    let mut dataset = open(&[&path], &interpreted()).unwrap();
    let pilot = dataset.pilot(5000, 0).unwrap();
    assert_eq!((pilot.columns, pilot.n_rows), (vec!["n=2".to_owned(), "n=3+".into(), "x".into()], 3000));
    let named = ReadOptions { columns: Some(vec!["n".into(), "x".into()]), ..interpreted() };
    let mut dataset = open(&[&path], &named).unwrap();
    let operator = operator(&dataset);
    let done = sketch_dataset(&mut dataset, &operator, &DriveOptions::default());
    assert_says(&failure(done), &["row 2401", "\"3+\" is not a finite number", "600 of 3000"]);
}

#[test]
fn dates_and_named_numbers_are_placed_on_circles() {
    let folder = Folder::new();
    let path = folder.file("a.csv", "hour,d,x\n0,1970-01-01,1\n6,1970-01-01 12:00,2\n");
    let cyclic =
        vec![Cyclic { column: None, period: 86_400.0 }, Cyclic { column: Some("hour".into()), period: 24.0 }];
    let mut dataset = open(&[&path], &ReadOptions { cyclic, ..interpreted() }).unwrap();
    let pilot = dataset.pilot(10, 0).unwrap();
    assert_eq!(pilot.columns, ["hour cos(24)", "hour sin(24)", "d cos(day)", "d sin(day)", "x"]);
    assert_eq!(pilot.rows, [1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, -1.0, 0.0, 2.0]);
    assert_eq!(read(&mut dataset).unwrap().values, pilot.rows);
    let cyclic = vec![Cyclic { column: Some("huor".into()), period: 24.0 }];
    let wrong = open(&[&path], &ReadOptions { cyclic, ..interpreted() });
    assert_says(&failure(wrong), &["huor", "hour"]);
}

#[test]
fn times_of_a_day_are_seconds() {
    let folder = Folder::new();
    let at = Arc::new(Time64MicrosecondArray::from(vec![1_500_000, 60_000_000])) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("at", at)]).unwrap();
    let path = folder.file("a.parquet", parquet_bytes(&batch, 10));
    assert_eq!(read_file(&path, &interpreted()).unwrap().values, [1.5, 60.0]);
}

#[test]
fn a_column_of_a_recipe_may_give_the_groups_or_weights_besides() {
    let folder = Folder::new();
    let path = folder.file("a.csv", "g,w,x\nred,2,1\nblue,3,4\n");
    let levels = vec!["blue".to_owned(), "red".to_owned()];
    let reading = Reading::Category { levels, other: false };
    let recipe = vec![Column { column: "g".into(), reading }, Column::number("w"), Column::number("x")];
    let options = ReadOptions { by: Some("g".into()), weights: Some("w".into()), ..ReadOptions::of(recipe) };
    let rows = read_file(&path, &options).unwrap();
    assert_eq!(rows.values, [0.0, 1.0, 2.0, 1.0, 1.0, 0.0, 3.0, 4.0]);
    assert_eq!((rows.keys, rows.weights), (vec!["red".to_owned(), "blue".into()], vec![2.0, 3.0]));
}
