//! The terminal: made ready, drawn on, and left as it was found.

use std::{
    io::{self, IsTerminal as _},
    sync::mpsc::{self, RecvTimeoutError, Sender},
    thread,
    time::{Duration, SystemTime},
};

use ratatui::{DefaultTerminal, crossterm::event};

use super::{
    Message, TopError,
    app::{App, Next},
    draw::{self, Theme},
    feed, keys,
};
use crate::{client::Daemon, config::TopConfig, signals, terminal};

/// How often the screen is drawn when nothing comes: it tells how old its data is.
const REDRAW: Duration = Duration::from_secs(1);

/// Shows the screen until a key or a signal ends it.
pub(super) fn run(mut app: App, config: &TopConfig) -> Result<(), TopError> {
    if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        return Err(TopError::NoTerminal);
    }
    let (messages, inbox) = mpsc::channel();
    let (wishes, wanted) = mpsc::channel();
    let end = messages.clone();
    signals::on_end(move || {
        // Whoever would listen has ended already.
        let _gone = end.send(Message::End);
    })?;
    let daemon = Daemon::at(config.target.clone());
    let (request, interval) = (app.request(), config.interval);
    feed::start(daemon, request, interval, wanted, messages.clone())?;
    let mut screen = Screen::open()?;
    read_keys(messages)?;
    loop {
        screen.draw(&app)?;
        let next = match inbox.recv_timeout(REDRAW) {
            Ok(Message::Answer(answer)) => {
                match answer.reading {
                    Ok(reading) => app.hear(&answer.request, reading, answer.at),
                    Err(why) => app.fail(why, answer.at),
                }
                Next::Draw
            }
            Ok(Message::Input(event)) => {
                let key = event.as_key_event();
                let action = key.and_then(|key| keys::action(key, app.typing));
                action.map_or(Next::Draw, |action| app.act(action))
            }
            Ok(Message::End) | Err(RecvTimeoutError::Disconnected) => Next::Quit,
            Err(RecvTimeoutError::Timeout) => Next::Draw,
        };
        match next {
            Next::Draw => {}
            Next::Ask => {
                // The feed ends with this loop, not before.
                let _gone = wishes.send(app.request());
            }
            Next::Quit => return Ok(()),
        }
    }
}

/// Passes on what is typed; the thread ends with the process, for reading cannot be called off.
fn read_keys(messages: Sender<Message>) -> io::Result<()> {
    let read = move || {
        while let Ok(event) = event::read() {
            if messages.send(Message::Input(event)).is_err() {
                return;
            }
        }
        let _gone = messages.send(Message::End);
    };
    thread::Builder::new().name("keys".into()).spawn(read)?;
    Ok(())
}

/// The terminal in raw mode, on its other screen, until dropped.
struct Screen {
    terminal: DefaultTerminal,
    theme: Theme,
}

impl Screen {
    /// From here on a panic, too, leaves the terminal as it was found.
    fn open() -> io::Result<Self> {
        Ok(Self {
            terminal: ratatui::try_init()?,
            theme: Theme {
                colour: terminal::colours(),
            },
        })
    }

    fn draw(&mut self, app: &App) -> io::Result<()> {
        let (theme, now) = (self.theme, SystemTime::now());
        self.terminal.draw(|frame| {
            let area = frame.area();
            draw::screen(app, theme, now, area, frame.buffer_mut());
        })?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}
