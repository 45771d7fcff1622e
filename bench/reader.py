#!/usr/bin/env python3
"""Reads what a benchmark asks for and prints the seconds that it took, without those for starting Python.

    reader.py sequential|random|stride FILE    4096 reads of 4 KiB: the first, scattered, the first of each 128 KiB
    reader.py stat LIST FOLDER                 the attributes of every path in a list, in its order
"""

import os
import random
import sys
import time

READS, SIZE, STRIDE = 4096, 4096, 128 << 10


def positions(pattern, length):
    """Where a pattern reads in a file of that length."""
    if pattern == "random":
        return random.Random(20240229).sample(range(0, length - SIZE, SIZE), READS)
    step = {"sequential": SIZE, "stride": STRIDE}[pattern]
    return range(0, READS * step, step)


def read(pattern, path):
    file = os.open(path, os.O_RDONLY)
    places = positions(pattern, os.fstat(file).st_size)
    start = time.perf_counter()
    for place in places:
        if len(os.pread(file, SIZE, place)) != SIZE:
            sys.exit(f"{path}: no {SIZE} bytes at {place}")
    return time.perf_counter() - start


def stat(listed, folder):
    with open(listed, "rb") as file:
        paths = [os.path.join(os.fsencode(folder), path) for path in file.read().split(b"\0")]
    start = time.perf_counter()
    for path in paths:
        os.lstat(path)
    return time.perf_counter() - start


def main():
    what, *places = sys.argv[1:]
    print(stat(*places) if what == "stat" else read(what, *places))


main()
