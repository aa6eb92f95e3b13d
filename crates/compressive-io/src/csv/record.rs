//! Fields and records of delimited text (RFC 4180, read leniently), and where a block of text can be cut.
//!
//! A field that starts with a quote ends at the next quote that is not doubled; what follows up to the
//! delimiter is taken as it stands. A quote anywhere else is an ordinary character. Records end at a newline
//! outside quotes, with an optional carriage return before it; empty lines are skipped.

use crate::entry::text_of;

/// A field: its text without quotes, the position after its terminator, and whether it ends the record.
pub(super) struct Field<'a> {
    pub text: &'a [u8],
    pub next: usize,
    pub last: bool,
}

/// Reads the field that starts at `at`; `scratch` holds the text of fields with doubled quotes.
pub(super) fn next_field<'a>(
    block: &'a [u8],
    at: usize,
    delimiter: u8,
    scratch: &'a mut Vec<u8>,
) -> Field<'a> {
    if block.get(at) == Some(&b'"') {
        return quoted_field(block, at, delimiter, scratch);
    }
    let (end, next, last) = plain_end(block, at, delimiter);
    Field { text: &block[at..end], next, last }
}

/// End of an unquoted stretch: (end of its text, start of what follows, whether the record ends).
fn plain_end(block: &[u8], at: usize, delimiter: u8) -> (usize, usize, bool) {
    let rest = &block[at..];
    let len = rest.iter().position(|&byte| byte == delimiter || byte == b'\n').unwrap_or(rest.len());
    let end = at + len;
    if block.get(end) == Some(&delimiter) {
        return (end, end + 1, false);
    }
    let text_end = if end > at && block[end - 1] == b'\r' { end - 1 } else { end };
    (text_end, (end + 1).min(block.len()), true)
}

fn quoted_field<'a>(block: &'a [u8], at: usize, delimiter: u8, scratch: &'a mut Vec<u8>) -> Field<'a> {
    scratch.clear();
    let start = at + 1;
    let mut from = start;
    let close = loop {
        let Some(len) = block[from..].iter().position(|&byte| byte == b'"') else {
            // The quote is not closed: the rest of the block is the field.
            scratch.extend_from_slice(&block[from..]);
            return Field { text: scratch, next: block.len(), last: true };
        };
        let quote = from + len;
        if block.get(quote + 1) != Some(&b'"') {
            break quote;
        }
        scratch.extend_from_slice(&block[from..=quote]);
        from = quote + 2;
    };
    let (tail_end, next, last) = plain_end(block, close + 1, delimiter);
    if from == start && tail_end == close + 1 {
        return Field { text: &block[start..close], next, last };
    }
    scratch.extend_from_slice(&block[from..close]);
    scratch.extend_from_slice(&block[close + 1..tail_end]);
    Field { text: scratch, next, last }
}

/// Length of the empty line at `at`, if there is one.
#[inline]
pub(super) fn empty_line(block: &[u8], at: usize) -> Option<usize> {
    match block.get(at)? {
        b'\n' => Some(1),
        b'\r' if block.get(at + 1) == Some(&b'\n') => Some(2),
        b'\r' if at + 1 == block.len() => Some(1),
        _ => None,
    }
}

/// The first `limit` fields of the record at `at` as text, and the position after the record.
pub(super) fn record(
    block: &[u8],
    at: usize,
    delimiter: u8,
    limit: usize,
    fields: &mut Vec<String>,
) -> usize {
    fields.clear();
    let mut scratch = Vec::new();
    let mut at = at;
    loop {
        let field = next_field(block, at, delimiter, &mut scratch);
        if fields.len() < limit {
            fields.push(text_of(field.text).into_owned());
        }
        at = field.next;
        if field.last {
            return at;
        }
    }
}

/// A prefix of a block that consists of whole records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Cut {
    /// Bytes in the prefix.
    pub end: usize,
    /// Records in the prefix; empty lines are not counted.
    pub records: u64,
    /// Newlines in the prefix.
    pub lines: u64,
    /// Whether the block ends inside quotes.
    pub in_quotes: bool,
}

