#!/usr/bin/env bash
# Compares kernel mounts of a remote image of which the cache has everything with one of the same image in a file: all files in the
# order of their names, and reads of 4 KiB at random, each after the page cache was dropped and again. Needs root, nginx, python3.
#
#   bench/cached.sh LITH FOLDER [ROUNDS] [OPTIONS OF lith build...]
#
# plain     the image in a file
# complete  mounted when the cache had everything
# filled    mounted before that, and read since
#
# Prints the median of the ratios of each round to plain; the mounts take turns.
set -euo pipefail

lith=$(readlink -f "$1")
source=$(readlink -f "$2")
rounds=${3:-5}
shift $(($# < 3 ? $# : 3))
work=$(mktemp -d -p "${TMPDIR:-/var/tmp}")
mkdir -p "$work"/{www,caches,log,plain,complete,filled}

cleanup() {
    for mount in plain complete filled; do umount -l "$work/$mount" 2>/dev/null || true; done
    [ ! -e "$work/nginx.pid" ] || kill "$(cat "$work/nginx.pid")" || true
    rm -rf "$work"
}
trap cleanup EXIT

"$lith" build -q "$@" "$source" "$work/www/image.erofs"
cat >"$work/nginx.conf" <<CONF
user root;
pid $work/nginx.pid;
error_log $work/log/error;
events { }
http {
    access_log off;
    server { listen 127.0.0.1:8133; root $work/www; }
}
CONF
nginx -c "$work/nginx.conf" -e "$work/log/error"
url=http://127.0.0.1:8133/image.erofs

"$lith" mount -q --kernel "$work/www/image.erofs" "$work/plain"
"$lith" mount --kernel --prefetch none --cache-dir "$work/caches" "$url" "$work/filled"
"$lith" check --cache-dir "$work/caches" "$url" >"$work/log/check"
# The processes that answer for the mount end when all is there.
watched() { pgrep -f -- "--object .* $work/filled\$" >"$work/log/watched"; }
for _ in $(seq 100); do
    watched || break
    sleep 0.1
done
! watched || { echo "$url: not all is there" >&2; exit 1; }
"$lith" mount --kernel --cache-dir "$work/caches" "$url" "$work/complete"
"$lith" diff "$source" "$work/filled"
"$lith" diff "$source" "$work/complete"

cat >"$work/read.py" <<'PYTHON'
import os, random, sys, time

how, folder = sys.argv[1:]
paths = []
for at, folders, names in os.walk(folder):
    folders.sort()
    paths += [os.path.join(at, name) for name in sorted(names) if not os.path.islink(os.path.join(at, name))]
if how == "random":
    large = [path for path in paths if os.path.isfile(path) and os.path.getsize(path) >= 65536]
    files = [(os.open(path, os.O_RDONLY), os.path.getsize(path)) for path in large]
    draw = random.Random(1)
    places = [(fd, draw.randrange(size) & ~4095) for fd, size in (draw.choice(files) for _ in range(5000))]
    begin = time.perf_counter()
    for fd, position in places:
        os.pread(fd, 4096, position)
else:
    begin = time.perf_counter()
    for path in paths:
        if os.path.isfile(path):
            with open(path, "rb", buffering=0) as file:
                while file.read(1 << 20):
                    pass
print(time.perf_counter() - begin)
PYTHON

for round in $(seq "$rounds"); do
    for how in sequential random; do
        for mount in plain complete filled; do
            sync
            echo 3 >/proc/sys/vm/drop_caches
            for state in cold warm; do
                time=$(python3 "$work/read.py" "$how" "$work/$mount")
                echo "$round $how-$state $mount $time" >>"$work/times"
            done
        done
    done
done

python3 - "$work/times" <<'PYTHON'
import statistics, sys

times = {}
for line in open(sys.argv[1]):
    number, how, mount, time = line.split()
    times[how, mount, number] = float(time)
for how in ("sequential-cold", "sequential-warm", "random-cold", "random-warm"):
    numbers = [number for other, mount, number in times if other == how and mount == "plain"]
    plain = statistics.median(times[how, "plain", number] for number in numbers)
    print(f"{how:16} plain {plain:.3f} s", end="")
    for mount in ("complete", "filled"):
        ratios = [times[how, mount, number] / times[how, "plain", number] for number in numbers]
        print(f"  {mount} {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})", end="")
    print()
PYTHON
