//! Asks the daemon again and again, on a thread of its own: a daemon that hangs holds up no key.

use std::{
    io,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender},
    thread,
    time::{Duration, SystemTime},
};

use super::{
    Message,
    reading::{Reading, Request},
};
use crate::client::Daemon;

/// An answer, or why there is none.
pub(super) struct Answer {
    pub(super) request: Request,
    pub(super) reading: Result<Reading, String>,
    pub(super) at: SystemTime,
}

/// Asks at once, then after each `interval`, and earlier when something else is wanted; until nobody listens.
pub(super) fn start(
    daemon: Daemon,
    first: Request,
    interval: Duration,
    wanted: Receiver<Request>,
    messages: Sender<Message>,
) -> io::Result<()> {
    let ask = move || {
        let mut request = first;
        loop {
            let reading = Reading::take(&daemon, &request);
            let answer = Answer {
                request: request.clone(),
                reading: reading.map_err(|error| error.to_string()),
                at: SystemTime::now(),
            };
            if messages.send(Message::Answer(Box::new(answer))).is_err() {
                return;
            }
            match wanted.recv_timeout(interval) {
                // What was wanted in between is wanted no more.
                Ok(newer) => request = wanted.try_iter().last().unwrap_or(newer),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    };
    thread::Builder::new().name("feed".into()).spawn(ask)?;
    Ok(())
}
