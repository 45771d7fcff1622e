//! Lists the types of the inner crates that belong to the library's interface, by module.

/// Images that other images refer to.
pub mod bases {
    pub use lith_bases::{
        BaseError, Bases, Found, Identity, Search, check_digest, check_joined, find, find_for,
        has_devices, identify, read_note,
    };
    pub use lith_format::bases::Base;
}

/// Options, rules and errors of builds.
pub mod builder {
    pub use lith_builder::{
        AttributeOptions, BuildError, ChunkForm, Chunks, Compression, CompressionOptions,
        DataImport, Files, Fragments, Heat, Identity, ImageId, IndexForm, InodeForm, LayoutOptions,
        Options, OtherDevice, Preset, Report, Rule, Unencodable, UnknownPreset, file_type,
    };
}

/// Examining images for defects.
pub mod check {
    pub use lith_check::{
        CheckError, Counts, Finding, Options, Report, Rule, Severity, check, check_devices,
    };
}

/// Names of compression algorithms and their levels.
pub mod codec {
    pub use lith_codec::{Algorithm, Compressor, LzmaBits, LzmaEffort, ParseCompressorError};
}

/// Deltas of images: see [`make_delta`](crate::make_delta) and [`apply_delta`](crate::apply_delta).
pub mod delta {
    pub use lith_delta::{
        Applied, DeltaError, Difference, Header, Images, Made, Options, apply, make,
    };
}

/// Devices that images are read from: files, memory, parts of other devices, or your own.
pub mod device {
    pub use lith_device::{DeviceError, FileDevice, MemoryDevice, OffsetDevice, ReadAt};
}

/// Writing trees to directories and tars, and describing the blocks of images to other programs.
pub mod export {
    pub use lith_export::{
        Existing, ExportObserver, ExtractError, ExtractOptions, ListError, MemberOrder, NoSuchPath,
        Owners, Permissions, Report, Selection, Skipped, TarError, What, block_list, extract,
        source_map, vmdk_descriptor, write_tar,
    };
}

/// Terms of the format that the other modules use.
pub mod format {
    /// Addresses.
    pub mod addr {
        pub use lith_format::addr::{Blkaddr, BlockBits, La, Nid};
    }
    /// Chunk-based files.
    pub mod chunk {
        pub use lith_format::chunk::ChunkFormat;
    }
    /// Compression algorithms.
    pub mod compression {
        pub use lith_format::compression::{Algorithm, AlgorithmSet};
    }
    /// Feature bits of the superblock.
    pub mod features {
        pub use lith_format::features::{Compat, Incompat};
    }
    /// Types of files.
    pub mod file_type {
        pub use lith_format::file_type::FileType;
    }
    /// Inodes.
    pub mod inode {
        pub use lith_format::inode::{InodeData, InodeForm, Layout};
    }
    /// Versions of Linux, and what they can read.
    pub mod kernel {
        pub use lith_format::kernel::{Capability, KernelVersion, Target, min_kernel};
    }
    /// The superblock.
    pub mod superblock {
        pub use lith_format::superblock::{MAGIC, Superblock, SuperblockError};
    }
}

/// Following and cancelling long work.
pub mod observer {
    pub use lith_observer::{Observer, Phase, Progress};
}

/// What of a tree is read first.
pub mod profile {
    pub use lith_profile::{
        Access, Earlier, Entry, FirstReads, Hint, Hot, Located, Locations, ParseError, Priorities,
        ProblemKind, Profile, Recorder, Weighted, first_reads, merge, paths_of_list, priorities,
    };
    #[cfg(target_os = "linux")]
    pub use lith_profile::{FolderWatch, ImageWatch};
}

/// Reading images: inodes, directories, extended attributes, content.
pub mod reader {
    pub use lith_reader::{
        Busy, Corruption, DataRange, Deliver, DirEntry, DirPosition, Error, Extent, ExtentKind,
        Extents, File, FileEntry, FileHandle, Files, Image, Inode, Kept, Limits, OpenError,
        Options, OwnedFile, Place, ReadAhead, ReadDir, Readable, Space, Stats, Unsupported, Way,
        Xattr, read_superblock,
    };
}

