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

import dataclasses
import sys

from common import (Bench, Contender, arguments, chosen, content_bytes, header, lith_build, median, no_corpus, ratio,
                    workplace)

SUITES = ("build", "large", "pack", "squash", "check")
TREES = ("debian", "libreoffice")


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
        check = Contender("lith", "lith check IMAGE")
        yield Case("check", corpus, "lz4hc,12, 64 KiB", (check,), {"rate": 400}, hc_image)


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
    for contender in (*case.inputs.values(), *case.contenders):
        if not bench.has(contender):
            return f"no {contender.program()}: bench/rivals.sh"
    return no_corpus(case)


PROGRAMS = ((Contender("lith", "lith"), "--version"), (Contender("mkfs.erofs", "mkfs.erofs", True), "-V"),
            (Contender("mksquashfs", "mksquashfs", True), "-version"))


def main():
    options = arguments(__doc__.splitlines()[0], SUITES)
    cases = chosen(all_cases(), options)
    with workplace(options) as (work, say):
        bench = Bench(options.lith, work)
        present = [case for case in cases if left_out(bench, case) is None]
        missing = sorted({left_out(bench, case) for case in cases} - {None})
        for line in (*header(bench, options, PROGRAMS),
                     "- each cell is lith / rival (ratio): medians of the rounds, and the median of each round's ratio",
                     *(f"- left out: {reason}" for reason in missing)):
            say(line)
        for line in tables(bench, present, options.repeat):
            say(line)


main()
