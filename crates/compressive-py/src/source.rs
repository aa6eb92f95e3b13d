//! A table from which rows are read: a numpy array, an Arrow stream or table, or files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use compressive::{Sketch as CoreSketch, SketchOperator};
use compressive_io::{Charge, Dataset, DriveOptions, Job, Ledger, Outcome, Pilot, ReadOptions, Readable};
use numpy::ndarray::ArrayView2;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use pyo3_arrow::PyRecordBatchReader;

use crate::array::{self, Companions, Matrix};
use crate::design::Wanted;
use crate::error;
use crate::pass::{Watch, watched};
use crate::sketch::Sketch;
use crate::spec::SketchSpec;

/// Sampled rows, and their groups.
type PilotRows<'py> = (Bound<'py, PyArray2<f64>>, Option<Vec<String>>);

/// A table from which rows are read.
#[pyclass(frozen, module = "compressive._native")]
pub struct Source {
    kind: SourceKind,
    columns: Vec<String>,
    /// Columns that are not used, with the reason.
    left_out: Vec<(String, String)>,
    identity: Identity,
}

/// What tells the rows from others when they are read another time.
pub enum Identity {
    /// The files, by their names.
    Files(Vec<String>),
    /// Their values: they are in memory.
    Values,
    /// Nothing: they can be read once.
    Nothing,
}

pub enum SourceKind {
    Table(Mutex<Dataset>),
    Array(Array),
}

/// A numpy array with what accompanies its rows.
pub struct Array {
    values: Values,
    weights: Option<Py<PyArray1<f64>>>,
    groups: Option<(Py<PyArray1<u32>>, Vec<String>)>,
}

enum Values {
    F32(Py<PyArray2<f32>>),
    F64(Py<PyArray2<f64>>),
}

/// A matrix that Python does not change while it is read.
pub enum Borrowed<'py> {
    F32(PyReadonlyArray2<'py, f32>),
    F64(PyReadonlyArray2<'py, f64>),
}

impl Borrowed<'_> {
    pub fn matrix(&self) -> Matrix<'_> {
        match self {
            Borrowed::F32(array) => Matrix::F32(array.as_array()),
            Borrowed::F64(array) => Matrix::F64(array.as_array()),
        }
    }
}

fn busy(_: impl std::fmt::Display) -> PyErr {
    error::CompressiveError::new_err("another thread is writing to the array; try again afterwards")
}

impl Array {
    pub fn borrow<'py>(&self, py: Python<'py>) -> PyResult<Borrowed<'py>> {
        Ok(match &self.values {
            Values::F32(array) => Borrowed::F32(array.bind(py).try_readonly().map_err(busy)?),
            Values::F64(array) => Borrowed::F64(array.bind(py).try_readonly().map_err(busy)?),
        })
    }

    fn n_rows(&self, py: Python<'_>) -> usize {
        match &self.values {
            Values::F32(array) => array.bind(py).shape()[0],
            Values::F64(array) => array.bind(py).shape()[0],
        }
    }

    /// Calls `work` with the rows, on a thread of its own.
    fn read<T: Send>(
        &self,
        py: Python<'_>,
        columns: &[String],
        progress: Option<&Bound<'_, PyAny>>,
        work: impl FnOnce(&Watch, &mut dyn Readable) -> compressive_io::Result<T> + Send,
    ) -> PyResult<T> {
        let borrowed = self.borrow(py)?;
        let matrix = borrowed.matrix();
        let weights = self.weights.as_ref().map(|w| w.bind(py).try_readonly().map_err(busy)).transpose()?;
        let codes = self.groups.as_ref().map(|(g, _)| g.bind(py).try_readonly().map_err(busy)).transpose()?;
        let names = self.groups.as_ref().map(|(_, names)| &names[..]);
        let companions = Companions {
            weights: weights.as_ref().map(PyReadonlyArray1::as_slice).transpose()?,
            groups: match (&codes, names) {
                (Some(codes), Some(names)) => Some((codes.as_slice()?, names.len())),
                _ => None,
            },
        };
        watched(py, progress, |watch| {
            let mut rows = Borrows { matrix, companions, names, columns, watch };
            work(watch, &mut rows).map_err(|error| match error {
                compressive_io::Error::Core(error) => named(error, columns),
                other => error::io(other),
            })
        })
    }
}

