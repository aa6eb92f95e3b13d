//! A table from which rows are read: a numpy array, an Arrow stream or table, or files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use compressive::{Column, Missing, Sketch as CoreSketch, SketchOperator};
use compressive_io::{
    Charge, Cyclic, Dataset, DriveOptions, Job, Ledger, Outcome, Pilot, ReadOptions, Readable,
};
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
    columns: Vec<String>,
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
        progress: Option<&Bound<'_, PyAny>>,
        work: impl FnOnce(&Watch, &mut dyn Readable) -> compressive_io::Result<T> + Send,
    ) -> PyResult<T> {
        let columns = &self.columns[..];
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
        Ok(Outcome {
            sketches,
            rows_read: self.matrix.n_rows() as u64,
            rows_skipped: 0,
            filled: Vec::new(),
            strays: Vec::new(),
        })
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
        Source { kind: SourceKind::Table(Mutex::new(dataset)), identity }
    }

    pub fn kind(&self) -> &SourceKind {
        &self.kind
    }

    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Names of the coordinates of a row.
    pub fn names(&self) -> Vec<String> {
        match &self.kind {
            SourceKind::Array(array) => array.columns.clone(),
            SourceKind::Table(dataset) => lock(dataset).columns().to_vec(),
        }
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
            SourceKind::Array(array) => array.read(py, progress, work),
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
        self.read(py, threads, max_groups, progress, |rows, options| {
            rows.treat_missing(operator.spec().missing)?;
            rows.sketch(operator, options)
        })
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

/// What to read of a table with named columns, in the words of Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Reading {
    columns: Option<Vec<String>>,
    /// The columns of a recipe or a model, as JSON, in place of `columns`.
    readings: Option<String>,
    exclude: Vec<String>,
    by: Option<String>,
    weights: Option<String>,
    skip_bad_rows: bool,
    /// Dates and text become features.
    interpret: bool,
    /// Columns, or none for all dates, with the length of their circle.
    cyclic: Vec<(Option<String>, f64)>,
}

impl Reading {
    fn options(self) -> PyResult<ReadOptions> {
        let readings = self.readings.map(|json| serde_json::from_str(&json)).transpose();
        let readings = readings.map_err(|e| error::argument(format!("readings: {e}")))?;
        let cyclic = self.cyclic.into_iter().map(|(column, period)| Cyclic { column, period });
        Ok(ReadOptions {
            columns: self.columns,
            readings,
            exclude: self.exclude,
            by: self.by,
            weights: self.weights,
            skip_bad_rows: self.skip_bad_rows,
            interpret: self.interpret,
            // Until a sample is looked at, or as the recipe will have it.
            missing: if self.interpret { Missing::Fill } else { Missing::Error },
            leave_out_unfit: self.interpret,
            cyclic: cyclic.collect(),
            ..ReadOptions::default()
        })
    }
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
        let array = Array { columns, values, weights, groups: groups.zip(group_names) };
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
        Ok(Source { kind: SourceKind::Array(array), identity: Identity::Values })
    }

    /// Any object with `__arrow_c_stream__`; `in_memory` if it is a table and not a stream that is read once.
    #[classmethod]
    fn from_arrow(
        _: &Bound<'_, PyType>,
        stream: PyRecordBatchReader,
        name: &str,
        in_memory: bool,
        reading: Reading,
    ) -> PyResult<Source> {
        let options = reading.options()?;
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
    fn from_paths(
        _: &Bound<'_, PyType>,
        py: Python<'_>,
        paths: Vec<String>,
        reading: Reading,
    ) -> PyResult<Source> {
        let options = reading.options()?;
        let dataset = py.detach(|| Dataset::open(&paths, &options)).map_err(error::io)?;
        let identity = if paths.iter().any(|path| path == "-") {
            Identity::Nothing
        } else {
            Identity::Files(dataset.paths().map(str::to_owned).collect())
        };
        Ok(Source::table(dataset, identity))
    }

    /// Names of the coordinates of a row: the columns, or what they are read as.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.names()
    }

    /// Columns that are not used though nobody asked for that, with the reason.
    #[getter]
    fn left_out(&self) -> Vec<(String, String)> {
        let SourceKind::Table(dataset) = &self.kind else { return Vec::new() };
        let dataset = lock(dataset);
        let unasked = dataset.left_out().iter().filter(|left| !left.asked);
        unasked.map(|left| (left.name.clone(), left.reason.clone())).collect()
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
        let Pilot { rows, groups, columns, .. } =
            self.read(py, 1, 1, None, |rows, _| rows.pilot(n_max, seed))?;
        let d = columns.len();
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
        let left_out: Vec<String> =
            self.left_out().into_iter().map(|(name, reason)| format!("{name:?} ({reason})")).collect();
        if !left_out.is_empty() {
            let more = "name columns to use them all the same, or exclude them";
            warn(py, &format!("columns left out: {}; {more}", left_out.join(", ")))?;
        }
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
        tell(py, &done)?;
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
    readings: &[Column],
    weights: Option<&Bound<'py, PyAny>>,
    skip_bad_rows: bool,
) -> PyResult<Bound<'py, Source>> {
    let py = data.py();
    let options = PyDict::new(py);
    options.set_item("weights", weights)?;
    options.set_item("skip_bad_rows", skip_bad_rows)?;
    if !readings.is_empty() {
        let json = serde_json::to_string(readings).map_err(|e| error::argument(e.to_string()))?;
        options.set_item("readings", json)?;
    }
    let made = py.import("compressive._data")?.call_method("source", (data, columns), Some(&options))?;
    Ok(made.cast_into()?)
}

/// Warns of entries that were filled.
pub fn tell(py: Python<'_>, done: &Outcome) -> PyResult<()> {
    if !done.filled.is_empty() {
        let counts: Vec<String> = done.filled.iter().map(|(name, n)| format!("{name:?} {n}")).collect();
        let text = format!("missing entries filled with the column's centre: {}", counts.join(", "));
        warn(py, &format!("{text}; missing=\"skip\" leaves such rows out"))?;
    }
    for stray in &done.strays {
        warn(py, &stray.to_string())?;
    }
    Ok(())
}

/// A warning to the user of Python.
pub fn warn(py: Python<'_>, text: &str) -> PyResult<()> {
    py.import("warnings")?.call_method1("warn", (text,)).map(|_| ())
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
