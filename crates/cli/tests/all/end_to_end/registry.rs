//! Tests registries and buckets: `lith push`, `lith pull`, and reading and building from there.

use std::{
    ffi::OsString,
    fs,
    path::Path,
    process::{Command, Output, Stdio},
    sync::atomic::{AtomicBool, Ordering},
};

use lith_testkit::{
    registry::{Demand, RealRegistry, Registry, digest},
    s3::{self, Account},
    web::{Reply, Web},
};
use serde_json::{Value, json};

use super::{
    args,
    mount::{self, MountPoint, assert_shows},
    sample::{Sample, command, complaint, printed as made},
    schema::assert_conform,
};

/// `me:secret`.
const LOGIN: &str = "Basic bWU6c2VjcmV0";

/// The program with a cache and logins of the sample's own.
pub(super) fn program(sample: &Sample) -> Command {
    let mut command = command();
    command.env("XDG_CACHE_HOME", sample.path("caches"));
    command.env("REGISTRY_AUTH_FILE", sample.path("auth.json"));
    for name in ["AWS_PROFILE", "AWS_ENDPOINT_URL_S3", "AWS_SESSION_TOKEN"] {
        command.env_remove(name);
    }
    command.env("HOME", sample.path("home"));
    command
}

pub(super) fn run(sample: &Sample, args: impl IntoIterator<Item = OsString>) -> Output {
    program(sample).args(args).output().unwrap()
}

/// As [`run`]; it must succeed without messages.
pub(super) fn printed(sample: &Sample, args: impl IntoIterator<Item = OsString>) -> String {
    let output = run(sample, args);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

/// Sends an image and its patch to a registry, reads both there and fetches both.
/// The one record that is printed, which conforms to a schema.
fn record(schema: &str, sample: &Sample, args: impl IntoIterator<Item = OsString>) -> Value {
    let record = serde_json::from_str(&printed(sample, args)).unwrap();
    assert_conform(schema, std::slice::from_ref(&record));
    record
}

fn there_and_back(sample: &Sample, host: &str) {
    let (base, patch) = (sample.path("base.erofs"), sample.path("patch.erofs"));
    made(args!["build", "-q", "-E", "^fragments", "--verity", sample.src(), base]);
    fs::write(sample.src().join("new"), "new\n").unwrap();
    made(args!["build", "-q", "--base", base, sample.src(), patch]);
    let (one, two) = (format!("oci://{host}/box:1"), format!("oci://{host}/box:2"));
    let sent = printed(sample, args!["push", base, one]);
    assert!(sent.starts_with(&format!("oci://{host}/box@sha256:")), "{sent}");
    assert!(sent.contains("in 1 file\n") && sent.contains("present  0 bytes"), "{sent}");
    let again = record("push", sample, args!["push", "--json", base, one]);
    let at = |path| again.pointer(path).unwrap();
    assert_eq!(at("/reference"), sent.lines().next().unwrap());
    assert_eq!(*at("/present/bytes"), fs::metadata(&base).unwrap().len());
    // The base is there already.
    let sent = printed(sample, args!["push", patch, two]);
    let mut lines = sent.lines();
    let by_digest = lines.next().unwrap();
    assert!(lines.clone().count() == 2 && lines.all(|line| line.ends_with("in 1 file")), "{sent}");
    assert_eq!(printed(sample, args!["cat", by_digest, "/new"]), "new\n");
    assert_eq!(printed(sample, args!["diff", sample.src(), two]), "");
    assert_eq!(printed(sample, args!["cat", one, "/hello"]), "hello, world\n");
    assert_eq!(run(sample, args!["cat", one, "/new"]).status.code(), Some(1));
    let folder = sample.path("fetched");
    fs::create_dir(&folder).unwrap();
    let image = folder.join("image.erofs");
    let fetched = printed(sample, args!["pull", two, image]);
    assert_eq!(fetched.lines().count(), 2, "{fetched}");
    assert_eq!(fs::read(&image).unwrap(), fs::read(&patch).unwrap());
    assert_eq!(fs::read(folder.join("base.erofs")).unwrap(), fs::read(&base).unwrap());
    assert_eq!(printed(sample, args!["diff", sample.src(), image]), "");
    // Again nothing is fetched, and what is other isn't replaced.
    let again = printed(sample, args!["pull", two, image]);
    assert!(again.lines().all(|line| line.ends_with("was there")), "{again}");
    let again = record("pull", sample, args!["pull", "--json", two, image]);
    let at = |path| again.pointer(path).unwrap();
    let files = at("/files").as_array().unwrap();
    assert!(
        files.len() == 2 && files.iter().all(|file| file.get("fetched") == Some(&json!(0))),
        "{again}"
    );
    assert_eq!(at("/files/1/path"), at("/image"));
    fs::write(folder.join("base.erofs"), "mine").unwrap();
    let refused = run(sample, args!["pull", two, image]);
    assert!(complaint(&refused).ends_with("is another file, and not replaced without --force"));
    assert_eq!(fs::read(folder.join("base.erofs")).unwrap(), b"mine");
    printed(sample, args!["pull", "-q", "--force", two, image]);
    assert_eq!(fs::read(folder.join("base.erofs")).unwrap(), fs::read(&base).unwrap());
    fs::write(folder.join("text"), "text").unwrap();
    let refused = run(sample, args!["pull", one, folder.join("text")]);
    assert!(complaint(&refused).contains("is no EROFS image"));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 3, "no temporary file is left");
}

