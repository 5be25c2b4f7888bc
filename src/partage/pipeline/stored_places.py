"""Profiles in stores that Spark reaches through Hadoop's clients: ``hdfs://`` and others.

A profile is read table by table, some of them later. So that no Java process stays for it, one that
is needed here is copied first.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from partage.errors import InputError
from partage.measured_loads import MARKER
from partage.measured_loads.places import StoredPlace
from partage.pipeline.session import session
from partage.pipeline.stores import Store


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

    def check(self, marker: str) -> None:
        if not (self.store.reached() and self.has(marker)):
            problem = f"has no {marker}: not a directory written by `partage profile`"
            raise InputError(self.path, problem)


class _Copied(StoredPlace):
    """One whose files are in a temporary directory, which goes when this is not used any more."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.folder = tempfile.TemporaryDirectory(prefix="partage-")

    def has(self, name: str) -> bool:
        return self.here(name).is_file()

    def read(self, name: str) -> bytes:
        return self.here(name).read_bytes()

    def check(self, marker: str) -> None:
        """Nothing: it was when the files were copied."""

    def here(self, name: str) -> Path:
        return Path(self.folder.name) / name


def copied_profile(url: str) -> StoredPlace:
    """The profile in a store, copied to this machine. Raises InputError where there is none,
    PartageError if Spark cannot run or the store does not answer."""
    with session("local[1]", short=True, paths=[url]) as spark:
        store = Store(spark, url)
        place, copy = PlaceOfStore(store), _Copied(store.url)
        place.check(MARKER)
        place.about(MARKER)
        for name in (MARKER, *place.listed):
            store.copy_here(name, copy.here(name))
        return copy
