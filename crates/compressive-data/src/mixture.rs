//! Mixtures of Gaussians as plain data: a planted truth or a fitted model.

use compressive::model::{Content, Covariances, Model};

use crate::error::{Error, Result, at_least_one, expect_len};
use crate::linear::cholesky;
use crate::random::Rng;
use crate::rows::Sample;

/// How covariances are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Shape {
    /// The d variances of each component; covariances are k x d numbers.
    #[default]
    Diagonal,
    /// The d x d matrix of each component; covariances are k x d x d numbers.
    Full,
}

impl Shape {
    /// Numbers per component: d or d^2.
    pub fn len(self, dim: usize) -> usize {
        match self {
            Shape::Diagonal => dim,
            Shape::Full => dim * dim,
        }
    }
}

/// $p(x) = \sum_l \alpha_l\, N(x; \mu_l, \Sigma_l)$.
#[derive(Clone, Debug, PartialEq)]
pub struct Mixture {
    /// Number d of columns.
    pub dim: usize,
    /// k weights $\alpha_l \ge 0$ of sum 1.
    pub weights: Vec<f64>,
    /// k x d means $\mu_l$, row-major.
    pub means: Vec<f64>,
    /// Covariances $\Sigma_l$: k x d variances, or k x d x d matrices, as `shape` says.
    pub covariances: Vec<f64>,
    /// What `covariances` holds.
    pub shape: Shape,
}

/// The mixture from which rows were drawn.
pub type Truth = Mixture;

impl Mixture {
    /// Number k of components.
    pub fn k(&self) -> usize {
        self.weights.len()
    }

    /// The mean of a component.
    pub fn mean(&self, component: usize) -> &[f64] {
        &self.means[component * self.dim..(component + 1) * self.dim]
    }

    /// The variances, or the matrix, of a component.
    pub fn covariance(&self, component: usize) -> &[f64] {
        let len = self.shape.len(self.dim);
        &self.covariances[component * len..(component + 1) * len]
    }

    /// Free parameters of the model: k(2d + 1) - 1, or k(1 + d + d(d + 1)/2) - 1.
    pub fn n_params(&self) -> usize {
        let shape = match self.shape {
            Shape::Diagonal => self.dim,
            Shape::Full => self.dim * (self.dim + 1) / 2,
        };
        self.k() * (1 + self.dim + shape) - 1
    }

    /// Checks lengths, weights, means and variances. Full matrices are checked where they are factored.
    pub fn validate(&self) -> Result<()> {
        at_least_one("dim", self.dim)?;
        at_least_one("components", self.k())?;
        expect_len("means of a mixture", self.means.len(), self.k() * self.dim)?;
        let expected = self.k() * self.shape.len(self.dim);
        expect_len("covariances of a mixture", self.covariances.len(), expected)?;
        for component in 0..self.k() {
            self.validate_component(component)?;
        }
        let total: f64 = self.weights.iter().sum();
        if !((total - 1.0).abs() <= 1e-6) {
            return Err(Error::Parameter {
                name: "sum of weights",
                value: total,
                allowed: "1 (within 1e-6)",
            });
        }
        Ok(())
    }

    fn validate_component(&self, component: usize) -> Result<()> {
        let refuse = |what, value, allowed| Err(Error::Component { component, what, value, allowed });
        let weight = self.weights[component];
        if !(weight >= 0.0 && weight.is_finite()) {
            return refuse("weight", weight, "a finite number, at least 0");
        }
        if let Some(&value) = self.mean(component).iter().find(|value| !value.is_finite()) {
            return refuse("mean", value, "finite");
        }
        let covariance = self.covariance(component);
        let step = if self.shape == Shape::Full { self.dim + 1 } else { 1 };
        let variance = covariance.iter().step_by(step).find(|&&value| !(value > 0.0));
        match variance.or(covariance.iter().find(|value| !value.is_finite())) {
            Some(&value) => refuse("covariance", value, "finite, with a positive diagonal"),
            None => Ok(()),
        }
    }

    /// The lower Cholesky factor of a full covariance.
    pub(crate) fn factor(&self, component: usize) -> Result<Vec<f64>> {
        cholesky(self.covariance(component), self.dim).ok_or(Error::Component {
            component,
            what: "covariance",
            value: f64::NAN,
            allowed: "positive definite (its Cholesky factor does not exist)",
        })
    }

    /// n independent rows with the component each came from. Cost: n d normals (n d^2/2 multiply-adds more
    /// for full covariances), one thread.
    pub fn sample(&self, n_rows: usize, rng: &mut Rng) -> Result<Sample> {
        self.validate()?;
        let roots = self.roots()?;
        let mut sample = Sample {
            dim: self.dim,
            values: Vec::with_capacity(n_rows * self.dim),
            labels: Vec::with_capacity(n_rows),
        };
        let mut noise = vec![0.0; self.dim];
        for _ in 0..n_rows {
            let component = rng.choice(&self.weights);
            noise.iter_mut().for_each(|value| *value = rng.normal());
            let (mean, root) = (self.mean(component), &roots[component]);
            for (i, &center) in mean.iter().enumerate() {
                let offset = match self.shape {
                    Shape::Diagonal => root[i] * noise[i],
                    Shape::Full => {
                        let row = &root[i * self.dim..=i * self.dim + i];
                        row.iter().zip(&noise).map(|(entry, value)| entry * value).sum()
                    }
                };
                sample.values.push(center + offset);
            }
            sample.labels.push(component as u32);
        }
        Ok(sample)
    }

