//! The collector: a fleet sends one-bit contributions, rows or whole sketches, and nothing is lost or counted twice.
//!
//! A [`Store`] keeps streams of one spec each, the exact sums of their time buckets, and the key of every batch that was counted, in one file that changes as a whole. A [`Writer`] counts the batches that
//! wait in groups, with one wait for the disk each. [`Tokens`] say who may do what. A [`Server`] takes requests over HTTP within [`Limits`]. A [`Client`] sends batches, [`push`] all rows of a table, with a [`Spool`] that keeps what is still to be sent.
//!
//! The feature `server`, on by default, has all but the last three: clients do without it.
#![forbid(unsafe_code)]

mod batch;
mod client;
mod error;
mod push;
mod run;
mod spool;
mod text;

#[cfg(feature = "server")]
mod ask;
#[cfg(feature = "server")]
mod bucket;
#[cfg(feature = "server")]
mod http;
#[cfg(feature = "server")]
mod log;
#[cfg(feature = "server")]
mod metrics;
#[cfg(feature = "server")]
mod payload;
#[cfg(feature = "server")]
mod server;
#[cfg(feature = "server")]
mod store;
#[cfg(feature = "server")]
mod token;
#[cfg(feature = "server")]
mod writer;

pub use batch::{Answer, Kind, check_name};
pub use client::{Client, Place, Sent};
pub use error::{Error, Result};
pub use push::{PushParams, Pushed, kind, push};
pub use run::{Rows, Run};
pub use spool::Spool;

#[cfg(feature = "server")]
pub use {
    ask::Slice,
    bucket::{Bucket, Every},
    http::Limits,
    log::Log,
    server::{Serve, Server},
    store::{Batch, Content, Count, REPORTS, Store, Stream},
    token::{Caller, Record, Role, Tokens},
    writer::{Reply, Writer},
};

/// A lock whose holders leave nothing half done, so that it can be taken over from one that panicked.
pub(crate) fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(all(test, feature = "server"))]
mod tests;
