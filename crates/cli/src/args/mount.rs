//! Which image is mounted where, by whom, and how?

use std::{ffi::OsString, num::NonZeroUsize, path::PathBuf};

use clap::ValueEnum;
use lith::reader::Way;
use rustix::mount::MountFlags;

use super::{
    image::ImageArgs,
    mount_options::{FLAGS, MountOption},
    value::Size,
};

/// Mount an image
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Mounts an image on a directory. Root gets the kernel's own EROFS where the kernel supports all that \
        the image uses; otherwise, and for everybody else, a server in the background answers by FUSE. Says which of \
        them it is. Returns when the files are there.",
    after_long_help = "\
Examples:
  lith mount image.erofs /mnt
  lith mount --fuse --cache 64M image.erofs /mnt
  lith mount -f -o uid=1000,gid=1000,offset=4096 app.bin dir
  lith mount -o timeout=60 image.erofs dir    gone a minute after its last use
  lith umount /mnt

Words behind -o:
  allow_other        other users see the files, as far as their modes let them (root: always so)
  uid=N, gid=N       all files are theirs
  offset=BYTES, device=FILE, timeout=SECONDS
                     as the options of these names
  allow_root         root sees the files, and no other user
  fsname=NAME, subtype=NAME
                     the source in the list of mounts, and the kind of filesystem there, by FUSE
  max_read=BYTES     the kernel asks for so many bytes at once, by FUSE
  loop               by a loop device, even if the kernel mounts files
  passthrough        the kernel reads files that are stored as they are by itself, if the image lies on
                     btrfs or XFS (root, Linux 6.9)
  dev, nodev, suid, nosuid, exec, noexec, symfollow, nosymfollow, noatime and others of mount(8)
                     as there; by FUSE, nodev and nosuid are the default
  acl, noacl, user_xattr, nouser_xattr, cache_strategy=, dax=, directio, context=, fscontext=,
  defcontext=, rootcontext=
                     for the kernel's driver"
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct Mount {
    #[command(flatten)]
    pub(crate) image: ImageArgs,

    /// Where to mount it
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,

    /// Options in the words of mount(8), separated by commas
    #[arg(short, value_name = "OPTIONS", value_delimiter = ',')]
    pub(crate) options: Vec<MountOption>,

    /// Serve it by FUSE
    #[arg(long, conflicts_with = "kernel")]
    pub(crate) fuse: bool,

    /// Mount it by the kernel's driver or not at all
    #[arg(long)]
    pub(crate) kernel: bool,

    /// Serve it by FUSE from this process, until it is unmounted
    #[arg(short, long, conflicts_with = "kernel")]
    pub(crate) foreground: bool,

    /// Memory for decoded data that is kept
    #[arg(long, value_name = "SIZE", default_value = "64M")]
    pub(crate) cache: Size,

    /// Write what serving took to a file: at the end, and at each SIGUSR1
    #[arg(long, value_name = "FILE")]
    pub(crate) stats: Option<PathBuf>,

    /// Decode everything in one way, to measure it
    #[arg(long, value_name = "WAY")]
    pub(crate) decode: Option<DecodeWay>,

    /// Threads that answer and decode
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,

    /// Where the image begins in its file
    #[arg(long, value_name = "BYTES")]
    pub(crate) offset: Option<Size>,

    /// Unmount when nothing was asked for so long
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,

    /// Tell on standard output when it is mounted, and leave the terminal
    #[arg(long, hide = true)]
    pub(crate) server: bool,

    /// Say nothing of who mounts it.
    #[arg(skip)]
    pub(crate) quiet: bool,
}

/// Memory for decoded data, where nothing is said of it.
const CACHE: Size = Size(64 << 20);

/// A way to decode.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum DecodeWay {
    /// Into the answer.
    Direct,
    /// Into a buffer, then copied.
    Buffered,
    /// Through a window.
    Rolling,
    /// Over the stored bytes.
    InPlace,
}

