//! The kernels of compressive: random projection, periodic feature and exact integer sum in one pass over the
//! rows.
//!
//! For rows x_i in R^d and frequencies omega_j, phases t_ij = omega_j^T x_i / (2 pi) + xi_j (in turns), and a
//! feature f with values in [-1, 1] (periodic, or the square of a projection), [`accumulate`] adds
//!
//! $$ s_j \mathrel{+}= \sum_i q_{ij}, \qquad q_{ij} = \mathrm{round}(2^{24} f(t_{ij})) $$
//!
//! in integers, so sums do not depend on the order, grouping or number of threads. Every [`Backend`] gives
//! the same bits: each floating-point step is one IEEE operation in a fixed order.
//!
//! Steps, per block of up to 126 rows: phases of a panel of 16 frequencies ([`Projection`], dense or
//! structured), then feature and 32-bit sums in registers, then one addition to the 64-bit sums.
//!
//! Slices in, slices out: no threads, no files, no allocation besides [`Scratch`]. This is the only crate of
//! the project with `unsafe` code. Rows must be finite with |x| <= 2^20; callers check their input. Cost: m d
//! multiply-adds (dense) or 3 m log2 d additions (structured) plus 3 to 21 operations per row and frequency.
//! References: \[KTTG17\], \[KBGP18\], \[SJ22\], \[Sch21\].

mod backend;
mod bits;
mod buffer;
mod damped;
mod dense;
mod dispatch;
mod driver;
mod hadamard;
mod integer;
mod nearest;
mod product;
mod projection;
mod simd;
mod single;
#[cfg(test)]
mod testing;
mod wave;
mod weight;

pub use backend::Backend;
pub use bits::count_ones;
pub use damped::{damped_waves, exponentials};
pub use driver::{Scratch, accumulate, accumulate_weighted, phases, quantize};
pub use integer::{PADDING, round_to_grid, triangle_products};
pub use nearest::{NEAREST_CENTERS, NEAREST_ROWS, NearestTwo, nearest_two};
pub use product::{Layout, product, subtract_gram};
pub use projection::Projection;
pub use single::{single_product, wave_gradient, wave_sums};
pub use wave::{Table, Wave};

/// Feature values are multiples of 2^-`GRID_BITS`.
pub const GRID_BITS: u32 = 24;
