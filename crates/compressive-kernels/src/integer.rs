//! Exact sums of products of pairs of integer columns: the second moments of a table on a grid.
//!
//! $$ s_{ij} \mathrel{+}= \sum_r a_{ir}\, b_{jr}, \qquad j \le i $$
//!
//! Products of two 32-bit numbers are summed in 64 bits; the caller sees to it that no sum leaves them.
//! Integers, so the order is free and every processor gives the same bits. Cost: d (d + 1) / 2 multiply-adds
//! a row, four of them an instruction with AVX2.

/// Columns of a tile: 4 x 2 vectors of sums stay in registers.
const TILE_A: usize = 4;
const TILE_B: usize = 2;

/// Columns of integers, each of `rows` consecutive numbers; column i begins at `i * stride`.
#[derive(Clone, Copy, Debug)]
pub struct Columns<'a> {
    /// The numbers.
    pub values: &'a [i32],
    /// Distance between the beginnings of two columns.
    pub stride: usize,
    /// Numbers of each column that count.
    pub rows: usize,
}

impl<'a> Columns<'a> {
    fn column(&self, i: usize) -> &'a [i32] {
        &self.values[i * self.stride..][..self.rows]
    }
}

/// Adds $\sum_r a_{ir} b_{jr}$ to the entries of the lower triangle of `dim` columns, by rows: (0, 0),
/// (1, 0), (1, 1) ...
///
/// # Panics
/// If the columns differ in their number of rows, or a slice is too short.
pub fn triangle_products(dim: usize, a: Columns<'_>, b: Columns<'_>, sums: &mut [i64]) {
    assert_eq!(sums.len(), dim * (dim + 1) / 2, "an entry for each pair");
    for i in (0..dim).step_by(TILE_A) {
        // Beyond the last column the tile repeats it, and those sums are not used.
        let left: [&[i32]; TILE_A] = std::array::from_fn(|p| a.column((i + p).min(dim - 1)));
        for j in (0..(i + TILE_A).min(dim)).step_by(TILE_B) {
            let right: [&[i32]; TILE_B] = std::array::from_fn(|q| b.column((j + q).min(dim - 1)));
            for (p, row) in tile(left, right).iter().enumerate() {
                for (q, sum) in row.iter().enumerate().filter(|(q, _)| i + p < dim && j + q <= i + p) {
                    sums[(i + p) * (i + p + 1) / 2 + j + q] += sum;
                }
            }
        }
    }
}

/// Adds $\sum_r a_{ir} b_{ir}$ to the entry of each column.
///
/// # Panics
/// As [`triangle_products`].
pub fn diagonal_products(a: Columns<'_>, b: Columns<'_>, sums: &mut [i64]) {
    for (i, sum) in sums.iter_mut().enumerate() {
        *sum += tile([a.column(i)], [b.column(i)])[0][0];
    }
}

/// Sums of products of each left column with each right one.
fn tile<const P: usize, const Q: usize>(left: [&[i32]; P], right: [&[i32]; Q]) -> [[i64; Q]; P] {
    let rows = left[0].len();
    assert!(left.iter().chain(&right).all(|column| column.len() == rows), "as many rows in each");
    #[cfg(target_arch = "x86_64")]
    if crate::backend::Backend::Avx2.is_available() {
        // SAFETY: the processor has AVX2, and all columns have the same number of rows.
        return unsafe { tile_avx2(left, right) };
    }
    plain_tile(left, right, 0)
}

/// The products of the rows from `start` on.
fn plain_tile<const P: usize, const Q: usize>(
    left: [&[i32]; P],
    right: [&[i32]; Q],
    start: usize,
) -> [[i64; Q]; P] {
    left.map(|a| {
        right.map(|b| a[start..].iter().zip(&b[start..]).map(|(a, b)| i64::from(*a) * i64::from(*b)).sum())
    })
}

/// # Safety
/// The processor has AVX2, and all columns are as long as the first.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn tile_avx2<const P: usize, const Q: usize>(left: [&[i32]; P], right: [&[i32]; Q]) -> [[i64; Q]; P] {
    use std::arch::x86_64::{
        _mm_loadu_si128, _mm256_add_epi64, _mm256_cvtepi32_epi64, _mm256_mul_epi32, _mm256_setzero_si256,
        _mm256_storeu_si256,
    };
    let whole = left[0].len() / 4 * 4;
    let mut sums = [[_mm256_setzero_si256(); Q]; P];
    for r in (0..whole).step_by(4) {
        // SAFETY: r + 4 numbers are in every column.
        let load =
            |column: &[i32]| unsafe { _mm256_cvtepi32_epi64(_mm_loadu_si128(column.as_ptr().add(r).cast())) };
        let (a, b) = (left.map(load), right.map(load));
        for p in 0..P {
            for q in 0..Q {
                sums[p][q] = _mm256_add_epi64(sums[p][q], _mm256_mul_epi32(a[p], b[q]));
            }
        }
    }
    let mut totals = plain_tile(left, right, whole);
    for p in 0..P {
        for q in 0..Q {
            let mut lanes = [0i64; 4];
            // SAFETY: four numbers of 64 bits.
            unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), sums[p][q]) };
            totals[p][q] += lanes.iter().sum::<i64>();
        }
    }
    totals
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(len: usize, bits: u32) -> Vec<i32> {
        let mut state = len as u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state as i64 >> (64 - bits)) as i32
        };
        (0..len).map(|_| next()).collect()
    }

    #[test]
    fn sums_are_those_of_pair_by_pair_on_every_processor() {
        for (dim, rows, stride) in [(1, 1, 1), (2, 3, 5), (3, 8, 8), (7, 129, 130), (18, 33, 40)] {
            let (a, b) = (noise(dim * stride, 29), noise(dim * stride + 1, 28));
            let columns = |values| Columns { values, stride, rows };
            let mut expected = Vec::new();
            for i in 0..dim {
                for j in 0..=i {
                    let products =
                        (0..rows).map(|r| i64::from(a[i * stride + r]) * i64::from(b[j * stride + r]));
                    expected.push(5 + products.sum::<i64>());
                }
            }
            let mut found = vec![5; expected.len()];
            triangle_products(dim, columns(&a), columns(&b), &mut found);
            assert_eq!(found, expected, "{dim} {rows}");
            let (left, right) = (columns(&a).column(0), columns(&b).column(0));
            assert_eq!(tile([left], [right]), plain_tile([left], [right], 0));
            let mut diagonal = vec![5; dim];
            diagonal_products(columns(&a), columns(&b), &mut diagonal);
            let own: Vec<i64> = (0..dim).map(|i| expected[i * (i + 3) / 2]).collect();
            assert_eq!(diagonal, own);
        }
    }

    #[test]
    fn the_largest_numbers_fit() {
        let a = [i32::MIN + 1, i32::MAX];
        let columns = Columns { values: &a, stride: 2, rows: 1 };
        let mut sums = [0];
        triangle_products(1, columns, columns, &mut sums);
        assert_eq!(sums, [i64::from(i32::MAX).pow(2)]);
    }
}
