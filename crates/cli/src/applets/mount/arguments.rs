//! Defines the arguments of mount.erofs.

use std::path::PathBuf;

use super::{
    options::{Kind, MountOptions},
    remount::Change,
};
use crate::{
    applets::fuse::SUBTYPE,
    args::{mount::Mount, umount::Umount},
};

/// All arguments of a command line: those that mount(8) passes to its helpers, and its own.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(super) struct Arguments {
    /// Mount options, separated by commas
    #[arg(short, value_name = "OPTIONS", value_delimiter = ',')]
    options: Vec<String>,

    /// erofs, erofs.local (only by the kernel) or erofs.fuse
    #[arg(short = 't', value_name = "TYPE", default_value = "erofs")]
    kind: String,

    /// Amount of output, from 0 to 9; above 2 as -v
    #[arg(short, value_name = "#", default_value = "2", value_parser = clap::value_parser!(u8).range(0..=9))]
    debug: u8,

    /// Unmount
    #[arg(short, long)]
    unmount: bool,

    /// Check the arguments, but mount nothing
    #[arg(short, long)]
    fake: bool,

    /// Ignore unknown mount options
    #[arg(short)]
    sloppy: bool,

    /// No effect: only the kernel lists mounts
    #[arg(short, long)]
    no_mtab: bool,

    /// Print whether the kernel or FUSE mounts it
    #[arg(short, long)]
    verbose: bool,

    /// Not supported: mount in another namespace
    #[arg(short = 'N', value_name = "NAMESPACE")]
    namespace: Option<String>,

    /// Not supported: serve an NBD device again
    #[arg(long)]
    reattach: bool,

    /// Not supported: abort an NBD device
    #[arg(long)]
    disconnect: bool,

    /// The image and where to mount it, or with -u where it is mounted
    #[arg(value_name = "SOURCE MOUNTPOINT")]
    places: Vec<PathBuf>,
}

/// What the arguments request.
#[derive(Debug)]
pub(super) enum Request {
    /// To mount an image, as `lith mount` does.
    Mount(Mount),
    /// To unmount one, as `lith umount` does.
    Unmount(Umount),
    Change(Change),
    Check,
}

impl Arguments {
    pub(super) fn request(self) -> Result<Request, String> {
        self.refuse_unsupported()?;
        if self.unmount {
            return self.unmount();
        }
        let (fuse, kernel) = by(&self.kind)?;
        let options = self.options.iter().map(String::as_str);
        let MountOptions { kind, options } = MountOptions::parse(options, self.sloppy)?;
        let [source, target] = <[PathBuf; 2]>::try_from(self.places).map_err(|places| {
            let missing = if places.is_empty() {
                "missing argument: SOURCE"
            } else {
                "missing argument: MOUNTPOINT"
            };
            places.get(2).map_or_else(|| missing.to_owned(), |place| unexpected(place))
        })?;
        let mut mount = Mount::plain(source, target);
        mount.options = options;
        mount.default_subtype(SUBTYPE);
        mount.quiet = !self.verbose && self.debug <= 2;
        (mount.fuse, mount.kernel) = (fuse, kernel);
        Ok(match kind {
            _ if self.fake => Request::Check,
            Kind::New => Request::Mount(mount),
            kind => {
                let settings = mount.settings();
                let (source, target) = (mount.image.image, mount.directory);
                Request::Change(Change { kind, source, target, settings })
            }
        })
    }

    fn refuse_unsupported(&self) -> Result<(), String> {
        let unsupported = [
            (self.reattach, "--reattach"),
            (self.disconnect, "--disconnect"),
            (self.namespace.is_some(), "-N"),
        ];
        let given = unsupported.iter().find(|(is_given, _)| *is_given);
        given.map_or(Ok(()), |(_, option)| Err(format!("{option} is not supported")))
    }

    fn unmount(self) -> Result<Request, String> {
        let [target] = <[PathBuf; 1]>::try_from(self.places).map_err(|places| {
            places.get(1).map_or_else(
                || "missing argument: MOUNTPOINT".to_owned(),
                |place| unexpected(place),
            )
        })?;
        let directory = target.canonicalize().unwrap_or(target);
        Ok(Request::Unmount(Umount { lazy: false, when_dead: false, directory }))
    }
}

fn unexpected(place: &std::path::Path) -> String {
    format!("unexpected argument: {}", place.display())
}

/// Whether a type requires FUSE, and whether it requires the kernel's driver.
fn by(kind: &str) -> Result<(bool, bool), String> {
    match kind {
        "erofs" => Ok((false, false)),
        "erofs.fuse" => Ok((true, false)),
        "erofs.local" => Ok((false, true)),
        "erofs.nbd" | "erofs.ublk" | "erofs.fanotify" => Err(format!(
            "the type `{kind}`: only local images are mounted, by the kernel or by FUSE"
        )),
        _ => Err(format!("unknown type `{kind}`; expected erofs, erofs.local or erofs.fuse")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::applets::program::parsed;

    fn request(line: &str) -> Result<Request, String> {
        parsed::<Arguments>(line).request()
    }

    fn mount(line: &str) -> Mount {
        match request(line) {
            Ok(Request::Mount(mount)) => mount,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn command_lines_of_mount_8_are_understood() {
        let called = mount("mount.erofs /dev/loop0 /mnt -n -s -v -o rw,nodev,device=b -t erofs");
        assert_eq!(called.settings().devices.devices, [PathBuf::from("b")]);
        assert!(!called.fuse && !called.kernel && !called.quiet);
        let by_fuse = mount("mount.erofs image /mnt -t erofs.fuse -o uid=1");
        assert!(by_fuse.fuse && by_fuse.quiet);
        assert!(mount("mount.erofs -t erofs.local image /mnt").kernel);
    }

    #[test]
    fn mounts_are_ended_changed_or_only_checked() {
        let ended = request("mount.erofs -u /mnt").unwrap();
        assert!(matches!(ended, Request::Unmount(_)));
        let changed = request("mount.erofs -o remount,noexec a b").unwrap();
        assert!(matches!(changed, Request::Change(change) if change.kind == Kind::Remount));
        assert!(matches!(request("mount.erofs -f a b"), Ok(Request::Check)));
    }

    #[test]
    fn unsupported_requests_are_refused_by_name() {
        for (arguments, part) in [
            ("--reattach /dev/nbd0", "--reattach"),
            ("--disconnect /dev/nbd0", "--disconnect"),
            ("-N /proc/1/ns/mnt a b", "-N"),
            ("-t erofs.nbd a b", "erofs.nbd"),
            ("-t ext4 a b", "ext4"),
            ("-o oci.layer=0 a b", "oci.layer=0"),
            ("a", "missing argument: MOUNTPOINT"),
            ("a b c", "unexpected argument: c"),
            ("-u", "missing argument"),
        ] {
            let refused = request(&format!("mount.erofs {arguments}")).unwrap_err();
            assert!(refused.contains(part), "{arguments}: {refused}");
        }
    }
}
