//! Defines [`Agents`], which hold the connections.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use ureq::{
    Agent,
    config::Config,
    tls::{Certificate, RootCerts, TlsConfig},
    unversioned::{
        resolver::DefaultResolver,
        transport::{ConnectProxyConnector, Connector, RustlsConnector, TcpConnector},
    },
};

use super::pace::Pacing;
use crate::Address;

/// Connections to one server that are kept while they aren't used: as many as are used at once.
const KEPT: usize = 8;

/// Connections to servers, kept for further requests.
#[derive(Debug)]
pub(crate) struct Agents {
    plain: Agent,
    /// Made when it is needed, as the system's certificates take a while.
    encrypted: OnceLock<Agent>,
    timeout: Duration,
}

impl Agents {
    pub(crate) fn new(timeout: Duration) -> Self {
        let plain = agent(timeout, TlsConfig::default());
        Self { plain, encrypted: OnceLock::new(), timeout }
    }

    /// The one for an address.
    pub(crate) fn of(&self, address: &Address) -> &Agent {
        if !address.is_encrypted() {
            return &self.plain;
        }
        let trusted = || TlsConfig::builder().root_certs(roots()).build();
        self.encrypted.get_or_init(|| agent(self.timeout, trusted()))
    }
}

/// The certificates that the system trusts, or those of Mozilla where it has none.
fn roots() -> RootCerts {
    let found = rustls_native_certs::load_native_certs().certs;
    if found.is_empty() {
        return RootCerts::WebPki;
    }
    let found = found.iter().map(|certificate| Certificate::from_der(certificate).to_owned());
    RootCerts::Specific(Arc::new(found.collect()))
}

fn agent(timeout: Duration, tls: TlsConfig) -> Agent {
    let config = Config::builder()
        .tls_config(tls)
        // Redirections are followed by the client, which knows who may see credentials.
        .max_redirects(0)
        .max_redirects_will_error(false)
        .http_status_as_error(false)
        .user_agent(concat!("lith/", env!("CARGO_PKG_VERSION")))
        .accept_encoding("identity")
        .max_idle_connections_per_host(KEPT)
        .timeout_connect(Some(timeout))
        .timeout_recv_response(Some(timeout))
        .timeout_per_read(Some(timeout))
        .build();
    // The connections that agents have otherwise, and their pace.
    let tcp = ().chain(ConnectProxyConnector::default()).chain(TcpConnector::default());
    let paced = tcp.chain(Pacing { time: timeout });
    Agent::with_parts(config, paced.chain(RustlsConnector::default()), DefaultResolver::default())
}
