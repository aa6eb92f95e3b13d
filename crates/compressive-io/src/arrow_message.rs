//! Arrow IPC messages: framing, checks and decoding, shared by the file and the stream format.
//!
//! A message is a flatbuffer (schema, dictionary or record batch) followed by a body of buffers. The decoder
//! of the Arrow crate trusts the places and sizes in it, so they are checked here first.

use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;

use ::arrow_ipc::reader::{read_dictionary, read_record_batch};
use ::arrow_ipc::{Message, RecordBatch as BatchHeader, Schema as SchemaHeader};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;

use crate::error::{Error, Result};
use crate::guard::guarded;

/// Name of the format in messages to the user.
pub(crate) const FORMAT: &str = "Arrow";
/// Longest flatbuffer accepted.
const META_BYTES_MAX: usize = 1 << 28;
/// Largest size that a compressed buffer may announce.
const BUFFER_BYTES_MAX: i64 = 1 << 32;
/// Mark before the length of a message, since format version 0.15.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// Dictionaries by their number; a copy is cheap enough to be made whenever one changes.
pub(crate) type Dictionaries = HashMap<i64, ArrayRef>;

/// A message that is read but not decoded.
pub(crate) struct RawMessage {
    /// The flatbuffer.
    pub meta: Vec<u8>,
    pub body: Vec<u8>,
}

/// The flatbuffer of a message, from the bytes that a file keeps for it.
pub(crate) fn strip_prefix(path: &str, mut bytes: Vec<u8>) -> Result<Vec<u8>> {
    let start = if bytes.starts_with(&CONTINUATION) { 8 } else { 4 };
    if bytes.len() < start {
        return Err(Error::malformed(path, FORMAT, "a message has no metadata"));
    }
    bytes.drain(..start);
    Ok(bytes)
}

/// Reads the next message of a stream; `None` at its end.
pub(crate) fn read_message(path: &str, input: &mut dyn Read) -> Result<Option<RawMessage>> {
    let mut word = [0; 4];
    if !read_word(path, input, &mut word)? {
        return Ok(None);
    }
    if word == CONTINUATION && !read_word(path, input, &mut word)? {
        return Err(cut_off(path));
    }
    let len = u32::from_le_bytes(word) as usize;
    if len == 0 {
        return Ok(None);
    }
    if len > META_BYTES_MAX {
        return Err(Error::malformed(path, FORMAT, format!("a message of {len} bytes of metadata")));
    }
    let meta = read_len(path, input, len as u64)?;
    let body_len = parse(path, &meta)?.bodyLength();
    let body_len =
        u64::try_from(body_len).map_err(|_| Error::malformed(path, FORMAT, "a body of negative size"))?;
    let body = read_len(path, input, body_len)?;
    Ok(Some(RawMessage { meta, body }))
}

fn cut_off(path: &str) -> Error {
    Error::malformed(path, FORMAT, "it ends within a message")
}

/// Reads four bytes; `false` if the stream has ended before them.
fn read_word(path: &str, input: &mut dyn Read, word: &mut [u8; 4]) -> Result<bool> {
    let bytes = read_up_to(path, input, 4)?;
    match bytes[..].try_into() {
        Ok(read) => {
            *word = read;
            Ok(true)
        }
        Err(_) if bytes.is_empty() => Ok(false),
        Err(_) => Err(cut_off(path)),
    }
}

fn read_len(path: &str, input: &mut dyn Read, len: u64) -> Result<Vec<u8>> {
    let bytes = read_up_to(path, input, len)?;
    if (bytes.len() as u64) < len { Err(cut_off(path)) } else { Ok(bytes) }
}

/// Grows with what arrives, not with what was announced.
fn read_up_to(path: &str, input: &mut dyn Read, len: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(len.min(1 << 20) as usize);
    input.take(len).read_to_end(&mut bytes).map_err(|source| Error::io(path, "read", source))?;
    Ok(bytes)
}

/// The message in a flatbuffer.
pub(crate) fn parse<'a>(path: &str, meta: &'a [u8]) -> Result<Message<'a>> {
    ::arrow_ipc::root_as_message(meta).map_err(|error| Error::malformed(path, FORMAT, error))
}

