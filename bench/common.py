"""What do the benchmarks share? Where lith and its rivals run, how a process is measured, how a report begins."""

import argparse
import contextlib
import ctypes
import dataclasses
import datetime
import os
import pathlib
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CORPORA = pathlib.Path(os.environ.get("LITH_CORPORA") or pathlib.Path.home() / ".cache/lith-bench").resolve()
SID = CORPORA / "sid"
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}

CLONE_NEWNS, MS_BIND, MS_REC, MS_PRIVATE = 0x20000, 0x1000, 0x4000, 0x40000
LIBC = ctypes.CDLL(None, use_errno=True)


@dataclasses.dataclass(frozen=True)
class Contender:
    """One who runs: a command with the placeholders SOURCE, IMAGE, SQUASH, DIR and MOUNT."""

    label: str
    command: str
    rival: bool = False

    def program(self):
        return self.command.split()[0]


@dataclasses.dataclass(frozen=True)
class Run:
    """What one process took: seconds, seconds of user and system, bytes, and the bytes that it wrote."""

    wall: float
    cpu: float
    rss: int
    size: int


def lith_build(options=""):
    return f"lith build {options} --workers 2 -T 0 --mtime fixed -U clear SOURCE IMAGE"


def measured(argv, **options):
    """Runs a command to its end; returns the seconds, the resources used and what it wrote to the standard output.
    Ends this program, naming the command, if it fails."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as log:
        start = time.perf_counter()
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output, stderr=log,
                                   start_new_session=True, **options)
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"{shlex.join(argv)}: exit status {process.returncode}\n{contents(output)}{contents(log)}")
        return wall, usage, contents(output)


def contents(file):
    file.seek(0)
    return file.read().decode(errors="replace")


def check(result, what):
    """The result of a C function, if it isn't a failure."""
    if result:
        raise OSError(ctypes.get_errno(), what, str(SID))


def bind(source, target):
    check(LIBC.mount(bytes(source), bytes(target), None, MS_BIND | MS_REC, None), "cannot set up the chroot")


class Bench:
    """Where the commands run: lith's path, the work folder, and both it and the corpora bound into the chroot."""

    def __init__(self, lith, work, cold=False):
        self.lith, self.work, self.cold = lith, work, cold
        self.chroot = SID.is_dir()
        self.places = {"lith": lith, "IMAGE": work / "image.erofs", "SQUASH": work / "image.squashfs",
                       "DWARFS": work / "image.dwarfs", "DIR": work / "tree", "MOUNT": work / "mount"}
        check(LIBC.unshare(CLONE_NEWNS), "cannot have mounts of its own")
        check(LIBC.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "cannot have mounts of its own")
        if self.chroot:
            self.bind_folders()

    def bind_folders(self):
        """Binds the corpora and the work folder at the same paths in the chroot, for this process only."""
        # A folder below one that is bound already must not be a mount point too, or it can't be removed.
        for folder in [CORPORA] + [self.work.parent] * (not self.work.is_relative_to(CORPORA)):
            inside = SID / folder.relative_to("/")
            inside.mkdir(parents=True, exist_ok=True)
            check(LIBC.mount(bytes(folder), bytes(inside), None, MS_BIND, None), "cannot set up the chroot")
        bind(pathlib.Path("/dev"), SID / "dev")
        check(LIBC.mount(b"proc", bytes(SID / "proc"), b"proc", 0, None), "cannot set up the chroot")

    def has(self, contender):
        return self.program(contender) is not None

    def program(self, contender):
        """Where the contender's program is, if it is anywhere."""
        if contender.rival:
            places = (SID / folder / contender.program() for folder in ("usr/bin", "usr/sbin", "usr/local/bin"))
            return next((place for place in places if place.exists()), None)
        if contender.program() == "lith":
            return self.lith if self.lith.exists() else None
        return found(contender.program())

    def argv(self, contender, corpus):
        """The command with paths in place of the placeholders, after an equals sign too."""
        places = self.places | {"SOURCE": CORPORA / corpus}
        halves = (word.rpartition("=") for word in contender.command.split())
        return [option + equals + str(places.get(place, place)) for option, equals, place in halves]

    def output(self, contender):
        """The file or folder that the command makes; none if it only reads."""
        if contender.command.startswith(("lith build", "mkfs.erofs")):
            return self.places["IMAGE"]
        if contender.program() in ("mksquashfs", "mkdwarfs"):
            return self.places["SQUASH" if contender.program() == "mksquashfs" else "DWARFS"]
        return None if contender.command.startswith("lith check") else self.places["DIR"]

    def enter_chroot(self):
        os.chroot(SID)
        os.chdir(self.work)

    def settle(self):
        """What an earlier run wrote must not be written back at the expense of the next one, nor, if caches are to be
        cold, be found in memory."""
        os.sync()
        if self.cold:
            pathlib.Path("/proc/sys/vm/drop_caches").write_text("3\n", encoding="ascii")

    def run(self, contender, corpus):
        output = self.output(contender)
        remove(output)
        self.settle()
        wall, usage, _ = measured(self.argv(contender, corpus), env=ENVIRONMENT, cwd=self.work,
                                  preexec_fn=self.enter_chroot if contender.rival else None)
        size = output.stat().st_size if output and output.is_file() else 0
        return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, size)

    def version(self, contender, option):
        """The first line with a number that the program says of itself."""
        try:
            done = subprocess.run([self.argv(contender, "")[0], option], env=ENVIRONMENT, capture_output=True,
                                  text=True, preexec_fn=self.enter_chroot if contender.rival else None, check=False)
        except OSError:
            return f"{contender.label}: not there"
        lines = (done.stdout + done.stderr).splitlines()
        return next((line.strip() for line in lines if re.search(r"\d\.\d", line)), "")


