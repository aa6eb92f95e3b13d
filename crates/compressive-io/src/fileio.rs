//! Positioned reads, buffers that are used again, and streams that can be looked ahead in.

use std::fs::File;
use std::io::{self, Read};
use std::sync::{Arc, Mutex};

use crate::error::{Error, Result};

/// Opens a file for reading.
pub(crate) fn open(path: &str) -> Result<File> {
    File::open(path).map_err(|source| Error::io(path, "open", source))
}

/// Size of an open file in bytes.
pub(crate) fn size(path: &str, file: &File) -> Result<u64> {
    file.metadata().map(|meta| meta.len()).map_err(|source| Error::io(path, "read", source))
}

/// Fills `buffer` from `offset` on, without moving the cursor of the file: so threads can share it.
pub(crate) fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset);
    #[cfg(windows)]
    {
        let (mut buffer, mut offset) = (buffer, offset);
        while !buffer.is_empty() {
            match std::os::windows::fs::FileExt::seek_read(file, buffer, offset)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n => {
                    buffer = &mut buffer[n..];
                    offset += n as u64;
                }
            }
        }
        Ok(())
    }
}

/// Reads until `buffer` has `len` bytes or the input ends; returns whether it ended.
pub(crate) fn fill(input: &mut dyn Read, buffer: &mut Vec<u8>, len: usize) -> io::Result<bool> {
    let missing = len.saturating_sub(buffer.len());
    if missing == 0 {
        return Ok(false);
    }
    buffer.reserve(missing);
    let got = input.take(missing as u64).read_to_end(buffer)?;
    Ok(got < missing)
}

/// Byte buffers that return after use: blocks of a megabyte would otherwise be mapped and zeroed by the
/// system each time.
#[derive(Debug, Clone, Default)]
pub(crate) struct BufferPool(Arc<Mutex<Vec<Vec<u8>>>>);

impl BufferPool {
    pub(crate) fn take(&self) -> PooledBuffer {
        let bytes = self.0.lock().map(|mut free| free.pop()).ok().flatten().unwrap_or_default();
        PooledBuffer { bytes, pool: self.clone() }
    }
}

/// A buffer that goes back to its pool when dropped.
#[derive(Debug)]
pub(crate) struct PooledBuffer {
    pub bytes: Vec<u8>,
    pool: BufferPool,
}

impl Drop for PooledBuffer {
    fn drop(&mut self) {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        // A block that had to grow for one long record is not worth keeping.
        if bytes.capacity() <= 8 << 20
            && let Ok(mut free) = self.pool.0.lock()
        {
            free.push(bytes);
        }
    }
}

/// A stream whose first bytes can be looked at, and are still there for the reader that follows.
pub(crate) struct PeekReader {
    inner: Box<dyn Read + Send>,
    kept: Vec<u8>,
    at: usize,
    ended: bool,
}

impl PeekReader {
    pub(crate) fn new(inner: Box<dyn Read + Send>) -> Self {
        PeekReader { inner, kept: Vec::new(), at: 0, ended: false }
    }

    /// The first `len` bytes, fewer if the stream is shorter. Must not follow a read.
    pub(crate) fn peek(&mut self, len: usize) -> io::Result<&[u8]> {
        debug_assert_eq!(self.at, 0, "peeking comes before reading");
        if !self.ended {
            self.ended = fill(&mut self.inner, &mut self.kept, len)?;
        }
        Ok(&self.kept[..len.min(self.kept.len())])
    }

    /// Whether the bytes peeked at are the whole stream.
    pub(crate) fn ended(&self) -> bool {
        self.ended
    }
}

impl Read for PeekReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at < self.kept.len() {
            let n = buffer.len().min(self.kept.len() - self.at);
            buffer[..n].copy_from_slice(&self.kept[self.at..self.at + n]);
            self.at += n;
            return Ok(n);
        }
        if !self.kept.is_empty() {
            self.kept = Vec::new();
            self.at = 0;
        }
        self.inner.read(buffer)
    }
}

/// A file that counts the bytes read from it, for the progress of a compressed file.
pub(crate) struct CountingFile {
    pub file: File,
    pub count: Arc<std::sync::atomic::AtomicU64>,
}

impl Read for CountingFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(buffer)?;
        self.count.fetch_add(n as u64, std::sync::atomic::Ordering::Relaxed);
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_peeked_at_are_read_again_and_only_once() {
        let data: Vec<u8> = (0..=255).collect();
        let mut reader = PeekReader::new(Box::new(io::Cursor::new(data.clone())));
        assert_eq!(reader.peek(10).unwrap(), &data[..10]);
        assert_eq!(reader.peek(100).unwrap(), &data[..100]);
        assert_eq!(reader.peek(7).unwrap(), &data[..7]);
        let mut all = Vec::new();
        reader.read_to_end(&mut all).unwrap();
        assert_eq!(all, data);
    }

    #[test]
    fn a_short_stream_says_that_it_ended() {
        let mut reader = PeekReader::new(Box::new(io::Cursor::new(vec![1, 2, 3])));
        assert_eq!(reader.peek(3).unwrap(), [1, 2, 3]);
        assert!(!reader.ended());
        assert_eq!(reader.peek(4).unwrap(), [1, 2, 3]);
        assert!(reader.ended());
    }

    #[test]
    fn a_dropped_buffer_is_used_again_and_is_empty() {
        let pool = BufferPool::default();
        let mut buffer = pool.take();
        buffer.bytes.extend_from_slice(&[7; 1000]);
        drop(buffer);
        let again = pool.take();
        assert!(again.bytes.is_empty() && again.bytes.capacity() >= 1000);
    }
}
