//! Which of k centres is nearest to each of some rows, in single precision, and how near the next one is.
//!
//! The score of a centre c for a row x is $\tfrac12\lVert c\rVert^2 - x^\top c$: half the squared distance, but
//! for a part that is the row's own. Callers tell from the least two scores whether rounding could have
//! changed the answer, and look closer where it could.
//!
//! [`NEAREST_ROWS`] rows go side by side and, with AVX2 and FMA, [`NEAREST_CENTERS`] centres at a time, whose sums
//! stay in registers. Cost: d + 5 operations a row and centre.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    _CMP_LT_OQ, _mm256_blendv_ps, _mm256_castps_si256, _mm256_castsi256_ps, _mm256_cmp_ps, _mm256_fnmadd_ps,
    _mm256_loadu_ps, _mm256_max_ps, _mm256_min_ps, _mm256_set1_epi32, _mm256_set1_ps, _mm256_setzero_ps,
    _mm256_storeu_ps, _mm256_storeu_si256,
};

/// Rows of a block.
pub const NEAREST_ROWS: usize = 16;
/// The number of centres is a multiple of this.
pub const NEAREST_CENTERS: usize = 4;

/// One number for each row of a block.
type Lanes = [f32; NEAREST_ROWS];

/// The least two scores of each row of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NearestTwo {
    /// Which centre has the least score.
    pub index: [u32; NEAREST_ROWS],
    /// The least score.
    pub least: [f32; NEAREST_ROWS],
    /// The least score of all other centres.
    pub next: [f32; NEAREST_ROWS],
}

