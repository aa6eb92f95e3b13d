//! Senders that are slow, or never listen.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use compressive_collector::Limits;

use crate::running::{BATCHES, Running, bits, made, operator, rows};

/// Answers what a sender got until its connection was closed, and how long that took.
fn until_closed(mut stream: &TcpStream) -> (String, Duration) {
    let (start, mut answer) = (Instant::now(), Vec::new());
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    // A connection that is reset has ended too.
    let _ = stream.read_to_end(&mut answer);
    (String::from_utf8_lossy(&answer).into_owned(), start.elapsed())
}

fn connections(running: &Running) -> usize {
    let (_, _, text) = running.send("GET", "/metrics", &[], b"");
    let text = String::from_utf8(text).unwrap();
    let line = text.lines().find(|line| line.starts_with("compressive_connections ")).unwrap().to_owned();
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

#[test]
fn slow_heads_and_slow_bodies_are_cut_off_in_time() {
    let (folder, operator) = (tempfile::tempdir().unwrap(), operator(1));
    let limits = Limits { head_seconds: 1, body_seconds: 1, ..Limits::default() };
    let running = Running::start(folder.path(), true, limits);
    made(&running, &operator, "");
    let silent = TcpStream::connect(running.address).unwrap();
    let mut half = TcpStream::connect(running.address).unwrap();
    half.write_all(b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n").unwrap();
    let mut body = TcpStream::connect(running.address).unwrap();
    let (print, packed) = (operator.fingerprint(), bits(&operator, &rows(3)));
    let head = format!(
        "POST {BATCHES} HTTP/1.1\r\nhost: 127.0.0.1\r\nidempotency-key: slow\r\ncompressive-fingerprint: {print}\r\ncontent-type: application/vnd.compressive.bits\r\ncontent-length: {}\r\n\r\n",
        packed.len()
    );
    body.write_all(&[head.as_bytes(), &packed[..5]].concat()).unwrap();
    for (stream, expected) in [(&silent, ""), (&half, ""), (&body, "HTTP/1.1 408 ")] {
        let (answer, took) = until_closed(stream);
        assert!(answer.starts_with(expected) && (expected.is_empty() == answer.is_empty()), "{answer}");
        assert!(took < Duration::from_secs(5), "{took:?}");
    }
    let (_, stream) = running.json("GET", "/v1/streams/fleet", &[], b"");
    assert_eq!(stream["buckets"], serde_json::json!([]));
}

#[test]
fn a_sender_that_never_reads_is_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let running =
        Running::start(folder.path(), true, Limits { head_seconds: 1, body_seconds: 1, ..Limits::default() });
    let mut deaf = TcpStream::connect(running.address).unwrap();
    deaf.set_write_timeout(Some(Duration::from_secs(10))).unwrap();
    // Far more answers than buffers hold; the server stops taking requests when it cannot send.
    let many = b"GET /openapi.json HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".repeat(1000);
    let mut sent = 0;
    while sent < 1000 && deaf.write_all(&many).is_ok() {
        sent += 1;
    }
    assert!(sent < 1000, "all requests were taken");
    let start = Instant::now();
    while connections(&running) > 1 {
        assert!(start.elapsed() < Duration::from_secs(10), "it still holds its place");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn connections_beyond_the_limit_are_closed_and_the_others_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(folder.path(), true, Limits { connections: 3, ..Limits::default() });
    let mut first = TcpStream::connect(running.address).unwrap();
    let others = [(); 2].map(|()| TcpStream::connect(running.address).unwrap());
    let ask = |stream: &mut TcpStream| {
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n").unwrap();
        let mut answer = [0; 15];
        stream.read_exact(&mut answer).unwrap();
        // The rest of the answer is short and comes with the first bytes.
        let mut rest = [0; 1000];
        let _ = stream.read(&mut rest).unwrap();
        assert_eq!(&answer, b"HTTP/1.1 200 OK");
    };
    ask(&mut first);
    for _ in 0..20 {
        let beyond = TcpStream::connect(running.address).unwrap();
        assert_eq!(until_closed(&beyond).0, "");
        ask(&mut first);
    }
    drop(others);
    let start = Instant::now();
    // As soon as one has gone there is room for another.
    while running.try_send("GET", "/healthz").is_none() {
        assert!(start.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(20));
    }
}
