//! Rows under a model: nearest centre or most likely component, probabilities, log-density.
//!
//! - k-means: the label of $x$ is $\arg\min_l \lVert x - c_l\rVert^2$, the first of equals; columns are
//!   first divided by the model's `spreads`, where it has any. Missing entries take the model's `fill`.
//! - Mixture: with $t_l = \ln \alpha_l + \ln N(x; \mu_l, \Sigma_l)$ the label is $\arg\max_l t_l$, the
//!   log-density $\ln\sum_l e^{t_l}$ and the probability of component l $e^{t_l} / \sum_{l'} e^{t_{l'}}$; the
//!   largest term is taken out first, so that nothing overflows or vanishes.
//!
//! Squares are taken of differences, so that columns far from zero lose no digits; which centre is nearest is
//! found in single precision first (file `num/nearest.rs`). Rows go through in blocks of [`LANES`],
//! transposed: one loop body serves them all and compiles to vector instructions.
//!
//! Cost per row: k d operations in single precision for the nearest location; for a mixture 3 k d operations,
//! k d^2 for full covariances, and k exponentials where densities or probabilities are wanted.

use std::f64::consts::TAU;

use compressive_kernels::NEAREST_ROWS as LANES;

use crate::error::remedy::{Command, Parameter, Remedy};
use crate::error::{Error, Result};
use crate::model::{Content, Covariances, Model};
use crate::num::linear::cholesky;
use crate::num::nearest::{Block, Nearest};
use crate::sketch::operator::RowsRef;

/// One number for each row of a block.
type Lanes = [f64; LANES];

/// What to report for rows besides their labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Squared distances to the nearest location.
    pub distances: bool,
    /// Log-densities, of a mixture.
    pub log_densities: bool,
    /// Probabilities of the components, of a mixture.
    pub responsibilities: bool,
}

/// Rows measured against a model. What was not wanted, or does not apply, is empty.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Scores {
    /// Component of each row: the nearest centre, or the most likely component.
    pub labels: Vec<u32>,
    /// Squared distance of each row to the nearest location, whichever component it was given to.
    pub distances: Vec<f64>,
    /// Log-density of each row; empty for k-means.
    pub log_densities: Vec<f64>,
    /// Probability of each component given the row, n rows of k; empty for k-means.
    pub responsibilities: Vec<f64>,
}

impl Model {
    /// The component of each row (n rows of d, in the user's units).
    pub fn assign(&self, rows: &[f64]) -> Result<Vec<u32>> {
        let mut scores = Scores::default();
        self.predictor()?.measure(RowsRef::F64(rows), Wanted::default(), &mut scores)?;
        Ok(scores.labels)
    }

    /// Everything the model says of some rows (n rows of d, in the user's units).
    pub fn scores(&self, rows: &[f64]) -> Result<Scores> {
        let wanted = Wanted { distances: true, log_densities: true, responsibilities: true };
        let mut scores = Scores::default();
        self.predictor()?.measure(RowsRef::F64(rows), wanted, &mut scores)?;
        Ok(scores)
    }

    /// The model prepared for many rows; principal components have a [`Projector`](crate::model::Projector)
    /// instead, and stable laws have no density in closed form. Cost: k d, or k d^3 for full covariances.
    pub fn predictor(&self) -> Result<Predictor> {
        let mut locations = self.locations().concat();
        let inverse: Vec<f64> = self.spreads.iter().map(|s| 1.0 / s).collect();
        scale(&mut locations, &inverse);
        let refuse = |problem: &str| Error::Model { field: "task".into(), problem: problem.into() };
        let components = match &self.content {
            Content::Kmeans { .. } | Content::Kmedians { .. } => None,
            Content::Pca { .. } => {
                let coordinates = Remedy::Run("transform rows to their coordinates", Command::Transform);
                return Err(refuse("principal components give rows no labels").advise(coordinates));
            }
            Content::Generator(_) => {
                return Err(refuse("a generative network gives rows no labels")
                    .advise(Remedy::Run("draw rows from it", Command::Sample))
                    .advise(Remedy::Run("compare its rows with others", Command::Score)));
            }
            Content::Classify(_) => {
                return Err(refuse("a classifier has classes, not components; use its own predictor"));
            }
            Content::Stable { .. } => {
                let problem =
                    "stable laws have no density in closed form, so rows cannot be given to their components";
                let others = ["gmm", "kmedians"].map(|task| Remedy::set(Parameter::Task, task));
                return Err(refuse(problem).advise(Remedy::FitAgain(others.into())));
            }
            Content::Gmm { weights, covariances, .. } => {
                let mixture = Predictor::mixture(weights, locations, covariances);
                return Ok(mixture.filling(self.fill.clone()));
            }
        };
        let nearest = Nearest::new(&locations, self.dim());
        Ok(Predictor { dim: self.dim(), nearest, inverse, fill: self.fill.clone(), components })
    }
}

