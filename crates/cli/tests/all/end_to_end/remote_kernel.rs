//! Tests mounts of images on web servers, in object stores and registries by the kernel's driver: whatever is killed or fails, no wrong
//! byte is read.

use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    fs,
    io::{self, Read},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    process::Output,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use lith_testkit::{
    azure::{self, Azurite},
    registry::{Demand, RealRegistry, Registry},
    s3::{self, Account, Gateway},
    tier,
    web::{Reply, Web},
};
use rustix::{
    fs::{Advice, fadvise},
    process::{Pid, Signal, kill_process},
};

use super::{
    args,
    mount::{self, MountPoint, assert_shows, wait_until},
    sample::{Sample, command, complaint},
};

const TIER: &str = "kernel mounts of remote images";

/// What the program prints if it is such a mount.
const FILLED: &str = "by the kernel's EROFS, from the cache, which is filled as it is read";

/// How often a process is killed, unless `LITH_KILLS` says another number.
const KILLS: usize = 12;

/// An image on a server and where it is mounted.
struct Remote {
    sample: Sample,
    image: PathBuf,
    at: MountPoint,
    /// Variables for the program, such as keys.
    environment: Vec<(&'static str, String)>,
}

impl Remote {
    /// Files of some MiB, uncompressed so that a wrong byte is not found by a decoder.
    fn new(files: u8) -> Option<Self> {
        if !mount::is_there() {
            tier::skip(TIER, "as lith mount");
            return None;
        }
        let sample = Sample::new();
        for number in 0..files {
            let bytes = (0..1_u32 << 20).map(|at| at.wrapping_mul(2_654_435_761).to_le_bytes()[3]);
            let noise: Vec<u8> = bytes.map(|byte| byte ^ number | 1).collect();
            fs::write(sample.src().join(format!("noise{number}")), noise).unwrap();
        }
        let (image, at) = (sample.path("image.erofs"), MountPoint::new(&sample));
        let arguments = args!["build", "-q", "-z", "none", sample.src(), image];
        assert!(command().args(arguments).status().unwrap().success());
        Some(Self { sample, image, at, environment: Vec::new() })
    }

    fn run(&self, args: impl IntoIterator<Item = OsString>) -> Output {
        let mut command = command();
        command.env("XDG_CACHE_HOME", self.caches());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.args(args).output().unwrap()
    }

    /// A folder on a filesystem with events, unlike `/dev/shm`.
    fn caches(&self) -> PathBuf {
        env::var_os("LITH_TEST_CACHES").map_or_else(|| self.sample.path("caches"), PathBuf::from)
    }

    /// Mounts it; false if this kernel can't, which is reported.
    fn mount(&self, url: &str) -> bool {
        let mounted = self.run(args!["mount", "--kernel", url, self.at.path()]);
        let message = String::from_utf8_lossy(&mounted.stderr);
        if !mounted.status.success() {
            tier::skip(TIER, message.trim_end());
            return false;
        }
        assert!(message.ends_with(&format!("{FILLED}\n")), "{message}");
        tier::ran(TIER);
        true
    }

    fn unmount(&self) {
        assert!(self.run(args!["umount", "--lazy", self.at.path()]).status.success());
        wait_until("nothing is left running", || self.processes("--object").is_empty());
    }

    /// The processes of this mount whose arguments have a word: `--fetch` or `--guard`.
    fn processes(&self, word: &str) -> Vec<Pid> {
        let of_mount = |process: fs::DirEntry| {
            let line = fs::read_to_string(process.path().join("cmdline")).ok()?;
            let mut words = line.split_terminator('\0');
            let is_one = words.clone().any(|other| other == word);
            let directory = words.next_back().map(Path::new);
            let number = process.file_name().to_str()?.parse().ok()?;
            (is_one && directory == Some(self.at.path())).then(|| Pid::from_raw(number))?
        };
        fs::read_dir("/proc").unwrap().flatten().filter_map(of_mount).collect()
    }

    fn kill(&self, word: &str) -> bool {
        let found = self.processes(word);
        for pid in &found {
            // It may have ended by itself.
            let _ = kill_process(*pid, Signal::KILL);
        }
        !found.is_empty()
    }

    /// Compares all files with the source, byte by byte; those that can't be read are counted if that may be.
    fn compare(&self, may_fail: bool) -> usize {
        let mut failed = 0;
        for (name, expected) in self.files() {
            let mut found = Vec::new();
            let file = fs::File::open(self.at.path().join(&name));
            match file.and_then(|mut file| file.read_to_end(&mut found)) {
                Ok(_) => assert!(found == expected, "{name} has other bytes"),
                Err(error) if may_fail => {
                    assert_eq!(error.raw_os_error(), Some(5), "{name}: {error}");
                    // What was read before the error is right as well.
                    assert!(expected.starts_with(&found), "{name} has other bytes");
                    failed += 1;
                }
                error @ Err(_) => drop(error.unwrap()),
            }
        }
        failed
    }

    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let entries = fs::read_dir(self.sample.src()).unwrap().flatten();
        let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
        let content = |entry: fs::DirEntry| {
            (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())
        };
        files.map(content).collect()
    }

