#!/usr/bin/env python3
"""Compares ways to keep a data set of many small files; see README.md."""

import argparse
import contextlib
import io
import json
import mmap
import os
import pathlib
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tarfile
import time
import typing
import zipfile
from collections.abc import Callable, Iterator

#: Files in a folder, and in a shard of the tar.
IN_A_FOLDER = 1000
Reader = Callable[[str], bytes]


def path_of(number: int) -> str:
    return f"{number // IN_A_FOLDER:05}/{number:08}.bin"


class Files:
    """The files of a run, made anew wherever they are needed: of random bytes, or parts of a text."""

    def __init__(self, count: int, least: int, most: int, text: pathlib.Path | None) -> None:
        self.count, self.least, self.most, self.text = count, least, most, text
        self.parts: bytes | mmap.mmap = b""
        if text:
            with text.open("rb") as file:
                self.parts = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def size(self, number: int) -> int:
        return random.Random(number).randint(self.least, self.most)

    def content(self, number: int) -> bytes:
        size, chance = self.size(number), random.Random(number ^ 0x5EED)
        if not self.parts:
            return chance.randbytes(size)
        start = chance.randrange(len(self.parts) - size)
        return self.parts[start : start + size]

    def all(self, numbers: range | None = None) -> Iterator[tuple[str, bytes]]:
        for number in numbers or range(self.count):
            yield path_of(number), self.content(number)


def run(*command: str | os.PathLike[str], **more: object) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **more)  # type: ignore[call-overload]


def drop(path: pathlib.Path) -> None:
    """Drops a file from the page cache, without disturbing other programs."""
    paths = path.rglob("*") if path.is_dir() else [path]
    for file in paths:
        if file.is_file():
            with file.open("rb") as opened:
                os.fsync(opened.fileno())
                os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class Contender:
    """A way to keep files: how it is made, and how a process of its own reads it."""

    name = ""
    #: What it is compared with as a start; otherwise only in ``reads``.
    starts = True
    #: Starts of more files take too long to make.
    limit = 1_000_000
    #: Whose file it has, if that is there.
    same_as = ""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder

    def missing(self) -> str | None:
        """What the machine lacks."""
        return None

    @property
    def path(self) -> pathlib.Path:
        return self.folder / self.name

    def make(self, files: Files) -> None:
        raise NotImplementedError

    @contextlib.contextmanager
    def served(self) -> Iterator[None]:
        """While it is served, nothing of it is in the page cache at first."""
        drop(self.path)
        yield

    def open(self) -> Reader:
        raise NotImplementedError


def tools(*names: str) -> str | None:
    missing = [name for name in names if not shutil.which(name)]
    return f"no {missing[0]}" if missing else None


def modules(*names: str) -> str | None:
    for name in names:
        try:
            __import__(name)
        except ImportError:
            return f"no {name}"
    return None


def root() -> str | None:
    return "not root" if os.geteuid() else None


class Erofs(Contender):
    name = "lith"
    #: As for the others, which compress nothing.
    options: dict[str, object] = {"compressor": "none"}

    def missing(self) -> str | None:
        return modules("lith")

    def make(self, files: Files) -> None:
        import lith

        lith.build(files.all(), self.path, verify=False, **self.options)  # type: ignore[arg-type]

    def open(self) -> Reader:
        import lith

        return lith.Image(self.path).read


class ErofsCompressed(Erofs):
    name = "lith, LZ4"
    starts = False
    options = {"preset": "fast"}


class Mounted(Contender):
    """Files of a mounted filesystem."""

    starts = False

    @property
    def mount_point(self) -> pathlib.Path:
        return self.folder / f"{self.name}.mnt"

    def open(self) -> Reader:
        folder = os.fspath(self.mount_point)

        def read(path: str) -> bytes:
            with open(f"{folder}/{path}", "rb", buffering=0) as file:
                return file.read()

        return read

    def mount(self) -> None:
        run("mount", "-o", "loop,ro", self.path, self.mount_point)

    @contextlib.contextmanager
    def served(self) -> Iterator[None]:
        drop(self.path)
        self.mount_point.mkdir(exist_ok=True)
        self.mount()
        try:
            yield
        finally:
            run("umount", self.mount_point)


