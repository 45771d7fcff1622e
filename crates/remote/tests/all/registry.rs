//! Registries: what is sent and fetched, who sees logins and tokens.

use std::{
    fs,
    io::{self, Read},
    path::Path,
};

use lith_device::ReadAt;
use lith_remote::{
    Artifact, Layer, Options, Reference, Registry, RemoteDevice, RemoteError, Upload, sha256_of,
};
use lith_testkit::{
    registry::{self, Demand, digest},
    web::{Reply, Web},
};

use super::{hasty, object, read};

const MIB: usize = 1 << 20;
/// `me:secret`.
const LOGIN: &str = "Basic bWU6c2VjcmV0";

pub(super) fn reference(registry: &registry::Registry) -> Reference {
    Reference::parse(&format!("oci://{}/box:1", registry.host())).unwrap()
}

/// Options with a file of logins for a host.
fn with_login(folder: &Path, host: &str) -> Options {
    let file = folder.join("auth.json");
    fs::write(&file, format!(r#"{{"auths": {{"{host}": {{"auth": "bWU6c2VjcmV0"}}}}}}"#)).unwrap();
    let mut options = hasty();
    options.logins = vec![file];
    options
}

pub(super) fn upload(registry: &Registry, bytes: &[u8]) -> Result<Upload, RemoteError> {
    let (digest, size) = sha256_of(bytes).unwrap();
    let from = |start: u64| bytes.split_at(usize::try_from(start).unwrap()).1;
    registry.upload((&digest, size), &|start| Ok(Box::new(from(start))))
}

/// Sends an image with a device.
fn push(registry: &Registry, image: &[u8], device: &[u8]) -> Result<String, RemoteError> {
    let layer = |bytes: &[u8]| Layer::image(digest(bytes), bytes.len() as u64);
    let artifact = Artifact::new(layer(image).named("x"), vec![layer(device).as_device("base")]);
    let config = artifact.config(None).unwrap();
    for bytes in [&config, image, device] {
        upload(registry, bytes)?;
    }
    let manifest = artifact.manifest((&digest(&config), config.len() as u64)).unwrap();
    registry.put_manifest(&manifest)
}

fn contents(mut reader: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).map(|_| bytes)
}

/// Sends and fetches, and returns the client's end.
fn there_and_back(server: &registry::Registry, options: &Options) -> Registry {
    let (image, device) = (object(2 * MIB + 5), object(MIB));
    let registry = Registry::open_for_sending(&reference(server), options).unwrap();
    let sent = push(&registry, &image, &device).unwrap();
    let registry = Registry::open(&reference(server), options).unwrap();
    assert_eq!(registry.document().unwrap().digest, sent);
    let artifact = registry.artifact().unwrap();
    assert_eq!(artifact.devices.first().unwrap().name(), Some("base"));
    for (layer, expected) in artifact.layers().zip([&device, &image]) {
        let found = registry.verified(&layer.digest, layer.size).unwrap();
        assert_eq!(contents(found).unwrap(), *expected);
    }
    registry
}

#[test]
fn what_is_sent_is_there_and_not_sent_again() {
    let server = registry::Registry::start(Demand::Nothing);
    let registry = there_and_back(&server, &hasty());
    let before = server.requests().len();
    let registry = Registry::open_for_sending(&reference(&server), &hasty())
        .map(|new| (new, registry))
        .unwrap()
        .0;
    push(&registry, &object(2 * MIB + 5), &object(MIB)).unwrap();
    let again: Vec<_> =
        server.requests().into_iter().skip(before).map(|request| request.method).collect();
    assert_eq!(again, ["HEAD", "HEAD", "HEAD", "PUT"], "only the manifest is sent");
}

#[test]
fn an_image_in_a_registry_is_read_by_ranges() {
    let server = registry::Registry::start(Demand::Token(None));
    let (image, device) = (object(32 * MIB), object(MIB));
    push(&Registry::open_for_sending(&reference(&server), &hasty()).unwrap(), &image, &device)
        .unwrap();
    let name = reference(&server).to_string();
    let folder = tempfile::tempdir().unwrap();
    let mut options = hasty();
    options.cache = Some(lith_remote::Cache::new(folder.path().to_owned(), 1 << 30));
    let opened = RemoteDevice::open(&name, &options).unwrap();
    assert_eq!(opened.size(), image.len() as u64);
    assert_eq!(read(&opened, 20 * MIB, 5000).unwrap(), image[20 * MIB..20 * MIB + 5000]);
    assert!(opened.traffic().bytes <= 256 << 10, "{:?}", opened.traffic());
    drop(opened);
    // The digest is the version, so no request compares it.
    let again = RemoteDevice::open(&name, &options).unwrap();
    assert_eq!(read(&again, 20 * MIB, 5000).unwrap(), image[20 * MIB..20 * MIB + 5000]);
    assert_eq!(again.traffic().requests, 0);
}

#[test]
fn what_was_opened_is_read_on_after_its_name_is_that_of_another_image() {
    let server = registry::Registry::start(Demand::Token(None));
    let registry = Registry::open_for_sending(&reference(&server), &hasty()).unwrap();
    let (image, device) = (object(8 * MIB), object(MIB));
    push(&registry, &image, &device).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut options = hasty();
    options.cache = Some(lith_remote::Cache::new(folder.path().to_owned(), 1 << 30));
    let name = reference(&server).to_string();
    let first = RemoteDevice::open(&name, &options).unwrap();
    read(&first, 0, 5000).unwrap();
    // Registries remove manifests without a tag, and blobs only later.
    server.change(|held| held.manifests.clear());
    push(&registry, &object(8 * MIB + 1)[1..], &device).unwrap();
    let resumed = RemoteDevice::resume(&name, &hasty(), first.kept().unwrap()).unwrap();
    let version = first.version().to_string().parse().unwrap();
    let elsewhere = RemoteDevice::open_version(&name, &version, &hasty()).unwrap();
    for (device, at) in [(resumed, 4 * MIB), (elsewhere, 5 * MIB), (first, 6 * MIB)] {
        assert_eq!(device.size(), image.len() as u64);
        assert_eq!(read(&device, at, 5000).unwrap(), image[at..at + 5000]);
    }
    let moved = RemoteDevice::open(&name, &options).unwrap();
    assert_eq!(read(&moved, 4 * MIB, 5000).unwrap(), object(5 * MIB)[4 * MIB + 1..][..5000]);
}

#[test]
fn logins_are_for_who_demands_them() {
    let folder = tempfile::tempdir().unwrap();
    for demand in [Demand::Basic(LOGIN.to_owned()), Demand::Token(Some(LOGIN.to_owned()))] {
        let server = registry::Registry::start(demand.clone());
        let options = with_login(folder.path(), &server.host());
        let registry = there_and_back(&server, &options);
        assert!(!format!("{registry:?}").contains("secret"));
        assert!(!format!("{registry:?}{options:?}").contains("token-0"));
        // Without the login nothing is possible, and the error says by whom.
        let error = Registry::open(&reference(&server), &hasty()).unwrap().document().unwrap_err();
        assert!(
            matches!(&error, RemoteError::Refused { status, .. } if status.starts_with("401")),
            "{error}"
        );
        let is_login =
            |request: &lith_testkit::web::Request| request.header("authorization") == Some(LOGIN);
        if matches!(demand, Demand::Token(_)) {
            let seen = server.requests();
            assert!(
                seen.iter()
                    .filter(|request| is_login(request))
                    .all(|request| request.path.starts_with("/token"))
            );
        }
    }
}

#[test]
fn a_token_that_has_ended_is_replaced() {
    let server = registry::Registry::start(Demand::Token(None));
    let image = object(8 * MIB);
    push(&Registry::open_for_sending(&reference(&server), &hasty()).unwrap(), &image, b"x")
        .unwrap();
    let opened = RemoteDevice::open(&reference(&server).to_string(), &hasty()).unwrap();
    for at in [MIB, 3 * MIB, 6 * MIB] {
        server.change(|held| held.epoch += 1);
        assert_eq!(read(&opened, at, 100).unwrap(), image[at..at + 100]);
    }
}

#[test]
fn credentials_do_not_follow_blobs_that_are_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let server = registry::Registry::start(Demand::Basic(LOGIN.to_owned()));
    let options = with_login(folder.path(), &server.host());
    let image = object(MIB);
    push(&Registry::open_for_sending(&reference(&server), &options).unwrap(), &image, b"x")
        .unwrap();
    let blob = image.clone();
    // A store whose version has nothing to do with the digest, and that supports no conditional requests.
    let store = Web::start(move |request| match request.header("if-match") {
        None => Reply::of(request, &blob, "\"other\""),
        Some(_) => Reply::status(412),
    });
    server.change(|held| held.blobs_elsewhere = Some(store.url("signed?digest=")));
    let opened = RemoteDevice::open(&reference(&server).to_string(), &options).unwrap();
    assert_eq!(read(&opened, 0, MIB).unwrap(), image);
    assert!(!store.requests().is_empty());
    assert!(store.requests().iter().all(|request| request.header("authorization").is_none()));
}

