//! Atoms: the distributions a mixture is made of, seen through the sketch.
//!
//! A family maps the parameters $\theta$ of an atom to its sketch $a(\theta) \in \mathbb C^m$. Decoders work
//! on all k atoms of a mixture at once, so that the work is matrix products, and never form Jacobians: they
//! ask for vector-Jacobian products.
//!
//! A complex vector is held as two real ones. For a feature with one block (the cosine) only the real parts
//! count, and decoders keep the imaginary cotangents at zero.

mod gaussian;
mod stable;

pub use gaussian::{Gaussian, Shape};
pub(crate) use gaussian::{Kernel, Spread};
pub(crate) use stable::Stable;

/// The sketches of k atoms, k rows of m complex numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// Real parts, row-major.
    pub re: Vec<f64>,
    /// Imaginary parts, row-major.
    pub im: Vec<f64>,
    /// Working memory of the family that fills the batch.
    pub(crate) work: Vec<f64>,
}

impl Batch {
    /// A batch of k atoms at m frequencies, all zero.
    #[cfg(test)]
    pub fn zeros(k: usize, m: usize) -> Batch {
        Batch { re: vec![0.0; k * m], im: vec![0.0; k * m], work: Vec::new() }
    }

    /// Sets the size, keeping the memory.
    pub fn resize(&mut self, k: usize, m: usize) {
        self.re.resize(k * m, 0.0);
        self.im.resize(k * m, 0.0);
    }
}

/// Lower and upper ends of an atom's parameters, and of those shared by all atoms.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamBounds {
    /// Lower ends of one atom's parameters.
    pub low: Vec<f64>,
    /// Upper ends of one atom's parameters.
    pub high: Vec<f64>,
    /// Lower ends of the shared parameters.
    pub shared_low: Vec<f64>,
    /// Upper ends of the shared parameters.
    pub shared_high: Vec<f64>,
}

/// A family of atoms. The first `dim` parameters of an atom are its location.
pub trait AtomFamily: Send + Sync {
    /// Number d of working coordinates.
    fn dim(&self) -> usize;
    /// Number of frequencies m.
    fn n_frequencies(&self) -> usize;
    /// Parameters of one atom.
    fn n_params(&self) -> usize;
    /// Parameters shared by all atoms.
    fn n_shared(&self) -> usize;
    /// Ends of all parameters, for locations in the box `low..high` of working coordinates.
    fn bounds(&self, low: &[f64], high: &[f64]) -> ParamBounds;
    /// The change of each parameter of an atom, and of each shared one, that changes the sketch by about its
    /// own size.
    fn units(&self) -> (Vec<f64>, Vec<f64>);
    /// The same family at some of the frequencies, in the order given.
    fn restrict(&self, which: &[usize]) -> Box<dyn AtomFamily>;
    /// An atom at a location, with the family's default shape; `variance` is a guess of its mean variance.
    fn init(&self, location: &[f64], variance: f64) -> Vec<f64>;
    /// Sketches of the atoms: `atoms` has k rows of `n_params`.
    fn sketch_batch(&self, atoms: &[f64], shared: &[f64], out: &mut Batch);
    /// Gradient in `atoms` and `shared` of
    /// $\sum_{k,j} u_{kj}\,\mathrm{Re}\,a_{kj} + v_{kj}\,\mathrm{Im}\,a_{kj}$ with the cotangent $u + iv$.
    ///
    /// `values` are the sketches of the same atoms, as [`sketch_batch`](AtomFamily::sketch_batch) gives them.
    /// Gradients are overwritten; the cotangent is used as working memory and has no meaning afterwards.
    fn vjp_batch(
        &self,
        atoms: &[f64],
        shared: &[f64],
        values: &Batch,
        cotangent: &mut Batch,
        grad_atoms: &mut [f64],
        grad_shared: &mut [f64],
    );
}
