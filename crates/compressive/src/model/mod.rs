//! What was learned, in the user's units, and how it is written: JSON with `task`, `k`, `columns` and the
//! parameters.
//!
//! ```
//! use compressive::model::Model;
//!
//! let model = Model::from_json(r#"{"format": 1, "task": "kmeans", "k": 2, "columns": ["x"], "centers": [[0.0], [5.0]], "weights": [0.5, 0.5]}"#)?;
//! assert_eq!(model.assign(&[0.1, 4.0, -3.0])?, [0, 1, 0]);
//! # Ok::<(), compressive::Error>(())
//! ```

mod classifier;
mod explained;
pub(crate) mod generative;
mod info;
mod predict;
mod project;
pub(crate) mod units;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::sketch::spec::SketchSpec;
use crate::sketch::spec::reading::{self, Column};

pub use classifier::{ClassMixture, ClassPredictor, Classifier, Rule};
pub(crate) use explained::Evidence;
pub use explained::{Explained, Misfit};
pub use generative::{Activation, Generator};
pub use info::{DecodeInfo, Stop};
pub use predict::{Predictor, Scores, Wanted};
pub use project::Projector;
pub(crate) use units::{Working, to_working};

/// The newest model format this version reads and writes.
pub const MODEL_FORMAT: u32 = 1;

/// A learned model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// Version of the format, [`MODEL_FORMAT`].
    pub format: u32,
    /// What was learned.
    #[serde(flatten)]
    pub content: Content,
    /// Number of components.
    pub k: usize,
    /// Names of the d columns, in the order of the parameters.
    pub columns: Vec<String>,
    /// The columns of the table that the `columns` are coordinates of, where they are not its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<Column>,
    /// What each column is divided by before distances to centres are taken; none for distances in the
    /// columns' own units.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spreads: Vec<f64>,
    /// What takes the place of a missing entry of each column, where the recipe filled them; else a row with
    /// a missing entry has no label.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fill: Vec<f64>,
    /// How it was learned; absent from a model written by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// The parameters of a model, in the user's units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "lowercase")]
pub enum Content {
    /// k centroids.
    Kmeans {
        /// k rows of d.
        centers: Vec<Vec<f64>>,
        /// Share of the rows nearest to each, as the sketch tells it.
        weights: Vec<f64>,
    },
    /// A mixture of k Gaussians.
    Gmm {
        /// k weights, which sum to one.
        weights: Vec<f64>,
        /// k rows of d.
        means: Vec<Vec<f64>>,
        /// Of each component.
        covariances: Covariances,
    },
    /// k principal components.
    Pca {
        /// The mean of the rows, d numbers.
        mean: Vec<f64>,
        /// k rows of d, orthonormal, the largest entry of each positive; the one that explains most first.
        components: Vec<Vec<f64>>,
        /// Variance of the rows along each component (divisor n).
        explained_variance: Vec<f64>,
        /// Mean variance of the directions beside the components.
        noise_variance: f64,
        /// Sum of the variances of all columns.
        total_variance: f64,
        /// What columns are divided by before they are projected, if they were scaled one by one; components
        /// and variances are then in these units.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scale: Option<Vec<f64>>,
    },
    /// k centres of least sum of distances.
    Kmedians {
        /// k rows of d.
        centers: Vec<Vec<f64>>,
        /// Share of the rows nearest to each, as the sketch tells it.
        weights: Vec<f64>,
    },
    /// A mixture of k sub-Gaussian alpha-stable laws: characteristic functions
    /// $e^{i\omega^\top c - (\frac12 \sum_c s_c^2 \omega_c^2)^{\alpha/2}}$.
    Stable {
        /// k weights, which sum to one.
        weights: Vec<f64>,
        /// k rows of d.
        locations: Vec<Vec<f64>>,
        /// k rows of d scales s.
        scales: Vec<Vec<f64>>,
        /// The exponent of each component; 2 for a Gaussian.
        alpha: Vec<f64>,
    },
    /// A generative network.
    #[serde(rename = "generate")]
    Generator(Generator),
    /// A classifier of k classes.
    Classify(Classifier),
}

/// The covariances of a mixture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Covariances {
    /// k rows of d variances.
    Diagonal(Vec<Vec<f64>>),
    /// k matrices of d x d.
    Full(Vec<Vec<Vec<f64>>>),
}

