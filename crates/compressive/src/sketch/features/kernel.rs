//! Kernels from inner products of random periodic features, also of two different ones.
//!
//! With $f(t) = \sum_k F_k e^{ikt}$, $g(t) = \sum_k G_k e^{ikt}$, dithered frequencies $\omega \sim \Lambda$
//! and the kernel $\kappa(x, y) = \kappa^\Delta(x - y) = \mathbb E_\omega \cos(\omega^\top (x - y))$,
//!
//! $$ \mathbb E \tfrac1{m'} \langle z_f(x), z_g(y) \rangle = \sum_k F_k G_k^*\, \kappa^\Delta(k (x - y)) $$
//!
//! (\[Sch21\] proposition 3.8), where m' is the number of entries compared: m for one block, 2m for both,
//! whose mean is the same. A cosine on either side leaves $k = \pm 1$ alone, so that the estimate
//! $\tilde\kappa = \langle z_f, z_g \rangle / (m' \langle f, g \rangle)$,
//! $\langle f, g \rangle = \sum_k F_k G_k^*$ (eq. 3.13), is unbiased for $\kappa$:
//!
//! | pair | $1 / \langle f, g \rangle$ | estimates |
//! |---|---|---|
//! | `fourier` or `cosine`, with either | 2 | $\kappa$ |
//! | `one-bit` with `fourier` or `cosine` | $\pi/2$ | $\kappa$ |
//! | `sawtooth` with `fourier` or `cosine` | $\pi$ | $\kappa$ |
//! | `one-bit` with `one-bit` | 1 | $\tfrac{8}{\pi^2} \sum_{k \text{ odd}, k > 0} k^{-2}\, \kappa^\Delta(k (x - y))$ |
//! | `sawtooth` with `sawtooth` | 3 | $\tfrac{6}{\pi^2} \sum_{k > 0} k^{-2}\, \kappa^\Delta(k (x - y))$ |
//!
//! that is $2 / \text{gain}$ with the gain of [`Wave::surrogate`] where one side is a cosine. In the complex
//! notation of both blocks the one-bit pair's factor is $1 / (2 Q_1) = \pi / 4$ per frequency, which is
//! $\pi/2$ per entry. For a pair without a cosine the mean is another, narrower kernel:
//! [`KernelPair::expected`].
//!
//! What is needed: the same frequencies and dither on both sides, dither (unless both are `fourier`, with
//! both blocks), and no weights. The error of one estimate has a standard deviation of at most
//! $\langle f, g \rangle^{-1} / \sqrt{m'}$ times a number near 1 (eq. 3.16). Cost: m'.

use crate::error::{Error, Result};
use crate::sketch::map::waves::Wave;

/// How two features make a kernel. See the module's table.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelPair {
    /// $\langle f, g \rangle$.
    inner: f64,
    /// $(k, 2 \operatorname{Re} F_k G_k^*)$ for $k \ge 0$ (half of it for k = 0), those that are not zero.
    harmonics: Vec<(u32, f64)>,
}

/// Highest harmonic of the closed forms; what is left out is less than $10^{-4}$ of the whole.
const HIGHEST: u32 = 8191;
/// Highest harmonic of a table, whose coefficients fall with the square of their number.
const HIGHEST_OF_TABLE: u32 = 255;
/// Smallest $\langle f, g \rangle$ relative to the norms of f and g.
const WEAKEST: f64 = 0.02;

impl KernelPair {
    /// The pair of two waves, in either order.
    ///
    /// # Errors
    /// [`Error::Task`] if they have next to nothing in common, as a table that is a quarter turn out of phase
    /// with the cosine.
    pub fn new(a: &Wave, b: &Wave) -> Result<KernelPair> {
        let is_cosine = |f: &Wave| matches!(f, Wave::Fourier | Wave::Cosine);
        let is_table = |f: &Wave| matches!(f, Wave::Periodic { .. });
        let highest = if is_cosine(a) || is_cosine(b) {
            1
        } else if is_table(a) || is_table(b) {
            HIGHEST_OF_TABLE
        } else {
            HIGHEST
        };
        let product = |k: u32| {
            let ((a_re, a_im), (b_re, b_im)) = (a.coefficient(k), b.coefficient(k));
            let both_signs = if k == 0 { 1.0 } else { 2.0 };
            (k, both_signs * (a_re * b_re + a_im * b_im))
        };
        let harmonics: Vec<(u32, f64)> = (0..=highest).map(product).filter(|(_, w)| *w != 0.0).collect();
        // A feature with itself has its mean square, without what the highest harmonics leave out.
        let inner = if a == b { a.mean_square() } else { harmonics.iter().map(|(_, w)| w).sum() };
        let share = inner / (a.mean_square() * b.mean_square()).sqrt();
        if !(share >= WEAKEST) {
            let problem = format!(
                "`{}` and `{}` features have a correlation of {share:.3}, and {WEAKEST} is needed; shift the table so that its first harmonic is in phase with the cosine",
                a.name(),
                b.name()
            );
            return Err(Error::Task { field: "kernel", problem });
        }
        Ok(KernelPair { inner, harmonics })
    }

    /// What $\langle z_f, z_g \rangle / m'$ is multiplied by: $1 / \langle f, g \rangle$.
    pub fn factor(&self) -> f64 {
        1.0 / self.inner
    }

    /// Whether the estimate's mean is the kernel of the frequencies itself.
    pub fn is_unbiased(&self) -> bool {
        matches!(self.harmonics[..], [(1, _)])
    }

    /// The estimate from the features of two rows, of the same blocks:
    /// $\langle a, b \rangle / (m' \langle f, g \rangle)$.
    ///
    /// # Errors
    /// [`Error::Shape`] if they are not of one length, or empty.
    pub fn estimate(&self, a: &[f32], b: &[f32]) -> Result<f64> {
        if a.len() != b.len() || a.is_empty() {
            let (found, expected) = (b.len(), a.len().max(1));
            return Err(Error::Shape { what: "features of the second row", found, expected });
        }
        let product: f64 = a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
        Ok(self.factor() * product / a.len() as f64)
    }

    /// The mean of the estimate for dithered features:
    /// $\sum_k F_k G_k^*\, \kappa^\Delta(k u) / \langle f, g \rangle$, with `kernel(k)`
    /// $= \kappa^\Delta(k u)$ at the multiples $k \ge 0$ of the difference u of the rows.
    ///
    /// Cost: up to 8191 calls of `kernel` for a pair without a cosine, else one.
    pub fn expected(&self, kernel: impl Fn(u32) -> f64) -> f64 {
        let total: f64 = self.harmonics.iter().map(|(_, w)| w).sum();
        self.harmonics.iter().map(|(k, w)| w / total * kernel(*k)).sum()
    }
}

/// The kernel between a row with features `a` of one kind and a row with features `b` of another:
/// [`KernelPair::estimate`].
///
/// # Errors
/// As for [`KernelPair::new`] and [`KernelPair::estimate`].
pub fn kernel_estimate(wave_a: &Wave, a: &[f32], wave_b: &Wave, b: &[f32]) -> Result<f64> {
    KernelPair::new(wave_a, wave_b)?.estimate(a, b)
}
