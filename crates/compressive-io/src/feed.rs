//! Parts of a source for several workers: handed out in order, stopped at the first error, counted for the
//! progress bar.
//!
//! Errors do not depend on the threads: after the first error no more parts are handed out, those in work are
//! finished, and the error of the earliest part is reported; every earlier part was handed out before it.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::chunk::{DataSource, RowReader};
use crate::error::{Error, Result};

/// How far a pass has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Rows read, the bad ones included.
    pub rows: u64,
    /// Bytes of input handed out.
    pub bytes: u64,
}

/// Rows between two reports of progress by a worker.
const REPORT_ROWS: u64 = 1 << 14;

/// A source shared by workers.
pub(crate) struct Feed<'a> {
    parts: Mutex<Numbered<'a>>,
    stopped: AtomicBool,
    cancel: Option<&'a AtomicBool>,
    progress: Option<&'a (dyn Fn(Progress) + Sync)>,
    rows: AtomicU64,
    bytes: AtomicU64,
}

/// The source and the earliest error so far.
struct Numbered<'a> {
    source: &'a mut dyn DataSource,
    /// Number of the next part.
    next: u64,
    failure: Option<(u64, Error)>,
}

/// A part with its number.
pub(crate) type Part = (u64, Box<dyn RowReader + Send>);

/// A panic of another worker is passed on when the threads are joined; until then its data are as good as
/// any.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of threads meant by an option, where 0 stands for all processors.
pub(crate) fn thread_count(threads: usize) -> usize {
    match threads {
        0 => std::thread::available_parallelism().map_or(1, NonZero::get),
        given => given,
    }
}

impl<'a> Feed<'a> {
    pub(crate) fn new(
        source: &'a mut dyn DataSource,
        cancel: Option<&'a AtomicBool>,
        progress: Option<&'a (dyn Fn(Progress) + Sync)>,
    ) -> Feed<'a> {
        Feed {
            parts: Mutex::new(Numbered { source, next: 0, failure: None }),
            stopped: AtomicBool::new(false),
            cancel,
            progress,
            rows: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    pub(crate) fn cancelled(&self) -> bool {
        self.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// The next part, or `None` if there is nothing more to do.
    pub(crate) fn take_part(&self) -> Option<Part> {
        let mut parts = lock(&self.parts);
        if self.stopped.load(Ordering::Relaxed) || self.cancelled() {
            return None;
        }
        let number = parts.next;
        parts.next += 1;
        match parts.source.next_part() {
            Ok(Some(part)) => {
                self.bytes.store(parts.source.bytes_done(), Ordering::Relaxed);
                Some((number, part))
            }
            Ok(None) => {
                self.stopped.store(true, Ordering::Relaxed);
                None
            }
            Err(error) => {
                self.keep(&mut parts, number, error);
                None
            }
        }
    }

    /// Stops the pass with the error of a part.
    pub(crate) fn fail(&self, number: u64, error: Error) {
        self.keep(&mut lock(&self.parts), number, error);
    }

    fn keep(&self, parts: &mut Numbered<'_>, number: u64, error: Error) {
        self.stopped.store(true, Ordering::Relaxed);
        if parts.failure.as_ref().is_none_or(|(earliest, _)| number < *earliest) {
            parts.failure = Some((number, error));
        }
    }

    /// Counts rows, and tells the progress bar once enough have come together.
    pub(crate) fn count(&self, unreported: &mut u64, rows: u64) {
        *unreported += rows;
        if *unreported >= REPORT_ROWS {
            self.report(unreported);
        }
    }

    /// Tells the progress bar.
    pub(crate) fn report(&self, unreported: &mut u64) {
        let new = std::mem::take(unreported);
        let rows = self.rows.fetch_add(new, Ordering::Relaxed) + new;
        if let Some(progress) = self.progress {
            progress(Progress { rows, bytes: self.bytes.load(Ordering::Relaxed) });
        }
    }

    /// After all workers: whether the pass came to its end.
    pub(crate) fn outcome(&self) -> Result<()> {
        if self.cancelled() {
            return Err(Error::Interrupted { rows: self.rows.load(Ordering::Relaxed) });
        }
        lock(&self.parts).failure.take().map_or(Ok(()), |(_, error)| Err(error))
    }
}
