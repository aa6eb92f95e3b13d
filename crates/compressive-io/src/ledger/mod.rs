//! The ledger of a data set: what private looks and releases have spent, and the cap they must not pass.
//!
//! Looks are charged when they are made, releases then cost the rest. What all of it promises together is the
//! smaller of two bounds: budgets add up, and zCDP adds up ([`compose`]), which loses far less for Gaussian
//! noise. The file is JSON and holds nothing that comes from the rows. Changes are made under a lock, and the
//! file is replaced as a whole, so programs that spend at the same time neither miss each other's spending
//! nor leave half a file; the entries are a [`chain`] to which is only added.
//!
//! A ledger is one file: links to it are followed, and a second name of the file itself is refused, since the
//! two would part at the next change.

mod chain;
mod time;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use compressive::privacy::compose::{pure_rho, rho, zcdp_epsilon};
use compressive::privacy::{Neighbours, Release, SpecOrigin};
use compressive::{Parameter, Remedy, SketchSpec};
use serde::{Deserialize, Serialize};

use crate::atomic::write_atomic;
use crate::error::{Error, Result, path_text};
use chain::{Anchor, End, link};
use time::rfc3339;

/// The version of the file. The first one had no chain and no looks.
const FORMAT: u32 = 2;

/// Sums may pass the cap by this share of it: three times 0.1 is 0.30000000000000004 in floating point.
const ROUNDING: f64 = 1e-9;

/// A ledger file.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Epsilon.
    pub epsilon: f64,
    /// Delta.
    pub delta: f64,
}

/// One look or release.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// When, in UTC.
    pub time: String,
    /// The spec of a look, the private sketch of a release.
    pub output: PathBuf,
    /// Fingerprint of the spec, without moments.
    pub fingerprint: String,
    /// What is charged here; a look that was charged before is not charged again.
    pub epsilon: f64,
    /// Delta.
    pub delta: f64,
    /// Which tables count as neighbours.
    pub neighbours: Neighbours,
    /// Rows that one person may have.
    pub rows_per_person: u32,
    /// The noise.
    pub mechanism: String,
    /// Whether this is a look at the rows for a spec, whose epsilon is for one row more or less.
    #[serde(default, skip_serializing_if = "is_false")]
    pub look: bool,
    /// What is charged here in zCDP; none in files of the first version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rho: Option<f64>,
    /// The chain up to this entry; none in files of the first version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// What is to be charged.
#[derive(Clone, Copy, Debug)]
pub enum Charge<'a> {
    /// A look at the rows that a spec is designed by.
    Look {
        /// Its cost, for one row more or less.
        epsilon: f64,
        /// The spec; none before the look.
        spec: Option<&'a SketchSpec>,
    },
    /// A release.
    Release {
        /// The promise.
        release: &'a Release,
        /// The spec of what is released.
        spec: &'a SketchSpec,
    },
}

impl Ledger {
    /// Reads and checks a ledger.
    ///
    /// # Errors
    /// [`Error::Ledger`] for what is none, has a second name, or was changed or put back.
    pub fn read(path: &Path) -> Result<Ledger> {
        let path = settled(path)?;
        // Before the ledger: what is remembered first is in it.
        let end = Anchor::peek(&path)?;
        let ledger = Ledger::parse(&path)?;
        ledger.check_end(&path, end)?;
        Ok(ledger)
    }

    /// Creates a ledger in which nothing is spent.
    ///
    /// # Errors
    /// [`Error::Ledger`] for an impossible cap or if there is or was a ledger of this name.
    pub fn create(path: &Path, cap: Budget, dataset: Option<String>) -> Result<Ledger> {
        check_cap(path, cap)?;
        let path = settled(path)?;
        let mut anchor = Anchor::hold(&path)?;
        if path.exists() {
            return wrong(
                &path,
                "it exists already; a ledger is never started again, choose another name".into(),
            );
        }
        if let Some((entries, _)) = anchor.end()? {
            let problem = format!(
                "there was a ledger of this name, with {entries} entries, and its lock remembers it; restore it from a copy, or choose another name"
            );
            return wrong(&path, problem);
        }
        let ledger = Ledger { format: FORMAT, dataset, cap, spent: Vec::new() };
        ledger.write(&path, &mut anchor)?;
        Ok(ledger)
    }

    /// Refuses what [`spend`](Ledger::spend) would refuse, and records nothing: before work that may be in
    /// vain.
    ///
    /// # Errors
    /// As [`Ledger::spend`].
    pub fn check(path: &Path, charge: Charge<'_>, output: &Path) -> Result<()> {
        let settled = settled(path)?;
        check_apart(&settled, output)?;
        let ledger = Ledger::read(path)?;
        let entry = ledger.entry(charge, output)?;
        ledger.allow(path, &entry)
    }