/// A model prepared for many rows.
#[derive(Clone, Debug)]
pub struct Predictor {
    dim: usize,
    /// The locations, times `inverse`.
    nearest: Nearest,
    /// What distances multiply each column by; empty for 1.
    inverse: Vec<f64>,
    /// What takes the place of a missing entry of each column; empty if none may be missing.
    fill: Vec<f64>,
    /// None for k-means.
    components: Option<Vec<Component>>,
}

/// The shape of one Gaussian.
#[derive(Clone, Debug)]
struct Component {
    /// $\ln \alpha - \ln\det L - \tfrac d2 \ln 2\pi$.
    constant: f64,
    root: Root,
}

/// L of $\Sigma = L L^\top$, prepared for solving $L y = x - \mu$.
#[derive(Clone, Debug)]
enum Root {
    /// Inverse standard deviations.
    Diagonal(Vec<f64>),
    /// Lower triangle with the inverse of its diagonal.
    Full(Vec<Vec<f64>>),
}

impl Component {
    fn new(weight: f64, covariances: &Covariances, component: usize, dim: usize) -> Component {
        let (root, log_det) = match covariances {
            Covariances::Diagonal(all) => {
                let inverse: Vec<f64> = all[component].iter().map(|v| 1.0 / v.sqrt()).collect();
                let log_det = -inverse.iter().map(|s| s.ln()).sum::<f64>();
                (Root::Diagonal(inverse), log_det)
            }
            Covariances::Full(all) => {
                // Validation has refused covariances without a factor.
                let mut factor = cholesky(&all[component]).unwrap_or_default();
                let log_det = factor.iter().enumerate().map(|(i, row)| row[i].ln()).sum::<f64>();
                factor.iter_mut().enumerate().for_each(|(i, row)| row[i] = 1.0 / row[i]);
                (Root::Full(factor), log_det)
            }
        };
        Component { constant: weight.ln() - log_det - 0.5 * dim as f64 * TAU.ln(), root }
    }

    /// Log of the weighted density of a block's rows; `white` has d entries.
    fn log_density(&self, columns: &[Lanes], mean: &[f64], white: &mut [Lanes]) -> Lanes {
        let mut square = [0.0; LANES];
        match &self.root {
            Root::Diagonal(inverse) => {
                for ((column, mean), inverse) in columns.iter().zip(mean).zip(inverse) {
                    for lane in 0..LANES {
                        let value = (column[lane] - mean) * inverse;
                        square[lane] += value * value;
                    }
                }
            }
            Root::Full(factor) => {
                for (i, row) in factor.iter().enumerate() {
                    let mut value = columns[i].map(|x| x - mean[i]);
                    for (entry, known) in row[..i].iter().zip(white.iter()) {
                        for lane in 0..LANES {
                            value[lane] -= entry * known[lane];
                        }
                    }
                    for lane in 0..LANES {
                        value[lane] *= row[i];
                        square[lane] += value[lane] * value[lane];
                    }
                    white[i] = value;
                }
            }
        }
        square.map(|s| self.constant - 0.5 * s)
    }
}

impl Predictor {
    /// A mixture of Gaussians with k rows of d `means`; its covariances have Cholesky factors.
    pub(crate) fn mixture(weights: &[f64], means: Vec<f64>, covariances: &Covariances) -> Predictor {
        let dim = means.len() / weights.len().max(1);
        let component = |(l, w): (usize, &f64)| Component::new(*w, covariances, l, dim);
        Predictor {
            dim,
            nearest: Nearest::new(&means, dim),
            inverse: Vec::new(),
            fill: Vec::new(),
            components: Some(weights.iter().enumerate().map(component).collect()),
        }
    }

    /// With this in the place of missing entries.
    pub(crate) fn filling(self, fill: Vec<f64>) -> Predictor {
        Predictor { fill, ..self }
    }

    /// Measures rows of d columns, in the user's units, and adds what is wanted to the end of `out`.
    ///
    /// # Errors
    /// [`Error::Shape`] if the values are not whole rows, [`Error::NotFinite`] for the first value that is
    /// not finite.
    pub fn measure(&self, rows: RowsRef<'_>, wanted: Wanted, out: &mut Scores) -> Result<()> {
        match rows {
            RowsRef::F32(values) if self.takes_as_they_are(values) => {
                self.measure_values(values, wanted, out)
            }
            RowsRef::F64(values) if self.takes_as_they_are(values) => {
                self.measure_values(values, wanted, out)
            }
            RowsRef::F32(values) => self.measure_scaled(values.iter().map(|x| f64::from(*x)), wanted, out),
            RowsRef::F64(values) => self.measure_scaled(values.iter().copied(), wanted, out),
        }
    }

    /// Whether values need neither scaling nor filling.
    fn takes_as_they_are<T: Copy + Into<f64>>(&self, values: &[T]) -> bool {
        let missing = || values.iter().fold(false, |any, v| any | (*v).into().is_nan());
        self.inverse.is_empty() && (self.fill.is_empty() || !missing())
    }

