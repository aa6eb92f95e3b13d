//! The threaded pass: rows of a source into sketches.
//!
//! Workers take parts of the source in order (under a lock, cheaply), read them, and sum the rows into sketches of
//! their own, one per group; at the end the sketches are merged. Sums are exact integers, so the result has the same
//! bytes for any number of threads and any size of chunks.
//!
//! Errors do not depend on the threads either: after the first error no more parts are handed out, those in work are
//! finished, and the error of the earliest part is reported; every earlier part was handed out before it.
//!
//! Cost: that of [`SketchOperator::accumulate`] over the number of threads; memory: one chunk, one part and one sketch
//! per group for every thread.

use std::collections::{BTreeMap, HashSet};
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use compressive::{Sketch, SketchOperator};

use crate::chunk::{DataSource, RowChunk, RowReader};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
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

/// How far a pass has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Rows read, the bad ones included.
    pub rows: u64,
    /// Bytes of input handed out.
    pub bytes: u64,
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
}

/// Sketches all rows of a data set, opened with the columns of the operator's spec in their order.
///
/// # Errors
/// The earliest bad row or unreadable part; [`Error::TooManyGroups`]; [`Error::NoRows`]; [`Error::Interrupted`].
pub fn sketch_dataset(
    dataset: &mut Dataset,
    operator: &SketchOperator,
    options: &DriveOptions<'_>,
) -> Result<Outcome> {
    sketch_source(&mut dataset.source()?, operator, options)
}

/// Sketches all rows of any source; see [`sketch_dataset`].
///
/// # Errors
/// As [`sketch_dataset`], and [`Error::WrongWidth`] if the source has another number of columns than the operator.
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
        feed: Mutex::new(Feed { source, next: 0, failure: None }),
        stopped: AtomicBool::new(false),
        groups: Mutex::default(),
        rows: AtomicU64::new(0),
        bytes: AtomicU64::new(0),
    };
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, NonZero::get),
        threads => threads,
    };
    let workers: Vec<Worker<'_>> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(|| run(&shared))).collect();
        handles
            .into_iter()
            .map(|handle| handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    if shared.cancelled() {
        return Err(Error::Interrupted { rows: shared.rows.load(Ordering::Relaxed) });
    }
    if let Some((_, error)) = lock(&shared.feed).failure.take() {
        return Err(error);
    }
    finish(workers)
}

/// Merges what the workers have.
fn finish(workers: Vec<Worker<'_>>) -> Result<Outcome> {
    let mut outcome = Outcome { sketches: BTreeMap::new(), rows_read: 0, rows_skipped: 0 };
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
        return Err(Error::NoRows { rows_skipped: outcome.rows_skipped });
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
    feed: Mutex<Feed<'a>>,
    stopped: AtomicBool,
    /// All groups met by any worker.
    groups: Mutex<HashSet<String>>,
    rows: AtomicU64,
    bytes: AtomicU64,
}

/// The source and the earliest error so far.
struct Feed<'a> {
    source: &'a mut dyn DataSource,
    /// Number of the next part.
    next: u64,
    failure: Option<(u64, Error)>,
}

/// A panic of another worker is passed on when the threads are joined; until then its data are as good as any.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared<'_> {
    fn cancelled(&self) -> bool {
        self.options.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// The next part with its number, or `None` if there is nothing more to do.
    fn take_part(&self) -> Option<(u64, Box<dyn RowReader + Send>)> {
        let mut feed = lock(&self.feed);
        if self.stopped.load(Ordering::Relaxed) || self.cancelled() {
            return None;
        }
        let number = feed.next;
        feed.next += 1;
        match feed.source.next_part() {
            Ok(Some(part)) => {
                self.bytes.store(feed.source.bytes_done(), Ordering::Relaxed);
                Some((number, part))
            }
            Ok(None) => {
                self.stopped.store(true, Ordering::Relaxed);
                None
            }
            Err(error) => {
                self.note(&mut feed, number, error);
                None
            }
        }
    }

    fn note(&self, feed: &mut Feed<'_>, number: u64, error: Error) {
        self.stopped.store(true, Ordering::Relaxed);
        if feed.failure.as_ref().is_none_or(|(earliest, _)| number < *earliest) {
            feed.failure = Some((number, error));
        }
    }

    /// Admits a group that a worker meets for the first time.
    pub(crate) fn admit(&self, key: &str) -> Result<()> {
        let mut groups = lock(&self.groups);
        if !groups.contains(key) {
            groups.insert(key.to_owned());
        }
        if groups.len() > self.options.max_groups {
            let column = self.by.clone().unwrap_or_default();
            return Err(Error::TooManyGroups { column, max: self.options.max_groups });
        }
        Ok(())
    }

    fn report(&self, rows: u64) {
        let rows = self.rows.fetch_add(rows, Ordering::Relaxed) + rows;
        if let Some(progress) = self.options.progress {
            progress(Progress { rows, bytes: self.bytes.load(Ordering::Relaxed) });
        }
    }
}

/// Rows between two reports of progress by a worker.
const REPORT_ROWS: u64 = 1 << 14;

/// One worker: parts until there are no more.
fn run<'a>(shared: &'a Shared<'a>) -> Worker<'a> {
    let mut worker = Worker::new(shared);
    let mut chunk = RowChunk::default();
    while let Some((number, mut part)) = shared.take_part() {
        if let Err(error) = run_part(shared, &mut worker, &mut *part, &mut chunk) {
            shared.note(&mut lock(&shared.feed), number, error);
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
    while !shared.cancelled() && part.next_rows(chunk)? {
        worker.sum(chunk)?;
        unreported += (chunk.n_rows() + chunk.n_skipped()) as u64;
        if unreported >= REPORT_ROWS {
            shared.report(std::mem::take(&mut unreported));
        }
    }
    shared.report(unreported);
    Ok(())
}
