//! Who asks: the token of a request against the file of tokens.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime};

use axum::http::{HeaderMap, StatusCode, header};

use crate::error::Result;
use crate::http::Refusal;
use crate::lock;
use crate::token::{Caller, Role, Tokens};

/// How long a read of the tokens holds: a revoked token works no longer than that.
const FRESH: Duration = Duration::from_millis(500);

/// The tokens as they were read last.
#[derive(Debug)]
pub(crate) struct Guard {
    directory: PathBuf,
    /// As long as no token was ever made everybody is an admin: for loopback and `--insecure` alone.
    open: bool,
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
    pub fn new(directory: PathBuf, open: bool) -> Result<Guard> {
        let tokens = Tokens::read(&directory)?;
        let changed = changed(&directory);
        Ok(Guard { directory, open, held: Mutex::new(Held { tokens, looked: Instant::now(), changed }) })
    }

    /// Refuses a request that its sender may not make.
    pub fn allow(
        &self,
        headers: &HeaderMap,
        wanted: Role,
        streams: &[&str],
    ) -> std::result::Result<(), Refusal> {
        let caller = self.caller(headers);
        if caller == Caller::Nobody {
            return Err(nobody());
        }
        let allowed = match streams {
            [] => caller.may(wanted, None),
            streams => streams.iter().all(|stream| caller.may(wanted, Some(stream))),
        };
        if allowed {
            return Ok(());
        }
        Err(Refusal::new(
            StatusCode::FORBIDDEN,
            format!("this token does not allow it; one of the role {} for it is needed", wanted.name()),
        ))
    }

    /// Refuses a request without any valid token.
    pub fn known(&self, headers: &HeaderMap) -> std::result::Result<(), Refusal> {
        match self.caller(headers) {
            Caller::Nobody => Err(nobody()),
            Caller::Holder { .. } => Ok(()),
        }
    }

    fn caller(&self, headers: &HeaderMap) -> Caller {
        let held = self.tokens();
        if self.open && held.tokens.tokens.is_empty() {
            return Caller::Holder { role: Role::Admin, stream: None };
        }
        let mut sent = headers.get_all(header::AUTHORIZATION).iter();
        let (Some(value), None) = (sent.next(), sent.next()) else { return Caller::Nobody };
        let token = value.to_str().ok().and_then(|text| text.strip_prefix("Bearer "));
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

fn nobody() -> Refusal {
    Refusal::new(
        StatusCode::UNAUTHORIZED,
        "a valid token is needed: Authorization: Bearer TOKEN (compressive token create)",
    )
}

fn changed(directory: &std::path::Path) -> Option<SystemTime> {
    std::fs::metadata(Tokens::path(directory)).and_then(|m| m.modified()).ok()
}