/// How a model was learned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Origin {
    /// Fingerprint of the sketch's spec.
    pub fingerprint: String,
    /// Rows behind the sketch.
    pub rows: u64,
    /// Name of the decoder.
    pub decoder: String,
    /// Kind of covariance the atoms had.
    pub covariance: String,
    /// Seed of the decoder.
    pub seed: u64,
    /// How well the model explains the sketch.
    #[serde(flatten)]
    pub misfit: Misfit,
    /// What the decoder did.
    pub info: DecodeInfo,
}

impl Model {
    /// A model of columns of plain numbers whose origin is not known.
    pub fn new(content: Content, k: usize, columns: Vec<String>) -> Model {
        let (readings, spreads, fill) = (Vec::new(), Vec::new(), Vec::new());
        Model { format: MODEL_FORMAT, content, k, columns, readings, spreads, fill, origin: None }
    }

    /// A model of the columns of a recipe. Where they are categories, dates or vectors as well as numbers,
    /// distances to centres are those of its working coordinates before whitening.
    pub(crate) fn of_spec(content: Content, k: usize, spec: &SketchSpec) -> Model {
        let centres = matches!(content, Content::Kmeans { .. } | Content::Kmedians { .. });
        let mixed = centres && !spec.readings.is_empty();
        let spreads = if mixed { spec.transform.spread.clone() } else { Vec::new() };
        let readings = spec.readings.clone();
        let fill = spec.fill();
        Model { readings, spreads, fill, ..Model::new(content, k, spec.columns.clone()) }
    }

    /// Reads and checks a model.
    pub fn from_json(text: &str) -> Result<Model> {
        let model: Model = serde_json::from_str(text).map_err(|e| Error::Model {
            field: "JSON".into(),
            problem: format!(
                "{e}; a model has `format`, `task`, `k`, `columns` and its parameters as finite numbers"
            ),
        })?;
        model.validate()?;
        Ok(model)
    }

    /// The model as JSON, indented.
    pub fn to_json(&self) -> String {
        // Numbers and strings only: writing them cannot fail.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// The columns of the table, and how each is read.
    pub fn table_columns(&self) -> Vec<Column> {
        reading::table_columns(&self.readings, &self.columns)
    }

    /// Names of the d columns for people.
    pub fn shown_columns(&self) -> Vec<String> {
        self.table_columns().iter().flat_map(Column::shown).collect()
    }

    /// Number of columns d.
    pub fn dim(&self) -> usize {
        self.columns.len()
    }

    /// Name of the task.
    pub fn task(&self) -> &'static str {
        match self.content {
            Content::Kmeans { .. } => "kmeans",
            Content::Gmm { .. } => "gmm",
            Content::Pca { .. } => "pca",
            Content::Kmedians { .. } => "kmedians",
            Content::Stable { .. } => "stable",
            Content::Generator(_) => "generate",
            Content::Classify(_) => "classify",
        }
    }

    /// Centres or means, k rows of d; none for principal components, generative networks and classifiers.
    pub fn locations(&self) -> &[Vec<f64>] {
        match &self.content {
            Content::Kmeans { centers, .. } | Content::Kmedians { centers, .. } => centers,
            Content::Gmm { means, .. } => means,
            Content::Pca { .. } | Content::Generator(_) | Content::Classify(_) => &[],
            Content::Stable { locations, .. } => locations,
        }
    }

    /// Weights of the components; none for principal components, generative networks and classifiers.
    pub fn weights(&self) -> &[f64] {
        match &self.content {
            Content::Kmeans { weights, .. }
            | Content::Kmedians { weights, .. }
            | Content::Gmm { weights, .. }
            | Content::Stable { weights, .. } => weights,
            Content::Pca { .. } | Content::Generator(_) | Content::Classify(_) => &[],
        }
    }

