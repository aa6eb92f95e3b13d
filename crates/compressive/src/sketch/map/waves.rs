//! Waves: what becomes of a phase before it is summed.
//!
//! A wave is a real $2\pi$-periodic function $f$ with values in $[-1, 1]$. For every phase $t$ the sketch
//! holds $f(t)$ in its first block and $f(t - \pi/2)$ in its second (`cosine` has the first block only), so
//! that for $f = \cos$ they are $\cos t$ and $\sin t$.
//!
//! | name | $f(t)$ | gain |
//! |---|---|---|
//! | `fourier` | $\cos t$ | 1 |
//! | `one-bit` | $\operatorname{sign} \cos t$ | $4/\pi$ |
//! | `sawtooth` | $\operatorname{mod}(t - \pi/2)$, $\operatorname{mod}(t) = 2\,\mathrm{frac}(t / 2\pi) - 1$ | $2/\pi$ |
//! | `cosine` | $\cos t$, first block only | 1 |
//! | `periodic` | a table, linear in between | computed |
//!
//! Asymmetric learning (\[SJ22\]; \[Sch21\] chapter 4): a sketch made with $f$ is decoded as if made with its
//! first harmonic. With $f(t) = \sum_k F_k e^{ikt}$, the complex feature $f(t) + i f(t - \pi/2)$ has first
//! coefficient $G_1 = 2 F_1$ (\[Sch21\] lemma A.2): dividing the sketch by the gain $|G_1|$, and turning it
//! back by the angle of $G_1$, gives an estimate of the Fourier sketch.
//!
//! A table with a mean (bits 0 and 1, an offset, an uneven duty cycle) adds the constant $F_0 (1 + i)$ to
//! every entry, whatever the rows are. The theory wants $F_0 = 0$: [`Map::centred`](crate::Map::centred)
//! subtracts it before anything is learned.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use compressive_kernels as kernels;
use serde::{Deserialize, Serialize};

use super::{FeatureName, fail};
use crate::error::Result;
use crate::names::Named;
use crate::sketch::frequency::FrequencyLaw;
use crate::sketch::map::dither::Dither;
use crate::sketch::spec::SketchSpec;

/// Periodic functions of the phases $\omega_j^\top u + \xi_j$.
#[derive(Clone, Debug, PartialEq)]
pub struct Waves {
    /// The function.
    pub wave: Wave,
    /// Law of the frequencies.
    pub law: FrequencyLaw,
    /// Phases of the frequencies.
    pub dither: Dither,
    /// Directions from products of Hadamard and sign matrices instead of independent draws: faster for many
    /// columns.
    pub structured: bool,
}

impl Waves {
    /// Waves without dither and structure.
    pub fn new(wave: Wave, law: FrequencyLaw) -> Waves {
        Waves { wave, law, dither: Dither::None, structured: false }
    }

    /// Dithered waves.
    pub fn dithered(wave: Wave, law: FrequencyLaw) -> Waves {
        Waves { dither: Dither::Drawn, ..Waves::new(wave, law) }
    }

    /// Waves with dither where it is usual, see [`Wave::is_dithered`].
    pub fn usual(wave: Wave, law: FrequencyLaw) -> Waves {
        Waves { dither: wave.is_dithered().into(), ..Waves::new(wave, law) }
    }

    pub(super) fn validate(&self, spec: &SketchSpec) -> Result<()> {
        if self.structured && !self.law.is_isotropic() {
            return fail("structured", format!("the law `{}` cannot be structured", self.law.name()));
        }
        self.wave.validate()?;
        self.dither.validate(spec.size)?;
        self.law.validate(spec.dim(), spec.size, spec.scale)
    }
}

/// The function applied to every phase. See the module's table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Wave {
    /// $\cos t$ and $\sin t$.
    Fourier,
    /// The signs of $\cos t$ and of $\sin t$: two bits a phase.
    OneBit,
    /// The normalised modulo map, a quarter turn late so that its first harmonic is in phase with the cosine
    /// (\[Sch21\] eq. 3.32).
    Sawtooth,
    /// $\cos t$ alone; meant to be used with dither.
    Cosine,
    /// Any periodic function: values at phases $2\pi i / L$, linear in between.
    Periodic {
        /// The L values of one period, each in [-1, 1].
        table: Vec<f64>,
    },
}

