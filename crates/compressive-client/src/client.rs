//! The other end: one that sends batches and can wait.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use compressive::privacy::PrivateSketch;
use compressive::{Sketch, SketchSpec};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body};

use crate::batch::{Answer, BatchKind};
use crate::error::{Error, Result};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often one who waits looks whether to stop.
const SLICE: Duration = Duration::from_millis(50);
/// Bytes of a sketch that is asked for, at most.
const SKETCH_BYTES: u64 = 1 << 30;

/// A collector as its clients see it.
#[derive(Clone)]
pub struct Client {
    agent: Agent,
    url: String,
    authorization: Option<String>,
    stop: Option<Arc<AtomicBool>>,
}

/// The first and the last bucket of a question, both included; an end that is not named is open.
type Ends<'a> = [Option<&'a str>; 2];

/// Without the token.
impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("url", &self.url).finish_non_exhaustive()
    }
}

/// What became of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It is counted; the flag marks one that had been counted before.
    Counted(Answer, bool),
    /// It may be sent again, for this reason.
    Later(String),
}

impl Client {
    /// A client of the collector at a URL, with a token and a certificate to trust if they are given.
    pub fn new(url: &str, token: Option<&str>, certificate: Option<&Path>) -> Result<Client> {
        let mut tls = TlsConfig::builder();
        if let Some(path) = certificate {
            let refused = |problem: String| Error::Tls { path: path.display().to_string(), problem };
            let pem = std::fs::read(path).map_err(|e| refused(e.to_string()))?;
            let items = parse_pem(&pem).collect::<std::result::Result<Vec<_>, _>>();
            let certificates: Vec<Certificate<'static>> = items
                .map_err(|e| refused(e.to_string()))?
                .into_iter()
                .filter_map(|item| match item {
                    PemItem::Certificate(certificate) => Some(certificate),
                    _ => None,
                })
                .collect();
            tls = tls.root_certs(RootCerts::from(certificates));
        }
        let config = Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .http_status_as_error(false)
            .max_redirects(0)
            .tls_config(tls.build())
            .build();
        Ok(Client {
            agent: Agent::new_with_config(config),
            url: url.trim_end_matches('/').to_owned(),
            authorization: token.map(|token| format!("Bearer {token}")),
            stop: None,
        })
    }

    /// The same client, which sends no batch once the flag is raised.
    #[must_use]
    pub fn stopped_by(self, flag: Arc<AtomicBool>) -> Client {
        Client { stop: Some(flag), ..self }
    }

