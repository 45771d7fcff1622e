#!/usr/bin/env python3
"""Removes from a tree what a SquashFS image can't hold, and adds what only such an image treats in its own way.

SquashFS has whole seconds from 1970 to 2106, and extended attributes of three namespaces: no ACLs."""
import os
import sys
import time


def paths(root):
    yield root
    for folder, folders, files in os.walk(root):
        yield from (os.path.join(folder, name) for name in folders + files)


def whole_seconds(path):
    seconds = min(max(os.lstat(path).st_mtime_ns // 10**9, 0), 2**32 - 1)
    if started <= seconds <= started + 3600:
        seconds = 1700000000
    os.utime(path, ns=(0, seconds * 10**9), follow_symlinks=False)


root = sys.argv[1]
started = int(time.time()) - 60
# Five blocks of 4 KiB, of which the third and fourth are a hole, and a tail.
with open(os.path.join(root, "blocks"), "wb") as file:
    file.write(b"".join(b"%d lines\n" % number for number in range(900))[:8192])
    file.truncate(16384)
    file.seek(16384)
    file.write(b"after the hole\n" * 300)
# A value that three files share is stored once.
for name in ["shared-1", "shared-2", "shared-3"]:
    path = os.path.join(root, name)
    with open(path, "w") as file:
        file.write(name)
    os.setxattr(path, "trusted.shared", b"a value of some length, which is stored once " * 5)
    os.setxattr(path, "user.own", name.encode())
# A directory whose names take more than one metadata block.
many = os.path.join(root, "many")
os.mkdir(many)
for number in range(150):
    with open(os.path.join(many, f"{number:04}-a-name-that-takes-some-room-{number:04}"), "w") as file:
        file.write(f"{number % 7}")
for path in paths(root):
    for name in os.listxattr(path, follow_symlinks=False):
        if name.startswith("system."):
            os.removexattr(path, name, follow_symlinks=False)
for path in reversed(list(paths(root))):
    whole_seconds(path)
whole_seconds(root)
