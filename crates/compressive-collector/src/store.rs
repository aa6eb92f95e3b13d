//! The store: one file in which streams, sums of buckets and the keys of batches change together or not at
//! all.
//!
//! A batch is counted in the same transaction that keeps its key, and is acknowledged only after that
//! transaction is on the disk: a batch sent again, after whatever crash, finds its key and adds nothing. Sums
//! carry a checksum of their own beside the file's; a store that does not pass is refused as a whole, since a
//! wrong sum cannot be distinguished from a right one later.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use compressive::privacy::PrivateSketch;
use compressive::{Sketch, SketchSpec};
use jiff::Timestamp;
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::bucket::{Bucket, Every};
use crate::error::{Error, Result};
use crate::room;
use compressive_client::{Answer, check_name};

pub(crate) const STREAMS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("streams");
pub(crate) const SUMS: TableDefinition<'_, (&str, &str), &[u8]> = TableDefinition::new("sums");
pub(crate) const PRIVATE: TableDefinition<'_, (&str, &str, &str), &[u8]> = TableDefinition::new("private");
pub(crate) const KEYS: TableDefinition<'_, (&str, &str), &[u8]> = TableDefinition::new("keys");
pub(crate) const META: TableDefinition<'_, &str, &str> = TableDefinition::new("meta");
const FORMAT: &str = "1";
/// Bytes of the checksum before a sum.
const CHECK: usize = 16;
/// Memory that the store's cache may take.
const CACHE: usize = 64 << 20;

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

/// Sums that a transaction changes, by stream and bucket.
#[derive(Default)]
struct Changed {
    plain: HashMap<(String, String), Sketch>,
    reports: HashMap<(String, String), PrivateSketch>,
    /// Bytes of the private sketches that are kept one by one.
    private: usize,
}

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
    /// SHA-256 of what was sent.
    pub digest: [u8; 32],
    /// What it adds.
    pub content: Content,
}

/// What is kept of a batch.
#[derive(Serialize, Deserialize)]
struct Kept {
    answer: Answer,
    digest: String,
    at: i64,
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
}

