"""Images as a filesystem of fsspec: the protocol ``erofs``."""

import errno
import io
import os
import posixpath
import stat
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import fsspec
from fsspec.core import OpenFile
from fsspec.implementations.cached import CachingFileSystem
from fsspec.implementations.local import LocalFileSystem
from fsspec.spec import AbstractFileSystem
from fsspec.utils import tokenize

from lith._devices import Source
from lith._errors import NOWHERE
from lith._image import Image


class ErofsFileSystem(AbstractFileSystem):  # type: ignore[misc]
    """The files of an EROFS image, which are only read.

    ``fo`` is the image: a path, a URL of any filesystem of fsspec, an ``OpenFile``, or an open binary file. Parts of a URL's
    object are read as they are needed. ``target_protocol`` and ``target_options`` are for that filesystem, as fsspec
    passes them for ``erofs://folder/file::s3://bucket/image.erofs``. ``offset`` is where the image starts in it.

    Nothing but what the image's reader keeps is cached: neither listings nor blocks of files.
    """

    protocol = "erofs"
    root_marker = ""
    cachable = False

    def __init__(
        self,
        fo: Source | OpenFile = "",
        *,
        target_protocol: str | None = None,
        target_options: dict[str, Any] | None = None,
        offset: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if isinstance(fo, (str, os.PathLike)):
            fo = fsspec.open(os.fspath(fo), protocol=target_protocol, **(target_options or {}))
        self.fo = fo
        self.image = Image(_source_of(fo), offset=offset)

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(item) for item in path]
        return str(super()._strip_protocol(path)).strip("/")

    def close(self) -> None:
        """Closes the image."""
        self.image.close()

    def info(self, path: str, **kwargs: Any) -> dict[str, Any]:
        """The attributes of a file: ``name``, ``size``, ``type``, ``mode``, ``uid``, ``gid``, ``mtime``, ``ino``, ``nlink``, and of
        a link ``islink`` and ``destination``. As in a local filesystem, the type and size are those of what a link leads to.
        """
        path = self._strip_protocol(path)
        attributes = self.image.stat(path, follow_symlinks=False)
        return self._info(path, attributes)

    def _info(self, path: str, attributes: os.stat_result) -> dict[str, Any]:
        link: dict[str, Any] = {"islink": stat.S_ISLNK(attributes.st_mode)}
        if link["islink"]:
            link["destination"] = self.image.readlink(path)
            try:
                attributes = self.image.stat(path)
            except OSError as error:
                if error.errno not in NOWHERE:
                    raise
        return {
            "name": path,
            "size": attributes.st_size if stat.S_ISREG(attributes.st_mode) else 0,
            "type": _kind(attributes.st_mode),
            "mode": attributes.st_mode,
            "uid": attributes.st_uid,
            "gid": attributes.st_gid,
            "mtime": attributes.st_mtime,
            "ino": attributes.st_ino,
            "nlink": attributes.st_nlink,
            **link,
        }

    def ls(self, path: str, detail: bool = True, **kwargs: Any) -> list[Any]:
        """The files of a directory, or the one file."""
        path = self._strip_protocol(path)
        try:
            entries = self.image.scandir(path)
        except NotADirectoryError:
            found = self.info(path)
            return [found if detail else found["name"]]
        names = [posixpath.join(path, entry.name) for entry in entries]
        if not detail:
            return names
        return [self._info(name, entry.stat(follow_symlinks=False)) for name, entry in zip(names, entries, strict=True)]

    def walk(
        self,
        path: str,
        maxdepth: int | None = None,
        topdown: bool = True,
        on_error: str | Callable[[OSError], object] = "omit",
        **kwargs: Any,
    ) -> Iterator[tuple[str, Any, Any]]:
        """For each directory: its path, its directories and its other files. Links to directories are not entered."""
        if maxdepth is not None and maxdepth < 1:
            raise ValueError("maxdepth must be at least 1")
        path = self._strip_protocol(path)
        try:
            listed = self.ls(path)
        except OSError as error:
            if callable(on_error):
                on_error(error)
            elif on_error == "raise":
                raise
            return
        directories: dict[str, Any] = {}
        others: dict[str, Any] = {}
        for info in listed:
            # fsspec's name for a file that is listed itself is empty.
            name = info["name"][len(path) :].strip("/")
            (directories if info["type"] == "directory" else others)[name] = info
        detail = kwargs.get("detail", False)
        result = (path, directories, others) if detail else (path, list(directories), list(others))
        if topdown:
            yield result
        if maxdepth != 1:
            below = None if maxdepth is None else maxdepth - 1
            for name in list(result[1]):
                if not directories[name]["islink"]:
                    yield from self.walk(directories[name]["name"], below, topdown, on_error, **kwargs)
        if not topdown:
            yield result

    def exists(self, path: str, **kwargs: Any) -> bool:
        """Whether a path leads to a file."""
        return self.image.exists(self._strip_protocol(path), follow_symlinks=False)

    def modified(self, path: str) -> datetime:
        """The time of the last modification."""
        return datetime.fromtimestamp(self.info(path)["mtime"], UTC)

    created = modified

    def ukey(self, path: str) -> str:
        """A name for the content of a file: that of the image's with the inode's number."""
        token: str = tokenize(self.image.uuid, self.info(path)["ino"])
        return token

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **kwargs: Any) -> bytes:
        """The bytes of a file, or of a range of it; negative positions are counted from its end."""
        path = self._strip_protocol(path)
        return self.image.read(path, *self._range(path, start, end))

    def cat_ranges(
        self,
        paths: list[str],
        starts: int | list[int | None] | None,
        ends: int | list[int | None] | None,
        max_gap: int | None = None,
        on_error: str = "return",
        **kwargs: Any,
    ) -> list[bytes | Exception]:
        """The bytes of many ranges, read by several threads."""
        count = len(paths)
        all_starts = starts if isinstance(starts, list) else [starts] * count
        all_ends = ends if isinstance(ends, list) else [ends] * count
        if not len(all_starts) == len(all_ends) == count:
            raise ValueError("paths, starts and ends must have the same length")
        ranges: list[tuple[str, int, int | None]] = []
        failed: dict[int, Exception] = {}
        for index, path in enumerate(map(self._strip_protocol, paths)):
            try:
                ranges.append((path, *self._range(path, all_starts[index], all_ends[index])))
            except OSError as error:
                failed[index] = error
                ranges.append((path, 0, 0))
        results = self.image.read_many(ranges, errors="return")
        results = [failed.get(index, result) for index, result in enumerate(results)]
        if on_error != "return":
            for result in results:
                if isinstance(result, Exception):
                    raise result
        return results

    def _range(self, path: str, start: int | None, end: int | None) -> tuple[int, int | None]:
        """A range as an offset and a length."""
        start = start or 0
        if start < 0 or (end is not None and end < 0):
            size = self.image.stat(path).st_size
            start = max(0, size + start) if start < 0 else start
            end = size + end if end is not None and end < 0 else end
        return start, None if end is None else max(0, end - start)

    def _open(self, path: str, mode: str = "rb", **kwargs: Any) -> Any:
        if mode != "rb":
            raise _read_only(path)
        return self.image.open(self._strip_protocol(path))

    def open(self, path: str, mode: str = "rb", *args: Any, **kwargs: Any) -> Any:
        """Opens a file for reading."""
        if set(mode) & set("wax+"):
            raise _read_only(path)
        return super().open(path, mode, *args, **kwargs)

    def _refuse(self, path: Any = "", *args: Any, **kwargs: Any) -> None:
        """Raises the error of a filesystem that is only read."""
        raise _read_only(path)

    mkdir = makedirs = rmdir = rm = rm_file = _rm = cp_file = mv = pipe_file = put_file = touch = _refuse