impl DecodeWay {
    fn word(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
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

/// What the options say, those behind `-o` among them.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub(crate) struct Settings {
    pub(crate) allow_other: bool,
    pub(crate) allow_root: bool,
    pub(crate) uid: Option<u32>,
    pub(crate) gid: Option<u32>,
    pub(crate) offset: u64,
    pub(crate) devices: Vec<PathBuf>,
    pub(crate) timeout: Option<u64>,
    pub(crate) source: Option<String>,
    pub(crate) subtype: Option<String>,
    pub(crate) max_read: Option<u32>,
    pub(crate) loop_device: bool,
    /// Flags of mount(2) that are set.
    pub(crate) set: MountFlags,
    /// Those that are cleared expressly.
    pub(crate) cleared: MountFlags,
    pub(crate) passthrough: bool,
    /// Words for the kernel's driver alone.
    pub(crate) kernel: Vec<String>,
}

impl Mount {
    /// One without any options.
    pub(crate) fn plain(image: PathBuf, directory: PathBuf) -> Self {
        Self {
            image: ImageArgs { image, devices: Vec::new() },
            directory,
            options: Vec::new(),
            fuse: false,
            kernel: false,
            foreground: false,
            cache: CACHE,
            stats: None,
            decode: None,
            threads: None,
            offset: None,
            timeout: None,
            server: false,
            quiet: false,
        }
    }

    /// Shows it as this kind of filesystem in the list of mounts, unless the options name one.
    pub(crate) fn default_subtype(&mut self, subtype: &str) {
        self.options.insert(0, MountOption::Subtype(subtype.to_owned()));
    }

    /// What the options say; of those that contradict each other, the last counts.
    pub(crate) fn settings(&self) -> Settings {
        let mut settings = Settings {
            offset: self.offset.unwrap_or(Size(0)).0,
            devices: self.image.devices.clone(),
            timeout: self.timeout,
            ..Settings::none()
        };
        for option in &self.options {
            settings.take(option.clone());
        }
        settings
    }

    /// The words that start the server of this mount.
    pub(crate) fn server_words(&self, settings: &Settings) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec!["mount".into(), "--server".into()];
        let mut add = |name: &str, value: Option<OsString>| {
            words.extend(value.into_iter().flat_map(|value| [name.into(), value]));
        };
        add("--cache", Some(self.cache.0.to_string().into()));
        add("--stats", self.stats.as_ref().map(Into::into));
        add("--decode", self.decode.map(|way| way.word().into()));
        add("--threads", self.threads.map(|threads| threads.to_string().into()));
        add("--offset", Some(settings.offset.to_string().into()));
        add("--timeout", settings.timeout.map(|seconds| seconds.to_string().into()));
        for device in &settings.devices {
            add("--device", Some(device.into()));
        }
        for word in settings.words() {
            add("-o", Some(word.into()));
        }
        words.push("--".into());
        words.extend([self.image.image.clone().into(), self.directory.clone().into()]);
        words
    }
}

impl Settings {
    const fn none() -> Self {
        Self {
            allow_other: false,
            allow_root: false,
            uid: None,
            gid: None,
            offset: 0,
            devices: Vec::new(),
            timeout: None,
            source: None,
            subtype: None,
            max_read: None,
            loop_device: false,
            set: MountFlags::empty(),
            cleared: MountFlags::empty(),
            passthrough: false,
            kernel: Vec::new(),
        }
    }

    fn take(&mut self, option: MountOption) {
        match option {
            MountOption::Idle => {}
            MountOption::AllowOther => self.allow_other = true,
            MountOption::AllowRoot => self.allow_root = true,
            MountOption::Uid(uid) => self.uid = Some(uid),
            MountOption::Gid(gid) => self.gid = Some(gid),
            MountOption::Offset(offset) => self.offset = offset.0,
            MountOption::Device(device) => self.devices.push(device),
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
            MountOption::Kernel(word) => self.kernel.push(word),
        }
    }

