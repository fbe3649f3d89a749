//! A headless Chromium, told what to do over the pipe of its DevTools protocol.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::PathBuf,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

/// Longer than any of it takes on a busy machine; it only ends a test that has failed.
const PATIENCE: Duration = Duration::from_secs(240);
const PAUSE: Duration = Duration::from_millis(100);

/// Colour of the heat map in a row, some seconds before the newest: red, green, blue, opacity.
pub(crate) const CELL: &str = "(row, ago) => { const c = document.getElementById('heat'); \
    const x = (120 - ago - 0.5) / 120 * c.width, y = (row + 0.4) * 16 * devicePixelRatio; \
    const one = document.createElement('canvas').getContext('2d', { willReadFrequently: true }); \
    one.drawImage(c, x, y, 1, 1, 0, 0, 1, 1); \
    return [...one.getImageData(0, 0, 1, 1).data]; }";
/// The text of a column of the table, from above.
pub(crate) const COLUMN: &str = "(key) => [...document.querySelectorAll(`#maps-table td[data-key=${key}]`)].map(td => td.innerText.trim())";

/// A browser with one page. It ends with the value.
pub(crate) struct Browser {
    process: Child,
    profile: PathBuf,
    commands: ChildStdin,
    messages: mpsc::Receiver<Value>,
    page: Option<String>,
    last: u64,
    complaints: Vec<String>,
}

impl Browser {
    pub(crate) fn start() -> Self {
        let profile = std::env::temp_dir().join(format!("mapstorm-page-{}", std::process::id()));
        fs::create_dir_all(&profile).unwrap();
        // The protocol is spoken on descriptors 3 and 4.
        let mut command = Command::new("sh");
        command.args(["-c", "exec chromium \"$@\" 3<&0 4>&1 </dev/null >&2", "sh"]);
        command.args([
            "--headless",
            "--remote-debugging-pipe",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--no-first-run",
            "--disable-background-networking",
        ]);
        if nix::unistd::geteuid().is_root() {
            // Chromium's sandbox does not work for root.
            command.arg("--no-sandbox");
        }
        command.arg(format!("--user-data-dir={}", profile.display()));
        let mut process = { command.stdin(Stdio::piped()).stdout(Stdio::piped()) }
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let commands = process.stdin.take().unwrap();
        let answers = BufReader::new(process.stdout.take().unwrap());
        let (sender, messages) = mpsc::channel();
        thread::spawn(move || {
            for message in answers.split(0).map_while(Result::ok) {
                let message = serde_json::from_slice(&message).unwrap();
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut browser = Self {
            process,
            profile,
            commands,
            messages,
            page: None,
            last: 0,
            complaints: Vec::new(),
        };
        browser.open_page();
        browser
    }

    fn open_page(&mut self) {
        let target = self.call("Target.createTarget", json!({"url": "about:blank"}));
        let id = &target["targetId"];
        let attached = json!({"targetId": id, "flatten": true});
        let session = self.call("Target.attachToTarget", attached);
        self.page = Some(session["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
    }

    /// Sends a command and waits for its answer.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let mut command = json!({"id": self.last, "method": method, "params": params});
        if let Some(page) = &self.page {
            command["sessionId"] = page.clone().into();
        }
        let mut bytes = serde_json::to_vec(&command).unwrap();
        bytes.push(0);
        self.commands.write_all(&bytes).unwrap();
        loop {
            let message = self.messages.recv_timeout(PATIENCE);
            let mut message = message
                .unwrap_or_else(|error| panic!("{method}: chromium does not answer: {error}"));
            if message["id"] == self.last {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].take();
            }
            self.note(&message);
        }
    }

    /// Keeps what the page complains of.
    fn note(&mut self, message: &Value) {
        let params = &message["params"];
        let complaint = match message["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" => &params["exceptionDetails"],
            "Runtime.consoleAPICalled" => params,
            "Log.entryAdded" => &params["entry"],
            _ => return,
        };
        self.complaints.push(complaint.to_string());
    }

    /// Errors, warnings and violations of the policy since the last time.
    pub(crate) fn complaints(&mut self) -> Vec<String> {
        // An answer comes after all that was said before.
        self.evaluate("0");
        std::mem::take(&mut self.complaints)
    }

    /// Loads a page.
    pub(crate) fn open(&mut self, url: &str) {
        let answer = self.call("Page.navigate", json!({"url": url}));
        assert!(answer["errorText"].is_null(), "{answer}");
    }

    /// The value of an expression in the page.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut answer = self.call("Runtime.evaluate", params);
        let failed = &answer["exceptionDetails"];
        assert!(failed.is_null(), "{expression}: {failed}");
        answer["result"]["value"].take()
    }

    /// Waits until an expression is true.
    pub(crate) fn wait_for(&mut self, expression: &str) {
        let start = Instant::now();
        // Before the page is there, an expression may meet nothing at all.
        let careful = format!(
            "(() => {{ try {{ return Boolean({expression}) }} catch {{ return false }} }})()"
        );
        while self.evaluate(&careful) != true {
            let body = "document.body?.innerText";
            assert!(
                start.elapsed() < PATIENCE,
                "never true: {expression}\n{}\n{:?}",
                self.evaluate(body),
                self.complaints
            );
            thread::sleep(PAUSE);
        }
    }

    /// Presses a key and lets it go, as a person would.
    pub(crate) fn press(&mut self, key: &str) {
        let text = match key {
            "Enter" => "\r",
            key if key.chars().count() == 1 => key,
            _ => "",
        };
        let code = match key {
            "Enter" => 13,
            "Escape" => 27,
            "ArrowUp" => 38,
            "ArrowDown" => 40,
            _ => 0,
        };
        let event =
            |kind| json!({"type": kind, "key": key, "text": text, "windowsVirtualKeyCode": code});
        self.call("Input.dispatchKeyEvent", event("keyDown"));
        let mut up = event("keyUp");
        up["text"] = "".into();
        self.call("Input.dispatchKeyEvent", up);
    }

    /// A window of this size, in a scheme of colours.
    pub(crate) fn resize(&mut self, width: u32, height: u32, scheme: &str) {
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.call("Emulation.setEmulatedMedia", media);
    }

    /// What a person sees, as a PNG.
    pub(crate) fn screenshot(&mut self) -> Vec<u8> {
        let shot = self.call("Page.captureScreenshot", json!({"format": "png"}));
        BASE64_STANDARD
            .decode(shot["data"].as_str().unwrap())
            .unwrap()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may have ended by itself, and what it leaves is in a directory for such things.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.profile);
    }
}
