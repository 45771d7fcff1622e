# shellcheck shell=sh
# Shared by the bench scripts: the cache, the mirror, and making a folder completely or not at all.

# The cache is outside the repository: it holds gigabytes that these scripts can make again.
LITH_CORPORA=${LITH_CORPORA:-$HOME/.cache/lith-bench}
export LITH_CORPORA

# The chroot with the rivals. It is part of the cache, beside the corpora.
# shellcheck disable=SC2034 # used by the scripts that read this file
SID=$LITH_CORPORA/sid

say() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
}

die() {
    say "$*"
    exit 1
}

need_root() {
    [ "$(id -u)" -eq 0 ] || die "must be root: it makes device nodes and calls chroot"
}

# Installs the package $2 unless the command $1 is there already.
need_command() {
    command -v "$1" >/dev/null && return
    apt-get install -y -qq -o DPkg::Lock::Timeout=600 "$2" >&2
}

# The Debian mirror that this machine's apt already uses. LITH_MIRROR overrides it, for a machine that isn't Debian.
mirror() {
    if [ -n "${LITH_MIRROR:-}" ]; then
        echo "$LITH_MIRROR"
        return
    fi
    # shellcheck disable=SC2016 # apt's variables, not the shell's
    site=$(apt-get indextargets --format '$(ORIGIN) $(LABEL) $(COMPONENT) $(SITE)' |
        sed -n 's/^Debian Debian main //p' | head -n 1)
    [ -n "$site" ] || die "apt knows no Debian mirror: run apt-get update, or set LITH_MIRROR"
    echo "$site"
}

# make_whole NAME FUNCTION: calls FUNCTION with a fresh folder beside NAME and renames that folder when it's complete,
# so a folder that has its final name is never half a corpus.
make_whole() {
    final=$LITH_CORPORA/$1
    partial=$LITH_CORPORA/.$1.partial
    if [ -d "$final" ]; then
        say "$1 is there already"
        return
    fi
    mkdir -p "$LITH_CORPORA"
    # An interrupted run can't have left mounts in here (see bootstrap), so removing is safe.
    rm -rf --one-file-system "$partial"
    mkdir "$partial"
    say "making $1"
    "$2" "$partial"
    mv "$partial" "$final"
    say "$1 done: $(du -sm "$final" | cut -f 1) MiB, $(find "$final" | wc -l) entries"
}

# bootstrap SUITE DIR [OPTION...]: debootstrap mounts proc and sys in its target; in a mount namespace of its own
# nothing of that outlives it.
bootstrap() {
    suite=$1 dir=$2
    shift 2
    need_command debootstrap debootstrap
    unshare --mount debootstrap --variant=minbase "$@" "$suite" "$dir" "$(mirror)" >"$dir.log" 2>&1 || {
        tail -n 20 "$dir.log" >&2
        die "debootstrap of $suite failed"
    }
    rm -f "$dir.log"
}
