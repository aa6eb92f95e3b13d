//! What a text file looks like: delimiter, header, and what its columns hold, judged from its first records.

use std::collections::HashSet;
use std::sync::Arc;

use super::notation::{self, Notation};
use super::number;
use super::record::{cut, empty_line, record};
use crate::entry::{is_missing, truth};
use crate::error::{Error, Result};
use crate::options::ReadOptions;
use crate::plan::{ColumnInfo, ColumnKind};
use crate::strays::few;

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
/// What the column of row names is called that R writes without a name.
const ROW_NAMES: &str = "rownames";

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
    /// How the numbers of each column are written.
    pub notations: Arc<[Notation]>,
    /// What a reader of the table should know of how it was read.
    pub remarks: Vec<String>,
}

/// Judges the first bytes of a file. `None` asks for more bytes: there are not yet two whole records.
pub(super) fn probe(
    path: &str,
    head: &[u8],
    ended: bool,
    tab: bool,
    options: &ReadOptions,
) -> Result<Option<(Dialect, Vec<ColumnInfo>)>> {
    let mark = if head.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let start = mark + comments(&head[mark..]);
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
    if ended && sample.len() == 1 && first.fields.iter().any(|field| field.trim().contains('\r')) {
        let (what, remedy) =
            ("its lines end in carriage returns alone", "convert it: tr '\\r' '\\n' < FILE > NEW_FILE");
        return Err(Error::Unsupported { path: path.to_owned(), what: what.to_owned(), remedy });
    }
    if first.fields.len() > MAX_COLUMNS {
        return Err(Error::malformed(path, "text", format!("it has more than {MAX_COLUMNS} columns")));
    }
    let (first_fields, rest) = (&first.fields, &sample[1..]);
    let has_header = options.header.unwrap_or_else(|| looks_like_header(first_fields, rest, delimiter));
    let rows = if has_header { rest } else { &sample[..] };
    let data_start = if has_header { first.end } else { first.start };
    let mut remarks = Vec::new();
    let mut names = column_names(first_fields, has_header);
    if has_header {
        name_what_has_no_name(&mut names, rows, &mut remarks);
        tell_apart(&mut names, &mut remarks);
    }
    let all = rows.iter().flat_map(|row| row.fields.iter().map(String::as_str));
    let comma = notation::decimal_comma(all, delimiter);
    let notations: Vec<Notation> =
        (0..names.len()).map(|i| Notation::of_column(entries(rows, i), comma)).collect();
    let kinds = notations.iter().enumerate().map(|(i, notation)| column_kind(rows, i, *notation));
    let columns: Vec<ColumnInfo> =
        names.iter().zip(kinds).map(|(name, kind)| ColumnInfo { name: name.clone(), kind }).collect();
    remarks.extend(say_notation(&columns, &notations));
    let sampled = sample.last().map_or(0, |last| last.end) - first.start;
    let dialect = Dialect {
        delimiter,
        data_start: (start + data_start) as u64,
        data_line: 1 + head[..start + data_start].iter().filter(|&&byte| byte == b'\n').count() as u64,
        record_bytes: sampled / sample.len().max(1) + 1,
        has_rows: !rows.is_empty(),
        notations: notations.into(),
        remarks,
    };
    Ok(Some((dialect, columns)))
}

/// Length of the lines before the table that start with `#` and a blank, as programs write remarks; a name of
/// a column may start with `#` as well.
fn comments(text: &[u8]) -> usize {
    let mut at = 0;
    while text[at..].starts_with(b"# ") {
        let Some(len) = memchr::memchr(b'\n', &text[at..]) else { return at };
        at += len + 1;
    }
    at
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
        // Of a record that is wider than the first by more than one, it is enough to know that it is.
        let most = found.first().map_or(MAX_COLUMNS, |first| first.fields.len()) + 2;
        let end = record(text, at, delimiter, most, &mut fields);
        total += fields.len();
        found.push(Sampled { fields, start: at, end });
        at = end;
    }
    found
}