#[test]
fn images_and_their_bases_go_to_a_registry_and_back() {
    let (sample, server) = (Sample::new(), Registry::start(Demand::Token(None)));
    there_and_back(&sample, &server.host());
    let manifests = server.change(|held| held.manifests.clone());
    let manifest: Value = serde_json::from_slice(&manifests["box:1"].1).unwrap();
    let annotations = &manifest["layers"][0]["annotations"];
    assert_eq!(manifest["layers"][0]["mediaType"], "application/vnd.erofs");
    let root = annotations["org.erofs.dmverity.root_digest"].as_str().unwrap();
    let root = root.trim_start_matches("sha256:");
    let one = format!("oci://{}/box:1", server.host());
    let verified = printed(&sample, args!["cat", "--root-hash", root, one, "/hello"]);
    assert_eq!(verified, "hello, world\n");
}

#[test]
fn the_registry_of_distribution_takes_and_gives_images() {
    let sample = Sample::new();
    let folder = sample.path("data");
    fs::create_dir(&folder).unwrap();
    let Some(server) = RealRegistry::start(&folder) else { return };
    there_and_back(&sample, &server.host);
}

#[test]
fn an_image_in_a_registry_is_mounted_by_fuse() {
    if !mount::is_there() {
        return;
    }
    for demand in [Demand::Nothing, Demand::Token(Some(LOGIN.to_owned()))] {
        let ((sample, image), server) = (Sample::built(), Registry::start(demand));
        log_in(&sample, &server);
        let name = format!("oci://{}/box:1", server.host());
        printed(&sample, args!["push", "-q", image, name]);
        let at = MountPoint::new(&sample);
        assert_eq!(printed(&sample, args!["mount", "--fuse", name, at.path()]), "");
        assert_shows(&at, &sample);
    }
}

#[test]
fn a_server_shows_what_was_opened_by_a_name_that_is_another_images_now() {
    if !mount::is_there() {
        return;
    }
    let (sample, image) = Sample::built();
    let store = Registry::start(Demand::Nothing);
    printed(&sample, args!["push", "-q", image, format!("oci://{}/box:1", store.host())]);
    let (empty, other) = (sample.path("empty"), sample.path("other.erofs"));
    fs::create_dir(&empty).unwrap();
    made(args!["build", "-q", empty, other]);
    printed(&sample, args!["push", "-q", other, format!("oci://{}/box:2", store.host())]);
    // The name is that of the second image as soon as it was looked up once.
    let (held, looked_up) = (store.change(|held| held.clone()), AtomicBool::new(false));
    let moving = Web::start(move |request| {
        let (folder, name) = request.path.rsplit_once('/').unwrap();
        if folder.ends_with("/blobs") {
            return Reply::of(request, &held.blobs[name], "\"1\"");
        }
        let is_second = name == "1" && looked_up.swap(true, Ordering::Relaxed);
        let (kind, bytes) = &held.manifests[&format!("box:{}", if is_second { "2" } else { name })];
        Reply::status(200).holding(kind, bytes.clone())
    });
    let name = moving.url("box:1").replace("http://", "oci://");
    let at = MountPoint::new(&sample);
    assert_eq!(printed(&sample, args!["mount", "--fuse", name, at.path()]), "");
    assert_shows(&at, &sample);
    assert_eq!(run(&sample, args!["cat", name, "/hello"]).status.code(), Some(1));
}

