//! The server: connections, their limits, and a quiet end.

mod patient;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use jiff::Timestamp;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::error::{Error, Result};
use crate::http::{Guard, Limits, Shared, Turns, router};
use crate::log::Log;
use crate::metrics::Metrics;
use crate::store::Store;
use crate::writer::Writer;
use patient::Patient;

/// How long requests under way may take after the server was told to stop.
const GRACE: Duration = Duration::from_secs(10);
/// How long the store may then take to close.
const CLOSE: Duration = Duration::from_secs(3);
/// Bytes of a request's head.
const HEAD_BYTES: usize = 32 << 10;
/// Open files that are not connections: the store, logs, what the runtime needs.
const OTHER_FILES: usize = 64;
/// Headers of a request.
const HEADERS: usize = 64;

/// How much lower the priority of an answer is than that of a batch or a short request: a tenth of the
/// processor where both want it.
const NICE_ASK: i32 = 10;
/// And that of a model.
const NICE_MODEL: i32 = 15;

/// How to serve.
#[derive(Clone, Debug)]
pub struct Serve {
    /// The data directory.
    pub directory: PathBuf,
    /// Where to listen.
    pub address: SocketAddr,
    /// Without tokens everybody may do everything; for loopback, or where the user insists.
    pub open: bool,
    /// Bounds.
    pub limits: Limits,
    /// Certificate chain and key, as PEM files.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// What is logged.
    pub log: Log,
}

/// A server that listens.
pub struct Server {
    listener: TcpListener,
    shared: Arc<Shared>,
    tls: Option<TlsAcceptor>,
    thread: std::thread::JoinHandle<()>,
}

impl Server {
    /// Opens the store and listens.
    pub async fn start(serve: &Serve) -> Result<Server> {
        let tls = serve.tls.as_ref().map(|(chain, key)| acceptor(chain, key)).transpose()?;
        let store = Arc::new(Store::open(&serve.directory)?.limited(serve.limits.buckets));
        let (writer, thread) = Writer::start(Arc::clone(&store)).map_err(|e| Error::Store(e.to_string()))?;
        let listener = TcpListener::bind(serve.address)
            .await
            .map_err(|e| Error::Store(format!("cannot listen on {}: {e}", serve.address)))?;
        let limits = Limits { connections: room_for(serve.limits.connections), ..serve.limits };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let shared = Arc::new(Shared {
            store,
            writer,
            guard: Guard::new(serve.directory.clone(), serve.open, serve.address.ip().is_loopback())?,
            limits,
            metrics: Metrics::default(),
            directory: serve.directory.clone(),
            log: serve.log,
            room: Arc::new(Semaphore::new(crate::http::room(serve.limits.bodies))),
            work: Arc::new(Semaphore::new(cores)),
            asks: Turns::new(cores, NICE_ASK),
            models: Turns::new(cores, NICE_MODEL),
            operators: crate::http::Operators::default(),
            failed: Mutex::default(),
        });
        Ok(Server { listener, shared, tls, thread })
    }

