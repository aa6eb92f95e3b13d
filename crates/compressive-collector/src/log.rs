//! Structured logs: one JSON object a line, on standard error. What a sender keeps secret, its token, is
//! never in one.

use std::io::Write;

use serde_json::{Value, json};

use crate::bucket::moment;

/// What is logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Log {
    /// Nothing.
    None,
    /// Start and stop, requests that were refused, and what failed.
    #[default]
    Refused,
    /// Every request.
    All,
}

compressive::named!(Log, "a level of the log", {
    None => "none": "Nothing",
    Refused => "refused": "Start and stop, refused requests, failures",
    All => "all": "Every request",
});

/// Characters of a text from outside.
const LONGEST: usize = 300;

impl Log {
    /// Writes one line, if this level is asked for; `fields` is an object.
    pub(crate) fn line(self, least: Log, event: &str, fields: Value) {
        if self < least {
            return;
        }
        let mut line = json!({ "time": moment(), "event": event });
        if let (Some(line), Value::Object(fields)) = (line.as_object_mut(), fields) {
            line.extend(fields);
        }
        // A log that cannot be written stops nothing.
        let _ = writeln!(std::io::stderr().lock(), "{line}");
    }
}

/// A text from outside, cut to a bearable length.
pub(crate) fn cut(text: &str) -> String {
    text.chars().take(LONGEST).collect()
}