/// Writes the login for a registry.
fn log_in(sample: &Sample, server: &Registry) {
    let logins = json!({ "auths": { server.host(): { "auth": "bWU6c2VjcmV0" } } });
    fs::write(sample.path("auth.json"), logins.to_string()).unwrap();
}

#[test]
fn logins_are_used_and_never_printed() {
    let ((sample, image), server) =
        (Sample::built(), Registry::start(Demand::Token(Some(LOGIN.to_owned()))));
    let name = format!("oci://{}/box:1", server.host());
    let refused = run(&sample, args!["push", image, name]);
    assert!(complaint(&refused).contains("401"), "{refused:?}");
    log_in(&sample, &server);
    let mut all = vec![run(&sample, args!["push", image, name])];
    assert!(all[0].status.success(), "{:?}", all[0]);
    all.push(run(&sample, args!["ls", "-v", name]));
    all.push(run(&sample, args!["cat", name, "/missing"]));
    all.push(run(&sample, args!["pull", format!("{name}x"), sample.path("x")]));
    all.push(run(&sample, args!["pull", "oci://me:secret@127.0.0.1/x", sample.path("x")]));
    all.push(run(&sample, args!["ls", "docker://me:secret@127.0.0.1/x"]));
    all.push(run(&sample, args!["cache", "ls"]));
    fs::write(sample.path("auth.json"), "secret").unwrap();
    all.push(run(&sample, args!["ls", name]));
    for Output { stdout, stderr, .. } in all {
        for text in [stdout, stderr] {
            let text = String::from_utf8_lossy(&text);
            let is_clean =
                !text.contains("secret") && !text.contains("bWU6") && !text.contains("token-");
            assert!(is_clean, "{text}");
        }
    }
}

/// Puts a container image of two layers into a registry: its manifest's name is `box:1`.
pub(super) fn put_container(server: &Registry, layers: &[Vec<u8>], diff_ids: &[String]) {
    let blob =
        |bytes: &[u8]| json!({ "mediaType": "x/y", "digest": digest(bytes), "size": bytes.len() });
    let config = json!({
        "os": "linux", "architecture": "amd64", "config": { "Cmd": ["sh"] },
        "rootfs": { "type": "layers", "diff_ids": diff_ids },
    });
    let config = config.to_string().into_bytes();
    let all: Vec<_> = layers.iter().map(|layer| blob(layer)).collect();
    let manifest = json!({ "schemaVersion": 2, "config": blob(&config), "layers": all });
    server.change(|held| {
        for bytes in layers.iter().chain([&config]) {
            held.blobs.insert(digest(bytes), bytes.clone());
        }
        let kind = "application/vnd.oci.image.manifest.v1+json".to_owned();
        held.manifests.insert("box:1".to_owned(), (kind, manifest.to_string().into_bytes()));
    });
}

pub(super) fn tar_of(folder: &Path) -> Vec<u8> {
    let mut tar = Command::new("tar");
    tar.args(["--xattrs", "--format=pax", "-cf-", "-C"]).arg(folder).arg(".");
    tar.output().unwrap().stdout
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x"), bytes).unwrap();
    let mut gzip = Command::new("gzip");
    gzip.arg("-c").arg(folder.path().join("x")).stdin(Stdio::null()).output().unwrap().stdout
}

#[test]
fn a_container_image_of_a_registry_is_built_with_its_whiteouts() {
    let (sample, server) = (Sample::new(), Registry::start(Demand::Token(None)));
    let upper = sample.path("upper");
    fs::create_dir_all(upper.join("sub")).unwrap();
    fs::write(upper.join("sub/.wh.noise"), "").unwrap();
    fs::write(upper.join("added"), "added\n").unwrap();
    let tars = [tar_of(&sample.src()), tar_of(&upper)];
    let diff_ids = tars.each_ref().map(|tar| digest(tar));
    put_container(&server, &[gzip(&tars[0]), tars[1].clone()], &diff_ids);
    let (name, image) = (format!("docker://{}/box:1", server.host()), sample.path("box.erofs"));
    let config = sample.path("box.json");
    printed(
        &sample,
        args!["build", "-q", "--platform", "linux/amd64", "--config-file", config, name, image],
    );
    assert_eq!(printed(&sample, args!["cat", image, "/added"]), "added\n");
    assert_eq!(run(&sample, args!["stat", image, "/sub/noise"]).status.code(), Some(1));
    assert_eq!(printed(&sample, args!["diff", name, image]), "");
    assert_eq!(printed(&sample, args!["cat", name, "/hello"]), "hello, world\n");
    assert!(fs::read_to_string(&config).unwrap().contains("\"Cmd\""));
    // Each layer was fetched once for each of the three commands.
    let layer = format!("/v2/box/blobs/{}", diff_ids[1]);
    let fetched = server.requests().into_iter().filter(|request| request.path == layer);
    assert_eq!(fetched.filter(|request| request.header("authorization").is_some()).count(), 3);
    // One wrong byte, and there is no image.
    let at = tars[1].windows(6).position(|bytes| bytes == b"added\n").unwrap();
    server.change(|held| held.blobs.get_mut(&diff_ids[1]).unwrap()[at] ^= 1);
    let other = sample.path("other.erofs");
    let refused = run(&sample, args!["build", "-q", "--platform", "linux/amd64", name, other]);
    assert!(!refused.status.success() && !other.exists());
    assert!(complaint(&refused).contains(&diff_ids[1][7..]), "{refused:?}");
}

