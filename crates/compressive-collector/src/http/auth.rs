//! Who asks: the token of a request against the file of tokens.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime};

use axum::http::{HeaderMap, StatusCode, header};

use crate::error::Result;
use crate::http::Refusal;
use crate::lock;
use crate::store::NOBODY;
use crate::token::{Caller, Role, Tokens};

/// How long a read of the tokens holds: a revoked token works no longer than that.
const FRESH: Duration = Duration::from_millis(500);

/// The tokens as they were read last.
#[derive(Debug)]
pub(crate) struct Guard {
    directory: PathBuf,
    /// As long as no token was ever made everybody is an admin: for loopback and `--insecure` alone.
    open: bool,
    /// Whether it is reached from its own machine alone.
    loopback: bool,
    held: Mutex<Held>,
}

#[derive(Debug)]
struct Held {
    tokens: Tokens,
    looked: Instant,
    changed: Option<SystemTime>,
}

impl Guard {
    /// Reads the tokens of a data directory.
    pub fn new(directory: PathBuf, open: bool, loopback: bool) -> Result<Guard> {
        let tokens = Tokens::read(&directory)?;
        let changed = changed(&directory);
        let held = Mutex::new(Held { tokens, looked: Instant::now(), changed });
        Ok(Guard { directory, open, loopback, held })
    }

    /// Refuses a request that its sender may not make; else the id of the sender's token.
    pub fn allow(
        &self,
        headers: &HeaderMap,
        wanted: Role,
        streams: &[&str],
    ) -> std::result::Result<String, Refusal> {
        let caller = self.caller(headers);
        let Caller::Holder { id, .. } = &caller else { return Err(nobody()) };
        let allowed = match streams {
            [] => caller.may(wanted, None),
            streams => streams.iter().all(|stream| caller.may(wanted, Some(stream))),
        };
        if allowed {
            return Ok(id.clone());
        }
        Err(Refusal::new(
            StatusCode::FORBIDDEN,
            format!("this token does not allow it; one of the role {} for it is needed", wanted.name()),
        ))
    }

    /// Refuses a request without any valid token; else the token's id.
    pub fn known(&self, headers: &HeaderMap) -> std::result::Result<String, Refusal> {
        match self.caller(headers) {
            Caller::Nobody => Err(nobody()),
            Caller::Holder { id, .. } => Ok(id),
        }
    }

    fn caller(&self, headers: &HeaderMap) -> Caller {
        let held = self.tokens();
        if self.open && held.tokens.tokens.is_empty() {
            // A browser on this machine carries what any page it shows asks for.
            if is_foreign(headers) || (self.loopback && !names_this_machine(headers)) {
                return Caller::Nobody;
            }
            return Caller::Holder { id: NOBODY.into(), role: Role::Admin, stream: None };
        }
        let mut sent = headers.get_all(header::AUTHORIZATION).iter();
        let (Some(value), None) = (sent.next(), sent.next()) else { return Caller::Nobody };
        // The scheme is a word in any case [RFC 9110, 11.1].
        let words = value.to_str().ok().and_then(|text| text.split_once(' '));
        let token = words.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token);
        token.map_or(Caller::Nobody, |token| held.tokens.caller(token))
    }

    /// The tokens, read anew if their file has changed.
    fn tokens(&self) -> MutexGuard<'_, Held> {
        let mut held = lock(&self.held);
        if held.looked.elapsed() > FRESH {
            held.looked = Instant::now();
            let now = changed(&self.directory);
            if now != held.changed {
                // Tokens that cannot be read leave those that were.
                if let Ok(tokens) = Tokens::read(&self.directory) {
                    held.tokens = tokens;
                    held.changed = now;
                }
            }
        }
        held
    }
}

/// The host that a request was sent to, as its sender wrote it.
fn host(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::HOST).and_then(|value| value.to_str().ok())
}

/// Whether a browser sends it for a page of another server.
fn is_foreign(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else { return false };
    let place = origin.to_str().ok().and_then(|text| text.split_once("://")).map(|(_, place)| place);
    place.is_none() || place != host(headers)
}

/// Whether the host is an address or `localhost`: another name may be one that a foreign page had point here.
fn names_this_machine(headers: &HeaderMap) -> bool {
    let Some(host) = host(headers) else { return true };
    let name =
        host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).map_or(host, |(name, _)| name);
    let name = name.trim_matches(['[', ']']);
    name == "localhost" || name.parse::<std::net::IpAddr>().is_ok()
}

fn nobody() -> Refusal {
    Refusal::new(
        StatusCode::UNAUTHORIZED,
        "a valid token is needed: Authorization: Bearer TOKEN; whoever runs the collector can make one",
    )
}

fn changed(directory: &std::path::Path) -> Option<SystemTime> {
    std::fs::metadata(Tokens::path(directory)).and_then(|m| m.modified()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(all: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (axum::http::HeaderName::from_static(name), axum::http::HeaderValue::from_static(value))
        };
        all.iter().map(pair).collect()
    }

    #[test]
    fn an_open_server_does_nothing_for_pages_of_others() {
        let folder = tempfile::tempdir().unwrap();
        let guard = Guard::new(folder.path().into(), true, true).unwrap();
        let may = |all: &[(&'static str, &'static str)]| guard.known(&headers(all)).is_ok();
        assert!(may(&[]) && may(&[("host", "127.0.0.1:8321")]) && may(&[("host", "[::1]:8321")]));
        assert!(may(&[("host", "localhost:8321"), ("origin", "http://localhost:8321")]));
        assert!(!may(&[("host", "localhost:8321"), ("origin", "http://localhost:9999")]));
        assert!(!may(&[("host", "127.0.0.1:8321"), ("origin", "https://elsewhere.example")]));
        assert!(!may(&[("host", "127.0.0.1:8321"), ("origin", "null")]));
        // A name of somebody else's that leads to this machine.
        assert!(!may(&[("host", "elsewhere.example:8321"), ("origin", "http://elsewhere.example:8321")]));
        assert!(!may(&[("host", "elsewhere.example")]));
        let reached = Guard::new(folder.path().into(), true, false).unwrap();
        assert!(reached.known(&headers(&[("host", "collector.example")])).is_ok());
    }
}