    /// Records a charge, on the disk when this returns, or refuses it.
    ///
    /// # Errors
    /// [`Error::Ledger`] if it passes the cap, is for other neighbours than what is in the ledger, or would be
    /// written over it; and as for [`Ledger::read`].
    pub fn spend(path: &Path, charge: Charge<'_>, output: &Path) -> Result<Ledger> {
        // Before a lock is left beside a ledger that is not there.
        Ledger::read(path)?;
        let settled = settled(path)?;
        check_apart(&settled, output)?;
        let mut anchor = Anchor::hold(&settled)?;
        let mut ledger = Ledger::parse(&settled)?;
        ledger.check_end(&settled, anchor.end()?)?;
        let entry = ledger.entry(charge, output)?;
        ledger.allow(path, &entry)?;
        ledger.spent.push(entry);
        ledger.seal();
        ledger.write(&settled, &mut anchor)?;
        Ok(ledger)
    }

    /// What all looks and releases have spent, added up.
    pub fn total(&self) -> Budget {
        let epsilon =
            self.spent.iter().map(|entry| self.steps(entry) * entry.epsilon).fold(0.0, |a, b| a + b);
        Budget { epsilon, delta: self.spent.iter().map(|entry| entry.delta).fold(0.0, |a, b| a + b) }
    }

    /// What they promise together by zCDP, at the cap's delta; none where that is 0 or an entry is too old to
    /// tell.
    pub fn together(&self) -> Option<Budget> {
        let rho = |entry: &Entry| match (entry.rho, entry.look) {
            (_, true) => Some(pure_rho(self.steps(entry) * entry.epsilon)),
            (Some(rho), false) => Some(rho),
            (None, false) => (entry.delta == 0.0).then(|| pure_rho(entry.epsilon)),
        };
        let sum: f64 = self.spent.iter().map(rho).sum::<Option<f64>>()?;
        let delta = self.cap.delta;
        (delta > 0.0).then(|| Budget { epsilon: zcdp_epsilon(sum, delta), delta })
    }

    /// What is left of the cap if budgets are added up.
    pub fn left(&self) -> Budget {
        let (cap, spent) = (self.cap, self.total());
        Budget { epsilon: (cap.epsilon - spent.epsilon).max(0.0), delta: (cap.delta - spent.delta).max(0.0) }
    }

    /// The hash of the last entry: whoever keeps it can tell later that nothing before it was changed.
    pub fn head(&self) -> String {
        let own = self.spent.last().and_then(|entry| entry.hash.clone());
        own.unwrap_or_else(|| self.chained().last().cloned().unwrap_or_default())
    }

    /// All of it with sums, as JSON.
    ///
    /// # Errors
    /// None that a ledger which was read can have.
    pub fn summary(&self) -> Result<String> {
        let (total, left, together, head) = (self.total(), self.left(), self.together(), self.head());
        let sums = serde_json::json!({ "total": total, "left": left, "together": together, "head": head });
        let failed = |e: serde_json::Error| Error::Ledger { path: String::new(), problem: e.to_string() };
        let mut all = serde_json::to_value(self).map_err(failed)?;
        if let (Some(all), serde_json::Value::Object(sums)) = (all.as_object_mut(), sums) {
            all.extend(sums);
        }
        serde_json::to_string_pretty(&all).map_err(failed)
    }

    fn parse(path: &Path) -> Result<Ledger> {
        if !path.exists() {
            let missing = Error::Ledger {
                path: path_text(path),
                problem: format!("there is no ledger {}", name(path)),
            };
            let make = Remedy::say("create it", Remedy::set(Parameter::CapEpsilon, "E"));
            return Err(Error::Advised { error: Box::new(missing), remedies: vec![make] });
        }
        let text = std::fs::read_to_string(path).map_err(|source| Error::Io {
            path: path_text(path),
            action: "read",
            source,
        })?;
        let ledger: Ledger = match serde_json::from_str(&text) {
            Ok(ledger) => ledger,
            Err(e) => return wrong(path, format!("this is not a ledger: {e}")),
        };
        if !(1..=FORMAT).contains(&ledger.format) {
            let found = ledger.format;
            return wrong(path, format!("a ledger of format {found}; this version reads 1 to {FORMAT}"));
        }
        check_cap(path, ledger.cap)?;
        let sane = |e: &Entry| {
            let rho = e.rho.is_none_or(|rho| rho >= 0.0 && rho.is_finite());
            e.epsilon > 0.0 && e.epsilon.is_finite() && (0.0..1.0).contains(&e.delta) && rho
        };
        if let Some(at) = ledger.spent.iter().position(|entry| !sane(entry)) {
            return wrong(path, format!("entry {} of `spent` has an impossible epsilon or delta", at + 1));
        }
        if ledger.format == FORMAT {
            let broken =
                ledger.spent.iter().zip(&ledger.chained()[1..]).position(|(e, h)| e.hash.as_ref() != Some(h));
            if let Some(at) = broken {
                let problem = format!(
                    "entry {} of `spent` was changed after it was written, or one before it was; restore the ledger from a copy",
                    at + 1
                );
                return wrong(path, problem);
            }
        }
        Ok(ledger)
    }

