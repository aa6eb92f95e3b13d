//! Questions: sketches, models, drift, and how the server is.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use compressive::compare::{Comparison, compare};
use compressive::design::Task;
use compressive::task::{Components, CovarianceKind, LearnParams, learn};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::ask::Slice;
use crate::error::{Error, Result};
use crate::http::{Refusal, Shared, ingest};
use crate::payload::Kind;
use crate::token::Role;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    streams: String,
    from: Option<String>,
    to: Option<String>,
    key: Option<String>,
}

/// A query as it came.
type AskedQuery = std::result::Result<Query<Asked>, QueryRejection>;

impl Shared {
    /// The slice that a sender may read.
    fn slice(
        &self,
        headers: &HeaderMap,
        streams: &[String],
        range: [&Option<String>; 2],
    ) -> std::result::Result<Slice, Refusal> {
        let names: Vec<&str> = streams.iter().map(String::as_str).collect();
        self.guard.allow(headers, Role::Read, &names)?;
        let first =
            streams.first().ok_or_else(|| Refusal::new(StatusCode::BAD_REQUEST, "no stream is named"))?;
        let every = self.store.stream(first)?.every;
        for name in streams {
            if self.store.stream(name)?.every != every {
                let problem = "streams by hour and streams by day cannot be asked for together";
                return Err(Refusal::new(StatusCode::BAD_REQUEST, problem));
            }
        }
        let bucket = |text: &Option<String>| text.as_deref().map(|t| every.parse(t)).transpose();
        Ok(Slice { streams: streams.to_vec(), from: bucket(range[0])?, to: bucket(range[1])? })
    }

    /// What a query asks for, and its slice.
    fn asked(&self, headers: &HeaderMap, query: AskedQuery) -> std::result::Result<(Asked, Slice), Refusal> {
        let Query(asked) = query?;
        let streams: Vec<String> = asked.streams.split(',').map(str::to_owned).collect();
        let slice = self.slice(headers, &streams, [&asked.from, &asked.to])?;
        Ok((asked, slice))
    }
}

/// `GET /healthz`: whether the store can be read.
pub(super) async fn health(State(shared): State<Arc<Shared>>) -> std::result::Result<Json<Value>, Refusal> {
    shared.store.streams().map_err(|e| Refusal::new(StatusCode::SERVICE_UNAVAILABLE, e.to_string()))?;
    Ok(Json(json!({ "status": "ok" })))
}

/// `GET /metrics`.
pub(super) async fn metrics(State(shared): State<Arc<Shared>>) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], shared.metrics.text()).into_response()
}

/// `GET /openapi.json`.
pub(super) async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], include_str!("openapi.json")).into_response()
}

fn bytes(bytes: Vec<u8>) -> Response {
    ([(header::CONTENT_TYPE, Kind::Sketch.media_type())], bytes).into_response()
}

/// `GET /v1/sketch`.
pub(super) async fn sketch(
    State(shared): State<Arc<Shared>>,
    query: AskedQuery,
    headers: HeaderMap,
) -> std::result::Result<Response, Refusal> {
    let (_, slice) = shared.asked(&headers, query)?;
    let own = Arc::clone(&shared);
    Ok(bytes(shared.compute(move || own.store.sum(&slice)).await??.to_bytes()))
}

/// `GET /v1/private`.
pub(super) async fn private(
    State(shared): State<Arc<Shared>>,
    query: AskedQuery,
    headers: HeaderMap,
) -> std::result::Result<Response, Refusal> {
    let (asked, slice) = shared.asked(&headers, query)?;
    let all = shared.store.private(&slice)?;
    if let Some(wanted) = &asked.key {
        let found = all.into_iter().find(|([_, _, key], _)| key == wanted);
        let (_, sketch) = found
            .ok_or_else(|| Refusal::new(StatusCode::NOT_FOUND, "there is no private sketch of this key"))?;
        return Ok(bytes(sketch.to_bytes()));
    }
    let one = |([stream, bucket, key], sketch): &([String; 3], compressive::privacy::PrivateSketch)| json!({ "stream": stream, "bucket": bucket, "key": key, "rows": sketch.rows(), "privacy": sketch.releases() });
    Ok(Json(json!({ "private": all.iter().map(one).collect::<Vec<_>>() })).into_response())
}

/// `GET /v1/drift`.
pub(super) async fn drift(
    State(shared): State<Arc<Shared>>,
    query: AskedQuery,
    headers: HeaderMap,
) -> std::result::Result<Json<Value>, Refusal> {
    let (_, slice) = shared.asked(&headers, query)?;
    let own = Arc::clone(&shared);
    Ok(Json(shared.compute(move || drifts(&own, &slice)).await??))
}

