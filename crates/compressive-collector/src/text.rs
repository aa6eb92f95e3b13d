//! Random names and digests, as text.

use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

/// Bytes of the operating system's generator.
pub(crate) fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|e| Error::Store(format!("no randomness: {e}")))?;
    Ok(bytes)
}

/// SHA-256 of a text, in hexadecimal.
pub(crate) fn digest(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
