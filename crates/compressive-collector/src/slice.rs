//! Questions to the store: sums over buckets and streams, counts, deletions, and a copy of everything.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use compressive::Sketch;
use compressive::privacy::PrivateSketch;
use jiff::Timestamp;
use redb::{Database, ReadableDatabase, ReadableTable};

use crate::bucket::Bucket;
use crate::error::{Error, Result};
use crate::reach::Reach;
use crate::store::{BUCKETS, Count, KEYS, META, PRIVATE, SENDERS, SHARES, STREAMS, SUMS, Store, failed};

/// A slice of the data: some streams, and the buckets from one to another, both included; an end that is not
/// named is open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// Names of the streams, at least one.
    pub streams: Vec<String>,
    /// First bucket.
    pub from: Option<Bucket>,
    /// Last bucket.
    pub to: Option<Bucket>,
}

impl Slice {
    pub(crate) fn holds(&self, bucket: &str) -> bool {
        let after = self.from.as_ref().is_none_or(|from| from.as_str() <= bucket);
        after && self.to.as_ref().is_none_or(|to| bucket <= to.as_str())
    }

    /// Where a stream's buckets of the slice begin in a table.
    fn range<'a>(&'a self, name: &'a str) -> std::ops::RangeFrom<(&'a str, &'a str)> {
        (name, self.from.as_ref().map_or("", Bucket::as_str))..
    }
}

impl Store {
    /// Goes through the exact sums of a slice bucket by bucket, in order; those of several streams added up.
    /// One sum of each stream is in memory at a time.
    pub(crate) fn each_bucket(
        &self,
        slice: &Slice,
        reach: &mut Reach,
        mut take: impl FnMut(Bucket, Sketch) -> Result<()>,
    ) -> Result<()> {
        let transaction = self.database.begin_read().map_err(failed)?;
        let index = transaction.open_table(BUCKETS).map_err(failed)?;
        let table = transaction.open_table(SUMS).map_err(failed)?;
        let mut buckets = BTreeSet::new();
        for name in &slice.streams {
            self.stream(name)?;
            for entry in index.range(slice.range(name)).map_err(failed)? {
                let (key, _) = entry.map_err(failed)?;
                let (stream, bucket) = key.value();
                if stream != name || !slice.holds(bucket) {
                    break;
                }
                buckets.insert(bucket.to_owned());
            }
        }
        for bucket in buckets {
            let mut sum: Option<Sketch> = None;
            for name in &slice.streams {
                let Some(value) = table.get((name.as_str(), bucket.as_str())).map_err(failed)? else {
                    continue;
                };
                reach.read(value.value().len())?;
                let sketch = self.sketch(value.value(), name, &bucket)?;
                match &mut sum {
                    Some(sum) => sum.merge(&sketch)?,
                    None => sum = Some(sketch),
                }
            }
            if let Some(sum) = sum {
                take(Bucket::stored(&bucket), sum)?;
            }
        }
        Ok(())
    }

    /// The sketch of all rows of a slice: byte for byte that of the same rows sketched at once. Empty, if
    /// there are none.
    pub fn sum(&self, slice: &Slice) -> Result<Sketch> {
        self.sum_within(slice, &mut Reach::default())
    }

    pub(crate) fn sum_within(&self, slice: &Slice, reach: &mut Reach) -> Result<Sketch> {
        let first = slice.streams.first().ok_or_else(|| Error::Payload("no stream is named".into()))?;
        let operator = self.stream(first)?.spec.build()?;
        let mut sum = Sketch::empty(&operator);
        for name in &slice.streams[1..] {
            let other = self.stream(name)?.spec;
            if other.fingerprint() != operator.fingerprint() {
                let differences = operator.spec().differences(&other).join(", ");
                return Err(Error::OtherSpec { name: name.clone(), differences });
            }
        }
        self.each_bucket(slice, reach, |_, sketch| Ok(sum.merge(&sketch)?))?;
        Ok(sum)
    }

    /// The private sketches of a slice, with stream, bucket and key.
    pub fn private(&self, slice: &Slice) -> Result<Vec<([String; 3], PrivateSketch)>> {
        self.private_within(slice, &mut Reach::default())
    }

