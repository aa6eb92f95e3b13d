//! The usual tasks as methods of a sketch, with their defaults.

use crate::design::Task;
use crate::error::Result;
use crate::learn::{LearnParams, learn};
use crate::model::Model;
use crate::sketch::Sketch;

/// The operator is rebuilt from the recipe, O(m d); to learn often, build it once and call [`learn`].
impl Sketch {
    /// k centres of least squared distance.
    pub fn kmeans(&self, k: usize) -> Result<Model> {
        self.learn(Task::Kmeans, k)
    }

    /// k centres of least distance.
    pub fn kmedians(&self, k: usize) -> Result<Model> {
        self.learn(Task::Kmedians, k)
    }

    /// A mixture of k Gaussians with a variance for each column.
    pub fn gmm(&self, k: usize) -> Result<Model> {
        self.learn(Task::Gmm, k)
    }

    /// k principal components, of a sketch designed for them.
    pub fn pca(&self, k: usize) -> Result<Model> {
        self.learn(Task::Pca, k)
    }

    fn learn(&self, task: Task, k: usize) -> Result<Model> {
        Ok(learn(&self.spec().clone().build()?, &self.moments()?, &LearnParams::new(task, k))?.model)
    }
}