    /// The hashes that the chain has before the first entry and after each.
    fn chained(&self) -> Vec<String> {
        let mut hashes = vec![link("", &(FORMAT, &self.dataset, &self.cap))];
        for entry in &self.spent {
            let bare = Entry { hash: None, ..entry.clone() };
            hashes.push(link(&hashes[hashes.len() - 1], &bare));
        }
        hashes
    }

    /// Brings the file to the newest format, with all links of the chain.
    fn seal(&mut self) {
        self.format = FORMAT;
        let hashes = self.chained();
        for (entry, hash) in self.spent.iter_mut().zip(hashes.into_iter().skip(1)) {
            entry.hash = Some(hash);
        }
    }

    /// Whether the ledger still has the entry that was last when its lock was told.
    fn check_end(&self, path: &Path, end: Option<End>) -> Result<()> {
        let Some((entries, hash)) = end else { return Ok(()) };
        if self.chained().get(entries) == Some(&hash) {
            return Ok(());
        }
        let problem = format!(
            "it was put back to an older state or made anew: its lock remembers {}, the file has {}, and these are not the same ones; restore the newest copy",
            count(entries, "entries"),
            self.spent.len()
        );
        wrong(path, problem)
    }

    /// How many times over a look counts among the entries: replacing a row is removing one and adding one,
    /// and a person has several.
    fn steps(&self, entry: &Entry) -> f64 {
        match self.spent.iter().find(|entry| !entry.look) {
            Some(first) if entry.look => {
                SpecOrigin::Paid { epsilon: 1.0 }.cost(first.neighbours, first.rows_per_person)
            }
            _ => 1.0,
        }
    }

    fn entry(&self, charge: Charge<'_>, output: &Path) -> Result<Entry> {
        let spec = match charge {
            Charge::Look { spec, .. } => spec,
            Charge::Release { spec, .. } => Some(spec),
        };
        let bare = |spec: &SketchSpec| SketchSpec { moments: None, ..spec.clone() }.fingerprint();
        let entry = Entry {
            time: rfc3339(SystemTime::now()),
            output: std::path::absolute(output).unwrap_or_else(|_| output.to_owned()),
            fingerprint: spec.map(bare).unwrap_or_default(),
            epsilon: 0.0,
            delta: 0.0,
            neighbours: Neighbours::AddRemove,
            rows_per_person: 1,
            mechanism: "discrete-laplace".into(),
            look: true,
            rho: None,
            hash: None,
        };
        let (release, spec) = match charge {
            Charge::Look { epsilon, .. } => return Ok(Entry { epsilon, ..entry }),
            Charge::Release { release, spec } => (release, spec),
        };
        let mut rho = rho(release, spec)?;
        let cost = release.spec.cost(release.neighbours, release.rows_per_person);
        let charged = self.spent.iter().any(|e| e.look && e.fingerprint == entry.fingerprint);
        let epsilon = if charged { release.epsilon_sums + release.epsilon_rows } else { release.epsilon };
        if !charged {
            rho += pure_rho(cost);
        }
        Ok(Entry {
            epsilon,
            delta: release.delta,
            neighbours: release.neighbours,
            rows_per_person: release.rows_per_person,
            mechanism: release.mechanism.name().to_owned(),
            look: false,
            rho: Some(rho),
            ..entry
        })
    }

