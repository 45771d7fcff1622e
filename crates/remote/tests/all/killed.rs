//! Readers that are killed while they fill the cache.

use std::{
    env,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use lith_remote::{Cache, Options, RemoteDevice};
use lith_testkit::web::Web;

use super::{hasty, object, read};

/// Names the address for a reader that is to be killed, and the folder of its cache.
const CHILD: &str = "LITH_REMOTE_TEST_CHILD";
/// How often one is killed.
const KILLS: usize = 40;

fn keeping(folder: &str) -> Options {
    let mut options = hasty();
    options.tries = 1;
    options.cache = Some(Cache::new(folder.into(), 1 << 30));
    options
}

/// Reads everything; a process of its own that the test below kills.
#[test]
fn child() {
    let Ok(task) = env::var(CHILD) else { return };
    let (address, folder) = task.split_once(' ').unwrap();
    let device = RemoteDevice::open(address, &keeping(folder)).unwrap();
    let length = 24 << 20;
    for at in (0..length).step_by(64 << 10) {
        read(&device, at, 64 << 10).unwrap();
    }
}

#[test]
fn a_killed_reader_leaves_right_bytes_or_none() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let cache = cache.to_str().unwrap();
    let bytes = object(24 << 20);
    let web = Web::of(bytes.clone());
    let address = web.url("x");
    for kill in 0..KILLS {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["killed::child", "--exact"])
            .env(CHILD, format!("{address} {cache}"))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // In the middle of anything from its first request to its eleventh.
        let enough = web.requests().len() + 1 + kill % 11;
        while web.requests().len() < enough && child.try_wait().unwrap().is_none() {
            thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        if kill % 4 == 3 && kill < KILLS - 12 {
            // Start from nothing, so that there is something to be filled.
            Cache::new(cache.into(), 0).prune_to(0).unwrap();
        }
    }
    // Fetched by nobody, this is what the killed ones have kept.
    web.stop();
    let device = RemoteDevice::open(&address, &keeping(cache)).unwrap();
    let found = (0..bytes.len()).step_by(64 << 10).filter(|at| {
        let end = at + (64 << 10);
        read(&device, *at, 64 << 10).is_ok_and(|found| {
            assert_eq!(found, bytes[*at..end], "{at}");
            true
        })
    });
    let found = found.count();
    assert!(found > 0, "none of them had the time to keep anything");
}
