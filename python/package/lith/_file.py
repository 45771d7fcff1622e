"""Open files, with the interface of Python's own."""

import io
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lith._image import Image

#: Bytes that a buffered file reads at once: extents have 64 KiB and more.
BUFFER_SIZE = 128 << 10


class RawFile(io.RawIOBase):
    """A file of an image, with a position. Pickled, it is its image, its path and the position."""

    def __init__(self, image: "Image", name: str, position: int = 0) -> None:
        self._image = image
        self._file = image._file(name)
        self._position = position
        self.name = name
        self.mode = "rb"

    def __reduce__(self) -> tuple[Any, ...]:
        return RawFile, (self._image, self.name, self.tell())

    def __reduce_ex__(self, protocol: Any, /) -> tuple[Any, ...]:
        return self.__reduce__()

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
    """A buffered file of an image. Pickled, it is as :class:`RawFile` is."""

    raw: RawFile

    def __init__(self, raw: RawFile, buffer_size: int) -> None:
        super().__init__(raw, buffer_size)
        self._buffer_size = buffer_size

    def __reduce__(self) -> tuple[Any, ...]:
        return _buffered, (self.raw._image, self.raw.name, self.tell(), self._buffer_size)

    def __reduce_ex__(self, protocol: Any, /) -> tuple[Any, ...]:
        # The base class refuses: a buffer can't be pickled, but a file that is only read needs none.
        return self.__reduce__()

    @property
    def size(self) -> int:
        """Bytes in the file."""
        return self.raw.size


def _buffered(image: "Image", name: str, position: int, buffer_size: int) -> BufferedFile:
    return BufferedFile(RawFile(image, name, position), buffer_size)


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
