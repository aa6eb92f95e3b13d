//! What a sketch says of the distribution behind it: atoms and what they would sum to, the sketch as a target
//! for mixtures of them, the weights that match it, and the noise that a right mixture leaves.

pub(crate) mod atom;
pub(crate) mod cells;
pub(crate) mod fit;
mod kernel_noise;
pub(crate) mod metric;
pub(crate) mod noise;
pub(crate) mod quadrature;
pub(crate) mod quadrature_em;
pub(crate) mod table;
pub(crate) mod target;
pub(crate) mod weigh;

pub(crate) use metric::Metric;
pub(crate) use table::{Cloud, Density, POINT_VARIANCE};
pub(crate) use target::Target;
