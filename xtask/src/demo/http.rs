//! One GET on the loopback. HTTP/1.0: the answer ends when the server closes.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

/// An emulated daemon may take its time.
const PATIENCE: Duration = Duration::from_secs(10);

/// The body that `address` serves at `path`.
///
/// # Errors
/// Nobody answers, or the status is not 200.
pub fn get(address: SocketAddr, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)
        .with_context(|| format!("nobody answers at {address}"))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let request = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream
        .write_all(request.as_bytes())
        .with_context(|| format!("{address} hung up"))?;
    let mut answer = String::new();
    stream
        .read_to_string(&mut answer)
        .with_context(|| format!("the answer of {address} broke off"))?;
    body(&answer)
        .map(str::to_owned)
        .with_context(|| format!("GET http://{address}{path}"))
}

/// The body of a whole answer with status 200.
fn body(answer: &str) -> Result<&str> {
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .context("this is no HTTP answer")?;
    let status = head.lines().next().unwrap_or_default();
    if status.split(' ').nth(1) != Some("200") {
        bail!("{status}");
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_200_has_a_body_for_us() {
        assert_eq!(
            body("HTTP/1.1 200 OK\r\na: b\r\n\r\nup 1\n").unwrap(),
            "up 1\n"
        );
        let error = body("HTTP/1.0 503 Service Unavailable\r\n\r\nnot ready").unwrap_err();
        assert_eq!(error.to_string(), "HTTP/1.0 503 Service Unavailable");
        assert!(body("").is_err());
    }
}