/// The delimiter that splits all records alike, makes the largest share of numbers, makes most fields: in
/// this order.
fn choose_delimiter(text: &[u8], ended: bool) -> u8 {
    let score = |delimiter: u8| {
        let whole = if ended { text } else { &text[..cut(text, delimiter).end] };
        let sample = records(whole, delimiter, DELIMITER_RECORDS);
        let Some(width) = sample.first().map(|first| first.fields.len()).filter(|&width| width > 1) else {
            return (0, 0, 0);
        };
        let alike = sample.iter().filter(|record| record.fields.len() == width).count();
        let fields = || sample.iter().flat_map(|record| &record.fields);
        let numbers = fields().filter(|field| notation::counts(field, delimiter)).count();
        (100 * alike / sample.len(), 100 * numbers / fields().count().max(1), width)
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
fn looks_like_header(first: &[String], rest: &[Sampled], delimiter: u8) -> bool {
    let is_number = |field: &str| notation::may_be_number(field, delimiter);
    if rest.is_empty() {
        return !first.iter().any(|field| is_number(field));
    }
    let numeric = |i: usize| {
        let numbers = entries(rest, i).filter(|field| is_number(field) || truth(field.as_bytes()).is_some());
        let missing = entries(rest, i).filter(|field| is_missing(field.as_bytes())).count();
        let n = numbers.count();
        n > 0 && 2 * n >= entries(rest, i).count() - missing
    };
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

/// Gives a column that all rows have and the header has not a name: the first, where it holds names of rows,
/// as R writes them, or the last, where a delimiter ends every row.
fn name_what_has_no_name(names: &mut Vec<String>, rows: &[Sampled], remarks: &mut Vec<String>) {
    let width = names.len() + 1;
    if rows.is_empty() || rows.iter().any(|row| row.fields.len() != width) {
        return;
    }
    if rows.iter().all(|row| row.fields[width - 1].trim().is_empty()) {
        names.push(format!("x{}", width - 1));
        return;
    }
    names.insert(0, ROW_NAMES.to_owned());
    remarks
        .push(format!("the header has one name less than the rows have entries: the first is `{ROW_NAMES}`"));
}

/// Numbers columns of one name, as data frames do: `x`, `x.1`, `x.2`.
fn tell_apart(names: &mut [String], remarks: &mut Vec<String>) {
    let mut known: HashSet<String> = names.iter().cloned().collect();
    let mut seen = HashSet::new();
    for name in names {
        if seen.insert(name.clone()) {
            continue;
        }
        let free = (1..).map(|n| format!("{name}.{n}")).find(|other| !known.contains(other));
        let free = free.unwrap_or_default();
        remarks.push(format!("another column named `{name}` is called `{free}`"));
        known.insert(free.clone());
        seen.insert(free.clone());
        *name = free;
    }
}

/// What is told of columns whose numbers are not written plainly.
fn say_notation(columns: &[ColumnInfo], notations: &[Notation]) -> Vec<String> {
    let numeric = columns.iter().zip(notations).filter(|(column, _)| column.kind == ColumnKind::Number);
    let signs =
        numeric.filter_map(|(column, notation)| Some(format!("`{}` ({})", column.name, notation.sign()?)));
    let signs: Vec<String> = signs.collect();
    let comma = notations.iter().any(|notation| notation.comma);
    let comma = comma.then(|| "commas are read as decimal points".to_owned());
    let signs =
        (!signs.is_empty()).then(|| format!("numbers are read without their sign: {}", signs.join(", ")));
    comma.into_iter().chain(signs).collect()
}

fn entries(rows: &[Sampled], i: usize) -> impl Iterator<Item = &str> {
    rows.iter().filter_map(move |row| row.fields.get(i).map(String::as_str))
}

/// How many entries are numbers and how many texts, missing ones apart, and the first text.
fn census(rows: &[Sampled], i: usize, notation: Notation) -> (u64, u64, Option<&str>) {
    let (mut numbers, mut texts, mut example) = (0, 0, None);
    for field in entries(rows, i) {
        if notation.parse(field.as_bytes()).is_some() || is_number(field) || truth(field.as_bytes()).is_some()
        {
            numbers += 1;
        } else if !is_missing(field.as_bytes()) {
            texts += 1;
            example.get_or_insert(field);
        }
    }
    (numbers, texts, example)
}

/// A column is numeric if few of its entries that are not missing are no numbers. Missing values alone make
/// no column numeric.
fn column_kind(rows: &[Sampled], i: usize, notation: Notation) -> ColumnKind {
    match census(rows, i, notation) {
        (0, 0, _) => ColumnKind::Empty,
        (numbers, texts, Some(example)) if !few(texts, numbers + texts) || numbers == 0 => {
            ColumnKind::Text { example: example.to_owned() }
        }
        _ => ColumnKind::Number,
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
        assert_eq!(names(&seen("1,5;2\n2,5;3\n").1), ["x0", "x1"]);
        assert_eq!(names(&seen("5%,95%\n1,2\n").1), ["5%", "95%"]);
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
        let (dialect, columns) = seen("# made by hand\n# in, cm\na,b\n1,2\n");
        assert_eq!((dialect.data_start, dialect.data_line, names(&columns)), (15 + 9 + 4, 4, vec!["a", "b"]));
        let (dialect, _) = seen("\"a\nb\",c\n1,2\n");
        assert_eq!((dialect.data_start, dialect.data_line), (8, 3));
    }

    #[test]
    fn a_kind_bears_few_strays() {
        let (_, columns) = seen("n,t,e,m,k\n1,a,,1,1\n2,b,NA,x,2\n3,4,,2,3+\n4,4,,3,3+\n");
        assert_eq!(columns[0].kind, ColumnKind::Number);
        assert_eq!(columns[1].kind, ColumnKind::Text { example: "a".into() });
        assert_eq!(columns[2].kind, ColumnKind::Empty);
        assert_eq!(columns[3].kind, ColumnKind::Number);
        assert_eq!(columns[4].kind, ColumnKind::Text { example: "3+".into() });
    }

    #[test]
    fn names_that_are_missing_or_twice_there_are_found_and_said() {
        let (dialect, columns) = seen("a,b\nx,1,2\ny,3,4\n");
        assert_eq!((names(&columns), dialect.remarks.len()), (vec!["rownames", "a", "b"], 1));
        let (dialect, columns) = seen("a,b\n1,2,\n3,4,\n");
        assert_eq!((names(&columns), dialect.remarks.len()), (vec!["a", "b", "x2"], 0));
        let (dialect, columns) = seen("a,a,a.1,a\n1,2,3,4\n");
        assert_eq!(names(&columns), ["a", "a.2", "a.1", "a.3"]);
        assert_eq!(dialect.remarks[0], "another column named `a` is called `a.2`");
    }

    #[test]
    fn numbers_in_other_notations_make_numeric_columns() {
        let (dialect, columns) = seen("1,5;2 %\n2,25;3 %\n");
        assert_eq!((dialect.delimiter, columns.len()), (b';', 2));
        assert!(columns.iter().all(|column| column.kind == ColumnKind::Number));
        let expected = ["commas are read as decimal points", "numbers are read without their sign: `x1` (%)"];
        assert_eq!(dialect.remarks, expected);
        assert_eq!(seen("p,q\n\"1,234\",$5\n\"12,345\",$6\n").1[0].kind, ColumnKind::Number);
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
