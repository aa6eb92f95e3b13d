//! The store: one file in which streams, sums of buckets and the keys of batches change together or not at
//! all.
//!
//! A batch is counted in the same transaction that keeps its key, and is acknowledged only after that
//! transaction is on the disk: a batch sent again, after whatever crash, finds its key and adds nothing. Sums
//! carry a checksum of their own beside the file's; a store that does not pass is refused as a whole, since a
//! wrong sum cannot be distinguished from a right one later.

mod count;
mod migrate;
mod settle;
mod shares;

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use compressive::privacy::PrivateSketch;
use compressive::{Sketch, SketchSpec};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::bucket::{Bucket, Every};
use crate::error::{Error, Result};
use compressive_client::check_name;

pub(crate) use shares::NOBODY;
pub use shares::{Sender, TakenOut};

pub(crate) const STREAMS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("streams");
pub(crate) const SUMS: TableDefinition<'_, (&str, &str), &[u8]> = TableDefinition::new("sums");
pub(crate) const PRIVATE: TableDefinition<'_, (&str, &str, &str), &[u8]> = TableDefinition::new("private");
pub(crate) const KEYS: TableDefinition<'_, (&str, &str), &[u8]> = TableDefinition::new("keys");
pub(crate) const META: TableDefinition<'_, &str, &str> = TableDefinition::new("meta");
/// What each bucket holds, so that nobody has to read sums to count: rows, private sketches, their rows.
pub(crate) const BUCKETS: TableDefinition<'_, (&str, &str), (u64, u64, i64)> =
    TableDefinition::new("buckets");
/// What each caller has added to a bucket: rows and a sum, which is empty where the whole total is the
/// caller's. See [`shares`].
pub(crate) const SHARES: TableDefinition<'_, (&str, &str, &str), (i64, &[u8])> =
    TableDefinition::new("shares");
/// By stream and sender, the number below which all its batches are settled. See [`settle`].
pub(crate) const SENDERS: TableDefinition<'_, (&str, &str), u64> = TableDefinition::new("senders");
const FORMAT: &str = "2";
/// The format before there were shares.
const FORMAT_1: &str = "1";
/// Bytes of the checksum before a sum.
const CHECK: usize = 16;
/// Memory that the store's cache may take.
const CACHE: usize = 64 << 20;
/// Buckets of a stream, if nothing else is said.
pub(crate) const BUCKETS_MAX: usize = 10_000;

/// A stream: one spec, buckets of one length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stream {
    /// The recipe that everything in the stream shares.
    pub spec: SketchSpec,
    /// Length of its buckets.
    pub every: Every,
    /// Buckets kept; all if there is no number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<u32>,
    /// The promises that readings may report under; any, and a few of them, if there is no list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epsilons: Option<Vec<f64>>,
    /// When it was made.
    pub created: String,
}

/// What a batch adds.
#[derive(Clone, Debug)]
pub enum Content {
    /// Exact sums, of bits, rows or a sketch.
    Plain(Sketch),
    /// A private sketch, which is kept apart.
    Private(PrivateSketch),
    /// Reports of local privacy, whose sums are kept apart from exact ones and added up in one private sketch
    /// for each bucket.
    Reports(PrivateSketch),
}

/// The key of the sketch that holds a bucket's reports; with its space it is none that a sender can choose.
pub const REPORTS: &str = "local reports";

/// Promises among the reports of a bucket, at most: each is kept and read with every batch.
pub(crate) const PROMISES: usize = 16;

/// A batch ready to be counted.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Its stream.
    pub stream: String,
    /// Its bucket.
    pub bucket: Bucket,
    /// Whether the sender named the bucket, so that another one under the same key is a mistake.
    pub named: bool,
    /// The key that the sender gave it.
    pub key: String,
    /// Who sends it, by the id of its token: whom to take out again who turns out to send nonsense.
    pub caller: String,
    /// Of a sender that numbers its batches, the number below which all were acknowledged to it.
    pub settled: Option<u64>,
    /// SHA-256 of what was sent.
    pub digest: [u8; 32],
    /// What it adds.
    pub content: Content,
}

/// What a bucket holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Count {
    /// Its name.
    pub bucket: Bucket,
    /// Rows of its exact sums.
    pub rows: u64,
    /// Private sketches kept beside them; the reports of a bucket are one.
    pub private: usize,
    /// Rows behind these, a number that may carry noise.
    pub private_rows: i64,
}

