//! Shares: what each caller has added to a bucket, so that one caller can be taken out again exactly.
//!
//! A bucket has a total, which questions read, and a share of each caller (its token), whose sum the
//! total is. As long as a bucket has one caller its share is the total itself, and only its name is kept:
//! shares cost nothing where there is one sender. When a second one comes the first one's share becomes the
//! total as it was. Taken out, the total is summed anew from the shares that are left, so that it is byte for
//! byte what it would have been without the caller.
//!
//! Names of shares: `rows CALLER`, `reports CALLER`, and `release CALLER KEY` for each private sketch.

use std::collections::{BTreeMap, BTreeSet};

use compressive::Sketch;
use compressive::privacy::PrivateSketch;
use redb::{ReadableDatabase, ReadableTable, WriteTransaction};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::count::{Held, Place};
use super::{BUCKETS, CHECK, PRIVATE, REPORTS, SHARES, SUMS, Store, failed};
use crate::error::Result;
use crate::reach::Reach;
use crate::slice::Slice;

/// The caller of batches that came without a token, or before callers were kept.
pub(crate) const NOBODY: &str = "-";

/// The share of a private sketch.
pub(super) fn release_share(caller: &str, key: &str) -> String {
    format!("release {caller} {key}")
}

/// A sum that has shares.
pub(super) trait Shared: Clone {
    /// The first word of its shares' names.
    const WHAT: &'static str;
    fn rows(&self) -> i64;
    /// Adds another one; fails and changes nothing, or does so as a whole on a copy.
    fn add(&mut self, more: &Self) -> compressive::Result<()>;
    /// Its bytes as the store keeps them.
    fn write(&self) -> Vec<u8>;
    fn read(store: &Store, bytes: &[u8], place: &Place) -> Result<Self>;
    /// The total of a bucket.
    fn total(store: &Store, transaction: &WriteTransaction, place: &Place) -> Result<Option<Self>>;
    fn put_total(transaction: &WriteTransaction, place: &Place, total: Option<&Self>) -> Result<()>;
}

impl Shared for Sketch {
    const WHAT: &'static str = "rows";

    fn rows(&self) -> i64 {
        self.rows() as i64
    }

    fn add(&mut self, more: &Sketch) -> compressive::Result<()> {
        self.merge(more)
    }

    fn write(&self) -> Vec<u8> {
        let bytes = self.to_bytes();
        [&Sha256::digest(&bytes)[..CHECK], &bytes].concat()
    }

    fn read(store: &Store, bytes: &[u8], (name, bucket): &Place) -> Result<Sketch> {
        store.sketch(bytes, name, bucket)
    }

    fn total(store: &Store, transaction: &WriteTransaction, place: &Place) -> Result<Option<Sketch>> {
        let table = transaction.open_table(SUMS).map_err(failed)?;
        let value = table.get((place.0.as_str(), place.1.as_str())).map_err(failed)?;
        value.map(|value| Sketch::read(store, value.value(), place)).transpose()
    }

    fn put_total(transaction: &WriteTransaction, place: &Place, total: Option<&Sketch>) -> Result<()> {
        let mut table = transaction.open_table(SUMS).map_err(failed)?;
        let place = (place.0.as_str(), place.1.as_str());
        match total {
            Some(total) => drop(table.insert(place, &total.write()[..]).map_err(failed)?),
            None => drop(table.remove(place).map_err(failed)?),
        }
        Ok(())
    }
}

impl Shared for PrivateSketch {
    const WHAT: &'static str = "reports";

    fn rows(&self) -> i64 {
        self.rows()
    }

    fn add(&mut self, more: &PrivateSketch) -> compressive::Result<()> {
        self.merge(more)
    }

    fn write(&self) -> Vec<u8> {
        let bytes = self.to_bytes();
        [&Sha256::digest(&bytes)[..CHECK], &bytes].concat()
    }

    fn read(store: &Store, bytes: &[u8], (name, bucket): &Place) -> Result<PrivateSketch> {
        store.private_sketch(store.checked_sum(bytes, name, bucket)?, name, REPORTS)
    }

