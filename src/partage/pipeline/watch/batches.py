"""Process a batch: Spark sums it up; the driver adds it to the windows, writes and evaluates them.

One Spark job over the batch collects the sums; a second one fetches the rejected rows, if there are
any. The rest happens on the driver, on a row per partition and window.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from partage.brokers.directory import REPORT
from partage.cluster import Cluster
from partage.errors import PartageError
from partage.measured_loads import Profile
from partage.pipeline import measure
from partage.pipeline.profile import SCHEMAS
from partage.pipeline.session import spark_errors
from partage.pipeline.watch import events, windows
from partage.pipeline.watch.fairness import ClusterFile, Fairness, fairness, new_plan
from partage.pipeline.watch.store import PLANS, REJECTED_KEPT, State, Store, stamp
from partage.pipeline.watch.stream import Stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Emit = Callable[[events.Event], None]
Render = Callable[[dict[str, Any], str], str]


@dataclass(frozen=True)
class Rules:
    """``window``, ``allowed_lateness`` and ``over`` are in seconds; ``moves``: whether a new plan
    may move data. See ``partage watch``."""

    window: int
    allowed_lateness: int
    over: int
    alert_above: float
    moves: bool


class Batches:
    """The function that Spark calls with each batch. ``failure``: the error that ended it, if
    any."""

    def __init__(
        self,
        spark: SparkSession,
        stream: Stream,
        store: Store,
        cluster: ClusterFile,
        rules: Rules,
        emit: Emit,
        render: Render | None,
    ) -> None:
        self.state = store.state()
        self.failure: BaseException | None = None
        self._spark, self._stream, self._store = spark, stream, store
        self._cluster, self._rules, self._emit, self._render = cluster, rules, emit, render
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
        sums, rejected = self._sums(frame)
        step = windows.advance(
            before.open,
            sums,
            before.watermark,
            window=self._rules.window,
            lateness=self._rules.allowed_lateness,
            more=self._more(number),
        )
        state = replace(
            before,
            batch=number,
            open=step.open,
            watermark=step.watermark,
            late=before.late + step.late,
            rejected=before.rejected + rejected.count,
            records=before.records + (pc.sum(step.closed["records"]).as_py() or 0),
            bytes=before.bytes + (pc.sum(step.closed["bytes"]).as_py() or 0),
        )
        if rejected.count:
            self._store.add_rejected(number, rejected.rows)
        if step.closed.num_rows:
            first = pc.min(windows.starts(step.closed)).as_py()
            end = pc.max(windows.ends(step.closed, self._rules.window)).as_py()
            state = replace(state, start=first if state.start is None else state.start, end=end)
            self._store.add_windows(step.closed)
        self._write_profile(state)
        if step.closed.num_rows:
            state = self._judge(state, step.closed.num_rows)
        self._store.commit(state)
        self.state = state
        read = (pc.sum(sums["records"]).as_py() or 0) + rejected.count
        self._emit(events.batch(state, read, time.monotonic() - began, self._fairness))

    def _more(self, number: int) -> bool:
        """Whether records may wait after a batch."""
        return self._stream.more(self._store.offsets(number - 1), self._store.offsets(number))

    def _sums(self, frame: DataFrame) -> tuple[pa.Table, _Rejected]:
        with spark_errors():
            records = self._stream.records(self._spark, frame)
            if records is None:
                return windows.SCHEMA.empty_table(), _Rejected()
            summed = records.transform(measure.with_uncounted)
            sums = summed.transform(measure.by_window, self._rules.window).toArrow()
            sums = sums.select(windows.SCHEMA.names).cast(windows.SCHEMA)
            bad = pc.is_null(sums["topic"])
            count = pc.sum(sums.filter(bad)["records"]).as_py() or 0
            if not count:
                return sums, _Rejected()
            columns = SCHEMAS["rejected"].names
            rows = records.transform(measure.rejected).sort(*columns).limit(REJECTED_KEPT)
            return sums.filter(pc.invert(bad)), _Rejected(
                count, rows.toArrow().select(columns).cast(SCHEMAS["rejected"])
            )

    def _judge(self, state: State, closed: int) -> State:
        """Evaluate the closed windows and emit events; ``closed``: the number closed just now."""
        assert state.end is not None
        cluster, problem = self._cluster.now()
        if problem is not None:
            self._emit(events.trouble(problem))
        profile = Profile.read(self._store.path)
        measured = profile.aligned(cluster)
        self._report_unknown(measured.not_in_cluster)
        self._fairness = found = fairness(cluster, measured.bytes_per_second)
        threshold = self._rules.alert_above
        unfair = found is not None and found.value > threshold
        if found is not None and unfair and not state.unfair:
            self._alert(state.end, found, cluster, profile)
        elif state.unfair and not unfair:
            self._emit(events.fair(state.end, threshold, found))
        state = replace(state, unfair=unfair)
        self._emit(events.closed(state, closed, found))
        return state

    def _write_profile(self, state: State) -> None:
        rules, begin, end = self._rules, state.start or 0, state.end or 0
        begin = max(begin, end - rules.over * windows.MICROSECONDS)
        recent = self._store.windows_between(begin, end)
        seconds = max((end - begin) / windows.MICROSECONDS, rules.window)
        table = windows.partitions(
            recent, self._store.partitions(), window=rules.window, seconds=seconds
        )
        self._store.write_profile(table, state, begin, end)

    def _alert(self, end: int, found: Fairness, cluster: Cluster, profile: Profile) -> None:
        path = self._store.path / PLANS / stamp(end)
        written, after, why = None, None, None
        try:
            plan, expected = new_plan(cluster, profile, found, self._rules.moves)
            document = plan.document()
            plan.write(
                path,
                {} if self._render is None else {REPORT: self._render(document, os.fspath(path))},
            )
            written, after = os.fspath(path), expected.value
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


@dataclass(frozen=True)
class _Rejected:
    """Rejected rows: their number, and the first of them."""

    count: int = 0
    rows: pa.Table | None = None