#[test]
fn a_bucket_is_read_mounted_and_built_from() {
    let (sample, image) = Sample::built();
    let account = Account {
        id: "AKID".to_owned(),
        secret: "topsecret".to_owned(),
        token: None,
        region: "us-east-1".to_owned(),
    };
    let web = s3::serve("/bucket/a/image.erofs", fs::read(&image).unwrap(), Some(account.clone()));
    let name = "s3://bucket/a/image.erofs";
    let own = |web: &Web, args: Vec<OsString>| {
        let mut command = program(&sample);
        command.env("AWS_ENDPOINT_URL", web.url("").trim_end_matches('/'));
        command.env("AWS_ACCESS_KEY_ID", "AKID").env("AWS_SECRET_ACCESS_KEY", "topsecret");
        command.args(args).output().unwrap()
    };
    let cat = own(&web, args!["cat", name, "/hello"].into());
    assert_eq!(cat.stdout, b"hello, world\n", "{cat:?}");
    let built = sample.path("built.erofs");
    let output = own(&web, args!["build", "-q", name, built].into());
    assert!(output.status.success(), "{output:?}");
    assert_eq!(printed(&sample, args!["diff", sample.src(), built]), "");
    let tar = s3::serve("/bucket/x.tar.gz", gzip(&tar_of(&sample.src())), Some(account));
    let output = own(&tar, args!["build", "-q", "--force", "s3://bucket/x.tar.gz", built].into());
    assert!(output.status.success(), "{output:?}");
    let listed = own(&tar, args!["cat", "s3://bucket/x.tar.gz", "/hello"].into());
    assert_eq!(listed.stdout, b"hello, world\n", "{listed:?}");
    // Without keys it is refused, by an error without a signature.
    let mut command = program(&sample);
    command.env("AWS_ENDPOINT_URL", web.url("").trim_end_matches('/'));
    command.env_remove("AWS_ACCESS_KEY_ID").args(args!["cat", "--no-cache", name, "/hello"]);
    assert!(complaint(&command.output().unwrap()).contains("403"));
    if mount::is_there() {
        let keys = "[default]\naws_access_key_id = AKID\naws_secret_access_key = topsecret\n";
        fs::write(sample.path("keys"), keys).unwrap();
        let at = MountPoint::new(&sample);
        let mut command = program(&sample);
        command.env("AWS_ENDPOINT_URL", web.url("").trim_end_matches('/'));
        command.env("AWS_SHARED_CREDENTIALS_FILE", sample.path("keys"));
        command.args(args!["mount", "--fuse", "--no-cache", name, at.path()]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_shows(&at, &sample);
    }
}

#[test]
fn sources_on_web_servers_are_built_as_they_arrive() {
    let sample = Sample::new();
    let (tar, image) = (gzip(&tar_of(&sample.src())), sample.path("x.erofs"));
    let web = Web::start(move |request| Reply::of(request, &tar, "\"1\""));
    let url = web.url("x.tar.gz?sig=secret");
    let built = run(&sample, args!["build", "-q", url, image]);
    assert_eq!(String::from_utf8_lossy(&built.stderr), "");
    assert_eq!(printed(&sample, args!["diff", "--ignore", "mtime", sample.src(), image]), "");
    let bad = Web::start(|request| Reply::of(request, b"text that is nothing", "\"1\""));
    let refused = run(&sample, args!["build", "-q", bad.url("x?sig=secret"), image]);
    assert!(!complaint(&refused).contains("secret"), "{refused:?}");
}