    pub(crate) fn private_within(
        &self,
        slice: &Slice,
        reach: &mut Reach,
    ) -> Result<Vec<([String; 3], PrivateSketch)>> {
        let transaction = self.database.begin_read().map_err(failed)?;
        let table = transaction.open_table(PRIVATE).map_err(failed)?;
        let mut names: Vec<&String> = slice.streams.iter().collect();
        names.sort_unstable();
        let mut all = Vec::new();
        for name in names {
            let first = slice.from.as_ref().map_or("", Bucket::as_str);
            for entry in table.range((name.as_str(), first, "")..).map_err(failed)? {
                let (place, value) = entry.map_err(failed)?;
                let (stream, bucket, key) = place.value();
                if stream != name || !slice.holds(bucket) {
                    break;
                }
                reach.read(value.value().len())?;
                let sketch = self.private_sketch(value.value(), stream, key)?;
                all.push(([stream, bucket, key].map(String::from), sketch));
            }
        }
        Ok(all)
    }

    /// The sum of the private sketches of a slice, reports of local privacy included. A release that came
    /// more than once, under other keys or within a sum, counts once.
    pub fn private_sum(&self, slice: &Slice) -> Result<PrivateSketch> {
        self.private_sum_within(slice, &mut Reach::default())
    }

    pub(crate) fn private_sum_within(&self, slice: &Slice, reach: &mut Reach) -> Result<PrivateSketch> {
        let mut all =
            once(self.private_within(slice, reach)?.into_iter().map(|(_, sketch)| sketch).collect())
                .into_iter();
        let nothing = || Error::Payload("there is no private sketch in these streams and buckets".into());
        let mut sum = all.next().ok_or_else(nothing)?;
        all.try_for_each(|sketch| sum.merge(&sketch))?;
        Ok(sum)
    }

    /// What each bucket of a stream holds. Cost: one look at the index, no sum is read.
    pub fn counts(&self, name: &str) -> Result<Vec<Count>> {
        self.stream(name)?;
        let transaction = self.database.begin_read().map_err(failed)?;
        let table = transaction.open_table(BUCKETS).map_err(failed)?;
        let mut all = Vec::new();
        for entry in table.range((name, "")..).map_err(failed)? {
            let (key, value) = entry.map_err(failed)?;
            let (stream, bucket) = key.value();
            if stream != name {
                break;
            }
            let (rows, private, private_rows) = value.value();
            let private = usize::try_from(private).unwrap_or(usize::MAX);
            all.push(Count { bucket: Bucket::stored(bucket), rows, private, private_rows });
        }
        Ok(all)
    }

    /// Deletes the buckets of a slice and returns how many there were. Their keys stay, so that a batch sent
    /// again is not counted into a bucket that is gone.
    pub fn delete_buckets(&self, slice: &Slice) -> Result<usize> {
        let transaction = self.database.begin_write().map_err(failed)?;
        let mut deleted = 0;
        {
            let mut index = transaction.open_table(BUCKETS).map_err(failed)?;
            let mut sums = transaction.open_table(SUMS).map_err(failed)?;
            let mut private = transaction.open_table(PRIVATE).map_err(failed)?;
            let mut shares = transaction.open_table(SHARES).map_err(failed)?;
            for name in &slice.streams {
                let stays = |stream: &str, bucket: &str| !(stream == name && slice.holds(bucket));
                let mut count = |stream: &str, bucket: &str| {
                    let stays = stays(stream, bucket);
                    deleted += usize::from(!stays);
                    stays
                };
                index.retain(|(stream, bucket), _| count(stream, bucket)).map_err(failed)?;
                sums.retain(|(stream, bucket), _| stays(stream, bucket)).map_err(failed)?;
                private.retain(|(stream, bucket, _), _| stays(stream, bucket)).map_err(failed)?;
                shares.retain(|(stream, bucket, _), _| stays(stream, bucket)).map_err(failed)?;
            }
        }
        transaction.commit().map_err(failed)?;
        Ok(deleted)
    }