    /// Checks shapes and values of every field.
    pub fn validate(&self) -> Result<()> {
        let fail = |field: &str, problem: String| Err(Error::Model { field: field.into(), problem });
        if self.format != MODEL_FORMAT {
            return fail("format", format!("{}, this version reads {MODEL_FORMAT}", self.format));
        }
        let (k, d) = (self.k, self.dim());
        if let Err(error) = reading::validate(&self.readings, &self.columns) {
            return fail("readings", error.to_string());
        }
        if !self.spreads.is_empty() {
            check_table("spreads", std::slice::from_ref(&self.spreads), 1, d)?;
            if let Some(s) = self.spreads.iter().find(|s| !(**s > 0.0)) {
                return fail("spreads", format!("{s} is not positive"));
            }
        }
        if !self.fill.is_empty() {
            check_table("fill", std::slice::from_ref(&self.fill), 1, d)?;
        }
        if k == 0 || d == 0 {
            return fail("k", format!("{k} components of {d} columns; there must be at least one of each"));
        }
        let name = match &self.content {
            Content::Kmeans { .. } | Content::Kmedians { .. } => "centers",
            Content::Gmm { .. } => "means",
            Content::Pca { .. } => return project::check(&self.content, k, d),
            Content::Generator(generator) => return generator.check(k, d),
            Content::Classify(classifier) => return classifier.check(k, &self.columns),
            Content::Stable { .. } => "locations",
        };
        check_table(name, self.locations(), k, d)?;
        check_table("weights", std::slice::from_ref(&self.weights().to_vec()), 1, k)?;
        if let Some(w) = self.weights().iter().find(|w| **w < 0.0) {
            return fail("weights", format!("{w} is negative"));
        }
        let total: f64 = self.weights().iter().sum();
        if !((total - 1.0).abs() < 1e-6) {
            return fail("weights", format!("they sum to {total}, not to 1"));
        }
        if let Content::Gmm { covariances, .. } = &self.content {
            covariances.check(k, d)?;
        }
        if let Content::Stable { scales, alpha, .. } = &self.content {
            check_stable(scales, alpha, k, d)?;
        }
        Ok(())
    }
}

/// Checks scales and exponents of stable laws.
fn check_stable(scales: &[Vec<f64>], alpha: &[f64], k: usize, d: usize) -> Result<()> {
    let fail = |field: &str, problem: String| Err(Error::Model { field: field.into(), problem });
    check_table("scales", scales, k, d)?;
    if let Some(s) = scales.iter().flatten().find(|s| !(**s > 0.0)) {
        return fail("scales", format!("the scale {s} is not positive"));
    }
    check_table("alpha", std::slice::from_ref(&alpha.to_vec()), 1, k)?;
    match alpha.iter().find(|a| !(**a > 0.0 && **a <= 2.0)) {
        Some(a) => fail("alpha", format!("the exponent {a} is not above 0 and at most 2")),
        None => Ok(()),
    }
}

impl Covariances {
    /// The covariance of a component as a matrix, d rows of d.
    pub fn matrix(&self, component: usize) -> Vec<Vec<f64>> {
        match self {
            Covariances::Full(all) => all[component].clone(),
            Covariances::Diagonal(all) => {
                let v = &all[component];
                (0..v.len())
                    .map(|i| (0..v.len()).map(|j| if i == j { v[i] } else { 0.0 }).collect())
                    .collect()
            }
        }
    }

    fn check(&self, k: usize, d: usize) -> Result<()> {
        let fail = |problem: String| Err(Error::Model { field: "covariances".into(), problem });
        match self {
            Covariances::Diagonal(all) => {
                check_table("covariances", all, k, d)?;
                match all.iter().flatten().find(|v| !(**v > 0.0)) {
                    Some(v) => fail(format!("the variance {v} is not positive")),
                    None => Ok(()),
                }
            }
            Covariances::Full(all) if all.len() == k => {
                for (l, matrix) in all.iter().enumerate() {
                    check_table("covariances", matrix, d, d)?;
                    if !symmetric(matrix) || crate::num::linear::cholesky(matrix).is_none() {
                        return fail(format!(
                            "component {} has no symmetric, positive definite covariance",
                            l + 1
                        ));
                    }
                }
                Ok(())
            }
            Covariances::Full(all) => fail(format!("there are {} matrices for {k} components", all.len())),
        }
    }
}

/// Whether a d x d matrix is symmetric up to rounding.
fn symmetric(matrix: &[Vec<f64>]) -> bool {
    let close = |i: usize, j: usize| {
        (matrix[i][j] - matrix[j][i]).abs() <= 1e-9 * matrix[i][i].abs().max(matrix[j][j].abs())
    };
    (0..matrix.len()).all(|i| (0..i).all(|j| close(i, j)))
}

/// Checks that a table has `rows` rows of `columns` finite numbers.
fn check_table(field: &str, table: &[Vec<f64>], rows: usize, columns: usize) -> Result<()> {
    let fail = |problem: String| Err(Error::Model { field: field.into(), problem });
    if table.len() != rows {
        return fail(format!("there are {} rows, expected {rows}", table.len()));
    }
    for (i, row) in table.iter().enumerate() {
        if row.len() != columns {
            return fail(format!("row {} has {} numbers, expected {columns}", i + 1, row.len()));
        }
        if let Some(j) = row.iter().position(|x| !x.is_finite()) {
            return fail(format!("row {}, number {}: {} is not finite", i + 1, j + 1, row[j]));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
