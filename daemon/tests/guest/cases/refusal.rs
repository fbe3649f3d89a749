//! What cannot be done is refused with one clear error and an exit status of its own.

use std::net::TcpListener;

use anyhow::{Context as _, Result};
use nix::sys::signal::Signal;

use crate::tools::{daemon::Daemon, guest::Guest};

/// Exit status of a command line that makes no sense.
const USAGE: i32 = 64;

pub(crate) fn bad_flag(guest: &Guest) -> Result<()> {
    for (line, words) in [
        ("serve --no-such-flag", "--no-such-flag"),
        ("serve --sample-interval 2s", "--sample-interval"),
        ("serve --web.listen-address nowhere", "--web.listen-address"),
        ("serve --require no_such_probe", "possible values: update"),
        ("drill full --via nobody", "--via"),
        ("no-such-command", "no-such-command"),
    ] {
        let finished = guest.finish(line.split(' '))?;
        finished.refused_with(USAGE, &[words]).context(line)?;
    }
    Ok(())
}

pub(crate) fn port_taken(guest: &Guest) -> Result<()> {
    let taken = TcpListener::bind(("127.0.0.1", 0))?;
    let address = taken.local_addr()?.to_string();
    let finished = guest.finish(["serve", "--web.listen-address", &address])?;
    finished.refused_with(1, &[&address, "--web.listen-address", "in use"])?;
    Ok(())
}

/// A probe that is required and cannot be had ends the start; one that can be had does not. The
/// signal is seen on every kernel, in one way or another.
pub(crate) fn o17_require(guest: &Guest) -> Result<()> {
    let pop_out = "--require=pop_out";
    if guest.pops_are_timed() {
        let daemon = Daemon::start(guest, &[pop_out, "--require=pop"])?;
        daemon.end(Signal::SIGTERM)?.in_order()?;
        return Ok(());
    }
    let words = ["pop_out", "fexit", "__pcpu_freelist_pop", "busy", "6.13"];
    let finished = guest.finish(["serve", "--web.listen-address", "127.0.0.1:0", pop_out])?;
    finished.refused_with(1, &words)?;
    let daemon = Daemon::start(guest, &["--require=pop", "--require=update"])?;
    daemon.end(Signal::SIGTERM)?.in_order()?;
    Ok(())
}
