#!/usr/bin/env python3
"""How fast is lith beside its rivals?

Runs lith and the rival in turn (one warm-up round, then --repeat rounds), on the same corpus with the same options and
two workers each, and prints a Markdown table: medians, the medians of each round's ratio lith/rival, and whether the
target is met. Absolute times of a run mean little on another machine or day; the ratios are what counts.

The rivals run in the chroot that rivals.sh makes, on the corpora of corpora.sh. A rival is started by a chroot and an
exec in the forked child, so nothing but its own process is measured. Everything is warm: sources are in the page
cache, and what earlier runs wrote is on the disk before the next one starts. Needs root.

Peak RSS has a floor of about 20 MB, the size of this script: the kernel counts the child before its exec.
"""

import argparse
import contextlib
import ctypes
import dataclasses
import datetime
import os
import pathlib
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CORPORA = pathlib.Path(os.environ.get("LITH_CORPORA") or pathlib.Path.home() / ".cache/lith-bench").resolve()
SID = CORPORA / "sid"
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}

SUITES = ("build", "large", "pack", "squash", "extract", "check")
TREES = ("debian", "libreoffice")
CLONE_NEWNS, MS_BIND, MS_REC, MS_PRIVATE = 0x20000, 0x1000, 0x4000, 0x40000


@dataclasses.dataclass(frozen=True)
class Contender:
    """One who runs: a command with the placeholders SOURCE, IMAGE and DIR."""

    label: str
    command: str
    rival: bool = False


@dataclasses.dataclass(frozen=True)
class Case:
    """One thing that is measured. targets: the most that wall, cpu and size may be relative to the rival's; or rate,
    the least megabytes of content that a second of CPU has to decode."""

    suite: str
    corpus: str
    name: str
    contenders: tuple
    targets: dict
    # How the inputs are made, before anything is measured: contenders too, by the placeholder that they make.
    inputs: dict = dataclasses.field(default_factory=dict)

    def rival(self):
        return next((c for c in self.contenders if c.rival), None)


@dataclasses.dataclass(frozen=True)
class Run:
    """What one process took: seconds, seconds of user and system, bytes, and the bytes that it wrote."""

    wall: float
    cpu: float
    rss: int
    size: int


def lith_build(options=""):
    return f"lith build {options} --workers 2 -T 0 --mtime fixed -U clear SOURCE IMAGE"


def mkfs(options):
    return Contender("mkfs.erofs", f"mkfs.erofs --quiet --workers=2 -T0 -U clear {options} IMAGE SOURCE", rival=True)


def build_case(corpus, algorithm, pcluster, targets):
    name, lith, options = "uncompressed", "-z none", ""
    if algorithm:
        name = f"{algorithm}, {pcluster // 1024} KiB"
        lith, options = f"-z {algorithm} -C {pcluster}", f"-z{algorithm} -C{pcluster}"
    return Case("build", corpus, name, (
        Contender("lith", lith_build(lith)),
        mkfs(options),
        Contender("lith --no-verify", lith_build(f"--no-verify {lith}")),
    ), targets)


def large_case(algorithm, targets):
    """One file, of which a rival may compress all on one core."""
    return Case("large", "linuxtar", f"{algorithm}, 64 KiB", (
        Contender("lith", lith_build(f"--kernel 6.12 -z {algorithm} -C 65536")),
        mkfs(f"-z{algorithm} -C65536"),
    ), targets)


def pack_case(corpus, algorithm, targets, words="fragments", pcluster=65536):
    """Files share pclusters in the packed inode."""
    options = f"-E {words} -z {algorithm} -C {pcluster}"
    return Case("pack", corpus, f"{algorithm}, {pcluster // 1024} KiB, {words.replace(',', ' and ')}", (
        Contender("lith", lith_build(f"--kernel 6.12 {options}")),
        mkfs(f"-E{words} -z{algorithm} -C{pcluster}"),
    ), targets)


def smallest_case(corpus):
    """The smallest that each can make."""
    return Case("pack", corpus, "the smallest", (
        Contender("lith", lith_build("--preset smallest --kernel 6.18")),
        mkfs("-zlzma,9 -C1048576 -Eall-fragments,dedupe -m4096:lzma"),
    ), {"size": 0.95})


def squash_case(name, options, squash):
    """Beside SquashFS, whose blocks are of uncompressed bytes."""
    return Case("squash", "debian", name, (
        Contender("lith", lith_build(options)),
        Contender("mksquashfs", f"mksquashfs SOURCE SQUASH {squash} -noappend -quiet -no-progress -processors 2",
                  rival=True),
    ), {"wall": 1.0, "size": 1.0})