/// The open store.
#[derive(Debug)]
pub struct Store {
    pub(crate) database: Database,
    path: PathBuf,
    pub(crate) buckets_max: usize,
}

pub(crate) fn failed(error: impl std::fmt::Display) -> Error {
    Error::Store(error.to_string())
}

impl Store {
    /// The store's file in a data directory.
    pub fn path(directory: &Path) -> PathBuf {
        directory.join("collector.redb")
    }

    /// Opens a store, or makes it; one that does not pass its checks is refused. Cost: one pass over the
    /// file.
    pub fn open(directory: &Path) -> Result<Store> {
        std::fs::create_dir_all(directory).map_err(|e| failed(format!("{}: {e}", directory.display())))?;
        let path = Store::path(directory);
        let fresh = !path.exists();
        let mut builder = Database::builder();
        builder.set_cache_size(CACHE);
        let damaged = |problem: String| Error::Damaged { path: path.display().to_string(), problem };
        // Of a damaged file the database may panic instead of telling.
        let opened = catch_unwind(AssertUnwindSafe(|| -> std::result::Result<_, redb::DatabaseError> {
            let mut database = if fresh { builder.create(&path) } else { builder.open(&path) }?;
            let whole = fresh || database.check_integrity()?;
            Ok((database, whole))
        }));
        let database = match opened {
            Ok(Ok((database, true))) => database,
            Ok(Ok((_, false))) => {
                return Err(damaged("its checksums do not agree with what is in it".into()));
            }
            Ok(Err(redb::DatabaseError::DatabaseAlreadyOpen)) => {
                return Err(failed(format!("{} is in use by another server", path.display())));
            }
            Ok(Err(e)) => return Err(damaged(e.to_string())),
            Err(_) => return Err(damaged("its structure makes no sense".into())),
        };
        let opened = catch_unwind(AssertUnwindSafe(|| Store::checked(database, path.clone(), fresh)));
        opened.unwrap_or_else(|_| Err(damaged("its contents make no sense".into())))
    }

    /// A store on a database that passed its own checks.
    pub(crate) fn checked(database: Database, path: PathBuf, fresh: bool) -> Result<Store> {
        let store = Store { database, path, buckets_max: BUCKETS_MAX };
        if fresh {
            let transaction = store.database.begin_write().map_err(failed)?;
            {
                transaction.open_table(STREAMS).map_err(failed)?;
                transaction.open_table(SUMS).map_err(failed)?;
                transaction.open_table(PRIVATE).map_err(failed)?;
                transaction.open_table(KEYS).map_err(failed)?;
                transaction.open_table(BUCKETS).map_err(failed)?;
                transaction.open_table(SHARES).map_err(failed)?;
                transaction.open_table(SENDERS).map_err(failed)?;
                transaction.open_table(META).map_err(failed)?.insert("format", FORMAT).map_err(failed)?;
            }
            transaction.commit().map_err(failed)?;
        }
        store.verify()?;
        Ok(store)
    }

    /// The store with another limit of buckets a stream.
    #[must_use]
    pub fn limited(self, buckets_max: usize) -> Store {
        Store { buckets_max, ..self }
    }

    fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    pub(crate) fn damaged(&self, problem: impl Into<String>) -> Error {
        Error::Damaged { path: self.path.display().to_string(), problem: problem.into() }
    }

    /// Checks the format, every stream, and the checksum of every sum; a store of the format before becomes
    /// one of this. What a sum holds is looked at when it is asked for.
    fn verify(&self) -> Result<()> {
        let transaction = self.database.begin_read().map_err(failed)?;
        let meta = transaction.open_table(META).map_err(|e| self.damaged(e.to_string()))?;
        let format = meta.get("format").map_err(failed)?;
        match format.as_ref().map(|f| f.value()) {
            Some(FORMAT) => {}
            Some(FORMAT_1) => self.migrate()?,
            Some(other) => return Err(self.damaged(format!("format {other}, this version reads {FORMAT}"))),
            None => return Err(self.damaged("it names no format")),
        }
        let streams: HashSet<String> = self.streams()?.into_iter().map(|(name, _)| name).collect();
        let transaction = self.database.begin_read().map_err(failed)?;
        let known = |name: &str, bucket: &str| match streams.contains(name) {
            true => Ok(()),
            false => Err(self.damaged(format!("bucket {bucket} belongs to no stream: `{name}`"))),
        };
        let sums = transaction.open_table(SUMS).map_err(failed)?;
        for entry in sums.iter().map_err(failed)? {
            let (key, value) = entry.map_err(failed)?;
            let (name, bucket) = key.value();
            known(name, bucket)?;
            self.checked_sum(value.value(), name, bucket)?;
        }
        let shares = transaction.open_table(SHARES).map_err(failed)?;
        for entry in shares.iter().map_err(failed)? {
            let (key, value) = entry.map_err(failed)?;
            let (name, bucket, _) = key.value();
            known(name, bucket)?;
            match value.value() {
                (_, []) => {}
                (_, bytes) => drop(self.checked_sum(bytes, name, bucket)?),
            }
        }
        Ok(())
    }

