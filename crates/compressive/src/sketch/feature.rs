//! The features: what becomes of a phase, or of a projection, before it is summed.
//!
//! A periodic feature is a real $2\pi$-periodic function $f$ with values in $[-1, 1]$. For every phase $t$ the sketch holds $f(t)$ in its first
//! block and $f(t - \pi/2)$ in its second (`cosine` has the first block only), so that for $f = \cos$ they are $\cos t$ and $\sin t$.
//!
//! | name | $f(t)$ | gain |
//! |---|---|---|
//! | `fourier` | $\cos t$ | 1 |
//! | `one-bit` | $\operatorname{sign} \cos t$ | $4/\pi$ |
//! | `sawtooth` | $\operatorname{mod}(t - \pi/2)$, $\operatorname{mod}(t) = 2\,\mathrm{frac}(t / 2\pi) - 1$ | $2/\pi$ |
//! | `cosine` | $\cos t$, first block only | 1 |
//! | `periodic` | a table, linear in between | computed |
//!
//! The feature `quadratic` is not periodic: of the projection $t = \omega^\top u$, scaled to $[-1, 1]$ over the data box, the sketch holds $t^2$ in its first block and $t$ in
//! its second, the random second and first moments of \[GBKT17\] section 3, from which principal components are learned.
//!
//! `nystrom` is no function of a phase: its entries are Gaussian kernel values at the landmarks of the spec ([`crate::design::landmark_rules`]), in one block. The methods here that ask for
//! a phase t take the logarithm of such a value.
//!
//! `conv` is for images: the phases are those of random convolutional activations instead of the columns ([`ImageShape`]), and their wave is $\cos$. Only classifiers are learned from it.
//!
//! Asymmetric learning (\[SJ22\]; \[Sch21\] chapter 4): a sketch made with $f$ is decoded as if made with its first harmonic. With
//! $f(t) = \sum_k F_k e^{ikt}$, the complex feature $f(t) + i f(t - \pi/2)$ has first coefficient $G_1 = 2 F_1$ (\[Sch21\] lemma A.2):
//! dividing the sketch by the gain $|G_1|$, and turning it back by the angle of $G_1$, gives an estimate of the Fourier sketch.
//!
//! A table with a mean (bits 0 and 1, an offset, an uneven duty cycle) adds the constant $F_0 (1 + i)$ to every entry, whatever the
//! rows are. The theory wants $F_0 = 0$: [`Feature::centred`] subtracts it before anything is learned.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::sketch::conv::ImageShape;

/// The function applied to every phase. See the module's table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Feature {
    /// $\cos t$ and $\sin t$.
    Fourier,
    /// The signs of $\cos t$ and of $\sin t$: two bits a phase.
    OneBit,
    /// The normalised modulo map, a quarter turn late so that its first harmonic is in phase with the cosine (\[Sch21\] eq. 3.32).
    Sawtooth,
    /// $\cos t$ alone; meant to be used with dither.
    Cosine,
    /// Any periodic function: values at phases $2\pi i / L$, linear in between.
    Periodic {
        /// The L values of one period, each in [-1, 1].
        table: Vec<f64>,
    },
    /// The square of the projection, and the projection itself: for principal components.
    Quadratic {
        /// Complex directions: the first block holds $|\omega^H u|^2$, the second the real part's projection.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        complex: bool,
    },
    /// Gaussian kernel values at landmarks (\[CCDR22\]); goes with [`FrequencyLaw::Landmarks`](crate::FrequencyLaw::Landmarks).
    Nystrom,
    /// $\cos t$ and $\sin t$ of random convolutional activations of an image (\[Sch21\] section 6.1), whose values are the columns in the order row, column, channel.
    Conv {
        /// Rows of pixels.
        height: u32,
        /// Columns of pixels.
        width: u32,
        /// Values of a pixel.
        channels: u32,
    },
}

/// The smooth feature that stands for another one in learning, see [`Feature::surrogate`].
#[derive(Clone, Debug, PartialEq)]
pub struct Surrogate {
    /// The smooth feature.
    pub feature: Feature,
    /// $|G_1|$: what the sketch is divided by.
    pub gain: f64,
    /// The angle of $G_1$ in radians: what the sketch is turned back by. Zero for all but tables.
    pub angle: f64,
    /// $F_0$, the mean of the feature over a turn: what is subtracted from every entry first. Zero for all but tables.
    pub offset: f64,
}

impl Feature {
    /// Every periodic feature without parameters, for tests and help texts.
    pub const ALL: [Feature; 4] = [Feature::Fourier, Feature::OneBit, Feature::Sawtooth, Feature::Cosine];

