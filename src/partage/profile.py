"""What ``partage profile`` measured, as plans and reports read it: columns, and no Spark.

A profile is a directory: the marker ``profile.json`` and the Parquet tables ``partitions``,
``keys``, ``windows`` and ``rejected``, each a directory of part files. Reading needs pyarrow only.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from partage.cluster import Cluster
from partage.errors import InputError, PartageError
from partage.files import parse_json, read_text

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

FORMAT_VERSION = 1
MARKER = "profile.json"

_TOTALS = ("records", "bytes", "rejected", "topics", "partitions")


@dataclass(frozen=True)
class HotKey:
    """One of a topic's hottest keys. ``key`` is text to show (``0x…`` where it is no text) and
    ``share`` its part of the topic's records, 0 to 1."""

    topic: str
    rank: int
    key: str
    records: int
    bytes: int
    share: float


@dataclass(frozen=True, eq=False)
class Measured:
    """A profile in the rows of a cluster of P partitions.

    - ``bytes_per_second``: [P], 0 where not measured
    - ``bytes``: [P], -1 where not measured
    - ``not_in_cluster``: measured partitions that the cluster lacks, as ``topic-partition``
    - ``not_measured``: partitions of the cluster without a record, likewise
    """

    bytes_per_second: Floats
    bytes: Ints
    not_in_cluster: tuple[str, ...]
    not_measured: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Profile:
    """The measured partitions as columns, in ascending order of (topic, partition).

    Shapes: Q measured partitions. ``topics`` names, ascending; ``topic`` [Q] index into them;
    ``partition`` [Q]; ``records`` and ``bytes`` [Q]; ``bytes_per_second`` [Q], over the time from
    the topic's first record to its last; ``peak_bytes_per_second`` [Q], of the fullest window;
    ``distinct_keys`` and ``null_keys`` [Q].
    """

    path: str
    window_seconds: int
    sources: tuple[str, ...]
    totals: Mapping[str, int]
    """records, bytes, rejected, topics, partitions."""
    topics: tuple[str, ...]
    topic: Ints
    partition: Ints
    records: Ints
    bytes: Ints
    bytes_per_second: Floats
    peak_bytes_per_second: Floats
    distinct_keys: Ints
    null_keys: Ints

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Profile:
        """Read a directory that ``partage profile`` wrote.

        Raises InputError for anything else, PartageError where pyarrow is missing.
        """
        name = os.fspath(path)
        if not Path(path).is_dir():
            problem = "is a file" if Path(path).exists() else "no such directory"
            raise InputError(name, f"{problem}, expected a directory written by `partage profile`")
        if not (Path(path) / MARKER).is_file():
            raise InputError(name, f"has no {MARKER}: not a directory written by `partage profile`")
        about = _read_marker(Path(path) / MARKER)
        columns = _read_table(
            Path(path) / "partitions",
            {
                "topic": "string",
                "partition": "int64",
                "records": "int64",
                "bytes": "int64",
                "bytes_per_second": "double",
                "peak_bytes_per_second": "double",
                "distinct_keys": "int64",
                "null_keys": "int64",
            },
        )
        names, topic = np.unique(
            np.array(columns.pop("topic"), dtype=object).astype(str), return_inverse=True
        )
        order = np.lexsort((columns["partition"], topic))
        number = columns["partition"][order]
        same = (np.diff(topic[order]) == 0) & (np.diff(number) == 0)
        if same.any():
            row = int(np.flatnonzero(same)[0])
            raise InputError(name, f"{names[topic[order][row]]}-{number[row]}: measured twice")
        for column, values in columns.items():
            if not np.isfinite(values).all() or (values < 0).any():
                raise InputError(name, f"partitions: {column} has values that are no measurements")
        return cls(
            path=name,
            window_seconds=about["window_seconds"],
            sources=tuple(about["sources"]),
            totals=about["totals"],
            topics=tuple(names.tolist()),
            topic=topic.astype(np.int64)[order],
            **{column: values[order] for column, values in columns.items()},
        )

    def aligned(self, cluster: Cluster) -> Measured:
        """The profile in the cluster's rows; what only one of the two has is named."""
        row_of = {
            (self.topics[t], p): row
            for row, (t, p) in enumerate(
                zip(self.topic.tolist(), self.partition.tolist(), strict=True)
            )
        }
        rows = np.array(
            [
                row_of.pop((cluster.topics[t], p), -1)
                for t, p in zip(cluster.topic.tolist(), cluster.partition.tolist(), strict=True)
            ],
            dtype=np.int64,
        )
        known = rows >= 0
        rate = np.zeros(len(rows), dtype=np.float64)
        rate[known] = self.bytes_per_second[rows[known]]
        size = np.full(len(rows), -1, dtype=np.int64)
        size[known] = self.bytes[rows[known]]
        return Measured(
            bytes_per_second=rate,
            bytes=size,
            not_in_cluster=tuple(f"{topic}-{number}" for topic, number in row_of),
            not_measured=tuple(cluster.names[row] for row in np.flatnonzero(~known).tolist()),
        )

    def weights(self) -> dict[str, dict[int, int]]:
        """Bytes per 1,000 seconds by topic and partition: rates as the whole numbers that a group's
        weights are."""
        found: dict[str, dict[int, int]] = {topic: {} for topic in self.topics}
        rates = np.ceil(self.bytes_per_second * 1000).astype(np.int64)
        for topic, number, rate in zip(
            self.topic.tolist(), self.partition.tolist(), rates.tolist(), strict=True
        ):
            found[self.topics[topic]][number] = rate
        return found

    def hot_keys(self, top: int | None = None) -> list[HotKey]:
        """The hottest keys, ``top`` per topic (all that were kept when None), by (topic, rank).

        Raises InputError where the table is missing or broken.
        """
        columns = _read_table(
            Path(self.path) / "keys",
            {
                "topic": "string",
                "rank": "int64",
                "key": "binary",
                "records": "int64",
                "bytes": "int64",
                "share": "double",
            },
        )
        rows = zip(*(list(column) for column in columns.values()), strict=True)
        keys = [
            HotKey(str(topic), int(rank), shown_key(key), int(records), int(size), float(share))
            for topic, rank, key, records, size, share in rows
            if top is None or rank <= top
        ]
        return sorted(keys, key=lambda key: (key.topic, key.rank))


