//! A server on a port of its own, until told to stop.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use mapstorm::{
    http::{self, Site},
    metrics::{Exposition, Settings},
    view::Views,
};
use tokio::sync::oneshot;

use crate::usage;

/// A server that shows some views.
pub(crate) struct Serving {
    pub(crate) address: SocketAddr,
    stop: oneshot::Sender<()>,
    thread: std::thread::JoinHandle<()>,
}

impl Serving {
    /// A server of what `change` makes of a site that shows `views`.
    pub(crate) fn start(views: Views, change: impl FnOnce(Site) -> Site) -> Self {
        let exposition =
            Exposition::new(views.clone(), Settings::default(), usage::process).unwrap();
        let site = change(Site::new(views, exposition));
        let listeners = http::bind(&["127.0.0.1:0".parse().unwrap()]).unwrap();
        let address = listeners[0].local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread();
            let runtime = { runtime }.worker_threads(1).enable_all().build().unwrap();
            let shutdown = async { stopped.await.unwrap_or(()) };
            runtime
                .block_on(http::serve(listeners, site, shutdown))
                .unwrap();
        });
        Self {
            address,
            stop,
            thread,
        }
    }

    /// Ends it, and says how long that took.
    pub(crate) fn stop(self) -> Duration {
        let start = Instant::now();
        self.stop.send(()).unwrap();
        self.thread.join().unwrap();
        start.elapsed()
    }
}
