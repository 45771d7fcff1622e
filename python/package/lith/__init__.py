"""EROFS images: compressed, read-only filesystems that Linux mounts, built and read without mounting them.

>>> import lith
>>> lith.build("dataset", "dataset.erofs")          # doctest: +SKIP
>>> with lith.Image("dataset.erofs") as image:      # doctest: +SKIP
...     image.read("train/0001.png")

``Image`` reads, ``build`` makes, ``check`` examines, ``diff`` compares and ``mount`` mounts images. With fsspec installed,
``erofs`` is a protocol of it. All work is done without the interpreter's lock, and an image can be used by any number of
threads at once, and by processes that are forked.
"""

from lith._errors import CorruptImageError, Error, ImageError, NotAnImageError, UnsupportedImageError
from lith._image import Image
from lith._lith import Built, Difference, DirEntry, Finding, Report, __version__
from lith._path import Path
from lith._work import Mount, build, check, diff, mount

__all__ = [
    "Built",
    "CorruptImageError",
    "Difference",
    "DirEntry",
    "Error",
    "Finding",
    "Image",
    "ImageError",
    "Mount",
    "NotAnImageError",
    "Path",
    "Report",
    "UnsupportedImageError",
    "__version__",
    "build",
    "check",
    "diff",
    "mount",
]
