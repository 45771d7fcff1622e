#!/bin/sh
# Makes a Debian sid chroot with what lith is compared with: erofs-utils, erofsfuse, squashfs-tools and
# squashfuse. Stable releases carry versions too old to compare with. Run the tools through bench/rival.
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"

make_sid() {
    bootstrap sid "$1" --include=erofs-utils,erofsfuse,squashfs-tools,squashfuse
    # Only the tools are needed, not their packages.
    rm -rf "$1"/var/cache/apt/archives/*.deb "$1"/var/lib/apt/lists/*
}

need_root
# Other tools that lith is compared with run on this machine itself.
need_command mkfs.btrfs btrfs-progs
need_command mkfs.f2fs f2fs-tools
need_command mkfs.xfs xfsprogs
need_command lz4 lz4
make_whole sid make_sid
for tool in 'mkfs.erofs -V' 'mksquashfs -version' 'squashfuse --help'; do
    # Some of these exit with a failure after printing their version.
    # shellcheck disable=SC2086 # a command and its option
    "$(dirname "$0")/rival" $tool 2>&1 | head -n 1 || true
done
