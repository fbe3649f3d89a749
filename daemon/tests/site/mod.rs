//! A server that shows the view made by hand, and the plainest client there is.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    sync::Arc,
    time::Duration,
};

use mapstorm::{http::Site, view::View};
use tokio::sync::watch;

use crate::{by_hand, serving::Serving};

/// A server that shows the view made by hand, until told to stop or until the test ends.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) views: watch::Sender<Arc<View>>,
    serving: Serving,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::with(|site| site)
    }

    /// A server of what `change` makes of the site.
    pub(crate) fn with(change: impl FnOnce(Site) -> Site) -> Self {
        let (views, receiver) = watch::channel(Arc::new(by_hand::view()));
        let serving = Serving::start(receiver, change);
        Self {
            address: serving.address,
            views,
            serving,
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
        self.serving.stop()
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