def _source_of(fo: Any) -> Source:
    """What the image is read from: a path if there is one, otherwise ranges of a file."""
    if not isinstance(fo, OpenFile):
        source: Source = fo
        return source
    if isinstance(fo.fs, LocalFileSystem):
        return str(fo.path)
    if isinstance(fo.fs, CachingFileSystem):
        cached: Any = fo.fs.open(fo.path, "rb")
        if not isinstance(cached, io.BufferedReader):
            return cached  # type: ignore[no-any-return]
        # A copy of the whole file.
        cached.close()
        return str(cached.name)
    return Ranges(fo.fs, fo.path)


class Ranges:
    """A file of another filesystem as a device: each read is a request for a range."""

    def __init__(self, fs: AbstractFileSystem, path: str) -> None:
        self.fs = fs
        self.path = path
        self.size = int(fs.size(path))

    def __str__(self) -> str:
        return str(self.fs.unstrip_protocol(self.path))

    def read_at(self, position: int, length: int) -> bytes:
        """The bytes of a range."""
        return bytes(self.fs.cat_file(self.path, start=position, end=position + length))


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "directory"
    if stat.S_ISREG(mode):
        return "file"
    return "link" if stat.S_ISLNK(mode) else "other"


def _read_only(path: str | Iterable[str]) -> OSError:
    return OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
