//! One GET on the loopback. HTTP/1.0: the answer ends when the server closes.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
};

use anyhow::{Context as _, Result};

use super::wait::GUARD;

/// What a server said.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

/// What `address` serves at `path`.
pub(crate) fn get(address: SocketAddr, path: &str) -> Result<Answer> {
    fetch(address, path).with_context(|| format!("GET http://{address}{path}"))
}

fn fetch(address: SocketAddr, path: &str) -> Result<Answer> {
    let mut stream = TcpStream::connect_timeout(&address, GUARD)?;
    stream.set_read_timeout(Some(GUARD))?;
    stream.set_write_timeout(Some(GUARD))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("no HTTP answer")?;
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
    Ok(Answer {
        status: status.with_context(|| format!("no status in {head:?}"))?,
        body: body.to_owned(),
    })
}
