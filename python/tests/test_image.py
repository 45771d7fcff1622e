"""Reading: what an image has is what its folder has, and errors are those of the operating system."""

import errno
import io
import os
import pathlib
import stat

import pytest
from conftest import LARGE

import lith


def test_a_walk_finds_what_a_walk_of_the_folder_finds(image: lith.Image, tree: pathlib.Path) -> None:
    def listed(walk, top):
        return sorted((os.path.relpath(path, top), sorted(dirs), sorted(files)) for path, dirs, files in walk)

    assert listed(image.walk(), "/") == listed(os.walk(tree), tree)
    pruned = []
    for path, directories, _ in image.walk():
        pruned.append(path)
        directories[:] = [name for name in directories if name != "deep"]
    assert pruned == ["/", "/docs", "/empty"]


def test_attributes_are_those_of_the_folder(image: lith.Image, tree: pathlib.Path) -> None:
    for path, _, files in os.walk(tree):
        for name in [".", *files]:
            real = pathlib.Path(path, name)
            ours, theirs = image.stat(real.relative_to(tree), follow_symlinks=False), real.lstat()
            for field in ["st_mode", "st_uid", "st_gid", "st_mtime_ns", "st_nlink"]:
                assert getattr(ours, field) == getattr(theirs, field), (real, field)
            if stat.S_ISREG(theirs.st_mode):
                assert ours.st_size == theirs.st_size
    moment = image.stat("docs/a.txt")
    assert moment.st_mtime == pytest.approx(1_234_567_890.123456789)
    assert moment[stat.ST_MTIME] == 1_234_567_890


def test_content_is_that_of_the_folder(image: lith.Image, tree: pathlib.Path) -> None:
    for path, _, files in os.walk(tree):
        for name in files:
            real = pathlib.Path(path, name)
            if not real.is_symlink() and real.is_file():
                assert image.read(real.relative_to(tree)) == real.read_bytes()


@pytest.mark.parametrize("offset", [0, 1, 65_535, 65_536, len(LARGE) - 1, len(LARGE), len(LARGE) + 9])
@pytest.mark.parametrize("length", [None, 0, 1, 70_000, 10**12])
def test_ranges_end_with_the_file(image: lith.Image, offset: int, length: int | None) -> None:
    expected = LARGE[offset:] if length is None else LARGE[offset : offset + length]
    assert image.read("large.txt", offset, length) == expected
    if length is not None and length <= 70_000:
        buffer = bytearray(b"x" * length)
        assert image.readinto("large.txt", buffer, offset) == len(expected)
        assert bytes(buffer) == expected + b"x" * (length - len(expected))


def test_buffers_are_filled_in_place(image: lith.Image) -> None:
    buffer = memoryview(bytearray(30))
    assert image.readinto("large.txt", buffer[10:20], 5) == 10
    assert bytes(buffer) == bytes(10) + LARGE[5:15] + bytes(10)
    with pytest.raises((BufferError, TypeError)):
        image.readinto("large.txt", b"constant")
    with pytest.raises(BufferError):
        image.readinto("large.txt", buffer[::2])


def test_many_are_read_in_order(image: lith.Image) -> None:
    ranges = [("large.txt", position, 10) for position in range(0, 5000, 7)]
    expected = [LARGE[position : position + 10] for _, position, _ in ranges]
    for threads in (1, 2, 9):
        assert image.read_many(ranges, threads=threads) == expected
    assert image.read_many([]) == []
    assert image.read_many(["docs/a.txt", pathlib.Path("nothing")]) == [b"one\ntwo\n", b""]
    mixed = image.read_many(["nothing", "absent", "docs"], errors="return")
    assert mixed[0] == b""
    assert [type(error) for error in mixed[1:]] == [FileNotFoundError, IsADirectoryError]
    with pytest.raises(FileNotFoundError):
        image.read_many(["nothing", "absent"])


