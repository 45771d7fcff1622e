#!/usr/bin/env python3
"""How fast is an image read, by lith, by its rivals and by the kernel?

Mounts the same content by each contender in turn (one warm-up round, then --repeat rounds), reads it, and prints
Markdown tables: medians, the median of each round's time relative to lith's, and whether the target is met. Before
each reading all caches are dropped and the server is a fresh one; images are built once. The limit is the kernel, which
decodes without leaving itself; the rivals are those that serve from user space. Absolute times of a run mean little on
another machine or day; the ratios are what counts. Needs root.

The kernel's mounts have a loop device. It decodes in threads of its own, whose time is only in the CPU of the machine:
that column is of use when nothing else runs.
"""

import dataclasses
import functools
import os
import pathlib
import random
import re
import subprocess
import sys

from common import (CORPORA, ENVIRONMENT, Contender, arguments, chosen, content_bytes, found, header, lith_build,
                    median, no_corpus, ratio, workplace)
from mounts import MountBench, Reader, Reading, disk_with, fio_seconds, own_seconds, take

SUITES = ("seq", "tar", "random", "metadata", "extract", "amplification", "memory", "ways")
TREES = ("debian", "libreoffice")
MIB = 1 << 20

# What `lith mount` can be told to do otherwise than it would choose; by default it must choose the fastest.
WAYS = ("--decode direct", "--decode buffered", "--decode rolling", "--decode in-place")


def erofs(options):
    return Contender("lith", lith_build(f"--kernel 6.12 {options}"))


def squashfs(options, block=131072):
    return Contender("mksquashfs", f"mksquashfs SOURCE SQUASH {options} -b {block} -noappend -quiet -no-progress",
                     rival=True)


# How images are made, by the placeholder that stands for them.
DWARFS = {"DWARFS": Contender("mkdwarfs", "mkdwarfs -i SOURCE -o DWARFS -l7", rival=True)}
LZ4_HC, ZSTD = squashfs("-comp lz4 -Xhc"), squashfs("-comp zstd -Xcompression-level 3")
KINDS = {
    "lz4, 4 KiB": {"IMAGE": erofs("-z lz4 -C 4096"), "SQUASH": squashfs("-comp lz4")},
    "lz4, 64 KiB": {"IMAGE": erofs("-z lz4 -C 65536"), "SQUASH": squashfs("-comp lz4")},
    "lz4hc, 64 KiB": {"IMAGE": erofs("-z lz4hc,12 -C 65536"), "SQUASH": LZ4_HC},
    "lz4hc, 64 KiB, fragments": {"IMAGE": erofs("-z lz4hc,12 -C 65536 -E fragments"), "SQUASH": LZ4_HC} | DWARFS,
    "zstd, 64 KiB": {"IMAGE": erofs("-z zstd,3 -C 65536"), "SQUASH": ZSTD},
    "zstd, 64 KiB, fragments": {"IMAGE": erofs("-z zstd,3 -C 65536 -E fragments"), "SQUASH": ZSTD} | DWARFS,
    "lzma, 64 KiB": {"IMAGE": erofs("-z lzma,6 -C 65536"), "SQUASH": squashfs("-comp xz")},
}


def lith(options=""):
    command = f"lith mount --fuse --foreground {options} IMAGE MOUNT"
    return Contender(f"lith {options}".strip(), " ".join(command.split()))


EROFSFUSE = Contender("erofsfuse", "erofsfuse -f IMAGE MOUNT", rival=True)
SQUASHFUSE_LL = Contender("squashfuse_ll", "squashfuse_ll -f SQUASH MOUNT", rival=True)
SQUASHFUSE = Contender("squashfuse", "squashfuse -f SQUASH MOUNT", rival=True)
DWARFSFUSE = Contender("dwarfs", "dwarfs DWARFS MOUNT -f", rival=True)
KERNEL_EROFS = Contender("kernel EROFS", "mount -t erofs -o ro,loop IMAGE MOUNT")
KERNEL_SQUASHFS = Contender("kernel SquashFS", "mount -t squashfs -o ro,loop SQUASH MOUNT")
FUSE = (EROFSFUSE, SQUASHFUSE_LL, SQUASHFUSE)
ALL = (lith(), *FUSE, KERNEL_EROFS, KERNEL_SQUASHFS)

SEQUENTIAL = Reader("sequential", 'dd if="$FILE" of=/dev/null bs=1M', amount=10 ** 9)
TAR = 'tar -C "$FOLDER" -cf - . | cat >/dev/null'
FIO = ('fio --name=random --filename="$FILE" --readonly --rw=randread --bs=4k --ioengine=psync --invalidate=1 --thread '
       "--numjobs=4 --io_size={}m --randseed=20240229 --output-format=json")