    /// Deletes a stream with all that belongs to it.
    pub fn delete_stream(&self, name: &str) -> Result<()> {
        self.stream(name)?;
        let transaction = self.database.begin_write().map_err(failed)?;
        {
            transaction.open_table(STREAMS).map_err(failed)?.remove(name).map_err(failed)?;
            let mut sums = transaction.open_table(SUMS).map_err(failed)?;
            sums.retain(|(stream, _), _| stream != name).map_err(failed)?;
            let mut private = transaction.open_table(PRIVATE).map_err(failed)?;
            private.retain(|(stream, _, _), _| stream != name).map_err(failed)?;
            let mut keys = transaction.open_table(KEYS).map_err(failed)?;
            keys.retain(|(stream, _), _| stream != name).map_err(failed)?;
            let mut buckets = transaction.open_table(BUCKETS).map_err(failed)?;
            buckets.retain(|(stream, _), _| stream != name).map_err(failed)?;
            let mut shares = transaction.open_table(SHARES).map_err(failed)?;
            shares.retain(|(stream, _, _), _| stream != name).map_err(failed)?;
            let mut senders = transaction.open_table(SENDERS).map_err(failed)?;
            senders.retain(|(stream, _), _| stream != name).map_err(failed)?;
        }
        transaction.commit().map_err(failed)?;
        Ok(())
    }

    /// Deletes what streams keep no longer; returns the number of buckets.
    pub fn expire(&self, now: Timestamp) -> Result<usize> {
        let mut deleted = 0;
        for (name, stream) in self.streams()? {
            let Some(keep) = stream.keep else { continue };
            let to = stream.every.before(now, i64::from(keep))?;
            let old = Slice { streams: vec![name], from: None, to: Some(to) };
            if self.counts(&old.streams[0])?.iter().any(|count| old.holds(count.bucket.as_str())) {
                deleted += self.delete_buckets(&old)?;
            }
        }
        Ok(deleted)
    }

    /// Copies everything, as it is at one moment, to a new store file while others go on writing.
    pub fn backup(&self, path: &Path) -> Result<()> {
        if path.exists() {
            return Err(Error::Payload(format!("{} exists already; name a new file", path.display())));
        }
        let from = self.database.begin_read().map_err(failed)?;
        let copy = Database::create(path).map_err(failed)?;
        let to = copy.begin_write().map_err(failed)?;
        {
            macro_rules! copy {
                ($table:expr) => {{
                    let source = from.open_table($table).map_err(failed)?;
                    let mut target = to.open_table($table).map_err(failed)?;
                    for entry in source.iter().map_err(failed)? {
                        let (key, value) = entry.map_err(failed)?;
                        target.insert(key.value(), value.value()).map_err(failed)?;
                    }
                }};
            }
            copy!(STREAMS);
            copy!(SUMS);
            copy!(PRIVATE);
            copy!(KEYS);
            copy!(BUCKETS);
            copy!(SHARES);
            copy!(SENDERS);
            copy!(META);
        }
        to.commit().map_err(failed)
    }
}

/// Leaves out sketches all of whose releases are in another one.
fn once(all: Vec<PrivateSketch>) -> Vec<PrivateSketch> {
    let ids = |sketch: &PrivateSketch| -> Vec<String> {
        sketch.releases().iter().filter_map(|release| release.id.clone()).collect()
    };
    // For each release the sketch with most of them, the first of these.
    let mut holders: HashMap<String, usize> = HashMap::new();
    for (i, sketch) in all.iter().enumerate() {
        for id in ids(sketch) {
            let holder = holders.entry(id).or_insert(i);
            if sketch.releases().len() > all[*holder].releases().len() {
                *holder = i;
            }
        }
    }
    let elsewhere = |i: usize, sketch: &PrivateSketch| {
        let own = ids(sketch);
        let first = own.first().map(|id| holders[id]);
        own.len() == sketch.releases().len()
            && first.is_some_and(|j| j != i && own.iter().all(|id| holders[id] == j))
    };
    let keep: Vec<bool> = all.iter().enumerate().map(|(i, sketch)| !elsewhere(i, sketch)).collect();
    all.into_iter().zip(keep).filter_map(|(sketch, keep)| keep.then_some(sketch)).collect()
}
