//! A store of format 1 becomes one of format 2: an index of its buckets, and shares that say of all that is
//! there that nobody knows who sent it.

use std::collections::BTreeMap;

use redb::{ReadableTable, ReadableTableMetadata};

use super::count::{Held, Place};
use super::shares::{NOBODY, release_share};
use super::{BUCKETS, FORMAT, META, PRIVATE, REPORTS, SENDERS, SHARES, SUMS, Store, failed};
use crate::error::Result;

impl Store {
    /// In one transaction: a store is of one format or of the other. Cost: one pass over the sums.
    pub(super) fn migrate(&self) -> Result<()> {
        let transaction = self.database.begin_write().map_err(failed)?;
        {
            let mut held: BTreeMap<Place, Held> = BTreeMap::new();
            let mut shares = transaction.open_table(SHARES).map_err(failed)?;
            let sums = transaction.open_table(SUMS).map_err(failed)?;
            for entry in sums.iter().map_err(failed)? {
                let (key, value) = entry.map_err(failed)?;
                let (name, bucket) = key.value();
                let sketch = self.sketch(value.value(), name, bucket)?;
                held.entry((name.to_owned(), bucket.to_owned())).or_default().0 = sketch.rows();
                let share = format!("rows {NOBODY}");
                let rows = sketch.rows() as i64;
                shares.insert((name, bucket, share.as_str()), (rows, &[][..])).map_err(failed)?;
            }
            let private = transaction.open_table(PRIVATE).map_err(failed)?;
            for entry in private.iter().map_err(failed)? {
                let (key, value) = entry.map_err(failed)?;
                let (name, bucket, key) = key.value();
                let sketch = self.private_sketch(value.value(), name, key)?;
                let held = held.entry((name.to_owned(), bucket.to_owned())).or_default();
                (held.1, held.2) = (held.1 + 1, held.2.saturating_add(sketch.rows()));
                let share = match key {
                    REPORTS => format!("reports {NOBODY}"),
                    key => release_share(NOBODY, key),
                };
                shares.insert((name, bucket, share.as_str()), (sketch.rows(), &[][..])).map_err(failed)?;
            }
            let mut buckets = transaction.open_table(BUCKETS).map_err(failed)?;
            for ((name, bucket), held) in &held {
                buckets.insert((name.as_str(), bucket.as_str()), *held).map_err(failed)?;
            }
            transaction.open_table(SENDERS).map_err(failed)?.len().map_err(failed)?;
            transaction.open_table(META).map_err(failed)?.insert("format", FORMAT).map_err(failed)?;
        }
        transaction.commit().map_err(failed)
    }
}