def all_cases():
    hc_image = {"IMAGE": Contender("lith", lith_build("-z lz4hc,12 -C 65536"))}
    for corpus in TREES:
        yield build_case(corpus, None, None, {"wall": 0.9})
        for pcluster in (4096, 65536):
            yield build_case(corpus, "lz4", pcluster, {"wall": 0.9})
        for pcluster in (4096, 16384, 65536, 131072):
            yield build_case(corpus, "lz4hc,12", pcluster, {"cpu": 0.9, "wall": 0.9, "size": 1.0})
    yield build_case("silesia7", "lz4hc,12", 65536, {"wall": 0.6})
    yield pack_case("debian", "lz4hc,12", {"cpu": 0.65, "wall": 0.65, "size": 0.97})
    for corpus, size in (("debian", 0.98), ("libreoffice", 1.0)):
        for level in (3, 9, 15, 19):
            yield pack_case(corpus, f"zstd,{level}", {"cpu": 0.15, "wall": 0.15, "size": size})
    yield pack_case("debian", "libdeflate,9", {"cpu": 0.2, "wall": 0.2, "size": 1.0})
    yield pack_case("debian", "lzma,6", {"cpu": 0.75, "wall": 0.75, "size": 1.0})
    dedupe = {"wall": 0.35, "size": 0.95}
    yield pack_case("debian", "lz4hc,12", dedupe, "fragments,dedupe")
    yield pack_case("debian", "lz4hc,12", dedupe, "all-fragments,dedupe,ztailpacking")
    yield pack_case("debian", "lzma,9", {"wall": 0.4, "size": 0.95}, "all-fragments,dedupe", 1 << 20)
    for corpus in (*TREES, "linux"):
        yield smallest_case(corpus)
    yield large_case("zstd,3", {"cpu": 0.15, "wall": 0.1, "size": 1.0})
    yield large_case("lz4hc,9", {"cpu": 0.9, "wall": 0.5, "size": 1.0})
    yield squash_case("small preset, xz", "--preset small", "-comp xz -b 1048576")
    yield squash_case("zstd,15, 128 KiB, fragments", "--kernel 6.12 -z zstd,15 -C 131072 -E fragments",
                      "-comp zstd -Xcompression-level 15 -b 131072")
    for corpus in TREES:
        squash = Contender("mksquashfs", rival=True, command=
                           "mksquashfs SOURCE SQUASH -comp lz4 -Xhc -b 65536 -noappend -quiet -no-progress")
        yield Case("extract", corpus, "lz4hc,12, 64 KiB", (
            Contender("lith", "lith extract IMAGE DIR"),
            Contender("unsquashfs", "unsquashfs -quiet -no-progress -processors 2 -dest DIR SQUASH", rival=True),
        ), {"wall": 1.0}, hc_image | {"SQUASH": squash})
        check = Contender("lith", "lith check IMAGE")
        yield Case("check", corpus, "lz4hc,12, 64 KiB", (check,), {"rate": 400}, hc_image)