/// The rows of an array during a pass.
struct Borrows<'a, 'w> {
    matrix: Matrix<'a>,
    companions: Companions<'a>,
    /// Names of the groups.
    names: Option<&'a [String]>,
    columns: &'a [String],
    watch: &'w Watch,
}

impl Readable for Borrows<'_, '_> {
    fn columns(&self) -> &[String] {
        self.columns
    }

    fn pilot(&mut self, n_max: usize, seed: u64) -> compressive_io::Result<Pilot> {
        let picked = spread(self.matrix.n_rows(), n_max, seed);
        let groups = match (self.companions.groups, self.names) {
            (Some((codes, _)), Some(names)) => {
                Some(picked.iter().map(|&i| names[codes[i] as usize].clone()).collect())
            }
            _ => None,
        };
        let rows = self.matrix.take(picked.iter().copied());
        Ok(Pilot { rows, n_rows: picked.len(), columns: self.columns.to_vec(), groups })
    }

    fn sketch(
        &mut self,
        operator: &SketchOperator,
        options: &DriveOptions<'_>,
    ) -> compressive_io::Result<Outcome> {
        let (expected, found) = (operator.dim(), self.matrix.dim());
        if expected != found {
            return Err(compressive_io::Error::WrongWidth { expected, found });
        }
        let sketches = array::sketch(self.matrix, self.companions, operator, options.threads, self.watch)?;
        let keys = self.names.map_or_else(|| vec![String::new()], <[String]>::to_vec);
        let sketches: BTreeMap<String, CoreSketch> = keys.into_iter().zip(sketches).collect();
        Ok(Outcome { sketches, rows_read: self.matrix.n_rows() as u64, rows_skipped: 0, filled: Vec::new() })
    }

    fn is_read_once(&self) -> bool {
        false
    }
}

/// An error with the name of the column.
pub fn named(error: compressive::Error, columns: &[String]) -> PyErr {
    match error {
        compressive::Error::NotFinite { row, column, value } => {
            let name = columns.get(column).cloned().unwrap_or_default();
            let what = if value.is_nan() { "NaN".to_owned() } else { value.to_string() };
            error::CompressiveError::new_err(format!(
                "Input X contains {what}: row {row}, column {column} ({name}), is not a finite number (NaN, inf); remove such rows or fill them"
            ))
        }
        other => error::core(other),
    }
}

impl Source {
    fn table(dataset: Dataset, identity: Identity) -> Source {
        let columns = dataset.columns().to_vec();
        let left_out = dataset.left_out().iter().filter(|left| !left.asked);
        let left_out = left_out.map(|left| (left.name.clone(), left.reason.clone())).collect();
        Source { kind: SourceKind::Table(Mutex::new(dataset)), columns, left_out, identity }
    }

    pub fn kind(&self) -> &SourceKind {
        &self.kind
    }

    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    pub fn names(&self) -> &[String] {
        &self.columns
    }

