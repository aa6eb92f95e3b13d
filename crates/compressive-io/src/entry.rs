//! How an entry of a column becomes coordinates of a row, whatever the format of the file.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use compressive::Reading;
use compressive::calendar::{self, Order};

use crate::csv::number;

/// Spellings of a missing number or date.
const MISSING: [&str; 9] = ["", "na", "n/a", "nan", "null", "none", "-", "?", "."];
/// Those of a missing text: the other spellings of a missing number are ordinary words of a category.
const MISSING_TEXT: [&str; 5] = ["", "na", "n/a", "nan", "null"];

/// The characters of Windows-1252 from 0x80 to 0x9f; the five bytes it does not use are themselves.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}',
    '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// The text of a field: in UTF-8, or what is not in Windows-1252, of which Latin-1 is a part.
pub(crate) fn text_of(field: &[u8]) -> Cow<'_, str> {
    let old = |byte: &u8| match byte {
        0x80..=0x9f => WINDOWS_1252[usize::from(byte - 0x80)],
        _ => char::from(*byte),
    };
    std::str::from_utf8(field).map_or_else(|_| field.iter().map(old).collect(), Cow::Borrowed)
}

/// Whether a field stands for a missing number or date, in capitals or not.
pub(crate) fn is_missing(field: &[u8]) -> bool {
    is_one_of(field, &MISSING)
}

/// Whether a field stands for a missing text, in capitals or not.
pub(crate) fn is_missing_text(field: &[u8]) -> bool {
    is_one_of(field, &MISSING_TEXT)
}

fn is_one_of(field: &[u8], spellings: &[&str]) -> bool {
    let field = field.trim_ascii();
    spellings.iter().any(|spelling| field.eq_ignore_ascii_case(spelling.as_bytes()))
}

/// A finite number, or a truth as 1 or 0.
pub(crate) fn parse_number(field: &[u8]) -> Option<f64> {
    number::parse(field).or_else(|| truth(field)).filter(|value| value.is_finite())
}

/// 1 for `true` and 0 for `false`, in capitals or not.
pub(crate) fn truth(field: &[u8]) -> Option<f64> {
    let field = field.trim_ascii();
    let is = |word: &str| field.eq_ignore_ascii_case(word.as_bytes());
    if is("true") { Some(1.0) } else { is("false").then_some(0.0) }
}

/// What a column's entries are.
#[derive(Debug, Clone)]
pub(crate) enum Entry {
    Number,
    /// Texts have their day and month in this order.
    Time(Order),
    /// So many numbers.
    Vector(usize),
    Category(Levels),
    /// Texts whose levels are still to be chosen: each is the number under which it is remembered.
    Coded(Arc<Mutex<Texts>>),
    /// A vector of which only the length is read.
    Length,
}

impl Entry {
    pub(crate) fn of(reading: &Reading) -> Entry {
        match reading {
            Reading::Number { .. } => Entry::Number,
            Reading::Time { order, .. } => Entry::Time(*order),
            Reading::Vector { length } => Entry::Vector(*length),
            Reading::Category { levels, other } => Entry::Category(Levels::new(levels, *other)),
        }
    }

    /// What a good entry is, for errors.
    pub(crate) fn expected(&self) -> String {
        match self {
            Entry::Number => "a finite number".to_owned(),
            Entry::Time(_) => "a date or time, such as 2013-01-31 or 2013-01-31T05:00:00Z".to_owned(),
            Entry::Vector(length) => format!("a vector of {length} finite numbers, as the recipe has it"),
            Entry::Category(_) | Entry::Coded(_) => "a level, but missing".to_owned(),
            Entry::Length => "a vector".to_owned(),
        }
    }

    /// Reads a field of text into the entry's coordinates.
    pub(crate) fn take_text(&self, text: &[u8], out: &mut [f64]) -> Taken {
        match self {
            Entry::Number | Entry::Time(_) if is_missing(text) => Taken::Missing,
            Entry::Number => number_or_stray(parse_number(text), out),
            Entry::Time(order) => number_or_stray(calendar::parse(text, *order), out),
            Entry::Category(_) | Entry::Coded(_) if is_missing_text(text) => Taken::Missing,
            Entry::Category(levels) => {
                levels.place(text_of(text).trim()).into_iter().for_each(|place| out[place] = 1.0);
                Taken::Good
            }
            Entry::Coded(texts) => number_or_stray(Some(lock(texts).number(text_of(text).trim())), out),
            Entry::Vector(_) | Entry::Length => Taken::Bad,
        }
    }
}

/// What became of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    Good,
    Missing,
    /// It is not what the column holds, and may count as missing.
    Stray,
    Bad,
}

fn number_or_stray(value: Option<f64>, out: &mut [f64]) -> Taken {
    match value {
        Some(value) => {
            out[0] = value;
            Taken::Good
        }
        None => Taken::Stray,
    }
}

/// The levels of a category by their text.
#[derive(Debug, Clone)]
pub(crate) struct Levels {
    places: Arc<HashMap<String, usize>>,
    other: Option<usize>,
}

impl Levels {
    fn new(levels: &[String], other: bool) -> Levels {
        let places = levels.iter().enumerate().map(|(i, level)| (level.clone(), i)).collect();
        Levels { places: Arc::new(places), other: other.then_some(levels.len()) }
    }

    /// The coordinate that is 1 for this level; none for an unknown level that has none.
    pub(crate) fn place(&self, level: &str) -> Option<usize> {
        self.places.get(level).copied().or(self.other)
    }
}

/// Texts that were met, by number in the order of first appearance.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    numbers: HashMap<String, usize>,
    pub all: Vec<String>,
}

impl Texts {
    pub(crate) fn number(&mut self, text: &str) -> f64 {
        if let Some(number) = self.numbers.get(text) {
            return *number as f64;
        }
        self.numbers.insert(text.to_owned(), self.all.len());
        self.all.push(text.to_owned());
        (self.all.len() - 1) as f64
    }
}

pub(crate) fn lock(texts: &Mutex<Texts>) -> MutexGuard<'_, Texts> {
    texts.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_old_encodings_are_read() {
        assert_eq!(text_of("Zürich".as_bytes()), "Zürich");
        assert_eq!(text_of(b"Z\xfcrich"), "Zürich");
        assert_eq!(text_of(b"\x80 5 \x96 caf\xe9"), "€ 5 – café");
        assert_ne!(text_of(b"\xc3("), text_of(b"\xc4("));
    }
}