/// The schema of a file or stream.
pub(crate) fn schema(path: &str, header: Option<SchemaHeader<'_>>) -> Result<SchemaRef> {
    let header = header.ok_or_else(|| Error::malformed(path, FORMAT, "it has no schema"))?;
    if !header.endianness().equals_to_target_endianness() {
        return Err(Error::Unsupported {
            path: path.to_owned(),
            what: "it was written on a machine with another byte order".to_owned(),
            remedy: "convert it to Parquet or CSV there",
        });
    }
    let schema = guarded(path, FORMAT, || Ok::<_, Error>(::arrow_ipc::convert::fb_to_schema(header)))?;
    Ok(Arc::new(schema))
}

/// Number of rows of a record batch, after checking that its buffers lie within its body.
pub(crate) fn batch_rows(path: &str, meta: &[u8], body_len: u64) -> Result<u64> {
    let header = parse(path, meta)?
        .header_as_record_batch()
        .ok_or_else(|| Error::malformed(path, FORMAT, "a listed batch is not a record batch"))?;
    check_places(path, header, body_len)
}

fn check_places(path: &str, header: BatchHeader<'_>, body_len: u64) -> Result<u64> {
    let bad = |detail: &str| Error::malformed(path, FORMAT, detail);
    let rows = u64::try_from(header.length()).map_err(|_| bad("a batch has a negative number of rows"))?;
    for node in header.nodes().iter().flatten() {
        if node.length() < 0 || !(0..=node.length()).contains(&node.null_count()) {
            return Err(bad("a column has a negative length, or more nulls than values"));
        }
    }
    for buffer in header.buffers().iter().flatten() {
        let end = u64::try_from(buffer.offset())
            .ok()
            .zip(u64::try_from(buffer.length()).ok())
            .and_then(|(offset, length)| offset.checked_add(length));
        if end.is_none_or(|end| end > body_len) {
            return Err(bad("a buffer lies outside its batch"));
        }
    }
    Ok(rows)
}

/// Checks the sizes that compressed buffers announce, for which memory is taken. The places must be checked
/// before.
fn check_sizes(path: &str, header: BatchHeader<'_>, body: &[u8]) -> Result<()> {
    if header.compression().is_none() {
        return Ok(());
    }
    for buffer in header.buffers().iter().flatten().filter(|buffer| buffer.length() >= 8) {
        let start = buffer.offset() as usize;
        let size = body[start..start + 8].try_into().map_or(0, i64::from_le_bytes);
        if !(-1..=BUFFER_BYTES_MAX).contains(&size) {
            return Err(Error::malformed(path, FORMAT, format!("a compressed buffer of {size} bytes")));
        }
    }
    Ok(())
}

/// Decodes the chosen columns of a record batch.
pub(crate) fn decode_batch(
    path: &str,
    schema: &SchemaRef,
    dictionaries: &Dictionaries,
    columns: &[usize],
    message: RawMessage,
) -> Result<RecordBatch> {
    let RawMessage { meta, body } = message;
    let parsed = parse(path, &meta)?;
    let header = parsed
        .header_as_record_batch()
        .ok_or_else(|| Error::malformed(path, FORMAT, "a message of an unexpected kind"))?;
    check_places(path, header, body.len() as u64)?;
    check_sizes(path, header, &body)?;
    guarded(path, FORMAT, || {
        let schema = Arc::clone(schema);
        read_record_batch(&body.into(), header, schema, dictionaries, Some(columns), &parsed.version())
    })
}

/// Decodes a dictionary and adds it to the others; `false` if the message is something else.
pub(crate) fn add_dictionary(
    path: &str,
    schema: &SchemaRef,
    dictionaries: &mut Dictionaries,
    message: &RawMessage,
) -> Result<bool> {
    let parsed = parse(path, &message.meta)?;
    let Some(header) = parsed.header_as_dictionary_batch() else { return Ok(false) };
    let data = header.data().ok_or_else(|| Error::malformed(path, FORMAT, "a dictionary without values"))?;
    check_places(path, data, message.body.len() as u64)?;
    check_sizes(path, data, &message.body)?;
    let body = message.body.clone();
    guarded(path, FORMAT, || read_dictionary(&body.into(), header, schema, dictionaries, &parsed.version()))?;
    Ok(true)
}
