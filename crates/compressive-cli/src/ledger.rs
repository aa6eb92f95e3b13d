//! The ledger of a data set: what its private releases have spent, and the cap they must not pass.
//!
//! Budgets add up (basic composition): releases of $(\epsilon_i, \delta_i)$ about the same rows together
//! promise $(\sum \epsilon_i, \sum \delta_i)$. The file is JSON and holds nothing that comes from the rows.
//! Changes are made under a lock, and the file is replaced as a whole, so programs that spend at the same
//! time neither miss each other's spending nor leave half a file.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use compressive::privacy::{Neighbours, Release};
use compressive_io::write_atomic;
use serde::{Deserialize, Serialize};

use crate::output::{amount, count};

/// The version of the file.
const FORMAT: u32 = 1;

/// Sums may pass the cap by this share of it: three times 0.1 is 0.30000000000000004 in floating point.
const ROUNDING: f64 = 1e-9;

/// A ledger file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ledger {
    format: u32,
    /// What the rows are, for people.
    pub dataset: Option<String>,
    /// The most that may be spent.
    pub cap: Budget,
    /// What was spent, oldest first.
    pub spent: Vec<Entry>,
}

/// An amount of privacy.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    pub epsilon: f64,
    pub delta: f64,
}

/// One release.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// When, in UTC.
    pub time: String,
    /// The private sketch.
    pub output: PathBuf,
    /// Fingerprint of its spec.
    pub fingerprint: String,
    pub epsilon: f64,
    pub delta: f64,
    pub neighbours: Neighbours,
    pub rows_per_person: u32,
    pub mechanism: String,
}

impl Ledger {
    /// Reads and checks a ledger.
    pub fn read(path: &Path) -> Result<Ledger> {
        let shown = path.display();
        if !path.exists() {
            bail!("there is no ledger {shown}; create it with `compressive ledger {shown} --cap-epsilon E`");
        }
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
        let ledger: Ledger =
            serde_json::from_str(&text).with_context(|| format!("{shown} is not a ledger"))?;
        if ledger.format != FORMAT {
            bail!("{shown} is a ledger of format {}; this version reads {FORMAT}", ledger.format);
        }
        check_cap(ledger.cap).with_context(|| shown.to_string())?;
        let sane = |e: &Entry| e.epsilon > 0.0 && e.epsilon.is_finite() && (0.0..1.0).contains(&e.delta);
        if let Some(wrong) = ledger.spent.iter().position(|entry| !sane(entry)) {
            bail!("{shown}: entry {} of `spent` has an impossible epsilon or delta", wrong + 1);
        }
        Ok(ledger)
    }

    /// Creates a ledger in which nothing is spent.
    pub fn create(path: &Path, cap: Budget, dataset: Option<String>) -> Result<Ledger> {
        check_cap(cap)?;
        let _lock = lock(path)?;
        if path.exists() {
            bail!("{} exists already; a ledger is never started again, choose another name", path.display());
        }
        let ledger = Ledger { format: FORMAT, dataset, cap, spent: Vec::new() };
        ledger.write(path)?;
        Ok(ledger)
    }

    /// Records a release, on the disk when this returns, or refuses it.
    pub fn spend(path: &Path, release: &Release, output: &Path, fingerprint: &str) -> Result<Ledger> {
        if !path.exists() {
            // Before a lock is left beside a ledger that is not there.
            Ledger::read(path)?;
        }
        let _lock = lock(path)?;
        let mut ledger = Ledger::read(path)?;
        ledger.allow(release).with_context(|| path.display().to_string())?;
        ledger.spent.push(Entry {
            time: rfc3339(SystemTime::now()),
            output: std::path::absolute(output).unwrap_or_else(|_| output.to_owned()),
            fingerprint: fingerprint.to_owned(),
            epsilon: release.epsilon,
            delta: release.delta,
            neighbours: release.neighbours,
            rows_per_person: release.rows_per_person,
            mechanism: release.mechanism.name().to_owned(),
        });
        ledger.write(path)?;
        Ok(ledger)
    }

