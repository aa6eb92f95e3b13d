//! The largest error of kernel estimates over all pairs of a set of rows, after so many features.

use compressive::features::{KernelPair, rows};
use compressive::{FrequencyLaw, RowsRef, Scratch, SketchSpec, Wave, Waves};

use crate::error::Result;
use crate::experiment::fits;

/// An estimate: the features of both sides, at the same frequencies.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub sides: [Wave; 2],
    /// Both blocks, which are the real and imaginary parts of the complex extension (\[Sch21\] eq. 3.34), or
    /// the first alone.
    pub complex: bool,
    pub dither: bool,
}

impl Pair {
    /// Real features with dither.
    pub fn real(a: Wave, b: Wave) -> Pair {
        Pair { sides: [a, b], complex: false, dither: true }
    }

    fn blocks(&self) -> usize {
        if self.complex { 2 } else { 1 }
    }
}

/// Rows, and the width of a Gaussian kernel.
pub(super) struct Set {
    pub values: Vec<f64>,
    pub dim: usize,
    pub width: f64,
}

impl Set {
    fn n_rows(&self) -> usize {
        self.values.len() / self.dim
    }

    fn kernel(&self, i: usize, j: usize) -> f64 {
        let row = |i: usize| &self.values[i * self.dim..][..self.dim];
        let square: f64 = row(i).iter().zip(row(j)).map(|(a, b)| (a - b).powi(2)).sum();
        (-0.5 * square / (self.width * self.width)).exp()
    }

    /// The blocks of a feature: each n rows of so many entries.
    fn blocks(&self, wave: &Wave, pair: &Pair, size: usize, seed: u64) -> Result<Vec<Vec<f32>>> {
        let waves = Waves { dither: pair.dither.into(), ..Waves::new(wave.clone(), FrequencyLaw::Gaussian) };
        let mut spec = SketchSpec::new(fits::columns(self.dim), waves, self.width, size);
        spec.seed = seed;
        let operator = spec.build()?;
        let mut out = Vec::new();
        rows(&operator, RowsRef::F64(&self.values), &mut out, &mut Scratch::default())?;
        let block = |block: usize| {
            out.chunks_exact(operator.sketch_len())
                .flat_map(|row| row[block * size..][..size].to_vec())
                .collect()
        };
        Ok((0..pair.blocks()).map(block).collect())
    }

    /// The largest absolute errors over all ordered pairs of rows, at every look: numbers of real entries a
    /// row, growing.
    ///
    /// `errors` makes them of the estimates and the kernel of a pair of rows. Cost: n^2 times the last look,
    /// for every estimate.
    pub fn largest<const P: usize, const E: usize>(
        &self,
        pairs: [&Pair; P],
        looks: &[usize],
        seed: u64,
        errors: impl Fn([f64; P], f64) -> [f64; E],
    ) -> Result<[Vec<f64>; E]> {
        let n = self.n_rows();
        let most = looks.last().copied().unwrap_or(0);
        let sides = pairs.map(|pair| Sides::new(self, pair, most, seed));
        let sides: Vec<Sides> = sides.into_iter().collect::<Result<_>>()?;
        let mut largest: [Vec<f64>; E] = std::array::from_fn(|_| vec![0.0; looks.len()]);
        for (i, j) in (0..n * n).map(|at| (at / n, at % n)) {
            let exact = self.kernel(i, j);
            let mut sums = [0.0; P];
            let mut first = 0;
            for (look, &entries) in looks.iter().enumerate() {
                let estimates = std::array::from_fn(|p| {
                    sums[p] += sides[p].product((i, j), first, entries);
                    sides[p].factor * sums[p] / entries as f64
                });
                for (all, error) in largest.iter_mut().zip(errors(estimates, exact)) {
                    all[look] = all[look].max(error.abs());
                }
                first = entries;
            }
        }
        Ok(largest)
    }
}

