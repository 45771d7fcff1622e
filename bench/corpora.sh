#!/bin/sh
# Makes the corpora named as arguments (without any all of them) in $LITH_CORPORA: what benchmarks are measured on.
#
#   debian        root filesystem of a minimal Debian: thousands of small files, some large libraries
#   libreoffice   an application of large shared objects
#   office        a whole root filesystem that can run it, and a document for it to convert
#   silesia7      seven files of the Silesia corpus as one tar file; needs LITH_SILESIA, the folder with their zips
#   linux         the kernel's source: 78,000 small text files
#   linuxtar      the same as one tar file; needs the corpus linux
#   text          the same as one text file of 1 GB; needs the corpus linux
#   site          Python packages: a deep tree of tiny files
#   gosrc         the Go toolchain: source files and large programs; needs go
#   node          a large node_modules: 100,000 small files; needs npm
#   python        an interpreter with numpy, pandas and matplotlib; needs python3
#   pythonbefore  the same with earlier versions of these
#   webpack       Node.js with a bundler; needs node and npm
#   toolchain     a root filesystem with gcc and git, two small programs, and a repository
#   boot          a root filesystem that systemd boots with some services, and what boots it in a container
#   tiny          a million files of about 400 bytes
#   random        files that don't compress
#
# and successions, each of two folders, old and new (see lith bench updates):
#
#   updates-go      the Go toolchain, two releases that follow each other; needs go
#   updates-npm     typescript, next and react-dom, likewise; needs npm
#   updates-debian  a minimal Debian as released last, and after its security updates
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"

# fetch_packages DIR PACKAGE...: the .deb files, into DIR.
fetch_packages() {
    (
        cd "$1"
        shift
        # As root: apt's own user can't write here.
        apt-get download -qq -o APT::Sandbox::User=root "$@"
    )
}

