//! Opens images on servers.

use std::{
    error::Error,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use lith::{
    bases::{self, Search},
    device::ReadAt,
    remote::{
        Cache, Layer, Options, Reference, Registry, RemoteDevice, RemoteError, Version, shown,
    },
};

use crate::image::at_offset;

/// Why an image on a server can't be opened.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// The address of an image, and what was found there: a process that opens it again gets the same bytes or none.
pub(crate) struct Remote {
    address: String,
    offset: u64,
    search: Search,
    options: Options,
    found: OnceLock<Found>,
}

/// What an address means.
enum Found {
    /// An object.
    Object(Version),
    /// The image and the further devices that a name in a registry has, by their digests.
    Artifact { reference: Reference, image: Layer, further: Vec<Layer> },
}

impl Remote {
    /// An image that starts at byte `offset` of what is at an address.
    pub(crate) fn new(address: &str, (offset, search): (u64, Search), options: Options) -> Self {
        Self { address: address.to_owned(), offset, search, options, found: OnceLock::new() }
    }

    /// The address without what may be secret.
    pub(crate) fn name(&self) -> PathBuf {
        shown(&self.address).into()
    }

    /// The devices of the image, with connections and threads of their own.
    pub(crate) fn devices(&self) -> Result<Vec<Arc<dyn ReadAt>>, Failure> {
        let (image, mut devices) = match self.found.get() {
            Some(found) => self.again(found)?,
            None => self.first()?,
        };
        let image = at_offset(image, self.offset);
        if devices.is_empty() {
            let found = bases::find_for(&*image, &self.name(), &self.search)?;
            devices = found.into_iter().map(|found| Arc::new(found.device) as _).collect();
        }
        Ok([image].into_iter().chain(devices).collect())
    }

    fn first(&self) -> Result<(RemoteDevice, Vec<Arc<dyn ReadAt>>), Failure> {
        let (found, opened) = if self.address.starts_with("oci://") {
            let reference = Reference::parse(&self.address)?;
            let registry = Registry::open(&reference, &self.options)?;
            let artifact = registry.artifact()?;
            let opened = layers(&registry, (&artifact.image, &artifact.devices))?;
            let (image, further) = (artifact.image, artifact.devices);
            (Found::Artifact { reference, image, further }, opened)
        } else {
            let device = RemoteDevice::open(&self.address, &self.options)?;
            (Found::Object(device.version().clone()), (device, Vec::new()))
        };
        let _first = self.found.set(found);
        Ok(opened)
    }

    fn again(&self, found: &Found) -> Result<(RemoteDevice, Vec<Arc<dyn ReadAt>>), Failure> {
        match found {
            Found::Object(version) => {
                let device = RemoteDevice::open_version(&self.address, version, &self.options)?;
                Ok((device, Vec::new()))
            }
            Found::Artifact { reference, image, further } => {
                let registry = Registry::open(reference, &self.options)?;
                Ok(layers(&registry, (image, further))?)
            }
        }
    }
}

fn layers(
    registry: &Registry,
    (image, further): (&Layer, &[Layer]),
) -> Result<(RemoteDevice, Vec<Arc<dyn ReadAt>>), RemoteError> {
    let open = |layer| RemoteDevice::of_layer(registry, layer);
    let further = further.iter().map(|layer| Ok(Arc::new(open(layer)?) as Arc<dyn ReadAt>));
    Ok((open(image)?, further.collect::<Result<_, RemoteError>>()?))
}

/// How servers are read: by the accounts that the environment names, with a cache in a folder.
pub(crate) fn options(cache: Option<&Path>) -> Options {
    let mut options = Options::of_environment();
    options.cache = cache.map(|folder| Cache::new(folder.to_owned(), Cache::LIMIT));
    options
}
