//! Private releases.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use compressive::SketchOperator;
use compressive::privacy::{Neighbours, PrivacyParams};
use compressive_io::{Budget, Charge, Ledger, OsEntropy, write_atomic};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};

use crate::error;
use crate::sketch::{Sketch, operator_of};
use crate::spec::SketchSpec;

/// A sketch with noise, which may be published. It adds to those of other holders (`a + b`), and is neither
/// subtracted from nor noised again.
#[pyclass(frozen, module = "compressive", eq)]
pub struct PrivateSketch {
    pub core: compressive::privacy::PrivateSketch,
    operator: OnceLock<Arc<SketchOperator>>,
}

impl PartialEq for PrivateSketch {
    fn eq(&self, other: &PrivateSketch) -> bool {
        self.core == other.core
    }
}

impl PrivateSketch {
    pub fn from_core(core: compressive::privacy::PrivateSketch) -> PrivateSketch {
        PrivateSketch { core, operator: OnceLock::new() }
    }

    pub fn operator(&self) -> PyResult<Arc<SketchOperator>> {
        operator_of(&self.operator, || self.core.spec().clone())
    }
}

#[pymethods]
impl PrivateSketch {
    fn __add__(&self, other: &PrivateSketch) -> PyResult<PrivateSketch> {
        let mut sum = self.core.clone();
        sum.merge(&other.core).map_err(error::core)?;
        Ok(PrivateSketch::from_core(sum))
    }

    /// The recipe.
    #[getter]
    fn spec(&self) -> PyResult<SketchSpec> {
        Ok(SketchSpec::of(self.operator()?))
    }

    /// The noisy number of rows.
    #[getter]
    fn rows(&self) -> i64 {
        self.core.rows()
    }

    /// Standard deviation of the noise on the number of rows.
    #[getter]
    fn rows_std(&self) -> f64 {
        self.core.rows_std()
    }

    /// The noisy mean features, ndarray of shape (sketch_len,).
    #[getter]
    fn mean<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_vec(py, self.core.moments().mean)
    }

    /// Standard deviation of the noise on each entry of the mean.
    #[getter]
    fn noise_std(&self) -> f64 {
        self.core.moments().noise_std
    }

    /// What was promised for each of the tables behind the sketch, as JSON.
    #[getter]
    fn releases_json(&self) -> PyResult<String> {
        serde_json::to_string(self.core.releases()).map_err(|e| error::argument(e.to_string()))
    }

    /// The sketch as the bytes of its file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.core.to_bytes())
    }

    /// Reads a private sketch from the bytes of its file.
    #[classmethod]
    fn from_bytes(_: &Bound<'_, PyType>, data: &[u8]) -> PyResult<PrivateSketch> {
        let core = compressive::privacy::PrivateSketch::from_bytes(data).map_err(error::core)?;
        Ok(PrivateSketch::from_core(core))
    }

    /// Writes the file, whole or not at all.
    fn save(&self, path: std::path::PathBuf) -> PyResult<()> {
        write_atomic(&path, &self.core.to_bytes()).map_err(error::io)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Py<PyAny>, (Bound<'py, PyBytes>,))> {
        let from_bytes = slf.get_type().getattr("from_bytes")?;
        Ok((from_bytes.unbind(), (slf.get().to_bytes(slf.py()),)))
    }

    fn _repr_html_(&self) -> String {
        let rows = compressive_report::promise::row_count(&self.core);
        compressive_report::notebook::sketch(self.core.spec(), &rows, self.core.to_bytes().len())
    }

    fn __repr__(&self) -> String {
        let epsilon: Vec<String> = self.core.releases().iter().map(|r| r.epsilon.to_string()).collect();
        format!("PrivateSketch(about {} rows, epsilon {})", self.core.rows(), epsilon.join(", "))
    }
}

/// Adds noise to a sketch, from the operating system's generator.
#[pyfunction]
#[pyo3(signature = (sketch, epsilon, delta, neighbours, split, rows_per_person, public_spec, ledger=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub fn privatize(
    py: Python<'_>,
    sketch: &Sketch,
    epsilon: f64,
    delta: f64,
    neighbours: &str,
    split: Option<f64>,
    rows_per_person: u32,
    public_spec: bool,
    ledger: Option<PathBuf>,
) -> PyResult<PrivateSketch> {
    let neighbours =
        neighbours.parse().map_err(|e| error::argument(format!("neighbours={neighbours:?}: {e}")))?;
    if split.is_some() && neighbours == Neighbours::Replace {
        return Err(error::argument(
            "split goes with add-remove: under replace the number of rows is public",
        ));
    }
    let params = PrivacyParams::new(epsilon)
        .delta(delta)
        .neighbours(neighbours)
        .split(split)
        .rows_per_person(rows_per_person)
        .public_spec(public_spec);
    let core = sketch.copy_core();
    let private = py.detach(|| compressive::privacy::privatize(&core, &params, &mut OsEntropy));
    let private = private.map_err(error::core)?;
    if let Some(path) = ledger {
        // Before the release leaves this function: a crash in between loses budget, not its record.
        let charge = Charge::Release { release: &private.releases()[0], spec: private.spec() };
        Ledger::spend(&path, charge, Path::new("")).map_err(error::io)?;
    }
    Ok(PrivateSketch::from_core(private))
}

/// Makes a ledger if there is a cap, else reads one; what is in it, as JSON.
#[pyfunction]
#[pyo3(signature = (path, cap_epsilon=None, cap_delta=0.0, dataset=None))]
pub fn ledger(
    path: PathBuf,
    cap_epsilon: Option<f64>,
    cap_delta: f64,
    dataset: Option<String>,
) -> PyResult<String> {
    let ledger = match cap_epsilon {
        None => Ledger::read(&path),
        Some(epsilon) => Ledger::create(&path, Budget { epsilon, delta: cap_delta }, dataset),
    };
    ledger.and_then(|ledger| ledger.summary()).map_err(error::io)
}
