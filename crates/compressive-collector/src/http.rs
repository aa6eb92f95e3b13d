//! The requests: who may send them, what they do, and with which status they end.
//!
//! | request | role | |
//! |---|---|---|
//! | `PUT /v1/streams/NAME?every=hour\|day&keep=N&epsilons=E,E` | admin | makes a stream of the spec in the body |
//! | `GET /v1/streams`, `GET /v1/streams/NAME` | read | names, specs, buckets with their counts |
//! | `GET /v1/streams/NAME/spec` | read or ingest | the spec alone, for those who make batches |
//! | `DELETE /v1/streams/NAME`, `DELETE /v1/streams/NAME/buckets?from&to` | admin | |
//! | `GET /v1/streams/NAME/senders` | read | what each token has added |
//! | `DELETE /v1/streams/NAME/senders/ID?from&to` | admin | takes that out again |
//! | `POST /v1/streams/NAME/batches?bucket=B` | ingest | counts a batch, once for each `Idempotency-Key` |
//! | `GET /v1/sketch?streams=A,B&from&to` | read | the merged sketch |
//! | `GET /v1/private?streams=A,B&from&to` | read | which private sketches there are; with `&key=K` one of them |
//! | `GET /v1/drift?streams=A&from&to` | read | each bucket against the one before and the first |
//! | `POST /v1/fit` | read | a model of a slice |
//! | `POST /v1/backup` | admin | a copy of the store, in the data directory |
//! | `GET /metrics` | any | counters for Prometheus |
//! | `GET /healthz`, `GET /openapi.json` | none | |
//! | `GET /`, `GET /page.css`, `GET /page.js` | none | the page for people, which holds no data |

mod ask;
mod auth;
mod ingest;
mod page;
mod reply;
mod streams;
mod turns;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use axum::routing::{get, post, put};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::log::{Log, cut};
use crate::metrics::Metrics;
use crate::store::Store;
use crate::writer::Writer;

pub(crate) use auth::Guard;
pub(crate) use ingest::{Operators, room};
use reply::Problem;
pub(crate) use reply::Refusal;
pub(crate) use turns::Turns;

/// Bounds on what one server takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a body.
    pub body: usize,
    /// Bytes of all bodies being read.
    pub bodies: usize,
    /// Rows of a batch.
    pub rows: u64,
    /// Streams.
    pub streams: usize,
    /// Open connections.
    pub connections: usize,
    /// Seconds for the head of a request, and between two on one connection.
    pub head_seconds: u64,
    /// Seconds for a body.
    pub body_seconds: u64,
    /// Buckets of a stream.
    pub buckets: usize,
    /// Seconds that an answer may take, and as many that a question may wait for its turn.
    pub answer_seconds: u64,
    /// Bytes of sums that an answer may read.
    pub answer_bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            body: 16 << 20,
            bodies: 256 << 20,
            rows: 1_000_000,
            streams: 1000,
            connections: 4096,
            head_seconds: 20,
            body_seconds: 60,
            buckets: crate::store::BUCKETS_MAX,
            answer_seconds: 60,
            answer_bytes: 4 << 30,
        }
    }
}

impl Limits {
    /// Time and bytes of an answer.
    fn answer(&self) -> (Duration, u64) {
        (Duration::from_secs(self.answer_seconds), self.answer_bytes)
    }
}

/// What all requests share.
pub(crate) struct Shared {
    pub store: Arc<Store>,
    pub writer: Writer,
    pub guard: Guard,
    pub limits: Limits,
    pub metrics: Metrics,
    pub directory: PathBuf,
    pub log: Log,
    /// Bytes of bodies that may still be read, in kilobytes.
    pub room: Arc<Semaphore>,
    /// Batches that may be summed up beside each other.
    pub work: Arc<Semaphore>,
    /// Where answers are worked out.
    pub asks: Turns,
    /// Where models are learned.
    pub models: Turns,
    pub operators: Operators,
    /// Why the store rejected the last batch, if it did.
    pub failed: Mutex<Option<String>>,
}

/// The requests of a server.
pub(crate) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/", get(page::document))
        .route("/page.css", get(page::style))
        .route("/page.js", get(page::script))
        .route("/healthz", get(ask::health))
        .route("/metrics", get(ask::metrics))
        .route("/openapi.json", get(ask::openapi))
        .route("/v1/streams", get(streams::list))
        .route("/v1/streams/{name}", put(streams::make).get(streams::show).delete(streams::delete))
        .route("/v1/streams/{name}/spec", get(streams::spec))
        .route("/v1/streams/{name}/buckets", axum::routing::delete(streams::delete_buckets))
        .route("/v1/streams/{name}/batches", post(ingest::batch))
        .route("/v1/streams/{name}/senders", get(streams::senders))
        .route("/v1/streams/{name}/senders/{id}", axum::routing::delete(streams::take_out))
        .route("/v1/sketch", get(ask::sketch))
        .route("/v1/private", get(ask::private))
        .route("/v1/drift", get(ask::drift))
        .route("/v1/fit", post(ask::fit))
        .route("/v1/backup", post(ask::backup))
        .fallback(reply::unknown)
        .method_not_allowed_fallback(reply::wrong_method)
        .layer(axum::middleware::from_fn_with_state(Arc::clone(&shared), noted))
        .with_state(shared)
}

/// Counts refusals and logs requests; no answer may be taken for anything but what it says it is.
async fn noted(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let start = Instant::now();
    let (method, path) = (request.method().to_string(), cut(request.uri().path()));
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // The page's own files say for themselves how long they may be kept.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    let status = response.status();
    let refused = status.is_client_error() || status.is_server_error();
    if refused {
        shared.metrics.refused();
    }
    let least = if refused { Log::Refused } else { Log::All };
    if shared.log >= least {
        let problem = response.extensions().get::<Problem>().map(|problem| cut(&problem.0));
        let milliseconds = start.elapsed().as_secs_f64() * 1e3;
        shared.log.line(
            least,
            "request",
            json!({ "method": method, "path": path, "status": status.as_u16(), "milliseconds": (milliseconds * 10.0).round() / 10.0, "problem": problem }),
        );
    }
    response
}