RANDOM = Reader("64 MiB at random", FIO.format(16), fio_seconds, 64 * MIB)
RANDOM_LONG = Reader("512 MiB at random", FIO.format(128), fio_seconds, 512 * MIB)
FIND = Reader("find", 'find "$FOLDER" >/dev/null')
LIST = Reader("ls -lR", 'ls -lR "$FOLDER" >/dev/null')
STAT = Reader("stat, random order", 'python3 "$READER" stat "$LIST" "$FOLDER"', own_seconds)
PATTERNS = [Reader(pattern, f'python3 "$READER" {pattern} "$FILE"', own_seconds, 16 * MIB)
            for pattern in ("sequential", "random", "stride")]


@dataclasses.dataclass(frozen=True)
class Target:
    """The least or most that a number of a contender's row may be: its time relative to lith's (so a rival has a
    least), the server's peak memory, or what was fetched relative to what was asked for."""

    field: str
    least: float = 0
    most: float = 0

    def verdict(self, value):
        met = value >= self.least and (not self.most or value <= self.most)
        scale, unit = (1e6, " MB") if self.field == "peak" else (1, "x")
        limit = f"at least {self.least / scale:.2f}" if self.least else f"at most {self.most / scale:.2f}"
        return f"{'PASS' if met else 'MISS'} ({limit}{unit})"


@dataclasses.dataclass(frozen=True)
class Case:
    """One thing that is read by every contender. targets: by the label of the row that they are shown in. Without a
    reader, the contenders are those that read."""

    suite: str
    corpus: str
    kind: str
    reader: Reader
    contenders: tuple
    targets: dict

    @property
    def name(self):
        return f"{self.kind}, {self.reader.name}" if self.reader else self.kind


def timed(suite, corpus, kind, reader, least, cache=None, more=()):
    """A case about time. least: how many times as fast as each label lith must be."""
    targets = {label: Target("time", least=value) for label, value in least.items()}
    small = (lith(f"--cache {cache}"),) * bool(cache)
    targets |= {contender.label: Target("time", most=1.5) for contender in small}
    return Case(suite, corpus, kind, reader, (ALL[0], *small, *ALL[1:], *more), targets)


def speed_cases(cache):
    yield timed("seq", "text", "lz4hc, 64 KiB", SEQUENTIAL,
                {"kernel EROFS": 0.9, "erofsfuse": 1.4, "squashfuse_ll": 1.3}, cache)
    for kind in ("zstd, 64 KiB", "lzma, 64 KiB"):
        yield timed("seq", "text", kind, SEQUENTIAL, {"kernel EROFS": 1.5, "erofsfuse": 2.5}, cache)
    tar = {"kernel EROFS": 1 / 1.2, "erofsfuse": 1.7, "squashfuse_ll": 2, "dwarfs": 2}
    for corpus in TREES:
        reader = Reader("tar", TAR, amount=content_bytes(corpus))
        for kind in ("lz4hc, 64 KiB, fragments", "zstd, 64 KiB, fragments"):
            yield timed("tar", corpus, kind, reader, tar, cache, (DWARFSFUSE,))
    for reader in (RANDOM, RANDOM_LONG):
        yield timed("random", "text", "lz4hc, 64 KiB", reader,
                    {"kernel EROFS": 0.9, "erofsfuse": 2, "squashfuse_ll": 3}, cache)
        yield timed("random", "text", "zstd, 64 KiB", reader,
                    {"kernel EROFS": 0.8, "erofsfuse": 8, "squashfuse_ll": 5}, cache)
    for corpus in ("debian", "linux"):
        for reader in (FIND, LIST, STAT):
            yield timed("metadata", corpus, "lz4, 64 KiB", reader, {contender.label: 1 for contender in FUSE})


def extract_case(corpus, kind):
    return Case("extract", corpus, kind, None, (
        Contender("lith", "lith extract IMAGE DIR"),
        Contender("fsck.erofs", "fsck.erofs --extract=DIR IMAGE", rival=True),
        Contender("unsquashfs", "unsquashfs -quiet -no-progress -processors 2 -dest DIR SQUASH", rival=True),
    ), {rival: Target("time", least=1) for rival in ("fsck.erofs", "unsquashfs")})


def all_cases(cache):
    yield from speed_cases(cache)
    for corpus in TREES:
        for kind in ("lz4hc, 64 KiB", "zstd, 64 KiB"):
            yield extract_case(corpus, kind)
    for pattern in PATTERNS:
        targets = {} if pattern.name == "sequential" else {"lith": Target("amount", most=1.7)}
        yield Case("amplification", "text", "lz4, 4 KiB", pattern, ALL, targets)
    budgets = {lith(f"--cache {budget}M"): Target("peak", most=(budget + 16) * MIB) for budget in (32, 128)}
    yield Case("memory", "text", "lz4, 4 KiB", SEQUENTIAL, (lith(), *budgets, *FUSE),
               {contender.label: target for contender, target in budgets.items()})
    ways = tuple(map(lith, WAYS))
    for kind in ("lz4, 4 KiB", "lz4hc, 64 KiB", "zstd, 64 KiB"):
        for reader in (SEQUENTIAL, RANDOM):
            yield Case("ways", "text", kind, reader, (lith(), *ways),
                       {way.label: Target("time", least=0.95) for way in ways})