    /// A server of the image that waits before each answer.
    fn serve(&self, delay: Duration) -> Web {
        let bytes = fs::read(&self.image).unwrap();
        Web::start(move |request| Reply { delay, ..Reply::of(request, &bytes, "\"1\"") })
    }
}

fn kills() -> usize {
    env::var("LITH_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS)
}

#[test]
fn the_kernel_mounts_a_remote_image() {
    let Some(remote) = Remote::new(4) else { return };
    let web = remote.serve(Duration::ZERO);
    let url = web.url("image.erofs");
    if !remote.mount(&url) {
        return;
    }
    let list = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let line = list.lines().find(|line| line.contains(remote.at.path().to_str().unwrap()));
    assert!(line.unwrap().contains(&format!(" - erofs {url} ro")), "{line:?}");
    // A mount that needs nothing else is there before its worker is.
    for role in ["--guard", "--fetch"] {
        wait_until("both processes have their name", || {
            let [process] = *remote.processes(role) else { return false };
            let comm = format!("/proc/{}/comm", process.as_raw_nonzero());
            fs::read_to_string(comm).is_ok_and(|name| name == "lith\n")
        });
    }
    let again = remote.run(args!["mount", url, remote.at.path()]);
    assert!(complaint(&again).ends_with("is mounted there already"));
    let pruned = remote.run(args!["cache", "prune", "--all"]);
    assert!(String::from_utf8_lossy(&pruned.stdout).starts_with("0 images removed"));
    remote.unmount();
    assert!(remote.mount(&url));
    assert_shows(&remote.at, &remote.sample);
    assert_eq!(remote.compare(false), 0);
    let fetched: usize = web.requests().iter().map(|request| request.range().unwrap().len()).sum();
    let length = usize::try_from(remote.image.metadata().unwrap().len()).unwrap();
    assert!(fetched < length + (length / 8), "{fetched} bytes of {length} were fetched");
    // The rest, such as metadata that nothing needs.
    assert!(remote.run(args!["cat", url, "/noise*"]).status.success());
    assert!(remote.run(args!["check", url]).status.success());
    wait_until("all is there", || remote.processes("--object").is_empty());
    web.stop();
    assert!(remote.at.is_mounted());
    assert_shows(&remote.at, &remote.sample);
    remote.unmount();
    let complete = remote.run(args!["mount", "--kernel", url, remote.at.path()]);
    let complete = String::from_utf8_lossy(&complete.stderr).into_owned();
    assert!(complete.ends_with("from the cache, which is complete\n"), "{complete}");
    assert!(remote.processes("--object").is_empty());
    assert_shows(&remote.at, &remote.sample);
}

#[test]
fn killed_workers_are_replaced_while_readers_wait() {
    let Some(remote) = Remote::new(24) else { return };
    let web = remote.serve(Duration::from_millis(30));
    // Long enough for a worker to fetch something: each one goes on where the last one was killed.
    survives_kills(&remote, &web.url("image.erofs"), (Duration::from_millis(300), kills()));
}

/// Mounts an image and kills the worker every now and then while it is read, until it was killed often enough.
fn survives_kills(remote: &Remote, address: &str, (pause, kills): (Duration, usize)) {
    let (mut killed, mut rounds) = (0, 0);
    while killed < kills {
        if !remote.mount(address) {
            return;
        }
        let ended = AtomicBool::new(false);
        thread::scope(|scope| {
            let reading = scope.spawn(|| {
                let failed = remote.compare(false);
                ended.store(true, Ordering::Relaxed);
                failed
            });
            while !ended.load(Ordering::Relaxed) && !reading.is_finished() {
                thread::sleep(pause);
                killed += usize::from(killed < kills && remote.kill("--fetch"));
            }
            assert_eq!(reading.join().unwrap(), 0);
        });
        rounds += 1;
        assert_shows(&remote.at, &remote.sample);
        remote.unmount();
        assert!(remote.run(args!["cache", "prune", "--all"]).status.success());
        assert!(rounds < 20 || killed > rounds, "{killed} kills in {rounds} rounds");
    }
    eprintln!("{address}: {killed} kills in {rounds} rounds");
}

/// For servers that answer at once, from which all is fetched sooner.
const AT_ONCE: (Duration, usize) = (Duration::from_millis(100), 4);

#[test]
fn the_kernel_mounts_objects_of_s3() {
    let Some(mut remote) = Remote::new(24) else { return };
    let (id, secret) = ("AKID".to_owned(), "topsecret".to_owned());
    let account = Account { id, secret, token: None, region: "us-east-1".to_owned() };
    let image = fs::read(&remote.image).unwrap();
    let address = "s3://bucket/a/image.erofs";
    let of = |account: &Account, endpoint: &str| {
        vec![
            ("AWS_ENDPOINT_URL", endpoint.trim_end_matches('/').to_owned()),
            ("AWS_REGION", account.region.clone()),
            ("AWS_ACCESS_KEY_ID", account.id.clone()),
            ("AWS_SECRET_ACCESS_KEY", account.secret.clone()),
        ]
    };
    let web = s3::serve("/bucket/a/image.erofs", image.clone(), Some(account.clone()));
    remote.environment = of(&account, &web.url(""));
    survives_kills(&remote, address, AT_ONCE);
    let folder = remote.sample.path("store");
    fs::create_dir(&folder).unwrap();
    let Some(gateway) = Gateway::start(&folder) else { return };
    gateway.make_bucket("bucket");
    gateway.store("bucket/a/image.erofs", &image);
    remote.environment = of(gateway.account(), &gateway.endpoint());
    survives_kills(&remote, address, AT_ONCE);
}

#[test]
fn the_kernel_mounts_objects_of_azure() {
    let Some(mut remote) = Remote::new(24) else { return };
    let image = fs::read(&remote.image).unwrap();
    let address = "az://box/a/image.erofs";
    let of = |endpoint: String, key: &str| {
        vec![
            ("AZURE_STORAGE_ACCOUNT", Azurite::ACCOUNT.to_owned()),
            ("AZURE_STORAGE_ENDPOINT", endpoint),
            ("AZURE_STORAGE_KEY", key.to_owned()),
        ]
    };
    let web = azure::serve("/acct/box/a/image.erofs", image.clone(), Some(b"other".to_vec()));
    remote.environment = of(web.url("acct"), "b3RoZXI=");
    survives_kills(&remote, address, AT_ONCE);
    let folder = remote.sample.path("store");
    fs::create_dir(&folder).unwrap();
    let Some(azurite) = Azurite::start(&folder) else { return };
    azurite.make_container("box");
    azurite.store("box/a/image.erofs", &image);
    remote.environment = of(azurite.endpoint(), &azurite.key());
    survives_kills(&remote, address, AT_ONCE);
}

#[test]
fn the_kernel_mounts_images_of_registries() {
    let Some(remote) = Remote::new(24) else { return };
    let from = |host: &str, option: &str| {
        let name = format!("oci://{host}/box:1");
        let sent = remote.run(args!["push", "-q", option, remote.image, name]);
        assert!(sent.status.success(), "{sent:?}");
        survives_kills(&remote, &name, AT_ONCE);
    };
    for option in ["--color=never", "--chunks=64K"] {
        from(&Registry::start(Demand::Token(None)).host(), option);
    }
    let folder = remote.sample.path("data");
    fs::create_dir(&folder).unwrap();
    let Some(server) = RealRegistry::start(&folder) else { return };
    for option in ["--color=never", "--chunks=64K"] {
        from(&server.host, option);
    }
}

#[test]
fn a_new_worker_goes_on_with_what_was_opened_after_the_tag_has_moved() {
    goes_on_after_the_tag_has_moved(&[]);
}

#[test]
fn a_new_worker_goes_on_with_an_image_in_chunks() {
    goes_on_after_the_tag_has_moved(&["--chunks=64K"]);
}

/// Mounts an image that was pushed with options, and kills the worker when its name is that of another one.
fn goes_on_after_the_tag_has_moved(options: &[&str]) {
    let Some(remote) = Remote::new(8) else { return };
    let server = Registry::start(Demand::Nothing);
    let name = format!("oci://{}/box:1", server.host());
    let push = |image: &Path| {
        let mut push = args!["push", "-q", image, name].to_vec();
        push.extend(options.iter().map(OsString::from));
        let sent = remote.run(push);
        assert!(sent.status.success(), "{sent:?}");
    };
    push(&remote.image);
    if !remote.mount(&name) {
        return;
    }
    let (other, folder) = (remote.sample.path("other.erofs"), remote.sample.path("other"));
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("other"), "other").unwrap();
    assert!(remote.run(args!["build", "-q", folder, other]).status.success());
    // The manifest of what is mounted has no name any more.
    server.change(|held| held.manifests.clear());
    push(&other);
    let before = server.requests().len();
    wait_until("its worker is killed", || remote.kill("--fetch"));
    assert_eq!(remote.compare(false), 0);
    assert_shows(&remote.at, &remote.sample);
    let requests = server.requests();
    let after = || requests.iter().skip(before).map(|request| &request.path);
    assert!(after().any(|path| path.contains("/blobs/")), "nothing was left to fetch");
    assert!(!after().any(|path| path.contains("/manifests/")), "the name was looked up again");
    remote.unmount();
    // Who opens it now gets the other one.
    assert_eq!(remote.run(args!["cat", name, "/other"]).stdout, b"other");
}

