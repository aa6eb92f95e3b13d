//! What a client has made and not yet handed over, on its disk: it survives the client.
//!
//! A run has a random id, kept before its first batch; batch i of it has the key `ID-i`, so that a batch is
//! sent under the same key however often the client starts anew. A batch is written before the run's state
//! counts it, and deleted after the collector has acknowledged it: a client killed between two of these steps
//! repeats the second, which changes nothing.
//!
//! The state has a digest of all rows that are in batches. Whoever goes on reads the rows from the start and
//! sends the rest only if the first ones still have that digest.
//!
//! A run belongs to one process at a time: a lock that the system takes back when the process ends, however
//! it ends.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::run::{Rows, Run};
use crate::text::{hex, random};

/// A run's batches on the disk, locked.
#[derive(Debug)]
pub struct Spool {
    directory: PathBuf,
    state: State,
    _lock: File,
}

/// How far a run is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    /// Where its rows go and as what: another run must not take it up.
    pub to: String,
    pub stream: String,
    pub way: String,
    /// What each reading has spent, under local privacy.
    pub local: Option<f64>,
    /// What its rows are known by.
    pub rows_of: Rows,
    id: String,
    /// Batches written so far, their rows, and a digest of these.
    batches: u64,
    pub rows: u64,
    digest: String,
    /// Whether all rows of the source were in batches when it was last read.
    complete: bool,
}

impl State {
    fn begun(directory: &Path, run: &Run) -> Result<State> {
        Ok(State {
            to: run.to.clone(),
            stream: run.stream.clone(),
            way: run.way.clone(),
            local: run.local,
            rows_of: run.rows.clone(),
            id: hex(&random::<12>().map_err(|e| failed(directory, e))?),
            batches: 0,
            rows: 0,
            digest: hex(&Sha256::digest([])),
            complete: false,
        })
    }

    /// The state of the run in a directory.
    pub fn read(directory: &Path) -> Result<State> {
        let path = directory.join("run.json");
        let bytes = std::fs::read(&path).map_err(|e| failed(&path, e))?;
        serde_json::from_slice(&bytes).map_err(|e| {
            failed(&path, format!("it is not the state of a run that this version can go on with ({e}); finish the run with the version that began it, or delete its folder"))
        })
    }
}

impl Spool {
    /// Takes up the run in a directory of its own, or begins it there.
    pub(crate) fn open(directory: &Path, run: &Run) -> Result<Spool> {
        std::fs::create_dir_all(directory).map_err(|e| failed(directory, e))?;
        let lock = own_lock(directory)?;
        compressive_io::sweep(directory);
        let state = match directory.join("run.json").exists() {
            // A list of files may have grown.
            true => State { rows_of: run.rows.clone(), ..State::read(directory)? },
            false => State::begun(directory, run)?,
        };
        let spool = Spool { directory: directory.into(), state, _lock: lock };
        spool.save()?;
        Ok(spool)
    }

    /// Forgets what was sent.
    pub(crate) fn begin_again(&mut self, run: &Run) -> Result<()> {
        self.state = State::begun(&self.directory, run)?;
        self.save()
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

    /// The digest of these rows, as they are in batches.
    pub(crate) fn digest(&self) -> &str {
        &self.state.digest
    }

    /// Whether all rows were in batches when the source was last read.
    pub fn is_complete(&self) -> bool {
        self.state.complete
    }

    /// Whether there can be no more rows than are in batches: a digest stands for just these.
    pub(crate) fn is_closed(&self) -> bool {
        self.state.complete && matches!(self.state.rows_of, Rows::Values(_))
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

    /// Writes the next batch and returns its number; `digest` is that of all rows up to its last.
    pub fn put(&mut self, body: &[u8], rows: u64, digest: &str) -> Result<u64> {
        let batch = self.state.batches;
        let path = self.path(batch);
        compressive_io::write_atomic(&path, body).map_err(|e| failed(&path, e))?;
        self.state.batches += 1;
        self.state.rows += rows;
        self.state.digest = digest.into();
        self.state.complete = false;
        self.save()?;
        Ok(batch)
    }

    /// Notes that there are no more rows for now.
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

    /// That the rows are not the ones that were sent.
    pub(crate) fn changed(&self) -> Error {
        failed(
            &self.directory,
            format!(
                "an earlier run sent {} rows, and they are not the first ones of what is there now: sending the rest could count rows twice. Put the rows back and repeat the call, push them under a name of their own, or delete this folder if that is what you want",
                self.state.rows
            ),
        )
    }
}

/// The lock of a run, or the word that another process has it.
fn own_lock(directory: &Path) -> Result<File> {
    let path = directory.join("run.lock");
    let file = open_lock(&path)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(failed(
            directory,
            "another process is sending these rows at the moment; wait until it has ended, it sends them all",
        )),
        Err(TryLockError::Error(e)) => Err(failed(&path, format!("it cannot be locked: {e}"))),
    }
}

/// Waits for a lock that is held for moments only.
pub(crate) fn lock_file(path: &Path) -> Result<File> {
    let file = open_lock(path)?;
    file.lock().map_err(|e| failed(path, format!("it cannot be locked: {e}")))?;
    Ok(file)
}

fn open_lock(path: &Path) -> Result<File> {
    File::options().create(true).truncate(false).write(true).open(path).map_err(|e| failed(path, e))
}

pub(crate) fn failed(path: &Path, problem: impl std::fmt::Display) -> Error {
    Error::Spool { path: path.display().to_string(), problem: problem.to_string() }
}