def test_links_and_directories(image: lith.Image) -> None:
    assert image.read("link") == b"one\ntwo\n"
    assert image.readlink("folder-link") == "/docs"
    assert image.listdir("folder-link") == ["a.txt", "b.md", "deep"]
    assert os.fsdecode(b"not-utf8-\xff") in image.listdir()
    assert image.exists("dangling", follow_symlinks=False)
    assert not image.exists("dangling")
    kinds = {entry.name: entry for entry in image.scandir()}
    assert kinds["folder-link"].is_dir()
    assert kinds["folder-link"].is_symlink()
    assert not kinds["folder-link"].is_dir(follow_symlinks=False)
    assert kinds["link"].is_file()
    assert not kinds["dangling"].is_file()
    assert kinds["large.txt"].stat().st_size == len(LARGE)
    assert kinds["docs"].path == "/docs"
    assert kinds["docs"].inode() == image.stat("docs").st_ino


def test_extended_attributes(image: lith.Image, tree: pathlib.Path) -> None:
    real = tree / "docs" / "a.txt"
    assert image.xattrs("docs/a.txt") == {name: os.getxattr(real, name) for name in os.listxattr(real)}
    assert image.xattrs("empty") == {}


def test_errors_are_those_of_the_operating_system(image: lith.Image) -> None:
    for action, kind, number in [
        (lambda: image.read("absent"), FileNotFoundError, errno.ENOENT),
        (lambda: image.stat("docs/absent"), FileNotFoundError, errno.ENOENT),
        (lambda: image.read("docs"), IsADirectoryError, errno.EISDIR),
        (lambda: image.open("docs"), IsADirectoryError, errno.EISDIR),
        (lambda: image.read("large.txt/below"), NotADirectoryError, errno.ENOTDIR),
        (lambda: image.listdir("large.txt"), NotADirectoryError, errno.ENOTDIR),
        (lambda: image.read("loop"), OSError, errno.ELOOP),
        (lambda: image.readlink("docs"), OSError, errno.EINVAL),
        (lambda: image.read("pipe"), OSError, errno.EINVAL),
        (lambda: lith.Image("/absent/image"), FileNotFoundError, errno.ENOENT),
    ]:
        with pytest.raises(kind) as caught:
            action()
        assert caught.value.errno == number
        assert caught.value.filename is not None
    with pytest.raises(FileNotFoundError, match=r"^\[Errno 2\] No such file or directory: 'absent'$"):
        image.read("absent")


def test_what_is_no_image_or_damaged(tmp_path: pathlib.Path, repository: pathlib.Path) -> None:
    (tmp_path / "text").write_bytes(bytes(8192))
    with pytest.raises(lith.NotAnImageError):
        lith.Image(tmp_path / "text")
    damaged = lith.Image(repository / "tests" / "bad" / "data-undecodable.erofs")
    errors = []
    for path, _, files in damaged.walk():
        for name in files:
            try:
                damaged.read(os.path.join(path, name))
            except lith.CorruptImageError as error:
                errors.append(error)
    assert errors
    assert {error.errno for error in errors} == {errno.EUCLEAN}
    assert all(isinstance(error, OSError) for error in errors)


def test_every_bad_image_is_an_exception_and_no_panic(repository: pathlib.Path) -> None:
    images = sorted((repository / "tests" / "bad").glob("*.erofs"))
    assert images
    for path in images:
        try:
            with lith.Image(path) as image:
                for folder, _, files in image.walk():
                    for name in files:
                        image.read(os.path.join(folder, name), 0, 1 << 20)
                    image.xattrs(folder)
        except OSError as error:
            assert error.errno, path


