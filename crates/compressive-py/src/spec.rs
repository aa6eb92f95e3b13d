//! The recipe of a sketch.

use std::collections::BTreeMap;
use std::sync::Arc;

use compressive::design::{LawChoice, Reason};
use compressive::features;
use compressive::{Bounds, FeatureName, FrequencyLaw, Map, Scratch, SketchOperator, Transform, Wave};
use numpy::PyArray2;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::design::named;
use crate::error;
use crate::source::Source;
use crate::table::table;

/// The recipe of a sketch: columns, scaling, frequency law, feature and seed. Immutable; equal recipes make
/// sketches that add up.
///
/// `compressive.design` makes one from data. This constructor is for recipes that are known beforehand, as on
/// sensors.
///
/// Parameters
/// ----------
/// columns : sequence of str
///     Names of the d columns.
/// size : int
///     Number m of frequencies.
/// scale : float
///     Width of the frequency law in working units; frequencies are proportional to its inverse.
/// law : {"adapted-radius", "folded-gaussian", "gaussian"}
/// feature : {"fourier", "one-bit", "sawtooth", "cosine"}
/// seed : int
/// dither : bool, optional
///     By default on for every feature but "fourier".
/// centre, spread : sequence of d floats, optional
///     Working units are (x - centre) / spread.
/// bounds : (low, high), each of d floats, optional
///     The box that the data are expected in.
#[pyclass(frozen, module = "compressive", from_py_object)]
#[derive(Clone)]
pub struct SketchSpec {
    pub operator: Arc<SketchOperator>,
    reasons: Vec<String>,
}

impl SketchSpec {
    pub fn new(spec: compressive::SketchSpec) -> PyResult<SketchSpec> {
        Ok(SketchSpec::of(Arc::new(spec.build().map_err(error::core)?)))
    }

    /// The recipe of an operator.
    pub fn of(operator: Arc<SketchOperator>) -> SketchSpec {
        SketchSpec { operator, reasons: Vec::new() }
    }

    /// A recipe that was chosen for these reasons.
    pub fn with_reasons(spec: compressive::SketchSpec, reasons: &[Reason]) -> PyResult<SketchSpec> {
        let reasons = reasons.iter().map(Reason::to_string).collect();
        Ok(SketchSpec { reasons, ..SketchSpec::new(spec)? })
    }

    pub fn spec(&self) -> &compressive::SketchSpec {
        self.operator.spec()
    }
}

/// Gain, number of blocks and mean square of every wave that needs no more than its name.
pub fn waves() -> BTreeMap<&'static str, (f64, usize, f64)> {
    let numbers = |wave: &Wave| (wave.gain(), wave.blocks().len(), wave.mean_square());
    Wave::plain().map(|wave| (wave.name().name(), numbers(&wave))).collect()
}

