//! Classifiers: what was learned from one sketch per class.
//!
//! With priors $p_k$ and a row $x$ the class is
//!
//! - `correlation`: $\arg\max_k p_k \langle \Phi(x), z_k\rangle$, with the class means $z_k$ of the features
//!   (\[Sch21\] eq. 6.5);
//! - `nearest`: $\arg\min_k \lVert \Phi(x) - z_k\rVert$, so
//!   $\arg\max_k \langle \Phi(x), z_k\rangle - \tfrac12 \lVert z_k\rVert^2$: the class whose mean embedding
//!   is nearest. What all classes have in common cancels, so that neither wide kernels nor features of one
//!   sign blur it;
//! - `centred`: $\arg\max_k \langle \Phi(x) - g, z_k - g\rangle / \lVert z_k - g\rVert$ with
//!   $g = \tfrac1K \sum_k z_k$: the class whose mean lies in the row's direction, seen from the middle of
//!   all;
//! - `mixture`: $\arg\max_k p_k f_k(x)$, Bayes' rule with a Gaussian mixture $f_k$ for each class.
//!
//! The first of equals wins. A model holds all it needs: for the first three rules the spec that $\Phi$ is
//! rebuilt from.
//!
//! Cost per row: m d for the features and K m for the products; for mixtures K k d^2.

use serde::{Deserialize, Serialize};

use std::f64::consts::TAU;

use compressive_kernels::damped_waves;

use crate::error::{Error, Result};
use crate::model::{Content, Covariances, Model, Predictor, Scores, Wanted};
use crate::num::linear::{dot, multiply_transposed};
use crate::sketch::map::waves::Wave;
use crate::sketch::operator::{RowsRef, SketchOperator};
use crate::sketch::spec::SketchSpec;

/// A classifier of K classes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Classifier {
    /// The K labels, all different.
    pub classes: Vec<String>,
    /// Prior probability $p_k$ of each class.
    pub priors: Vec<f64>,
    /// How a row is given to a class.
    #[serde(flatten)]
    pub rule: Rule,
}

/// How a row is given to a class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "lowercase")]
pub enum Rule {
    /// The largest weighted correlation with a class mean.
    Correlation {
        /// Mean features $z_k$ of each class.
        means: Vec<Vec<f64>>,
        /// The recipe of the features.
        spec: Box<SketchSpec>,
    },
    /// The nearest class mean.
    Nearest {
        /// Mean features $z_k$ of each class.
        means: Vec<Vec<f64>>,
        /// The recipe of the features.
        spec: Box<SketchSpec>,
    },
    /// The class mean in the row's direction, seen from the middle of the class means.
    Centred {
        /// Mean features $z_k$ of each class.
        means: Vec<Vec<f64>>,
        /// The recipe of the features.
        spec: Box<SketchSpec>,
    },
    /// The largest weighted density.
    Mixture {
        /// The mixture of each class, in the user's units.
        mixtures: Vec<ClassMixture>,
    },
}

/// The Gaussian mixture of one class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassMixture {
    /// Weights, which sum to one.
    pub weights: Vec<f64>,
    /// Mean of each component.
    pub means: Vec<Vec<f64>>,
    /// Covariance of each component.
    pub covariances: Covariances,
}

impl ClassMixture {
    /// The mixture as a model by itself.
    fn model(&self, columns: &[String]) -> Model {
        let content = Content::Gmm {
            weights: self.weights.clone(),
            means: self.means.clone(),
            covariances: self.covariances.clone(),
        };
        Model::new(content, self.weights.len(), columns.to_vec())
    }
}

impl Rule {
    /// The stable name used on the command line and in models.
    pub fn name(&self) -> &'static str {
        match self {
            Rule::Correlation { .. } => "correlation",
            Rule::Nearest { .. } => "nearest",
            Rule::Centred { .. } => "centred",
            Rule::Mixture { .. } => "mixture",
        }
    }
}