def test_golden_images_are_read(repository: pathlib.Path) -> None:
    golden = repository / "tests" / "golden"
    read = 0
    for line in (golden / "images.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        name, _, devices, *_ = line.split()
        further = [golden / device for device in devices.split(",") if device != "-"]
        with lith.Image(golden / f"{name}.erofs", devices=further) as image:
            for folder, _, files in image.walk():
                for name in files:
                    entry = image.root / folder / name
                    if entry.is_file() and not entry.is_symlink():
                        assert len(entry.read_bytes()) == entry.stat().st_size
                        read += 1
    assert read > 100


def test_open_files(image: lith.Image) -> None:
    with image.open("large.txt") as file:
        assert isinstance(file, io.BufferedIOBase)
        assert file.read(5) == LARGE[:5]
        assert file.seek(-7, os.SEEK_END) == len(LARGE) - 7
        assert file.read() == LARGE[-7:]
        assert file.read() == b""
        assert file.seek(100_000) == 100_000
        assert file.readline() == LARGE[100_000:].split(b"\n")[0] + b"\n"
        assert file.name == "large.txt"
        assert file.size == len(LARGE)
        with pytest.raises(io.UnsupportedOperation):
            file.write(b"x")
    with pytest.raises(ValueError, match="closed"):
        file.read()
    with image.open("docs/b.md", "r", encoding="utf-8") as text:
        assert text.readlines() == ["größer\n"]
    with image.open("large.txt", "rb", buffering=0) as raw:
        assert raw.readall() == LARGE
        assert raw.readall() == b""
        with pytest.raises(ValueError, match="negative"):
            raw.seek(-1)
    for mode in ["w", "a", "r+", "x", "", "rbt", "rr"]:
        with pytest.raises(ValueError, match="mode"):
            image.open("large.txt", mode)


def test_a_closed_image(image_path: pathlib.Path) -> None:
    with lith.Image(image_path) as image:
        file = image.open("large.txt")
        assert not image.closed
    assert image.closed
    for action in [image.listdir, lambda: image.read("large.txt"), file.read]:
        with pytest.raises(ValueError, match="the image is closed"):
            action()


def test_other_sources(image_path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    content = image_path.read_bytes()
    with image_path.open("rb") as file:
        assert lith.Image(file).read("large.txt") == LARGE
    shifted = tmp_path / "shifted"
    shifted.write_bytes(bytes(5000) + content)
    assert lith.Image(shifted, offset=5000).read("large.txt") == LARGE
    assert lith.Image(io.BytesIO(bytes(512) + content), offset=512).read("large.txt") == LARGE

    class Device:
        size = len(content)
        requests = 0

        def read_at(self, position: int, length: int) -> bytes:
            assert position + length <= self.size
            self.requests += 1
            return content[position : position + length]

    device = Device()
    image = lith.Image(device)
    assert image.read("large.txt") == LARGE
    assert device.requests > 1
    Device.read_at = lambda self, position, length: b"short"  # type: ignore[method-assign]
    with pytest.raises(OSError, match="5 bytes were returned") as caught:
        lith.Image(device)
    assert caught.value.errno == errno.EIO


def test_several_devices(repository: pathlib.Path) -> None:
    golden = repository / "tests" / "golden"
    path, blob = golden / "15-blobdev.erofs", golden / "15-blobdev.blob"
    with lith.Image(path, devices=[blob]) as image:
        for folder, _, files in image.walk():
            for name in files:
                entry = image.root / folder / name
                assert entry.is_symlink() or not entry.is_file() or entry.read_bytes() is not None
    with lith.Image(path) as image, pytest.raises(OSError, match="past the end"):
        image.read_many([str(file) for file in image.root.rglob("*") if file.is_file()])


def test_facts(image: lith.Image) -> None:
    assert image.label == "tree"
    assert image.block_size == 4096
    assert image.uuid.int != 0
    # The packed inode has no name.
    assert image.inodes - sum(1 + len(files) for _, _, files in image.walk()) in (0, 1)


def test_extracting(image: lith.Image, tree: pathlib.Path, tmp_path: pathlib.Path) -> None:
    image.extract(tmp_path / "copy")
    assert lith.diff(tree, tmp_path / "copy") == []
