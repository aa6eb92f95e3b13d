//! The threaded pass: rows of a source into sketches.
//!
//! Workers take parts of the source in order (under a lock, cheaply), read them, and sum the rows into
//! sketches of their own, one per group; at the end the sketches are merged. Sums are exact integers, so the
//! result has the same bytes for any number of threads and any size of chunks.
//!
//! The error reported does not depend on the threads either.
//!
//! Cost: that of [`SketchOperator::accumulate`] over the number of threads; memory: one chunk, one part and
//! one sketch per group for every thread.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use compressive::{Column, Reading, Sketch, SketchOperator};

use crate::chunk::{DataSource, RowChunk, RowReader};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::feed::{Feed, Progress, lock, thread_count};
use crate::strays::{self, Stray};
use crate::worker::Worker;

/// Options of [`sketch_dataset`].
#[derive(Clone, Copy)]
pub struct DriveOptions<'a> {
    /// Number of worker threads; 0 takes all processors (default).
    pub threads: usize,
    /// Largest number of groups (default 1000).
    pub max_groups: usize,
    /// Raised from outside to stop the pass, which then ends with [`Error::Interrupted`].
    pub cancel: Option<&'a AtomicBool>,
    /// Called by the workers now and then.
    pub progress: Option<&'a (dyn Fn(Progress) + Sync)>,
}

impl Default for DriveOptions<'_> {
    fn default() -> Self {
        DriveOptions { threads: 0, max_groups: 1000, cancel: None, progress: None }
    }
}

/// Result of a pass.
#[derive(Debug)]
pub struct Outcome {
    /// One sketch per group; without groups a single one under the empty key.
    pub sketches: BTreeMap<String, Sketch>,
    /// Rows summed.
    pub rows_read: u64,
    /// Bad rows left out.
    pub rows_skipped: u64,
    /// Columns with missing entries in whose place a centre was summed, and how many.
    pub filled: Vec<(String, u64)>,
    /// Entries among them that were there, but not what their columns hold.
    pub strays: Vec<Stray>,
}

/// Sketches all rows of a data set, opened with the columns of the operator's spec in their order.
///
/// # Errors
/// The earliest bad row or unreadable part; a column with many entries that are not what it holds; [`Error::TooManyGroups`]; [`Error::NoRows`];
/// [`Error::Interrupted`].
pub fn sketch_dataset(
    dataset: &mut Dataset,
    operator: &SketchOperator,
    options: &DriveOptions<'_>,
) -> Result<Outcome> {
    let mut outcome = sketch_source(&mut dataset.source()?, operator, options)?;
    outcome.filled = by_column(&dataset.table_columns(), &outcome.filled);
    outcome.strays = dataset.strays();
    strays::refuse_many(&outcome.strays, outcome.rows_read + outcome.rows_skipped)?;
    Ok(outcome)
}

/// Missing entries of each column of the table, from those of its coordinates: a category or a place on
/// circles is missing in all of them at once, a vector's numbers one by one.
fn by_column(columns: &[Column], filled: &[(String, u64)]) -> Vec<(String, u64)> {
    let known: HashMap<&str, u64> = filled.iter().map(|(name, n)| (name.as_str(), *n)).collect();
    let entries = |column: &Column| {
        let coordinates = column.coordinates();
        let counts = coordinates.iter().map(|name| known.get(name.as_str()).copied().unwrap_or(0));
        match column.reading {
            Reading::Vector { .. } => counts.sum::<u64>(),
            _ => counts.max().unwrap_or(0),
        }
    };
    let columns = columns.iter().map(|column| (column.column.clone(), entries(column)));
    columns.filter(|(_, n)| *n > 0).collect()
}

