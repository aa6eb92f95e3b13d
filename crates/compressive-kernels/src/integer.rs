//! Exact sums of products of integer rows: the second moments of a table on a grid.
//!
//! $$ s_{ij} = \sum_r a_{ri}\, b_{rj}, \qquad j \le i $$
//!
//! Products of two 32-bit numbers are summed in 64 bits; the caller sees to it that no sum leaves them.
//! Integers, so the order is free and every processor gives the same bits. Cost: d (d + 1) / 2 multiply-adds
//! a row, four of them an instruction with AVX2. [`round_to_grid`] makes such rows.

/// Columns that rows are padded to a multiple of.
pub const PADDING: usize = 8;
/// Rows of a tile of sums; with [`PADDING`] columns they stay in registers.
const TILE: usize = 4;

/// One tile of sums.
type Tile = [[i64; PADDING]; TILE];

/// Adds $\sum_r a_{ri} b_{rj}$ to entry `i * stride + j` of `sums` for j up to i, and something to some entries
/// beyond. Rows of `a` and `b` have `dim` numbers that fit 32 bits, then zeros up to `stride`, a
/// multiple of [`PADDING`].
///
/// # Panics
/// If the stride is no such multiple or too short, or a slice has another length than its rows.
pub fn triangle_products(dim: usize, stride: usize, a: &[i64], b: &[i64], sums: &mut [i64]) {
    assert!(stride.is_multiple_of(PADDING) && dim <= stride && dim > 0, "padded rows");
    assert!(a.len() == b.len() && a.len().is_multiple_of(stride), "whole rows");
    assert_eq!(sums.len(), dim * stride, "an entry for each pair");
    for i in (0..dim).step_by(TILE) {
        for j in (0..(i + TILE).min(dim)).step_by(PADDING) {
            let tile = tile(a, b, stride, (i, j));
            for (p, row) in tile.iter().enumerate().take_while(|(p, _)| i + p < dim) {
                let sums = &mut sums[(i + p) * stride + j..][..PADDING];
                sums.iter_mut().zip(row).for_each(|(sum, more)| *sum += more);
            }
        }
    }
}

/// The sums of `TILE` columns of `a` from i on with `PADDING` columns of `b` from j on.
fn tile(a: &[i64], b: &[i64], stride: usize, (i, j): (usize, usize)) -> Tile {
    assert!(i + TILE <= stride && j + PADDING <= stride, "a tile inside of the rows");
    #[cfg(target_arch = "x86_64")]
    if crate::backend::Backend::Avx2.is_available() {
        // SAFETY: the processor has AVX2, the rows are whole, and the tile is inside of them.
        return unsafe { tile_avx2(a, b, stride, (i, j)) };
    }
    plain_tile(a, b, stride, (i, j))
}

fn plain_tile(a: &[i64], b: &[i64], stride: usize, (i, j): (usize, usize)) -> Tile {
    let mut tile = [[0; PADDING]; TILE];
    for (a, b) in a.chunks_exact(stride).zip(b.chunks_exact(stride)) {
        for (sums, a) in tile.iter_mut().zip(&a[i..i + TILE]) {
            for (sum, b) in sums.iter_mut().zip(&b[j..j + PADDING]) {
                // Only the low halves count, and the compiler has an instruction for their product.
                *sum += i64::from(*a as i32) * i64::from(*b as i32);
            }
        }
    }
    tile
}

/// # Safety
/// The processor has AVX2; `a` and `b` are as many whole rows of `stride`; i + `TILE` and j + `PADDING` are at
/// most `stride`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn tile_avx2(a: &[i64], b: &[i64], stride: usize, (i, j): (usize, usize)) -> Tile {
    use std::arch::x86_64::{
        _mm256_add_epi64, _mm256_loadu_si256, _mm256_mul_epi32, _mm256_set1_epi64x, _mm256_setzero_si256,
        _mm256_storeu_si256,
    };
    let mut sums = [[_mm256_setzero_si256(); PADDING / 4]; TILE];
    for start in (0..a.len()).step_by(stride) {
        // SAFETY: the numbers of columns i and j on are inside of this row.
        let (left, right) = unsafe { (a.as_ptr().add(start + i), b.as_ptr().add(start + j)) };
        // SAFETY: as above, two vectors of four numbers.
        let right = unsafe { [_mm256_loadu_si256(right.cast()), _mm256_loadu_si256(right.add(4).cast())] };
        for (p, sums) in sums.iter_mut().enumerate() {
            // SAFETY: as above, `TILE` numbers.
            let left = unsafe { _mm256_set1_epi64x(*left.add(p)) };
            for (sum, right) in sums.iter_mut().zip(right) {
                *sum = _mm256_add_epi64(*sum, _mm256_mul_epi32(left, right));
            }
        }
    }
    let mut tile = [[0; PADDING]; TILE];
    for (out, sums) in tile.iter_mut().zip(sums) {
        for (out, sum) in out.chunks_exact_mut(4).zip(sums) {
            // SAFETY: four numbers of 64 bits.
            unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), sum) };
        }
    }
    tile
}

