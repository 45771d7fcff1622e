"""A tree with files of all kinds, and an image of it."""

import os
import pathlib

import pytest

import lith

#: More than one extent, and not the same everywhere.
LARGE = b"".join(b"line %d of a text that compresses\n" % number for number in range(20_000))


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder."""
    folder = tmp_path_factory.mktemp("tree")
    (folder / "docs" / "deep" / "er").mkdir(parents=True)
    (folder / "empty").mkdir()
    (folder / "large.txt").write_bytes(LARGE)
    (folder / "random").write_bytes(os.urandom(200_000))
    (folder / "nothing").write_bytes(b"")
    (folder / "docs" / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    (folder / "docs" / "b.md").write_text("größer\n", encoding="utf-8")
    (folder / "docs" / "deep" / "er" / "c.txt").write_text("c", encoding="utf-8")
    (folder / os.fsdecode(b"not-utf8-\xff")).write_bytes(b"bytes")
    (folder / "link").symlink_to("docs/a.txt")
    (folder / "folder-link").symlink_to("/docs")
    (folder / "dangling").symlink_to("nowhere")
    (folder / "loop").symlink_to("loop")
    os.mkfifo(folder / "pipe")
    with_xattr(folder / "docs" / "a.txt")
    os.utime(folder / "docs" / "a.txt", ns=(0, 1_234_567_890_123_456_789))
    return folder


def with_xattr(path: pathlib.Path) -> None:
    """Sets an attribute, where the filesystem has some."""
    try:
        os.setxattr(path, "user.note", b"a note")
    except OSError as error:
        print(f"SKIP xattrs: {error}")


@pytest.fixture(scope="session")
def image_path(tree: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The path of an image of the folder."""
    path = tmp_path_factory.mktemp("image") / "tree.erofs"
    lith.build(tree, path, label="tree")
    return path


@pytest.fixture
def image(image_path: pathlib.Path) -> lith.Image:
    """The image, open."""
    return lith.Image(image_path)


@pytest.fixture(scope="session")
def repository() -> pathlib.Path:
    """The folder with all sources."""
    return pathlib.Path(__file__).parents[2]
