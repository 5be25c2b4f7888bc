"""Profiles in stores that Spark reaches through Hadoop's clients: ``hdfs://`` and others.

A profile is read table by table, some of them later. So that no Java process stays for it, one that
is needed here is copied first.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from partage.errors import InputError
from partage.measured_loads.places import MARKER, Place, StoredPlace
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

    def check(self) -> None:
        if not (self.store.reached() and self.has(MARKER)):
            raise self._without_marker()


class _Copied(Place):
    """One whose files are in a temporary directory, which goes when this is not used any more."""

    def __init__(self, store: Store, names: Iterable[str]) -> None:
        super().__init__(store.url)
        self._temporary = tempfile.TemporaryDirectory(prefix="partage-")
        self._folder = Path(self._temporary.name)
        for name in names:
            store.copy_here(name, self._folder / name)

    def shown(self, name: str) -> str:
        return f"{self.path}/{name}"


def copied_profile(url: str) -> Place:
    """The profile in a store, copied to this machine. Raises InputError where there is none,
    PartageError if Spark cannot run or the store does not answer."""
    with session("local[1]", short=True, paths=[url]) as spark:
        store = Store(spark, url)
        place = PlaceOfStore(store)
        place.check()
        place.about()
        tables = (place.files(table) or () for table in _TABLES) if not place.listed else ()
        return _Copied(store, (MARKER, *place.listed, *chain.from_iterable(tables)))
