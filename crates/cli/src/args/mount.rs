//! Defines the arguments of `lith mount`.

use std::{ffi::OsString, num::NonZeroUsize, path::PathBuf};

use clap::ValueEnum;
use lith::{bases::Search, reader::Way};

use super::{
    common::ImageArgs,
    location::Location,
    mount_flags::MountFlags,
    mount_options::{FLAGS, MountOption},
    value::{self, Size},
};

/// Mount an image
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Mounts an image on a directory. For root, the kernel's EROFS driver mounts it if it supports all features \
        of the image; otherwise, and for other users, a FUSE server in the background does. Prints which of them it is. \
        Returns when the files are accessible.",
    after_long_help = "\
Examples:
  lith mount image.erofs /mnt
  lith mount --fuse --cache 64M image.erofs /mnt
  lith mount -f -o uid=1000,gid=1000,offset=4096 app.bin dir
  lith mount -o timeout=60 image.erofs dir    unmount after a minute without access
  lith mount --fuse --record app.profile image.erofs dir
  lith mount https://host/image.erofs /mnt        fetched as it is read
  lith mount oci://host/box:1 /mnt                the same of a registry
  lith umount /mnt

Mount options (-o):
  allow_other        other users have access, as file modes permit (default for root)
  allow_root         root has access, but no other user
  uid=N, gid=N       owner and group of all files
  offset=BYTES, device=FILE, timeout=TIME
                     as the options of these names
  fsname=NAME, subtype=NAME
                     source and type in the list of mounts (FUSE only)
  max_read=BYTES     most bytes per read request (FUSE only)
  loop               use a loop device, even if the kernel mounts files directly
  passthrough        the kernel reads uncompressed files from the image itself, if the image is on btrfs
                     or XFS (FUSE only; root, Linux 6.9)
  dev, nodev, suid, nosuid, exec, noexec, symfollow, nosymfollow, noatime and others of mount(8)
                     as in mount(8); nodev and nosuid are the default with FUSE
  acl, noacl, user_xattr, nouser_xattr, cache_strategy=, dax=, directio, context=, fscontext=,
  defcontext=, rootcontext=
                     for the kernel's driver"
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct Mount {
    #[command(flatten)]
    pub(crate) image: ImageArgs,

    /// The mount point
    #[arg(value_name = "DIR", value_parser = value::place())]
    pub(crate) directory: PathBuf,

    /// Mount options, separated by commas
    #[arg(short, value_name = "OPTIONS", value_delimiter = ',')]
    pub(crate) options: Vec<MountOption>,

    /// Serve it by FUSE
    #[arg(long, conflicts_with = "kernel")]
    pub(crate) fuse: bool,

    /// Mount it by the kernel's driver only
    #[arg(long)]
    pub(crate) kernel: bool,

    /// Serve it by FUSE in the foreground, until it is unmounted
    #[arg(short, long, conflicts_with = "kernel")]
    pub(crate) foreground: bool,

    /// Memory for the cache of decoded data
    #[arg(long, value_name = "SIZE", default_value = "64M")]
    pub(crate) cache: Size,

    /// Write statistics to a file: at the end, and on SIGUSR1
    #[arg(long, value_name = "FILE", value_parser = value::place())]
    pub(crate) stats: Option<PathBuf>,

    /// Write a profile of what is read to a file, for `lith build --profile`: at the end, and on SIGUSR1 (FUSE only)
    #[arg(long, value_name = "FILE", value_parser = value::place())]
    pub(crate) record: Option<PathBuf>,

    /// Read ahead, when the image is mounted: what is read first, if the image says where that is (hot, and by default), all
    /// of it, or nothing
    #[arg(
        long,
        value_name = "auto|none|hot|all",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub(crate) prefetch: Prefetch,

    /// Decode all data in this way, for measurements
    #[arg(long, value_name = "WAY")]
    pub(crate) decode: Option<DecodeWay>,

    /// Threads that answer requests and decode
    #[arg(long = "workers", alias = "threads", value_name = "N", value_parser = value::count)]
    pub(crate) threads: Option<NonZeroUsize>,

    /// Unmount after this time without a request: `90`, `90s`, `2m`, `1h`; 0 for never
    #[arg(long, value_name = "TIME", value_parser = value::seconds)]
    pub(crate) timeout: Option<u64>,

    /// Report the mount on standard output, then leave the terminal
    #[arg(long, hide = true)]
    pub(crate) server: bool,

    /// Only read ahead, and return when all is in memory
    #[arg(long, hide = true)]
    pub(crate) read_ahead: bool,

    /// Answer for the kernel's driver when it reads an image on a web server: report the mount on standard output, then leave
    /// the terminal
    #[arg(long, hide = true)]
    pub(crate) guard: bool,

    /// Take the place of such a process that died, and whose group is standard output
    #[arg(long, hide = true)]
    pub(crate) again: bool,

    /// Fetch what such a process requests on standard input
    #[arg(long, hide = true)]
    pub(crate) fetch: bool,

    /// Device and inode of that file: another one of its name is not what is mounted
    #[arg(long, hide = true, value_name = "DEV:INODE")]
    pub(crate) inode: Option<String>,

    /// All metadata of the image is there, as the kernel doesn't report that it reads it
    #[arg(long, hide = true)]
    pub(crate) has_metadata: bool,

    /// The file of the cache that they fill
    #[arg(long, hide = true)]
    pub(crate) object: Option<PathBuf>,

    /// Which version of an image on a server was opened before: a name or an address may be that of another one by now
    #[arg(long, hide = true, value_name = "VERSION")]
    pub(crate) opened: Option<String>,

    /// Let the FUSE server keep all rights of its user: without this option it can open nothing but the image once it is
    /// mounted, and use only the system calls that serving takes
    #[arg(long, conflicts_with = "kernel")]
    pub(crate) no_sandbox: bool,

    /// Print who mounts it as JSON: docs/json.md
    #[arg(long, conflicts_with = "foreground")]
    pub(crate) json: bool,

    /// Don't print who mounts it.
    #[arg(skip)]
    pub(crate) quiet: bool,

    /// Print which parts of the sandbox the kernel lacks.
    #[arg(skip)]
    pub(crate) verbose: bool,
}

