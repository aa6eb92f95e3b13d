//! Cubes: many sketches of one recipe in one file, of which any slice is summed.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use compressive::SketchOperator;
use compressive_io::{Condition, Names, write_cube};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};

use crate::error;
use crate::sketch::Sketch;
use crate::spec::SketchSpec;

/// A cube's file: its groups are known, its sketches are read when they are asked for.
#[pyclass(frozen, module = "compressive._native")]
pub struct CubeFile {
    core: Mutex<compressive_io::Cube>,
    operator: Arc<SketchOperator>,
}

impl CubeFile {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&compressive_io::Cube) -> compressive_io::Result<T> + Send,
    ) -> PyResult<T> {
        py.detach(|| work(&self.core.lock().unwrap_or_else(PoisonError::into_inner))).map_err(error::io)
    }
}

#[pymethods]
impl CubeFile {
    #[classmethod]
    fn open(_: &Bound<'_, PyType>, py: Python<'_>, path: PathBuf) -> PyResult<CubeFile> {
        let core = py.detach(|| compressive_io::Cube::open(&path)).map_err(error::io)?;
        let operator = Arc::new(core.empty().spec().clone().build().map_err(error::core)?);
        Ok(CubeFile { core: Mutex::new(core), operator })
    }

    #[getter]
    fn spec(&self) -> SketchSpec {
        SketchSpec::of(Arc::clone(&self.operator))
    }

    #[getter]
    fn keys(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, |core| Ok(core.keys().to_vec()))
    }

    /// The groups' names and numbers of rows.
    #[getter]
    fn groups(&self, py: Python<'_>) -> PyResult<Vec<(Names, u64)>> {
        self.with(py, |core| Ok(core.groups().to_vec()))
    }

    /// The places of the groups whose names lie between (key, from, to).
    fn select(&self, py: Python<'_>, conditions: Vec<(String, String, String)>) -> PyResult<Vec<usize>> {
        let all: Vec<Condition> =
            conditions.iter().map(|(key, from, to)| Condition::between(key, from, to)).collect();
        self.with(py, |core| core.select(&all))
    }

    /// The sum of the sketches at some places, which ascend.
    fn sum(&self, py: Python<'_>, places: Vec<usize>) -> PyResult<Sketch> {
        let sums = self.with(py, |core| core.sum(&places))?;
        Ok(Sketch::new(sums, &self.operator))
    }

    /// Several sums in one pass: for places, which ascend, with the number of the sum that each belongs to.
    fn sums(&self, py: Python<'_>, parts: Vec<(usize, usize)>, count: usize) -> PyResult<Vec<Sketch>> {
        let sums = self.with(py, |core| core.sums(&parts, count))?;
        Ok(sums.into_iter().map(|sums| Sketch::new(sums, &self.operator)).collect())
    }

    /// The sketches at some places, which ascend.
    fn sketches(&self, py: Python<'_>, places: Vec<usize>) -> PyResult<Vec<Sketch>> {
        let all = self.with(py, |core| {
            let mut all = Vec::with_capacity(places.len());
            core.each(&places, |sketch| {
                all.push(sketch);
                Ok(())
            })?;
            Ok(all)
        })?;
        Ok(all.into_iter().map(|sums| Sketch::new(sums, &self.operator)).collect())
    }
}

/// Writes a cube of sketches of one recipe.
#[pyfunction]
pub fn cube_write(
    py: Python<'_>,
    path: PathBuf,
    keys: Vec<String>,
    groups: Vec<(Names, PyRef<'_, Sketch>)>,
) -> PyResult<()> {
    let groups: BTreeMap<Names, compressive::Sketch> =
        groups.iter().map(|(names, sketch)| (names.clone(), sketch.copy_core())).collect();
    py.detach(|| write_cube(&path, &keys, &groups)).map_err(error::io)
}

/// The sum of sketches in the bytes of their files, all of one recipe, which is drawn once.
#[pyfunction]
pub fn sum_bytes(py: Python<'_>, all: Vec<Bound<'_, PyBytes>>) -> PyResult<Option<Sketch>> {
    let Some(first) = all.first() else { return Ok(None) };
    let mut total = compressive::Sketch::from_bytes(first.as_bytes()).map_err(error::core)?;
    let rest: Vec<&[u8]> = all[1..].iter().map(|bytes| bytes.as_bytes()).collect();
    py.detach(|| {
        for bytes in rest {
            total.merge(&compressive::Sketch::from_bytes(bytes)?)?;
        }
        Ok(total)
    })
    .map(|total| Some(Sketch::from_core(total)))
    .map_err(error::core)
}
