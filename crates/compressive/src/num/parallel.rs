//! Independent pieces of work over threads. Which thread does a piece never changes its result.

use std::sync::{Mutex, PoisonError};

/// Threads for a request of `threads`, 0 meaning all cores.
pub(crate) fn resolve(threads: usize) -> usize {
    if threads > 0 { threads } else { std::thread::available_parallelism().map_or(1, usize::from) }
}

/// Runs `work` on every item; idle threads take the next one in order.
pub(crate) fn for_each<T: Send>(items: Vec<T>, threads: usize, work: impl Fn(T) + Sync) {
    let threads = threads.min(items.len());
    if threads <= 1 {
        return items.into_iter().for_each(work);
    }
    let queue = Mutex::new(items.into_iter());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let run = || {
        while let Some(item) = next() {
            work(item);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(run);
        }
        run();
    });
}
