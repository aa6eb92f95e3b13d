//! Reading tables of any size, and sketching them on all processors.
//!
//! [`Dataset::open`] takes files, globs, directories or standard input in CSV, Parquet, npy or Arrow format
//! and finds the numeric columns, and [`Dataset::from_batches`] those of Arrow record batches;
//! [`Dataset::pilot`] samples rows to design a spec from; [`sketch_dataset`] sums every row into one sketch
//! per group. Memory does not grow with the number of rows, and the result has the same bytes whatever the
//! format, the chunk size and the number of threads.
//!
//! A format is one module that opens a file, hands out its rows in parts ([`DataSource`], [`RowReader`]) and
//! samples it. Bad values never reach a sketch: they are errors that name file, row and column, or are left
//! out and counted. [`Job`] is the way from inputs to a recipe, the same for the program, Python and `push`.
//! [`pass_in_order`] is the same pass for results that follow the rows' order, such as predictions;
//! [`TableWriter`] writes them. [`OsEntropy`] is the randomness that private releases need. [`write_atomic`]
//! and [`AtomicFile`] write results so that an interrupted run leaves no half-written file.

#![forbid(unsafe_code)]

mod arrow_ipc;
mod arrow_message;
mod arrow_stream;
mod atomic;
mod batches;
mod cells;
mod chunk;
mod columnar;
mod convert;
mod csv;
mod cube;
mod dataset;
mod driver;
mod entropy;
mod entry;
mod error;
mod feed;
mod fileio;
mod format;
mod guard;
mod inputs;
mod ipc;
mod job;
mod ledger;
mod lookup;
mod npy;
mod open;
mod options;
mod ordered;
mod parquet;
mod pilot;
mod plan;
mod settle;
mod strays;
mod survey;
mod table;
mod unfit;
mod worker;
mod write;

pub use atomic::{AtomicFile, sweep, write_atomic};
pub use chunk::{DataSource, GroupKeys, RowChunk, RowReader};
pub use cube::{Condition, Cube, Names, write_cube};
pub use dataset::{Dataset, DatasetSource};
pub use driver::{DriveOptions, Outcome, sketch_dataset, sketch_source};
pub use entropy::OsEntropy;
pub use error::{Error, Result};
pub use feed::Progress;
pub use guard::hide_decoder_panics;
pub use ipc::has_compressed_buffers;
pub use job::{Job, Readable, Recipe};
pub use ledger::{Budget, Charge, Ledger};
pub use options::{Cyclic, ReadOptions};
pub use ordered::{Ready, pass_in_order};
pub use pilot::Pilot;
pub use plan::LeftOut;
pub use strays::Stray;
pub use write::{CellType, Cells, Encoded, RowMajor, TableFormat, TableWriter};
