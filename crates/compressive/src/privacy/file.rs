//! The bytes of private sketches, and of either kind.

use crate::error::remedy::{Command, Remedy};
use crate::error::{Error, Result};
use crate::privacy::release::verify;
use crate::privacy::{AnySketch, PrivateSketch, Release};
use crate::sketch::wire::{self, Extra, corrupt, file};
use crate::sketch::{RowWeights, Sketch};

impl PrivateSketch {
    /// The bytes of a `.sketch` file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let privacy = serde_json::to_string(self.releases()).expect("a release has string keys only");
        let named = self.releases().iter().any(|release| release.id.is_some());
        let extra = Extra { privacy: Some(privacy), named, weights: RowWeights::ONE, filled: 0 };
        file(self.spec(), &extra, [self.rows(), 0], self.sums(), &[])
    }

    /// Reads bytes that [`to_bytes`](PrivateSketch::to_bytes) gave and that nobody else could change since:
    /// their promises are not worked out anew.
    pub fn from_own_bytes(bytes: &[u8]) -> Result<PrivateSketch> {
        match open(bytes)? {
            AnySketch::Private(sketch) => Ok(sketch),
            AnySketch::Plain(_) => corrupt("a plain sketch is not a private one"),
        }
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
    /// times the length of `bytes`; for the private feature `quadratic` also what its bounds need. A private
    /// sketch whose noise does not keep its promises is refused.
    pub fn from_bytes(bytes: &[u8]) -> Result<AnySketch> {
        let sketch = open(bytes)?;
        if let AnySketch::Private(private) = &sketch {
            verify(private.releases(), private.spec())?;
        }
        Ok(sketch)
    }
}

/// A sketch of either kind, whatever it promises.
fn open(bytes: &[u8]) -> Result<AnySketch> {
    let parts = wire::read(bytes)?;
    let Some(privacy) = &parts.extra.privacy else {
        return Sketch::from_file(parts).map(AnySketch::Plain);
    };
    let releases = read_releases(privacy)?;
    if parts.extra.named != releases.iter().any(|release| release.id.is_some()) && parts.spec.format() == 1 {
        return corrupt("its format is not that of its promises");
    }
    if parts.weight != 0 || parts.extra.weights != RowWeights::ONE || parts.extra.filled > 0 {
        return corrupt("a private sketch has no weights");
    }
    if parts.spec.moments.is_some() {
        return corrupt("a private sketch holds no exact moments");
    }
    let private = PrivateSketch::from_parts(parts.spec, parts.sums, parts.rows, releases);
    Ok(AnySketch::Private(private))
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
