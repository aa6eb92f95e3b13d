//! Sketches, their arithmetic, and the pass that makes them.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use compressive::ask::Distribution;
use compressive::ask::compare::Comparison;
use compressive::ask::drift::{Cause, Change, Place};
use compressive::privacy::AnySketch;
use compressive::{Missing, SketchOperator, SketchSpec as CoreSpec};
use compressive_io::write_atomic;
use compressive_report::notebook;
use compressive_report::words::thousands;
use numpy::ndarray::Array2;
use numpy::{PyArray1, PyArray2};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyType};

use crate::error;
use crate::private::PrivateSketch;
use crate::source::{Source, source_of, tell};
use crate::spec::SketchSpec;
use crate::table::table;

/// Exact sums of the features of some rows, under one recipe. A few kilobytes, whatever the number of rows.
///
/// Sketches of one recipe add (`a + b`) and subtract (`a - b`) exactly, and pickle. `Sketch(spec)` is the
/// sketch of no rows.
#[pyclass(frozen, module = "compressive", eq)]
pub struct Sketch {
    sums: Mutex<compressive::Sketch>,
    operator: OnceLock<Arc<SketchOperator>>,
}

impl PartialEq for Sketch {
    fn eq(&self, other: &Sketch) -> bool {
        std::ptr::eq(self, other) || *self.lock() == other.copy_core()
    }
}

impl Sketch {
    pub fn new(sums: compressive::Sketch, operator: &Arc<SketchOperator>) -> Sketch {
        let sketch = Sketch::from_core(sums);
        sketch.operator.get_or_init(|| Arc::clone(operator));
        sketch
    }

    pub fn from_core(sums: compressive::Sketch) -> Sketch {
        Sketch { sums: Mutex::new(sums), operator: OnceLock::new() }
    }

    pub fn lock(&self) -> MutexGuard<'_, compressive::Sketch> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A copy of the sums: whoever works long on them does not hold the lock.
    pub fn copy_core(&self) -> compressive::Sketch {
        self.lock().clone()
    }

    /// The operator, drawn when it is first asked for.
    pub fn operator(&self) -> PyResult<Arc<SketchOperator>> {
        operator_of(&self.operator, || self.lock().spec().clone())
    }

    fn distribution(&self, py: Python<'_>) -> PyResult<Distribution> {
        let (operator, sums) = (self.operator()?, self.copy_core());
        py.detach(|| Distribution::new(&operator, &sums.moments()?)).map_err(error::core)
    }

    fn same_operator(&self, sums: compressive::Sketch) -> Sketch {
        let sketch = Sketch::from_core(sums);
        if let Some(operator) = self.operator.get() {
            sketch.operator.get_or_init(|| Arc::clone(operator));
        }
        sketch
    }
}

/// The operator in the cell, or that of the spec.
pub fn operator_of(
    cell: &OnceLock<Arc<SketchOperator>>,
    spec: impl FnOnce() -> CoreSpec,
) -> PyResult<Arc<SketchOperator>> {
    match cell.get() {
        Some(operator) => Ok(Arc::clone(operator)),
        None => {
            let operator = Arc::new(spec().build().map_err(error::core)?);
            Ok(Arc::clone(cell.get_or_init(|| operator)))
        }
    }
}

#[pymethods]
impl Sketch {
    #[new]
    fn py_new(spec: SketchSpec) -> Sketch {
        Sketch::new(compressive::Sketch::empty(&spec.operator), &spec.operator)
    }

