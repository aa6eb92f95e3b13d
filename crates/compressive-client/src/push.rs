//! From rows to acknowledged batches: read in order, packed, spooled, sent until the collector has them.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use compressive::features::{packed, packed_len};
use compressive::privacy::LocalResponse;
use compressive::{RowsRef, Scratch, Sketch, SketchOperator, Wave};
use compressive_io::{DataSource, DriveOptions, OsEntropy, Ready, RowChunk, pass_in_order};
use sha2::{Digest, Sha256};

use crate::batch::BatchKind;
use crate::client::{Client, Place, Sent};
use crate::error::{Error, Result};
use crate::spool::Spool;
use crate::text::hex;

/// A lock whose holders leave nothing half done, so that it can be taken over from one that panicked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The longest wait between two attempts.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// How to push.
#[derive(Clone, Copy, Debug)]
pub struct PushParams<'a> {
    /// Rows of a batch.
    pub batch_rows: usize,
    /// Batches under way at once.
    pub connections: usize,
    /// How long a batch is tried.
    pub patience: Duration,
    /// Where batches go.
    pub place: Place<'a>,
    /// How readings answer for themselves; none, and they are sent as they are.
    pub local: Option<&'a LocalResponse>,
}

/// What was pushed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pushed {
    /// Rows acknowledged by this call.
    pub rows: u64,
    /// Batches acknowledged by this call.
    pub batches: u64,
    /// Of these, batches that had been counted before.
    pub repeated: u64,
}

/// What batches of an operator's spec are sent as: reports with local privacy, bits for the feature
/// `one-bit`, else sketches of their rows.
pub fn kind(operator: &SketchOperator, local: bool) -> BatchKind {
    if local {
        return BatchKind::Reports;
    }
    if operator.spec().map.wave() == Some(&Wave::OneBit) { BatchKind::Bits } else { BatchKind::Sketch }
}

/// Pushes all rows of a source that the spool's run has not taken yet, and all batches that wait in it.
/// Nothing is sent of rows that were all acknowledged before.
///
/// # Errors
/// A bad row, rows that are not those that were sent before, a refusal by the collector, or a batch that
/// could not be handed over in time; the spool then keeps what is left.
pub fn push(
    client: &Client,
    operator: &SketchOperator,
    rows: Option<&mut dyn DataSource>,
    spool: &mut Spool,
    params: &PushParams<'_>,
    options: &DriveOptions<'_>,
) -> Result<Pushed> {
    let (sender, receiver) = channel();
    for batch in spool.waiting() {
        // The receiver lives until all senders are gone.
        let _ = sender.send(batch);
    }
    let spool = Mutex::new(spool);
    let receiver = Mutex::new(receiver);
    let outcome = Mutex::new((Pushed::default(), None::<Error>));
    let read = std::thread::scope(|scope| {
        for _ in 0..params.connections.max(1) {
            scope.spawn(|| {
                send_all(client, kind(operator, params.local.is_some()), &spool, &receiver, params, &outcome)
            });
        }
        let put = |body: &[u8], rows: u64, digest: &str| -> Result<()> {
            let batch = lock(&spool).put(body, rows, digest)?;
            let _ = sender.send(batch);
            match &lock(&outcome).1 {
                Some(_) => Err(Error::Refused("sending has stopped".into())),
                None => Ok(()),
            }
        };
        let read = match rows {
            Some(rows) if !lock(&spool).is_closed() => {
                let (done, digest) = {
                    let spool = lock(&spool);
                    (spool.rows(), spool.digest().to_owned())
                };
                let read = read_all(operator, rows, params, (done, &digest), options, put);
                let same = read.and_then(|same| if same { Ok(()) } else { Err(lock(&spool).changed()) });
                same.and_then(|()| lock(&spool).complete())
            }
            _ => Ok(()),
        };
        drop(sender);
        read
    });
    let (pushed, refused) = outcome.into_inner().unwrap_or_else(PoisonError::into_inner);
    match refused {
        Some(error) => Err(error),
        None => read.map(|()| pushed),
    }
}

/// Sends batches until there are no more, or one is refused.
fn send_all(
    client: &Client,
    kind: BatchKind,
    spool: &Mutex<&mut Spool>,
    batches: &Mutex<Receiver<u64>>,
    params: &PushParams<'_>,
    outcome: &Mutex<(Pushed, Option<Error>)>,
) {
    loop {
        let next = lock(batches).recv();
        let Ok(batch) = next else { return };
        if lock(outcome).1.is_some() {
            return;
        }
        let sent = send(client, kind, spool, batch, params);
        let mut outcome = lock(outcome);
        match sent {
            Ok((rows, repeated)) => {
                outcome.0.rows += rows;
                outcome.0.batches += 1;
                outcome.0.repeated += u64::from(repeated);
            }
            Err(error) => {
                outcome.1.get_or_insert(error);
                return;
            }
        }
    }
}

