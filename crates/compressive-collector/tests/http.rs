//! Requests over a real connection: what they answer, and with which status.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use compressive::features::{Buffer, packed};
use compressive::{Feature, FrequencyLaw, RowsRef, Scratch, Sketch, SketchOperator, SketchSpec};
use compressive_collector::{Kind, Limits, Role, Serve, Server, Tokens};
use serde_json::Value;

/// A server on a thread of its own, stopped when dropped.
struct Running {
    address: SocketAddr,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Running {
    fn start(directory: &Path, open: bool, limits: Limits) -> Running {
        let serve = Serve {
            directory: directory.into(),
            address: ([127, 0, 0, 1], 0).into(),
            open,
            limits,
            tls: None,
        };
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let (told, address) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(async {
                let server = Server::start(&serve).await.unwrap();
                told.send(server.address().unwrap()).unwrap();
                server.run(async { drop(stopped.await) }).await;
            });
        });
        Running { address: address.recv().unwrap(), stop: Some(stop), thread: Some(thread) }
    }

    /// Sends a request as it is and returns status, head and body.
    fn raw(&self, request: &[u8]) -> (u16, String, Vec<u8>) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream.write_all(request).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|w| w == b"\r\n\r\n").expect("a head");
        let head = String::from_utf8(answer[..end].to_vec()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head.to_lowercase(), answer[end + 4..].to_vec())
    }

    fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> (u16, String, Vec<u8>) {
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n",
            body.len()
        );
        headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
        self.raw(&[format!("{head}\r\n").as_bytes(), body].concat())
    }

    fn json(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> (u16, Value) {
        let (status, _, body) = self.send(method, path, headers, body);
        (status, serde_json::from_slice(&body).unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.stop.take().map(|stop| stop.send(()));
        self.thread.take().unwrap().join().unwrap();
    }
}

fn operator(seed: u64) -> SketchOperator {
    let mut spec = SketchSpec::new(["x", "y"], FrequencyLaw::AdaptedRadius, 1.0, 50);
    (spec.feature, spec.dither, spec.seed) = (Feature::OneBit, true, seed);
    spec.build().unwrap()
}

fn rows(n: usize) -> Vec<f64> {
    (0..2 * n).map(|i| (i as f64 * 1.37).sin() * 3.0 + if i % 4 < 2 { 8.0 } else { 0.0 }).collect()
}

fn bits(operator: &SketchOperator, rows: &[f64]) -> Vec<u8> {
    let mut out = Vec::new();
    packed(operator, 2, RowsRef::F64(rows), &mut out, &mut Buffer::default()).unwrap();
    out
}

fn offline(operator: &SketchOperator, rows: &[f64]) -> Sketch {
    let mut sketch = Sketch::empty(operator);
    operator.accumulate(RowsRef::F64(rows), None, &mut sketch, &mut Scratch::default()).unwrap();
    sketch
}

fn made(running: &Running, operator: &SketchOperator, token: &str) {
    let spec = serde_json::to_vec(operator.spec()).unwrap();
    let auth = format!("Bearer {token}");
    let (status, _) = running.json("PUT", "/v1/streams/fleet?every=day", &[("authorization", &auth)], &spec);
    assert_eq!(status, 201);
}

const BATCHES: &str = "/v1/streams/fleet/batches?bucket=2026-11-16";

#[test]
fn bits_rows_and_sketches_add_up_to_the_offline_sketch_to_the_byte() {
    let (folder, operator, all) = (tempfile::tempdir().unwrap(), operator(1), rows(400));
    let running = Running::start(folder.path(), true, Limits::default());
    made(&running, &operator, "");
    let fingerprint = operator.fingerprint().to_owned();
    let push = |key: &str, kind: Kind, body: &[u8]| {
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
        ("a", Kind::Bits, bits(&operator, parts[0])),
        ("b", Kind::Csv, format!("y,x\n{csv}").into_bytes()),
        ("c", Kind::Json, serde_json::to_vec(&json).unwrap()),
        ("d", Kind::Sketch, offline(&operator, parts[3]).to_bytes()),
    ];
    for (key, kind, body) in &sent {
        let (status, head, first) = push(key, *kind, body);
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&first));
        assert!(head.contains("idempotent-replayed: false"));
        let (status, head, again) = push(key, *kind, body);
        assert!(status == 200 && again == first && head.contains("idempotent-replayed: true"));
    }
    assert_eq!(push("a", Kind::Bits, &sent[0].2[..13]).0, 422);
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
    assert_eq!(stream["buckets"], serde_json::json!([{ "bucket": "2026-11-16", "rows": 400, "private": 0 }]));
}

