"""Folders that partage does not write at once but keeps: a sandbox's, a watch's."""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from pathlib import Path

from partage.errors import InputError
from partage.outputs.place import LINK, Name, opened_folder, reported, stat_of


def refuse_link(path: Name) -> None:
    """Raise InputError if the path is a symbolic link, whatever it points to."""
    if Path(path).is_symlink():
        raise InputError(os.fspath(path), LINK)


def make_folder(path: Name, *, root: Name | None = None, private: bool = False) -> None:
    """Create a folder, unless it exists. ``private``: for the owner only; ``root``: the directory
    of partage's that it is in. Raises InputError."""
    place, name = Path(path), os.fspath(path)
    inside = None if root is None else Path(root)
    with reported(name), opened_folder(place.parent, inside) as folder:
        found = stat_of(folder, place.name)
        if found is None:
            os.mkdir(place.name, 0o700 if private else 0o777, dir_fd=folder)
        elif stat.S_ISLNK(found.st_mode):
            raise InputError(name, LINK)
        elif not stat.S_ISDIR(found.st_mode):
            raise InputError(name, "is a file, expected a directory")


def remove_known(folder: Name, known: re.Pattern[str]) -> list[str]:
    """Remove the files of a folder whose paths in it match entirely, then folders that are empty.
    Links stay. Returns the paths of the files that are left, ascending."""
    top, left = Path(folder), []
    if top.is_symlink() or not top.is_dir():
        return [""] if os.path.lexists(top) else []
    for place, folders, files, at in os.fwalk(top, topdown=False, follow_symlinks=False):
        inside = Path(place).relative_to(top)
        for name in files:
            path = (inside / name).as_posix()
            regular = stat.S_ISREG(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode)
            if regular and known.fullmatch(path):
                os.unlink(name, dir_fd=at)
            else:
                left.append(path)
        for name in folders:
            try:
                os.rmdir(name, dir_fd=at)
            except NotADirectoryError:  # a link, which fwalk counts as a folder
                left.append((inside / name).as_posix())
            except OSError:  # not empty
                pass
    with suppress(OSError):
        top.rmdir()
    return sorted(left)
