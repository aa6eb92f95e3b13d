//! Room on the disk, asked for before it is needed.
//!
//! A database whose disk is full in the middle of a write has to be opened anew before it takes another one.
//! So batches are refused while there is still room: nothing has failed then, and the server goes on by
//! itself when there is more. What is left is enough to delete old buckets.

use std::path::Path;

use crate::error::{Error, Result};

/// Bytes that are left free: a few times what the pages of a deletion take.
const RESERVE: u64 = 4 << 20;

/// Bytes that a batch takes beside its sums: its key, and the pages on the way to both.
const BATCH: u64 = 16 << 10;

/// Refuses a write of so many batches with sums of so many bytes if the disk has no room for them.
pub(crate) fn check(directory: &Path, batches: usize, bytes: usize) -> Result<()> {
    // The database gives a value up to twice its length.
    let needed = RESERVE + BATCH * batches as u64 + 2 * bytes as u64;
    match free(directory) {
        Some(free) if free < needed => Err(Error::Store(format!(
            "its disk is full: {} kB are free, and {} kB are needed",
            free >> 10,
            needed >> 10
        ))),
        _ => Ok(()),
    }
}

/// Bytes that may still be written in a directory, if the system tells.
#[cfg(unix)]
fn free(directory: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(directory).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

#[cfg(not(unix))]
fn free(_: &Path) -> Option<u64> {
    None
}