class Bench:
    """Where the commands run: lith's path, the work folder, and both it and the corpora bound into the chroot."""

    def __init__(self, lith, work):
        self.lith, self.work = lith, work
        self.chroot = SID.is_dir()
        if self.chroot:
            self.bind_folders()

    def bind_folders(self):
        """Binds the corpora and the work folder at the same paths in the chroot, for this process only."""
        libc = ctypes.CDLL(None, use_errno=True)

        def check(result):
            if result:
                raise OSError(ctypes.get_errno(), "cannot set up the chroot", str(SID))

        check(libc.unshare(CLONE_NEWNS))
        check(libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None))
        # A folder below one that is bound already must not be a mount point too, or it can't be removed.
        for folder in [CORPORA] + [self.work.parent] * (not self.work.is_relative_to(CORPORA)):
            inside = SID / folder.relative_to("/")
            inside.mkdir(parents=True, exist_ok=True)
            check(libc.mount(bytes(folder), bytes(inside), None, MS_BIND, None))
        check(libc.mount(b"proc", bytes(SID / "proc"), b"proc", 0, None))

    def has(self, contender):
        program = contender.command.split()[0]
        if contender.rival:
            return any((SID / folder / program).exists() for folder in ("usr/bin", "usr/sbin"))
        return self.lith.exists()

    def argv(self, contender, corpus):
        places = {"lith": self.lith, "SOURCE": CORPORA / corpus, "IMAGE": self.work / "image.erofs",
                  "SQUASH": self.work / "image.squashfs", "DIR": self.work / "tree"}
        return [str(places.get(word, word)) for word in contender.command.split()]

    def output(self, contender):
        """The file or folder that the command makes; none if it only reads."""
        if contender.command.startswith(("lith build", "mkfs.erofs")):
            return self.work / "image.erofs"
        if contender.command.startswith("mksquashfs"):
            return self.work / "image.squashfs"
        return None if contender.command.startswith("lith check") else self.work / "tree"

    def enter_chroot(self):
        os.chroot(SID)
        os.chdir(self.work)

    def run(self, contender, corpus):
        output = self.output(contender)
        remove(output)
        # What an earlier run wrote must not be written back at the expense of this one.
        os.sync()
        with tempfile.TemporaryFile() as log:
            start = time.perf_counter()
            process = subprocess.Popen(self.argv(contender, corpus), env=ENVIRONMENT, cwd=self.work,
                                       stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                       preexec_fn=self.enter_chroot if contender.rival else None)
            _, status, usage = os.wait4(process.pid, 0)
            wall = time.perf_counter() - start
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                log.seek(0)
                said = log.read().decode(errors="replace")
                sys.exit(f"{contender.command}: exit status {process.returncode}\n{said}")
        size = output.stat().st_size if output and output.is_file() else 0
        return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, size)

    def version(self, contender, option):
        try:
            done = subprocess.run([self.argv(contender, "")[0], option], env=ENVIRONMENT, capture_output=True,
                                  text=True, preexec_fn=self.enter_chroot if contender.rival else None, check=False)
        except OSError:
            return f"{contender.label}: not there"
        return next(iter((done.stdout + done.stderr).splitlines()), "").strip()


def remove(path):
    if path and path.is_dir():
        shutil.rmtree(path)
    elif path:
        path.unlink(missing_ok=True)


def content_bytes(corpus):
    """The bytes of all regular files of a corpus, hard links counted once."""
    sizes = {}
    for folder, _, files in os.walk(CORPORA / corpus):
        for name in files:
            status = os.lstat(os.path.join(folder, name))
            if status.st_mode & 0o170000 == 0o100000:
                sizes[status.st_ino] = status.st_size
    return sum(sizes.values())


def measure(bench, case, repeat):
    """Runs the contenders in turn; returns their runs by label, in which the same index is the same round."""
    for contender in case.inputs.values():
        bench.run(contender, case.corpus)
    runs = {contender.label: [] for contender in case.contenders}
    for number in range(repeat + 1):
        for contender in case.contenders:
            run = bench.run(contender, case.corpus)
            print(f"{case.suite} {case.corpus} {case.name}: round {number}, {contender.label}: {run.wall:.2f} s wall, "
                  f"{run.cpu:.2f} s CPU", file=sys.stderr)
            if number:
                runs[contender.label].append(run)
    return runs


def median(runs, field):
    return statistics.median(getattr(run, field) for run in runs)


def ratio(runs, rivals, field):
    """The median of the rounds' ratios, or none where there's nothing to divide by."""
    if not rivals or not all(getattr(run, field) for run in rivals):
        return None
    return statistics.median(getattr(a, field) / getattr(b, field) for a, b in zip(runs, rivals))


def verdict(case, runs, rivals):
    """A text for each target, with PASS or MISS before it."""
    texts = []
    for field, limit in case.targets.items():
        if field == "rate":
            rate = content_bytes(case.corpus) / median(runs, "cpu") / 1e6
            texts.append(f"{'PASS' if rate >= limit else 'MISS'} {rate:.0f} MB/s per core (at least {limit})")
        else:
            value = ratio(runs, rivals, field)
            texts.append(f"{'PASS' if value is not None and value <= limit else 'MISS'} {field} (at most {limit:.2f}x)")
    return "; ".join(texts)


def pair(runs, rivals, field, scale, form):
    """`lith / rival (ratio)`, or only lith's where the rival has no such number."""
    value = ratio(runs, rivals, field)
    own = format(median(runs, field) / scale, form)
    return own if value is None else f"{own} / {format(median(rivals, field) / scale, form)} ({value:.2f}x)"


