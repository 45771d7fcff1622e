"""The exceptions that no class of Python's own stands for."""

import errno

#: The numbers of the errors that say that a path leads to no file.
NOWHERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


class Error(Exception):
    """Something can't be done. What has an error number is an ``OSError`` instead, or both."""


class ImageError(Error, OSError):
    """An image can't be read. Its ``errno`` is the one that Linux has for the same image when it is mounted."""


class NotAnImageError(ImageError):
    """The file holds no EROFS image."""


class CorruptImageError(ImageError):
    """The image, or the file concerned, is damaged. Other files may be sound."""


class UnsupportedImageError(ImageError):
    """The image, or the file concerned, uses a feature that this version can't read."""
