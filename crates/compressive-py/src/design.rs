//! Recipes from a sample of rows, or from declared bounds.

use compressive::design::scale::ScaleRule;
use compressive::design::{Defaults, LOOK_SHARE, LawChoice, Look, PILOT_ROWS, Request, Scaling, Task};
use compressive::{Bounds, FeatureName, ImageShape, Missing, Named};
use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};

use crate::error;
use crate::spec::SketchSpec;

/// A value of a closed set by its name, as the keyword `what` gives it.
pub fn named<T: Named>(what: &str, name: &str) -> PyResult<T> {
    T::from_name(name).map_err(|e| error::argument(format!("{what}={name:?}: {e}")))
}

/// What a design is asked, in the words of Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Wanted {
    task: String,
    k: Option<usize>,
    size: Option<usize>,
    law: Option<String>,
    scale: Option<String>,
    feature: Option<String>,
    table: Option<Vec<f64>>,
    image: Option<(usize, usize, usize)>,
    complex: bool,
    dither: Option<bool>,
    whiten: bool,
    scaling: Option<String>,
    structured: Option<bool>,
    moments: Option<bool>,
    outline: Option<bool>,
    bounds: Option<(Vec<f64>, Vec<f64>)>,
    missing: Option<String>,
    category_weight: f64,
    seed: u64,
}

impl Wanted {
    pub fn request(self) -> PyResult<Request> {
        let task: Task = named("task", &self.task)?;
        let map: Option<FeatureName> = self.feature.map(|name| named("feature", &name)).transpose()?;
        let asked = map.is_some() || self.table.is_some() || self.image.is_some() || self.complex;
        let image = self.image.map(|(height, width, channels)| ImageShape { height, width, channels });
        let feature = map.unwrap_or(task.map()).with(self.table, image, self.complex);
        let law: Option<LawChoice> = self.law.map(|name| named("law", &name)).transpose()?;
        let scale = self.scale.map(|text| {
            text.parse::<ScaleRule>().map_err(|e| error::argument(format!("scale={text:?}: {e}")))
        });
        let scaling: Option<Scaling> = self.scaling.map(|name| named("scaling", &name)).transpose()?;
        let mut request = Request::default().task(task).k(self.k).size(self.size).law(law);
        request = request.scale(scale.transpose()?).dither(self.dither).whiten(self.whiten).seed(self.seed);
        request =
            request.scaling(scaling.unwrap_or_default()).structured(self.structured).moments(self.moments);
        let missing: Option<Missing> = self.missing.map(|name| named("missing", &name)).transpose()?;
        request = request.outline(self.outline).missing(missing).category_weight(self.category_weight);
        request = request.bounds(self.bounds.map(|(low, high)| Bounds { low, high }));
        Ok(if asked { request.feature(feature.map_err(error::core)?) } else { request })
    }
}

/// A recipe from a sample of rows, ndarray of shape (n, d).
#[pyfunction]
pub fn design(
    py: Python<'_>,
    rows: PyReadonlyArray2<'_, f64>,
    columns: Vec<String>,
    wanted: Wanted,
) -> PyResult<SketchSpec> {
    let request = wanted.request()?;
    if rows.shape()[1] != columns.len() {
        let (found, expected) = (rows.shape()[1], columns.len());
        return Err(error::argument(format!("{found} columns of rows and {expected} names")));
    }
    let rows = rows.as_slice()?;
    let found = py.detach(|| compressive::design::design(Look::Sample { rows, columns: &columns }, &request));
    let found = found.map_err(error::core)?;
    SketchSpec::with_reasons(found.spec, &found.reasons)
}

/// The rows of the table of defaults: task, feature, k and rows of the sample.
#[pyfunction]
pub fn defaults(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    Defaults::all()
        .map(|row| {
            let out = PyDict::new(py);
            out.set_item("task", row.task.name())?;
            out.set_item("feature", row.map.name())?;
            out.set_item("k", row.k)?;
            out.set_item("law", row.law.name())?;
            out.set_item("dither", row.dither)?;
            out.set_item("pilot_rows", row.pilot_rows)?;
            Ok(out)
        })
        .collect()
}

/// Number of frequencies for a number of parameters.
#[pyfunction]
pub fn default_size(parameters: usize) -> usize {
    compressive::design::default_size(parameters)
}

/// What Python shows of the defaults that do not depend on the task.
pub fn add_constants(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("PILOT_ROWS", PILOT_ROWS)?;
    module.add("LOOK_SHARE", LOOK_SHARE)?;
    module.add("PERIODS", compressive::reading::PERIODS.into_py_dict(module.py())?)?;
    module.add("TASKS", Task::names())?;
    module.add("FEATURES", FeatureName::names())
}
