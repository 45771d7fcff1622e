//! What does a browser see of a page?

use std::{
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command},
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use crate::tier;

const TIER: &str = "browser";
const NAMES: [&str; 4] =
    ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser that needs no screen.
#[derive(Clone, Debug)]
pub struct Browser {
    program: PathBuf,
}

/// What a page has come to.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The document as HTML, after its scripts have run.
    pub document: String,
    /// What the browser has complained about.
    pub complaints: Vec<String>,
}

impl Browser {
    /// Looks for a browser in the `PATH`. If there is none that is told.
    #[must_use]
    pub fn find() -> Option<Self> {
        let folders: Vec<_> = env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect();
        let programs =
            NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
        let Some(program) = programs.into_iter().find(|program| program.is_file()) else {
            tier::skip(TIER, format!("none of {} is in the PATH", NAMES.join(", ")));
            return None;
        };
        tier::ran(TIER);
        Some(Self { program })
    }

    /// Opens a page in a window of so many pixels.
    #[must_use]
    pub fn open(&self, page: &Path, (width, height): (u32, u32)) -> Seen {
        let folder = TempDir::new().unwrap();
        let [document, log] = ["document", "log"].map(|name| folder.path().join(name));
        let child = Command::new(&self.program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"])
            .args(["--enable-logging=stderr", "--virtual-time-budget=2000", "--dump-dom"])
            .arg(format!("--window-size={width},{height}"))
            .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
            .arg(page)
            .stdout(File::create(&document).unwrap())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        wait(child);
        let log = fs::read(log).unwrap();
        let log = String::from_utf8_lossy(&log);
        let complaints = log.lines().filter(|line| line.contains("CONSOLE"));
        Seen {
            complaints: complaints.map(str::to_owned).collect(),
            document: fs::read_to_string(document).unwrap(),
        }
    }
}

/// Waits for the end, but not for ever.
fn wait(mut child: Child) {
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > PATIENCE {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("the browser hasn't ended within {PATIENCE:?}");
        }
        thread::sleep(Duration::from_millis(20));
    }
}