    /// Calls `work` with the rows and the options of a pass over them.
    fn read<T: Send>(
        &self,
        py: Python<'_>,
        threads: usize,
        max_groups: usize,
        progress: Option<&Bound<'_, PyAny>>,
        work: impl FnOnce(&mut dyn Readable, &DriveOptions<'_>) -> compressive_io::Result<T> + Send,
    ) -> PyResult<T> {
        let work = |watch: &Watch, rows: &mut dyn Readable| {
            drive(watch, threads, max_groups, |options| work(rows, options))
        };
        match &self.kind {
            SourceKind::Array(array) => array.read(py, &self.columns, progress, work),
            SourceKind::Table(dataset) => {
                watched(py, progress, |watch| work(watch, &mut *lock(dataset)).map_err(error::io))
            }
        }
    }

    /// Sums all rows.
    pub fn sketch_rows(
        &self,
        py: Python<'_>,
        operator: &SketchOperator,
        threads: usize,
        max_groups: usize,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Outcome> {
        self.read(py, threads, max_groups, progress, |rows, options| rows.sketch(operator, options))
    }
}

pub fn lock(dataset: &Mutex<Dataset>) -> MutexGuard<'_, Dataset> {
    dataset.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a pass whose watcher sees its progress.
pub fn drive<T>(
    watch: &Watch,
    threads: usize,
    max_groups: usize,
    pass: impl FnOnce(&DriveOptions<'_>) -> compressive_io::Result<T>,
) -> compressive_io::Result<T> {
    let report = |p: compressive_io::Progress| {
        watch.rows.store(p.rows, std::sync::atomic::Ordering::Relaxed);
    };
    pass(&DriveOptions { threads, max_groups, cancel: Some(&watch.cancel), progress: Some(&report) })
}

fn read_options(
    columns: Option<Vec<String>>,
    exclude: Vec<String>,
    by: Option<String>,
    weights: Option<String>,
    skip_bad_rows: bool,
) -> ReadOptions {
    ReadOptions { columns, exclude, by, weights, skip_bad_rows, ..ReadOptions::default() }
}

#[pymethods]
impl Source {
    /// A C- or F-ordered array of shape (n, d), with a weight and a group number for each row.
    #[classmethod]
    #[pyo3(signature = (values, columns, weights=None, groups=None, group_names=None))]
    fn from_array(
        _: &Bound<'_, PyType>,
        py: Python<'_>,
        values: &Bound<'_, PyAny>,
        columns: Vec<String>,
        weights: Option<Py<PyArray1<f64>>>,
        groups: Option<Py<PyArray1<u32>>>,
        group_names: Option<Vec<String>>,
    ) -> PyResult<Source> {
        let values = if let Ok(array) = values.cast::<PyArray2<f32>>() {
            Values::F32(array.clone().unbind())
        } else {
            Values::F64(values.cast::<PyArray2<f64>>()?.clone().unbind())
        };
        let array = Array { values, weights, groups: groups.zip(group_names) };
        let n = array.n_rows(py);
        let lengths = [
            ("weights", array.weights.as_ref().map(|w| w.bind(py).len())),
            ("groups", array.groups.as_ref().map(|(g, _)| g.bind(py).len())),
        ];
        for (what, len) in lengths {
            if let Some(len) = len.filter(|len| *len != n) {
                return Err(error::argument(format!("{what}: {len} values for {n} rows")));
            }
        }
        if let Some((codes, names)) = &array.groups {
            let codes = codes.bind(py).try_readonly().map_err(busy)?;
            if codes.as_slice()?.iter().any(|code| *code as usize >= names.len()) {
                return Err(error::argument("groups: every number must be below the number of names"));
            }
        }
        Ok(Source {
            kind: SourceKind::Array(array),
            columns,
            left_out: Vec::new(),
            identity: Identity::Values,
        })
    }

    /// Any object with `__arrow_c_stream__`; `in_memory` if it is a table and not a stream that is read once.
    #[classmethod]
    #[pyo3(signature = (stream, name, in_memory, columns=None, exclude=vec![], by=None, weights=None, skip_bad_rows=false))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn from_arrow(
        _: &Bound<'_, PyType>,
        stream: PyRecordBatchReader,
        name: &str,
        in_memory: bool,
        columns: Option<Vec<String>>,
        exclude: Vec<String>,
        by: Option<String>,
        weights: Option<String>,
        skip_bad_rows: bool,
    ) -> PyResult<Source> {
        let options = read_options(columns, exclude, by, weights, skip_bad_rows);
        let reader = stream.into_reader()?;
        let opened = if in_memory {
            Dataset::from_memory(name, reader, &options)
        } else {
            Dataset::from_batches(name, reader, &options)
        };
        let identity = if in_memory { Identity::Values } else { Identity::Nothing };
        Ok(Source::table(opened.map_err(error::io)?, identity))
    }

    /// Files, globs and folders of CSV, Parquet, npy or Arrow files.
    #[classmethod]
    #[pyo3(signature = (paths, columns=None, exclude=vec![], by=None, weights=None, skip_bad_rows=false))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn from_paths(
        _: &Bound<'_, PyType>,
        py: Python<'_>,
        paths: Vec<String>,
        columns: Option<Vec<String>>,
        exclude: Vec<String>,
        by: Option<String>,
        weights: Option<String>,
        skip_bad_rows: bool,
    ) -> PyResult<Source> {
        let options = read_options(columns, exclude, by, weights, skip_bad_rows);
        let dataset = py.detach(|| Dataset::open(&paths, &options)).map_err(error::io)?;
        let identity = if paths.iter().any(|path| path == "-") {
            Identity::Nothing
        } else {
            Identity::Files(dataset.paths().map(str::to_owned).collect())
        };
        Ok(Source::table(dataset, identity))
    }

    /// Names of the feature columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.columns.clone()
    }

    /// Columns that are not numbers, with the reason.
    #[getter]
    fn left_out(&self) -> Vec<(String, String)> {
        self.left_out.clone()
    }

