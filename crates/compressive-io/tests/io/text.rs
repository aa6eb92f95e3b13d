//! Delimited text in all its spellings.

use compressive_io::ReadOptions;

use crate::support::*;

fn values(text: &str) -> Vec<f64> {
    let folder = Folder::new();
    read_file(&folder.file("a.csv", text), &ReadOptions::default()).unwrap().values
}

#[test]
fn spellings_of_the_same_table_give_the_same_rows() {
    for text in [
        "a,b\n1,2\n3,4\n",
        "a,b\n1,2\n3,4",
        "a,b\r\n1,2\r\n3,4\r\n",
        "\u{feff}a,b\n1,2\n3,4\n",
        "\n\na,b\n\n1,2\n\n\n3,4\n\n",
        "a;b\n1;2\n3;4\n",
        "a|b\n1|2\n3|4\n",
        "a\tb\n1\t2\n3\t4\n",
        "\"a\",\"b\"\n\"1\",\"2\"\n\"3\",\"4\"\n",
        " a , b \n 1 , +2 \n3.0,4e0\n",
        "1,2\n3,4\n",
        "1.0,2\n30e-1,4.",
    ] {
        assert_eq!(values(text), [1.0, 2.0, 3.0, 4.0], "{text:?}");
    }
}

#[test]
fn one_column_and_one_row_are_enough() {
    assert_eq!(values("7\n"), [7.0]);
    assert_eq!(values("x\n7\n"), [7.0]);
    assert_eq!(values("x\n7\n8"), [7.0, 8.0]);
    assert_eq!(values("1,2"), [1.0, 2.0]);
}

#[test]
fn quoted_delimiters_quotes_and_newlines_stay_in_their_field() {
    let text = "name,x\n\"Doe, \"\"J\"\"\",1\n\"two\nlines\",2\n5\" pipe,3\n";
    assert_eq!(values(text), [1.0, 2.0, 3.0]);
}

#[test]
fn header_and_delimiter_can_be_forced() {
    let folder = Folder::new();
    let path = folder.file("a.csv", "2019,2020\n1,2\n");
    let header = |header| {
        let options = ReadOptions { header, ..ReadOptions::default() };
        let mut dataset = open(&[&path], &options).unwrap();
        (dataset.columns().to_vec(), read(&mut dataset).unwrap().values)
    };
    assert_eq!(header(Some(true)), (vec!["2019".into(), "2020".into()], vec![1.0, 2.0]));
    assert_eq!(header(Some(false)), (vec!["x0".into(), "x1".into()], vec![2019.0, 2020.0, 1.0, 2.0]));
    let path = folder.file("b.csv", "a:b\n1:2\n");
    let options = ReadOptions { delimiter: Some(b':'), ..ReadOptions::default() };
    assert_eq!(read_file(&path, &options).unwrap().values, [1.0, 2.0]);
}

/// More than one block, with quoted newlines and empty lines, so that cuts fall everywhere.
fn long_text(n_rows: usize) -> (String, Vec<u64>) {
    let mut text = "note,x\n".to_owned();
    let mut lines = Vec::new();
    let mut line = 2;
    for i in 0..n_rows {
        lines.push(line);
        match i % 5 {
            0 => text.push_str(&format!("\"a \"\"quoted\"\" note,\nand {i}\",{i}\n")),
            1 => text.push_str(&format!("plain,{i}\r\n\r\n")),
            _ => text.push_str(&format!("some text that takes room,{i}\n")),
        }
        line += if i % 5 < 2 { 2 } else { 1 };
    }
    (text, lines)
}

#[test]
fn blocks_are_cut_at_records_and_rows_keep_their_numbers() {
    let (text, _) = long_text(120_000);
    assert!(text.len() > 3 << 20);
    let folder = Folder::new();
    let expected: Vec<f64> = (0..120_000).map(f64::from).collect();
    for path in [folder.file("a.csv", &text), folder.file("b.csv.gz", gzip(text.as_bytes()))] {
        let rows = read_file(&path, &ReadOptions::default()).unwrap();
        assert!(rows.values == expected, "{path}");
        assert!(rows.numbers == (1..=120_000).collect::<Vec<u64>>(), "{path}");
    }
}

#[test]
fn a_bad_value_in_a_late_block_is_reported_with_its_row_and_line() {
    let (text, lines) = long_text(120_000);
    let folder = Folder::new();
    for row in [70_001, 99_998, 119_999usize] {
        let (start, end) = text.split_at(
            text.find(&format!(",{row}\n")).unwrap_or_else(|| text.find(&format!(",{row}\r\n")).unwrap()),
        );
        let path = folder.file("a.csv", format!("{start},oops{}", &end[1..]));
        let line = lines[row];
        let message = failure(read_file(&path, &ReadOptions::default()));
        assert_says(&message, &[&format!("row {}", row + 1), &format!("line {line}"), "\"x\"", "oops"]);
    }
}

#[test]
fn a_record_longer_than_a_block_is_read() {
    let long = "y".repeat(3 << 20);
    assert_eq!(values(&format!("n,x\n{long},1\nb,2\n\"{long}\n\",3\n")), [1.0, 2.0, 3.0]);
}

#[test]
fn concatenated_gzip_members_are_one_text() {
    let folder = Folder::new();
    let bytes = [gzip(b"a,b\n1,2\n"), gzip(b"3,4\n")].concat();
    let path = folder.file("a.csv.gz", &bytes);
    assert_eq!(read_file(&path, &ReadOptions::default()).unwrap().values, [1.0, 2.0, 3.0, 4.0]);
    let path = folder.file("b.csv", &bytes);
    assert_eq!(read_file(&path, &ReadOptions::default()).unwrap().values, [1.0, 2.0, 3.0, 4.0]);
}
