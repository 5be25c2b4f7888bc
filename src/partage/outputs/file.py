"""Write, append to and remove single files."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from partage.errors import InputError
from partage.outputs.checksum import verdict_on
from partage.outputs.durable import flush, flush_folder
from partage.outputs.place import LINK, READ, Name, opened_folder, reported, stat_of, temporary_name

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_APPEND = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

_ADVICE = "choose another file, or move it away"


def refuse_changed(path: Name) -> None:
    """Raise InputError for a file of partage's that is not as partage wrote it."""
    with reported(os.fspath(path)):
        file = os.open(path, READ)
        try:
            verdict = verdict_on(file)
        finally:
            os.close(file)
    if verdict != "ours":
        raise InputError(
            os.fspath(path), "was changed since partage wrote it: restore it from a copy"
        )


def check_file(path: Name, option: str) -> None:
    """Raise InputError early, before long work, if ``write_file`` would. ``option``: the parameter
    that has the path."""
    name, place = os.fspath(path), Path(path)
    if not name:
        raise InputError(option, "the name of the file is empty")
    with reported(name):
        if not place.parent.is_dir():
            raise InputError(name, "cannot be written (no such directory)")
        with opened_folder(place.parent, None) as folder:
            _mode(folder, place.name, name)
            if not os.access(".", os.W_OK, dir_fd=folder):
                raise InputError(name, "cannot be written (its directory is not writable)")


def write_file(
    path: Name,
    content: str | bytes,
    *,
    private: bool = False,
    new: bool = False,
    root: Name | None = None,
    recognised: bool = False,
) -> None:
    """Write one file completely or not at all.

    It replaces only an empty file or one with a valid checksum. ``new``: it replaces none;
    ``recognised``: the caller has read the file and knows that it is partage's. ``private``:
    readable by the owner only; ``root``: the directory of partage's that the file is in. Raises
    InputError.
    """
    place, name = Path(path), os.fspath(path)
    with reported(name):
        data = content.encode() if isinstance(content, str) else content
        with opened_folder(place.parent, None if root is None else Path(root)) as folder:
            mode = _mode(folder, place.name, name, new=new, recognised=recognised)
            temporary = temporary_name()
            handle = os.open(temporary, _CREATE, 0o600 if private else 0o666, dir_fd=folder)
            try:
                with os.fdopen(handle, "wb") as out:
                    out.write(data)
                    if mode is not None:
                        os.fchmod(out.fileno(), mode)
                    out.flush()
                    flush(out.fileno())
                if mode is None:
                    _place_new(folder, temporary, place.name)
                else:
                    os.replace(temporary, place.name, src_dir_fd=folder, dst_dir_fd=folder)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(temporary, dir_fd=folder)
            flush_folder(folder)


def move_file(source: Name, path: Name, *, root: Name) -> None:
    """Give a file of partage's, which another program has written below ``root``, its place there,
    in place of an earlier one. Raises InputError."""
    place, name = Path(path), os.fspath(path)
    with reported(name), opened_folder(place.parent, Path(root)) as folder:
        mode = _mode(folder, place.name, name, recognised=True)
        with opened_folder(Path(source).parent, Path(root)) as here:
            handle = os.open(Path(source).name, READ, dir_fd=here)
            try:
                if mode is not None:
                    os.fchmod(handle, mode)
                flush(handle)
            finally:
                os.close(handle)
            os.replace(Path(source).name, place.name, src_dir_fd=here, dst_dir_fd=folder)
        flush_folder(folder)


def _place_new(folder: int, temporary: str, file: str) -> None:
    """Rename, unless something has appeared there in the meantime."""
    try:
        os.link(temporary, file, src_dir_fd=folder, dst_dir_fd=folder)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if stat_of(folder, file) is not None:
            raise FileExistsError(0, "it has just been created") from None
        os.rename(temporary, file, src_dir_fd=folder, dst_dir_fd=folder)


def open_to_append(path: Name, *, root: Name) -> BinaryIO:
    """A file of a directory of partage's, to read and to append to; created if there is none.

    Raises InputError for a link, and for a file that has another name too (a hard link): appending
    would change that as well.
    """
    place, name = Path(path), os.fspath(path)
    with reported(name), opened_folder(place.parent, Path(root)) as folder:
        if place.is_symlink():
            raise InputError(name, LINK)
        file = os.open(place.name, _APPEND, 0o666, dir_fd=folder)
        try:
            found = os.fstat(file)
            if not stat.S_ISREG(found.st_mode):
                raise InputError(name, "is not a regular file")
            if found.st_nlink > 1:
                raise InputError(name, "has another name (a hard link): replace it by a copy")
            flush_folder(folder)
            return os.fdopen(file, "a+b")
        except BaseException:
            os.close(file)
            raise


def keep_previous(path: Name, *, root: Name) -> None:
    """Rename a file of a directory of partage's, if there is one, to its name with ``.1``, which
    replaces the one before. Raises InputError."""
    place, name = Path(path), os.fspath(path)
    with reported(name), opened_folder(place.parent, Path(root)) as folder:
        older = f"{place.name}.1"
        _mode(folder, older, f"{name}.1", recognised=True)
        if _mode(folder, place.name, name, recognised=True) is not None:
            os.replace(place.name, older, src_dir_fd=folder, dst_dir_fd=folder)


def remove_file(path: Name, *, root: Name, recognised: bool = False) -> None:
    """Remove a file of a directory of partage's, if there is one; arguments and errors as of
    ``write_file``."""
    place, name = Path(path), os.fspath(path)
    with reported(name), opened_folder(place.parent, Path(root)) as folder:
        if _mode(folder, place.name, name, recognised=recognised) is not None:
            os.unlink(place.name, dir_fd=folder)


def _mode(
    folder: int, file: str, name: str, *, new: bool = False, recognised: bool = False
) -> int | None:
    """The mode of the file that may be replaced; None if there is none. Raises InputError."""
    found = stat_of(folder, file)
    if found is None:
        return None
    if stat.S_ISLNK(found.st_mode):
        raise InputError(name, LINK)
    if stat.S_ISDIR(found.st_mode):
        raise InputError(name, "is a directory, expected a file")
    if not stat.S_ISREG(found.st_mode):
        raise InputError(name, "is not a regular file")
    if new:
        raise InputError(name, "exists already")
    if found.st_size and not recognised:
        opened = os.open(file, READ, dir_fd=folder)
        try:
            verdict = verdict_on(opened)
        finally:
            os.close(opened)
        if verdict == "changed":
            raise InputError(name, f"was changed since partage wrote it: {_ADVICE}")
        if verdict == "foreign":
            raise InputError(name, f"exists, and partage did not write it: {_ADVICE}")
    return stat.S_IMODE(found.st_mode)
