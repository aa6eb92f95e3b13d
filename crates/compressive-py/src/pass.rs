//! Long work without the interpreter's lock, with an ear for Ctrl-C.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use pyo3::prelude::*;

use crate::error::CompressiveError;

/// How often signals are checked and progress is reported.
const BEAT: Duration = Duration::from_millis(50);

/// What a pass and its watcher share.
#[derive(Default)]
pub struct Watch {
    /// Raised to stop the pass.
    pub cancel: Arc<AtomicBool>,
    /// Rows done.
    pub rows: AtomicU64,
}

/// Runs `work` on a thread of its own; calls `progress(rows)` now and then; a signal or a failure of
/// `progress` stops it.
pub fn watched<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Watch) -> PyResult<T> + Send,
) -> PyResult<T> {
    let progress = progress.map(|callable| callable.clone().unbind());
    py.detach(|| {
        let watch = Watch::default();
        std::thread::scope(|scope| {
            let (done, end) = channel::<()>();
            let watched = &watch;
            let worker = scope.spawn(move || {
                // Dropped at the end, also of a panic.
                let _done = done;
                work(watched)
            });
            let mut stopped = None;
            while let Err(RecvTimeoutError::Timeout) = end.recv_timeout(BEAT) {
                if stopped.is_none()
                    && let Err(error) = beat(&watch, progress.as_ref())
                {
                    stopped = Some(error);
                    watch.cancel.store(true, Ordering::Relaxed);
                }
            }
            let result = worker
                .join()
                .unwrap_or_else(|_| Err(CompressiveError::new_err("an internal error; please report it")));
            match stopped {
                Some(error) => Err(error),
                None => result.and_then(|value| {
                    // The last beat: all rows.
                    progress.as_ref().map_or(Ok(()), |p| tell(&watch, p)).map(|()| value)
                }),
            }
        })
    })
}

fn beat(watch: &Watch, progress: Option<&Py<PyAny>>) -> PyResult<()> {
    Python::attach(|py| py.check_signals())?;
    progress.map_or(Ok(()), |progress| tell(watch, progress))
}

fn tell(watch: &Watch, progress: &Py<PyAny>) -> PyResult<()> {
    let rows = watch.rows.load(Ordering::Relaxed);
    Python::attach(|py| progress.call1(py, (rows,)).map(|_| ()))
}

/// The number of threads meant by `threads`; 0 is all processors.
pub fn thread_count(threads: usize) -> usize {
    if threads > 0 { threads } else { std::thread::available_parallelism().map_or(1, usize::from) }
}
