//! The threaded pass whose results come out in the order of the rows: for predictions, and for sums that do
//! not depend on the threads.
//!
//! Workers take parts of the source as in the sketching pass. The worker of the earliest unfinished part
//! delivers its results at once; the others keep theirs until it is their turn, and pause when they hold
//! [`HELD_BYTES_MAX`]. So memory is bounded, and the earliest part never waits.

use std::sync::{Condvar, Mutex, PoisonError};

use crate::chunk::{DataSource, RowChunk, RowReader};
use crate::driver::DriveOptions;
use crate::error::Result;
use crate::feed::{Feed, lock, thread_count};

/// Bytes of results that a worker holds back.
const HELD_BYTES_MAX: usize = 16 << 20;

/// What a worker made of one chunk.
#[derive(Debug)]
pub struct Ready<T> {
    /// The result.
    pub value: T,
    /// Memory that it takes, about.
    pub bytes: usize,
}

/// Calls a worker of `new_worker` for every chunk, each worker on a thread of its own, and `deliver` with the
/// results in the order of the rows.
///
/// Chunks do not depend on the number of threads, so neither does what is delivered. `max_groups` of the
/// options is not used.
///
/// # Errors
/// The earliest bad row, unreadable part or failure of a worker or of `deliver`;
/// [`Error::Interrupted`](crate::Error::Interrupted).
pub fn pass_in_order<T: Send, W: FnMut(&RowChunk) -> Result<Ready<T>>>(
    source: &mut dyn DataSource,
    options: &DriveOptions<'_>,
    new_worker: &(dyn Fn() -> W + Sync),
    deliver: &mut (dyn FnMut(T) -> Result<()> + Send),
) -> Result<()> {
    let feed = Feed::new(source, options.cancel, options.progress);
    let turns = Turns { state: Mutex::new(State { next: 0, ended: None }), changed: Condvar::new() };
    let sink = Mutex::new(deliver);
    let run = || {
        let (mut worker, mut chunk) = (new_worker(), RowChunk::default());
        while let Some((number, mut part)) = feed.take_part() {
            let turn = Turn { turns: &turns, number };
            let held = Held { turn: &turn, sink: &sink, results: Vec::new(), bytes: 0 };
            match run_part(&feed, held, &mut worker, &mut *part, &mut chunk) {
                Ok(true) => turn.finish(),
                Ok(false) => return,
                Err(error) => return feed.fail(number, error),
            }
        }
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (0..thread_count(options.threads)).map(|_| scope.spawn(run)).collect();
        for other in others {
            other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
    feed.outcome()
}

/// Works through a part; `false` if the pass ended before it.
fn run_part<T, W: FnMut(&RowChunk) -> Result<Ready<T>>>(
    feed: &Feed<'_>,
    mut held: Held<'_, '_, T>,
    worker: &mut W,
    part: &mut dyn RowReader,
    chunk: &mut RowChunk,
) -> Result<bool> {
    let mut unreported = 0;
    while part.next_rows(chunk)? {
        if feed.cancelled() {
            return Ok(false);
        }
        let ready = worker(chunk)?;
        held.bytes += ready.bytes;
        held.results.push(ready.value);
        if (held.turn.has_come() || held.bytes > HELD_BYTES_MAX) && !held.deliver()? {
            return Ok(false);
        }
        feed.count(&mut unreported, (chunk.n_rows() + chunk.n_skipped()) as u64);
    }
    feed.report(&mut unreported);
    held.deliver()
}

/// Where results go; used by the worker whose turn it is.
type Sink<'s, T> = Mutex<&'s mut (dyn FnMut(T) -> Result<()> + Send)>;

/// Results of one part that were not delivered yet.
struct Held<'a, 's, T> {
    turn: &'a Turn<'a>,
    sink: &'a Sink<'s, T>,
    results: Vec<T>,
    bytes: usize,
}

impl<T> Held<'_, '_, T> {
    /// Waits for the part's turn and delivers; `false` if the pass ended before.
    fn deliver(&mut self) -> Result<bool> {
        if !self.turn.wait() {
            return Ok(false);
        }
        let mut sink = lock(self.sink);
        self.bytes = 0;
        for result in self.results.drain(..) {
            sink(result)?;
        }
        Ok(true)
    }
}

/// Whose turn it is.
struct Turns {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// The earliest part that is not finished.
    next: u64,
    /// The earliest part that will never be finished.
    ended: Option<u64>,
}

/// The turn of one part; dropped before it was finished, it ends the pass for all later parts, also when a
/// worker panics.
struct Turn<'a> {
    turns: &'a Turns,
    number: u64,
}

impl Turn<'_> {
    fn has_come(&self) -> bool {
        lock(&self.turns.state).next == self.number
    }

    /// Waits until all earlier parts are finished; `false` if one of them never will be.
    fn wait(&self) -> bool {
        let mut state = lock(&self.turns.state);
        while state.next != self.number {
            if state.ended.is_some_and(|ended| ended < self.number) {
                return false;
            }
            state = self.turns.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        true
    }

    fn finish(self) {
        lock(&self.turns.state).next = self.number + 1;
        self.turns.changed.notify_all();
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.turns.state);
        if state.next <= self.number {
            state.ended = Some(state.ended.map_or(self.number, |ended| ended.min(self.number)));
            self.turns.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::error::Error;

    /// Parts of one to nine rows, which count up; the row `bad` is refused.
    struct Counting {
        columns: Vec<String>,
        next: u64,
        end: u64,
        bad: u64,
    }

    struct Few {
        first: u64,
        rows: u64,
        bad: u64,
    }

    impl DataSource for Counting {
        fn columns(&self) -> &[String] {
            &self.columns
        }

        fn next_part(&mut self) -> Result<Option<Box<dyn RowReader + Send>>> {
            let (first, rows) = (self.next, 1 + self.next % 9);
            self.next += rows;
            Ok((first < self.end).then(|| Box::new(Few { first, rows, bad: self.bad }) as _))
        }
    }

    impl RowReader for Few {
        fn next_rows(&mut self, out: &mut RowChunk) -> Result<bool> {
            if self.rows == 0 {
                return Ok(false);
            }
            if self.first >= self.bad {
                let text = self.first.to_string();
                return Err(Error::BadValue {
                    path: "t".into(),
                    row: self.first,
                    line: None,
                    column: "x".into(),
                    text,
                }
                .advised());
            }
            out.reset(&Arc::from("t"), self.first + 1, 1);
            out.push_row(&[self.first as f64], None, None);
            self.first += 1;
            self.rows -= 1;
            Ok(true)
        }
    }

    fn counting(end: u64, bad: u64) -> Counting {
        Counting { columns: vec!["x".into()], next: 0, end, bad }
    }

    /// Results that pretend to be large, so that workers have to wait for their turn.
    fn pass(
        source: &mut Counting,
        threads: usize,
        deliver: &mut (dyn FnMut(u64) -> Result<()> + Send),
    ) -> Result<()> {
        let new_worker =
            || |chunk: &RowChunk| Ok(Ready { value: chunk.row_number(0), bytes: HELD_BYTES_MAX / 3 });
        pass_in_order(source, &DriveOptions { threads, ..DriveOptions::default() }, &new_worker, deliver)
    }

    #[test]
    fn results_come_in_the_order_of_the_rows_for_any_number_of_threads() {
        for threads in [1, 2, 5] {
            let mut seen = Vec::new();
            let mut source = counting(3000, u64::MAX);
            pass(&mut source, threads, &mut |row| {
                seen.push(row);
                Ok(())
            })
            .unwrap();
            assert!(seen.len() >= 3000 && seen.iter().enumerate().all(|(i, row)| *row == i as u64 + 1));
        }
    }

    #[test]
    fn the_earliest_error_ends_the_pass_and_all_parts_before_it_are_delivered() {
        for threads in [1, 2, 5] {
            let delivered = AtomicUsize::new(0);
            let error = pass(&mut counting(3000, 1000), threads, &mut |_| {
                delivered.fetch_add(1, Ordering::Relaxed);
                Ok(())
            })
            .unwrap_err();
            assert!(matches!(error.cause(), Error::BadValue { row: 1000, .. }), "{error}");
            // The part of the bad row starts at most eight rows before it.
            assert!((992..=1000).contains(&delivered.load(Ordering::Relaxed)));
        }
    }

    #[test]
    fn a_failure_to_deliver_ends_the_pass() {
        let error = pass(&mut counting(3000, u64::MAX), 3, &mut |row| match row {
            100 => Err(Error::NoInput),
            _ => Ok(()),
        });
        assert!(matches!(error, Err(Error::NoInput)));
    }
}
