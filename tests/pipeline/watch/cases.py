"""Streams of records, and the windows that a plain count finds in them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as sf

from partage.pipeline.records import RECORDS
from partage.pipeline.watch import ClusterFile, Rules, Settings
from partage.pipeline.watch import store as store_module
from partage.pipeline.watch import windows as windows_module
from partage.pipeline.watch.batches import Batches
from partage.pipeline.watch.tables import Tables

NOON = 1_790_000_040  # a whole minute, in seconds since 1970


WINDOW, LATE = 60, 90


RULES = Rules(window=WINDOW, allowed_lateness=LATE, over=600, alert_above=1.5, moves=False)


Record = dict[str, Any]


Window = tuple[str, int, int]


def record(seconds: int, partition: int = 0, size: int = 100, topic: str = "t") -> Record:
    """A record of the second ``seconds`` after noon."""
    return {
        "topic": topic,
        "partition": partition,
        "offset": seconds,
        "timestamp": (NOON + seconds) * 1000,
        "key": None,
        "value_bytes": size,
    }


class Plain:
    """What a watch has to find, record by record: no table, no Arrow."""

    def __init__(self, window: int = WINDOW, late: int = LATE) -> None:
        self.window, self.lateness = window, late
        self.watermark = 0
        self.late = 0
        self.open: dict[Window, list[int]] = {}
        self.closed: dict[Window, list[int]] = {}

    def batch(self, records: Iterable[Record]) -> None:
        latest = self.watermark
        for one in records:
            second = one["timestamp"] // 1000
            start = second - second % self.window
            latest = max(latest, second - self.lateness)
            if start + self.window <= self.watermark:
                self.late += 1
                continue
            sums = self.open.setdefault((one["topic"], one["partition"], start), [0, 0])
            sums[0] += 1
            sums[1] += one["value_bytes"] + len(one["key"] or "")
        self.watermark = latest
        for place in [p for p in self.open if p[2] + self.window <= latest]:
            assert place not in self.closed, "a window closes once"
            self.closed[place] = self.open.pop(place)


def as_windows(table: pa.Table) -> dict[Window, list[int]]:
    rows = [
        ((r["topic"], r["partition"], int(r["window_start"].timestamp())), r["records"], r["bytes"])
        for r in table.to_pylist()
    ]
    assert max(Counter(place for place, _, _ in rows).values(), default=1) == 1, "doubled"
    return {place: [records, size] for place, records, size in rows}


def written(out: Path) -> dict[Window, list[int]]:
    """The windows on disk, as any reader of Parquet sees the folder."""
    files = sorted((out / "windows").glob("*.parquet"))
    return as_windows(pa.concat_tables([pq.ParquetFile(file).read() for file in files]))


def opened(out: Path) -> dict[Window, list[int]]:
    """The open windows on disk."""
    files = sorted((out / "open").glob("*.parquet"))
    empty = windows_module.SCHEMA.empty_table()
    return as_windows(pa.concat_tables([empty, *(pq.ParquetFile(f).read() for f in files)]))


def summed(records: Sequence[Record]) -> pa.Table:
    """Records as Spark hands their sums over."""
    groups: dict[Window, list[Record]] = {}
    for one in records:
        start = one["timestamp"] // 1000 // WINDOW * WINDOW
        groups.setdefault((one["topic"], one["partition"], start), []).append(one)

    def at(seconds: float) -> datetime:
        return datetime.fromtimestamp(seconds, UTC)

    rows = [
        {
            "topic": topic,
            "partition": partition,
            "window_start": at(start),
            "records": len(own),
            "bytes": sum(one["value_bytes"] + len(one["key"] or "") for one in own),
            "null_keys": sum(one["key"] is None for one in own),
            "first": at(min(one["timestamp"] for one in own) / 1000),
            "last": at(max(one["timestamp"] for one in own) / 1000),
        }
        for (topic, partition, start), own in groups.items()
    ]
    return pa.Table.from_pylist(rows, schema=windows_module.SCHEMA)


def drawn(rng: random.Random, batches: int, each: int = 12) -> list[list[Record]]:
    """Batches of records that go forward in time, not all of them in order; they are in step with
    the windows, so that bounds are met exactly."""
    found = []
    for batch in range(batches):
        ahead = batch * rng.choice([20, 60, 200])
        found.append(
            [
                record(
                    max(0, ahead + 10 * rng.randrange(-30, 12)), rng.randrange(3), rng.randrange(9)
                )
                for _ in range(rng.randrange(each))
            ]
        )
    return found


class Fed(Batches):
    """Batches whose records come from a test instead of a stream."""

    def _more(self, number: int) -> bool:
        return False

    def _records(self, frame: Any) -> Any:
        records, bad = frame
        rows = [one | {"source": "s", "broken": None} for one in records]
        rows += [record(0) | {"source": "s", "broken": "r"}] * bad
        kinds = "topic string, partition int, offset bigint, timestamp bigint, key string"
        kinds += ", value_bytes bigint, source string, broken string"
        read = self._spark.createDataFrame(rows, kinds)
        return RECORDS.canonical(read, sf.lit("x"), "feed") if rows else None


def fed(
    spark: Any,
    out: Path,
    cluster: Path,
    feed: list[Any],
    events: list[Any],
    shared: bool = True,
) -> None:
    """Go on through a feed from wherever the directory is, as Spark does: each batch is noted in
    ``offsets`` before and in ``commits`` after it, and what was only handed out comes again."""
    offsets, commits = (out / "checkpoint" / name for name in ("offsets", "commits"))
    with store_module.opened(str(out), Settings("feed", WINDOW)) as store:
        for folder in (offsets, commits):
            folder.mkdir(parents=True, exist_ok=True)
        tables = Tables(store.folder, shared)
        known = ClusterFile(cluster)
        taker = Fed(spark, None, store, tables, known, RULES, events.append, None)  # type: ignore[arg-type]
        begin = max((int(file.name) for file in offsets.iterdir()), default=0)
        for number in range(begin, len(feed)):
            (offsets / str(number)).touch()
            if not (commits / str(number)).exists():
                taker(feed[number], number)
                (out / "done").touch()
                (out / "done").replace(commits / str(number))