/// The features of all rows on both sides of an estimate.
struct Sides {
    blocks: [Vec<Vec<f32>>; 2],
    size: usize,
    factor: f64,
}

impl Sides {
    fn new(set: &Set, pair: &Pair, entries: usize, seed: u64) -> Result<Sides> {
        let size = entries / pair.blocks();
        let [a, b] = &pair.sides;
        let blocks = [set.blocks(a, pair, size, seed)?, set.blocks(b, pair, size, seed)?];
        Ok(Sides { blocks, size, factor: KernelPair::new(a, b)?.factor() })
    }

    /// The inner product of two rows' entries from one look to the next.
    fn product(&self, (i, j): (usize, usize), from: usize, to: usize) -> f64 {
        let n_blocks = self.blocks[0].len();
        let (from, to) = (from / n_blocks, to / n_blocks);
        let (i, j) = (i * self.size, j * self.size);
        let blocks = self.blocks[0].iter().zip(&self.blocks[1]);
        blocks.map(|(a, b)| f64::from(dot(&a[i + from..i + to], &b[j + from..j + to]))).sum()
    }
}

/// An inner product with eight sums side by side, which processors add at once.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (a_parts, b_parts) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f32 = a_parts.remainder().iter().zip(b_parts.remainder()).map(|(a, b)| a * b).sum();
    let mut sums = [0.0f32; 8];
    for (a, b) in a_parts.zip(b_parts) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += a * b);
    }
    rest + sums.iter().sum::<f32>()
}

/// The first look at which at least half of the draws have an error of at most `success`; NaN if none has.
/// `errors` is by draw, then look.
pub(super) fn transition(errors: &[&[f64]], looks: &[usize], success: f64) -> f64 {
    let enough = |at: &usize| 2.0 * share_at(errors, *at, success) >= 1.0;
    (0..looks.len()).find(enough).map_or(f64::NAN, |at| looks[at] as f64)
}

/// Share of draws with an error of at most `success` at a look.
pub(super) fn share_at(errors: &[&[f64]], look: usize, success: f64) -> f64 {
    errors.iter().filter(|errors| errors[look] <= success).count() as f64 / errors.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use compressive_data::Rng;

    #[test]
    fn inner_products_are_those_of_all_entries() {
        let values: Vec<f32> = (0..21u8).map(f32::from).collect();
        assert_eq!(dot(&values, &values), 2870.0);
        assert_eq!(dot(&values[..3], &values[..3]), 5.0);
    }

    #[test]
    fn errors_fall_with_the_root_of_the_number_of_features() {
        let mut rng = Rng::new(1);
        let set = Set { values: (0..60).map(|_| rng.normal()).collect(), dim: 3, width: 2.0 };
        let looks = [100, 1600];
        for (a, complex, dither) in [
            (Wave::Cosine, false, true),
            (Wave::OneBit, false, true),
            (Wave::Sawtooth, true, true),
            (Wave::Fourier, true, false),
        ] {
            let other = if complex { Wave::Fourier } else { Wave::Cosine };
            let pair = Pair { sides: [a, other], complex, dither };
            let mean = |look: usize| {
                (0..20)
                    .map(|seed| {
                        set.largest([&pair], &looks, seed, |[e], exact| [e - exact]).expect("features")[0]
                            [look]
                    })
                    .sum::<f64>()
            };
            let ratio = mean(0) / mean(1);
            // Four, up to the noise of twenty draws.
            assert!((3.0..5.5).contains(&ratio), "{pair:?}: {ratio}");
        }
    }

    #[test]
    fn the_transition_is_the_first_look_where_half_succeed() {
        let errors: [&[f64]; 2] = [&[0.9, 0.1, 0.05], &[0.9, 0.9, 0.1]];
        assert_eq!(transition(&errors, &[10, 20, 30], 0.2), 20.0);
        assert!(transition(&errors, &[10, 20, 30], 0.01).is_nan());
    }
}
