use super::*;
use crate::num::special::chi_square_tail;

/// A source that gives one byte for ever.
struct Constant(u8);

impl Entropy for Constant {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<()> {
        bytes.fill(self.0);
        Ok(())
    }
}

/// A source that counts what is asked of it, then fails.
struct Failing(usize);

impl Entropy for Failing {
    fn fill(&mut self, _bytes: &mut [u8]) -> Result<()> {
        self.0 += 1;
        Err(Error::Privacy { field: "noise", problem: "no entropy".into() })
    }
}

#[test]
fn integers_below_n_are_uniform() {
    // One chi-square test per n, false alarms at 1e-4 each; the seed is fixed, so the outcome is too.
    for n in [2u64, 3, 5, 10, 64, 100, 257] {
        let mut source = SeededEntropy::new(n);
        let mut bits = Bits::new(&mut source);
        let mut counts = vec![0.0; n as usize];
        for _ in 0..200_000 {
            counts[bits.below(u128::from(n)).unwrap() as usize] += 1.0;
        }
        let expected = 200_000.0 / n as f64;
        let statistic: f64 = counts.iter().map(|c| (c - expected) * (c - expected) / expected).sum();
        let p = chi_square_tail(statistic, (n - 1) as f64);
        assert!(p > 1e-4, "n = {n}: chi-square {statistic}, p = {p}");
    }
}

#[test]
fn wide_ranges_reach_all_their_parts_equally() {
    // Eight equal parts of a range that no power of two divides; 11 bits more than a word.
    let n = 8 * ((1u128 << 72) + 12_345_678_901);
    let mut source = SeededEntropy::new(8);
    let mut bits = Bits::new(&mut source);
    let mut counts = [0.0; 8];
    for _ in 0..80_000 {
        counts[(bits.below(n).unwrap() / (n / 8)) as usize] += 1.0;
    }
    let statistic: f64 = counts.iter().map(|c| (c - 1e4) * (c - 1e4) / 1e4).sum();
    assert!(chi_square_tail(statistic, 7.0) > 1e-4, "{counts:?}");
    let top = (0..1000).map(|_| bits.below(u128::MAX).unwrap() >> 127).sum::<u128>();
    // Binomial with standard deviation 16; five are allowed.
    assert!((420..580).contains(&top), "{top} of 1000 draws in the upper half");
}

#[test]
fn every_bit_is_used_once_and_in_order() {
    let mut raw = [0u8; 2 * BLOCK];
    SeededEntropy::new(3).fill(&mut raw).unwrap();
    let mut source = SeededEntropy::new(3);
    let mut bits = Bits::new(&mut source);
    for word in raw.chunks(8) {
        let word = u64::from_le_bytes(word.try_into().unwrap());
        // Powers of two reject nothing: 1 + 50 + 13 bits are one word.
        assert_eq!(bits.bit().unwrap(), word >> 63 == 1);
        assert_eq!(bits.below(1 << 50).unwrap(), u128::from(word << 1 >> 14));
        assert_eq!(bits.below(1 << 13).unwrap(), u128::from(word & 0x1fff));
    }
    assert_eq!(SeededEntropy::new(3).stream.next_u32().to_le_bytes(), raw[..4]);
}

#[test]
fn a_range_of_one_needs_no_bits_and_a_range_of_none_is_refused() {
    let mut source = Failing(0);
    let mut bits = Bits::new(&mut source);
    assert_eq!(bits.below(1), Ok(0));
    assert!(matches!(bits.below(0), Err(Error::Privacy { .. })));
    assert_eq!(source.0, 0);
}

#[test]
fn a_failing_or_stuck_source_is_an_error_not_a_hang() {
    let mut failing = Failing(0);
    let message = Bits::new(&mut failing).below(10).unwrap_err().to_string();
    assert_eq!(message, "cannot release that privately (noise): no entropy");
    let mut stuck = Constant(0xff);
    let message = Bits::new(&mut stuck).below(10).unwrap_err().to_string();
    assert!(message.contains("source of randomness is broken"), "{message}");
}
