//! Runs erofsfuse, which serves an image by FUSE and has the options of libfuse.

mod options;

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use clap::Command;

use self::options::{FuseOption, FuseOptions};
use super::program::{self, program, version};
use crate::{
    args::{c_number::number, mount::Mount, value::Size},
    run::mount,
};

/// The subtype in the list of mounts, after `fuse.`; libfuse uses the program's name.
pub(super) const SUBTYPE: &str = "erofsfuse";

/// All arguments of a command line.
#[derive(Debug, clap::Args)]
struct Arguments {
    /// Byte offset of the image within IMAGE
    #[arg(long, value_name = "#", value_parser = number, default_value = "0")]
    offset: u64,

    /// Amount of output, from 0 to 9; no effect: only errors are printed
    #[arg(long, value_name = "#")]
    dbglevel: Option<u32>,

    /// A further device of IMAGE, in the order of its device table
    #[arg(long = "device", value_name = "FILE")]
    devices: Vec<PathBuf>,

    /// Stay in the foreground
    #[arg(short)]
    foreground: bool,

    /// Stay in the foreground, for debugging
    #[arg(short, long)]
    debug: bool,

    /// Use a single thread
    #[arg(short)]
    single: bool,

    /// Mount options, separated by commas
    #[arg(short, value_name = "OPTIONS")]
    options: Vec<FuseOptions>,

    /// The image
    #[arg(value_name = "IMAGE")]
    image: PathBuf,

    /// Where to mount it
    #[arg(value_name = "MOUNTPOINT")]
    mountpoint: PathBuf,
}

impl Arguments {
    fn request(self) -> Mount {
        let mut mount = Mount::plain(self.image, self.mountpoint);
        mount.fuse = true;
        mount.foreground = self.foreground || self.debug;
        mount.image.offset = Size(self.offset);
        mount.image.devices.devices = self.devices;
        for option in self.options.into_iter().flat_map(|options| options.0) {
            option.apply(&mut mount);
        }
        if self.single {
            FuseOption::Threads(1).apply(&mut mount);
        }
        mount.default_subtype(SUBTYPE);
        mount
    }
}

pub(super) fn command() -> Command {
    let command = Command::new("erofsfuse").about("Serves an EROFS image by FUSE");
    let usage = "erofsfuse [options] IMAGE MOUNTPOINT";
    program::<Arguments>(command.version(version("")).override_usage(usage))
}

pub(super) fn main(line: &[OsString]) -> ExitCode {
    let request = |arguments: Arguments| Ok(arguments.request());
    program::main(command(), line, request, |_, request| mount::run(request))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::applets::program::parsed;

    fn request(line: &str) -> Mount {
        parsed::<Arguments>(line).request()
    }

    #[test]
    fn options_may_follow_the_arguments_as_mount_8_has_them() {
        let mount = request("erofsfuse image dir -o rw,nodev,suid,fsname=x,max_threads=3");
        let settings = mount.settings();
        assert_eq!((mount.image.image, mount.directory), ("image".into(), "dir".into()));
        assert_eq!(settings.source.as_deref(), Some("x"));
        assert_eq!(settings.subtype.as_deref(), Some(SUBTYPE));
        assert_eq!(mount.threads.map(Into::into), Some(3_usize));
        assert!(mount.fuse && !mount.foreground);
    }

    #[test]
    fn options_of_squashfuse_are_known() {
        let mount = request("erofsfuse -f -o uid=1000,gid=100,offset=4096 image dir");
        let settings = mount.settings();
        assert!(mount.foreground);
        assert_eq!((settings.uid, settings.gid, settings.offset), (Some(1000), Some(100), 4096));
        assert_eq!(settings.subtype.as_deref(), Some(SUBTYPE));
    }

    #[test]
    fn its_own_options_are_long() {
        let mount = request("erofsfuse --offset=0x200 --device=a --device=b --dbglevel=9 -ds i d");
        let settings = mount.settings();
        assert_eq!(
            (settings.offset, settings.devices.devices),
            (512, vec!["a".into(), "b".into()])
        );
        assert_eq!((mount.foreground, mount.threads.map(Into::into)), (true, Some(1_usize)));
    }
}