class Images:
    """The images of this run, each built when it is first wanted; or those of an earlier run, if it kept them."""

    def __init__(self, bench, folder):
        self.bench, self.folder, self.sizes = bench, folder, {}

    def of(self, case, contenders):
        """The paths by placeholder of all images that the contenders read."""
        words = {word for contender in contenders for word in contender.command.split()}
        return {place: self.image(case, place, builder) for place, builder in KINDS[case.kind].items()
                if place in words}

    def image(self, case, place, builder):
        path = self.folder / f"{case.corpus} {case.kind}.{place.lower()}".replace(", ", "-").replace(" ", "-")
        if not path.exists():
            print(f"{case.corpus}: {builder.command}", file=sys.stderr)
            # A name of its own until it is whole.
            self.bench.places[place] = path.with_suffix(".partial")
            self.bench.run(builder, case.corpus)
            os.replace(self.bench.places[place], path)
        self.sizes[f"{case.corpus}: {builder.command}"] = path.stat().st_size
        return path


@functools.cache
def lith_words(program):
    """What `lith mount` understands; nothing if it is not there."""
    done = subprocess.run([program, "mount", "--help"], env=ENVIRONMENT, capture_output=True, text=True, check=False)
    return set() if done.returncode else {"mount", *re.findall(r"--[a-z-]+", done.stdout)}


def lacks(bench, contender):
    """Why the contender can't run here, or nothing."""
    words = contender.command.split()
    if not bench.has(contender):
        return f"no {words[0]}: bench/rivals.sh" if "dwarfs" not in words[0] else f"no {words[0]} in the chroot"
    if words[:2] == ["lith", "mount"]:
        known = lith_words(bench.lith)
        unknown = [word for word in words if word == "mount" or word.startswith("--") if word not in known]
        return f"lith has no {' '.join(unknown)}" if unknown else None
    if words[0] == "mount":
        if found("modprobe"):
            subprocess.run(["modprobe", "-q", words[2]], check=False)
        kernel = pathlib.Path("/proc/filesystems").read_text(encoding="ascii").split()
        return None if words[2] in kernel else f"this kernel has no {words[2]}"
    return None


def left_out(bench, case):
    """Why a case can't run here at all, or nothing."""
    programs = (["mkfs.ext4"] if case.suite == "amplification" else []) + (
        [case.reader.command.split()[0]] if case.reader else [])
    missing = [program for program in programs if not found(program)]
    return no_corpus(case) or (f"no {missing[0]}: bench/rivals.sh" if missing else None)


def present(bench, case):
    """The contenders that can run here, with images that can be made."""
    builders = KINDS[case.kind]
    return [contender for contender in case.contenders if not lacks(bench, contender) and not any(
        lacks(bench, builders[word]) for word in contender.command.split() if word in builders)]


def listed(bench, corpus):
    """A file of all paths of a corpus in an order that is always the same, and without any."""
    path = bench.work / f"{corpus}.list"
    if not path.exists():
        root = os.fsencode(CORPORA / corpus)
        paths = sorted(os.path.relpath(os.path.join(folder, name), root)
                       for folder, folders, files in os.walk(root) for name in (*folders, *files))
        random.Random(20240229).shuffle(paths)
        path.write_bytes(b"\0".join(paths))
    return path


def reading(bench, case, contender):
    if not case.reader:
        run = bench.run(contender, case.corpus)
        return Reading(run.wall, run.cpu, peak=run.rss)
    return take(bench, contender, case.corpus, case.reader, {"FILE": "text", "LIST": listed(bench, case.corpus)})


def rounds(bench, case, contenders, repeat):
    """Runs the contenders in turn; returns their readings by label, in which the same index is the same round."""
    readings = {contender.label: [] for contender in contenders}
    for number in range(repeat + 1):
        for contender in contenders:
            new = reading(bench, case, contender)
            print(f"{case.suite} {case.corpus} {case.name}: round {number}, {contender.label}: {new.wall:.3f} s",
                  file=sys.stderr)
            if number:
                readings[contender.label].append(new)
    return readings


def measure(bench, images, case, repeat):
    contenders = present(bench, case)
    places = images.of(case, contenders)
    if case.suite != "amplification":
        bench.places |= places
        return rounds(bench, case, contenders, repeat)
    with disk_with(bench, places) as copies:
        bench.places |= copies
        return rounds(bench, case, contenders, repeat)


