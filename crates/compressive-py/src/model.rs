//! Models, and tables under them.

use compressive::RowsRef;
use compressive::model::{ClassPredictor, Content, Model as CoreModel, Predictor, Projector, Scores, Wanted};
use compressive_io::write_atomic;
use numpy::ndarray::Array2;
use numpy::{PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::error;
use crate::source::{Source, source_of};
use crate::table::table;

/// What was learned, in the units of the data.
#[pyclass(frozen, module = "compressive", eq)]
pub struct Model {
    core: CoreModel,
    /// JSON list of the numbers of components tried.
    candidates: String,
}

impl PartialEq for Model {
    fn eq(&self, other: &Model) -> bool {
        self.core == other.core
    }
}

impl Model {
    pub fn new(core: CoreModel, candidates: String) -> Model {
        Model { core, candidates }
    }

    pub fn core(&self) -> &CoreModel {
        &self.core
    }

    fn predictor(&self) -> PyResult<Predictor> {
        self.core.predictor().map_err(error::core)
    }

    fn class_predictor(&self) -> PyResult<ClassPredictor> {
        match &self.core.content {
            Content::Classify(classifier) => classifier.predictor(&self.core.columns).map_err(error::core),
            _ => Err(error::CompressiveError::new_err("this model is not a classifier")),
        }
    }

    /// Whether the model says what takes the place of missing entries.
    fn fills(&self) -> bool {
        !self.core.fill.is_empty()
    }

    /// One of the numbers that a mixture or centres give to rows.
    fn measured<'py>(
        &self,
        py: Python<'py>,
        source: &Source,
        threads: usize,
        wanted: Wanted,
        width: usize,
        pick: impl Fn(Scores) -> Vec<f64> + Sync + Send,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let predictor = self.predictor()?;
        table(py, source, threads, (self.core.dim(), width), self.fills(), |rows| {
            let mut scores = Scores::default();
            predictor.measure(rows, wanted, &mut scores)?;
            Ok(pick(scores))
        })
    }
}

#[pymethods]
impl Model {
    /// Reads a model from its JSON text.
    #[classmethod]
    fn from_json(_: &Bound<'_, PyType>, text: &str) -> PyResult<Model> {
        Ok(Model::new(CoreModel::from_json(text).map_err(error::core)?, "[]".into()))
    }

    /// The model as JSON: the same text as the command line's `fit -o MODEL` writes.
    fn to_json(&self) -> String {
        self.core.to_json()
    }

    /// Writes the JSON file, whole or not at all.
    fn save(&self, path: std::path::PathBuf) -> PyResult<()> {
        write_atomic(&path, format!("{}\n", self.core.to_json()).as_bytes()).map_err(error::io)
    }

