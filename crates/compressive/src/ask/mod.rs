//! Questions to sketches and models: queries, differences between sketches and what moved, rows like those
//! behind one, what a model explains, why a fit failed.

pub mod compare;
pub mod diagnose;
mod distribution;
pub mod drift;
pub mod explain;
pub mod query;
pub mod watch;

pub use distribution::Distribution;
