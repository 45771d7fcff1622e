"""What an image can be read from: paths, and objects that have bytes at positions."""

import os
import threading
from typing import Any, Protocol, TypeAlias, runtime_checkable


@runtime_checkable
class Device(Protocol):
    """Bytes at positions, such as those of a remote object. May be called by several threads at once."""

    @property
    def size(self) -> int:
        """How many bytes there are."""
        ...

    def read_at(self, position: int, length: int) -> bytes:
        """The ``length`` bytes from ``position`` on, all of which are within ``size``."""
        ...


class SeekableFile(Protocol):
    """A binary file that can be read and positioned."""

    def seek(self, offset: int, whence: int = 0, /) -> int: ...
    def read(self, size: int, /) -> bytes: ...


PathLike: TypeAlias = str | os.PathLike[str]
Source: TypeAlias = PathLike | Device | SeekableFile


class FileDevice:
    """A file object as a device: one read at a time."""

    def __init__(self, file: SeekableFile) -> None:
        self._file = file
        self._lock = threading.Lock()
        self.size = file.seek(0, os.SEEK_END)

    def __str__(self) -> str:
        return str(getattr(self._file, "name", self._file))

    def read_at(self, position: int, length: int) -> bytes:
        with self._lock:
            self._file.seek(position)
            parts = []
            while length > 0 and (part := self._file.read(length)):
                parts.append(part)
                length -= len(part)
            return b"".join(parts)


def source_of(source: Source) -> PathLike | Device:
    """What the reader takes: a path, also of what an open file of the system holds, or a device."""
    if isinstance(source, (str, os.PathLike, Device)):
        return source
    descriptor = _descriptor(source)
    return FileDevice(source) if descriptor is None else f"/proc/self/fd/{descriptor}"


def _descriptor(file: Any) -> int | None:
    """The descriptor of a file of the system, which reads without the interpreter; ``None``: it is none."""
    try:
        descriptor: int = file.fileno()
    except (AttributeError, OSError):
        return None
    return descriptor