    /// Adds all rows of a source without groups; returns (rows read, rows left out). Nothing is added if it
    /// fails.
    #[pyo3(signature = (source, threads=0, progress=None))]
    fn add_source(
        &self,
        py: Python<'_>,
        source: &Source,
        threads: usize,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(u64, u64)> {
        let operator = self.operator()?;
        let done = source.sketch_rows(py, &operator, threads, 1, progress)?;
        tell(py, &done)?;
        let mut sums = self.lock();
        // A copy, so that a sketch that would be too full keeps what it has.
        let mut sum = sums.clone();
        for part in done.sketches.values() {
            sum.merge(part).map_err(error::core)?;
        }
        *sums = sum;
        Ok((done.rows_read, done.rows_skipped))
    }

    /// Adds all rows of a table, on all cores, and returns the sketch itself. Nothing is added if it fails.
    ///
    /// Parameters
    /// ----------
    /// data : table
    ///     Array of shape (n, d), frame, anything with `__arrow_c_stream__`, pyarrow dataset, or path(s) of files.
    ///     Columns are found by the recipe's names; those of an array are taken in their order.
    /// weights : str or array of n numbers, optional
    ///     Counts each row this many times.
    /// skip_bad_rows : bool
    ///     Leave out rows with missing values instead of failing at the first.
    /// threads : int
    ///     0 for all cores; the sums do not depend on it.
    /// progress : callable, optional
    ///     Called now and then with the number of rows done.
    #[pyo3(signature = (data, *, weights=None, skip_bad_rows=false, threads=0, progress=None))]
    fn update<'py>(
        slf: &Bound<'py, Self>,
        data: &Bound<'py, PyAny>,
        weights: Option<&Bound<'py, PyAny>>,
        skip_bad_rows: bool,
        threads: usize,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, Self>> {
        let spec = slf.get().lock().spec().clone();
        let source = source_of(data, spec.columns, &spec.readings, weights, skip_bad_rows)?;
        slf.get().add_source(slf.py(), &source.borrow(), threads, progress)?;
        Ok(slf.clone())
    }

    /// Adds the rows of another sketch of the same recipe, in place.
    fn merge(&self, other: &Sketch) -> PyResult<()> {
        let other = other.copy_core();
        self.lock().merge(&other).map_err(error::core)
    }

    /// Takes away the rows of a sketch that is a part of this one, in place.
    fn subtract(&self, other: &Sketch) -> PyResult<()> {
        let other = other.copy_core();
        self.lock().subtract(&other).map_err(error::core)
    }

    fn __add__(&self, other: &Sketch) -> PyResult<Sketch> {
        let sum = self.copy();
        sum.merge(other)?;
        Ok(sum)
    }

    fn __sub__(&self, other: &Sketch) -> PyResult<Sketch> {
        let difference = self.copy();
        difference.subtract(other)?;
        Ok(difference)
    }

    /// `sum(sketches)` starts with 0.
    fn __radd__(&self, other: &Bound<'_, PyAny>) -> PyResult<Sketch> {
        if other.extract::<i64>().is_ok_and(|zero| zero == 0) {
            return Ok(self.copy());
        }
        Err(PyTypeError::new_err("a sketch can only be added to sketches with the same recipe"))
    }

    /// Rows like those behind the sketch, ndarray of shape (n, d); the recipe needs an outline, as those
    /// designed on a sample for "kmeans", "kmedians" or "gmm" have. Values that many rows share are drawn
    /// exactly; the same seed gives the same rows.
    #[pyo3(signature = (n, *, seed=0))]
    fn sample<'py>(&self, py: Python<'py>, n: usize, seed: u64) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let distribution = self.distribution(py)?;
        let values = py.detach(|| distribution.sample(n, seed));
        let array = Array2::from_shape_vec((n, distribution.dim()), values);
        Ok(PyArray2::from_owned_array(py, array.map_err(|e| error::argument(e.to_string()))?))
    }

    /// Log-density of each row of a table under the distribution behind the sketch, ndarray of shape (n,), in
    /// nats: the lowest are the least usual rows. The recipe needs an outline, as for `sample`.
    #[pyo3(signature = (data, *, threads=0))]
    fn log_density<'py>(&self, data: &Bound<'py, PyAny>, threads: usize) -> PyResult<Bound<'py, PyAny>> {
        let py = data.py();
        let distribution = self.distribution(py)?;
        let spec = self.lock().spec().clone();
        let source = source_of(data, spec.columns, &spec.readings, None, false)?;
        let all = table(
            py,
            &source.borrow(),
            threads,
            (distribution.dim(), 1),
            spec.missing == Missing::Fill,
            |rows| distribution.log_densities(rows),
        )?;
        all.call_method0("ravel")
    }

    /// An independent copy.
    fn copy(&self) -> Sketch {
        self.same_operator(self.copy_core())
    }

    /// The recipe.
    #[getter]
    fn spec(&self) -> PyResult<SketchSpec> {
        Ok(SketchSpec::of(self.operator()?))
    }

    /// Number of rows; a row of whole weight w counts w times.
    #[getter]
    fn rows(&self) -> u64 {
        self.lock().rows()
    }

    /// Total weight of the rows.
    #[getter]
    fn weight(&self) -> f64 {
        self.lock().weight()
    }

    /// The sums in units of 2^-24, ndarray of shape (sketch_len,) and dtype int64.
    #[getter]
    fn sums<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_slice(py, self.lock().sums())
    }

    /// The mean features, ndarray of shape (sketch_len,): what is learned from.
    #[getter]
    fn mean<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(PyArray1::from_vec(py, self.lock().moments().map_err(error::core)?.mean))
    }

    /// Modulus of each complex entry of the mean, ndarray of shape (m,).
    #[getter]
    fn modulus<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(PyArray1::from_vec(py, self.lock().modulus().map_err(error::core)?))
    }

    /// 32 hexadecimal digits that tell the recipe.
    #[getter]
    fn fingerprint(&self) -> String {
        self.lock().fingerprint().to_owned()
    }

    /// The sketch as the bytes of its file, which is a safetensors file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.lock().to_bytes())
    }

    /// The bytes of a safetensors file with the sums and, as metadata, the recipe: the sketch file itself.
    fn to_safetensors<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        self.to_bytes(py)
    }

    /// Reads a sketch file; `compressive.load` reads private ones, too.
    #[classmethod]
    fn load(_: &Bound<'_, PyType>, path: std::path::PathBuf) -> PyResult<Sketch> {
        let bytes = std::fs::read(&path)?;
        let core = compressive::Sketch::from_bytes(&bytes);
        let named = |e| error::CompressiveError::new_err(format!("{}: {e}", path.display()));
        Ok(Sketch::from_core(core.map_err(named)?))
    }

    /// Reads a sketch from the bytes of its file.
    #[classmethod]
    fn from_bytes(_: &Bound<'_, PyType>, data: &[u8]) -> PyResult<Sketch> {
        Ok(Sketch::from_core(compressive::Sketch::from_bytes(data).map_err(error::core)?))
    }

    /// Writes the file, whole or not at all.
    fn save(&self, path: std::path::PathBuf) -> PyResult<()> {
        write_atomic(&path, &self.lock().to_bytes()).map_err(error::io)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Py<PyAny>, (Bound<'py, PyBytes>,))> {
        let from_bytes = slf.get_type().getattr("from_bytes")?;
        Ok((from_bytes.unbind(), (slf.get().to_bytes(slf.py()),)))
    }

    fn __copy__(&self) -> Sketch {
        self.copy()
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> Sketch {
        self.copy()
    }

    fn _repr_html_(&self) -> String {
        let sums = self.lock();
        notebook::sketch(sums.spec(), &thousands(sums.rows()), sums.to_bytes().len())
    }

    fn __repr__(&self) -> String {
        let sums = self.lock();
        let spec = sums.spec();
        format!("Sketch({} rows, {} of {} frequencies)", sums.rows(), spec.map.name(), spec.size)
    }
}

/// Reads the bytes of a sketch file of either kind.
#[pyfunction]
pub fn read<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    match AnySketch::from_bytes(data).map_err(error::core)? {
        AnySketch::Plain(sketch) => Ok(Bound::new(py, Sketch::from_core(sketch))?.into_any()),
        AnySketch::Private(sketch) => Ok(Bound::new(py, PrivateSketch::from_core(sketch))?.into_any()),
    }
}