/// The row's numbers, moved to at most `limit` in modulus, as multiples of $2^{-24}$: to the nearest, ties to
/// even. Returns all bits that any of them has, as a number that none passes in modulus but by one.
///
/// # Panics
/// If the slices differ in length. `limit` must be at most $2^{26}$.
pub fn round_to_grid(limit: f64, row: &[f64], out: &mut [i64]) -> i64 {
    assert_eq!(row.len(), out.len(), "a place for each number");
    #[cfg(target_arch = "x86_64")]
    if crate::backend::Backend::Avx2.is_available() {
        // SAFETY: the processor has AVX2.
        return unsafe { round_avx2(limit, row, out) };
    }
    plain_round(limit, row, out)
}

/// # Safety
/// The processor has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn round_avx2(limit: f64, row: &[f64], out: &mut [i64]) -> i64 {
    plain_round(limit, row, out)
}

#[inline(always)]
fn plain_round(limit: f64, row: &[f64], out: &mut [i64]) -> i64 {
    // Adding 1.5 * 2^52 leaves the rounded number in the low bits.
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    const UNIT: f64 = (1u64 << crate::GRID_BITS) as f64;
    let mut bits = 0;
    for (out, &x) in out.iter_mut().zip(row) {
        let shifted = x.max(-limit).min(limit) * UNIT + SHIFT;
        *out = (shifted.to_bits() as i64).wrapping_sub(SHIFT.to_bits() as i64);
        bits |= *out ^ (*out >> 63);
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of numbers of so many bits, with zeros behind them.
    fn noise(dim: usize, stride: usize, rows: usize, bits: u32) -> Vec<i64> {
        let mut state = (dim + rows) as u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state as i64 >> (64 - bits)
        };
        (0..stride * rows).map(|i| if i % stride < dim { next() } else { 0 }).collect()
    }

    #[test]
    fn sums_are_those_of_pair_by_pair_on_every_processor() {
        for (dim, rows) in [(1usize, 1), (2, 3), (4, 0), (7, 129), (8, 5), (18, 33)] {
            let stride = dim.next_multiple_of(PADDING);
            let (a, b) = (noise(dim, stride, rows, 29), noise(dim, stride, rows, 27));
            let mut found = vec![0; dim * stride];
            triangle_products(dim, stride, &a, &b, &mut found);
            for i in 0..dim {
                for j in 0..=i {
                    let expected: i64 = (0..rows).map(|r| a[r * stride + i] * b[r * stride + j]).sum();
                    assert_eq!(found[i * stride + j], expected, "{dim} {rows} {i} {j}");
                }
            }
            assert_eq!(tile(&a, &b, stride, (0, 0)), plain_tile(&a, &b, stride, (0, 0)));
        }
    }

    #[test]
    fn numbers_are_rounded_to_the_nearest_ties_to_even() {
        let unit = 1.0 / 16_777_216.0;
        let row =
            [0.5 * unit, 1.5 * unit, -0.5 * unit, -1.5 * unit, 0.1, -3.25, 1e9, f64::NEG_INFINITY, 1e6 + 0.3];
        let mut found = [0; 9];
        let bits = round_to_grid(1_048_576.0, &row, &mut found);
        let expected = row.map(|x| (x.clamp(-1_048_576.0, 1_048_576.0) / unit).round_ties_even() as i64);
        assert_eq!(found, expected);
        assert!(found.iter().all(|q| q.abs() <= bits + 1) && bits < 1 << 45);
        assert_eq!(round_to_grid(8.0, &[-1.0], &mut [0]), (1 << 24) - 1);
    }

    #[test]
    fn the_largest_numbers_fit() {
        let rows = [i64::from(i32::MIN), i64::from(i32::MAX), 0, 0, 0, 0, 0, 0];
        let mut sums = [0; 16];
        triangle_products(2, PADDING, &rows, &rows, &mut sums);
        assert_eq!(
            (sums[0], sums[8], sums[9]),
            (1 << 62, -((1 << 62) - (1 << 31)), (1 << 62) - (1 << 32) + 1)
        );
    }
}