/// Each bucket against the one before it and against the first.
fn drifts(shared: &Shared, slice: &Slice) -> Result<Value> {
    let first = slice.streams.first().ok_or_else(|| Error::Payload("no stream is named".into()))?;
    let operator = shared.operators.get(&shared.store.stream(first)?)?;
    let all = shared.store.buckets(slice)?;
    let told = |c: Comparison| json!({ "distance": c.distance, "distance_expected": c.distance_expected, "mmd_squared": c.mmd_squared, "p_value": c.p_value });
    let mut days = Vec::new();
    for (i, (bucket, sketch)) in all.iter().enumerate() {
        // Buckets of a row or two cannot be compared.
        let against = |other: usize| compare(&operator, &all[other].1, sketch).ok().map(told);
        let before = i.checked_sub(1).and_then(against);
        let start = (i > 0).then(|| against(0)).flatten();
        days.push(json!({ "bucket": bucket, "rows": sketch.rows(), "before": before, "first": start }));
    }
    Ok(json!({ "buckets": days }))
}

/// Number of components.
#[derive(Deserialize)]
#[serde(untagged)]
enum Wanted {
    Exactly(usize),
    Auto(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fit {
    streams: Vec<String>,
    from: Option<String>,
    to: Option<String>,
    #[serde(default = "kmeans")]
    task: String,
    k: Wanted,
    #[serde(default)]
    covariance: Option<String>,
    #[serde(default)]
    seed: u64,
}

fn kmeans() -> String {
    "kmeans".into()
}

/// `POST /v1/fit`.
pub(super) async fn fit(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> std::result::Result<Json<Value>, Refusal> {
    let headers = request.headers().clone();
    // The body names the streams; one who has no token at all is refused before it is read.
    shared.guard.known(&headers)?;
    let (bytes, _held) = ingest::body(&shared, request).await?;
    let asked: Fit = serde_json::from_slice(&bytes).map_err(|e| {
        let example = r#"{"streams": ["NAME"], "task": "kmeans", "k": 10}"#;
        Refusal::new(StatusCode::BAD_REQUEST, format!("{e}; send {example}"))
    })?;
    let slice = shared.slice(&headers, &asked.streams, [&asked.from, &asked.to])?;
    let own = Arc::clone(&shared);
    Ok(Json(shared.compute(move || learned(&own, &slice, &asked)).await??))
}

/// Most components that a request may ask for.
const COMPONENTS: usize = 200;

fn learned(shared: &Shared, slice: &Slice, asked: &Fit) -> Result<Value> {
    let refused = |problem: String| Error::Payload(problem);
    let task =
        [Task::Kmeans, Task::Gmm, Task::Pca, Task::Kmedians].into_iter().find(|t| t.name() == asked.task);
    let task =
        task.ok_or_else(|| refused(format!("`{}` is no task: kmeans, gmm, pca or kmedians", asked.task)))?;
    let covariance = match asked.covariance.as_deref() {
        None | Some("diag") => CovarianceKind::Diag,
        Some("iso") => CovarianceKind::Iso,
        Some("full") => CovarianceKind::Full,
        Some(other) => return Err(refused(format!("`{other}` is no covariance: iso, diag or full"))),
    };
    let sketch = shared.store.sum(slice)?;
    let k = match &asked.k {
        Wanted::Exactly(k) if (1..=COMPONENTS).contains(k) => Components::Exactly(*k),
        Wanted::Auto(text) if text == "auto" && task != Task::Pca => Components::auto(task, sketch.spec()),
        _ => {
            return Err(refused(format!(
                "k is a number from 1 to {COMPONENTS}, or \"auto\" for clusters and mixtures"
            )));
        }
    };
    let first = slice.streams.first().ok_or_else(|| refused("no stream is named".into()))?;
    let operator = shared.operators.get(&shared.store.stream(first)?)?;
    let params = LearnParams { task, k, covariance, seed: asked.seed, ..LearnParams::default() };
    let learned = learn(&operator, &sketch.moments()?, &params)?;
    serde_json::to_value(&learned.model).map_err(|e| Error::Store(e.to_string()))
}

/// `POST /v1/backup`.
pub(super) async fn backup(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
) -> std::result::Result<Json<Value>, Refusal> {
    shared.guard.allow(&headers, Role::Admin, &[])?;
    let name = Timestamp::now().strftime("backup-%Y%m%dT%H%M%S.redb").to_string();
    let path = shared.directory.join(&name);
    let own = Arc::clone(&shared);
    shared.compute(move || own.store.backup(&path)).await??;
    Ok(Json(json!({ "backup": name })))
}
