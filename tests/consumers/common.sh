# shellcheck shell=bash
# What do the consumers share? A chroot with the software that calls erofs-utils, where lith answers by those names.
#
# A script sources this file and calls `enter "$@"` first. Outside, that makes the chroot, and runs the same script in
# it, in namespaces of its own (mounts, processes, network): nothing that it mounts or starts outlives it. Inside, it
# returns, with the applets first in PATH and each of their calls in $LOG. Programs of which BRING is a list are in $HOUSE then.

# The exit code of a script that can't do its work here.
readonly SKIPPED=77

CACHE=${LITH_CONSUMERS:-${XDG_CACHE_HOME:-$HOME/.cache}/lith-consumers}
ROOT=$CACHE/sid

# What the chroot holds. A change of this list makes it anew.
PACKAGES='attr busybox-static composefs containerd cryptsetup-bin erofs-utils erofsfuse fdisk fuse3 genimage iproute2 jq mkosi mount mtools
python3 runc systemd systemd-repart util-linux uuid-runtime xz-utils zstd'

# What answers in the chroot: the program, links to it, and what notes their calls. Below /usr, which sandboxes see.
readonly HOUSE=/usr/lib/lith
readonly LOG=$HOUSE/log

# Upstream's programs are moved here, so that they are not found by name.
readonly UPSTREAM=/opt/erofs-utils

say() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
}

fail() {
    say "FAIL: $*"
    exit 1
}

skip() {
    say "SKIP: $*"
    exit "$SKIPPED"
}

# The Debian mirror that this machine's apt already uses. LITH_MIRROR overrides it.
mirror() {
    local site
    # shellcheck disable=SC2016 # apt's variables, not the shell's
    site=$(apt-get indextargets --format '$(ORIGIN) $(LABEL) $(COMPONENT) $(SITE)' 2>/dev/null |
        sed -n 's/^Debian Debian main //p' | head -n 1)
    echo "${LITH_MIRROR:-${site:-http://deb.debian.org/debian}}"
}

# Makes the chroot, unless it is there. A folder of its final name is never half of one.
make_chroot() {
    [ "$(cat "$ROOT/packages" 2>/dev/null)" = "$PACKAGES" ] && return
    command -v debootstrap >/dev/null || skip "no debootstrap, to make the chroot with"
    local partial=$CACHE/.sid.partial
    mkdir -p "$CACHE"
    rm -rf --one-file-system "$partial" "$ROOT"
    say "making $ROOT"
    # shellcheck disable=SC2016 # its own variables
    unshare --mount bash -euc '
        debootstrap --variant=minbase sid "$1" "$2"
        mount --bind /dev "$1/dev"
        mount -t proc proc "$1/proc"
        printf "#!/bin/sh\nexit 101\n" >"$1/usr/sbin/policy-rc.d"
        chmod 755 "$1/usr/sbin/policy-rc.d"
        cp /etc/resolv.conf "$1/etc/resolv.conf"
        export DEBIAN_FRONTEND=noninteractive
        chroot "$1" apt-get install -y --no-install-recommends $3
    ' make "$partial" "$(mirror)" "$PACKAGES" >"$CACHE/log" 2>&1 </dev/null || {
        tail -n 3 "$CACHE/log" >&2
        skip "the chroot can't be made (no network?): $CACHE/log"
    }
    hide_upstream "$partial"
    rm -rf "$partial"/var/cache/apt/archives/*.deb "$partial"/var/lib/apt/lists/*
    printf '%s' "$PACKAGES" >"$partial/packages"
    mv "$partial" "$ROOT"
}

hide_upstream() {
    local program
    mkdir -p "$1$UPSTREAM"
    for program in "$1"/usr/bin/*erofs* "$1"/usr/sbin/*erofs*; do
        [ -e "$program" ] || continue
        mv "$program" "$1$UPSTREAM/"
    done
}

# Calls of other programs' names, each noted and passed on.
make_wrappers() {
    local applet name
    for applet in "$HOUSE"/applets/*; do
        name=${applet##*/}
        printf '#!/bin/sh\nprintf "%%s\\n" "%s $*" 2>/dev/null >>%s\nexec %s "$@"\n' "$name" "$LOG" "$applet" >"$HOUSE/bin/$name"
        chmod 755 "$HOUSE/bin/$name"
        # For those who look nowhere else.
        ln -sf "$HOUSE/bin/$name" "/usr/bin/$name"
    done
}

# Whether a call was made with all of these arguments in this order.
used() {
    grep -q -- "$1" "$LOG" || {
        cat "$LOG" >&2
        fail "lith was never called as: $1"
    }
}

