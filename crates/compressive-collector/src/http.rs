//! The requests: who may send them, what they do, and with which status they end.
//!
//! | request | role | |
//! |---|---|---|
//! | `PUT /v1/streams/NAME?every=hour\|day&keep=N` | admin | makes a stream of the spec in the body |
//! | `GET /v1/streams`, `GET /v1/streams/NAME` | read | names, specs, buckets with their counts |
//! | `GET /v1/streams/NAME/spec` | read or ingest | the spec alone, for those who make batches |
//! | `DELETE /v1/streams/NAME`, `DELETE /v1/streams/NAME/buckets?from&to` | admin | |
//! | `POST /v1/streams/NAME/batches?bucket=B` | ingest | counts a batch, once for each `Idempotency-Key` |
//! | `GET /v1/sketch?streams=A,B&from&to` | read | the merged sketch |
//! | `GET /v1/private?streams=A,B&from&to` | read | which private sketches there are; with `&key=K` one of them |
//! | `GET /v1/drift?stream=A&from&to` | read | each bucket against the one before and the first |
//! | `POST /v1/fit` | read | a model of a slice |
//! | `POST /v1/backup` | admin | a copy of the store, in the data directory |
//! | `GET /healthz`, `GET /metrics`, `GET /openapi.json`, `GET /` | none | |

mod ask;
mod auth;
mod ingest;
mod reply;
mod streams;

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, post, put};
use tokio::sync::Semaphore;

use crate::metrics::Metrics;
use crate::store::Store;
use crate::writer::Writer;

pub(crate) use auth::Guard;
pub(crate) use ingest::{Operators, room};
pub(crate) use reply::Refusal;

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
        }
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
    /// Bytes of bodies that may still be read, in kilobytes.
    pub room: Semaphore,
    /// Computations that may run beside each other.
    pub work: Semaphore,
    pub operators: Operators,
}

/// The requests of a server.
pub(crate) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/healthz", get(ask::health))
        .route("/metrics", get(ask::metrics))
        .route("/openapi.json", get(ask::openapi))
        .route("/v1/streams", get(streams::list))
        .route("/v1/streams/{name}", put(streams::make).get(streams::show).delete(streams::delete))
        .route("/v1/streams/{name}/spec", get(streams::spec))
        .route("/v1/streams/{name}/buckets", axum::routing::delete(streams::delete_buckets))
        .route("/v1/streams/{name}/batches", post(ingest::batch))
        .route("/v1/sketch", get(ask::sketch))
        .route("/v1/private", get(ask::private))
        .route("/v1/drift", get(ask::drift))
        .route("/v1/fit", post(ask::fit))
        .route("/v1/backup", post(ask::backup))
        .fallback(reply::unknown)
        .method_not_allowed_fallback(reply::wrong_method)
        .layer(axum::middleware::map_response_with_state(Arc::clone(&shared), noted))
        .with_state(shared)
}

/// Counts refusals.
async fn noted(State(shared): State<Arc<Shared>>, response: Response) -> Response {
    if response.status().is_client_error() || response.status().is_server_error() {
        shared.metrics.refused();
    }
    response
}