/// Sends one batch until it is acknowledged, and forgets it.
fn send(
    client: &Client,
    kind: BatchKind,
    spool: &Mutex<&mut Spool>,
    batch: u64,
    params: &PushParams<'_>,
) -> Result<(u64, bool)> {
    let (key, body) = {
        let spool = lock(spool);
        (spool.key(batch), spool.read(batch)?)
    };
    let (start, mut wait) = (Instant::now(), Duration::from_millis(50));
    loop {
        let settled = lock(spool).settled();
        match client.send(&params.place, &key, Some(settled), kind, &body)? {
            Sent::Counted(answer, repeated) => {
                lock(spool).done(batch)?;
                return Ok((answer.rows.unsigned_abs(), repeated));
            }
            Sent::Later(reason) if start.elapsed() > params.patience => {
                return Err(Error::Refused(format!(
                    "batch {batch} could not be handed over: {reason}; push the same rows again, nothing is lost"
                )));
            }
            Sent::Later(_) => {
                client.wait(wait);
                wait = (2 * wait).min(WAIT_MAX);
            }
        }
    }
}

/// Reads rows in order and hands out batches of equal numbers of rows, the last one shorter, from the row on
/// that follows those in `done`, which are told by their number and digest. False if the first rows are not
/// those.
fn read_all(
    operator: &SketchOperator,
    source: &mut dyn DataSource,
    params: &PushParams<'_>,
    done: (u64, &str),
    options: &DriveOptions<'_>,
    mut put: impl FnMut(&[u8], u64, &str) -> Result<()> + Send,
) -> Result<bool> {
    let kind = kind(operator, params.local.is_some());
    let (as_bits, batch_rows) = (kind != BatchKind::Sketch, params.batch_rows);
    // Of bits a row has a fixed number of bytes; else rows themselves are gathered.
    let width = if as_bits { packed_len(operator.sketch_len()) } else { 8 * operator.dim() };
    let new_worker = || {
        let mut buffer = Scratch::default();
        move |chunk: &RowChunk| {
            let mut value = Vec::new();
            match as_bits {
                true => packed(operator, 2, chunk.rows(), &mut value, &mut buffer)?,
                false => match chunk.rows() {
                    RowsRef::F64(rows) => value.extend(rows.iter().flat_map(|x| x.to_le_bytes())),
                    RowsRef::F32(rows) => value.extend(rows.iter().flat_map(|x| f64::from(*x).to_le_bytes())),
                },
            }
            Ok(Ready { bytes: value.len(), value })
        }
    };
    let mut cutter = Cutter {
        known: Known { left: done.0 as usize * width, digest: done.1, same: true },
        hash: Sha256::new(),
        held: Vec::new(),
        size: batch_rows * width,
    };
    let mut problem = None;
    let mut emit = |body: &[u8], digest: &str| -> Result<()> {
        let rows = (body.len() / width) as u64;
        match params.local {
            Some(local) => put(&local.reports(body, &mut OsEntropy)?, rows, digest),
            None if as_bits => put(body, rows, digest),
            None => put(&sketch(operator, body)?.to_bytes(), rows, digest),
        }
    };
    let mut deliver = |part: Vec<u8>| {
        let cut = cutter.take(part, &mut emit);
        match cut {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(error) => problem = Some(error),
        }
        Err(compressive_io::Error::Interrupted { rows: 0 })
    };
    let passed = pass_in_order(source, options, &new_worker, &mut deliver);
    if let Some(problem) = problem {
        return Err(problem);
    }
    if !cutter.known.same {
        return Ok(false);
    }
    passed?;
    if cutter.known.left > 0 {
        return Ok(false);
    }
    cutter.last(&mut emit)?;
    Ok(true)
}

/// Bytes of rows that are in batches already.
struct Known<'a> {
    left: usize,
    digest: &'a str,
    same: bool,
}

/// Cuts rows into batches.
struct Cutter<'a> {
    known: Known<'a>,
    /// Of all rows that are in batches.
    hash: Sha256,
    held: Vec<u8>,
    /// Bytes of a batch.
    size: usize,
}

impl Cutter<'_> {
    /// Takes the next rows; false if the first ones are not those that are known.
    fn take(&mut self, mut part: Vec<u8>, emit: &mut dyn FnMut(&[u8], &str) -> Result<()>) -> Result<bool> {
        let known = self.known.left.min(part.len());
        if known > 0 {
            self.hash.update(&part[..known]);
            part.drain(..known);
            self.known.left -= known;
            self.known.same = self.known.left > 0 || self.digest() == self.known.digest;
        }
        if !self.known.same {
            return Ok(false);
        }
        self.held.extend(part);
        while self.held.len() >= self.size {
            let rest = self.held.split_off(self.size);
            let batch = std::mem::replace(&mut self.held, rest);
            self.hash.update(&batch);
            emit(&batch, &self.digest())?;
        }
        Ok(true)
    }

    /// The rows that are left.
    fn last(mut self, emit: &mut dyn FnMut(&[u8], &str) -> Result<()>) -> Result<()> {
        if self.held.is_empty() {
            return Ok(());
        }
        self.hash.update(&self.held);
        emit(&self.held, &self.digest())
    }

    fn digest(&self) -> String {
        hex(&self.hash.clone().finalize())
    }
}

fn sketch(operator: &SketchOperator, bytes: &[u8]) -> Result<Sketch> {
    let value = |chunk: &[u8]| chunk.try_into().map_or(f64::NAN, f64::from_le_bytes);
    let rows: Vec<f64> = bytes.chunks_exact(8).map(value).collect();
    let mut sketch = Sketch::empty(operator);
    operator.accumulate(RowsRef::F64(&rows), None, &mut sketch, &mut Scratch::default())?;
    Ok(sketch)
}
