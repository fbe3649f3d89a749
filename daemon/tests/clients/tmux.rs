//! A terminal that a test can type into and read: a server of tmux of its own.

use std::{
    process::{Command, Output},
    thread,
    time::{Duration, Instant},
};

/// Longer than any of it takes; it only ends a test that has failed.
const PATIENCE: Duration = Duration::from_secs(120);

/// A terminal with one command in it; gone when dropped.
pub(crate) struct Terminal {
    socket: String,
}

impl Terminal {
    /// Runs a command of the shell in a terminal of this size; what follows it says how it ended, and stays.
    pub(crate) fn run(name: &str, command: &str, columns: u16, lines: u16) -> Self {
        let socket = format!("mapstorm-{}-{name}", std::process::id());
        let terminal = Self { socket };
        let (columns, lines) = (columns.to_string(), lines.to_string());
        let script = format!("{command}; echo ended with $?; exec cat");
        let sized = ["-x", &columns, "-y", &lines];
        terminal.tmux(&[&["new-session", "-d", "-s", "main"][..], &sized, &[&script]].concat());
        terminal
    }

    fn tmux(&self, words: &[&str]) -> String {
        let Output {
            status,
            stdout,
            stderr,
        } = Command::new("tmux")
            .args(["-L", &self.socket, "-f", "/dev/null", "-u"])
            .args(words)
            .env_remove("TMUX")
            .output()
            .expect("tmux is needed: `cargo xtask setup` installs it");
        let text = String::from_utf8_lossy(&stderr);
        assert!(status.success(), "tmux {words:?}: {text}");
        String::from_utf8(stdout).unwrap()
    }

    /// Presses keys, by the names that tmux has for them.
    pub(crate) fn press(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys", "-t", "main"], keys].concat());
    }

    /// What is on the screen.
    pub(crate) fn text(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-t", "main"])
    }

    /// The same with its colours and weights, as escape sequences.
    pub(crate) fn painted(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-e", "-t", "main"])
    }

    /// Gives it another size.
    pub(crate) fn resize(&self, columns: u16, lines: u16) {
        let (columns, lines) = (columns.to_string(), lines.to_string());
        self.tmux(&["resize-window", "-t", "main", "-x", &columns, "-y", &lines]);
    }

    /// Waits for a screen of which this is true, and returns it.
    pub(crate) fn wait(&self, what: &str, is_true: impl Fn(&str) -> bool) -> String {
        let start = Instant::now();
        loop {
            let text = self.text();
            if is_true(&text) {
                return text;
            }
            assert!(start.elapsed() < PATIENCE, "never {what}:\n{text}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits for a screen with these words.
    pub(crate) fn wait_for(&self, words: &str) -> String {
        self.wait(words, |text| text.contains(words))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A test that has failed has said why already.
        let _output = Command::new("tmux")
            .args(["-L", &self.socket, "kill-server"])
            .output();
    }
}
