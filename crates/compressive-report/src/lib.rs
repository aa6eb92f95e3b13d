//! Sketches and models for people: in [`words`] and as text for a terminal, and as one self-contained
//! [`page`] with pictures.
//!
//! The page needs nothing but a browser: styles, a short script and the data of its pictures are inside it,
//! no outside request is made, and without the script only the choice of axes and the values under the
//! pointer are missing. It shows what the sketch holds, the components with their weights and profiles, the
//! views that tell them apart, what the model leaves unexplained, the drift over a series of sketches, the
//! privacy promise, and the commands that made it.
#![forbid(unsafe_code)]

mod axes;
pub mod columns;
mod html;
pub mod notebook;
mod page;
mod picture;
pub mod promise;
mod section;
mod shapes;
mod svg;
pub mod sweep;
pub mod text;
pub mod words;

pub use axes::{Axis, axes, telling_columns};
pub use page::{CHART_SCRIPT, Material, page, style};
pub use picture::picture;
pub use shapes::Shapes;

#[cfg(test)]
mod tests;
