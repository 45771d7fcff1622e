//! Speaks the `DevTools` protocol with a Chromium, over pipes: <https://chromedevtools.github.io/devtools-protocol/>.
//!
//! Only the protocol sets the size of a page whatever the window: those of Chromium with a user interface are at least
//! 500 pixels wide, those of its headless shell are not.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// The time after which a browser is taken to hang.
const PATIENCE: Duration = Duration::from_secs(60);

/// Options that let a browser start anywhere, as root too, and send nothing of its own accord.
const OPTIONS: [&str; 11] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
];

/// A browser reads messages from descriptor 3 and writes them to 4; each ends with a zero byte.
const WITH_PIPES: &str = r#"exec "$@" 3<&0 4>&1 </dev/null >/dev/null"#;

/// A running browser with one page.
#[derive(Debug)]
pub(super) struct DevTools {
    child: Child,
    /// `None` once the browser must end.
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    /// What happened in the page so far.
    pub(super) events: Vec<Value>,
    /// The session of the page; empty before there is one.
    session: String,
    last_id: u64,
    deadline: Instant,
    log: PathBuf,
}

impl DevTools {
    /// Starts a browser with a new profile in an empty folder, and opens a page of `width` and `height` pixels.
    pub(super) fn start(
        program: &Path,
        profile: &Path,
        (width, height): (u32, u32),
        more: &[String],
    ) -> Result<Self, String> {
        let mut this = Self::spawn(program, profile, more)?;
        let target = this.call("Target.createTarget", &json!({"url": "about:blank"}))?;
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let attached = this.call("Target.attachToTarget", &attach)?;
        this.session = attached["sessionId"].as_str().unwrap().into();
        for domain in ["Page", "Runtime", "Log"] {
            this.call(&format!("{domain}.enable"), &json!({}))?;
        }
        let metrics =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        this.call("Emulation.setDeviceMetricsOverride", &metrics)?;
        Ok(this)
    }

    fn spawn(program: &Path, profile: &Path, more: &[String]) -> Result<Self, String> {
        let log = profile.join("stderr");
        let mut child = Command::new("sh")
            .args(["-c", WITH_PIPES, "sh"])
            .arg(program)
            .args(OPTIONS)
            .arg(format!("--user-data-dir={}", profile.join("data").display()))
            .args(more)
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .map_err(|error| error.to_string())?;
        let messages = receive(child.stdout.take().unwrap());
        Ok(Self {
            input: child.stdin.take(),
            child,
            messages,
            events: Vec::new(),
            session: String::new(),
            last_id: 0,
            deadline: Instant::now() + PATIENCE,
            log,
        })
    }

    /// Loads a page with all that belongs to it.
    pub(super) fn navigate(&mut self, url: &str) -> Result<(), String> {
        let result = self.call("Page.navigate", &json!({"url": url}))?;
        if let Some(error) = result["errorText"].as_str() {
            return Err(format!("{url}: {error}"));
        }
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.receive()?;
            self.events.push(event);
        }
        Ok(())
    }

    /// The value of an expression in the page, or what it promises.
    pub(super) fn evaluate(&mut self, expression: &str) -> Result<Value, String> {
        let what = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut result = self.call("Runtime.evaluate", &what)?;
        match result.get("exceptionDetails") {
            Some(exception) => Err(format!("{expression}: {exception}")),
            None => Ok(result["result"]["value"].take()),
        }
    }

    /// Calls a method and returns its result; events that come before it are kept.
    fn call(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        self.last_id += 1;
        let mut message = json!({"id": self.last_id, "method": method, "params": params});
        if !self.session.is_empty() {
            message["sessionId"] = self.session.as_str().into();
        }
        let bytes = [message.to_string().as_bytes(), b"\0"].concat();
        let written = self.input.as_mut().map(|input| input.write_all(&bytes));
        written.unwrap().map_err(|error| self.failure(&error.to_string()))?;
        loop {
            let mut answer = self.receive()?;
            match (answer["id"] == self.last_id, answer.get("error")) {
                (true, Some(error)) => return Err(format!("{method}: {error}")),
                (true, None) => return Ok(answer["result"].take()),
                (false, _) => self.events.push(answer),
            }
        }
    }

    fn receive(&self) -> Result<Value, String> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        self.messages.recv_timeout(left).map_err(|error| self.failure(&error.to_string()))
    }

    /// What went wrong, with the last line that the browser wrote to its standard error.
    fn failure(&self, what: &str) -> String {
        let log = fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        format!("{what}: {}", log.lines().last().unwrap_or("the browser reports nothing"))
    }
}

/// Reads messages until the browser ends.
fn receive(output: ChildStdout) -> Receiver<Value> {
    let (sender, messages) = mpsc::channel();
    thread::spawn(move || {
        for message in BufReader::new(output).split(0).map_while(Result::ok) {
            let message = serde_json::from_slice(&message).expect("messages are JSON");
            if sender.send(message).is_err() {
                break;
            }
        }
    });
    messages
}

impl Drop for DevTools {
    fn drop(&mut self) {
        // A browser ends when its pipe does; its profile can be removed only after that.
        self.input = None;
        for _ in 0..500 {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}
