//! Random bytes from the operating system.

use compressive::privacy::Entropy;

/// The operating system's generator (`getrandom` on Linux, its like elsewhere): the source that a private
/// release must take its noise from.
///
/// Nothing can seed it or repeat its bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsEntropy;

impl Entropy for OsEntropy {
    fn fill(&mut self, bytes: &mut [u8]) -> compressive::Result<()> {
        getrandom::fill(bytes).map_err(|error| compressive::Error::Privacy {
            field: "noise",
            problem: format!(
                "the operating system gave no random bytes ({error}); nothing was released, try again when its generator works"
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_overwritten_and_no_two_draws_are_equal() {
        let (mut a, mut b) = ([0u8; 4096], [0u8; 4096]);
        OsEntropy.fill(&mut a).unwrap();
        OsEntropy.fill(&mut b).unwrap();
        assert_ne!(a, b);
        // A fair byte is 0 with probability 1/256: 16 expected, and more than 100 with probability below
        // 1e-40.
        assert!(a.iter().filter(|byte| **byte == 0).count() < 100);
        OsEntropy.fill(&mut []).unwrap();
    }
}