    /// What has no option of its own, in the words of `-o`.
    fn words(&self) -> Vec<String> {
        let flags = [
            (self.allow_other, "allow_other"),
            (self.allow_root, "allow_root"),
            (self.passthrough, "passthrough"),
        ];
        let mut words: Vec<String> =
            flags.iter().filter(|(set, _)| *set).map(|(_, word)| (*word).to_owned()).collect();
        words.extend(self.uid.map(|uid| format!("uid={uid}")));
        words.extend(self.gid.map(|gid| format!("gid={gid}")));
        words.extend(self.source.as_ref().map(|source| format!("fsname={source}")));
        words.extend(self.subtype.as_ref().map(|subtype| format!("subtype={subtype}")));
        words.extend(self.max_read.map(|bytes| format!("max_read={bytes}")));
        let is_so = |flags, set| if set { self.set } else { self.cleared }.contains(flags);
        let flags = FLAGS.iter().filter(|(_, flags, set)| is_so(*flags, *set));
        words.extend(flags.map(|(word, ..)| (*word).to_owned()));
        words
    }

    /// What only a FUSE server can do, if anything of that is asked for.
    pub(crate) fn needs_fuse(&self) -> Option<&'static str> {
        let asked = [
            (self.uid.is_some(), "uid="),
            (self.gid.is_some(), "gid="),
            (self.timeout.is_some(), "timeout="),
            (self.passthrough, "passthrough"),
            (self.allow_root, "allow_root"),
            (self.max_read.is_some(), "max_read="),
        ];
        asked.iter().find(|(is_asked, _)| *is_asked).map(|(_, word)| *word)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        mount: Mount,
    }

    fn parse(words: &[&str]) -> Mount {
        Words::parse_from([&["mount"], words].concat()).mount
    }

    #[test]
    fn squashfuse_users_feel_at_home() {
        let mount = parse(&["-f", "-o", "uid=1000,gid=100,offset=512", "image", "dir"]);
        let settings = mount.settings();
        assert!(mount.foreground);
        assert_eq!((settings.uid, settings.gid, settings.offset), (Some(1000), Some(100), 512));
        assert_eq!(settings.needs_fuse(), Some("uid="));
    }

    #[test]
    fn a_plain_one_is_what_no_options_give() {
        let plain = Mount::plain("image".into(), "dir".into());
        assert_eq!(format!("{plain:?}"), format!("{:?}", parse(&["image", "dir"])));
    }

    #[test]
    fn of_flags_the_last_counts() {
        let settings = parse(&["-o", "nodev,dev,suid,nosuid,noatime", "image", "dir"]).settings();
        assert_eq!(settings.set, MountFlags::NOSUID | MountFlags::NOATIME);
        assert_eq!(settings.cleared, MountFlags::NODEV);
    }

    #[test]
    fn the_server_is_told_everything() {
        let words = "--cache 1M --stats s --decode in-place --threads 3 --offset 5 --timeout 9 --device a --device b";
        let words = words.split(' ').chain([
            "-o",
            "allow_other,uid=7,fsname=x,subtype=y,max_read=4096,noexec,suid,passthrough,allow_root",
            "--",
            "-i",
        ]);
        let mount = parse(&words.chain(["dir"]).collect::<Vec<_>>());
        let again = mount.server_words(&mount.settings());
        let again: Vec<_> = again.iter().skip(1).map(|word| word.to_str().unwrap()).collect();
        let again = parse(&again);
        assert!(again.server);
        assert_eq!(again.settings(), mount.settings());
        assert_eq!((again.cache, again.threads), (mount.cache, mount.threads));
        assert_eq!((again.stats, again.decode), (mount.stats, mount.decode));
        assert_eq!((again.image.image, again.directory), (mount.image.image, mount.directory));
    }
}
