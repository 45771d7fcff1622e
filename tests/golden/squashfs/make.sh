#!/bin/sh
# Where do the SquashFS images come from? Makes each line of images.txt, and tree.txt, the canonical text of their source tree.
#
# Needs root and the chroot that bench/rivals.sh makes, as ../make.sh does.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bench=$here/../../../bench
# shellcheck source=bench/common.sh
. "$bench/common.sh"

need_root
mkdir -p "$LITH_CORPORA"
work=$(mktemp -d "$LITH_CORPORA/.golden.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
cd "$work"
mkdir tree
for part in meta few; do
    "$here/../tree.py" make "$part" "tree/$part"
done
"$here/prepare.py" tree
"$here/../tree.py" dump tree >"$here/tree.txt"
while read -r name options; do
    # shellcheck disable=SC2086 # options are words
    LITH_WORK=$work "$bench/rival" mksquashfs tree "$name" $options -noappend -no-progress -quiet -nopad -processors 1 \
        -mkfs-time 1700000000 || die "mksquashfs $options failed"
    cp "$name" "$here/$name.sqfs"
    chmod 0644 "$here/$name.sqfs"
done <"$here/images.txt"
