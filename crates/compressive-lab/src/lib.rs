//! The experiments of the papers, with the published numbers beside ours.
//!
//! - [`experiment`] runs them and writes their pages, the program `compressive-lab` calls it;
//! - [`simulate`] has whole applications on generated data: a fleet of sensors, audio events, speaker
//!   verification;
//! - [`audit`] bounds a mechanism's epsilon from below.
//!
//! Bracketed references (\[KBGP18\] ...) are explained in `docs/math.md`.
#![forbid(unsafe_code)]
// Negated comparisons are meant: they are true for NaN.
#![allow(clippy::neg_cmp_op_on_partial_ord, reason = "`!(x > 0.0)` also catches NaN")]

pub mod epsilon_bound;
mod error;
pub mod experiment;
mod plot;
pub mod simulate;

pub use error::{Error, Result};
