//! Tests images on web servers: all verbs that read, the cache, `lith cache` and `lith mount`.

use std::{
    ffi::OsString,
    fs::{self, File},
    os::unix::fs::FileExt,
    path::Path,
    process::Output,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use lith_testkit::{
    golden,
    web::{Reply, Web},
};

use super::{
    args,
    mount::{self, MountPoint, assert_shows},
    sample::{Sample, command, complaint},
    schema::{assert_conform, lines},
};

/// Runs the program with a cache of the sample's own.
fn run(sample: &Sample, args: impl IntoIterator<Item = OsString>) -> Output {
    let mut command = command();
    command.env("XDG_CACHE_HOME", sample.path("caches")).args(args).output().unwrap()
}

/// As [`run`]; it must succeed without messages.
fn printed(sample: &Sample, args: impl IntoIterator<Item = OsString>) -> String {
    let output = run(sample, args);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

/// A server of the files in a folder.
fn serve(folder: &Path) -> Web {
    let folder = folder.to_owned();
    Web::start(move |request| match fs::read(folder.join(request.path.trim_start_matches('/'))) {
        Ok(bytes) => Reply::of(request, &bytes, "\"1\""),
        Err(_) => Reply::status(404),
    })
}

#[test]
fn an_image_that_changes_before_its_server_reads_it_is_not_mounted() {
    if !mount::is_there() {
        return;
    }
    let (sample, image) = Sample::built();
    let (bytes, answers) = (fs::read(image).unwrap(), AtomicU64::new(0));
    let web = Web::start(move |request| {
        let etag = if answers.fetch_add(1, Ordering::Relaxed) == 0 { "\"1\"" } else { "\"2\"" };
        Reply::of(request, &bytes, etag)
    });
    let (url, at) = (web.url("image.erofs"), MountPoint::new(&sample));
    let mounted = run(&sample, args!["mount", "--fuse", "--no-cache", url, at.path()]);
    assert!(complaint(&mounted).contains("has changed on"), "{mounted:?}");
    assert!(!at.is_mounted());
}

/// What a verb prints about an image, with the image's place replaced.
fn about(sample: &Sample, verb: &[&str], image: &str) -> (Option<i32>, String, String) {
    let words = verb.iter().map(|word| OsString::from(if *word == "IMAGE" { image } else { word }));
    let Output { status, stdout, stderr } = run(sample, words);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(image, "IMAGE");
    (status.code(), text(&stdout), text(&stderr))
}

#[test]
fn every_verb_reads_what_it_reads_of_a_file() {
    let (sample, folder) = (Sample::new(), golden::folder());
    let web = serve(&folder);
    for name in ["01-plain", "08-fragments", "36-zstd"] {
        let file = format!("{name}.erofs");
        let (local, remote) = (folder.join(&file), web.url(&file));
        for verb in [
            &["ls", "-lR", "IMAGE"][..],
            &["ls", "-R", "--no-cache", "IMAGE"],
            &["cat", "IMAGE", "/**"],
            &["stat", "IMAGE", "/"],
            &["info", "IMAGE"],
            &["info", "--all", "--json", "IMAGE"],
            &["dump", "IMAGE"],
            &["tar", "IMAGE"],
            &["check", "IMAGE"],
            &["report", "-o", "-", "--no-presets", "IMAGE"],
            &["cat", "IMAGE", "/missing"],
        ] {
            let expected = about(&sample, verb, local.to_str().unwrap());
            assert_eq!(about(&sample, verb, &remote), expected, "{name} {verb:?}");
        }
        let copy = sample.path(name);
        printed(&sample, args!["extract", "-q", "-C", copy, remote]);
        assert_eq!(printed(&sample, args!["diff", copy, remote]), "");
        assert_eq!(printed(&sample, args!["diff", remote, local]), "");
    }
}

#[test]
fn a_file_of_a_large_image_takes_few_bytes() {
    let sample = Sample::new();
    for number in 0..40_u8 {
        let bytes = (0..1_u32 << 20).map(|at| at.wrapping_mul(2_654_435_761).to_le_bytes()[3]);
        let noise: Vec<u8> = bytes.map(|byte| byte ^ number).collect();
        fs::write(sample.src().join(format!("noise{number}")), noise).unwrap();
    }
    let image = sample.path("image.erofs");
    printed(&sample, args!["build", "-q", "-z", "none", sample.src(), image]);
    assert!(image.metadata().unwrap().len() > 40 << 20);
    let web = serve(image.parent().unwrap());
    let url = web.url("image.erofs");
    assert_eq!(printed(&sample, args!["cat", url, "/hello"]), "hello, world\n");
    let fetched: usize = web.requests().iter().map(|request| request.range().unwrap().len()).sum();
    let requests = web.requests().len();
    // At 50 ms each, that is less than half a second.
    assert!(requests <= 6 && fetched <= 2 << 20, "{requests} requests, {fetched} bytes");
    printed(&sample, args!["cat", url, "/hello"]);
    let again = web.requests().len() - requests;
    assert_eq!(again, 1, "it is asked whether the image is still the same");
}

#[test]
fn a_hash_tree_covers_a_remote_image() {
    let sample = Sample::new();
    let image = sample.path("image.erofs");
    let made = printed(&sample, args!["build", "--json", "--verity", sample.src(), image]);
    let made: serde_json::Value = serde_json::from_str(&made).unwrap();
    let root = made.pointer("/verity/root_hash").unwrap().as_str().unwrap().to_owned();
    let web = serve(image.parent().unwrap());
    let cat = |root: &str, name: &str| {
        run(&sample, args!["cat", "--root-hash", root, web.url(name), "/hello"])
    };
    assert_eq!(cat(&root, "image.erofs").stdout, b"hello, world\n");
    assert_eq!(cat(&"0".repeat(64), "image.erofs").status.code(), Some(1));
}

#[test]
fn a_cache_serves_without_the_server_and_never_wrong_bytes() {
    let (sample, image) = Sample::built();
    let web = serve(image.parent().unwrap());
    let url = web.url("image.erofs");
    assert_eq!(printed(&sample, args!["diff", sample.src(), url]), "");
    assert_eq!(printed(&sample, args!["check", "-q", url]), "");
    let list = printed(&sample, args!["cache", "ls"]);
    assert!(list.starts_with(&url) && list.ends_with("complete\n"), "{list}");
    let records = |verb: &str| {
        let text = run(&sample, args!["cache", verb, "--json"]).stdout;
        lines(str::from_utf8(&text).unwrap())
    };
    let list = records("ls");
    assert_conform("cache-ls", &list);
    assert!(list[0]["present"] == list[0]["bytes"] && list[0]["address"] == url, "{list:?}");
    let verified = printed(&sample, args!["cache", "verify"]);
    assert!(verified.contains("all sound"), "{verified}");
    assert_conform("cache-verify", &records("verify"));
    web.stop();
    let offline = run(&sample, args!["cat", url, "/hello"]);
    assert_eq!(offline.stdout, b"hello, world\n");
    assert!(complaint(&offline).ends_with("reading what the cache has of it"));
    let elsewhere = run(&sample, args!["cat", "--no-cache", url, "/hello"]);
    assert_eq!(elsewhere.status.code(), Some(1));
    // A byte that changes on disk is found.
    let files = fs::read_dir(sample.path("caches/lith")).unwrap();
    let data =
        files.map(|file| file.unwrap().path()).find(|path| path.extension().unwrap() == "data");
    let data = File::options().write(true).open(data.unwrap()).unwrap();
    data.write_all_at(&[0x5a; 4096], 0).unwrap();
    assert_eq!(run(&sample, args!["cat", url, "/hello"]).status.code(), Some(1));
    let verified = run(&sample, args!["cache", "verify"]);
    assert_eq!(verified.status.code(), Some(1));
    assert_conform("cache-prune", &records("prune"));
    let left = printed(&sample, args!["cache", "prune", "--all"]);
    assert!(left.starts_with("1 image removed") && left.ends_with("; 0 bytes left\n"), "{left}");
    assert_eq!(printed(&sample, args!["cache", "ls"]), "");
}

#[test]
fn no_secret_is_printed() {
    let (sample, image) = Sample::built();
    let bytes = fs::read(image).unwrap();
    let web = Web::start(move |request| match request.header("authorization") {
        Some("Basic bWU6c2VjcmV0" | "Bearer secret") => Reply::of(request, &bytes, "\"1\""),
        _ => Reply::status(401),
    });
    let url = web.url("image.erofs?key=secret");
    let with_user = url.replace("http://", "http://me:secret@");
    assert_eq!(printed(&sample, args!["cat", with_user, "/hello"]), "hello, world\n");
    let mut command = command();
    command.env("LITH_HTTP_AUTHORIZATION", "Bearer secret").args(args!["check", "--no-cache", url]);
    let checked = command.output().unwrap();
    let mut all = vec![run(&sample, args!["cat", url, "/hello"]), checked];
    all.push(run(&sample, args!["cat", with_user, "/missing"]));
    all.push(run(&sample, args!["check", "--json", with_user]));
    all.push(run(&sample, args!["report", "-o-", with_user]));
    all.push(run(&sample, args!["mount", "--kernel", with_user, sample.src()]));
    let wrong = with_user.replace("secret@", "wrong-secret@");
    all.push(run(&sample, args!["cat", wrong, "/hello"]));
    all.push(run(&sample, args!["cache", "ls"]));
    for Output { stdout, stderr, .. } in all {
        for text in [stdout, stderr] {
            let text = String::from_utf8_lossy(&text);
            assert!(!text.contains("secret"), "{text}");
        }
    }
}

#[test]
fn a_remote_image_is_mounted_by_fuse() {
    if !mount::is_there() {
        return;
    }
    let (sample, image) = Sample::built();
    let bytes = fs::read(&image).unwrap();
    let is_changed = Arc::new(AtomicBool::new(false));
    let changed = Arc::clone(&is_changed);
    let web = Web::start(move |request| {
        let etag = if changed.load(Ordering::Relaxed) { "\"2\"" } else { "\"1\"" };
        Reply::of(request, &bytes, etag)
    });
    let url = web.url("image.erofs");
    let at = MountPoint::new(&sample);
    let cold = |words: [OsString; 4]| {
        let mut command = command();
        command.env("XDG_CACHE_HOME", sample.path("caches")).args(words).output().unwrap()
    };
    let mounted = cold(args!["mount", "--fuse", url, at.path()]);
    assert_eq!(String::from_utf8_lossy(&mounted.stderr), "");
    assert_shows(&at, &sample);
    let again = cold(args!["mount", "--fuse", url, at.path()]);
    assert!(complaint(&again).ends_with("is mounted there already"));
    // What is here stays readable, whatever the server has by now.
    is_changed.store(true, Ordering::Relaxed);
    assert_shows(&at, &sample);
}

#[test]
fn sources_are_read_from_a_server_that_sends_everything_or_nothing() {
    let (sample, image) = Sample::built();
    printed(&sample, args!["tar", "-o", sample.path("src.tar.zst"), image]);
    let folder = sample.path("");
    // As the server of Python's library does: it knows no ranges, and names no version.
    let web = Web::start(move |request| {
        match fs::read(folder.join(request.path.trim_start_matches('/'))) {
            Ok(body) => Reply::status(200).holding("application/octet-stream", body),
            Err(_) => Reply::status(404),
        }
    });
    for source in ["src.tar.zst", "image.erofs"] {
        let made = sample.path("made.erofs");
        printed(&sample, args!["build", "-q", "--force", web.url(source), made]);
        assert_eq!(printed(&sample, args!["diff", sample.src(), made]), "", "{source}");
        assert_eq!(printed(&sample, args!["diff", sample.src(), web.url(source)]), "", "{source}");
        let listed = printed(&sample, args!["ls", "-R", web.url(source)]);
        assert_eq!(listed, printed(&sample, args!["ls", "-R", image]), "{source}");
    }
    let missing = run(&sample, args!["build", "-q", web.url("none.tar"), sample.path("none")]);
    assert!(complaint(&missing).contains("404"), "{}", complaint(&missing));

    let cut = fs::read(sample.path("src.tar.zst")).unwrap();
    let web = Web::start(move |_request| {
        let length = (cut.len() + 1).to_string();
        let mut reply = Reply::status(200).holding("application/octet-stream", cut.clone());
        reply.cut = Some(cut.len());
        reply.with("content-length", &length)
    });
    let arguments = args!["build", "-q", web.url("src.tar.zst"), sample.path("cut.erofs")];
    let failed = run(&sample, arguments);
    assert_eq!(failed.status.code(), Some(1));
    assert!(!sample.path("cut.erofs").exists());
}
