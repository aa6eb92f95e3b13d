//! What both ends of a connection know: kinds of batches, their answers, names of streams.

use serde::{Deserialize, Serialize};

/// What a batch may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchKind {
    /// One-bit contributions: rows of 2m bits, each filled up to whole bytes.
    Bits,
    /// Rows as `{"columns": [...], "rows": [[...], ...]}`.
    Json,
    /// Rows as CSV with a header.
    Csv,
    /// Rows as an Arrow IPC stream.
    Arrow,
    /// A sketch, plain or private.
    Sketch,
    /// Reports of readings that answer for themselves: local privacy.
    Reports,
}

impl BatchKind {
    /// All of them.
    pub const ALL: [BatchKind; 6] = [
        BatchKind::Bits,
        BatchKind::Json,
        BatchKind::Csv,
        BatchKind::Arrow,
        BatchKind::Sketch,
        BatchKind::Reports,
    ];

    /// The media type that names it.
    pub fn media_type(self) -> &'static str {
        match self {
            BatchKind::Bits => "application/vnd.compressive.bits",
            BatchKind::Json => "application/json",
            BatchKind::Csv => "text/csv",
            BatchKind::Arrow => "application/vnd.apache.arrow.stream",
            BatchKind::Sketch => "application/vnd.compressive.sketch",
            BatchKind::Reports => "application/vnd.compressive.reports",
        }
    }

    /// The kind of a `Content-Type`, parameters left aside.
    pub fn of(content_type: &str) -> Option<BatchKind> {
        let name = content_type.split(';').next().unwrap_or_default().trim();
        BatchKind::ALL.into_iter().find(|kind| kind.media_type().eq_ignore_ascii_case(name))
    }
}

/// The answer to the sender of a batch, the first time and every time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The stream.
    pub stream: String,
    /// The bucket that the rows were counted in.
    pub bucket: String,
    /// The key.
    pub key: String,
    /// Rows of the batch; of a private sketch, its noisy number of them.
    pub rows: i64,
    /// Whether it was a private sketch.
    pub private: bool,
}

/// A name of a stream that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` cannot name a stream; use 1 to 100 letters, digits, `-`, `_` and `.`, beginning with a letter or digit"
)]
pub struct BadName(pub String);

/// Refuses names that could be anything but a name.
pub fn check_name(name: &str) -> Result<(), BadName> {
    let first = name.chars().next().is_some_and(|c| c.is_ascii_alphanumeric());
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    if first && plain && name.len() <= 100 && !name.contains("..") {
        return Ok(());
    }
    Err(BadName(name.chars().take(40).collect()))
}
