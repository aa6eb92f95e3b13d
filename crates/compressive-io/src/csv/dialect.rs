//! What a text file looks like: delimiter, header, and what its columns hold, judged from its first records.

use super::number;
use super::record::{cut, empty_line, record};
use crate::entry::{is_missing, truth};
use crate::error::{Error, Result};
use crate::options::ReadOptions;
use crate::plan::{ColumnInfo, ColumnKind};

/// Records looked at to tell what the columns hold.
const SAMPLE_RECORDS: usize = 1000;
/// Records looked at to choose the delimiter.
const DELIMITER_RECORDS: usize = 20;
/// Fields of the sample; a field takes many times the room of its text.
const SAMPLE_FIELDS: usize = 4 << 20;
/// Most columns of a text file.
const MAX_COLUMNS: usize = 1 << 20;
/// Delimiters tried; the first wins a tie.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// How to read a text file, and where its rows start.
#[derive(Debug, Clone)]
pub(crate) struct Dialect {
    pub delimiter: u8,
    /// Bytes before the first data record: byte order mark, header, empty lines.
    pub data_start: u64,
    /// Line of the first data record, from 1.
    pub data_line: u64,
    /// Average bytes per record in the sample.
    pub record_bytes: usize,
    pub has_rows: bool,
}

/// Judges the first bytes of a file. `None` asks for more bytes: there are not yet two whole records.
pub(super) fn probe(
    path: &str,
    head: &[u8],
    ended: bool,
    tab: bool,
    options: &ReadOptions,
) -> Result<Option<(Dialect, Vec<ColumnInfo>)>> {
    let start = if head.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let text = &head[start..];
    if text.iter().take(1 << 12).any(|&byte| byte == 0) {
        return Err(Error::malformed(path, "text", "it has zero bytes, which no text has"));
    }
    let delimiter =
        options.delimiter.unwrap_or_else(|| if tab { b'\t' } else { choose_delimiter(text, ended) });
    let whole = if ended { text } else { &text[..cut(text, delimiter).end] };
    let sample = records(whole, delimiter, SAMPLE_RECORDS);
    if !ended && sample.len() < 2 {
        return Ok(None);
    }
    let Some(first) = sample.first() else {
        return Err(Error::EmptyFile { path: path.to_owned() });
    };
    if first.fields.len() > MAX_COLUMNS {
        return Err(Error::malformed(path, "text", format!("it has more than {MAX_COLUMNS} columns")));
    }
    let (first_fields, rest) = (&first.fields, &sample[1..]);
    let has_header = options.header.unwrap_or_else(|| looks_like_header(first_fields, rest));
    let rows = if has_header { rest } else { &sample[..] };
    let data_start = if has_header { first.end } else { first.start };
    let names = column_names(first_fields, has_header);
    let kinds = (0..names.len()).map(|i| column_kind(rows, i));
    let columns =
        names.iter().zip(kinds).map(|(name, kind)| ColumnInfo { name: name.clone(), kind }).collect();
    let sampled = sample.last().map_or(0, |last| last.end) - first.start;
    let dialect = Dialect {
        delimiter,
        data_start: (start + data_start) as u64,
        data_line: 1 + whole[..data_start].iter().filter(|&&byte| byte == b'\n').count() as u64,
        record_bytes: sampled / sample.len().max(1) + 1,
        has_rows: !rows.is_empty(),
    };
    Ok(Some((dialect, columns)))
}

/// A record of the sample with its place in the text.
struct Sampled {
    fields: Vec<String>,
    start: usize,
    end: usize,
}

fn records(text: &[u8], delimiter: u8, limit: usize) -> Vec<Sampled> {
    let mut found: Vec<Sampled> = Vec::new();
    let (mut at, mut total) = (0, 0);
    while at < text.len() && found.len() < limit && (found.len() < 2 || total < SAMPLE_FIELDS) {
        if let Some(len) = empty_line(text, at) {
            at += len;
            continue;
        }
        let mut fields = Vec::new();
        // Of a record that is wider than the first, it is enough to know that it is.
        let most = found.first().map_or(MAX_COLUMNS, |first| first.fields.len()) + 1;
        let end = record(text, at, delimiter, most, &mut fields);
        total += fields.len();
        found.push(Sampled { fields, start: at, end });
        at = end;
    }
    found
}

/// The delimiter that splits all records alike, makes most numbers, makes most fields: in this order.
fn choose_delimiter(text: &[u8], ended: bool) -> u8 {
    let score = |delimiter: u8| {
        let whole = if ended { text } else { &text[..cut(text, delimiter).end] };
        let sample = records(whole, delimiter, DELIMITER_RECORDS);
        let Some(width) = sample.first().map(|first| first.fields.len()).filter(|&width| width > 1) else {
            return (0, 0, 0);
        };
        let alike = sample.iter().filter(|record| record.fields.len() == width).count();
        let numbers: usize =
            sample.iter().map(|record| record.fields.iter().filter(|field| is_number(field)).count()).sum();
        (100 * alike / sample.len(), 100 * numbers / sample.len(), width)
    };
    let mut best = (DELIMITERS[0], score(DELIMITERS[0]));
    for delimiter in &DELIMITERS[1..] {
        let found = score(*delimiter);
        if found > best.1 {
            best = (*delimiter, found);
        }
    }
    best.0
}

fn is_number(field: &str) -> bool {
    number::parse(field.as_bytes()).is_some()
}

