//! Questions: sketches, models, drift, and how the server is.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use compressive::Sketch;
use compressive::ask::compare::{Comparison, compare};
use compressive::design::Task;
use compressive::learn::{Components, CovarianceKind, LearnParams, learn};
use compressive::privacy::AnySketch;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::http::{Refusal, Shared, ingest};
use crate::lock;
use crate::reach::Reach;
use crate::slice::Slice;
use crate::token::Role;
use compressive_client::BatchKind;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    streams: String,
    from: Option<String>,
    to: Option<String>,
    key: Option<String>,
    #[serde(default)]
    private: bool,
}

/// A query as it came.
type AskedQuery = std::result::Result<Query<Asked>, QueryRejection>;

impl Shared {
    /// The slice that a sender may read, and the id of its token.
    fn slice(
        &self,
        headers: &HeaderMap,
        streams: &[String],
        range: [&Option<String>; 2],
    ) -> std::result::Result<(Slice, String), Refusal> {
        let wrong = |problem: String| Err(Refusal::new(StatusCode::BAD_REQUEST, problem));
        if streams.len() > self.limits.streams {
            return wrong(format!("{} streams; name at most {}", streams.len(), self.limits.streams));
        }
        let mut names: Vec<&str> = streams.iter().map(String::as_str).collect();
        let caller = self.guard.allow(headers, Role::Read, &names)?;
        names.sort_unstable();
        // Its rows would count twice.
        if names.windows(2).any(|pair| pair[0] == pair[1]) {
            return wrong("a stream is named twice; name each once".into());
        }
        let first =
            streams.first().ok_or_else(|| Refusal::new(StatusCode::BAD_REQUEST, "no stream is named"))?;
        let every = self.store.stream(first)?.every;
        for name in streams {
            if self.store.stream(name)?.every != every {
                return wrong("streams by hour and streams by day cannot be asked for together".into());
            }
        }
        let bucket = |text: &Option<String>| text.as_deref().map(|t| every.parse(t)).transpose();
        Ok((Slice { streams: streams.to_vec(), from: bucket(range[0])?, to: bucket(range[1])? }, caller))
    }

    /// What a query asks for, its slice and who asks.
    fn asked(
        &self,
        headers: &HeaderMap,
        query: AskedQuery,
    ) -> std::result::Result<(Asked, Slice, String), Refusal> {
        self.guard.known(headers)?;
        let Query(asked) = query?;
        let streams: Vec<String> = asked.streams.split(',').map(str::to_owned).collect();
        let (slice, caller) = self.slice(headers, &streams, [&asked.from, &asked.to])?;
        Ok((asked, slice, caller))
    }
}

/// `GET /healthz`: whether the store can be read, and took the last batch. It is asked by anybody and often,
/// so that it reads no more than it must.
pub(super) async fn health(State(shared): State<Arc<Shared>>) -> std::result::Result<Json<Value>, Refusal> {
    if let Some(problem) = lock(&shared.failed).clone() {
        let remedy = "if its disk is full make room; if it then goes on failing, start the collector again";
        let problem = format!("the store failed: {problem}; {remedy}");
        return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, problem));
    }
    match shared.store.stream("") {
        Ok(_) | Err(Error::NoStream(_)) => Ok(Json(json!({ "status": "ok" }))),
        Err(error) => Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string())),
    }
}

/// `GET /metrics`: counts of rows, so not for everybody.
pub(super) async fn metrics(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
) -> std::result::Result<Response, Refusal> {
    shared.guard.known(&headers)?;
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], shared.metrics.text()).into_response())
}

/// `GET /openapi.json`.
pub(super) async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], include_str!("openapi.json")).into_response()
}

fn bytes(bytes: Vec<u8>) -> Response {
    ([(header::CONTENT_TYPE, BatchKind::Sketch.media_type())], bytes).into_response()
}

/// `GET /v1/sketch`.
pub(super) async fn sketch(
    State(shared): State<Arc<Shared>>,
    query: AskedQuery,
    headers: HeaderMap,
) -> std::result::Result<Response, Refusal> {
    let (asked, slice, caller) = shared.asked(&headers, query)?;
    let own = Arc::clone(&shared);
    let sum = move |reach: &mut Reach| match asked.private {
        true => Ok(own.store.private_sum_within(&slice, reach)?.to_bytes()),
        false => Ok::<_, Error>(own.store.sum_within(&slice, reach)?.to_bytes()),
    };
    Ok(bytes(shared.answer(&caller, sum).await??))
}

