//! What can go wrong on the way to a collector.

use crate::batch::BadName;

/// Result of a client.
pub type Result<T> = std::result::Result<T, Error>;

/// Why rows did not arrive. No message holds a token or a row.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A name of a stream that is none.
    #[error(transparent)]
    Name(#[from] BadName),
    /// A collector that refuses or cannot be reached.
    #[error("{0}")]
    Refused(String),
    /// Rows that cannot be read.
    #[error(transparent)]
    Rows(#[from] compressive_io::Error),
    /// The client's own disk.
    #[error("the spool {path}: {problem}")]
    Spool {
        /// The file or folder.
        path: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A certificate that cannot be used.
    #[error("{path}: {problem}; give a certificate chain as a PEM file")]
    Tls {
        /// The file.
        path: String,
        /// What is wrong with it.
        problem: String,
    },
    /// From the library.
    #[error(transparent)]
    Sketch(#[from] compressive::Error),
}
