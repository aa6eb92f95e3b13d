//! Random bits for noise, and uniform integers made from them exactly.
//!
//! The promise of a private release is only as good as its bits: use the operating system's generator.
//! [`SeededEntropy`] is for tests. [`Bits`] spends the bytes of any [`Entropy`] one bit at a time and makes
//! uniform integers by rejection, so a uniform source gives exactly uniform integers, without a division or a
//! floating-point number.
//!
//! Cost: `below(n)` takes fewer than $2 \lceil \log_2 n \rceil$ bits on average. It does not hide its running
//! time: the number of bits spent depends on the draws, so do not time releases in front of an adversary.

use crate::num::random::{Purpose, Stream};
use crate::{Error, Result};

/// Tries after which a loop that ends with probability at least 0.3 at each try is given up.
///
/// With uniform bits the limit is met with probability below $0.7^{4096} < e^{-1400}$; it turns a broken
/// source (say one that only gives zeros) into an error instead of an endless loop.
pub(crate) const MAX_TRIES: u32 = 4096;

/// Bytes asked of the source at a time.
const BLOCK: usize = 512;

/// A source of uniform, independent random bytes.
pub trait Entropy {
    /// Overwrites `bytes` with fresh random bytes, or tells why it cannot.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<()>;
}

/// Random bytes that a seed repeats: **for tests and experiments only**.
///
/// Who knows or guesses the seed can take the noise away again, so a release made with it is not private.
#[derive(Clone, Debug)]
pub struct SeededEntropy {
    stream: Stream,
}

impl SeededEntropy {
    /// The bytes of `seed`; they repeat after 2^36 bytes.
    pub fn new(seed: u64) -> SeededEntropy {
        SeededEntropy { stream: Stream::new(seed, Purpose::TestNoise, 0) }
    }
}

impl Entropy for SeededEntropy {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<()> {
        for chunk in bytes.chunks_mut(4) {
            chunk.copy_from_slice(&self.stream.next_u32().to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}

/// The bits of a source, read in blocks of 512 bytes; each bit is used once.
pub struct Bits<'a> {
    source: &'a mut dyn Entropy,
    block: [u8; BLOCK],
    used: usize,
    word: u64,
    left: u32,
}

impl<'a> Bits<'a> {
    /// Reads from `source`; nothing is drawn before the first bit is needed.
    pub fn new(source: &'a mut dyn Entropy) -> Bits<'a> {
        Bits { source, block: [0; BLOCK], used: BLOCK, word: 0, left: 0 }
    }

    /// One fair bit.
    pub fn bit(&mut self) -> Result<bool> {
        Ok(self.take(1)? == 1)
    }

    /// Uniform in 0..n, exactly: as many bits as `n - 1` has, drawn again until they are below `n`.
    ///
    /// Refuses n = 0, and a source whose bits are rejected 4096 times (probability below $2^{-4096}$ if they
    /// are uniform).
    pub fn below(&mut self, n: u128) -> Result<u128> {
        let Some(last) = n.checked_sub(1) else {
            return Err(Error::Privacy {
                field: "noise",
                problem: "there is no integer below 0; give a positive range".into(),
            });
        };
        let width = u128::BITS - last.leading_zeros();
        for _ in 0..MAX_TRIES {
            let value = self.take(width)?;
            if value <= last {
                return Ok(value);
            }
        }
        Err(broken_source())
    }

    /// `count` <= 128 fresh bits as an integer.
    fn take(&mut self, count: u32) -> Result<u128> {
        let (mut value, mut missing) = (0u128, count);
        while missing > 0 {
            if self.left == 0 {
                self.word = self.next_word()?;
                self.left = u64::BITS;
            }
            // Both are at least 1 here, so the shifts below stay under the width of their type.
            let taken = missing.min(self.left);
            value = (value << taken) | u128::from(self.word >> (u64::BITS - taken));
            self.word = self.word.checked_shl(taken).unwrap_or(0);
            self.left -= taken;
            missing -= taken;
        }
        Ok(value)
    }

    fn next_word(&mut self) -> Result<u64> {
        if self.used == BLOCK {
            self.source.fill(&mut self.block)?;
            self.used = 0;
        }
        let mut word = [0; 8];
        word.copy_from_slice(&self.block[self.used..self.used + 8]);
        self.used += 8;
        Ok(u64::from_le_bytes(word))
    }
}

/// The error of a loop that uniform bits would have ended long before.
pub(crate) fn broken_source() -> Error {
    Error::Privacy {
        field: "noise",
        problem: format!(
            "the source of randomness is broken: {MAX_TRIES} draws in a row were rejected, which uniform bits do with probability \
             below e^-1000; do not release anything made with it"
        ),
    }
}

#[cfg(test)]
mod tests;
