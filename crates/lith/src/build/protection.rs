//! Defines [`Protection`]: the hash tree of an image, and the signature of its root hash.

use std::{
    fs::File,
    io::{self, Write},
    num::NonZeroUsize,
    ops::Range,
    path::{Path, PathBuf},
};

use lith_device::{FileDevice, OffsetDevice, ReadAt};
use lith_reader::read_superblock;
use lith_system::FileAt;
use lith_verity::{
    Identity, RootHash, Signer, Superblock, VerityError, find_appended, format, sign,
};

use super::companion::{Companion, is_same, target};
use crate::Error;

/// How an image is protected by a hash tree of dm-verity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Protection {
    /// Where the tree is.
    pub place: TreePlace,
    /// Bytes of its blocks, and of the blocks of data: a power of two from [`MIN_BLOCK`](lith_verity::MIN_BLOCK) to
    /// [`MAX_BLOCK`](lith_verity::MAX_BLOCK). Linux reads none that is larger than its pages.
    pub block: u32,
    /// What is hashed in front of each block; `None`: it follows from the image.
    pub salt: Option<Vec<u8>>,
    /// Tells hash trees apart; `None`: it follows from the image.
    pub uuid: Option<[u8; 16]>,
    /// A file for the root hash, as text.
    pub root_hash: Option<RootHashFile>,
}

/// Where the hash tree of an image is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TreePlace {
    /// After the image, in the same file.
    Append,
    /// In a file of its own.
    File(PathBuf),
}

/// The file with a root hash.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RootHashFile {
    /// Its path. The signature is in a file of this name with `.p7s` added.
    pub path: PathBuf,
    /// Who signs the root hash.
    pub signer: Option<Signer>,
}

/// The hash tree of an image.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct HashTree {
    /// The digest of all.
    pub root: RootHash,
    /// How it was made.
    pub superblock: Superblock,
    /// Where its superblock is, from the beginning of the image or of its own file.
    pub hash_offset: u64,
}

impl Protection {
    /// The default size of blocks.
    pub const BLOCK: u32 = 4096;
}

/// The files that are made when an image is protected.
pub(super) struct Protected<'a> {
    protection: &'a Protection,
    tree: Option<Companion>,
    root_hash: Option<Companion>,
    signature: Option<Companion>,
}

impl<'a> Protected<'a> {
    /// Creates them beside the image.
    pub(super) fn create(protection: &'a Protection, image: &Path) -> Result<Self, Error> {
        let tree = match &protection.place {
            TreePlace::Append => None,
            TreePlace::File(path) => Some(Companion::create(path, image)?),
        };
        let file = protection.root_hash.as_ref();
        let root_hash = file.map(|file| Companion::create(&file.path, image)).transpose()?;
        let signed = file.filter(|file| file.signer.is_some());
        let signature = signed.map(|file| Companion::create(&signature_path(&file.path), image));
        let signature = signature.transpose()?;
        if let (Some(tree), Some(file)) = (&tree, &root_hash)
            && is_same(tree.path(), file.path())
        {
            let same = io::Error::new(io::ErrorKind::InvalidInput, "it is the hash tree's file");
            return Err(target(file.path(), "create", same));
        }
        Ok(Self { protection, tree, root_hash, signature })
    }

    fn files(&self) -> impl Iterator<Item = &Companion> {
        self.tree.iter().chain(&self.root_hash).chain(&self.signature)
    }

    /// Drops what was written.
    pub(super) fn clear(&self) -> io::Result<()> {
        self.files().try_for_each(Companion::clear)
    }

    /// Writes the hash tree of an image of so many bytes, which starts at a byte of its file, and what is about it.
    pub(super) fn write(
        &self,
        (image, start, bytes): (&File, u64, u64),
        workers: NonZeroUsize,
    ) -> Result<HashTree, Error> {
        let block = self.protection.block.into();
        let end = bytes.checked_next_multiple_of(block).and_then(|end| end.checked_add(start));
        let end = end.ok_or_else(|| Error::Output(io::ErrorKind::FileTooLarge.into()))?;
        fill_up(image, start + bytes..end).map_err(Error::Output)?;
        let data = OffsetDevice::new(open(image).map_err(Error::Output)?, start);
        let (output, first, hash_offset) = match &self.tree {
            Some(tree) => (tree.file(), 0, 0),
            None => (image, start, end - start),
        };
        let superblock = self.superblock(&data, (end - start) / block)?;
        let put = |bytes: &[u8], position: u64| {
            // A crash must not leave the superblock, which comes last, without all of the tree.
            if position == hash_offset {
                output.sync_data()?;
            }
            output.write_all_at(bytes, first + position)
        };
        let root = format(&data, (&superblock, hash_offset), &put, workers)?;
        self.write_root_hash(root)?;
        Ok(HashTree { root, superblock, hash_offset })
    }

