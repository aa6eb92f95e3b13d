//! Streams: made, shown, deleted.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use compressive::SketchSpec;
use compressive::privacy::local::MAX_EPSILON;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::bucket::Every;
use crate::http::reply::Named;
use crate::http::{Refusal, Shared, ingest};
use crate::slice::Slice;
use crate::store::{PROMISES, Stream};
use crate::token::Role;
use compressive_client::check_name;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Make {
    every: Option<Every>,
    keep: Option<u32>,
    epsilons: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Range {
    from: Option<String>,
    to: Option<String>,
}

/// `PUT /v1/streams/NAME`.
pub(super) async fn make(
    State(shared): State<Arc<Shared>>,
    Named(name): Named,
    query: Result<Query<Make>, QueryRejection>,
    request: Request,
) -> Result<Response, Refusal> {
    let caller = shared.guard.allow(request.headers(), Role::Admin, &[&name])?;
    let Query(query) = query?;
    check_name(&name).map_err(crate::Error::from)?;
    let (bytes, held) = ingest::body(&shared, request).await?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Refusal::new(StatusCode::BAD_REQUEST, "the spec is not UTF-8 text"))?;
    let spec = SketchSpec::from_json(&text).map_err(crate::Error::from)?;
    drop(held);
    let stream = Stream {
        spec,
        every: query.every.unwrap_or(Every::Hour),
        keep: query.keep,
        epsilons: query.epsilons.as_deref().map(epsilons).transpose()?,
        created: crate::bucket::moment(),
    };
    let known = shared.store.streams()?;
    if known.len() >= shared.limits.streams && known.iter().all(|(other, _)| *other != name) {
        let problem = format!("there are {} streams, which is the limit; delete one first", known.len());
        return Err(Refusal::new(StatusCode::TOO_MANY_REQUESTS, problem));
    }
    // The recipe is built here once, so that no batch meets one that cannot be.
    let own = Arc::clone(&shared);
    let made = shared.answer(&caller, move |_| -> crate::Result<_> {
        own.operators.get(&stream)?;
        let made = own.store.make_stream(&name, &stream)?;
        Ok((made, describe(&name, &own.store.stream(&name)?)))
    });
    let (made, described) = made.await??;
    let status = if made { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(described)).into_response())
}

/// Promises of local privacy, separated by commas.
fn epsilons(text: &str) -> Result<Vec<f64>, Refusal> {
    let read = |word: &str| word.parse().ok().filter(|e: &f64| *e > 0.0 && *e <= MAX_EPSILON);
    let all: Option<Vec<f64>> = text.split(',').map(read).collect();
    let problem = || {
        let found: String = text.chars().take(40).collect();
        format!(
            "`epsilons={found}`: numbers above 0, up to {MAX_EPSILON} and at most {PROMISES} of them, separated by commas"
        )
    };
    all.filter(|all| all.len() <= PROMISES).ok_or_else(|| Refusal::new(StatusCode::BAD_REQUEST, problem()))
}

fn describe(name: &str, stream: &Stream) -> Value {
    json!({
        "name": name, "fingerprint": stream.spec.fingerprint(), "every": stream.every, "keep": stream.keep, "epsilons": stream.epsilons, "created": stream.created,
        "feature": stream.spec.map.name(), "size": stream.spec.size, "columns": stream.spec.columns,
    })
}

/// `GET /v1/streams`: those that the sender may read.
pub(super) async fn list(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
) -> Result<Json<Value>, Refusal> {
    let all = shared.store.streams()?;
    let mine = all.iter().filter(|(name, _)| shared.guard.allow(&headers, Role::Read, &[name]).is_ok());
    let mine: Vec<Value> = mine.map(|(name, stream)| describe(name, stream)).collect();
    if mine.is_empty() {
        // Tells the one who may read nothing from the one for whom there is nothing.
        if let Err(refusal) = shared.guard.allow(&headers, Role::Read, &[""])
            && refusal.status != StatusCode::FORBIDDEN
        {
            return Err(refusal);
        }
    }
    Ok(Json(json!({ "streams": mine })))
}

