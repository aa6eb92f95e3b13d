//! The slim form of a sketch: its sums without its recipe, for places where many sketches of one recipe lie
//! side by side and the recipe once.
//!
//! ```text
//! 32 bytes    SHA-256 of the fingerprint and all that follows
//! 4 x u64 LE  rows; weight in units of 2^-24; filled entries; largest whole weight, 0 for fractional
//! u8, bytes   width w of an integer; the L sums, w bytes each, little-endian
//! u8, bytes   likewise the words of the moments, if the recipe has them
//! ```
//!
//! An integer v is written as $2v$ or $-2v - 1$, whichever is not negative, so that small sums of either
//! sign need few bytes: the width is what the largest of them needs. The bytes are canonical, as those of
//! the [whole form](super::wire) are.

use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::sketch::wire::{Extra, corrupt, possible_moments};
use crate::sketch::{RowWeights, Sketch};

/// Bytes before the sums.
const HEAD: usize = 32 + 4 * 8;

impl Sketch {
    /// The sums without the recipe; equal sketches give equal bytes. Cost: a hash of the bytes.
    pub fn to_slim_bytes(&self) -> Vec<u8> {
        let largest = match self.row_weights() {
            RowWeights::Whole { largest } => u64::from(largest),
            RowWeights::Fractional => 0,
        };
        let mut body = Vec::with_capacity(HEAD + 2 + 8 * self.sums().len());
        for word in [self.rows(), self.weight_units() as u64, self.filled(), largest] {
            body.extend(word.to_le_bytes());
        }
        pack(self.sums(), &mut body);
        if let Some(sums) = self.second_sums() {
            pack(&sums.to_words(), &mut body);
        }
        let mut bytes = checksum(self.fingerprint(), &body);
        bytes.extend(body);
        bytes
    }

    /// Reads the slim form of a sketch of the same recipe as this one. Never panics, and allocates no more
    /// than a few times what this sketch takes.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for bytes that were changed, or written for another recipe.
    pub fn from_slim_bytes(&self, bytes: &[u8]) -> Result<Sketch> {
        let Some((sum, body)) = bytes.split_at_checked(32).filter(|_| bytes.len() > HEAD) else {
            return corrupt(format!("{} bytes are too few for any sketch", bytes.len()));
        };
        if sum != checksum(self.fingerprint(), body) {
            return corrupt("the checksum does not match: the bytes were changed, or are of another recipe");
        }
        let (head, mut rest) = body.split_at(HEAD - 32);
        let mut head = head.chunks_exact(8).map(|c| u64::from_le_bytes(c.try_into().expect("chunks of 8")));
        let mut next = || head.next().unwrap_or(0);
        let (rows, weight, filled, largest) = (next() as i64, next() as i64, next(), next());
        let spec = self.spec();
        let sums = unpack(&mut rest, spec.sketch_len())?;
        let moments = match spec.moments {
            Some(set) => unpack(&mut rest, set.words(spec.dim()))?,
            None => Vec::new(),
        };
        if !rest.is_empty() {
            return corrupt(format!("{} bytes follow the sums", rest.len()));
        }
        let weights = match u32::try_from(largest) {
            Ok(0) => RowWeights::Fractional,
            Ok(largest) => RowWeights::Whole { largest },
            Err(_) => return corrupt(format!("no row can have the weight {largest}")),
        };
        let extra = Extra { privacy: None, named: false, weights, filled };
        let second = possible_moments(spec, &extra, (rows, weight), &sums, &moments)?;
        Ok(self.with_sums(sums, second, (rows as u64, weight), weights, filled))
    }
}

fn checksum(fingerprint: &str, body: &[u8]) -> Vec<u8> {
    let mut hash = Sha256::new();
    hash.update(fingerprint.as_bytes());
    hash.update(body);
    hash.finalize().to_vec()
}

/// Integers without sign: 0, -1, 1, -2, ... become 0, 1, 2, 3, ...
fn zigzag(v: i64) -> u64 {
    ((v << 1) ^ (v >> 63)) as u64
}

fn pack(words: &[i64], out: &mut Vec<u8>) {
    let largest = words.iter().fold(0, |most, v| most | zigzag(*v));
    let width = (64 - largest.leading_zeros()).div_ceil(8) as usize;
    out.push(width as u8);
    for word in words {
        out.extend(&zigzag(*word).to_le_bytes()[..width]);
    }
}

/// Takes so many integers off the front.
fn unpack(rest: &mut &[u8], count: usize) -> Result<Vec<i64>> {
    let short =
        || Error::Corrupt { problem: format!("fewer than {count} sums where the recipe has so many") };
    let (width, body) = rest.split_first().ok_or_else(short)?;
    let width = usize::from(*width);
    if width > 8 {
        return corrupt(format!("integers of {width} bytes"));
    }
    let (values, after) = body.split_at_checked(width * count).ok_or_else(short)?;
    *rest = after;
    if width == 0 {
        return Ok(vec![0; count]);
    }
    let value = |chunk: &[u8]| {
        let mut bytes = [0; 8];
        bytes[..width].copy_from_slice(chunk);
        let z = u64::from_le_bytes(bytes);
        (z >> 1) as i64 ^ -((z & 1) as i64)
    };
    Ok(values.chunks_exact(width).map(value).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{sketch_of, weighted_sketch_of};
    use crate::{FrequencyLaw, MomentSet, RowsRef, SketchSpec};

    fn specs() -> [SketchSpec; 2] {
        let plain = SketchSpec::new(["a", "b"], FrequencyLaw::AdaptedRadius, 1.0, 7);
        [SketchSpec { moments: Some(MomentSet::Full), ..plain.clone() }, plain]
    }

    #[test]
    fn the_slim_form_is_the_sketch_again_and_smaller() {
        for spec in specs() {
            let operator = spec.build().unwrap();
            let rows = [0.1, 0.2, -1.0, 3.0, 0.5, 0.5];
            let fractional = weighted_sketch_of(&operator, RowsRef::F64(&rows), Some(&[0.5, 2.0, 41.0]));
            let heavy = weighted_sketch_of(&operator, RowsRef::F64(&rows), Some(&[3.0, 2.0, 41.0]));
            let empty = Sketch::empty(&operator);
            for sketch in [sketch_of(&operator, &rows), fractional, heavy, empty.clone()] {
                let bytes = sketch.to_slim_bytes();
                let again = empty.from_slim_bytes(&bytes).unwrap();
                assert_eq!(again, sketch);
                assert_eq!(again.to_bytes(), sketch.to_bytes());
                assert!(2 * bytes.len() < sketch.to_bytes().len());
            }
        }
    }

    #[test]
    fn changed_and_foreign_bytes_are_refused() {
        let operator = specs()[0].clone().build().unwrap();
        let sketch = sketch_of(&operator, &[0.1, 0.2, -1.0, 3.0]);
        let bytes = sketch.to_slim_bytes();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(sketch.from_slim_bytes(&changed).is_err(), "{at}");
            assert!(sketch.from_slim_bytes(&bytes[..at]).is_err(), "{at}");
        }
        let other = sketch_of(&specs()[1].clone().build().unwrap(), &[0.1, 0.2]);
        assert!(other.from_slim_bytes(&bytes).is_err());
    }
}
