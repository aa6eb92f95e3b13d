//! Who may do what: random tokens of 256 bits, of which only a hash is kept.
//!
//! A token reads `cmp_ID_SECRET`. The id finds its record, and the SHA-256 of the secret is compared with the
//! record's in constant time. Records live in a file of their own beside the store, which the server reads
//! anew when it changes: tokens can be made and revoked while it runs.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use crate::bucket::moment;
use crate::error::{Error, Result};
use compressive_client::text::{digest, hex, random};

/// What a token allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Sending batches.
    Ingest,
    /// Asking for sums, models and drift.
    Read,
    /// Both, and making and deleting streams and buckets, and backups.
    Admin,
}

compressive::named!(Role, "a role", {
    Ingest => "ingest": "Send batches",
    Read => "read": "Ask for sketches, models and drift",
    Admin => "admin": "Everything",
});

impl Role {
    /// Whether this role includes another.
    pub fn includes(self, other: Role) -> bool {
        self == Role::Admin || self == other
    }
}

/// What is kept of a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Public name of the token.
    pub id: String,
    /// What it allows.
    pub role: Role,
    /// The stream it is for; all if none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
    /// SHA-256 of the secret, in hexadecimal.
    pub hash: String,
    /// When it was made, RFC 3339.
    pub created: String,
    /// When it was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<String>,
}

/// All tokens of a collector.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// The records, oldest first.
    pub tokens: Vec<Record>,
}

/// Who sends a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caller {
    /// Nobody that is known: no token, or none that is valid.
    Nobody,
    /// The holder of a token.
    Holder {
        /// The token's id.
        id: String,
        /// Its role.
        role: Role,
        /// Its stream; all if none.
        stream: Option<String>,
    },
}

impl Caller {
    /// Whether the caller may do something with a stream (or, without one, with all of them).
    pub fn may(&self, wanted: Role, stream: Option<&str>) -> bool {
        match self {
            Caller::Nobody => false,
            Caller::Holder { role, stream: own, .. } => {
                role.includes(wanted) && own.as_deref().is_none_or(|own| Some(own) == stream)
            }
        }
    }
}

impl Tokens {
    /// The file of a data directory.
    pub fn path(directory: &Path) -> PathBuf {
        directory.join("tokens.json")
    }

    /// Reads the tokens; none if there is no file.
    pub fn read(directory: &Path) -> Result<Tokens> {
        let path = Tokens::path(directory);
        let damaged = |problem: String| Error::Damaged { path: path.display().to_string(), problem };
        match std::fs::read(&path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Tokens::default()),
            Err(e) => Err(damaged(e.to_string())),
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|e| damaged(e.to_string())),
        }
    }

    /// Writes the tokens, readable by their owner alone.
    pub fn write(&self, directory: &Path) -> Result<()> {
        let text = serde_json::to_vec_pretty(self).map_err(|e| Error::Store(e.to_string()))?;
        let path = Tokens::path(directory);
        compressive_io::write_atomic(&path, &text).map_err(|e| Error::Store(e.to_string()))?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let private = std::fs::Permissions::from_mode(0o600);
            std::fs::set_permissions(&path, private).map_err(|e| Error::Store(e.to_string()))?;
        }
        Ok(())
    }

    /// Makes a token and returns it; it cannot be had again.
    pub fn create(&mut self, role: Role, stream: Option<String>) -> Result<String> {
        let (id, secret) = (fresh::<6>()?, fresh::<32>()?);
        let token = format!("cmp_{id}_{secret}");
        let created = moment();
        self.tokens.push(Record { id, role, stream, hash: digest(&secret), created, revoked: None });
        Ok(token)
    }

    /// Revokes the token of an id; false if there is none.
    pub fn revoke(&mut self, id: &str) -> bool {
        let Some(record) = self.tokens.iter_mut().find(|record| record.id == id) else { return false };
        record.revoked.get_or_insert_with(moment);
        true
    }

    /// Who presents a token.
    pub fn caller(&self, token: &str) -> Caller {
        let Some((id, secret)) = token.strip_prefix("cmp_").and_then(|rest| rest.split_once('_')) else {
            return Caller::Nobody;
        };
        let found = self.tokens.iter().find(|record| record.id == id && record.revoked.is_none());
        // An unknown id is compared as well, so that it takes as long as a wrong secret.
        let expected = found.map_or("", |record| &record.hash);
        let right = bool::from(digest(secret).as_bytes().ct_eq(expected.as_bytes()));
        match found.filter(|_| right) {
            Some(Record { id, role, stream, .. }) => {
                Caller::Holder { id: id.clone(), role: *role, stream: stream.clone() }
            }
            None => Caller::Nobody,
        }
    }
}

/// N random bytes in hexadecimal.
fn fresh<const N: usize>() -> Result<String> {
    let bytes = random::<N>().map_err(|e| Error::Store(e.to_string()))?;
    Ok(hex(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_opens_what_it_is_for_until_it_is_revoked() {
        let mut tokens = Tokens::default();
        let ingest = tokens.create(Role::Ingest, Some("north".into())).unwrap();
        let admin = tokens.create(Role::Admin, None).unwrap();
        let caller = tokens.caller(&ingest);
        assert!(caller.may(Role::Ingest, Some("north")));
        assert!(!caller.may(Role::Ingest, Some("south")) && !caller.may(Role::Read, Some("north")));
        assert!(!caller.may(Role::Ingest, None));
        assert!(
            tokens.caller(&admin).may(Role::Read, None) && tokens.caller(&admin).may(Role::Ingest, Some("x"))
        );
        let id = tokens.tokens[0].id.clone();
        assert!(tokens.revoke(&id) && !tokens.revoke("nobody"));
        assert_eq!(tokens.caller(&ingest), Caller::Nobody);
    }

    #[test]
    fn a_token_of_256_bits_is_not_kept_and_nothing_like_it_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let mut tokens = Tokens::default();
        let token = tokens.create(Role::Read, None).unwrap();
        tokens.write(folder.path()).unwrap();
        let secret = token.rsplit('_').next().unwrap();
        assert_eq!(secret.len(), 64);
        assert!(!std::fs::read_to_string(Tokens::path(folder.path())).unwrap().contains(secret));
        let read = Tokens::read(folder.path()).unwrap();
        assert!(read.caller(&token).may(Role::Read, Some("any")));
        let wrong = format!("{}0", &token[..token.len() - 1]);
        for text in [
            "",
            "cmp_",
            "cmp__",
            secret,
            &token.to_uppercase(),
            &format!("{token} "),
            if wrong == token { "x" } else { &wrong },
        ] {
            assert_eq!(read.caller(text), Caller::Nobody, "{text}");
        }
    }
}
