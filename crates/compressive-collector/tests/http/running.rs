//! A server to ask, and what is sent to it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use compressive::features::packed;
use compressive::{FrequencyLaw, RowsRef, Scratch, Sketch, SketchOperator, SketchSpec, Wave, Waves};
use compressive_collector::{Limits, Log, Serve, Server};
use serde_json::Value;

/// Where most batches go.
pub const BATCHES: &str = "/v1/streams/fleet/batches?bucket=2026-11-16";

/// A server on a thread of its own, stopped when dropped.
pub struct Running {
    pub address: SocketAddr,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Running {
    pub fn start(directory: &Path, open: bool, limits: Limits) -> Running {
        let serve = Serve {
            directory: directory.into(),
            address: ([127, 0, 0, 1], 0).into(),
            open,
            limits,
            tls: None,
            log: Log::None,
        };
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let (sender, address) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(async {
                let server = Server::start(&serve).await.unwrap();
                sender.send(server.address().unwrap()).unwrap();
                server.run(async { drop(stopped.await) }).await;
            });
        });
        Running { address: address.recv().unwrap(), stop: Some(stop), thread: Some(thread) }
    }

    /// Sends a request as it is and returns status, head and body.
    pub fn raw(&self, request: &[u8]) -> (u16, String, Vec<u8>) {
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

    pub fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> (u16, String, Vec<u8>) {
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\ncontent-length: {}\r\n",
            body.len()
        );
        headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
        self.raw(&[format!("{head}\r\n").as_bytes(), body].concat())
    }

    /// The status of a request, if there is any answer.
    pub fn try_send(&self, method: &str, path: &str) -> Option<String> {
        let mut stream = TcpStream::connect(self.address).ok()?;
        stream
            .write_all(
                format!("{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n")
                    .as_bytes(),
            )
            .ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        answer.lines().next().map(String::from)
    }

    pub fn json(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> (u16, Value) {
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

pub fn operator(seed: u64) -> SketchOperator {
    let waves = Waves::usual(Wave::OneBit, FrequencyLaw::AdaptedRadius);
    let mut spec = SketchSpec::new(["x", "y"], waves, 1.0, 50);
    spec.seed = seed;
    spec.build().unwrap()
}

pub fn rows(n: usize) -> Vec<f64> {
    (0..2 * n).map(|i| (i as f64 * 1.37).sin() * 3.0 + if i % 4 < 2 { 8.0 } else { 0.0 }).collect()
}

pub fn bits(operator: &SketchOperator, rows: &[f64]) -> Vec<u8> {
    let mut out = Vec::new();
    packed(operator, 2, RowsRef::F64(rows), &mut out, &mut Scratch::default()).unwrap();
    out
}

pub fn offline(operator: &SketchOperator, rows: &[f64]) -> Sketch {
    let mut sketch = Sketch::empty(operator);
    operator.accumulate(RowsRef::F64(rows), None, &mut sketch, &mut Scratch::default()).unwrap();
    sketch
}

pub fn made(running: &Running, operator: &SketchOperator, token: &str) {
    let spec = serde_json::to_vec(operator.spec()).unwrap();
    let auth = format!("Bearer {token}");
    let (status, _) = running.json("PUT", "/v1/streams/fleet?every=day", &[("authorization", &auth)], &spec);
    assert_eq!(status, 201);
}
