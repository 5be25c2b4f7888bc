"""Tables in a store (``stores``), whole or not at all, though it may rename nothing in one step.

The executors write into a new folder ``run-…`` below the output. Then one object is written, the
marker: it lists the files with their lengths, and readers read only what it lists. What the marker
before it listed is removed last. A run that fails removes its folder; a killed one leaves it, and
nothing reads it.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from partage.errors import InputError, PartageError
from partage.files import decoded, parse_json, to_json
from partage.measured_loads.places import FILES, RUN, run_of
from partage.pipeline.saving import save, typed
from partage.pipeline.stores import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Listed = Mapping[str, int]
"""Bytes by the path of a file in the output."""


def check_stored(store: Store, marker: str, overwrite: bool) -> Listed:
    """The files of the output to replace; empty if there is none. Raises InputError for anything
    that must stay, PartageError if the store does not answer."""
    content = store.read(marker) if store.reached() else None
    if content is None:
        others = [name for name in store.lengths() if not name.startswith((RUN, "."))]
        if others:
            problem = f"contains {others[0]}, which partage did not write: choose another directory"
            raise InputError(store.url, problem)
        return {}
    try:
        about = parse_json(decoded(content, store.url), store.url)
    except InputError:
        about = None
    listed = about.get(FILES) if isinstance(about, dict) else None
    if not isinstance(listed, dict) or not all(map(run_of, listed)):
        problem = f"contains {marker}, which partage did not write: choose another directory"
        raise InputError(store.url, problem)
    if not overwrite:
        raise InputError(store.url, "already exists: `overwrite` replaces it")
    return listed


class StoredTables:
    """The tables of an output while it is written. ``about``: the contents of the marker."""

    def __init__(self, spark: SparkSession, url: str, format: str) -> None:
        self.about: Mapping[str, Any] = {}
        self._spark, self._url, self._format = spark, url, format

    def add(self, name: str, frame: DataFrame, schema: pa.Schema, order: Sequence[str]) -> None:
        """Write the rows of a frame to the folder ``name`` with these columns, each file sorted by
        the columns ``order`` of the frame."""
        self._save(name, typed(frame.sortWithinPartitions(*order), schema))

    def add_here(self, name: str, table: pa.Table) -> None:
        """Write a table that is here."""
        self._save(name, self._spark.createDataFrame(table).coalesce(1))

    def _save(self, name: str, frame: DataFrame) -> None:
        save(frame, f"{self._url}/{name}", self._format, self._url)


@contextmanager
def stored_tables(
    spark: SparkSession, url: str, marker: str, format: str, overwrite: bool
) -> Iterator[StoredTables]:
    """The tables to write; they count when the block ends without an error."""
    store, run = Store(spark, url), RUN + secrets.token_hex(8)
    try:
        tables = StoredTables(spark, f"{store.url}/{run}", format)
        yield tables
        # without those that Spark writes about the others
        written = {
            name: length
            for name, length in store.lengths(run).items()
            if name.rpartition("/")[2][0] not in "._"
        }
        about = dict(tables.about) | {"format": format, FILES: written}
        before = check_stored(store, marker, overwrite)  # another run may have been faster
        store.put(marker, to_json(about, indent=2), replace=overwrite)
    except BaseException:
        with suppress(PartageError):
            store.remove(run)
        raise
    with suppress(PartageError):  # what stays is not read
        _remove(store, before)


def _remove(store: Store, listed: Listed) -> None:
    """Remove the folders of these files, but for one in which anything has changed."""
    for run in {name.partition("/")[0] for name in listed}:
        own = {name: length for name, length in listed.items() if name.startswith(f"{run}/")}
        found = store.lengths(run)
        if own == {name: found[name] for name in found if name.rpartition("/")[2][0] not in "._"}:
            store.remove(run)