class Row:
    """One contender's readings, beside lith's."""

    def __init__(self, case, label, readings):
        self.case, self.label = case, label
        self.own, self.lith = readings[label], readings.get("lith", [])

    def value(self, field):
        """What targets are about: time relative to lith's, fetched relative to asked for, or a plain median."""
        if field == "time":
            return ratio(self.own, self.lith, "wall")
        if field == "amount":
            return median(self.own, "fetched") / self.case.reader.amount
        return median(self.own, field)

    def target(self):
        target = self.case.targets.get(self.label)
        value = self.value(target.field) if target else None
        return "-" if value is None else target.verdict(value)

    def times(self, field):
        value = self.value(field)
        return "-" if value is None else f"{value:.2f}x"

    def megabytes(self, field):
        return f"{median(self.own, field) / 1e6:.1f}" if median(self.own, field) else "-"

    def rate(self):
        return f"{self.case.reader.amount / 1e6 / median(self.own, 'wall'):.0f}"

    def seconds(self, *fields):
        return " + ".join(f"{median(self.own, field):.2f}" for field in fields)


COLUMNS = {
    "wall s": lambda row: f"{median(row.own, 'wall'):.3f}",
    "MB/s": Row.rate,
    "time / lith's": lambda row: row.times("time"),
    "CPU s": lambda row: row.seconds("reader_cpu"),
    "CPU s, reader + server": lambda row: row.seconds("reader_cpu", "server_cpu"),
    "CPU s, machine": lambda row: row.seconds("machine_cpu"),
    "MB fetched": lambda row: row.megabytes("fetched"),
    "fetched / asked for": lambda row: row.times("amount"),
    "peak RSS MB": lambda row: row.megabytes("peak"),
    "RSS MB at the end": lambda row: row.megabytes("resident"),
}
SPEED = ("wall s", "MB/s", "time / lith's", "CPU s, reader + server", "CPU s, machine", "peak RSS MB")
SHOWN = {"metadata": ("wall s", "time / lith's", "CPU s, reader + server", "CPU s, machine", "peak RSS MB"),
         "extract": ("wall s", "time / lith's", "CPU s", "peak RSS MB"),
         "amplification": ("MB fetched", "fetched / asked for"),
         "memory": ("wall s", "time / lith's", "peak RSS MB", "RSS MB at the end")}


def tables(bench, images, cases, repeat):
    commands = {}
    for suite in SUITES:
        columns = SHOWN.get(suite, SPEED)
        mine = [case for case in cases if case.suite == suite]
        if mine:
            yield f"\n## {suite}\n\n| corpus | case | contender | {' | '.join(columns)} | target |"
            yield "|---" * (len(columns) + 4) + "|"
        for case in mine:
            readings = measure(bench, images, case, repeat)
            for label in readings:
                row = Row(case, label, readings)
                cells = [case.corpus, case.name, label, *(COLUMNS[column](row) for column in columns), row.target()]
                yield f"| {' | '.join(cells)} |"
            commands |= {contender.command: None for contender in present(bench, case)}
            commands |= {case.reader.command: None} if case.reader else {}
    yield "\n## Images\n"
    yield from (f"    {size:13,}  {command}" for command, size in images.sizes.items())
    yield "\n## Commands\n"
    yield from (f"    {command}" for command in commands)


PROGRAMS = ((lith(), "--version"), (EROFSFUSE, "--version"), (SQUASHFUSE_LL, "--help"), (DWARFSFUSE, "--help"),
            (squashfs(""), "-version"), (Contender("fio", "fio"), "--version"))


def add_options(parser):
    parser.add_argument("--cache", default="32M", help="the small cache that lith is measured with (default: 32M)")
    parser.add_argument("--images", type=pathlib.Path, help="keep images in this folder, which lies in that of --work")


def missing(bench, cases):
    """All that can't be measured here."""
    for case in cases:
        yield left_out(bench, case)
        for contender in (*case.contenders, *KINDS[case.kind].values()):
            yield lacks(bench, contender)


def main():
    options = arguments(__doc__.splitlines()[0], SUITES, add_options)
    cases = chosen(all_cases(options.cache), options)
    with workplace(options) as (work, say):
        bench = MountBench(options.lith, work)
        folder = options.images.resolve() if options.images else work / "images"
        folder.mkdir(parents=True, exist_ok=True)
        for line in (*header(bench, options, PROGRAMS, f"--cache {options.cache}"),
                     "- medians of the rounds; relative to lith's: the median of each round's ratio",
                     *(f"- left out: {reason}" for reason in sorted(set(missing(bench, cases)) - {None}))):
            say(line)
        whole = [case for case in cases if left_out(bench, case) is None and present(bench, case)]
        for line in tables(bench, Images(bench, folder), whole, options.repeat):
            say(line)


main()
