//! From rows to acknowledged batches: read in order, packed, spooled, sent until the collector has them.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use compressive::features::{Buffer, packed, packed_len};
use compressive::privacy::LocalResponse;
use compressive::{RowsRef, Scratch, Sketch, SketchOperator, Wave};
use compressive_io::{DataSource, DriveOptions, OsEntropy, Ready, RowChunk, pass_in_order};

use crate::batch::BatchKind;
use crate::client::{Client, Place, Sent};
use crate::error::{Error, Result};
use crate::spool::Spool;

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
///
/// # Errors
/// A bad row, a refusal by the collector, or a batch that could not be handed over in time; the spool then
/// keeps what is left.
pub fn push(
    client: &Client,
    operator: &SketchOperator,
    rows: Option<&mut dyn DataSource>,
    spool: &mut Spool,
    params: &PushParams<'_>,
    options: &DriveOptions<'_>,
) -> Result<Pushed> {
    let (sender, receiver) = channel();
    for batch in spool.waiting()? {
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
        let put = |body: &[u8], rows: u64| -> Result<()> {
            let batch = lock(&spool).put(body, rows)?;
            let _ = sender.send(batch);
            match &lock(&outcome).1 {
                Some(_) => Err(Error::Refused("sending has stopped".into())),
                None => Ok(()),
            }
        };
        let read = match rows {
            Some(rows) if !lock(&spool).is_complete() => {
                let done = lock(&spool).rows();
                read_all(operator, rows, params, done, options, put).and_then(|()| lock(&spool).complete())
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
        match client.send(&params.place, &key, kind, &body)? {
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

/// Reads rows in order from row `skip` on and hands out batches of equal numbers of rows, the last one
/// shorter.
fn read_all(
    operator: &SketchOperator,
    source: &mut dyn DataSource,
    params: &PushParams<'_>,
    skip: u64,
    options: &DriveOptions<'_>,
    mut put: impl FnMut(&[u8], u64) -> Result<()> + Send,
) -> Result<()> {
    let kind = kind(operator, params.local.is_some());
    let (as_bits, batch_rows) = (kind != BatchKind::Sketch, params.batch_rows);
    // Of bits a row has a fixed number of bytes; else rows themselves are gathered.
    let width = if as_bits { packed_len(operator.sketch_len()) } else { 8 * operator.dim() };
    let new_worker = || {
        let mut buffer = Buffer::default();
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
    let (mut held, mut to_skip, mut problem) = (Vec::new(), skip as usize * width, None);
    let mut emit = |body: &[u8]| -> Result<()> {
        let rows = (body.len() / width) as u64;
        match params.local {
            Some(local) => put(&local.reports(body, &mut OsEntropy)?, rows),
            None if as_bits => put(body, rows),
            None => put(&sketch(operator, body)?.to_bytes(), rows),
        }
    };
    let mut deliver = |mut part: Vec<u8>| {
        let skipped = to_skip.min(part.len());
        to_skip -= skipped;
        held.extend(part.drain(skipped..));
        while held.len() >= batch_rows * width {
            let rest = held.split_off(batch_rows * width);
            let batch = std::mem::replace(&mut held, rest);
            if let Err(error) = emit(&batch) {
                problem = Some(error);
                return Err(compressive_io::Error::Interrupted { rows: 0 });
            }
        }
        Ok(())
    };
    let passed = pass_in_order(source, options, &new_worker, &mut deliver);
    if let Some(problem) = problem {
        return Err(problem);
    }
    passed?;
    if held.is_empty() { Ok(()) } else { emit(&held) }
}

fn sketch(operator: &SketchOperator, bytes: &[u8]) -> Result<Sketch> {
    let value = |chunk: &[u8]| chunk.try_into().map_or(f64::NAN, f64::from_le_bytes);
    let rows: Vec<f64> = bytes.chunks_exact(8).map(value).collect();
    let mut sketch = Sketch::empty(operator);
    operator.accumulate(RowsRef::F64(&rows), None, &mut sketch, &mut Scratch::default())?;
    Ok(sketch)
}