    /// Name of the task it was learned for.
    #[getter]
    fn task(&self) -> &'static str {
        self.core.task()
    }

    /// Number of components or classes.
    #[getter]
    fn k(&self) -> usize {
        self.core.k
    }

    /// Names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.core.columns.clone()
    }

    /// Mean square residual of a sketch entry relative to its sampling noise: near 1 if the model explains
    /// the sketch, far above if it does not (too few components, other shapes, or a search that got stuck).
    /// None for a model written by hand.
    #[getter]
    fn misfit(&self) -> Option<f64> {
        self.core.origin.as_ref().map(|origin| origin.misfit.value())
    }

    /// Whether the model explains the sketch it was learned from: "yes", "no" or "cannot-tell". None for a
    /// model written by hand.
    #[getter]
    fn explained(&self) -> Option<&'static str> {
        self.core.origin.as_ref().map(|origin| origin.misfit.explained().name())
    }

    /// The objective of each number of components that was tried when the model was learned, as a list of
    /// dicts; not saved with the model.
    #[getter]
    fn candidates<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("json")?.call_method1("loads", (&self.candidates,))
    }

    /// The learned numbers by name, as ndarrays; what there is depends on the task, see
    /// `compressive.fit_kmeans` and its siblings.
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("compressive._data")?.call_method1("parameters", (self.core.to_json(),))
    }

    /// The component or class of each row of a table, ndarray of shape (n,): numbers, or for classifiers
    /// labels.
    #[pyo3(signature = (data, threads=0))]
    fn predict<'py>(&self, data: &Bound<'py, PyAny>, threads: usize) -> PyResult<Bound<'py, PyAny>> {
        let py = data.py();
        let source = source_of(data, self.core.columns.clone(), &self.core.readings, None, false)?;
        let labels = self.labels(py, &source.borrow(), threads)?.call_method1("ravel", ())?;
        match &self.core.content {
            Content::Classify(classifier) => {
                let names = py.import("numpy")?.call_method1("array", (classifier.classes.clone(),))?;
                names.get_item(labels)
            }
            _ => Ok(labels),
        }
    }

    /// Probability of each component given each row of a table, ndarray of shape (n, k); of mixtures.
    #[pyo3(signature = (data, threads=0))]
    fn predict_proba<'py>(
        &self,
        data: &Bound<'py, PyAny>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let source = source_of(data, self.core.columns.clone(), &self.core.readings, None, false)?;
        self.responsibilities(data.py(), &source.borrow(), threads)
    }

    /// Coordinates of each row of a table along the principal components, ndarray of shape (n, k).
    #[pyo3(signature = (data, threads=0))]
    fn transform<'py>(
        &self,
        data: &Bound<'py, PyAny>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let source = source_of(data, self.core.columns.clone(), &self.core.readings, None, false)?;
        self.project(data.py(), &source.borrow(), threads)
    }

    /// The component or class of each row, ndarray of shape (n, 1).
    #[pyo3(signature = (source, threads=0))]
    fn labels<'py>(
        &self,
        py: Python<'py>,
        source: &Source,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<i32>>> {
        let dim = self.core.dim();
        if matches!(self.core.content, Content::Classify(_)) {
            let predictor = self.class_predictor()?;
            return table(py, source, threads, (dim, 1), self.fills(), |rows| {
                Ok(predictor.classify(rows)?.into_iter().map(|label| label as i32).collect())
            });
        }
        let predictor = self.predictor()?;
        table(py, source, threads, (dim, 1), self.fills(), |rows| {
            let mut scores = Scores::default();
            predictor.measure(rows, Wanted::default(), &mut scores)?;
            Ok(scores.labels.into_iter().map(|label| label as i32).collect())
        })
    }

    /// Squared distance of each row to the nearest centre or mean, ndarray of shape (n, 1).
    #[pyo3(signature = (source, threads=0))]
    fn squared_distances<'py>(
        &self,
        py: Python<'py>,
        source: &Source,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let wanted = Wanted { distances: true, ..Wanted::default() };
        self.measured(py, source, threads, wanted, 1, |scores| scores.distances)
    }

    /// Log-density of each row, ndarray of shape (n, 1).
    #[pyo3(signature = (source, threads=0))]
    fn log_densities<'py>(
        &self,
        py: Python<'py>,
        source: &Source,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let wanted = Wanted { log_densities: true, ..Wanted::default() };
        self.measured(py, source, threads, wanted, 1, |scores| scores.log_densities)
    }

    /// Probability of each component given each row, ndarray of shape (n, k).
    #[pyo3(signature = (source, threads=0))]
    fn responsibilities<'py>(
        &self,
        py: Python<'py>,
        source: &Source,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let wanted = Wanted { responsibilities: true, ..Wanted::default() };
        self.measured(py, source, threads, wanted, self.core.k, |scores| scores.responsibilities)
    }

    /// The score of each class for each row, ndarray of shape (n, k): log-probabilities up to a constant a
    /// row for mixtures.
    #[pyo3(signature = (source, threads=0))]
    fn class_scores<'py>(
        &self,
        py: Python<'py>,
        source: &Source,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let predictor = self.class_predictor()?;
        table(py, source, threads, (self.core.dim(), self.core.k), self.fills(), |rows| {
            predictor.scores(rows)
        })
    }

    /// How columns are read of tables, as JSON.
    #[getter]
    fn readings_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.core.readings).map_err(|e| error::argument(e.to_string()))
    }

    /// Names of the classes of a classifier; none of other models.
    #[getter]
    fn classes(&self) -> Vec<String> {
        match &self.core.content {
            Content::Classify(classifier) => classifier.classes.clone(),
            _ => Vec::new(),
        }
    }

    /// Rows, the sum of their squared distances from the mean, and what principal components leave of it.
    #[pyo3(signature = (source, threads=0))]
    fn errors(&self, py: Python<'_>, source: &Source, threads: usize) -> PyResult<(usize, f64, f64)> {
        let projector: Projector = self.core.projector().map_err(error::core)?;
        // The sums of a chunk stand in its first row.
        let sums = table(py, source, threads, (self.core.dim(), 2), self.fills(), |rows| {
            let values = match rows {
                RowsRef::F32(values) => values.len(),
                RowsRef::F64(values) => values.len(),
            };
            let mut out = vec![0.0; 2 * values / self.core.dim().max(1)];
            let (all, left) = projector.errors(rows)?;
            if let [first, second, ..] = &mut out[..] {
                (*first, *second) = (all, left);
            }
            Ok(out)
        })?;
        let sums = sums.readonly();
        let sums = sums.as_array();
        Ok((sums.nrows(), sums.column(0).sum(), sums.column(1).sum()))
    }

    /// Coordinates of each row along the principal components, ndarray of shape (n, k).
    #[pyo3(signature = (source, threads=0))]
    fn project<'py>(
        &self,
        py: Python<'py>,
        source: &Source,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let projector: Projector = self.core.projector().map_err(error::core)?;
        table(py, source, threads, (self.core.dim(), self.core.k), self.fills(), |rows| {
            let mut out = Vec::new();
            projector.project(rows, &mut out)?;
            Ok(out)
        })
    }

    /// Rows drawn from a mixture of Gaussians or a generative network, ndarray of shape (n, d); the same seed
    /// gives the same rows. Other models say too little about the rows around their parameters.
    #[pyo3(signature = (n, *, seed=0))]
    fn sample<'py>(&self, py: Python<'py>, n: usize, seed: u64) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let values = py.detach(|| crate::made::sample(&self.core, n, seed))?;
        let array = Array2::from_shape_vec((n, self.core.dim()), values);
        Ok(PyArray2::from_owned_array(py, array.map_err(|e| error::argument(e.to_string()))?))
    }

    fn _repr_html_(&self) -> String {
        compressive_report::notebook::model(&self.core)
    }

    fn __reduce__(slf: &Bound<'_, Self>) -> PyResult<(Py<PyAny>, (String,))> {
        let from_json = slf.get_type().getattr("from_json")?;
        Ok((from_json.unbind(), (slf.get().to_json(),)))
    }

    fn __repr__(&self) -> String {
        format!("Model({}, k={}, {} columns)", self.core.task(), self.core.k, self.core.dim())
    }
}
