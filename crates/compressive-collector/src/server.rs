//! The server: connections, their limits, and a quiet end.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use jiff::Timestamp;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

use crate::error::{Error, Result};
use crate::http::{Guard, Limits, Shared, router};
use crate::metrics::Metrics;
use crate::store::Store;
use crate::writer::Writer;

/// How long requests under way may take after the server was told to stop.
const GRACE: Duration = Duration::from_secs(10);
/// Bytes of a request's head.
const HEAD_BYTES: usize = 32 << 10;
/// Headers of a request.
const HEADERS: usize = 64;

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
        let store = Arc::new(Store::open(&serve.directory)?);
        let (writer, thread) = Writer::start(Arc::clone(&store)).map_err(|e| Error::Store(e.to_string()))?;
        let listener = TcpListener::bind(serve.address)
            .await
            .map_err(|e| Error::Store(format!("cannot listen on {}: {e}", serve.address)))?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let shared = Arc::new(Shared {
            store,
            writer,
            guard: Guard::new(serve.directory.clone(), serve.open)?,
            limits: serve.limits,
            metrics: Metrics::default(),
            directory: serve.directory.clone(),
            room: Semaphore::new(crate::http::room(serve.limits.bodies)),
            work: Semaphore::new(cores),
            operators: crate::http::Operators::default(),
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
        let room = Arc::new(Semaphore::new(shared.limits.connections));
        let graceful = GracefulShutdown::new();
        let expiry = tokio::spawn(expire(Arc::clone(&shared)));
        tokio::pin!(stop);
        loop {
            let accepted = tokio::select! {
                () = &mut stop => break,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                // Out of file descriptors, or a connection that is gone already: others go on.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
                Ok((stream, _)) => {
                    // Beyond the limit a connection is closed at once, so that those there are go on.
                    let Ok(permit) = Arc::clone(&room).try_acquire_owned() else { continue };
                    let (shared, watcher, tls) = (Arc::clone(&shared), graceful.watcher(), tls.clone());
                    tokio::spawn(async move {
                        shared.metrics.connections.fetch_add(1, Ordering::Relaxed);
                        encrypted(stream, tls, &shared, watcher).await;
                        shared.metrics.connections.fetch_sub(1, Ordering::Relaxed);
                        drop(permit);
                    });
                }
            }
        }
        drop(listener);
        // What has not come to an end by then is cut off; its sender repeats it.
        let _ = tokio::time::timeout(GRACE, graceful.shutdown()).await;
        expiry.abort();
        let _ = expiry.await;
        drop(shared);
        // Ends when the last connection has let go of its handle, at most the grace later.
        let _ = tokio::task::spawn_blocking(move || thread.join()).await;
    }
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
async fn encrypted(stream: TcpStream, tls: Option<TlsAcceptor>, shared: &Arc<Shared>, watcher: Watcher) {
    // Small answers are not to wait for more.
    let _ = stream.set_nodelay(true);
    let Some(tls) = tls else { return connection(stream, shared, watcher).await };
    let wait = Duration::from_secs(shared.limits.head_seconds);
    if let Ok(Ok(stream)) = tokio::time::timeout(wait, tls.accept(stream)).await {
        connection(stream, shared, watcher).await;
    }
}

/// Requests one after the other, with time limits for their heads.
async fn connection<S>(stream: S, shared: &Arc<Shared>, watcher: Watcher)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let service = TowerToHyperService::new(router(Arc::clone(shared)));
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(shared.limits.head_seconds))
        .max_buf_size(HEAD_BYTES)
        .max_headers(HEADERS)
        .serve_connection(TokioIo::new(stream), service);
    // A connection that breaks concerns nobody but its other end.
    let _ = watcher.watch(connection).await;
}

/// Deletes what is kept no longer, now and then.
async fn expire(shared: Arc<Shared>) {
    loop {
        let own = Arc::clone(&shared);
        let _ = shared.compute(move || own.store.expire(Timestamp::now())).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
}
