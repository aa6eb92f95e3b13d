//! The one thread that writes: it takes all batches that wait, counts them in one transaction, and answers
//! each after the disk has it.
//!
//! While the disk works, the next batches gather, so that a slow disk makes groups larger instead of the
//! queue longer. The queue is bounded: beyond it a sender is asked to try again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use jiff::Timestamp;

use crate::error::{Error, Result};
use crate::store::{Batch, Store};
use compressive_client::Answer;

/// Batches that may wait.
const QUEUE: usize = 256;
/// Batches counted in one transaction at most, so that none waits long.
const GROUP: usize = 128;

/// Receives the answer to a batch.
pub type Reply = Box<dyn FnOnce(Result<(Answer, bool)>) + Send>;

struct Waiting {
    batch: Batch,
    reply: Reply,
}

/// Hands batches to the writing thread; all handles dropped, the thread ends after its last batch.
#[derive(Clone)]
pub struct Writer {
    sender: SyncSender<Waiting>,
}

impl Writer {
    /// Starts the thread.
    pub fn start(store: Arc<Store>) -> std::io::Result<(Writer, JoinHandle<()>)> {
        let (sender, receiver) = sync_channel(QUEUE);
        let thread =
            std::thread::Builder::new().name("writer".into()).spawn(move || run(&store, &receiver))?;
        Ok((Writer { sender }, thread))
    }

    /// Queues a batch; refused with [`Error::Busy`] if too many wait.
    pub fn submit(&self, batch: Batch, reply: Reply) -> Result<()> {
        match self.sender.try_send(Waiting { batch, reply }) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(_)) => Err(Error::Busy),
            Err(TrySendError::Disconnected(_)) => Err(Error::Store("the writer has stopped".into())),
        }
    }
}

fn run(store: &Store, receiver: &Receiver<Waiting>) {
    while let Ok(first) = receiver.recv() {
        let mut batches = vec![first.batch];
        let mut replies = vec![first.reply];
        while batches.len() < GROUP {
            let Ok(next) = receiver.try_recv() else { break };
            batches.push(next.batch);
            replies.push(next.reply);
        }
        // A store that panics has counted nothing: its transaction was never committed.
        let outcome = catch_unwind(AssertUnwindSafe(|| store.commit(&batches, Timestamp::now())));
        match outcome.unwrap_or_else(|_| Err(Error::Store("it panicked".into()))) {
            Ok(answers) => replies.into_iter().zip(answers).for_each(|(reply, answer)| reply(answer)),
            Err(error) => {
                let problem = match error {
                    Error::Store(problem) => problem,
                    error => error.to_string(),
                };
                replies.into_iter().for_each(|reply| reply(Err(Error::Store(problem.clone()))));
            }
        }
    }
}
