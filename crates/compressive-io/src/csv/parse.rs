//! Rows of a block of text.

use std::sync::Arc;

use super::number;
use super::record::{empty_line, next_field};
use compressive::Missing;

use crate::chunk::{RowChunk, RowReader, Slot, usable_weight};
use crate::entry::{Entry, Taken, is_missing, parse_number};
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
}

impl Roles {
    pub(super) fn new(plan: &Plan, delimiter: u8) -> Self {
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
        Roles { slots, besides, delimiter }
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
        let mut at = self.at;
        let mut column = 0;
        let (mut bad, mut gap) = (None, false);
        let missing = self.plan.missing;
        loop {
            let start = at;
            let slot = roles.slots.get(column).copied().flatten();
            let plain =
                matches!(slot, Some(Slot::Feature(_))).then(|| plain_number(block, at, roles.delimiter));
            let last = if let (Some(Slot::Feature(i)), Some(Some((value, next, last)))) = (slot, plain) {
                out.doubles[row_start + i] = value;
                at = next;
                last
            } else {
                let field = next_field(block, at, roles.delimiter, scratch);
                at = field.next;
                if let Some(Slot::Feature(i)) = slot
                    && missing != Missing::Error
                    && is_missing(field.text)
                {
                    out.doubles[row_start + i] = f64::NAN;
                    out.has_missing = true;
                    gap = true;
                } else if let Some(Slot::Entry(i)) = slot {
                    let source = &self.plan.sources[i];
                    let from = row_start + source.at;
                    let entries = &mut out.doubles[from..from + source.width];
                    match source.entry.take_text(field.text, entries) {
                        Taken::Good => {}
                        Taken::Missing if missing != Missing::Error => {
                            entries.fill(f64::NAN);
                            out.has_missing = true;
                            gap = true;
                        }
                        _ => {
                            bad.get_or_insert_with(|| (Slot::Entry(i), describe(field.text)));
                        }
                    }
                } else if let Some(slot) = slot
                    && !take_field(slot, field.text, row_start, out)
                {
                    bad.get_or_insert_with(|| (slot, describe(field.text)));
                }
                field.last
            };
            for &(_, slot) in roles.besides.iter().filter(|(besides, _)| *besides == column) {
                let field = next_field(block, start, roles.delimiter, scratch);
                if !take_field(slot, field.text, row_start, out) {
                    bad.get_or_insert_with(|| (slot, describe(field.text)));
                }
            }
            column += 1;
            if last {
                break;
            }
        }
        self.at = at;
        match bad {
            _ if column != self.plan.width => Record::Ragged(column),
            Some((slot, text)) => Record::Bad(slot, text),
            None if gap && missing == Missing::Skip => Record::Gap,
            None => Record::Good,
        }
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
        let before = self.block.bytes[..start].iter().filter(|&&byte| byte == b'\n').count();
        let line = self.first_line + before as u64;
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

/// Stores a field; `false` if it cannot be used.
fn take_field(slot: Slot, text: &[u8], row_start: usize, out: &mut RowChunk) -> bool {
    let number = || number::parse(text).filter(|value| value.is_finite());
    match slot {
        Slot::Feature(i) => match parse_number(text) {
            Some(value) => out.doubles[row_start + i] = value,
            None => return false,
        },
        Slot::Entry(_) => unreachable!("entries are read on their way"),
        Slot::Weight => match number() {
            Some(weight) if usable_weight(weight) => out.weights.push(weight),
            _ => return false,
        },
        Slot::Group => {
            // Bytes that are no UTF-8 would all become the same replacement character, and different groups
            // one.
            let key = std::str::from_utf8(text).map_or("", str::trim);
            if key.is_empty() {
                return false;
            }
            out.keys.push(key);
        }
    }
    true
}

fn describe(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    if text.trim().is_empty() { "an empty field".to_owned() } else { quote(&text) }
}
