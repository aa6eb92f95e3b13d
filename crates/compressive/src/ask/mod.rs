//! Questions to sketches and models: queries, differences between sketches, rows like those behind one,
//! what a model explains, why a fit failed.

pub mod compare;
pub mod diagnose;
mod distribution;
pub mod explain;
pub mod query;

pub use distribution::Distribution;