/// Whether two sketches come from the same distribution, as a dict.
#[pyfunction]
pub fn compare<'py>(py: Python<'py>, a: &Sketch, b: &Sketch) -> PyResult<Bound<'py, PyDict>> {
    let operator = a.operator()?;
    let (a, b) = (a.copy_core(), b.copy_core());
    let found = py.detach(|| compressive::ask::compare::compare(&operator, &a, &b)).map_err(error::core)?;
    comparison(py, &found)
}

fn comparison<'py>(py: Python<'py>, found: &Comparison) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("distance", found.distance)?;
    out.set_item("distance_expected", found.distance_expected)?;
    out.set_item("mmd_squared", found.mmd_squared)?;
    out.set_item("standard_error", found.standard_error)?;
    out.set_item("p_value", found.p_value)?;
    out.set_item("rows", (found.rows[0], found.rows[1]))?;
    Ok(out)
}

/// What moved from the rows of one sketch to those of another, as a dict.
#[pyfunction]
pub fn drift<'py>(py: Python<'py>, a: &Sketch, b: &Sketch, tolerate: f64) -> PyResult<Bound<'py, PyDict>> {
    let operator = a.operator()?;
    let (a, b) = (a.copy_core(), b.copy_core());
    let found = py.detach(|| compressive::ask::drift::drift(&operator, &a, &b)).map_err(error::core)?;
    let columns = &operator.spec().columns;
    let out = comparison(py, &found.comparison)?;
    out.set_item("verdict", found.verdict(tolerate).name())?;
    let share = PyDict::new(py);
    share.set_item("value", found.share.value)?;
    share.set_item("low", found.share.low)?;
    share.set_item("high", found.share.high)?;
    share.set_item("bound", found.share.bound)?;
    out.set_item("share", share)?;
    let changes: Vec<_> =
        found.changes.iter().map(|c| change_dict(py, c, columns)).collect::<PyResult<_>>()?;
    out.set_item("changes", PyList::new(py, changes)?)?;
    for (name, places) in [("gained", &found.gained), ("lost", &found.lost)] {
        let all: Vec<_> = places.iter().map(|p| place_dict(py, p, columns)).collect::<PyResult<_>>()?;
        out.set_item(name, PyList::new(py, all)?)?;
    }
    let reasons = PyList::empty(py);
    for reason in &found.reasons {
        let (kind, one) = match &reason.cause {
            Cause::Column(change) => (change.statistic.name(), change_dict(py, change, columns)?),
            Cause::Came(place) => ("came", place_dict(py, place, columns)?),
            Cause::Went(place) => ("went", place_dict(py, place, columns)?),
            _ => ("other", PyDict::new(py)),
        };
        one.set_item("kind", kind)?;
        one.set_item("explains", reason.explains)?;
        reasons.append(one)?;
    }
    out.set_item("reasons", reasons)?;
    Ok(out)
}

fn change_dict<'py>(py: Python<'py>, change: &Change, columns: &[String]) -> PyResult<Bound<'py, PyDict>> {
    let one = PyDict::new(py);
    one.set_item("statistic", change.statistic.name())?;
    let which = change.statistic.columns();
    one.set_item("columns", which.iter().map(|c| columns[*c].as_str()).collect::<Vec<_>>())?;
    one.set_item("before", change.before)?;
    one.set_item("after", change.after)?;
    one.set_item("standard_error", change.standard_error)?;
    one.set_item("score", change.score)?;
    Ok(one)
}

fn place_dict<'py>(py: Python<'py>, place: &Place, columns: &[String]) -> PyResult<Bound<'py, PyDict>> {
    let one = PyDict::new(py);
    one.set_item("share", place.share)?;
    let location = PyDict::new(py);
    for (column, x) in columns.iter().zip(&place.location) {
        location.set_item(column, x)?;
    }
    one.set_item("location", location)?;
    let told: Vec<&str> = place.columns().iter().map(|c| columns[*c].as_str()).collect();
    one.set_item("columns", told)?;
    Ok(one)
}