class ErofsMounted(Mounted):
    name = "EROFS, mounted"
    same_as = Erofs.name

    def missing(self) -> str | None:
        return root() or modules("lith")

    def make(self, files: Files) -> None:
        image = self.folder / Erofs.name
        if not image.exists():
            Erofs(self.folder).make(files)
        with contextlib.suppress(FileExistsError):
            os.link(image, self.path)


class Ext4(Mounted):
    name = "ext4"

    def missing(self) -> str | None:
        return root() or tools("mkfs.ext4")

    def make(self, files: Files) -> None:
        bytes_in_all = sum((files.size(number) + 8191) // 4096 * 4096 for number in range(files.count))
        with self.path.open("wb") as image:
            image.truncate(bytes_in_all + files.count * 1024 + (64 << 20))
        run("mkfs.ext4", "-q", "-F", "-N", str(files.count * 2), self.path)
        self.mount_point.mkdir(exist_ok=True)
        run("mount", "-o", "loop", self.path, self.mount_point)
        try:
            for path, content in files.all():
                file = self.mount_point / path
                if not file.parent.exists():
                    file.parent.mkdir()
                file.write_bytes(content)
        finally:
            run("umount", self.mount_point)


def write_tar(files: Files, numbers: range, to: typing.IO[bytes]) -> None:
    with tarfile.open(fileobj=to, mode="w|", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in files.all(numbers):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))


class Tar(Contender):
    """Shards as webdataset has them. Those have no index: random access reads all headers of a shard first."""

    name = "tar shards"

    def make(self, files: Files) -> None:
        self.path.mkdir()
        for start in range(0, files.count, IN_A_FOLDER):
            numbers = range(start, min(start + IN_A_FOLDER, files.count))
            with (self.path / f"{start // IN_A_FOLDER:05}.tar").open("wb") as shard:
                write_tar(files, numbers, shard)

    def open(self) -> Reader:
        places: dict[str, tuple[int, int, int]] = {}
        for shard in sorted(self.path.iterdir()):
            descriptor = os.open(shard, os.O_RDONLY)
            with tarfile.open(shard) as tar:
                for member in tar:
                    places[member.name] = (descriptor, member.offset_data, member.size)

        def read(path: str) -> bytes:
            descriptor, position, size = places[path]
            return os.pread(descriptor, size, position)

        return read


class Zip(Contender):
    name = "zip"

    def make(self, files: Files) -> None:
        with zipfile.ZipFile(self.path, "w", zipfile.ZIP_STORED) as archive:
            for path, content in files.all():
                archive.writestr(path, content)

    def open(self) -> Reader:
        return zipfile.ZipFile(self.path).read


class Hdf5(Contender):
    """A data set for each file."""

    name = "HDF5"
    limit = 100_000

    def missing(self) -> str | None:
        return modules("h5py", "numpy")

    def make(self, files: Files) -> None:
        import h5py
        import numpy

        with h5py.File(self.path, "w", libver="latest") as file:
            for path, content in files.all():
                file.create_dataset(path, data=numpy.frombuffer(content, dtype=numpy.uint8))

    def open(self) -> Reader:
        import h5py

        file = h5py.File(self.path, "r")
        return lambda path: file[path][()].tobytes()


class PySquashfs(Contender):
    name = "PySquashfsImage"

    def missing(self) -> str | None:
        return modules("PySquashfsImage") or tools("sqfstar")

    def make(self, files: Files) -> None:
        make_squashfs(files, self.path)

    def open(self) -> Reader:
        from PySquashfsImage import SquashFsImage

        image = SquashFsImage.from_file(os.fspath(self.path))

        def read(path: str) -> bytes:
            found = image.select("/" + path)
            assert found is not None
            return found.read_bytes()  # type: ignore[no-any-return]

        return read


