//! Senders that number their batches: keys that are needed no longer go.
//!
//! A sender calls its batches `ID-0`, `ID-1` and so on, and says with each which number it has settled: the
//! answers to all batches below have reached it, so that it sends none of them again. The store then deletes
//! their keys and refuses whatever comes late under such a number: a copy that the network kept, or a sender
//! whose disk was put back to an earlier state. The keys of a sender are so at most those of [`WINDOW`]
//! batches, however long it lives.

use redb::{ReadableTable, Table, WriteTransaction};

use super::{SENDERS, Store, failed};
use crate::error::{Error, Result};

/// Batches that a sender may have under way beyond those that are settled.
pub(crate) const WINDOW: u64 = 4096;

/// A sender and the number below which its batches are now settled.
pub(super) type Settled = Option<(String, u64)>;

/// Sender and number of a key, if it is of that form.
fn numbered(key: &str) -> Option<(&str, u64)> {
    let (sender, number) = key.rsplit_once('-')?;
    let plain = number == "0" || !number.starts_with(['0', '+']);
    let number = number.parse().ok().filter(|_| plain)?;
    (!sender.is_empty()).then_some((sender, number))
}

impl Store {
    /// What a batch settles, if its sender numbers them.
    ///
    /// # Errors
    /// A number that was settled before, whether or not this batch says what it settles.
    pub(super) fn settled(
        &self,
        transaction: &WriteTransaction,
        stream: &str,
        key: &str,
        settled: Option<u64>,
    ) -> Result<Settled> {
        let Some((sender, number)) = numbered(key) else {
            return match settled {
                None => Ok(None),
                Some(_) => Err(Error::Unnumbered(key.into())),
            };
        };
        let table = transaction.open_table(SENDERS).map_err(failed)?;
        let known = table.get((stream, sender)).map_err(failed)?.map(|number| number.value());
        if known.is_some_and(|known| number < known) || settled.is_some_and(|settled| number < settled) {
            return Err(Error::Settled(key.into()));
        }
        let Some(settled) = settled else { return Ok(None) };
        if number - settled >= WINDOW {
            return Err(Error::FarAhead { key: key.into(), settled, window: WINDOW });
        }
        // A message that was overtaken by later ones settles nothing.
        Ok(known.is_none_or(|known| known < settled).then(|| (sender.to_owned(), settled)))
    }

    /// Remembers what is settled, and deletes the keys of it.
    pub(super) fn settle(
        &self,
        transaction: &WriteTransaction,
        keys: &mut Table<'_, (&'static str, &'static str), &'static [u8]>,
        stream: &str,
        settled: Settled,
    ) -> Result<()> {
        let Some((sender, settled)) = settled else { return Ok(()) };
        let mut table = transaction.open_table(SENDERS).map_err(failed)?;
        table.insert((stream, sender.as_str()), settled).map_err(failed)?;
        // The sign after `-` ends the range of the sender's keys.
        let (first, end) = (format!("{sender}-"), format!("{sender}."));
        let stays = |key: &str| numbered(key).is_none_or(|(of, number)| of != sender || number >= settled);
        let range = (stream, first.as_str())..(stream, end.as_str());
        keys.retain_in(range, |(_, key), _| stays(key)).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_written_in_one_way() {
        assert_eq!(numbered("ab-0"), Some(("ab", 0)));
        assert_eq!(numbered("a-b-17"), Some(("a-b", 17)));
        for key in ["", "ab", "-3", "ab-", "ab-03", "ab-+3", "ab--", "ab-3x", "ab-99999999999999999999"] {
            assert_eq!(numbered(key), None, "{key}");
        }
    }
}
