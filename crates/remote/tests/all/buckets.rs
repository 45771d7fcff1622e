//! Buckets of S3, and containers of Azure.

use lith_remote::{AzureAccount, Options, RemoteDevice, RemoteError, S3Account};
use lith_testkit::{
    azure,
    s3::{self, Account},
    web::{Reply, Web},
};

use super::{hasty, object, read, reason};

const MIB: usize = 1 << 20;

fn account(token: Option<&str>) -> Account {
    Account {
        id: "AKID".to_owned(),
        secret: "se/cr+et".to_owned(),
        token: token.map(str::to_owned),
        region: "eu-west-3".to_owned(),
    }
}

fn options(web: &Web, account: Option<&Account>) -> Options {
    let mut options = hasty();
    options.s3 = S3Account::with(|own| {
        own.endpoint = Some(web.url("").trim_end_matches('/').to_owned());
        own.region = Some("eu-west-3".to_owned());
        own.key = account.map(|account| (account.id.clone(), account.secret.clone()));
        own.token = account.and_then(|account| account.token.clone());
    });
    options
}

#[test]
fn each_request_is_signed() {
    let bytes = object(3 * MIB);
    for token in [None, Some("tok")] {
        let account = account(token);
        let web = s3::serve("/bucket/a%20b/x%2By.erofs", bytes.clone(), Some(account.clone()));
        let device =
            RemoteDevice::open("s3://bucket/a b/x+y.erofs", &options(&web, Some(&account)))
                .unwrap();
        assert_eq!(read(&device, 0, bytes.len()).unwrap(), bytes);
        let requests = web.requests();
        assert!(
            requests.len() > 1
                && requests[1..].iter().all(|request| request.header("if-match").is_some())
        );
        assert!(requests.iter().all(|request| !request.path.contains("cr")), "no secret is sent");
        let mut wrong = account.clone();
        wrong.secret.push('x');
        let error = RemoteDevice::open("s3://bucket/a b/x+y.erofs", &options(&web, Some(&wrong)))
            .unwrap_err();
        assert!(matches!(error, RemoteError::Refused { .. }), "{error}");
        assert!(!error.to_string().contains("X-Amz"), "{error}");
        assert!(RemoteDevice::open("s3://bucket/a b/x+y.erofs", &options(&web, None)).is_err());
    }
    let open = s3::serve("/bucket/x", bytes.clone(), None);
    let device = RemoteDevice::open("s3://bucket/x", &options(&open, None)).unwrap();
    assert_eq!(read(&device, MIB, 10).unwrap(), bytes[MIB..MIB + 10]);
    assert!(open.requests().iter().all(|request| request.path == "/bucket/x"));
}

#[test]
fn each_request_to_a_container_is_signed() {
    let (bytes, at) = (object(3 * MIB), "az://box/a b/x+y.erofs");
    let key = b"the key".to_vec();
    let web = azure::serve("/acct/box/a%20b/x%2By.erofs", bytes.clone(), Some(key));
    let options = |key: Option<&str>| {
        let mut options = hasty();
        options.azure = AzureAccount::with(|own| {
            own.name = Some("acct".to_owned());
            own.endpoint = Some(web.url("acct"));
            own.key = key.map(str::to_owned);
        });
        options
    };
    // `the key` in Base64.
    let device = RemoteDevice::open(at, &options(Some("dGhlIGtleQ=="))).unwrap();
    assert_eq!(read(&device, 0, bytes.len()).unwrap(), bytes);
    let requests = web.requests();
    assert!(requests.len() > 1 && requests.iter().all(|request| request.path.contains("&sig=")));
    assert!(requests[1..].iter().all(|request| request.header("if-match") == Some("\"0x8D\"")));
    for wrong in [Some("b3RoZXI="), None] {
        let error = RemoteDevice::open(at, &options(wrong)).unwrap_err();
        assert!(matches!(error, RemoteError::Refused { .. }), "{error}");
        assert!(!error.to_string().contains("sig"), "{error}");
    }
    let given = requests[0].path.split_once('?').unwrap().1.to_owned();
    let mut with_given = options(None);
    with_given.azure.signature = Some(given);
    let device = RemoteDevice::open(at, &with_given).unwrap();
    assert_eq!(read(&device, MIB, 10).unwrap(), bytes[MIB..MIB + 10]);
}

#[test]
fn an_object_that_changes_is_refused() {
    let bytes = object(3 * MIB);
    let served = std::sync::atomic::AtomicUsize::new(0);
    let web = Web::start(move |request| {
        let count = served.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Reply::of(request, &bytes, if count == 0 { "\"1\"" } else { "\"2\"" })
    });
    let device = RemoteDevice::open("s3://bucket/x", &options(&web, Some(&account(None)))).unwrap();
    let error = reason(read(&device, 2 * MIB, 10).unwrap_err());
    assert!(matches!(error, RemoteError::Changed { .. }), "{error}");
}

#[test]
fn a_bucket_in_another_region_is_named() {
    let web = Web::start(|_| Reply::status(301).with("x-amz-bucket-region", "us-west-2"));
    let error = RemoteDevice::open("s3://bucket/x", &options(&web, None)).unwrap_err();
    assert!(error.to_string().contains("AWS_REGION=us-west-2"), "{error}");
}
