//! Which rows a run sends: by what a later call knows them, so that it goes on where the run stopped and
//! counts no row twice.
//!
//! Files are known by their paths, rows in memory by a digest of their values, others by a name that the user
//! gives; what was sent of them is known by a digest ([`Spool`]). A file that grew, or a list of files that
//! got longer at its end, goes on; one that was only touched has nothing to send. How many rows a batch has
//! does not matter.
//!
//! The folder of all runs is also the record of what readings have told under local privacy: a run whose
//! readings have reported to another place, or are to report once more, is refused, since their epsilons
//! would add up.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::push::PushParams;
use crate::spool::{Spool, State, failed, lock_file};
use crate::text::digest;

/// What tells the rows of a run from others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rows {
    /// Files, by their paths.
    Files(Vec<String>),
    /// Rows in memory, by a digest.
    Values(String),
    /// Whatever the user calls so.
    Named(String),
}

impl Rows {
    /// Files by the paths that they have whatever the working folder and whatever links lead to them.
    fn settled(&self) -> Rows {
        let Rows::Files(paths) = self else { return self.clone() };
        let settle = |path: &String| {
            let found = std::fs::canonicalize(path).or_else(|_| std::path::absolute(path));
            found.map_or_else(|_| path.clone(), |path| path.display().to_string())
        };
        Rows::Files(paths.iter().map(settle).collect())
    }

    /// Something that both have: a file, the values, the name.
    fn shared(&self, other: &Rows) -> Option<String> {
        match (self, other) {
            (Rows::Files(ours), Rows::Files(theirs)) => {
                ours.iter().find(|path| theirs.contains(path)).cloned()
            }
            (Rows::Values(ours), Rows::Values(theirs)) => (ours == theirs).then(|| "rows in memory".into()),
            (Rows::Named(ours), Rows::Named(theirs)) => (ours == theirs).then(|| ours.clone()),
            _ => None,
        }
    }

    /// Whether these are the others, or the others and more files after them.
    fn goes_on(&self, other: &Rows) -> bool {
        match (self, other) {
            (Rows::Files(ours), Rows::Files(theirs)) => ours.starts_with(theirs),
            _ => self == other,
        }
    }
}

/// A run: rows, where they go and as what.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub(crate) to: String,
    pub(crate) stream: String,
    /// Recipe, bucket and local epsilon.
    pub(crate) way: String,
    pub(crate) local: Option<f64>,
    pub(crate) rows: Rows,
}

impl Run {
    /// The run of some rows to a collector.
    pub fn new(to: &str, params: &PushParams<'_>, rows: &Rows) -> Run {
        let local = params.local.map(|local| local.epsilon());
        let bucket = params.place.bucket.unwrap_or("now");
        let epsilon = local.map_or(String::new(), |epsilon| format!(" local {epsilon}"));
        Run {
            to: to.trim_end_matches('/').into(),
            stream: params.place.stream.into(),
            way: format!("{} {bucket}{epsilon}", params.place.fingerprint),
            local,
            rows: rows.settled(),
        }
    }

    /// Takes up the run in a folder of runs, or begins it; `again` forgets one that is finished. The run is
    /// this process's alone as long as the spool lives.
    ///
    /// # Errors
    /// [`Error::Spool`] if another process sends these rows at the moment, if a run of this name was begun for
    /// something else, if an earlier run sent some of these files among others, or if readings would report a
    /// second time.
    pub fn spool(&self, folder: &Path, again: bool) -> Result<Spool> {
        std::fs::create_dir_all(folder).map_err(|e| failed(folder, e))?;
        // Held while the run is found or begun, so that no two processes begin it.
        let _claim = lock_file(&folder.join("runs.lock"))?;
        let own = match self.find(folder)? {
            Some(own) => own,
            None => self.folder(folder),
        };
        let mut spool = Spool::open(&own, self)?;
        if again && spool.is_finished()? {
            if let (Some(epsilon), true) = (self.local, spool.rows() > 0) {
                return Err(self.second_report(&own, spool.rows(), epsilon, &self.stream));
            }
            spool.begin_again(self)?;
        }
        Ok(spool)
    }

    /// A folder of its own; two runs that differ in anything never share one.
    fn folder(&self, folder: &Path) -> PathBuf {
        let what = format!("{} {} {} {:?}", self.to, self.stream, self.way, self.rows);
        folder.join(&digest(&what)[..16])
    }

    /// The earlier run that this one goes on with.
    fn find(&self, folder: &Path) -> Result<Option<PathBuf>> {
        let mut found = None;
        let entries = std::fs::read_dir(folder).map_err(|e| failed(folder, e))?;
        for path in entries.flatten().map(|entry| entry.path()).filter(|path| path.join("run.json").exists())
        {
            let earlier = State::read(&path)?;
            let same_place = (&earlier.to, &earlier.stream) == (&self.to, &self.stream);
            if same_place && earlier.way == self.way && self.rows.goes_on(&earlier.rows_of) {
                found = Some(path);
                continue;
            }
            let Some(shared) = self.rows.shared(&earlier.rows_of) else { continue };
            let named = matches!(self.rows, Rows::Named(_));
            if same_place && named && earlier.way != self.way {
                let problem = "the run was begun with another recipe, bucket or local epsilon; repeat the call as it was, or choose another name";
                return Err(failed(&path, problem));
            }
            if same_place && earlier.way == self.way && earlier.rows > 0 {
                let problem = format!(
                    "an earlier run sent {shared} among other files, {} rows in all: sending it with these would count its rows twice. Push the files of the earlier run with new ones after them, or the new ones alone",
                    earlier.rows
                );
                return Err(failed(&path, problem));
            }
            if let (Some(_), Some(epsilon), true) = (self.local, earlier.local, earlier.rows > 0) {
                return Err(self.second_report(&path, earlier.rows, epsilon, &earlier.stream));
            }
        }
        Ok(found)
    }

    fn second_report(&self, record: &Path, rows: u64, epsilon: f64, stream: &str) -> Error {
        failed(
            record,
            format!(
                "{rows} of these readings have reported already, to the stream `{stream}`, and each has spent epsilon {epsilon}: a second report would add to it. Push readings that have not reported yet"
            ),
        )
    }
}

#[cfg(test)]
mod tests;
