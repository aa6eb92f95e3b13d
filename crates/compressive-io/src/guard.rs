//! Damaged files and the decoders of other crates.
//!
//! Some of what the Arrow and Parquet crates meet in damaged bytes ends in a panic in them. That is an error
//! of the file like any other, so it is caught; [`hide_decoder_panics`] also keeps its text off the user's
//! screen.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, Result};

thread_local! {
    /// Whether this thread is inside [`guarded`].
    static DECODING: Cell<bool> = const { Cell::new(false) };
}

/// Runs a decoder on bytes that may be damaged.
pub(crate) fn guarded<T, E: ToString>(
    path: &str,
    format: &'static str,
    decode: impl FnOnce() -> std::result::Result<T, E>,
) -> Result<T> {
    let before = DECODING.replace(true);
    // Whatever the decoder held is dropped with the error, so its state after a panic is not seen.
    let outcome = catch_unwind(AssertUnwindSafe(decode));
    DECODING.set(before);
    match outcome {
        Ok(result) => result.map_err(|error| Error::malformed(path, format, error)),
        Err(_) => Err(Error::malformed(path, format, "its bytes make no sense to the decoder")),
    }
}

/// For programs: from now on a panic that the readers catch prints nothing; all others print as before.
pub fn hide_decoder_panics() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !DECODING.get() {
            before(info);
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_in_a_decoder_is_an_error_that_names_the_file() {
        let outcome = guarded("x.parquet", "Parquet", || -> std::result::Result<(), String> {
            panic!("index out of bounds")
        });
        assert!(outcome.unwrap_err().to_string().contains("x.parquet"));
        assert!(!DECODING.get());
        let fine: Result<i32> = guarded("x.parquet", "Parquet", || Ok::<_, String>(3));
        assert_eq!(fine.unwrap(), 3);
    }
}
