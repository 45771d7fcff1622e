#!/usr/bin/env python3
"""What is in the golden images?

    tree.py make meta|data|few DIR  makes a source tree in the new folder DIR (as root, on ext4 or alike)
    tree.py dump DIR                prints the canonical text of a tree, a line for each entry
    tree.py compare WHO IMAGE TEXT DIR   compares DIR, the mounted IMAGE, with the canonical TEXT; prints what differs,
                                    but for what exceptions.txt knows of WHO (mkfs for a right reader, or linux)

Every byte and every time stamp is fixed, so that the same tree comes out anywhere. `meta` is about inodes, names and
xattrs, `data` about the content of files, and `few` has one file worth compressing, for images that are about a single
question.

A line of the dump has these fields, separated by one space, `-` where a field has no meaning:

    path type mode uid gid mtime.sec mtime.nsec nlink size rdev sha256 target xattrs first

type is one of f d l c b p s; mode is octal, without the type; a directory has no size; rdev is major:minor; target is
the symbolic link's; xattrs are name=hex, separated by commas, sorted by name; first is the first path, in dump order,
of the same inode where that isn't this path itself. In path, target, first and names of xattrs a byte that isn't a
visible ASCII character, and each of \\ , = is written \\xNN. Lines are sorted by the path's bytes; the root is `/`.
"""

import hashlib
import os
import stat
import struct
import sys

BLOCK = 4096
TIME = 1_700_000_000


def noise(seed, size):
    """Bytes that don't compress."""
    return hashlib.shake_256(seed.encode()).digest(size)


def text(seed, size):
    """Bytes that compress as prose does."""
    words = [noise(f"word {i}", 10).hex()[: 2 + i % 9].encode() for i in range(256)]
    choice = noise(seed, size)
    return b" ".join(words[c & d & 0x7F] for c, d in zip(choice, choice[1:]))[:size]