    fn total(store: &Store, transaction: &WriteTransaction, place: &Place) -> Result<Option<PrivateSketch>> {
        let table = transaction.open_table(PRIVATE).map_err(failed)?;
        let value = table.get((place.0.as_str(), place.1.as_str(), REPORTS)).map_err(failed)?;
        value.map(|value| store.private_sketch(value.value(), &place.0, REPORTS)).transpose()
    }

    fn put_total(transaction: &WriteTransaction, place: &Place, total: Option<&PrivateSketch>) -> Result<()> {
        let mut table = transaction.open_table(PRIVATE).map_err(failed)?;
        let place = (place.0.as_str(), place.1.as_str(), REPORTS);
        match total {
            Some(total) => drop(table.insert(place, &total.to_bytes()[..]).map_err(failed)?),
            None => drop(table.remove(place).map_err(failed)?),
        }
        Ok(())
    }
}

/// The sum of a bucket with the shares that a transaction changes.
pub(super) struct Summed<S> {
    pub total: Option<S>,
    shares: Shares<S>,
}

enum Shares<S> {
    /// The whole total is one caller's.
    Whole(String),
    /// Those that were read or changed.
    Several(BTreeMap<String, S>),
}

/// What is written of a bucket.
pub(super) struct Written {
    pub total: Vec<u8>,
    /// Name, rows and bytes of each share.
    pub shares: Vec<(String, i64, Vec<u8>)>,
}

impl Written {
    pub fn bytes(&self) -> usize {
        self.total.len() + self.shares.iter().map(|(name, _, bytes)| name.len() + bytes.len()).sum::<usize>()
    }
}

fn share_name<S: Shared>(caller: &str) -> String {
    format!("{} {caller}", S::WHAT)
}

impl Summed<Sketch> {
    pub fn written(&self) -> Option<Written> {
        self.written_with(Sketch::write)
    }
}

impl Summed<PrivateSketch> {
    pub fn written(&self) -> Option<Written> {
        self.written_with(PrivateSketch::to_bytes)
    }
}

impl<S: Shared> Summed<S> {
    fn written_with(&self, total_bytes: impl Fn(&S) -> Vec<u8>) -> Option<Written> {
        let total = self.total.as_ref()?;
        let shares = match &self.shares {
            Shares::Whole(caller) => vec![(share_name::<S>(caller), total.rows(), Vec::new())],
            Shares::Several(all) => {
                all.iter().map(|(caller, sum)| (share_name::<S>(caller), sum.rows(), sum.write())).collect()
            }
        };
        Some(Written { total: total_bytes(total), shares })
    }
}

/// The names behind the first word of the shares of a bucket, with their rows and whether they are the whole.
fn named_shares<S: Shared>(
    transaction: &WriteTransaction,
    (name, bucket): &Place,
) -> Result<Vec<(String, i64, bool)>> {
    let table = transaction.open_table(SHARES).map_err(failed)?;
    let first = share_name::<S>("");
    let mut all = Vec::new();
    for entry in table.range((name.as_str(), bucket.as_str(), first.as_str())..).map_err(failed)? {
        let (key, value) = entry.map_err(failed)?;
        let (stream, of, share) = key.value();
        let Some(caller) = share.strip_prefix(&first).filter(|_| stream == name && of == bucket) else {
            break;
        };
        let (rows, bytes) = value.value();
        all.push((caller.to_owned(), rows, bytes.is_empty()));
    }
    Ok(all)
}

/// What was taken out of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TakenOut {
    /// Buckets that the caller had added to.
    pub buckets: u64,
    /// Its rows in exact sums.
    pub rows: i64,
    /// Its rows in private sketches and reports, a number that may carry noise.
    pub private_rows: i64,
}

/// What a caller has added to a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Sender {
    /// Id of its token; `-` for none.
    pub sender: String,
    /// What would be taken out with it.
    #[serde(flatten)]
    pub added: TakenOut,
}