make_debian() {
    bootstrap bookworm "$1"
    rm -rf "$1"/var/cache/apt/archives/*.deb "$1"/var/lib/apt/lists/*
}

make_libreoffice() {
    debs=$(mktemp -d "$LITH_CORPORA/.debs.XXXXXX")
    fetch_packages "$debs" libreoffice-core libreoffice-common libreoffice-writer libreoffice-calc libreoffice-impress
    for deb in "$debs"/*.deb; do
        dpkg -x "$deb" "$1"
    done
    rm -rf "$debs"
}

make_office() {
    bootstrap bookworm "$1" --include=libreoffice-writer-nogui
    rm -rf "$1"/var/cache/apt/archives/*.deb "$1"/var/lib/apt/lists/*
    # Fifty pages of text in the one format of its that needs no packer.
    {
        printf '<?xml version="1.0" encoding="UTF-8"?>\n<office:document'
        for name in office text; do
            printf ' xmlns:%s="urn:oasis:names:tc:opendocument:xmlns:%s:1.0"' $name $name
        done
        printf ' office:version="1.3" office:mimetype="application/vnd.oasis.opendocument.text"><office:body><office:text>'
        line=0
        while [ $line -lt 500 ]; do
            printf '<text:p>Paragraph %s of a document that is converted to see how long an application takes to start. ' $line
            printf 'It is long enough to be laid out on some pages, and short enough not to matter.</text:p>\n'
            line=$((line + 1))
        done
        printf '</office:text></office:body></office:document>\n'
    } >"$1/document.fodt"
}

make_silesia7() {
    [ -d "${LITH_SILESIA:-}" ] || die "silesia7: set LITH_SILESIA to the folder with dickens.zip, mr.zip, ..."
    need_command unzip unzip
    files=$(mktemp -d "$LITH_CORPORA/.silesia.XXXXXX")
    for name in dickens mr nci ooffice osdb reymont xml; do
        unzip -q "$LITH_SILESIA/$name.zip" "$name" -d "$files"
    done
    tar -C "$files" -cf "$1/silesia7.tar" --format=ustar --sort=name --mtime=@0 --owner=0 --group=0 \
        --numeric-owner --mode=0644 dickens mr nci ooffice osdb reymont xml
    rm -rf "$files"
}

make_linux() {
    debs=$(mktemp -d "$LITH_CORPORA/.debs.XXXXXX")
    fetch_packages "$debs" linux-source-6.1
    dpkg --fsys-tarfile "$debs"/*.deb | tar -xOf - ./usr/src/linux-source-6.1.tar.xz |
        tar -xJf - -C "$1" --strip-components=1
    rm -rf "$debs"
}

make_linuxtar() {
    [ -d "$LITH_CORPORA/linux" ] || die "linuxtar: make the corpus linux first"
    tar -C "$LITH_CORPORA/linux" -cf "$1/linux.tar" --format=ustar --sort=name --mtime=@0 --owner=0 --group=0 \
        --numeric-owner .
}

make_text() {
    [ -d "$LITH_CORPORA/linux" ] || die "text: make the corpus linux first"
    (
        cd "$LITH_CORPORA/linux"
        # Tables of register names compress like no other text: they come last, and few of them are needed.
        for found in '!' ''; do
            # shellcheck disable=SC2086 # an empty argument must be dropped
            find . -type f $found -path '*/asic_reg/*' -print0 | LC_ALL=C sort -z
        done | xargs -0 cat 2>/dev/null | head -c 1000000000
    ) >"$1/text"
    [ "$(stat -c %s "$1/text")" -eq 1000000000 ] || die "text: the corpus linux has less than 1 GB"
}

make_site() {
    # Versions are fixed and dependencies left out, so that everybody gets the same files.
    PIP_ROOT_USER_ACTION=ignore python3 -m pip install -q --disable-pip-version-check --no-cache-dir --no-deps \
        --no-compile --only-binary=:all: --target "$1" plotly==5.24.1 Django==4.2.16 sympy==1.12 kubernetes==29.0.0 >&2
}

# python_with DIR PACKAGE...: this machine's interpreter with packages. What it compiled holds whatever the times of files are.
python_with() {
    dir=$1
    shift
    prefix=$(python3 -c 'import sys; print(sys.base_prefix)')
    version=$(python3 -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
    mkdir "$dir/bin" "$dir/lib"
    cp "$(readlink -f "$prefix/bin/python3")" "$dir/bin/python3"
    cp -a "$prefix/lib/$version" "$dir/lib/"
    find "$prefix/lib" -maxdepth 1 -name 'libpython*.so*' -exec cp -a {} "$dir/lib/" \;
    packages=$dir/lib/$version/site-packages
    rm -rf "$packages" "$dir/lib/$version/test" "$dir/lib/$version"/config-*
    PIP_ROOT_USER_ACTION=ignore python3 -m pip install -q --disable-pip-version-check --no-cache-dir --no-compile \
        --only-binary=:all: --target "$packages" "$@" >&2
    python3 -m compileall -qq -j 0 --invalidation-mode unchecked-hash "$dir/lib" >&2 || true
}

make_python() {
    python_with "$1" numpy==2.1.3 pandas==2.2.3 matplotlib==3.10.0
}

make_pythonbefore() {
    python_with "$1" numpy==2.0.2 pandas==2.2.2 matplotlib==3.9.2
}

make_webpack() {
    command -v npm >/dev/null || die "webpack: npm is not installed"
    npm install --silent --no-audit --no-fund --prefix "$1" webpack@5.97.1 >&2
    mkdir "$1/bin"
    cp "$(readlink -f "$(command -v node)")" "$1/bin/node"
}

make_toolchain() {
    bootstrap bookworm "$1" --include=gcc,libc6-dev,git
    rm -rf "$1"/var/cache/apt/*.bin "$1"/var/cache/apt/archives/*.deb "$1"/var/lib/apt/lists/*
    mkdir "$1/src"
    cat >"$1/src/lines.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **words)
{
    char *line = NULL;
    size_t size = 0, lines = 0, bytes = 0;
    FILE *file = count > 1 ? fopen(words[1], "r") : stdin;
    if (!file)
        return perror(words[1]), 1;
    while (getline(&line, &size, file) >= 0)
        lines++, bytes += strlen(line);
    printf("%zu lines, %zu bytes\n", lines, bytes);
    return free(line), fclose(file);
}
END
    cat >"$1/src/threads.c" <<'END'
#include <math.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>

static void *work(void *number)
{
    return (void *)(intptr_t)lrint(sqrt((double)(intptr_t)number));
}

int main(void)
{
    pthread_t thread;
    void *root;
    int end = socket(AF_INET, SOCK_STREAM, IPPROTO_TCP);
    signal(SIGPIPE, SIG_IGN);
    if (end < 0 || pthread_create(&thread, NULL, work, (void *)(intptr_t)time(NULL)) || pthread_join(thread, &root))
        return 1;
    return printf("%d\n", (int)(intptr_t)root) < 0;
}
END
    # A history of all headers: each commit adds some, and changes some of those before.
    (
        cd "$1"
        GIT_DIR=$1/src/project.git GIT_WORK_TREE=$1/src/project
        GIT_AUTHOR_NAME=nobody GIT_AUTHOR_EMAIL=nobody@localhost GIT_AUTHOR_DATE='1700000000 +0000'
        GIT_COMMITTER_NAME=nobody GIT_COMMITTER_EMAIL=nobody@localhost GIT_COMMITTER_DATE='1700000000 +0000'
        export GIT_DIR GIT_WORK_TREE
        export GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_COMMITTER_DATE
        mkdir src/project
        git init -q
        find usr/include -type f | LC_ALL=C sort | split -n r/40 - src/list.
        commit=0
        for list in src/list.*; do
            commit=$((commit + 1))
            xargs -a "$list" cp --parents -t src/project
            find src/project -name "*$((commit % 10))*" -type f -exec sed -i "\$ a // changed by commit $commit" {} +
            git add -A
            git commit -q -m "Commit $commit"
        done
        git -c pack.threads=1 gc -q --aggressive
        git config --unset core.worktree
        git config core.bare true
        rm -r src/project src/list.* src/project.git/index
    )
}

make_boot() {
    bootstrap bookworm "$1" --include=systemd-sysv,dbus,cron,rsyslog,openssh-server
    rm -rf "$1"/var/cache/apt/*.bin "$1"/var/cache/apt/archives/*.deb "$1"/var/lib/apt/lists/*
    cp "$(dirname "$0")/boot.sh" "$1/boot.sh"
    # A boot is over when this is run.
    cat >"$1/etc/systemd/system/started.service" <<'END'
[Unit]
Requires=multi-user.target
After=multi-user.target

[Service]
Type=oneshot
ExecStart=/bin/sh -c 'echo started >/run/started'
END
}

make_gosrc() {
    command -v go >/dev/null || die "gosrc: go is not installed"
    cp -a "$(go env GOROOT)/." "$1"
}

make_node() {
    command -v npm >/dev/null || die "node: npm is not installed"
    (
        cd "$1"
        # npm init refuses the name of this folder.
        echo '{"name": "corpus", "private": true}' >package.json
        npm install --silent --ignore-scripts --legacy-peer-deps next react typescript webpack eslint @babel/core \
            @babel/preset-env vite playwright-core antd lodash rxjs @mui/material @mui/icons-material three d3 \
            date-fns >&2
    )
}

make_tiny() {
    python3 - "$1" <<'END'
import os, random, sys
chance = random.Random(20240301)
words = [bytes(chance.choices(b"abcdefghijklmnopqrstuvwxyz", k=chance.randrange(3, 10))).decode() for _ in range(2000)]
for folder in range(1000):
    path = os.path.join(sys.argv[1], f"{folder:03}")
    os.mkdir(path)
    for number in range(1000):
        tags = ", ".join(f'"{word}"' for word in chance.choices(words, k=8))
        text = f'{{"id": {folder * 1000 + number}, "name": "{chance.choice(words)}", "score": {chance.random()}, '
        text += f'"digest": "{chance.getrandbits(256):064x}", "tags": [{tags}], "note": "'
        text += " ".join(chance.choices(words, k=20)) + '"}\n'
        with open(os.path.join(path, f"{number:03}.json"), "w") as file:
            file.write(text)
END
}

make_random() {
    python3 - "$1" <<'END'
import os, random, sys
chance = random.Random(20240229)
def write(name, size):
    with open(os.path.join(sys.argv[1], name), "wb") as file:
        file.write(chance.randbytes(size))
write("large", 48 << 20)
for number in range(2000):
    write(f"small{number:04}", chance.randrange(1, 32 << 10))
END
}

# The toolchain for Linux on x86-64, whatever this machine is, so that everybody gets the same files.
make_updates_go() {
    command -v go >/dev/null || die "updates-go: go is not installed"
    cache=$(mktemp -d "$LITH_CORPORA/.go.XXXXXX")
    for pair in old=1.25.3 new=1.25.4; do
        module=golang.org/toolchain@v0.0.1-go${pair#*=}.linux-amd64
        (cd "$cache" && GOMODCACHE=$cache GOFLAGS=-modcacherw GOTOOLCHAIN=local go mod download "$module")
        mv "$cache/$module" "$1/${pair%=*}"
    done
    rm -rf "$cache"
}

make_updates_npm() {
    command -v npm >/dev/null || die "updates-npm: npm is not installed"
    cache=$(mktemp -d "$LITH_CORPORA/.npm.XXXXXX")
    for packages in "old typescript@5.6.2 next@15.0.2 react-dom@18.3.0" "new typescript@5.6.3 next@15.0.3 react-dom@18.3.1"; do
        # shellcheck disable=SC2086 # words
        set -- "$1" $packages
        root=$1 version=$2
        shift 2
        for package; do
            folder=$root/$version/${package%@*}
            mkdir -p "$folder"
            tarball=$(cd "$cache" && npm pack --silent --loglevel=error "$package" | tail -n 1)
            tar -C "$folder" --strip-components=1 -xzf "$cache/$tarball"
        done
        set -- "$root"
    done
    rm -rf "$cache"
}

make_updates_debian() {
    bootstrap bookworm "$1/old"
    cp -a "$1/old" "$1/new"
    {
        echo "deb $(mirror) bookworm main"
        echo "deb $(mirror) bookworm-updates main"
        echo "deb ${LITH_SECURITY_MIRROR:-$(mirror | sed 's|/debian/*$|/debian-security|')} bookworm-security main"
    } >"$1/new/etc/apt/sources.list"
    run_in "$1/new" apt-get update -qq
    run_in "$1/new" apt-get upgrade -qq -y
    for version in old new; do
        rm -rf "$1/$version"/var/cache/apt/*.bin "$1/$version"/var/cache/apt/archives/*.deb "$1/$version"/var/lib/apt/lists/*
    done
}

# run_in DIR COMMAND...: runs it in that root filesystem, which has proc meanwhile.
run_in() {
    root=$1
    shift
    # shellcheck disable=SC2016 # variables of the inner shell
    DEBIAN_FRONTEND=noninteractive unshare --mount --fork sh -c '
        cp /etc/resolv.conf "$0/etc/resolv.conf"
        mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$root" "$@" >&2
}

[ $# -gt 0 ] || set -- debian libreoffice office silesia7 linux linuxtar text site gosrc node python pythonbefore webpack toolchain boot \
    tiny random \
    updates-go updates-npm updates-debian
for name; do
    case $name in
    debian | office | toolchain | boot | updates-debian) need_root ;;
    libreoffice | silesia7 | linux | linuxtar | text | site | gosrc | node | tiny | random) ;;
    python | pythonbefore | webpack) ;;
    updates-go | updates-npm) ;;
    *) die "no corpus is called $name" ;;
    esac
    make_whole "$name" "make_$(echo "$name" | tr - _)"
done
