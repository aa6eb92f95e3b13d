//! Clients of the simulated world: processes that come and go, each with the real spool.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use compressive::features::{add_packed, packed};
use compressive::{RowsRef, Scratch, Sketch, SketchOperator};
use compressive_client::{Place, PushParams, Rows, Run, Spool};
use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::disk::{Files, Folder};
use super::{Dice, Message, Plant};
use crate::{Batch, Content, Every, lock};

pub const CLIENTS: usize = 3;
/// Rows of a client.
const ROWS: u64 = 24;

/// The token of a client.
pub fn caller(client: usize) -> String {
    format!("token{client}")
}

pub struct Client {
    pub id: usize,
    files: Arc<Mutex<Files>>,
    processes: Vec<Process>,
    pub lives: u64,
}

/// One life of a client.
struct Process {
    life: u64,
    spool: Spool,
    /// Rows of a batch.
    width: u64,
}

fn run() -> Run {
    let place = Place { stream: "fleet", bucket: None, fingerprint: "f" };
    let patience = Duration::from_secs(1);
    let params = PushParams { batch_rows: 1, connections: 1, patience, place, local: None };
    Run::new("sim", &params, &Rows::Named("rows".into()))
}

impl Client {
    pub fn new(id: usize) -> Client {
        // The identity of a run is random; here it belongs to the seed.
        let state = serde_json::json!({
            "to": "sim", "stream": "fleet", "way": "f now", "local": null, "rows_of": { "named": "rows" },
            "id": format!("{id:024x}"), "batches": 0, "rows": 0, "digest": "", "complete": false,
        });
        let files = Arc::new(Mutex::new(Files::new(&state.to_string())));
        Client { id, files, processes: Vec::new(), lives: 0 }
    }

    fn rows(&self, from: u64, to: u64) -> Vec<f64> {
        let value = |i: u64| ((self.id as u64 * 1000 + i) as f64 * 0.7).sin() * 4.0;
        (2 * from..2 * to).map(value).collect()
    }

    pub fn all_rows(&self) -> Vec<f64> {
        self.rows(0, ROWS)
    }

    pub fn is_finished(&self) -> bool {
        self.processes.iter().any(|p| p.spool.rows() == ROWS && p.spool.is_finished().unwrap_or(false))
    }

    /// All processes die, and now and then their machine.
    pub fn die(&mut self, dice: &mut Dice, plant: Plant) {
        self.processes.clear();
        if dice.one_in(2) {
            lock(&self.files).crash(dice, plant);
        }
    }

    fn start(&mut self, dice: &mut Dice, plant: Plant, calm: bool) -> Result<(), String> {
        let left = if calm { i64::MAX } else { 2 + dice.below(60) as i64 };
        let Some(folder) = Folder::open(&self.files, left, plant) else { return Ok(()) };
        self.lives += 1;
        match Spool::on(Box::new(folder), Path::new("spool"), &run()) {
            Ok(spool) => {
                let process = Process { life: self.lives, spool, width: 1 + dice.below(4) };
                self.processes.push(process);
                Ok(())
            }
            Err(error) if calm => Err(format!("the spool is not opened again: {error}")),
            Err(_) => Ok(()),
        }
    }

    /// Does something: starts, puts rows into a batch, or sends one.
    pub fn act(
        &mut self,
        dice: &mut Dice,
        operator: &SketchOperator,
        now: Timestamp,
        plant: Plant,
        calm: bool,
    ) -> Result<Option<Message>, String> {
        if self.processes.is_empty() || (!calm && self.processes.len() < 2 && dice.one_in(10)) {
            self.start(dice, plant, calm)?;
            return Ok(None);
        }
        let at = dice.below(self.processes.len() as u64) as usize;
        let outcome = match dice.one_in(3) {
            true => self.put(at, operator).map(|()| None),
            false => self.send(at, dice, operator, now),
        };
        match outcome {
            Err(error) if calm => Err(format!("a client fails: {error}")),
            Err(_) => {
                self.processes.remove(at);
                Ok(None)
            }
            Ok(message) => Ok(message),
        }
    }

    fn put(&mut self, at: usize, operator: &SketchOperator) -> compressive_client::Result<()> {
        let (from, width) = (self.processes[at].spool.rows(), self.processes[at].width);
        let to = ROWS.min(from + width);
        let rows = self.rows(from, to);
        let spool = &mut self.processes[at].spool;
        if from >= ROWS {
            return if spool.is_complete() { Ok(()) } else { spool.complete() };
        }
        let mut bits = Vec::new();
        packed(operator, 2, RowsRef::F64(&rows), &mut bits, &mut Scratch::default())?;
        spool.put(&bits, to - from, "")?;
        Ok(())
    }

    fn send(
        &mut self,
        at: usize,
        dice: &mut Dice,
        operator: &SketchOperator,
        now: Timestamp,
    ) -> compressive_client::Result<Option<Message>> {
        let Process { life, spool, .. } = &self.processes[at];
        let waiting = spool.waiting();
        // A few connections, each with the next batch.
        let Some(&number) = waiting.get(dice.below(3) as usize) else { return Ok(None) };
        let bits = spool.read(number)?;
        let mut sketch = Sketch::empty(operator);
        add_packed(operator, &bits, &mut sketch)?;
        // Whether the sender names the bucket belongs to the batch.
        let named = number % 3 == 0;
        let bucket = match named {
            true => Every::Hour.parse(&format!("2026-11-16T{:02}", number % 24)).unwrap(),
            false => Every::Hour.of(now),
        };
        let batch = Batch {
            stream: "fleet".into(),
            bucket,
            named,
            key: spool.key(number),
            caller: caller(self.id),
            settled: Some(spool.settled()),
            digest: Sha256::digest(&bits).into(),
            content: Content::Plain(sketch),
        };
        Ok(Some(Message::Batch { client: self.id, life: *life, number, batch: Box::new(batch) }))
    }

    /// An answer reaches the process that asked, if it still lives.
    pub fn take_answer(
        &mut self,
        life: u64,
        number: u64,
        outcome: Result<(), String>,
        calm: bool,
    ) -> Result<(), String> {
        let Some(at) = self.processes.iter().position(|p| p.life == life) else { return Ok(()) };
        let spool = &mut self.processes[at].spool;
        if !spool.waiting().contains(&number) {
            return Ok(());
        }
        outcome.map_err(|problem| format!("a batch is refused: {problem}"))?;
        match spool.done(number) {
            Err(error) if calm => return Err(format!("a client fails: {error}")),
            Err(_) => drop(self.processes.remove(at)),
            Ok(()) => {}
        }
        Ok(())
    }
}
