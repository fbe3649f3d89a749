//! The plainest reader of server-sent events there is.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpStream,
};

use serde_json::Value;

use crate::site::Server;

/// An open stream.
pub(crate) struct Events {
    pub(crate) head: String,
    lines: BufReader<TcpStream>,
}

/// One event.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) id: String,
    pub(crate) data: Value,
}

impl Events {
    pub(crate) fn open(server: &Server, query: &str, headers: &str) -> Self {
        Self::over(server.connect(), server, query, headers)
    }

    /// The same over a connection that is there.
    pub(crate) fn over(mut stream: TcpStream, server: &Server, query: &str, headers: &str) -> Self {
        let host = server.address;
        let request =
            format!("GET /api/v1/events{query} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut lines = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(lines.read_line(&mut head).unwrap(), 0, "{head}");
        }
        Self { head, lines }
    }

    pub(crate) fn status(&self) -> &str {
        &self.head["HTTP/1.1 ".len()..][..3]
    }

    /// The next event; `None` at the end.
    pub(crate) fn next(&mut self) -> Option<Event> {
        let (mut name, mut id, mut data) = (String::new(), String::new(), String::new());
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            // What is no field is the framing of a chunk.
            match line.trim_end().split_once(": ") {
                Some(("event", text)) => name = text.to_owned(),
                Some(("id", text)) => id = text.to_owned(),
                Some(("data", text)) => data += text,
                _ if line == "\n" && !data.is_empty() => {
                    let data = serde_json::from_str(&data).unwrap();
                    return Some(Event { name, id, data });
                }
                _ => {}
            }
        }
    }

    /// The next event, which has this name.
    pub(crate) fn expect(&mut self, name: &str) -> Event {
        let event = self.next().unwrap();
        assert_eq!(event.name, name, "{event:?}");
        event
    }
}
