//! Batches are counted: sums, shares, index, senders and keys change in one transaction, or none of them.

use std::collections::BTreeMap;

use compressive::Sketch;
use compressive::privacy::PrivateSketch;
use jiff::{SignedDuration, Timestamp};
use redb::{ReadableDatabase, ReadableTable, WriteTransaction};
use serde::{Deserialize, Serialize};

use super::shares::{Summed, release_share};
use super::{BUCKETS, Batch, Content, KEYS, PRIVATE, PROMISES, REPORTS, SHARES, STREAMS, SUMS};
use super::{Store, Stream, failed};
use crate::bucket::Bucket;
use crate::error::{Error, Result};
use crate::room;
use compressive_client::Answer;

/// How far ahead of the server's clock a bucket may lie: clocks differ, and so do the days of time zones.
const AHEAD: SignedDuration = SignedDuration::from_hours(24);

/// What is kept of a batch.
#[derive(Serialize, Deserialize)]
struct Kept {
    answer: Answer,
    digest: String,
    at: i64,
}

/// A stream and a bucket.
pub(super) type Place = (String, String);

/// What a bucket holds: rows, private sketches, their rows.
pub(super) type Held = (u64, u64, i64);

/// What a transaction changes.
#[derive(Default)]
struct Changed {
    plain: BTreeMap<Place, Summed<Sketch>>,
    reports: BTreeMap<Place, Summed<PrivateSketch>>,
    held: BTreeMap<Place, Held>,
    /// Buckets of a stream.
    buckets: BTreeMap<String, usize>,
    /// Bytes of the private sketches that are kept one by one.
    private: usize,
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

/// Refuses buckets that have not come yet, and those that the stream keeps no longer.
fn check_window(stream: &Stream, bucket: &Bucket, now: Timestamp) -> Result<()> {
    let last = now.checked_add(AHEAD).map_or_else(|_| stream.every.of(now), |then| stream.every.of(then));
    if *bucket > last {
        return Err(Error::Ahead { bucket: bucket.as_str().into(), last: last.as_str().into() });
    }
    let Some(keep) = stream.keep else { return Ok(()) };
    if *bucket <= stream.every.before(now, i64::from(keep))? {
        return Err(Error::Expired { bucket: bucket.as_str().into(), keep });
    }
    Ok(())
}

impl Store {
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
        let mut changed = Changed::default();
        let mut answers = Vec::with_capacity(batches.len());
        for batch in batches {
            match self.count(&transaction, batch, now, &mut changed) {
                Err(error @ (Error::Store(_) | Error::Damaged { .. })) => return Err(error),
                outcome => answers.push(outcome),
            }
        }
        let plain: Vec<_> =
            changed.plain.iter().filter_map(|(place, sum)| Some((place, sum.written()?))).collect();
        let reports: Vec<_> =
            changed.reports.iter().filter_map(|(place, sum)| Some((place, sum.written()?))).collect();
        let bytes = plain.iter().chain(&reports).map(|(_, written)| written.bytes()).sum::<usize>();
        room::check(self.directory(), batches.len(), bytes + changed.private)?;
        {
            let mut table = transaction.open_table(SUMS).map_err(failed)?;
            for ((stream, bucket), written) in &plain {
                table.insert((stream.as_str(), bucket.as_str()), &written.total[..]).map_err(failed)?;
            }
            let mut table = transaction.open_table(PRIVATE).map_err(failed)?;
            for ((stream, bucket), written) in &reports {
                let place = (stream.as_str(), bucket.as_str(), REPORTS);
                table.insert(place, &written.total[..]).map_err(failed)?;
            }
            let mut table = transaction.open_table(SHARES).map_err(failed)?;
            for ((stream, bucket), written) in plain.iter().chain(&reports) {
                for (share, rows, bytes) in &written.shares {
                    let place = (stream.as_str(), bucket.as_str(), share.as_str());
                    table.insert(place, (*rows, &bytes[..])).map_err(failed)?;
                }
            }
            let mut table = transaction.open_table(BUCKETS).map_err(failed)?;
            for ((stream, bucket), held) in &changed.held {
                table.insert((stream.as_str(), bucket.as_str()), *held).map_err(failed)?;
            }
        }
        transaction.commit().map_err(failed)?;
        Ok(answers)
    }

