//! Which instructions to use.

use crate::wave::{Table, Wave};
use crate::{Projection, Scratch, accumulate, phases, quantize};
use std::sync::OnceLock;

/// An instruction set. Every variant exists on every target; all give the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Backend {
    /// Portable code, one standard-library operation per number.
    Scalar,
    /// AVX2 and FMA, x86-64.
    Avx2,
    /// AVX-512F, x86-64.
    Avx512,
    /// NEON, aarch64.
    Neon,
}

impl Backend {
    /// The fastest backend of this processor, decided once per process.
    ///
    /// A vector backend is only picked after it gave the same bits as [`Backend::Scalar`] on a small built-in
    /// workload over every wave, dense and structured.
    pub fn best() -> Backend {
        static BEST: OnceLock<Backend> = OnceLock::new();
        *BEST.get_or_init(|| {
            let ranked = [Backend::Avx512, Backend::Avx2, Backend::Neon];
            let usable = |b: &Backend| b.is_available() && agrees_with_scalar(*b);
            ranked.into_iter().find(usable).unwrap_or(Backend::Scalar)
        })
    }

    /// The backends this processor has the instructions for, [`Backend::Scalar`] first.
    pub fn available() -> Vec<Backend> {
        let all = [Backend::Scalar, Backend::Avx2, Backend::Avx512, Backend::Neon];
        all.into_iter().filter(|b| b.is_available()).collect()
    }

    /// A short lower-case name: `scalar`, `avx2`, `avx512`, `neon`.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Scalar => "scalar",
            Backend::Avx2 => "avx2",
            Backend::Avx512 => "avx512",
            Backend::Neon => "neon",
        }
    }

    /// Whether this processor has the instructions.
    pub(crate) fn is_available(self) -> bool {
        match self {
            Backend::Scalar => true,
            #[cfg(target_arch = "x86_64")]
            Backend::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512 => is_x86_feature_detected!("avx512f"),
            #[cfg(target_arch = "aarch64")]
            Backend::Neon => std::arch::is_aarch64_feature_detected!("neon"),
            #[allow(unreachable_patterns, reason = "which backends are left depends on the target")]
            _ => false,
        }
    }
}

/// Rows of the built-in check: more than a register tile of any backend, and a remainder.
const CHECK_ROWS: usize = 33;

/// Whether a backend gives the bits of the scalar one on the built-in workload.
fn agrees_with_scalar(backend: Backend) -> bool {
    let mut numbers = Uniform(1);
    let dim = 19;
    let rows = numbers.many(CHECK_ROWS * dim, 3.0);
    let table = Table::new(&numbers.many(23, 1.0).iter().map(|v| f64::from(*v)).collect::<Vec<f64>>());
    let waves = || Wave::ALL.into_iter().chain([Wave::Periodic(&table)]);
    check_projections(&mut numbers, dim).iter().all(|projection| {
        let same_phases =
            outcome_phases(backend, projection, &rows) == outcome_phases(Backend::Scalar, projection, &rows);
        same_phases
            && waves().all(|wave| {
                outcome(backend, projection, wave, &rows) == outcome(Backend::Scalar, projection, wave, &rows)
            })
    })
}

/// One dense and one structured projection whose last panels are partly filled.
fn check_projections(numbers: &mut Uniform, dim: usize) -> [Projection; 2] {
    let size = 37usize;
    let padded = size.next_multiple_of(Projection::padded_dim(dim));
    let signs: Vec<f32> = numbers.many(3 * padded, 1.0).iter().map(|x| x.signum()).collect();
    let (frequencies, dither) = (numbers.many(size * dim, 1.0), numbers.many(size, 0.5));
    let gains = numbers.many(size, 0.02);
    [Projection::dense(dim, &frequencies, &dither), Projection::structured(dim, &signs, &gains, &dither)]
}

/// Sums and features of a workload.
fn outcome(backend: Backend, projection: &Projection, wave: Wave, rows: &[f32]) -> (Vec<i64>, Vec<i32>) {
    let len = wave.blocks() * projection.size();
    let (mut sums, mut features) = (vec![0; len], vec![0; CHECK_ROWS * len]);
    let mut scratch = Scratch::default();
    accumulate(backend, projection, wave, rows, &mut sums, &mut scratch);
    quantize(backend, projection, wave, rows, &mut features, &mut scratch);
    (sums, features)
}

/// Bits of the phases of a workload.
fn outcome_phases(backend: Backend, projection: &Projection, rows: &[f32]) -> Vec<u32> {
    let mut out = vec![0.0; CHECK_ROWS * projection.size()];
    phases(backend, projection, rows, &mut out, &mut Scratch::default());
    out.iter().map(|x| x.to_bits()).collect()
}

/// A 32-bit linear congruential generator: enough variety for a comparison of bits.
struct Uniform(u32);

impl Uniform {
    /// `count` numbers in [-bound, bound).
    fn many(&mut self, count: usize, bound: f32) -> Vec<f32> {
        let mut next = || {
            self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            ((self.0 >> 8) as f32 / 8_388_608.0 - 1.0) * bound
        };
        (0..count).map(|_| next()).collect()
    }
}
