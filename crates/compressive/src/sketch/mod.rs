//! The sketch itself: the recipe, the operator that it describes, the exact sums, and their bytes.

pub mod features;
pub(crate) mod frequency;
pub(crate) mod map;
pub(crate) mod operator;
pub(crate) mod outline;
pub(crate) mod second;
mod slim;
pub(crate) mod spec;
mod sums;
pub(crate) mod wire;

pub(crate) use second::ExactMoments;
pub use second::MomentSet;
pub(crate) use sums::RowWeights;
pub use sums::{Moments, Sketch};