    /// Waits, until the flag is raised at the longest.
    pub(crate) fn wait(&self, time: Duration) {
        let end = Instant::now() + time;
        while !self.is_stopped() && Instant::now() < end {
            std::thread::sleep(SLICE.min(time));
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// The spec of a stream.
    pub fn spec(&self, stream: &str) -> Result<SketchSpec> {
        self.find_spec(stream)?
            .ok_or_else(|| Error::NoStream { url: self.url.to_string(), stream: stream.into() })
    }

    /// The spec of a stream, if there is such a stream.
    pub fn find_spec(&self, stream: &str) -> Result<Option<SketchSpec>> {
        let request = self.agent.get(format!("{}/v1/streams/{stream}/spec", self.url));
        let mut response = self.authorized(request).call().map_err(|e| self.unreachable(&e))?;
        let text = response.body_mut().read_to_string().map_err(|e| self.unreachable(&e))?;
        match response.status().as_u16() {
            200 => Ok(Some(SketchSpec::from_json(&text)?)),
            404 => Ok(None),
            _ => Err(Error::Refused(format!("{}: {}", self.url, problem(&text)))),
        }
    }

    /// Makes a stream with buckets of an `hour` or a `day`, whose readings report under this promise alone if
    /// there is one; false if it was there with the same spec and buckets.
    pub fn make_stream(
        &self,
        stream: &str,
        spec: &SketchSpec,
        every: &str,
        local_epsilon: Option<f64>,
    ) -> Result<bool> {
        let epsilons = local_epsilon.map_or(String::new(), |epsilon| format!("&epsilons={epsilon}"));
        let request = self.agent.put(format!("{}/v1/streams/{stream}?every={every}{epsilons}", self.url));
        let request = self.authorized(request).content_type("application/json");
        let mut response = request.send(spec.to_json_pretty()).map_err(|e| self.unreachable(&e))?;
        let text = response.body_mut().read_to_string().map_err(|e| self.unreachable(&e))?;
        match response.status().as_u16() {
            status @ (200 | 201) => Ok(status == 201),
            _ => Err(Error::Refused(format!("{}: {}", self.url, problem(&text)))),
        }
    }

    fn authorized<B>(&self, request: ureq::RequestBuilder<B>) -> ureq::RequestBuilder<B> {
        match &self.authorization {
            Some(authorization) => request.header("authorization", authorization),
            None => request,
        }
    }

    fn unreachable(&self, error: &ureq::Error) -> Error {
        Error::Refused(format!("{} cannot be reached: {error}", self.url))
    }

    /// The exact sums of streams of one spec, from a first bucket to a last one, both included; an end that
    /// is not named is open.
    pub fn sketch(&self, streams: &[String], first: Option<&str>, last: Option<&str>) -> Result<Sketch> {
        Ok(Sketch::from_bytes(&self.sum(streams, [first, last], false)?)?)
    }

    /// The sum of the private sketches of such a slice, reports of local privacy included.
    pub fn private(
        &self,
        streams: &[String],
        first: Option<&str>,
        last: Option<&str>,
    ) -> Result<PrivateSketch> {
        Ok(PrivateSketch::from_bytes(&self.sum(streams, [first, last], true)?)?)
    }

    fn sum(&self, streams: &[String], [from, to]: Ends<'_>, private: bool) -> Result<Vec<u8>> {
        let mut request = self.agent.get(format!("{}/v1/sketch", self.url));
        request = request.query("streams", streams.join(","));
        for (name, value) in [("from", from), ("to", to), ("private", private.then_some("true"))] {
            if let Some(value) = value {
                request = request.query(name, value);
            }
        }
        let mut response = self.authorized(request).call().map_err(|e| self.unreachable(&e))?;
        let body = response.body_mut().with_config().limit(SKETCH_BYTES).read_to_vec();
        let body = body.map_err(|e| self.unreachable(&e))?;
        match response.status().as_u16() {
            200 => Ok(body),
            _ => Err(Error::Refused(format!("{}: {}", self.url, problem(&String::from_utf8_lossy(&body))))),
        }
    }

    /// Sends a batch once. What may pass (no connection, a server that is busy or restarting) is not an
    /// error. A sender that calls its batches `ID-0`, `ID-1` and so on says with `settled` below which number
    /// all were acknowledged to it, and that it never sends one of these again; the collector then forgets
    /// their keys.
    pub fn send(
        &self,
        place: &Place<'_>,
        key: &str,
        settled: Option<u64>,
        kind: BatchKind,
        body: &[u8],
    ) -> Result<Sent> {
        if self.is_stopped() {
            return Err(Error::Refused("sending was stopped; nothing is lost".into()));
        }
        let mut address = format!("{}/v1/streams/{}/batches", self.url, place.stream);
        if let Some(bucket) = place.bucket {
            address.push_str(&format!("?bucket={bucket}"));
        }
        let mut request = self
            .authorized(self.agent.post(address))
            .header("idempotency-key", key)
            .header("compressive-fingerprint", place.fingerprint)
            .content_type(kind.media_type());
        if let Some(settled) = settled {
            request = request.header("compressive-settled", settled.to_string());
        }
        let mut response = match request.send(body) {
            Ok(response) => response,
            Err(error) => return Ok(Sent::Later(error.to_string())),
        };
        let repeated = response.headers().get("idempotent-replayed").is_some_and(|value| value == "true");
        let status = response.status().as_u16();
        let text = match read(response.body_mut()) {
            Ok(text) => text,
            Err(error) => return Ok(Sent::Later(error)),
        };
        match status {
            200 => match serde_json::from_str(&text) {
                Ok(answer) => Ok(Sent::Counted(answer, repeated)),
                Err(error) => Ok(Sent::Later(format!("an answer that makes no sense: {error}"))),
            },
            408 | 429 | 500..=599 => Ok(Sent::Later(problem(&text))),
            _ => Err(Error::Refused(format!("{}: {}", self.url, problem(&text)))),
        }
    }
}

/// Where batches go.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The stream.
    pub stream: &'a str,
    /// The bucket; that of the moment if none is named.
    pub bucket: Option<&'a str>,
    /// Fingerprint of the spec.
    pub fingerprint: &'a str,
}

fn read(body: &mut Body) -> std::result::Result<String, String> {
    body.read_to_string().map_err(|e| e.to_string())
}

/// The sentence in an answer.
fn problem(text: &str) -> String {
    let value: Option<serde_json::Value> = serde_json::from_str(text).ok();
    let reason = value.as_ref().and_then(|value| value["error"].as_str());
    reason.map_or_else(|| text.chars().take(200).collect(), str::to_owned)
}
