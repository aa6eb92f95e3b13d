//! A simulated world of one collector and its clients: deterministic, one seed a world.
//!
//! In it messages are lost, doubled and overtaken, disks fail anywhere and lose what was not flushed, clocks
//! jump, and processes die on either side. The store, the settling of senders and the clients' spool are the
//! real ones; network, disks and clock are not. At the end everything is mended, the clients finish, and the
//! store must hold, byte for byte, the sketch of all rows, and each caller's share its own.
//!
//! `WORLDS=10000 cargo nextest run -p compressive-collector world` looks at more of them; `WORLD=17` at one.

mod clients;
mod disk;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::result::Result;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use jiff::SignedDuration;

use super::{
    Database, Error, Every, RowsRef, Scratch, Sketch, SketchOperator, Store, Timestamp, lock, operator,
    stream, whole,
};
use crate::Batch;
use clients::{CLIENTS, Client};
use compressive_client::Answer;
use disk::{Disk, Platter};

/// A mistake that is made on purpose, to see that it is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plant {
    Nothing,
    /// The disk is never flushed.
    NoFsync,
    /// Batches are acknowledged before they are on the disk.
    EarlyAnswer,
    /// Two processes send the rows of one run.
    LostLock,
    /// A client's state is put back to an earlier one when it dies.
    ReusedSequence,
    /// The disk keeps half a page and says that it has it.
    TornPage,
}

/// Random numbers (splitmix64): the same for a seed on every machine.
pub struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// What is on the network.
#[derive(Clone)]
pub enum Message {
    /// A batch of a client's process.
    Batch { client: usize, life: u64, number: u64, batch: Box<Batch> },
    /// Its answer; an error is one that sending again does not mend.
    Answer { client: usize, life: u64, number: u64, outcome: Result<(), String> },
}

/// The server while it lives.
struct Server {
    store: Store,
    dead: Arc<AtomicBool>,
    /// Batches that wait to be written, with where their answers go.
    queue: Vec<(Batch, (usize, u64, u64))>,
}

struct World<'a> {
    operator: &'a SketchOperator,
    dice: Dice,
    plant: Plant,
    platter: Arc<Mutex<Platter>>,
    server: Option<Server>,
    clients: Vec<Client>,
    network: Vec<Message>,
    now: Timestamp,
    calm: bool,
    seen: Seen,
}

/// How rough a world was.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// Lives of the server and of clients.
    servers: u64,
    clients: u64,
    /// Batches that were counted, in how many transactions, and transactions that failed.
    counted: u64,
    commits: u64,
    failed: u64,
    /// Batches that came again, and late ones that had been settled.
    repeated: u64,
    settled: u64,
}

impl Seen {
    fn add(&mut self, more: &Seen) {
        self.servers += more.servers;
        self.clients += more.clients;
        self.counted += more.counted;
        self.commits += more.commits;
        self.failed += more.failed;
        self.repeated += more.repeated;
        self.settled += more.settled;
    }
}

type Violation = String;

