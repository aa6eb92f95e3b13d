//! Disks of the simulated world: what was not flushed may be lost, torn or come in any order.

use std::collections::BTreeMap;
use std::io::{Error, Result};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use compressive_client::Shelf;
use redb::StorageBackend;

use super::{Dice, Plant};
use crate::lock;

fn dead() -> Error {
    Error::other("the disk is gone")
}

/// A write that was not flushed.
#[derive(Debug, Clone)]
enum Pending {
    Length(usize),
    Bytes(usize, Vec<u8>),
}

/// The bytes of the server's disk, which outlive its processes.
#[derive(Debug, Default)]
pub struct Platter {
    /// What a process reads.
    current: Vec<u8>,
    /// What is there after a crash, whatever happens.
    durable: Vec<u8>,
    pending: Vec<Pending>,
}

fn apply(bytes: &mut Vec<u8>, write: &Pending) {
    match write {
        Pending::Length(length) => bytes.resize(*length, 0),
        Pending::Bytes(offset, data) => {
            let end = offset + data.len();
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            bytes[*offset..end].copy_from_slice(data);
        }
    }
}

impl Platter {
    /// The machine stops: of what was not flushed any part may be there.
    pub fn crash(&mut self, dice: &mut Dice) {
        for mut write in std::mem::take(&mut self.pending) {
            match (dice.below(4), &mut write) {
                (0, _) => continue,
                (1, Pending::Bytes(_, data)) => data.truncate(dice.below(data.len() as u64 + 1) as usize),
                _ => {}
            }
            apply(&mut self.durable, &write);
        }
        self.current = self.durable.clone();
    }

    /// The process alone stops: the system still has all that was written.
    pub fn flush(&mut self) {
        for write in std::mem::take(&mut self.pending) {
            apply(&mut self.durable, &write);
        }
    }

    fn sync(&mut self, plant: Plant) {
        match plant {
            Plant::NoFsync => return,
            Plant::TornPage => {
                // The disk says that it has a page of which it has one half.
                let middle = self.pending.len() / 2;
                if let Some(Pending::Bytes(_, data)) = self.pending.get_mut(middle) {
                    data.truncate(data.len() / 2);
                }
            }
            _ => {}
        }
        self.flush();
    }
}

/// The disk as one life of the server has it: after some number of operations the life ends.
#[derive(Debug, Clone)]
pub struct Disk {
    pub platter: Arc<Mutex<Platter>>,
    pub left: Arc<AtomicI64>,
    pub dead: Arc<AtomicBool>,
    pub plant: Plant,
}

impl Disk {
    fn spend(&self) -> Result<()> {
        if self.left.fetch_sub(1, Ordering::Relaxed) <= 0 {
            self.dead.store(true, Ordering::Relaxed);
        }
        if self.dead.load(Ordering::Relaxed) { Err(dead()) } else { Ok(()) }
    }

    fn write_down(&self, write: Pending) -> Result<()> {
        self.spend()?;
        let mut platter = lock(&self.platter);
        apply(&mut platter.current, &write);
        platter.pending.push(write);
        Ok(())
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> Result<u64> {
        Ok(lock(&self.platter).current.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let platter = lock(&self.platter);
        let range = offset as usize..offset as usize + out.len();
        out.copy_from_slice(platter.current.get(range).ok_or_else(|| Error::other("behind the end"))?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.write_down(Pending::Length(len as usize))
    }

    fn sync_data(&self) -> Result<()> {
        self.spend()?;
        lock(&self.platter).sync(self.plant);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<()> {
        self.write_down(Pending::Bytes(offset as usize, data.to_vec()))
    }
}

/// The files of a client's run, which outlive its processes.
#[derive(Debug, Default)]
pub struct Files {
    files: BTreeMap<String, Vec<u8>>,
    /// Deleted since the last write was flushed.
    deleted: Vec<(String, Vec<u8>)>,
    /// The state before the last one.
    earlier: Option<Vec<u8>>,
    holders: u32,
}

impl Files {
    pub fn new(state: &str) -> Files {
        Files {
            files: BTreeMap::from([("run.json".to_owned(), state.as_bytes().to_vec())]),
            ..Files::default()
        }
    }

    /// The machine stops: what was deleted may be there again.
    pub fn crash(&mut self, dice: &mut Dice, plant: Plant) {
        for (name, bytes) in std::mem::take(&mut self.deleted) {
            if dice.one_in(2) {
                self.files.entry(name).or_insert(bytes);
            }
        }
        if let (Plant::ReusedSequence, Some(earlier)) = (plant, self.earlier.take()) {
            self.files.insert("run.json".into(), earlier);
        }
    }
}

/// The files as one process has them: after some number of operations the process ends.
#[derive(Debug)]
pub struct Folder {
    files: Arc<Mutex<Files>>,
    left: AtomicI64,
}

impl Folder {
    /// None if another process has them.
    pub fn open(files: &Arc<Mutex<Files>>, left: i64, plant: Plant) -> Option<Folder> {
        let mut held = lock(files);
        if held.holders > 0 && plant != Plant::LostLock {
            return None;
        }
        held.holders += 1;
        drop(held);
        Some(Folder { files: Arc::clone(files), left: AtomicI64::new(left) })
    }

    fn spend(&self) -> Result<std::sync::MutexGuard<'_, Files>> {
        if self.left.fetch_sub(1, Ordering::Relaxed) <= 0 { Err(dead()) } else { Ok(lock(&self.files)) }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        lock(&self.files).holders -= 1;
    }
}

impl Shelf for Folder {
    fn list(&self) -> Result<Vec<String>> {
        Ok(self.spend()?.files.keys().cloned().collect())
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>> {
        Ok(self.spend()?.files.get(name).cloned())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let mut files = self.spend()?;
        files.deleted.clear();
        let before = files.files.insert(name.to_owned(), bytes.to_vec());
        if name == "run.json" {
            files.earlier = before;
        }
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<()> {
        let mut files = self.spend()?;
        let bytes = files.files.remove(name).ok_or_else(|| Error::other("there is no such file"))?;
        files.deleted.push((name.to_owned(), bytes));
        Ok(())
    }
}