    /// What turns white noise into a component's noise: standard deviations, or Cholesky factors.
    fn roots(&self) -> Result<Vec<Vec<f64>>> {
        let root = |component| match self.shape {
            Shape::Diagonal => Ok(self.covariance(component).iter().map(|v| v.sqrt()).collect()),
            Shape::Full => self.factor(component),
        };
        (0..self.k()).map(root).collect()
    }

    /// The mixture as a model of the library, with names for the columns.
    pub fn to_model(&self, columns: Vec<String>) -> Model {
        let cut = |values: &[f64]| values.chunks_exact(self.dim).map(<[f64]>::to_vec).collect::<Vec<_>>();
        let covariances = match self.shape {
            Shape::Diagonal => Covariances::Diagonal(cut(&self.covariances)),
            Shape::Full => {
                let matrices = self.covariances.chunks_exact(self.dim * self.dim);
                Covariances::Full(matrices.map(cut).collect())
            }
        };
        let content = Content::Gmm { weights: self.weights.clone(), means: cut(&self.means), covariances };
        Model::new(content, self.k(), columns)
    }

    /// The same mixture with full matrices.
    pub fn to_full(&self) -> Mixture {
        if self.shape == Shape::Full {
            return self.clone();
        }
        let mut covariances = vec![0.0; self.k() * self.dim * self.dim];
        for (index, &variance) in self.covariances.iter().enumerate() {
            let (component, i) = (index / self.dim, index % self.dim);
            covariances[(component * self.dim + i) * self.dim + i] = variance;
        }
        Mixture { covariances, shape: Shape::Full, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> Mixture {
        Mixture {
            dim: 2,
            weights: vec![0.25, 0.75],
            means: vec![-5.0, 0.0, 5.0, 1.0],
            covariances: vec![1.0, 0.6, 0.6, 2.0, 0.5, 0.0, 0.0, 0.5],
            shape: Shape::Full,
        }
    }

    #[test]
    fn a_sample_has_the_moments_of_its_mixture() {
        let sample = pair().sample(200_000, &mut Rng::new(1)).expect("valid");
        let first: Vec<&[f64]> = sample
            .values
            .chunks(2)
            .zip(&sample.labels)
            .filter(|(_, label)| **label == 0)
            .map(|(row, _)| row)
            .collect();
        let n = first.len() as f64;
        // Five standard errors: 485 rows for the share, 0.03 for moments of 5e4 rows.
        assert!((n - 50_000.0).abs() < 970.0, "{n}");
        let mean = |f: &dyn Fn(&[f64]) -> f64| first.iter().map(|row| f(row)).sum::<f64>() / n;
        assert!((mean(&|row| row[0]) + 5.0).abs() < 0.03);
        assert!((mean(&|row| (row[0] + 5.0) * row[1]) - 0.6).abs() < 0.04);
        assert!((mean(&|row| row[1] * row[1]) - 2.0).abs() < 0.07);
    }

    #[test]
    fn invalid_mixtures_are_refused_with_the_component() {
        let broken = |change: &dyn Fn(&mut Mixture)| {
            let mut mixture = pair();
            change(&mut mixture);
            mixture.sample(1, &mut Rng::new(0)).expect_err("refused")
        };
        assert!(matches!(
            broken(&|m| m.weights[1] = -0.75),
            Error::Component { component: 1, what: "weight", .. }
        ));
        assert!(matches!(broken(&|m| m.weights[1] = 0.7), Error::Parameter { .. }));
        assert!(matches!(
            broken(&|m| m.means[0] = f64::NAN),
            Error::Component { component: 0, what: "mean", .. }
        ));
        assert!(matches!(broken(&|m| m.covariances[7] = 0.0), Error::Component { component: 1, .. }));
        assert!(matches!(broken(&|m| m.covariances[2] = 9.0), Error::Component { component: 0, .. }));
        assert!(matches!(broken(&|m| m.means.truncate(3)), Error::Shape { found: 3, expected: 4, .. }));
    }

    #[test]
    fn a_mixture_and_its_model_have_the_same_densities() {
        let rows = pair().sample(100, &mut Rng::new(2)).expect("valid").values;
        let mut diagonal = pair();
        diagonal.shape = Shape::Diagonal;
        diagonal.covariances = vec![1.0, 2.0, 0.5, 0.5];
        for mixture in [pair(), diagonal] {
            let model = mixture.to_model(vec!["x".into(), "y".into()]);
            let densities = model.scores(&rows).expect("scored").log_densities;
            let mean = densities.iter().sum::<f64>() / 100.0;
            let rows = crate::rows::Rows::new(&rows, 2).expect("rows");
            let expected = crate::metric::log_likelihood(rows, &mixture).expect("a likelihood");
            assert!((mean - expected).abs() < 1e-9, "{mean} {expected}");
        }
    }

    #[test]
    fn parameters_are_counted_as_in_the_papers() {
        assert_eq!(pair().n_params(), 2 * (1 + 2 + 3) - 1);
    }
}
