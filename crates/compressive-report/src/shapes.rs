//! A model as ellipsoids: what every picture of a model is drawn from.

use compressive::ask::explain::Explanation;
use compressive::model::{Content, Covariances, Model, Rule};

/// Components with a place, a weight and, where it is known, a width; in the user's units.
#[derive(Clone, Debug, PartialEq)]
pub struct Shapes {
    /// One for each component: `1`, `2` ..., or the class with its number.
    pub names: Vec<String>,
    /// Which of the colours each component has: its own, or its class's.
    pub colours: Vec<usize>,
    /// Weights, which sum to one.
    pub weights: Vec<f64>,
    /// k rows of d.
    pub means: Vec<Vec<f64>>,
    /// Widths; None for centres without any.
    pub covariances: Option<Covariances>,
}

impl Shapes {
    /// The components of a model; None for generative networks and for classifiers without mixtures. Centres
    /// get the widths of the `explanation`, if there is one.
    pub fn of(model: &Model, explanation: Option<&Explanation>) -> Option<Shapes> {
        let (means, weights) = (model.locations().to_vec(), model.weights().to_vec());
        let covariances = match &model.content {
            Content::Kmeans { .. } | Content::Kmedians { .. } => {
                explanation.map(|found| found.covariances.clone())
            }
            Content::Gmm { covariances, .. } => Some(covariances.clone()),
            Content::Stable { scales, .. } => {
                let squares = scales.iter().map(|row| row.iter().map(|s| s * s).collect()).collect();
                Some(Covariances::Diagonal(squares))
            }
            Content::Pca { .. } => return principal(model),
            Content::Classify(classifier) => match &classifier.rule {
                Rule::Mixture { .. } => return classes(model),
                Rule::Correlation { .. } | Rule::Nearest { .. } | Rule::Centred { .. } => return None,
            },
            Content::Generator(_) => return None,
        };
        let k = means.len();
        let names = (1..=k).map(|l| l.to_string()).collect();
        Some(Shapes { names, colours: (0..k).collect(), weights, means, covariances })
    }

    /// Number of components.
    pub fn k(&self) -> usize {
        self.means.len()
    }

    /// Number of columns.
    pub fn dim(&self) -> usize {
        self.means.first().map_or(0, Vec::len)
    }

    /// Variance of a component along a column; 0 where no width is known.
    pub fn variance(&self, component: usize, column: usize) -> f64 {
        match &self.covariances {
            None => 0.0,
            Some(Covariances::Diagonal(all)) => all[component][column],
            Some(Covariances::Full(all)) => all[component][column][column],
        }
    }

    /// $a^\top \Sigma_l\, b$; 0 where no width is known.
    pub fn covariance(&self, component: usize, a: &[f64], b: &[f64]) -> f64 {
        match &self.covariances {
            None => 0.0,
            Some(Covariances::Diagonal(all)) => {
                all[component].iter().zip(a).zip(b).map(|((v, a), b)| v * a * b).sum()
            }
            Some(Covariances::Full(all)) => {
                all[component].iter().zip(a).map(|(row, a)| a * dot(row, b)).sum()
            }
        }
    }

    /// Mean of a column over all components.
    pub fn mean(&self, column: usize) -> f64 {
        self.weights.iter().zip(&self.means).map(|(w, mean)| w * mean[column]).sum()
    }

    /// Variance of a column between the components, and in all.
    pub fn variances(&self, column: usize) -> (f64, f64) {
        let mean = self.mean(column);
        let parts = self.weights.iter().zip(&self.means).enumerate();
        parts.fold((0.0, 0.0), |(between, all), (l, (w, m))| {
            let apart = w * (m[column] - mean).powi(2);
            (between + apart, all + apart + w * self.variance(l, column))
        })
    }
}

/// $\sum_c a_c b_c$.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Principal components as one Gaussian of the covariance $V \Lambda V^\top + \sigma^2 (I - V V^\top)$, in
/// the user's units.
fn principal(model: &Model) -> Option<Shapes> {
    let Content::Pca { mean, components, explained_variance, noise_variance, scale, .. } = &model.content
    else {
        return None;
    };
    let d = mean.len();
    let unit = |c: usize| scale.as_ref().map_or(1.0, |s| s[c]);
    let entry = |i: usize, j: usize| {
        let along = components.iter().zip(explained_variance);
        let shared: f64 = along.map(|(v, e)| (e - noise_variance) * v[i] * v[j]).sum();
        (shared + if i == j { *noise_variance } else { 0.0 }) * unit(i) * unit(j)
    };
    let sigma = (0..d).map(|i| (0..d).map(|j| entry(i, j)).collect()).collect();
    Some(Shapes {
        names: vec!["all rows".into()],
        colours: vec![0],
        weights: vec![1.0],
        means: vec![mean.clone()],
        covariances: Some(Covariances::Full(vec![sigma])),
    })
}

/// The mixtures of all classes as one, each class in its own colour.
fn classes(model: &Model) -> Option<Shapes> {
    let Content::Classify(classifier) = &model.content else { return None };
    let Rule::Mixture { mixtures } = &classifier.rule else { return None };
    let mut shapes =
        Shapes { names: vec![], colours: vec![], weights: vec![], means: vec![], covariances: None };
    let mut sigmas = Vec::new();
    for (class, ((name, prior), mixture)) in
        classifier.classes.iter().zip(&classifier.priors).zip(mixtures).enumerate()
    {
        for (l, weight) in mixture.weights.iter().enumerate() {
            let many = mixture.weights.len() > 1;
            shapes.names.push(if many { format!("{name} {}", l + 1) } else { name.clone() });
            shapes.colours.push(class);
            shapes.weights.push(prior * weight);
            shapes.means.push(mixture.means[l].clone());
            sigmas.push(mixture.covariances.matrix(l));
        }
    }
    shapes.covariances = Some(Covariances::Full(sigmas));
    Some(shapes)
}