    fn measure_scaled(
        &self,
        values: impl Iterator<Item = f64>,
        wanted: Wanted,
        out: &mut Scores,
    ) -> Result<()> {
        let mut values: Vec<f64> = values.collect();
        if !self.fill.is_empty() {
            let missing = values.iter_mut().zip(self.fill.iter().cycle()).filter(|(x, _)| x.is_nan());
            missing.for_each(|(x, fill)| *x = *fill);
        }
        scale(&mut values, &self.inverse);
        self.measure_values(&values, wanted, out)
    }

    fn measure_values<T: Copy + Into<f64>>(
        &self,
        values: &[T],
        wanted: Wanted,
        out: &mut Scores,
    ) -> Result<()> {
        let d = self.dim;
        if !values.len().is_multiple_of(d) {
            let expected = values.len() / d * d;
            return Err(Error::Shape { what: "values of the rows", found: values.len(), expected });
        }
        // The fold does not stop early, so that it vectorises.
        if values.iter().fold(false, |bad, v| bad | !(*v).into().is_finite()) {
            let at = values.iter().position(|v| !(*v).into().is_finite()).unwrap_or(0);
            return Err(Error::NotFinite { row: at / d, column: at % d, value: values[at].into() });
        }
        let k = self.nearest.k();
        let mut scratch = Scratch {
            columns: vec![[0.0; LANES]; if self.components.is_some() { d } else { 0 }],
            white: vec![[0.0; LANES]; d],
            terms: vec![[0.0; LANES]; k],
            block: self.nearest.memory(),
        };
        for block in values.chunks(LANES * d) {
            self.block(block, wanted, &mut scratch, out);
        }
        Ok(())
    }

    /// Measures a block of rows.
    fn block<T: Copy + Into<f64>>(
        &self,
        values: &[T],
        wanted: Wanted,
        scratch: &mut Scratch,
        out: &mut Scores,
    ) {
        let rows: Vec<&[T]> = values.chunks_exact(self.dim).collect();
        let len = rows.len();
        if self.components.is_none() || wanted.distances {
            self.nearest.block(&rows, &mut scratch.block, |at, found| {
                if self.components.is_none() {
                    out.labels.push(found.label);
                }
                if wanted.distances {
                    out.distances.push(self.nearest.square(rows[at], found.label));
                }
            });
        }
        let Some(components) = &self.components else { return };
        // The lanes of a short block hold older rows.
        for (lane, row) in rows.iter().enumerate() {
            for (column, value) in scratch.columns.iter_mut().zip(*row) {
                column[lane] = (*value).into();
            }
        }
        let means = self.nearest.centers().chunks_exact(self.dim);
        for ((term, component), mean) in scratch.terms.iter_mut().zip(components).zip(means) {
            *term = component.log_density(&scratch.columns, mean, &mut scratch.white);
        }
        let (labels, largest) = largest(&scratch.terms);
        out.labels.extend_from_slice(&labels[..len]);
        if wanted.log_densities || wanted.responsibilities {
            let totals = shares(&mut scratch.terms, &largest);
            if wanted.log_densities {
                out.log_densities.extend((0..len).map(|lane| largest[lane] + totals[lane].ln()));
            }
            if wanted.responsibilities {
                // A row so far away that every density is zero has no probabilities either; not NaN.
                let total = totals.map(|t| t.max(f64::MIN_POSITIVE));
                let rows = (0..len).flat_map(|lane| scratch.terms.iter().map(move |t| t[lane] / total[lane]));
                out.responsibilities.extend(rows);
            }
        }
    }
}

/// Multiplies the columns of rows; without factors by 1.
fn scale(rows: &mut [f64], factors: &[f64]) {
    if !factors.is_empty() {
        rows.iter_mut().zip(factors.iter().cycle()).for_each(|(x, factor)| *x *= factor);
    }
}

/// Room for one block.
struct Scratch {
    columns: Vec<Lanes>,
    white: Vec<Lanes>,
    terms: Vec<Lanes>,
    block: Block,
}

/// The largest term of each lane, the first of equals, and which it is.
fn largest(terms: &[Lanes]) -> ([u32; LANES], Lanes) {
    let mut best = [f64::NEG_INFINITY; LANES];
    let mut index = [0.0; LANES];
    for (number, term) in terms.iter().enumerate() {
        for lane in 0..LANES {
            let more = term[lane] > best[lane];
            best[lane] = if more { term[lane] } else { best[lane] };
            index[lane] = if more { number as f64 } else { index[lane] };
        }
    }
    (index.map(|number| number as u32), best)
}

/// Replaces the terms by $e^{t - t_{\max}}$, which is 0 where all terms are minus infinity, and returns their
/// sums.
fn shares(terms: &mut [Lanes], largest: &Lanes) -> Lanes {
    let mut total = [0.0; LANES];
    let top = largest.map(|t| t.max(f64::MIN));
    for term in terms.iter_mut() {
        for lane in 0..LANES {
            term[lane] = (term[lane] - top[lane]).exp();
            total[lane] += term[lane];
        }
    }
    total
}
