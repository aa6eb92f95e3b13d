//! What decoders are judged by: synthetic data with a known truth, baselines that see all rows, and measures
//! of quality.
//!
//! - [`generate`] draws mixtures and two-dimensional shapes, [`Mixture::sample`] rows of a mixture;
//! - [`kmeans()`] (Lloyd) and [`em()`] (expectation-maximisation) are the baselines that keep all rows in
//!   memory;
//! - [`private_kmeans()`] (DP-Lloyd) and [`private_em()`] (DP-EM) are their differentially private forms;
//! - [`metric`] has the measures: relative SSE, adjusted Rand index, symmetric Kullback-Leibler divergence,
//!   likelihood, matched centres, MMD.
//!
//! ```
//! use compressive_data::{KMeansParams, Rng, generate, kmeans, metric};
//!
//! let truth = generate::separated(3, 2, 10.0, &mut Rng::new(1))?;
//! let sample = truth.sample(1000, &mut Rng::new(2))?;
//! let fit = kmeans(sample.rows()?, 3, &KMeansParams::default())?;
//! let matched = metric::match_centers(&truth.means, &fit.centers, 2)?;
//! assert!(matched.rms < 0.2 && metric::ari(&sample.labels, &fit.labels)? > 0.99);
//! # Ok::<(), compressive_data::Error>(())
//! ```
//!
//! All numbers are f64. The result depends on the data, the parameters and the seed, never on the number of
//! threads: rows are cut into chunks that depend on n alone, and the chunks' sums are added in order. The
//! logarithm and the exponential are the platform's, so the last bits may differ between platforms. Bracketed
//! references (\[KBGP18\] ...) are explained in `docs/math.md`.
#![forbid(unsafe_code)]
// Negated comparisons are meant: they are true for NaN.
#![allow(clippy::neg_cmp_op_on_partial_ord, reason = "`!(x > 0.0)` also catches NaN")]

mod block;
mod density;
pub mod em;
mod error;
pub mod families;
pub mod generate;
mod kinds;
pub mod kmeans;
mod linear;
pub mod metric;
mod mixture;
pub mod parallel;
pub mod private_em;
pub mod private_kmeans;
mod random;
mod rows;

pub use em::{Em, EmInfo, EmParams, em};
pub use error::{Error, Result};
pub use kinds::{Kind, KindParams, Source};
pub use kmeans::{KMeans, KMeansInfo, KMeansParams, Stop, kmeans, lloyd, sse};
pub use linear::jacobi;
pub use mixture::{Mixture, Shape, Truth};
pub use private_em::{Composition, PrivateEm, PrivateEmParams, private_em};
pub use private_kmeans::{Bounds, PrivateKMeans, PrivateKMeansParams, PrivateStart, private_kmeans};
pub use random::Rng;
pub use rows::{Rows, Sample};
