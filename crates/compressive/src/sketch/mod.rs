//! The sketch itself: the recipe, the operator that it describes, the exact sums, and their bytes.

pub(crate) mod conv;
pub(crate) mod feature;
pub mod features;
pub(crate) mod frequency;
pub(crate) mod landmarks;
pub(crate) mod operator;
pub(crate) mod spec;
mod sums;
pub(crate) mod wire;

pub use sums::{Moments, Sketch};