impl Store {
    /// The sum of a bucket among those that a transaction changes.
    pub(super) fn begun<'a, S: Shared>(
        &self,
        transaction: &WriteTransaction,
        place: &Place,
        all: &'a mut BTreeMap<Place, Summed<S>>,
    ) -> Result<&'a mut Summed<S>> {
        if !all.contains_key(place) {
            let total = S::total(self, transaction, place)?;
            let named = if total.is_some() { named_shares::<S>(transaction, place)? } else { Vec::new() };
            let shares = match &named[..] {
                [(caller, _, true)] => Shares::Whole(caller.clone()),
                _ => Shares::Several(BTreeMap::new()),
            };
            all.insert(place.clone(), Summed { total, shares });
        }
        all.get_mut(place).ok_or_else(|| failed("a sum is gone"))
    }

    /// Adds to a sum and to the caller's share; what `check` refuses of the new total changes nothing.
    pub(super) fn add<S: Shared>(
        &self,
        transaction: &WriteTransaction,
        place: &Place,
        sum: &mut Summed<S>,
        (caller, more): (&str, &S),
        check: impl Fn(&S) -> Result<()>,
    ) -> Result<()> {
        let Some(before) = &sum.total else {
            check(more)?;
            (sum.total, sum.shares) = (Some(more.clone()), Shares::Whole(caller.to_owned()));
            return Ok(());
        };
        let mut total = before.clone();
        total.add(more)?;
        check(&total)?;
        match &mut sum.shares {
            Shares::Whole(first) if first == caller => {}
            Shares::Whole(first) => {
                let shares = [(std::mem::take(first), before.clone()), (caller.to_owned(), more.clone())];
                sum.shares = Shares::Several(shares.into());
            }
            Shares::Several(all) => match all.get_mut(caller) {
                Some(share) => share.add(more)?,
                None => {
                    let mut share = more.clone();
                    if let Some(earlier) = self.share(transaction, place, caller)? {
                        share.add(&earlier)?;
                    }
                    all.insert(caller.to_owned(), share);
                }
            },
        }
        sum.total = Some(total);
        Ok(())
    }

    fn share<S: Shared>(
        &self,
        transaction: &WriteTransaction,
        place: &Place,
        caller: &str,
    ) -> Result<Option<S>> {
        let table = transaction.open_table(SHARES).map_err(failed)?;
        let name = share_name::<S>(caller);
        let value = table.get((place.0.as_str(), place.1.as_str(), name.as_str())).map_err(failed)?;
        value.map(|value| S::read(self, value.value().1, place)).transpose()
    }

    /// What each caller has added to a stream.
    pub fn senders(&self, name: &str) -> Result<Vec<Sender>> {
        self.senders_within(name, &mut Reach::default())
    }

    pub(crate) fn senders_within(&self, name: &str, reach: &mut Reach) -> Result<Vec<Sender>> {
        self.stream(name)?;
        let transaction = self.database.begin_read().map_err(failed)?;
        let table = transaction.open_table(SHARES).map_err(failed)?;
        let mut all: BTreeMap<String, TakenOut> = BTreeMap::new();
        // Callers of the bucket at hand: one may have several shares of it.
        let (mut at, mut seen) = (String::new(), BTreeSet::new());
        for entry in table.range((name, "", "")..).map_err(failed)? {
            let (key, value) = entry.map_err(failed)?;
            let (stream, bucket, share) = key.value();
            if stream != name {
                break;
            }
            let (rows, bytes) = value.value();
            reach.read(bytes.len())?;
            let mut words = share.split(' ');
            let (what, caller) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            if at != bucket {
                (at, seen) = (bucket.to_owned(), BTreeSet::new());
            }
            let added = all.entry(caller.to_owned()).or_default();
            added.buckets += u64::from(seen.insert(caller.to_owned()));
            let counted = if what == Sketch::WHAT { &mut added.rows } else { &mut added.private_rows };
            *counted = counted.saturating_add(rows);
        }
        Ok(all.into_iter().map(|(sender, added)| Sender { sender, added }).collect())
    }

    /// Takes everything that a caller added to the buckets of a slice out again, as if it had never come;
    /// its keys stay, so that what it sends again is not counted either.
    pub fn take_out(&self, slice: &Slice, caller: &str) -> Result<TakenOut> {
        let transaction = self.database.begin_write().map_err(failed)?;
        let mut taken = TakenOut::default();
        for name in &slice.streams {
            self.stream(name)?;
            let places: Vec<(Place, Held)> = {
                let table = transaction.open_table(BUCKETS).map_err(failed)?;
                let mut all = Vec::new();
                for entry in table.range((name.as_str(), "")..).map_err(failed)? {
                    let (key, value) = entry.map_err(failed)?;
                    let (stream, bucket) = key.value();
                    if stream != name {
                        break;
                    }
                    if slice.holds(bucket) {
                        all.push(((name.clone(), bucket.to_owned()), value.value()));
                    }
                }
                all
            };
            for (place, held) in places {
                let rows = self.take_sum::<Sketch>(&transaction, &place, caller)?;
                let reports = self.take_sum::<PrivateSketch>(&transaction, &place, caller)?;
                let releases = self.take_releases(&transaction, &place, caller)?;
                if rows.is_none() && reports.is_none() && releases.0 == 0 {
                    continue;
                }
                let ended = matches!(reports, Some((_, true)));
                let (rows, reports) = (rows.map_or(0, |(rows, _)| rows), reports.map_or(0, |(rows, _)| rows));
                taken.buckets += 1;
                taken.rows = taken.rows.saturating_add(rows);
                taken.private_rows = taken.private_rows.saturating_add(reports).saturating_add(releases.1);
                let left = (
                    held.0.saturating_sub(rows.unsigned_abs()),
                    held.1.saturating_sub(releases.0 + u64::from(ended)),
                    held.2.saturating_sub(reports).saturating_sub(releases.1),
                );
                let empty = named_shares::<Sketch>(&transaction, &place)?.is_empty() && left.1 == 0;
                let mut table = transaction.open_table(BUCKETS).map_err(failed)?;
                let key = (place.0.as_str(), place.1.as_str());
                match empty {
                    true => drop(table.remove(key).map_err(failed)?),
                    false => drop(table.insert(key, left).map_err(failed)?),
                }
            }
        }
        transaction.commit().map_err(failed)?;
        Ok(taken)
    }

    /// Takes a caller's share out of a bucket's total; its rows, and whether none are left.
    fn take_sum<S: Shared>(
        &self,
        transaction: &WriteTransaction,
        place: &Place,
        caller: &str,
    ) -> Result<Option<(i64, bool)>> {
        let named = named_shares::<S>(transaction, place)?;
        let Some((_, rows, _)) = named.iter().find(|(name, ..)| name == caller) else { return Ok(None) };
        let others: Vec<&String> =
            named.iter().map(|(name, ..)| name).filter(|name| *name != caller).collect();
        let mut total: Option<S> = None;
        for other in &others {
            let share = self.share::<S>(transaction, place, other)?;
            match (&mut total, share) {
                (Some(total), Some(share)) => total.add(&share)?,
                (_, share) => total = share,
            }
        }
        S::put_total(transaction, place, total.as_ref())?;
        let mut table = transaction.open_table(SHARES).map_err(failed)?;
        let name = share_name::<S>(caller);
        table.remove((place.0.as_str(), place.1.as_str(), name.as_str())).map_err(failed)?;
        if let ([other], Some(total)) = (&others[..], &total) {
            let name = share_name::<S>(other);
            let key = (place.0.as_str(), place.1.as_str(), name.as_str());
            table.insert(key, (total.rows(), &[][..])).map_err(failed)?;
        }
        Ok(Some((*rows, total.is_none())))
    }

    /// Deletes a caller's private sketches of a bucket; their number and rows.
    fn take_releases(
        &self,
        transaction: &WriteTransaction,
        (name, bucket): &Place,
        caller: &str,
    ) -> Result<(u64, i64)> {
        let mut shares = transaction.open_table(SHARES).map_err(failed)?;
        let mut private = transaction.open_table(PRIVATE).map_err(failed)?;
        let first = release_share(caller, "");
        let mut all = Vec::new();
        for entry in shares.range((name.as_str(), bucket.as_str(), first.as_str())..).map_err(failed)? {
            let (key, value) = entry.map_err(failed)?;
            let (stream, of, share) = key.value();
            let Some(key) = share.strip_prefix(&first).filter(|_| stream == name && of == bucket) else {
                break;
            };
            all.push((key.to_owned(), value.value().0));
        }
        let mut rows = 0_i64;
        for (key, more) in &all {
            rows = rows.saturating_add(*more);
            let share = release_share(caller, key);
            shares.remove((name.as_str(), bucket.as_str(), share.as_str())).map_err(failed)?;
            private.remove((name.as_str(), bucket.as_str(), key.as_str())).map_err(failed)?;
        }
        Ok((all.len() as u64, rows))
    }
}
