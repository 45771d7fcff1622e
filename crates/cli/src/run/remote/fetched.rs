//! Opens images on servers, each once.

use std::{
    env, io,
    ops::Range,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak},
};

use anyhow::Context;
use lith::{
    device::ReadAt,
    remote::{Artifact, Cache, Options, Reference, Registry, RemoteDevice, RemoteError, Version},
    source,
};

use crate::{
    args::{remote::Keep, value::Size},
    output::error::{Place, one_line, tell},
};

/// What is open, as to open it again takes a request and may find another version.
static OPEN: Mutex<Vec<(PathBuf, Weak<RemoteDevice>)>> = Mutex::new(Vec::new());

/// What the environment says, read once: see [`prepare`].
static ENVIRONMENT: OnceLock<Options> = OnceLock::new();

/// What is known of names in registries, each by one request: it may be that of another image a moment later.
static NAMED: Mutex<Vec<Named>> = Mutex::new(Vec::new());

/// The version of an image on a server other than a registry that another process has opened.
static VERSION: OnceLock<(PathBuf, Version)> = OnceLock::new();

/// What has a name in a registry.
#[derive(Clone)]
struct Named {
    path: PathBuf,
    registry: Registry,
    artifact: Artifact,
    /// The digest of its manifest.
    digest: String,
}

/// Opens the image at an address.
pub(in crate::run) fn open(path: &Path, keep: &Keep) -> anyhow::Result<Box<dyn ReadAt>> {
    if let Some(device) = find(path) {
        return Ok(Box::new(device));
    }
    let place = || Place(path).to_string();
    let address = path.to_str().with_context(|| format!("{}: is no address", place()))?;
    let options = options(keep)?;
    let version = VERSION.get().filter(|(other, _)| other == path);
    let opened = match (named(path, None, &options)?, version) {
        (Some(Named { registry, artifact, .. }), _) => {
            RemoteDevice::of_layer(&registry, &artifact.image)
        }
        (None, Some((_, version))) => RemoteDevice::open_version(address, version, &options),
        (None, None) => RemoteDevice::open(address, &options),
    };
    let device = Arc::new(opened.with_context(place)?);
    if let Some(error) = device.unreachable() {
        let error = one_line(error);
        tell(format_args!("lith: {}: {error}; reading what the cache has of it", place()));
    }
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.retain(|(_, device)| device.strong_count() > 0);
    open.push((path.to_owned(), Arc::downgrade(&device)));
    Ok(Box::new(device))
}

/// What has a name in a registry, or this digest if one is known; `None`: the path is none.
fn named(path: &Path, digest: Option<&str>, options: &Options) -> anyhow::Result<Option<Named>> {
    let text = path.to_str().filter(|text| text.starts_with("oci://"));
    let Some(text) = text else { return Ok(None) };
    let mut all = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(named) = all.iter().find(|named| named.path == path) {
        return Ok(Some(named.clone()));
    }
    let look_up = || {
        let reference = Reference::parse(text)?;
        let reference = digest.map_or(Ok(reference.clone()), |own| reference.with_digest(own))?;
        let registry = Registry::open(&reference, options)?;
        let (artifact, digest) = registry.artifact_and_digest()?;
        Ok::<_, RemoteError>(Named { path: path.to_owned(), registry, artifact, digest })
    };
    let named = look_up().with_context(|| Place(path).to_string())?;
    all.push(named.clone());
    Ok(Some(named))
}

/// Reads the accounts that the environment names, and finds what a name in a registry means. A server in its sandbox can read
/// neither files of logins nor start what helps with them. `opened` is what another process has opened there ([`opened_as`]).
pub(in crate::run) fn prepare(
    path: &Path,
    keep: &Keep,
    opened: Option<&str>,
) -> anyhow::Result<()> {
    let options = options(keep)?;
    if named(path, opened, &options)?.is_some() {
        return Ok(());
    }
    let Some(text) = opened else { return Ok(()) };
    let version = text.parse().with_context(|| Place(path).to_string())?;
    let _first = VERSION.set((path.to_owned(), version));
    Ok(())
}

/// By what another process opens the same image as this one has open: the digest of its manifest in a registry, or its version
/// on another server.
pub(in crate::run) fn opened_as(path: &Path) -> Option<String> {
    let all = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(named) = all.iter().find(|named| named.path == path) {
        return Some(named.digest.clone());
    }
    drop(all);
    Some(find(path)?.version().to_string())
}

