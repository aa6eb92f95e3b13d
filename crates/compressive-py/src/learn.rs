//! From sketches to models.

use std::sync::Arc;
use std::time::{Duration, Instant};

use compressive::design::Task;
use compressive::learn::classify::{self as classes, ClassData, ClassifyParams, Method};
use compressive::learn::{Budget, Components, CovarianceKind, Decoder, LearnParams};
use compressive::privacy::AnySketch;
use compressive::{Moments, SketchOperator};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::design::named;
use crate::error;
use crate::model::Model;
use crate::pass::thread_count;
use crate::private::PrivateSketch;
use crate::sketch::Sketch;
use crate::spec::SketchSpec;

/// A sketch of either kind.
#[derive(FromPyObject)]
pub enum Either<'py> {
    Plain(PyRef<'py, Sketch>),
    Private(PyRef<'py, PrivateSketch>),
}

impl Either<'_> {
    pub fn operator(&self) -> PyResult<Arc<SketchOperator>> {
        match self {
            Either::Plain(sketch) => sketch.operator(),
            Either::Private(sketch) => sketch.operator(),
        }
    }

    /// A copy of the sketch.
    pub fn copied(&self) -> AnySketch {
        match self {
            Either::Plain(sketch) => AnySketch::Plain(sketch.copy_core()),
            Either::Private(sketch) => AnySketch::Private(sketch.core.clone()),
        }
    }

    /// The mean features, and the total weight.
    pub fn moments(&self) -> PyResult<(Moments, f64)> {
        match self {
            Either::Plain(sketch) => {
                let core = sketch.lock();
                Ok((core.moments().map_err(error::core)?, core.weight()))
            }
            Either::Private(sketch) => {
                let moments = sketch.core.moments();
                let rows = moments.rows;
                Ok((moments, rows))
            }
        }
    }
}

/// How to search, in the words of Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Search {
    decoder: String,
    restarts: Option<usize>,
    seed: u64,
    threads: usize,
    max_seconds: Option<f64>,
}

impl Search {
    /// The parameters of a task with k components.
    fn params(&self, task: Task, k: Components) -> PyResult<LearnParams> {
        let decoder: Decoder =
            self.decoder.parse().map_err(|e| error::argument(format!("decoder={:?}: {e}", self.decoder)))?;
        Ok(LearnParams::new(task, k)
            .decoder(decoder)
            .restarts(self.restarts)
            .seed(self.seed)
            .budget(self.budget()?)
            .threads(thread_count(self.threads)))
    }

    /// The time from now on.
    fn budget(&self) -> PyResult<Budget> {
        let Some(seconds) = self.max_seconds else { return Ok(Budget::default()) };
        let time = Duration::try_from_secs_f64(seconds).map_err(|_| {
            error::argument(format!("max_seconds={seconds}: give a number of seconds, 0 or more"))
        })?;
        let start = Instant::now();
        Ok(Budget::new(move || start.elapsed() >= time))
    }
}

/// A number of components, or a range of them.
fn components((low, high): (usize, usize)) -> PyResult<Components> {
    if low == 0 || high < low {
        return Err(error::argument(format!("k: ask for 1 or more components, not {low} to {high}")));
    }
    Ok(if low == high { Components::Exactly(low) } else { Components::Between(low, high) })
}

fn covariance(kind: &str, known: Option<Vec<Vec<f64>>>) -> PyResult<CovarianceKind> {
    known.map(CovarianceKind::Known).or_else(|| CovarianceKind::by_name(kind)).ok_or_else(|| {
        error::argument(format!("covariance={kind:?}: the kinds are iso, diag, full, or a known matrix"))
    })
}

/// Learns a model with k[0] to k[1] components, or with as many as the sketch asks for.
#[pyfunction]
#[pyo3(signature = (sketch, task_name, k, covariance_kind, known, search))]
pub fn learn(
    py: Python<'_>,
    sketch: Either<'_>,
    task_name: &str,
    k: Option<(usize, usize)>,
    covariance_kind: &str,
    known: Option<Vec<Vec<f64>>>,
    search: Search,
) -> PyResult<Model> {
    let operator = sketch.operator()?;
    let task = named("task", task_name)?;
    let k = k.map_or_else(|| Ok(Components::auto(task, operator.spec())), components)?;
    let params = search.params(task, k)?.covariance(covariance(covariance_kind, known)?);
    let (moments, _) = sketch.moments()?;
    drop(sketch);
    let learned =
        py.detach(|| compressive::learn::learn(&operator, &moments, &params)).map_err(error::core)?;
    let candidates =
        serde_json::to_string(&learned.candidates).map_err(|e| error::argument(e.to_string()))?;
    Ok(Model::new(learned.model, candidates))
}

fn method(name: Option<&str>, operator: &SketchOperator) -> PyResult<Method> {
    let parsed =
        name.map(|name| name.parse::<Method>().map_err(|e| error::argument(format!("method={name:?}: {e}"))));
    parsed.unwrap_or_else(|| Ok(Method::default_for(&operator.spec().map)))
}

/// Makes a classifier from a dict of one sketch for each label.
#[pyfunction]
#[pyo3(signature = (sketches, method_name, uniform, k, search))]
pub fn classify(
    py: Python<'_>,
    sketches: &Bound<'_, PyDict>,
    method_name: Option<&str>,
    uniform: bool,
    k: Option<(usize, usize)>,
    search: Search,
) -> PyResult<Model> {
    let mut data = Vec::new();
    let mut operator: Option<Arc<SketchOperator>> = None;
    for (label, sketch) in sketches {
        let sketch: Either<'_> = sketch.extract()?;
        let own = sketch.operator()?;
        match &operator {
            Some(first) if first.fingerprint() != own.fingerprint() => {
                return Err(error::core(compressive::Error::incompatible(first.spec(), own.spec())));
            }
            _ => operator = Some(own),
        }
        let (moments, weight) = sketch.moments()?;
        data.push(ClassData::new(label.extract::<String>()?, moments, weight));
    }
    let operator = operator.ok_or_else(|| error::argument("no sketch is given"))?;
    let k = k.map_or_else(|| Ok(1.into()), components)?;
    let params = ClassifyParams::default()
        .method(method(method_name, &operator)?)
        .uniform(uniform)
        .mixture(search.params(Task::Gmm, k)?);
    let model = py.detach(|| classes::classify(&operator, &data, &params)).map_err(error::core)?;
    Ok(Model::new(model, "[]".into()))
}

/// The best rule, and the share of errors of each.
type Chosen = (&'static str, Vec<(&'static str, f64)>);

/// The rule that makes the fewest errors on held-out rows of a labelled sample, with the errors of each; none
/// if the rows are too few.
#[pyfunction]
pub fn choose_method(
    py: Python<'_>,
    spec: &SketchSpec,
    rows: PyReadonlyArray2<'_, f64>,
    labels: Vec<String>,
    uniform: bool,
    search: Search,
) -> PyResult<Option<Chosen>> {
    let params = ClassifyParams::default().uniform(uniform).mixture(search.params(Task::Gmm, 1.into())?);
    let rows = rows.as_slice()?;
    let choice =
        py.detach(|| classes::choose(&spec.operator, rows, &labels, &params)).map_err(error::core)?;
    Ok(choice.map(|choice| {
        (choice.method.name(), choice.errors.iter().map(|(method, error)| (method.name(), *error)).collect())
    }))
}
