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
//!
//! The state also says below which number all batches are settled, and so is what the collector is told: a
//! number is settled only after the disk has that it is, so that no crash brings a settled batch back.

use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::run::{Rows, Run};
use crate::text::{hex, random};

/// Acknowledged batches after which the state is written anew, so that the collector can forget their keys.
const SETTLE: u64 = 64;
/// The file of the state.
const STATE: &str = "run.json";

/// Where the files of one run are: a folder, or what a test puts in its place. It is one process's alone as
/// long as it lives.
pub trait Shelf: std::fmt::Debug + Send {
    /// The names of all files.
    fn list(&self) -> io::Result<Vec<String>>;
    /// The bytes of a file, if it is there.
    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>>;
    /// Writes a file as a whole or not at all; after it has returned the disk has it.
    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()>;
    /// Deletes a file; a crash may bring it back.
    fn remove(&self, name: &str) -> io::Result<()>;
}

/// A folder, locked.
#[derive(Debug)]
struct Folder {
    directory: PathBuf,
    _lock: File,
}

impl Shelf for Folder {
    fn list(&self) -> io::Result<Vec<String>> {
        let names = std::fs::read_dir(&self.directory)?.map(|entry| Ok(entry?.file_name()));
        let names = names.collect::<io::Result<Vec<_>>>()?;
        Ok(names.into_iter().filter_map(|name| name.into_string().ok()).collect())
    }

    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        match std::fs::read(self.directory.join(name)) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            read => read.map(Some),
        }
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        compressive_io::write_atomic(self.directory.join(name), bytes).map_err(io::Error::other)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        std::fs::remove_file(self.directory.join(name))
    }
}

/// A run's batches on the disk, locked.
#[derive(Debug)]
pub struct Spool {
    shelf: Box<dyn Shelf>,
    /// What messages call it.
    directory: PathBuf,
    state: State,
    /// Batches that are not acknowledged.
    waiting: BTreeSet<u64>,
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
    /// The number below which all batches are acknowledged.
    #[serde(default)]
    settled: u64,
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
            settled: 0,
        })
    }

    /// The state of the run in a directory.
    pub fn read(directory: &Path) -> Result<State> {
        let path = directory.join(STATE);
        let bytes = std::fs::read(&path).map_err(|e| failed(&path, e))?;
        State::parse(&path, &bytes)
    }

    fn parse(path: &Path, bytes: &[u8]) -> Result<State> {
        serde_json::from_slice(bytes).map_err(|e| {
            failed(path, format!("it is not the state of a run that this version can go on with ({e}); finish the run with the version that began it, or delete its folder"))
        })
    }
}

impl Spool {
    /// Takes up the run in a directory of its own, or begins it there.
    pub(crate) fn open(directory: &Path, run: &Run) -> Result<Spool> {
        std::fs::create_dir_all(directory).map_err(|e| failed(directory, e))?;
        let lock = own_lock(directory)?;
        compressive_io::sweep(directory);
        Spool::on(Box::new(Folder { directory: directory.into(), _lock: lock }), directory, run)
    }

    /// Takes up the run whose files these are, or begins it; messages call the place by `directory`.
    pub fn on(shelf: Box<dyn Shelf>, directory: &Path, run: &Run) -> Result<Spool> {
        let path = directory.join(STATE);
        let state = match shelf.read(STATE).map_err(|e| failed(&path, e))? {
            // A list of files may have grown.
            Some(bytes) => State { rows_of: run.rows.clone(), ..State::parse(&path, &bytes)? },
            None => State::begun(directory, run)?,
        };
        let mut spool = Spool { shelf, directory: directory.into(), state, waiting: BTreeSet::new() };
        for name in spool.shelf.list().map_err(|e| failed(directory, e))? {
            let Some(number) = name.strip_suffix(".batch").and_then(|name| name.parse::<u64>().ok()) else {
                continue;
            };
            // A batch beyond the state is written again under the same number.
            if number < spool.state.settled {
                spool.remove(number)?;
            } else if number < spool.state.batches {
                spool.waiting.insert(number);
            }
        }
        spool.save()?;
        Ok(spool)
    }

    /// Forgets what was sent.
    pub(crate) fn begin_again(&mut self, run: &Run) -> Result<()> {
        self.state = State::begun(&self.directory, run)?;
        self.save()
    }

    /// Writes the state, with all that is settled by now.
    fn save(&mut self) -> Result<()> {
        let settled = self.waiting.first().copied().unwrap_or(self.state.batches);
        let state = State { settled, ..self.state.clone() };
        let text = serde_json::to_vec_pretty(&state).map_err(|e| failed(&self.directory, e))?;
        self.shelf.write(STATE, &text).map_err(|e| failed(&self.directory.join(STATE), e))?;
        self.state = state;
        Ok(())
    }

    /// The number below which all batches are acknowledged, as far as the disk has it.
    pub fn settled(&self) -> u64 {
        self.state.settled
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
        Ok(self.state.complete && self.waiting.is_empty())
    }

    /// The key of a batch.
    pub fn key(&self, batch: u64) -> String {
        format!("{}-{batch}", self.state.id)
    }

    fn failed(&self, batch: u64, problem: impl std::fmt::Display) -> Error {
        failed(&self.directory.join(file_name(batch)), problem)
    }

    /// Writes the next batch and returns its number; `digest` is that of all rows up to its last.
    pub fn put(&mut self, body: &[u8], rows: u64, digest: &str) -> Result<u64> {
        let batch = self.state.batches;
        self.shelf.write(&file_name(batch), body).map_err(|e| self.failed(batch, e))?;
        let before = self.state.clone();
        self.state.batches += 1;
        self.state.rows += rows;
        self.state.digest = digest.into();
        self.state.complete = false;
        self.waiting.insert(batch);
        if let Err(error) = self.save() {
            self.state = before;
            self.waiting.remove(&batch);
            return Err(error);
        }
        Ok(batch)
    }

    /// Notes that there are no more rows for now.
    pub fn complete(&mut self) -> Result<()> {
        self.state.complete = true;
        self.save()
    }

    /// Batches that are not acknowledged, in order.
    pub fn waiting(&self) -> Vec<u64> {
        self.waiting.iter().copied().collect()
    }

    /// A batch that waits.
    pub fn read(&self, batch: u64) -> Result<Vec<u8>> {
        let body = self.shelf.read(&file_name(batch)).map_err(|e| self.failed(batch, e))?;
        body.ok_or_else(|| self.failed(batch, "it is gone"))
    }

    /// Deletes a batch that was acknowledged.
    pub fn done(&mut self, batch: u64) -> Result<()> {
        self.remove(batch)?;
        self.waiting.remove(&batch);
        let settled = self.waiting.first().copied().unwrap_or(self.state.batches);
        if settled - self.state.settled >= SETTLE { self.save() } else { Ok(()) }
    }

    fn remove(&self, batch: u64) -> Result<()> {
        self.shelf.remove(&file_name(batch)).map_err(|e| self.failed(batch, e))
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

/// The file of a batch.
fn file_name(batch: u64) -> String {
    format!("{batch:012}.batch")
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
