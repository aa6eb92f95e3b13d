//! Decoders: from a sketch to a mixture.
//!
//! All minimise $\lVert z - \sum_l \alpha_l\, a(\theta_l)\rVert$ over atoms $\theta_l$ of a family and weights $\alpha \ge 0$; the problem is not convex, and each decoder is
//! another way to search.

pub mod amp;
mod ascent;
pub mod auto;
pub mod clompr;
mod fit;
pub mod genetic;
pub mod greedy;
pub mod iht;
mod info;
mod kernel_noise;
mod metric;
mod noise;
pub mod pca;
pub mod polish;
mod pursuit;
mod quadrature;
mod quadrature_em;
mod search;
pub mod shift;
pub mod split;
mod target;
#[cfg(test)]
mod tests;

pub use fit::{Fit, Problem};
pub use info::{DecodeInfo, Stop};
pub use metric::Metric;
pub(crate) use noise::{excess, expected_cost, expected_squares};
pub(crate) use polish::Packed;
pub(crate) use pursuit::cluster_variance;
pub(crate) use quadrature::Quadrature;
pub(crate) use quadrature_em::Mixture;
pub use target::Target;
