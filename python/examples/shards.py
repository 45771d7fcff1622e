"""Builds a data set in shards by several processes, and joins them: ``python shards.py OUT [--samples N] [--workers N]``.

Each worker makes the image of its part; ``lith merge`` makes one image that refers to all of them, and reads only their
metadata. The samples here are computed; a real data set is read, or downloaded, by ``samples``. With Ray or Dask, ``shard`` is
the task.
"""

import argparse
import multiprocessing
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Iterator

import lith

#: Folders of an image should have some thousand names at most: programs list them.
IN_A_FOLDER = 1000


def sample(number: int) -> bytes:
    """The content of a file."""
    return f"sample {number}\n".encode() * (number % 50 + 1)


def path_of(number: int) -> str:
    """Where a sample is: no two shards have the same name."""
    return f"{number // IN_A_FOLDER:06}/{number:09}.txt"


def samples(numbers: range) -> Iterator[tuple[str, bytes]]:
    """The files of a shard, one at a time: they need not fit into memory."""
    for number in numbers:
        yield path_of(number), sample(number)


def shard(work: tuple[pathlib.Path, range]) -> pathlib.Path:
    """Builds one shard, by one thread: the workers share the cores. One that is complete already is kept."""
    image, numbers = work
    if not image.exists():
        lith.build(samples(numbers), image, preset="fast", workers=1, verify=False)
    return image


def parts(count: int, shards: int) -> list[range]:
    """The samples in equal parts, cut between folders."""
    size = -(-count // shards // IN_A_FOLDER) * IN_A_FOLDER
    size = max(size, IN_A_FOLDER)
    return [range(start, min(start + size, count)) for start in range(0, count, size)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("out", type=pathlib.Path, help="the folder of the images")
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--lith", default="lith", help="the program lith")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    started = time.perf_counter()
    work = [
        (options.out / f"shard-{number:05}.erofs", numbers)
        for number, numbers in enumerate(parts(options.samples, options.shards))
    ]
    with multiprocessing.get_context("spawn").Pool(options.workers) as pool:
        images = pool.map(shard, work, chunksize=1)
    built = time.perf_counter()

    merged = options.out / "all.erofs"
    joined = subprocess.run([options.lith, "merge", "-q", *map(os.fspath, images), "-o", merged], check=False)
    if joined.returncode:
        sys.exit(joined.returncode)
    ended = time.perf_counter()

    with lith.Image(merged) as image:
        last = options.samples - 1
        assert image.read(path_of(0)) == sample(0) and image.read(path_of(last)) == sample(last)
    size = sum(path.stat().st_size for path in images)
    print(f"{len(images)} shards of {options.samples} samples, {size} bytes: {built - started:.2f} s")
    print(f"all.erofs, {merged.stat().st_size} bytes: {ended - built:.2f} s")


if __name__ == "__main__":
    main()
