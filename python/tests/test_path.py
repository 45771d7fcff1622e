"""Paths have what those of Python's own library have."""

import importlib.resources.abc
import pathlib
import pickle

import pytest

import lith


def test_the_protocol_of_resources(image: lith.Image) -> None:
    assert isinstance(image.root, importlib.resources.abc.Traversable)
    path = image.root.joinpath("docs", "a.txt")
    assert path.read_text() == "one\ntwo\n"
    assert path.read_bytes() == b"one\ntwo\n"
    with path.open() as file:
        assert list(file) == ["one\n", "two\n"]
    assert [child.name for child in (image / "docs").iterdir()] == ["a.txt", "b.md", "deep"]


def test_types(image: lith.Image) -> None:
    assert image.root.is_dir()
    assert (image / "link").is_file()
    assert (image / "link").is_symlink()
    assert (image / "link").readlink() == "docs/a.txt"
    for name in ["absent", "large.txt/below", "dangling", "loop"]:
        path = image / name
        assert not (path.exists() or path.is_file() or path.is_dir())
    assert (image / "docs/a.txt").lstat().st_size == 8


@pytest.mark.parametrize("text", ["a/b.tar.gz", "/a/./b", "", "a//b/", ".hidden", "a/b."])
def test_names_are_those_of_pathlib(image: lith.Image, text: str) -> None:
    ours, theirs = image / text, pathlib.PurePosixPath("/") / text
    assert str(ours) == str(theirs)
    for name in ["name", "suffix", "suffixes", "stem"]:
        if not text.endswith("."):
            assert getattr(ours, name) == getattr(theirs, name), name
    assert str(ours.parent) == str(theirs.parent)
    assert ("/", *ours.parts) == theirs.parts


def test_joining_comparing_and_pickling(image: lith.Image) -> None:
    path = image / "docs" / pathlib.PurePosixPath("a.txt")
    assert path == image.root.joinpath("docs/a.txt")
    assert len({path, image / "docs/a.txt"}) == 1
    assert path / "/large.txt" == image / "large.txt"
    assert path.relative_to(image / "docs") == "a.txt"
    assert sorted([image / "b", image / "a"]) == [image / "a", image / "b"]
    with pytest.raises(ValueError, match="not below"):
        path.relative_to(image / "empty")
    copy = pickle.loads(pickle.dumps(path))
    assert copy.read_bytes() == path.read_bytes()
    assert (image / "docs/../large.txt").is_file()


@pytest.mark.parametrize(
    "pattern",
    ["*", "*.txt", "docs/*", "**/*.txt", "docs/**/c.txt", "**", "d*/[ab].*", "no*", "docs/absent", "*/deep", "**/er/*"],
)
def test_patterns_find_what_pathlib_finds(image: lith.Image, tree: pathlib.Path, pattern: str) -> None:
    ours = {path.at for path in image.root.glob(pattern)}
    theirs = {str(path.relative_to(tree)) for path in tree.glob(pattern)} - {"."}
    if pattern == "**":
        theirs = {path for path in theirs if (tree / path).is_dir()}
        ours -= {""}
    if pattern.startswith("*/"):
        # Whether links to directories are entered depends on the version of Python.
        ours = {path for path in ours if not path.startswith("folder-link")}
        theirs = {path for path in theirs if not path.startswith("folder-link")}
    assert ours == theirs
    if "**" not in pattern:
        assert {path.at for path in (image / "docs").rglob("*.txt")} == {"docs/a.txt", "docs/deep/er/c.txt"}