def rows(case, runs):
    rival = case.rival()
    rivals = runs[rival.label] if rival else []
    for contender in case.contenders:
        if not contender.rival:
            own = runs[contender.label]
            yield " | ".join(["", case.corpus, case.name, contender.label, rival.label if rival else "-",
                              pair(own, rivals, "wall", 1, ".2f"), pair(own, rivals, "cpu", 1, ".2f"),
                              pair(own, rivals, "rss", 1e6, ".0f"),
                              pair(own, rivals, "size", 1, ",.0f") if own[0].size else "-",
                              verdict(case, own, rivals), ""]).strip()


def header(bench, options):
    facts = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    model = next((fact.split(":")[1].strip() for fact in facts if fact.startswith("model name")), "unknown CPU")
    yield f"- date: {datetime.date.today()}; kernel {os.uname().release}; {os.cpu_count()} cores, {model}"
    versions = [(Contender("lith", "lith"), "--version"), (Contender("mkfs.erofs", "mkfs.erofs", True), "-V"),
                (Contender("unsquashfs", "unsquashfs", True), "-version")]
    yield "- versions: " + "; ".join(bench.version(*version) for version in versions if bench.has(version[0]))
    # Paths are of this machine only.
    words = [f"--suite {suite}" for suite in options.suite or []]
    words += [f"--corpus {corpus}" for corpus in options.corpus or []]
    words += [f"--case {shlex.quote(options.case)}"] if options.case else []
    yield f"- command: `bench/run.py {' '.join([*words, f'--repeat {options.repeat}'])}`"
    yield "- each cell is lith / rival (ratio): medians of the rounds, and the median of each round's ratio"


TABLE = ("| corpus | case | lith | rival | wall s | CPU s | peak RSS MB | image bytes | targets |\n"
         "|---|---|---|---|---|---|---|---|---|")


def tables(bench, cases, repeat):
    commands = {}
    for suite in SUITES:
        chosen = [case for case in cases if case.suite == suite]
        if chosen:
            yield f"\n## {suite}\n\n{TABLE}"
        for case in chosen:
            yield from rows(case, measure(bench, case, repeat))
            for contender in (*case.inputs.values(), *case.contenders):
                commands[" ".join(contender.command.split())] = None
    yield "\n## Commands\n"
    yield from (f"    {command}" for command in commands)


def left_out(bench, case):
    """Why a case can't run here, or nothing."""
    if not (CORPORA / case.corpus).is_dir():
        return f"no corpus {case.corpus}: bench/corpora.sh {case.corpus}"
    for contender in (*case.inputs.values(), *case.contenders):
        if not bench.has(contender):
            return f"no {contender.command.split()[0]}: bench/rivals.sh"
    return None


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suite", choices=SUITES, action="append", help="only this one (repeatable)")
    parser.add_argument("--corpus", action="append", help="only this one (repeatable)")
    parser.add_argument("--case", help="only cases whose name contains this")
    parser.add_argument("--repeat", type=int, default=5, help="measured rounds (default: 5)")
    parser.add_argument("--lith", type=pathlib.Path, default=ROOT / "target/release/lith", help="what is measured")
    parser.add_argument("--work", type=pathlib.Path, default=CORPORA, help="write images and trees below this folder")
    parser.add_argument("--out", type=pathlib.Path, help="write the report there, not to the standard output")
    return parser.parse_args()


def report_file(path):
    return path.open("w", encoding="utf-8") if path else contextlib.nullcontext(sys.stdout)


def main():
    options = arguments()
    if os.getuid() != 0:
        sys.exit("run.py must be root: it calls chroot and mount")
    lith = options.lith.resolve()
    if not lith.exists():
        sys.exit(f"{lith}: no such program; build it with cargo build --release, or give --lith")
    cases = [case for case in all_cases() if (not options.suite or case.suite in options.suite)
             and (not options.corpus or case.corpus in options.corpus) and (options.case or "") in case.name]
    CORPORA.mkdir(parents=True, exist_ok=True)
    parent = options.work.resolve()
    with tempfile.TemporaryDirectory(prefix=".run.", dir=parent) as work, report_file(options.out) as report:
        bench = Bench(lith, pathlib.Path(work))
        present = [case for case in cases if left_out(bench, case) is None]
        missing = sorted({left_out(bench, case) for case in cases} - {None})
        for line in (*header(bench, options), *(f"- left out: {reason}" for reason in missing)):
            print(line, file=report)
        for line in tables(bench, present, options.repeat):
            print(line, file=report, flush=True)


main()
