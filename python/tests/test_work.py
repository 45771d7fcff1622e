"""Building, checking, comparing and mounting."""

import hashlib
import os
import pathlib
import signal
import subprocess
import sys
import tarfile
import textwrap

import pytest
from conftest import LARGE

import lith


def test_a_folder_becomes_an_image(tree: pathlib.Path, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.erofs"
    built = lith.build(tree, path, preset="fast", exclude=["*.md", "/absent"], label="a label", kernel="6.12")
    assert built.image_bytes == path.stat().st_size
    assert built.files == 6
    assert built.unmatched == ["/absent"]
    assert [str(difference) for difference in lith.diff(tree, path)] == ["/docs/b.md: only in the first"]
    assert lith.diff(tree, path)[0].what == "presence"
    assert lith.diff(tree, path)[0].path == "/docs/b.md"
    assert lith.check(path).sound
    assert lith.Image(path).label == "a label"


def test_a_tar_becomes_an_image(tree: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with tarfile.open(tmp_path / "x.tar.gz", "w:gz") as tar:
        tar.add(tree, ".")
    lith.build(tmp_path / "x.tar.gz", tmp_path / "x.erofs")
    assert lith.diff(tree, tmp_path / "x.erofs", ignore=["owner", "mtime", "links", "xattrs"]) == []


def test_files_become_an_image(tmp_path: pathlib.Path) -> None:
    files = {"a/b/c": b"abc", "/a/d": bytearray(b"d"), "large": memoryview(LARGE), "empty": b"", "folder/": None}
    for name, source in [("dict", files), ("iterator", iter(files.items()))]:
        path = tmp_path / name
        assert lith.build(source, path).files == 4
        with lith.Image(path) as image:
            assert image.listdir() == ["a", "empty", "folder", "large"]
            assert image.read("a/b/c") == b"abc"
            assert image.read("a/d") == b"d"
            assert image.read("large") == LARGE
            assert image.read("empty") == b""
            assert image.listdir("folder") == []
            attributes = image.stat("a/b/c")
            assert (attributes.st_mode, attributes.st_uid, attributes.st_mtime_ns) == (0o100644, 0, 0)
    assert (tmp_path / "dict").read_bytes() == (tmp_path / "iterator").read_bytes()
    lith.build(files, path, mtime=1_700_000_000)
    assert lith.Image(path).stat("a").st_mtime == 1_700_000_000
    assert sorted(os.listdir(tmp_path)) == ["dict", "iterator"]


@pytest.mark.parametrize(
    ("files", "text"),
    [
        ([("a", b""), ("a", b"")], "a"),
        ([("a", b""), ("a/b", b"")], "a"),
        ([("a/../b", b"")], "reserved"),
        ([("/", b"")], "reserved"),
        ([("a" * 256, b"")], "255"),
    ],
)
def test_impossible_paths(files: list[tuple[str, bytes]], text: str, tmp_path: pathlib.Path) -> None:
    with pytest.raises(ValueError, match=text):
        lith.build(files, tmp_path / "x.erofs")
    assert os.listdir(tmp_path) == []


def test_wrong_arguments(tree: pathlib.Path, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.erofs"
    for choices in [
        {"preset": "tiny"},
        {"compressor": "zip"},
        {"kernel": "six"},
        {"rules": {"*.x": "zip"}},
        {"workers": 0},
        {"exclude": ["["]},
        {"label": "longer than fifteen bytes"},
    ]:
        with pytest.raises((ValueError, lith.Error)):
            lith.build(tree, path, **choices)
    with pytest.raises(TypeError, match="^a: content must be bytes or None, not str$"):
        lith.build({"a": "text"}, path)  # type: ignore[dict-item]
    with pytest.raises(FileNotFoundError):
        lith.build(tmp_path / "absent", path)
    with pytest.raises(FileNotFoundError):
        lith.build(tree, tmp_path / "absent" / "x.erofs")
    with pytest.raises(ValueError, match="can't be ignored"):
        lith.diff(tree, tree, ignore=["size"])  # type: ignore[list-item]
    assert os.listdir(tmp_path) == []


def test_an_error_of_the_iterator_is_raised(tmp_path: pathlib.Path) -> None:
    def files():
        yield "a", b"a"
        raise KeyError("the caller's own")

    with pytest.raises(KeyError, match="own"):
        lith.build(files(), tmp_path / "x.erofs")
    assert os.listdir(tmp_path) == []


def test_what_is_no_image_is_not_replaced(tree: pathlib.Path, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "notes"
    path.write_text("notes")
    with pytest.raises(FileExistsError):
        lith.build(tree, path)
    assert path.read_text() == "notes"
    lith.build(tree, path, force=True)
    assert lith.diff(tree, path) == []


def test_compressors_and_rules(tmp_path: pathlib.Path) -> None:
    files = {"a.txt": LARGE, "b.txt": LARGE[1:]}
    sizes = {
        name: lith.build(files, tmp_path / name, kernel="6.12", **choices).image_bytes
        for name, choices in {
            "none": {"compressor": "none"},
            "zstd": {"compressor": "zstd,19"},
            "rule": {"rules": {"b.*": None}},
        }.items()
    }
    assert sizes["zstd"] < sizes["rule"] < sizes["none"]


def test_equal_sources_give_equal_bytes(tree: pathlib.Path, tmp_path: pathlib.Path) -> None:
    digests = set()
    for workers in (1, 4):
        lith.build(tree, tmp_path / "x.erofs", workers=workers)
        digests.add(hashlib.sha256((tmp_path / "x.erofs").read_bytes()).digest())
    assert len(digests) == 1


def test_defects_are_found(repository: pathlib.Path, image_path: pathlib.Path) -> None:
    assert lith.check(image_path).findings == []
    report = lith.check(repository / "tests" / "bad" / "data-undecodable.erofs")
    assert not report.sound
    finding = report.findings[0]
    assert (finding.rule, finding.severity) == ("data-undecodable", "error")
    assert finding.path is not None
    assert finding.path in str(finding)
    assert lith.check(repository / "tests" / "bad" / "data-undecodable.erofs", data=False).sound
    assert lith.check(lith.Image(image_path)).inodes > 10


def test_an_interrupt_cancels_a_build(tmp_path: pathlib.Path) -> None:
    script = f"""
        import random, signal, lith
        def files():
            for number in range(40):
                # What compresses takes long enough to be interrupted.
                yield str(number), random.Random(number).randbytes(1 << 19).hex().encode()
            signal.setitimer(signal.ITIMER_REAL, 0.3)
        def interrupt(*_):
            raise KeyboardInterrupt
        signal.signal(signal.SIGALRM, interrupt)
        try:
            lith.build(files(), {str(tmp_path / "x.erofs")!r}, preset="smallest", workers=1)
        except KeyboardInterrupt:
            raise SystemExit(42)
    """
    code = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], timeout=120).returncode
    assert code == 42
    assert os.listdir(tmp_path) == []
    assert signal.SIGALRM


def test_mounting(image_path: pathlib.Path, tree: pathlib.Path, tmp_path: pathlib.Path) -> None:
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("no /dev/fuse")
    try:
        mounted = lith.mount(image_path, tmp_path)
    except OSError as error:
        pytest.skip(f"mounting is not allowed here: {error}")
    with mounted:
        assert mounted.directory == str(tmp_path)
        assert os.path.ismount(tmp_path)
        assert (tmp_path / "large.txt").read_bytes() == LARGE
        assert lith.diff(tree, tmp_path, ignore=["xattrs"]) == []
        with (tmp_path / "large.txt").open(), pytest.raises(OSError, match="busy"):
            mounted.unmount()
        assert os.path.ismount(tmp_path)
    assert not os.path.ismount(tmp_path)
    mounted.unmount()


def test_types_are_right(repository: pathlib.Path) -> None:
    mypy = pytest.importorskip("mypy.api")
    output, _, status = mypy.run(["--config-file", str(repository / "python" / "pyproject.toml")])
    assert status == 0, output
