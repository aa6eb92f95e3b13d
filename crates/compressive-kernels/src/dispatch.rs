//! One table of entry points per backend.
//!
//! The kernel bodies are generic and always inlined; the functions here give each a home that is compiled
//! with the backend's instructions. A call does one panel of up to 126 rows, so its indirection costs
//! nothing.

use crate::backend::Backend;
use crate::dense::{self, Product};
use crate::hadamard::{self, Block};
use crate::wave::{
    self, Cosine, Fourier, Gaussian, OneBit, PANEL, Phases, Quadratic, Sawtooth, Shape, Table, Wave, table,
};

/// Sums of a panel's features: a cosine-like and a sine-like block.
pub(crate) type Pair = [[i32; PANEL]; 2];

/// Rows whose features are computed side by side: their independent chains hide each other's latency.
const TOGETHER: usize = 3;

/// A backend's entry points. All are `unsafe` because they need the backend's instructions; `sum` and
/// `quantize` also need readable [`Phases`].
pub(crate) struct Kernels {
    pub(crate) project: unsafe fn(Product, &mut [f32]),
    pub(crate) transform: unsafe fn(Block, &mut [f32]),
    /// In the order of [`Wave::ALL`].
    sum: [unsafe fn(Phases, &mut Pair); Wave::ALL.len()],
    sum_table: unsafe fn(&Table, Phases, &mut Pair),
    /// In the order of [`Wave::ALL`].
    quantize: [unsafe fn(Phases, &mut [Pair]); Wave::ALL.len()],
    quantize_table: unsafe fn(&Table, Phases, &mut [Pair]),
    pub(crate) weigh: unsafe fn(&[Pair], &[i64], &mut [[i64; PANEL]; 2]),
}

impl Kernels {
    /// Sums of a panel's features.
    ///
    /// # Safety
    /// The processor must have the backend's instructions, and the phases must be readable.
    pub(crate) unsafe fn sum(&self, wave: Wave, phases: Phases, out: &mut Pair) {
        // SAFETY: as the caller promises.
        unsafe {
            match place(wave) {
                Ok(place) => self.sum[place](phases, out),
                Err(table) => (self.sum_table)(table, phases, out),
            }
        }
    }

    /// The features of each row of a panel.
    ///
    /// # Safety
    /// As for [`Kernels::sum`].
    pub(crate) unsafe fn quantize(&self, wave: Wave, phases: Phases, out: &mut [Pair]) {
        // SAFETY: as the caller promises.
        unsafe {
            match place(wave) {
                Ok(place) => self.quantize[place](phases, out),
                Err(table) => (self.quantize_table)(table, phases, out),
            }
        }
    }
}

/// The place of a wave in [`Wave::ALL`], or its table.
fn place(wave: Wave<'_>) -> Result<usize, &Table> {
    match wave {
        Wave::Fourier => Ok(0),
        Wave::Cosine => Ok(1),
        Wave::OneBit => Ok(2),
        Wave::Sawtooth => Ok(3),
        Wave::Quadratic => Ok(4),
        Wave::Gaussian => Ok(5),
        Wave::Periodic(table) => Err(table),
    }
}

/// Makes a module with the entry points of one backend: its lane type, the vectors in a panel, the rows in a
/// register tile, and the instructions to compile with.
macro_rules! entry_points {
    ($module:ident, $simd:ty, $vectors:literal, $rows:literal $(, #[$feature:meta])?) => {
        mod $module {
            use super::*;

            $(#[$feature])?
            unsafe fn project(input: Product, out: &mut [f32]) {
                // SAFETY: whoever calls an entry point has the backend's instructions.
                let simd = unsafe { <$simd>::assume() };
                dense::project::<$simd, $vectors, $rows>(simd, input, out)
            }

            $(#[$feature])?
            unsafe fn transform(input: Block, out: &mut [f32]) {
                // SAFETY: whoever calls an entry point has the backend's instructions.
                let simd = unsafe { <$simd>::assume() };
                hadamard::transform(simd, input, out)
            }

            $(#[$feature])?
            unsafe fn sum<W: Shape>(phases: Phases, out: &mut Pair) {
                // SAFETY: whoever calls an entry point has the backend's instructions and readable phases.
                unsafe { wave::sum::<$simd, W, TOGETHER>(<$simd>::assume(), phases, out) }
            }

            $(#[$feature])?
            unsafe fn quantize<W: Shape>(phases: Phases, out: &mut [Pair]) {
                // SAFETY: whoever calls an entry point has the backend's instructions and readable phases.
                unsafe { wave::quantize::<$simd, W>(<$simd>::assume(), phases, out) }
            }

            $(#[$feature])?
            unsafe fn sum_table(values: &Table, phases: Phases, out: &mut Pair) {
                // SAFETY: whoever calls an entry point has the backend's instructions and readable phases.
                unsafe { table::sum(<$simd>::assume(), values, phases, out) }
            }

            $(#[$feature])?
            unsafe fn quantize_table(values: &Table, phases: Phases, out: &mut [Pair]) {
                // SAFETY: whoever calls an entry point has the backend's instructions and readable phases.
                unsafe { table::quantize(<$simd>::assume(), values, phases, out) }
            }

            $(#[$feature])?
            unsafe fn weigh(features: &[Pair], weights: &[i64], sums: &mut [[i64; PANEL]; 2]) {
                crate::weight::weigh(features, weights, sums)
            }

            pub(super) static KERNELS: Kernels = Kernels {
                project,
                transform,
                sum: [
                    sum::<Fourier>,
                    sum::<Cosine>,
                    sum::<OneBit>,
                    sum::<Sawtooth>,
                    sum::<Quadratic>,
                    sum::<Gaussian>,
                ],
                quantize: [
                    quantize::<Fourier>,
                    quantize::<Cosine>,
                    quantize::<OneBit>,
                    quantize::<Sawtooth>,
                    quantize::<Quadratic>,
                    quantize::<Gaussian>,
                ],
                sum_table,
                quantize_table,
                weigh,
            };
        }
    };
}

entry_points!(scalar, crate::simd::scalar::Scalar, 2, 6);
#[cfg(target_arch = "x86_64")]
entry_points!(avx2, crate::simd::avx2::Avx2, 2, 6, #[target_feature(enable = "avx2,fma")]);
#[cfg(target_arch = "x86_64")]
entry_points!(avx512, crate::simd::avx512::Avx512, 1, 14, #[target_feature(enable = "avx512f")]);
#[cfg(target_arch = "aarch64")]
entry_points!(neon, crate::simd::neon::Neon, 4, 6, #[target_feature(enable = "neon")]);

/// The entry points of a backend; those of the scalar one if this processor lacks the backend's instructions.
pub(crate) fn kernels(backend: Backend) -> &'static Kernels {
    match backend {
        #[cfg(target_arch = "x86_64")]
        Backend::Avx2 if backend.is_available() => &avx2::KERNELS,
        #[cfg(target_arch = "x86_64")]
        Backend::Avx512 if backend.is_available() => &avx512::KERNELS,
        #[cfg(target_arch = "aarch64")]
        Backend::Neon if backend.is_available() => &neon::KERNELS,
        _ => &scalar::KERNELS,
    }
}
