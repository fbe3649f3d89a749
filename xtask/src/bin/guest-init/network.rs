//! The loopback and QEMU's user network, without a configuration protocol.

use std::ffi::CStr;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use nix::libc;

/// The guest's address in QEMU's user network; ports are forwarded to it.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 15);
const NETMASK: Ipv4Addr = Ipv4Addr::new(255, 255, 255, 0);

/// Brings up `lo` and, where there is one, `eth0`.
pub(crate) fn up() -> Result<()> {
    // Any socket will do: the requests are about interfaces.
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).context("cannot open a socket")?;
    set_up(&socket, c"lo")?;
    if Path::new("/sys/class/net/eth0").exists() {
        set_address(&socket, c"eth0", libc::SIOCSIFADDR, ADDRESS)?;
        set_address(&socket, c"eth0", libc::SIOCSIFNETMASK, NETMASK)?;
        set_up(&socket, c"eth0")?;
    }
    Ok(())
}

/// `struct ifreq` of netdevice(7) with a union member of type `T` in it.
#[repr(C)]
struct Request<T> {
    name: [u8; libc::IFNAMSIZ],
    value: T,
    /// The union is 24 bytes; no member that we use is longer than 16.
    rest: [u8; 24],
}

fn set_address(
    socket: &UdpSocket,
    name: &CStr,
    operation: libc::Ioctl,
    address: Ipv4Addr,
) -> Result<()> {
    let value = libc::sockaddr_in {
        // AF_INET is 2.
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: 0,
        sin_addr: libc::in_addr {
            s_addr: u32::from(address).to_be(),
        },
        sin_zero: [0; 8],
    };
    control(socket, name, operation, value)
        .with_context(|| format!("cannot give {address} to {}", name.to_string_lossy()))
}

fn set_up(socket: &UdpSocket, name: &CStr) -> Result<()> {
    // IFF_UP is 1, IFF_RUNNING 64.
    let flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    control(socket, name, libc::SIOCSIFFLAGS, flags)
        .with_context(|| format!("cannot bring up {}", name.to_string_lossy()))
}

/// Asks the kernel for one operation on the interface `name`.
fn control<T>(socket: &UdpSocket, name: &CStr, operation: libc::Ioctl, value: T) -> io::Result<()> {
    const { assert!(size_of::<T>() <= 24 && align_of::<T>() <= 8) };
    let mut request = Request {
        name: [0; libc::IFNAMSIZ],
        value,
        rest: [0; 24],
    };
    for (to, from) in request.name.iter_mut().zip(name.to_bytes()) {
        *to = *from;
    }
    // SAFETY: the request is at least as long as `struct ifreq` (16 bytes of name, 24 of union),
    // laid out like it, and lives until the call returns; the kernel only reads it.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), operation, &raw mut request) };
    if result == -1 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
