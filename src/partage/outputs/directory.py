"""Write directories completely or not at all.

A directory is filled under a temporary name and then replaces the previous one by two renames; the
previous one is deleted last. The file ``.partage.json`` in it lists all its files with their
SHA-256. A directory is replaced only if everything in it is listed and unchanged, or is a file with
a valid checksum (a report page may have been written again).
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from partage.errors import InputError
from partage.files import parse_json, read_text, to_json
from partage.outputs.checksum import verdict_on
from partage.outputs.durable import flush, flush_folder
from partage.outputs.place import (
    LINK,
    READ,
    Name,
    is_of_the_disk,
    is_url,
    reason,
    reported,
    temporary_name,
)

LIST = ".partage.json"
FORMAT_VERSION = 1


def check_directory(path: Name, marker: str, overwrite: bool = True) -> None:
    """Raise InputError early, before long work, if ``new_directory`` would."""
    name = os.fspath(path)
    if not name:
        raise InputError("output", "the name of the directory is empty")
    if is_url(name):
        raise InputError(name, "is not a local directory: name one without a scheme")
    with reported(name):
        target = _target(path)
        _check_replaceable(target, name, marker, overwrite)
        parent = _existing_parent(target)
        if not parent.is_dir() or not os.access(parent, os.W_OK):
            raise InputError(name, f"cannot be written ({parent} is not a writable directory)")


@contextmanager
def new_directory(
    path: Name,
    marker: str,
    overwrite: bool = True,
    digests: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Path]:
    """A temporary directory to fill; it becomes ``path`` on success and is removed otherwise.

    ``marker``: the file that shows the kind of directory. An existing directory is replaced
    only if partage wrote it with this marker, no one has changed it, and ``overwrite`` is True.
    ``digests``: the SHA-256 of files, by their path in the directory, where they are known already;
    the others are computed here. Raises InputError.
    """
    name = os.fspath(path)
    check_directory(path, marker, overwrite)
    with reported(name):
        target = _target(path)
        scratch = _new_scratch(target)
    filled = scratch / "new"
    try:
        with reported(name):
            filled.mkdir()
        try:
            yield filled
        except (OSError, UnicodeEncodeError) as error:
            if isinstance(error, OSError) and not _is_about(error, scratch):
                raise
            raise InputError(name, f"cannot be written ({reason(error)})") from None
        except InputError as error:
            if not Path(error.where).is_relative_to(scratch):
                raise
            raise InputError(name, error.problem) from None
        if not (filled / marker).is_file():
            raise AssertionError(f"{marker} was not written")
        with reported(name):
            _keep_modes(target, filled)
            _write_list(filled, marker, digests)
            _flush(filled)
            above = _existing_parent(target)
            target.parent.mkdir(parents=True, exist_ok=True)
            # check again: something may have been written there in the meantime
            if _check_replaceable(target, name, marker, overwrite):
                _exchange(target, filled, scratch / "old", name, marker)
            else:
                filled.rename(target)
                for folder in (target.parent, *target.parent.parents):
                    flush_folder(folder)
                    if folder == above:
                        break
    finally:
        shutil.rmtree(filled, ignore_errors=True)
        with suppress(OSError):  # a file that another program has just put into ``old`` stays
            scratch.rmdir()


def write_directory(path: Name, contents: Mapping[str, str], marker: str) -> None:
    """Write a directory of text files (names may contain one folder) completely or not at all."""
    with new_directory(path, marker) as temporary:
        for name, text in contents.items():
            (temporary / name).parent.mkdir(exist_ok=True)
            (temporary / name).write_text(text, encoding="utf-8")


@contextmanager
def scratch_folder(path: Name) -> Iterator[Path]:
    """A temporary folder on the file system where ``path`` will be, removed at the end."""
    with reported(os.fspath(path)):
        scratch = _new_scratch(_target(path))
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _new_scratch(target: Path) -> Path:
    scratch = _existing_parent(target) / temporary_name()
    scratch.mkdir(mode=0o700)
    return scratch


def _target(path: Name) -> Path:
    """The absolute path, without links but for its last component. Raises InputError if that is a
    link."""
    place = Path(path)
    if place.is_symlink():
        raise InputError(os.fspath(path), LINK)
    try:
        return place.resolve() if place.name in ("", "..") else place.parent.resolve() / place.name
    except RuntimeError:  # what pathlib makes of a loop of links
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None


def _existing_parent(target: Path) -> Path:
    parent = target.parent
    while not parent.exists():
        parent = parent.parent
    return parent


def _check_replaceable(target: Path, name: str, marker: str, overwrite: bool) -> bool:
    """Whether there is a directory to replace; an empty one is as good as none. Raises InputError
    for anything that must stay."""
    if target.is_symlink():
        raise InputError(name, LINK)
    if not target.is_dir():
        if target.exists():
            raise InputError(name, "is a file, expected a directory to write")
        return False
    if Path.cwd().is_relative_to(target.resolve()):
        raise InputError(name, "is the current directory: choose one in it, or another")
    if not any(target.iterdir()):
        return False
    _check_ours(target, name, marker)
    if not overwrite:
        raise InputError(name, "already exists: `overwrite` replaces it")
    return True


def _check_ours(target: Path, name: str, marker: str) -> list[Path]:
    """Everything in the directory, what is in a folder before the folder. Raises InputError if
    anything is not as partage wrote it."""
    listed = _read_list(target, marker)
    if listed is None:
        raise InputError(
            name,
            f"{_why_not_ours(target, marker)}: choose another directory",
        )
    folders = {parent.as_posix() for file in listed for parent in Path(file).parents}
    folders.update(file for file, digits in listed.items() if digits is None)
    found = []
    for path in _walk(target):
        entry = path.relative_to(target).as_posix()
        mode = path.lstat().st_mode
        if stat.S_ISDIR(mode):
            known = entry in folders
        elif entry == LIST:
            known = True
        else:
            known = stat.S_ISREG(mode) and _is_known(path, listed.get(entry))
        if not known:
            problem = (
                "was changed since partage wrote it" if entry in listed else "partage did not write"
            )
            kept = f"{entry}, which {problem}"
            raise InputError(name, f"contains {kept}: choose another directory")
        found.append(path)
    return found


def _is_known(path: Path, digits: str | None) -> bool:
    """Whether a file has this SHA-256 (in hexadecimal), or a valid checksum in it."""
    file = os.open(path, READ)
    with os.fdopen(file, "rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest() == digits or (
            verdict_on(file) == "ours"
        )


def _why_not_ours(target: Path, marker: str) -> str:
    """Why a directory without a list of its files must stay, such as one that a watch fills."""
    if (target / marker).is_file():
        return (
            f"has {marker}, but no {LIST} that lists what may be replaced (another command wrote "
            "it, such as watch, or it is a copy without hidden files)"
        )
    return f"contains files that partage did not write (no {marker} written by partage)"


def _read_list(target: Path, marker: str) -> dict[str, str | None] | None:
    """SHA-256 by file, None by folder; None where partage has not written such a directory."""
    path = target / LIST
    if path.is_symlink() or not path.is_file():
        return None
    try:
        about: Any = parse_json(read_text(path), str(path))
    except InputError:
        return None
    if not isinstance(about, dict) or about.get("marker") != marker:
        return None
    files = about.get("files")
    return files if isinstance(files, dict) else None


def _write_list(folder: Path, marker: str, digests: Mapping[str, str]) -> None:
    files: dict[str, str | None] = {}
    for path in sorted(_walk(folder)):
        entry = path.relative_to(folder).as_posix()
        if path.is_dir():
            files[entry] = None
            continue
        files[entry] = digests.get(entry) or _digest(path)
    about = {"format_version": FORMAT_VERSION, "marker": marker, "files": files}
    (folder / LIST).write_text(to_json(about, indent=1), encoding="utf-8")


def _flush(folder: Path) -> None:
    """Wait until everything in a folder is on disk."""
    for path in [*_walk(folder), folder]:
        if path.is_dir():
            flush_folder(path)
            continue
        file = os.open(path, READ)
        try:
            flush(file)
        finally:
            os.close(file)


def _digest(path: Path) -> str:
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _walk(folder: Path) -> Iterator[Path]:
    """Everything in a folder, what is in a folder before the folder; links are not followed."""
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda one: one.name):
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(Path(entry.path))
            yield Path(entry.path)


def _keep_modes(target: Path, new: Path) -> None:
    """Give everything the mode of what it replaces, and what is new the mode that the umask
    leaves, whatever program wrote it."""
    left = stat.S_IMODE(new.stat().st_mode)
    for path in [*_walk(new), new]:
        before = target / path.relative_to(new)
        if before.exists() and not before.is_symlink():
            mode = stat.S_IMODE(before.stat().st_mode)
        else:
            mode = left if path.is_dir() else left & 0o666
        path.chmod(mode)


def _exchange(target: Path, new: Path, old: Path, name: str, marker: str) -> None:
    """Replace ``target`` by ``new``; if that fails, ``target`` stays."""
    try:
        target.rename(old)
        # once more, where no other program finds it
        ours = _check_ours(old, name, marker)
        new.rename(target)
    except BaseException:  # also Ctrl-C between the two renames
        if old.exists():
            if os.path.lexists(target):
                raise InputError(
                    name, f"another program wrote it, too: its previous content is in {old}"
                ) from None
            old.rename(target)
        raise
    flush_folder(target.parent)
    for path in ours:
        with suppress(OSError):
            path.rmdir() if path.is_dir() else path.unlink()
    with suppress(OSError):
        old.rmdir()


def _is_about(error: OSError, scratch: Path) -> bool:
    """Whether it is about the files written here; what fills the directory may use a network."""
    if is_of_the_disk(error):
        return True
    return isinstance(error.filename, str | Path) and Path(error.filename).is_relative_to(scratch)
