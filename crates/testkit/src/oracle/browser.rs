//! What does a web browser make of a page?

use std::{
    ffi::{OsStr, OsString},
    fs,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use super::tools::find_in_path;
use crate::tier;

const TIER: &str = "browser";

/// What browsers that need no screen are called.
const NAMES: [&str; 6] = [
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
];

/// Where a page is when its requests are looked at.
const PAGE_URL: &str = "http://page.invalid/";

/// Put behind a copy of a page, says what only a browser knows.
const MEASURE: &str = include_str!("measure.js");

/// A browser.
#[derive(Clone, Debug)]
pub struct Browser {
    program: PathBuf,
}

/// Seconds after which a browser is taken to hang.
const PATIENCE: &str = "60";

/// What a browser made of a page.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The elements, as text.
    pub dom: String,
    /// What it complained of.
    pub console: Vec<String>,
}

/// What a browser measured on a page, with all that can be unfolded unfolded.
#[derive(Clone, Copy, Debug)]
pub struct Measures {
    /// Pixels of the window, and of what is in it.
    pub window: u64,
    /// Pixels across of what is in the window.
    pub content: u64,
    /// Pixels of the smallest text.
    pub smallest_text: f64,
    /// Labels that are over each other or the edge of what they name.
    pub bad_labels: u64,
    /// Labels that are shown.
    pub labels: u64,
    /// Scripts beside the one that measures.
    pub scripts: u64,
}

impl Browser {
    /// Looks for a browser in the `PATH`. If there is none, or it does not start, that is told.
    #[must_use]
    pub fn find() -> Option<Self> {
        let Some(program) = NAMES.iter().find_map(|name| find_in_path(name)) else {
            tier::skip(TIER, "no Chromium in the PATH");
            return None;
        };
        let browser = Self { program };
        let folder = crate::place::folder();
        let page = folder.path().join("page.html");
        fs::write(&page, "<!DOCTYPE html><title>page</title><p>It works.").unwrap();
        let seen = browser.look(&page, (800, 600));
        if !seen.dom.contains("<p>It works.") {
            tier::skip(TIER, format!("{} shows nothing", browser.program.display()));
            return None;
        }
        tier::ran(TIER);
        Some(browser)
    }

    /// Opens a page in a window of so many pixels.
    #[must_use]
    pub fn look(&self, page: &Path, window: (u32, u32)) -> Seen {
        let mut url = OsString::from("file://");
        url.push(page);
        self.open(&url, window, &[])
    }

    /// What a page asks for when it is opened, as lines of HTTP requests: itself first. All requests, wherever they would
    /// go, end up here.
    #[must_use]
    pub fn requests(&self, page: &Path) -> Vec<String> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (text, stop) = (fs::read(page).unwrap(), AtomicBool::new(false));
        thread::scope(|scope| {
            let server = scope.spawn(|| serve(&listener, &text, &stop));
            let proxy = format!("--proxy-server=http://{address}");
            let all = "--proxy-bypass-list=<-loopback>".to_owned();
            let _ = self.open(OsStr::new(PAGE_URL), (800, 600), &[proxy, all]);
            stop.store(true, Ordering::SeqCst);
            // Wakes the server.
            let _ = TcpStream::connect(address);
            server.join().unwrap()
        })
    }

    fn open(&self, url: &OsStr, (width, height): (u32, u32), more: &[String]) -> Seen {
        let profile = crate::place::folder();
        let mut data = OsString::from("--user-data-dir=");
        data.push(profile.path());
        let output = Command::new("timeout")
            .arg(PATIENCE)
            .arg(&self.program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"])
            .args(["--disable-background-networking", "--no-first-run", "--disable-dev-shm-usage"])
            .args(["--enable-logging=stderr", "--virtual-time-budget=5000", "--dump-dom"])
            .arg(format!("--window-size={width},{height}"))
            .args(more)
            .arg(data)
            .arg(url)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let log = String::from_utf8_lossy(&output.stderr);
        let console = log.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned);
        let dom = String::from_utf8_lossy(&output.stdout).into_owned();
        Seen { dom, console: console.collect() }
    }

    /// Measures a page without scripts, by a copy of it that has one, in `folder`.
    #[must_use]
    pub fn measure(&self, page: &Path, folder: &Path, window: (u32, u32)) -> Measures {
        let text = fs::read_to_string(page).unwrap();
        let policy = text.lines().find(|line| line.contains("Content-Security-Policy")).unwrap();
        let script = format!("<script>{MEASURE}</script></body>");
        let copy = text.replacen(policy, "", 1).replacen("</body>", &script, 1);
        let path = folder.join("measured.html");
        fs::write(&path, copy).unwrap();
        let dom = self.look(&path, window).dom;
        let (_, found) = dom.split_once("<pre id=\"measures\">").expect("the script ran");
        let (found, _) = found.split_once("</pre>").unwrap();
        let numbers: Vec<f64> = found.split(' ').map(|word| word.parse().unwrap()).collect();
        #[expect(clippy::cast_sign_loss, reason = "pixels and counts are not negative")]
        let whole = |index: usize| numbers[index].round() as u64;
        Measures {
            window: whole(0),
            content: whole(1),
            smallest_text: numbers[2],
            bad_labels: whole(3),
            labels: whole(4),
            scripts: whole(5),
        }
    }
}

/// Answers requests with a page, or that there is nothing, until told to stop; returns their first lines, but for those
/// that browsers make for themselves.
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
        // Who does not wait for the answer gets none.
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
        if !request.contains("google") {
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
