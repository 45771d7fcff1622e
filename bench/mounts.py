"""How is an image mounted by lith, by its rivals and by the kernel, and what does it take to read it?"""

import contextlib
import dataclasses
import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time

from common import ENVIRONMENT, LIBC, SID, Bench, check, contents, measured, remove

PR_SET_PDEATHSIG, MNT_DETACH = 1, 2
READY_SECONDS, LONGEST_SECONDS = 30, 900
TICKS = os.sysconf("SC_CLK_TCK")
SECTOR = 512


@dataclasses.dataclass(frozen=True)
class Reader:
    """What reads: a shell command in which $FOLDER is the mounted tree, $FILE its large file, $LIST the list of its
    paths and $READER the program beside this one. clock: how the output tells the seconds; without one, they are
    those of the whole command."""

    name: str
    command: str
    clock: object = None
    # The bytes or entries that it asks for; zero if that's of no interest.
    amount: int = 0


@dataclasses.dataclass(frozen=True)
class Reading:
    """What it took: seconds; seconds of CPU of the reader, of the server, and of the whole machine (the kernel decodes
    in threads of its own, which are nobody's); the server's peak and present memory; the bytes that were read from
    the device below."""

    wall: float
    reader_cpu: float = 0
    server_cpu: float = 0
    machine_cpu: float = 0
    peak: int = 0
    resident: int = 0
    fetched: int = 0


def own_seconds(output):
    """The seconds that the program beside this one has measured itself."""
    return float(output)


def fio_seconds(output):
    """The seconds that the slowest job of fio read for."""
    return max(job["read"]["runtime"] for job in json.loads(output)["jobs"]) / 1000


def machine_seconds():
    """What all processors have been busy for."""
    fields = pathlib.Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:]
    user, nice, system, _idle, _wait, irq, softirq = map(int, fields[:7])
    return (user + nice + system + irq + softirq) / TICKS


def sectors_read(path):
    """The sectors read so far from the device that path lies on; zero where there is none."""
    device = os.stat(path).st_dev
    stat = pathlib.Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/stat")
    return int(stat.read_text(encoding="ascii").split()[2]) if stat.exists() else 0


def unmount(folder):
    """Ends a mount, if need be as soon as nobody uses it any more."""
    if os.path.lexists(folder) and subprocess.run(["umount", folder], capture_output=True, check=False).returncode:
        LIBC.umount2(bytes(folder), MNT_DETACH)


class MountBench(Bench):
    """Where images are mounted. A rival's mount and a disk lie inside the chroot and are seen from outside, too."""

    def __init__(self, lith, work):
        super().__init__(lith, work, cold=True)
        for name in ("mount", "disk", "warm"):
            (work / name).mkdir()
        (work / "warm/file").write_bytes(bytes(4096))
        self.disk = None

    def seen(self, path):
        """Where what the chroot calls path is outside of it."""
        return SID / path.relative_to("/") if self.chroot else path

    def argv(self, contender, corpus):
        """As ever, but who isn't in the chroot has mounts and the disk where they are seen."""
        argv = super().argv(contender, corpus)
        if contender.rival:
            return argv
        inner = (str(self.places["MOUNT"]), str(self.work / "disk"))
        return [str(self.seen(pathlib.Path(word))) if word.startswith(inner) else word for word in argv]

    def enter_server(self, rival):
        """A server ends with this program, however that ends."""
        check(LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL), "prctl")
        if rival:
            self.enter_chroot()


