//! Which of k centres is nearest to each of some rows, in single precision, and how near the next one is.
//!
//! The score of a centre c for a row x is $\tfrac12\lVert c\rVert^2 - x^\top c$: half the squared distance, but
//! for a part that is the row's own. Callers tell from the least two scores whether rounding could have
//! changed the answer, and look closer where it could.
//!
//! [`NEAREST_ROWS`] rows go side by side, [`NEAREST_CENTERS`] centres at a time, so that all sums stay in
//! registers. This is plain code over short arrays that the compiler turns into the vectors it may use: once
//! for any processor, once with AVX2 and FMA where they are present. Cost: d + 5 operations a row and centre.

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
    nearest_of::<false>(columns, centers, halves)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn nearest_avx2(columns: &[Lanes], centers: &[f32], halves: &[f32]) -> NearestTwo {
    nearest_of::<true>(columns, centers, halves)
}

#[inline(always)]
fn nearest_of<const FUSED: bool>(columns: &[Lanes], centers: &[f32], halves: &[f32]) -> NearestTwo {
    let d = columns.len();
    let mut found = NearestTwo {
        index: [0; NEAREST_ROWS],
        least: [f32::INFINITY; NEAREST_ROWS],
        next: [f32::INFINITY; NEAREST_ROWS],
    };
    let groups = centers.chunks_exact(NEAREST_CENTERS * d).zip(halves.chunks_exact(NEAREST_CENTERS));
    for (group, (centers, halves)) in groups.enumerate() {
        let mut scores = [[0.0f32; NEAREST_ROWS]; NEAREST_CENTERS];
        for l in 0..NEAREST_CENTERS {
            scores[l] = [halves[l]; NEAREST_ROWS];
        }
        let (a, rest) = centers.split_at(d);
        let (b, rest) = rest.split_at(d);
        let (c, e) = rest.split_at(d);
        for ((((x, a), b), c), e) in columns.iter().zip(a).zip(b).zip(c).zip(e) {
            let factors = [*a, *b, *c, *e];
            for l in 0..NEAREST_CENTERS {
                for i in 0..NEAREST_ROWS {
                    scores[l][i] = if FUSED {
                        (-factors[l]).mul_add(x[i], scores[l][i])
                    } else {
                        scores[l][i] - factors[l] * x[i]
                    };
                }
            }
        }
        for l in 0..NEAREST_CENTERS {
            let number = (group * NEAREST_CENTERS + l) as u32;
            for i in 0..NEAREST_ROWS {
                let (score, least, next) = (scores[l][i], found.least[i], found.next[i]);
                let closer = score < least;
                let larger = if least > score { least } else { score };
                found.next[i] = if next < larger { next } else { larger };
                found.least[i] = if closer { score } else { least };
                found.index[i] = if closer { number } else { found.index[i] };
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(len: usize, seed: u32) -> Vec<f32> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / 8_388_608.0 - 1.0
        };
        (0..len).map(|_| next()).collect()
    }

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
            for found in
                [nearest_two(&columns, &centers, &halves), nearest_of::<false>(&columns, &centers, &halves)]
            {
                for i in 0..NEAREST_ROWS {
                    let score = |l: usize| -> f64 {
                        let product = |c: usize| f64::from(columns[c][i]) * f64::from(centers[l * d + c]);
                        f64::from(halves[l]) - (0..d).map(product).sum::<f64>()
                    };
                    let mut scores: Vec<(f64, usize)> = (0..k).map(|l| (score(l), l)).collect();
                    scores.sort_by(|a, b| a.0.total_cmp(&b.0));
                    assert_eq!(found.index[i] as usize, scores[0].1);
                    assert!((f64::from(found.least[i]) - scores[0].0).abs() < 1e-5);
                    assert!((f64::from(found.next[i]) - scores[1].0).abs() < 1e-5);
                }
            }
        }
    }
}
