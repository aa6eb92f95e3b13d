//! A collector, as one who sends rows and asks for sketches sees it.

use std::path::PathBuf;
use std::time::Duration;

use compressive::privacy::LocalResponse;
use compressive_client::{Client, Place, PushParams, Run, check_name};
use pyo3::prelude::*;

use crate::error;
use crate::private::PrivateSketch;
use crate::push::{Way, rows_of, send};
use crate::sketch::Sketch;
use crate::source::Source;
use crate::spec::SketchSpec;

/// A collector. Nothing of it shows the token.
#[pyclass(frozen, module = "compressive._native")]
pub struct Collector {
    client: Client,
    url: String,
}

/// How to push, in the words of Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Sending {
    bucket: Option<String>,
    batch: usize,
    connections: usize,
    patience: f64,
    local_epsilon: Option<f64>,
    spool: PathBuf,
    again: bool,
    threads: usize,
}

#[pymethods]
impl Collector {
    #[new]
    #[pyo3(signature = (url, token=None, certificate=None))]
    fn py_new(url: &str, token: Option<&str>, certificate: Option<PathBuf>) -> PyResult<Collector> {
        let client = Client::new(url, token, certificate.as_deref()).map_err(error::collector)?;
        Ok(Collector { client, url: url.to_owned() })
    }

    /// The recipe of a stream, or None if there is no such stream.
    fn spec(&self, py: Python<'_>, stream: &str) -> PyResult<Option<SketchSpec>> {
        check_name(stream).map_err(error::collector)?;
        let found = py.detach(|| self.client.find_spec(stream)).map_err(error::collector)?;
        found.map(SketchSpec::new).transpose()
    }

    /// Makes a stream with buckets of an "hour" or a "day"; False if it was there with the same recipe and
    /// buckets.
    fn make_stream(&self, py: Python<'_>, stream: &str, spec: &SketchSpec, every: &str) -> PyResult<bool> {
        check_name(stream).map_err(error::collector)?;
        py.detach(|| self.client.make_stream(stream, spec.spec(), every, None)).map_err(error::collector)
    }

    /// Sends the rows of a source that its run has not sent yet: rows acknowledged, batches, and batches that
    /// had been counted before; None if all of them had been acknowledged.
    #[pyo3(signature = (source, stream, spec, run, sending, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn push(
        &self,
        py: Python<'_>,
        source: &Source,
        stream: &str,
        spec: &SketchSpec,
        run: Option<&str>,
        sending: Sending,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<(u64, u64, u64)>> {
        check_name(stream).map_err(error::collector)?;
        let patience = Duration::try_from_secs_f64(sending.patience);
        let patience = patience.map_err(|_| error::argument("patience: seconds, at least 0"))?;
        let operator = &*spec.operator;
        let (expected, found) = (operator.dim(), source.names().len());
        if expected != found {
            return Err(error::io(compressive_io::Error::WrongWidth { expected, found }));
        }
        let local = sending.local_epsilon.map(|epsilon| LocalResponse::new(operator.spec(), epsilon));
        let local = local.transpose().map_err(error::core)?;
        let params = PushParams {
            batch_rows: sending.batch,
            connections: sending.connections,
            patience,
            place: Place { stream, bucket: sending.bucket.as_deref(), fingerprint: operator.fingerprint() },
            local: local.as_ref(),
        };
        let rows = rows_of(py, source, run, sending.threads)?;
        let run = Run::new(&self.url, &params, &rows);
        let mut spool = run.spool(&sending.spool, sending.again).map_err(error::collector)?;
        let finished = spool.is_finished().map_err(error::collector)?;
        let way = Way { client: &self.client, operator, params, threads: sending.threads };
        let pushed = send(py, source, &mut spool, way, progress)?;
        Ok((!finished || pushed.1 > 0).then_some(pushed))
    }

    /// The exact sums of streams, from a first bucket to a last one.
    #[pyo3(signature = (streams, first=None, last=None))]
    fn sketch(
        &self,
        py: Python<'_>,
        streams: Vec<String>,
        first: Option<&str>,
        last: Option<&str>,
    ) -> PyResult<Sketch> {
        let found = py.detach(|| self.client.sketch(&streams, first, last));
        Ok(Sketch::from_core(found.map_err(error::collector)?))
    }

    /// The sum of the private sketches of streams, from a first bucket to a last one.
    #[pyo3(signature = (streams, first=None, last=None))]
    fn private(
        &self,
        py: Python<'_>,
        streams: Vec<String>,
        first: Option<&str>,
        last: Option<&str>,
    ) -> PyResult<PrivateSketch> {
        let found = py.detach(|| self.client.private(&streams, first, last));
        Ok(PrivateSketch::from_core(found.map_err(error::collector)?))
    }

    fn __repr__(&self) -> String {
        format!("Collector({:?})", self.url)
    }
}
