//! Compressive learning: one pass over a table makes a *sketch*, a vector of exact integer sums of random
//! features, from which models are learned without the table.
//!
//! - [`SketchSpec`] is the recipe (columns, transform, frequency law, scale, feature, seed);
//!   [`design::design`] makes one from a pilot sample.
//! - [`SketchOperator`] is the recipe with its frequencies drawn; [`SketchOperator::accumulate`] sums rows.
//! - [`features`] gives the features of single rows, packs one-bit features, and estimates kernels from them.
//! - [`Sketch`] holds the sums; it merges, subtracts, and travels as bytes, all exactly.
//! - [`ask::compare::compare`] tells whether two sketches come from the same distribution.
//! - [`privacy`] releases a sketch with differential privacy.
//! - [`learn`] finds the model behind a sketch; by the published decoders or, as is usual, by the density that the
//!   sketch describes.
//! - [`learn::generator`] trains generative networks on a sketch.
//!
//! ```
//! use compressive::{FrequencyLaw, SketchSpec};
//!
//! let spec = SketchSpec::new(["x", "y"], FrequencyLaw::AdaptedRadius, 1.0, 100);
//! let (monday, tuesday) = (spec.sketch(&[0.0, 1.0, 9.0, 8.0][..])?, spec.sketch(&[5.0, 8.0][..])?);
//! let mut week = monday.clone();
//! week.merge(&tuesday)?;
//! assert_eq!(week.kmeans(2)?.locations().len(), 2);
//! week.subtract(&tuesday)?;
//! assert_eq!(week.to_bytes(), monday.to_bytes());
//! # Ok::<(), compressive::Error>(())
//! ```
//!
//! The library is pure mathematics: no files, no clock, no global randomness; threads only where a parameter
//! asks for them, without changing a result. Reading tables is the crate `compressive-io`. Symbols and
//! bracketed references (\[KBGP18\] ...) are explained in `docs/math.md`.
#![forbid(unsafe_code)]
// Negated comparisons are meant: they are true for NaN.
#![allow(clippy::neg_cmp_op_on_partial_ord, reason = "`!(x > 0.0)` also catches NaN")]

pub mod calendar;
mod density;
mod error;
mod names;
mod num;
mod setters;
mod sketch;
#[cfg(test)]
mod testing;

pub mod ask;
pub mod design;
pub mod learn;
pub mod model;
pub mod privacy;

/// How columns become coordinates.
pub mod reading {
    pub use crate::sketch::spec::reading::{OTHER, PERIODS, coordinates, on_circles, places};
}

pub use compressive_kernels::Backend;
pub use error::remedy::{Command, Parameter, Remedy, Vocabulary};
pub use error::{Error, Result};
pub use names::Named;
pub use num::solve::symmetric_eigen;
pub use sketch::features;
pub use sketch::frequency::{Component, Covariance, FrequencyLaw, RadiusLaw};
pub use sketch::map::dither::Dither;
pub use sketch::map::images::{ImageShape, Images};
pub use sketch::map::landmarks::{LandmarkRule, Landmarks};
pub use sketch::map::moments::Directions;
pub use sketch::map::waves::{Wave, Waves};
pub use sketch::map::{Feature, FeatureName, Map};
pub use sketch::operator::{RowsRef, Scratch, SketchOperator, WORKING_LIMIT};
pub use sketch::outline::Outline;
pub use sketch::spec::reading::{Column, Reading};
pub use sketch::spec::{Bounds, FORMAT, MAX_DIM, MAX_SIZE, Missing, SketchSpec, Source, Transform};
pub use sketch::{MomentSet, Moments, Sketch};

#[doc = include_str!("../../../docs/guide/rust.md")]
#[cfg(doctest)]
struct Guide;
