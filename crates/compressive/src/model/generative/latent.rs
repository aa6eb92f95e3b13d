//! Latent rows: independent ones to draw a sample from, and evenly spread ones to train on.

use crate::num::math::normal_quantile;
use crate::num::random::{Purpose, Stream};

/// Streams of a purpose: training steps from 0, first weights, samples.
pub(crate) const WEIGHT_STREAMS: u64 = 1 << 39;
/// See [`WEIGHT_STREAMS`].
pub(crate) const SAMPLE_STREAMS: u64 = 1 << 40;
/// See [`WEIGHT_STREAMS`]: the rows that a trained network is measured with.
pub(crate) const MEASURE_STREAMS: u64 = 1 << 38;

/// Fills `out` with independent standard normals that depend on (seed, index) alone.
pub(crate) fn normals(seed: u64, index: u64, out: &mut [f32]) {
    let mut stream = Stream::new(seed, Purpose::Latent, index);
    out.iter_mut().for_each(|x| *x = stream.normal() as f32);
}

/// A randomly shifted Kronecker lattice, mapped to standard normals: row i is $\Phi^{-1}(\{s + i \alpha\})$
/// in each coordinate, s uniform, $\alpha_c = g^{-c}$ with $g$ the root of $g^{p+1} = g + 1$ (Roberts 2018;
/// the golden ratio for p = 1).
///
/// Each row alone is $N(0, I_p)$, so that means over the rows are unbiased; together they leave no gaps, so
/// that means of smooth functions vary far less than those of independent rows.
#[derive(Clone, Debug)]
pub(crate) struct Lattice {
    shift: Vec<f64>,
    step: Vec<f64>,
}

impl Lattice {
    /// The lattice of a (seed, index).
    pub fn new(p: usize, seed: u64, index: u64) -> Lattice {
        let mut stream = Stream::new(seed, Purpose::Latent, index);
        let root = root(p);
        let mut power = 1.0;
        let step = (0..p).map(|_| {
            power /= root;
            power
        });
        let step = step.collect();
        Lattice { shift: (0..p).map(|_| stream.uniform()).collect(), step }
    }

    /// Rows `first..` of the lattice, as many as `out` has room for.
    pub fn fill(&self, first: usize, out: &mut [f32]) {
        for (i, row) in out.chunks_exact_mut(self.step.len()).enumerate() {
            for ((x, shift), step) in row.iter_mut().zip(&self.shift).zip(&self.step) {
                let place = shift + (first + i) as f64 * step;
                // The ends of the interval have no quantile; a lattice hardly ever meets them.
                *x = normal_quantile((place - place.floor()).clamp(1e-12, 1.0 - 1e-12)) as f32;
            }
        }
    }
}

/// The root above 1 of $g^{p+1} = g + 1$, by Newton's method from the right of it.
fn root(p: usize) -> f64 {
    let mut g = 1.0 + 1.0 / p as f64;
    for _ in 0..20 {
        let power = (0..p).fold(1.0, |product, _| product * g);
        g -= (power * g - g - 1.0) / ((p + 1) as f64 * power - 1.0);
    }
    g
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_roots_are_the_golden_and_the_plastic_ratio() {
        assert!((root(1) - 0.5 * (1.0 + 5.0f64.sqrt())).abs() < 1e-14);
        assert!((root(2) - 1.324_717_957_244_746).abs() < 1e-14);
        assert!((1.0..1.1).contains(&root(50)) && root(3000).is_finite());
    }

    #[test]
    fn means_over_a_lattice_are_unbiased_and_vary_less_than_over_independent_rows() {
        // cos(x + y + z) has the mean exp(-3/2) = 0.2231 under N(0, I_3) and a standard deviation of 0.67:
        // over 500 independent rows the mean varies by 0.030.
        let mean = |index: u64| {
            let mut rows = vec![0.0; 1500];
            Lattice::new(3, 1, index).fill(0, &mut rows);
            rows.chunks_exact(3).map(|r| f64::from(r[0] + r[1] + r[2]).cos()).sum::<f64>() / 500.0
        };
        let all: Vec<f64> = (0..200).map(mean).collect();
        let centre = all.iter().sum::<f64>() / 200.0;
        let deviation = (all.iter().map(|x| (x - centre).powi(2)).sum::<f64>() / 200.0).sqrt();
        assert!(deviation < 0.012, "{deviation}");
        // Four standard errors.
        assert!((centre - (-1.5f64).exp()).abs() < 4.0 * deviation / 200.0f64.sqrt(), "{centre}");
    }
}