impl Classifier {
    /// Checks shapes and values, for a model of `k` classes and these columns.
    pub(crate) fn check(&self, k: usize, columns: &[String]) -> Result<()> {
        let fail = |field: &str, problem: String| Err(Error::Model { field: field.into(), problem });
        if self.classes.len() != k || self.priors.len() != k {
            let (classes, priors) = (self.classes.len(), self.priors.len());
            return fail("classes", format!("{classes} labels and {priors} priors for k = {k} classes"));
        }
        let mut sorted: Vec<&String> = self.classes.iter().collect();
        sorted.sort();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return fail("classes", format!("the label `{}` appears twice", pair[0]));
        }
        let total: f64 = self.priors.iter().sum();
        if !((total - 1.0).abs() < 1e-6) || self.priors.iter().any(|p| !(*p >= 0.0)) {
            return fail("priors", format!("they must be at least 0 and sum to 1, not to {total}"));
        }
        match &self.rule {
            Rule::Correlation { means, spec }
            | Rule::Nearest { means, spec }
            | Rule::Centred { means, spec } => {
                spec.validate()?;
                if spec.columns != columns {
                    return fail("spec", "its columns are not those of the model".into());
                }
                super::check_table("means", means, k, spec.sketch_len())
            }
            Rule::Mixture { mixtures } if mixtures.len() != k => {
                fail("mixtures", format!("there are {} for {k} classes", mixtures.len()))
            }
            Rule::Mixture { mixtures } => mixtures.iter().try_for_each(|m| m.model(columns).validate()),
        }
    }

    /// The classifier prepared for many rows. Cost: that of drawing the frequencies, or k d^3 for each class.
    pub fn predictor(&self, columns: &[String]) -> Result<ClassPredictor> {
        let engine = match &self.rule {
            Rule::Correlation { means, spec } => {
                let scaled = |(z, p): (&Vec<f64>, &f64)| -> Vec<f64> {
                    spec.map.centred(z).iter().map(|x| x * p).collect()
                };
                let directions: Vec<Vec<f64>> = means.iter().zip(&self.priors).map(scaled).collect();
                // A feature's own mean says nothing about a row; the other rules take differences of means.
                let mean = spec.map.offset();
                Engine::Linear {
                    operator: Box::new(spec.as_ref().clone().build()?),
                    offsets: directions.iter().map(|w| -mean * w.iter().sum::<f64>()).collect(),
                    directions,
                }
            }
            Rule::Nearest { means, spec } => Engine::Linear {
                operator: Box::new(spec.as_ref().clone().build()?),
                directions: means.clone(),
                offsets: means.iter().map(|z| -0.5 * dot(z, z)).collect(),
            },
            Rule::Centred { means, spec } => {
                let (directions, offsets) = centred(means);
                Engine::Linear { operator: Box::new(spec.as_ref().clone().build()?), directions, offsets }
            }
            Rule::Mixture { mixtures } => {
                let predictors: Result<Vec<Predictor>> =
                    mixtures.iter().map(|m| m.model(columns).predictor()).collect();
                let log_priors = self.priors.iter().map(|p| p.ln()).collect();
                Engine::Bayes { predictors: predictors?, log_priors }
            }
        };
        Ok(ClassPredictor { dim: columns.len(), engine })
    }
}

/// Directions and offsets of the rule `centred`.
fn centred(means: &[Vec<f64>]) -> (Vec<Vec<f64>>, Vec<f64>) {
    let mut middle = vec![0.0; means.first().map_or(0, Vec::len)];
    for z in means {
        middle.iter_mut().zip(z).for_each(|(g, x)| *g += x / means.len() as f64);
    }
    let direction = |z: &Vec<f64>| {
        let away: Vec<f64> = z.iter().zip(&middle).map(|(x, g)| x - g).collect();
        let norm = dot(&away, &away).sqrt().max(f64::MIN_POSITIVE);
        away.iter().map(|x| x / norm).collect()
    };
    let directions: Vec<Vec<f64>> = means.iter().map(direction).collect();
    let offsets = directions.iter().map(|w| -dot(w, &middle)).collect();
    (directions, offsets)
}

/// A classifier prepared for many rows.
#[derive(Clone, Debug)]
pub struct ClassPredictor {
    dim: usize,
    engine: Engine,
}

#[derive(Clone, Debug)]
enum Engine {
    /// $\langle \Phi(x), w_k\rangle + b_k$.
    Linear { operator: Box<SketchOperator>, directions: Vec<Vec<f64>>, offsets: Vec<f64> },
    /// $\ln p_k + \ln f_k(x)$.
    Bayes { predictors: Vec<Predictor>, log_priors: Vec<f64> },
}

impl ClassPredictor {
    /// The class of each row (rows of d, in the user's units), as an index into [`Classifier::classes`].
    ///
    /// # Errors
    /// [`Error::Shape`] if the values are not whole rows, [`Error::NotFinite`] for the first value that is
    /// not finite.
    pub fn classify(&self, rows: RowsRef<'_>) -> Result<Vec<u32>> {
        let scores = self.scores(rows)?;
        Ok(scores.chunks_exact(self.n_classes()).map(|row| largest(row.iter().copied())).collect())
    }

