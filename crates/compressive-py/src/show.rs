//! Pages and pictures of sketches and a model.

use std::path::PathBuf;

use compressive::Moments;
use compressive::learn::Candidate;
use compressive::model::Model as CoreModel;
use compressive::privacy::AnySketch;
use compressive_report::{Material, page, picture, sweep};
use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::error::{self, Keywords};
use crate::learn::Either;
use crate::model::Model;
use crate::pass::thread_count;

/// A page, or with `only_picture` the map and the drift alone as SVG, of a series of sketches, their sum and a
/// model; `sample`, ndarray of shape (n, d), is drawn behind it.
#[pyfunction]
#[pyo3(signature = (total, series, model, sample, title, do_sweep, only_picture, threads))]
#[allow(clippy::too_many_arguments, reason = "the Python side passes one keyword each")]
pub fn report(
    py: Python<'_>,
    total: Either<'_>,
    series: Vec<(String, Either<'_>)>,
    model: Option<PyRef<'_, Model>>,
    sample: Option<PyReadonlyArray2<'_, f64>>,
    title: &str,
    do_sweep: Option<bool>,
    only_picture: bool,
    threads: usize,
) -> PyResult<String> {
    let (operator, total) = (total.operator()?, total.copied());
    let series: Vec<(String, AnySketch)> =
        series.iter().map(|(name, sketch)| (name.clone(), sketch.copied())).collect();
    let model: Option<CoreModel> = model.map(|model| model.core().clone());
    if let Some(model) = model.as_ref().filter(|model| model.columns != operator.spec().columns) {
        return Err(error::argument(format!(
            "the model has the columns {}, and the sketch has {}: they do not belong together",
            model.columns.join(", "),
            operator.spec().columns.join(", ")
        )));
    }
    if let Some(sample) = sample.as_ref().filter(|sample| sample.shape()[1] != operator.dim()) {
        let found = sample.shape()[1];
        return Err(error::argument(format!(
            "a sample of {found} columns, and a sketch of {}",
            operator.dim()
        )));
    }
    let rows = sample.as_ref().map(|sample| sample.as_slice()).transpose()?;
    py.detach(|| {
        let candidates = match &model {
            Some(model) if !only_picture && do_sweep.unwrap_or_else(|| sweep::is_quick(model, &operator)) => {
                swept(&total.moments()?, &operator, model, threads)
            }
            _ => Vec::new(),
        };
        let material = Material {
            title,
            operator: &operator,
            bytes: size(&total),
            total: &total,
            series: &series,
            model: model.as_ref(),
            candidates: &candidates,
            sample: rows,
            commands: &[],
            vocabulary: &Keywords,
        };
        if only_picture { Ok(picture(&material)?.unwrap_or_default()) } else { page(&material) }
    })
    .map_err(error::core)
}

fn swept(
    moments: &Moments,
    operator: &compressive::SketchOperator,
    model: &CoreModel,
    threads: usize,
) -> Vec<Candidate> {
    sweep::sweep(operator, moments, model, thread_count(threads))
}

fn size(sketch: &AnySketch) -> usize {
    match sketch {
        AnySketch::Plain(sketch) => sketch.to_bytes().len(),
        AnySketch::Private(sketch) => sketch.to_bytes().len(),
    }
}

/// Writes a file, whole or not at all.
#[pyfunction]
pub fn write(path: PathBuf, text: &str) -> PyResult<()> {
    compressive_io::write_atomic(&path, text.as_bytes()).map_err(error::io)
}