#[pymethods]
impl SketchSpec {
    #[new]
    #[pyo3(signature = (columns, size, scale=1.0, *, law="adapted-radius", feature="fourier", seed=0, dither=None, centre=None, spread=None, bounds=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn py_new(
        columns: Vec<String>,
        size: usize,
        scale: f64,
        law: &str,
        feature: &str,
        seed: u64,
        dither: Option<bool>,
        centre: Option<Vec<f64>>,
        spread: Option<Vec<f64>>,
        bounds: Option<(Vec<f64>, Vec<f64>)>,
    ) -> PyResult<SketchSpec> {
        let law = match named("law", law)? {
            LawChoice::AdaptedRadius => FrequencyLaw::AdaptedRadius,
            LawChoice::FoldedGaussian => FrequencyLaw::FoldedGaussian,
            LawChoice::Gaussian => FrequencyLaw::Gaussian,
            _ => {
                return Err(error::argument(format!(
                    "law={law:?}: without data the laws are adapted-radius, folded-gaussian and gaussian; compressive.design knows more"
                )));
            }
        };
        let map: FeatureName = named("feature", feature)?;
        let dim = columns.len();
        let feature = map.with(None, None, false).map_err(error::core)?;
        let map = Map::new(feature, law, dither.unwrap_or(map.dithered()), false).map_err(error::core)?;
        let mut spec = compressive::SketchSpec::new(columns, map, scale, size);
        spec.seed = seed;
        let identity = Transform::identity(dim);
        spec.transform = Transform {
            centre: centre.unwrap_or(identity.centre),
            spread: spread.unwrap_or(identity.spread),
            whiten: None,
        };
        spec.bounds = bounds.map(|(low, high)| Bounds { low, high });
        SketchSpec::new(spec)
    }

    /// Reads a recipe from its JSON text.
    #[classmethod]
    fn from_json(_: &Bound<'_, PyType>, text: &str) -> PyResult<SketchSpec> {
        SketchSpec::new(compressive::SketchSpec::from_json(text).map_err(error::core)?)
    }

    /// The recipe as JSON: the same text as the command line's `design -o SPEC` writes.
    fn to_json(&self) -> String {
        self.spec().to_json_pretty()
    }

    /// Names of the d columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.spec().columns.clone()
    }

    /// The columns of the table and how each is read, as dicts; empty where they are plain numbers all.
    #[getter]
    fn readings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let json = serde_json::to_string(&self.spec().readings);
        let json = json.map_err(|e| error::argument(e.to_string()))?;
        py.import("json")?.call_method1("loads", (json,))
    }

    /// Number of columns, d.
    #[getter]
    fn dim(&self) -> usize {
        self.spec().dim()
    }

    /// Number of frequencies, m.
    #[getter]
    fn size(&self) -> usize {
        self.spec().size
    }

    /// Number of sums, `m` or `2 m`.
    #[getter]
    fn sketch_len(&self) -> usize {
        self.spec().sketch_len()
    }

    /// Width of the frequency law, in working units.
    #[getter]
    fn scale(&self) -> f64 {
        self.spec().scale
    }

    /// Name of the frequency law.
    #[getter]
    fn law(&self) -> &'static str {
        self.spec().map.law_name()
    }

    /// Name of the feature.
    #[getter]
    fn feature(&self) -> &'static str {
        self.spec().map.name().name()
    }

    /// Which exact moments are kept beside the features: "full", "diagonal" or None.
    #[getter]
    fn moments(&self) -> Option<&'static str> {
        self.spec().moments.map(compressive::MomentSet::name)
    }

    /// What the recipe remembers of the sample that it was chosen on, or None: the number of cells, of groups
    /// that share correlations, of rows in the smallest cell and in the sample, and the bytes in the recipe.
    #[getter]
    fn outline(&self) -> Option<BTreeMap<&'static str, u64>> {
        self.spec().outline.as_deref().map(|outline| {
            BTreeMap::from([
                ("cells", outline.n_cells() as u64),
                ("groups", outline.n_groups() as u64),
                ("least_rows", outline.least_rows().into()),
                ("pilot_rows", outline.pilot_rows()),
                ("bytes", outline.n_bytes() as u64),
            ])
        })
    }

    /// Seed of the frequencies.
    #[getter]
    fn seed(&self) -> u64 {
        self.spec().seed
    }

    /// The box of the data, `(low, high)`, if it is known.
    #[getter]
    fn bounds(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        self.spec().bounds.as_ref().map(|b| (b.low.clone(), b.high.clone()))
    }

    /// What working units are: `(centre, spread)`, each of d numbers.
    #[getter]
    fn transform(&self) -> (Vec<f64>, Vec<f64>) {
        let transform = &self.spec().transform;
        (transform.centre.clone(), transform.spread.clone())
    }

    /// 32 hexadecimal digits; recipes of equal fingerprints make sketches that add up.
    #[getter]
    fn fingerprint(&self) -> &str {
        self.operator.fingerprint()
    }

    /// Why the recipe is what it is, if `compressive.design` chose it: one sentence each.
    #[getter]
    fn reasons(&self) -> Vec<String> {
        self.reasons.clone()
    }

    /// Norm of each frequency, ndarray of shape (m,), in radians per working unit.
    fn radii<'py>(&self, py: Python<'py>) -> Bound<'py, numpy::PyArray1<f64>> {
        numpy::PyArray1::from_vec(py, self.operator.radii())
    }

    /// The same recipe for other names of the columns.
    fn with_columns(&self, columns: Vec<String>) -> PyResult<SketchSpec> {
        SketchSpec::new(compressive::SketchSpec { columns, ..self.spec().clone() })
    }

    /// The features of each row, ndarray of shape (n, sketch_len) and dtype float32: their mean is the
    /// sketch's.
    #[pyo3(signature = (source, threads=0))]
    fn features<'py>(
        &self,
        py: Python<'py>,
        source: &Source,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let operator: &SketchOperator = &self.operator;
        table(py, source, threads, (operator.dim(), operator.sketch_len()), false, |rows| {
            let mut out = Vec::new();
            features::rows(operator, rows, &mut out, &mut Scratch::default())?;
            Ok(out)
        })
    }

    /// One-bit features as bits, ndarray of dtype uint8, as `numpy.packbits` packs them.
    #[pyo3(signature = (source, blocks=1, threads=0))]
    fn packed<'py>(
        &self,
        py: Python<'py>,
        source: &Source,
        blocks: usize,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<u8>>> {
        let operator: &SketchOperator = &self.operator;
        let width = features::packed_len(blocks * operator.spec().size);
        table(py, source, threads, (operator.dim(), width), false, |rows| {
            let mut out = Vec::new();
            features::packed(operator, blocks, rows, &mut out, &mut Scratch::default())?;
            Ok(out)
        })
    }

    fn __eq__(&self, other: &SketchSpec) -> bool {
        self.operator.fingerprint() == other.operator.fingerprint()
    }

    fn __hash__(&self) -> u64 {
        let digits = &self.operator.fingerprint()[..16];
        u64::from_str_radix(digits, 16).unwrap_or(0)
    }

    fn __reduce__(slf: &Bound<'_, Self>) -> PyResult<(Py<PyAny>, (String,))> {
        let from_json = slf.get_type().getattr("from_json")?;
        Ok((from_json.unbind(), (slf.get().to_json(),)))
    }

    fn _repr_html_(&self) -> String {
        compressive_report::notebook::spec(self.operator.spec())
    }

    fn __repr__(&self) -> String {
        let spec = self.spec();
        format!(
            "SketchSpec({} of {} frequencies over {} columns, law {}, scale {:.4}, seed {})",
            spec.map.name(),
            spec.size,
            spec.dim(),
            spec.map.law_name(),
            spec.scale,
            spec.seed
        )
    }
}
