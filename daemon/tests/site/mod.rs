//! A server on a port of its own, and the plainest client there is.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    sync::Arc,
    time::{Duration, Instant},
};

use mapstorm::{
    http::{self, Site},
    metrics::{Exposition, MAX_SERIES},
    view::View,
};
use tokio::sync::{oneshot, watch};

use crate::by_hand;

/// A server that shows the view made by hand, until told to stop or until the test ends.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) views: watch::Sender<Arc<View>>,
    stop: oneshot::Sender<()>,
    thread: std::thread::JoinHandle<()>,
}

impl Server {
    pub(crate) fn start() -> Self {
        let (views, receiver) = watch::channel(Arc::new(by_hand::view()));
        let exposition = Exposition::new(receiver.clone(), MAX_SERIES, by_hand::process).unwrap();
        let site = Site::new(receiver, exposition);
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
            views,
            stop,
            thread,
        }
    }

    pub(crate) fn show(&self, change: impl Fn(&mut View)) {
        self.views.send_modify(|view| change(Arc::make_mut(view)));
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        stream
    }

    pub(crate) fn ask(&self, method: &str, path: &str, headers: &str) -> Answer {
        let mut stream = self.connect();
        let host = self.address;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let end = bytes
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .unwrap();
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        Answer {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            head: head.to_lowercase(),
            body: bytes[end + 4..].to_vec(),
        }
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, "")
    }

    pub(crate) fn stop(self) -> Duration {
        let start = Instant::now();
        self.stop.send(()).unwrap();
        self.thread.join().unwrap();
        start.elapsed()
    }
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        assert!(
            self.head.contains("content-type: application/json"),
            "{}",
            self.head
        );
        serde_json::from_slice(&self.body).unwrap()
    }
}