/// Reading trees from directories, tars, cpio and zip archives, and images of EROFS and SquashFS.
pub mod source {
    pub use lith_source::{
        CpioDamage, CpioError, Damage, Data, ExcludeError, Excludes, ImageError, Loss, Losses,
        LostRanges, ManifestProblem, NoPlatform, Note, NoteKind, OciError, OnError, Opened,
        Options, Part, Platform, ReadBytes, Refusal, Source, SourceError, SquashFsError,
        TYPE_BYTES, TarEnd, TarError, ZipError, archive, archive_stream, container_layers,
        directory, foreign_type, image, image_below, image_file, is_archive, is_container,
        is_squashfs, manifest, merge, open, read_what_is_there, salvage, spooled, squashfs, tar,
        tar_stream,
    };
}

/// Changing trees between source and image.
pub mod transform {
    pub use lith_transform::{
        Adjust, ContentDigest, DIGEST_NAME, ExtendedRegex, FileContexts, FsConfig, FsConfigError,
        GroupError, LabelError, LabelProblem, ModeChange, ModeError, Overlay, PatternError,
        RegexError, Role, Setting, SettingError, Times, Unmatched, Verdict, XattrFilter, group,
        is_opaque, is_whiteout, make_opaque, mark_whiteouts, record_digests, strip_overlay, user,
    };
}

/// Trees in memory, comparing and printing them.
pub mod tree {
    pub use lith_tree::{
        Aspects, Change, Content, ContentError, Contents, DataRange, DiffError, DiffOptions,
        Difference, Directory, DisplayPath, DumpError, DumpRow, Elsewhere, ExtraDevice, Filesystem,
        Inode, InodeIndex, Kind, MemoryContents, MemoryError, Metadata, Name, NameError, Piece,
        Pieces, Rdev, Side, Timestamp, Tree, TreeError, Visit, Walk, Xattr, XattrPool, XattrSet,
        diff, dump, dump_observed, dump_rows,
    };
}

/// Protecting images by hash trees of dm-verity, and reading only what they cover.
pub mod verity {
    pub use crate::build::{HashTree, Protection, RootHashFile, TreePlace, image_bytes, protect};
    pub use lith_verity::{
        AheadDevice, MAX_BLOCK, MAX_SALT, MIN_BLOCK, NoRootHash, RootHash, Shape, SignError,
        Signer, Superblock, SuperblockError, VerifiedDevice, VerityError, check_signature,
        find_appended, fsverity_digest, in_memory, read_superblock, sign,
    };
}

/// Serving images by FUSE, on Linux. Feature `fuse`, which is on by default.
#[cfg(all(feature = "fuse", target_os = "linux"))]
pub mod mount {
    pub use lith_fuse::{
        Agent, Connection, Enforced, ImageFile, Mounted, Options, Sandbox, Unmounter, is_dead,
        unmount, watch,
    };
}

/// Images on web servers, in object stores and registries: a device that fetches ranges when they are read, and its cache on disk.
/// Feature `remote`.
#[cfg(feature = "remote")]
pub mod remote {
    pub use lith_remote::{
        Address, Artifact, AzureAccount, Cache, CachedObject, Chunk, ChunkIndex, ChunkSize, Chunks,
        Containerd, Document, EROFS, Kept, Layer, LocalChunks, ObjectReader, Obtained, Options,
        Pruned, Reference, Registry, RemoteDevice, RemoteError, S3Account, Traffic, Upload,
        Verified, Verifying, Version, WholeReader, cut_chunks, is_address, is_reference, sha256_of,
        shown, usual_login_files,
    };
}

/// Where the bytes of an image go, and how large it would be with other presets. Feature `report`, which is on by default.
#[cfg(feature = "report")]
pub mod report {
    pub use lith_report::*;
}
