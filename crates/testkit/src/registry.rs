//! A registry of containers on the loopback address: one in memory, whose demands and faults a test decides, and the one of the
//! project `distribution` where it is installed.

use std::{
    collections::HashMap,
    fs,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{
    server::{Program, Server},
    web::{Reply, Request, Web},
};

const PROGRAM: Program = Program {
    tier: "registry",
    variable: "LITH_REGISTRY",
    folder_variable: "LITH_REGISTRY_DIR",
    folder: "lith-registry",
    program: "registry",
    script: "tests/registry/get",
};

/// What a registry demands of who sends requests.
#[derive(Clone, Debug, Default)]
pub enum Demand {
    /// Nothing.
    #[default]
    Nothing,
    /// A login, the value of the header `Authorization`.
    Basic(String),
    /// A token, for which its server demands this login, or nothing.
    Token(Option<String>),
}

/// What a registry holds.
#[derive(Clone, Default)]
pub struct Held {
    /// By digest.
    pub blobs: HashMap<String, Vec<u8>>,
    /// With their types, by repository and name, `REPOSITORY:NAME`.
    pub manifests: HashMap<String, (String, Vec<u8>)>,
    /// The addresses to which requests for blobs are redirected begin so.
    pub blobs_elsewhere: Option<String>,
    /// How often the token was replaced by another one.
    pub epoch: u64,
    /// What has arrived of blobs whose uploads were begun, by the number of the upload; `None`: it is complete.
    pub uploads: HashMap<String, Option<Vec<u8>>>,
    /// Whether blobs are taken by one request only.
    pub is_without_parts: bool,
    /// Whether uploads that were cut off are unknown afterwards.
    pub is_forgetful: bool,
    /// Whether it answers by an error what it has of an upload.
    pub is_without_status: bool,
}

/// A registry in memory.
pub struct Registry {
    web: Web,
    held: Arc<Mutex<Held>>,
}

/// The registry of the project `distribution`, in a process.
pub struct RealRegistry {
    _server: Server,
    /// Its host and port.
    pub host: String,
}

impl Registry {
    /// Starts a registry.
    #[must_use]
    pub fn start(demand: Demand) -> Self {
        let held = Arc::new(Mutex::new(Held::default()));
        let of_server = Arc::clone(&held);
        let web = Web::start(move |request| {
            let mut held = of_server.lock().unwrap_or_else(PoisonError::into_inner);
            answer(request, &demand, &mut held)
        });
        Self { web, held }
    }

    /// Its host and port.
    #[must_use]
    pub fn host(&self) -> String {
        self.web.url("").trim_start_matches("http://").trim_end_matches('/').to_owned()
    }

    /// What was requested so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.web.requests()
    }

    /// Changes what it holds.
    pub fn change<T>(&self, change: impl FnOnce(&mut Held) -> T) -> T {
        change(&mut self.held.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The digest of bytes.
#[must_use]
pub fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(bytes)))
}

fn answer(request: &Request, demand: &Demand, held: &mut Held) -> Reply {
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    if path == "/token" {
        return token(request, demand, held, query);
    }
    if let Some(refusal) = refuse(request, demand, held) {
        return refusal;
    }
    let Some(path) = path.strip_prefix("/v2/") else { return Reply::status(404) };
    if let Some((repository, name)) = path.rsplit_once("/manifests/") {
        return manifest(request, held, &format!("{repository}:{name}"));
    }
    if let Some((repository, id)) = path.rsplit_once("/blobs/uploads/") {
        return upload(request, held, (repository, id, query));
    }
    let Some((_, digest)) = path.rsplit_once("/blobs/") else { return Reply::status(404) };
    let Some(blob) = held.blobs.get(digest) else { return Reply::status(404) };
    if let Some(elsewhere) = held.blobs_elsewhere.as_ref().filter(|_| request.method == "GET") {
        return Reply::redirect(&format!("{elsewhere}{digest}"));
    }
    // As real ones it ignores conditions that it doesn't know, and names the digest as the version.
    Reply::of(request, blob, &format!("\"{digest}\""))
}

fn valid(held: &Held) -> String {
    format!("token-{}", held.epoch)
}

fn refuse(request: &Request, demand: &Demand, held: &Held) -> Option<Reply> {
    let shown = request.header("authorization");
    let host = request.header("host").unwrap_or_default();
    let (wanted, challenge) = match demand {
        Demand::Nothing => return None,
        Demand::Basic(login) => (login.clone(), "Basic realm=\"test\"".to_owned()),
        Demand::Token(_) => {
            let challenge = format!("Bearer realm=\"http://{host}/token\",service=\"test\"");
            (format!("Bearer {}", valid(held)), challenge)
        }
    };
    let is_allowed = shown == Some(&*wanted);
    (!is_allowed).then(|| Reply::status(401).with("www-authenticate", &challenge))
}

