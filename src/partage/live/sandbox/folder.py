"""The folder of a sandbox: whether it can be used, and the lock on it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from partage.errors import InputError, PartageError
from partage.live.sandbox.state import MARKER
from partage.outputs import check_directory, refuse_link


def check_usable(directory: str, folder: Path) -> None:
    """Raise InputError if the folder holds other files, or if Kafka could not use it.

    ``directory``: its name in messages.
    """
    if not directory:
        raise InputError("dir", "the name of the folder is empty")
    refuse_link(directory)
    if not (folder / MARKER).is_file():
        check_directory(directory, MARKER)
    if not folder.parent.is_dir():
        raise InputError(directory, f"there is no folder {folder.parent}")
    if "," in str(folder):
        raise InputError(directory, "its path has a comma, which Kafka takes for two folders")


@contextmanager
def locked(directory: str, folder: Path) -> Iterator[None]:
    """Keep other processes, and threads, from changing the sandbox. Raises PartageError if another
    one is changing it."""
    with ExitStack() as opened:
        try:
            handle = os.open(folder, os.O_RDONLY)
            opened.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.samestat(os.fstat(handle), folder.stat()):
                raise FileNotFoundError  # removed and created again in between
        except (BlockingIOError, FileNotFoundError):
            raise PartageError(f"{directory}: another partage process is changing it") from None
        yield
