//! Errors as statuses, and answers as JSON.

use axum::extract::FromRequestParts;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use compressive::{Parameter, Vocabulary};
use serde_json::json;

use crate::error::Error;

/// A refusal: a status and a sentence.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub status: StatusCode,
    pub problem: String,
}

impl Refusal {
    pub fn new(status: StatusCode, problem: impl Into<String>) -> Refusal {
        Refusal { status, problem: problem.into() }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        let status = match &error {
            Error::Bucket { .. }
            | Error::Name(_)
            | Error::Payload(_)
            | Error::Sketch(_)
            | Error::Unnumbered(_)
            | Error::FarAhead { .. }
            | Error::Ahead { .. }
            | Error::Expired { .. } => StatusCode::BAD_REQUEST,
            Error::NoStream(_) => StatusCode::NOT_FOUND,
            Error::OtherSpec { .. } | Error::Fingerprint { .. } | Error::Settled(_) => StatusCode::CONFLICT,
            Error::KeyReused(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Error::TooMuch(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Error::Busy | Error::TooLong(_) | Error::Gone => StatusCode::SERVICE_UNAVAILABLE,
            Error::Store(_) | Error::Damaged { .. } | Error::Tls { .. } | Error::TooManyBuckets { .. } => {
                StatusCode::INSUFFICIENT_STORAGE
            }
        };
        Refusal::new(status, error.words(&Fields))
    }
}

/// The library's parameters as fields of a request.
struct Fields;

impl Vocabulary for Fields {
    fn name(&self, parameter: Parameter) -> String {
        format!("`{}`", parameter.name().replace('-', "_"))
    }

    fn set(&self, parameter: Parameter, value: &str) -> String {
        format!("{}: {value}", self.name(parameter))
    }

    fn turn_on(&self, parameter: Parameter) -> String {
        self.set(parameter, "true")
    }

    fn turn_off(&self, parameter: Parameter) -> String {
        self.set(parameter, "false")
    }
}

impl From<QueryRejection> for Refusal {
    fn from(rejection: QueryRejection) -> Refusal {
        Refusal::new(StatusCode::BAD_REQUEST, rejection.body_text())
    }
}

impl From<PathRejection> for Refusal {
    fn from(rejection: PathRejection) -> Refusal {
        Refusal::new(StatusCode::BAD_REQUEST, rejection.body_text())
    }
}

/// The stream in a path, as it was written there: it may not be a name at all.
pub(super) struct Named(pub String);

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Named, Refusal> {
        let axum::extract::Path(name) = axum::extract::Path::from_request_parts(parts, state).await?;
        Ok(Named(name))
    }
}

/// The text of a header that is there once; of two, nobody could tell which one counts.
pub(super) fn only<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut all = headers.get_all(name).iter();
    let (Some(value), None) = (all.next(), all.next()) else { return None };
    value.to_str().ok()
}

/// The sentence of a refusal, for the log.
#[derive(Clone)]
pub(crate) struct Problem(pub String);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = (self.status, axum::Json(json!({ "error": self.problem }))).into_response();
        response.extensions_mut().insert(Problem(self.problem));
        let headers = response.headers_mut();
        if matches!(self.status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

pub(super) async fn unknown() -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, "there is nothing here; GET /openapi.json lists what there is")
}

pub(super) async fn wrong_method() -> Refusal {
    Refusal::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "this path does not accept that method; see GET /openapi.json",
    )
}
