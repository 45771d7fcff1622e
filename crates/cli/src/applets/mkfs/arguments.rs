//! Defines the arguments of mkfs.erofs.

use std::{ffi::OsString, path::PathBuf};

use clap::Args;

use crate::args::c_number as number;

/// The command line, each argument checked by itself.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    /// The image to make
    #[arg(value_name = "FILE")]
    pub(super) image: PathBuf,

    /// A directory; with --tar a tar, by default standard input; or images to merge, the lowest layer first
    #[arg(value_name = "SOURCE")]
    pub(super) sources: Vec<PathBuf>,

    #[command(flatten)]
    pub(super) data: DataArguments,

    #[command(flatten)]
    pub(super) layout: LayoutArguments,

    #[command(flatten)]
    pub(super) source: SourceArguments,

    #[command(flatten)]
    pub(super) attributes: AttributeArguments,

    #[command(flatten)]
    pub(super) work: WorkArguments,

    #[command(flatten)]
    pub(super) refused: RefusedArguments,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Compression")]
pub(super) struct DataArguments {
    /// The compression of files; further ones for --compress-hints follow after colons. Levels: lz4hc 0 to 12 (9), lzma 0
    /// to 9 and 100 to 109 (6), deflate 0 to 9 (1), libdeflate 0 to 12 (1), zstd 0 to 22 (3)
    #[arg(short = 'z', value_name = "X[,level=Y][,dictsize=Z][:...]", allow_hyphen_values = true)]
    pub(super) compressors: Vec<String>,

    /// The most bytes of a physical cluster [default: one block]
    #[arg(short = 'C', value_name = "BYTES", value_parser = number::bytes)]
    pub(super) pcluster: Option<u64>,

    /// Extended options: legacy-compress, ztailpacking, fragments[=BYTES], all-fragments[=BYTES], dedupe,
    /// fragdedupe[=inode|full], 48bit, dot-omitted, force-inode-compact, force-inode-extended, force-inode-blockmap,
    /// force-chunk-indexes, `inline_data`, `noinline_data`, nosbcrc, plain-xattr-prefixes, xattr-name-filter; `^` before one
    /// switches it off
    #[arg(short = 'E', value_name = "X[,...]", allow_hyphen_values = true)]
    pub(super) extended: Vec<String>,

    /// Compress metadata in physical clusters of this size, with its own algorithm or that of files
    #[arg(short = 'm', value_name = "BYTES[:X]")]
    pub(super) metadata: Option<String>,

    /// Whether directories are compressed
    #[arg(long = "zD", value_name = "0|1", num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    pub(super) compress_directories: Option<String>,

    /// A file with a compression strategy for each file: lines of `BYTES [NUMBER] REGEX`
    #[arg(long, value_name = "FILE")]
    pub(super) compress_hints: Option<PathBuf>,

    /// The most bytes that an extent has when it is decompressed
    #[arg(long, value_name = "BYTES", value_parser = number::bytes)]
    pub(super) max_extent_bytes: Option<u64>,

    /// Compression features by bits: 1 legacy-compress, 2 ztailpacking, 4 fragments, 8 all-fragments, 16 dedupe, 32
    /// fragdedupe, 64 48bit, 128 dot-omitted
    #[arg(long, value_name = "BITS", value_parser = number::number)]
    pub(super) zfeature_bits: Option<u64>,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Layout")]
pub(super) struct LayoutArguments {
    /// Block size
    #[arg(short = 'b', value_name = "BYTES", value_parser = number::bytes, default_value = "4096")]
    pub(super) block: u64,

    /// How many inodes store a copy of an extended attribute before it is shared; below 0: no extended attributes
    #[arg(short = 'x', value_name = "NUMBER", value_parser = number::signed, default_value = "2", allow_hyphen_values = true)]
    pub(super) xattr_tolerance: i64,

    /// An extra device for the data of chunk-based files
    #[arg(long, value_name = "FILE")]
    pub(super) blobdev: Option<PathBuf>,

