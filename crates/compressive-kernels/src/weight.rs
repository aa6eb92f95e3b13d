//! Weighted sums, exact on the grid.
//!
//! A row of weight W (in units of 2^-24) adds floor((W q + 2^23) / 2^24) to each sum. With W = a 2^24 + b, 0
//! <= b < 2^24, this is a q + floor((b q + 2^23) / 2^24): every product fits 64 bits, and a whole weight (b =
//! 0) gives exactly a copies of the row.

use crate::dispatch::Pair;
use crate::wave::PANEL;

/// Largest weight: 2^28 copies of a row.
pub(crate) const WEIGHT_MAX: i64 = 1 << 52;

const HALF: i64 = 1 << 23;
const LOW: i64 = (1 << 24) - 1;

/// Adds `weights[row]` times `features[row]` to `sums`. Sums wrap around at 64 bits.
#[inline(always)]
pub(crate) fn weigh(features: &[Pair], weights: &[i64], sums: &mut [[i64; PANEL]; 2]) {
    for (pair, &weight) in features.iter().zip(weights) {
        // Both halves fit 32 bits, which lets the compiler use the 32 x 32 -> 64 bit vector multiply.
        let (whole, part) = ((weight >> 24) as i32, (weight & LOW) as i32);
        for (block, sum) in pair.iter().zip(sums.iter_mut()) {
            for (&q, s) in block.iter().zip(sum.iter_mut()) {
                let q = i64::from(q);
                let rounded = (i64::from(part) * q + HALF) >> 24;
                *s = s.wrapping_add(i64::from(whole) * q + rounded);
            }
        }
    }
}
