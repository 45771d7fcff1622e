"""Open files, with the interface of Python's own."""

import io
import os
from typing import Any

from lith._lith import File

#: Bytes that a buffered file reads at once: extents have 64 KiB and more.
BUFFER_SIZE = 128 << 10


class RawFile(io.RawIOBase):
    """A file of an image, with a position."""

    def __init__(self, file: File, name: str) -> None:
        self._file = file
        self._position = 0
        self.name = name
        self.mode = "rb"

    @property
    def size(self) -> int:
        """Bytes in the file."""
        return self._file.size

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        self._check()
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        self._check()
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self.size}.get(whence)
        if start is None:
            raise ValueError(f"whence is {whence}; expected 0, 1 or 2")
        if start + offset < 0:
            raise ValueError(f"negative position {start + offset}")
        self._position = start + offset
        return self._position

    def readinto(self, buffer: Any, /) -> int:
        self._check()
        count = self._file.readinto_at(buffer, self._position)
        self._position += count
        return count

    def readall(self) -> bytes:
        self._check()
        data = self._file.read_from(self._position)
        self._position += len(data)
        return data

    def _check(self) -> None:
        if self.closed:
            raise ValueError("I/O operation on closed file.")


class BufferedFile(io.BufferedReader):
    """A buffered file of an image."""

    raw: RawFile

    @property
    def size(self) -> int:
        """Bytes in the file."""
        return self.raw.size


def wrap(raw: RawFile, mode: str, buffering: int, text: dict[str, Any]) -> Any:
    """The file that ``open`` returns for this mode."""
    if set(mode) - set("rbt") or "r" not in mode or {"b", "t"} <= set(mode) or len(set(mode)) < len(mode):
        raise ValueError(f"the mode is {mode!r}; an image is only read: 'r', 'rt' or 'rb'")
    is_binary = "b" in mode
    if is_binary and any(value is not None for value in text.values()):
        raise ValueError("encoding, errors and newline are for text mode only")
    if buffering == 0:
        if not is_binary:
            raise ValueError("text can't be unbuffered")
        return raw
    buffered = BufferedFile(raw, BUFFER_SIZE if buffering <= 1 else buffering)
    return buffered if is_binary else io.TextIOWrapper(buffered, **text)
