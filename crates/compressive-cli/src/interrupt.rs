//! Ctrl-C: during a pass it is asked for politely, so that no temporary file stays, and a search then gives
//! the best that it has; at other times it ends the program.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};

/// The process exit code after Ctrl-C, as shells expect it.
pub const EXIT_CODE: u8 = 130;

/// Raised by Ctrl-C.
static WANTED: AtomicBool = AtomicBool::new(false);
/// Whether somebody looks at [`WANTED`].
static WATCHED: AtomicBool = AtomicBool::new(false);
/// The handler can be set once.
static HANDLER: OnceLock<Result<(), String>> = OnceLock::new();

/// Runs a pass that looks at the flag it is given.
pub fn watched<T>(pass: impl FnOnce(&'static AtomicBool) -> T) -> Result<T> {
    let set = || ctrlc::set_handler(on_interrupt).map_err(|error| error.to_string());
    HANDLER.get_or_init(set).clone().map_err(anyhow::Error::msg).context("cannot listen for Ctrl-C")?;
    WATCHED.store(true, Ordering::SeqCst);
    let result = pass(&WANTED);
    WATCHED.store(false, Ordering::SeqCst);
    Ok(result)
}

fn on_interrupt() {
    // A second Ctrl-C does not wait.
    let again = WANTED.swap(true, Ordering::SeqCst);
    if again || !WATCHED.load(Ordering::SeqCst) {
        eprintln!("interrupted");
        std::process::exit(i32::from(EXIT_CODE));
    }
}
