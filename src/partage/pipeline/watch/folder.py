"""Where the files of a watch are: a directory of this machine, or one in a store.

Names are relative to it. A file is written, moved and replaced whole or not at all in both; that is
all that ``store`` relies on.
"""

from __future__ import annotations

import fcntl
import os
import re
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from partage.errors import InputError, PartageError
from partage.files import read_bytes
from partage.measured_loads.places import Place
from partage.outputs import make_folder, move_file, remove_file, remove_known, write_file
from partage.pipeline.sources.files import literal
from partage.pipeline.stored_places import PlaceOfStore
from partage.pipeline.stores import Store as FilesOfStore

_OURS = re.compile(r"(.*/)?(part-[^/]*|\.part-[^/]*\.crc|\._SUCCESS\.crc|_SUCCESS)")
"""What executors write."""


class Folder(ABC):
    """``where``: the user's name for it; ``shared``: whether executors surely see it."""

    where: str
    shared: bool

    @abstractmethod
    def url(self, name: str) -> str:
        """The URL for Spark of a file or folder to write."""

    @abstractmethod
    def pattern(self, name: str) -> str:
        """The URL for Spark of a file to read."""

    @abstractmethod
    def shown(self, name: str) -> str:
        """The path of a file for messages."""

    @abstractmethod
    def has(self, name: str) -> bool:
        """Whether there is such a file."""

    @abstractmethod
    def names(self, folder: str) -> list[str]:
        """The names of the files in a folder, ascending; none if it is missing."""

    @abstractmethod
    def read(self, name: str) -> bytes:
        """The bytes of a file. Raises InputError."""

    @abstractmethod
    def write(self, name: str, content: str | bytes, *, recognised: bool = True) -> None:
        """Write a file. ``recognised``: it is new, or was read and is partage's."""

    @abstractmethod
    def place_file(self, source: str, name: str) -> None:
        """Give a file its place, in place of an earlier one."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Remove a file of partage's, if there is one."""

    @abstractmethod
    def make(self, name: str) -> None:
        """Create a folder, unless it exists."""

    @abstractmethod
    def remove_written(self, name: str) -> None:
        """Remove a folder of files that executors wrote."""

    @abstractmethod
    def profile(self) -> Place:
        """The directory as a profile."""

    @abstractmethod
    def locked(self, marker: str) -> object:
        """A context in which no other watch of this machine uses the directory."""

    @abstractmethod
    def add_directory(self, name: str, write: Callable[[Path], None]) -> None:
        """Add a directory that ``write`` writes to a path of this machine."""

    def rows(self, names: list[str]) -> int:
        """The rows of tables."""
        files = (pq.ParquetFile(pa.BufferReader(self.read(name))) for name in names)
        return sum(file.metadata.num_rows for file in files)


class LocalFolder(Folder):
    """A directory of this machine."""

    shared = False

    def __init__(self, path: Path) -> None:
        self.path = path
        self.where = os.fspath(path)

    def url(self, name: str) -> str:
        return f"file:{self.path.absolute() / name}"

    def pattern(self, name: str) -> str:
        return f"file:{literal(str((self.path / name).absolute()))}"

    def shown(self, name: str) -> str:
        return os.fspath(self.path / name)

    def has(self, name: str) -> bool:
        return (self.path / name).is_file()

    def names(self, folder: str) -> list[str]:
        top = self.path / folder
        return sorted(f"{folder}/{one.name}" for one in top.iterdir()) if top.is_dir() else []

    def read(self, name: str) -> bytes:
        return read_bytes(self.path / name)

    def write(self, name: str, content: str | bytes, *, recognised: bool = True) -> None:
        write_file(self.path / name, content, root=self.path, recognised=recognised)

    def place_file(self, source: str, name: str) -> None:
        move_file(self.path / source, self.path / name, root=self.path)

    def remove(self, name: str) -> None:
        remove_file(self.path / name, root=self.path, recognised=True)

    def make(self, name: str) -> None:
        make_folder(self.path / name, root=self.path)

    def remove_written(self, name: str) -> None:
        remove_known(self.path / name, _OURS)

    def profile(self) -> Place:
        return Place(self.where)

    @contextmanager
    def locked(self, marker: str) -> Iterator[None]:
        lock = os.open(self.path / marker, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                problem = "another partage watch is using this directory"
                raise PartageError(f"{self.where}: {problem}") from None
            yield
        finally:
            os.close(lock)

    def add_directory(self, name: str, write: Callable[[Path], None]) -> None:
        write(self.path / name)

    def rows(self, names: list[str]) -> int:
        return sum(pq.read_metadata(self.path / name).num_rows for name in names)


class StoredFolder(Folder):
    """A directory in a store, which has no locks, and folders only where files are."""

    shared = True

    def __init__(self, store: FilesOfStore) -> None:
        self.store = store
        self.where = store.url

    def url(self, name: str) -> str:
        return f"{self.where}/{name}"

    pattern = shown = url

    def has(self, name: str) -> bool:
        return self.store.has(name)

    def names(self, folder: str) -> list[str]:
        found = self.store.lengths(folder)
        return sorted(name for name in found if name.rpartition("/")[0] == folder)

    def read(self, name: str) -> bytes:
        content = self.store.read(name)
        if content is None:
            raise InputError(self.shown(name), "no such file")
        return content

    def write(self, name: str, content: str | bytes, *, recognised: bool = True) -> None:
        self.store.put(name, content, replace=True)

    def place_file(self, source: str, name: str) -> None:
        self.store.place(source, name)

    def remove(self, name: str) -> None:
        self.store.remove(name)

    def make(self, name: str) -> None:
        """Nothing: files make it."""

    def remove_written(self, name: str) -> None:
        self.store.remove(name)

    def profile(self) -> Place:
        return PlaceOfStore(self.store)

    @contextmanager
    def locked(self, marker: str) -> Iterator[None]:
        yield

    def add_directory(self, name: str, write: Callable[[Path], None]) -> None:
        with tempfile.TemporaryDirectory(prefix="partage-") as temporary:
            top = Path(temporary) / "written"
            write(top)
            for file in sorted(one for one in top.rglob("*") if one.is_file()):
                inside = file.relative_to(top).as_posix()
                self.store.put(f"{name}/{inside}", file.read_bytes(), replace=True)
