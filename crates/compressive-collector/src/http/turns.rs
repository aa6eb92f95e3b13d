//! Turns: questions of one caller never hold up those of another, nor the batches.
//!
//! 1. A caller, told by its token, has at most half of the places at once and a short queue; whoever asks for
//!    more is told to come again (429). Places are given in the order of asking, so that another caller waits
//!    for one question at most, not for a queue of them.
//! 2. A question has a time, waiting apart, and bytes it may read ([`Reach`]). It ends early when its sender
//!    has hung up.
//! 3. Questions run on threads of their own of lower priority, where the system has such, so that batches and
//!    short requests come first.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::http::Refusal;
use crate::lock;
use crate::reach::Reach;

/// Questions of a caller that may wait beside those that are worked out.
const WAITING: usize = 16;

/// Places where questions are worked out.
pub(crate) struct Turns {
    places: Arc<Semaphore>,
    /// Places of one caller.
    each: usize,
    callers: Arc<Mutex<HashMap<String, Caller>>>,
    /// How much lower than a request its priority is, from 0 to 19.
    nice: i32,
}

struct Caller {
    places: Arc<Semaphore>,
    /// Questions under way or waiting.
    questions: usize,
}

/// A question's place in the queue of its caller, given back when dropped.
struct Queued {
    callers: Arc<Mutex<HashMap<String, Caller>>>,
    caller: String,
}

impl Drop for Queued {
    fn drop(&mut self) {
        let mut callers = lock(&self.callers);
        let Some(caller) = callers.get_mut(&self.caller) else { return };
        caller.questions -= 1;
        if caller.questions == 0 {
            callers.remove(&self.caller);
        }
    }
}

/// A turn, as long as it is kept.
struct Turn(#[expect(dead_code, reason = "held until the question is answered")] Held);

type Held = (OwnedSemaphorePermit, OwnedSemaphorePermit, Queued);

/// Tells a question, when dropped, that nobody waits for it.
struct Leaving(Arc<AtomicBool>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Turns {
    /// So many places, at least two, for questions of a priority that is lower by `nice`.
    pub fn new(places: usize, nice: i32) -> Turns {
        let places = places.max(2);
        Turns { places: Arc::new(Semaphore::new(places)), each: places / 2, callers: Arc::default(), nice }
    }

    /// Works out an answer when it is the caller's turn, within a time for waiting, the same time for working
    /// and so many bytes.
    pub async fn answer<T: Send + 'static>(
        &self,
        caller: &str,
        (time, bytes): (Duration, u64),
        work: impl FnOnce(&mut Reach) -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let turn = tokio::time::timeout(time, self.turn(caller)).await.map_err(|_| busy())??;
        let gone = Arc::new(AtomicBool::new(false));
        let leaving = Leaving(Arc::clone(&gone));
        let mut reach = Reach::new(Instant::now(), time, bytes, gone);
        let failed = |_| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "the computation failed");
        let (sender, receiver) = oneshot::channel();
        let nice = self.nice;
        let thread = std::thread::Builder::new().name("question".into()).spawn(move || {
            yield_to_others(nice);
            let answer = work(&mut reach);
            // Before the answer, so that one who has it can ask again at once.
            drop(turn);
            drop(sender.send(answer));
        });
        thread.map_err(|_| busy())?;
        let answer = receiver.await.map_err(failed);
        drop(leaving);
        answer
    }

    async fn turn(&self, caller: &str) -> Result<Turn, Refusal> {
        let (own, queued) = {
            let mut callers = lock(&self.callers);
            let begun = || Caller { places: Arc::new(Semaphore::new(self.each)), questions: 0 };
            let known = callers.entry(caller.to_owned()).or_insert_with(begun);
            if known.questions >= self.each + WAITING {
                return Err(busy());
            }
            known.questions += 1;
            let queued = Queued { callers: Arc::clone(&self.callers), caller: caller.to_owned() };
            (Arc::clone(&known.places), queued)
        };
        let own = own.acquire_owned().await.map_err(|_| busy())?;
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(|_| busy())?;
        Ok(Turn((place, own, queued)))
    }
}

fn busy() -> Refusal {
    let problem = "too many questions of this token wait to be answered; ask again in a moment";
    Refusal::new(StatusCode::TOO_MANY_REQUESTS, problem)
}

/// Lowers the priority of this thread and of those that it starts.
#[cfg(target_os = "linux")]
fn yield_to_others(nice: i32) {
    // Where it is not allowed the thread goes on as it is.
    let _ = rustix::process::nice(nice);
}

#[cfg(not(target_os = "linux"))]
fn yield_to_others(_: i32) {}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: (Duration, u64) = (Duration::from_secs(20), u64::MAX);

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
    }

    /// Works until told to stop.
    fn until_gone(reach: &mut Reach) -> bool {
        while reach.check().is_ok() {
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }

    #[test]
    fn a_caller_with_a_full_queue_is_sent_away_and_another_is_answered_at_once() {
        runtime().block_on(async {
            let turns = Arc::new(Turns::new(2, 0));
            let ask = |caller: &'static str| {
                let turns = Arc::clone(&turns);
                tokio::spawn(async move { turns.answer(caller, TIME, until_gone).await.map(|_| ()) })
            };
            let greedy: Vec<_> = (0..1 + WAITING).map(|_| ask("greedy")).collect();
            while lock(&turns.callers).get("greedy").is_none_or(|c| c.questions < 1 + WAITING) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            let refused = ask("greedy").await.unwrap().unwrap_err();
            assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
            for _ in 0..5 {
                assert_eq!(turns.answer("other", TIME, |_| 7).await.unwrap(), 7);
            }
            // Those that hang up leave no question behind.
            greedy.iter().for_each(tokio::task::JoinHandle::abort);
            let start = Instant::now();
            while !lock(&turns.callers).is_empty() {
                assert!(start.elapsed() < Duration::from_secs(10), "questions of nobody go on");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            assert_eq!(turns.answer("greedy", TIME, |_| 8).await.unwrap(), 8);
        });
    }

    #[test]
    fn a_question_ends_when_its_time_is_up_and_so_does_waiting_for_a_turn() {
        runtime().block_on(async {
            let (turns, time) = (Turns::new(2, 0), (Duration::from_millis(100), u64::MAX));
            let (first, second) = tokio::join!(
                turns.answer("a", time, until_gone),
                turns.answer("a", (Duration::from_millis(30), u64::MAX), until_gone)
            );
            assert!(first.unwrap());
            assert_eq!(second.err().unwrap().status, StatusCode::TOO_MANY_REQUESTS);
        });
    }

    #[test]
    fn work_that_panics_gives_its_place_back() {
        runtime().block_on(async {
            let turns = Turns::new(2, 0);
            for _ in 0..3 {
                let failed: Result<(), _> = turns.answer("a", TIME, |_| panic!("on purpose")).await;
                assert_eq!(failed.unwrap_err().status, StatusCode::INTERNAL_SERVER_ERROR);
            }
            assert_eq!(turns.answer("a", TIME, |_| 1).await.unwrap(), 1);
        });
    }
}
