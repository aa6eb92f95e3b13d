//! The other end: one that sends batches and can wait.

use std::path::Path;
use std::time::Duration;

use compressive::SketchSpec;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body};

use crate::error::{Error, Result};
use crate::payload::Kind;
use crate::store::Answer;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A collector as its clients see it.
#[derive(Clone, Debug)]
pub struct Client {
    agent: Agent,
    url: String,
    authorization: Option<String>,
}

/// What became of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It is counted; the flag tells of one that had been before.
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
        })
    }

    /// The spec of a stream.
    pub fn spec(&self, stream: &str) -> Result<SketchSpec> {
        let mut request = self.agent.get(format!("{}/v1/streams/{stream}/spec", self.url));
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        let mut response = request.call().map_err(|e| self.unreachable(&e))?;
        let text = response.body_mut().read_to_string().map_err(|e| self.unreachable(&e))?;
        if response.status() != 200 {
            return Err(Error::Refused(format!("{}: {}", self.url, problem(&text))));
        }
        Ok(SketchSpec::from_json(&text)?)
    }

    fn unreachable(&self, error: &ureq::Error) -> Error {
        Error::Refused(format!("{} cannot be reached: {error}", self.url))
    }

    /// Sends a batch once. What may pass (no connection, a server that is busy or starts anew) is no error.
    pub fn send(&self, place: &Place<'_>, key: &str, kind: Kind, body: &[u8]) -> Result<Sent> {
        let mut address = format!("{}/v1/streams/{}/batches", self.url, place.stream);
        if let Some(bucket) = place.bucket {
            address.push_str(&format!("?bucket={bucket}"));
        }
        let mut request = self
            .agent
            .post(address)
            .header("idempotency-key", key)
            .header("compressive-fingerprint", place.fingerprint)
            .content_type(kind.media_type());
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
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
    let told = value.as_ref().and_then(|value| value["error"].as_str());
    told.map_or_else(|| text.chars().take(200).collect(), str::to_owned)
}
