//! What makes a ledger's history hard to change: its entries are chained, and its lock remembers the last
//! one.
//!
//! The hash of an entry is SHA-256 over the hash before it and the entry, that of the first over the ledger's
//! head: whoever changes or removes an entry would have to write all later ones anew. A ledger that was put
//! back to an older state has no broken link; but the lock beside it (`FILE.lock`) has the number and the
//! hash of the last entry, and says so. Somebody who replaces both files is told by nobody but those who
//! kept a later hash.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::error::{Error, Result, path_text};

/// The next hash of a chain.
pub(super) fn link(before: &str, entry: &impl Serialize) -> String {
    let text = serde_json::to_string(entry).unwrap_or_default();
    let hash = Sha256::new().chain_update(before).chain_update("\n").chain_update(text).finalize();
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The lock of a ledger, and the end of its chain.
///
/// A file of its own, which stays: the ledger itself is replaced by each change, so a lock on it would be one
/// on a file that is no longer there.
#[derive(Debug)]
pub(super) struct Anchor {
    path: PathBuf,
    file: File,
}

/// The number of entries, and the hash of the last.
pub(super) type End = (usize, String);

impl Anchor {
    /// The name of a ledger's lock.
    pub fn path(ledger: &Path) -> PathBuf {
        let mut name = ledger.as_os_str().to_owned();
        name.push(".lock");
        name.into()
    }

    /// Waits until no other program changes the ledger; the lock ends with what is returned.
    pub fn hold(ledger: &Path) -> Result<Anchor> {
        let path = Anchor::path(ledger);
        let failed = |source| Error::Io { path: path_text(&path), action: "lock", source };
        let mut options = File::options();
        let file = options.create(true).truncate(false).read(true).write(true).open(&path).map_err(failed)?;
        file.lock().map_err(failed)?;
        Ok(Anchor { path, file })
    }

    /// What the lock remembers, if it was ever told.
    pub fn end(&mut self) -> Result<Option<End>> {
        let mut text = String::new();
        let read = self.file.seek(SeekFrom::Start(0)).and_then(|_| self.file.read_to_string(&mut text));
        read.map_err(|source| self.failed("read", source))?;
        parse(&self.path, &text)
    }

    /// The same without holding the lock, which may not be there.
    pub fn peek(ledger: &Path) -> Result<Option<End>> {
        let path = Anchor::path(ledger);
        match std::fs::read_to_string(&path) {
            Ok(text) => parse(&path, &text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(Error::Io { path: path_text(&path), action: "read", source }),
        }
    }

    /// Remembers the end of the chain, on the disk when this returns. The line has one length, so that it is
    /// replaced in one write.
    pub fn remember(&mut self, (entries, hash): &End) -> Result<()> {
        let line = format!("{entries:020} {hash}\n");
        let written = self
            .file
            .seek(SeekFrom::Start(0))
            .and_then(|_| self.file.write_all(line.as_bytes()))
            .and_then(|()| self.file.sync_all());
        written.map_err(|source| self.failed("write", source))
    }

    fn failed(&self, action: &'static str, source: std::io::Error) -> Error {
        Error::Io { path: path_text(&self.path), action, source }
    }
}

fn parse(path: &Path, text: &str) -> Result<Option<End>> {
    if text.is_empty() {
        return Ok(None);
    }
    let end = text.trim_end().split_once(' ').and_then(|(n, hash)| Some((n.parse().ok()?, hash.to_owned())));
    end.map(Some).ok_or_else(|| Error::Ledger {
        path: path_text(path),
        problem: "this lock of a ledger should remember its last entry, and makes no sense; if nobody has changed the ledger, delete the lock".into(),
    })
}
