"""Wait until the disk has what was written, so that a power cut cannot take it back.

A rename may reach the disk before the content of the file does, and after a power cut the name then
stands for an empty file. So the content comes first, then the name: the folder that has it.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

_CANNOT = {errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EBADF}
"""Of a folder: a file system that has nothing to wait for, or a folder that cannot be read."""


def flush(file: int) -> None:
    """Wait for the content of an open file."""
    os.fsync(file)


def flush_folder(folder: Path | int) -> None:
    """Wait for the names in a folder, given as a path or as a descriptor for ``dir_fd``."""
    path, at = (".", folder) if isinstance(folder, int) else (folder, None)
    try:
        opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=at)
    except PermissionError:
        return
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
    finally:
        os.close(opened)