fn token(request: &Request, demand: &Demand, held: &Held, query: &str) -> Reply {
    match demand {
        Demand::Token(login) if login.as_deref() == request.header("authorization") => {
            assert!(
                query.contains("service=test") && query.contains("scope=repository%3A"),
                "{query}"
            );
            let body = json!({ "token": valid(held), "expires_in": 60 });
            Reply::status(200).holding("application/json", body.to_string().into_bytes())
        }
        _ => Reply::status(401),
    }
}

fn manifest(request: &Request, held: &mut Held, name: &str) -> Reply {
    if request.method == "PUT" {
        let document: Value = serde_json::from_slice(&request.body).unwrap();
        let layers = document["layers"].as_array().into_iter().flatten();
        let mut blobs = layers.chain([&document["config"]]);
        // A manifest is the last thing that is sent.
        if !blobs.all(|blob| held.blobs.contains_key(blob["digest"].as_str().unwrap())) {
            return Reply::status(400);
        }
        let kind = request.header("content-type").unwrap_or_default().to_owned();
        let repository = name.rsplit_once(':').unwrap().0.to_owned();
        let repository = repository.strip_suffix(":sha256").unwrap_or(&repository);
        let by_digest = format!("{repository}:{}", digest(&request.body));
        for name in [name.to_owned(), by_digest] {
            held.manifests.insert(name, (kind.clone(), request.body.clone()));
        }
        return Reply::status(201);
    }
    match held.manifests.get(name) {
        Some((kind, bytes)) => Reply::status(200).holding(kind, bytes.clone()),
        None => Reply::status(404),
    }
}

fn upload(
    request: &Request,
    held: &mut Held,
    (repository, id, query): (&str, &str, &str),
) -> Reply {
    let at = |id: &str| format!("/v2/{repository}/blobs/uploads/{id}?state=x%2Fy");
    if request.method == "POST" && id.is_empty() {
        let id = (held.uploads.len() + 1).to_string();
        held.uploads.insert(id.clone(), Some(Vec::new()));
        return Reply::status(202).with("location", &at(&id));
    }
    let upload = held.uploads.get_mut(id);
    let Some(upload @ Some(_)) = upload else { return Reply::status(404) };
    let there = upload.as_mut().unwrap();
    let state = |reply: Reply, there: &[u8]| {
        let range = format!("0-{}", there.len().saturating_sub(1));
        reply.with("location", &at(id)).with("range", &range)
    };
    let named = request.header("content-range").map(|range| {
        let (first, last) = range.split_once('-').unwrap();
        (first.parse::<usize>().unwrap(), last.parse::<usize>().unwrap())
    });
    match &*request.method {
        "GET" if held.is_without_status => Reply::status(503),
        "GET" => state(Reply::status(204), there),
        "PATCH" if held.is_without_parts => Reply::status(405),
        "PATCH" if named.is_none_or(|(first, _)| first != there.len()) => Reply::status(416),
        "PATCH" | "PUT" => {
            there.extend_from_slice(&request.body);
            if request.is_cut {
                if held.is_forgetful {
                    there.clear();
                }
                return Reply::status(400);
            }
            if request.method == "PATCH" {
                let (first, last) = named.unwrap();
                assert_eq!(last - first + 1, request.body.len());
                return state(Reply::status(202), there);
            }
            let found = digest(there).replace(':', "%3A");
            if !query.starts_with("state=x%2Fy&") || !query.ends_with(&format!("digest={found}")) {
                return Reply::status(400);
            }
            let blob = upload.take().unwrap();
            held.blobs.insert(digest(&blob), blob);
            Reply::status(201)
        }
        _ => Reply::status(404),
    }
}

impl RealRegistry {
    /// Starts the registry with its data in a folder; `None`: it is not installed, which is reported.
    #[must_use]
    pub fn start(folder: &Path) -> Option<Self> {
        let server = PROGRAM.start(|command, host| {
            let config = json!({
                "version": "0.1",
                "log": { "level": "error" },
                "storage": { "filesystem": { "rootdirectory": folder.join("registry") } },
                "http": { "addr": host },
            });
            let file = folder.join("registry.yml");
            fs::write(&file, config.to_string()).unwrap();
            command.arg("serve").arg(file);
        })?;
        Some(Self { host: server.host.clone(), _server: server })
    }
}