/// `GET /v1/private`.
pub(super) async fn private(
    State(shared): State<Arc<Shared>>,
    query: AskedQuery,
    headers: HeaderMap,
) -> std::result::Result<Response, Refusal> {
    let (asked, slice, caller) = shared.asked(&headers, query)?;
    let own = Arc::clone(&shared);
    let all = shared.answer(&caller, move |reach| own.store.private_within(&slice, reach)).await??;
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
    let (_, slice, caller) = shared.asked(&headers, query)?;
    let own = Arc::clone(&shared);
    Ok(Json(shared.answer(&caller, move |reach| drifts(&own, &slice, reach)).await??))
}

/// Each bucket against the one before it and against the first; three sums are in memory at a time.
fn drifts(shared: &Shared, slice: &Slice, reach: &mut Reach) -> Result<Value> {
    let first = slice.streams.first().ok_or_else(|| Error::Payload("no stream is named".into()))?;
    let operator = shared.operators.get(&shared.store.stream(first)?)?;
    let summary = |c: Comparison| json!({ "distance": c.distance, "distance_expected": c.distance_expected, "mmd_squared": c.mmd_squared, "p_value": c.p_value });
    let mut days = Vec::new();
    let mut earlier: Option<[Sketch; 2]> = None;
    shared.store.each_bucket(slice, reach, |bucket, sketch| {
        // Buckets of a row or two cannot be compared.
        let against = |other: &Sketch| compare(&operator, other, &sketch).ok().map(summary);
        let [start, before] = match &earlier {
            Some([first, last]) => [against(first), against(last)],
            None => [None, None],
        };
        days.push(json!({ "bucket": bucket, "rows": sketch.rows(), "before": before, "first": start }));
        earlier = Some(match earlier.take() {
            Some([first, _]) => [first, sketch],
            None => [sketch.clone(), sketch],
        });
        Ok(())
    })?;
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
    /// Whether to learn from the private sketches instead of the exact sums.
    #[serde(default)]
    private: bool,
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
    let (slice, caller) = shared.slice(&headers, &asked.streams, [&asked.from, &asked.to])?;
    let own = Arc::clone(&shared);
    Ok(Json(shared.learn(&caller, move |reach| learned(&own, &slice, &asked, reach)).await??))
}

/// Most components that a request may ask for.
const COMPONENTS: usize = 200;

/// A model of a slice; where the time is up, the best until then, which says so.
fn learned(shared: &Shared, slice: &Slice, asked: &Fit, reach: &mut Reach) -> Result<Value> {
    let refused = |problem: String| Error::Payload(problem);
    let task =
        [Task::Kmeans, Task::Gmm, Task::Pca, Task::Kmedians].into_iter().find(|t| t.name() == asked.task);
    let task = task.ok_or_else(|| {
        refused(format!("`{}` cannot be learned here: choose kmeans, gmm, pca or kmedians", asked.task))
    })?;
    let kind = asked.covariance.as_deref().unwrap_or("diag");
    let covariance = CovarianceKind::by_name(kind)
        .ok_or_else(|| refused(format!("`{kind}` is not a kind of covariance: choose iso, diag or full")))?;
    let sketch = match asked.private {
        true => AnySketch::Private(shared.store.private_sum_within(slice, reach)?),
        false => AnySketch::Plain(shared.store.sum_within(slice, reach)?),
    };
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
    let params = LearnParams::new(task, k).covariance(covariance).seed(asked.seed).budget(reach.budget());
    let learned = learn(&operator, &sketch.moments()?, &params)?;
    serde_json::to_value(&learned.model).map_err(|e| Error::Store(e.to_string()))
}

/// `POST /v1/backup`.
pub(super) async fn backup(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
) -> std::result::Result<Json<Value>, Refusal> {
    let caller = shared.guard.allow(&headers, Role::Admin, &[])?;
    let name = Timestamp::now().strftime("backup-%Y%m%dT%H%M%S.redb").to_string();
    let path = shared.directory.join(&name);
    let own = Arc::clone(&shared);
    let copied = move |_: &mut Reach| {
        let copied = own.store.backup(&path);
        // Half a copy, for want of room, is none; one that was there before stays.
        if let Err(Error::Store(_)) = &copied {
            let _ = std::fs::remove_file(&path);
        }
        copied
    };
    shared.answer(&caller, copied).await??;
    Ok(Json(json!({ "backup": name })))
}