def acl(*entries):
    """A POSIX ACL as Linux hands it over: version, then tag, permissions and id of each entry."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


class Maker:
    """Makes the entries of a tree; every entry gets a time of its own, which `finish` sets."""

    def __init__(self, root):
        self.root = os.fsencode(root)
        self.times = {}
        os.mkdir(self.root)
        self.made(b"", 0o755)

    def at(self, path):
        return os.path.join(self.root, path) if path else self.root

    def made(self, path, mode=None):
        if mode is not None:
            os.chmod(self.at(path), mode)
        # Nanoseconds differ from file to file, and the first ones are 0.
        count = len(self.times)
        self.times[path] = (TIME + 1000 * count) * 10**9 + count // 8 * 123_456_789 % 10**9

    def directory(self, path, mode=0o755):
        os.mkdir(self.at(path))
        self.made(path, mode)

    def file(self, path, content, mode=0o644):
        self.sparse(path, len(content), [(0, content)], mode)

    def sparse(self, path, size, parts, mode=0o644):
        with open(self.at(path), "xb") as file:
            for start, part in parts:
                file.seek(start)
                file.write(part)
            file.truncate(size)
        self.made(path, mode)

    def symlink(self, path, target):
        os.symlink(target, self.at(path))
        self.made(path)

    def link(self, path, old):
        os.link(self.at(old), self.at(path), follow_symlinks=False)

    def node(self, path, kind, mode, rdev=0):
        os.mknod(self.at(path), kind | mode, rdev)
        self.made(path, mode)

    def xattr(self, path, name, value):
        os.setxattr(self.at(path), name, value, follow_symlinks=False)

    def finish(self):
        for path, time in self.times.items():
            os.utime(self.at(path), ns=(time, time), follow_symlinks=False)


def make_meta(tree):
    make_small_files(tree)
    make_directories(tree)
    make_names(tree)
    make_specials(tree)
    make_attributes(tree)
    make_xattrs(tree)
    # The ends of what fits: before the epoch, and past 32 bits.
    tree.times[b"empty"] = -1_500_000_000
    tree.times[b"tiny"] = (1 << 32) * 10**9 + 999_999_999


def make_small_files(tree):
    tree.file(b"empty", b"")
    tree.file(b"tiny", b"lith\n")
    tree.file(b"block", text("block", BLOCK))
    tree.file(b"block-1", text("block-1", BLOCK - 1))
    tree.file(b"text", text("text", 5001))
    tree.file(b"noise", noise("noise", BLOCK + 500))
    tree.sparse(b"sparse", 2 * BLOCK + 50, [(0, text("sparse", BLOCK)), (2 * BLOCK, noise("sparse", 50))])
    tree.sparse(b"hole", BLOCK + 100, [])


def make_data(tree):
    tree.file(b"empty", b"")
    tree.file(b"tiny", b"lith\n")
    tree.file(b"block+1", text("block+1", BLOCK + 1))
    body = text("text", 65536)
    tree.file(b"text", body)
    # The beginning of the same bytes again, at another place in a later file: for dedupe.
    tree.file(b"text-again", text("again", 5700) + body[:12288] + text("end", 333))
    tree.file(b"noise", noise("noise", 20480))
    tree.file(b"mixed", noise("a", 3000) + text("b", 12000) + noise("c", 300) + bytes(9000) + text("d", 2000))
    tree.sparse(b"sparse", 6 * BLOCK + 50, [(0, text("sparse", 1000)), (5 * BLOCK, text("sparse", 2000))])
    tree.sparse(b"hole", 50_000, [])
    tree.directory(b"small")
    for number in range(8):
        tree.file(b"small/%d" % number, text(f"small {number}", 100 * number + 50))
    tree.xattr(b"text", b"user.note", b"an inode with xattrs and an index")


def make_few(tree):
    tree.file(b"empty", b"")
    tree.file(b"text", text("few", 16000))
    # The last file by name: its bytes end the packed inode, where one is made.
    tree.file(b"zz-noise", noise("few", 1500))
    tree.directory(b"one")
    tree.file(b"one/file", b"one level down\n")
    tree.symlink(b"link", b"one/file")
    tree.xattr(b"text", b"user.note", b"an inode with xattrs and an index")


MAKERS = {"meta": make_meta, "data": make_data, "few": make_few}


def make_directories(tree):
    tree.directory(b"one")
    tree.file(b"one/file", b"one level down\n")
    for path in (b"deep", b"deep/er", b"deep/er/est"):
        tree.directory(path)
    tree.file(b"deep/er/est/leaf", text("leaf", 600))
    tree.file(b"deep/er/twig", text("twig", 40))
    tree.directory(b"void")
    # Several blocks of entries. Most are hard links, since inodes would take more room than names.
    tree.directory(b"many")
    for number in range(4):
        tree.file(b"many/own-%d" % number, b"%d\n" % number if number == 0 else b"")
    for number in range(56):
        tree.link(b"many/%02d-%s" % (number, b"n" * (100 + 2 * number)), b"many/own-%d" % (number % 3))


def make_names(tree):
    tree.directory(b"names")
    odd = [b" ", b"!bang", b"-dash", b"...", b".hidden", b"back\\slash", b"new\nline", b"\x01", b"\x7f", b"\xff\xfe",
           "žluťoučký kůň".encode(), "石".encode(), b"quote\"'", b"a", b"aa", b"a.", b"a b", b"A", b"=,"]
    for name in odd:
        tree.file(b"names/" + name, b"")
    tree.file(b"names/" + b"x" * 255, b"a name of 255 bytes\n")


def make_specials(tree):
    tree.symlink(b"link-short", b"text")
    tree.symlink(b"link-dangling", b"../no/\xffsuch\nfile")
    tree.symlink(b"link-long", b"/".join([b"x" * 99] * 40))
    tree.link(b"link-hard", b"link-short")
    tree.link(b"one/hard", b"tiny")
    tree.directory(b"dev")
    tree.node(b"dev/char", stat.S_IFCHR, 0o666, os.makedev(1, 3))
    tree.node(b"dev/block", stat.S_IFBLK, 0o660, os.makedev(259, 0x12345))
    tree.node(b"dev/fifo", stat.S_IFIFO, 0o600)
    tree.node(b"dev/socket", stat.S_IFSOCK, 0o777)


def make_attributes(tree):
    tree.directory(b"owned", 0o3770)
    os.chown(tree.at(b"owned"), 1000, 65535)
    for name, mode, uid, gid in ((b"setuid", 0o4755, 0, 0), (b"setgid", 0o2711, 0, 5), (b"none", 0o0, 65534, 65534),
                                 (b"large-uid", 0o644, 65536, 0), (b"large-both", 0o600, 0xFFFFFFFE, 0x89ABCDEF)):
        path = b"owned/" + name
        tree.file(path, b"")
        os.chown(tree.at(path), uid, gid)
        # chown clears the set-id bits.
        os.chmod(tree.at(path), mode)


def make_xattrs(tree):
    tree.directory(b"xattr")
    for number in range(6):
        path = b"xattr/shared-%d" % number
        tree.file(path, b"")
        tree.xattr(path, b"security.selinux", b"system_u:object_r:lith_t:s0\0")
        tree.xattr(path, b"user.long.prefix.number", b"%d" % number)
    tree.file(b"xattr/all", b"")
    for name, value in ((b"user.empty", b""), (b"user.binary", bytes(range(256))), (b"user.n" + b"a" * 249, b"name"),
                        (b"user.long.prefix.", b"nothing after the prefix"), (b"trusted.overlay.opaque", b"y"),
                        (b"trusted.mark", b"1"), (b"security.lith", b"\0\1")):
        tree.xattr(b"xattr/all", name, value)
    tree.file(b"xattr/large", b"")
    tree.xattr(b"xattr/large", b"user.large", text("xattr", 3000))
    tree.file(b"xattr/capability", b"")
    # cap_net_bind_service, effective: a program's own capability, revision 2.
    tree.xattr(b"xattr/capability", b"security.capability", struct.pack("<5I", 0x02000001, 1 << 10, 0, 0, 0))
    tree.symlink(b"xattr/link", b"all")
    tree.xattr(b"xattr/link", b"trusted.mark", b"1")
    tree.xattr(b"", b"user.root", b"the root has one too")
    none = 0xFFFFFFFF
    access = acl((1, 6, none), (2, 4, 1000), (4, 4, none), (8, 6, 70000), (0x10, 6, none), (0x20, 0, none))
    default = acl((1, 7, none), (2, 5, 1000), (4, 5, none), (0x10, 5, none), (0x20, 0, none))
    tree.file(b"xattr/acl", b"", 0o660)
    tree.xattr(b"xattr/acl", b"system.posix_acl_access", access)
    tree.directory(b"xattr/acl.d", 0o755)
    tree.xattr(b"xattr/acl.d", b"system.posix_acl_default", default)


def escape(raw):
    return "".join(chr(b) if 0x21 <= b <= 0x7E and b not in b"\\,=" else f"\\x{b:02x}" for b in raw)


def paths_below(root):
    """The paths of all entries of the tree, the root as an empty one, in order of their bytes."""
    paths = [b""]
    for folder, directories, files in os.walk(root):
        paths += [os.path.relpath(os.path.join(folder, name), root) for name in directories + files]
    return sorted(paths)


TYPES = {stat.S_IFREG: "f", stat.S_IFDIR: "d", stat.S_IFLNK: "l", stat.S_IFCHR: "c", stat.S_IFBLK: "b",
         stat.S_IFIFO: "p", stat.S_IFSOCK: "s"}


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def line(root, path, first_of):
    """The dump's line for one entry; first_of maps an inode number to the first path that had it."""
    place = os.path.join(root, path) if path else root
    status = os.lstat(place)
    kind = TYPES[stat.S_IFMT(status.st_mode)]
    first = first_of.setdefault(status.st_ino, path)
    xattrs = sorted((os.fsencode(name), os.getxattr(place, name, follow_symlinks=False))
                    for name in os.listxattr(place, follow_symlinks=False))
    seconds, nanoseconds = divmod(status.st_mtime_ns, 10**9)
    return " ".join([
        "/" + escape(path), kind, f"{stat.S_IMODE(status.st_mode):04o}", str(status.st_uid), str(status.st_gid),
        str(seconds), str(nanoseconds), str(status.st_nlink),
        "-" if kind == "d" else str(status.st_size),
        f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}" if kind in "cb" else "-",
        sha256(place) if kind == "f" else "-",
        escape(os.readlink(place)) if kind == "l" else "-",
        ",".join(f"{escape(name)}={value.hex()}" for name, value in xattrs) or "-",
        "-" if first == path else "/" + escape(first),
    ])