/// The further devices of an image in a registry that is open, if it has any: a patch is there with its bases.
pub(in crate::run) fn further(path: &Path) -> anyhow::Result<Option<Vec<Box<dyn ReadAt>>>> {
    let found = {
        let all = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.iter().find(|named| named.path == path);
        known.map(|named| (named.registry.clone(), named.artifact.devices.clone()))
    };
    let Some((registry, layers)) = found.filter(|(_, layers)| !layers.is_empty()) else {
        return Ok(None);
    };
    let open = |layer| -> anyhow::Result<Box<dyn ReadAt>> {
        let device = RemoteDevice::of_layer(&registry, layer);
        Ok(Box::new(device.with_context(|| Place(path).to_string())?))
    };
    layers.iter().map(open).collect::<anyhow::Result<_>>().map(Some)
}

/// Whether a server sends an object only as a whole, from start to end.
pub(in crate::run) fn sends_all(error: &anyhow::Error) -> bool {
    error.downcast_ref().is_some_and(RemoteError::is_of_whole)
}

/// What lets sources be read from servers.
pub(in crate::run) fn change(keep: &Keep) -> anyhow::Result<impl FnOnce(&mut source::Options)> {
    let options = options(keep)?;
    Ok(move |read: &mut source::Options| read.remote = options)
}

fn find(path: &Path) -> Option<Arc<RemoteDevice>> {
    let open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.iter().find(|(other, _)| other == path)?.1.upgrade()
}

/// The file of the cache with an image that is open; `None`: it isn't kept.
pub(in crate::run) fn kept(path: &Path) -> Option<PathBuf> {
    find(path)?.kept()?.canonicalize().ok()
}

/// The device of an image that is open.
pub(in crate::run) fn opened(path: &Path) -> Option<Arc<RemoteDevice>> {
    find(path)
}

/// Opens the version of an image that is kept in a file of the cache.
pub(in crate::run) fn resume(path: &Path, file: &Path) -> anyhow::Result<Arc<RemoteDevice>> {
    let place = || Place(path).to_string();
    let address = path.to_str().with_context(|| format!("{}: is no address", place()))?;
    let keep = file.parent().map_or(Keep::Nowhere, |folder| Keep::Folder(folder.to_owned()));
    let device = RemoteDevice::resume(address, &options(&keep)?, file);
    Ok(Arc::new(device.with_context(place)?))
}

/// Begins to fetch ranges of an image that is open and starts at a byte of its object.
pub(in crate::run) fn read_ahead(path: &Path, offset: u64, ranges: Vec<Range<u64>>) {
    let Some(device) = find(path) else { return };
    for Range { start, end } in ranges {
        device.will_need(offset.saturating_add(start), end.saturating_sub(start));
    }
}

/// How objects are fetched, by what the environment says.
pub(in crate::run) fn options(keep: &Keep) -> anyhow::Result<Options> {
    let cache = match keep {
        Keep::Nowhere => None,
        Keep::Folder(folder) => Some(cache(Some(folder))?),
        // A service without a home keeps nothing.
        Keep::Usual if usual_folder().is_none() => None,
        Keep::Usual => Some(cache(None)?),
    };
    let mut options = ENVIRONMENT.get_or_init(Options::of_environment).clone();
    options.cache = cache;
    Ok(options)
}

/// The cache in a folder, or that of the user.
pub(in crate::run) fn cache(folder: Option<&Path>) -> anyhow::Result<Cache> {
    let folder = folder.map(Path::to_owned).or_else(usual_folder);
    let folder = folder.context("neither XDG_CACHE_HOME nor HOME is set; --cache-dir names it")?;
    let limit = match env::var("LITH_CACHE_LIMIT") {
        Ok(text) => {
            let size: Result<Size, _> = text.parse();
            size.map_err(|error| io::Error::other(format!("LITH_CACHE_LIMIT: {error}")))?.0
        }
        Err(_) => Cache::LIMIT,
    };
    Ok(Cache::new(folder, limit))
}

/// Where a device keeps what it fetches: the folder of the cache, which is made, and that of temporary files.
pub(in crate::run) fn folders(keep: &Keep) -> Vec<PathBuf> {
    let cache = match keep {
        Keep::Nowhere => None,
        Keep::Folder(folder) => Some(folder.clone()),
        Keep::Usual => usual_folder(),
    };
    if let Some(folder) = &cache {
        // If this fails, so does the cache, which says why.
        let _ = lith_system::private_directories(folder);
    }
    cache.into_iter().chain([env::temp_dir()]).collect()
}

fn usual_folder() -> Option<PathBuf> {
    let named = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = named("XDG_CACHE_HOME").or_else(|| Some(named("HOME")?.join(".cache")));
    caches.map(|caches| caches.join("lith"))
}
