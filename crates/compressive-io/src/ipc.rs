//! A look at an Arrow IPC stream before it is read.

use arrow_ipc::root_as_message;

/// What begins each message of a stream.
const MARKER: [u8; 4] = [0xff; 4];

/// Whether any buffer of an Arrow IPC stream in memory is compressed, so that it could unfold into far more;
/// `None` for bytes that are not a stream. Cost: one look at each message's head.
pub fn has_compressed_buffers(stream: &[u8]) -> Option<bool> {
    let mut rest = stream;
    while !rest.is_empty() {
        let (length, tail) = rest.strip_prefix(&MARKER)?.split_first_chunk::<4>()?;
        let length = usize::try_from(i32::from_le_bytes(*length)).ok()?;
        if length == 0 {
            return Some(false);
        }
        let (head, tail) = tail.split_at_checked(length)?;
        let message = root_as_message(head).ok()?;
        let batch = message
            .header_as_record_batch()
            .or_else(|| message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data()));
        if batch.is_some_and(|batch| batch.compression().is_some()) {
            return Some(true);
        }
        rest = tail.split_at_checked(usize::try_from(message.bodyLength()).ok()?)?.1;
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Float64Array, RecordBatch};
    use arrow_ipc::CompressionType;
    use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};

    use super::*;

    fn stream(compression: Option<CompressionType>) -> Vec<u8> {
        let column = Arc::new(Float64Array::from(vec![0.0; 10_000]));
        let batch = RecordBatch::try_from_iter([("x", column as _)]).unwrap();
        let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
        let mut writer = StreamWriter::try_new_with_options(Vec::new(), &batch.schema(), options).unwrap();
        writer.write(&batch).unwrap();
        writer.write(&batch).unwrap();
        writer.into_inner().unwrap()
    }

    #[test]
    fn compressed_buffers_are_seen_and_broken_streams_are_none() {
        let plain = stream(None);
        assert_eq!(has_compressed_buffers(&plain), Some(false));
        assert_eq!(has_compressed_buffers(&stream(Some(CompressionType::ZSTD))), Some(true));
        assert_eq!(has_compressed_buffers(&stream(Some(CompressionType::LZ4_FRAME))), Some(true));
        assert_eq!(has_compressed_buffers(b"ARROW1\0\0"), None);
        assert_eq!(has_compressed_buffers(&plain[..plain.len() / 2]), None);
    }
}