    /// Make chunk-based files with chunks of this size, equal ones stored once
    #[arg(long, value_name = "BYTES", value_parser = number::bytes)]
    pub(super) chunksize: Option<u64>,

    /// Align all data to this number of blocks
    #[arg(long, value_name = "BLOCKS", value_parser = number::number)]
    pub(super) dsunit: Option<u64>,

    /// Align the image's size to this number of blocks
    #[arg(long, value_name = "BLOCKS", value_parser = number::number)]
    pub(super) fsalignblks: Option<u64>,

    /// Put inodes (i) and directories (d) into a zone for metadata
    #[arg(long = "MZ", value_name = "0|[id]", num_args = 0..=1, require_equals = true, default_missing_value = "id")]
    pub(super) metadata_zone: Option<String>,

    /// Start the image at this byte of FILE, and keep the bytes before it
    #[arg(long, value_name = "BYTES", value_parser = number::number)]
    pub(super) offset: Option<u64>,

    /// The least number of bytes for extended attributes next to the root inode
    #[arg(long, value_name = "BYTES", value_parser = number::number)]
    pub(super) root_xattr_isize: Option<u64>,

    /// A prefix of xattr names to store once
    #[arg(long, value_name = "PREFIX")]
    pub(super) xattr_prefix: Vec<OsString>,

    /// Record a digest of each file in an extended attribute [default name: erofs.fingerprint.v1]
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, default_missing_value = "erofs.fingerprint.v1")]
    pub(super) xattr_inode_digest: Option<OsString>,

    /// A VMDK descriptor that joins image and devices
    #[arg(long, value_name = "FILE")]
    pub(super) vmdk_desc: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Source")]
pub(super) struct SourceArguments {
    /// The source is a tar: --tar=f takes all of it, --tar=i refers to the data in it, --tar=headerball is a tar
    /// without data
    #[arg(long, value_name = "f|i|headerball", num_args = 0..=1, require_equals = true, default_missing_value = "f")]
    pub(super) tar: Option<String>,

    /// Convert whiteouts of AUFS to those of overlayfs
    #[arg(long)]
    pub(super) aufs: bool,

    /// The order of a tar's data in the image: by path, or any
    #[arg(long, value_name = "path|none", value_parser = ["path", "none"])]
    pub(super) sort: Option<String>,

    /// The tar is compressed with gzip; copy it decompressed to a file
    #[arg(long, alias = "gzip", value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(super) ungzip: Option<OsString>,

    /// The tar is compressed with xz or lzma; copy it decompressed to a file
    #[arg(long, alias = "unlzma", value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(super) unxz: Option<OsString>,

    /// Build a new image with all data (data), reserved space (rvsp) or zeros (0)
    #[arg(long, value_name = "data|rvsp|0", num_args = 0..=1, require_equals = true, default_missing_value = "data")]
    pub(super) clean: Option<String>,

    /// Add the source to the image in FILE, with all data (data) or reserved space (rvsp)
    #[arg(long, value_name = "data|rvsp|0", num_args = 0..=1, require_equals = true, default_missing_value = "data", overrides_with = "clean")]
    pub(super) incremental: Option<String>,

    /// Drop whiteouts and other metadata of overlayfs
    #[arg(long, value_name = "0|1", num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    pub(super) ovlfs_strip: Option<String>,

    /// Exclude a path, with everything below
    #[arg(long, value_name = "PATH")]
    pub(super) exclude_path: Vec<OsString>,

    /// Exclude paths that match a regular expression, with everything below
    #[arg(long, value_name = "REGEX")]
    pub(super) exclude_regex: Vec<String>,

    /// Store each hard link as a file of its own
    #[arg(long)]
    pub(super) hard_dereference: bool,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Attributes")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub(super) struct AttributeArguments {
    /// The volume's name, at most 15 bytes
    #[arg(short = 'L', value_name = "LABEL")]
    pub(super) label: Option<OsString>,

    /// The build time, in seconds since 1970
    #[arg(short = 'T', value_name = "SECONDS", value_parser = number::signed, allow_hyphen_values = true)]
    pub(super) time: Option<i64>,

