//! Rows of a block of text.

use std::sync::Arc;

use compressive::Missing;

use super::dialect::Dialect;
use super::notation::Notation;
use super::number;
use super::record::{empty_line, next_field};
use crate::chunk::{RowChunk, RowReader, Slot, usable_weight};
use crate::entry::{Entry, Taken, is_missing, text_of};
use crate::error::{Error, Result};
use crate::fileio::PooledBuffer;
use crate::plan::{Plan, quote};

/// What the fields of a file are used for: one entry per file column.
#[derive(Debug)]
pub(super) struct Roles {
    slots: Vec<Option<Slot>>,
    /// What features are besides: the row's weight or group.
    besides: Vec<(usize, Slot)>,
    delimiter: u8,
    /// How numbers are written.
    notations: Arc<[Notation]>,
}

impl Roles {
    pub(super) fn new(plan: &Plan, dialect: &Dialect) -> Self {
        let mut slots = vec![None; plan.width];
        for (i, source) in plan.sources.iter().enumerate() {
            let plain = matches!(source.entry, Entry::Number);
            slots[source.file_column] = Some(if plain { Slot::Feature(source.at) } else { Slot::Entry(i) });
        }
        let mut besides = Vec::new();
        for (column, slot) in [(plan.weights, Slot::Weight), (plan.by, Slot::Group)] {
            match column {
                Some(column) if slots[column].is_some() => besides.push((column, slot)),
                Some(column) => slots[column] = Some(slot),
                None => {}
            }
        }
        Roles { slots, besides, delimiter: dialect.delimiter, notations: Arc::clone(&dialect.notations) }
    }

    fn notation(&self, column: usize) -> Notation {
        self.notations.get(column).copied().unwrap_or_default()
    }
}

/// Reader of one block of whole records.
pub(super) struct BlockReader {
    pub block: PooledBuffer,
    pub plan: Arc<Plan>,
    pub roles: Arc<Roles>,
    /// Data row of the first record, from 1.
    pub first_row: u64,
    /// Line of the first record, from 1.
    pub first_line: u64,
    pub at: usize,
    /// Records read so far, the bad ones included.
    pub done: u64,
    pub scratch: Vec<u8>,
}

/// What a record turned out to be.
enum Record {
    Good,
    Bad(Slot, String),
    /// An entry is missing, and such rows are left out.
    Gap,
    Ragged(usize),
}

impl RowReader for BlockReader {
    fn next_rows(&mut self, out: &mut RowChunk) -> Result<bool> {
        out.reset(&self.plan.path, self.first_row + self.done, self.plan.dim());
        out.declare(false, self.plan.weights.is_some(), self.plan.by.is_some());
        let mut taken = 0;
        while taken < self.plan.chunk_rows && self.at < self.block.bytes.len() {
            if let Some(len) = empty_line(&self.block.bytes, self.at) {
                self.at += len;
                continue;
            }
            let start = self.at;
            match self.read_record(out) {
                Record::Good => out.commit_row(),
                Record::Gap => self.forget_row(out),
                _ if self.plan.skip_bad_rows => self.forget_row(out),
                bad => return Err(self.error(start, bad)),
            }
            self.done += 1;
            taken += 1;
        }
        self.plan.turn(&mut out.doubles);
        Ok(taken > 0)
    }
}

impl BlockReader {
    /// Reads one record into the tail of `out`, and moves to the next.
    fn read_record(&mut self, out: &mut RowChunk) -> Record {
        let Self { block, roles, scratch, .. } = self;
        let block = &block.bytes[..];
        let row_start = out.doubles.len();
        out.doubles.resize(row_start + self.plan.dim(), 0.0);
        let (mut at, mut column) = (self.at, 0);
        let mut found = Found::default();
        loop {
            let start = at;
            let slot = roles.slots.get(column).copied().flatten();
            let plain = match slot {
                Some(Slot::Feature(i)) if roles.notation(column).is_plain() => {
                    plain_number(block, at, roles.delimiter).map(|number| (i, number))
                }
                _ => None,
            };
            let last = if let Some((i, (value, next, last))) = plain {
                out.doubles[row_start + i] = value;
                at = next;
                last
            } else {
                let field = next_field(block, at, roles.delimiter, scratch);
                at = field.next;
                if let Some(slot) = slot {
                    let taken =
                        take_field(slot, field.text, (&self.plan, roles.notation(column)), row_start, out);
                    found.note(&self.plan, slot, taken, field.text);
                }
                field.last
            };
            for &(_, slot) in roles.besides.iter().filter(|(besides, _)| *besides == column) {
                let field = next_field(block, start, roles.delimiter, scratch);
                let taken =
                    take_field(slot, field.text, (&self.plan, roles.notation(column)), row_start, out);
                found.note(&self.plan, slot, taken, field.text);
            }
            column += 1;
            if last {
                break;
            }
        }
        let record_start = std::mem::replace(&mut self.at, at);
        let Found { bad, gap, strays } = found;
        match bad {
            _ if column != self.plan.width => return Record::Ragged(column),
            Some((slot, text)) => return Record::Bad(slot, text),
            None => {}
        }
        for (source, text) in strays {
            let row = self.first_row + self.done;
            self.plan.strays.count(&self.plan, source, row, || (text, Some(self.line(record_start))));
        }
        out.has_missing |= gap;
        if gap && self.plan.missing == Missing::Skip { Record::Gap } else { Record::Good }
    }

