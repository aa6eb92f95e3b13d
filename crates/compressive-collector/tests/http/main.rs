//! Requests over a real connection: what they answer, and with which status.

mod access;
mod hostile;
mod questions;
mod running;

use std::time::Duration;

use compressive_client::BatchKind;
use compressive_collector::{Limits, Role, Tokens};

use running::{BATCHES, Running, bits, made, offline, operator, rows};

#[test]
fn bits_rows_and_sketches_add_up_to_the_offline_sketch_to_the_byte() {
    let (folder, operator, all) = (tempfile::tempdir().unwrap(), operator(1), rows(400));
    let running = Running::start(folder.path(), true, Limits::default());
    made(&running, &operator, "");
    let fingerprint = operator.fingerprint().to_owned();
    let push = |key: &str, kind: BatchKind, body: &[u8]| {
        let headers = [
            ("idempotency-key", key),
            ("compressive-fingerprint", &fingerprint),
            ("content-type", kind.media_type()),
        ];
        running.send("POST", BATCHES, &headers, body)
    };
    let parts: Vec<&[f64]> = all.chunks(200).collect();
    let csv: String = parts[1].chunks(2).map(|r| format!("{},{}\n", r[1], r[0])).collect();
    let json = serde_json::json!({ "columns": ["y", "x", "z"], "rows": parts[2].chunks(2).map(|r| vec![r[1], r[0], 7.0]).collect::<Vec<_>>() });
    let sent = [
        ("a", BatchKind::Bits, bits(&operator, parts[0])),
        ("b", BatchKind::Csv, format!("y,x\n{csv}").into_bytes()),
        ("c", BatchKind::Json, serde_json::to_vec(&json).unwrap()),
        ("d", BatchKind::Sketch, offline(&operator, parts[3]).to_bytes()),
    ];
    for (key, kind, body) in &sent {
        let (status, head, first) = push(key, *kind, body);
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&first));
        assert!(head.contains("idempotent-replayed: false"));
        let (status, head, again) = push(key, *kind, body);
        assert!(status == 200 && again == first && head.contains("idempotent-replayed: true"));
    }
    assert_eq!(push("a", BatchKind::Bits, &sent[0].2[..13]).0, 422);
    let (status, _, sum) = running.send("GET", "/v1/sketch?streams=fleet", &[], b"");
    assert_eq!((status, sum), (200, offline(&operator, &all).to_bytes()));
    let (status, model) =
        running.json("POST", "/v1/fit", &[], br#"{"streams": ["fleet"], "task": "kmeans", "k": 2}"#);
    assert_eq!((status, model["centers"].as_array().unwrap().len()), (200, 2));
    let (_, _, text) = running.send("GET", "/metrics", &[], b"");
    assert!(String::from_utf8(text).unwrap().contains("compressive_rows_total 400\n"));
    drop(running);
    let again = Running::start(folder.path(), true, Limits::default());
    let (_, stream) = again.json("GET", "/v1/streams/fleet", &[], b"");
    assert_eq!(
        stream["buckets"],
        serde_json::json!([{ "bucket": "2026-11-16", "rows": 400, "private": 0, "private_rows": 0 }])
    );
}

