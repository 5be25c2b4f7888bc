"""What ``partage profile`` measured, as plans and reports read it: columns, and no Spark.

A profile is a directory: the marker ``profile.json`` and the Parquet tables ``partitions``,
``keys``, ``windows`` and ``rejected``, and ``sizes`` and ``lags`` where there were samples of them,
each a directory of part files. Reading needs pyarrow only.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from partage.cluster import Cluster
from partage.errors import InputError, PartageError, shown
from partage.files import parse_json, read_text
from partage.period import ALWAYS, Period

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

FORMAT_VERSION = 1
MARKER = "profile.json"

RATES = ("mean", "peak")
"""What a rate over several windows may be: of all of them, or of the fullest."""

_TOTALS = ("records", "bytes", "rejected", "topics", "partitions")
_DAY = 86_400_000


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

    - ``bytes_per_second``: [P], 0 where not measured; None: no records were
    - ``bytes``: [P] of the records, -1 where not measured
    - ``size_bytes``: [P] of the log dirs, -1 where not sampled; ``sampled``: when last, in
      milliseconds, None where never
    - ``not_in_cluster``: measured partitions that the cluster lacks, as ``topic-partition``
    - ``not_measured``: partitions of the cluster without a record, likewise
    """

    bytes_per_second: Floats | None
    bytes: Ints
    size_bytes: Ints
    sampled: int | None
    not_in_cluster: tuple[str, ...]
    not_measured: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Sizes:
    """Log-dir sizes over time of Q partitions, ``names`` as (topic, number).

    - ``size_bytes`` [Q]: at the last sample; ``peak_bytes`` [Q]: the largest seen
    - ``grown_bytes``, ``deleted_bytes`` [Q]: by how much it rose and fell in all
    - ``first``, ``last`` [Q]: the samples' times, in milliseconds
    """

    names: tuple[tuple[str, int], ...]
    size_bytes: Ints
    peak_bytes: Ints
    grown_bytes: Ints
    deleted_bytes: Ints
    first: Ints
    last: Ints

    @property
    def bytes_per_day(self) -> Floats:
        """[Q] growth, what was deleted left aside; 0 where there is one sample only."""
        days = (self.last - self.first) / _DAY
        return np.divide(self.grown_bytes, days, out=np.zeros(len(days)), where=days > 0)

    def after(self, days: float) -> Ints:
        """[Q] bytes so many days after the last sample of all.

        What was never seen to shrink goes on growing as it did. Where something was deleted,
        retention is at work, and the log comes up to the largest that was seen, no further.
        """
        if days == 0 or not len(self.last):
            return self.size_bytes
        ahead = days + (self.last.max() - self.last) / _DAY
        growing = self.size_bytes + np.ceil(self.bytes_per_day * ahead).astype(np.int64)
        return np.where(self.deleted_bytes > 0, self.peak_bytes, growing)


@dataclass(frozen=True, eq=False)
class Lags:
    """Lags over time: N partitions of groups, ``group`` and ``names`` as (topic, number).

    - ``lag`` [N]: records, at the last sample
    - ``consumed``, ``produced`` [N]: records from the first sample to the last
    - ``first``, ``last`` [N]: the samples' times, in milliseconds
    """

    group: tuple[str, ...]
    names: tuple[tuple[str, int], ...]
    lag: Ints
    consumed: Ints
    produced: Ints
    first: Ints
    last: Ints

    @property
    def consumed_per_second(self) -> Floats:
        """[N], 0 where there is one sample only."""
        return self._per_second(self.consumed)

    @property
    def produced_per_second(self) -> Floats:
        """[N], 0 where there is one sample only."""
        return self._per_second(self.produced)

    def _per_second(self, records: Ints) -> Floats:
        seconds = (self.last - self.first) / 1000
        return np.divide(records, seconds, out=np.zeros(len(seconds)), where=seconds > 0)


