//! Listening sockets, opened before privileges are dropped, and errors that say what to do.

use std::{
    io,
    net::{SocketAddr, TcpListener},
};

/// An address could not be listened on.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {source}; {}", remedy(source, *address))]
pub struct BindError {
    /// The address.
    pub address: SocketAddr,
    /// What the kernel said.
    pub source: io::Error,
}

/// Listens on every address, or on none.
pub fn bind(addresses: &[SocketAddr]) -> Result<Vec<TcpListener>, BindError> {
    let listen = |&address: &SocketAddr| {
        let listener = TcpListener::bind(address).and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok(listener)
        });
        listener.map_err(|source| BindError { address, source })
    };
    addresses.iter().map(listen).collect()
}

fn remedy(error: &io::Error, address: SocketAddr) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => format!(
            "stop what listens there (`ss -ltnp 'sport = :{}'` names it), or choose another address with --web.listen-address",
            address.port()
        ),
        io::ErrorKind::PermissionDenied => {
            "a port below 1024 needs CAP_NET_BIND_SERVICE; choose a higher one with --web.listen-address".to_owned()
        }
        io::ErrorKind::AddrNotAvailable => {
            "this host has no such address (`ip address` lists its own); choose one with --web.listen-address".to_owned()
        }
        _ => "choose another address with --web.listen-address".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_port_is_named_with_the_flag_that_moves_us() {
        let first = bind(&["127.0.0.1:0".parse().unwrap()]).unwrap();
        let taken = first[0].local_addr().unwrap();
        let error = bind(&[taken]).unwrap_err().to_string();
        assert!(error.starts_with(&format!("cannot listen on {taken}: Address already in use")));
        assert!(error.contains(&format!(":{}", taken.port())), "{error}");
        assert!(error.contains("--web.listen-address"), "{error}");
    }

    #[test]
    fn an_address_of_another_host_is_said_to_be_that() {
        let error = bind(&["192.0.2.1:0".parse().unwrap()]).unwrap_err();
        assert!(
            error.to_string().contains("this host has no such address"),
            "{error}"
        );
    }
}
