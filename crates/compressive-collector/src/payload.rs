//! From what was sent to what is added: bits, rows or a whole sketch.
//!
//! Everything is read from bytes in memory, whose number is limited before; nothing that could unfold into
//! more (compressed text, compressed Arrow buffers) is taken.

mod json;

use std::io::Cursor;

use compressive::features::add_packed;
use compressive::privacy::{AnySketch, LocalResponse};
use compressive::{RowsRef, Scratch, Sketch, SketchOperator};
use compressive_io::{Dataset, DriveOptions, ReadOptions, has_compressed_buffers, sketch_dataset};

use crate::error::{Error, Result};
use crate::store::Content;
use compressive_client::BatchKind;

/// What a batch adds to a stream of the operator's spec. Cost: that of sketching the rows; for bits a
/// twentieth of an operation each.
pub fn read(kind: BatchKind, operator: &SketchOperator, body: &[u8]) -> Result<Content> {
    if body.is_empty() {
        return Err(Error::Payload("the batch is empty; send at least one row".into()));
    }
    match kind {
        BatchKind::Bits => {
            let mut sketch = Sketch::empty(operator);
            add_packed(operator, body, &mut sketch)?;
            Ok(Content::Plain(sketch))
        }
        BatchKind::Json => rows(operator, body),
        BatchKind::Csv | BatchKind::Arrow => table(kind, operator, body),
        BatchKind::Sketch => match AnySketch::from_bytes(body)? {
            AnySketch::Plain(sketch) => Ok(Content::Plain(sketch)),
            AnySketch::Private(sketch) => Ok(Content::Private(sketch)),
        },
        BatchKind::Reports => Ok(Content::Reports(LocalResponse::add_up(operator.spec(), body)?)),
    }
}

fn rows(operator: &SketchOperator, body: &[u8]) -> Result<Content> {
    let refused = |problem: String| Error::Payload(problem);
    let sent: json::Table = serde_json::from_slice(body)
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
    let json::Rows { values, number, width } = sent.rows;
    if number == 0 {
        return Err(refused("the batch has no row".into()));
    }
    if width != sent.columns.len() {
        let expected = sent.columns.len();
        return Err(refused(format!("rows of {width} values for {expected} columns")));
    }
    let values: Vec<f64> =
        values.chunks_exact(width).flat_map(|row| places.iter().map(|&place| row[place])).collect();
    let mut sketch = Sketch::empty(operator);
    operator.accumulate(RowsRef::F64(&values), None, &mut sketch, &mut Scratch::default())?;
    Ok(Content::Plain(sketch))
}

fn table(kind: BatchKind, operator: &SketchOperator, body: &[u8]) -> Result<Content> {
    let refused = |e: compressive_io::Error| Error::Payload(e.to_string());
    if kind == BatchKind::Csv && (body.starts_with(&[0x1f, 0x8b]) || body.contains(&0)) {
        return Err(Error::Payload("the body is compressed or is not text; send plain CSV".into()));
    }
    if kind == BatchKind::Arrow {
        let problem = match has_compressed_buffers(body) {
            Some(false) => None,
            Some(true) => Some("the buffers of the Arrow stream are compressed; send them as they are"),
            None => Some("the body is not an Arrow IPC stream, or is cut off"),
        };
        if let Some(problem) = problem {
            return Err(Error::Payload(problem.into()));
        }
    }
    let header = (kind == BatchKind::Csv).then_some(true);
    let options = ReadOptions { header, ..ReadOptions::of(operator.spec().table_columns()) };
    let reader = Box::new(Cursor::new(body.to_vec()));
    let mut dataset = Dataset::from_reader("the batch", reader, &options).map_err(refused)?;
    let pass = DriveOptions { threads: 1, ..DriveOptions::default() };
    let outcome = sketch_dataset(&mut dataset, operator, &pass).map_err(refused)?;
    let sketch = outcome.sketches.into_values().next();
    sketch.map(Content::Plain).ok_or_else(|| Error::Payload("the batch has no row".into()))
}
