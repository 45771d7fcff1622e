//! Opens images on web servers, each once.

use std::{
    env, fs, io,
    ops::Range,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, Weak},
};

use anyhow::Context;
use lith::{
    device::ReadAt,
    remote::{Cache, Options, RemoteDevice},
};

use crate::{
    args::{remote::Keep, value::Size},
    output::error::{Place, one_line, tell},
};

/// The most bytes in the cache, unless `LITH_CACHE_LIMIT` says another number.
const LIMIT: u64 = 8 << 30;

/// What is open, as to open it again takes a request and may find another version.
static OPEN: Mutex<Vec<(PathBuf, Weak<RemoteDevice>)>> = Mutex::new(Vec::new());

/// Opens the image at an address.
pub(in crate::run) fn open(path: &Path, keep: &Keep) -> anyhow::Result<Box<dyn ReadAt>> {
    if let Some(device) = find(path) {
        return Ok(Box::new(device));
    }
    let place = || Place(path).to_string();
    let address = path.to_str().with_context(|| format!("{}: is no address", place()))?;
    let options = options(keep)?;
    let device = Arc::new(RemoteDevice::open(address, &options).with_context(place)?);
    if let Some(error) = device.unreachable() {
        let error = one_line(error);
        tell(format_args!("lith: {}: {error}; reading what the cache has of it", place()));
    }
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.retain(|(_, device)| device.strong_count() > 0);
    open.push((path.to_owned(), Arc::downgrade(&device)));
    Ok(Box::new(device))
}

fn find(path: &Path) -> Option<Arc<RemoteDevice>> {
    let open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.iter().find(|(other, _)| other == path)?.1.upgrade()
}

/// Begins to fetch ranges of an image that is open and starts at a byte of its object.
pub(in crate::run) fn read_ahead(path: &Path, offset: u64, ranges: Vec<Range<u64>>) {
    let Some(device) = find(path) else { return };
    for Range { start, end } in ranges {
        device.will_need(offset.saturating_add(start), end.saturating_sub(start));
    }
}

fn options(keep: &Keep) -> anyhow::Result<Options> {
    let variable = "LITH_HTTP_AUTHORIZATION";
    let authorization = env::var_os(variable).filter(|value| !value.is_empty());
    let as_text = |value: std::ffi::OsString| value.into_string().ok();
    let authorization = authorization.map(|value| as_text(value).context(variable)).transpose()?;
    let cache = match keep {
        Keep::Nowhere => None,
        Keep::Folder(folder) => Some(cache(Some(folder))?),
        // A service without a home keeps nothing.
        Keep::Usual if usual_folder().is_none() => None,
        Keep::Usual => Some(cache(None)?),
    };
    Ok(Options::with(|options| (options.authorization, options.cache) = (authorization, cache)))
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
        Err(_) => LIMIT,
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
        let _ = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    }
    cache.into_iter().chain([env::temp_dir()]).collect()
}

fn usual_folder() -> Option<PathBuf> {
    let named = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = named("XDG_CACHE_HOME").or_else(|| Some(named("HOME")?.join(".cache")));
    caches.map(|caches| caches.join("lith"))
}
