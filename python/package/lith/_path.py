"""``Path``, a file of an image by its path."""

from __future__ import annotations

import fnmatch
import os
import posixpath
import stat
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

from lith._errors import NOWHERE

if TYPE_CHECKING:
    from lith._image import Image


class Path:
    """The path to a file of an image, which may exist or not.

    It has what ``pathlib.Path`` has for reading, as ``zipfile.Path`` has it for archives, and is a ``Traversable`` of
    ``importlib.resources``.
    """

    __slots__ = ("at", "image")

    #: The image.
    image: Image
    #: The path from the root, without a slash at either end; empty for the root.
    at: str

    def __init__(self, image: Image, at: str = "") -> None:
        self.image = image
        self.at = "/".join(name for name in at.split("/") if name not in ("", "."))

    def __str__(self) -> str:
        return f"/{self.at}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.image!r}, {self.at!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Path):
            return NotImplemented
        return self.image is other.image and self.at == other.at

    def __lt__(self, other: Path) -> bool:
        if not isinstance(other, Path):
            return NotImplemented
        return self.parts < other.parts

    def __hash__(self) -> int:
        return hash((id(self.image), self.at))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.image, self.at)

    def __truediv__(self, other: str | os.PathLike[str]) -> Path:
        return self.joinpath(other)

    def joinpath(self, *others: str | os.PathLike[str]) -> Path:
        """The path below this one. An absolute one starts at the root."""
        return type(self)(self.image, posixpath.join(str(self), *(os.fspath(other) for other in others)))

    @property
    def parts(self) -> tuple[str, ...]:
        """The names."""
        return tuple(self.at.split("/")) if self.at else ()

    @property
    def name(self) -> str:
        """The last name; empty for the root."""
        return posixpath.basename(self.at)

    @property
    def suffix(self) -> str:
        """The end of the last name, from its last dot on."""
        return posixpath.splitext(self.name)[1]

    @property
    def suffixes(self) -> list[str]:
        """All ends of the last name that start with a dot."""
        return [f".{part}" for part in self.name.lstrip(".").split(".")[1:]]

    @property
    def stem(self) -> str:
        """The last name without its suffix."""
        return posixpath.splitext(self.name)[0]

    @property
    def parent(self) -> Path:
        """The directory; of the root, the root."""
        return type(self)(self.image, posixpath.dirname(self.at))

    def relative_to(self, other: Path) -> str:
        """The path from ``other`` on, which must lead to this one."""
        if self.image is not other.image or self.parts[: len(other.parts)] != other.parts:
            raise ValueError(f"{self} is not below {other}")
        return "/".join(self.parts[len(other.parts) :])

    def open(
        self,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> IO[Any]:
        """Opens the file; by default as text."""
        return self.image.open(str(self), mode, buffering, encoding, errors, newline)

    def read_bytes(self) -> bytes:
        """All bytes of the file."""
        return self.image.read(str(self))

    def read_text(self, encoding: str | None = None, errors: str | None = None) -> str:
        """All text of the file."""
        with self.open("r", encoding=encoding, errors=errors) as file:
            text: str = file.read()
            return text

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """The attributes."""
        return self.image.stat(str(self), follow_symlinks=follow_symlinks)

    def lstat(self) -> os.stat_result:
        """The attributes, of a link itself."""
        return self.stat(follow_symlinks=False)

    def xattrs(self, *, follow_symlinks: bool = True) -> dict[str, bytes]:
        """The extended attributes."""
        return self.image.xattrs(str(self), follow_symlinks=follow_symlinks)

    def readlink(self) -> str:
        """The target of the link."""
        return self.image.readlink(str(self))

    def exists(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it leads to a file of any type."""
        return self.image.exists(str(self), follow_symlinks=follow_symlinks)

    def is_dir(self) -> bool:
        """Whether it leads to a directory."""
        return stat.S_ISDIR(self._mode())

    def is_file(self) -> bool:
        """Whether it leads to a regular file."""
        return stat.S_ISREG(self._mode())

    def is_symlink(self) -> bool:
        """Whether it is a symbolic link."""
        return stat.S_ISLNK(self._mode(follow_symlinks=False))

    def _mode(self, *, follow_symlinks: bool = True) -> int:
        try:
            return self.stat(follow_symlinks=follow_symlinks).st_mode
        except OSError as error:
            if error.errno not in NOWHERE:
                raise
            return 0

    def iterdir(self) -> Iterator[Path]:
        """The files of the directory."""
        for name in self.image.listdir(str(self)):
            yield self / name

    def walk(self) -> Iterator[tuple[Path, list[str], list[str]]]:
        """As ``Image.walk``, from here."""
        for path, directories, others in self.image.walk(str(self)):
            yield type(self)(self.image, path), directories, others

    def glob(self, pattern: str) -> Iterator[Path]:
        """The files below that match: ``*``, ``?`` and ``[...]`` within a name, ``**`` for any directories."""
        names = [name for name in pattern.split("/") if name]
        if not names or pattern.startswith("/"):
            raise ValueError(f"{pattern!r} is no relative pattern")
        seen = set()
        for path in self._match(names):
            if path.at not in seen:
                seen.add(path.at)
                yield path

    def rglob(self, pattern: str) -> Iterator[Path]:
        """As ``glob``, in all directories below."""
        return self.glob(f"**/{pattern}")

    def _match(self, names: list[str]) -> Iterator[Path]:
        if not names:
            yield self
            return
        first, *rest = names
        if first == "**":
            for path, _, _ in self.walk():
                yield from path._match(rest)
        elif any(char in first for char in "*?["):
            if self.is_dir():
                for name in fnmatch.filter(self.image.listdir(str(self)), first):
                    yield from (self / name)._match(rest)
        elif (self / first).exists(follow_symlinks=False):
            yield from (self / first)._match(rest)