/// The default of `--cache`.
const CACHE: Size = Size(64 << 20);

/// What is read ahead.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, clap::ValueEnum)]
pub(crate) enum Prefetch {
    /// What suits the image.
    #[default]
    Auto,
    /// Nothing.
    None,
    /// What is read first.
    Hot,
    /// Everything.
    All,
}

impl Prefetch {
    fn name(self) -> String {
        let value = self.to_possible_value().expect("no choice is hidden from the command line");
        value.get_name().to_owned()
    }
}

/// A way to decode.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum DecodeWay {
    /// Into the reply's buffer.
    Direct,
    /// Into a temporary buffer, then copied.
    Buffered,
    /// Through a rolling window.
    Rolling,
    /// In the buffer of the stored bytes.
    InPlace,
}

impl DecodeWay {
    fn name(self) -> String {
        let value =
            self.to_possible_value().expect("no way to decode is hidden from the command line");
        value.get_name().to_owned()
    }

    pub(crate) const fn way(self) -> Way {
        match self {
            Self::Direct => Way::Direct,
            Self::Buffered => Way::Buffered,
            Self::Rolling => Way::Rolling,
            Self::InPlace => Way::InPlace,
        }
    }
}

/// The effective options, those after `-o` included.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub(crate) struct Settings {
    pub(crate) allow_other: bool,
    pub(crate) allow_root: bool,
    pub(crate) uid: Option<u32>,
    pub(crate) gid: Option<u32>,
    pub(crate) offset: u64,
    pub(crate) devices: Search,
    pub(crate) timeout: Option<u64>,
    pub(crate) source: Option<String>,
    pub(crate) subtype: Option<String>,
    pub(crate) max_read: Option<u32>,
    pub(crate) loop_device: bool,
    /// Flags of mount(2) to set.
    pub(crate) set: MountFlags,
    /// Flags of mount(2) that are cleared explicitly.
    pub(crate) cleared: MountFlags,
    pub(crate) passthrough: bool,
    /// Whether a profile is recorded.
    pub(crate) records: bool,
    /// Options for the kernel's driver only.
    pub(crate) kernel: Vec<String>,
    /// Which version of an image on a server was opened.
    pub(crate) opened: Option<String>,
}