    /// Number of rows, where it is known without reading them.
    #[getter]
    fn n_rows(&self, py: Python<'_>) -> Option<u64> {
        match &self.kind {
            SourceKind::Array(array) => Some(array.n_rows(py) as u64),
            SourceKind::Table(dataset) => lock(dataset).n_rows(),
        }
    }

    /// A sample of at most `n_max` rows: ndarray of shape (n, d), and the group of each row if the source has
    /// groups.
    fn pilot<'py>(&self, py: Python<'py>, n_max: usize, seed: u64) -> PyResult<PilotRows<'py>> {
        let d = self.columns.len();
        let Pilot { rows, groups, .. } = self.read(py, 1, 1, None, |rows, _| rows.pilot(n_max, seed))?;
        let n = rows.len().checked_div(d).unwrap_or(0);
        let view = ArrayView2::from_shape((n, d), &rows).map_err(|e| error::argument(e.to_string()))?;
        Ok((PyArray2::from_array(py, &view), groups))
    }

    /// A recipe for the rows: from a sample of `pilot` rows or, if `private` is a part of a privacy budget,
    /// from the declared bounds and a look at all rows that is paid with it; 0 looks at none. `again` if they
    /// are then sketched.
    #[pyo3(signature = (wanted, pilot=None, private=None, again=false, threads=0, ledger=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn design(
        &self,
        py: Python<'_>,
        wanted: Wanted,
        pilot: Option<usize>,
        private: Option<f64>,
        again: bool,
        threads: usize,
        ledger: Option<PathBuf>,
    ) -> PyResult<SketchSpec> {
        let ledger = ledger.zip(private.filter(|epsilon| *epsilon > 0.0));
        let charge = |spec| -> PyResult<()> {
            let Some((path, epsilon)) = &ledger else { return Ok(()) };
            let (charge, nowhere) = (Charge::Look { epsilon: *epsilon, spec }, Path::new(""));
            let charged = match spec {
                None => Ledger::check(path, charge, nowhere),
                Some(_) => Ledger::spend(path, charge, nowhere).map(|_| ()),
            };
            charged.map_err(error::io)
        };
        charge(None)?;
        let job = Job { request: wanted.request()?, pilot_rows: pilot, private, ..Job::default() };
        let max_groups = DriveOptions::default().max_groups;
        let found =
            self.read(py, threads, max_groups, None, |rows, options| job.recipe(rows, again, options))?;
        charge(Some(&found.spec))?;
        SketchSpec::with_reasons(found.spec, &found.reasons)
    }

    /// One sketch for each group, or a single one under the empty name, as a dict; rows read; rows left out.
    #[pyo3(signature = (spec, threads=0, max_groups=1000, progress=None))]
    fn sketch<'py>(
        &self,
        py: Python<'py>,
        spec: &SketchSpec,
        threads: usize,
        max_groups: usize,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyDict>, u64, u64)> {
        let operator: &Arc<SketchOperator> = &spec.operator;
        let done = self.sketch_rows(py, operator, threads, max_groups, progress)?;
        let out = PyDict::new(py);
        for (key, sketch) in done.sketches {
            out.set_item(key, Sketch::new(sketch, operator))?;
        }
        Ok((out, done.rows_read, done.rows_skipped))
    }
}

/// The rows of whatever table a user holds; see `compressive._data.source`.
pub fn source_of<'py>(
    data: &Bound<'py, PyAny>,
    columns: Vec<String>,
    weights: Option<&Bound<'py, PyAny>>,
    skip_bad_rows: bool,
) -> PyResult<Bound<'py, Source>> {
    let py = data.py();
    let options = PyDict::new(py);
    options.set_item("weights", weights)?;
    options.set_item("skip_bad_rows", skip_bad_rows)?;
    let made = py.import("compressive._data")?.call_method("source", (data, columns), Some(&options))?;
    Ok(made.cast_into()?)
}

/// At most `n_max` of `n` indices, one in each of equal strata: at the fractional part of the multiples of
/// the golden ratio, turned by the seed.
fn spread(n: usize, n_max: usize, seed: u64) -> Vec<usize> {
    if n <= n_max {
        return (0..n).collect();
    }
    let turn = (seed % 1_000_003) as f64 * 0.754_877_666_246_692_8;
    let place = |i: usize| (i as f64 * 0.618_033_988_749_894_9 + turn).fract();
    let at = |i: usize| ((i as f64 + place(i)) * (n as f64 / n_max as f64)) as usize;
    (0..n_max).map(|i| at(i).min(n - 1)).collect()
}
