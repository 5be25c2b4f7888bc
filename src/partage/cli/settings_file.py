"""Which settings file counts: the one that ``PARTAGE_SETTINGS`` names, or the nearest
``partage.toml``, in the working directory or above it, but not above the home directory.

A file that is found may be a stranger's. In a folder of several users anyone may have put it there,
so one that does not belong to the user or to root, or whose folder does not, or that others can
write, is ignored. A repository that the user has cloned belongs to the user, but other people wrote
its files. So no file that is found may confirm anything, name a place on the network, name code to
run (a setting of Spark can), or write outside of its folder: see ``refusal``. The file that the
variable names is the user's own decision: it may set everything.
"""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from partage.errors import InputError
from partage.files import decoded, read_bytes

NAME = "partage.toml"
VARIABLE = "PARTAGE_SETTINGS"

_MAX_BYTES = 2**16
"""Python's reader of TOML takes the square of the length for a key of many parts."""

_CONFIRMS = ("apply", "create", "force", "overwrite", "yes")
_LOGS_IN = ("bootstrap-server", "command-config", "master")
_IS_CODE = ("alert-command", "conf", "packages")
_MAY_BE_CODE = ("assignor", "partitioner")
_WRITTEN = ("dir", "metrics", "out", "picture", "report")


class SettingsFile(NamedTuple):
    """A file that counts. ``found``: by searching, not named by the variable."""

    name: str
    text: str
    found: bool


class Ignored(NamedTuple):
    """A file that does not count: its name, why, and what to do about it."""

    name: str
    reason: str
    advice: str


def refusal(option: str, value: Any, folder: str) -> str:
    """What is not accepted about this value of an option in a file that was found by searching in
    the folder; empty if it may be there."""
    texts = [str(one) for one in (value if isinstance(value, list) else [value])]
    code = option in _MAY_BE_CODE and any(":" in text for text in texts)
    if code or option in (*_CONFIRMS, *_LOGS_IN, *_IS_CODE):
        return "not accepted"
    if any("://" in text for text in texts):
        return "a URL is not accepted"
    if option in _WRITTEN and not all(_is_inside(text, folder) for text in texts):
        return f"a path outside of the folder of {NAME} is not accepted"
    return ""


def _is_inside(path: str, folder: str) -> bool:
    """Whether a path of the file, relative to its folder, is in that folder, by whatever links."""
    try:
        top = Path(folder).resolve()
        return (top / Path(path).expanduser()).resolve().is_relative_to(top)
    except (OSError, RuntimeError, ValueError):  # a loop of links, an unknown home, NUL
        return False


def settings_file() -> tuple[SettingsFile | None, tuple[Ignored, ...]]:
    """The file that counts, and those before it that do not. Raises InputError where it cannot be
    read."""
    if named := os.environ.get(VARIABLE):
        try:
            return SettingsFile(named, _text(named, named), found=False), ()
        except InputError as error:
            raise InputError(f"{VARIABLE}: {named}", error.problem) from None
    ignored: list[Ignored] = []
    for path in _candidates():
        file = _opened(path)
        if isinstance(file, SettingsFile):
            return file, tuple(ignored)
        if file is not None:
            ignored.append(file)
    return None, tuple(ignored)


def _text(file: str | int, name: str) -> str:
    raw = read_bytes(file)
    if len(raw) > _MAX_BYTES:
        raise InputError(name, f"has more than {_MAX_BYTES:,} bytes")
    return decoded(raw, name)


def _candidates() -> Iterator[Path]:
    """The name alone in the working directory, absolute paths above it."""
    try:
        here, home = Path.cwd(), Path("~").expanduser()
    except (OSError, RuntimeError):  # the directory was removed, or the user has no home
        return
    for folder in (here, *here.parents):
        yield Path(NAME) if folder == here else folder / NAME
        if folder == home:
            return


def _opened(path: Path) -> SettingsFile | Ignored | None:
    """The file; None if there is none. What is checked and what is read is the same open file."""
    name = str(path)
    try:
        link = path.lstat()
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return Ignored(name, f"cannot be read ({error.strerror})", "make it readable, or remove it")
    try:
        found = os.fstat(opened)
        if stat.S_ISDIR(found.st_mode):
            return None
        ignored = _distrusted(name, link, found) or _in_distrusted_folder(path)
        return ignored or SettingsFile(name, _text(opened, name), found=True)
    finally:
        os.close(opened)


def _distrusted(name: str, link: os.stat_result, found: os.stat_result) -> Ignored | None:
    """Why the file may be a stranger's. ``link``: the symbolic link to it, or the file itself."""
    remedy = f"if you trust it: {VARIABLE}={name}"
    if not stat.S_ISREG(found.st_mode):
        return Ignored(name, "is not a regular file", "remove it")
    for one in (link, found):
        if one.st_uid not in (0, os.geteuid()):
            return Ignored(name, f"belongs to {_user(one.st_uid)}, neither you nor root", remedy)
    for writable, others in ((stat.S_IWOTH, "everyone"), (stat.S_IWGRP, "its group")):
        if found.st_mode & writable:
            return Ignored(name, f"can be written by {others}", f"chmod go-w {name}")
    return None


def _in_distrusted_folder(path: Path) -> Ignored | None:
    """The owner of the folder decides which of your files is there under this name."""
    owner = path.absolute().parent.lstat().st_uid
    if owner in (0, os.geteuid()):
        return None
    reason = f"is in a folder of {_user(owner)}, neither you nor root"
    return Ignored(str(path), reason, f"if you trust it: {VARIABLE}={path}")


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"