/// `GET /v1/streams/NAME`.
pub(super) async fn show(
    State(shared): State<Arc<Shared>>,
    Named(name): Named,
    headers: HeaderMap,
) -> Result<Json<Value>, Refusal> {
    let caller = shared.guard.allow(&headers, Role::Read, &[&name])?;
    let stream = shared.store.stream(&name)?;
    let mut value = describe(&name, &stream);
    value["spec"] = json!(stream.spec);
    let own = Arc::clone(&shared);
    value["buckets"] = json!(shared.answer(&caller, move |_| own.store.counts(&name)).await??);
    Ok(Json(value))
}

/// `GET /v1/streams/NAME/spec`.
pub(super) async fn spec(
    State(shared): State<Arc<Shared>>,
    Named(name): Named,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let allowed = shared.guard.allow(&headers, Role::Ingest, &[&name]);
    allowed.or_else(|_| shared.guard.allow(&headers, Role::Read, &[&name]))?;
    let text = shared.store.stream(&name)?.spec.to_json_pretty();
    Ok(([(header::CONTENT_TYPE, "application/json")], text).into_response())
}

/// `DELETE /v1/streams/NAME`.
pub(super) async fn delete(
    State(shared): State<Arc<Shared>>,
    Named(name): Named,
    headers: HeaderMap,
) -> Result<Json<Value>, Refusal> {
    let caller = shared.guard.allow(&headers, Role::Admin, &[&name])?;
    let (own, gone) = (Arc::clone(&shared), name.clone());
    shared.answer(&caller, move |_| own.store.delete_stream(&gone)).await??;
    Ok(Json(json!({ "deleted": name })))
}

/// `DELETE /v1/streams/NAME/buckets`.
pub(super) async fn delete_buckets(
    State(shared): State<Arc<Shared>>,
    Named(name): Named,
    query: Result<Query<Range>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Json<Value>, Refusal> {
    let caller = shared.guard.allow(&headers, Role::Admin, &[&name])?;
    let slice = shared.range(name, query)?;
    if slice.from.is_none() && slice.to.is_none() {
        return Err(Refusal::new(
            StatusCode::BAD_REQUEST,
            "name the buckets: ?from=BUCKET&to=BUCKET, both included",
        ));
    }
    let own = Arc::clone(&shared);
    let deleted = shared.answer(&caller, move |_| own.store.delete_buckets(&slice)).await??;
    Ok(Json(json!({ "buckets": deleted })))
}

impl Shared {
    /// The buckets of a stream that a query names.
    fn range(&self, name: String, query: Result<Query<Range>, QueryRejection>) -> Result<Slice, Refusal> {
        let Query(range) = query?;
        let every = self.store.stream(&name)?.every;
        let bucket = |text: &Option<String>| text.as_deref().map(|t| every.parse(t)).transpose();
        Ok(Slice { streams: vec![name], from: bucket(&range.from)?, to: bucket(&range.to)? })
    }
}

/// `GET /v1/streams/NAME/senders`.
pub(super) async fn senders(
    State(shared): State<Arc<Shared>>,
    Named(name): Named,
    headers: HeaderMap,
) -> Result<Json<Value>, Refusal> {
    let caller = shared.guard.allow(&headers, Role::Read, &[&name])?;
    let own = Arc::clone(&shared);
    let all = shared.answer(&caller, move |reach| own.store.senders_within(&name, reach)).await??;
    Ok(Json(json!({ "senders": all })))
}

/// `DELETE /v1/streams/NAME/senders/ID`.
pub(super) async fn take_out(
    State(shared): State<Arc<Shared>>,
    path: Result<Path<(String, String)>, PathRejection>,
    query: Result<Query<Range>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Json<Value>, Refusal> {
    let Path((name, sender)) = path?;
    let caller = shared.guard.allow(&headers, Role::Admin, &[&name])?;
    let slice = shared.range(name, query)?;
    let own = Arc::clone(&shared);
    let taken = shared.answer(&caller, move |_| own.store.take_out(&slice, &sender)).await??;
    Ok(Json(json!(taken)))
}
