"""Process a batch: Spark sums it up, adds it to the open windows and writes them and the closed
ones; the driver evaluates them, on a row per partition.

The batch is read once, and a second time for the rejected rows if there are any, of which the
driver gets those that are kept. A batch without records changes no file but the state.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from msgspec.structs import replace
from pyspark.sql import functions as sf

from partage.brokers.directory import REPORT
from partage.cluster import Cluster
from partage.errors import PartageError
from partage.measured_loads import Profile
from partage.pipeline import measure
from partage.pipeline.cache import Cache
from partage.pipeline.profile import SCHEMAS
from partage.pipeline.spark_errors import spark_errors
from partage.pipeline.watch import events, windows
from partage.pipeline.watch.fairness import Fairness, fairness, new_plan
from partage.pipeline.watch.judgement import Applier, ClusterSource, Judgement
from partage.pipeline.watch.store import REJECTED_KEPT, State, Store, stamp
from partage.pipeline.watch.stream import Stream
from partage.pipeline.watch.tables import Tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Emit = Callable[[events.Event], None]
Render = Callable[[dict[str, Any], str], str]


@dataclass(frozen=True)
class Rules:
    """``window``, ``allowed_lateness`` and ``over`` are in seconds; ``moves``: whether a new plan
    may move data; ``min_traffic``: of the busiest broker, in bytes per second. See ``partage
    watch``."""

    window: int
    allowed_lateness: int
    over: int
    alert_above: float
    moves: bool
    min_traffic: float = 0.0

    def can_judge(self, found: Fairness | None) -> bool:
        """Whether there is enough traffic."""
        return not self.min_traffic or (found is not None and found.rate >= self.min_traffic)

    def unfair(self, before: bool, found: Fairness | None) -> bool:
        """Whether the load is uneven; as ``before`` while there is too little of it to judge."""
        if not self.can_judge(found):
            return before
        return found is not None and found.value > self.alert_above


class Batches:
    """The function that Spark calls with each batch. ``failure``: the error that ended it, if
    any."""

    def __init__(
        self,
        spark: SparkSession,
        stream: Stream,
        store: Store,
        tables: Tables,
        cluster: ClusterSource,
        rules: Rules,
        emit: Emit,
        render: Render | None,
        applier: Applier | None = None,
    ) -> None:
        self.state = store.state()
        self.failure: BaseException | None = None
        self._spark, self._stream, self._store = spark, stream, store
        self._tables = tables
        self._cluster, self._rules, self._emit, self._render = cluster, rules, emit, render
        self._applier = applier
        self._busy = threading.Lock()
        self._ended = False
        self._unknown: set[str] = set()
        self._fairness: Fairness | None = None

    def __call__(self, frame: DataFrame, number: int) -> None:
        """Process a batch; any error ends the query before the batch is committed."""
        with self._busy:
            if self._ended:
                raise PartageError("stopped")
            try:
                self._take(frame, number)
            except PartageError as error:
                self.failure = self._stream.explained(error)
                raise
            except BaseException as error:
                self.failure = error
                raise

    def end(self) -> None:
        """Wait for the current batch and refuse any further one."""
        with self._busy:
            self._ended = True

    def _take(self, frame: DataFrame, number: int) -> None:
        if number == self.state.batch:
            return  # committed before the last run was killed, but Spark does not know
        before, began = self.state, time.monotonic()
        if number != before.batch + 1:
            raise PartageError(f"batch {number} does not follow batch {before.batch}")
        state, closed, read = replace(before, batch=number), windows.Figures(), 0
        with spark_errors(out=self._store.folder.where), Cache() as cached:
            records = self._records(frame)
            if records is not None:
                summed = records.transform(measure.with_uncounted)
                sums = cached(summed.transform(measure.by_window, self._rules.window))
                totals = windows.totals(
                    sums,
                    before.watermark,
                    window=self._rules.window,
                    lateness=self._rules.allowed_lateness,
                    more=self._more(number),
                )
                read = totals.read
                if totals.rejected:
                    self._store.add_rejected(number, _first_rejected(records))
                state, closed = self._advance(state, sums, totals, cached)
        if records is not None:
            self._write_profile(state)
        judgement = None
        if closed.windows:
            state, judgement = self._judge(state, closed.windows)
        self._store.commit(state)
        self.state = state
        if self._applier is not None and judgement is not None:
            self._applier.judged(judgement)
        self._emit(events.batch(state, read, time.monotonic() - began, self._fairness))

    def _records(self, frame: DataFrame) -> DataFrame | None:
        return self._stream.records(self._spark, frame)

    def _more(self, number: int) -> bool:
        """Whether records may wait after a batch."""
        return self._stream.more(self._store.offsets(number - 1), self._store.offsets(number))

    def _advance(
        self, before: State, sums: DataFrame, totals: windows.Totals, cached: Cache
    ) -> tuple[State, windows.Figures]:
        """Add a batch to the windows; the state after it, and the figures of those it closed."""
        store, tables, window = self._store, self._tables, self._rules.window
        spark = sums.sparkSession
        opened = tables.read(spark, store.open_files(before))
        every = cached(windows.added(opened, sums, before.watermark, window))
        left, closed = windows.divided(every, totals.watermark, window)
        due = windows.due(totals.watermark, window)
        with store.new() as folder:
            if closed.first is not None:
                rows, count, extended = every.where(due), closed.windows, None
                if found := store.windows_to_extend(closed.first, count):
                    extended, kept = found
                    earlier = tables.read(spark, [extended])
                    before_it = sf.unix_micros("window_start") < closed.first
                    rows, count = earlier.where(before_it).unionAll(rows), count + kept
                files = tables.write(rows, count, f"{folder}/windows")
                store.put_windows(files, closed.first, extended)
            files = tables.write(every.where(~due), left.windows, f"{folder}/open")
            store.put_open(files, before.batch)
        state = replace(
            before,
            watermark=totals.watermark,
            late=before.late + totals.late,
            rejected=before.rejected + totals.rejected,
            records=before.records + closed.records,
            bytes=before.bytes + closed.bytes,
            open_windows=left.windows,
            open_records=left.records,
            open_batch=before.batch,
            open_files=len(files),
        )
        if closed.first is not None and closed.last is not None:
            start = closed.first if state.start is None else state.start
            end = closed.last + window * windows.MICROSECONDS
            state = replace(state, start=start, end=end)
        return state, closed

    def _judge(self, state: State, closed: int) -> tuple[State, Judgement]:
        """Evaluate the closed windows and emit events; returns the state with the verdict, and what
        an applier gets. ``closed``: the number closed just now."""
        assert state.end is not None
        cluster, problem = self._cluster.now()
        if problem is not None:
            self._emit(events.trouble(problem))
        profile = self._store.profile()
        measured = profile.aligned(cluster)
        self._report_unknown(measured.not_in_cluster)
        self._fairness = found = fairness(cluster, measured.bytes_per_second)
        threshold = self._rules.alert_above
        unfair = self._rules.unfair(state.unfair, found)
        if found is not None and unfair and not state.unfair:
            self._alert(state.end, found, cluster, profile)
        elif state.unfair and not unfair:
            self._emit(events.fair(state.end, threshold, found))
        state = replace(state, unfair=unfair)
        self._emit(events.closed(state, closed, found))
        acts = unfair and self._rules.can_judge(found)
        return state, Judgement(*self._measured(state), acts, found, profile)

    def _measured(self, state: State) -> tuple[int, int]:
        """The period of which the profile is."""
        end = state.end or 0
        return max(state.start or 0, end - self._rules.over * windows.MICROSECONDS), end

    def _write_profile(self, state: State) -> None:
        rules, (begin, end) = self._rules, self._measured(state)
        recent = self._store.windows_between(begin, end)
        seconds = max((end - begin) / windows.MICROSECONDS, rules.window)
        table = windows.partitions(
            recent, self._store.partitions(), window=rules.window, seconds=seconds
        )
        self._store.write_profile(table, state, begin, end)

    def _alert(self, end: int, found: Fairness, cluster: Cluster, profile: Profile) -> None:
        if self._applier is not None:  # it plans for the cluster of the moment when it acts
            self._emit(events.alert(end, self._rules.alert_above, found))
            return
        written, after, why = None, None, None
        try:
            plan, expected = new_plan(cluster, profile, found, self._rules.moves)
            document = plan.document()

            def write(path: Path) -> None:
                pages = {}
                if self._render is not None:
                    pages[REPORT] = self._render(document, os.fspath(path))
                plan.write(path, pages)

            written, after = self._store.put_plan(stamp(end), write), expected.value
        except PartageError as error:
            why = error
        self._emit(events.alert(end, self._rules.alert_above, found, written, after, why))

    def _report_unknown(self, names: tuple[str, ...]) -> None:
        new = set(names) - self._unknown
        if new:
            self._unknown |= new
            first = min(new)
            self._emit(
                events.trouble(
                    f"{len(new)} measured partitions are not in the cluster file, first {first}"
                )
            )


def _first_rejected(records: DataFrame) -> pa.Table:
    """The first rejected rows of a batch, as many as are kept."""
    schema = SCHEMAS["rejected"]
    rows = records.transform(measure.rejected).sort(*schema.names).limit(REJECTED_KEPT)
    return rows.toArrow().select(schema.names).cast(schema)
