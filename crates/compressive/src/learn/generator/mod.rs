//! Generative networks from a sketch (\[Sch21\] section 6.2).
//!
//! A fully connected network $G_\theta$ maps latent rows $\xi \sim N(0, I_p)$ to rows of a table. It is
//! trained until the sketch of what it makes is the sketch of the data,
//! $$\min_\theta \sum_j w_j \lvert z_j - \mathbb E_\xi\,\Phi_j(G_\theta(\xi)) \rvert^2,$$
//! and never sees the data.
//!
//! - [`train`] learns a model from a sketch's moments.
//! - [`Generator`](crate::model::Generator) is the network as a model keeps it;
//!   [`Generator::sample`](crate::model::Generator::sample) draws rows in the user's units.
//!
//! ```no_run
//! use compressive::design::{LawChoice, Look, Request, Task, design};
//! use compressive::learn::generator::{TrainParams, train};
//! use compressive::model::Content;
//! use compressive::{RowsRef, Scratch, Sketch};
//!
//! # let rows = vec![0.0; 2000];
//! let columns = ["x".to_string(), "y".to_string()];
//! let params = Request::new(Task::Generate, 10).law(LawChoice::MultiScale);
//! let operator = design(Look::Sample { rows: &rows, columns: &columns }, &params)?.spec.build()?;
//! let mut sketch = Sketch::empty(&operator);
//! operator.accumulate(RowsRef::F64(&rows), None, &mut sketch, &mut Scratch::default())?;
//! let model = train(&operator, &sketch.moments()?, &TrainParams::default(), &mut |_, _| ())?;
//! if let Content::Generator(generator) = &model.content {
//!     let thousand_rows = generator.sample(1000, 7)?;
//! }
//! # Ok::<(), compressive::Error>(())
//! ```
//!
//! The same Fourier sketch, parameters and seed give the same network to the last bit, on every machine and
//! for any number of threads: sums are taken over fixed chunks in a fixed order, with the IEEE operations
//! only.

mod adam;
mod sketch_layer;
mod train;

pub use train::{TrainParams, train};
