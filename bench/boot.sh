#!/bin/sh
# boot.sh ROOT [ARG...]: boots the systemd of a root filesystem in a container, with these arguments of its, and ends it as soon
# as it has reached the target for many users. Nothing is written to ROOT: an overlay in memory takes that.
set -eu
if [ "${1:-}" != --own-mounts ]; then
    exec unshare --mount --propagation private sh "$0" --own-mounts "$@"
fi
root=$2
shift 2
mount -t tmpfs -o mode=755 none "$root/tmp"
cd "$root/tmp"
mkdir upper work root
mount -t overlay none -o "lowerdir=$root,upperdir=upper,workdir=work" root
mount -t tmpfs -o mode=755 none root/run
mount -t sysfs -o ro none root/sys
mount -t tmpfs -o mode=755 none root/dev
# Nodes of its own: systemd changes mode and owner of the console, and its messages are not of interest.
while read -r node major minor; do
    mknod -m 666 "root/dev/$node" c "$major" "$minor"
done <<'END'
null 1 3
zero 1 5
full 1 7
random 1 8
urandom 1 9
tty 5 0
console 1 3
END
mkdir root/dev/shm root/dev/pts

# A group of its own for its services. Those for resources stay what they are, and with them the limits of this process.
mount -t tmpfs -o mode=755 none root/sys/fs/cgroup
if [ -d /sys/fs/cgroup/systemd ]; then
    group=/sys/fs/cgroup/systemd/lith-boot-$$ type="-t cgroup -o none,name=systemd" place=root/sys/fs/cgroup/systemd
    mkdir $place
else
    group=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)/lith-boot-$$ type="-t cgroup2" place=root/sys/fs/cgroup
fi
mkdir "$group"

mkfifo root/run/started
# shellcheck disable=SC2016 # variables of the inner shells
unshare --pid --fork --uts --ipc --net --mount-proc=root/proc sh -euc '
    place=$1 type=$2 group=$3
    shift 3
    echo 0 >"$group/cgroup.procs"
    exec unshare --cgroup sh -euc '\''
        mount $2 none "$1"
        shift 2
        cd root
        exec env -i container=lith-bench PATH=/usr/sbin:/usr/bin chroot . /lib/systemd/systemd "$@"'\'' sh "$place" "$type" "$@"
' sh "$place" "$type" "$group" --unit=started.service "$@" &
booted=0
timeout 120 cat root/run/started || booted=$?
# All that run in it end with the first of them.
read -r init <"/proc/$!/task/$!/children" || true
# shellcheck disable=SC2086 # it may be none
kill -KILL $init
wait $! 2>/dev/null || true
find "$group" -depth -type d -exec rmdir {} +
exit $booted
