//! Entries that are not what their column holds, such as a word among numbers: where missing entries are
//! filled or their rows left out, they count as missing, and a pass tells how many there were.
//!
//! Few of them are a slip of the pen; a column of many is not what it was taken for, and is refused.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use crate::error::{Error, Result};
use crate::feed::lock;
use crate::plan::Plan;

/// One entry in so many may be a stray; a single one always may.
const STRAY_ONE_IN: u64 = 20;

/// Whether a column of so many entries may have so many strays.
pub(crate) fn few(strays: u64, entries: u64) -> bool {
    strays <= (entries / STRAY_ONE_IN).max(1)
}

/// The strays of one column, and the first of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stray {
    /// The column.
    pub column: String,
    /// How many there are.
    pub count: u64,
    /// File of the first.
    pub path: String,
    /// Data row of the first, from 1.
    pub row: u64,
    /// Its line in a text file, from 1.
    pub line: Option<u64>,
    /// The entry as it was found.
    pub text: String,
    /// What it should be.
    pub expected: String,
}

impl std::fmt::Display for Stray {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Stray { column, count, row, line, text, expected, .. } = self;
        let (entries, count_as) = if *count == 1 { ("entry", "counts") } else { ("entries", "count") };
        let line = line.map(|line| format!(", line {line}")).unwrap_or_default();
        write!(
            f,
            "{count} {entries} of `{column}` {count_as} as missing: {text} (row {row}{line}) is not {expected}"
        )
    }
}

/// Strays by the number of their column, counted while a file is read.
#[derive(Debug, Default)]
pub(crate) struct Strays(Mutex<BTreeMap<usize, Stray>>);

impl Strays {
    fn all(&self) -> MutexGuard<'_, BTreeMap<usize, Stray>> {
        lock(&self.0)
    }

    /// Counts an entry; `text` and `line` are asked for when it is the first in the order of the rows.
    pub(crate) fn count(
        &self,
        plan: &Plan,
        source: usize,
        row: u64,
        found: impl FnOnce() -> (String, Option<u64>),
    ) {
        let mut all = self.all();
        let known = all.get(&source).map(|stray| (stray.count, stray.row));
        if let (Some(stray), Some((count, first))) = (all.get_mut(&source), known)
            && first <= row
        {
            stray.count = count + 1;
            return;
        }
        let count = known.map_or(1, |(count, _)| count + 1);
        let (text, line) = found();
        let (column, expected) = (plan.sources[source].name.clone(), plan.sources[source].entry.expected());
        all.insert(source, Stray { column, count, path: plan.path.to_string(), row, line, text, expected });
    }

    pub(crate) fn clear(&self) {
        self.all().clear();
    }

    /// All of them, in the order of the columns.
    pub(crate) fn list(&self) -> Vec<Stray> {
        self.all().values().cloned().collect()
    }
}

/// Those of several files together.
pub(crate) fn together(files: impl Iterator<Item = Vec<Stray>>) -> Vec<Stray> {
    let mut all: Vec<Stray> = Vec::new();
    for stray in files.flatten() {
        match all.iter_mut().find(|known| known.column == stray.column) {
            Some(known) => known.count += stray.count,
            None => all.push(stray),
        }
    }
    all
}

/// Refuses columns of many strays.
pub(crate) fn refuse_many(strays: &[Stray], rows: u64) -> Result<()> {
    let Some(many) = strays.iter().find(|stray| !few(stray.count, rows)) else { return Ok(()) };
    let Stray { column, path, row, line, text, .. } = many.clone();
    let expected = format!("{} (as are {} of {rows} entries)", many.expected, many.count);
    Err(Error::BadEntry { path, row, line, column, text, expected }.advised())
}