    fn allow(&self, path: &Path, entry: &Entry) -> Result<()> {
        let first = self.spent.iter().find(|e| !e.look).filter(|_| !entry.look);
        if let Some(first) = first
            && (first.neighbours, first.rows_per_person) != (entry.neighbours, entry.rows_per_person)
        {
            let problem = format!(
                "its releases are for {} neighbours with {} a person, this one is for {} with {}: they protect different things, so their budgets cannot be added",
                first.neighbours.name(),
                count(first.rows_per_person as usize, "rows"),
                entry.neighbours.name(),
                count(entry.rows_per_person as usize, "rows"),
            );
            let same = Remedy::set(Parameter::RowsPerPerson, first.rows_per_person);
            let error = Error::Ledger { path: path_text(path), problem };
            let remedies = vec![Remedy::say("use the same neighbours and rows per person", same)];
            return Err(Error::Advised { error: Box::new(error), remedies });
        }
        let mut after = self.clone();
        after.spent.push(entry.clone());
        let (cap, spent, then, left) = (self.cap, self.total(), after.total(), self.left());
        let passes = |amount: f64, cap: f64| amount > cap * (1.0 + ROUNDING);
        if after.together().is_some_and(|together| !passes(together.epsilon, cap.epsilon)) {
            return Ok(());
        }
        if passes(then.epsilon, cap.epsilon) {
            let more = after.together().map_or(String::new(), |together| {
                format!("; by zCDP it would be {:.4} at delta {}", together.epsilon, amount(together.delta))
            });
            let problem = format!(
                "epsilon {} would exceed the cap: {} of {} is spent, {} is left{more}",
                amount(entry.epsilon),
                amount(spent.epsilon),
                amount(cap.epsilon),
                amount(left.epsilon),
            );
            return wrong(path, problem);
        }
        if passes(then.delta, cap.delta) {
            let problem = format!(
                "delta {} would exceed the cap: {} of {} is spent, {} is left; a pure epsilon needs none",
                amount(entry.delta),
                amount(spent.delta),
                amount(cap.delta),
                amount(left.delta),
            );
            return wrong(path, problem);
        }
        Ok(())
    }

    fn write(&self, path: &Path, anchor: &mut Anchor) -> Result<()> {
        let text = serde_json::to_string_pretty(self)
            .map_err(|e| Error::Ledger { path: path_text(path), problem: e.to_string() })?;
        write_atomic(path, format!("{text}\n").as_bytes())?;
        // After the ledger: what is killed in between leaves a lock that is one entry behind.
        anchor.remember(&(self.spent.len(), self.head()))
    }
}

/// The one name of a ledger, links followed.
fn settled(path: &Path) -> Result<PathBuf> {
    let failed = |source| Error::Io { path: path_text(path), action: "read", source };
    if !path.exists() {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder.canonicalize();
        return Ok(folder.map_or_else(|_| path.to_owned(), |f| f.join(path.file_name().unwrap_or_default())));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let names = std::fs::metadata(path).map_err(failed)?.nlink();
        if names > 1 {
            let problem = format!(
                "the file has {names} names (hard links), which would part at the next change: what is spent under one would be missing under the others; remove the others"
            );
            return wrong(path, problem);
        }
    }
    path.canonicalize().map_err(failed)
}

/// The result must not be written over the ledger or its lock.
fn check_apart(ledger: &Path, output: &Path) -> Result<()> {
    let lock = Anchor::path(ledger);
    for (what, own) in [("the ledger itself", ledger), ("the lock of the ledger", &lock)] {
        if same_file(own, output) {
            return wrong(output, format!("this is {what}; name another output"));
        }
    }
    Ok(())
}

fn same_file(a: &Path, b: &Path) -> bool {
    #[cfg(unix)]
    if let (Ok(a), Ok(b)) = (std::fs::metadata(a), std::fs::metadata(b)) {
        use std::os::unix::fs::MetadataExt;
        return (a.dev(), a.ino()) == (b.dev(), b.ino());
    }
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

fn wrong<T>(path: &Path, problem: String) -> Result<T> {
    Err(Error::Ledger { path: path_text(path), problem })
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn count(n: usize, things: &str) -> String {
    match things.strip_suffix('s') {
        Some("entrie") if n == 1 => "1 entry".into(),
        Some(one) if n == 1 => format!("1 {one}"),
        _ => format!("{n} {things}"),
    }
}

/// A number without the noise of binary fractions.
fn amount(x: f64) -> String {
    let clean: f64 = format!("{x:.11e}").parse().unwrap_or(x);
    if clean != 0.0 && clean.abs() < 1e-4 { format!("{clean:e}") } else { clean.to_string() }
}

fn check_cap(path: &Path, cap: Budget) -> Result<()> {
    if !(cap.epsilon > 0.0 && cap.epsilon.is_finite()) {
        return wrong(path, format!("the cap of epsilon, {}, is not a positive number", cap.epsilon));
    }
    if !(0.0..1.0).contains(&cap.delta) {
        return wrong(path, format!("the cap of delta, {}, is not from 0 to below 1", cap.delta));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
