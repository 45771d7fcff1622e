#!/bin/sh
# Where do the golden images come from? `make.sh` makes all of images.txt and the canonical texts of their source trees;
# `make.sh verify` mounts each image with the kernel and compares it with its tree, but for exceptions.txt.
#
# Needs root, since the trees have device nodes and trusted xattrs, and the chroot that bench/rivals.sh makes. The
# cache folder (LITH_CORPORA) must lie on a filesystem that holds sparse files, nanoseconds and xattrs, like ext4.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bench=$here/../../bench
# shellcheck source=bench/common.sh
. "$bench/common.sh"

# Calls FUNCTION NAME TREE DEVICES OPTION... for each image.
for_images() {
    # Descriptor 3 leaves the standard input to what the function runs.
    while read -r name tree devices options <&3; do
        case $name in '#'*) continue ;; esac
        [ "$options" != - ] || options=
        # shellcheck disable=SC2086 # options are words
        "$1" "$name" "$tree" "$devices" $options
    done 3<"$here/images.txt"
}

# The time stamp and the UUID would differ from run to run, and the number of workers from machine to machine.
mkfs() {
    LITH_WORK=$work "$bench/rival" mkfs.erofs --quiet --workers=1 -T1700000000 --mkfs-time -U clear "$@" ||
        die "mkfs.erofs $* failed"
}

make_image() {
    name=$1 tree=$2 devices=$3
    shift 3
    image=$name.erofs
    case $name in
    # Made once by older releases; see README.md.
    *-1.2.1 | *-1.5 | *-1.8.6) return ;;
    *-tar-index)
        # Sockets have no form in a tar file, and tar says so; `few` has none.
        tar -C "$work/$tree" -cf "$work/$devices" --format=posix --sort=name --numeric-owner --xattrs \
            --pax-option='exthdr.name=%d/pax/%f,delete=atime,delete=ctime' -b 1 .
        mkfs "$@" "$image" "$devices"
        ;;
    *-rebuild)
        # The upper image has a part of the tree, so that files come from both devices.
        mkfs -Enoinline_data --exclude-path=text --exclude-path=link "${devices#*,}" "$tree"
        mkfs "$@" "$image" "${devices%,*}" "${devices#*,}"
        ;;
    *)
        mkfs "$@" "$image" "$tree"
        ;;
    esac
    [ "$devices" = - ] || image=$image,$devices
    for file in $(echo "$image" | tr , ' '); do
        cp "$work/$file" "$here/$file"
        chmod 0644 "$here/$file"
    done
}

make_all() {
    for tree in meta data few; do
        "$here/tree.py" make "$tree" "$work/$tree"
        "$here/tree.py" dump "$work/$tree" >"$here/$tree.txt"
    done
    for_images make_image
    du -cb "$here"/*.erofs "$here"/*.blob "$here"/*.tar | tail -n 1
}

verify_image() {
    name=$1 tree=$2
    options=ro,loop loops=
    for device in $(echo "${3#-}" | tr , ' '); do
        loop=$(losetup --find --show --read-only "$here/$device")
        options=$options,device=$loop loops="$loops $loop"
    done
    if mount -t erofs -o "$options" "$here/$name.erofs" "$work/mount"; then
        "$here/tree.py" compare linux "$name" "$here/$tree.txt" "$work/mount" || bad="$bad $name"
        umount "$work/mount"
    else
        bad="$bad $name"
    fi
    # shellcheck disable=SC2086 # names of devices
    [ -z "$loops" ] || losetup --detach $loops
}

verify_all() {
    mkdir "$work/mount"
    bad=
    for_images verify_image
    [ -z "$bad" ] || die "not as their trees:$bad"
    say "Linux $(uname -r) reads every image as its tree, but for exceptions.txt"
}

need_root
mkdir -p "$LITH_CORPORA"
work=$(mktemp -d "$LITH_CORPORA/.golden.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
cd "$work"
case ${1:-make} in
make) make_all ;;
verify) verify_all ;;
*) die "usage: make.sh [make|verify]" ;;
esac