impl<'a> World<'a> {
    fn new(operator: &'a SketchOperator, seed: u64, plant: Plant) -> World<'a> {
        let mut world = World {
            operator,
            dice: Dice(seed),
            plant,
            platter: Arc::default(),
            server: None,
            clients: (0..CLIENTS).map(Client::new).collect(),
            network: Vec::new(),
            now: "2026-11-16T12:00:00Z".parse().unwrap(),
            calm: true,
            seen: Seen::default(),
        };
        let server = world.begin(true).unwrap().unwrap();
        server.store.make_stream("fleet", &stream(operator)).unwrap();
        world.server = Some(server);
        lock(&world.platter).flush();
        world.calm = false;
        world
    }

    /// Starts a server; none if its disk fails meanwhile.
    fn begin(&mut self, fresh: bool) -> Result<Option<Server>, Violation> {
        let left = if self.calm { i64::MAX } else { 5 + self.dice.below(400) as i64 };
        let dead = Arc::new(AtomicBool::new(false));
        let disk = Disk {
            platter: Arc::clone(&self.platter),
            left: Arc::new(AtomicI64::new(left)),
            dead: Arc::clone(&dead),
            plant: if self.calm { Plant::Nothing } else { self.plant },
        };
        let opened = catch_unwind(AssertUnwindSafe(|| {
            let mut database = Database::builder().create_with_backend(disk).map_err(|e| e.to_string())?;
            if !fresh && !database.check_integrity().map_err(|e| e.to_string())? {
                return Err("its checksums do not agree".to_owned());
            }
            Store::checked(database, "/nowhere/collector.redb".into(), fresh).map_err(|e| e.to_string())
        }));
        let opened = opened.unwrap_or_else(|_| Err("it panicked".into()));
        match opened {
            Ok(store) => {
                self.seen.servers += 1;
                Ok(Some(Server { store, dead, queue: Vec::new() }))
            }
            Err(_) if dead.load(Ordering::Relaxed) => Ok(None),
            Err(problem) => Err(format!("the store is not opened again: {problem}")),
        }
    }

    /// The server's process dies, and now and then its machine with it.
    fn kill_server(&mut self) {
        let Some(server) = self.server.take() else { return };
        server.dead.store(true, Ordering::Relaxed);
        drop(server);
        let mut platter = lock(&self.platter);
        if self.dice.one_in(3) { platter.flush() } else { platter.crash(&mut self.dice) }
    }

    fn start_server(&mut self) -> Result<(), Violation> {
        if self.server.is_none() {
            self.server = self.begin(false)?;
            if self.server.is_none() {
                lock(&self.platter).crash(&mut self.dice);
            }
        }
        Ok(())
    }

    /// A batch reaches the server, as the handler of requests takes it.
    fn receive(&mut self, to: (usize, u64, u64), mut batch: Batch) {
        let Some(server) = &mut self.server else { return };
        if !batch.named {
            batch.bucket = Every::Hour.of(self.now);
        }
        let bucket = batch.named.then_some(&batch.bucket);
        match server.store.answered(&batch.stream, &batch.key, &batch.digest, bucket) {
            Ok(Some(answer)) => self.answer(to, Ok((answer, true))),
            Ok(None) => server.queue.push((batch, to)),
            Err(error) => self.answer(to, Err(error)),
        }
    }

    fn answer(&mut self, (client, life, number): (usize, u64, u64), outcome: crate::Result<(Answer, bool)>) {
        match &outcome {
            Ok((_, true)) => self.seen.repeated += 1,
            Ok((_, false)) => self.seen.counted += 1,
            Err(Error::Settled(_)) => self.seen.settled += 1,
            Err(_) => {}
        }
        let outcome = match outcome {
            Ok(_) => Ok(()),
            // These may pass; the client sends again.
            Err(Error::Store(_) | Error::Ahead { .. }) => return,
            Err(error) => Err(error.to_string()),
        };
        self.network.push(Message::Answer { client, life, number, outcome });
    }

    /// The writer takes all that waits.
    fn write(&mut self) {
        let Some(server) = &mut self.server else { return };
        let (batches, to): (Vec<Batch>, Vec<_>) = std::mem::take(&mut server.queue).into_iter().unzip();
        if batches.is_empty() {
            return;
        }
        let early = self.plant == Plant::EarlyAnswer && !self.calm;
        let store = &server.store;
        let outcome = catch_unwind(AssertUnwindSafe(|| store.commit(&batches, self.now)));
        let outcome = outcome.unwrap_or_else(|_| Err(Error::Store("it panicked".into())));
        self.seen.commits += u64::from(outcome.is_ok());
        self.seen.failed += u64::from(outcome.is_err());
        match outcome {
            Ok(answers) => to.into_iter().zip(answers).for_each(|(to, answer)| self.answer(to, answer)),
            Err(_) if early => {
                for (client, life, number) in to {
                    self.network.push(Message::Answer { client, life, number, outcome: Ok(()) });
                }
            }
            Err(_) => {}
        }
    }

    fn deliver(&mut self) -> Result<(), Violation> {
        if self.network.is_empty() {
            return Ok(());
        }
        let at = self.dice.below(self.network.len() as u64) as usize;
        let doubled = !self.calm && self.network.len() < 200 && self.dice.one_in(6);
        let message = if doubled { self.network[at].clone() } else { self.network.swap_remove(at) };
        if !self.calm && self.dice.one_in(8) {
            return Ok(());
        }
        match message {
            Message::Batch { client, life, number, batch } => self.receive((client, life, number), *batch),
            Message::Answer { client, life, number, outcome } => {
                self.clients[client].take_answer(life, number, outcome, self.calm)?;
            }
        }
        Ok(())
    }

    fn step(&mut self) -> Result<(), Violation> {
        if self.server.as_ref().is_some_and(|server| server.dead.load(Ordering::Relaxed)) {
            self.kill_server();
        }
        match self.dice.below(100) {
            ..40 => self.deliver()?,
            40..72 => {
                let client = self.dice.below(CLIENTS as u64) as usize;
                let (calm, plant) = (self.calm, self.plant);
                let message =
                    self.clients[client].act(&mut self.dice, self.operator, self.now, plant, calm)?;
                self.network.extend(message);
            }
            72..86 => self.write(),
            86..92 => self.start_server()?,
            92..94 if !self.calm => self.kill_server(),
            94..96 if !self.calm => {
                let hours = self.dice.below(200) as i64 - 100;
                self.now = self.now.checked_add(SignedDuration::from_hours(hours)).unwrap();
            }
            96.. if !self.calm => {
                let client = self.dice.below(CLIENTS as u64) as usize;
                self.clients[client].die(&mut self.dice, self.plant);
            }
            _ => {}
        }
        Ok(())
    }

    /// A world from its beginning to its end.
    fn run(mut self) -> Result<Seen, Violation> {
        for _ in 0..500 {
            self.step()?;
        }
        // Everything is mended: disks work, clocks agree, nothing is lost any more.
        self.kill_server();
        self.calm = true;
        self.now = "2027-06-01T00:00:00Z".parse().unwrap();
        for client in &mut self.clients {
            client.die(&mut self.dice, self.plant);
        }
        let mut steps = 0;
        while !self.clients.iter().all(Client::is_finished) {
            self.step()?;
            steps += 1;
            if steps > 50_000 {
                return Err("the clients never finish".into());
            }
        }
        self.check()?;
        self.seen.clients = self.clients.iter().map(|client| client.lives).sum();
        Ok(self.seen)
    }

    fn check(&mut self) -> Result<(), Violation> {
        self.start_server()?;
        let Some(server) = &self.server else { return Err("no server".into()) };
        let differs = |what: &str| Err(format!("{what} differs from the rows"));
        let problem = |e: Error| e.to_string();
        let expected = |leave: Option<usize>| {
            let all: Vec<f64> =
                self.clients.iter().filter(|c| Some(c.id) != leave).flat_map(Client::all_rows).collect();
            let mut sketch = Sketch::empty(self.operator);
            self.operator.accumulate(RowsRef::F64(&all), None, &mut sketch, &mut Scratch::default()).unwrap();
            sketch.to_bytes()
        };
        if server.store.sum(&whole()).map_err(problem)?.to_bytes() != expected(None) {
            return differs("the sum");
        }
        let counted: u64 = server.store.counts("fleet").map_err(problem)?.iter().map(|c| c.rows).sum();
        if counted != self.clients.iter().map(|c| c.all_rows().len() as u64 / 2).sum::<u64>() {
            return differs("the index");
        }
        server.store.take_out(&whole(), &clients::caller(1)).map_err(problem)?;
        if server.store.sum(&whole()).map_err(problem)?.to_bytes() != expected(Some(1)) {
            return differs("the sum without a caller");
        }
        Ok(())
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// How rough the worlds of some seeds are, or the first in which something is wrong.
fn search(seeds: std::ops::Range<u64>, plant: Plant) -> Result<Seen, (u64, Violation)> {
    let operator = operator();
    let mut all = Seen::default();
    for seed in seeds {
        all.add(&World::new(&operator, seed, plant).run().map_err(|violation| (seed, violation))?);
    }
    Ok(all)
}

#[test]
fn no_world_loses_or_doubles_a_row() {
    let seeds = number("WORLD").map_or(0..number("WORLDS").unwrap_or(200), |seed| seed..seed + 1);
    match search(seeds, Plant::Nothing) {
        Err((seed, violation)) => panic!("world {seed}: {violation}; WORLD={seed} repeats it"),
        Ok(seen) => {
            println!("{seen:?}");
            let Seen { servers, clients, counted, failed, repeated, settled, .. } = seen;
            let least = [servers, clients, counted, failed, repeated].into_iter().min();
            let rough = least > Some(50) && settled > 3;
            assert!(number("WORLD").is_some() || rough, "the worlds are too quiet: {seen:?}");
        }
    }
}

#[test]
fn a_seed_is_one_world() {
    let (seed, first) = search(0..100, Plant::EarlyAnswer).unwrap_err();
    let again = World::new(&operator(), seed, Plant::EarlyAnswer).run().unwrap_err();
    assert_eq!(first, again);
    let calls = || format!("{:?}", search(3..9, Plant::Nothing));
    assert_eq!(calls(), calls());
}

/// Each mistake is found within a thousand worlds.
#[test]
fn every_planted_mistake_is_found() {
    use Plant::{EarlyAnswer, LostLock, NoFsync, ReusedSequence, TornPage};
    for plant in [NoFsync, EarlyAnswer, LostLock, ReusedSequence, TornPage] {
        match search(0..1000, plant) {
            Ok(seen) => panic!("{plant:?} is not found: {seen:?}"),
            Err((seed, violation)) => println!("{plant:?}: world {seed}: {violation}"),
        }
    }
}