    fn superblock(&self, data: &dyn ReadAt, data_blocks: u64) -> Result<Superblock, Error> {
        let Protection { block, salt, uuid, .. } = self.protection;
        let derived = Identity::of(data).map_err(VerityError::from)?;
        Ok(Superblock {
            uuid: uuid.unwrap_or(derived.uuid),
            data_block: *block,
            hash_block: *block,
            data_blocks,
            salt: salt.clone().unwrap_or(derived.salt),
        })
    }

    fn write_root_hash(&self, root: RootHash) -> Result<(), Error> {
        let write = |file: &Companion, bytes: &[u8]| {
            file.file().write_all(bytes).map_err(|source| target(file.path(), "write", source))
        };
        if let Some(file) = &self.root_hash {
            write(file, format!("{root}\n").as_bytes())?;
        }
        let signer = self.protection.root_hash.as_ref().and_then(|file| file.signer.as_ref());
        if let (Some(file), Some(signer)) = (&self.signature, signer) {
            write(file, &sign(root, signer)?)?;
        }
        Ok(())
    }

    /// Syncs the files and gives them temporary names.
    pub(super) fn prepare(&mut self) -> Result<(), Error> {
        let files = self.tree.iter_mut().chain(&mut self.root_hash).chain(&mut self.signature);
        files.into_iter().try_for_each(Companion::prepare)
    }

    pub(super) fn commit(self) -> Result<(), Error> {
        let Self { tree, root_hash, signature, .. } = self;
        tree.into_iter().chain(root_hash).chain(signature).try_for_each(Companion::commit)
    }
}

/// Where the signature of a root hash is, as systemd has it.
fn signature_path(root_hash: &Path) -> PathBuf {
    let mut path = root_hash.as_os_str().to_owned();
    path.push(".p7s");
    path.into()
}

fn open(file: &File) -> io::Result<FileDevice> {
    FileDevice::new(file.try_clone()?)
}

/// Writes zeros between the end of an image and its hash tree.
fn fill_up(file: &File, gap: Range<u64>) -> io::Result<()> {
    let len = usize::try_from(gap.end - gap.start).map_err(|_large| io::ErrorKind::FileTooLarge)?;
    file.write_all_at(&vec![0; len], gap.start)
}

/// Protects the image that starts at byte `start` of the file at `path`. If that fails, the image is as before.
///
/// # Errors
/// [`Error`] if there is no image, it has a hash tree or something else after it already, or a file can't be written.
pub fn protect(
    (path, start): (&Path, u64),
    protection: &Protection,
    workers: NonZeroUsize,
) -> Result<HashTree, Error> {
    let appends = protection.place == TreePlace::Append;
    let failed = |action| move |source| target(path, action, source);
    let file = File::options().read(true).write(appends).open(path).map_err(failed("open"))?;
    let device = OffsetDevice::new(open(&file).map_err(failed("open"))?, start);
    let is_regular = file.metadata().map_err(failed("open"))?.is_file();
    let bytes = image_bytes(&device)?;
    let is_protected = find_appended(&device, bytes).map_err(VerityError::from)?.is_some();
    let before = device.size();
    let bytes = if is_regular && !is_protected { before } else { bytes };
    let refusal = match (appends, is_protected, image_bytes(&device)?) {
        (true, true, _) => Some("it has a hash tree already".to_owned()),
        (true, false, image) if bytes != image => Some(format!(
            "more bytes follow the image; if a hash tree was interrupted, truncate -s {} removes them",
            start.saturating_add(image),
        )),
        (false, ..) if bytes % u64::from(protection.block) != 0 => {
            let why = "its length is no multiple of the hash tree's blocks; 512 bytes always fit";
            Some(why.to_owned())
        }
        _ => None,
    };
    if let Some(refusal) = refusal {
        let refused = io::Error::new(io::ErrorKind::InvalidInput, refusal);
        return Err(target(path, "protect", refused));
    }
    let mut protected = Protected::create(protection, path)?;
    let written = protected.write((&file, start, bytes), workers).and_then(|tree| {
        protected.prepare()?;
        file.sync_data().map_err(failed("append to")).map(|()| tree)
    });
    if written.is_err() && appends && is_regular {
        // The error is reported; if this fails, too, the image is as good with more after it.
        let _ = file.set_len(start.saturating_add(before));
    }
    let tree = written?;
    protected.commit()?;
    Ok(tree)
}