#[test]
fn a_killed_guard_is_replaced_and_no_zeros_are_read() {
    let Some(remote) = Remote::new(12) else { return };
    let web = remote.serve(Duration::from_millis(30));
    let url = web.url("image.erofs");
    for pause in [20, 60, 100, 150, 250] {
        if !remote.mount(&url) {
            return;
        }
        thread::scope(|scope| {
            let reading = scope.spawn(|| remote.compare(true));
            thread::sleep(Duration::from_millis(pause));
            assert!(remote.kill("--guard"));
            reading.join().unwrap();
        });
        // What failed is read again, by a new guard.
        assert_eq!(remote.compare(false), 0);
        assert_shows(&remote.at, &remote.sample);
        remote.unmount();
        assert!(remote.run(args!["cache", "prune", "--all"]).status.success());
    }
}

#[test]
fn what_cannot_be_fetched_is_an_error() {
    let Some(remote) = Remote::new(8) else { return };
    let bytes = fs::read(&remote.image).unwrap();
    let is_changed = Arc::new(AtomicBool::new(false));
    let changed = Arc::clone(&is_changed);
    let web = Web::start(move |request| {
        let etag = if changed.load(Ordering::Relaxed) { "\"2\"" } else { "\"1\"" };
        Reply::of(request, &bytes, etag)
    });
    let url = web.url("image.erofs");
    if !remote.mount(&url) {
        return;
    }
    let files = remote.files();
    let read = |name: &str| -> io::Result<Vec<u8>> {
        let file = fs::File::open(remote.at.path().join(name))?;
        let mut bytes = vec![0; 4096];
        file.read_exact_at(&mut bytes, 512 << 10)?;
        fadvise(&file, 0, None, Advice::DontNeed)?;
        Ok(bytes)
    };
    let right = |name: &str| files[name][512 << 10..][..4096].to_vec();
    assert_eq!(read("noise0").unwrap(), right("noise0"));
    is_changed.store(true, Ordering::Relaxed);
    assert_eq!(read("noise4").unwrap_err().raw_os_error(), Some(5));
    assert_eq!(read("noise0").unwrap(), right("noise0"));
    is_changed.store(false, Ordering::Relaxed);
    assert_eq!(read("noise4").unwrap(), right("noise4"));
    web.stop();
    let begin = Instant::now();
    assert_eq!(read("noise7").unwrap_err().raw_os_error(), Some(5));
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
    assert_eq!(read("noise4").unwrap(), right("noise4"));
    remote.unmount();
}

