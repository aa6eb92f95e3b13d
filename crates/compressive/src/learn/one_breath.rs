//! The usual tasks as methods of a sketch, with their defaults.

use crate::error::Result;
use crate::learn::{
    Components, KmeansParams, KmediansParams, MixtureParams, PcaParams, kmeans, kmedians, mixture, pca,
};
use crate::model::Model;
use crate::sketch::Sketch;

/// The operator is rebuilt from the recipe, O(m d); to learn often, build it once and call the functions of
/// [`learn`](crate::learn).
impl Sketch {
    /// k centres of least squared distance, [`kmeans`](kmeans()).
    pub fn kmeans(&self, k: usize) -> Result<Model> {
        let params = KmeansParams { k: Components::Exactly(k), ..KmeansParams::default() };
        Ok(kmeans(&self.spec().clone().build()?, &self.moments()?, &params)?.model)
    }

    /// k centres of least distance, [`kmedians`](kmedians()).
    pub fn kmedians(&self, k: usize) -> Result<Model> {
        let params = KmediansParams { k: Components::Exactly(k), ..KmediansParams::default() };
        Ok(kmedians(&self.spec().clone().build()?, &self.moments()?, &params)?.model)
    }

    /// A mixture of k Gaussians with a variance for each column, [`mixture`](mixture()).
    pub fn gmm(&self, k: usize) -> Result<Model> {
        let params = MixtureParams { k: Components::Exactly(k), ..MixtureParams::default() };
        Ok(mixture(&self.spec().clone().build()?, &self.moments()?, &params)?.model)
    }

    /// k principal components, of a sketch designed for them, [`pca`](pca()).
    pub fn pca(&self, k: usize) -> Result<Model> {
        Ok(pca(&self.spec().clone().build()?, &self.moments()?, &PcaParams { k, ..PcaParams::default() })?
            .model)
    }
}
