//! Defines [`MountFlags`], the flags of mount(2) that options set and clear.

use bitflags::bitflags;

bitflags! {
    /// Flags with the numbers that Linux has for them, since the command line is the same on all systems.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(crate) struct MountFlags: u32 {
        const NOSUID = 1 << 1;
        const NODEV = 1 << 2;
        const NOEXEC = 1 << 3;
        const SYNCHRONOUS = 1 << 4;
        const DIRSYNC = 1 << 7;
        const NOSYMFOLLOW = 1 << 8;
        const NOATIME = 1 << 10;
        const NODIRATIME = 1 << 11;
        const SILENT = 1 << 15;
        const RELATIME = 1 << 21;
        const STRICTATIME = 1 << 24;
        const LAZYTIME = 1 << 25;
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use rustix::mount;

    use super::*;

    #[test]
    fn numbers_are_those_of_linux() {
        for (name, flag) in MountFlags::all().iter_names() {
            let of_linux = mount::MountFlags::from_name(name).map(|flag| flag.bits());
            assert_eq!(of_linux, Some(flag.bits()), "{name}");
        }
    }
}