/// Refuses reports under a promise that the stream does not take: one who sends many would leave no room for
/// others.
fn check_promise(stream: &Stream, reports: &PrivateSketch) -> Result<()> {
    let Some(epsilons) = &stream.epsilons else { return Ok(()) };
    match reports.releases().iter().find(|release| !epsilons.contains(&release.epsilon)) {
        None => Ok(()),
        Some(other) => {
            let taken: Vec<String> = epsilons.iter().map(f64::to_string).collect();
            Err(Error::Payload(format!(
                "reports at epsilon {}, and the stream takes epsilon {} alone, as it was made to",
                other.epsilon,
                taken.join(" or ")
            )))
        }
    }
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
        let store = Store { database, path };
        if fresh {
            let transaction = store.database.begin_write().map_err(failed)?;
            {
                transaction.open_table(STREAMS).map_err(failed)?;
                transaction.open_table(SUMS).map_err(failed)?;
                transaction.open_table(PRIVATE).map_err(failed)?;
                transaction.open_table(KEYS).map_err(failed)?;
                transaction.open_table(META).map_err(failed)?.insert("format", FORMAT).map_err(failed)?;
            }
            transaction.commit().map_err(failed)?;
        }
        store.verify()?;
        Ok(store)
    }

    fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    pub(crate) fn damaged(&self, problem: impl Into<String>) -> Error {
        Error::Damaged { path: self.path.display().to_string(), problem: problem.into() }
    }

    /// Reads every stream and every sum once.
    fn verify(&self) -> Result<()> {
        let transaction = self.database.begin_read().map_err(failed)?;
        let meta = transaction.open_table(META).map_err(|e| self.damaged(e.to_string()))?;
        let format = meta.get("format").map_err(failed)?;
        match format.as_ref().map(|f| f.value()) {
            Some(FORMAT) => {}
            Some(other) => return Err(self.damaged(format!("format {other}, this version reads {FORMAT}"))),
            None => return Err(self.damaged("it names no format")),
        }
        let streams = self.streams()?;
        let sums = transaction.open_table(SUMS).map_err(failed)?;
        for entry in sums.iter().map_err(failed)? {
            let (key, value) = entry.map_err(failed)?;
            let (name, bucket) = key.value();
            let sketch = self.sketch(value.value(), name, bucket)?;
            let known =
                streams.iter().any(|(n, s)| n == name && s.spec.fingerprint() == sketch.fingerprint());
            if !known {
                return Err(
                    self.damaged(format!("bucket {bucket} of `{name}` has a different spec from its stream"))
                );
            }
        }
        Ok(())
    }

    /// A sum with its checksum verified.
    pub(crate) fn sketch(&self, bytes: &[u8], name: &str, bucket: &str) -> Result<Sketch> {
        let wrong = |problem: &str| self.damaged(format!("bucket {bucket} of `{name}`: {problem}"));
        let (check, bytes) = bytes.split_at_checked(CHECK).ok_or_else(|| wrong("cut off"))?;
        if check != &Sha256::digest(bytes)[..CHECK] {
            return Err(wrong("wrong checksum"));
        }
        Sketch::from_bytes(bytes).map_err(|e| wrong(&e.to_string()))
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

    /// The answer that a key got before, if any.
    pub fn answered(
        &self,
        stream: &str,
        key: &str,
        digest: &[u8; 32],
        bucket: Option<&Bucket>,
    ) -> Result<Option<Answer>> {
        let transaction = self.database.begin_read().map_err(failed)?;
        let table = transaction.open_table(KEYS).map_err(failed)?;
        let value = table.get((stream, key)).map_err(failed)?;
        value.map(|v| self.repeated(v.value(), key, digest, bucket)).transpose()
    }

    fn repeated(
        &self,
        bytes: &[u8],
        key: &str,
        digest: &[u8; 32],
        bucket: Option<&Bucket>,
    ) -> Result<Answer> {
        let kept: Kept =
            serde_json::from_slice(bytes).map_err(|e| self.damaged(format!("key `{key}`: {e}")))?;
        let elsewhere = bucket.is_some_and(|bucket| bucket.as_str() != kept.answer.bucket);
        if elsewhere || kept.digest != compressive_client::text::hex(digest) {
            return Err(Error::KeyReused(key.into()));
        }
        Ok(kept.answer)
    }

    /// Counts batches in one transaction, with one wait for the disk. The outer error is that of the store,
    /// and then nothing was counted; an inner one is that of its batch alone. The flag marks a batch that
    /// was counted before.
    pub fn commit(&self, batches: &[Batch], now: Timestamp) -> Result<Vec<Result<(Answer, bool)>>> {
        let mut transaction = self.database.begin_write().map_err(failed)?;
        transaction.set_durability(redb::Durability::Immediate).map_err(failed)?;
        let mut sums = Changed::default();
        let mut answers = Vec::with_capacity(batches.len());
        for batch in batches {
            match self.count(&transaction, batch, now, &mut sums) {
                Err(error @ (Error::Store(_) | Error::Damaged { .. })) => return Err(error),
                outcome => answers.push(outcome),
            }
        }
        let stored = |sketch: &Sketch| {
            let bytes = sketch.to_bytes();
            [&Sha256::digest(&bytes)[..CHECK], &bytes].concat()
        };
        let plain: Vec<_> = sums.plain.iter().map(|(place, sketch)| (place, stored(sketch))).collect();
        let reports: Vec<_> = sums.reports.iter().map(|(place, sketch)| (place, sketch.to_bytes())).collect();
        let bytes = plain.iter().chain(&reports).map(|(_, bytes)| bytes.len()).sum::<usize>();
        room::check(self.directory(), batches.len(), bytes + sums.private)?;
        {
            let mut table = transaction.open_table(SUMS).map_err(failed)?;
            for ((stream, bucket), bytes) in &plain {
                table.insert((stream.as_str(), bucket.as_str()), &bytes[..]).map_err(failed)?;
            }
            let mut table = transaction.open_table(PRIVATE).map_err(failed)?;
            for ((stream, bucket), bytes) in &reports {
                table.insert((stream.as_str(), bucket.as_str(), REPORTS), &bytes[..]).map_err(failed)?;
            }
        }
        transaction.commit().map_err(failed)?;
        Ok(answers)
    }

    /// Counts one batch within a transaction; sums are collected in `sums`.
    fn count(
        &self,
        transaction: &WriteTransaction,
        batch: &Batch,
        now: Timestamp,
        sums: &mut Changed,
    ) -> Result<(Answer, bool)> {
        let (name, key) = (batch.stream.as_str(), batch.key.as_str());
        let mut keys = transaction.open_table(KEYS).map_err(failed)?;
        let known = keys.get((name, key)).map_err(failed)?.map(|v| v.value().to_vec());
        if let Some(bytes) = known {
            let bucket = batch.named.then_some(&batch.bucket);
            return Ok((self.repeated(&bytes, key, &batch.digest, bucket)?, true));
        }
        // The stream may have been deleted, or made anew, while the batch waited.
        let streams = transaction.open_table(STREAMS).map_err(failed)?;
        let bytes = streams.get(name).map_err(failed)?.ok_or_else(|| Error::NoStream(name.into()))?;
        let stream: Stream = serde_json::from_slice(bytes.value())
            .map_err(|e| self.damaged(format!("stream `{name}`: {e}")))?;
        let (found, rows, private) = match &batch.content {
            Content::Plain(sketch) => (sketch.fingerprint(), sketch.rows() as i64, false),
            Content::Private(sketch) | Content::Reports(sketch) => {
                (sketch.fingerprint(), sketch.rows(), true)
            }
        };
        let expected = stream.spec.fingerprint();
        if found != expected {
            return Err(Error::Fingerprint { name: name.into(), expected, found: found.into() });
        }
        let bucket = batch.bucket.as_str();
        match &batch.content {
            Content::Plain(more) => self.add(transaction, (name, bucket), more, &mut sums.plain)?,
            Content::Reports(more) => {
                check_promise(&stream, more)?;
                self.add_reports(transaction, (name, bucket), more, &mut sums.reports)?;
            }
            Content::Private(sketch) => {
                let bytes = sketch.to_bytes();
                sums.private += bytes.len();
                let mut table = transaction.open_table(PRIVATE).map_err(failed)?;
                table.insert((name, bucket, key), &bytes[..]).map_err(failed)?;
            }
        }
        let answer = Answer { stream: name.into(), bucket: bucket.into(), key: key.into(), rows, private };
        let kept = Kept {
            answer: answer.clone(),
            digest: compressive_client::text::hex(&batch.digest),
            at: now.as_second(),
        };
        let text = serde_json::to_vec(&kept).map_err(failed)?;
        keys.insert((name, key), &text[..]).map_err(failed)?;
        Ok((answer, false))
    }

    fn add(
        &self,
        transaction: &WriteTransaction,
        (name, bucket): (&str, &str),
        more: &Sketch,
        sums: &mut HashMap<(String, String), Sketch>,
    ) -> Result<()> {
        let place = (name.to_owned(), bucket.to_owned());
        let mut sum = match sums.get(&place) {
            Some(sum) => sum.clone(),
            None => {
                let table = transaction.open_table(SUMS).map_err(failed)?;
                let stored = table.get((name, bucket)).map_err(failed)?;
                match stored {
                    Some(value) => self.sketch(value.value(), name, bucket)?,
                    None => {
                        sums.insert(place, more.clone());
                        return Ok(());
                    }
                }
            }
        };
        sum.merge(more)?;
        sums.insert(place, sum);
        Ok(())
    }

    fn add_reports(
        &self,
        transaction: &WriteTransaction,
        (name, bucket): (&str, &str),
        more: &PrivateSketch,
        sums: &mut HashMap<(String, String), PrivateSketch>,
    ) -> Result<()> {
        let place = (name.to_owned(), bucket.to_owned());
        let mut sum = match sums.get(&place) {
            Some(sum) => Some(sum.clone()),
            None => {
                let table = transaction.open_table(PRIVATE).map_err(failed)?;
                let stored = table.get((name, bucket, REPORTS)).map_err(failed)?;
                let read = |bytes: &[u8]| PrivateSketch::from_own_bytes(bytes);
                let stored = stored.map(|value| read(value.value())).transpose();
                stored.map_err(|e| self.damaged(format!("reports of bucket {bucket} of `{name}`: {e}")))?
            }
        };
        match &mut sum {
            Some(sum) => sum.merge(more)?,
            None => sum = Some(more.clone()),
        }
        if let Some(sum) = sum {
            if sum.releases().len() > PROMISES {
                return Err(Error::Payload(format!(
                    "bucket {bucket} already holds reports of {PROMISES} different promises; send with one of their epsilons"
                )));
            }
            sums.insert(place, sum);
        }
        Ok(())
    }
}
