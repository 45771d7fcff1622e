//! Tests images in object stores of other projects, where those are installed: all that reads an image, and `lith mount`.

use std::{ffi::OsString, fs, path::Path, process::Output};

use lith_testkit::{azure::Azurite, s3::Gateway};

use super::{
    args,
    mount::{self, MountPoint, assert_shows},
    registry,
    sample::{Sample, complaint},
};

/// Variables and their values.
type Environment<'a> = Vec<(&'a str, String)>;

fn run(
    sample: &Sample,
    environment: &Environment,
    args: impl IntoIterator<Item = OsString>,
) -> Output {
    let mut command = registry::program(sample);
    command.env_remove("AWS_ACCESS_KEY_ID").env_remove("AZURE_STORAGE_KEY");
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    command.args(args).output().unwrap()
}

/// An image in a store is read as the same image in a file, and by none with the wrong secret.
fn is_read_by_all_verbs(
    (sample, image): (&Sample, &Path),
    address: &str,
    [right, wrong]: [&Environment; 2],
) {
    let read = |verb: &[&str], place: &str| {
        let words = verb.iter().map(|word| if *word == "IMAGE" { place } else { word });
        let output = run(sample, right, words.map(OsString::from));
        let text = String::from_utf8_lossy(&output.stderr).replace(place, "IMAGE");
        let printed = String::from_utf8_lossy(&output.stdout).replace(place, "IMAGE");
        (output.status.code(), text, printed)
    };
    for verb in [
        &["ls", "-lR", "IMAGE"][..],
        &["cat", "--no-cache", "IMAGE", "/hello", "/sub/noise"],
        &["stat", "IMAGE", "/sub/large"],
        &["info", "--all", "--json", "IMAGE"],
        &["check", "--no-cache", "IMAGE"],
        &["tar", "IMAGE"],
        &["dump", "IMAGE"],
    ] {
        let expected = read(verb, image.to_str().unwrap());
        assert_eq!(expected.0, Some(0), "{verb:?}: {}", expected.1);
        assert_eq!(read(verb, address), expected, "{verb:?}");
    }
    let [copy, built] = ["copy", "built.erofs"].map(|name| sample.path(name));
    for args in [
        Vec::from(args!["extract", "-q", "-C", copy, address]),
        Vec::from(args!["build", "-q", address, built]),
    ] {
        let output = run(sample, right, args);
        assert!(output.status.success(), "{output:?}");
    }
    for found in [&copy, &built] {
        let output = run(sample, right, args!["diff", sample.src(), found]);
        assert_eq!((output.status.code(), output.stdout), (Some(0), Vec::new()));
    }
    let refused = run(sample, wrong, args!["cat", "--no-cache", address, "/hello"]);
    let text = complaint(&refused);
    assert!(refused.stdout.is_empty() && text.contains("403"), "{text}");
    assert!(
        wrong.iter().all(|(name, value)| !name.ends_with("KEY") || !text.contains(value)),
        "{text}"
    );
    if mount::is_there() {
        let at = MountPoint::new(sample);
        let output = run(sample, right, args!["mount", "--fuse", address, at.path()]);
        assert!(output.status.success(), "{output:?}");
        assert_shows(&at, sample);
    }
}

#[test]
fn an_image_in_azurite_is_read_by_all_verbs() {
    let (sample, image) = Sample::built();
    let folder = sample.path("store");
    fs::create_dir(&folder).unwrap();
    let Some(azurite) = Azurite::start(&folder) else { return };
    azurite.make_container("box");
    azurite.store("box/a/image.erofs", &fs::read(&image).unwrap());
    let environment = |key: String| {
        let account = ("AZURE_STORAGE_ACCOUNT", Azurite::ACCOUNT.to_owned());
        vec![account, ("AZURE_STORAGE_ENDPOINT", azurite.endpoint()), ("AZURE_STORAGE_KEY", key)]
    };
    let address = "az://box/a/image.erofs";
    let wrong = environment("b3RoZXI=".to_owned());
    is_read_by_all_verbs((&sample, &image), address, [&environment(azurite.key()), &wrong]);
    let connection = format!(
        "DefaultEndpointsProtocol=http;AccountName={};AccountKey={};BlobEndpoint={};",
        Azurite::ACCOUNT,
        azurite.key(),
        azurite.endpoint()
    );
    let token = vec![
        ("AZURE_STORAGE_SAS_TOKEN", azurite.token("box")),
        ("AZURE_STORAGE_ENDPOINT", azurite.endpoint()),
    ];
    for environment in [vec![("AZURE_STORAGE_CONNECTION_STRING", connection)], token] {
        let output = run(&sample, &environment, args!["cat", "--no-cache", address, "/hello"]);
        assert_eq!(output.stdout, b"hello, world\n", "{output:?}");
    }
}

#[test]
fn an_image_in_the_gateway_of_versity_is_read_by_all_verbs() {
    let (sample, image) = Sample::built();
    let folder = sample.path("store");
    fs::create_dir(&folder).unwrap();
    let Some(gateway) = Gateway::start(&folder) else { return };
    gateway.make_bucket("bucket");
    gateway.store("bucket/a/image.erofs", &fs::read(&image).unwrap());
    let account = gateway.account();
    let environment = |secret: &str| {
        vec![
            ("AWS_ENDPOINT_URL", gateway.endpoint()),
            ("AWS_REGION", account.region.clone()),
            ("AWS_ACCESS_KEY_ID", account.id.clone()),
            ("AWS_SECRET_ACCESS_KEY", secret.to_owned()),
        ]
    };
    let [right, wrong] = [&account.secret, "other"].map(environment);
    is_read_by_all_verbs((&sample, &image), "s3://bucket/a/image.erofs", [&right, &wrong]);
}
