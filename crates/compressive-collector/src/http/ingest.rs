//! Batches: refused by their head if they can be, then read, summed up, queued, and answered when the disk
//! has them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use compressive::SketchOperator;
use http_body_util::BodyExt;
use jiff::Timestamp;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::error::Error;
use crate::http::reply::{Named, only};
use crate::http::{Refusal, Shared};
use crate::lock;
use crate::payload;
use crate::reach::Reach;
use crate::store::{Batch, Content, Stream};
use crate::token::Role;
use compressive_client::{Answer, BatchKind};

/// The header that names the stream's spec.
pub(crate) const FINGERPRINT: &str = "compressive-fingerprint";
/// The header that names the batch.
pub(crate) const KEY: &str = "idempotency-key";
/// The header that says which batches of a sender are settled.
pub(crate) const SETTLED: &str = "compressive-settled";
/// Characters of a key.
const KEY_LENGTH: usize = 128;
/// Operators held ready.
const OPERATORS: usize = 64;
/// Bytes that one permit of `room` stands for.
const PERMIT: usize = 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Place {
    bucket: Option<String>,
}

/// `POST /v1/streams/NAME/batches`.
pub(super) async fn batch(
    State(shared): State<Arc<Shared>>,
    Named(name): Named,
    place: Result<Query<Place>, axum::extract::rejection::QueryRejection>,
    request: Request,
) -> Result<Response, Refusal> {
    let caller = shared.guard.allow(request.headers(), Role::Ingest, &[&name])?;
    let Query(place) = place?;
    let stream = shared.store.stream(&name)?;
    let (key, kind) = head(request.headers(), &name, &stream)?;
    let settled = settled(request.headers())?;
    let bucket = match &place.bucket {
        Some(text) => stream.every.parse(text)?,
        None => stream.every.of(Timestamp::now()),
    };
    let (bytes, held) = body(&shared, request).await?;
    let digest: [u8; 32] = Sha256::digest(&bytes).into();
    let named = place.bucket.is_some();
    if let Some(answer) = shared.store.answered(&name, &key, &digest, named.then_some(&bucket))? {
        shared.metrics.repeated();
        return Ok(answered(answer, true));
    }
    let (size, own) = (bytes.len(), Arc::clone(&shared));
    let read = move || {
        // A recipe that is not at hand is built here, where it holds up nobody else.
        let content = own.operators.get(&stream).and_then(|operator| payload::read(kind, &operator, &bytes));
        drop((bytes, held));
        content
    };
    let content = shared.compute(read).await??;
    let rows = rows_of(&content);
    let most = shared.limits.rows;
    // Of a sketch the number of rows is what its sender says; as much as many rows weighs one of that weight.
    let weight = if let Content::Plain(sketch) = &content { sketch.weight() } else { 0.0 };
    if rows.unsigned_abs() > most || weight > most as f64 {
        return Err(Refusal::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("{rows} rows of total weight {weight} in a batch; send at most {most}"),
        ));
    }
    let (sender, receiver) = oneshot::channel();
    let batch = Batch { stream: name, bucket, named, key, caller, settled, digest, content };
    // A sender that is gone has no use for its answer; its batch is counted all the same.
    shared.writer.submit(batch, Box::new(move |answer| drop(sender.send(answer))))?;
    let counted = receiver.await.unwrap_or_else(|_| Err(Error::Store("the writer has stopped".into())));
    shared.note(&counted);
    let (answer, repeated) = counted?;
    shared.metrics.counted(if repeated { 0 } else { rows.unsigned_abs() }, size as u64);
    Ok(answered(answer, repeated))
}

fn rows_of(content: &Content) -> i64 {
    match content {
        Content::Plain(sketch) => sketch.rows() as i64,
        Content::Private(sketch) | Content::Reports(sketch) => sketch.rows(),
    }
}

fn answered(answer: Answer, repeated: bool) -> Response {
    let mut response = Json(answer).into_response();
    let value = if repeated { "true" } else { "false" };
    response.headers_mut().insert("idempotent-replayed", axum::http::HeaderValue::from_static(value));
    response
}

/// What a batch must say before its body is read: key, fingerprint, type.
fn head(headers: &HeaderMap, name: &str, stream: &Stream) -> Result<(String, BatchKind), Refusal> {
    let key = only(headers, KEY).filter(|key| {
        !key.is_empty() && key.len() <= KEY_LENGTH && key.bytes().all(|b| b.is_ascii_graphic())
    });
    let key = key.ok_or_else(|| {
        let problem = format!("the header Idempotency-Key is missing, repeated or not a key; give each batch one of 1 to {KEY_LENGTH} printable characters");
        Refusal::new(StatusCode::BAD_REQUEST, problem)
    })?;
    let found = only(headers, FINGERPRINT).ok_or_else(|| {
        let problem = "the header Compressive-Fingerprint is missing or repeated; it names the spec the batch was made with";
        Refusal::new(StatusCode::BAD_REQUEST, problem)
    })?;
    let expected = stream.spec.fingerprint();
    if found != expected {
        let found = found.chars().take(40).collect();
        return Err(Error::Fingerprint { name: name.into(), expected, found }.into());
    }
    let kind = only(headers, header::CONTENT_TYPE.as_str()).and_then(BatchKind::of);
    let kind = kind.ok_or_else(|| {
        let known = BatchKind::ALL.map(BatchKind::media_type).join(", ");
        Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, format!("the Content-Type must be one of {known}"))
    })?;
    Ok((key.to_owned(), kind))
}

