//! What do the words of mount.erofs say?

use std::path::PathBuf;

use super::{
    options::{Kind, MountWords},
    remount::Change,
};
use crate::{
    applets::fuse::SUBTYPE,
    args::{Verb, mount::Mount, umount::Umount},
};

/// All words of a command line: those of mount(8) to its helpers, and those of its own.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(super) struct Words {
    /// Mount options, separated by commas
    #[arg(short, value_name = "OPTIONS", value_delimiter = ',')]
    options: Vec<String>,

    /// erofs, erofs.local (by the kernel or not at all) or erofs.fuse
    #[arg(short = 't', value_name = "TYPE", default_value = "erofs")]
    kind: String,

    /// How much is told, from 0 to 9; more than 2, as -v
    #[arg(short, value_name = "#", default_value = "2", value_parser = clap::value_parser!(u8).range(0..=9))]
    debug: u8,

    /// Unmount
    #[arg(short, long)]
    unmount: bool,

    /// Check everything, but mount nothing
    #[arg(short, long)]
    fake: bool,

    /// Leave out mount options that are not known
    #[arg(short)]
    sloppy: bool,

    /// Write no list of mounts: there is none but the kernel's
    #[arg(short, long)]
    no_mtab: bool,

    /// Tell who mounts it
    #[arg(short, long)]
    verbose: bool,

    /// Not possible: mount in another namespace
    #[arg(short = 'N', value_name = "NAMESPACE")]
    namespace: Option<String>,

    /// Not possible: serve an NBD device again
    #[arg(long)]
    reattach: bool,

    /// Not possible: abort an NBD device
    #[arg(long)]
    disconnect: bool,

    /// The image and where to mount it, or with -u where it is mounted
    #[arg(value_name = "SOURCE MOUNTPOINT")]
    places: Vec<PathBuf>,
}

/// What is asked for.
#[derive(Debug)]
pub(super) enum Request {
    /// What a verb does.
    Verb(Verb),
    /// A change of a mount.
    Change(Change),
    /// Nothing more than to find that all is well.
    Nothing,
}

impl Words {
    /// What the words ask for.
    pub(super) fn request(self) -> Result<Request, String> {
        self.refuse_impossible()?;
        if self.unmount {
            return self.unmount();
        }
        let (fuse, kernel) = by(&self.kind)?;
        let words = self.options.iter().map(String::as_str);
        let words = MountWords::read(words, self.sloppy)?;
        let [source, target] = <[PathBuf; 2]>::try_from(self.places).map_err(|places| {
            let missing = if places.is_empty() {
                "missing argument: SOURCE"
            } else {
                "missing argument: MOUNTPOINT"
            };
            places.get(2).map_or_else(|| missing.to_owned(), |place| unexpected(place))
        })?;
        let mut mount = Mount::plain(source, target);
        mount.options = words.options;
        mount.default_subtype(SUBTYPE);
        mount.quiet = !self.verbose && self.debug <= 2;
        (mount.fuse, mount.kernel) = (fuse, kernel);
        Ok(match words.kind {
            _ if self.fake => Request::Nothing,
            Kind::New => Request::Verb(Verb::Mount(mount)),
            kind => {
                let settings = mount.settings();
                let (source, target) = (mount.image.image, mount.directory);
                Request::Change(Change { kind, source, target, settings })
            }
        })
    }

    fn refuse_impossible(&self) -> Result<(), String> {
        let asked = [
            (self.reattach, "--reattach"),
            (self.disconnect, "--disconnect"),
            (self.namespace.is_some(), "-N"),
        ];
        let refused = asked.iter().find(|(is_asked, _)| *is_asked);
        refused.map_or(Ok(()), |(_, word)| Err(format!("{word} is not possible")))
    }

    fn unmount(self) -> Result<Request, String> {
        let [target] = <[PathBuf; 1]>::try_from(self.places).map_err(|places| {
            places.get(1).map_or_else(
                || "missing argument: MOUNTPOINT".to_owned(),
                |place| unexpected(place),
            )
        })?;
        let directory = target.canonicalize().unwrap_or(target);
        Ok(Request::Verb(Verb::Umount(Umount { lazy: false, when_dead: false, directory })))
    }
}

fn unexpected(place: &std::path::Path) -> String {
    format!("unexpected argument: {}", place.display())
}

/// Whether a type asks for FUSE, and whether for the kernel's driver.
fn by(kind: &str) -> Result<(bool, bool), String> {
    match kind {
        "erofs" => Ok((false, false)),
        "erofs.fuse" => Ok((true, false)),
        "erofs.local" => Ok((false, true)),
        "erofs.nbd" | "erofs.ublk" | "erofs.fanotify" => Err(format!(
            "the type `{kind}`: only local images are mounted, by the kernel or by FUSE"
        )),
        _ => Err(format!("the type `{kind}` is not known")),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        words: Words,
    }

    fn request(words: &str) -> Result<Request, String> {
        Program::parse_from(words.split(' ')).words.request()
    }

    fn mount(words: &str) -> Mount {
        match request(words) {
            Ok(Request::Verb(Verb::Mount(mount))) => mount,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn mount_8_calls_it() {
        let called = mount("mount.erofs /dev/loop0 /mnt -n -s -v -o rw,nodev,device=b -t erofs");
        assert_eq!(called.settings().devices, [PathBuf::from("b")]);
        assert!(!called.fuse && !called.kernel && !called.quiet);
        let by_fuse = mount("mount.erofs image /mnt -t erofs.fuse -o uid=1");
        assert!(by_fuse.fuse && by_fuse.quiet);
        assert!(mount("mount.erofs -t erofs.local image /mnt").kernel);
    }

    #[test]
    fn what_is_there_already_is_changed_or_ends() {
        let ended = request("mount.erofs -u /mnt").unwrap();
        assert!(matches!(ended, Request::Verb(Verb::Umount(_))));
        let changed = request("mount.erofs -o remount,noexec a b").unwrap();
        assert!(matches!(changed, Request::Change(change) if change.kind == Kind::Remount));
        assert!(matches!(request("mount.erofs -f a b"), Ok(Request::Nothing)));
    }

    #[test]
    fn what_can_t_be_done_is_refused_by_name() {
        for (words, part) in [
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
            let refused = request(&format!("mount.erofs {words}")).unwrap_err();
            assert!(refused.contains(part), "{words}: {refused}");
        }
    }
}