def shown_key(key: bytes) -> str:
    """A record's key as text: itself where it is printable UTF-8, else ``0x`` and hexadecimals."""
    try:
        text = key.decode("utf-8")
    except UnicodeDecodeError:
        return f"0x{key.hex()}"
    return text if text.isprintable() else f"0x{key.hex()}"


def _read_marker(path: Path) -> dict[str, Any]:
    where = os.fspath(path)
    about = parse_json(read_text(path), where)
    if not isinstance(about, dict) or "format_version" not in about:
        raise InputError(where, "no format_version: not written by `partage profile`")
    if about["format_version"] != FORMAT_VERSION:
        raise InputError(
            where,
            f"format_version is {about['format_version']!r}; "
            f"this partage reads {FORMAT_VERSION}: measure again",
        )
    seconds, sources, totals = (about.get(k) for k in ("window_seconds", "sources", "totals"))
    if not isinstance(seconds, int) or seconds < 1:
        raise InputError(where, "window_seconds: expected a whole number of at least 1")
    if not isinstance(sources, list) or not all(isinstance(source, str) for source in sources):
        raise InputError(where, "sources: expected a list of names")
    if not isinstance(totals, dict) or not all(isinstance(totals.get(k), int) for k in _TOTALS):
        raise InputError(where, f"totals: expected whole numbers for {', '.join(_TOTALS)}")
    return about


def _read_table(directory: Path, types: Mapping[str, str]) -> dict[str, Any]:
    """The named columns of the Parquet files in a directory: numpy arrays, or lists of names and
    keys. Raises InputError."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise PartageError(
            "pyarrow is not installed, a profile is Parquet: pip install 'partage[spark]'"
        ) from None

    where = os.fspath(directory)
    files = sorted(directory.glob("*.parquet"))
    if not files:
        raise InputError(where, "has no Parquet files: the profile is not whole")
    schema = pa.schema([(name, pa.type_for_alias(alias)) for name, alias in types.items()])
    parts = []
    for file in files:
        try:
            # From bytes: a name like topic=a in the path must not become a column.
            table = pq.read_table(pa.BufferReader(file.read_bytes()))
            missing = [name for name in types if name not in table.column_names]
            if missing:
                raise InputError(os.fspath(file), f"columns missing: {', '.join(missing)}")
            parts.append(table.select(list(types)).cast(schema))
        except (pa.ArrowException, OSError) as error:
            reason = str(error).strip().splitlines()[0][:200]
            raise InputError(os.fspath(file), f"is no readable table ({reason})") from None
    table = pa.concat_tables(parts)
    for name in types:
        if table[name].null_count:
            raise InputError(where, f"column {name} has nulls")
    return {
        name: table[name].to_pylist() if alias in ("string", "binary") else table[name].to_numpy()
        for name, alias in types.items()
    }
