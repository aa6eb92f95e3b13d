//! How far a question may go: bytes that it reads, the time it takes, and whether anybody still waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use compressive::learn::Budget;

use crate::error::{Error, Result};

/// What is left to a question.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    limit: Option<Limit>,
}

#[derive(Debug)]
struct Limit {
    begun: Instant,
    time: Duration,
    bytes: u64,
    read: u64,
    gone: Arc<AtomicBool>,
}

impl Reach {
    /// So much time from a moment on and so many bytes, unless the flag is raised before.
    pub fn new(begun: Instant, time: Duration, bytes: u64, gone: Arc<AtomicBool>) -> Reach {
        Reach { limit: Some(Limit { begun, time, bytes, read: 0, gone }) }
    }

    /// Fails if the question has to end.
    pub fn check(&self) -> Result<()> {
        let Some(limit) = &self.limit else { return Ok(()) };
        if limit.gone.load(Ordering::Relaxed) {
            return Err(Error::Gone);
        }
        if limit.begun.elapsed() > limit.time {
            return Err(Error::TooLong(limit.time.as_secs()));
        }
        Ok(())
    }

    /// Counts bytes that are about to be read, or fails as [`check`](Reach::check) does.
    pub fn read(&mut self, bytes: usize) -> Result<()> {
        self.check()?;
        let Some(limit) = &mut self.limit else { return Ok(()) };
        limit.read = limit.read.saturating_add(bytes as u64);
        if limit.read > limit.bytes {
            return Err(Error::TooMuch(limit.bytes));
        }
        Ok(())
    }

    /// The same end for a search, which then has the best it found until then.
    pub fn budget(&self) -> Budget {
        let Some(Limit { begun, time, gone, .. }) = &self.limit else { return Budget::default() };
        let (end, gone) = (*begun + *time, Arc::clone(gone));
        Budget::new(move || gone.load(Ordering::Relaxed) || Instant::now() > end)
    }
}
