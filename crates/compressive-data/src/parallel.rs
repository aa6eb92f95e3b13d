//! Work on chunks of rows by several threads, with results that do not depend on how many.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::block::LANES;

/// Chunks are no shorter than this, so that a thread's start is paid for.
const CHUNK_MIN: usize = 1024;
/// No more chunks than this, so that their partial sums stay small.
const CHUNKS_MAX: usize = 64;

/// Rows per chunk: a function of n alone, and whole blocks.
fn chunk_len(n_rows: usize) -> usize {
    n_rows.div_ceil(CHUNKS_MAX).max(CHUNK_MIN).next_multiple_of(LANES)
}

/// The number of threads meant by a parameter, where 0 stands for all cores.
pub fn thread_count(threads: usize) -> usize {
    match threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        given => given,
    }
}

/// Calls `work(index, rows)` for every chunk of `n_rows` rows and returns the results in the order of the
/// chunks.
pub fn map_chunks<T: Send>(
    n_rows: usize,
    threads: usize,
    work: impl Fn(usize, Range<usize>) -> T + Sync,
) -> Vec<T> {
    let len = chunk_len(n_rows);
    let n_chunks = n_rows.div_ceil(len);
    let run = |index: usize| work(index, index * len..((index + 1) * len).min(n_rows));
    let threads = thread_count(threads).min(n_chunks);
    if threads <= 1 {
        return (0..n_chunks).map(run).collect();
    }
    let next = AtomicUsize::new(0);
    let take = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= n_chunks {
                return done;
            }
            done.push((index, run(index)));
        }
    };
    let mut results: Vec<(usize, T)> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(take)).collect();
        let mut all = take();
        for other in others {
            match other.join() {
                Ok(part) => all.extend(part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    });
    results.sort_by_key(|&(index, _)| index);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_all_rows_once_and_in_order_for_any_thread_count() {
        for n_rows in [1, 1023, 1025, 70_000, 200_001] {
            let alone = map_chunks(n_rows, 1, |index, range| (index, range));
            assert_eq!(alone[0].1.start, 0);
            assert_eq!(alone.last().map(|(_, range)| range.end), Some(n_rows));
            assert!(
                alone.windows(2).all(|pair| pair[0].1.end == pair[1].1.start && pair[0].0 + 1 == pair[1].0)
            );
            assert!(alone.len() <= CHUNKS_MAX);
            assert_eq!(map_chunks(n_rows, 3, |index, range| (index, range)), alone);
        }
    }
}