FIELDS = "path type mode uid gid mtime.sec mtime.nsec nlink size rdev sha256 target xattrs first".split()


def lines(root):
    root, first_of = os.fsencode(root), {}
    return [line(root, path, first_of) for path in paths_below(root)]


def exceptions(who, image):
    """The known differences: a list of path, field and value, * for any path and - for any value."""
    known = []
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "exceptions.txt")) as file:
        for row in file:
            if row.startswith(image + " "):
                _, path, field, whose, value, _ = row.split(maxsplit=5)
                # A defect of mkfs is in the image, so every reader shows it.
                if whose in ("mkfs", who):
                    known.append((path, field, value))
    return known


def compare(who, image, text, root):
    """Prints how the tree at root differs from its text, and returns whether it does."""
    known = exceptions(who, image)
    with open(text) as file:
        wanted = {row.split(" ")[0]: row.rstrip("\n").split(" ") for row in file}
    found = {row.split(" ")[0]: row.split(" ") for row in lines(root)}
    differences = [f"{path}: not there" for path in wanted.keys() - found.keys()]
    differences += [f"{path}: not expected" for path in found.keys() - wanted.keys()]
    for path in wanted.keys() & found.keys():
        for field, want, have in zip(FIELDS, wanted[path], found[path]):
            allowed = any(p in ("*", path) and f == field and v in ("-", have) for p, f, v in known)
            if want != have and not allowed:
                differences.append(f"{path}: {field} is {have}, not {want}")
    for difference in sorted(differences):
        print(f"{image}: {difference}")
    return bool(differences)


def main():
    match sys.argv[1:]:
        case ["make", ("meta" | "data" | "few") as name, root]:
            os.umask(0)
            tree = Maker(root)
            MAKERS[name](tree)
            tree.finish()
        case ["dump", root]:
            print("\n".join(lines(root)))
        case ["compare", ("mkfs" | "linux") as who, image, text, root]:
            sys.exit(compare(who, image, text, root))
        case _:
            sys.exit(__doc__)


main()
