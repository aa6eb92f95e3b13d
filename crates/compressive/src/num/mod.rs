//! Numbers: linear algebra, solvers, random streams, clusters of rows in memory. Nothing here knows of
//! sketches.

pub(crate) mod base64;
pub(crate) mod bisect;
pub(crate) mod budget;
pub(crate) mod em;
pub(crate) mod linear;
pub(crate) mod lloyd;
pub(crate) mod math;
pub(crate) mod nearest;
pub(crate) mod packed;
pub(crate) mod parallel;
pub(crate) mod random;
pub(crate) mod repeated;
pub(crate) mod solve;
pub(crate) mod special;
pub(crate) mod swaps;
pub(crate) mod weiszfeld;