#[test]
fn what_has_another_digest_is_refused() {
    let server = registry::Registry::start(Demand::Nothing);
    let image = object(MIB);
    let registry = Registry::open_for_sending(&reference(&server), &hasty()).unwrap();
    let sent = push(&registry, &image, b"x").unwrap();
    let digest = digest(&image);
    server.change(|held| held.blobs.get_mut(&digest).unwrap()[MIB / 2] ^= 1);
    let error = contents(registry.verified(&digest, MIB as u64).unwrap()).unwrap_err();
    assert!(error.to_string().contains(&digest), "{error}");
    let by_digest = format!("oci://{}/box@{sent}", server.host());
    let by_digest = Registry::open(&Reference::parse(&by_digest).unwrap(), &hasty()).unwrap();
    assert!(by_digest.artifact().is_ok());
    server.change(|held| held.manifests.values_mut().for_each(|(_, bytes)| bytes.push(b' ')));
    let error = by_digest.artifact().unwrap_err();
    assert!(matches!(error, RemoteError::Mismatch { .. }), "{error}");
    // A blob of another length than the manifest says.
    server.change(|held| held.blobs.get_mut(&digest).unwrap().truncate(MIB - 1));
    assert!(contents(registry.verified(&digest, MIB as u64).unwrap()).is_err());
    let missing = Registry::open(
        &Reference::parse(&format!("oci://{}/none:1", server.host())).unwrap(),
        &hasty(),
    );
    assert!(matches!(missing.unwrap().artifact(), Err(RemoteError::Refused { .. })));
}
