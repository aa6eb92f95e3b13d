//! Classification from one sketch per class.
//!
//! The class means $z_k$ of the features and the class counts $n_k$ are all there is (\[Sch21\] section 6.1).
//! Three rules use the means as they are (see [`Rule`]); the fourth fits a mixture to each class:
//!
//! 1. Learn a Gaussian mixture $f_k$ from each class sketch, as for the task `gmm`. One component, unless `k` asks
//!    for more, with a full covariance if columns, rows and sketch allow. A single component of whitened
//!    columns takes its mean from a fit with a known covariance of four times that of all rows, which settles
//!    in the middle of the class.
//! 2. Draw the covariances together:
//!    $\Sigma_{kl} \leftarrow (n_{kl} \Sigma_{kl} + \nu \bar\Sigma) / (n_{kl} + \nu)$,
//!    $n_{kl} = \alpha_{kl} n_k$: as if $\nu$ rows of a shared shape $\bar\Sigma$ had been seen in each
//!    component. Small classes so keep a usable shape. See the module `classify/shape.rs`.
//! 3. Bayes' rule: $\arg\max_k p_k f_k(x)$.
//!
//! Private sketches give moments like any other: their counts, noisy as they are, make the priors.
//!
//! Cost: that of K mixtures; nothing for the other rules.

mod shape;
mod validate;

use crate::design::{FULL_COLUMNS, Task};
use crate::error::remedy::{Command, Remedy};
use crate::error::{Error, Result};
use crate::learn::{Components, CovarianceKind, LearnParams, mixture};
use crate::model::{ClassMixture, Classifier, Content, Model, Rule};
use crate::names::named;
use crate::setters::setters;
use crate::sketch::Moments;
use crate::sketch::map::Map;
use crate::sketch::operator::SketchOperator;

pub use validate::{Choice, choose};

/// The rule of a classifier, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// Weighted correlation with the class means, \[Sch21\] eq. 6.5.
    Correlation,
    /// Nearest class mean.
    Nearest,
    /// The class mean in the row's direction, seen from the middle of all.
    Centred,
    /// A mixture for each class, and Bayes' rule.
    Mixture,
}

impl Method {
    /// The rule to use where there are no rows to choose one with: mixtures, or for images, whose features
    /// have no density, the centred class means.
    pub fn default_for(map: &Map) -> Method {
        if matches!(map, Map::Images(_)) { Method::Centred } else { Method::Mixture }
    }
}

named!(Method, "a method", {
    Correlation => "correlation",
    Nearest => "nearest",
    Centred => "centred",
    Mixture => "mixture",
});

/// What is known of one class.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClassData {
    /// Its label.
    pub label: String,
    /// The mean features of its rows.
    pub moments: Moments,
    /// How much it counts for the priors: its rows, or their total weight.
    pub weight: f64,
}

impl ClassData {
    /// A class of this label.
    pub fn new(label: impl Into<String>, moments: Moments, weight: f64) -> ClassData {
        ClassData { label: label.into(), moments, weight }
    }
}

/// How to make a classifier.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClassifyParams {
    /// The rule.
    pub method: Method,
    /// Equal priors instead of the classes' shares of the rows.
    pub uniform: bool,
    /// How each class's mixture is searched, and its components, by default one; its covariances are chosen.
    pub mixture: LearnParams,
}

impl Default for ClassifyParams {
    fn default() -> ClassifyParams {
        ClassifyParams { method: Method::Mixture, uniform: false, mixture: LearnParams::new(Task::Gmm, 1) }
    }
}

setters! { ClassifyParams {
    /// With this rule.
    method: Method,
    /// With equal priors, or not.
    uniform: bool,
    /// With mixtures like this.
    mixture: LearnParams,
} }

/// Rows that a full covariance needs for each column.
const ROWS_PER_COLUMN: f64 = 2.0;