    /// What all releases have spent.
    pub fn total(&self) -> Budget {
        let sum = |part: fn(&Entry) -> f64| self.spent.iter().map(part).fold(0.0, |sum, x| sum + x);
        Budget { epsilon: sum(|entry| entry.epsilon), delta: sum(|entry| entry.delta) }
    }

    /// What is left.
    pub fn left(&self) -> Budget {
        let (cap, spent) = (self.cap, self.total());
        Budget { epsilon: (cap.epsilon - spent.epsilon).max(0.0), delta: (cap.delta - spent.delta).max(0.0) }
    }

    fn allow(&self, release: &Release) -> Result<()> {
        if let Some(first) = self.spent.first()
            && (first.neighbours, first.rows_per_person) != (release.neighbours, release.rows_per_person)
        {
            bail!(
                "its releases are for {} neighbours with {} a person, this one is for {} with {}: they protect different things, so their budgets cannot be added; \
                 use the same --neighbours and --rows-per-person",
                first.neighbours.name(),
                rows(first.rows_per_person),
                release.neighbours.name(),
                rows(release.rows_per_person),
            );
        }
        let (cap, spent, left) = (self.cap, self.total(), self.left());
        let passes = |spent: f64, more: f64, cap: f64| spent + more > cap * (1.0 + ROUNDING);
        if passes(spent.epsilon, release.epsilon, cap.epsilon) {
            bail!(
                "epsilon {} would exceed the cap: {} of {} is spent, {} is left",
                amount(release.epsilon),
                amount(spent.epsilon),
                amount(cap.epsilon),
                amount(left.epsilon),
            );
        }
        if passes(spent.delta, release.delta, cap.delta) {
            bail!(
                "delta {} would exceed the cap: {} of {} is spent, {} is left; without --delta none is needed",
                amount(release.delta),
                amount(spent.delta),
                amount(cap.delta),
                amount(left.delta),
            );
        }
        Ok(())
    }

    fn write(&self, path: &Path) -> Result<()> {
        write_atomic(path, format!("{}\n", serde_json::to_string_pretty(self)?).as_bytes())?;
        // The new name must be on the disk, too, before anything is released.
        #[cfg(unix)]
        {
            let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
            File::open(folder)
                .and_then(|folder| folder.sync_all())
                .with_context(|| format!("cannot be sure that {} is on the disk", path.display()))?;
        }
        Ok(())
    }
}

fn rows(n: u32) -> String {
    count(u64::from(n), "row")
}

fn check_cap(cap: Budget) -> Result<()> {
    if !(cap.epsilon > 0.0 && cap.epsilon.is_finite()) {
        bail!("the cap of epsilon, {}, is not a positive number", cap.epsilon);
    }
    if !(0.0..1.0).contains(&cap.delta) {
        bail!("the cap of delta, {}, is not from 0 to below 1", cap.delta);
    }
    Ok(())
}

/// Waits until no other program changes the ledger; the lock ends with the file that is returned.
///
/// A file of its own, which stays: the ledger itself is replaced by each change, so a lock on it would be one
/// on a file that is no longer there.
fn lock(path: &Path) -> Result<File> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let with = || format!("cannot lock {}", Path::new(&name).display());
    let file = File::options().create(true).truncate(false).write(true).open(&name).with_context(with)?;
    file.lock().with_context(with)?;
    Ok(file)
}

/// `2025-06-30T12:34:56Z`, by the days of the proleptic Gregorian calendar.
fn rfc3339(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs());
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Years counted from March, so that the leap day is the last of its year; 719468 days lie between
    // 0000-03-01 and 1970-01-01.
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = 400 * era + year + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn times_are_those_of_the_calendar() {
        let at = |seconds| rfc3339(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(at(1_709_251_200), "2024-03-01T00:00:00Z");
        assert_eq!(at(4_107_542_399), "2100-02-28T23:59:59Z");
        assert_eq!(at(4_107_542_400), "2100-03-01T00:00:00Z");
    }
}
