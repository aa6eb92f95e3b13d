//! From what was sent to what is added: bits, rows or a whole sketch.
//!
//! Everything is read from bytes in memory, whose number is limited before; nothing that could unfold into more (compressed text, compressed Arrow buffers) is taken.

use std::io::Cursor;

use compressive::features::add_packed;
use compressive::privacy::AnySketch;
use compressive::{RowsRef, Scratch, Sketch, SketchOperator};
use compressive_io::{Dataset, DriveOptions, ReadOptions, sketch_dataset};
use serde::Deserialize;

use crate::error::{Error, Result};
use crate::store::Content;

/// What a batch may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One-bit contributions: rows of 2m bits, each filled up to whole bytes.
    Bits,
    /// Rows as `{"columns": [...], "rows": [[...], ...]}`.
    Json,
    /// Rows as CSV with a header.
    Csv,
    /// Rows as an Arrow IPC stream.
    Arrow,
    /// A sketch, plain or private.
    Sketch,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 5] = [Kind::Bits, Kind::Json, Kind::Csv, Kind::Arrow, Kind::Sketch];

    /// The media type that names it.
    pub fn media_type(self) -> &'static str {
        match self {
            Kind::Bits => "application/vnd.compressive.bits",
            Kind::Json => "application/json",
            Kind::Csv => "text/csv",
            Kind::Arrow => "application/vnd.apache.arrow.stream",
            Kind::Sketch => "application/vnd.compressive.sketch",
        }
    }

    /// The kind of a `Content-Type`, parameters left aside.
    pub fn of(content_type: &str) -> Option<Kind> {
        let name = content_type.split(';').next().unwrap_or_default().trim();
        Kind::ALL.into_iter().find(|kind| kind.media_type().eq_ignore_ascii_case(name))
    }
}

/// Rows as JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rows {
    columns: Vec<String>,
    rows: Vec<Vec<f64>>,
}

/// What a batch adds to a stream of the operator's spec. Cost: that of sketching the rows; for bits a twentieth of an operation each.
pub fn read(kind: Kind, operator: &SketchOperator, body: &[u8]) -> Result<Content> {
    if body.is_empty() {
        return Err(Error::Payload("the batch is empty; send at least one row".into()));
    }
    match kind {
        Kind::Bits => {
            let mut sketch = Sketch::empty(operator);
            add_packed(operator, body, &mut sketch)?;
            Ok(Content::Plain(sketch))
        }
        Kind::Json => json(operator, body),
        Kind::Csv | Kind::Arrow => table(kind, operator, body),
        Kind::Sketch => match AnySketch::from_bytes(body)? {
            AnySketch::Plain(sketch) => Ok(Content::Plain(sketch)),
            AnySketch::Private(sketch) => Ok(Content::Private(sketch)),
        },
    }
}

fn json(operator: &SketchOperator, body: &[u8]) -> Result<Content> {
    let refused = |problem: String| Error::Payload(problem);
    let sent: Rows = serde_json::from_slice(body)
        .map_err(|e| refused(format!("{e}; send {{\"columns\": [...], \"rows\": [[...], ...]}}")))?;
    let columns = &operator.spec().columns;
    let places: Vec<usize> = columns
        .iter()
        .map(|name| {
            let found = sent.columns.iter().position(|c| c == name);
            found.ok_or_else(|| {
                refused(format!("the column `{name}` is missing; the stream has {}", columns.join(", ")))
            })
        })
        .collect::<Result<_>>()?;
    let mut values = Vec::with_capacity(sent.rows.len() * columns.len());
    for (i, row) in sent.rows.iter().enumerate() {
        if row.len() != sent.columns.len() {
            let (found, expected) = (row.len(), sent.columns.len());
            return Err(refused(format!("row {} has {found} values for {expected} columns", i + 1)));
        }
        values.extend(places.iter().map(|&place| row[place]));
    }
    if values.is_empty() {
        return Err(refused("the batch has no row".into()));
    }
    let mut sketch = Sketch::empty(operator);
    operator.accumulate(RowsRef::F64(&values), None, &mut sketch, &mut Scratch::default())?;
    Ok(Content::Plain(sketch))
}

fn table(kind: Kind, operator: &SketchOperator, body: &[u8]) -> Result<Content> {
    let refused = |e: compressive_io::Error| Error::Payload(e.to_string());
    if kind == Kind::Csv && (body.starts_with(&[0x1f, 0x8b]) || body.contains(&0)) {
        return Err(Error::Payload("the text is compressed or no text; send plain CSV".into()));
    }
    // A stream begins with the marker of its schema message; everything else that the readers know is not Arrow.
    if kind == Kind::Arrow && !body.starts_with(&[0xff; 4]) {
        return Err(Error::Payload("the body is no Arrow IPC stream".into()));
    }
    let header = (kind == Kind::Csv).then_some(true);
    let options =
        ReadOptions { columns: Some(operator.spec().columns.clone()), header, ..ReadOptions::default() };
    let reader = Box::new(Cursor::new(body.to_vec()));
    let mut dataset = Dataset::from_reader("the batch", reader, &options).map_err(refused)?;
    let pass = DriveOptions { threads: 1, ..DriveOptions::default() };
    let outcome = sketch_dataset(&mut dataset, operator, &pass).map_err(refused)?;
    let sketch = outcome.sketches.into_values().next();
    sketch.map(Content::Plain).ok_or_else(|| Error::Payload("the batch has no row".into()))
}