/// The least two scores of a block's rows, whose d columns are given, for centres (k rows of d) and halves of
/// their squares (k). Centres that are there to make k a multiple have a half of infinity. All
/// scores must be numbers: callers keep away from overflow.
///
/// # Panics
/// If the slices do not fit each other, or k is not a multiple of [`NEAREST_CENTERS`].
pub fn nearest_two(columns: &[[f32; NEAREST_ROWS]], centers: &[f32], halves: &[f32]) -> NearestTwo {
    let fits = centers.len() == halves.len() * columns.len() && halves.len().is_multiple_of(NEAREST_CENTERS);
    assert!(fits && !columns.is_empty(), "centres of the rows' columns, in fours");
    #[cfg(target_arch = "x86_64")]
    if crate::backend::Backend::Avx2.is_available() {
        // SAFETY: the processor has AVX2 and FMA.
        return unsafe { nearest_avx2(columns, centers, halves) };
    }
    nearest_of(columns, centers, halves)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn nearest_avx2(columns: &[Lanes], centers: &[f32], halves: &[f32]) -> NearestTwo {
    let d = columns.len();
    let infinite = _mm256_set1_ps(f32::INFINITY);
    let (mut least, mut next, mut index) = ([infinite; 2], [infinite; 2], [_mm256_setzero_ps(); 2]);
    let groups = centers.chunks_exact(NEAREST_CENTERS * d).zip(halves.chunks_exact(NEAREST_CENTERS));
    for (group, (centers, halves)) in groups.enumerate() {
        let mut scores = [[infinite; 2]; NEAREST_CENTERS];
        for (score, half) in scores.iter_mut().zip(halves) {
            *score = [_mm256_set1_ps(*half); 2];
        }
        let (a, rest) = centers.split_at(d);
        let (b, rest) = rest.split_at(d);
        let (c, e) = rest.split_at(d);
        for ((((x, a), b), c), e) in columns.iter().zip(a).zip(b).zip(c).zip(e) {
            // SAFETY: a column has two vectors of eight.
            let x = unsafe { [_mm256_loadu_ps(x.as_ptr()), _mm256_loadu_ps(x.as_ptr().add(8))] };
            for (scores, factor) in scores.iter_mut().zip([*a, *b, *c, *e]) {
                let factor = _mm256_set1_ps(factor);
                scores[0] = _mm256_fnmadd_ps(factor, x[0], scores[0]);
                scores[1] = _mm256_fnmadd_ps(factor, x[1], scores[1]);
            }
        }
        for (l, scores) in scores.into_iter().enumerate() {
            let number = _mm256_castsi256_ps(_mm256_set1_epi32((group * NEAREST_CENTERS + l) as i32));
            for (v, score) in scores.into_iter().enumerate() {
                let closer = _mm256_cmp_ps::<_CMP_LT_OQ>(score, least[v]);
                next[v] = _mm256_min_ps(next[v], _mm256_max_ps(least[v], score));
                index[v] = _mm256_blendv_ps(index[v], number, closer);
                least[v] = _mm256_min_ps(score, least[v]);
            }
        }
    }
    let mut found =
        NearestTwo { index: [0; NEAREST_ROWS], least: [0.0; NEAREST_ROWS], next: [0.0; NEAREST_ROWS] };
    for v in 0..2 {
        // SAFETY: each array has two vectors of eight.
        unsafe {
            _mm256_storeu_si256(found.index.as_mut_ptr().add(8 * v).cast(), _mm256_castps_si256(index[v]));
            _mm256_storeu_ps(found.least.as_mut_ptr().add(8 * v), least[v]);
            _mm256_storeu_ps(found.next.as_mut_ptr().add(8 * v), next[v]);
        }
    }
    found
}

/// The same in plain code.
fn nearest_of(columns: &[Lanes], centers: &[f32], halves: &[f32]) -> NearestTwo {
    let mut found = NearestTwo {
        index: [0; NEAREST_ROWS],
        least: [f32::INFINITY; NEAREST_ROWS],
        next: [f32::INFINITY; NEAREST_ROWS],
    };
    for (number, (center, half)) in centers.chunks_exact(columns.len()).zip(halves).enumerate() {
        let mut scores = [*half; NEAREST_ROWS];
        for (x, c) in columns.iter().zip(center) {
            scores.iter_mut().zip(x).for_each(|(score, x)| *score -= c * x);
        }
        for (i, score) in scores.into_iter().enumerate() {
            let (least, next) = (found.least[i], found.next[i]);
            let larger = if least > score { least } else { score };
            found.next[i] = if next < larger { next } else { larger };
            found.least[i] = if score < least { score } else { least };
            found.index[i] = if score < least { number as u32 } else { found.index[i] };
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::numbers;

    #[test]
    fn the_least_two_scores_are_those_of_the_definition() {
        for (d, k) in [(1, 4), (3, 8), (10, 100), (33, 12)] {
            let (rows, mut centers) = (numbers(d * NEAREST_ROWS, 1), numbers(k * d, 2));
            let columns: Vec<Lanes> =
                rows.chunks_exact(NEAREST_ROWS).map(|c| c.try_into().unwrap()).collect();
            let mut halves: Vec<f32> =
                centers.chunks_exact(d).map(|c| 0.5 * c.iter().map(|x| x * x).sum::<f32>()).collect();
            centers[(k - 1) * d..].fill(0.0);
            halves[k - 1] = f32::INFINITY;
            for found in [nearest_two(&columns, &centers, &halves), nearest_of(&columns, &centers, &halves)] {
                for (i, index) in found.index.iter().enumerate() {
                    let score = |l: usize| -> f64 {
                        let product = |c: usize| f64::from(columns[c][i]) * f64::from(centers[l * d + c]);
                        f64::from(halves[l]) - (0..d).map(product).sum::<f64>()
                    };
                    let mut scores: Vec<(f64, usize)> = (0..k).map(|l| (score(l), l)).collect();
                    scores.sort_by(|a, b| a.0.total_cmp(&b.0));
                    assert_eq!(*index as usize, scores[0].1);
                    assert!((f64::from(found.least[i]) - scores[0].0).abs() < 1e-5);
                    assert!((f64::from(found.next[i]) - scores[1].0).abs() < 1e-5);
                }
            }
        }
    }
}
