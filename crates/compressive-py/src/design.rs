//! Recipes from a sample of rows, or from declared bounds.

use compressive::design::scale::ScaleRule;
use compressive::design::{DesignParams, LawChoice, Scaling, Task};
use compressive::{Bounds, Feature, LandmarkRule};
use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::error;
use crate::private::PrivateSketch;
use crate::spec::{self, SketchSpec};

/// The task of a name.
pub fn task(name: &str) -> PyResult<Task> {
    const ALL: [Task; 7] =
        [Task::Kmeans, Task::Gmm, Task::Pca, Task::Kmedians, Task::Stable, Task::Generate, Task::Classify];
    ALL.into_iter().find(|task| task.name() == name).ok_or_else(|| {
        let names: Vec<&str> = ALL.iter().map(|task| task.name()).collect();
        error::argument(format!("task={name:?}: the tasks are {}", names.join(", ")))
    })
}

/// What a design is asked, in the words of Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Wanted {
    task: String,
    k: usize,
    size: Option<usize>,
    law: Option<String>,
    scale: Option<String>,
    feature: Option<String>,
    image: Option<(u32, u32, u32)>,
    complex: bool,
    dither: Option<bool>,
    whiten: bool,
    scaling: String,
    structured: Option<bool>,
    bounds: Option<(Vec<f64>, Vec<f64>)>,
    seed: u64,
}

impl Wanted {
    /// `private` designs take their landmarks from the box.
    fn params(self, private: bool) -> PyResult<DesignParams> {
        let defaults = DesignParams::default();
        let task = task(&self.task)?;
        let feature = match (self.feature.as_deref(), self.image) {
            (Some("conv"), Some((height, width, channels))) => Feature::Conv { height, width, channels },
            (Some("conv"), None) => {
                return Err(error::argument("feature=\"conv\" needs image=(height, width, channels)"));
            }
            (_, Some(_)) => return Err(error::argument("image goes with feature=\"conv\"")),
            (None, None) => task.feature(),
            (Some(name), None) => spec::feature(name)?,
        };
        let feature = match feature {
            Feature::Quadratic { .. } => Feature::Quadratic { complex: self.complex },
            _ if self.complex => return Err(error::argument("complex goes with task=\"pca\"")),
            other => other,
        };
        let law = match self.law {
            Some(name) => name.parse().map_err(|e: String| error::argument(format!("law={name:?}: {e}")))?,
            None if feature.is_kernel() && private => LawChoice::Landmarks(LandmarkRule::Box),
            None if feature.is_kernel() => LawChoice::Landmarks(LandmarkRule::Rpcholesky),
            None if task == Task::Generate && !private => LawChoice::MultiScale,
            None if feature.image().is_some() => LawChoice::Gaussian,
            None => defaults.law,
        };
        let scale = self.scale.map_or(Ok(defaults.scale), |text| {
            text.parse::<ScaleRule>().map_err(|e| error::argument(format!("scale={text:?}: {e}")))
        })?;
        let scaling: Scaling =
            self.scaling.parse().map_err(|e| error::argument(format!("scaling={:?}: {e}", self.scaling)))?;
        Ok(DesignParams {
            task,
            k: self.k,
            size: self.size,
            law,
            scale,
            feature,
            dither: self.dither,
            whiten: self.whiten,
            scaling,
            structured: self.structured,
            bounds: self.bounds.map(|(low, high)| Bounds { low, high }),
            seed: self.seed,
        })
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
    let params = wanted.params(false)?;
    if rows.shape()[1] != columns.len() {
        let (found, expected) = (rows.shape()[1], columns.len());
        return Err(error::argument(format!("{found} columns of rows and {expected} names")));
    }
    let rows = rows.as_slice()?;
    let spec = py.detach(|| compressive::design::design(rows, &columns, &params));
    SketchSpec::new(spec.map_err(error::core)?)
}

/// The recipe of the small sketch that a private design looks at.
#[pyfunction]
pub fn private_pilot_spec(columns: Vec<String>, wanted: Wanted) -> PyResult<SketchSpec> {
    let params = wanted.params(true)?;
    SketchSpec::new(compressive::design::private::pilot_spec(&columns, &params).map_err(error::core)?)
}

/// A recipe from declared bounds and, if there is one, a private look at the rows.
#[pyfunction]
#[pyo3(signature = (columns, wanted, pilot=None))]
pub fn private_design(
    columns: Vec<String>,
    wanted: Wanted,
    pilot: Option<&PrivateSketch>,
) -> PyResult<SketchSpec> {
    let params = wanted.params(true)?;
    let pilot = pilot.map(|sketch| &sketch.core);
    SketchSpec::new(compressive::design::private::design(&columns, &params, pilot).map_err(error::core)?)
}