class Mounted:
    """An image served by a contender, from its mount to its end."""

    def __init__(self, bench, contender, corpus):
        self.bench, self.contender = bench, contender
        self.argv = bench.argv(contender, corpus)
        self.folder = bench.seen(bench.places["MOUNT"])
        self.log, self.process = tempfile.TemporaryFile(), None

    def __enter__(self):
        try:
            if self.contender.program() == "mount":
                measured(self.argv, env=ENVIRONMENT)
            else:
                self.start()
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_):
        self.end()

    def start(self):
        self.process = subprocess.Popen(self.argv, env=ENVIRONMENT, cwd=self.bench.work, stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log, start_new_session=True,
                                        preexec_fn=lambda: self.bench.enter_server(self.contender.rival))
        last = time.monotonic() + READY_SECONDS
        while not os.path.ismount(self.folder):
            if self.process.poll() is not None:
                self.fail(f"exit status {self.process.returncode} before it answered")
            if time.monotonic() > last:
                self.fail(f"no answer within {READY_SECONDS} s")
            time.sleep(0.002)

    def fail(self, why):
        sys.exit(f"{shlex.join(self.argv)}: {why}\n{contents(self.log)}")

    def kill(self):
        if self.process:
            self.process.kill()

    def end(self):
        """Unmounts; a server that doesn't end then is killed."""
        unmount(self.folder)
        if self.process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=10)
            self.kill()
            self.process.wait()
            # A server that was killed may leave its mount behind.
            unmount(self.folder)
        self.log.close()

    def cpu(self):
        """The server's seconds of CPU, of all its threads."""
        if not self.process:
            return 0
        stat = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8")
        fields = stat.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory(self):
        """The server's peak and present resident bytes."""
        if not self.process:
            return 0, 0
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        values = dict(line.split(":", 1) for line in status.splitlines())
        return tuple(int(values[name].split()[0]) * 1024 for name in ("VmHWM", "VmRSS"))

    def below(self):
        """A path on the device that the contender reads: its own for a filesystem of the kernel."""
        return self.bench.disk if self.process and self.bench.disk else self.folder


def shell(bench, reader, folder, paths):
    """Runs the reader on a folder; returns what measured() does."""
    places = {"FOLDER": folder, "FILE": folder / paths["FILE"], "LIST": paths["LIST"],
              "READER": pathlib.Path(__file__).parent / "reader.py"}
    return measured(["sh", "-c", reader.command], env=ENVIRONMENT | {name: str(path) for name, path in places.items()},
                    cwd=bench.work)


def take(bench, contender, corpus, reader, paths):
    """One reading with cold caches and a fresh server. paths: FILE's name in the tree, and LIST."""
    bench.settle()
    if not reader.clock:
        # The programs themselves shall be in memory.
        shell(bench, reader, bench.work / "warm", {"FILE": "file", "LIST": "/dev/null"})
    with Mounted(bench, contender, corpus) as mounted:
        watchdog = threading.Timer(LONGEST_SECONDS, mounted.kill)
        watchdog.start()
        try:
            below = sectors_read(mounted.below())
            server, machine = mounted.cpu(), machine_seconds()
            wall, usage, output = shell(bench, reader, mounted.folder, paths)
            return Reading(reader.clock(output) if reader.clock else wall, usage.ru_utime + usage.ru_stime,
                           mounted.cpu() - server, machine_seconds() - machine, *mounted.memory(),
                           (sectors_read(mounted.below()) - below) * SECTOR)
        finally:
            watchdog.cancel()


@contextlib.contextmanager
def disk_with(bench, images):
    """Copies images to a disk of their own, of which every byte read is counted: a loop device with ext4. Yields the
    paths of the copies, as the chroot calls them."""
    file, inner = bench.work / "disk.ext4", bench.work / "disk"
    outer = bench.seen(inner)
    with file.open("wb") as disk:
        disk.truncate(sum(image.stat().st_size for image in images.values()) * 11 // 10 + (64 << 20))
    measured(["mkfs.ext4", "-q", "-O", "^has_journal", str(file)], env=ENVIRONMENT)
    try:
        for options in ("loop", "loop,ro"):
            measured(["mount", "-t", "ext4", "-o", options, str(file), str(outer)], env=ENVIRONMENT)
            if options == "loop":
                for image in images.values():
                    measured(["cp", str(image), str(outer)], env=ENVIRONMENT)
                unmount(outer)
        bench.disk = outer
        yield {place: inner / image.name for place, image in images.items()}
    finally:
        bench.disk = None
        unmount(outer)
        remove(file)