    /// The stable name used in files and on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            Feature::Fourier => "fourier",
            Feature::OneBit => "one-bit",
            Feature::Sawtooth => "sawtooth",
            Feature::Cosine => "cosine",
            Feature::Periodic { .. } => "periodic",
            Feature::Quadratic { .. } => "quadratic",
            Feature::Nystrom => "nystrom",
            Feature::Conv { .. } => "conv",
        }
    }

    /// The shape of the images that the feature is for; none for features of any table.
    pub fn image(&self) -> Option<ImageShape> {
        match *self {
            Feature::Conv { height, width, channels } => Some(ImageShape {
                height: height as usize,
                width: width as usize,
                channels: channels as usize,
            }),
            _ => None,
        }
    }

    /// Why nothing but a classifier can be learned from the feature, or told by it; none if more can be.
    pub(crate) fn only_classifies(&self) -> Option<&'static str> {
        let why = "a sketch of the feature `conv` tells classes of images apart and nothing else: \
                   its entries are no waves of the columns";
        self.image().map(|_| why)
    }

    /// Whether the entries are squares of projections instead of waves of phases.
    pub fn is_quadratic(&self) -> bool {
        matches!(self, Feature::Quadratic { .. })
    }

    /// Whether the entries are kernel values at landmarks instead of waves of phases.
    pub fn is_kernel(&self) -> bool {
        *self == Feature::Nystrom
    }

    /// Real projections behind one entry of the first block: 2 for complex directions, else 1.
    pub fn parts(&self) -> usize {
        if *self == (Feature::Quadratic { complex: true }) { 2 } else { 1 }
    }

    /// Blocks of m entries in the sketch: 2, or 1 for `cosine` and `nystrom`.
    pub fn blocks(&self) -> usize {
        if matches!(self, Feature::Cosine | Feature::Nystrom) { 1 } else { 2 }
    }

    /// $f(t)$ in double precision, t in radians; for `quadratic` $t^2$ of a projection t.
    pub fn value(&self, t: f64) -> f64 {
        match self {
            Feature::Fourier | Feature::Cosine | Feature::Conv { .. } => t.cos(),
            // At the jumps, where the cosine is zero, the sign is +1.
            Feature::OneBit => {
                if t.cos() >= 0.0 {
                    1.0
                } else {
                    -1.0
                }
            }
            Feature::Sawtooth => 2.0 * fraction(t / TAU - 0.25) - 1.0,
            Feature::Periodic { table } => interpolate(table, fraction(t / TAU)),
            Feature::Quadratic { .. } => t * t,
            Feature::Nystrom => t.exp(),
        }
    }

    /// $f'(t)$, t in radians; at a jump, the derivative beside it. For `quadratic` $2t$.
    pub fn derivative(&self, t: f64) -> f64 {
        match self {
            Feature::Fourier | Feature::Cosine | Feature::Conv { .. } => -t.sin(),
            Feature::OneBit => 0.0,
            Feature::Sawtooth => 1.0 / PI,
            Feature::Periodic { table } => {
                let n = table.len();
                let i = ((fraction(t / TAU) * n as f64) as usize).min(n - 1);
                (table[(i + 1) % n] - table[i]) * n as f64 / TAU
            }
            Feature::Quadratic { .. } => 2.0 * t,
            Feature::Nystrom => t.exp(),
        }
    }

    /// The smooth feature to learn with, and the gain and angle that bring a sketch made with `self` to it.
    ///
    /// For a table of L values the coefficient is that of the piecewise linear function,
    /// $F_1 = \tfrac1L \sum_i v_i e^{-2\pi i\,i/L} \cdot \operatorname{sinc}^2(\pi / L)$. Cost: O(L). `quadratic` is smooth and stands for itself.
    pub fn surrogate(&self) -> Surrogate {
        let with_gain = |feature, gain| Surrogate { feature, gain, angle: 0.0, offset: 0.0 };
        match self {
            Feature::OneBit => with_gain(Feature::Fourier, 4.0 / PI),
            Feature::Sawtooth => with_gain(Feature::Fourier, 2.0 / PI),
            Feature::Periodic { table } => {
                let (re, im) = first_harmonic(table);
                let mean = table.iter().sum::<f64>() / table.len() as f64;
                let offset = if mean.abs() < MEAN_MIN { 0.0 } else { mean };
                let (gain, angle) = (2.0 * re.hypot(im), im.atan2(re));
                Surrogate { feature: Feature::Fourier, gain, angle, offset }
            }
            Feature::Fourier
            | Feature::Cosine
            | Feature::Nystrom
            | Feature::Conv { .. }
            | Feature::Quadratic { .. } => with_gain(self.clone(), 1.0),
        }
    }

    /// Entries of a sketch's mean, or of a row, less the feature's own mean $F_0$: what the rows have to do with.
    pub fn centred(&self, entries: &[f64]) -> Vec<f64> {
        let offset = self.surrogate().offset;
        entries.iter().map(|z| z - offset).collect()
    }

    /// Modulus $|z_j|$ of each centred complex entry of a sketch's mean; without a second block, the absolute value.
    pub fn modulus(&self, mean: &[f64]) -> Vec<f64> {
        let centred = self.centred(mean);
        let (first, second) = centred.split_at(mean.len() / self.blocks());
        first.iter().enumerate().map(|(j, c)| c.hypot(second.get(j).copied().unwrap_or(0.0))).collect()
    }

    /// The other harmonics in a complex sketch entry, relative to the first: with $f(t) = \sum_h c_h e^{iht}$ the entry $f(t) + i f(t - \pi/2)$ has the harmonic h with
    /// factor $c_h (1 + i (-i)^h)$. Listed are (h, real part, imaginary part) of the ratios up to $|h| = 63$ that are not zero; none for sketches without a second block.
    pub(crate) fn harmonics(&self) -> Vec<(i32, f64, f64)> {
        if matches!(
            self,
            Feature::Fourier
                | Feature::Cosine
                | Feature::Quadratic { .. }
                | Feature::Nystrom
                | Feature::Conv { .. }
        ) {
            return Vec::new();
        }
        const POINTS: usize = 1 << 14;
        const HIGHEST: i32 = 63;
        let coefficient = |h: i32| {
            let (mut re, mut im) = (0.0, 0.0);
            for i in 0..POINTS {
                let t = TAU * (i as f64 + 0.5) / POINTS as f64;
                let (sin, cos) = (f64::from(h) * t).sin_cos();
                re += self.value(t) * cos / POINTS as f64;
                im -= self.value(t) * sin / POINTS as f64;
            }
            // 1 + i (-i)^h
            match h.rem_euclid(4) {
                0 => (re - im, re + im),
                1 => (2.0 * re, 2.0 * im),
                2 => (re + im, im - re),
                _ => (0.0, 0.0),
            }
        };
        let (a, b) = coefficient(1);
        let norm = a * a + b * b;
        let ratio = |(re, im): (f64, f64)| ((re * a + im * b) / norm, (im * a - re * b) / norm);
        let others = (-HIGHEST..=HIGHEST).filter(|h| *h != 1 && *h != 0);
        others
            .map(|h| (h, ratio(coefficient(h))))
            .filter(|(_, (re, im))| re.hypot(*im) > 1e-6)
            .map(|(h, (re, im))| (h, re, im))
            .collect()
    }

    /// $\tfrac1{2\pi}\int f^2$: the mean square of an entry over a uniform phase. For `quadratic` there is no such number, and 1 is the largest possible square; for kernel
    /// values, the largest variance that a number in [0, 1] can have.
    pub fn mean_square(&self) -> f64 {
        match self {
            Feature::Fourier | Feature::Cosine | Feature::Conv { .. } => 0.5,
            Feature::OneBit | Feature::Quadratic { .. } => 1.0,
            Feature::Sawtooth => 1.0 / 3.0,
            Feature::Nystrom => 0.25,
            Feature::Periodic { table } => {
                let next = table.iter().cycle().skip(1);
                let cells = table.iter().zip(next).map(|(a, b)| (a * a + a * b + b * b) / 3.0);
                cells.sum::<f64>() / table.len() as f64
            }
        }
    }

    /// Variance of an entry over a uniform phase: [`Feature::mean_square`] about the feature's mean.
    pub fn variance(&self) -> f64 {
        self.mean_square() - self.surrogate().offset.powi(2)
    }

    pub(crate) fn validate(&self) -> Result<()> {
        let Feature::Periodic { table } = self else { return Ok(()) };
        let fail = |problem: String| Err(Error::Spec { field: "feature", problem });
        if !(2..=65_536).contains(&table.len()) {
            return fail(format!("a periodic table has 2 to 65536 values, not {}", table.len()));
        }
        if let Some(v) = table.iter().find(|v| !(v.abs() <= 1.0)) {
            return fail(format!("the values of a periodic table lie in [-1, 1]; {v} does not"));
        }
        let gain = self.surrogate().gain;
        if gain < 1e-3 {
            return fail(format!(
                "the table's first harmonic is {gain:.1e}, too weak to learn from (1e-3 needed)"
            ));
        }
        Ok(())
    }
}

