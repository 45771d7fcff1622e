"""Threads share an image, forked processes use it on, others get it pickled."""

import concurrent.futures
import multiprocessing
import os
import pathlib
import pickle
import random
import threading
import time
import warnings

import pytest
from conftest import LARGE

import lith


def read_at_random(image: lith.Image, seed: int) -> int:
    """Reads ranges, and returns how many were right."""
    generator = random.Random(seed)
    positions = [generator.randrange(len(LARGE)) for _ in range(200)]
    return sum(image.read("large.txt", at, 1000) == LARGE[at : at + 1000] for at in positions)


def test_threads(image: lith.Image) -> None:
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda seed: read_at_random(image, seed), range(16))) == [200] * 16


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes(image: lith.Image, method: str) -> None:
    context = multiprocessing.get_context(method)
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        assert list(pool.map(read_at_random, [image] * 4, range(4))) == [200] * 4


def test_a_fork_while_threads_read(image: lith.Image) -> None:
    """Locks that a thread of the parent held are held for ever in the child."""
    stop = threading.Event()

    def read() -> None:
        seed = 0
        while not stop.is_set():
            seed += 1
            read_at_random(image, seed)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                child = os.fork()
            if child == 0:
                os._exit(0 if read_at_random(image, 1) == 200 else 1)
            assert wait(child) == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def wait(child: int) -> int:
    """The exit code of a child, which must end within half a minute."""
    for _ in range(3000):
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    raise TimeoutError("the child doesn't end")


def test_pickles_open_the_image_again(image_path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    copy = pickle.loads(pickle.dumps(lith.Image(image_path)))
    assert copy.read("large.txt") == LARGE
    shifted = tmp_path / "shifted"
    shifted.write_bytes(bytes(4096) + image_path.read_bytes())
    copy = pickle.loads(pickle.dumps(lith.Image(shifted, offset=4096)))
    assert copy.label == "tree"


def test_open_files_are_pickled_with_their_position(image: lith.Image) -> None:
    with image.open("large.txt") as file, image.open("large.txt", buffering=0) as raw:
        file.seek(1000)
        raw.seek(2000)
        copies = pickle.loads(pickle.dumps([file, raw]))
        assert file.read(10) == LARGE[1000:1010]
    for copy, start in zip(copies, [1000, 2000], strict=True):
        assert copy.tell() == start
        assert copy.read() == LARGE[start:]
    with pytest.raises(ValueError, match="closed"):
        pickle.dumps(file)


def test_the_interpreter_runs_while_an_image_is_read(image: lith.Image, image_path: pathlib.Path) -> None:
    """A device of Python waits in its own read: that works only if readers don't hold the interpreter."""
    content = image_path.read_bytes()
    waiting, go_on = threading.Event(), threading.Event()

    class Slow:
        size = len(content)

        def read_at(self, position: int, length: int) -> bytes:
            waiting.set()
            assert go_on.wait(30)
            return content[position : position + length]

    opened: list[lith.Image] = []
    thread = threading.Thread(target=lambda: opened.append(lith.Image(Slow())))
    thread.start()
    assert waiting.wait(30)
    assert image.read("docs/a.txt") == b"one\ntwo\n"
    go_on.set()
    thread.join()
    assert opened[0].read("large.txt") == LARGE
