//! Opens pages in a web browser: what they show, measure, request and complain of.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use serde::Deserialize;
use serde_json::Value;
use tempfile::TempDir;

use super::{devtools::DevTools, tools::find_in_path};
use crate::tier;

const TIER: &str = "browser";

/// Names of browsers that need no screen.
const NAMES: [&str; 6] = [
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
];

/// The address of a page whose requests are recorded.
const PAGE_URL: &str = "http://page.invalid/";

/// Measures a page.
const MEASURE: &str = include_str!("measure.js");

/// A browser.
#[derive(Clone, Debug)]
pub struct Browser {
    program: PathBuf,
}

/// What a browser made of a page.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The elements, as text.
    pub dom: String,
    /// Messages in its console.
    pub console: Vec<String>,
}

/// What a browser measured on a page, with all that can be unfolded unfolded.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Measures {
    /// Width of the window in pixels.
    pub window: u64,
    /// Width of the page in pixels.
    pub content: u64,
    /// Height of the smallest text in pixels.
    pub smallest_text: f64,
    /// Labels that overlap others or the edge of what they name.
    pub bad_labels: u64,
    /// Labels that are shown.
    pub labels: u64,
    /// Scripts of the page.
    pub scripts: u64,
}

/// A page in a running browser.
#[derive(Debug)]
struct Page {
    tools: DevTools,
    /// Removed after the browser has ended.
    _profile: TempDir,
}

impl Browser {
    /// Looks for a browser in the `PATH`. If there is none, or if it does not start, that is reported.
    #[must_use]
    pub fn find() -> Option<Self> {
        let Some(program) = NAMES.iter().find_map(|name| find_in_path(name)) else {
            tier::skip(TIER, "no Chromium in the PATH");
            return None;
        };
        let browser = Self { program };
        match browser.open("data:text/html,<p>It works.", (800, 600), &[]) {
            Ok(_page) => tier::ran(TIER),
            Err(why) => {
                tier::skip(TIER, format!("{}: {why}", browser.program.display()));
                return None;
            }
        }
        Some(browser)
    }

    /// Opens a page of so many pixels.
    #[must_use]
    pub fn look(&self, page: &Path, window: (u32, u32)) -> Seen {
        let mut page = self.open(&file_url(page), window, &[]).unwrap();
        let dom = page.tools.evaluate("document.documentElement.outerHTML").unwrap();
        let console = page.tools.events.iter().filter_map(complaint).collect();
        Seen { dom: dom.as_str().unwrap().to_owned(), console }
    }

    /// The value of a script on a page, which may forbid scripts of its own.
    #[must_use]
    pub fn evaluate(&self, page: &Path, window: (u32, u32), script: &str) -> Value {
        self.open(&file_url(page), window, &[]).unwrap().tools.evaluate(script).unwrap()
    }

    /// Measures a page.
    #[must_use]
    pub fn measure(&self, page: &Path, window: (u32, u32)) -> Measures {
        serde_json::from_value(self.evaluate(page, window, MEASURE)).unwrap()
    }

    /// The requests that opening a page makes, as first lines of HTTP requests: that for the page first. A proxy receives
    /// all of them, wherever they would go.
    #[must_use]
    pub fn requests(&self, page: &Path) -> Vec<String> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (text, stop) = (fs::read(page).unwrap(), AtomicBool::new(false));
        thread::scope(|scope| {
            let server = scope.spawn(|| serve(&listener, &text, &stop));
            let proxy = format!("--proxy-server=http://{address}");
            let all = "--proxy-bypass-list=<-loopback>".to_owned();
            let mut page = self.open(PAGE_URL, (800, 600), &[proxy, all]).unwrap();
            // Requests of scripts and timers, should there be any, follow the load.
            page.tools.evaluate("new Promise(done => setTimeout(done, 500))").unwrap();
            drop(page);
            stop.store(true, Ordering::SeqCst);
            // Wakes the server.
            let _ = TcpStream::connect(address);
            server.join().unwrap()
        })
    }

    fn open(&self, url: &str, window: (u32, u32), more: &[String]) -> Result<Page, String> {
        let profile = crate::place::folder();
        let mut tools = DevTools::start(&self.program, profile.path(), window, more)?;
        tools.navigate(url)?;
        Ok(Page { tools, _profile: profile })
    }
}

fn file_url(page: &Path) -> String {
    format!("file://{}", page.to_str().unwrap())
}

/// The text of an event that a user of the browser would see as a message in its console.
fn complaint(event: &Value) -> Option<String> {
    let params = &event["params"];
    let text = match event["method"].as_str()? {
        "Log.entryAdded" => &params["entry"]["text"],
        "Runtime.consoleAPICalled" => &params["args"],
        "Runtime.exceptionThrown" => &params["exceptionDetails"],
        _ => return None,
    };
    Some(text.to_string())
}

/// Answers requests with the page or "not found" until `stop` is set; returns their first lines, except of those that
/// browsers make for themselves.
fn serve(listener: &TcpListener, page: &[u8], stop: &AtomicBool) -> Vec<String> {
    let mut requests = Vec::new();
    for stream in listener.incoming() {
        if stop.load(Ordering::SeqCst) {
            break;
        }
        let Ok(mut stream) = stream else { continue };
        let Some(request) = first_line(&stream) else { continue };
        let is_page = request.starts_with(&format!("GET {PAGE_URL} "));
        let (status, body) = if is_page { ("200 OK", page) } else { ("404 Not Found", &b""[..]) };
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        // A browser that closed the connection gets no answer.
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
        if !request.contains("google") && !request.contains("/favicon.ico ") {
            requests.push(request);
        }
    }
    requests
}

/// The first line of a request, of which all is read.
fn first_line(stream: &TcpStream) -> Option<String> {
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next()?.ok()?;
    let _ = lines.find(|line| line.as_ref().map_or(true, String::is_empty));
    Some(first)
}
