//! The collector: a fleet sends one-bit contributions, rows or whole sketches, and nothing is lost or counted
//! twice.
//!
//! A [`Store`] keeps streams of one spec each, the exact sums of their time buckets, and the key of every
//! batch that was counted, in one file that changes as a whole. A [`Writer`] counts the batches that wait in
//! groups, with one wait for the disk each. [`Tokens`] say who may do what. A [`Server`] takes requests over
//! HTTP within [`Limits`]. The crate `compressive-client` has the other end: it sends batches and whole
//! tables.
#![forbid(unsafe_code)]

mod bucket;
mod error;
mod http;
mod log;
mod metrics;
mod payload;
mod reach;
mod room;
mod server;
mod slice;
mod store;
mod token;
mod writer;

pub use bucket::{Bucket, Every};
pub use error::{Error, Result};
pub use http::Limits;
pub use log::Log;
pub use server::{Serve, Server};
pub use slice::Slice;
pub use store::{Batch, Content, Count, REPORTS, Sender, Store, Stream, TakenOut};
pub use token::{Caller, Record, Role, Tokens};
pub use writer::{Reply, Writer};

/// A lock whose holders leave nothing half done, so that it can be taken over from one that panicked.
pub(crate) fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