/// A table whose mean is smaller has none: that is the rounding of its values and of their sum.
const MEAN_MIN: f64 = 1e-12;

/// The shift of the second block: $f(t - \pi/2)$.
pub const SECOND_BLOCK_SHIFT: f64 = -FRAC_PI_2;

fn fraction(turns: f64) -> f64 {
    turns - turns.floor()
}

/// Value of a periodic table at `turns` in [0, 1], linear between entries; IEEE operations only.
pub(crate) fn interpolate(table: &[f64], turns: f64) -> f64 {
    let n = table.len();
    let position = turns * n as f64;
    let i = (position as usize).min(n - 1);
    let (a, b) = (table[i], table[if i + 1 == n { 0 } else { i + 1 }]);
    a + (position - i as f64) * (b - a)
}

fn first_harmonic(table: &[f64]) -> (f64, f64) {
    let n = table.len() as f64;
    let sinc = (PI / n).sin() / (PI / n);
    let (mut re, mut im) = (0.0, 0.0);
    for (i, v) in table.iter().enumerate() {
        let angle = TAU * i as f64 / n;
        re += v * angle.cos();
        im -= v * angle.sin();
    }
    (re * sinc * sinc / n, im * sinc * sinc / n)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// $2 F_1$ by the trapezoidal rule on a fine grid.
    fn gain_by_quadrature(f: &Feature) -> (f64, f64) {
        let n = 1 << 18;
        let (mut re, mut im) = (0.0, 0.0);
        for i in 0..n {
            let t = TAU * (i as f64 + 0.5) / n as f64;
            re += f.value(t) * t.cos();
            im -= f.value(t) * t.sin();
        }
        (2.0 * re / n as f64, 2.0 * im / n as f64)
    }

    fn tables() -> [Feature; 2] {
        [
            Feature::Periodic { table: vec![1.0, 0.25, -0.5, 0.0, 0.75] },
            Feature::Periodic { table: (0..256).map(|i| (TAU * f64::from(i) / 256.0 + 0.7).cos()).collect() },
        ]
    }

    #[test]
    fn gains_are_the_first_harmonics() {
        for feature in Feature::ALL.into_iter().chain(tables()) {
            let (re, im) = gain_by_quadrature(&feature);
            let s = feature.surrogate();
            assert!((s.gain * s.angle.cos() - re).abs() < 1e-8, "{}: {re} {s:?}", feature.name());
            assert!((s.gain * s.angle.sin() - im).abs() < 1e-8, "{}: {im} {s:?}", feature.name());
        }
        // Closed forms, [Sch21] lemmas A.6 and A.8.
        assert_eq!(Feature::OneBit.surrogate().gain, 4.0 / PI);
        assert_eq!(Feature::Sawtooth.surrogate().gain, 2.0 / PI);
    }

    #[test]
    fn means_are_the_harmonics_of_order_zero_and_variances_are_about_them() {
        for feature in Feature::ALL.into_iter().chain(tables()) {
            let n = 1 << 16;
            let values = |i: i32| feature.value(TAU * (f64::from(i) + 0.5) / f64::from(n));
            let mean = (0..n).map(values).sum::<f64>() / f64::from(n);
            let offset = feature.surrogate().offset;
            assert!((offset - mean).abs() < 1e-8, "{}: {mean} {offset}", feature.name());
            let variance = (0..n).map(|i| (values(i) - mean).powi(2)).sum::<f64>() / f64::from(n);
            assert!((variance - feature.variance()).abs() < 1e-8, "{}", feature.name());
        }
        // A cosine is none the worse for the rounding of its sum: its sketches are left as they are.
        assert_eq!(tables()[1].surrogate().offset, 0.0);
    }

    #[test]
    fn derivatives_agree_with_central_differences_away_from_jumps() {
        for feature in Feature::ALL.into_iter().chain(tables()) {
            for i in 0..997 {
                let t = -20.0 + 0.0401 * f64::from(i);
                let h = 1e-7;
                let (low, high) = (feature.value(t - h), feature.value(t + h));
                if (high - low).abs() > 1e-3
                    || (feature.derivative(t - h) - feature.derivative(t + h)).abs() > 1e-3
                {
                    continue;
                }
                let error = ((high - low) / (2.0 * h) - feature.derivative(t)).abs();
                assert!(error < 1e-6, "{} at {t}: {error}", feature.name());
            }
        }
    }

    #[test]
    fn mean_squares_agree_with_quadrature() {
        for feature in Feature::ALL.into_iter().chain(tables()) {
            let n = 100_000;
            let mean =
                (0..n).map(|i| feature.value(TAU * (f64::from(i) + 0.5) / f64::from(n)).powi(2)).sum::<f64>();
            assert!((mean / f64::from(n) - feature.mean_square()).abs() < 1e-8, "{}", feature.name());
        }
    }

    #[test]
    fn a_table_without_a_first_harmonic_is_refused() {
        let second_harmonic = Feature::Periodic { table: vec![1.0, -1.0, 1.0, -1.0] };
        assert!(second_harmonic.validate().unwrap_err().to_string().contains("first harmonic"));
        let too_large = Feature::Periodic { table: vec![1.5, 0.0] };
        assert!(too_large.validate().unwrap_err().to_string().contains("1.5"));
    }
}