/// The number below which the sender has settled its batches, if it says one.
fn settled(headers: &HeaderMap) -> Result<Option<u64>, Refusal> {
    if !headers.contains_key(SETTLED) {
        return Ok(None);
    }
    let number = only(headers, SETTLED).and_then(|text| text.parse().ok());
    let problem = "the header Compressive-Settled is repeated or not a number; it says below which number all batches of the sender were acknowledged to it";
    number.map(Some).ok_or_else(|| Refusal::new(StatusCode::BAD_REQUEST, problem))
}

/// Room that a body takes among all bodies, until it is dropped.
pub(super) type Held = Vec<OwnedSemaphorePermit>;

/// Reads a body within the limits of size, time and of all bodies together.
pub(super) async fn body(shared: &Shared, request: Request) -> Result<(Vec<u8>, Held), Refusal> {
    let limits = &shared.limits;
    let too_large = || {
        let problem = format!("the body is larger than {} bytes; send smaller batches", limits.body);
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, problem)
    };
    if request.headers().contains_key(header::CONTENT_ENCODING) {
        let problem = "compressed bodies are not accepted; send the body as it is";
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, problem));
    }
    let announced =
        request.headers().get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| length > limits.body) {
        return Err(too_large());
    }
    let read = async {
        let (mut bytes, mut held) = (Vec::new(), Vec::new());
        let mut body: Body = request.into_body();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| Refusal::new(StatusCode::BAD_REQUEST, "the body broke off"))?;
            let Ok(data) = frame.into_data() else { continue };
            if bytes.len() + data.len() > limits.body {
                return Err(too_large());
            }
            let needed = (bytes.len() + data.len()).div_ceil(PERMIT) - bytes.len().div_ceil(PERMIT);
            if needed > 0 {
                let permit = Arc::clone(&shared.room).try_acquire_many_owned(needed as u32);
                held.push(permit.map_err(|_| Refusal::from(Error::Busy))?);
            }
            bytes.extend_from_slice(&data);
        }
        Ok((bytes, held))
    };
    tokio::time::timeout(Duration::from_secs(limits.body_seconds), read).await.unwrap_or_else(|_| {
        Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, "the body came too slowly; send smaller batches"))
    })
}

/// Permits for a number of bytes.
pub(crate) fn room(bytes: usize) -> usize {
    bytes.div_ceil(PERMIT)
}

/// Recipes with their frequencies drawn, by fingerprint.
#[derive(Default)]
pub(crate) struct Operators {
    held: Mutex<HashMap<String, Arc<SketchOperator>>>,
}

impl Operators {
    /// The operator of a stream.
    pub fn get(&self, stream: &Stream) -> Result<Arc<SketchOperator>, Error> {
        let fingerprint = stream.spec.fingerprint();
        if let Some(operator) = lock(&self.held).get(&fingerprint) {
            return Ok(Arc::clone(operator));
        }
        let operator = Arc::new(stream.spec.clone().build()?);
        let mut held = lock(&self.held);
        if held.len() >= OPERATORS {
            held.clear();
        }
        held.insert(fingerprint, Arc::clone(&operator));
        Ok(operator)
    }
}

impl Shared {
    /// Remembers whether the store takes batches.
    fn note(&self, counted: &Result<(Answer, bool), Error>) {
        match counted {
            Ok(_) => *lock(&self.failed) = None,
            Err(Error::Store(problem)) => *lock(&self.failed) = Some(problem.clone()),
            Err(_) => {}
        }
    }

    /// Sums up a batch beside the requests, on one of as many threads as there are processors.
    pub async fn compute<T: Send + 'static>(
        self: &Arc<Shared>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let failed = || Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "the computation failed");
        let permit = Arc::clone(&self.work).acquire_owned().await.map_err(|_| failed())?;
        // The computation itself holds the permit: it goes on when its sender has hung up.
        let held = move || {
            let result = work();
            drop(permit);
            result
        };
        tokio::task::spawn_blocking(held).await.map_err(|_| failed())
    }

    /// Works out an answer beside the requests, when it is the caller's turn.
    pub async fn answer<T: Send + 'static>(
        self: &Arc<Shared>,
        caller: &str,
        work: impl FnOnce(&mut Reach) -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        self.asks.answer(caller, self.limits.answer(), work).await
    }

    /// Learns a model, which may take minutes; in places apart, so that no batch and no other answer waits
    /// for it.
    pub async fn learn<T: Send + 'static>(
        self: &Arc<Shared>,
        caller: &str,
        work: impl FnOnce(&mut Reach) -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        self.models.answer(caller, self.limits.answer(), work).await
    }
}