def make_squashfs(files: Files, path: pathlib.Path) -> None:
    command = ["sqfstar", "-comp", "gzip", "-noD", "-noF", "-no-progress", os.fspath(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as sqfstar:
        assert sqfstar.stdin is not None
        write_tar(files, range(files.count), sqfstar.stdin)
    if sqfstar.returncode:
        raise subprocess.CalledProcessError(sqfstar.returncode, command)


class Squashfuse(Mounted):
    name = "squashfuse"
    same_as = PySquashfs.name

    def missing(self) -> str | None:
        return tools("sqfstar", "squashfuse") or (None if os.access("/dev/fuse", os.W_OK) else "no /dev/fuse")

    def make(self, files: Files) -> None:
        image = self.folder / PySquashfs.name
        if not image.exists():
            make_squashfs(files, image)
        with contextlib.suppress(FileExistsError):
            os.link(image, self.path)

    def mount(self) -> None:
        run("squashfuse", self.path, self.mount_point)


ALL: list[type[Contender]] = [Erofs, ErofsMounted, ErofsCompressed, Ext4, Tar, Zip, Hdf5, PySquashfs, Squashfuse]


def measure(options: argparse.Namespace) -> None:
    """In a process of its own: prints how one contender did."""
    contender = next(kind for kind in ALL if kind.name == options.contender)(options.folder)
    files = Files(options.files, options.least, options.most, options.text)
    numbers = random.Random(options.seed).sample(range(files.count), min(options.sample, files.count))
    # What is imported is no part of the start.
    contender.missing()
    before = time.perf_counter()
    read = contender.open()
    content = read(path_of(numbers[0]))
    start = time.perf_counter() - before
    assert content == files.content(numbers[0])
    cold, done = timed(read, numbers[1:], options.seconds)
    warm = max(timed(read, numbers[1 : 1 + done], options.seconds)[0] for _ in range(3))
    json.dump({"start": start, "cold": cold, "warm": warm, "reads": done}, sys.stdout)


def timed(read: Reader, numbers: list[int], seconds: float) -> tuple[float, int]:
    """Files read in a second, and how many were."""
    started, done = time.perf_counter(), 0
    for number in numbers:
        read(path_of(number))
        done += 1
        if done % 64 == 0 and time.perf_counter() - started > seconds:
            break
    return done / max(time.perf_counter() - started, 1e-9), done


def in_own_process(contender: Contender, files: Files, options: argparse.Namespace, seed: int) -> dict[str, float]:
    values = {
        "--files": files.count, "--least": files.least, "--most": files.most,
        "--sample": options.sample, "--seconds": options.seconds, "--seed": seed, "--contender": contender.name,
        **({"--text": files.text} if files.text else {}),
    }  # fmt: skip
    flags = [str(part) for pair in values.items() for part in pair]
    with contender.served():
        command = [sys.executable, __file__, "measure", os.fspath(contender.folder), *flags]
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    found: dict[str, float] = json.loads(output)
    return found


def disk_usage(path: pathlib.Path) -> int:
    """What is allocated on disk."""
    paths = path.rglob("*") if path.is_dir() else [path]
    return sum(found.stat().st_blocks * 512 for found in paths)


def present(folder: pathlib.Path, only: list[str]) -> Iterator[Contender]:
    for kind in ALL:
        contender = kind(folder)
        if only and contender.name not in only:
            continue
        missing = contender.missing()
        if missing:
            print(f"SKIP {contender.name}: {missing}", file=sys.stderr)
        else:
            yield contender


def made(contender: Contender, files: Files) -> None:
    if not contender.path.exists():
        print(f"making {contender.name} of {files.count} files", file=sys.stderr)
        contender.make(files)


def turns(options: argparse.Namespace, contenders: list[Contender]) -> Iterator[tuple[int, Contender]]:
    """Each contender in each run: in turn, so that a disturbance doesn't hit one of them only, or where there is no room for all
    files one contender after the other."""
    if options.one_at_a_time:
        yield from ((turn, contender) for contender in contenders for turn in range(options.runs))
    else:
        yield from ((turn, contender) for turn in range(options.runs) for contender in contenders)


def remove(contender: Contender, following: list[Contender], files: Files) -> None:
    """Removes the file of a contender; those that have the same get their name for it first."""
    for other in following:
        if other.same_as == contender.name:
            made(other, files)
    if contender.path.is_dir():
        shutil.rmtree(contender.path)
    else:
        contender.path.unlink()


def reads(options: argparse.Namespace) -> None:
    files = Files(options.files, options.least, options.most, options.text)
    results: dict[str, dict[str, float]] = {}
    sizes: dict[str, int] = {}
    contenders = list(present(options.folder, options.only))
    found: dict[str, list[dict[str, float]]] = {}
    for turn, contender in turns(options, contenders):
        made(contender, files)
        sizes[contender.name] = disk_usage(contender.path)
        print(f"{contender.name}, {turn + 1} of {options.runs}", file=sys.stderr)
        found.setdefault(contender.name, []).append(in_own_process(contender, files, options, turn))
        if options.one_at_a_time and turn + 1 == options.runs:
            remove(contender, contenders[contenders.index(contender) + 1 :], files)
    for name, runs in found.items():
        results[name] = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
    ours = results.get(Erofs.name)
    titles = ["", "size, MB", "start, ms", "cold, files/s", "warm, files/s", "cold : lith", "warm : lith"]
    print("|", " | ".join(titles), "|")
    print("|---|" + "---:|" * (len(titles) - 1))
    for name, result in results.items():
        ratios = [f"{result[key] / ours[key]:.2f}" if ours else "" for key in ("cold", "warm")]
        numbers = [f"{sizes[name] / 1e6:.0f}", f"{result['start'] * 1000:.1f}", f"{result['cold']:.0f}", f"{result['warm']:.0f}"]
        print("|", " | ".join([name, *numbers, *ratios]), "|")


def starts(options: argparse.Namespace) -> None:
    counts = [count for count in (10_000, 100_000, 1_000_000) if count <= options.files]
    rows: dict[str, list[str]] = {}
    for count in counts:
        folder = options.folder / str(count)
        folder.mkdir(exist_ok=True)
        files = Files(count, 100, 100, options.text)
        for contender in present(folder, options.only):
            if not contender.starts:
                continue
            row = rows.setdefault(contender.name, [])
            if count > contender.limit:
                row.append("")
                continue
            made(contender, files)
            options.sample = 1
            times = [in_own_process(contender, files, options, turn)["start"] for turn in range(options.runs)]
            row.append(f"{statistics.median(times) * 1000:.1f}")
    print("| ms to the first byte of |", " | ".join(f"{count:,} files" for count in counts), "|")
    print("|---|" + "---:|" * len(counts))
    for name, row in rows.items():
        print("|", " | ".join([name, *row]), "|")


def costs(options: argparse.Namespace) -> None:
    """What an image of very many files costs, which hold 20 bytes each: those are stored beside their inodes."""
    print("| files | CPU of the build, µs a file | its memory, bytes a file | image, bytes a file | ms to the first byte |")
    print("|---:|---:|---:|---:|---:|")
    for count in (10**5, 10**6, 10**7):
        if count > options.files:
            break
        command = [sys.executable, __file__, "cost", os.fspath(options.folder), "--files", str(count)]
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
        cpu, memory, size, first = json.loads(output)
        print(f"| {count:,} | {cpu / count * 1e6:.1f} | {memory / count:.0f} | {size / count:.1f} | {first * 1000:.1f} |", flush=True)


def cost(options: argparse.Namespace) -> None:
    """In a process of its own: prints what one image costs."""
    import lith

    def content(number: int) -> bytes:
        return f"{number:020}".encode()

    def used() -> tuple[float, int]:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024

    image = options.folder / f"{options.files}.erofs"
    before, others = used()
    lith.build(((path_of(number), content(number)) for number in range(options.files)), image, compressor="none", verify=False)
    cpu, memory = used()
    drop(image)
    started, last = time.perf_counter(), options.files - 1
    assert lith.Image(image).read(path_of(last)) == content(last)
    first = time.perf_counter() - started
    json.dump([cpu - before, memory - others, image.stat().st_size, first], sys.stdout)
    image.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("what", choices=["reads", "starts", "costs", "measure", "cost"])
    parser.add_argument("folder", type=pathlib.Path, help="where files are made and kept for the next run")
    parser.add_argument("--files", type=int, help="how many files; for starts and costs, the most")
    parser.add_argument("--least", type=int, default=2000, help="bytes of the smallest")
    parser.add_argument("--most", type=int, default=20_000, help="bytes of the largest")
    parser.add_argument("--text", type=pathlib.Path, help="files are parts of this file; otherwise random bytes")
    parser.add_argument("--one-at-a-time", action="store_true", help="remove each contender's file before the next is made")
    parser.add_argument("--sample", type=int, default=20_000, help="how many are read")
    parser.add_argument("--seconds", type=float, default=20, help="how long each contender reads")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", action="append", default=[], help="a contender; can be repeated")
    parser.add_argument("--seed", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--contender", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.files = options.files or {"starts": 10**6, "costs": 10**7}.get(options.what, 100_000)
    options.folder.mkdir(parents=True, exist_ok=True)
    {"reads": reads, "starts": starts, "costs": costs, "measure": measure, "cost": cost}[options.what](options)


if __name__ == "__main__":
    main()