@dataclass(frozen=True, eq=False)
class Profile:
    """The measured partitions as columns, in ascending order of (topic, partition).

    Shapes: Q measured partitions. ``topics`` names, ascending; ``topic`` [Q] index into them;
    ``partition`` [Q]; ``records`` and ``bytes`` [Q]; ``bytes_per_second`` [Q], over the time from
    the topic's first record to its last, or what ``over`` chose; ``peak_bytes_per_second`` [Q], of
    the fullest window; ``distinct_keys`` and ``null_keys`` [Q]. ``period``: what the measurement
    was limited to, and how many good rows are ``outside``; ``horizon``: how many days ahead sizes
    are taken.
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
    period: Period = ALWAYS
    outside: int = 0
    rates: str = "the mean of all records"
    """What ``bytes_per_second`` is, in words."""
    horizon: float = 0

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
            period=about["period"],
            outside=about["outside"],
            rates=f"the mean of all records {about['period']}".rstrip(),
            **{column: values[order] for column, values in columns.items()},
        )

    @property
    def names(self) -> list[tuple[str, int]]:
        """(topic, number) of the measured partitions."""
        pairs = zip(self.topic.tolist(), self.partition.tolist(), strict=True)
        return [(self.topics[t], number) for t, number in pairs]

    def over(self, period: Period = ALWAYS, rate: str = "mean") -> Profile:
        """The same profile, but its ``bytes_per_second`` is that of a part of the time.

        It is taken over the windows that lie wholly in ``period``: the ``rate`` is the ``mean`` of
        them, or the ``peak``, which is each partition's own fullest. Everything else stays that of
        all the time. Raises InputError where nothing was measured then.
        """
        if rate not in RATES:
            raise InputError(f"rate {shown(rate)}", f"expected {' or '.join(RATES)}")
        if not period:
            if rate == "mean":
                return self
            words = f"each partition's fullest window of {self.window_seconds} s {self.period}"
            return replace(self, bytes_per_second=self.peak_bytes_per_second, rates=words.rstrip())
        windows = self._windows()
        length = self.window_seconds * 1000
        since, until = self._whole_windows(period, windows["window_start"])
        inside = (windows["window_start"] >= since) & (windows["window_start"] < until)
        row, size = windows["row"][inside], windows["bytes"][inside]
        total, fullest = (np.zeros(len(self.topic), dtype=np.int64) for _ in range(2))
        np.add.at(total, row, size)
        np.maximum.at(fullest, row, size)
        mean, peak = total / ((until - since) / 1000), fullest / self.window_seconds
        count = (until - since) // length
        noun = f"{count} windows of {self.window_seconds} s" if count > 1 else "one window"
        return replace(
            self,
            bytes_per_second=mean if rate == "mean" else peak,
            rates=f"the {rate} of {noun}, {Period(since, until)}",
        )

    def ahead(self, days: float) -> Profile:
        """The same profile, but sizes are those expected so many days after the last sample."""
        return replace(self, horizon=days)

    def _windows(self) -> dict[str, Any]:
        """The windows as columns: ``row`` of the partition, ``window_start`` (ms), ``bytes``."""
        folder = Path(self.path) / "windows"
        types = {"topic": "string", "partition": "int64", "window_start": "ms", "bytes": "int64"}
        columns = _read_table(folder, types)
        row_of = {name: row for row, name in enumerate(self.names)}
        names = zip(columns.pop("topic"), columns.pop("partition").tolist(), strict=True)
        try:
            row = np.array([row_of[name] for name in names], dtype=np.int64)
        except KeyError as error:
            topic, number = error.args[0]
            problem = f"{topic}-{number} has windows, but is not in partitions"
            raise InputError(os.fspath(folder), problem) from None
        return columns | {"row": row}

    def reach(self) -> tuple[int, int]:
        """From the begin of the first window to the end of the last, in milliseconds; where the
        measurement was limited, no less than to the limit."""
        return self._reach(self._windows()["window_start"])

    def _reach(self, starts: Ints) -> tuple[int, int]:
        length = self.window_seconds * 1000
        if not len(starts):
            raise InputError(self.path, "has no rates: no records were measured")
        first, last = int(starts.min()), int(starts.max()) + length
        if self.period.since is not None:
            first = min(first, -(-self.period.since // length) * length)
        if self.period.until is not None:
            last = max(last, self.period.until // length * length)
        return first, last

    def _whole_windows(self, period: Period, starts: Ints) -> tuple[int, int]:
        """From where to where the windows reach that lie in the period, in milliseconds."""
        length = self.window_seconds * 1000
        first, last = self._reach(starts)
        since = first if period.since is None else -(-period.since // length) * length
        until = last if period.until is None else period.until // length * length
        if since < first or until > last or since >= until:
            within = "beyond that" if since < first or until > last else "no whole one"
            raise InputError(
                self.path,
                f"was measured {Period(first, last)}, in windows of {self.window_seconds} s; "
                f"{period} is {within}",
            )
        return since, until

    def aligned(self, cluster: Cluster) -> Measured:
        """The profile in the cluster's rows; what only one of the two has is named."""
        row_of = {name: row for row, name in enumerate(self.names)}
        wanted = [
            (cluster.topics[t], p)
            for t, p in zip(cluster.topic.tolist(), cluster.partition.tolist(), strict=True)
        ]
        rows = np.array([row_of.pop(name, -1) for name in wanted], dtype=np.int64)
        known = rows >= 0
        rate = np.zeros(len(rows), dtype=np.float64)
        rate[known] = self.bytes_per_second[rows[known]]
        size = np.full(len(rows), -1, dtype=np.int64)
        size[known] = self.bytes[rows[known]]
        sampled = self.sizes()
        size_of = (
            {}
            if sampled is None
            else dict(zip(sampled.names, sampled.after(self.horizon).tolist(), strict=True))
        )
        return Measured(
            bytes_per_second=rate if self.topics else None,
            bytes=size,
            size_bytes=np.array([size_of.get(name, -1) for name in wanted], dtype=np.int64),
            sampled=int(sampled.last.max()) if size_of and sampled else None,
            not_in_cluster=tuple(f"{topic}-{number}" for topic, number in row_of),
            not_measured=tuple(cluster.names[row] for row in np.flatnonzero(~known).tolist()),
        )

    def sizes(self) -> Sizes | None:
        """Log-dir sizes over time; None where none were sampled. Raises InputError."""
        folder = Path(self.path) / "sizes"
        if not folder.is_dir():
            return None
        counts = ("size_bytes", "peak_bytes", "grown_bytes", "deleted_bytes")
        columns = _read_table(
            folder,
            {"topic": "string", "partition": "int64", "first": "ms", "last": "ms"}
            | dict.fromkeys(counts, "int64"),
        )
        topics, numbers = columns.pop("topic"), columns.pop("partition").tolist()
        return Sizes(names=tuple(zip(topics, numbers, strict=True)), **columns)

    def weights(self, weigh: str = "rate", group: str | None = None) -> dict[str, dict[int, int]]:
        """Whole numbers by topic and partition, as a group's weights are.

        By ``rate``: bytes in per 1,000 seconds; where no records were measured, records produced
        per 1,000 seconds out of the group's lags. By ``lag``: records, at the last sample.
        ``group``: whose lags, needed where there are several. Raises InputError.
        """
        if weigh not in ("rate", "lag"):
            raise InputError(f"weight_by {shown(weigh)}", "expected rate or lag")
        found: dict[str, dict[int, int]] = {}
        if weigh == "rate" and self.topics:
            rates = np.ceil(self.bytes_per_second * 1000).astype(np.int64)
            for (topic, number), rate in zip(self.names, rates.tolist(), strict=True):
                found.setdefault(topic, {})[number] = rate
            return found
        lags = self.lags()
        if lags is None:
            missing = "lags" if weigh == "lag" else "records and no lags"
            raise InputError(self.path, f"has no {missing}: measure with `lags`")
        groups = sorted(set(lags.group))
        if group is None and len(groups) > 1:
            raise InputError(self.path, f"has several groups, choose one: {', '.join(groups)}")
        if group is not None and group not in groups:
            raise InputError(self.path, f"has no group {group!r}: {', '.join(groups)}")
        produced = np.ceil(lags.produced_per_second * 1000).astype(np.int64)
        values = lags.lag if weigh == "lag" else produced
        for name, (topic, number), value in zip(
            lags.group, lags.names, values.tolist(), strict=True
        ):
            if group in (None, name):
                found.setdefault(topic, {})[number] = value
        return found

    def lags(self) -> Lags | None:
        """Lags over time of all groups; None where none were sampled. Raises InputError."""
        folder = Path(self.path) / "lags"
        if not folder.is_dir():
            return None
        columns = _read_table(
            folder,
            {"group": "string", "topic": "string", "partition": "int64"}
            | {"first": "ms", "last": "ms"}
            | dict.fromkeys(("lag", "consumed", "produced"), "int64"),
        )
        topics, numbers = columns.pop("topic"), columns.pop("partition").tolist()
        return Lags(
            group=tuple(columns.pop("group")),
            names=tuple(zip(topics, numbers, strict=True)),
            **columns,
        )

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
    written = about.get("format", "parquet")
    if str(written).lower() != "parquet":
        raise InputError(where, f"its tables are {written}, only Parquet is read: measure again")
    seconds, sources, totals = (about.get(k) for k in ("window_seconds", "sources", "totals"))
    if not isinstance(seconds, int) or seconds < 1:
        raise InputError(where, "window_seconds: expected a whole number of at least 1")
    if not isinstance(sources, list) or not all(isinstance(source, str) for source in sources):
        raise InputError(where, "sources: expected a list of names")
    try:
        since, until = (about.get(k) for k in ("from", "to"))
        about["period"] = Period.of(since, until, ("from", "to"))
        about["outside"] = int(about.get("outside", 0))
    except (InputError, TypeError, ValueError):
        raise InputError(where, "from, to, outside: expected times and a number") from None
    if not isinstance(totals, dict) or not all(isinstance(totals.get(k), int) for k in _TOTALS):
        raise InputError(where, f"totals: expected whole numbers for {', '.join(_TOTALS)}")
    return about


