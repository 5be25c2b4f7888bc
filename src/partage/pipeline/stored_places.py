"""Profiles in stores that Spark reaches through Hadoop's clients: ``hdfs://`` and others.

A profile is read table by table, some of them later. So that no Java process stays for it, one that
is needed here is copied first.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from partage.errors import InputError
from partage.measured_loads import MARKER
from partage.measured_loads.places import Place, StoredPlace
from partage.pipeline.session import session
from partage.pipeline.stores import Store

_TABLES = ("partitions", "keys", "windows", "rejected")
"""Those of a watch, which lists no files."""


class PlaceOfStore(StoredPlace):
    """The directory of a profile in a store, while its Spark session runs."""

    def __init__(self, store: Store) -> None:
        super().__init__(store.url)
        self.store = store

    def has(self, name: str) -> bool:
        return self.store.has(name)

    def read(self, name: str) -> bytes:
        content = self.store.read(name)
        if content is None:
            raise InputError(self.shown(name), "no such file: was it replaced meanwhile?")
        return content

    def names(self, folder: str) -> list[str]:
        found = self.store.lengths(folder)
        return [name for name in found if name.rpartition("/")[0] == folder]

    def check(self, marker: str) -> None:
        if not (self.store.reached() and self.has(marker)):
            raise self._without(marker)


class _Copied(StoredPlace):
    """One whose files are in a temporary directory, which goes when this is not used any more."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._folder = tempfile.TemporaryDirectory(prefix="partage-")
        self._copy = Place(self._folder.name)

    def has(self, name: str) -> bool:
        return self._copy.has(name)

    def read(self, name: str) -> bytes:
        return self._copy.read(name)

    def names(self, folder: str) -> list[str]:
        return self._copy.files(folder) or []

    def check(self, marker: str) -> None:
        self._copy.check(marker)

    def add(self, store: Store, name: str) -> None:
        """Copy a file from its store."""
        store.copy_here(name, Path(self._folder.name) / name)


def copied_profile(url: str) -> StoredPlace:
    """The profile in a store, copied to this machine. Raises InputError where there is none,
    PartageError if Spark cannot run or the store does not answer."""
    with session("local[1]", short=True, paths=[url]) as spark:
        store = Store(spark, url)
        place, copy = PlaceOfStore(store), _Copied(store.url)
        place.check(MARKER)
        place.about(MARKER)
        tables = (place.files(table) or () for table in _TABLES) if not place.listed else ()
        for name in (MARKER, *place.listed, *(name for own in tables for name in own)):
            copy.add(store, name)
        return copy