    /// Counts one batch within a transaction; sums are collected in `changed`.
    fn count(
        &self,
        transaction: &WriteTransaction,
        batch: &Batch,
        now: Timestamp,
        changed: &mut Changed,
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
        check_window(&stream, &batch.bucket, now)?;
        let place = (name.to_owned(), batch.bucket.as_str().to_owned());
        let before = self.held(transaction, &place, changed)?;
        // Refuses what was settled, so that it comes before anything changes.
        let settled = self.settled(transaction, name, key, batch.settled)?;
        let held =
            self.add_content(transaction, &stream, batch, &place, before.unwrap_or_default(), changed)?;
        if before.is_none() {
            *changed.buckets.entry(place.0.clone()).or_default() += 1;
        }
        changed.held.insert(place, held);
        self.settle(transaction, &mut keys, name, settled)?;
        let answer = Answer {
            stream: name.into(),
            bucket: batch.bucket.as_str().into(),
            key: key.into(),
            rows,
            private,
        };
        let kept = Kept {
            answer: answer.clone(),
            digest: compressive_client::text::hex(&batch.digest),
            at: now.as_second(),
        };
        let text = serde_json::to_vec(&kept).map_err(failed)?;
        keys.insert((name, key), &text[..]).map_err(failed)?;
        Ok((answer, false))
    }

    /// What a bucket holds, if there is such a bucket; refused if it would be one too many.
    fn held(
        &self,
        transaction: &WriteTransaction,
        place: &Place,
        changed: &mut Changed,
    ) -> Result<Option<Held>> {
        if let Some(held) = changed.held.get(place) {
            return Ok(Some(*held));
        }
        let (name, bucket) = (place.0.as_str(), place.1.as_str());
        let table = transaction.open_table(BUCKETS).map_err(failed)?;
        if let Some(held) = table.get((name, bucket)).map_err(failed)? {
            return Ok(Some(held.value()));
        }
        let buckets = match changed.buckets.get(name) {
            Some(buckets) => *buckets,
            None => {
                let mut buckets = 0;
                for entry in table.range((name, "")..).map_err(failed)? {
                    if entry.map_err(failed)?.0.value().0 != name {
                        break;
                    }
                    buckets += 1;
                }
                changed.buckets.insert(name.to_owned(), buckets);
                buckets
            }
        };
        match buckets < self.buckets_max {
            true => Ok(None),
            false => Err(Error::TooManyBuckets { name: name.into(), buckets }),
        }
    }

    /// Adds what a batch holds to the sums, and tells what its bucket then holds.
    fn add_content(
        &self,
        transaction: &WriteTransaction,
        stream: &Stream,
        batch: &Batch,
        place: &Place,
        (rows, private, private_rows): Held,
        changed: &mut Changed,
    ) -> Result<Held> {
        match &batch.content {
            Content::Plain(more) => {
                let sum = self.begun(transaction, place, &mut changed.plain)?;
                self.add(transaction, place, sum, (&batch.caller, more), |_| Ok(()))?;
                Ok((rows + more.rows(), private, private_rows))
            }
            Content::Reports(more) => {
                check_promise(stream, more)?;
                let sum = self.begun(transaction, place, &mut changed.reports)?;
                let begun = sum.total.is_some();
                self.add(transaction, place, sum, (&batch.caller, more), |sum| match sum.releases().len() {
                    ..=PROMISES => Ok(()),
                    _ => Err(Error::Payload(format!(
                        "bucket {} already holds reports of {PROMISES} different promises; send with one of their epsilons",
                        place.1
                    ))),
                })?;
                Ok((rows, private + u64::from(!begun), private_rows.saturating_add(more.rows())))
            }
            Content::Private(sketch) => {
                let bytes = sketch.to_bytes();
                changed.private += bytes.len();
                let mut table = transaction.open_table(PRIVATE).map_err(failed)?;
                let (name, bucket) = (place.0.as_str(), place.1.as_str());
                table.insert((name, bucket, batch.key.as_str()), &bytes[..]).map_err(failed)?;
                let mut shares = transaction.open_table(SHARES).map_err(failed)?;
                let share = release_share(&batch.caller, &batch.key);
                shares.insert((name, bucket, share.as_str()), (sketch.rows(), &[][..])).map_err(failed)?;
                Ok((rows, private + 1, private_rows.saturating_add(sketch.rows())))
            }
        }
    }
}
