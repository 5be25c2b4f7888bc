"""Where a file is written: its folder, opened without following links, and the errors there."""

from __future__ import annotations

import errno
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from partage.errors import InputError

Name = str | os.PathLike[str]

_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC

READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Flags to read a file: of a link or a pipe, nothing."""

LINK = "is a symbolic link: name what it points to"


_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def is_url(path: Name) -> bool:
    """Whether this is a URL, not a path."""
    return _URL.match(os.fspath(path)) is not None


def is_store(path: Name) -> bool:
    """Whether this is a place in a store, such as ``s3a://…``."""
    return is_url(path) and not os.fspath(path).lower().startswith("file:")


def temporary_name() -> str:
    """A name that nothing else has, hidden, and recognisable after a crash."""
    return f".partage-{secrets.token_hex(8)}"


@contextmanager
def reported(name: str) -> Iterator[None]:
    """Turn the system's errors into one clear line about the output ``name``."""
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: NUL in a path, half of a surrogate pair
        raise InputError(name, f"cannot be written ({reason(error)})") from None


_OF_THE_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}


def is_of_the_disk(error: OSError) -> bool:
    """Whether a disk is full or cannot be written, not a connection that fails."""
    return error.errno in _OF_THE_DISK


def reason(error: Exception) -> str:
    """Why, in the system's words."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


@contextmanager
def opened_folder(folder: Path, root: Path | None) -> Iterator[int]:
    """A descriptor of a folder, for the ``dir_fd`` of system calls.

    ``root``: a directory of partage's that the folder is, or is in; it and all below it must not be
    links. Raises OSError, InputError for a link.
    """
    with ExitStack() as opened:

        def open_(path: Path, name: Name, flags: int = 0, at: int | None = None) -> int:
            if flags and path.is_symlink():
                raise InputError(os.fspath(path), LINK)
            found = os.open(name, _FOLDER | flags, dir_fd=at)
            opened.callback(os.close, found)
            return found

        if root is None:
            yield open_(folder, folder)
            return
        at = open_(root, root, os.O_NOFOLLOW)
        for part in folder.relative_to(root).parts:
            root = root / part
            at = open_(root, part, os.O_NOFOLLOW, at)
        yield at


def stat_of(folder: int, file: str) -> os.stat_result | None:
    """What is there; None if nothing is."""
    try:
        return os.stat(file, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
