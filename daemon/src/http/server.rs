//! The accept loop: bounded connections, a timeout on headers, an end within [`GRACE`].
//!
//! It is our own because `axum::serve` has no timeout for a client that never finishes its headers.

use std::{io, net, sync::Arc, time::Duration};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::{GracefulShutdown, Watcher},
    service::TowerToHyperService,
};
use nix::sys::socket::{setsockopt, sockopt::SndBuf};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    task::JoinSet,
    time::{sleep, timeout},
};

use tokio_io_timeout::TimeoutStream;

use super::{MAX_STREAMS, Site, router};

/// How long open connections may take to finish their answers after the shutdown signal.
pub const GRACE: Duration = Duration::from_millis(500);

/// Connections at a time; more wait in the kernel's queue.
const MAX_CONNECTIONS: usize = 512;
// Scrapers find a place when every event stream there may be is open.
const _: () = assert!(MAX_CONNECTIONS >= MAX_STREAMS + 256);
/// A client must send its next request's headers within this; longer than the usual scrape
/// intervals, so that a scraper's connection lives from one scrape to the next.
const HEADER_TIMEOUT: Duration = Duration::from_secs(75);
/// A client that does not read for so long, although there is something to read, is dropped.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes buffered per connection, so the most that headers may have.
const MAX_BUFFER: usize = 64 * 1024;
/// Bytes that the kernel keeps for a client that does not read; by itself it would keep 4 MiB for each.
const SEND_BUFFER: usize = 128 * 1024;
/// Pause after a failed accept: out of descriptors, mostly.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// A connection and its place among [`MAX_CONNECTIONS`].
type Accepted = (TcpStream, OwnedSemaphorePermit);

/// Serves the site until `shutdown`, then for at most [`GRACE`].
///
/// # Errors
/// A listener that is not non-blocking, or of another kind than [`bind`](super::bind) makes.
pub async fn serve(
    listeners: Vec<net::TcpListener>,
    site: Site,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let (ended, patience) = (site.ended.clone(), site.patience);
    let router = router(site);
    let graceful = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let (sender, mut accepted) = mpsc::channel(1);
    let mut acceptors = JoinSet::new();
    for listener in listeners {
        let listener = TcpListener::from_std(listener)?;
        acceptors.spawn(accept(listener, Arc::clone(&places), sender.clone()));
    }
    let mut connections = JoinSet::new();
    tokio::pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            Some(connection) = accepted.recv() => {
                connections.spawn(answer(connection, router.clone(), graceful.watcher(), patience));
            }
            Some(_) = connections.join_next() => {}
        }
    }
    acceptors.shutdown().await;
    ended.send_replace(true);
    if timeout(GRACE, graceful.shutdown()).await.is_err() {
        tracing::debug!(
            connections = connections.len(),
            "closing connections that did not end"
        );
    }
    connections.shutdown().await;
    Ok(())
}

/// Accepts while there are places. Ends only when aborted.
async fn accept(listener: TcpListener, places: Arc<Semaphore>, accepted: mpsc::Sender<Accepted>) {
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        match listener.accept().await {
            Ok((stream, _)) => {
                if accepted.send((stream, place)).await.is_err() {
                    return;
                }
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Answers the requests of one connection.
async fn answer((stream, place): Accepted, router: Router, watcher: Watcher, patience: Duration) {
    // An answer is written at once: waiting for more to send would only delay it.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY");
    }
    if let Err(error) = setsockopt(&stream, SndBuf, &SEND_BUFFER) {
        tracing::debug!(%error, "SO_SNDBUF");
    }
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(patience));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(MAX_BUFFER)
        .serve_connection(
            TokioIo::new(Box::pin(stream)),
            TowerToHyperService::new(router),
        );
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(%error, "a connection broke");
    }
    drop(place);
}
