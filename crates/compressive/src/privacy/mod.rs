//! Differentially private sketches: one release, any number of models.
//!
//! [`privatize`] adds noise to a sketch's integer sums and to its number of rows, such that no single row (or
//! person, see [`PrivacyParams::rows_per_person`]) can be recognised in the result, whatever else is known:
//! \[Sch21\] chapter 5, \[CSH21\]. Whatever is learned from a [`PrivateSketch`] costs nothing more.
//!
//! - [`sensitivity`]: how much one row can change the sums, for each feature;
//! - [`release`]: from a budget to integer noise scales, and what is promised;
//! - [`sampler`], [`calibrate`], [`Entropy`]: exact discrete noise, how much of it, and where its randomness
//!   comes from;
//! - [`compose`]: what several releases of the same rows promise together;
//! - [`local`]: readings that answer for themselves, for collectors that are not trusted;
//! - [`plan`]: what a budget will be good for, before it is spent.
//!
//! The arguments are in `docs/privacy.md`.

pub mod calibrate;
pub mod compose;
mod entropy;
pub mod local;
pub mod plan;
mod private_sketch;
pub mod release;
pub mod sampler;
pub mod sensitivity;
mod wire;

pub use entropy::{Entropy, SeededEntropy};
pub use local::LocalResponse;
pub use private_sketch::{AnySketch, PrivateSketch, privatize, privatize_as};
pub use release::{Mechanism, PrivacyParams, Release, SpecOrigin};
pub use sensitivity::{Neighbours, Sensitivity};