/// Whether the first record names the columns: it has a name where the records below have numbers.
///
/// A number with sign, point or exponent is never a name, so a first record that has one in a numeric column
/// is data, and a text beside it is a bad value; a plain integer may be a name (`country,2019,2020`).
fn looks_like_header(first: &[String], rest: &[Sampled]) -> bool {
    if rest.is_empty() {
        return !first.iter().any(|field| is_number(field));
    }
    let numeric = |i: usize| column_kind(rest, i) == ColumnKind::Number;
    let mut named = false;
    let mut any_numeric = false;
    for (_, field) in first.iter().enumerate().filter(|(i, _)| numeric(*i)) {
        any_numeric = true;
        let field = field.trim();
        if is_number(field) {
            if field.bytes().any(|byte| !byte.is_ascii_digit()) {
                return false;
            }
        } else {
            named |= !is_missing(field.as_bytes()) && truth(field.as_bytes()).is_none();
        }
    }
    // Without any numeric column the first record is taken as names when it has no number either.
    named || (!any_numeric && !first.iter().any(|field| is_number(field)))
}

/// Names from the header, or `x0`, `x1`, ... A column without a name is called by its position.
fn column_names(first: &[String], has_header: bool) -> Vec<String> {
    let position = |i: usize| format!("x{i}");
    first
        .iter()
        .enumerate()
        .map(|(i, name)| match name.trim() {
            name if has_header && !name.is_empty() => name.to_owned(),
            _ => position(i),
        })
        .collect()
}

/// A column is numeric if at least half of its values that are not missing are numbers: the others are then
/// bad values, reported with their row. Missing values alone make no column numeric.
fn column_kind(rows: &[Sampled], i: usize) -> ColumnKind {
    let mut numbers = 0;
    let mut texts = 0;
    let mut example = None;
    for field in rows.iter().filter_map(|row| row.fields.get(i)) {
        if is_number(field) || truth(field.as_bytes()).is_some() {
            numbers += 1;
        } else if !is_missing(field.as_bytes()) {
            texts += 1;
            example.get_or_insert(field);
        }
    }
    match example {
        Some(example) if texts > numbers => ColumnKind::Text { example: example.clone() },
        _ if numbers > 0 => ColumnKind::Number,
        _ => ColumnKind::Empty,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(text: &str) -> (Dialect, Vec<ColumnInfo>) {
        probe("t.csv", text.as_bytes(), true, false, &ReadOptions::default()).unwrap().unwrap()
    }

    fn names(columns: &[ColumnInfo]) -> Vec<&str> {
        columns.iter().map(|column| column.name.as_str()).collect()
    }

    #[test]
    fn delimiters_are_recognised() {
        for (text, expected) in [
            ("a,b\n1,2\n", b','),
            ("a;b\n1;2\n3;4", b';'),
            ("a\tb\n1\t2\n", b'\t'),
            ("t|a, b|c\n2020|x, y|3.5\n", b'|'),
            ("\"a;b\",c\n1,2\n", b','),
            ("x\n1\n2\n", b','),
        ] {
            assert_eq!(seen(text).0.delimiter, expected, "{text:?}");
        }
    }

    #[test]
    fn headers_are_recognised() {
        assert_eq!(names(&seen("a,b\n1,2\n").1), ["a", "b"]);
        assert_eq!(names(&seen("1,2\n3,4\n").1), ["x0", "x1"]);
        assert_eq!(names(&seen(",a\n0,2\n").1), ["x0", "a"]);
        assert_eq!(names(&seen("id,2019,2020\n1,5,6\n").1), ["id", "2019", "2020"]);
        assert_eq!(names(&seen("\u{feff}a,b\r\n1,2\r\n").1), ["a", "b"]);
    }

    #[test]
    fn a_bad_value_in_the_first_row_is_not_a_header() {
        assert_eq!(names(&seen("1.5,abc\n2.5,3\n2.5,3\n").1), ["x0", "x1"]);
        assert_eq!(names(&seen("NA,1\n2,3\n4,5\n").1), ["x0", "x1"]);
        assert_eq!(names(&seen("nan,1\n2,3\n").1), ["x0", "x1"]);
    }

    #[test]
    fn rows_start_after_the_header_and_its_empty_lines() {
        let (dialect, _) = seen("\u{feff}\n\na,b\n1,2\n");
        assert_eq!((dialect.data_start, dialect.data_line), (3 + 6, 4));
        let (dialect, _) = seen("\"a\nb\",c\n1,2\n");
        assert_eq!((dialect.data_start, dialect.data_line), (8, 3));
    }

    #[test]
    fn kinds_follow_the_majority() {
        let (_, columns) = seen("n,t,e,m\n1,a,,1\n2,b,NA,x\n3,4,,2\n");
        assert_eq!(columns[0].kind, ColumnKind::Number);
        assert_eq!(columns[1].kind, ColumnKind::Text { example: "a".into() });
        assert_eq!(columns[2].kind, ColumnKind::Empty);
        assert_eq!(columns[3].kind, ColumnKind::Number);
    }

    #[test]
    fn options_overrule_what_is_seen() {
        let options = ReadOptions { header: Some(false), delimiter: Some(b'|'), ..ReadOptions::default() };
        let (dialect, columns) = probe("t", b"1,2\n", true, false, &options).unwrap().unwrap();
        assert_eq!((dialect.delimiter, names(&columns)), (b'|', vec!["x0"]));
    }

    #[test]
    fn a_head_without_two_records_asks_for_more() {
        assert!(probe("t", b"a,b\n1,2", false, false, &ReadOptions::default()).unwrap().is_none());
        let empty = probe("t", b"\n\n", true, false, &ReadOptions::default());
        assert!(matches!(empty, Err(Error::EmptyFile { .. })));
    }
}