impl Mount {
    pub(crate) fn plain(image: PathBuf, directory: PathBuf) -> Self {
        Self {
            image: ImageArgs::new(image),
            directory,
            options: Vec::new(),
            fuse: false,
            kernel: false,
            foreground: false,
            cache: CACHE,
            stats: None,
            record: None,
            prefetch: Prefetch::default(),
            decode: None,
            threads: None,
            timeout: None,
            server: false,
            read_ahead: false,
            guard: false,
            again: false,
            fetch: false,
            inode: None,
            has_metadata: false,
            object: None,
            opened: None,
            no_sandbox: false,
            json: false,
            quiet: false,
            verbose: false,
        }
    }

    /// Sets the filesystem subtype in the list of mounts, unless an option does.
    pub(crate) fn default_subtype(&mut self, subtype: &str) {
        self.options.insert(0, MountOption::Subtype(subtype.to_owned()));
    }

    /// The effective options; the last of contradicting ones wins.
    pub(crate) fn settings(&self) -> Settings {
        let mut settings = Settings {
            allow_other: false,
            allow_root: false,
            uid: None,
            gid: None,
            offset: self.image.offset.0,
            devices: self.image.devices.search(),
            timeout: self.timeout,
            source: None,
            subtype: None,
            max_read: None,
            loop_device: false,
            set: MountFlags::empty(),
            cleared: MountFlags::empty(),
            passthrough: false,
            records: self.record.is_some(),
            kernel: Vec::new(),
            opened: self.opened.clone(),
        };
        for option in &self.options {
            settings.take(option.clone());
        }
        settings
    }

    /// Where the image is.
    pub(crate) fn location(&self, settings: &Settings) -> Location<'_> {
        Location {
            path: &self.image.image,
            offset: settings.offset,
            search: settings.devices.clone(),
            trust: self.image.trust.trust(),
            keep: self.image.remote.keep(),
        }
    }

    /// The arguments with which this program starts itself, to serve this mount or to read ahead.
    pub(crate) fn arguments(&self, role: &str, settings: &Settings) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec!["mount".into(), role.into()];
        let mut add = |name: &str, value: Option<OsString>| {
            arguments.extend(value.into_iter().flat_map(|value| [name.into(), value]));
        };
        add("--cache", Some(self.cache.0.to_string().into()));
        add("--stats", self.stats.as_ref().map(Into::into));
        add("--record", self.record.as_ref().map(Into::into));
        add("--prefetch", Some(self.prefetch.name().into()));
        add("--decode", self.decode.map(|way| way.name().into()));
        add("--workers", self.threads.map(|threads| threads.to_string().into()));
        add("--offset", Some(settings.offset.to_string().into()));
        let trust = &self.image.trust;
        add("--root-hash", trust.root_hash.map(|hash| hash.to_string().into()));
        add("--verity", trust.verity.as_ref().map(Into::into));
        add("--hash-offset", trust.hash_offset.map(|offset| offset.0.to_string().into()));
        add("--cache-dir", self.image.remote.cache_dir.as_ref().map(Into::into));
        add("--opened", settings.opened.as_ref().map(Into::into));
        add("--timeout", settings.timeout.map(|seconds| seconds.to_string().into()));
        for device in &settings.devices.devices {
            add("--device", Some(device.into()));
        }
        for folder in &settings.devices.directories {
            add("--base-dir", Some(folder.into()));
        }
        for option in settings.options() {
            add("-o", Some(option.into()));
        }
        if self.image.remote.no_cache {
            arguments.push("--no-cache".into());
        }
        if self.no_sandbox {
            arguments.push("--no-sandbox".into());
        }
        if self.verbose {
            arguments.push("--verbose".into());
        }
        if self.image.ignore_checksum {
            arguments.push("--ignore-checksum".into());
        }
        arguments.push("--".into());
        arguments.extend([self.image.image.clone().into(), self.directory.clone().into()]);
        arguments
    }
}

impl Settings {
    fn take(&mut self, option: MountOption) {
        match option {
            MountOption::Ignored => {}
            MountOption::AllowOther => self.allow_other = true,
            MountOption::AllowRoot => self.allow_root = true,
            MountOption::Uid(uid) => self.uid = Some(uid),
            MountOption::Gid(gid) => self.gid = Some(gid),
            MountOption::Offset(offset) => self.offset = offset.0,
            MountOption::Device(device) => self.devices.devices.push(device),
            MountOption::Timeout(seconds) => self.timeout = Some(seconds),
            MountOption::Source(source) => self.source = Some(source),
            MountOption::Subtype(subtype) => self.subtype = Some(subtype),
            MountOption::MaxRead(bytes) => self.max_read = Some(bytes),
            MountOption::Loop => self.loop_device = true,
            MountOption::Flags(flags, set) => {
                self.set.set(flags, set);
                self.cleared.set(flags, !set);
            }
            MountOption::Passthrough => self.passthrough = true,
            MountOption::Kernel(option) => self.kernel.push(option),
        }
    }

