"""What the extension module has. Used by way of the package."""

import os
from collections.abc import Iterator
from typing import Any, Self, TypeAlias, final

from typing_extensions import Buffer

_Path: TypeAlias = str | os.PathLike[str]

__version__: str

class Image:
    def __new__(
        cls,
        source: object,
        *,
        offset: int = 0,
        devices: list[_Path] = ...,
        folders: list[_Path] = ...,
        cache: _Path | None = None,
    ) -> Self: ...
    def close(self) -> None:
        """Forgets the image and its caches. What is used of it afterwards raises ``ValueError``."""
    @property
    def name(self) -> str:
        """Its path or address, the latter without what may be secret; or the text of what it is read from."""
    @property
    def closed(self) -> bool:
        """Whether it was closed."""
    @property
    def label(self) -> str:
        """The volume name."""
    @property
    def uuid_bytes(self) -> bytes:
        """The 16 bytes of the UUID."""
    @property
    def block_size(self) -> int:
        """Bytes of a block."""
    @property
    def inodes(self) -> int:
        """The number of inodes that the superblock tells."""
    def read(self, path: _Path, offset: int = 0, length: int | None = None) -> bytes:
        """Reads ``length`` bytes from ``offset`` on, or fewer at the end of the file; without ``length`` all of them."""
    def readinto(self, path: _Path, buffer: Buffer, offset: int = 0) -> int:
        """Fills a buffer with the bytes from ``offset`` on. Returns how many there were before the end of the file."""
    def listdir(self, path: _Path = "/") -> list[str]:
        """The names in a directory, in the order of their bytes."""
    def scandir(self, path: _Path = "/") -> list[DirEntry]:
        """The entries of a directory, in the order of their names' bytes."""
    def stat(self, path: _Path, *, follow_symlinks: bool = True) -> os.stat_result:
        """The attributes of a file, as ``os.stat`` returns them."""
    def readlink(self, path: _Path) -> str:
        """The target of a symbolic link."""
    def xattrs(self, path: _Path, *, follow_symlinks: bool = True) -> dict[str, bytes]:
        """The extended attributes of a file."""
    def extract(self, directory: _Path) -> None:
        """Extracts all files into a directory, which is created if it doesn't exist and must be empty."""
    def _file(self, path: _Path) -> File: ...
    def _read_many(self, ranges: list[tuple[_Path, int, int | None]], threads: int) -> list[bytes | Exception]: ...

@final
class DirEntry:
    """A name in a directory, as ``os.scandir`` returns them."""

    @property
    def name(self) -> str:
        """The name."""
    @property
    def path(self) -> str:
        """The path: that of the directory with the name."""
    def inode(self) -> int:
        """The number of the inode: its NID."""
    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a directory, or a link to one."""
    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a regular file, or a link to one."""
    def is_symlink(self) -> bool:
        """Whether it is a symbolic link."""
    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """The attributes."""

@final
class File:
    @property
    def size(self) -> int: ...
    def readinto_at(self, buffer: Buffer, position: int) -> int: ...
    def read_from(self, position: int) -> bytes: ...

@final
class Built:
    """What was built."""

    @property
    def image_bytes(self) -> int:
        """Bytes of the image."""
    @property
    def content_bytes(self) -> int:
        """Bytes of all files' content, each hard-linked file once."""
    @property
    def inodes(self) -> int:
        """Inodes of every kind."""
    @property
    def files(self) -> int:
        """Regular files."""
    @property
    def unmatched(self) -> list[str]:
        """Patterns that matched no file."""

@final
class Finding:
    """A rule that is broken somewhere. As text it is one line."""

    @property
    def rule(self) -> str:
        """The stable id of the rule, as ``data-undecodable``."""
    @property
    def severity(self) -> str:
        """``error``, ``unsupported`` or ``warning``."""
    @property
    def path(self) -> str | None:
        """The path by which the inode was met first, if an inode is concerned."""
    @property
    def nid(self) -> int | None:
        """The inode, if one is concerned."""
    @property
    def detail(self) -> str:
        """What was found, and what was expected."""

@final
class Report:
    """The findings about an image."""

    @property
    def findings(self) -> list[Finding]:
        """The findings in the order of the examination; only the first thousand."""
    @property
    def truncated(self) -> bool:
        """Whether there were more findings than were kept."""
    @property
    def sound(self) -> bool:
        """Whether there are no findings, or only warnings."""
    @property
    def inodes(self) -> int:
        """Inodes that were examined."""
    @property
    def decoded_bytes(self) -> int:
        """Bytes that were read or decoded."""

@final
class Difference:
    """A difference between two trees. As text it is one line."""

    @property
    def path(self) -> str:
        """The path from the root, with a leading slash."""
    @property
    def what(self) -> str:
        """``presence``, ``type``, ``mode``, ``uid``, ``gid``, ``mtime``, ``nlink``, ``links``, ``rdev``, ``target``, ``size``,
        ``content`` or ``xattr``."""

@final
class Mount:
    def __new__(cls, image: Image, directory: _Path) -> Self: ...
    @property
    def directory(self) -> str | os.PathLike[str]: ...
    def unmount(self, *, lazy: bool = False) -> None: ...

def build_paths(paths: list[_Path], image: _Path, choices: dict[str, Any]) -> Built: ...
def build_files(files: Iterator[Any], image: _Path, choices: dict[str, Any]) -> Built: ...
def check(image: Image, *, data: bool = True) -> Report: ...
def diff(a: _Path, b: _Path, *, ignore: list[Any] = ...) -> list[Difference]: ...
