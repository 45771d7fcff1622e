#!/usr/bin/env bash
# Mounts one remote image many times at once, each in a mount namespace of its own, reads all of it by each mount, and compares
# it with the source. Prints what the server sent. Needs root, nginx, unshare.
#
#   bench/fleet.sh LITH FOLDER [MOUNTS] [shared|apart|proxied] [--kernel|--fuse]
#
# shared    all mounts have one cache (the default)
# apart     each has its own, as on machines of their own
# proxied   each has its own, and all read through one nginx with proxy_cache and slices
set -euo pipefail

lith=$(readlink -f "$1")
source=$(readlink -f "$2")
mounts=${3:-50}
how=${4:-shared}
by=${5:---kernel}
work=$(mktemp -d)
mkdir -p "$work"/{www,caches,mnt,log,nginx}
export LITH=$lith SOURCE=$source WORK=$work HOW=$how BY=$by

cleanup() {
    [ ! -e "$work/nginx.pid" ] || kill "$(cat "$work/nginx.pid")" || true
    rm -rf "$work"
}
trap cleanup EXIT

"$lith" build -q "$source" "$work/www/image.erofs"
size=$(stat -c %s "$work/www/image.erofs")

# The server on port 8131; a cache before it, as each site may have one, on port 8132.
cat >"$work/nginx.conf" <<CONF
user root;
worker_processes 2;
pid $work/nginx.pid;
error_log $work/log/error;
events { worker_connections 4096; }
http {
    log_format sent '\$body_bytes_sent \$status "\$http_range"';
    proxy_cache_path $work/nginx/cache keys_zone=images:10m max_size=8g inactive=7d use_temp_path=off;
    server {
        listen 127.0.0.1:8131;
        access_log $work/log/origin sent;
        root $work/www;
    }
    server {
        listen 127.0.0.1:8132;
        access_log $work/log/proxy sent;
        location / {
            slice 1m;
            proxy_pass http://127.0.0.1:8131;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Range \$slice_range;
            proxy_set_header If-Match \$http_if_match;
            proxy_cache images;
            proxy_cache_key \$uri\$slice_range;
            proxy_cache_valid 200 206 7d;
            proxy_cache_lock on;
            proxy_cache_lock_timeout 60s;
        }
    }
}
CONF
nginx -c "$work/nginx.conf" -e "$work/log/error"

one() {
    local number=$1 cache=$WORK/caches/shared port=8131
    [ "$HOW" = shared ] || cache=$WORK/caches/$number
    [ "$HOW" != proxied ] || port=8132
    mkdir -p "$WORK/mnt/$number"
    "$LITH" mount -q "$BY" --cache-dir "$cache" "http://127.0.0.1:$port/image.erofs" "$WORK/mnt/$number"
    "$LITH" diff "$SOURCE" "$WORK/mnt/$number"
    umount "$WORK/mnt/$number"
}
export -f one

begin=$(date +%s.%N)
for number in $(seq "$mounts"); do
    unshare --mount bash -c "one $number" &
    workers+=($!)
done
failed=0
for worker in "${workers[@]}"; do wait "$worker" || failed=$((failed + 1)); done
end=$(date +%s.%N)

sum() { if [ -e "$1" ]; then awk '{ bytes += $1 } END { print NR + 0, bytes + 0 }' "$1"; else echo 0 0; fi; }
read -r requests bytes < <(sum "$work/log/origin")
awk -v mounts="$mounts" -v how="$how" -v by="$by" -v failed="$failed" -v size="$size" -v requests="$requests" -v bytes="$bytes" \
    -v time="$(echo "$end $begin" | awk '{ print $1 - $2 }')" 'BEGIN {
    printf "%d mounts %s, %s: %d failed; image of %d bytes; the server sent %d bytes (%.3f times the image) in %d requests; %.1f s\n",
        mounts, by, how, failed, size, bytes, bytes / size, requests, time
}'
[ "$failed" -eq 0 ]