/// How a sketch of a wave stands for one of its first harmonic, see `Wave::surrogate`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Surrogate {
    /// $|G_1|$: what the sketch is divided by.
    pub gain: f64,
    /// The angle of $G_1$ in radians: what the sketch is turned back by. Zero for all but tables.
    pub angle: f64,
    /// $F_0$, the mean of the wave over a turn: what is subtracted from every entry first. Zero for all but
    /// tables.
    pub offset: f64,
}

impl Wave {
    /// Every wave that needs no more than its name.
    pub fn plain() -> impl Iterator<Item = Wave> {
        FeatureName::ALL.iter().filter_map(|name| name.wave())
    }

    /// The name.
    pub fn name(&self) -> FeatureName {
        match self {
            Wave::Fourier => FeatureName::Fourier,
            Wave::OneBit => FeatureName::OneBit,
            Wave::Sawtooth => FeatureName::Sawtooth,
            Wave::Cosine => FeatureName::Cosine,
            Wave::Periodic { .. } => FeatureName::Periodic,
        }
    }

    /// Whether dither is usual, see [`FeatureName::dithered`].
    pub fn is_dithered(&self) -> bool {
        self.name().dithered()
    }

    /// Names of the blocks of m entries in the sketch.
    pub fn blocks(&self) -> &'static [&'static str] {
        match self {
            Wave::Fourier => &["cos", "sin"],
            Wave::OneBit => &["signcos", "signsin"],
            Wave::Sawtooth => &["sawcos", "sawsin"],
            Wave::Cosine => &["cos"],
            Wave::Periodic { .. } => &["wave", "late"],
        }
    }

    /// The vectorised twin, or `None` for a table.
    pub(crate) fn kernel(&self) -> Option<kernels::Wave<'static>> {
        match self {
            Wave::Fourier => Some(kernels::Wave::Fourier),
            Wave::OneBit => Some(kernels::Wave::OneBit),
            Wave::Sawtooth => Some(kernels::Wave::Sawtooth),
            Wave::Cosine => Some(kernels::Wave::Cosine),
            Wave::Periodic { .. } => None,
        }
    }

    /// $f(t)$ in double precision, t in radians.
    pub fn value(&self, t: f64) -> f64 {
        match self {
            Wave::Fourier | Wave::Cosine => t.cos(),
            // At the jumps, where the cosine is zero, the sign is +1.
            Wave::OneBit => {
                if t.cos() >= 0.0 {
                    1.0
                } else {
                    -1.0
                }
            }
            Wave::Sawtooth => 2.0 * fraction(t / TAU - 0.25) - 1.0,
            Wave::Periodic { table } => interpolate(table, fraction(t / TAU)),
        }
    }

    /// $f'(t)$, t in radians; at a jump, the derivative beside it.
    pub fn derivative(&self, t: f64) -> f64 {
        match self {
            Wave::Fourier | Wave::Cosine => -t.sin(),
            Wave::OneBit => 0.0,
            Wave::Sawtooth => 1.0 / PI,
            Wave::Periodic { table } => {
                let n = table.len();
                let i = ((fraction(t / TAU) * n as f64) as usize).min(n - 1);
                (table[(i + 1) % n] - table[i]) * n as f64 / TAU
            }
        }
    }

    /// Size of the first harmonic, $|G_1|$: what a sketch is divided by to be compared with that of a cosine.
    pub fn gain(&self) -> f64 {
        self.surrogate().gain
    }

    /// Mean over a turn, $F_0$: what is subtracted from every entry before it is used. Zero for all but tables.
    pub fn offset(&self) -> f64 {
        self.surrogate().offset
    }

    /// The offset, gain and angle that bring a sketch made with this wave to one of the first harmonic.
    ///
    /// For a table of L values the coefficient is that of the piecewise linear function,
    /// $F_1 = \tfrac1L \sum_i v_i e^{-2\pi i\,i/L} \cdot \operatorname{sinc}^2(\pi / L)$. Cost: O(L).
    pub(crate) fn surrogate(&self) -> Surrogate {
        let with_gain = |gain| Surrogate { gain, angle: 0.0, offset: 0.0 };
        match self {
            Wave::Fourier | Wave::Cosine => with_gain(1.0),
            Wave::OneBit => with_gain(4.0 / PI),
            Wave::Sawtooth => with_gain(2.0 / PI),
            Wave::Periodic { table } => {
                let (re, im) = table_coefficient(table, 1);
                let mean = table.iter().sum::<f64>() / table.len() as f64;
                let offset = if mean.abs() < MEAN_MIN { 0.0 } else { mean };
                Surrogate { gain: 2.0 * re.hypot(im), angle: im.atan2(re), offset }
            }
        }
    }

    /// $F_k$, real and imaginary part; \[Sch21\] eq. (3.8) and lemma A.8, the latter a quarter turn late.
    pub(crate) fn coefficient(&self, k: u32) -> (f64, f64) {
        let n = f64::from(k);
        match self {
            Wave::Fourier | Wave::Cosine => (if k == 1 { 0.5 } else { 0.0 }, 0.0),
            Wave::OneBit => match k % 4 {
                1 => (2.0 / (PI * n), 0.0),
                3 => (-2.0 / (PI * n), 0.0),
                _ => (0.0, 0.0),
            },
            Wave::Sawtooth if k == 0 => (0.0, 0.0),
            Wave::Sawtooth => match k % 4 {
                0 => (0.0, 1.0 / (PI * n)),
                1 => (1.0 / (PI * n), 0.0),
                2 => (0.0, -1.0 / (PI * n)),
                _ => (-1.0 / (PI * n), 0.0),
            },
            Wave::Periodic { table } => table_coefficient(table, k),
        }
    }

    /// The other harmonics in a complex sketch entry, relative to the first: with $f(t) = \sum_h c_h e^{iht}$
    /// the entry $f(t) + i f(t - \pi/2)$ has the harmonic h with factor $c_h (1 + i (-i)^h)$. Listed are (h,
    /// real part, imaginary part) of the ratios up to $|h| = 63$ that are not zero; none for sketches without
    /// a second block.
    pub(crate) fn harmonics(&self) -> Vec<(i32, f64, f64)> {
        if matches!(self, Wave::Fourier | Wave::Cosine) {
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

    /// $\tfrac1{2\pi}\int f^2$: the mean square of an entry over a uniform phase.
    pub fn mean_square(&self) -> f64 {
        match self {
            Wave::Fourier | Wave::Cosine => 0.5,
            Wave::OneBit => 1.0,
            Wave::Sawtooth => 1.0 / 3.0,
            Wave::Periodic { table } => {
                let next = table.iter().cycle().skip(1);
                let cells = table.iter().zip(next).map(|(a, b)| (a * a + a * b + b * b) / 3.0);
                cells.sum::<f64>() / table.len() as f64
            }
        }
    }

    /// Variance of an entry over a uniform phase: [`Wave::mean_square`] about the wave's mean.
    pub fn variance(&self) -> f64 {
        self.mean_square() - self.surrogate().offset.powi(2)
    }

    fn validate(&self) -> Result<()> {
        let Wave::Periodic { table } = self else { return Ok(()) };
        let fail = |problem| fail("feature", problem);
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

/// $F_k$ of the piecewise linear function of a table.
fn table_coefficient(table: &[f64], k: u32) -> (f64, f64) {
    let (len, n) = (table.len() as f64, f64::from(k));
    let half = PI * n / len;
    let sinc = if k == 0 { 1.0 } else { half.sin() / half };
    let (mut re, mut im) = (0.0, 0.0);
    for (i, v) in table.iter().enumerate() {
        let angle = TAU * n * i as f64 / len;
        re += v * angle.cos();
        im -= v * angle.sin();
    }
    (re * sinc * sinc / len, im * sinc * sinc / len)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// $2 F_1$ by the trapezoidal rule on a fine grid.
    fn gain_by_quadrature(f: &Wave) -> (f64, f64) {
        let n = 1 << 18;
        let (mut re, mut im) = (0.0, 0.0);
        for i in 0..n {
            let t = TAU * (i as f64 + 0.5) / n as f64;
            re += f.value(t) * t.cos();
            im -= f.value(t) * t.sin();
        }
        (2.0 * re / n as f64, 2.0 * im / n as f64)
    }

    fn tables() -> [Wave; 2] {
        [
            Wave::Periodic { table: vec![1.0, 0.25, -0.5, 0.0, 0.75] },
            Wave::Periodic { table: (0..256).map(|i| (TAU * f64::from(i) / 256.0 + 0.7).cos()).collect() },
        ]
    }

    #[test]
    fn gains_are_the_first_harmonics() {
        for wave in Wave::plain().chain(tables()) {
            let (re, im) = gain_by_quadrature(&wave);
            let s = wave.surrogate();
            assert!((s.gain * s.angle.cos() - re).abs() < 1e-8, "{}: {re} {s:?}", wave.name());
            assert!((s.gain * s.angle.sin() - im).abs() < 1e-8, "{}: {im} {s:?}", wave.name());
        }
        // Closed forms, [Sch21] lemmas A.6 and A.8.
        assert_eq!(Wave::OneBit.surrogate().gain, 4.0 / PI);
        assert_eq!(Wave::Sawtooth.surrogate().gain, 2.0 / PI);
    }

    #[test]
    fn means_are_the_harmonics_of_order_zero_and_variances_are_about_them() {
        for wave in Wave::plain().chain(tables()) {
            let n = 1 << 16;
            let values = |i: i32| wave.value(TAU * (f64::from(i) + 0.5) / f64::from(n));
            let mean = (0..n).map(values).sum::<f64>() / f64::from(n);
            let offset = wave.surrogate().offset;
            assert!((offset - mean).abs() < 1e-8, "{}: {mean} {offset}", wave.name());
            let variance = (0..n).map(|i| (values(i) - mean).powi(2)).sum::<f64>() / f64::from(n);
            assert!((variance - wave.variance()).abs() < 1e-8, "{}", wave.name());
        }
        // A cosine is none the worse for the rounding of its sum: its sketches are left as they are.
        assert_eq!(tables()[1].surrogate().offset, 0.0);
    }

    #[test]
    fn derivatives_agree_with_central_differences_away_from_jumps() {
        for wave in Wave::plain().chain(tables()) {
            for i in 0..997 {
                let t = -20.0 + 0.0401 * f64::from(i);
                let h = 1e-7;
                let (low, high) = (wave.value(t - h), wave.value(t + h));
                if (high - low).abs() > 1e-3 || (wave.derivative(t - h) - wave.derivative(t + h)).abs() > 1e-3
                {
                    continue;
                }
                let error = ((high - low) / (2.0 * h) - wave.derivative(t)).abs();
                assert!(error < 1e-6, "{} at {t}: {error}", wave.name());
            }
        }
    }

    #[test]
    fn mean_squares_agree_with_quadrature() {
        for wave in Wave::plain().chain(tables()) {
            let n = 100_000;
            let mean =
                (0..n).map(|i| wave.value(TAU * (f64::from(i) + 0.5) / f64::from(n)).powi(2)).sum::<f64>();
            assert!((mean / f64::from(n) - wave.mean_square()).abs() < 1e-8, "{}", wave.name());
        }
    }

    #[test]
    fn a_table_without_a_first_harmonic_is_refused() {
        let second_harmonic = Wave::Periodic { table: vec![1.0, -1.0, 1.0, -1.0] };
        assert!(second_harmonic.validate().unwrap_err().to_string().contains("first harmonic"));
        let too_large = Wave::Periodic { table: vec![1.5, 0.0] };
        assert!(too_large.validate().unwrap_err().to_string().contains("1.5"));
    }
}