/// Longest prefix of whole records of a block that starts at a record.
pub(super) fn cut(block: &[u8], delimiter: u8) -> Cut {
    if memchr::memchr(b'"', block).is_some() { cut_quoted(block, delimiter) } else { cut_plain(block) }
}

/// Without quotes every newline ends a line.
fn cut_plain(block: &[u8]) -> Cut {
    let mut cut = Cut::default();
    for at in memchr::memchr_iter(b'\n', block) {
        cut.records += u64::from(!matches!(&block[cut.end..at], [] | [b'\r']));
        cut.lines += 1;
        cut.end = at + 1;
    }
    cut
}

fn cut_quoted(block: &[u8], delimiter: u8) -> Cut {
    #[derive(PartialEq)]
    enum At {
        FieldStart,
        Plain,
        Quoted,
        AfterQuote,
    }
    let mut best = Cut::default();
    let (mut lines, mut records, mut record_start) = (0, 0, 0);
    let mut at = At::FieldStart;
    for (i, &byte) in block.iter().enumerate() {
        lines += u64::from(byte == b'\n');
        at = match (at, byte) {
            (At::Quoted, b'"') => At::AfterQuote,
            (At::Quoted, _) | (At::AfterQuote, b'"') => At::Quoted,
            (_, b'\n') => {
                records += u64::from(empty_line(block, record_start).is_none());
                record_start = i + 1;
                best = Cut { end: i + 1, records, lines, in_quotes: false };
                At::FieldStart
            }
            (_, byte) if byte == delimiter => At::FieldStart,
            (At::FieldStart, b'"') => At::Quoted,
            _ => At::Plain,
        };
    }
    Cut { in_quotes: at == At::Quoted, ..best }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn records(block: &[u8]) -> Vec<Vec<String>> {
        let (mut at, mut all, mut fields) = (0, Vec::new(), Vec::new());
        while at < block.len() {
            if let Some(len) = empty_line(block, at) {
                at += len;
                continue;
            }
            at = record(block, at, b',', usize::MAX, &mut fields);
            all.push(fields.clone());
        }
        all
    }

    #[test]
    fn quotes_escapes_and_line_ends_are_read() {
        let text = b"a,\"b,c\",\"d\"\"e\"\r\n\r\n\"two\nlines\",,5\" pipe\n\"x\"y,\"\",z";
        let expected = [["a", "b,c", "d\"e"], ["two\nlines", "", "5\" pipe"], ["xy", "", "z"]];
        assert_eq!(records(text), expected);
    }

    #[test]
    fn a_trailing_delimiter_makes_a_last_empty_field() {
        assert_eq!(records(b"1,2,\n3,4,"), [["1", "2", ""], ["3", "4", ""]]);
    }

    #[test]
    fn an_unclosed_quote_takes_the_rest_and_is_noticed_by_the_cut() {
        assert_eq!(records(b"1,\"2\n3"), [["1", "2\n3"]]);
        assert!(cut(b"1,\"2\n3\n", b',').in_quotes);
        assert_eq!(cut(b"0,0\n1,\"2\n3\n", b',').end, 4);
    }

    proptest! {
        #[test]
        fn both_ways_to_cut_agree_without_quotes(text in "[a,\r\n]{0,60}") {
            prop_assert_eq!(cut_plain(text.as_bytes()), cut_quoted(text.as_bytes(), b','));
        }

        #[test]
        fn cutting_anywhere_gives_the_same_records(text in "[a\",\r\n]{0,60}", at in 0usize..60) {
            let bytes = text.as_bytes();
            let head = cut(&bytes[..at.min(bytes.len())], b',');
            let (before, after) = bytes.split_at(head.end);
            let mut pieces = records(before);
            prop_assert_eq!(pieces.len() as u64, head.records);
            prop_assert_eq!(before.iter().filter(|&&b| b == b'\n').count() as u64, head.lines);
            pieces.extend(records(after));
            prop_assert_eq!(pieces, records(bytes));
        }
    }
}
