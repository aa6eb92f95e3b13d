//! The frozen random generator of the format: Philox4x32-10, counter based.
//!
//! A number is a function of (seed, purpose, index, position) and of nothing else, so frequency `j` is the
//! same whatever the sketch size, the platform, or the order of evaluation; a smaller sketch is a prefix of a
//! larger one. The generator belongs to the format version of a spec.
//!
//! Reference: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.

use crate::num::math::normal_quantile;

/// What a stream of random numbers is for; streams of different purposes never meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Purpose {
    /// Radius, direction and component of frequency `index`.
    Frequency = 1,
    /// Dither of frequency `index`.
    Dither = 2,
    /// Diagonal signs of structured block `index`.
    Signs = 3,
    /// Starting points of the coarse mixture on the pilot.
    PilotMixture = 4,
    /// Rows of the pilot that the scale is estimated on.
    PilotRows = 6,
    /// Starting points of a decoder, restart `index`.
    Decode = 5,
    /// Draws of landmark samplers (`index` 0), or landmark `index` - 1 in a box.
    Landmarks = 11,
    /// Latent rows and first weights of generative networks.
    Latent = 12,
    /// Weights of convolutional filter `index`.
    Filters = 16,
    /// Row `index` drawn from the distribution behind a sketch.
    DrawnRows = 17,
    /// Noise that tests and experiments can repeat.
    TestNoise = 7,
}

fn philox4x32_10(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    const M0: u64 = 0xD251_1F53;
    const M1: u64 = 0xCD9E_8D57;
    for _ in 0..10 {
        let p0 = M0 * u64::from(counter[0]);
        let p1 = M1 * u64::from(counter[2]);
        counter = [
            (p1 >> 32) as u32 ^ counter[1] ^ key[0],
            p1 as u32,
            (p0 >> 32) as u32 ^ counter[3] ^ key[1],
            p0 as u32,
        ];
        key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
    }
    counter
}

/// The random numbers of one (seed, purpose, index), read in order.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    key: [u32; 2],
    counter: [u32; 4],
    buffer: [u32; 4],
    used: usize,
}

impl Stream {
    pub(crate) fn new(seed: u64, purpose: Purpose, index: u64) -> Stream {
        Stream {
            key: [seed as u32, (seed >> 32) as u32],
            counter: [0, purpose as u32, index as u32, (index >> 32) as u32],
            buffer: [0; 4],
            used: 4,
        }
    }

    /// The next 32 uniform bits.
    pub(crate) fn next_u32(&mut self) -> u32 {
        if self.used == 4 {
            self.buffer = philox4x32_10(self.counter, self.key);
            self.counter[0] = self.counter[0].wrapping_add(1);
            self.used = 0;
        }
        self.used += 1;
        self.buffer[self.used - 1]
    }

    /// Uniform in the open interval (0, 1): an odd multiple of 2^-53, so neither end is ever met.
    pub(crate) fn uniform(&mut self) -> f64 {
        let high = u64::from(self.next_u32()) << 32;
        let bits = (high | u64::from(self.next_u32())) >> 12;
        (bits as f64 + 0.5) * f64::EPSILON
    }

    /// Standard normal, by inversion.
    pub(crate) fn normal(&mut self) -> f64 {
        normal_quantile(self.uniform())
    }

    /// +1 or -1.
    pub(crate) fn sign(&mut self) -> f32 {
        if self.next_u32() >> 31 == 0 { 1.0 } else { -1.0 }
    }

    /// Uniform in 0..n.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((self.uniform() * n as f64) as usize).min(n - 1)
    }
}

/// An index drawn with probability proportional to its weight; uniform if no weight is positive.
pub(crate) fn roulette(weights: &[f64], stream: &mut Stream) -> usize {
    let largest = weights.iter().copied().fold(0.0, f64::max);
    if !(largest > 0.0) {
        return stream.below(weights.len());
    }
    // Relative to the largest, so that the sum cannot overflow.
    let total: f64 = weights.iter().map(|w| w / largest).sum();
    let mut left = total * stream.uniform();
    for (i, w) in weights.iter().enumerate() {
        left -= w / largest;
        if left < 0.0 {
            return i;
        }
    }
    weights.len() - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn philox_gives_the_published_vectors() {
        // Known-answer vectors of the Random123 distribution (philox4x32, 10 rounds).
        assert_eq!(philox4x32_10([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(
            philox4x32_10([u32::MAX; 4], [u32::MAX; 2]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        assert_eq!(
            philox4x32_10([0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344], [0xa409_3822, 0x299f_31d0]),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    #[test]
    fn uniform_and_normal_have_the_right_moments() {
        // 4e5 draws: the standard error of the mean is 0.0016, of the second moment 0.0022; five of them are
        // allowed.
        let mut stream = Stream::new(7, Purpose::PilotMixture, 0);
        let n = 400_000;
        let draws: Vec<f64> = (0..n).map(|_| stream.normal()).collect();
        let mean = draws.iter().sum::<f64>() / n as f64;
        let second = draws.iter().map(|x| x * x).sum::<f64>() / n as f64;
        assert!(mean.abs() < 0.008 && (second - 1.0).abs() < 0.011, "{mean} {second}");
    }

    #[test]
    fn streams_of_other_indices_differ() {
        let first = |index| Stream::new(1, Purpose::Frequency, index).uniform();
        assert_ne!(first(0), first(1));
        assert_ne!(first(0), Stream::new(1, Purpose::Dither, 0).uniform());
    }
}