/// Makes a classifier from the sketches of the classes, all made by `operator`.
///
/// # Errors
/// [`Error::Task`] for fewer than two classes, a label given twice, or a class without rows.
pub fn classify(operator: &SketchOperator, data: &[ClassData], params: &ClassifyParams) -> Result<Model> {
    check(operator, data)?;
    let total: f64 = data.iter().map(|class| class.weight).sum();
    let share =
        |class: &ClassData| if params.uniform { 1.0 / data.len() as f64 } else { class.weight / total };
    let priors: Vec<f64> = data.iter().map(share).collect();
    let means = || data.iter().map(|class| class.moments.mean.clone()).collect();
    let spec = || Box::new(operator.spec().clone());
    let rule = match params.method {
        Method::Correlation => Rule::Correlation { means: means(), spec: spec() },
        Method::Nearest => Rule::Nearest { means: means(), spec: spec() },
        Method::Centred => Rule::Centred { means: means(), spec: spec() },
        Method::Mixture => Rule::Mixture { mixtures: mixtures(operator, data, params)? },
    };
    let classes = data.iter().map(|class| class.label.clone()).collect();
    let content = Content::Classify(Classifier { classes, priors, rule });
    let model = Model::of_spec(content, data.len(), operator.spec());
    model.validate()?;
    Ok(model)
}

fn check(operator: &SketchOperator, data: &[ClassData]) -> Result<()> {
    let fail = |problem: String| Err(Error::Task { field: "classes", problem });
    if data.len() < 2 {
        let problem =
            format!("a classifier needs the sketches of two classes or more, and there is {}", data.len());
        return Err(Error::Task { field: "classes", problem }
            .advise(Remedy::Run("make a sketch for each class", Command::SketchClasses)));
    }
    let mut labels: Vec<&str> = data.iter().map(|class| class.label.as_str()).collect();
    labels.sort_unstable();
    if let Some(pair) = labels.windows(2).find(|pair| pair[0] == pair[1]) {
        return fail(format!("the class `{}` appears twice; merge its sketches first", pair[0]));
    }
    for class in data {
        if class.moments.mean.len() != operator.sketch_len() {
            let (found, expected) = (class.moments.mean.len(), operator.sketch_len());
            return Err(Error::Shape { what: "entries of a class sketch", found, expected });
        }
        if !(class.weight > 0.0) {
            return fail(format!("the class `{}` has no rows; leave it out", class.label));
        }
    }
    Ok(())
}

/// Steps 1 and 2.
fn mixtures(
    operator: &SketchOperator,
    data: &[ClassData],
    params: &ClassifyParams,
) -> Result<Vec<ClassMixture>> {
    if matches!(operator.spec().map, Map::Images(_)) {
        let problem = "activations of images have no mixtures; for sketches of the feature `conv` the methods are nearest, centred and correlation".into();
        return Err(Error::Task { field: "method", problem });
    }
    let k = params.mixture.k;
    let wide = if k == Components::Exactly(1) { shape::wide(&operator.spec().transform)? } else { None };
    let (mut all, mut own) = (Vec::with_capacity(data.len()), Vec::with_capacity(data.len()));
    for class in data {
        let full = full(operator, class, k);
        let gmm = |covariance: CovarianceKind| {
            let params = params.mixture.clone().covariance(covariance);
            match mixture(operator, &class.moments, &params)?.model.content {
                Content::Gmm { weights, means, covariances } => {
                    Ok(ClassMixture { weights, means, covariances })
                }
                _ => unreachable!("a mixture is a mixture"),
            }
        };
        all.push(match &wide {
            None => gmm(if full { CovarianceKind::Full } else { CovarianceKind::Diag })?,
            Some(sigma) => {
                let wide = gmm(CovarianceKind::Known(sigma.clone()))?;
                if full { ClassMixture { means: wide.means, ..gmm(CovarianceKind::Full)? } } else { wide }
            }
        });
        own.push(full);
    }
    shape::draw_together(&mut all, data, &own, operator.spec())?;
    Ok(all)
}

/// Whether columns, rows and sketch carry full covariances.
fn full(operator: &SketchOperator, class: &ClassData, k: Components) -> bool {
    let d = operator.dim();
    let most = match k {
        Components::Exactly(most) | Components::Between(_, most) => most,
    };
    let needed = most as f64 * ROWS_PER_COLUMN * d as f64;
    // Entries of the sketch for each parameter: below two, a full covariance would fit its noise.
    let carried = operator.sketch_len() >= most * d * (d + 3);
    d <= FULL_COLUMNS && class.moments.rows >= needed && carried
}

#[cfg(test)]
mod tests;