#[test]
fn only_what_verifies_serves_an_image_with_a_root_hash() {
    let Some(remote) = Remote::new(1) else { return };
    let made = remote.run(args![
        "build",
        "--json",
        "--force",
        "--verity",
        remote.sample.src(),
        remote.image
    ]);
    let made: serde_json::Value = serde_json::from_slice(&made.stdout).unwrap();
    let root = made.pointer("/verity/root_hash").unwrap().as_str().unwrap().to_owned();
    let mut bytes = fs::read(&remote.image).unwrap();
    // A server, or something before it, that changes a byte of data on its way.
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    let web = Web::of(bytes);
    let url = web.url("image.erofs");
    let kernel = remote.run(args!["mount", "--kernel", "--root-hash", root, url, remote.at.path()]);
    assert!(complaint(&kernel).contains("the kernel's driver verifies nothing"));
    assert!(!remote.at.is_mounted());
    let fuse = remote.run(args!["mount", "--root-hash", root, url, remote.at.path()]);
    assert!(complaint(&fuse).contains("by FUSE: the kernel's driver verifies nothing"));
    assert!(remote.compare(true) > 0, "no file had the byte");
}

#[test]
fn what_no_cache_keeps_is_mounted_by_fuse() {
    let Some(remote) = Remote::new(1) else { return };
    let web = remote.serve(Duration::ZERO);
    let url = web.url("image.erofs");
    let fuse = remote.run(args!["mount", "--no-cache", url, remote.at.path()]);
    assert!(complaint(&fuse).ends_with("by FUSE: no cache keeps it"));
    assert_shows(&remote.at, &remote.sample);
}