/// The length of an image on a device, which its superblock says.
///
/// # Errors
/// [`Error::Read`] if there is no image.
pub fn image_bytes(device: &dyn ReadAt) -> Result<u64, Error> {
    let superblock = read_superblock(device, false).map_err(lith_reader::Error::from)?;
    Ok(superblock.blocks.saturating_mul(superblock.block.size().into()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use lith_verity::VerifiedDevice;

    use super::*;

    fn golden(folder: &Path) -> PathBuf {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/03-lz4.erofs");
        let image = folder.join("image");
        fs::copy(path, &image).unwrap();
        image
    }

    fn protection(place: TreePlace) -> Protection {
        Protection { place, block: Protection::BLOCK, salt: None, uuid: None, root_hash: None }
    }

    const WORKERS: NonZeroUsize = NonZeroUsize::MIN;

    fn verify(image: &Path, tree: &Path, made: &HashTree) {
        let open = |path| Box::new(FileDevice::open(path).unwrap());
        let device = VerifiedDevice::new(open(image), (open(tree), made.hash_offset), made.root);
        device.unwrap().verify(WORKERS).unwrap();
    }

    #[test]
    fn a_tree_is_appended_once() {
        let folder = tempfile::tempdir().unwrap();
        let image = golden(folder.path());
        let before = fs::read(&image).unwrap();
        let made = protect((&image, 0), &protection(TreePlace::Append), WORKERS).unwrap();
        assert_eq!(made.hash_offset, before.len() as u64);
        verify(&image, &image, &made);
        let after = fs::read(&image).unwrap();
        assert!(after.starts_with(&before));
        assert!(protect((&image, 0), &protection(TreePlace::Append), WORKERS).is_err());
        assert_eq!(fs::read(&image).unwrap(), after);
        // In a file of its own, the same image has the same tree, whether another one follows it or not.
        let file = folder.path().join("tree");
        let beside =
            protect((&image, 0), &protection(TreePlace::File(file.clone())), WORKERS).unwrap();
        assert_eq!(beside.root, made.root);
        verify(&image, &file, &beside);
    }

    #[test]
    fn an_image_may_follow_something_else() {
        let folder = tempfile::tempdir().unwrap();
        let image = golden(folder.path());
        let alone = fs::read(&image).unwrap();
        let expected = protect((&image, 0), &protection(TreePlace::Append), WORKERS).unwrap();
        let protected = fs::read(&image).unwrap();
        fs::write(&image, [&[7; 5000], &*alone].concat()).unwrap();
        let made = protect((&image, 5000), &protection(TreePlace::Append), WORKERS).unwrap();
        assert_eq!(made, expected);
        assert_eq!(fs::read(&image).unwrap(), [&[7; 5000], &*protected].concat());
        assert!(protect((&image, 5000), &protection(TreePlace::Append), WORKERS).is_err());
        assert_eq!(fs::read(&image).unwrap().len(), 5000 + protected.len());
    }

    #[test]
    fn a_failure_leaves_the_image_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let image = golden(folder.path());
        let before = fs::read(&image).unwrap();
        let signer = Some(Signer::Command("echo no signature".to_owned()));
        let path = folder.path().join("root");
        let root_hash = Some(RootHashFile { path, signer });
        let unsigned = Protection { root_hash, ..protection(TreePlace::Append) };
        assert!(matches!(protect((&image, 0), &unsigned, WORKERS), Err(Error::Sign(_))));
        assert_eq!(fs::read(&image).unwrap(), before);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let itself = protection(TreePlace::File(image.clone()));
        assert!(protect((&image, 0), &itself, WORKERS).is_err());
        fs::write(&image, [&*before, b"more"].concat()).unwrap();
        let refused = protect((&image, 0), &protection(TreePlace::Append), WORKERS).unwrap_err();
        let refused = std::error::Error::source(&refused).unwrap().to_string();
        assert!(refused.contains(&format!("truncate -s {} ", before.len())), "{refused}");
    }
}