    /// The score of each class for each row, n rows of K, of which the largest wins: for mixtures
    /// $\ln p_k + \ln f_k(x)$, else a number without a unit.
    ///
    /// # Errors
    /// As [`classify`](ClassPredictor::classify).
    pub fn scores(&self, rows: RowsRef<'_>) -> Result<Vec<f64>> {
        let values: Vec<f64> = match rows {
            RowsRef::F32(values) => values.iter().map(|x| f64::from(*x)).collect(),
            RowsRef::F64(values) => values.to_vec(),
        };
        let d = self.dim;
        if !values.len().is_multiple_of(d) {
            let expected = values.len() / d * d;
            return Err(Error::Shape { what: "values of the rows", found: values.len(), expected });
        }
        if let Some(at) = values.iter().position(|x| !x.is_finite()) {
            return Err(Error::NotFinite { row: at / d, column: at % d, value: values[at] });
        }
        match &self.engine {
            Engine::Linear { operator, directions, offsets } => {
                let mut scores = Vec::with_capacity(values.len() / d * directions.len());
                for block in values.chunks(BLOCK * d) {
                    for phi in features(operator, block).chunks_exact(operator.sketch_len()) {
                        scores.extend(directions.iter().zip(offsets).map(|(w, b)| dot(w, phi) + b));
                    }
                }
                Ok(scores)
            }
            Engine::Bayes { predictors, log_priors } => {
                let wanted = Wanted { log_densities: true, ..Wanted::default() };
                let mut all = Vec::with_capacity(predictors.len());
                for predictor in predictors {
                    let mut scores = Scores::default();
                    predictor.measure(RowsRef::F64(&values), wanted, &mut scores)?;
                    all.push(scores.log_densities);
                }
                let row = |i: usize| {
                    log_priors.iter().zip(&all).map(move |(prior, densities)| prior + densities[i])
                };
                Ok((0..values.len() / d).flat_map(row).collect())
            }
        }
    }

    /// Number of classes, K.
    pub fn n_classes(&self) -> usize {
        match &self.engine {
            Engine::Linear { offsets, .. } => offsets.len(),
            Engine::Bayes { log_priors, .. } => log_priors.len(),
        }
    }
}

/// Rows whose features are held at a time.
const BLOCK: usize = 64;

/// The features of rows in the user's units, one row after another. Waves of phases go through one matrix
/// product.
fn features(operator: &SketchOperator, rows: &[f64]) -> Vec<f64> {
    let (d, m, spec) = (operator.dim(), operator.spec().size, operator.spec());
    let working: Vec<f64> = rows.chunks_exact(d).flat_map(|row| spec.transform.apply(row)).collect();
    let n_rows = rows.len() / d;
    let mut out = vec![0.0; n_rows * operator.sketch_len()];
    if spec.map.wave() != Some(&Wave::Fourier) {
        for (u, phi) in working.chunks_exact(d).zip(out.chunks_exact_mut(operator.sketch_len())) {
            operator.features(u, phi);
        }
        return out;
    }
    let mut phases = vec![0.0; n_rows * m];
    let projected = operator.projected(&working);
    multiply_transposed(&projected, operator.frequencies(), spec.projected_dim(), &mut phases);
    let dither = operator.dither().iter().cycle();
    // Whole turns are taken off, as the waves below are exact for moderate phases only.
    phases.iter_mut().zip(dither).for_each(|(t, xi)| *t += (f64::from(*xi) - (*t / TAU).round()) * TAU);
    let (mut re, mut im) = (vec![0.0; n_rows * m], vec![0.0; n_rows * m]);
    damped_waves(&phases, &mut re, &mut im);
    for (i, phi) in out.chunks_exact_mut(2 * m).enumerate() {
        let (first, second) = phi.split_at_mut(m);
        first.copy_from_slice(&re[i * m..(i + 1) * m]);
        second.copy_from_slice(&im[i * m..(i + 1) * m]);
    }
    out
}

/// Place of the largest value, the first of equals.
fn largest(values: impl Iterator<Item = f64>) -> u32 {
    let start = (0, f64::NEG_INFINITY);
    values.enumerate().fold(start, |best, (k, v)| if v > best.1 { (k as u32, v) } else { best }).0
}
