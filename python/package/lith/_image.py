"""``Image``, what the extension module has with the parts of Python's own library."""

import errno
import os
import posixpath
import uuid
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import IO, Any, BinaryIO, Literal, Self, TextIO, TypeAlias, overload

from lith import _lith
from lith._devices import PathLike, Source, source_of
from lith._errors import NOWHERE, CorruptImageError
from lith._file import RawFile, wrap
from lith._path import Path

#: A range of a file: a path for all of it, or ``(path, offset, length)``; without a length to the end.
Range: TypeAlias = PathLike | tuple[PathLike, int, int | None]


class Image(_lith.Image):
    """An open image.

    ``source`` is a path, an address (``https://``, ``s3://``, ``gs://``, ``az://`` or ``oci://``), an open binary file, or an object
    with ``size`` and ``read_at(position, length)``. The image starts
    at byte ``offset`` of it. ``devices`` are the further files of an image on several devices, and ``folders`` is where
    they are looked for by name, beside the folder of the image. What is fetched from an address is kept in the folder
    ``cache``, of which other processes read it too; without that, in a temporary file of this process.

    Paths start at the root of the image, with or without a slash, and symbolic links are followed inside the image. All
    methods can be called by any number of threads. A forked process uses the image on, with caches of its own; to another
    process it is pickled by what it was opened with.

    Errors are ``OSError`` with the number that Linux has for them, as ``FileNotFoundError``; damaged images raise
    ``CorruptImageError``.
    """

    _arguments: tuple[Source, int, tuple[PathLike, ...], tuple[PathLike, ...], PathLike | None]

    def __new__(
        cls,
        source: Source,
        *,
        offset: int = 0,
        devices: Iterable[PathLike] = (),
        folders: Iterable[PathLike] = (),
        cache: PathLike | None = None,
    ) -> Self:
        devices, folders = tuple(devices), tuple(folders)
        image = super().__new__(
            cls, source_of(source), offset=offset, devices=list(devices), folders=list(folders), cache=cache
        )
        image._arguments = (source, offset, devices, folders, cache)
        return image

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (type(self), *self._arguments)

    def __repr__(self) -> str:
        source = self._arguments[0]
        # There may be a password in an address.
        return f"<{type(self).__name__} {self.name if isinstance(source, str) else source!r}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def uuid(self) -> uuid.UUID:
        """The UUID."""
        return uuid.UUID(bytes=self.uuid_bytes)

    @property
    def root(self) -> Path:
        """The root directory, as a path."""
        return Path(self)

    def __truediv__(self, path: str) -> Path:
        """The path to a file: ``image / "folder" / "file"``."""
        return Path(self, path)

    @overload
    def open(self, path: PathLike, mode: Literal["rb", "br"] = "rb", buffering: int = -1) -> BinaryIO: ...
    @overload
    def open(
        self,
        path: PathLike,
        mode: Literal["r", "rt", "tr"],
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> TextIO: ...
    @overload
    def open(
        self,
        path: PathLike,
        mode: str,
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> IO[Any]: ...
    def open(
        self,
        path: PathLike,
        mode: str = "rb",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> Any:
        """Opens a file, as ``open`` does; by default its bytes."""
        raw = RawFile(self, os.fspath(path))
        return wrap(raw, mode, buffering, {"encoding": encoding, "errors": errors, "newline": newline})

    def exists(self, path: PathLike, *, follow_symlinks: bool = True) -> bool:
        """Whether a path leads to a file of any type."""
        try:
            self.stat(path, follow_symlinks=follow_symlinks)
        except OSError as error:
            if error.errno not in NOWHERE:
                raise
            return False
        return True

    def walk(self, top: PathLike = "/", *, follow_symlinks: bool = False) -> Iterator[tuple[str, list[str], list[str]]]:
        """For each directory: its path, the names of its directories and those of its other files, as ``os.walk``.

        The list of directories may be changed, to leave some out. Links to directories are entered with
        ``follow_symlinks``, but no directory a second time. Where no links are followed, only a corrupt image has one that
        is reached twice.
        """
        left = [os.fspath(top)]
        entered = set()
        while left:
            path = left.pop()
            inode = self.stat(path).st_ino
            if inode in entered:
                if follow_symlinks:
                    continue
                raise CorruptImageError(errno.EUCLEAN, "The directory is reached a second time", path)
            entered.add(inode)
            directories: list[str] = []
            others: list[str] = []
            for entry in self.scandir(path):
                is_directory = entry.is_dir(follow_symlinks=follow_symlinks)
                (directories if is_directory else others).append(entry.name)
            yield path, directories, others
            left.extend(posixpath.join(path, name) for name in reversed(directories))

    @overload
    def read_many(self, ranges: Iterable[Range], *, threads: int | None = None) -> list[bytes]: ...
    @overload
    def read_many(
        self, ranges: Iterable[Range], *, threads: int | None = None, errors: Literal["return"]
    ) -> list[bytes | Exception]: ...
    def read_many(
        self, ranges: Iterable[Range], *, threads: int | None = None, errors: str = "raise"
    ) -> Sequence[bytes | Exception]:
        """Reads many files, or ranges ``(path, offset, length)`` of them, by several threads; in the order of ``ranges``.

        What can't be read is raised, or with ``errors="return"`` returned in its place.
        """
        whole = [item if isinstance(item, tuple) else (item, 0, None) for item in ranges]
        results = self._read_many(whole, threads or os.cpu_count() or 1)
        if errors == "raise":
            for result in results:
                if isinstance(result, Exception):
                    raise result
        return results


def _reopen(
    kind: type[Image],
    source: Source,
    offset: int,
    devices: tuple[PathLike, ...],
    folders: tuple[PathLike, ...],
    cache: PathLike | None,
) -> Image:
    return kind(source, offset=offset, devices=devices, folders=folders, cache=cache)