    /// -T sets the time of all files too (default)
    #[arg(long, overrides_with = "mkfs_time")]
    pub(super) all_time: bool,

    /// -T sets the build time only
    #[arg(long, overrides_with = "all_time")]
    pub(super) mkfs_time: bool,

    /// The image's UUID: a UUID, clear or random [default: a digest of the image's content]
    #[arg(short = 'U', value_name = "UUID")]
    pub(super) uuid: Option<String>,

    /// Everything belongs to root
    #[arg(long)]
    pub(super) all_root: bool,

    /// Everything belongs to this user
    #[arg(long, value_name = "UID", value_parser = number::id)]
    pub(super) force_uid: Option<u32>,

    /// Everything belongs to this group
    #[arg(long, value_name = "GID", value_parser = number::id)]
    pub(super) force_gid: Option<u32>,

    /// Add this to all user ids
    #[arg(long, value_name = "NUMBER", value_parser = number::signed, allow_hyphen_values = true)]
    pub(super) uid_offset: Option<i64>,

    /// Add this to all group ids
    #[arg(long, value_name = "NUMBER", value_parser = number::signed, allow_hyphen_values = true)]
    pub(super) gid_offset: Option<i64>,

    /// Drop files' times where that saves space
    #[arg(long, overrides_with = "preserve_mtime")]
    pub(super) ignore_mtime: bool,

    /// Store every file's time (default)
    #[arg(long, overrides_with = "ignore_mtime")]
    pub(super) preserve_mtime: bool,

    /// SELinux labels, in the format of `selinux_file(5)`
    #[arg(long, value_name = "FILE")]
    pub(super) file_contexts: Option<PathBuf>,

    /// The mount point: the prefix of paths in --file-contexts, --fs-config-file and --block-list-file
    #[arg(long, value_name = "PATH")]
    pub(super) mount_point: Option<OsString>,

    /// Owners, modes and capabilities, in Android's format
    #[arg(long, value_name = "FILE")]
    pub(super) fs_config_file: Option<PathBuf>,

    /// Android's directory of products, for --fs-config-file
    #[arg(long, value_name = "DIR")]
    pub(super) product_out: Option<PathBuf>,

    /// Write the blocks of each file, in Android's format
    #[arg(long, value_name = "FILE")]
    pub(super) block_list_file: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Resources and output")]
pub(super) struct WorkArguments {
    /// Threads [default: one for each core]
    #[arg(long, value_name = "NUMBER", value_parser = number::number)]
    pub(super) workers: Option<u64>,

    /// How many jobs may wait; ignored, since memory is bounded anyway
    #[arg(long, value_name = "NUMBER", value_parser = number::number)]
    pub(super) async_queue_limit: Option<u64>,

    /// How much is printed: 0 only errors, 9 most
    #[arg(short = 'd', value_name = "0-9", value_parser = clap::value_parser!(u8).range(0..=9), default_value = "2")]
    pub(super) verbosity: u8,

    /// Print only errors
    #[arg(long)]
    pub(super) quiet: bool,
}

/// Options of mkfs.erofs that this program lacks.
#[derive(Args, Debug)]
#[command(next_help_heading = "Refused")]
pub(super) struct RefusedArguments {
    /// Read from an object store
    #[arg(long, value_name = "ENDPOINT,...")]
    s3: Option<OsString>,

    /// Read from a registry
    #[arg(long, value_name = "[f|i],...", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    oci: Option<OsString>,

    /// Write an index of a gzip stream
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    gzinfo: Option<OsString>,
}

impl RefusedArguments {
    /// Refuses options that this program lacks.
    pub(super) fn check(&self) -> Result<(), String> {
        let reasons = [
            (&self.s3, "--s3: images are not made from object stores; fetch the files first"),
            (
                &self.oci,
                "--oci: images are not made from registries; save the layers as tars first",
            ),
            (&self.gzinfo, "--gzinfo: indexes of gzip streams are not made"),
        ];
        reasons
            .iter()
            .find(|(option, _)| option.is_some())
            .map_or(Ok(()), |(_, why)| Err((*why).into()))
    }
}
