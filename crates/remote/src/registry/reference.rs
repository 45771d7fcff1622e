//! Defines [`Reference`]: the name of an image in a registry.

use std::{fmt, net::IpAddr};

use crate::{Address, RemoteError, digest::is_digest};

/// The registry of images whose names have no host.
const DOCKER: &str = "docker.io";
/// The server of that registry.
const DOCKER_SERVER: &str = "registry-1.docker.io";

/// The name of an image in a registry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reference {
    /// The host, perhaps with a port.
    host: String,
    repository: String,
    /// The tag, or the digest.
    name: String,
}

/// Whether a text begins as a name in a registry does: `oci://` or `docker://`.
#[must_use]
pub fn is_reference(text: &[u8]) -> bool {
    let is_after =
        |scheme: &[u8]| text.strip_prefix(scheme).is_some_and(|rest| !rest.starts_with(b"/"));
    is_after(b"oci://") || is_after(b"docker://")
}

impl Reference {
    /// Parses `oci://HOST[:PORT]/REPOSITORY[:TAG][@DIGEST]`, or the same with `docker://`, where names without a host are those
    /// of Docker Hub.
    ///
    /// # Errors
    /// [`RemoteError::Address`] if it is none.
    pub fn parse(text: &str) -> Result<Self, RemoteError> {
        const FORM: RemoteError =
            RemoteError::Address("expected oci://HOST[:PORT]/REPOSITORY[:TAG][@sha256:DIGITS]");
        let (host, rest) = if let Some(rest) = text.strip_prefix("docker://") {
            of_docker(rest)
        } else {
            text.strip_prefix("oci://").and_then(|rest| rest.split_once('/')).ok_or(FORM)?
        };
        let (rest, digest) = match rest.split_once('@') {
            Some((rest, digest)) if is_digest(digest) => (rest, Some(digest)),
            Some(_) => return Err(FORM),
            None => (rest, None),
        };
        let (repository, tag) = match rest.rsplit_once(':') {
            Some((repository, tag)) if is_tag(tag) => (repository, Some(tag)),
            Some(_) => return Err(FORM),
            None => (rest, None),
        };
        let is_short = host == DOCKER && !repository.contains('/');
        let library = if is_short { "library/" } else { "" };
        let repository = format!("{library}{repository}");
        if !is_host(host) || !is_repository(&repository) {
            return Err(FORM);
        }
        let name = digest.or(tag).unwrap_or("latest").to_owned();
        Ok(Self { host: host.to_owned(), repository, name })
    }

    /// The registry's host, perhaps with a port.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The repository.
    #[must_use]
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// The tag, or the digest of the manifest.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The digest of the manifest, if that is its name.
    #[must_use]
    pub fn digest(&self) -> Option<&str> {
        is_digest(&self.name).then_some(&*self.name)
    }

    /// What has a digest in the same repository.
    ///
    /// # Errors
    /// [`RemoteError::Address`] if it is no digest.
    pub fn with_digest(&self, digest: &str) -> Result<Self, RemoteError> {
        if !is_digest(digest) {
            return Err(RemoteError::Address("expected sha256:DIGITS"));
        }
        Ok(Self { name: digest.to_owned(), ..self.clone() })
    }

    /// The names under which files of logins have the registry, the most exact one first.
    pub(super) fn accounts(&self) -> Vec<String> {
        let mut accounts = Vec::new();
        let path = format!("{}/{}", self.host, self.repository);
        let mut left = path.as_str();
        while let Some((shorter, _)) = left.rsplit_once('/') {
            accounts.push(left.to_owned());
            left = shorter;
        }
        accounts.push(left.to_owned());
        if self.host == DOCKER {
            accounts.push("https://index.docker.io/v1/".to_owned());
            accounts.push("index.docker.io".to_owned());
        } else {
            accounts.push(format!("https://{}", self.host));
        }
        accounts
    }

