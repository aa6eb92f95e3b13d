//! What a client has made and not yet handed over, on its disk: it survives the client.
//!
//! A run has a random id; batch i of it has the key `ID-i`, so that a batch is sent under the same key
//! however often the client starts anew. A batch is written before the run's state counts it, and deleted
//! after the collector has acknowledged it: a client killed between two of these steps repeats the second,
//! which changes nothing.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::text::{hex, random};

/// A run's batches on the disk.
#[derive(Debug)]
pub struct Spool {
    directory: PathBuf,
    state: State,
}

/// How far a run is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    /// What the run is for: another run must not take it up.
    purpose: String,
    /// The part of it that stays when its files change.
    place: String,
    id: String,
    /// Batches written so far, and their rows.
    batches: u64,
    rows: u64,
    /// Whether all rows of the source are in batches.
    complete: bool,
}

impl Spool {
    /// Takes up the run of a purpose in a directory of its own, or begins it.
    pub fn open(directory: &Path, purpose: &str, place: &str) -> Result<Spool> {
        std::fs::create_dir_all(directory).map_err(|e| failed(directory, e))?;
        let path = directory.join("run.json");
        let state = match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice::<State>(&bytes).map_err(|e| failed(&path, e))?,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => State {
                purpose: purpose.into(),
                place: place.into(),
                id: hex(&random::<12>().map_err(|e| failed(&path, e))?),
                batches: 0,
                rows: 0,
                complete: false,
            },
            Err(e) => return Err(failed(&path, e)),
        };
        if state.purpose != purpose {
            let problem = "the run was begun with another recipe, bucket or local epsilon; repeat the call as it was, or choose another name";
            return Err(failed(directory, problem));
        }
        let spool = Spool { directory: directory.into(), state };
        spool.save()?;
        Ok(spool)
    }

    /// Rows of the unfinished run in a directory, if there is one and it is of this place.
    pub(crate) fn unfinished(directory: &Path, place: &str) -> Result<Option<u64>> {
        let path = directory.join("run.json");
        let bytes = std::fs::read(&path).map_err(|e| failed(&path, e))?;
        let state: State = serde_json::from_slice(&bytes).map_err(|e| failed(&path, e))?;
        let spool = Spool { directory: directory.into(), state };
        Ok((spool.state.place == place && !spool.is_finished()?).then(|| spool.rows()))
    }

    fn save(&self) -> Result<()> {
        let text = serde_json::to_vec_pretty(&self.state).map_err(|e| failed(&self.directory, e))?;
        compressive_io::write_atomic(self.directory.join("run.json"), &text)
            .map_err(|e| failed(&self.directory, e))
    }

    /// Rows that are in batches already: where reading goes on.
    pub fn rows(&self) -> u64 {
        self.state.rows
    }

    /// Whether all rows are in batches.
    pub fn is_complete(&self) -> bool {
        self.state.complete
    }

    /// Whether all rows are in batches and all batches are acknowledged.
    pub fn is_finished(&self) -> Result<bool> {
        Ok(self.state.complete && self.waiting()?.is_empty())
    }

    /// The key of a batch.
    pub fn key(&self, batch: u64) -> String {
        format!("{}-{batch}", self.state.id)
    }

    fn path(&self, batch: u64) -> PathBuf {
        self.directory.join(format!("{batch:012}.batch"))
    }

    /// Writes the next batch and returns its number.
    pub fn put(&mut self, body: &[u8], rows: u64) -> Result<u64> {
        let batch = self.state.batches;
        let path = self.path(batch);
        compressive_io::write_atomic(&path, body).map_err(|e| failed(&path, e))?;
        self.state.batches += 1;
        self.state.rows += rows;
        self.save()?;
        Ok(batch)
    }

    /// Notes that there will be no more batches.
    pub fn complete(&mut self) -> Result<()> {
        self.state.complete = true;
        self.save()
    }

    /// Batches that are not acknowledged, in order.
    pub fn waiting(&self) -> Result<Vec<u64>> {
        let mut all = Vec::new();
        for entry in std::fs::read_dir(&self.directory).map_err(|e| failed(&self.directory, e))? {
            let name = entry.map_err(|e| failed(&self.directory, e))?.file_name();
            let number = name.to_str().and_then(|name| name.strip_suffix(".batch")?.parse::<u64>().ok());
            // A batch beyond the state is written again under the same number.
            all.extend(number.filter(|number| *number < self.state.batches));
        }
        all.sort_unstable();
        Ok(all)
    }

    /// A batch that waits.
    pub fn read(&self, batch: u64) -> Result<Vec<u8>> {
        let path = self.path(batch);
        std::fs::read(&path).map_err(|e| failed(&path, e))
    }

    /// Deletes a batch that was acknowledged.
    pub fn done(&self, batch: u64) -> Result<()> {
        let path = self.path(batch);
        std::fs::remove_file(&path).map_err(|e| failed(&path, e))
    }
}

fn failed(path: &Path, problem: impl std::fmt::Display) -> Error {
    Error::Spool { path: path.display().to_string(), problem: problem.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_taken_up_where_it_was_and_its_keys_stay() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::open(folder.path(), "rows.csv to fleet", "fleet").unwrap();
        assert_eq!(spool.put(b"first", 10).unwrap(), 0);
        assert_eq!(spool.put(b"second", 5).unwrap(), 1);
        let key = spool.key(1);
        spool.done(0).unwrap();
        // A batch that was written when the client was killed, before it was counted.
        std::fs::write(spool.path(2), b"half").unwrap();
        drop(spool);
        let mut spool = Spool::open(folder.path(), "rows.csv to fleet", "fleet").unwrap();
        assert_eq!((spool.rows(), spool.waiting().unwrap(), spool.key(1)), (15, vec![1], key));
        assert_eq!(spool.read(1).unwrap(), b"second");
        assert_eq!(spool.put(b"third", 5).unwrap(), 2);
        assert_eq!(spool.read(2).unwrap(), b"third");
        spool.complete().unwrap();
        assert!(Spool::open(folder.path(), "rows.csv to fleet", "fleet").unwrap().is_complete());
        let error = Spool::open(folder.path(), "other.csv to fleet", "fleet").unwrap_err().to_string();
        assert!(error.contains("was begun with another"), "{error}");
    }
}
