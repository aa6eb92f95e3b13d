//! How many rows have each bit set: a bit-sliced counter over packed rows of bits.
//!
//! Counting bit by bit costs one addition a bit. Here 256 bits are taken at once: bit p of all their counters
//! lies in one plane of 256 bits, and a row is added by full adders on whole planes.
//!
//! 1. Eight rows go through seven carry-save adders (five operations each), which leave one carry of weight
//!    8.
//! 2. That carry ripples through the planes of weight 8, 16 ... 128.
//! 3. After at most 248 rows, before the planes could overflow, they are added to the counts.
//!
//! Cost: about six operations on 256 bits a row, and as much for step 3.

/// Words of 64 bits side by side; the compiler turns operations on them into vector instructions.
const LANES: usize = 4;
const BLOCK_BYTES: usize = 8 * LANES;
/// Bits of a counter.
const PLANES: usize = 8;
/// Rows between two flushes: whole groups of eight, fewer than 2^[`PLANES`].
const ROWS: usize = 248;

type Block = [u64; LANES];

/// Adds the number of rows in which each bit is set to `counts`. The first bit of a row is the highest bit of
/// its first byte.
///
/// # Panics
/// If the bytes are not whole rows of `row_len`, or if there are not 8 `row_len` counts.
pub fn count_ones(bytes: &[u8], row_len: usize, counts: &mut [i64]) {
    assert!(row_len > 0 && bytes.len().is_multiple_of(row_len), "whole rows");
    assert_eq!(counts.len(), 8 * row_len, "a count for each bit");
    for rows in bytes.chunks(ROWS * row_len) {
        for (block, counts) in counts.chunks_mut(8 * BLOCK_BYTES).enumerate() {
            let at = block * BLOCK_BYTES;
            let width = counts.len() / 8;
            let load = |row: &[u8]| -> Block {
                let mut padded = [0; BLOCK_BYTES];
                padded[..width].copy_from_slice(&row[at..at + width]);
                std::array::from_fn(|lane| {
                    let mut word = [0; 8];
                    word.copy_from_slice(&padded[8 * lane..8 * lane + 8]);
                    u64::from_le_bytes(word)
                })
            };
            let mut planes = [[0; LANES]; PLANES];
            let mut groups = rows.chunks_exact(8 * row_len);
            for group in &mut groups {
                let rows: [Block; 8] = std::array::from_fn(|i| load(&group[i * row_len..(i + 1) * row_len]));
                add_eight(&mut planes, &rows);
            }
            for row in groups.remainder().chunks_exact(row_len) {
                ripple(&mut planes, load(row));
            }
            flush(&planes, counts);
        }
    }
}

/// Sum and carry of three planes.
fn full_adder(a: Block, b: Block, c: Block) -> (Block, Block) {
    let half: Block = std::array::from_fn(|i| a[i] ^ b[i]);
    let sum = std::array::from_fn(|i| half[i] ^ c[i]);
    let carry = std::array::from_fn(|i| (a[i] & b[i]) | (half[i] & c[i]));
    (sum, carry)
}

/// Steps 1 and 2.
fn add_eight(planes: &mut [Block; PLANES], rows: &[Block; 8]) {
    let (ones, twos_a) = full_adder(planes[0], rows[0], rows[1]);
    let (ones, twos_b) = full_adder(ones, rows[2], rows[3]);
    let (twos, fours_a) = full_adder(planes[1], twos_a, twos_b);
    let (ones, twos_a) = full_adder(ones, rows[4], rows[5]);
    let (ones, twos_b) = full_adder(ones, rows[6], rows[7]);
    let (twos, fours_b) = full_adder(twos, twos_a, twos_b);
    let (fours, eights) = full_adder(planes[2], fours_a, fours_b);
    [planes[0], planes[1], planes[2]] = [ones, twos, fours];
    ripple(&mut planes[3..], eights);
}

/// Adds a carry to the lowest of some planes.
fn ripple(planes: &mut [Block], mut carry: Block) {
    for plane in planes {
        let next = std::array::from_fn(|i| plane[i] & carry[i]);
        (0..LANES).for_each(|i| plane[i] ^= carry[i]);
        carry = next;
    }
}

/// Step 3: bit b of byte j, counted from its highest, belongs to count 8 j + b.
fn flush(planes: &[Block; PLANES], counts: &mut [i64]) {
    for (byte, counts) in counts.chunks_exact_mut(8).enumerate() {
        let (lane, shift) = (byte / 8, 8 * (byte % 8));
        let parts: [u64; PLANES] = std::array::from_fn(|p| planes[p][lane] >> shift);
        for (bit, count) in counts.iter_mut().enumerate() {
            let total: u64 = (0..PLANES).map(|p| (parts[p] >> (7 - bit) & 1) << p).sum();
            *count += total as i64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A simple generator, enough to make bytes that repeat in no pattern.
    fn noise(len: usize, mut state: u64) -> Vec<u8> {
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        (0..len).map(|_| next()).collect()
    }

    #[test]
    fn counts_are_those_of_counting_bit_by_bit() {
        for (row_len, n_rows) in [(1, 1), (1, 1000), (3, 7), (31, 249), (32, 248), (33, 256), (250, 777)] {
            let bytes = noise(row_len * n_rows, row_len as u64);
            let mut counts = vec![5; 8 * row_len];
            count_ones(&bytes, row_len, &mut counts);
            for (i, count) in counts.iter().enumerate() {
                let set = |row: &&[u8]| row[i / 8] >> (7 - i % 8) & 1 == 1;
                assert_eq!(
                    *count,
                    5 + bytes.chunks(row_len).filter(set).count() as i64,
                    "{row_len} {n_rows} {i}"
                );
            }
        }
    }

    #[test]
    fn no_counter_overflows_when_every_bit_is_set() {
        let mut counts = vec![0; 40 * 8];
        count_ones(&vec![255; 40 * 1000], 40, &mut counts);
        assert!(counts.iter().all(|c| *c == 1000));
        count_ones(&[], 40, &mut counts);
        assert!(counts.iter().all(|c| *c == 1000));
    }
}