def found(program):
    """Where the commands that are run find a program, if they do."""
    return shutil.which(program, path=ENVIRONMENT["PATH"])


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


def median(runs, field):
    return statistics.median(getattr(run, field) for run in runs)


def ratio(runs, rivals, field):
    """The median of the rounds' ratios, or none where there's nothing to divide by."""
    if not rivals or not all(getattr(run, field) for run in rivals):
        return None
    return statistics.median(getattr(a, field) / getattr(b, field) for a, b in zip(runs, rivals))


def arguments(about, suites, add=lambda parser: None):
    """The options that every benchmark has, and those that add gives it."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--suite", choices=suites, action="append", help="only this one (repeatable)")
    parser.add_argument("--corpus", action="append", help="only this one (repeatable)")
    parser.add_argument("--case", help="only cases whose name contains this")
    parser.add_argument("--repeat", type=int, default=5, help="measured rounds (default: 5)")
    parser.add_argument("--lith", type=pathlib.Path, default=ROOT / "target/release/lith", help="what is measured")
    parser.add_argument("--work", type=pathlib.Path, default=CORPORA, help="write images and trees below this folder")
    parser.add_argument("--out", type=pathlib.Path, help="write the report there, not to the standard output")
    add(parser)
    options = parser.parse_args()
    if os.getuid() != 0:
        sys.exit(f"{parser.prog} must be root: it calls chroot and mount")
    options.lith = options.lith.resolve()
    if not options.lith.exists():
        sys.exit(f"{options.lith}: no such program; build it with cargo build --release, or give --lith")
    return options


def chosen(cases, options):
    """The cases that the options ask for."""
    return [case for case in cases if (not options.suite or case.suite in options.suite)
            and (not options.corpus or case.corpus in options.corpus) and (options.case or "") in case.name]


def header(bench, options, programs, *more):
    """Where, what and how: the first lines of a report. programs: contenders, each with the option that prints its
    version; more: options that only this benchmark has."""
    facts = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    model = next((fact.split(":")[1].strip() for fact in facts if fact.startswith("model name")), "unknown CPU")
    yield f"- date: {datetime.date.today()}; kernel {os.uname().release}; {os.cpu_count()} cores, {model}"
    yield "- versions: " + "; ".join(bench.version(*program) for program in programs if bench.has(program[0]))
    # Paths are of this machine only.
    words = [f"--suite {suite}" for suite in options.suite or []]
    words += [f"--corpus {corpus}" for corpus in options.corpus or []]
    words += [f"--case {shlex.quote(options.case)}"] if options.case else []
    words += [*more, f"--repeat {options.repeat}"]
    yield f"- command: `bench/{pathlib.Path(sys.argv[0]).name} {' '.join(words)}`"


def no_corpus(case):
    """Why the case has nothing to run on, if that is so."""
    return None if (CORPORA / case.corpus).is_dir() else f"no corpus {case.corpus}: bench/corpora.sh {case.corpus}"


def report_file(path):
    return path.open("w", encoding="utf-8") if path else contextlib.nullcontext(sys.stdout)


@contextlib.contextmanager
def workplace(options):
    """A folder that vanishes at the end and a file for the report. A request to end counts as an error, so that
    everything is put away."""
    for request in (signal.SIGINT, signal.SIGTERM):
        signal.signal(request, lambda *_: sys.exit("ended by a signal"))
    CORPORA.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".run.", dir=options.work.resolve()) as work, \
            report_file(options.out) as report:
        yield pathlib.Path(work), lambda line: print(line, file=report, flush=True)