/// Sketches all rows of any source; see [`sketch_dataset`].
///
/// # Errors
/// As [`sketch_dataset`], and [`Error::WrongWidth`] if the source has another number of columns than the
/// operator.
pub fn sketch_source(
    source: &mut dyn DataSource,
    operator: &SketchOperator,
    options: &DriveOptions<'_>,
) -> Result<Outcome> {
    if source.columns().len() != operator.dim() {
        return Err(Error::WrongWidth { expected: operator.dim(), found: source.columns().len() });
    }
    let shared = Shared {
        operator,
        options,
        columns: source.columns().to_vec(),
        weights: source.weights().unwrap_or_default().to_owned(),
        by: source.by().map(str::to_owned),
        groups: Mutex::default(),
        feed: Feed::new(source, options.cancel, options.progress),
    };
    let threads = thread_count(options.threads);
    let workers: Vec<Worker<'_>> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(|| run(&shared))).collect();
        handles
            .into_iter()
            .map(|handle| handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    shared.feed.outcome()?;
    finish(workers, &shared.columns)
}

/// Merges what the workers have.
fn finish(workers: Vec<Worker<'_>>, columns: &[String]) -> Result<Outcome> {
    let total = |c: usize| workers.iter().map(|worker| worker.filled[c]).sum::<u64>();
    let filled = columns.iter().enumerate().map(|(c, name)| (name.clone(), total(c)));
    let filled = filled.filter(|(_, n)| *n > 0).collect();
    let mut outcome =
        Outcome { sketches: BTreeMap::new(), rows_read: 0, rows_skipped: 0, filled, strays: Vec::new() };
    for worker in workers {
        outcome.rows_read += worker.rows_read;
        outcome.rows_skipped += worker.rows_skipped;
        for (key, sketch) in worker.into_sketches() {
            match outcome.sketches.entry(key) {
                std::collections::btree_map::Entry::Vacant(entry) => {
                    entry.insert(sketch);
                }
                std::collections::btree_map::Entry::Occupied(mut entry) => entry.get_mut().merge(&sketch)?,
            }
        }
    }
    if outcome.rows_read == 0 {
        return Err(Error::NoRows { rows_skipped: outcome.rows_skipped }.advised());
    }
    Ok(outcome)
}

/// What the workers share.
pub(crate) struct Shared<'a> {
    pub operator: &'a SketchOperator,
    options: &'a DriveOptions<'a>,
    pub columns: Vec<String>,
    /// Name of the weight column.
    pub weights: String,
    pub by: Option<String>,
    feed: Feed<'a>,
    /// All groups met by any worker.
    groups: Mutex<HashSet<String>>,
}

impl Shared<'_> {
    /// Admits a group that a worker meets for the first time.
    pub(crate) fn admit(&self, key: &str) -> Result<()> {
        let mut groups = lock(&self.groups);
        if !groups.contains(key) {
            groups.insert(key.to_owned());
        }
        if groups.len() > self.options.max_groups {
            let column = self.by.clone().unwrap_or_default();
            return Err(Error::TooManyGroups { column, max: self.options.max_groups }.advised());
        }
        Ok(())
    }
}

/// One worker: parts until there are no more.
fn run<'a>(shared: &'a Shared<'a>) -> Worker<'a> {
    let mut worker = Worker::new(shared);
    let mut chunk = RowChunk::default();
    while let Some((number, mut part)) = shared.feed.take_part() {
        if let Err(error) = run_part(shared, &mut worker, &mut *part, &mut chunk) {
            shared.feed.fail(number, error);
            break;
        }
    }
    worker
}

/// Sums one part, up to its end or the cancel flag.
fn run_part(
    shared: &Shared<'_>,
    worker: &mut Worker<'_>,
    part: &mut dyn RowReader,
    chunk: &mut RowChunk,
) -> Result<()> {
    let mut unreported = 0;
    while !shared.feed.cancelled() && part.next_rows(chunk)? {
        worker.sum(chunk)?;
        shared.feed.count(&mut unreported, (chunk.n_rows() + chunk.n_skipped()) as u64);
    }
    shared.feed.report(&mut unreported);
    Ok(())
}
