//! What can go wrong, in words for the one who asked.

use compressive_client::BadName;

/// Result of the collector.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a request was not served. No message holds a token or a row.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A bucket's name that is none.
    #[error(
        "`{text}` is not a bucket of a stream by {every}; write 2026-11-16T17 for an hour, 2026-11-16 for a day (UTC)"
    )]
    Bucket {
        /// What was written.
        text: String,
        /// The stream's buckets.
        every: &'static str,
    },
    /// A name of a stream that is none.
    #[error(transparent)]
    Name(#[from] BadName),
    /// A stream that is not there.
    #[error("there is no stream `{0}`; make it with PUT /v1/streams/{0} and a spec")]
    NoStream(String),
    /// A stream that is there with another spec.
    #[error(
        "the stream `{name}` has a different spec: {differences}; choose another name, or delete the stream"
    )]
    OtherSpec {
        /// The stream.
        name: String,
        /// What differs.
        differences: String,
    },
    /// A fingerprint that is not the stream's.
    #[error(
        "the stream `{name}` has the fingerprint {expected}, the batch has {found}; sketch with the stream's own spec (GET /v1/streams/{name})"
    )]
    Fingerprint {
        /// The stream.
        name: String,
        /// The stream's.
        expected: String,
        /// The batch's.
        found: String,
    },
    /// A key that was used for other bytes.
    #[error(
        "the key `{0}` was used before for another batch or bucket; a key belongs to one batch, and a repeated batch has the same bytes and bucket"
    )]
    KeyReused(String),
    /// A number of a sender that it has settled.
    #[error(
        "the batch `{0}` was settled: its sender has said that it got the answer, and sends it no more; if this is not a late copy, the sender's disk was put back to an earlier state, and it must begin anew under another name"
    )]
    Settled(String),
    /// A key that has no number, from a sender that numbers its batches.
    #[error(
        "the key `{0}` has no number; a sender that says what is settled calls its batches ID-0, ID-1 and so on"
    )]
    Unnumbered(String),
    /// A batch far beyond those that are settled.
    #[error(
        "the batch `{key}` is too far ahead: {settled} are settled, and at most {window} may be under way"
    )]
    FarAhead {
        /// The key.
        key: String,
        /// What is settled.
        settled: u64,
        /// Batches that may be under way.
        window: u64,
    },
    /// A bucket that has not come.
    #[error("the bucket {bucket} lies ahead of this server's clock, by which the last one is {last}")]
    Ahead {
        /// The bucket.
        bucket: String,
        /// The last one that is taken.
        last: String,
    },
    /// A bucket that is kept no longer.
    #[error("the bucket {bucket} is too old: the stream keeps {keep} buckets; name a later one")]
    Expired {
        /// The bucket.
        bucket: String,
        /// Buckets that are kept.
        keep: u32,
    },
    /// A bucket too many.
    #[error("the stream `{name}` has {buckets} buckets, which is the limit; delete old ones first")]
    TooManyBuckets {
        /// The stream.
        name: String,
        /// Its buckets.
        buckets: usize,
    },
    /// A question that nobody waits for.
    #[error("nobody waits for the answer")]
    Gone,
    /// A question that took too long.
    #[error("the answer took more than {0} seconds; ask for fewer buckets")]
    TooLong(u64),
    /// A question that reads too much.
    #[error("the answer needs more than {} MB of sums; ask for fewer buckets", .0 >> 20)]
    TooMuch(u64),
    /// A payload that cannot be added.
    #[error("{0}")]
    Payload(String),
    /// No room in the queue of batches.
    #[error("too many batches wait to be written; send this one again in a moment, with the same key")]
    Busy,
    /// The store failed; nothing of the batch was kept.
    #[error("the store failed: {0}; nothing of this batch was counted")]
    Store(String),
    /// The store cannot be trusted.
    #[error("the store {path} is damaged: {problem}; restore a backup")]
    Damaged {
        /// The file.
        path: String,
        /// What was found.
        problem: String,
    },
    /// A certificate or key that cannot be used.
    #[error("{path}: {problem}; give a certificate chain and its key as PEM files")]
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

impl Error {
    /// The message with the remedies in the words of a surface; `Display` has plain words.
    pub fn words(&self, vocabulary: &dyn compressive::Vocabulary) -> String {
        match self {
            Error::Sketch(error) => error.words(vocabulary),
            Error::Damaged { .. } => {
                let how = vocabulary.set(compressive::Parameter::Restore, "FILE");
                format!("{self}{}", vocabulary.aside(&how))
            }
            other => other.to_string(),
        }
    }
}
