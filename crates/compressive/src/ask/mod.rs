//! Questions to sketches and models: queries, differences between sketches, what a model explains, why a fit
//! failed.

pub mod compare;
pub mod diagnose;
pub mod explain;
pub mod query;
