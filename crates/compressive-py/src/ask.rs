//! Questions to sketches and models whose answers are plain data: they travel as JSON, with the fields of the
//! program's own.

use compressive::FeatureName;
use compressive::ask::diagnose as ask_why;
use compressive::ask::query::{Query, QueryParams, answer};
use compressive::design::Task;
use compressive::privacy::plan::Question;
use compressive::privacy::{Neighbours, PrivacyParams};
use pyo3::prelude::*;
use serde::Serialize;
use serde_json::json;

use crate::design::named;
use crate::error::{self, Keywords};
use crate::learn::Either;
use crate::model::Model;
use crate::pass::thread_count;

/// JSON as Python's own values.
pub fn plain<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(value).map_err(|e| error::argument(e.to_string()))?;
    py.import("json")?.call_method1("loads", (text,))
}

/// The answers to questions about the rows behind a sketch, as a list of dicts.
#[pyfunction]
pub fn query<'py>(
    py: Python<'py>,
    sketch: Either<'py>,
    questions: Vec<String>,
    seed: u64,
    threads: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let operator = sketch.operator()?;
    let columns = &operator.spec().columns;
    let asked = questions.iter().map(|text| Query::parse(text, columns)).collect::<Result<Vec<_>, _>>();
    let asked = asked.map_err(error::core)?;
    let rows_std = match &sketch {
        Either::Plain(_) => 0.0,
        Either::Private(private) => private.core.rows_std(),
    };
    let params = QueryParams::default().seed(seed).threads(thread_count(threads)).rows_std(rows_std);
    let (moments, _) = sketch.moments()?;
    let found = py.detach(|| answer(&operator, &moments, &asked, &params)).map_err(error::core)?;
    plain(py, &found)
}

/// Why a model is not good enough, as a dict.
#[pyfunction]
pub fn diagnose<'py>(
    py: Python<'py>,
    sketch: Either<'py>,
    model: &Model,
    truth: Option<PyRef<'py, Model>>,
    threads: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let operator = sketch.operator()?;
    let (moments, _) = sketch.moments()?;
    let model = model.core();
    let truth = truth.map(|truth| truth.core().clone());
    let found = py
        .detach(|| ask_why::diagnose(&operator, &moments, model, truth.as_ref(), thread_count(threads)))
        .map_err(error::core)?;
    let out = plain(py, &found)?;
    out.set_item("advice", found.advice(&Keywords))?;
    Ok(out)
}

/// What is asked of a budget, in the words of Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Planned {
    rows: f64,
    dim: usize,
    k: usize,
    task: String,
    feature: String,
    table: Option<Vec<f64>>,
    size: Option<usize>,
    epsilon: f64,
    delta: f64,
    neighbours: String,
}

/// What a privacy budget will buy, as a dict.
#[pyfunction]
pub fn plan<'py>(py: Python<'py>, asked: Planned) -> PyResult<Bound<'py, PyAny>> {
    let task: Task = named("task", &asked.task)?;
    let feature: FeatureName = named("feature", &asked.feature)?;
    let neighbours: Neighbours = named("neighbours", &asked.neighbours)?;
    let feature = match task {
        // Its forecast says what to do instead.
        Task::Pca => Task::Pca.map().with(None, None, false),
        _ => feature.with(asked.table, None, false),
    };
    let feature = feature.map_err(error::core)?;
    let name = feature.name();
    let question = Question {
        rows: asked.rows,
        parameters: task.parameters(asked.k, asked.dim),
        feature,
        params: PrivacyParams::new(asked.epsilon).delta(asked.delta).neighbours(neighbours),
        size: asked.size,
    };
    let found = py.detach(|| question.plan()).map_err(error::core)?;
    let forecast = |f: &compressive::privacy::plan::Forecast| {
        json!({
            "size": f.size, "nsr": f.nsr, "limit": f.limit, "noise_std": f.noise_std, "verdict": f.verdict.name(),
            "epsilon_sums": f.release.epsilon_sums, "epsilon_rows": f.release.epsilon_rows,
            "mechanism": f.release.mechanism,
        })
    };
    let chosen = &found.forecasts[found.chosen];
    plain(
        py,
        &json!({
            "rows": asked.rows, "dim": asked.dim, "k": asked.k, "task": task.name(), "feature": name,
            "parameters": question.parameters, "epsilon": asked.epsilon, "delta": asked.delta,
            "neighbours": neighbours.name(), "size": chosen.size, "verdict": chosen.verdict.name(),
            "epsilon_needed": found.epsilon_needed, "rows_needed": found.rows_needed,
            "forecasts": found.forecasts.iter().map(forecast).collect::<Vec<_>>(),
        }),
    )
}