def _read_table(directory: Path, types: Mapping[str, str]) -> dict[str, Any]:
    """The named columns of the Parquet files in a directory: numpy arrays (times, ``ms``, as whole
    numbers), or lists of names and keys. Raises InputError."""
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
    schema = pa.schema(
        [
            (name, pa.timestamp("ms") if alias == "ms" else pa.type_for_alias(alias))
            for name, alias in types.items()
        ]
    )
    parts = []
    for file in files:
        try:
            # From bytes: a name like topic=a in the path must not become a column.
            table = pq.read_table(pa.BufferReader(file.read_bytes()))
            missing = [name for name in types if name not in table.column_names]
            if missing:
                raise InputError(os.fspath(file), f"columns missing: {', '.join(missing)}")
            # times may be finer than they are needed
            parts.append(table.select(list(types)).cast(schema, safe="ms" not in types.values()))
        except (pa.ArrowException, OSError) as error:
            reason = str(error).strip().splitlines()[0][:200]
            raise InputError(os.fspath(file), f"is not a readable table ({reason})") from None
    table = pa.concat_tables(parts)
    for name in types:
        if table[name].null_count:
            raise InputError(where, f"column {name} has nulls")

    def values(name: str, alias: str) -> Any:
        if alias in ("string", "binary"):
            return table[name].to_pylist()
        return table[name].to_numpy().astype(np.int64) if alias == "ms" else table[name].to_numpy()

    return {name: values(name, alias) for name, alias in types.items()}