# A small tree with something of everything.
sample_tree() {
    mkdir -p "$1/etc" "$1/usr/lib/deep/er" "$1/empty"
    seq 200000 >"$1/usr/lib/large"
    head -c 300000 /dev/urandom >"$1/usr/lib/noise"
    head -c 1000000 /bin/bash >"$1/usr/lib/program"
    echo hello >"$1/etc/small"
    : >"$1/etc/nothing"
    ln "$1/usr/lib/large" "$1/usr/lib/hard"
    ln -s ../usr/lib/large "$1/etc/link"
    mkfifo "$1/usr/lib/deep/er/pipe"
    chmod 4755 "$1/usr/lib/program"
    chown 1000:100 "$1/etc/small"
    setfattr -n user.small -v value "$1/etc/small"
    find "$1" -exec touch -h -d @1700000000 {} +
}

# Whether this kernel mounts EROFS images.
need_kernel() {
    grep -qw erofs /proc/filesystems || modprobe erofs 2>/dev/null || skip "this kernel has no EROFS"
}

# Leaves out the extended attributes whose names begin with $PRUNED, and what is then a file without any.
prune() {
    awk -v pruned="${PRUNED:-}" 'pruned != "" && index($0, pruned) == 1 { next }
        /^# file: / { file = $0; next } $0 == "" { next } { print file; print }'
}

# All attributes of a tree: names, kinds, modes, owners, sizes, targets, contents, extended attributes; with
# TIMES set, times too; with LINKS empty, no counts of links.
describe() (
    cd "$1" || exit 1
    find . -printf "%P %y %m %U:%G %l ${TIMES:+%Ts}" \( -type f -printf " %s ${LINKS-%n}" -o -true \) -printf '\n' | LC_ALL=C sort
    find . -type f -print0 | LC_ALL=C sort -z | xargs -0 -r sha256sum
    find . -print0 | LC_ALL=C sort -z | xargs -0 -r getfattr -h -d -m - --absolute-names | prune
)

# same EXPECTED FOUND WHAT: compares two trees.
same() {
    describe "$1" >/run/expected
    describe "$2" >/run/found
    diff /run/expected /run/found >/run/difference || {
        head -n 20 /run/difference >&2
        fail "$3: the trees differ"
    }
}

# Mounts an image by the kernel, from an offset within its file, and compares it with a tree.
kernel_shows() {
    local at=/run/look
    mkdir -p $at
    mount -i -t erofs -o "ro,loop,offset=${3:-0}" "$1" $at || fail "$1: the kernel doesn't mount it"
    same "$2" $at "$1"
    umount $at
}

# See the top of this file.
enter() {
    if [ -n "${LITH_INSIDE:-}" ]; then
        inside
        return
    fi
    local lith=${1:-${LITH:-}}
    [ -x "$lith" ] || { say "usage: $0 LITH"; exit 2; }
    [ "$(id -u)" -eq 0 ] || skip "needs root, for a chroot and mounts"
    need_kernel
    make_chroot
    local here
    here=$(cd "$(dirname "$0")" && pwd)
    # shellcheck disable=SC2016 # its own variables
    LITH_INSIDE=1 exec unshare --mount --pid --net --ipc --uts --fork --kill-child --propagation private \
        bash -euc '
        root=$1 here=$2 lith=$3 name=$4 house=$5
        mount --bind "$root" "$root"
        cd "$root"
        mount -t proc proc proc
        mount --rbind /sys sys
        mount --rbind /dev dev
        mount -t tmpfs -o size=4G tmpfs run
        mount -t tmpfs -o size=4G tmpfs tmp
        mount -t tmpfs -o size=4G tmpfs var/tmp
        mkdir -p .$house run/consumers run/old
        mount -t tmpfs tmpfs .$house
        mkdir .$house/applets .$house/bin
        touch .$house/lith
        mount --bind "$here" run/consumers
        mount --bind "$lith" .$house/lith
        for program in $6; do
            touch ".$house/${program##*/}"
            mount --bind "$program" ".$house/${program##*/}"
        done
        # Not chroot, in which programs can make no sandboxes of their own.
        pivot_root . run/old
        umount --lazy run/old
        exec env -i LITH_INSIDE=1 HOME=/root PATH=$house/bin:/usr/sbin:/usr/bin:/sbin:/bin \
            bash -euo pipefail "/run/consumers/$name"
    ' enter "$ROOT" "$here" "$(realpath "$lith")" "${0##*/}" $HOUSE "${BRING:-}"
}

inside() {
    ip link set lo up 2>/dev/null || true
    $HOUSE/lith applets --install $HOUSE/applets >/dev/null
    : >$LOG
    make_wrappers
    cd /tmp || exit
}
