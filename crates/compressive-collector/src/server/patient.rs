//! A connection whose other end must take what it is sent: one that stops reading is cut off, instead of
//! holding its place for ever. One that still sends gets its answer all the same.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// How long bytes that come after the last answer are read and dropped.
const LINGER: Duration = Duration::from_secs(5);

/// A stream whose writes fail if none gets on for as long as `limit`.
pub(super) struct Patient<S> {
    stream: S,
    limit: Duration,
    waiting: Option<Pin<Box<Sleep>>>,
    /// Whether this end has said that it sends no more.
    ended: bool,
}

impl<S> Patient<S> {
    pub fn new(stream: S, limit: Duration) -> Patient<S> {
        Patient { stream, limit, waiting: None, ended: false }
    }

    /// What a write came to; the clock runs only while it waits.
    fn timed<T>(&mut self, context: &mut Context<'_>, outcome: Poll<Result<T>>) -> Poll<Result<T>> {
        if outcome.is_ready() {
            self.waiting = None;
            return outcome;
        }
        let limit = self.limit;
        let clock = self.waiting.get_or_insert_with(|| Box::pin(sleep(limit)));
        match clock.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(Error::from(ErrorKind::TimedOut))),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.timed(context, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.timed(context, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_flush(context);
        self.timed(context, outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        if !self.ended {
            let outcome = Pin::new(&mut self.stream).poll_shutdown(context);
            match self.timed(context, outcome) {
                Poll::Ready(Ok(())) => self.ended = true,
                other => return other,
            }
        }
        // To close while bytes are unread would reset the connection, and the sender of a body that is
        // refused would lose the answer that says so.
        let mut clock = self.waiting.take().unwrap_or_else(|| Box::pin(sleep(LINGER)));
        let mut dropped = [0; 8192];
        while clock.as_mut().poll(context).is_pending() {
            let mut buffer = ReadBuf::new(&mut dropped);
            match Pin::new(&mut self.stream).poll_read(context, &mut buffer) {
                Poll::Pending => {
                    self.waiting = Some(clock);
                    return Poll::Pending;
                }
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {}
                Poll::Ready(_) => break,
            }
        }
        Poll::Ready(Ok(()))
    }
}
