//! Object stores of other projects, where they are installed.

use lith_device::ReadAt;
use lith_remote::{AzureAccount, Options, RemoteDevice, RemoteError, S3Account};
use lith_testkit::{azure::Azurite, s3::Gateway};

use super::{hasty, object, read, reason};

const MIB: usize = 1 << 20;

/// An object is read by these options, not by the others, and refused as soon as it is replaced.
fn is_read_as_it_was_opened(at: &str, right: &Options, wrong: &[Options], store: impl Fn(&[u8])) {
    let bytes = object(3 * MIB + 5);
    store(&bytes);
    let device = RemoteDevice::open(at, right).unwrap();
    assert_eq!(device.size(), bytes.len() as u64);
    for (start, length) in [(0, 10), (MIB - 3, 70_000), (3 * MIB, 5), (0, bytes.len())] {
        assert_eq!(
            read(&device, start, length).unwrap(),
            bytes.get(start..start + length).unwrap()
        );
    }
    for wrong in wrong {
        let error = RemoteDevice::open(at, wrong).unwrap_err();
        assert!(matches!(error, RemoteError::Refused { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("403") || text.contains("404") || text.contains("409"), "{text}");
        assert!(!text.to_lowercase().contains("sig"), "{text}");
    }
    let error = RemoteDevice::open(&format!("{at}.missing"), right).unwrap_err();
    assert!(error.to_string().contains("404"), "{error}");
    let device = RemoteDevice::open(at, right).unwrap();
    assert_eq!(read(&device, 0, 10).unwrap(), bytes.get(..10).unwrap());
    // As many bytes, of which all are other ones.
    let other: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
    store(&other);
    let error = reason(read(&device, 2 * MIB, 10).unwrap_err());
    assert!(matches!(error, RemoteError::Changed { .. }), "{error}");
    let device = RemoteDevice::open(at, right).unwrap();
    assert_eq!(read(&device, 2 * MIB, 10).unwrap(), other.get(2 * MIB..2 * MIB + 10).unwrap());
}

#[test]
fn azurite_gives_objects_to_who_has_the_key() {
    let folder = tempfile::tempdir().unwrap();
    let Some(azurite) = Azurite::start(folder.path()) else { return };
    azurite.make_container("box");
    let options = |change: fn(&mut AzureAccount)| {
        let mut options = hasty();
        options.azure = AzureAccount::with(|own| {
            own.name = Some(Azurite::ACCOUNT.to_owned());
            own.endpoint = Some(azurite.endpoint());
            own.key = Some(azurite.key());
            change(own);
        });
        options
    };
    let wrong = [
        options(|own| own.key = Some("b3RoZXI=".to_owned())),
        options(|own| own.key = None),
        options(|own| {
            own.key = None;
            own.signature =
                Some("sv=2021-12-02&sr=b&sp=r&se=2999-01-01T00%3A00%3A00Z&sig=AAAA".into());
        }),
    ];
    let (at, path) = ("az://box/a b/x+y~é.erofs", "box/a%20b/x%2By~%C3%A9.erofs");
    is_read_as_it_was_opened(at, &options(|_own| ()), &wrong, |bytes| azurite.store(path, bytes));
    // A token for all of the container, as `az storage container generate-sas` prints it.
    let mut with_token = options(|own| own.key = None);
    with_token.azure.signature = Some(azurite.token("box"));
    let device = RemoteDevice::open(at, &with_token).unwrap();
    assert_eq!(device.size(), 3 * MIB as u64 + 5);
    azurite.make_container("other");
    azurite.store("other/x", b"bytes");
    let error = RemoteDevice::open("az://other/x", &with_token).unwrap_err();
    assert!(matches!(error, RemoteError::Refused { .. }), "{error}");
}

#[test]
fn the_gateway_of_versity_gives_objects_to_who_has_the_secret() {
    let folder = tempfile::tempdir().unwrap();
    let Some(gateway) = Gateway::start(folder.path()) else { return };
    gateway.make_bucket("my.box");
    let account = gateway.account();
    let options = |change: fn(&mut S3Account)| {
        let mut options = hasty();
        options.s3 = S3Account::with(|own| {
            own.endpoint = Some(gateway.endpoint());
            own.region = Some(account.region.clone());
            own.key = Some((account.id.clone(), account.secret.clone()));
            change(own);
        });
        options
    };
    let wrong = [
        options(|own| own.key = Some(("AKID".to_owned(), "other".to_owned()))),
        options(|own| own.key = Some(("OTHER".to_owned(), "se/cr+et".to_owned()))),
        options(|own| own.key = None),
    ];
    let (at, path) = ("s3://my.box/a b/x+y~é.erofs", "my.box/a%20b/x%2By~%C3%A9.erofs");
    is_read_as_it_was_opened(at, &options(|_own| ()), &wrong, |bytes| gateway.store(path, bytes));
    let elsewhere =
        RemoteDevice::open(at, &options(|own| own.region = Some("us-west-2".to_owned())));
    assert!(matches!(
        elsewhere.unwrap_err(),
        RemoteError::Region { .. } | RemoteError::Refused { .. }
    ));
}
