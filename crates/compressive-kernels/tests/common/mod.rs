//! Seeded inputs shared by the integration tests.

use compressive_kernels::Projection;

/// All waves of phases but tables.
pub const WAVES: [compressive_kernels::Wave; 5] = {
    use compressive_kernels::Wave::*;
    [Fourier, Cosine, OneBit, Sawtooth, Quadratic]
};

/// A seeded generator of uniform numbers.
pub struct Uniform(pub u64);

impl Uniform {
    /// `count` numbers in [-bound, bound).
    pub fn many(&mut self, count: usize, bound: f32) -> Vec<f32> {
        let mut next = || {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((self.0 >> 40) as f32 / 8_388_608.0 - 1.0) * bound
        };
        (0..count).map(|_| next()).collect()
    }

    /// `count` signs.
    pub fn signs(&mut self, count: usize) -> Vec<f32> {
        self.many(count, 1.0).iter().map(|x| x.signum()).collect()
    }
}

/// A dense and a structured projection with dither.
pub fn projections(dim: usize, size: usize, seed: u64) -> [Projection; 2] {
    let mut numbers = Uniform(seed);
    let padded = size.next_multiple_of(Projection::padded_dim(dim));
    let dither = numbers.many(size, 0.5);
    let signs = numbers.signs(3 * padded);
    [
        Projection::dense(dim, &numbers.many(dim * size, 1.0), &dither),
        Projection::structured(dim, &signs, &numbers.many(size, 0.05), &dither),
    ]
}