    /// Where it listens.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop` is ready; then finishes what is under way and closes the store.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let Server { listener, shared, tls, thread } = self;
        let log = shared.log;
        log.line(Log::Refused, "started", json!({ "directory": shared.directory.display().to_string() }));
        let room = Arc::new(Semaphore::new(shared.limits.connections));
        let (graceful, requests) = (GracefulShutdown::new(), router(Arc::clone(&shared)));
        let expiry = tokio::spawn(expire(Arc::clone(&shared)));
        let mut open = JoinSet::new();
        tokio::pin!(stop);
        loop {
            let accepted = tokio::select! {
                () = &mut stop => break,
                Some(_) = open.join_next() => continue,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                // Out of file descriptors, or a connection that is gone already: others go on.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
                Ok((stream, _)) => {
                    // Beyond the limit a connection is closed at once, so that those there are go on.
                    let Ok(permit) = Arc::clone(&room).try_acquire_owned() else { continue };
                    let (shared, watcher, tls) = (Arc::clone(&shared), graceful.watcher(), tls.clone());
                    let requests = requests.clone();
                    open.spawn(async move {
                        shared.metrics.connections.fetch_add(1, Ordering::Relaxed);
                        encrypted(stream, tls, requests, &shared.limits, watcher).await;
                        shared.metrics.connections.fetch_sub(1, Ordering::Relaxed);
                        drop(permit);
                    });
                }
            }
        }
        drop((listener, requests));
        // What has not come to an end by then is cut off; its sender repeats it.
        let _ = tokio::time::timeout(GRACE, graceful.shutdown()).await;
        open.shutdown().await;
        expiry.abort();
        let _ = expiry.await;
        drop(shared);
        // Ends with the last batch that is under way; a model that is still being learned, for nobody, is not
        // waited for.
        let _ = tokio::time::timeout(CLOSE, tokio::task::spawn_blocking(move || thread.join())).await;
        log.line(Log::Refused, "stopped", json!({}));
    }
}

/// So many connections as were asked for, or as there may be open files: the soft limit is raised as far as
/// that needs.
fn room_for(connections: usize) -> usize {
    let wanted = (connections + OTHER_FILES) as u64;
    // Where there is no such limit, or it cannot be raised, what is asked for is tried.
    let files = rlimit::increase_nofile_limit(wanted).unwrap_or(wanted);
    let room = usize::try_from(files).unwrap_or(usize::MAX).saturating_sub(OTHER_FILES);
    connections.min(room.max(1))
}

/// What TLS needs, from PEM files.
fn acceptor(chain: &Path, key: &Path) -> Result<TlsAcceptor> {
    use tokio_rustls::rustls::ServerConfig;
    use tokio_rustls::rustls::crypto::ring::default_provider;
    use tokio_rustls::rustls::pki_types::pem::PemObject;
    use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
    let refused = |path: &Path, problem: String| Error::Tls { path: path.display().to_string(), problem };
    let certificates = CertificateDer::pem_file_iter(chain)
        .and_then(Iterator::collect::<std::result::Result<Vec<_>, _>>)
        .map_err(|e| refused(chain, e.to_string()))?;
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|e| refused(key, e.to_string()))?;
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(certificates, secret))
        .map_err(|e| refused(chain, e.to_string()))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// A connection, behind TLS if there is any.
async fn encrypted(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    requests: Router,
    limits: &Limits,
    watcher: Watcher,
) {
    // Small answers are not to wait for more.
    let _ = stream.set_nodelay(true);
    let Some(tls) = tls else { return connection(stream, requests, limits, watcher).await };
    let wait = Duration::from_secs(limits.head_seconds);
    if let Ok(Ok(stream)) = tokio::time::timeout(wait, tls.accept(stream)).await {
        connection(stream, requests, limits, watcher).await;
    }
}

/// Requests one after the other, with time limits for their heads and for what takes up the answers.
async fn connection<S>(stream: S, requests: Router, limits: &Limits, watcher: Watcher)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let stream = Patient::new(stream, Duration::from_secs(limits.body_seconds));
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(limits.head_seconds))
        .max_buf_size(HEAD_BYTES)
        .max_headers(HEADERS)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(requests));
    // A connection that breaks concerns nobody but its other end.
    let _ = watcher.watch(connection).await;
}

/// Deletes what is kept no longer, now and then.
async fn expire(shared: Arc<Shared>) {
    loop {
        let own = Arc::clone(&shared);
        let expired = tokio::task::spawn_blocking(move || own.store.expire(Timestamp::now())).await;
        match expired.unwrap_or_else(|e| Err(Error::Store(e.to_string()))) {
            Ok(0) => {}
            Ok(buckets) => shared.log.line(Log::Refused, "expired", json!({ "buckets": buckets })),
            Err(error) => shared.log.line(Log::Refused, "failed", json!({ "problem": error.to_string() })),
        }
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
}
