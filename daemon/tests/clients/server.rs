//! A daemon's server that shows the view made by hand, at an address that can be had again.

use std::{
    net::SocketAddr,
    sync::Arc,
    thread::{self, JoinHandle},
};

use mapstorm::{
    http::{self, Site},
    metrics::{Exposition, ProcessStats, Settings},
    view::View,
};
use tokio::sync::{oneshot, watch};

use crate::by_hand;

/// It serves until it is told to stop, or until the test ends.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    views: watch::Sender<Arc<View>>,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Server {
    /// On a port of its own.
    pub(crate) fn start() -> Self {
        Self::at("127.0.0.1:0".parse().unwrap())
    }

    /// At this address.
    pub(crate) fn at(address: SocketAddr) -> Self {
        let (views, receiver) = watch::channel(Arc::new(by_hand::view()));
        let settings = Settings::default();
        let exposition = Exposition::new(receiver.clone(), settings, ProcessStats::default);
        let site = Site::new(receiver, exposition.unwrap());
        let listeners = http::bind(&[address]).unwrap();
        let address = listeners[0].local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let thread = thread::spawn(move || {
            let mut runtime = tokio::runtime::Builder::new_multi_thread();
            let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
            let end = async { stopped.await.unwrap_or(()) };
            runtime.block_on(http::serve(listeners, site, end)).unwrap();
        });
        Self {
            address,
            views,
            stop,
            thread,
        }
    }

    /// Its address as `--url` wants it.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Publishes another view.
    pub(crate) fn show(&self, change: impl FnOnce(&mut View)) {
        self.views.send_modify(|view| change(Arc::make_mut(view)));
    }

    /// Ends it; from here on nobody listens.
    pub(crate) fn stop(self) {
        self.stop.send(()).unwrap();
        self.thread.join().unwrap();
    }
}
