//! How a text file writes numbers: with decimal points or commas, separators of thousands, and signs such as
//! `$` and `%`.
//!
//! What is no number as it stands is one if it is written so: `1,234.5`, `$1,234`, `12 %`, and in a file of
//! decimal commas `1.234,5`. A file that commas delimit has none. In others entries tell that can be read one
//! way alone, such as `3,14`; where there is none, commas are decimal in a file of semicolons. A column
//! has one sign at most, that of all its numbers in the case of `%`, so that `5%` and `0.05` are never mixed.
//! The numbers are taken as they are written: 12 for `12%`.

use super::number;
use crate::entry::parse_number;

/// Signs before or behind a number.
const SIGNS: [&str; 6] = ["%", "$", "€", "£", "¥", "\u{20b9}"];
/// The sign that is part of every number of its column.
const PERCENT: usize = 0;

/// How numbers of a column are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Notation {
    /// Whether commas are decimal.
    pub comma: bool,
    /// The sign, by its place in the list.
    sign: Option<usize>,
}

impl Notation {
    /// Reads a number or truth.
    pub(super) fn parse(self, field: &[u8]) -> Option<f64> {
        let plain = if self.comma || self.sign == Some(PERCENT) { None } else { parse_number(field) };
        plain.or_else(|| self.parse_written(field))
    }

    fn parse_written(self, field: &[u8]) -> Option<f64> {
        let text = std::str::from_utf8(field).ok()?.trim();
        let (text, sign) = without_sign(text);
        if sign.is_some() && sign != self.sign || sign.is_none() && self.sign == Some(PERCENT) {
            return None;
        }
        plain_text(text, self.comma).and_then(|text| number::parse(text.as_bytes())).filter(|x| x.is_finite())
    }

    /// Whether the fast path for plain numbers gives the same.
    pub(super) fn is_plain(self) -> bool {
        !self.comma && self.sign != Some(PERCENT)
    }

    /// What the sign is called.
    pub(super) fn sign(self) -> Option<&'static str> {
        self.sign.map(|sign| SIGNS[sign])
    }

    /// The notation of a column with these entries, in a file whose commas are known.
    pub(super) fn of_column<'a>(fields: impl Iterator<Item = &'a str>, comma: bool) -> Notation {
        let (mut sign, mut bare) = (None, false);
        for field in fields {
            let (text, found) = without_sign(field.trim());
            if plain_text(text, comma).is_none_or(|text| number::parse(text.as_bytes()).is_none()) {
                continue;
            }
            bare |= found.is_none();
            sign = sign.or(found);
        }
        Notation { comma, sign: sign.filter(|sign| *sign != PERCENT || !bare) }
    }
}

/// Whether commas are decimal in a file with these entries.
pub(super) fn decimal_comma<'a>(fields: impl Iterator<Item = &'a str>, delimiter: u8) -> bool {
    if delimiter == b',' {
        return false;
    }
    let (mut commas, mut points, mut either) = (0, 0, 0);
    for field in fields {
        let text = without_sign(field.trim()).0;
        match (plain_text(text, true).is_some(), plain_text(text, false).is_some()) {
            (true, false) => commas += 1,
            (false, true) => points += 1,
            (true, true) => either += usize::from(text.contains(',')),
            (false, false) => {}
        }
    }
    commas > points || (delimiter == b';' && points == 0 && either > 0)
}

/// A text without the sign before or behind it, and which it was.
fn without_sign(text: &str) -> (&str, Option<usize>) {
    let (minus, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    for (i, sign) in SIGNS.iter().enumerate() {
        // Of "-$5" the minus would be lost, so "$-5" alone is taken without it.
        if let Some(rest) = rest.strip_prefix(sign).filter(|_| !minus) {
            return (rest.trim_start(), Some(i));
        }
        if let Some(rest) = text.strip_suffix(sign) {
            return (rest.trim_end(), Some(i));
        }
    }
    (text, None)
}

/// Whether an entry is a number in some notation of a file with this delimiter, or one with a sign.
pub(super) fn counts(text: &str, delimiter: u8) -> bool {
    may_be_number(without_sign(text.trim()).0, delimiter)
}

/// Whether a text is a number in some notation of a file with this delimiter, without a sign, which names of
/// columns may have.
pub(super) fn may_be_number(text: &str, delimiter: u8) -> bool {
    let text = text.trim();
    number::parse(text.as_bytes()).is_some()
        || plain_text(text, false).is_some()
        || (delimiter != b',' && plain_text(text, true).is_some())
}

/// A number with separators of thousands or a decimal comma in the plain way; `None` if it is no number.
fn plain_text(text: &str, comma: bool) -> Option<String> {
    let (decimal, thousands) = if comma { (',', '.') } else { ('.', ',') };
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, ""));
    let (whole, part) = mantissa.split_once(decimal).unwrap_or((mantissa, ""));
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let mut groups = whole.split(thousands);
    let first = groups.next()?;
    let grouped = groups.clone().next().is_some();
    let good = all_digits(first)
        && all_digits(part)
        && (!grouped || (1..=3).contains(&first.len()))
        && groups.all(|group| group.len() == 3 && all_digits(group))
        && !(whole.is_empty() && part.is_empty())
        && (exponent.is_empty() || !grouped);
    let plain =
        || text.chars().filter(|c| *c != thousands).map(|c| if c == decimal { '.' } else { c }).collect();
    good.then(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(fields: &[&str], delimiter: u8) -> Vec<Option<f64>> {
        let comma = decimal_comma(fields.iter().copied(), delimiter);
        let notation = Notation::of_column(fields.iter().copied(), comma);
        fields.iter().map(|field| notation.parse(field.as_bytes())).collect()
    }

    #[test]
    fn numbers_are_read_as_files_write_them() {
        let some = |values: &[f64]| values.iter().map(|x| Some(*x)).collect::<Vec<_>>();
        assert_eq!(read(&["1,234.5", "12", "-1,234,567"], b','), some(&[1234.5, 12.0, -1_234_567.0]));
        assert_eq!(read(&["3,25", "1.234,5", "2", "1e3"], b';'), some(&[3.25, 1234.5, 2.0, 1000.0]));
        assert_eq!(read(&["3,125", "2,625"], b';'), some(&[3.125, 2.625]));
        assert_eq!(read(&["3,125", "2,625"], b','), some(&[3125.0, 2625.0]));
        assert_eq!(read(&["$1,234.50", "12", "$ 5"], b','), some(&[1234.5, 12.0, 5.0]));
        assert_eq!(read(&["12%", "3.5 %", "-1%"], b','), some(&[12.0, 3.5, -1.0]));
        assert_eq!(read(&["5 €", "1.000,5 €"], b';'), some(&[5.0, 1000.5]));
        assert_eq!(read(&["true", "0"], b','), some(&[1.0, 0.0]));
    }

    #[test]
    fn what_could_be_two_numbers_is_none() {
        assert_eq!(read(&["5%", "0.05"], b','), [None, Some(0.05)]);
        assert_eq!(read(&["$5", "5 €"], b','), [Some(5.0), None]);
        assert_eq!(read(&["1,2345", "1.5", "2.5"], b','), [None, Some(1.5), Some(2.5)]);
        assert_eq!(read(&["-$5", "1,,234", "12,34,567", ",", "1.2.3", "", "%"], b','), [None; 7]);
        assert_eq!(read(&["inf", "1,5"], b';'), [None, Some(1.5)]);
    }
}
