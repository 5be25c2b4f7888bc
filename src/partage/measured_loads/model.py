"""The measured partitions of a profile, as columns."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from partage.arrays import Floats, Ints
from partage.cluster import Cluster
from partage.errors import InputError, shown
from partage.files import checked_path
from partage.frames import Columns, arrow_table, data_frame, html_table
from partage.group.model import BYTE_RATE
from partage.measured_loads.far_records import FarRecords, read_far_records
from partage.measured_loads.files import checked_marker, read_table
from partage.measured_loads.keys import HotKey, shown_key
from partage.measured_loads.places import MARKER, Place, place_of
from partage.measured_loads.samples import Lags, Sizes, Windows
from partage.period import ALWAYS, Period
from partage.units import plural

RATES = ("mean", "peak")
"""A rate over several windows: their mean, or the highest of them."""


@dataclass(frozen=True, eq=False)
class Measured:
    """A profile in the rows of a cluster of P partitions.

    - ``bytes_per_second``: [P], 0 where not measured; None: no records were measured
    - ``bytes``: [P] of the records, -1 where not measured
    - ``size_bytes``: [P] of the log dirs, -1 where not sampled; ``sampled``: time of the last
      sample in milliseconds, None where there is none
    - ``not_in_cluster``: measured partitions that the cluster lacks, as ``topic-partition``
    - ``not_measured``: partitions of the cluster without a record, likewise
    """

    bytes_per_second: Floats | None
    bytes: Ints
    size_bytes: Ints
    sampled: int | None
    not_in_cluster: tuple[str, ...]
    not_measured: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Profile:
    """The measured partitions as columns, in ascending order of (topic, partition).

    Shapes: Q measured partitions. ``topics`` names, ascending; ``topic`` [Q] index into them;
    ``partition`` [Q]; ``records`` and ``bytes`` [Q]; ``bytes_per_second`` [Q], over the time from
    the topic's first record to its last, or the period chosen by ``over``;
    ``peak_bytes_per_second`` [Q], of the fullest window; ``distinct_keys`` and ``null_keys`` [Q].
    ``period``: to what the measurement was limited, and how many valid rows are ``outside``;
    ``horizon``: sizes are those expected in this many days.
    """

    path: str
    place: Place
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
    far_records: tuple[FarRecords, ...] = ()
    """Topics whose ``bytes_per_second`` a few records make too low, far from all others in time."""

    @classmethod
    def of(cls, given: Profile | str | os.PathLike[str]) -> Profile:
        """A Profile as it is, or that of a directory, as ``read`` has it. Raises InputError."""
        if isinstance(given, Profile):
            return given
        return cls.read(checked_path(given, "profile", "a profile directory, or a Profile"))

    @classmethod
    def read(cls, path: str | os.PathLike[str] | Place) -> Profile:
        """Read a directory that ``partage profile`` wrote, also in S3 (``s3a://…``).

        Raises InputError for anything else, PartageError where pyarrow is missing.
        """
        place = path if isinstance(path, Place) else place_of(os.fspath(path))
        name = place.path
        place.check()
        about = checked_marker(place.about(), place.shown(MARKER))
        columns = read_table(
            place,
            "partitions",
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
                raise InputError(name, f"partitions: {column} has values that are not measurements")
        return cls(
            path=name,
            window_seconds=about["window_seconds"],
            sources=tuple(about["sources"]),
            totals=about["totals"],
            topics=tuple(names.tolist()),
            topic=topic.astype(np.int64)[order],
            period=about["period"],
            outside=about["outside"],
            far_records=read_far_records(about, place.shown(MARKER)),
            rates=f"the mean of all records {about['period']}".rstrip(),
            place=place,
            **{column: values[order] for column, values in columns.items()},
        )

    @property
    def names(self) -> list[tuple[str, int]]:
        """(topic, number) of the measured partitions."""
        pairs = zip(self.topic.tolist(), self.partition.tolist(), strict=True)
        return [(self.topics[t], number) for t, number in pairs]

    @property
    def record_bytes(self) -> float:
        """Of a record, on average; 1 where none was measured."""
        records = int(self.records.sum())
        return int(self.bytes.sum()) / records if records else 1.0

    def over(self, period: Period = ALWAYS, rate: str = "mean") -> Profile:
        """The same profile with the ``bytes_per_second`` of a period.

        Only windows completely in ``period`` count: the ``rate`` is their ``mean``, or the
        ``peak``, the highest window of each partition. All other columns still cover the whole
        time. Raises InputError where nothing was measured in the period.
        """
        if rate not in RATES:
            raise InputError(f"rate {shown(rate)}", f"expected {' or '.join(RATES)}")
        if not period:
            if rate == "mean":
                return self
            words = f"each partition's fullest window of {self.window_seconds} s {self.period}"
            peak = self.peak_bytes_per_second
            return replace(self, bytes_per_second=peak, rates=words.rstrip(), far_records=())
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
            far_records=tuple(
                one for one in self.far_records if rate == "mean" and one.matters(period)
            ),
        )

    def ahead(self, days: float) -> Profile:
        """The same profile with the sizes expected this many days after the last sample."""
        return replace(self, horizon=days)

    def _windows(self) -> dict[str, Any]:
        """The windows as columns: ``row`` of the partition, ``window_start`` (ms), ``bytes``."""
        types = {"topic": "string", "partition": "int64", "window_start": "ms", "bytes": "int64"}
        columns = read_table(self.place, "windows", types)
        row_of = {name: row for row, name in enumerate(self.names)}
        names = zip(columns.pop("topic"), columns.pop("partition").tolist(), strict=True)
        try:
            row = np.array([row_of[name] for name in names], dtype=np.int64)
        except KeyError as error:
            topic, number = error.args[0]
            problem = f"{topic}-{number} has windows, but is not in partitions"
            raise InputError(self.place.shown("windows"), problem) from None
        return columns | {"row": row}

    def by_window(self, period: Period = ALWAYS) -> Windows:
        """The bytes of each window completely in the period. Raises InputError where nothing was
        measured in it."""
        windows = self._windows()
        length = self.window_seconds * 1000
        since, until = self._whole_windows(period, windows["window_start"])
        inside = (windows["window_start"] >= since) & (windows["window_start"] < until)
        start = np.arange(since, until, length, dtype=np.int64)
        size = np.zeros((len(start), len(self.topic)), dtype=np.int64)
        at = (windows["window_start"][inside] - since) // length
        np.add.at(size, (at, windows["row"][inside]), windows["bytes"][inside])
        return Windows(tuple(self.names), start, self.window_seconds, size)

    def reach(self) -> tuple[int, int]:
        """Start of the first window and end of the last, in milliseconds, extended to the limits of
        the measurement."""
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
        """Start and end of the windows completely in the period, in milliseconds."""
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
        """The profile in the rows of the cluster, and the partitions that only one of them has."""
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

    def bytes_out(self, cluster: Cluster) -> Floats | None:
        """[P] bytes per second that all groups read, in the rows of the cluster: records consumed
        between samples of lags times measured bytes per record. NaN where no group has a second
        sample, and where records were consumed but none measured; None without lags."""
        lags = self.lags()
        if lags is None:
            return None
        consumed: dict[tuple[str, int], float] = {}
        sampled = (lags.last > lags.first).tolist()
        per_second = lags.consumed_per_second.tolist()
        for name, twice, records in zip(lags.names, sampled, per_second, strict=True):
            if twice:
                consumed[name] = consumed.get(name, 0.0) + records
        counted = zip(self.names, self.records.tolist(), self.bytes.tolist(), strict=True)
        size = {name: total / number for name, number, total in counted if number}
        found = np.full(cluster.partitions, np.nan)
        for name, row in cluster.row_of.items():
            records = consumed.get(name, np.nan)
            found[row] = 0.0 if records == 0 else records * size.get(name, np.nan)
        return found

    def sizes(self) -> Sizes | None:
        """Log-dir sizes over time; None where none were sampled. Raises InputError."""
        if self.place.files("sizes") is None:
            return None
        counts = ("size_bytes", "peak_bytes", "grown_bytes", "deleted_bytes")
        columns = read_table(
            self.place,
            "sizes",
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
        if weigh == "rate" and (rates := self.byte_rates()) is not None:
            return rates
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

    def byte_rates(self) -> dict[str, dict[int, int]] | None:
        """Bytes in per ``BYTE_RATE`` seconds by topic and partition; None where no records were
        measured. Raises InputError."""
        if not self.topics:
            return None
        found: dict[str, dict[int, int]] = {}
        rates = np.ceil(self.bytes_per_second * BYTE_RATE).astype(np.int64)
        for (topic, number), rate in zip(self.names, rates.tolist(), strict=True):
            found.setdefault(topic, {})[number] = rate
        return found

    def lags(self) -> Lags | None:
        """Lags over time of all groups; None where none were sampled. Raises InputError."""
        if self.place.files("lags") is None:
            return None
        columns = read_table(
            self.place,
            "lags",
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
        columns = read_table(
            self.place,
            "keys",
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

    # -- in a notebook

    def __repr__(self) -> str:
        return f"<Profile {self.path}: {self._summary()}>"

    def _repr_html_(self) -> str:
        count = len(self.topics)
        partitions = np.bincount(self.topic, minlength=count)
        columns = [np.zeros(count, dtype=np.int64) for _ in range(3)]
        rate = np.bincount(self.topic, weights=self.bytes_per_second, minlength=count)
        for column, values in zip(columns, (self.records, self.bytes, self.null_keys), strict=True):
            np.add.at(column, self.topic, values)
        fullest = np.zeros(count, dtype=np.float64)
        np.maximum.at(fullest, self.topic, self.bytes_per_second)
        rows = [
            [name, *(f"{value:,}" for value in values), _rate(mean), _rate(most)]
            for name, *values, mean, most in zip(
                self.topics,
                *(column.tolist() for column in (partitions, *columns)),
                rate.tolist(),
                fullest.tolist(),
                strict=True,
            )
        ]
        header = ("topic", "partitions", "records", "bytes", "null keys", "bytes/s")
        return html_table(self._summary(), (*header, "bytes/s of the fullest partition"), rows)

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with a row per partition: ``topic``, ``partition``, ``records``,
        ``bytes``, ``bytes_per_second``, ``peak_bytes_per_second``, ``distinct_keys``,
        ``null_keys``. Raises PartageError where pandas is not installed."""
        return data_frame(self._columns())

    def to_arrow(self) -> Any:
        """The same table as ``to_pandas`` as a ``pyarrow.Table``. Raises PartageError where pyarrow
        is not installed."""
        return arrow_table(self._columns())

    def _columns(self) -> Columns:
        measured = ("records", "bytes", "bytes_per_second", "peak_bytes_per_second")
        return {
            "topic": np.array(self.topics, dtype=object)[self.topic].tolist(),
            **{
                name: getattr(self, name).tolist()
                for name in ("partition", *measured, "distinct_keys", "null_keys")
            },
        }

    def _summary(self) -> str:
        return (
            f"{plural(int(self.records.sum()), 'record')}, {int(self.bytes.sum()):,} bytes, "
            f"{plural(len(self.topics), 'topic')}, {plural(len(self.topic), 'partition')}, "
            f"windows of {self.window_seconds} s"
        )


def _rate(value: float) -> str:
    """Three significant digits, and all before the decimal point."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