    /// The bytes of a sum behind its checksum.
    fn checked_sum<'a>(&self, bytes: &'a [u8], name: &str, bucket: &str) -> Result<&'a [u8]> {
        let wrong = |problem: &str| self.damaged(format!("bucket {bucket} of `{name}`: {problem}"));
        let (check, bytes) = bytes.split_at_checked(CHECK).ok_or_else(|| wrong("cut off"))?;
        if check != &Sha256::digest(bytes)[..CHECK] {
            return Err(wrong("wrong checksum"));
        }
        Ok(bytes)
    }

    /// A sum with its checksum verified.
    pub(crate) fn sketch(&self, bytes: &[u8], name: &str, bucket: &str) -> Result<Sketch> {
        let bytes = self.checked_sum(bytes, name, bucket)?;
        let wrong = |problem: &str| self.damaged(format!("bucket {bucket} of `{name}`: {problem}"));
        Sketch::from_bytes(bytes).map_err(|e| wrong(&e.to_string()))
    }

    /// Reports of a bucket.
    pub(crate) fn private_sketch(&self, bytes: &[u8], name: &str, key: &str) -> Result<PrivateSketch> {
        PrivateSketch::from_own_bytes(bytes)
            .map_err(|e| self.damaged(format!("private sketch `{key}` of `{name}`: {e}")))
    }

    /// Makes a stream; false if it was there with the same spec and buckets.
    pub fn make_stream(&self, name: &str, stream: &Stream) -> Result<bool> {
        check_name(name)?;
        let transaction = self.database.begin_write().map_err(failed)?;
        {
            let mut table = transaction.open_table(STREAMS).map_err(failed)?;
            let known = table.get(name).map_err(failed)?.map(|v| v.value().to_vec());
            if let Some(bytes) = known {
                let known: Stream =
                    serde_json::from_slice(&bytes).map_err(|e| self.damaged(e.to_string()))?;
                if known.spec.fingerprint() != stream.spec.fingerprint() || known.every != stream.every {
                    let mut differences = known.spec.differences(&stream.spec);
                    if known.every != stream.every {
                        differences.push("every".into());
                    }
                    return Err(Error::OtherSpec { name: name.into(), differences: differences.join(", ") });
                }
                return Ok(false);
            }
            let bytes = serde_json::to_vec(stream).map_err(failed)?;
            table.insert(name, &bytes[..]).map_err(failed)?;
        }
        transaction.commit().map_err(failed)?;
        Ok(true)
    }

    /// All streams by name.
    pub fn streams(&self) -> Result<Vec<(String, Stream)>> {
        let transaction = self.database.begin_read().map_err(failed)?;
        let table = transaction.open_table(STREAMS).map_err(failed)?;
        let mut all = Vec::new();
        for entry in table.iter().map_err(failed)? {
            let (name, value) = entry.map_err(failed)?;
            let stream = serde_json::from_slice(value.value())
                .map_err(|e| self.damaged(format!("stream `{}`: {e}", name.value())))?;
            all.push((name.value().to_owned(), stream));
        }
        Ok(all)
    }

    /// One stream.
    pub fn stream(&self, name: &str) -> Result<Stream> {
        let transaction = self.database.begin_read().map_err(failed)?;
        let table = transaction.open_table(STREAMS).map_err(failed)?;
        let value = table.get(name).map_err(failed)?.ok_or_else(|| Error::NoStream(name.into()))?;
        serde_json::from_slice(value.value()).map_err(|e| self.damaged(format!("stream `{name}`: {e}")))
    }
}
