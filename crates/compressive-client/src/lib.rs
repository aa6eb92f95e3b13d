//! The sensors' end of a collector: batches are sent until they are counted, and none is counted twice.
//!
//! A [`Client`] sends batches and asks for sums. [`push`] sends all rows of a table, with a [`Spool`] that
//! keeps on disk what is still to be sent; a [`Run`] is what a later call knows the rows by. [`BatchKind`],
//! [`Answer`] and [`check_name`] are what both ends agree on: the crate `compressive-collector` is the other
//! end.
#![forbid(unsafe_code)]

mod batch;
mod client;
mod error;
mod push;
mod run;
mod spool;
pub mod text;

pub use batch::{Answer, BadName, BatchKind, check_name};
pub use client::{Client, Place, Sent};
pub use error::{Error, Result};
pub use push::{PushParams, Pushed, kind, push};
pub use run::{Rows, Run};
pub use spool::{Shelf, Spool};
