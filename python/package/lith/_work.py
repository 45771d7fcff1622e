"""Building, checking, comparing and mounting."""

import os
import weakref
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias

from lith import _lith
from lith._devices import PathLike
from lith._image import Image

#: Anything with bytes.
Bytes: TypeAlias = bytes | bytearray | memoryview
#: A path in the image, and the content of the file there; ``None`` for a directory.
File: TypeAlias = tuple[PathLike, Bytes | None]
Preset: TypeAlias = Literal["fast", "balanced", "small", "smallest"]
Aspect: TypeAlias = Literal["mode", "owner", "mtime", "links", "xattrs", "content"]


def build(
    source: PathLike | Mapping[str, Bytes | None] | Iterable[File],
    image: PathLike,
    *,
    preset: Preset = "balanced",
    kernel: str | None = None,
    compressor: str | None = None,
    rules: Mapping[str, str | None] | None = None,
    exclude: Iterable[str] = (),
    label: str = "",
    mtime: int | None = None,
    workers: int | None = None,
    memory: int | None = None,
    force: bool = False,
    verify: bool = True,
) -> _lith.Built:
    """Builds the image at ``image``: by default the one that the command ``lith build`` makes.

    ``source`` is the path of a folder, tar or image, or else files: a mapping of paths to bytes, or an iterable of
    ``(path, bytes)``. Of files, content is kept in a temporary file beside the image, not in memory; they belong to root, with
    mode 0644 and the time ``mtime``, by default 0; directories are made as needed, with ``None`` in place of bytes also
    empty ones.

    ``preset`` chooses between the time to build, the size, and the time to read. ``kernel`` is the oldest Linux, as
    ``"6.1"``, that must be able to mount the image. ``compressor`` is that of all files, as ``"zstd,9"`` or ``"none"``; ``rules``
    gives those that match a glob another one, or with ``None`` none. Files that match a glob of ``exclude`` are left out.
    ``mtime`` is the time of all files. ``memory`` is how many bytes a build may use.

    The image is read back and compared with its source (``verify``) before it gets its name; after any failure the file that
    was at its path is still there. A file that is no image is replaced with ``force`` only: ``FileExistsError``.
    Ctrl-C cancels.
    """
    choices: dict[str, Any] = {
        "preset": preset,
        "kernel": kernel,
        "compressor": compressor,
        "rules": list((rules or {}).items()),
        "exclude": list(exclude),
        "label": label,
        "mtime": mtime,
        "workers": workers,
        "memory": memory,
        "force": force,
        "verify": verify,
    }
    if isinstance(source, (str, os.PathLike)):
        return _lith.build_paths([source], image, choices)
    if choices["exclude"]:
        raise ValueError("exclude is for folders, tars and images")
    files = source.items() if isinstance(source, Mapping) else source
    return _lith.build_files(iter(files), image, choices)


def check(image: PathLike | Image, *, data: bool = True) -> _lith.Report:
    """Examines an image for defects: its structure, and with ``data`` all its data."""
    if isinstance(image, Image):
        return _lith.check(image, data=data)
    with Image(image) as opened:
        return _lith.check(opened, data=data)


def diff(a: PathLike, b: PathLike, *, ignore: Iterable[Aspect] = ()) -> list[_lith.Difference]:
    """The differences between two folders, tars or images, by path. ``ignore`` names what is not compared."""
    return _lith.diff(a, b, ignore=list(ignore))


class Mount:
    """A mounted image, served by this process until it is unmounted, or ends."""

    def __init__(self, image: Image, directory: PathLike) -> None:
        self._mount = _lith.Mount(image, directory)
        self._finalizer: Callable[[], object] = weakref.finalize(self, _end, self._mount)

    @property
    def directory(self) -> str:
        """Where it is mounted."""
        return os.fspath(self._mount.directory)

    def unmount(self, *, lazy: bool = False) -> None:
        """Unmounts it; with ``lazy`` also if it is in use, otherwise that is an ``OSError``."""
        self._mount.unmount(lazy=lazy)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.unmount()


def _end(mount: _lith.Mount) -> None:
    mount.unmount(lazy=True)


def mount(image: PathLike | Image, directory: PathLike) -> Mount:
    """Mounts an image at a directory by FUSE, also without root: ``with lith.mount("x.erofs", "/mnt"): ...``."""
    return Mount(image if isinstance(image, Image) else Image(image), directory)