    /// The options for `-o`: those without a long option.
    fn options(&self) -> Vec<String> {
        let flags = [
            (self.allow_other, "allow_other"),
            (self.allow_root, "allow_root"),
            (self.passthrough, "passthrough"),
        ];
        let mut options: Vec<String> =
            flags.iter().filter(|(set, _)| *set).map(|(_, name)| (*name).to_owned()).collect();
        options.extend(self.uid.map(|uid| format!("uid={uid}")));
        options.extend(self.gid.map(|gid| format!("gid={gid}")));
        options.extend(self.source.as_ref().map(|source| format!("fsname={source}")));
        options.extend(self.subtype.as_ref().map(|subtype| format!("subtype={subtype}")));
        options.extend(self.max_read.map(|bytes| format!("max_read={bytes}")));
        let is_so = |flags, set| if set { self.set } else { self.cleared }.contains(flags);
        let flags = FLAGS.iter().filter(|(_, flags, set)| is_so(*flags, *set));
        options.extend(flags.map(|(name, ..)| (*name).to_owned()));
        options
    }

    /// A requested option that only a FUSE server supports.
    pub(crate) fn needs_fuse(&self) -> Option<&'static str> {
        let fuse_only = [
            (self.uid.is_some(), "uid="),
            (self.gid.is_some(), "gid="),
            (self.timeout.is_some(), "timeout="),
            (self.passthrough, "passthrough"),
            (self.allow_root, "allow_root"),
            (self.max_read.is_some(), "max_read="),
            (self.records, "--record"),
        ];
        fuse_only.iter().find(|(is_requested, _)| *is_requested).map(|(_, name)| *name)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        mount: Mount,
    }

    fn parse(arguments: &[&str]) -> Mount {
        Program::parse_from([&["mount"], arguments].concat()).mount
    }

    #[test]
    fn options_of_squashfuse_are_known() {
        let mount = parse(&["-f", "-o", "uid=1000,gid=100,offset=512", "image", "dir"]);
        let settings = mount.settings();
        assert!(mount.foreground);
        assert_eq!((settings.uid, settings.gid, settings.offset), (Some(1000), Some(100), 512));
        assert_eq!(settings.needs_fuse(), Some("uid="));
    }

    #[test]
    fn a_plain_mount_has_the_default_options() {
        let plain = Mount::plain("image".into(), "dir".into());
        assert_eq!(format!("{plain:?}"), format!("{:?}", parse(&["image", "dir"])));
    }

    #[test]
    fn the_last_of_contradicting_flags_wins() {
        let settings = parse(&["-o", "nodev,dev,suid,nosuid,noatime", "image", "dir"]).settings();
        assert_eq!(settings.set, MountFlags::NOSUID | MountFlags::NOATIME);
        assert_eq!(settings.cleared, MountFlags::NODEV);
    }

    #[test]
    fn the_server_gets_all_options() {
        let options = "--cache 1M --stats s --record r --decode in-place --threads 3 --offset 5 --timeout 9 --opened v --device a --device b";
        let line = options.split(' ').chain([
            "-o",
            "allow_other,uid=7,fsname=x,subtype=y,max_read=4096,noexec,suid,passthrough,allow_root",
            "--",
            "-i",
        ]);
        let mount = parse(&line.chain(["dir"]).collect::<Vec<_>>());
        let again = mount.arguments("--server", &mount.settings());
        let again: Vec<_> =
            again.iter().skip(1).map(|argument| argument.to_str().unwrap()).collect();
        let again = parse(&again);
        assert!(again.server);
        assert_eq!(again.settings(), mount.settings());
        assert_eq!((again.cache, again.threads), (mount.cache, mount.threads));
        assert_eq!((again.stats, again.decode), (mount.stats, mount.decode));
        assert_eq!(again.record, mount.record);
        assert_eq!((again.image.image, again.directory), (mount.image.image, mount.directory));
    }
}
