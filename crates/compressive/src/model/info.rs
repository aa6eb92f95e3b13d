//! What a decoder did.

use serde::{Deserialize, Serialize};

use crate::num::solve::StopReason;

/// Report of a decoder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DecodeInfo {
    /// Outer iterations of the published algorithm, all restarts together.
    pub iterations: usize,
    /// Evaluations of an objective (searches of single atoms and joint descents), all restarts together.
    pub evaluations: usize,
    /// The objective of the returned fit.
    pub cost: f64,
    /// Why the last joint descent of the returned fit stopped.
    pub stop: Stop,
}

impl DecodeInfo {
    /// The report of a decoder that could not start.
    pub(crate) fn nothing() -> DecodeInfo {
        DecodeInfo { iterations: 0, evaluations: 0, cost: f64::INFINITY, stop: Stop::BadInput }
    }
}

/// Why a decoder stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Stop {
    /// A tolerance was met.
    Converged,
    /// The time for the search was up; this is the best that was found by then.
    Cut,
    /// The limit of iterations of the last descent was reached.
    IterationLimit,
    /// No step lowered the objective any more.
    NoProgress,
    /// There was nothing to decode: no atoms wanted, or values that are not finite.
    BadInput,
}

impl From<StopReason> for Stop {
    fn from(reason: StopReason) -> Stop {
        match reason {
            StopReason::IterationLimit => Stop::IterationLimit,
            StopReason::Cut => Stop::Cut,
            StopReason::NoProgress => Stop::NoProgress,
            StopReason::NotFinite | StopReason::BadInput => Stop::BadInput,
            _ => Stop::Converged,
        }
    }
}
