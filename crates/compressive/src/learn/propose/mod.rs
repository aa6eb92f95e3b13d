//! Decoders: from a sketch to a mixture.
//!
//! All minimise $\lVert z - \sum_l \alpha_l\, a(\theta_l)\rVert$ over atoms $\theta_l$ of a family and weights $\alpha \ge 0$; the problem is not convex, and each decoder is
//! another way to search.

pub mod amp;
mod ascent;
pub mod auto;
pub mod clompr;
pub mod genetic;
pub mod greedy;
pub mod iht;
mod pursuit;
mod search;
pub mod shift;
pub mod split;
#[cfg(test)]
mod tests;

pub(crate) use pursuit::cluster_variance;