    /// Line of a place in the block, from 1.
    fn line(&self, at: usize) -> u64 {
        self.first_line + self.block.bytes[..at].iter().filter(|&&byte| byte == b'\n').count() as u64
    }

    /// Takes back what a bad record left in `out`.
    fn forget_row(&self, out: &mut RowChunk) {
        out.doubles.truncate(out.n_rows() * self.plan.dim());
        out.weights.truncate(out.n_rows());
        out.keys.truncate(out.n_rows());
        out.skip_row();
    }

    fn error(&self, start: usize, record: Record) -> Error {
        let row = self.first_row + self.done;
        let line = self.line(start);
        match record {
            Record::Bad(slot, text) => self.plan.bad(slot, row, Some(line), text),
            Record::Ragged(found) => Error::Ragged {
                path: self.plan.path.to_string(),
                row,
                line,
                expected: self.plan.width,
                found,
                delimiter: char::from(self.roles.delimiter),
            }
            .advised(),
            Record::Good | Record::Gap => unreachable!("such a record has no error"),
        }
    }
}

/// An unquoted finite number up to its delimiter or line end: (value, what follows, whether the record ends).
#[inline]
fn plain_number(block: &[u8], at: usize, delimiter: u8) -> Option<(f64, usize, bool)> {
    let (value, len) = number::scan(&block[at..])?;
    let end = at + len;
    match block.get(end) {
        Some(&byte) if byte == delimiter => Some((value, end + 1, false)),
        Some(b'\n') => Some((value, end + 1, true)),
        Some(b'\r') if block.get(end + 1) == Some(&b'\n') => Some((value, end + 2, true)),
        None => Some((value, end, true)),
        _ => None,
    }
}

/// What the fields of a record turned out to be.
#[derive(Default)]
struct Found {
    /// The first that cannot be used.
    bad: Option<(Slot, String)>,
    /// Whether an entry is missing.
    gap: bool,
    /// Entries that count as missing, with their column.
    strays: Vec<(usize, String)>,
}

impl Found {
    fn note(&mut self, plan: &Plan, slot: Slot, taken: Taken, text: &[u8]) {
        let source = match slot {
            Slot::Feature(coordinate) => Some(plan.source_of(coordinate)),
            Slot::Entry(source) => Some(source),
            Slot::Weight | Slot::Group => None,
        };
        match (taken, source) {
            (Taken::Good, _) => {}
            (Taken::Missing, Some(_)) if plan.missing != Missing::Error => self.gap = true,
            (Taken::Stray, Some(source)) if plan.excuses => {
                self.gap = true;
                self.strays.push((source, describe(text)));
            }
            _ => {
                self.bad.get_or_insert_with(|| (slot, describe(text)));
            }
        }
    }
}

/// Stores a field, NaN for a missing one or a stray.
fn take_field(
    slot: Slot,
    text: &[u8],
    (plan, notation): (&Plan, Notation),
    row_start: usize,
    out: &mut RowChunk,
) -> Taken {
    match slot {
        Slot::Feature(i) => {
            let value = notation.parse(text);
            out.doubles[row_start + i] = value.unwrap_or(f64::NAN);
            match value {
                Some(_) => Taken::Good,
                None if is_missing(text) => Taken::Missing,
                // Infinity is a number, and no missing one.
                None if number::parse(text).is_some() => Taken::Bad,
                None => Taken::Stray,
            }
        }
        Slot::Entry(i) => {
            let source = &plan.sources[i];
            let entries = &mut out.doubles[row_start + source.at..row_start + source.at + source.width];
            let taken = source.entry.take_text(text, entries);
            if taken != Taken::Good {
                entries.fill(f64::NAN);
            }
            taken
        }
        Slot::Weight => {
            match number::parse(text).filter(|weight| weight.is_finite() && usable_weight(*weight)) {
                Some(weight) => {
                    out.weights.push(weight);
                    Taken::Good
                }
                None => Taken::Bad,
            }
        }
        Slot::Group => match text_of(text).trim() {
            "" => Taken::Bad,
            key => {
                out.keys.push(key);
                Taken::Good
            }
        },
    }
}

fn describe(text: &[u8]) -> String {
    let text = text_of(text);
    if text.trim().is_empty() { "an empty field".to_owned() } else { quote(&text) }
}
