//! Time buckets: hours or days of UTC. A bucket is named by its beginning, `2026-11-16T17` or `2026-11-16`,
//! so that names sort as times do.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::error::{Error, Result};

/// How long a bucket is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Every {
    /// An hour.
    Hour,
    /// A day.
    Day,
}

compressive::named!(Every, "a length of buckets", { Hour => "hour", Day => "day" });

/// A bucket, by its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Bucket(String);

impl Every {
    fn format(self) -> &'static str {
        match self {
            Every::Hour => "%Y-%m-%dT%H",
            Every::Day => "%Y-%m-%d",
        }
    }

    /// The bucket of a moment.
    pub fn of(self, moment: Timestamp) -> Bucket {
        Bucket(moment.to_zoned(TimeZone::UTC).strftime(self.format()).to_string())
    }

    /// The bucket that lies so many buckets before a moment's.
    pub fn before(self, moment: Timestamp, buckets: i64) -> Result<Bucket> {
        let hours = match self {
            Every::Hour => buckets,
            Every::Day => buckets.saturating_mul(24),
        };
        let seconds = hours.saturating_mul(3600);
        let earlier = moment.checked_sub(SignedDuration::from_secs(seconds)).ok();
        earlier
            .map(|moment| self.of(moment))
            .ok_or_else(|| Error::Bucket { text: format!("{buckets} buckets ago"), every: self.name() })
    }

    /// Reads a bucket's name; nothing but the very form it is written in.
    pub fn parse(self, text: &str) -> Result<Bucket> {
        let refused = || Error::Bucket { text: text.chars().take(40).collect(), every: self.name() };
        let whole = match self {
            Every::Hour => format!("{text}:00"),
            Every::Day => format!("{text}T00:00"),
        };
        let moment: DateTime = whole.parse().map_err(|_| refused())?;
        let bucket = Bucket(moment.strftime(self.format()).to_string());
        if bucket.0 == text { Ok(bucket) } else { Err(refused()) }
    }
}

impl Bucket {
    /// Its name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A bucket as the store has it.
    pub(crate) fn stored(name: &str) -> Bucket {
        Bucket(name.to_owned())
    }
}

/// This moment, to the second, as records have it.
pub(crate) fn moment() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_named_by_their_beginning_and_read_back() {
        let moment: Timestamp = "2026-11-16T17:59:59.9Z".parse().unwrap();
        assert_eq!(Every::Hour.of(moment).as_str(), "2026-11-16T17");
        assert_eq!(Every::Day.of(moment).as_str(), "2026-11-16");
        assert_eq!(Every::Day.before(moment, 16).unwrap().as_str(), "2026-10-31");
        assert_eq!(Every::Hour.before(moment, 18).unwrap().as_str(), "2026-11-15T23");
        assert_eq!(Every::Hour.parse("2026-11-16T17").unwrap(), Every::Hour.of(moment));
    }

    #[test]
    fn nothing_but_a_bucket_is_read() {
        for text in
            ["", "2026-11-16", "2026-11-16T24", "2026-13-01T00", "2026-11-16T17:00", " 2026-11-16T17", "../x"]
        {
            assert!(Every::Hour.parse(text).is_err(), "{text}");
        }
        assert!(Every::Day.parse("2026-02-30").is_err() && Every::Day.parse("2026-2-3").is_err());
    }
}