    /// The address of the repository, to which `/manifests/…` and `/blobs/…` are appended. It is encrypted unless the registry is on
    /// this machine, or among those given.
    pub(super) fn address(&self, plain: &[String]) -> Result<Address, RemoteError> {
        let server = if self.host == DOCKER { DOCKER_SERVER } else { &self.host };
        let bare = without_port(server);
        let is_plain = is_loopback(bare) || plain.iter().any(|one| one == server || one == bare);
        let scheme = if is_plain { "http" } else { "https" };
        Address::parse(&format!("{scheme}://{server}/v2/{}", self.repository))
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.digest().is_some() { '@' } else { ':' };
        write!(f, "oci://{}/{}{mark}{}", self.host, self.repository, self.name)
    }
}

/// The host and the rest of a name as docker has them: the host has a dot or a port.
fn of_docker(rest: &str) -> (&str, &str) {
    match rest.split_once('/') {
        Some((host, path)) if host.contains(['.', ':']) || host == "localhost" => {
            (if host == "index.docker.io" { DOCKER } else { host }, path)
        }
        _ => (DOCKER, rest),
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((bare, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => bare,
        _ => host,
    }
}

/// Whether a host is this machine, where nobody else can listen.
pub(super) fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn is_host(text: &str) -> bool {
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
    !text.is_empty() && text.bytes().all(is_legal)
}

fn is_repository(text: &str) -> bool {
    let is_part = |part: &str| {
        let is_legal = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-');
        let is_inner = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
        part.bytes().all(is_legal) && is_inner(part.bytes().next()) && is_inner(part.bytes().last())
    };
    text.split('/').all(is_part)
}

fn is_tag(text: &str) -> bool {
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    (1..=128).contains(&text.len()) && text.bytes().all(is_legal) && !text.starts_with(['.', '-'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (String, String, String) {
        let found = Reference::parse(text).unwrap();
        (found.host, found.repository, found.name)
    }

    #[test]
    fn names_are_those_of_the_tools_of_containers() {
        let digest = format!("sha256:{}", "0".repeat(64));
        for (text, host, repository, name) in [
            ("oci://reg.example/a/b:1", "reg.example", "a/b", "1"),
            ("oci://127.0.0.1:5000/a", "127.0.0.1:5000", "a", "latest"),
            ("docker://debian", "docker.io", "library/debian", "latest"),
            ("docker://debian:13", "docker.io", "library/debian", "13"),
            ("docker://me/box", "docker.io", "me/box", "latest"),
            ("docker://localhost/box:1.0_x-y", "localhost", "box", "1.0_x-y"),
            (&format!("docker://quay.io/a/b:1@{digest}"), "quay.io", "a/b", &digest),
        ] {
            let expected = (host.to_owned(), repository.to_owned(), name.to_owned());
            assert_eq!(parsed(text), expected, "{text}");
        }
        for text in [
            "oci://host",
            "oci://host/",
            "oci://host/A",
            "oci://me:pw@host/a",
            "oci://host/a:",
            "oci://host/../a",
            "oci://host/a//b",
            "oci://host/a@sha256:12",
            "oci://host/a:t?x",
            "docker://",
            "oci:a",
        ] {
            assert!(Reference::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn only_this_machine_is_reached_without_encryption() {
        let address = |text: &str, plain: &[String]| {
            Reference::parse(text).unwrap().address(plain).unwrap().to_string()
        };
        let one = ["in.house:5000".to_owned()];
        assert_eq!(address("oci://127.0.0.1:5000/a", &[]), "http://127.0.0.1:5000/v2/a");
        assert_eq!(address("oci://[::1]:5000/a", &[]), "http://[::1]:5000/v2/a");
        assert_eq!(address("oci://in.house:5000/a", &[]), "https://in.house:5000/v2/a");
        assert_eq!(address("oci://in.house:5000/a", &one), "http://in.house:5000/v2/a");
        assert_eq!(address("oci://127.0.0.1.example/a", &one), "https://127.0.0.1.example/v2/a");
        let docker = "https://registry-1.docker.io/v2/library/debian";
        assert_eq!(address("docker://debian", &[]), docker);
    }

    #[test]
    fn logins_are_looked_for_from_the_repository_up() {
        let accounts = Reference::parse("oci://h:1/a/b:t").unwrap().accounts();
        assert_eq!(accounts, ["h:1/a/b", "h:1/a", "h:1", "https://h:1"]);
        let docker = Reference::parse("docker://debian").unwrap().accounts();
        assert!(docker.contains(&"https://index.docker.io/v1/".to_owned()), "{docker:?}");
    }
}
