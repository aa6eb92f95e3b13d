//! What can go wrong on the way to a collector.

use compressive::{Parameter, Vocabulary};

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
    /// A stream that the collector does not have.
    #[error("{url}: there is no stream `{stream}`; an admin can create it")]
    NoStream {
        /// The collector.
        url: String,
        /// The stream.
        stream: String,
    },
}

impl Error {
    /// The message with the remedies in the words of a surface; `Display` has plain words.
    pub fn words(&self, vocabulary: &dyn Vocabulary) -> String {
        match self {
            Error::Rows(error) => error.words(vocabulary),
            Error::Sketch(error) => error.words(vocabulary),
            Error::NoStream { .. } => {
                format!("{self}{}", vocabulary.aside(&vocabulary.set(Parameter::Make, "day")))
            }
            other => other.to_string(),
        }
    }
}
