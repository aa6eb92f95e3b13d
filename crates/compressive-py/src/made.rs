//! Rows that are made: of known distributions, and of models.

use compressive::model::{Content, Covariances, Model};
use compressive_data::{Kind, KindParams, Mixture, Rng, Shape, Source};
use numpy::ndarray::Array2;
use numpy::{PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::design::named;
use crate::error;

/// Rows, their components, and the mixture they come from.
type Made<'py> = (Bound<'py, PyArray2<f32>>, Bound<'py, PyArray1<i32>>, Option<String>);

/// What is to be generated, in the words of Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Asked {
    kind: String,
    n: usize,
    d: usize,
    k: usize,
    separation: f64,
    factor: f64,
    noise: f64,
    seed: u64,
}

/// A table with a known truth: the rows that the program generates with the same numbers.
#[pyfunction]
pub fn generate<'py>(py: Python<'py>, asked: Asked) -> PyResult<Made<'py>> {
    let kind: Kind = named("kind", &asked.kind)?;
    let Asked { n, d: dim, k, separation, factor, noise, seed, .. } = asked;
    let params = KindParams { dim, k, separation, factor, noise, seed };
    let (source, sample) = py
        .detach(|| {
            let source = Source::new(kind, &params)?;
            let sample = source.sample(n, &mut Rng::derived(seed, 1))?;
            Ok((source, sample))
        })
        .map_err(wrong)?;
    let values = sample.values.iter().map(|x| *x as f32).collect();
    let array =
        Array2::from_shape_vec((n, source.dim()), values).map_err(|e| error::argument(e.to_string()))?;
    let labels = PyArray1::from_iter(py, sample.labels.iter().map(|label| *label as i32));
    let names = (0..source.dim()).map(|c| format!("x{c}")).collect();
    let truth = source.mixture().map(|mixture| mixture.to_model(names).to_json());
    Ok((PyArray2::from_owned_array(py, array), labels, truth))
}

fn wrong(error: compressive_data::Error) -> PyErr {
    error::CompressiveError::new_err(error.to_string())
}

/// Draws rows from a mixture or a generative network, n of d.
pub fn sample(model: &Model, n: usize, seed: u64) -> PyResult<Vec<f64>> {
    if let Content::Generator(network) = &model.content {
        return network.sample(n, seed).map_err(error::core);
    }
    let Content::Gmm { weights, means, covariances } = &model.content else {
        return Err(error::CompressiveError::new_err(format!(
            "rows are drawn from sketches, mixtures of Gaussians and generative networks; a model of task \"{}\" says \
             too little about the rows around its parameters",
            model.task()
        )));
    };
    let (shape, covariances) = match covariances {
        Covariances::Diagonal(all) => (Shape::Diagonal, all.concat()),
        Covariances::Full(all) => (Shape::Full, all.iter().flatten().flatten().copied().collect()),
    };
    let (dim, weights, means) = (model.dim(), weights.clone(), means.concat());
    let mixture = Mixture { dim, weights, means, covariances, shape };
    Ok(mixture.sample(n, &mut Rng::derived(seed, 2)).map_err(wrong)?.values)
}

/// The adjusted Rand index of two labellings.
#[pyfunction]
pub fn adjusted_rand(a: PyReadonlyArray1<'_, u32>, b: PyReadonlyArray1<'_, u32>) -> PyResult<f64> {
    compressive_data::metric::ari(a.as_slice()?, b.as_slice()?).map_err(wrong)
}
