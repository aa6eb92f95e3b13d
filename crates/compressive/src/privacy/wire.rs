//! The bytes of private sketches, and of either kind.

use crate::error::remedy::{Command, Remedy};
use crate::error::{Error, Result};
use crate::privacy::{AnySketch, PrivateSketch, Release};
use crate::sketch::Sketch;
use crate::sketch::wire::{self, Extra, corrupt, file};

impl PrivateSketch {
    /// The bytes of a `.sketch` file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let privacy = serde_json::to_string(self.releases()).expect("a release has string keys only");
        let extra = Extra { privacy: Some(privacy), fractional: false, filled: 0 };
        file(self.spec(), &extra, [self.rows(), 0], self.sums(), &[])
    }

    /// Reads the bytes of a private `.sketch` file.
    pub fn from_bytes(bytes: &[u8]) -> Result<PrivateSketch> {
        match AnySketch::from_bytes(bytes)? {
            AnySketch::Private(sketch) => Ok(sketch),
            AnySketch::Plain(_) => {
                Err(Error::WrongKind { problem: "this is a plain sketch, with exact sums" }
                    .advise(Remedy::Run("make a private one of it", Command::Privatize)))
            }
        }
    }
}

impl AnySketch {
    /// Reads the bytes of a `.sketch` file of either kind. Never panics, and allocates no more than a few
    /// times the length of `bytes`.
    pub fn from_bytes(bytes: &[u8]) -> Result<AnySketch> {
        let parts = wire::read(bytes)?;
        let Some(privacy) = &parts.extra.privacy else {
            return Sketch::from_file(parts).map(AnySketch::Plain);
        };
        let releases = read_releases(privacy)?;
        if parts.weight != 0 || parts.extra.fractional || parts.extra.filled > 0 {
            return corrupt("a private sketch has no weights");
        }
        if parts.spec.moments.is_some() {
            return corrupt("a private sketch holds no exact moments");
        }
        let private = PrivateSketch::from_parts(parts.spec, parts.sums, parts.rows, releases);
        Ok(AnySketch::Private(private))
    }
}

/// The promises of a private sketch, in the one form they are written in.
fn read_releases(json: &str) -> Result<Vec<Release>> {
    let releases: Vec<Release> = serde_json::from_str(json)
        .map_err(|e| Error::Corrupt { problem: format!("its promises are not readable: {e}") })?;
    if releases.is_empty() || serde_json::to_string(&releases).ok().as_deref() != Some(json) {
        return corrupt("its promises are not written as this program writes them");
    }
    Ok(releases)
}