#[test]
fn a_batch_of_another_spec_is_refused_before_its_body_is_sent() {
    let (folder, operator, other) = (tempfile::tempdir().unwrap(), operator(1), operator(2));
    let running = Running::start(folder.path(), true, Limits { body: 10_000, ..Limits::default() });
    made(&running, &operator, "");
    let head = |fingerprint: &str, extra: &str| {
        format!(
            "POST {BATCHES} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nidempotency-key: k\r\ncompressive-fingerprint: {fingerprint}\r\ncontent-type: application/vnd.compressive.bits\r\n{extra}\r\n"
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
fn every_role_may_do_its_own_and_nothing_else() {
    let (folder, operator) = (tempfile::tempdir().unwrap(), operator(1));
    let mut tokens = Tokens::default();
    let make = |tokens: &mut Tokens, role, stream: Option<&str>| {
        tokens.create(role, stream.map(String::from)).unwrap()
    };
    let admin = make(&mut tokens, Role::Admin, None);
    let callers = [
        ("no token", String::new()),
        ("malformed", "Bearer nonsense".to_owned()),
        ("not bearer", admin.clone()),
        ("revoked", format!("Bearer {}", make(&mut tokens, Role::Admin, None))),
        ("ingest", format!("Bearer {}", make(&mut tokens, Role::Ingest, Some("fleet")))),
        ("read", format!("Bearer {}", make(&mut tokens, Role::Read, Some("fleet")))),
        ("admin of it", format!("Bearer {}", make(&mut tokens, Role::Admin, Some("fleet")))),
        ("admin of another", format!("Bearer {}", make(&mut tokens, Role::Admin, Some("other")))),
        ("admin", format!("Bearer {admin}")),
    ];
    let revoked = tokens.tokens[1].id.clone();
    tokens.revoke(&revoked);
    tokens.write(folder.path()).unwrap();
    let running = Running::start(folder.path(), false, Limits::default());
    made(&running, &operator, &admin);
    let spec = serde_json::to_vec(operator.spec()).unwrap();
    let body = bits(&operator, &rows(3));
    let fit: &[u8] = br#"{"streams": ["fleet"], "task": "kmeans", "k": 1}"#;
    // The status for each caller, in their order.
    let table: [(&str, &str, &[u8], [u16; 9]); 12] = [
        ("GET", "/healthz", b"", [200; 9]),
        ("GET", "/metrics", b"", [200; 9]),
        ("POST", BATCHES, &body, [401, 401, 401, 401, 200, 403, 200, 403, 200]),
        ("GET", "/v1/streams/fleet", b"", [401, 401, 401, 401, 403, 200, 200, 403, 200]),
        ("GET", "/v1/streams/fleet/spec", b"", [401, 401, 401, 401, 200, 200, 200, 403, 200]),
        ("GET", "/v1/streams", b"", [401, 401, 401, 401, 200, 200, 200, 200, 200]),
        ("GET", "/v1/sketch?streams=fleet", b"", [401, 401, 401, 401, 403, 200, 200, 403, 200]),
        ("GET", "/v1/private?streams=fleet", b"", [401, 401, 401, 401, 403, 200, 200, 403, 200]),
        ("GET", "/v1/drift?streams=fleet", b"", [401, 401, 401, 401, 403, 200, 200, 403, 200]),
        ("POST", "/v1/fit", fit, [401, 401, 401, 401, 403, 200, 200, 403, 200]),
        ("PUT", "/v1/streams/fleet?every=day", &spec, [401, 401, 401, 401, 403, 403, 200, 403, 200]),
        (
            "DELETE",
            "/v1/streams/fleet/buckets?to=2020-01-01",
            b"",
            [401, 401, 401, 401, 403, 403, 200, 403, 200],
        ),
    ];
    for (method, path, body, expected) in table {
        for ((who, authorization), expected) in callers.iter().zip(expected) {
            let mut headers = vec![
                ("idempotency-key", "k"),
                ("compressive-fingerprint", operator.fingerprint()),
                ("content-type", "application/vnd.compressive.bits"),
            ];
            if !authorization.is_empty() {
                headers.push(("authorization", authorization));
            }
            let (status, _, answer) = running.send(method, path, &headers, body);
            let answer = String::from_utf8_lossy(&answer);
            assert_eq!(status, expected, "{who}: {method} {path}: {answer}");
            assert!(
                status == 200 || !authorization.split(' ').any(|t| t.len() > 20 && answer.contains(t)),
                "a secret in {answer}"
            );
        }
    }
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
    let long =
        format!("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\nlong: {}\r\n\r\n", "y".repeat(200_000));
    assert_eq!(running.raw(long.as_bytes()).0, 431);
    let many: String = (0..100).map(|i| format!("h{i}: 1\r\n")).collect();
    assert_eq!(running.raw(format!("GET / HTTP/1.1\r\nhost: x\r\n{many}\r\n").as_bytes()).0, 431);
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

#[test]
fn the_document_names_every_path_and_only_those() {
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(folder.path(), true, Limits::default());
    let (status, document) = running.json("GET", "/openapi.json", &[], b"");
    assert_eq!((status, document["openapi"].as_str()), (200, Some("3.1.0")));
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys().filter(|m| *m != "parameters") {
            let (status, _, answer) =
                running.send(&method.to_uppercase(), &path.replace("{name}", "nobody"), &[], b"");
            let answer = String::from_utf8_lossy(&answer);
            assert!(
                status != 405 && !answer.contains("there is nothing here"),
                "{method} {path}: {status} {answer}"
            );
            let known = methods[method]["responses"].as_object().unwrap().contains_key(&status.to_string());
            assert!(known, "{method} {path}: {status} is not in the document");
        }
    }
}