#[test]
fn a_batch_of_another_spec_is_refused_before_its_body_is_sent() {
    let (folder, operator, other) = (tempfile::tempdir().unwrap(), operator(1), operator(2));
    let running = Running::start(folder.path(), true, Limits { body: 10_000, ..Limits::default() });
    made(&running, &operator, "");
    let head = |fingerprint: &str, extra: &str| {
        format!(
            "POST {BATCHES} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\nidempotency-key: k\r\ncompressive-fingerprint: {fingerprint}\r\ncontent-type: application/vnd.compressive.bits\r\n{extra}\r\n"
        )
    };
    // The body never comes, and the answer does.
    let (status, _, problem) = running.raw(head(other.fingerprint(), "content-length: 5000\r\n").as_bytes());
    assert_eq!(status, 409, "{}", String::from_utf8_lossy(&problem));
    let own = operator.fingerprint();
    assert_eq!(running.raw(head(own, "content-length: 10001\r\n").as_bytes()).0, 413);
    assert_eq!(
        running.raw(head(own, "content-encoding: gzip\r\ncontent-length: 5000\r\n").as_bytes()).0,
        415
    );
    let chunk =
        format!("{}2710\r\n{}\r\n2710\r\n", head(own, "transfer-encoding: chunked\r\n"), "x".repeat(10_000));
    assert_eq!(running.raw(&[chunk.as_bytes(), &[0; 10_000]].concat()).0, 413);
    let (_, stream) = running.json("GET", "/v1/streams/fleet", &[], b"");
    assert_eq!(stream["buckets"], serde_json::json!([]));
}

#[test]
fn strange_requests_are_refused_and_leave_nothing() {
    let (folder, operator) = (tempfile::tempdir().unwrap(), operator(1));
    let running = Running::start(folder.path(), true, Limits { streams: 1, ..Limits::default() });
    made(&running, &operator, "");
    let spec = serde_json::to_vec(operator.spec()).unwrap();
    let status = |method: &str, path: &str, body: &[u8]| running.send(method, path, &[], body).0;
    assert_eq!(status("GET", "/v1/../../etc/passwd", b""), 404);
    assert_eq!(status("PUT", "/v1/streams/..%2f..%2fetc", &spec), 400);
    assert_eq!(status("PUT", "/v1/streams/a%00b", &spec), 400);
    assert_eq!(status("PUT", "/v1/streams/second", &spec), 429);
    assert_eq!(status("PUT", "/v1/streams/fleet?every=minute", &spec), 400);
    assert_eq!(status("PUT", "/v1/streams/fleet?every=hour", &spec), 409);
    assert_eq!(status("PUT", "/v1/streams/fleet", b"{}"), 400);
    assert_eq!(status("POST", "/healthz", b""), 405);
    assert_eq!(status("GET", "/v1/sketch?streams=nobody", b""), 404);
    assert_eq!(status("GET", "/v1/sketch", b""), 400);
    assert_eq!(status("GET", "/v1/sketch?streams=fleet&from=yesterday", b""), 400);
    assert_eq!(status("POST", "/v1/fit", br#"{"streams": ["fleet"], "k": 2}"#), 400);
    assert_eq!(status("DELETE", "/v1/streams/fleet/buckets", b""), 400);
    let long = format!(
        "GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\nlong: {}\r\n\r\n",
        "y".repeat(200_000)
    );
    assert_eq!(running.raw(long.as_bytes()).0, 431);
    let many: String = (0..100).map(|i| format!("h{i}: 1\r\n")).collect();
    assert_eq!(running.raw(format!("GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n{many}\r\n").as_bytes()).0, 431);
    assert_eq!(status("GET", "/healthz", b""), 200);
}

#[test]
fn the_first_token_closes_an_open_server_and_a_revoked_one_opens_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(folder.path(), true, Limits::default());
    assert_eq!(running.send("GET", "/v1/streams", &[], b"").0, 200);
    let mut tokens = Tokens::default();
    let token = format!("Bearer {}", tokens.create(Role::Read, None).unwrap());
    tokens.write(folder.path()).unwrap();
    std::thread::sleep(Duration::from_millis(600));
    assert_eq!(running.send("GET", "/v1/streams", &[], b"").0, 401);
    assert_eq!(running.send("GET", "/v1/streams", &[("authorization", &token)], b"").0, 200);
    let id = tokens.tokens[0].id.clone();
    tokens.revoke(&id);
    tokens.write(folder.path()).unwrap();
    std::thread::sleep(Duration::from_millis(600));
    assert_eq!(running.send("GET", "/v1/streams", &[("authorization", &token)], b"").0, 401);
}
