//! `mapstorm top`: what happens on the maps of a host, live, in a terminal. The only user of ratatui.
//!
//! [`app`] is the state, pure; a thread asks the daemon, another one reads keys, and the screen is drawn from
//! the state whenever either has something to say.

pub mod app;
mod draw;
#[cfg(test)]
mod examples;
mod feed;
mod history;
mod keys;
mod once;
mod reading;
mod screen;

use std::{io, time::SystemTime};

use crate::{
    client::{ClientError, Daemon},
    config::TopConfig,
    terminal,
};
use app::App;
pub use reading::{Reading, Request};

/// Why there is nothing to see.
#[derive(Debug, thiserror::Error)]
pub enum TopError {
    /// The daemon cannot be asked.
    #[error("{0}; is a daemon running (mapstorm serve), and is --url its address?")]
    Daemon(#[from] ClientError),
    /// There is no terminal.
    #[error("this is no terminal; --once prints one screen as text, --json as JSON")]
    NoTerminal,
    /// The terminal does not do what it should.
    #[error("the terminal: {0}")]
    Terminal(#[from] io::Error),
}

/// Something to take in.
enum Message {
    /// A key was pressed, or the terminal has another size.
    Input(ratatui::crossterm::event::Event),
    /// The daemon has answered, or not.
    Answer(Box<feed::Answer>),
    /// The process was asked to end.
    End,
}

/// One reading, as `--json` prints it.
///
/// # Errors
/// When the daemon cannot be asked.
pub fn reading(config: &TopConfig) -> Result<Reading, TopError> {
    let daemon = Daemon::at(config.target.clone());
    Ok(Reading::take(&daemon, &app(config).request())?)
}

/// One screen as plain text, as wide as the terminal, if there is one.
///
/// # Errors
/// When the daemon cannot be asked.
pub fn text(config: &TopConfig) -> Result<String, TopError> {
    let reading = reading(config)?;
    let (mut app, now) = (app(config), SystemTime::now());
    let request = app.request();
    app.hear(&request, reading, now);
    Ok(once::text(&app, terminal::width(), now))
}

/// Shows the screen until somebody ends it.
///
/// # Errors
/// When there is no terminal, or it fails. A daemon that does not answer is waited for.
pub fn run(config: &TopConfig) -> Result<(), TopError> {
    screen::run(app(config), config)
}

fn app(config: &TopConfig) -> App {
    App::new(config.target.to_string(), config.question.clone())
}
